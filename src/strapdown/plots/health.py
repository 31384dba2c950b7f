"""Figures of the health of an IMU: vibration, clipping, spectrum, sampling."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from strapdown._words import counted
from strapdown.errors import FormatError
from strapdown.plots._axes import BLUE, GREY, ORANGE, PURPLE, STYLES, label, panels
from strapdown.px4.health import MEAN_CRITICAL, MEAN_WARNING, clipping_report
from strapdown.series import timebase
from strapdown.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown._typing import ByteArray, FloatArray, IntArray
    from strapdown.calibration import NoiseFit
    from strapdown.formats import Recording
    from strapdown.formats.px4.health import Metric
    from strapdown.series import ImuSeries

__all__ = [
    "Spectrum",
    "plot_clipping",
    "plot_spectrum",
    "plot_timing",
    "plot_vibration",
    "spectra",
]

_SEGMENT: Final = 1024  # samples of one periodogram
_FEWEST: Final = 64
_GAP: Final = 5.0  # median steps
_BINS: Final = 80
_LINE: Final = 1.5  # smallest amplitude of a line over that around it
_LEAST: Final = 1e-9  # so that a spectrum of 0 has a logarithm
_AVERAGED: Final = 100  # fewest periodograms in which lines are searched
_MOST_LINES: Final = 5
_LINES: Final = (*STYLES, (PURPLE, "dashdot"))
_LIMITS: Final = ((MEAN_WARNING, GREY, "warning"), (MEAN_CRITICAL, ORANGE, "critical"))
_TRIADS: Final = (
    ("angular_velocity", "gyro_clipping", "angular velocity", "rad/s"),
    ("specific_force", "accel_clipping", "specific force", "m/s$^2$"),
)


def plot_vibration(
    metrics: list[Metric], *, start_ns: int | None = None, title: str = "vibration"
) -> Figure:
    """Draw the vibration metric of each accelerometer and gyroscope over time.

    Parameters
    ----------
    metrics : list of Metric
        One or more IMUs, their metrics in m/s^2 and rad/s.
    start_ns : int, optional
        Origin of the time axis [ns]; by default the first stamp of the metrics.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        The accelerometers with the limits used in log reviews, the gyroscopes below.

    Raises
    ------
    FormatError
        There is no metric to draw.
    """
    if not any(len(metric.t_ns) for metric in metrics):
        raise FormatError("expected a vibration metric, got none; it needs windows in sequence")
    figure, (accel, gyro) = panels(2, title)
    if start_ns is None:
        start_ns = min(int(metric.t_ns[0]) for metric in metrics if len(metric.t_ns))
    for number, (name, t_ns, of_accel, of_gyro) in enumerate(metrics):
        colour, dashes = _LINES[number % len(_LINES)]
        for axis, values in ((accel, of_accel), (gyro, of_gyro)):
            t_s = (t_ns - start_ns) / NS_PER_S
            axis.plot(t_s, values, color=colour, linestyle=dashes, linewidth=1.0, label=name)
    for limit, colour, text in _LIMITS:
        accel.axhline(limit, color=colour, linewidth=0.8, label=f"{text} from {limit} m/s$^2$")
    accel.set_yscale("log")  # usual values are far below the limits
    columns = len(_LINES) + len(_LIMITS)
    label(accel, "vibration [m/s$^2$]", "accelerometer", columns=columns)
    label(gyro, "vibration [rad/s]", "gyroscope", columns=columns)
    return figure


def plot_spectrum(
    recording: Recording, *, topic: str | None = None, noise: NoiseFit | None = None
) -> Figure:
    """Draw the one-sided amplitude spectral density of angular velocity and specific force.

    Averaged over all stretches without a gap (P. D. Welch's method, IEEE Transactions AU-15(2),
    1967; Hann window, half overlapping). Samples whose stamp repeats are left out, and steps of
    up to five sampling intervals are filled by linear interpolation.

    Parameters
    ----------
    recording : Recording
        With an IMU.
    topic : str, optional
        By default the source with the highest rate, for each quantity.
    noise : NoiseFit, optional
        Its white noise is drawn as horizontal lines at sqrt(2) N: N is the root of a two-sided
        density. Lines that rise from the level around them are listed as not noise.

    Returns
    -------
    Figure
        One panel a quantity, over frequency.

    Raises
    ------
    FormatError
        No source has 64 samples in sequence.
    """
    found = spectra(recording, topic=topic)
    figure, axes = panels(len(found), f"{recording.path.name}: spectrum")
    for axis, each in zip(axes, found, strict=True):
        for column, (colour, dashes) in enumerate(STYLES):
            axis.loglog(
                each.hz[1:], each.amplitude[1:, column], color=colour, linestyle=dashes,
                linewidth=1.0, label="xyz"[column],
            )  # fmt: skip
        if noise is not None:
            _draw_white_noise(axis, each.quantity.replace(" ", "_"), noise)
            if each.samples > _AVERAGED * len(each.hz):  # else bins scatter as much as lines rise
                _mark_lines(axis, each.hz, each.amplitude)
        words = f"{each.quantity}\n[{each.unit}/√Hz], one-sided"
        label(axis, words, f"{each.source}: {each.account}", columns=6)
    axes[-1].set_xlabel("frequency [Hz]")
    return figure


def _draw_white_noise(axis: Axes, quantity: str, noise: NoiseFit) -> None:
    """Draw the level of white noise of each axis."""
    for each in noise.channels:
        name, _, letter = each.channel.partition(".")
        if name == quantity and each.model.N is not None:
            colour, dashes = STYLES["xyz".index(letter)]
            axis.axhline(
                np.sqrt(2.0) * each.model.N, color=colour, linestyle=dashes, linewidth=2.0,
                alpha=0.5, label=f"√2 N {letter}",
            )  # fmt: skip


def _mark_lines(axis: Axes, hz: FloatArray, amplitude: FloatArray) -> None:
    """List the most prominent lines, which are vibration or interference."""
    from scipy.signal import find_peaks  # noqa: PLC0415 (a slow import that only spectra need)

    relative = np.max(np.nan_to_num(amplitude / np.nanmedian(amplitude, axis=0)), axis=1)
    rows, found = find_peaks(np.log(relative[1:] + _LEAST), prominence=np.log(_LINE))
    strongest = 1 + np.sort(rows[np.argsort(found["prominences"])[::-1][:_MOST_LINES]])
    for row in strongest:
        axis.axvline(hz[row], color=GREY, linewidth=0.8, zorder=0.5)
    if len(strongest):
        words = ", ".join(f"{hz[row]:.3g}" for row in strongest)
        axis.text(
            0.01, 0.03, f"not noise: lines at {words} Hz", transform=axis.transAxes,
            fontsize="small", color="#555555",
        )  # fmt: skip


def plot_timing(recording: Recording, *, topic: str | None = None) -> Figure:
    """Draw the steps between samples of an IMU over time, and their distribution.

    Parameters
    ----------
    recording : Recording
        With an IMU.
    topic : str, optional
        By default the IMU with the most samples.

    Returns
    -------
    Figure
        Steps with the median as a line, and a histogram of their deviation from it.

    Raises
    ------
    FormatError
        The recording holds no IMU, or no two samples of it.
    """
    topic, series = _named(recording, topic)
    if len(series) < 2:
        raise FormatError("expected two samples or more", path=recording.path, topic=topic)
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    clock = timebase.report(series.t_ns)
    steps_ms = np.diff(series.t_ns) / NS_PER_MS
    median_ms = float(np.median(steps_ms))
    figure = Figure(figsize=(10.0, 5.4), layout="constrained")
    figure.suptitle(f"{recording.path.name}: sampling of {topic}")
    over_time, spread = figure.subplots(2, 1)
    t_s = (series.t_ns[1:] - series.t_ns[0]) / NS_PER_S
    over_time.plot(t_s, steps_ms, ".", color=BLUE, markersize=2.0, label="step")
    over_time.axhline(median_ms, color=ORANGE, linewidth=0.8, label=f"median {median_ms:.6g} ms")
    over_time.set_yscale("log" if (steps_ms > 0).all() and clock.gaps else "linear")
    over_time.set_xlabel("time since the first sample [s]")
    label(over_time, "step [ms]", f"{clock.samples} samples, {counted(clock.gaps, 'gap')}")
    off_us = (steps_ms - median_ms) * 1e3
    near = off_us[np.abs(off_us) <= np.percentile(np.abs(off_us), 99.0)]
    spread.hist(near, bins=_BINS, color=BLUE, label="nearest 99 % of the steps")
    spread.set_yscale("log")
    spread.set_ylim(bottom=0.8)  # so that a bar of one step is visible
    spread.set_xlabel("step minus the median [µs]")
    label(spread, "count", f"{clock.rate_hz:.6g} Hz")
    return figure


def plot_clipping(recording: Recording, *, topic: str | None = None) -> Figure:
    """Draw the saturated axes of an IMU over time.

    Parameters
    ----------
    recording : Recording
        With an IMU that has clipping bits.
    topic : str, optional
        By default the IMU with the most samples.

    Returns
    -------
    Figure
        One panel a sensor: a mark for each window and axis that clipped.

    Raises
    ------
    FormatError
        The IMU has no clipping bits.
    """
    topic, series = _named(recording, topic)
    known = [each for each in _TRIADS if getattr(series, each[1]) is not None]
    if not known:
        raise FormatError("expected clipping bits, the IMU has none", path=recording.path)
    figure, axes = panels(len(known), f"{recording.path.name}: saturated samples of {topic}")
    start_ns = int(series.t_ns.min()) if len(series) else 0
    for axis, (_, bits, quantity, _) in zip(axes, known, strict=True):
        _draw_bits(axis, series.t_ns - start_ns, getattr(series, bits))
        report = clipping_report(getattr(series, bits))
        label(axis, quantity, f"{report.clipped} of {report.windows} windows clipped")
    return figure


def _draw_bits(axis: Axes, t_ns: IntArray, bits: ByteArray) -> None:
    for row, (colour, _) in enumerate(STYLES):
        marked = t_ns[(bits >> row & 1).astype(np.bool_)] / NS_PER_S
        axis.plot(marked, np.full(len(marked), row), "|", color=colour, label="xyz"[row])
    if len(t_ns):  # the whole time, so that clean stretches are visible
        axis.set_xlim(0.0, max(float(t_ns.max()) / NS_PER_S, 1e-9))
    axis.set_ylim(-0.5, 2.5)
    axis.set_yticks([0, 1, 2], ["x", "y", "z"])
    axis.invert_yaxis()
    if not bits.any():
        axis.text(
            0.5, 0.65, "no sample was saturated", ha="center", va="center", transform=axis.transAxes
        )


class Spectrum(NamedTuple):
    """Amplitude spectral density of a triad.

    Parameters
    ----------
    source, quantity, unit : str
        Topic, such as "imu/data"; quantity; and unit of its values.
    hz : (F,)
        Frequencies [Hz].
    amplitude : (F, 3)
        One-sided [unit / sqrt(Hz)]; NaN where a constant signal has none.
    samples : int
        Used samples.
    account : str
        Numbers of used, known and interpolated samples, and the rate.
    """

    source: str
    quantity: str
    unit: str
    hz: FloatArray
    amplitude: FloatArray
    samples: int
    account: str


def spectra(recording: Recording, *, topic: str | None = None) -> list[Spectrum]:
    """Return the spectra of angular velocity and specific force, as :func:`plot_spectrum` draws.

    Raises
    ------
    FormatError
        No source has 64 samples in sequence.
    """
    found = []
    for source, quantity, unit, regular in _fastest(recording, topic):
        hz, power = _welch(regular)
        amplitude = np.sqrt(np.where(power > 0.0, power, np.nan))
        found.append(Spectrum(source, quantity, unit, hz, amplitude, regular.used, str(regular)))
    return found


def _named(recording: Recording, topic: str | None) -> tuple[str, ImuSeries]:
    """Return the topic and the series of an IMU: as requested, or the default."""
    series = recording.imu_series(topic)
    names = [topic] if topic else [*recording.imu, *recording.increments]
    return next(name for name in names if recording.imu_series(name) == series), series


class _Regular(NamedTuple):
    """A quantity at equal intervals: one array a stretch without a gap."""

    rate_hz: float
    stretches: list[FloatArray]
    used: int
    known: int
    filled: int

    def __str__(self) -> str:
        part = "" if self.used == self.known else f" of {self.known}"
        filled = f", {self.filled} interpolated" if self.filled else ""
        return f"{self.used}{part} samples{filled}, {self.rate_hz:.6g} Hz"


def _fastest(recording: Recording, topic: str | None) -> list[tuple[str, str, str, _Regular]]:
    """Return source, quantity, unit, and its regular samples, by triad."""
    names = [topic] if topic else [*recording.imu, *recording.increments]
    found = []
    for column, _, quantity, unit in _TRIADS:
        regular = {
            name: each
            for name in names
            if (each := _regular(recording.imu_series(name), column)) is not None
        }
        if regular:
            best = max(regular, key=lambda name: regular[name].rate_hz)
            found.append((best, quantity, unit, regular[best]))
    if not found:
        raise FormatError(
            f"expected {_FEWEST} samples in sequence for a spectrum", path=recording.path
        )
    return found


def _regular(series: ImuSeries, column: str) -> _Regular | None:
    """Return the stretches of a quantity that are long enough for a periodogram."""
    known = series[np.isfinite(getattr(series, column)).all(axis=1)]
    kept, _ = timebase.ordered(known, "drop")
    if len(kept) < _FEWEST:
        return None
    steps = np.diff(kept.t_ns)
    median = float(np.median(steps))
    intervals = np.maximum(np.rint(steps / median), 1.0).astype(np.int64)
    edges = [0, *(np.flatnonzero(steps > _GAP * median) + 1).tolist(), len(kept)]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    lengths = [1 + int(intervals[part.start : part.stop - 1].sum()) for part in parts]
    size = min(_SEGMENT, max(lengths))
    if size < _FEWEST:
        return None
    stretches, used, duration_ns = [], 0, 0
    for part, length in zip(parts, lengths, strict=True):
        if length >= size:
            at = np.concatenate([[0], np.cumsum(intervals[part.start : part.stop - 1])])
            values = getattr(kept, column)[part]
            stretches.append(
                np.stack([np.interp(np.arange(length), at, each) for each in values.T], axis=1)
            )
            used += len(values)
            duration_ns += int(kept.t_ns[part.stop - 1] - kept.t_ns[part.start])
    count = sum(map(len, stretches))
    rate_hz = (count - len(stretches)) / duration_ns * NS_PER_S
    return _Regular(rate_hz, stretches, used, len(known), count - used)


def _welch(regular: _Regular) -> tuple[FloatArray, FloatArray]:
    """Return frequencies [Hz] and the power spectral density, averaged over all periodograms."""
    from scipy.signal import welch  # noqa: PLC0415 (a slow import that only spectra need)

    size = min(_SEGMENT, max(map(len, regular.stretches)))
    densities, periodograms = [], []
    for values in regular.stretches:
        hz, power = welch(values, regular.rate_hz, nperseg=size, detrend="linear", axis=0)
        densities.append(power)
        periodograms.append((len(values) - size) // (size - size // 2) + 1)
    return hz, np.average(densities, axis=0, weights=periodograms)
