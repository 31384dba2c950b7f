"""Devices of simulated robots as topics and services of ROS 1."""

from __future__ import annotations

from strapdown.bridges.ros1.robot import RosRobot
from strapdown.bridges.ros1.server import Ros1Devices
from strapdown.bridges.ros1.services import service_class

__all__ = ["Ros1Devices", "RosRobot", "service_class"]
