"""Turn the robot itself through known attitudes; then bring a node, and reset."""

from controller import Supervisor

ATTITUDES = [
    [0, 1, 0, 0],
    [0, 1, 0, -1.5708],
    [0, 1, 0, 1.5708],
    [1, 0, 0, 1.5708],
    [1, 0, 0, -1.5708],
    [0, 0, 1, 0.7854],
    [0, 0, 1, -0.7854],
]

robot = Supervisor()
timestep = int(robot.getBasicTimeStep())
imu = robot.getDevice("inertial unit")
gps = robot.getDevice("gps")
robot.step(timestep)
imu.enable(timestep)
gps.enable(timestep)

rotation = robot.getSelf().getField("rotation")
for attitude in ATTITUDES:
    rotation.setSFRotation(attitude)
    robot.step(timestep)
    print("attitude", *attitude, *imu.getRollPitchYaw())

crate = robot.getFromDef("CRATE")
print("crate", *crate.getField("translation").getSFVec3f())
children = robot.getRoot().getField("children")
before = children.getCount()
children.importMFNodeFromString(-1, 'DEF BALL Solid { translation 0 2 0 name "ball" }')
print("nodes", children.getCount() - before)
print("ball", *robot.getFromDef("BALL").getPosition())

robot.simulationReset()
robot.step(timestep)
print("reset", robot.getTime(), *gps.getValues())
