"""Webots devices, worlds and controllers without Webots.

Library code gives a robot its world, and steps it as a controller does::

    from strapdown.webots import Robot

    robot = Robot("world.wbt", profile="documented")
    unit = robot.getDevice("inertial unit")
    unit.enable(32)
    while robot.step(32) != -1:
        print(robot.getTime(), unit.getRollPitchYaw())

A controller file of Webots runs as it is with ``strapdown webots run``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
