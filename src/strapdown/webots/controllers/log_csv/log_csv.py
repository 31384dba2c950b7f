"""Log the inertial sensors of a robot as CSV: to a file that is named, or to standard output."""

import csv
import sys
from contextlib import nullcontext

from controller import Robot

HEADER = ["time", "roll", "pitch", "yaw", "gx", "gy", "gz", "ax", "ay", "az", "x", "y", "z"]


class Logger:
    """Enables the sensors, and writes one row a step."""

    def __init__(self, robot):
        self.robot = robot
        self.timestep = int(robot.getBasicTimeStep())
        self.imu = robot.getDevice("inertial unit")
        self.gyro = robot.getDevice("gyro")
        self.accelerometer = robot.getDevice("accelerometer")
        self.gps = robot.getDevice("gps")
        for sensor in (self.imu, self.gyro, self.accelerometer, self.gps):
            sensor.enable(self.timestep)

    def run(self, file):
        writer = csv.writer(file)
        writer.writerow(HEADER)
        while self.robot.step(self.timestep) != -1:
            writer.writerow(
                [
                    f"{self.robot.getTime():.3f}",
                    *self.imu.getRollPitchYaw(),
                    *self.gyro.getValues(),
                    *self.accelerometer.getValues(),
                    *self.gps.getValues(),
                ]
            )


with open(sys.argv[1], "w", newline="") if len(sys.argv) > 1 else nullcontext(sys.stdout) as output:
    Logger(Robot()).run(output)
