"""Errors of an estimated orientation: total, heading and inclination.

The errors are those of the BROAD benchmark (D. Laidig, M. Caruso, A. Cereatti, T. Seel, Data
6(7):72, 2021): the rotation from reference to estimate, in world axes, is split into a
rotation about the vertical (heading) and the smallest rotation about a horizontal axis
(inclination). A pure heading error of 5 deg reads 5, 5, 0 and a pure tilt 5, 0, 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import numpy as np

from strapdown._checks import as_floats, as_member
from strapdown.evaluation._pairing import as_track, paired, rms
from strapdown.evaluation._results import Evaluation
from strapdown.geometry import quaternion
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import ArrayLike, FloatArray, IntArray
    from strapdown.evaluation._pairing import Track

__all__ = [
    "Alignment",
    "OrientationError",
    "OrientationEvaluation",
    "evaluate_orientation",
    "orientation_error",
]


_ROUNDS: Final = 30  # of the alternating means


class Alignment(StrEnum):
    """Constant rotation between two worlds that is removed before errors are computed."""

    NONE = "none"
    """Nothing: both have the same world (9D: an estimate with a magnetometer)."""
    HEADING = "heading"
    """Mean heading over the first second that counts (6D: an estimate without a magnetometer)."""
    WORLD = "world"
    """Mean rotation over all rows: the world of one is arbitrary."""
    WORLD_AND_BODY = "world_and_body"
    """A constant rotation of the world and one of the body: the mounting is unknown, too."""


class OrientationError(NamedTuple):
    """Errors row by row, each of shape (...) [rad, 0 to pi]."""

    total: FloatArray
    heading: FloatArray
    inclination: FloatArray


@dataclass(frozen=True)
class OrientationEvaluation(Evaluation):
    """Orientation errors of a whole track.

    Parameters
    ----------
    total, heading, inclination : float
        Root mean square [rad].
    total_max, heading_max, inclination_max : float
        Largest [rad].
    samples : int
        Rows of the reference that count.
    excluded : mapping of str to int
        Rows of the reference that do not count, by reason.
    dropped : int
        Rows of the estimate left out because their stamp repeats or goes back.
    align : Alignment
        Kind of rotation that was removed.
    removed_rotation : tuple of 4 float
        The constant rotation that was removed, x y z w, from the reference's world to the
        estimate's, both ENU.
    removed_body_rotation : tuple of 4 float
        The same from the estimate's body to the reference's.
    """

    total: float
    heading: float
    inclination: float
    total_max: float
    heading_max: float
    inclination_max: float
    samples: int
    excluded: Mapping[str, int]
    dropped: int
    align: Alignment
    removed_rotation: tuple[float, float, float, float]
    removed_body_rotation: tuple[float, float, float, float]

    DERIVED: ClassVar[tuple[str, ...]] = ("total_deg", "heading_deg", "inclination_deg")
    METRICS: ClassVar[Mapping[str, str]] = {name: name for name in DERIVED}

    @property
    def total_deg(self) -> float:
        """Root mean square of the whole error [deg]."""
        return self.total / RAD_PER_DEG

    @property
    def heading_deg(self) -> float:
        """Root mean square of the error about the vertical [deg]."""
        return self.heading / RAD_PER_DEG

    @property
    def inclination_deg(self) -> float:
        """Root mean square of the error of the vertical [deg]."""
        return self.inclination / RAD_PER_DEG


def orientation_error(q_estimate: ArrayLike, q_reference: ArrayLike) -> OrientationError:
    """Return the error of each estimate, split into heading and inclination.

    Parameters
    ----------
    q_estimate, q_reference : array_like, shape (..., 4)
        ``q_world_from_body``, x y z w, in a world whose z axis is vertical (ENU, NED, NWU).
        The sign of a quaternion and small errors of its length change nothing.

    Returns
    -------
    OrientationError
        Three arrays of shape (...) [rad]; NaN where an input is NaN.
    """
    q_estimate = as_floats(q_estimate, "q_estimate", (4,))
    q_reference = as_floats(q_reference, "q_reference", (4,))
    turn = quaternion.multiply(q_estimate, quaternion.conjugate(q_reference))
    x, y, z, w = np.moveaxis(turn, -1, 0)
    # arc tangents, unlike arc cosines, are exact near zero
    about, level = np.hypot(z, w), np.hypot(x, y)
    return OrientationError(
        2.0 * np.arctan2(np.hypot(level, z), np.abs(w)),
        2.0 * np.arctan2(np.abs(z), np.abs(w)),
        2.0 * np.arctan2(level, about),
    )


def evaluate_orientation(
    estimate: Track,
    reference: Track,
    *,
    align: Alignment | str = Alignment.NONE,
    max_gap_ns: int | None = None,
) -> OrientationEvaluation:
    """Compare the orientations of two tracks at the stamps of the reference.

    The estimate is converted to the frames of the reference and interpolated at its stamps, not
    across gaps. Rows count where the reference is known and ``moving`` (all rows without that
    column), and where there is an estimate.

    Parameters
    ----------
    estimate, reference : Trajectory, or result with one
        In any frames; the stamps of the reference in any order.
    align : {"none", "heading", "world", "world_and_body"}
        Constant rotation that is removed first. Between worlds it is the mean rotation (F. L.
        Markley et al., JGCD 30(4), 2007); on both sides the two means are computed alternately,
        30 times.
    max_gap_ns : int, optional
        Rows of the estimate farther apart are not interpolated [ns]; by default five times
        its median interval and at least 20 ms.

    Returns
    -------
    OrientationEvaluation

    Raises
    ------
    ValueRangeError
        No row counts, such as when the two have no time in common.
    UnknownNameError
        There is no such alignment.
    TypeError
        The estimate or the reference is neither a trajectory nor has one.
    """
    align = as_member(Alignment, align, "alignment")
    reference = as_track(reference, "reference")
    pair = paired(estimate, reference, max_gap_ns, attitude=True)
    q, r = pair.estimate.q_world_from_body, pair.reference.q_world_from_body
    world, body = _constant_turns(q, r, align, pair.rows, reference.rate_hz)
    errors = orientation_error(q, quaternion.multiply(quaternion.multiply(world, r), body))
    return OrientationEvaluation(
        total=rms(errors.total),
        heading=rms(errors.heading),
        inclination=rms(errors.inclination),
        total_max=float(errors.total.max()),
        heading_max=float(errors.heading.max()),
        inclination_max=float(errors.inclination.max()),
        samples=len(q),
        excluded=pair.excluded,
        dropped=pair.dropped,
        align=align,
        removed_rotation=_as_tuple(world),
        removed_body_rotation=_as_tuple(body),
    )


def _constant_turns(
    q: FloatArray, r: FloatArray, align: Alignment, rows: IntArray, rate_hz: float
) -> tuple[FloatArray, FloatArray]:
    """Return W and S, the rotations of ``q = W r S`` that ``align`` removes."""
    still = quaternion.IDENTITY
    if align is Alignment.NONE:
        return still, still
    turns = quaternion.multiply(q, quaternion.conjugate(r))
    if align is Alignment.HEADING:
        second = max(1, int(np.nan_to_num(rate_hz)))
        first = turns[rows < max(second, rows[0] + 1)]
        mean = np.mean(np.exp(2j * np.arctan2(first[:, 2], first[:, 3])))
        return quaternion.from_rotation_vector([0.0, 0.0, np.angle(mean)]), still
    world, body = quaternion.mean(turns), still
    if align is Alignment.WORLD_AND_BODY:
        for _ in range(_ROUNDS):
            mounted = quaternion.conjugate(quaternion.multiply(world, r))
            body = quaternion.mean(quaternion.multiply(mounted, q))
            turned = quaternion.conjugate(quaternion.multiply(r, body))
            world = quaternion.mean(quaternion.multiply(q, turned))
    return world, body


def _as_tuple(q: FloatArray) -> tuple[float, float, float, float]:
    x, y, z, w = q.tolist()
    return x, y, z, w
