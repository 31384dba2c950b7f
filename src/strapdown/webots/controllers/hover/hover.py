"""Hover: hold a height by thrust, and fly the drone's own equation of motion as a Supervisor."""

import sys

from controller import Supervisor

MASS, GRAVITY = 0.8, 9.81
KP, KI, KD = 6.0, 2.0, 4.5

target = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0

drone = Supervisor()
timestep = int(drone.getBasicTimeStep())
dt = timestep / 1000.0
translation = drone.getSelf().getField("translation")
gps = drone.getDevice("gps")
gps.enable(timestep)
camera = drone.getDevice("camera")
camera.enable(4 * timestep)
propellers = [drone.getDevice(f"{place} propeller") for place in ("front", "rear")]
for propeller in propellers:
    propeller.setPosition(float("inf"))
    propeller.setVelocity(60.0)

x, y, z = translation.getSFVec3f()
climb = integral = 0.0
last = z
while drone.step(timestep) != -1:
    height = gps.getValues()[2]
    error = target - height
    integral += error * dt
    thrust = MASS * (GRAVITY + KP * error + KI * integral - KD * (height - last) / dt)
    last = height
    climb += (max(thrust, 0.0) / MASS - GRAVITY) * dt
    z += climb * dt
    translation.setSFVec3f([x, y, z])
    for propeller in propellers:
        propeller.setVelocity(60.0 + 10.0 * climb)
    print(f"{drone.getTime():.3f} {height:.6f}")
