"""Walk on the spot: two legs in antiphase, as a subclass of Robot."""

import math

from controller import Robot

FREQUENCY = 1.0  # Hz
SWING, BEND = 0.35, 0.6  # rad


class Walker(Robot):
    def __init__(self):
        super().__init__()
        self.timestep = int(self.getBasicTimeStep())
        self.legs = [Leg(self, "left", 0.0), Leg(self, "right", math.pi)]

    def run(self):
        while self.step(self.timestep) != -1:
            phase = 2.0 * math.pi * FREQUENCY * self.getTime()
            print(self.getTime(), *(value for leg in self.legs for value in leg.read()))
            for leg in self.legs:
                leg.move(phase)


class Leg:
    def __init__(self, robot, side, phase):
        self.phase = phase
        self.hip = robot.getDevice(f"{side} hip")
        self.knee = robot.getDevice(f"{side} knee")
        self.angles = [robot.getDevice(f"{side} {joint} angle") for joint in ("hip", "knee")]
        self.gyro = robot.getDevice(f"{side} gyro")
        for sensor in (*self.angles, self.gyro):
            sensor.enable(robot.timestep)

    def move(self, phase):
        phase += self.phase
        self.hip.setPosition(SWING * math.sin(phase))
        self.knee.setPosition(0.5 * BEND * (1.0 - math.cos(phase)))

    def read(self):
        return [*(angle.getValue() for angle in self.angles), self.gyro.getValues()[1]]


Walker().run()
