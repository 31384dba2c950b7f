"""Vibration of a recording: levels, bands, spectral peaks, and coning."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import compiled, quickest
from strapdown._kernels.kernel import kernel
from strapdown.errors import ValueRangeError
from strapdown.px4 import float32 as px4_kernels
from strapdown.px4.health import vibration_report
from strapdown.series.timebase import ordered, report
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ByteArray, FloatArray, IntArray
    from strapdown.series import ImuSeries

__all__ = [
    "BANDS_HZ",
    "SensorVibration",
    "SpectralPeak",
    "Spread",
    "VibrationMetrics",
    "VibrationWindows",
    "vibration_metrics",
]

BANDS_HZ: Final = (0.0, 2.0, 10.0, 30.0, 80.0, 200.0, 500.0, math.inf)
"""Edges of the bands: posture, motion, and vibration."""

_FLOOR_HZ: Final = 5.0  # of the low-pass whose output is not vibration
_SMOOTH_HZ: Final = 2.0  # of the low-pass of the squares
_RESOLUTION_HZ: Final = 0.25
_LINE: Final = 10.0  # over the running median of the density: 10 dB
_MEDIAN_HZ: Final = 10.0  # width of the running median
_LEAST_SHARE: Final = 1e-6  # of the variance: smaller peaks are ignored
_TOP: Final = 0.8  # of half the sampling rate: energy above it may be aliased
_TOP_SHARE: Final = 0.4  # white noise has 0.2 there


@dataclass(frozen=True)
class Spread:
    """Distribution of a measure over a recording; a mean would hide a bad minute.

    Parameters
    ----------
    p50, p95, p99, worst : float
        Percentiles and the largest value, in the unit of the measure; NaN without values.
    worst_t_ns : int
        Time of the largest value [ns]; 0 without values.
    """

    p50: float
    p95: float
    p99: float
    worst: float
    worst_t_ns: int


@dataclass(frozen=True)
class SpectralPeak:
    """A narrow peak of a spectrum.

    Parameters
    ----------
    frequency_hz : float
        From a parabola through the logarithms of three densities.
    rms : float
        In the unit of the sensor, all axes together.
    harmonic : int
        1 for a fundamental, k for k times the frequency of an earlier line.
    fundamental_hz : float
        Fundamental frequency of its group.
    """

    frequency_hz: float
    rms: float
    harmonic: int
    fundamental_hz: float


@dataclass(frozen=True, eq=False)
class VibrationWindows:
    """Statistics of each window about its mean; NaN where it has fewer than two samples.

    Parameters
    ----------
    t_ns : (W,) int64
        Start of each [ns].
    rms, peak, p99, crest_factor, kurtosis : (W, 3)
        Of the absolute deviation: root mean square, largest, 99th percentile; peak over RMS; and
        fourth moment over the square of the second (3 for noise, 1.5 for a sine).
    clipped : (W,) int64
        Samples with a clipping bit.
    """

    t_ns: IntArray
    rms: FloatArray
    peak: FloatArray
    p99: FloatArray
    crest_factor: FloatArray
    kurtosis: FloatArray
    clipped: IntArray


@dataclass(frozen=True, eq=False)
class SensorVibration:
    """Vibration of a gyro [rad/s] or an accelerometer [m/s^2].

    Parameters
    ----------
    px4_metric : (N,) float32
        PX4's recursion over the samples: a slow mean of the length of their differences.
    ardupilot : (N, 3)
        Root of the squares above 5 Hz, smoothed at 2 Hz. Of an accelerometer below 15 m/s^2 is
        normal, above 30 doubtful, above 60 nearly always trouble.
    windows : VibrationWindows
    band_rms : (B, 3)
        In each band of :data:`BANDS_HZ`; their squares add up to the variance.
    lines : tuple of SpectralPeak
        More than 10 dB over the running median, by frequency.
    may_be_aliased : bool
        A line, or more than 40 % of the variance above 10 Hz, is in the top fifth of the band.
    spread : mapping of str to Spread
        Of ``px4_metric``, of the largest axis of ``ardupilot``, and of the ``rms`` of windows (all
        axes together).
    """

    px4_metric: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
    ardupilot: FloatArray
    windows: VibrationWindows
    band_rms: FloatArray
    lines: tuple[SpectralPeak, ...]
    may_be_aliased: bool
    spread: dict[str, Spread]

    def to_dict(self) -> dict[str, object]:
        """Return everything but the arrays of samples and windows, in types of JSON."""
        return {
            "band_rms": self.band_rms.tolist(),
            "lines": [asdict(line) for line in self.lines],
            "may_be_aliased": self.may_be_aliased,
            "spread": {name: asdict(each) for name, each in self.spread.items()},
        }


@dataclass(frozen=True, eq=False)
class VibrationMetrics:
    """Vibration of a recording.

    Parameters
    ----------
    gyro, accel : SensorVibration
    coning_rad_s : (W,)
        Drift that each window would have if samples were integrated without a correction for
        coning: ``|sum of 1/12 d_theta(k-1) x d_theta(k)|`` over its length.
    coning : Spread
    stretch_s : float
        Length of the longest stretch without a gap, from which the spectrum is computed [s].
    """

    gyro: SensorVibration
    accel: SensorVibration
    coning_rad_s: FloatArray
    coning: Spread
    stretch_s: float

    def to_dict(self) -> dict[str, object]:
        """Return everything but the arrays of samples and windows, in types of JSON."""
        return {
            "gyro": self.gyro.to_dict(),
            "accel": self.accel.to_dict(),
            "coning": asdict(self.coning),
            "stretch_s": self.stretch_s,
        }


def vibration_metrics(series: ImuSeries, *, window_s: float = 1.0) -> VibrationMetrics:
    """Measure the vibration of a recording.

    The spectrum is Welch's (IEEE Transactions AU-15, 1967) with a Hann window of 4 s and half an
    overlap, over the longest stretch without a gap; its integral is scaled to the variance
    of that stretch, since its ends count less in overlapping windows.

    Parameters
    ----------
    series : ImuSeries
        Samples whose stamp repeats or goes back, and those with NaN, are left out.
    window_s : float, optional
        Length of a window of the statistics [s].

    Returns
    -------
    VibrationMetrics

    Raises
    ------
    ValueRangeError
        ``window_s`` is not finite and positive, or fewer than 16 usable samples follow each
        other without a gap.
    """
    if not (math.isfinite(window_s) and window_s > 0.0):
        raise ValueRangeError(f"expected window_s finite and positive, got {window_s}")
    usable = np.isfinite(series.angular_velocity) & np.isfinite(series.specific_force)
    rows = np.flatnonzero(usable.all(axis=1))
    series, _ = ordered(series[rows], "drop")
    clock = report(series.t_ns)
    stretch = _longest_stretch(series.t_ns, clock.gap_after_ns)
    if stretch.stop - stretch.start < 16:
        raise ValueRangeError(
            f"expected 16 samples or more without a gap, got {stretch.stop - stretch.start}"
        )
    groups = _groups(series.t_ns, window_s)
    dt = np.diff(series.t_ns, prepend=series.t_ns[0]) / NS_PER_S
    sensors = [
        _measure(values, bits, series.t_ns, dt, groups, stretch, clock.rate_hz)
        for values, bits in (
            (series.angular_velocity, series.gyro_clipping),
            (series.specific_force, series.accel_clipping),
        )
    ]
    turn = series.angular_velocity * np.where(dt * NS_PER_S <= clock.gap_after_ns, dt, 0.0)[:, None]
    correction = np.zeros_like(turn)
    correction[1:] = np.cross(turn[:-1], turn[1:]) / 12.0
    coning = np.linalg.norm(np.add.reduceat(correction, groups), axis=1) / window_s
    starts = series.t_ns[groups]
    length = series.t_ns[stretch.stop - 1] - series.t_ns[stretch.start]
    return VibrationMetrics(
        sensors[0], sensors[1], coning, _spread(coning, starts), float(length / NS_PER_S)
    )


def _measure(
    values: FloatArray,
    bits: ByteArray | None,
    t_ns: IntArray,
    dt: FloatArray,
    groups: IntArray,
    stretch: slice,
    rate_hz: float,
) -> SensorVibration:
    """Measure one sensor."""
    metric = np.empty(len(values), np.float32)
    compiled(px4_kernels.vibrations)(np.float32(0.0), values.astype(np.float32), metric)
    levels = np.empty_like(values)
    quickest(shares, len(values))(dt, values, levels)
    clipped = np.zeros(len(values), np.int64) if bits is None else (bits != 0).astype(np.int64)
    windows = _windows(values, clipped, t_ns, groups)
    hz, density = _spectrum(values[stretch], rate_hz)
    power = density * (hz[1] - hz[0])
    edges = np.searchsorted(hz, BANDS_HZ)
    bands = np.array([power[a:b].sum(axis=0) for a, b in pairwise(edges)])
    lines = _lines(hz, density.sum(axis=1))
    top = _TOP * 0.5 * rate_hz
    fast = power[hz >= min(10.0, 0.5 * top)].sum()
    crowded = bool(power[hz >= top].sum() > _TOP_SHARE * fast > 0.0)
    spread = {
        "px4_metric": _spread(metric.astype(np.float64), t_ns),
        "ardupilot": _spread(levels.max(axis=1), t_ns),
        "rms": _spread(np.sqrt((windows.rms**2).sum(axis=1)), windows.t_ns),
    }
    aliased = crowded or any(line.frequency_hz >= top for line in lines)
    return SensorVibration(metric, levels, windows, np.sqrt(bands), lines, aliased, spread)


@kernel
def shares(dt: FloatArray, values: FloatArray, levels: FloatArray) -> None:
    """Compute ArduPilot's levels: the root of the smoothed squares above 5 Hz."""
    for k in range(3):
        floor, square, primed = 0.0, 0.0, False
        for i in range(len(values)):
            value = values[i, k]
            if not math.isfinite(value):
                levels[i, k] = math.nan
                continue
            if not primed:
                floor, primed = value, True
            slow, smooth = gain(dt[i], _FLOOR_HZ), gain(dt[i], _SMOOTH_HZ)
            floor += slow * (value - floor)
            off = value - floor
            square += smooth * (off * off - square)
            levels[i, k] = math.sqrt(square)


