"""Errors of an estimated track: of the whole, per time, and per distance.

The absolute error is computed after the best rigid alignment (S. Umeyama, IEEE Transactions PAMI
13(4), 1991, without scale), the relative error of pose over a time or a distance (J. Sturm et
al., IROS 2012; A. Geiger et al., CVPR 2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from strapdown._checks import as_member
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.evaluation._pairing import Pair, as_track, is_place, paired, rms
from strapdown.evaluation._results import Evaluation
from strapdown.geometry import WorldFrame, quaternion
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray, IntArray
    from strapdown.evaluation._pairing import Track

__all__ = [
    "PositionAlignment",
    "PositionEvaluation",
    "RelativePoseError",
    "closing_error",
    "evaluate_position",
    "relative_pose_error",
]


class PositionAlignment(StrEnum):
    """Rigid motion between two worlds that is removed before errors are computed."""

    NONE = "none"
    """None: both worlds are the same."""
    START = "start"
    """Position and heading at the first row that counts: odometry starts anywhere."""
    RIGID_2D = "rigid2d"
    """Least-squares rotation about the vertical and translation over all rows."""
    RIGID_3D = "rigid3d"
    """Least-squares rotation and translation over all rows."""


@dataclass(frozen=True)
class PositionEvaluation(Evaluation):
    """Position errors of a whole track.

    Parameters
    ----------
    ate, ate_2d, ate_vertical : float
        Absolute trajectory error: root mean square of the distance to the reference, in space,
        in the horizontal plane and along the vertical [m].
    error_median, error_max : float
        Median and largest distance in space [m].
    closing_error, closing_error_2d : float
        Error of the displacement from the first to the last row, in space and in the horizontal
        plane [m].
    distance : float
        Path length of the reference, row to row [m].
    samples : int
        Rows of the reference that count.
    excluded : mapping of str to int
        Rows of the reference that do not count, by reason.
    dropped : int
        Rows of the estimate left out because their stamp repeats or goes back.
    align : PositionAlignment
        Kind of rigid motion that was removed.
    removed_rotation : tuple of 4 float
        From the reference's world to the estimate's, both ENU, x y z w.
    removed_translation : tuple of 3 float
        The reference's origin in the estimate's world [m].
    """

    ate: float
    ate_2d: float
    ate_vertical: float
    error_median: float
    error_max: float
    closing_error: float
    closing_error_2d: float
    distance: float
    samples: int
    excluded: Mapping[str, int]
    dropped: int
    align: PositionAlignment
    removed_rotation: tuple[float, float, float, float]
    removed_translation: tuple[float, float, float]

    DERIVED: ClassVar[tuple[str, ...]] = ("drift_percent",)
    METRICS: ClassVar[Mapping[str, str]] = {
        "ate_m": "ate",
        "ate_2d_m": "ate_2d",
        "closing_error_m": "closing_error",
        "drift_percent": "drift_percent",
    }

    @property
    def drift_percent(self) -> float:
        """Closing error per distance travelled [%]; NaN where nothing moved."""
        return 100.0 * self.closing_error / self.distance if self.distance else math.nan


@dataclass(frozen=True)
class RelativePoseError(Evaluation):
    """Errors over all segments of one length.

    Parameters
    ----------
    translation, translation_median, translation_max : float
        Root mean square, median and largest error of the displacement, in the axes of the body
        at the start of the segment [m].
    rotation, rotation_median, rotation_max : float
        The same of the rotation [rad].
    drift_percent : float
        Mean over the segments of the displacement error divided by the distance that the
        reference travelled [%]; NaN where nothing moved.
    pairs : int
        Segments.
    over_s, over_m : float or None
        Their length [s] or [m].
    """

    translation: float
    translation_median: float
    translation_max: float
    rotation: float
    rotation_median: float
    rotation_max: float
    drift_percent: float
    pairs: int
    over_s: float | None
    over_m: float | None

    DERIVED: ClassVar[tuple[str, ...]] = ("rotation_deg",)
    METRICS: ClassVar[Mapping[str, str]] = {
        "rpe_m": "translation",
        "rpe_deg": "rotation_deg",
        "rpe_percent": "drift_percent",
    }

    @property
    def rotation_deg(self) -> float:
        """Root mean square error of the rotation [deg]."""
        return self.rotation / RAD_PER_DEG


def evaluate_position(
    estimate: Track,
    reference: Track,
    *,
    align: PositionAlignment | str = PositionAlignment.NONE,
    max_gap_ns: int | None = None,
) -> PositionEvaluation:
    """Compare the positions of two tracks at the stamps of the reference.

    The estimate is converted to the world axes of the reference and interpolated at its stamps,
    not across gaps. Rows count where the reference is known and ``moving`` (all rows without
    that column), and where there is an estimate.

    Parameters
    ----------
    estimate, reference : Trajectory, or result with one
        In any frames; the stamps of the reference in ascending order.
    align : {"none", "start", "rigid2d", "rigid3d"}
        Rigid motion between the worlds that is removed first: never a scale, never a
        reflection. ``"start"`` takes the heading from the two attitudes at the first row.
    max_gap_ns : int, optional
        Rows of the estimate farther apart are not interpolated [ns]; by default five times
        its median interval and at least 20 ms.

    Returns
    -------
    PositionEvaluation

    Raises
    ------
    ValueRangeError
        No row counts, such as when the two have no time in common or one has no positions.
    UnknownNameError
        There is no such alignment.
    TypeError
        The estimate or the reference is neither a trajectory nor has one.
    """
    align = as_member(PositionAlignment, align, "alignment")
    start = align is PositionAlignment.START
    pair = paired(estimate, reference, max_gap_ns, position=True, attitude=start)
    p, truth = _places(pair)
    rotation, translation = _rigid_motion(pair, align)
    errors = quaternion.rotate(quaternion.conjugate(rotation), p - translation) - truth
    distances = np.linalg.norm(errors, axis=1)
    missed = errors[-1] - errors[0]
    (x, y, z, w), (e, n, u) = rotation.tolist(), translation.tolist()
    return PositionEvaluation(
        ate=rms(errors),
        ate_2d=rms(errors[:, :2]),
        ate_vertical=rms(errors[:, 2]),
        error_median=float(np.median(distances)),
        error_max=float(distances.max()),
        closing_error=float(np.linalg.norm(missed)),
        closing_error_2d=float(np.linalg.norm(missed[:2])),
        distance=float(_travelled(truth)[-1]),
        samples=len(truth),
        excluded=pair.excluded,
        dropped=pair.dropped,
        align=align,
        removed_rotation=(x, y, z, w),
        removed_translation=(e, n, u),
    )


def relative_pose_error(
    estimate: Track,
    reference: Track,
    *,
    over_s: float | None = None,
    over_m: float | None = None,
    max_gap_ns: int | None = None,
) -> RelativePoseError:
    """Compare the relative poses of two tracks over segments of a time or a distance.

    Rows are paired and count as in :func:`evaluate_position`. A segment begins at each row and
    ends at the first row that is ``over_s`` later, or ``over_m`` farther along the reference. A
    segment of time is left out if its end is late by more than a median interval of the
    reference. No alignment is needed: constant rotations and translations of either world cancel.

    Parameters
    ----------
    estimate, reference : Trajectory, or result with one
        With attitude and position, in any frames; the stamps of the reference ascending.
    over_s, over_m : float
        Length of the segments, one of the two [s], [m].
    max_gap_ns : int, optional
        As in :func:`evaluate_position`.

    Returns
    -------
    RelativePoseError

    Raises
    ------
    TypeError
        Not exactly one of ``over_s`` and ``over_m`` was given, or the estimate or the reference
        is neither a trajectory nor has one.
    ValueRangeError
        The length is not above 0, or the tracks are shorter.
    """
    over = over_s if over_s is not None else over_m
    if over is None or (over_s is not None and over_m is not None):
        raise TypeError("expected one of over_s and over_m, got both or none")
    if not 0.0 < over < math.inf:
        raise ValueRangeError(f"expected segments of a length above 0, got {over}")
    pair = paired(estimate, reference, max_gap_ns, position=True, attitude=True)
    p, truth = _places(pair)
    travelled = _travelled(truth)
    along = travelled
    if over_s is not None:
        along = (pair.reference.t_ns - pair.reference.t_ns[0]) / NS_PER_S
    first, last = _segments(along, over, by_time=over_s is not None)
    if not len(first):
        raise ValueRangeError(
            f"expected tracks longer than the segments of {over} {'s' if over_s else 'm'}, got "
            f"{along[-1]:.6g}: choose shorter segments"
        )
    q, r = pair.estimate.q_world_from_body, pair.reference.q_world_from_body
    way = _way(q, p, first, last) - _way(r, truth, first, last)
    error = np.linalg.norm(way, axis=1)
    angle = quaternion.angle_between(_turn(r, first, last), _turn(q, first, last))
    length = travelled[last] - travelled[first]
    moved = length > 0.0
    return RelativePoseError(
        translation=rms(error),
        translation_median=float(np.median(error)),
        translation_max=float(error.max()),
        rotation=rms(angle),
        rotation_median=float(np.median(angle)),
        rotation_max=float(angle.max()),
        drift_percent=100.0 * float(np.mean(error[moved] / length[moved]))
        if moved.any()
        else math.nan,
        pairs=len(first),
        over_s=over_s,
        over_m=over_m,
    )


def closing_error(track: Track) -> tuple[float, float]:
    """Return the distance from the first to the last position of a closed track.

    Parameters
    ----------
    track : Trajectory, or result with one
        With positions; its first and its last known one are compared.

    Returns
    -------
    tuple of 2 float
        In space and in the horizontal plane [m].

    Raises
    ------
    ValueRangeError
        No position is known.
    TypeError
        It is neither a trajectory nor has one.
    """
    track = as_track(track, "track").in_frames(world=WorldFrame.ENU)
    position = track.position_world
    known = np.flatnonzero(is_place(position, len(track)))
    if position is None or not len(known):
        raise ValueRangeError(f"expected a track with positions, got none in {track!r}")
    missed = position[known[-1]] - position[known[0]]
    return float(np.linalg.norm(missed)), float(np.linalg.norm(missed[:2]))


def _places(pair: Pair) -> tuple[FloatArray, FloatArray]:
    p, truth = pair.estimate.position_world, pair.reference.position_world
    if p is None or truth is None:  # no row would have counted
        raise ShapeError("expected two tracks with positions, got one without")
    return p, truth


def _rigid_motion(pair: Pair, align: PositionAlignment) -> tuple[FloatArray, FloatArray]:
    """Return rotation and translation from the reference's world to the estimate's."""
    p, truth = _places(pair)
    if align is PositionAlignment.NONE:
        return quaternion.IDENTITY, np.zeros(3)
    if align is PositionAlignment.START:
        q, r = pair.estimate.q_world_from_body[0], pair.reference.q_world_from_body[0]
        _, _, z, w = quaternion.multiply(q, quaternion.conjugate(r))
        rotation = quaternion.from_rotation_vector([0.0, 0.0, 2.0 * math.atan2(z, w)])
        return rotation, p[0] - quaternion.rotate(rotation, truth[0])
    centre, middle = p.mean(axis=0), truth.mean(axis=0)
    covariance = (p - centre).T @ (truth - middle)
    if align is PositionAlignment.RIGID_2D:
        across = covariance[1, 0] - covariance[0, 1]
        angle = math.atan2(across, covariance[0, 0] + covariance[1, 1])
        rotation = quaternion.from_rotation_vector([0.0, 0.0, angle])
    else:
        u, _, v = np.linalg.svd(covariance)
        u[:, 2] *= np.sign(np.linalg.det(u @ v))  # no reflection
        rotation = quaternion.from_matrix(u @ v)
    return rotation, centre - quaternion.rotate(rotation, middle)


def _travelled(position: FloatArray) -> FloatArray:
    """Return the path length up to each row."""
    steps = np.linalg.norm(np.diff(position, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _segments(along: FloatArray, over: float, *, by_time: bool) -> tuple[IntArray, IntArray]:
    """Return the first and the last row of each segment."""
    last = np.searchsorted(along, along + over * (1.0 - 1e-9))
    first = np.flatnonzero(last < len(along))
    last = last[first]
    if by_time:
        late = along[last] - along[first] - over
        on_time = late <= 1.01 * np.median(np.diff(along))
        first, last = first[on_time], last[on_time]
    return first, last


def _way(q: FloatArray, p: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """Return the displacement of each segment, in the axes of the body at its start."""
    return quaternion.rotate(quaternion.conjugate(q[first]), p[last] - p[first])


def _turn(q: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    return quaternion.multiply(quaternion.conjugate(q[first]), q[last])
