"""A recording as the smoother takes it: steps between samples, knots, what was measured there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._compile import compiled as compile_kernel
from strapdown.estimation import _kernels as shared
from strapdown.estimation.filtering import as_inputs
from strapdown.estimation.result import FilterReport
from strapdown.estimation.smoother import _kernels as kernels
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.estimation.result import OrientationResult
    from strapdown.series import ImuSeries

CLIPPED_PART: Final = 0.5  # of its reading: by how much more a clipped axis may have turned
SHOCK: Final = 3.0  # times the variance of noise: a larger second difference is a shock, and
ROUGH: Final = 0.5  # of it a straight line between the samples may miss
LOST_BEND: Final = 0.4  # of the change of rate across a hole: how far off a straight line is
LOST_ALONG: Final = 2.0
LOST_TURN: Final = 0.1  # of the rate itself
LOST_SPEED: Final = 0.5  # of the speed gained across a hole, likewise
MOST_RATE: Final = 35.0  # rad/s and ...
MOST_FORCE: Final = 160.0  # ... m/s^2: beyond the range of most parts, so hardly to be believed
PART_S: Final = 0.005  # a longer step across a hole is integrated in parts
ANYWHERE: Final = 1.8  # rad, standard deviation of an angle of which nothing is known
DROPOUT_NS: Final = 100_000_000  # longer zeros are readings
NEAR_HOLE_S: Final = 0.5  # the motion on both sides of a hole that stands for it


@dataclass(frozen=True)
class Recording:
    """Usable samples: ``rows`` are those of the series, all other arrays have one row each."""

    rows: IntArray
    t_ns: IntArray
    t: FloatArray  # seconds of steps since the first sample
    steps: FloatArray
    field: FloatArray  # relative to its usual strength; NaN where there is none
    strength: float  # of the field, in the unit of the series
    holes: FloatArray  # [s], holes in the rates that end here
    starts: IntArray
    nominal: OrientationResult
    report: FilterReport

    @property
    def has_field(self) -> bool:
        """Whether a magnetic field was measured at all."""
        return bool(np.isfinite(self.field).any())


def read(
    series: ImuSeries,
    settings: FloatArray,
    nominal: OrientationResult,
    *,
    use_magnetic_field: bool,
    mean_samples: bool,
) -> Recording:
    """Judge all samples as a recursive filter does, and bridge what is missing."""
    t_ns, rate, force, field, clipped = as_inputs(series, use_magnetic_field=use_magnetic_field)
    count = len(t_ns)
    account = np.zeros(shared.ACCOUNT_SIZE, np.int64)
    steps = np.zeros((count, kernels.STEP))
    events = np.zeros(count, np.int64)
    holes = np.zeros(count)
    clipped = clipped.copy()
    compile_kernel(kernels.cut)(
        np.array(shared.FRESH_HEAD),
        account,
        settings,
        t_ns,
        rate,
        force,
        field,
        clipped,
        steps,
        events,
        holes,
    )
    rows = np.flatnonzero(events != shared.DROPPED)
    steps, events, holes = steps[rows], events[rows], holes[rows]
    t = np.cumsum(steps[:, kernels.DT])
    at_stamps, silence = _bridged(t, force[rows])
    between = at_stamps.copy()
    if not mean_samples:
        between[1:] = 0.5 * (at_stamps[1:] + at_stamps[:-1])
    steps[:, kernels.FORCE : kernels.FORCE + 3] = between
    _mark_silence(steps, silence)
    _mark_shocks(steps, at_stamps, settings[kernels.SPEED_NOISE])
    _bridge_holes(steps, t, rate[rows], at_stamps, holes)
    _mark_clipped(steps, rate[rows], between, clipped[rows])
    magnetic = _usable(field[rows])
    strengths = np.linalg.norm(magnetic[np.isfinite(magnetic[:, 0])], axis=1)
    strength = float(np.median(strengths)) if strengths.size else 1.0
    return Recording(
        rows=rows,
        t_ns=t_ns[rows],
        t=t,
        steps=steps,
        field=magnetic / strength,
        strength=strength,
        holes=holes,
        starts=np.flatnonzero(events == shared.START),
        nominal=nominal[rows],
        report=FilterReport(*account[shared.SAMPLES :].tolist()),
    )


def without_dropouts(series: ImuSeries) -> ImuSeries:
    """Return the series with lost readings NaN: rows of zeros, too few to be readings."""

    def kept(vectors: FloatArray) -> FloatArray:
        zero = (vectors == 0.0).all(axis=1)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], zero, [False]])))
        vectors = vectors.copy()
        for begin, end in edges.reshape(-1, 2):
            inner = begin > 0 and end < len(zero)
            if inner and series.t_ns[end - 1] - series.t_ns[begin] < DROPOUT_NS:
                vectors[begin:end] = np.nan
        return vectors

    return series.replace(
        angular_velocity=kept(series.angular_velocity), specific_force=kept(series.specific_force)
    )


def _bridged(t: FloatArray, force: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return specific force without holes, and how long each hole is that a step lies in."""
    good = (np.abs(force) < shared.MAX_FORCE).all(axis=1)
    if not good.any():
        return np.zeros_like(force), np.full(len(t), np.inf)
    seen = t[good]
    bridged = np.stack([np.interp(t, seen, force[good, axis]) for axis in range(3)], axis=1)
    after = np.clip(np.searchsorted(seen, t), 0, len(seen) - 1)
    before = np.clip(np.searchsorted(seen, t, side="right") - 1, 0, len(seen) - 1)
    silence = np.where(good, 0.0, np.abs(seen[after] - seen[before]))
    silence[(t < seen[0]) | (t > seen[-1])] = np.inf
    return bridged, silence