@kernel
def gain(dt: float, cutoff_hz: float) -> float:
    """Return the gain of a low-pass of first order, as ArduPilot computes it."""
    return dt / (dt + 1.0 / (2.0 * math.pi * cutoff_hz))


def _longest_stretch(t_ns: IntArray, gap_after_ns: int) -> slice:
    """Return the rows of the longest stretch without a gap."""
    cuts = np.flatnonzero(np.diff(t_ns) > gap_after_ns) + 1
    edges = np.concatenate([[0], cuts, [len(t_ns)]])
    longest = int(np.argmax(np.diff(edges)))
    return slice(int(edges[longest]), int(edges[longest + 1]))


def _groups(t_ns: IntArray, window_s: float) -> IntArray:
    """Return the first row of each window."""
    number = (t_ns - t_ns[0]) // max(round(window_s * NS_PER_S), 1)
    return np.flatnonzero(np.diff(number, prepend=-1))


def _windows(
    values: FloatArray, clipped: IntArray, t_ns: IntArray, groups: IntArray
) -> VibrationWindows:
    """Return the statistics of each window."""
    counts = np.diff(groups, append=len(values))[:, None].astype(np.float64)
    counts[counts < 2.0] = np.nan
    mean = np.add.reduceat(values, groups) / counts
    off = np.abs(values - np.repeat(mean, np.diff(groups, append=len(values)), axis=0))
    square = np.add.reduceat(off**2, groups) / counts
    peak = np.maximum.reduceat(off, groups)
    p99 = np.array([np.percentile(each, 99, axis=0) for each in np.split(off, groups[1:])])
    rms = np.sqrt(square)
    with np.errstate(invalid="ignore", divide="ignore"):
        crest = peak / rms
        kurtosis = np.add.reduceat(off**4, groups) / counts / square**2
    total = np.add.reduceat(clipped, groups)
    return VibrationWindows(t_ns[groups], rms, peak, p99, crest, kurtosis, total)


