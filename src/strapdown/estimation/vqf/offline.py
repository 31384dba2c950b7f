"""Offline VQF: gyro bias from both directions, then zero-phase filters.

D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation and
magnetic disturbance rejection", Information Fusion 91, 2023, section 3.7.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import MachineCode
from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record, Vector, filled
from strapdown.estimation.attitude import UNKNOWN, continuous
from strapdown.estimation.execution import COUNTS, report_of
from strapdown.estimation.filter import FilterRow, as_columns
from strapdown.estimation.intake import FilterCounts
from strapdown.estimation.smoother import OrientationSmoother, Smoothed, headings
from strapdown.estimation.vqf.filter import GUESS_S, LOOSE_ANGLE, take
from strapdown.estimation.vqf.heading import less_disturbed, next_opening, opening_after
from strapdown.estimation.vqf.low_pass import LowPass, Pace, average_anew, design, low_pass, settle
from strapdown.estimation.vqf.params import VqfParams
from strapdown.estimation.vqf.small_angles import half_turn, quick_gain, unit, upright, wrapped
from strapdown.estimation.vqf.state import VqfMemory
from strapdown.estimation.vqf.symmetric import DIAGONAL, inverse, shrink, six
from strapdown.estimation.vqf.tilt_and_bias import FORCE_WORTH, MIN_UP, variance_about_up
from strapdown.geometry.formulas import quaternion_multiply, quaternion_rotate
from strapdown.geometry.triples import plus, scaled
from strapdown.geometry.vectors import four, put, put_four, square, three
from strapdown.samples.clock import DROPPED, START
from strapdown.samples.execution import Execution, Program
from strapdown.samples.sample import MAX_RATE, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._kernels.records import RecordArray
    from strapdown._typing import IntArray
    from strapdown.series import ImuSeries

__all__ = ["OfflineVqf"]

PASSES: Final = 3  # passes over a recording
SHORTEST_S: Final = 1e-9  # an interval that is not zero
LOST_ALL: Final = 1e3  # rad; at a restart of the clock the rotation is unknown


class Passed(Record):
    """Estimates of a pass in one direction after a sample."""

    event: int = DROPPED  # classification of the stamp
    dt: float = 0.0  # since the sample before [s]
    turn: Vector = filled(3)  # rotation measured by the gyro over dt, bias included [rad, body]
    has_force: bool = False  # whether there is a usable specific force,
    has_field: bool = False  # and magnetic field
    lost: float = 0.0  # rotation lost up to this sample [rad]
    gyro_bias: Vector = filled(3)  # [rad/s, body]
    bias_covariance: Vector = filled(6)  # xx xy xz yy yz zz [rad^2/s^2]
    at_rest: bool = False
    disturbed: bool = False


class Path(Record):
    """Intermediate results of a sample."""

    gyro: Vector = filled(4)  # integral of the gyro alone, x y z w
    level: Vector = filled(3)  # specific force, rotated by ``gyro`` [m/s^2]
    bias_about_up: float = 0.0  # variance of the bias about the vertical [rad^2/s^2]


class Smoothing(Record):
    """Settings and filter of the smoothing."""

    force_interval: float = 0.0  # usual sampling interval [s]
    field_interval: float = 0.0  # 0: there is no magnetic field
    low_pass: LowPass = LowPass()  # of the specific force


@kernel
def go_through(
    state: Sequence[VqfMemory],
    counts: Sequence[FilterCounts],
    params: Sequence[VqfParams],
    samples: Sequence[Sample],
    passed: Sequence[Passed],
) -> None:
    """Run the recursive filter in one direction."""
    s = state[0]
    for i in range(len(samples)):
        event = take(s, counts[0], params[0], samples[i])
        note(passed[i], event, s)


@kernel
def note(passed: Passed, event: int, s: VqfMemory) -> None:
    """Write the estimates after a sample."""
    now = s.now
    passed.event, passed.dt = event, now.dt
    put(passed.turn, three(now.turn))
    passed.has_force, passed.has_field = now.force_wait >= 0.0, now.field_wait >= 0.0
    passed.lost = LOST_ALL if event == START else s.broken
    put(passed.gyro_bias, three(s.gyro_bias))
    for k in range(6):
        passed.bias_covariance[k] = s.bias_covariance[k]
    passed.at_rest, passed.disturbed = s.at_rest, s.disturbed


@kernel
def smooth(
    params: Sequence[VqfParams],
    smoothing: Sequence[Smoothing],
    samples: Sequence[Sample],
    passed: Sequence[Passed],
    back: Sequence[Passed],
    path: Sequence[Path],
    rows: Sequence[FilterRow],
) -> None:
    """Combine two passes, and filter their samples once more without delay.

    ``back`` comes from the backward pass, in its order.
    """
    p, how = params[0], smoothing[0]
    integrate(passed, back, samples, path, rows)
    low_pass_both_ways(p, how.low_pass, how.force_interval, passed, path, rows)
    level_out(passed, samples, path, rows)
    for backward in (False, True):
        follow_heading(p, how.field_interval, passed, path, rows, backward)
    finish(passed, rows)


@kernel
def join(passed: Passed, back: Passed, row: FilterRow) -> None:
    """Combine the biases of both directions by their covariances; the backward one is negative.

    With S = (P1 + P2)^-1: b = b1 + P1 S (b2 - b1) and P = P1 - P1 S P1, which is the mean
    weighted by the inverses of P1 and P2.
    """
    xx, xy, xz, yy, yz, zz = six(passed.bias_covariance)
    p2 = back.bias_covariance
    s = inverse(xx + p2[0], xy + p2[1], xz + p2[2], yy + p2[3], yz + p2[4], zz + p2[5])
    k = shrink(passed.bias_covariance, (xx, xy, xz, xy, yy, yz, xz, yz, zz), s)
    x, y, z = three(passed.gyro_bias)
    dx, dy, dz = -back.gyro_bias[0] - x, -back.gyro_bias[1] - y, -back.gyro_bias[2] - z
    row.gyro_bias[0] = x + k[0] * dx + k[1] * dy + k[2] * dz
    row.gyro_bias[1] = y + k[3] * dx + k[4] * dy + k[5] * dz
    row.gyro_bias[2] = z + k[6] * dx + k[7] * dy + k[8] * dz
    row.at_rest = passed.at_rest or back.at_rest
    row.disturbed = passed.disturbed and back.disturbed


@kernel
def integrate(
    passed: Sequence[Passed],
    back: Sequence[Passed],
    samples: Sequence[Sample],
    path: Sequence[Path],
    rows: Sequence[FilterRow],
) -> None:
    """Integrate the gyro alone, with the combined bias; rotate the specific forces by it."""
    x, y, z, w = 0.0, 0.0, 0.0, 1.0
    n = len(rows)
    for i in range(n):
        join(passed[i], back[n - 1 - i], rows[i])
        dt, turn, bias = passed[i].dt, passed[i].turn, rows[i].gyro_bias
        half = half_turn(*scaled(plus(three(turn), three(bias), -dt), 0.5))
        x, y, z, w = unit(*quaternion_multiply(x, y, z, w, *half))
        put_four(path[i].gyro, (x, y, z, w))
        if passed[i].has_force:
            put(path[i].level, quaternion_rotate(x, y, z, w, *three(samples[i].specific_force)))


@kernel
def low_pass_both_ways(
    p: VqfParams,
    f: LowPass,
    interval: float,
    passed: Sequence[Passed],
    path: Sequence[Path],
    rows: Sequence[FilterRow],
) -> None:
    """Low-pass the rotated specific forces forwards, then backwards, without delay.

    At a lost rotation the averages restart, and the variance of tilt is larger around it.
    """
    n, tau = len(rows), p.tau_acc
    kept = 1.0 - quick_gain(interval, tau)
    least = p.tilt_sigma * p.tilt_sigma
    design(f, tau, interval)
    extra = 0.0
    for i in range(n):
        extra = kept * kept * extra + average_after(f, passed[i].lost, interval, tau)
        if passed[i].has_force:
            put(f.output, three(path[i].level))
            low_pass(f, tau, interval)
            put(path[i].level, three(f.output))
        rows[i].covariance[0][0] = least + extra
    settle(f)
    extra = 0.0
    for i in range(n - 1, -1, -1):
        if passed[i].has_force:
            put(f.output, three(path[i].level))
            low_pass(f, tau, interval)
        put(path[i].level, three(f.output))
        rows[i].covariance[0][0] = min(rows[i].covariance[0][0] + extra, UNKNOWN)
        extra = kept * kept * extra + average_after(f, passed[i].lost, interval, tau)


@kernel
def average_after(f: LowPass, lost: float, interval: float, tau: float) -> float:
    """Restart the average at a lost rotation; return the increase of the variance of tilt."""
    if lost < LOOSE_ANGLE:
        return 0.0
    average_anew(f, FORCE_WORTH / (lost * lost * interval))
    return min(lost * lost, FORCE_WORTH / tau)


@kernel
def level_out(
    passed: Sequence[Passed],
    samples: Sequence[Sample],
    path: Sequence[Path],
    rows: Sequence[FilterRow],
) -> None:
    """Point the low-passed specific force up; compute the heading of the magnetic field."""
    tx, ty, tz, tw = 0.0, 0.0, 0.0, 1.0
    for i in range(len(rows)):
        up = quaternion_rotate(tx, ty, tz, tw, *three(path[i].level))
        size2 = square(up)
        if size2 >= MIN_UP * MIN_UP:
            scale = 1.0 / math.sqrt(size2)
            px, py, pw = upright(scale * up[0], scale * up[1], scale * up[2])
            tx, ty, tz, tw = unit(*quaternion_multiply(px, py, 0.0, pw, tx, ty, tz, tw))
        x, y, z, w = quaternion_multiply(tx, ty, tz, tw, *four(path[i].gyro))
        put_four(rows[i].orientation, (x, y, z, w))
        path[i].bias_about_up = variance_about_up(passed[i].bias_covariance, (x, y, z, w))
        if passed[i].has_field:
            east, north, _ = quaternion_rotate(x, y, z, w, *three(samples[i].magnetic_field))
            rows[i].heading_offset = math.atan2(east, north)


@kernel
def follow_heading(
    p: VqfParams,
    interval: float,
    passed: Sequence[Passed],
    path: Sequence[Path],
    rows: Sequence[FilterRow],
    backward: bool,
) -> None:
    """Replace the headings of the magnetic field by their low-pass, in one direction."""
    n = len(rows)
    offset, opening, rejected, wait = 0.0, 1.0, 0.0, interval
    noise = p.rate_noise * p.rate_noise
    floor = p.heading_sigma * p.heading_sigma
    variance = UNKNOWN if backward or interval > 0.0 else 0.0
    for k in range(n):
        i = n - 1 - k if backward else k
        row = rows[i]
        if k > 0:
            step = passed[i + 1] if backward else passed[i]
            wait += step.dt
            if step.lost >= LOOSE_ANGLE:
                opening = max(opening, opening_after(step.lost, max(interval, SHORTEST_S)))
                variance += step.lost * step.lost
            grown = 2.0 * math.sqrt(variance * path[i].bias_about_up)
            variance = min(variance + step.dt * (noise + grown), UNKNOWN)
        if passed[i].has_field:
            weight = quick_gain(wait, p.tau_mag)
            if p.reject_disturbed_field:
                weight, rejected = less_disturbed(p, row.disturbed, rejected, wait, weight)
            weight = max(weight, opening)
            opening = next_opening(opening, p.tau_mag, interval)
            if weight == 1.0:
                offset = row.heading_offset
            else:
                offset = wrapped(offset + weight * wrapped(row.heading_offset - offset))
            variance = floor + (1.0 - weight) * (1.0 - weight) * (variance - floor)
            wait = 0.0
        row.heading_offset = offset
        row.covariance[2][2] = min(row.covariance[2][2], variance) if backward else variance


@kernel
def finish(passed: Sequence[Passed], rows: Sequence[FilterRow]) -> None:
    """Turn to magnetic north, with continuous signs; write the covariances."""
    q = (0.0, 0.0, 0.0, 1.0)
    for i in range(len(rows)):
        row = rows[i]
        half = 0.5 * row.heading_offset
        turned = quaternion_multiply(
            0.0, 0.0, math.sin(half), math.cos(half), *four(row.orientation)
        )
        q = continuous(unit(*turned), q)
        put_four(row.orientation, q)
        row.covariance[1][1] = row.covariance[0][0]
        for k in range(3):
            row.gyro_bias_sigma[k] = math.sqrt(passed[i].bias_covariance[DIAGONAL[k]])


PASS: Final = Program(
    "offline vqf, a pass", go_through, (VqfMemory, FilterCounts, VqfParams.record()), Passed,
    weight=PASSES,
)  # fmt: skip
SMOOTH: Final = MachineCode(
    smooth, VqfParams.record(), Smoothing, Sample, Passed, Passed, Path, FilterRow,
    name="offline vqf, smoothing",
)  # fmt: skip


class OfflineVqf(OrientationSmoother[VqfParams]):
    """VQF over a whole recording, using the samples before and after each.

    The recursive filter runs forwards and backwards; the two biases are combined by their
    covariances. With this bias the gyro is integrated once more, and the specific force and
    the heading are low-passed in both directions, without delay.

    Parameters
    ----------
    params : VqfParams, optional
    compiled : bool, optional
        True waits for the compiler and runs machine code, False runs plain Python; by default
        the faster of the two is used. The numbers are the same.

    References
    ----------
    D. Laidig, T. Seel, "VQF: Highly accurate IMU orientation estimation with bias estimation
    and magnetic disturbance rejection", Information Fusion 91, 2023.
    """

    DEFAULTS = VqfParams()
    FILTER = "VqfFilter"
    HAS_HEADING_OFFSET = True

    def __init__(self, params: VqfParams | None = None, *, compiled: bool | None = None) -> None:
        super().__init__(params)
        self._compiled = compiled

    def _smoothed(
        self, series: ImuSeries, progress: Callable[[float], object], *, use_magnetic_field: bool
    ) -> Smoothed:
        """Smooth a series in ENU and FLU."""
        columns = as_columns(series, use_magnetic_field=use_magnetic_field)
        samples = columns.block(0, len(columns))
        interval = _interval(series.t_ns)
        passed, counts = self._pass(interval, samples)
        samples["angular_velocity"] = series.angular_velocity  # with its lost readings again
        at = np.flatnonzero(passed["event"] != DROPPED)
        if len(at) < len(samples):
            passed, samples = passed[at], samples[at]
        progress(0.4)
        rows = self._joined(interval, passed, samples)
        rows["has_heading"] = headings(passed["event"] == START, passed["has_field"])
        progress(1.0)
        return Smoothed(rows, at, report_of(counts))

    def _pass(self, interval: float, samples: RecordArray) -> tuple[RecordArray, FilterCounts]:
        """Run the recursive filter in one direction; return its estimates and counts.

        Lost readings in ``samples`` are replaced by NaN.
        """
        memory = VqfMemory(force_pace=Pace(interval=interval))  # expected interval
        settings, rows = self.params.settings(), np.empty(len(samples), Passed.dtype())
        execution = Execution(PASS, memory, FilterCounts(), settings, compiled=self._compiled)
        execution.prepare_for(PASS, len(samples))
        execution.run(PASS, samples, rows)
        return rows, execution.memory(COUNTS)

    def _joined(self, interval: float, passed: RecordArray, samples: RecordArray) -> RecordArray:
        """Return rows of results."""
        count, t_ns = len(samples), samples["t_ns"]
        back, _ = self._pass(interval, _backwards(samples))
        rate = samples["angular_velocity"][:1]
        if self.params.mean_samples and count > 1 and bool((np.abs(rate) < MAX_RATE).all()):
            # the interval of the first mean began before the recording
            passed["dt"][0] = passed["dt"][1]
            passed["turn"][0] = rate[0] * passed["dt"][1]
        force_interval, field_interval = (
            interval if passed[has].all() and count > 1 else _interval(t_ns[passed[has]])
            for has in ("has_force", "has_field")
        )
        # without any specific force the interval does not matter
        smoothing = Smoothing(
            force_interval=force_interval or interval, field_interval=field_interval
        )
        settings, rows = self.params.settings(), np.zeros(count, FilterRow.dtype())
        code = SMOOTH.code_for(PASSES * count, compiled=self._compiled) or SMOOTH.plain
        path = np.empty(count, Path.dtype())
        code(settings.packed(), smoothing.packed(), samples, passed, back, path, rows)
        return rows


def _backwards(samples: RecordArray) -> RecordArray:
    """Return the samples of the reversed motion."""
    raw = samples.view(f"V{samples.itemsize}")  # NumPy copies records field by field
    backwards = raw[::-1].copy().view(samples.dtype)
    backwards["t_ns"] = samples["t_ns"][-1:] - backwards["t_ns"]
    backwards["angular_velocity"] *= -1.0
    return backwards


def _interval(t_ns: IntArray) -> float:
    """Return the median sampling interval [s] of a sensor; 0 without samples."""
    intervals = np.diff(t_ns)
    intervals = intervals[intervals > 0]
    if intervals.size:
        return float(np.median(intervals)) * 1e-9
    return GUESS_S if t_ns.size else 0.0
