"""Constraints of a joint between two segments.

Three of them, each between quantities of both segments, and with the heading ``d`` of the second
segment's world in that of the first, ``D = Rz(d)``:

* The centre of the joint belongs to both, hence has one acceleration at one time:
  ``f_1 + R_1'' r_1 = D (f_2 + R_2'' r_2)`` (I. Weygers, M. Kok, IEEE Sensors
  Journal 20, 2020). A constant error of each accelerometer is estimated too, on request also
  its scale and misalignment.
* The axis of a hinge belongs to both: ``R_1 j_1 = D R_2 j_2`` (T. Seel, T. Schauer, J. Raisch, IEEE
  CCA 2012; D. Laidig et al., IFAC 2017).
* The axes of a joint with two keep their angle: ``(R_1 j_1) . (D R_2 j_2) = cos(c)`` (D. Laidig,
  D. Lehmann, M. Begin, T. Seel, EMBC 2019).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.joints.anatomy import JointKind
from strapdown.joints.segments import gaps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray
    from strapdown.joints.segments import Segments

__all__ = ["CENTRE_PRIOR", "FORCE_PRIOR", "Constraint", "Model", "State", "tangents", "turned"]

CENTRE_PRIOR: Final = 0.5
"""Distance of the joint's centre from a sensor [m]."""
FORCE_PRIOR: Final = 1.0
"""Constant error of an accelerometer, scale errors of gravity included [m/s^2]."""
MATRIX_PRIOR: Final = 0.01
"""Scale and misalignment of an accelerometer, and its rotation relative to the gyro."""
TILT: Final = 0.1
"""Horizontal acceleration that an error of inclination pretends; below, it shows no heading
[m/s^2]."""
NEAREST: Final = 0.999
"""Largest cosine of the angle between two axes, whose slope is still finite."""
DELAY_PRIOR: Final = 0.01
"""Delay of a clock [s]."""
FREE: Final = 10.0
"""Of what the motion must determine."""


@dataclass(frozen=True, eq=False)
class State:
    """Unknowns of a joint.

    Parameters
    ----------
    heading : (M,)
        Heading of the second world in the first at the knots [rad].
    centre_first, centre_second : (3,)
        From the sensor to the centre of the joint [m, sensor].
    force_first, force_second : (3,)
        Constant errors of the accelerometers [m/s^2, sensor].
    axis_first, axis_second : (3,)
        Unit vectors [sensor]; without meaning for a ball joint.
    angle : float
        Between the two axes [rad].
    delay : float
        Of the clock of the second sensor: its stamps less those of the first [s].
    matrix_first, matrix_second : (9,)
        Scale and misalignment of the accelerometers, row by row.
    """

    heading: FloatArray
    centre_first: FloatArray
    centre_second: FloatArray
    force_first: FloatArray
    force_second: FloatArray
    axis_first: FloatArray
    axis_second: FloatArray
    angle: float = 0.0
    delay: float = 0.0
    matrix_first: FloatArray = field(default_factory=partial(np.zeros, 9))
    matrix_second: FloatArray = field(default_factory=partial(np.zeros, 9))

    def moved(self, steps: Mapping[str, FloatArray], heading: FloatArray) -> State:
        """Return the state after a step; that of an axis is along its two tangents."""
        changes: dict[str, object] = {"heading": self.heading + heading}
        for name, step in steps.items():
            old = getattr(self, name)
            if name.startswith("axis"):
                new = old + tangents(old) @ step
                changes[name] = new / np.linalg.norm(new)
            elif name in {"angle", "delay"}:
                changes[name] = old + float(step[0])
            else:
                changes[name] = old + step
        return replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Constraint:
    """Residuals of one constraint, and their derivatives.

    Parameters
    ----------
    rows : (K, D)
    by : dict of (K, D, n)
        Derivatives by each constant.
    by_heading : (K, D)
        Derivative by the heading at the instant.
    """

    rows: FloatArray
    by: Mapping[str, FloatArray]
    by_heading: FloatArray