def _mark_silence(steps: FloatArray, silence: FloatArray) -> None:
    """Write the standard deviation of the speed that a silent accelerometer leaves unknown."""
    dt = steps[:, kernels.DT]
    long = silence > shared.GAP_FLOOR_S
    lost = LOST_SPEED * kernels.GRAVITY * np.sqrt(np.minimum(silence, 1.0) * dt)
    steps[long, kernels.LOST + 1] = lost[long]


def _mark_shocks(steps: FloatArray, force: FloatArray, speed_noise: float) -> None:
    """Add the standard deviation of the speed that shocks between the samples leave unknown.

    White noise has a second difference too, of six times its variance on each axis.
    """
    dt = np.maximum(steps[1:-1, kernels.DT], 1e-9)
    bends = (np.diff(force, 2, axis=0) ** 2).mean(axis=1)
    excess = np.maximum(bends - SHOCK * 6.0 * speed_noise**2 / dt, 0.0)
    steps[1:-1, kernels.LOST + 1] = np.hypot(
        steps[1:-1, kernels.LOST + 1], ROUGH * np.sqrt(excess) * dt
    )


def _bridge_holes(
    steps: FloatArray, t: FloatArray, rate: FloatArray, force: FloatArray, holes: FloatArray
) -> None:
    """Integrate rates on a straight line across each hole, and write how far off that may be."""
    usable = np.flatnonzero((np.abs(rate) < shared.MAX_RATE).all(axis=1))
    for i in np.flatnonzero(holes):
        hole = holes[i]
        edge = int(usable[max(int(np.searchsorted(usable, i)) - 1, 0)])
        before, after = rate[edge], rate[i]
        if hole <= shared.BRIDGE_S:
            _turn_along(steps[edge + 1 : i + 1], before, after)
        first, last = np.searchsorted(t, [t[edge] - NEAR_HOLE_S, t[i] + NEAR_HOLE_S])
        push = float(np.sqrt(force[first:last].var(axis=0).sum()))
        mean = 0.5 * (before + after)
        bend, pace = np.linalg.norm(after - before), np.linalg.norm(mean)
        turned = min((LOST_BEND * bend + LOST_TURN * pace) * hole, ANYWHERE)
        steps[i, kernels.LOST] = turned
        steps[i, kernels.LOST_ALONG : kernels.LOST_ALONG + 3] = (
            LOST_ALONG * turned * mean / max(pace, 1e-9)
        )
        steps[i, kernels.LOST + 1] += (
            LOST_SPEED * hole * (kernels.GRAVITY * min(1.0, turned) + push)
        )


def _turn_along(steps: FloatArray, before: FloatArray, after: FloatArray) -> None:
    """Write the turns of steps along which the rate changes evenly."""
    dt = steps[:, kernels.DT]
    ends = np.cumsum(dt) / dt.sum()
    for step, end in zip(steps, ends, strict=True):
        parts = int(np.ceil(step[kernels.DT] / PART_S))
        share = step[kernels.DT] / dt.sum()
        places = end - share * (np.arange(parts)[::-1] + 0.5) / parts
        q = np.array([0.0, 0.0, 0.0, 1.0])
        for place in places:
            turn = (before + place * (after - before)) * step[kernels.DT] / parts
            q = quaternion.multiply(q, quaternion.from_rotation_vector(turn))
        step[kernels.TURN : kernels.TURN + 3] = quaternion.to_rotation_vector(q)


