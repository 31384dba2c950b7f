"""Figure of Allan deviations with the noise terms that were fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.noise.units import DEVIATION, shown
from strapdown.plots._axes import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown.calibration import AllanResult, ChannelNoise, NoiseFit

__all__ = ["plot_noise"]

_COLUMNS: Final = 3
_LINES: Final = {
    "Q": (PURPLE, "dotted"),
    "N": (BLUE, "dashed"),
    "B": (GREEN, "dotted"),
    "K": (ORANGE, "dashdot"),
    "R": (PURPLE, "dashdot"),
}
_PROCESS: Final = (SKY, (0, (1, 1)))
_WORDS: Final = dict.fromkeys(("oadev", "adev", "totdev"), "Allan deviation")
_ROOM: Final = 0.5  # factor below the lowest deviation that is shown


def plot_noise(result: AllanResult, fit: NoiseFit | None = None, *, title: str = "") -> Figure:
    """Draw the deviation of each channel with its bounds, the fitted model and its terms.

    Parameters
    ----------
    result : AllanResult
        Drawn as points, the bounds as a band.
    fit : NoiseFit, optional
        The model is the thick line; its terms are thin lines, with their values in the legend.
        Circles are values read off the curve where it has the slope of a term. A channel whose
        model does not fit is marked at the worst cluster time.
    title : str, optional
        Of the figure.

    Returns
    -------
    Figure
        One panel a channel, in deg/h and ug.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    count = len(result.channels)
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.6 * columns, 0.6 + 3.9 * rows), layout="constrained")
    titled(figure, title or f"{result.kind} of {result.duration_s / 3600.0:.3g} h")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
    for column, axis in enumerate(axes[:count]):
        _draw_channel(axis, result, column)
        if fit is not None:
            _draw_model(axis, result, fit[result.channels[column]])
        axis.legend(fontsize="x-small", frameon=True, framealpha=0.85, loc="best")
    for axis in axes[count:]:
        axis.set_visible(False)
    for axis in axes[max(0, count - columns) : count]:
        axis.set_xlabel("cluster time [s]")
    return figure


def _size(unit: str) -> tuple[str, float]:
    """Return the unit in which a deviation is drawn, and its factor."""
    known = DEVIATION.get(unit)
    return (known.unit.replace("ug", "µg"), known.factor) if known else (unit, 1.0)


def _draw_channel(axis: Axes, result: AllanResult, column: int) -> None:
    """Draw the deviation of a channel, and set up its axes."""
    unit, factor = _size(result.units[column])
    tau_s, deviation = result.tau_s, factor * result.deviation[:, column]
    lower, upper = (factor * each[:, column] for each in (result.lower, result.upper))
    axis.fill_between(tau_s, lower, upper, color=GREY, alpha=0.4, linewidth=0.0, zorder=1)
    axis.plot(
        tau_s, deviation, ".", color="black", markersize=3.5, zorder=3,
        label=f"measured, {result.confidence:.1%} bounds",
    )  # fmt: skip
    axis.set_xscale("log")
    known = deviation[deviation > 0.0]
    if len(known):  # a constant channel has none, and no logarithm
        axis.set_yscale("log")
        axis.set_ylim(_ROOM * known.min(), 2.0 * known.max())
    axis.set_title(result.channels[column].replace("_", " ").replace(".", " "), fontsize="medium")
    word = _WORDS.get(str(result.kind), str(result.kind))
    axis.set_ylabel(f"{word} [{unit}]" if unit else word)
    axis.grid(which="major", alpha=0.35)
    axis.grid(which="minor", alpha=0.12)


def _draw_model(axis: Axes, result: AllanResult, noise: ChannelNoise) -> None:
    """Draw the model of a channel with its terms, and the values read off the curve."""
    terms = noise.model.terms(result.tau_s)
    if not terms:
        return
    factor = _size(noise.unit)[1]
    axis.plot(
        result.tau_s, factor * noise.model.deviation(result.tau_s),
        color=GREY, linewidth=3.5, alpha=0.8, zorder=2, label="fitted model",
    )  # fmt: skip
    for name, deviation in terms.items():
        colour, dashes = _LINES.get(name, _PROCESS)
        axis.plot(
            result.tau_s, factor * deviation, color=colour, linestyle=dashes, linewidth=1.2,
            label=_words(noise, name),
        )  # fmt: skip
    marked = [r.at_s for r in noise.readings.values() if r.value is not None and r.at_s]
    if marked:
        tau_s = np.sqrt([low * high for low, high in marked])
        curve = np.exp(
            np.interp(np.log(tau_s), np.log(result.tau_s), np.log(_column(result, noise.channel)))
        )
        axis.plot(
            tau_s, factor * curve, "o", color="black", fillstyle="none", markersize=7, zorder=4,
            label="read off the curve",
        )  # fmt: skip
    if noise.warning:
        row = int(np.argmin(np.abs(result.tau_s - noise.worst_at_s)))
        axis.plot(
            result.tau_s[row], factor * _column(result, noise.channel)[row], "x", color=ORANGE,
            markersize=8, markeredgewidth=2.0, zorder=5,
            label=f"model off by a factor of {max(noise.worst, 1.0 / noise.worst):.2f}",
        )  # fmt: skip


def _column(result: AllanResult, channel: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values: np.ndarray[tuple[int], np.dtype[np.float64]] = result.deviation[
        :, result.channels.index(channel)
    ]
    return values


def _words(noise: ChannelNoise, name: str) -> str:
    """Return the legend of a term."""
    if name.startswith("GM"):
        process = noise.model.gauss_markov[int(name[2:]) - 1]
        readable = shown("B", process.sigma, noise.unit) or {noise.unit: process.sigma}
        value, unit = next((value, unit) for unit, value in readable.items())
        return f"GM: {value:.4g} {_sign(unit)}, {process.correlation_time_s:.3g} s"
    coefficient = noise.model.coefficients()[name]
    readable = shown(name, coefficient, noise.unit) or {noise.unit: coefficient}
    value, unit = next((value, unit) for unit, value in readable.items())
    return f"{name}: {value:.4g} {_sign(unit)}"


def _sign(unit: str) -> str:
    """Return a unit as it is printed in figures."""
    return unit.replace("ug", "µg").replace("sqrt(h)", "√h").replace("sqrt(Hz)", "√Hz")