class Model:
    """The constraints of a kind of joint on the motion of two segments.

    Parameters
    ----------
    segments : Segments
    kind : JointKind
    with_matrices : bool
        Estimate scale and misalignment of the accelerometers too.
    """

    def __init__(self, segments: Segments, kind: JointKind, *, with_matrices: bool = False) -> None:
        self.segments, self.kind, self.with_matrices = segments, kind, with_matrices

    @cached_property
    def priors(self) -> dict[str, tuple[int, float]]:
        """Size and standard deviation of each constant, in the order of the equations."""
        priors = {
            "centre_first": (3, CENTRE_PRIOR),
            "centre_second": (3, CENTRE_PRIOR),
            "force_first": (3, FORCE_PRIOR),
            "force_second": (3, FORCE_PRIOR),
            "delay": (1, DELAY_PRIOR),
        }
        if self.with_matrices:
            priors |= {"matrix_first": (9, MATRIX_PRIOR), "matrix_second": (9, MATRIX_PRIOR)}
        if self.kind is not JointKind.BALL:
            priors |= {"axis_first": (2, FREE), "axis_second": (2, FREE)}
        if self.kind is JointKind.SADDLE:
            priors["angle"] = (1, FREE)
        return priors

    def constraints(self, state: State, heading: FloatArray) -> dict[str, Constraint]:
        """Return the constraints at a state, with the heading (K,) at the instants [rad]."""
        found = {"centre": self._centre(state, heading)}
        if self.kind is JointKind.HINGE:
            found["axis"] = self._hinge(state, heading)
        elif self.kind is JointKind.SADDLE:
            found["axis"] = self._saddle(state, heading)
        return found

    def accelerations(self, state: State) -> tuple[FloatArray, FloatArray]:
        """Return the specific force (K, 3) at the joint's centre by each segment, in its world."""
        one, two = self.segments.first, self.segments.second
        first, second = (
            one.force + one.curvature @ state.centre_first - one.mean_rotation @ state.force_first,
            two.force
            + two.curvature @ state.centre_second
            - two.mean_rotation @ state.force_second,
        )
        if self.with_matrices:
            first -= one.force_products @ state.matrix_first
            second -= two.force_products @ state.matrix_second
        return first, second

    def _centre(self, state: State, heading: FloatArray) -> Constraint:
        one, two = self.segments.first, self.segments.second
        first, second = self.accelerations(state)
        slope = self._slope(second)
        remaining = state.delay - self.segments.delay_s
        there = turned(heading, second + remaining * slope)
        by = {
            "delay": -turned(heading, slope)[:, :, None],
            "centre_first": one.curvature,
            "centre_second": -_turned_columns(heading, two.curvature),
            "force_first": -one.mean_rotation,
            "force_second": _turned_columns(heading, two.mean_rotation),
        }
        if self.with_matrices:
            by["matrix_first"] = -one.force_products
            by["matrix_second"] = _turned_columns(heading, two.force_products)
        square = np.sum(there[:, :2] ** 2, axis=1, keepdims=True)
        return Constraint(first - there, by, -_quarter(there) * square / (square + TILT**2))

    def _slope(self, v: FloatArray) -> FloatArray:
        """Return the derivative in time of vectors (K, 3); 0 next to gaps."""
        t_s = self.segments.t_s
        slope = np.zeros_like(v)
        slope[1:-1] = (v[2:] - v[:-2]) / (t_s[2:] - t_s[:-2])[:, None]
        before = gaps(t_s)
        slope[np.append(before, before + 1)] = 0.0
        return slope

    def _hinge(self, state: State, heading: FloatArray) -> Constraint:
        one, two = self.segments.first.rotation, self.segments.second.rotation
        there = turned(heading, two @ state.axis_second)
        by = {
            "axis_first": one @ tangents(state.axis_first),
            "axis_second": -_turned_columns(heading, two @ tangents(state.axis_second)),
        }
        return Constraint(one @ state.axis_first - there, by, -_quarter(there))

    def _saddle(self, state: State, heading: FloatArray) -> Constraint:
        one, two = self.segments.first.rotation, self.segments.second.rotation
        here, there = one @ state.axis_first, turned(heading, two @ state.axis_second)
        columns = _turned_columns(heading, two @ tangents(state.axis_second))
        along = np.clip(np.einsum("ki,ki->k", here, there), -NEAREST, NEAREST)
        slope = -1.0 / np.sqrt(1.0 - along**2)[:, None]
        by_first = np.einsum("kij,ki->kj", one @ tangents(state.axis_first), there)
        by_second = np.einsum("kij,ki->kj", columns, here)
        by_heading = np.einsum("ki,ki->k", here, _quarter(there))[:, None]
        by = {
            "axis_first": (slope * by_first)[:, None],
            "axis_second": (slope * by_second)[:, None],
            "angle": np.full((len(here), 1, 1), -1.0),
        }
        return Constraint((np.arccos(along) - state.angle)[:, None], by, slope * by_heading)


def turned(heading: FloatArray, v: FloatArray) -> FloatArray:
    """Return vectors (K, 3) turned about the vertical by headings (K,)."""
    cosine, sine = np.cos(heading), np.sin(heading)
    x, y, z = v.T
    return np.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=1)


def tangents(axis: FloatArray) -> FloatArray:
    """Return two unit vectors (3, 2) at right angles to an axis and to each other."""
    aside = np.cross(axis, np.eye(3)[np.argmin(np.abs(axis))])
    aside /= np.linalg.norm(aside)
    return np.stack([aside, np.cross(axis, aside)], axis=1)


def _turned_columns(heading: FloatArray, matrices: FloatArray) -> FloatArray:
    """Return matrices (K, 3, n) turned about the vertical by headings (K,)."""
    cosine, sine = np.cos(heading)[:, None], np.sin(heading)[:, None]
    x, y, z = np.moveaxis(matrices, 1, 0)
    return np.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=1)


def _quarter(v: FloatArray) -> FloatArray:
    """Return the derivative of turned vectors (K, 3) by the heading."""
    x, y, z = v.T
    return np.stack([-y, x, 0.0 * z], axis=1)