def _mark_clipped(
    steps: FloatArray, rate: FloatArray, force: FloatArray, clipped: IntArray
) -> None:
    """Write what clipped and incredible samples may have turned, and gained in speed."""
    dt = steps[:, kernels.DT]
    size = np.abs(np.where(np.abs(rate) < shared.MAX_RATE, rate, 0.0))
    for axis in range(3):
        part = CLIPPED_PART * np.bitwise_and(clipped >> axis, 1) + (size[:, axis] > MOST_RATE)
        steps[:, kernels.CLIPPED + axis] = np.minimum(part * size[:, axis] * dt, ANYWHERE)
    hit = clipped >> 3 > 0
    steps[hit, kernels.LOST + 1] += CLIPPED_PART * kernels.GRAVITY * dt[hit]
    push = np.abs(force).max(axis=1)
    hard = push > MOST_FORCE
    steps[hard, kernels.LOST + 1] += push[hard] * dt[hard]


def _usable(field: FloatArray) -> FloatArray:
    """Return the field with NaN in place of what no magnetometer reads."""
    usable = field.copy()
    usable[(~(np.abs(field) < shared.MAX_FIELD)).any(axis=1)] = np.nan
    usable[(usable * usable).sum(axis=1) <= shared.MIN_FIELD**2] = np.nan
    return usable


@dataclass(frozen=True)
class Knots:
    """What a stretch of a recording says at the knots, the instants between its windows."""

    at: IntArray  # rows of the recording
    rates: FloatArray  # mean reading of the gyro
    rest: BoolArray
    fields: FloatArray  # kernels.FIELDS columns; NaN where there is none

    def part(self, rows: slice) -> Knots:
        """Return some of the knots."""
        return Knots(self.at[rows], self.rates[rows], self.rest[rows], self.fields[rows])


def knots_of(recording: Recording, first: int, last: int, window_s: float) -> Knots:
    """Place knots on rows ``first`` to ``last`` and on both sides of every hole between."""
    t = recording.t[first : last + 1]
    wanted = np.searchsorted(t, np.arange(t[0], t[-1] - 0.5 * window_s, window_s))
    holes = np.flatnonzero(recording.holes[first : last + 1])
    at = np.unique(np.concatenate([wanted, holes, holes - 1, [0, last - first]]))
    at = at[at >= 0]
    at = at[np.append(True, np.diff(t[at]) > 0.0)] + first
    middles = (at[:-1] + at[1:]) // 2
    low, high = np.append(at[0], middles), np.append(middles, at[-1])
    turns = np.cumsum(recording.steps[:, : kernels.DT + 1], axis=0)
    turned = turns[high] - turns[low]
    spans = np.maximum(turned[:, kernels.DT :], 1e-9)
    return Knots(
        at,
        turned[:, : kernels.DT] / spans,
        recording.nominal.rest[at],
        _fields_at(recording, at, low, high),
    )


def _fields_at(recording: Recording, at: IntArray, low: IntArray, high: IntArray) -> FloatArray:
    """Return the mean field about each knot, held still in the turning body."""
    first, end = at[0], at[-1] + 1
    fields = np.full((len(at), kernels.FIELDS), np.nan)
    measured = recording.field[first:end]
    good = np.isfinite(measured[:, 0])
    if not good.any():
        return fields
    q = recording.nominal.q_world_from_body[first:end]
    steps = recording.steps[first:end]
    m = np.where(good[:, None], measured, 0.0)
    rate = steps[:, : kernels.DT] / np.maximum(steps[:, kernels.DT : kernels.DT + 1], 1e-9)
    world = np.hstack(
        [quaternion.rotate(q, m), quaternion.rotate(q, np.cross(rate, m)), good[:, None]]
    )
    sums = np.vstack([np.zeros(7), np.cumsum(world, axis=0)])
    total = sums[high - first + 1] - sums[low - first]
    some = total[:, 6] > 0.0
    mean = total[some, :6] / total[some, 6:]
    back = quaternion.conjugate(recording.nominal.q_world_from_body[at[some]])
    fields[some, :3] = quaternion.rotate(back, mean[:, :3])
    fields[some, 3:] = quaternion.rotate(back, mean[:, 3:])
    return fields
