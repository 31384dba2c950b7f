"""Spin a rotor, and print what an accelerometer off its axis feels."""

from controller import Robot

SPEED = 5.0  # rad/s

robot = Robot()
timestep = int(robot.getBasicTimeStep())

motor = robot.getDevice("motor")
motor.setPosition(float("inf"))
motor.setVelocity(SPEED)
angle = robot.getDevice("angle")
angle.enable(timestep)
accelerometer = robot.getDevice("accelerometer")
accelerometer.enable(timestep)
gyro = robot.getDevice("gyro")
gyro.enable(timestep)

while robot.step(timestep) != -1:
    print(robot.getTime(), angle.getValue(), *accelerometer.getValues(), *gyro.getValues())
