"""Drive a circle."""

from controller import *

TIME_STEP = 16
LEFT, RIGHT = 4.0, 6.0

robot = Robot()
imu = robot.getDevice("inertial unit")
imu.enable(TIME_STEP)
gyro = robot.getDevice("gyro")
gyro.enable(TIME_STEP)
gps = robot.getDevice("gps")
gps.enable(TIME_STEP)
for side, speed in (("left", LEFT), ("right", RIGHT)):
    wheel = robot.getDevice(side + " wheel")
    wheel.setPosition(float("inf"))
    wheel.setVelocity(speed)

while robot.step(TIME_STEP) != -1:
    print(robot.getTime(), imu.getRollPitchYaw()[2], gyro.getValues()[2], *gps.getValues())
