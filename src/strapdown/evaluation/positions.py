"""How far an estimated track is from a reference: as a whole, per step, and per distance.

The absolute error is taken after the best rigid alignment (S. Umeyama, IEEE Transactions PAMI
13(4), 1991, without scale), the relative error of pose over a time or a distance (J. Sturm et
al., IROS 2012; A. Geiger et al., CVPR 2012).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_member
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.evaluation._pairing import Pair, is_place, paired, rms
from strapdown.geometry import WorldFrame, quaternion
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import FloatArray, IntArray
    from strapdown.series import Trajectory

__all__ = [
    "PositionAlignment",
    "PositionEvaluation",
    "RelativePoseError",
    "closing_error",
    "evaluate_position",
    "relative_pose_error",
]


class PositionAlignment(StrEnum):
    """Which rigid motion between two worlds is removed before errors are taken."""

    NONE = "none"
    """None: both worlds are the same."""
    START = "start"
    """Place and heading at the first row that counts: odometry starts anywhere."""
    RIGID_2D = "rigid2d"
    """The turn about the vertical and the shift with the least squares of all errors."""
    RIGID_3D = "rigid3d"
    """The rotation and the shift with the least squares of all errors."""


@dataclass(frozen=True)
class PositionEvaluation:
    """Position errors of a whole track.

    Parameters
    ----------
    ate, ate_2d, ate_vertical : float
        Absolute trajectory error: root mean square of the distance to the reference, in space,
        in the horizontal plane and along the vertical [m].
    error_median, error_max : float
        Median and largest distance in space [m].
    closing_error, closing_error_2d : float
        How far the way from the first to the last row misses that of the reference, in space
        and in the horizontal plane [m].
    distance : float
        Length of the reference, row to row [m].
    samples : int
        Rows of the reference that count.
    excluded : mapping of str to int
        Rows of the reference that do not, by reason.
    dropped : int
        Rows of the estimate left out because their stamp repeats or goes back.
    align : PositionAlignment
        What was removed.
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

    @property
    def drift_percent(self) -> float:
        """Closing error per distance travelled [%]; NaN where nothing moved."""
        return 100.0 * self.closing_error / self.distance if self.distance else math.nan

    @property
    def metrics(self) -> dict[str, float]:
        """What tables compare: absolute errors [m] and drift [%]."""
        return {
            "ate_m": self.ate,
            "ate_2d_m": self.ate_2d,
            "closing_error_m": self.closing_error,
            "drift_percent": self.drift_percent,
        }

    def to_dict(self) -> dict[str, object]:
        """Return every field, and the drift, as JSON holds them (a drift of NaN aside)."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        } | {"drift_percent": self.drift_percent}


@dataclass(frozen=True)
class RelativePoseError:
    """How wrong pieces of one length are, wherever they begin.

    Parameters
    ----------
    translation, translation_median, translation_max : float
        Root mean square, median and largest error of the way, in the axes of the body at the
        start of the piece [m].
    rotation, rotation_median, rotation_max : float
        The same of the turn [rad].
    drift_percent : float
        Mean of the error of the way over the distance that the reference travelled [%]; NaN
        where nothing moved.
    pairs : int
        Pieces.
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

    @property
    def rotation_deg(self) -> float:
        """Root mean square error of the turn [deg]."""
        return self.rotation / RAD_PER_DEG

    @property
    def metrics(self) -> dict[str, float]:
        """What tables compare: errors of way [m, %] and turn [deg]."""
        return {
            "rpe_m": self.translation,
            "rpe_deg": self.rotation_deg,
            "rpe_percent": self.drift_percent,
        }

    def to_dict(self) -> dict[str, object]:
        """Return every field, and the degrees."""
        return asdict(self) | {"rotation_deg": self.rotation_deg}


def evaluate_position(
    estimate: Trajectory,
    reference: Trajectory,
    *,
    align: PositionAlignment | str = PositionAlignment.NONE,
    max_gap_ns: int | None = None,
) -> PositionEvaluation:
    """Compare the positions of two tracks at the stamps of the reference.

    The estimate is brought to the world axes of the reference and interpolated at its stamps,
    not across gaps. Rows count where the reference is known and ``moving`` (all rows, if it
    does not say), and where there is an estimate.

    Parameters
    ----------
    estimate, reference : Trajectory
        In any frames; the stamps of the reference in ascending order.
    align : {"none", "start", "rigid2d", "rigid3d"}
        Which rigid motion between the worlds is removed first: never a scale, never a
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
    estimate: Trajectory,
    reference: Trajectory,
    *,
    over_s: float | None = None,
    over_m: float | None = None,
    max_gap_ns: int | None = None,
) -> RelativePoseError:
    """Compare how two tracks go on from each row, over a time or over a distance.

    Rows are paired and count as in :func:`evaluate_position`. A piece begins at each and ends
    at the first that is so much later, or farther along the reference; it does not count
    where that one comes more than a median interval of the reference too late. No alignment
    is needed: constant rotations and shifts of either world cancel.

    Parameters
    ----------
    estimate, reference : Trajectory
        With attitude and position, in any frames; the stamps of the reference ascending.
    over_s, over_m : float
        Length of the pieces, one of the two [s], [m].
    max_gap_ns : int, optional
        As in :func:`evaluate_position`.

    Returns
    -------
    RelativePoseError

    Raises
    ------
    TypeError
        Not exactly one of ``over_s`` and ``over_m`` was given.
    ValueRangeError
        The length is not above 0, or no piece is so long.
    """
    over = over_s if over_s is not None else over_m
    if over is None or (over_s is not None and over_m is not None):
        raise TypeError("expected one of over_s and over_m, got both or none")
    if not 0.0 < over < math.inf:
        raise ValueRangeError(f"expected pieces of a length above 0, got {over}")
    pair = paired(estimate, reference, max_gap_ns, position=True, attitude=True)
    p, truth = _places(pair)
    travelled = _travelled(truth)
    along = travelled
    if over_s is not None:
        along = (pair.reference.t_ns - pair.reference.t_ns[0]) / NS_PER_S
    first, last = _pieces(along, over, by_time=over_s is not None)
    if not len(first):
        raise ValueRangeError(
            f"expected tracks longer than the pieces of {over} {'s' if over_s else 'm'}, got "
            f"{along[-1]:.6g}: choose shorter pieces"
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


def closing_error(track: Trajectory) -> tuple[float, float]:
    """Return how far a track that ends where it began does not: in space, and horizontally [m].

    Parameters
    ----------
    track : Trajectory
        With positions; its first and its last known one are compared.

    Returns
    -------
    tuple of 2 float

    Raises
    ------
    ValueRangeError
        No position is known.
    """
    track = track.in_frames(world=WorldFrame.ENU)
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
    """Return the length of the way to each row."""
    steps = np.linalg.norm(np.diff(position, axis=0), axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _pieces(along: FloatArray, over: float, *, by_time: bool) -> tuple[IntArray, IntArray]:
    """Return first and last row of each piece."""
    last = np.searchsorted(along, along + over * (1.0 - 1e-9))
    first = np.flatnonzero(last < len(along))
    last = last[first]
    if by_time:
        late = along[last] - along[first] - over
        on_time = late <= 1.01 * np.median(np.diff(along))
        first, last = first[on_time], last[on_time]
    return first, last


def _way(q: FloatArray, p: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """Return how pieces lead on, in the axes of the body at their start."""
    return quaternion.rotate(quaternion.conjugate(q[first]), p[last] - p[first])


def _turn(q: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    return quaternion.multiply(quaternion.conjugate(q[first]), q[last])
