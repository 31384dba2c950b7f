"""Checks of the inputs of a pair: mirrored axes, units, motion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.pair.rotation import Fit, fit_rotation
from strapdown.calibration.pair.signals import ImuSignals
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.pair.model import Model, State
    from strapdown.calibration.pair.signals import PoseSignals

__all__ = ["common_rotation", "refuse_mirrored", "refuse_units", "require_rows"]

MIRRORED: Final = 0.05
"""Share that a rotation must leave for a reflection to be considered."""
BETTER: Final = 0.3
"""Share of that, which the reflection may leave."""
FLIPS: Final = {
    "the x axis": np.array([-1.0, 1.0, 1.0]),
    "the y axis": np.array([1.0, -1.0, 1.0]),
    "the z axis": np.array([1.0, 1.0, -1.0]),
    "all axes": np.array([-1.0, -1.0, -1.0]),
}
FEWEST: Final = 60
"""Averages that must be known of each quantity."""
BROAD: Final = 0.1
"""Least breadth of the angular velocities for a rotation to be compared."""
OTHER_AXES: Final = 0.3
"""Share of the specific forces that the rotation of the gyros may leave."""
UNIT_TOLERANCE: Final = 0.15
"""Relative deviation of a ratio from that of two units."""
FORCE_WEIGHT: Final = 0.3
"""Weight of specific force against angular velocity in the first rotation."""


def refuse_mirrored(fit: Fit, what: str) -> None:
    """Raise if vectors of the two sensors are mirror images.

    Raises
    ------
    ValueRangeError
        A reflection explains them, and no rotation does.
    """
    if fit.unexplained < MIRRORED or fit.mirrored > BETTER * fit.unexplained:
        return
    flips = []
    for name, flip in FLIPS.items():
        turn = quaternion.to_rotation_vector(quaternion.from_matrix(fit.reflection * flip))
        flips.append((float(np.linalg.norm(turn)) / RAD_PER_DEG, name))
    angle, name = min(flips)
    raise ValueRangeError(
        f"expected right-handed axes in both sensors, got {what} that are mirror images; with "
        f"{name} of the second reversed, the sensors differ by a rotation of {angle:.1f} deg: "
        "check the signs of its axes"
    )


def refuse_units(one: ImuSignals, two: ImuSignals | PoseSignals, fit: Fit) -> None:
    """Raise if a ratio of the two sensors is that of two units.

    Raises
    ------
    ValueRangeError
        Angular velocities differ as deg/s from rad/s, or specific force is in g.
    """
    for ratio, name in ((fit.scale, "first"), (1.0 / fit.scale, "second")):
        if abs(ratio * RAD_PER_DEG - 1.0) < UNIT_TOLERANCE:
            raise ValueRangeError(
                f"expected angular velocities in rad/s, got {ratio:.3g} times as much from the "
                f"{name} as from the other, as if in deg/s; multiply it by 0.0174533"
            )
    for signals, name in ((one, "first"), (two, "second")):
        if isinstance(signals, ImuSignals) and signals.force is not None:
            usual = float(np.median(np.linalg.norm(signals.force.values, axis=1)))
            if abs(usual - 1.0) < UNIT_TOLERANCE:
                raise ValueRangeError(
                    f"expected specific force in m/s^2, got a median of {usual:.3g} from the "
                    f"{name}, as if in g; multiply it by {STANDARD_GRAVITY}"
                )


def require_rows(model: Model, state: State) -> None:
    """Raise unless both sensors are known together for some time.

    Raises
    ------
    ValueRangeError
        They are not.
    """
    fewest = min(int(each.known.sum()) for each in model.differences(state))
    if fewest < FEWEST:
        step_s = model.grid.step_s
        raise ValueRangeError(
            f"expected at least {FEWEST * step_s:g} s in which both sensors have samples without "
            f"gaps, got {fewest * step_s:.3g} s; record a minute of motion without gaps"
        )


def common_rotation(model: Model, state: State, fit: Fit) -> FloatArray:
    """Return the rotation to begin with, from angular velocity and, of two IMUs, specific force.

    Specific force adds the angle about the axis of rotation where there is only one.

    Raises
    ------
    ValueRangeError
        Specific forces of the two sensors are mirror images, or do not follow the rotation of
        their gyros.
    """
    if not isinstance(model.second, ImuSignals) or not model.has_force:
        return fit.R
    grid = model.grid
    at = model.second_s(grid.fine_s, state)
    known = grid.covered(model.first.known(grid.fine_s) & model.second.known(at))
    pairs = []
    for a, b in (
        (model.first.rate, model.second.rate),
        (model.first.force, model.second.force),
    ):
        assert a is not None  # noqa: S101 (has_force)
        assert b is not None  # noqa: S101 (has_force)
        pairs.append((grid.mean(a.at(grid.fine_s))[known], grid.mean(b.at(at))[known]))
    (w_a, w_b), (f_a, f_b) = pairs
    forces = fit_rotation(f_a, f_b, centred=False)
    refuse_mirrored(forces, "specific forces")
    _refuse_other_axes(fit, forces, f_a, f_b)
    stacked = [
        np.vstack([w / np.linalg.norm(w), FORCE_WEIGHT * f / np.linalg.norm(f)])
        for w, f in ((w_a - w_a.mean(axis=0), f_a), (w_b - w_b.mean(axis=0), f_b))
    ]
    return fit_rotation(*stacked, centred=False).R


def _refuse_other_axes(rates: Fit, forces: Fit, f_a: FloatArray, f_b: FloatArray) -> None:
    """Raise if gyros and accelerometers are turned differently."""
    size = float(np.linalg.norm(f_a) * np.linalg.norm(f_b))
    left = 1.0 - float(np.sum(f_a * (f_b @ rates.R.T)) / size)
    if rates.breadth < BROAD or left < OTHER_AXES or forces.unexplained > OTHER_AXES:
        return
    angle = float(
        quaternion.angle_between(quaternion.from_matrix(rates.R), quaternion.from_matrix(forces.R))
    )
    raise ValueRangeError(
        "expected gyro and accelerometer of each sensor in the same axes, got rotations between "
        f"the sensors that differ by {angle / RAD_PER_DEG:.0f} deg for angular velocity and "
        "specific force; check order and signs of the axes of the accelerometers"
    )
