"""How far an estimated orientation is from a reference: in total, in heading, in inclination.

The errors are those of the BROAD benchmark (D. Laidig, M. Caruso, A. Cereatti, T. Seel, Data
6(7):72, 2021): the rotation from reference to estimate, in world axes, is split into a
rotation about the vertical (heading) and the smallest rotation about a horizontal axis
(inclination). A pure heading error of 5 deg reads 5, 5, 0 and a pure tilt 5, 0, 5.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown._checks import as_floats, as_member
from strapdown.errors import ValueRangeError
from strapdown.geometry import WorldFrame, quaternion
from strapdown.timebase import ordered, orientation_at
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import ArrayLike, BoolArray, FloatArray, IntArray
    from strapdown.series import Trajectory

__all__ = [
    "Alignment",
    "OrientationError",
    "OrientationEvaluation",
    "evaluate_orientation",
    "orientation_error",
]


class Alignment(StrEnum):
    """Which constant rotation between two worlds is removed before errors are taken."""

    NONE = "none"
    """None: both worlds are the same (9D)."""
    HEADING = "heading"
    """The mean heading over the first second that counts: heading has no reference (6D)."""
    WORLD = "world"
    """The mean rotation over all rows: the world of one is arbitrary."""


class OrientationError(NamedTuple):
    """Errors row by row, each of shape (...) [rad, 0 to pi]."""

    total: FloatArray
    heading: FloatArray
    inclination: FloatArray


@dataclass(frozen=True)
class OrientationEvaluation:
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
        Rows of the reference that do not, by reason.
    dropped : int
        Rows of the estimate left out because their stamp repeats or goes back.
    align : Alignment
        What was removed.
    removed_rotation : tuple of 4 float
        The constant rotation that was removed, x y z w, from the reference's world to the
        estimate's, both ENU.
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

    def to_dict(self) -> dict[str, object]:
        """Return every field, and the degrees, as JSON holds them."""
        degrees = {
            "total_deg": self.total_deg,
            "heading_deg": self.heading_deg,
            "inclination_deg": self.inclination_deg,
        }
        return asdict(self) | degrees | {"removed_rotation": list(self.removed_rotation)}


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
    return _split(quaternion.multiply(q_estimate, quaternion.conjugate(q_reference)))


def evaluate_orientation(
    estimate: Trajectory,
    reference: Trajectory,
    *,
    align: Alignment | str = Alignment.NONE,
    max_gap_ns: int | None = None,
) -> OrientationEvaluation:
    """Compare two tracks at the stamps of the reference.

    The estimate is brought to the frames of the reference and interpolated at its stamps, not
    across gaps. Rows count where the reference is known and ``moving`` (all rows, if it does
    not say), and where there is an estimate.

    Parameters
    ----------
    estimate, reference : Trajectory
        In any frames; the stamps of the reference in any order.
    align : {"none", "heading", "world"}
        Which constant rotation between the worlds is removed first.
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
    """
    align = as_member(Alignment, align, "alignment")
    reference = reference.in_frames(world=WorldFrame.ENU)
    estimate, order = ordered(estimate.in_frames(world=WorldFrame.ENU, body=reference.body), "drop")
    q_estimate = orientation_at(estimate, reference.t_ns, max_gap_ns=max_gap_ns)
    counts, excluded = _counting_rows(q_estimate, reference)
    if not counts.any():
        raise ValueRangeError(
            f"expected rows that can be compared, got none of {len(reference)}"
            f" ({', '.join(f'{number} {reason}' for reason, number in excluded.items())}):"
            f" the estimate covers {_span(estimate)}, the reference {_span(reference)}"
        )
    turns = quaternion.multiply(
        q_estimate[counts], quaternion.conjugate(reference.q_world_from_body[counts])
    )
    removed = _constant_turn(turns, align, np.flatnonzero(counts), reference.rate_hz)
    errors = _split(quaternion.multiply(turns, quaternion.conjugate(removed)))
    x, y, z, w = removed.tolist()
    return OrientationEvaluation(
        total=_rms(errors.total),
        heading=_rms(errors.heading),
        inclination=_rms(errors.inclination),
        total_max=float(errors.total.max()),
        heading_max=float(errors.heading.max()),
        inclination_max=float(errors.inclination.max()),
        samples=int(counts.sum()),
        excluded=excluded,
        dropped=order.dropped_duplicates + order.dropped_backward,
        align=align,
        removed_rotation=(x, y, z, w),
    )


def _split(turn: FloatArray) -> OrientationError:
    """Split rotations in world axes; arc tangents, unlike arc cosines, are exact near zero."""
    x, y, z, w = np.moveaxis(turn, -1, 0)
    about, level = np.hypot(z, w), np.hypot(x, y)
    return OrientationError(
        2.0 * np.arctan2(np.hypot(level, z), np.abs(w)),
        2.0 * np.arctan2(np.abs(z), np.abs(w)),
        2.0 * np.arctan2(level, about),
    )


def _rms(error: FloatArray) -> float:
    return float(np.sqrt(np.mean(error**2)))


def _counting_rows(
    q_estimate: FloatArray, reference: Trajectory
) -> tuple[BoolArray, dict[str, int]]:
    """Return which rows of the reference count, and why the others do not."""
    moving = reference.moving if reference.moving is not None else np.ones(len(reference), bool)
    counts, excluded = moving, {"not moving": int((~moving).sum())}
    known = {
        "without reference": _known(reference.q_world_from_body),
        "without estimate": _known(q_estimate),
    }
    for reason, mask in known.items():
        excluded[reason] = int((counts & ~mask).sum())
        counts = counts & mask
    return counts, {reason: number for reason, number in excluded.items() if number}


def _known(q: FloatArray) -> BoolArray:
    """Return which rows are a rotation: finite, and not all zero."""
    largest: FloatArray = np.max(np.abs(q), axis=1)
    return np.isfinite(largest) & (largest > 0.0)


def _constant_turn(
    turns: FloatArray, align: Alignment, rows: IntArray, rate_hz: float
) -> FloatArray:
    """Return the rotation that ``align`` removes from the turns at these rows."""
    if align is Alignment.NONE:
        return quaternion.IDENTITY
    if align is Alignment.WORLD:
        return quaternion.mean(turns)
    second = max(1, int(np.nan_to_num(rate_hz)))
    first = turns[rows < rows[0] + second]
    mean = np.mean(np.exp(2j * np.arctan2(first[:, 2], first[:, 3])))
    return quaternion.from_rotation_vector([0.0, 0.0, np.angle(mean)])


def _span(track: Trajectory) -> str:
    if not len(track):
        return "no time"
    return f"{track.t_ns.min() / NS_PER_S:.3f} to {track.t_ns.max() / NS_PER_S:.3f} s"
