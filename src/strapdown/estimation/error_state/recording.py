"""Input of the smoother: steps between samples, and knots with their measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import MachineCode, compiled
from strapdown._kernels.kernel import kernel
from strapdown.estimation.error_state.bridging import Rates
from strapdown.estimation.error_state.knots import Knot, Step
from strapdown.estimation.error_state.motion import FORCE_DRIFT, RATE_DRIFT
from strapdown.estimation.error_state.smoother_params import SmootherParams
from strapdown.estimation.error_state.windows import cut
from strapdown.estimation.execution import report_of
from strapdown.estimation.filter import as_columns
from strapdown.estimation.intake import FilterCounts, FilterMemory
from strapdown.geometry import quaternion
from strapdown.geometry.formulas import quaternion_rotate
from strapdown.geometry.vectors import add_to, four, put, three
from strapdown.samples.clock import DROPPED, GAP_FLOOR_S, START
from strapdown.samples.sample import MAX_FIELD, MAX_FORCE, MAX_RATE, MIN_FIELD, Sample
from strapdown.units import STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._kernels.records import RecordArray
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.estimation.result import FilterReport
    from strapdown.series import ImuSeries

__all__ = ["Recording", "knots_of", "read", "without_dropouts"]

CLIPPED_PART: Final = 0.5  # of the reading: sigma of the rate beyond the range
SHOCK: Final = 3.0  # times the variance of noise: a larger second difference is a shock
ROUGH: Final = 0.5  # of the second difference: error of linear interpolation in a shock
LOST_SPEED: Final = 0.5  # of the change of velocity across a gap, likewise
MOST_RATE: Final = 35.0  # rad/s and ...
MOST_FORCE: Final = 160.0  # ... m/s^2: beyond the range of most sensors, so trusted less
PART_S: Final = 0.005  # a longer step across a gap is integrated in parts
ANYWHERE: Final = 1.8  # rad, standard deviation of an unknown angle
DROPOUT_NS: Final = 100_000_000  # longer zeros are readings
STEADY_S: Final = 1.0  # length of the means whose difference is a drift
USUAL_BIAS: Final = 0.02  # rad/s
NEAR_HOLE_S: Final = 0.5  # time on both sides of a gap from which its motion is estimated

_judge: Final = MachineCode(
    cut,
    FilterMemory,
    FilterCounts,
    SmootherParams.record(),
    Sample,
    Step,
    name="smoother: samples",
)


@dataclass(frozen=True)
class Recording:
    """Usable samples: ``rows`` are their indices in the series."""

    rows: IntArray
    t_ns: IntArray
    t: FloatArray  # seconds of steps since the first sample
    steps: RecordArray
    field: FloatArray  # relative to its usual strength; NaN where there is none
    strength: float  # of the field, in the unit of the series
    starts: IntArray
    nominal: RecordArray  # initial path, as rows of results
    report: FilterReport

    @cached_property
    def has_field(self) -> bool:
        """Whether a magnetic field was measured at all."""
        return bool(np.isfinite(self.field).any())


def read(
    series: ImuSeries,
    params: SmootherParams,
    nominal: RecordArray,
    *,
    use_magnetic_field: bool,
) -> Recording:
    """Check all samples as a recursive filter does, and bridge missing readings."""
    samples = as_columns(series, use_magnetic_field=use_magnetic_field).block(0, len(series))
    steps = np.zeros(len(samples), Step.dtype())
    counts = FilterCounts().packed()
    settings = params.settings().packed()
    _judge.compile()(FilterMemory().packed(), counts, settings, samples, steps)
    field = np.ascontiguousarray(samples["magnetic_field"])
    rows = np.flatnonzero(steps["event"] != DROPPED)
    if len(rows) < len(series):
        series, steps, field, nominal = series[rows], steps[rows], field[rows], nominal[rows]
    rate, force = series.angular_velocity, series.specific_force
    t = np.cumsum(steps["dt"])
    at_stamps, silence = _bridged(t, force)
    steps["force"] = at_stamps
    if not params.mean_samples:
        steps["force"][1:] = 0.5 * (at_stamps[1:] + at_stamps[:-1])
    _mark_silence(steps, silence)
    _mark_shocks(steps, at_stamps, params.speed_noise)
    _bridge_holes(steps, t, rate, at_stamps)
    _mark_clipped(steps, rate)
    strength = _keep_usable(field)
    field /= strength
    nominal["at_rest"] = steady_rests(nominal["at_rest"], t, rate, at_stamps)
    return Recording(
        rows=rows,
        t_ns=series.t_ns,
        t=t,
        steps=steps,
        field=field,
        strength=strength,
        starts=np.flatnonzero(steps["event"] == START),
        nominal=nominal,
        report=report_of(FilterCounts.unpack(counts)[0]),
    )


def all_three(flags: BoolArray) -> BoolArray:
    """Return the rows in which all flags are set; faster than ``all(axis=1)``."""
    x, y, z = flags.T
    found: BoolArray = x & y & z
    return found


def squares(vectors: FloatArray) -> FloatArray:
    """Return the square of the length of each row; faster than ``sum(axis=1)``."""
    x, y, z = vectors.T
    found: FloatArray = x * x + y * y + z * z
    return found


def median(values: FloatArray) -> float:
    """Return the median of values without NaN; faster than NumPy's, which looks for NaN."""
    middle = len(values) // 2
    sorted_there = np.partition(values, middle)
    upper = sorted_there[middle]
    return float(upper if len(values) % 2 else 0.5 * (sorted_there[:middle].max() + upper))


