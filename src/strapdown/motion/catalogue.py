"""Motions by name, ready for a sensor."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.motion.analytic import Coning, MultiSine, Sines
from strapdown.motion.piecewise import SixPosition, Turntable
from strapdown.motion.primitives import Circle, FreeFall, Spin, Static
from strapdown.motion.shakers import Chirp, Sculling, lissajous

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import ArrayLike
    from strapdown.motion.kinematics import Motion

__all__ = ["DESCRIPTIONS", "MOTIONS"]


def _from_rest(reach: ArrayLike, frequency_hz: ArrayLike) -> Sines:
    """Return three cosines a channel whose value and first three derivatives are 0 at t = 0.

    ``reach`` (3,) bounds each channel. For frequencies f (3, 3), ascending, the amplitudes A solve
    sum(A) = 0 and sum(A f^2) = 0.
    """
    f = np.asarray(frequency_hz, dtype=np.float64)
    amplitude = np.cross(np.ones_like(f), f**2)
    amplitude *= (np.asarray(reach) / np.abs(amplitude).sum(axis=-1))[:, None]
    return Sines(amplitude, 2.0 * math.pi * f, np.full_like(f, math.pi / 2.0))


def _of_equal_speed(speed: float, frequency_hz: ArrayLike) -> Sines:
    """Return sines whose rates have equal amplitudes and different phases."""
    rate = 2.0 * math.pi * np.asarray(frequency_hz, dtype=np.float64)
    phase = 2.4 * np.arange(rate.size, dtype=np.float64).reshape(rate.shape)
    return Sines(speed / rate, rate, phase)


_TABLE: Final[dict[str, tuple[Motion, str]]] = {
    "static": (Static(), "at rest, level"),
    "free_fall": (FreeFall(), "falls from the origin, level"),
    "spin": (Spin(rate=2.0 * math.pi), "turns about the vertical, once a second"),
    "circle": (Circle(radius=5.0, speed=5.0), "drives a circle of 5 m to the left at 5 m/s"),
    "helix": (Circle(radius=5.0, speed=5.0, climb=1.0), "the circle, climbing at 1 m/s"),
    "multi_sine": (
        MultiSine(
            position=_of_equal_speed(0.2, [[0.3, 1.1, 2.9], [0.5, 1.3, 2.3], [0.4, 1.7, 3.0]]),
            roll_pitch_yaw=_of_equal_speed(
                0.4, [[0.35, 1.2, 2.7], [0.45, 1.5, 2.5], [0.25, 0.9, 2.1]]
            ),
        ),
        "shakes along and about every axis, 18 sines up to 3 Hz",
    ),
    "wander": (
        MultiSine(
            position=_from_rest(
                [0.5, 0.4, 0.25], [[0.13, 0.47, 1.1], [0.11, 0.53, 1.0], [0.17, 0.61, 1.3]]
            ),
            roll_pitch_yaw=_from_rest(
                np.radians([60.0, 45.0, 150.0]),
                [[0.12, 0.43, 1.3], [0.15, 0.37, 1.1], [0.05, 0.19, 0.7]],
            ),
        ),
        "lively, as if held in the hand; begins at rest",
    ),
    "lissajous": (
        lissajous([2.0, 1.5, 0.5], [0.2, 0.3, 0.1], [math.pi / 2.0, 0.0, 0.0]),
        "level along a closed figure of 4 m by 3 m in 10 s",
    ),
    "chirp": (
        Chirp([2e-3, 2e-3, 2e-3], [0.01, 0.01, 0.01], 0.1, 20.0, 60.0),
        "shakes and rocks from 0.1 Hz to 20 Hz, within 60 s",
    ),
    "coning": (
        Coning(half_cone=math.radians(20.0), rate=2.0 * math.pi),
        "tilted by 20 deg about an axis that goes round once a second",
    ),
    "sculling": (
        Sculling(swing=0.05, push=10.0, rate=10.0 * math.pi),
        "rolls in step with a sideways push, 5 times a second; drifts up",
    ),
    "turntable": (
        Turntable.from_rates(
            np.radians([0.0, 30.0, 90.0, 180.0, 0.0, -180.0, -90.0, -30.0, 0.0]),
            hold_s=6.0,
            ramp_s=1.0,
        ),
        "turns about the vertical at rates up to 180 deg/s both ways, within 62 s",
    ),
    "six_position": (SixPosition(), "rests with each axis up and down, within 70 s"),
}

MOTIONS: Final[Mapping[str, Motion]] = MappingProxyType(
    {name: motion for name, (motion, _) in _TABLE.items()}
)
"""Motions by name."""

DESCRIPTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {name: description for name, (_, description) in _TABLE.items()}
)
"""Description of each, one line."""
