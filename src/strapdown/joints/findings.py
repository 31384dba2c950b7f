"""Doubts about the result of a joint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.joints.anatomy import JointKind
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown.joints.result import JointResult

__all__ = ["findings"]

STIFF: Final = 2.0 * RAD_PER_DEG
"""Standard deviation below which an angle does not show its axis [rad]."""
UNCERTAIN: Final = 3.0 * RAD_PER_DEG
"""Standard deviation above which an axis counts as not determined [rad]."""
LOST: Final = 5.0 * RAD_PER_DEG
"""Standard deviation above which a heading counts as not determined [rad]."""
ANOTHER_AXIS: Final = 4.0 * RAD_PER_DEG
"""Residual above which a joint has another axis [rad]."""
ONE_AXIS: Final = 0.4
"""Sine of the angle between two axes below which they count as one."""
SEPARATE: Final = 1.0
"""Difference of the accelerations of one centre above which there is none [m/s^2]."""
BALANCED: Final = 0.8
"""Smaller over larger range above which the direction of an axis is a guess."""
NEXT: Final = {JointKind.HINGE: JointKind.SADDLE, JointKind.SADDLE: JointKind.BALL}


def findings(result: JointResult, balance: float) -> tuple[str, ...]:
    """Return findings about a result, each with the next step.

    Parameters
    ----------
    result : JointResult
    balance : float
        Smaller over larger range of the first angle.
    """
    found = []
    for name, spread in zip(result.angle_names, np.nanstd(result.angles, axis=0), strict=True):
        if spread < STIFF and result.kind is not JointKind.BALL:
            found.append(
                f"{name} hardly changes, by {spread / RAD_PER_DEG:.1f} deg: its axis is not "
                "determined; move the joint farther"
            )
    for name, sigma in (("first", result.axis_first_sigma), ("second", result.axis_second_sigma)):
        if sigma is not None and sigma > UNCERTAIN:
            found.append(
                f"the axis in the {name} sensor is not determined, +- {sigma / RAD_PER_DEG:.0f} "
                "deg; move the joint, and both segments in all directions"
            )
    lost = float(np.mean(result.heading_sigma > LOST))
    if lost > 0.0:
        found.append(
            f"the heading between the sensors is not determined for {100.0 * lost:.0f} % of the "
            "time; move the joint about, with accelerations in the horizontal"
        )
    if result.axes_angle is not None and math.sin(result.axes_angle) < ONE_AXIS:
        found.append("both axes coincide: the joint turns about one axis; try the kind hinge")
    if result.axis_rms is not None and result.axis_rms > ANOTHER_AXIS:
        found.append(
            f"the axes leave {result.axis_rms / RAD_PER_DEG:.0f} deg: the joint has another axis; "
            f"try the kind {NEXT[result.kind]}"
        )
    if result.centre_rms > SEPARATE:
        found.append(
            f"the accelerations of the joint's centre differ by {result.centre_rms:.1f} m/s^2; "
            "check that the clocks agree, and that the sensors are on neighbouring segments"
        )
    if result.joint is not None and balance > BALANCED:
        found.append(
            f"the sign of {result.angle_names[0]} is a guess: its ranges in both directions are "
            "alike; reverse it if it is wrong, or record a neutral pose at the beginning"
        )
    return tuple(found)