def without_dropouts(series: ImuSeries) -> ImuSeries:
    """Replace dropouts by NaN: rows of zeros for less than DROPOUT_NS."""

    def kept(vectors: FloatArray) -> FloatArray:
        zero = all_three(vectors == 0.0)
        if not zero.any():
            return vectors
        vectors = vectors.copy()
        for begin, end in _stretches(zero):
            inner = begin > 0 and end < len(zero)
            if inner and series.t_ns[end - 1] - series.t_ns[begin] < DROPOUT_NS:
                vectors[begin:end] = np.nan
        return vectors

    return series.replace(
        angular_velocity=kept(series.angular_velocity), specific_force=kept(series.specific_force)
    )


def steady_rests(rest: BoolArray, t: FloatArray, rate: FloatArray, force: FloatArray) -> BoolArray:
    """Return the rests without those in which rate or force drift: they are slow motion.

    The drift is that of the means over STEADY_S on both sides of an instant, within the rest. Less
    than STEADY_S of a rest shows no drift, so it counts only with the rate of a usual bias.
    """
    steady = rest.copy()
    for first, last in _stretches(rest):
        here = np.arange(last - first)
        before = np.searchsorted(t[first:last], t[first:last] - STEADY_S)
        after = np.searchsorted(t[first:last], t[first:last] + STEADY_S, side="right")
        for v, bound in ((rate, RATE_DRIFT), (force, FORCE_DRIFT)):
            total = np.zeros((last - first + 1, 3))
            np.nancumsum(v[first:last], axis=0, out=total[1:])
            old = (total[1:] - total.take(before, 0)) / (here + 1 - before)[:, None]
            new = (total.take(after, 0) - total[:-1]) / (after - here)[:, None]
            steady[first:last] &= squares(new - old) < bound * bound
        left = first + np.flatnonzero(steady[first:last])
        if (t[last - 1] - t[first]) * len(left) < STEADY_S * (last - first):
            turn = np.linalg.norm(np.nansum(rate[left], axis=0))
            steady[first:last] &= turn < USUAL_BIAS * len(left)
    return steady


