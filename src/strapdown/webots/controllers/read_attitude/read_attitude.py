"""Read an InertialUnit, as a first controller does."""

from controller import Robot

robot = Robot()
timestep = int(robot.getBasicTimeStep())

imu = robot.getDevice("inertial unit")
imu.enable(timestep)

while robot.step(timestep) != -1:
    roll, pitch, yaw = imu.getRollPitchYaw()
    print(f"{robot.getTime():.3f} {roll:.6f} {pitch:.6f} {yaw:.6f}")
