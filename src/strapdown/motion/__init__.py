"""Motion: the truth at any time t, which sensors measure and estimates are held against.

A :class:`Motion` gives attitude, position and their derivatives at any instant. A sensor asks an
:class:`InertialSource`: :class:`Mounted` makes one of a motion, a mount and an Earth;
:class:`Replay` of a recorded IMU; :class:`PhysicsWorld` of a simulated world.

The names below load on first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.motion.analytic import Coning, MultiSine, Sines
    from strapdown.motion.catalogue import DESCRIPTIONS, MOTIONS
    from strapdown.motion.commands import Limits, MotionCommands
    from strapdown.motion.earth import FlatEarth, Wgs84
    from strapdown.motion.joint_laws import JointLaw, Motor, Sine, SplineLaw
    from strapdown.motion.kinematics import Kinematics, Motion
    from strapdown.motion.mount import Mount, Mounted
    from strapdown.motion.physics import PhysicsWorld
    from strapdown.motion.piecewise import SixPosition, Turntable
    from strapdown.motion.primitives import Circle, FreeFall, Spin, Static
    from strapdown.motion.replay import Replay
    from strapdown.motion.shakers import Chirp, Sculling, lissajous
    from strapdown.motion.source import InertialSource
    from strapdown.motion.spline import PoseSpline, SplineMode, SplineWarning
    from strapdown.motion.stepped import SteppedSource
    from strapdown.motion.tree import Hinge, KinematicTree, Link, Slider, ball, hinge2

__all__ = [
    "DESCRIPTIONS",
    "MOTIONS",
    "Chirp",
    "Circle",
    "Coning",
    "FlatEarth",
    "FreeFall",
    "Hinge",
    "InertialSource",
    "JointLaw",
    "KinematicTree",
    "Kinematics",
    "Limits",
    "Link",
    "Motion",
    "MotionCommands",
    "Motor",
    "Mount",
    "Mounted",
    "MultiSine",
    "PhysicsWorld",
    "PoseSpline",
    "Replay",
    "Sculling",
    "Sine",
    "Sines",
    "SixPosition",
    "Slider",
    "Spin",
    "SplineLaw",
    "SplineMode",
    "SplineWarning",
    "Static",
    "SteppedSource",
    "Turntable",
    "Wgs84",
    "ball",
    "hinge2",
    "lissajous",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Chirp": "shakers",
        "Circle": "primitives",
        "Coning": "analytic",
        "DESCRIPTIONS": "catalogue",
        "FlatEarth": "earth",
        "FreeFall": "primitives",
        "Hinge": "tree",
        "InertialSource": "source",
        "JointLaw": "joint_laws",
        "KinematicTree": "tree",
        "Kinematics": "kinematics",
        "Limits": "commands",
        "Link": "tree",
        "MOTIONS": "catalogue",
        "Motion": "kinematics",
        "MotionCommands": "commands",
        "Motor": "joint_laws",
        "Mount": "mount",
        "Mounted": "mount",
        "MultiSine": "analytic",
        "PhysicsWorld": "physics",
        "PoseSpline": "spline",
        "Replay": "replay",
        "Sculling": "shakers",
        "Sine": "joint_laws",
        "Sines": "analytic",
        "SixPosition": "piecewise",
        "Slider": "tree",
        "Spin": "primitives",
        "SplineLaw": "joint_laws",
        "SplineMode": "spline",
        "SplineWarning": "spline",
        "Static": "primitives",
        "SteppedSource": "stepped",
        "Turntable": "piecewise",
        "Wgs84": "earth",
        "ball": "tree",
        "hinge2": "tree",
        "lissajous": "shakers",
    },
)