def _stretches(flags: BoolArray) -> IntArray:
    """Return first row and row after the last of each run of flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]])))
    return edges.reshape(-1, 2)


def _bridged(t: FloatArray, force: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return specific force with gaps interpolated, and the length of the gap at each step [s]."""
    good = all_three(np.abs(force) < MAX_FORCE)
    if good.all():
        return force, np.zeros(len(t))
    if not good.any():
        return np.zeros_like(force), np.full(len(t), np.inf)
    seen = t[good]
    bridged = np.stack([np.interp(t, seen, force[good, axis]) for axis in range(3)], axis=1)
    after = np.clip(np.searchsorted(seen, t), 0, len(seen) - 1)
    before = np.clip(np.searchsorted(seen, t, side="right") - 1, 0, len(seen) - 1)
    silence = np.where(good, 0.0, np.abs(seen[after] - seen[before]))
    silence[(t < seen[0]) | (t > seen[-1])] = np.inf
    return bridged, silence


def _mark_silence(steps: RecordArray, silence: FloatArray) -> None:
    """Write the standard deviation of the velocity during gaps of the accelerometer."""
    long = np.flatnonzero(silence > GAP_FLOOR_S)
    lost = np.sqrt(np.minimum(silence[long], 1.0) * steps["dt"][long])
    steps["lost_speed"][long] = LOST_SPEED * STANDARD_GRAVITY * lost


def _mark_shocks(steps: RecordArray, force: FloatArray, speed_noise: float) -> None:
    """Add the standard deviation of the velocity from shocks between the samples.

    The second difference of white noise has six times its variance.
    """
    dt = np.maximum(steps["dt"][1:-1], 1e-9)
    bends = squares(np.diff(force, 2, axis=0)) / 3.0
    excess = np.maximum(bends - SHOCK * 6.0 * speed_noise**2 / dt, 0.0)
    hit = np.flatnonzero(excess)
    rough = ROUGH * np.sqrt(excess[hit]) * dt[hit]
    steps["lost_speed"][1 + hit] = np.hypot(steps["lost_speed"][1 + hit], rough)


def _bridge_holes(steps: RecordArray, t: FloatArray, rate: FloatArray, force: FloatArray) -> None:
    """Integrate estimated rates across each gap, and write the uncertainty."""
    holes = np.flatnonzero(steps["hole"])
    if not len(holes):
        return
    usable = np.flatnonzero(all_three(np.abs(rate) < MAX_RATE))
    rates = Rates.of(t[usable], rate[usable])
    for i in holes:
        hole = steps["hole"][i]
        edge = int(usable[max(int(np.searchsorted(usable, i)) - 1, 0)])
        inside, lost = rates.across(t[edge] if edge < i else t[i] - hole, t[i])
        _turn_along(steps[edge + 1 : i + 1], inside)
        first, last = np.searchsorted(t, [t[edge] - NEAR_HOLE_S, t[i] + NEAR_HOLE_S])
        push = float(np.sqrt(force[first:last].var(axis=0).sum()))
        variances, axes = np.linalg.eigh(lost)
        sigmas = np.minimum(np.sqrt(np.maximum(variances, 0.0)), ANYWHERE)
        steps["lost_turn"][i] = sigmas[:, None] * axes.T
        turned = float(np.sqrt(np.mean(sigmas**2)))
        steps["lost_speed"][i] += LOST_SPEED * hole * (STANDARD_GRAVITY * min(1.0, turned) + push)


def _turn_along(steps: RecordArray, rates: FloatArray) -> None:
    """Write the rotations of steps from the rates at evenly spaced times in all of them."""
    dt = steps["dt"]
    ends = np.cumsum(dt) / dt.sum()
    known = (np.arange(len(rates)) + 0.5) / len(rates)
    for step, end in zip(steps, ends, strict=True):
        parts = int(np.ceil(step["dt"] / PART_S))
        share = step["dt"] / dt.sum()
        places = end - share * (np.arange(parts)[::-1] + 0.5) / parts
        q = np.array([0.0, 0.0, 0.0, 1.0])
        for turn in np.stack([np.interp(places, known, axis) for axis in rates.T], axis=1):
            step_turn = turn * step["dt"] / parts
            q = quaternion.multiply(q, quaternion.from_rotation_vector(step_turn))
        step["turn"] = quaternion.to_rotation_vector(q)


