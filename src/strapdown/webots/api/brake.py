"""Brake: inert, without damping."""

from strapdown.webots.api._joint_devices import Brake

__all__ = ["Brake"]
