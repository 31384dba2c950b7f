"""Turn the right arm; the other arm has a controller of its own."""

import sys

from controller import Robot

speed = float(sys.argv[1])

robot = Robot()
timestep = 2 * int(robot.getBasicTimeStep())
motor = robot.getDevice("motor")
motor.setPosition(float("inf"))
motor.setVelocity(speed)
imu = robot.getDevice("inertial unit")
imu.enable(timestep)

while robot.step(timestep) != -1:
    print(f"right {robot.getTime():.3f} {imu.getRollPitchYaw()[2]:.9f}")
