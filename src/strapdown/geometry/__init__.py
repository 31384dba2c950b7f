"""Rotations, named Euler conventions, frames and gravity."""

from strapdown.geometry import euler, frames, gravity, quaternion, rotations
from strapdown.geometry.euler import EulerConvention
from strapdown.geometry.frames import BodyFrame, WorldFrame

__all__ = [
    "BodyFrame",
    "EulerConvention",
    "WorldFrame",
    "euler",
    "frames",
    "gravity",
    "quaternion",
    "rotations",
]
