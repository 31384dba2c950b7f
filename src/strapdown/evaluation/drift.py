"""Drift of dead reckoning without aiding, from true states.

A window begins at a known state of the reference. The caller integrates from there and passes
the resulting track; its distance to the reference is evaluated after fixed times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import ValueRangeError
from strapdown.evaluation._pairing import as_track, in_enu, is_place, is_rotation
from strapdown.evaluation._results import Evaluation
from strapdown.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from strapdown._typing import FloatArray, IntArray
    from strapdown.evaluation._pairing import Track
    from strapdown.series import Trajectory

__all__ = ["StrapdownDrift", "drift_errors", "strapdown_drift", "true_states"]

AFTER_S: Final = (1.0, 5.0, 10.0, 30.0, 60.0)
NEAREST_NS: Final = 50 * NS_PER_MS
_FITTED: Final = 13  # positions under a parabola
_FITTED_WITHIN_NS: Final = 150 * NS_PER_MS


@dataclass(frozen=True)
class StrapdownDrift(Evaluation):
    """Position errors of free integration over all windows.

    Parameters
    ----------
    after_s : tuple of float
        Times since the true start [s].
    median_m : tuple of float
        Median distance to the reference after each [m]; NaN where no window is that long.
    windows : tuple of int
        Number of windows of each median.
    """

    after_s: tuple[float, ...]
    median_m: tuple[float, ...]
    windows: tuple[int, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """Medians [m], by time."""
        return {
            f"drift_{after:g}s_m": m for after, m in zip(self.after_s, self.median_m, strict=True)
        }

    def __str__(self) -> str:
        return ", ".join(
            f"{m:.3g} m after {after:g} s ({windows})"
            for after, m, windows in zip(self.after_s, self.median_m, self.windows, strict=True)
        )


def true_states(reference: Track, *, count: int = 8, reach_s: float = 60.0) -> Trajectory:
    """Return states from which to integrate: attitude, position, velocity at even spacing.

    They are taken at ``count`` evenly spaced times, from the first row to ``reach_s`` before the
    last one (to the last one, if the reference is shorter). Where the reference has no velocity,
    it is the slope of the parabola through the 13 positions around; a time around which these
    span more than 0.15 s, or are not known, gives no state.

    Parameters
    ----------
    reference : Trajectory, or result with one
        With positions, in ascending order.
    count : int
        Times to try, 1 or more.
    reach_s : float
        Length of the longest window [s].

    Returns
    -------
    Trajectory
        One row a state, at stamps of the reference, with velocity.

    Raises
    ------
    ValueRangeError
        The reference has no positions, or no time gives a state.
    TypeError
        It is neither a trajectory nor has one.
    """
    reference = as_track(reference, "reference")
    position, velocity = reference.position_world, reference.velocity_world
    if position is None or count < 1:
        raise ValueRangeError(
            f"expected positions and 1 or more states, got {reference!r}, {count}"
        )
    t_ns = reference.t_ns
    last_ns = max(int(t_ns[-1]) - round(reach_s * NS_PER_S), int(t_ns[0]))
    if last_ns == t_ns[0]:
        last_ns = int(t_ns[-1])
    wanted = np.linspace(t_ns[0], last_ns, count).astype(np.int64)
    rows = np.clip(np.searchsorted(t_ns, wanted), _FITTED // 2, len(t_ns) - 1 - _FITTED // 2)
    rows = np.unique(rows[rows >= 0])
    if velocity is None:
        velocity = np.full((len(t_ns), 3), np.nan)
        for row in rows:
            velocity[row] = _slope(t_ns, position, row)
    known = is_rotation(reference.q_world_from_body) & is_place(position, len(t_ns))
    known &= is_place(velocity, len(t_ns))
    rows = rows[known[rows]]
    if not len(rows):
        raise ValueRangeError(f"expected a reference with states to start from, got {reference!r}")
    return reference.replace(velocity_world=velocity)[rows]


def drift_errors(
    estimate: Track, reference: Track, *, after_s: Sequence[float] = AFTER_S
) -> FloatArray:
    """Return the distance between two tracks at times since the first row of the estimate.

    Parameters
    ----------
    estimate : Trajectory, or result with one
        Free integration from a true state, in the world of the reference (any frame).
    reference : Trajectory, or result with one
        Ascending. Errors are computed at the row of the reference nearest to each time, within
        50 ms, with the estimate interpolated there.
    after_s : sequence of float
        [s].

    Returns
    -------
    ndarray, shape (len(after_s),)
        [m]; NaN where either track is not known.

    Raises
    ------
    TypeError
        The estimate or the reference is neither a trajectory nor has one.
    """
    track, reference, _ = in_enu(estimate, reference)
    there = is_place(track.position_world, len(track))
    known = is_place(reference.position_world, len(reference))
    p, truth = track[there], reference[known]
    if p.position_world is None or truth.position_world is None or not len(p) or not len(truth):
        return np.full(len(after_s), np.nan)
    wanted = p.t_ns[0] + np.rint(np.asarray(after_s) * NS_PER_S).astype(np.int64)
    near = _nearest(truth.t_ns, wanted)
    at_ns = truth.t_ns[near]
    at = at_ns - p.t_ns[0]
    interpolated = np.stack(
        [np.interp(at, p.t_ns - p.t_ns[0], axis) for axis in p.position_world.T], axis=-1
    )
    error = np.linalg.norm(interpolated - truth.position_world[near], axis=1)
    outside = (np.abs(at_ns - wanted) > NEAREST_NS) | (at_ns > p.t_ns[-1])
    return np.where(outside, np.nan, error)


def strapdown_drift(
    errors: Iterable[FloatArray], *, after_s: Sequence[float] = AFTER_S
) -> StrapdownDrift:
    """Return the medians over windows, of one or of many recordings.

    Parameters
    ----------
    errors : iterable of (len(after_s),) arrays
        One per window, as from :func:`drift_errors`.
    after_s : sequence of float
        Times of the errors [s].

    Returns
    -------
    StrapdownDrift

    Raises
    ------
    ValueRangeError
        There is no window.
    """
    rows = np.array(list(errors), np.float64).reshape(-1, len(after_s))
    if not len(rows):
        raise ValueRangeError("expected at least one window of drift, got none")
    columns = [column[np.isfinite(column)] for column in rows.T]
    return StrapdownDrift(
        after_s=tuple(map(float, after_s)),
        median_m=tuple(float(np.median(c)) if len(c) else np.nan for c in columns),
        windows=tuple(map(len, columns)),
    )


def _nearest(stamps: IntArray, wanted: IntArray) -> IntArray:
    after = np.clip(np.searchsorted(stamps, wanted), 1, max(len(stamps) - 1, 1))
    before = after - 1
    after = np.minimum(after, len(stamps) - 1)
    return np.where(wanted - stamps[before] <= stamps[after] - wanted, before, after)


def _slope(t_ns: IntArray, position: FloatArray, row: int) -> FloatArray:
    """Return the velocity of the parabola through the positions around a row; NaN if unknown."""
    around = slice(row - _FITTED // 2, row + _FITTED // 2 + 1)
    if t_ns[around][-1] - t_ns[around][0] > _FITTED_WITHIN_NS:
        return np.full(3, np.nan)
    t = (t_ns[around] - t_ns[row]) / NS_PER_S
    powers = np.stack([np.ones_like(t), t, t * t], axis=-1)
    return np.asarray(np.linalg.lstsq(powers, position[around], rcond=None)[0][1])
