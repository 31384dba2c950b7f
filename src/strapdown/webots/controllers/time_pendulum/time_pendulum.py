"""Measure the period of a pendulum from the zeros of its rate."""

from controller import Robot

robot = Robot()
timestep = int(robot.getBasicTimeStep())
gyro = robot.getDevice("gyro")
gyro.enable(timestep)

crossings = []
before = None
while robot.step(timestep) != -1:
    now, rate = robot.getTime(), gyro.getValues()[1]
    if before is not None and before[1] < 0.0 <= rate:
        part = before[1] / (before[1] - rate)
        crossings.append(before[0] + part * (now - before[0]))
    before = now, rate

print((crossings[-1] - crossings[0]) / (len(crossings) - 1))
