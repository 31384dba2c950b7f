"""Motion: the truth at any time t, which sensors measure and estimates are held against."""

from strapdown.motion.analytic import MOTIONS, Coning, MultiSine, Sines
from strapdown.motion.kinematics import Kinematics, Motion

__all__ = ["MOTIONS", "Coning", "Kinematics", "Motion", "MultiSine", "Sines"]
