"""Turn a table to and fro, and integrate its gyro into an angle."""

import math

from controller import Robot

AMPLITUDE = 1.5  # rad/s
PERIOD = 2.0  # s


def main():
    robot = Robot()
    timestep = int(robot.getBasicTimeStep())
    motor = robot.getDevice("table motor")
    motor.setPosition(float("inf"))
    motor.setVelocity(0.0)
    encoder = robot.getDevice("table angle")
    encoder.enable(timestep)
    gyro = robot.getDevice("gyro")
    gyro.enable(timestep)

    heading = 0.0
    while robot.step(timestep) != -1:
        heading += gyro.getValues()[2] * timestep / 1000.0
        print(f"{robot.getTime():.3f} {heading:.9f} {encoder.getValue():.9f}")
        motor.setVelocity(AMPLITUDE * math.sin(2.0 * math.pi * robot.getTime() / PERIOD))


if __name__ == "__main__":
    main()