def _mark_clipped(steps: RecordArray, rate: FloatArray) -> None:
    """Write the uncertainty of rotation and velocity in clipped and implausible samples."""
    dt = steps["dt"]
    bits = steps["clipping"]
    some = np.flatnonzero((bits & 7 > 0) | ~all_three(np.abs(rate) <= MOST_RATE))
    size = np.abs(rate[some])
    size[~(size < MAX_RATE)] = 0.0
    part = CLIPPED_PART * (bits[some, None] >> np.arange(3) & 1) + (size > MOST_RATE)
    steps["clipped"][some] = np.minimum(part * size * dt[some, None], ANYWHERE)
    hit = bits >> 3 > 0
    steps["lost_speed"][hit] += CLIPPED_PART * STANDARD_GRAVITY * dt[hit]
    push = np.abs(steps["force"])
    hard = np.flatnonzero(~all_three(push <= MOST_FORCE))
    steps["lost_speed"][hard] += push[hard].max(axis=1) * dt[hard]


def _keep_usable(field: FloatArray) -> float:
    """Replace implausible fields by NaN; return the median strength of the others."""
    field[~all_three(np.abs(field) < MAX_FIELD)] = np.nan
    square = squares(field)
    good = square > MIN_FIELD**2
    field[~good] = np.nan
    return median(np.sqrt(square[good])) if good.any() else 1.0


def knots_of(recording: Recording, first: int, last: int, window_s: float) -> RecordArray:
    """Return knots in rows ``first`` to ``last``, also on both sides of every gap."""
    t = recording.t[first : last + 1]
    wanted = np.searchsorted(t, np.arange(t[0], t[-1] - 0.5 * window_s, window_s))
    holes = np.flatnonzero(recording.steps["hole"][first : last + 1])
    at = np.unique(np.concatenate([wanted, holes, holes - 1, [0, last - first]]))
    at = at[at >= 0]
    at = at[np.append(True, np.diff(t[at]) > 0.0)] + first
    middles = (at[:-1] + at[1:]) // 2
    low, high = np.append(at[0], middles), np.append(middles, at[-1])
    knots = np.zeros(len(at), Knot.dtype())
    knots["at"] = at
    knots["rest"] = recording.nominal["at_rest"][at]
    orientation = recording.nominal["orientation"]
    compiled(gather)(knots, recording.steps, orientation, recording.field, low, high)
    return knots


@kernel
def gather(
    knots: RecordArray,
    steps: RecordArray,
    orientation: FloatArray,
    field: FloatArray,
    low: IntArray,
    high: IntArray,
) -> None:
    """Write the mean rate and field about each knot, from rows ``low`` to ``high``."""
    for j in range(len(knots)):
        knot, span = knots[j], 0.0
        for i in range(low[j] + 1, high[j] + 1):
            span += steps[i].dt
            add_to(knot.rate, three(steps[i].turn))
        for k in range(3):
            knot.rate[k] /= max(span, 1e-9)
        gather_field(knot, steps, orientation, field, low[j], high[j])


@kernel
def gather_field(
    knot: Knot,
    steps: RecordArray,
    orientation: FloatArray,
    field: FloatArray,
    low: int,
    high: int,
) -> None:
    """Write the mean field about a knot, in the body axes at the knot."""
    count = 0
    for i in range(low, high + 1):
        mx, my, mz = three(field[i])
        if math.isnan(mx):
            continue
        q, dt = four(orientation[i]), max(steps[i].dt, 1e-9)
        x, y, z = steps[i].turn[0] / dt, steps[i].turn[1] / dt, steps[i].turn[2] / dt
        add_to(knot.field, quaternion_rotate(*q, mx, my, mz))
        swing = quaternion_rotate(*q, y * mz - z * my, z * mx - x * mz, x * my - y * mx)
        add_to(knot.swing, swing)
        count += 1
    if count > 0:
        knot.has_field = True
        x, y, z, w = four(orientation[knot.at])
        for v in (knot.field, knot.swing):
            mean = (v[0] / count, v[1] / count, v[2] / count)
            put(v, quaternion_rotate(-x, -y, -z, w, *mean))