def _spectrum(values: FloatArray, rate_hz: float) -> tuple[FloatArray, FloatArray]:
    """Return frequencies and densities whose sum is the variance."""
    from scipy.signal import welch  # noqa: PLC0415 (a slow import that only spectra need)

    off = values - values.mean(axis=0)
    size = min(len(off), max(16, round(rate_hz / _RESOLUTION_HZ)))
    hz, density = welch(off, rate_hz, "hann", size, detrend=False, axis=0)
    total = density.sum(axis=0) * (hz[1] - hz[0])
    variance = (off**2).mean(axis=0)
    scale = np.divide(variance, total, out=np.zeros(3), where=total > 0.0)
    return hz, density * scale


def _lines(hz: FloatArray, density: FloatArray) -> tuple[SpectralPeak, ...]:
    """Return the peaks of a spectrum with their fundamentals."""
    from scipy.ndimage import median_filter  # noqa: PLC0415 (only spectra need it)

    step = hz[1] - hz[0]
    floor = median_filter(density, 2 * round(0.5 * _MEDIAN_HZ / step) + 1, mode="nearest")
    least = _LEAST_SHARE * density.sum()
    inner = density[1:-1]
    is_peak = (inner > density[:-2]) & (inner >= density[2:]) & (inner > _LINE * floor[1:-1])
    found: list[SpectralPeak] = []
    for at in np.flatnonzero(is_peak) + 1:
        around = slice(max(at - 2, 0), at + 3)
        power = float(np.clip(density[around] - floor[around], 0.0, None).sum() * step)
        if power <= least * step or density[at] < density[around].max():
            continue
        a, b, c = np.log(np.maximum(density[at - 1 : at + 2], 1e-300))
        shift = 0.5 * (a - c) / (a - 2.0 * b + c)
        frequency = float(hz[at] + shift * step)
        harmonic, base = _harmonic(frequency, found, step)
        found.append(SpectralPeak(frequency, math.sqrt(power), harmonic, base))
    return tuple(found)


def _harmonic(frequency: float, lower: list[SpectralPeak], step: float) -> tuple[int, float]:
    """Return the order of a frequency as a harmonic, and its fundamental."""
    for line in lower:
        order = round(frequency / line.frequency_hz)
        if line.harmonic == 1 and abs(frequency - order * line.frequency_hz) < 0.5 * step:
            return order, line.frequency_hz
    return 1, frequency


def _spread(values: FloatArray, t_ns: IntArray) -> Spread:
    """Return percentiles and the worst value with its time."""
    r = vibration_report(t_ns, values)
    return Spread(r.p50, r.p95, r.p99, r.peak, r.peak_t_ns)
