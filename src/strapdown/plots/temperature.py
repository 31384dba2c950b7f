"""Picture of a calibration against temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._words import printable
from strapdown.plots._axes import STYLES, label
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from strapdown.calibration import TemperatureCalibration, TriadTemperature

__all__ = ["plot_temperature"]


def plot_temperature(result: TemperatureCalibration, *, title: str = "temperature") -> Figure:
    """Draw the biases against temperature, rising and falling, with their curves.

    Parameters
    ----------
    result : TemperatureCalibration
        From :func:`~strapdown.calibration.temperature_curve`.
    title : str, optional
        Title of the figure.

    Returns
    -------
    Figure
        A panel for the gyro, and one for the accelerometer where it was calibrated: change of each
        axis since the lowest temperature, with the standard deviation of the curve as a band.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    triads = [("gyro", result.gyro, 1.0 / RAD_PER_DEG, "deg/s")]
    if result.accel is not None:
        triads.append(("accelerometer", result.accel, 1e3, "mm/s^2"))
    figure = Figure(figsize=(10.0, 1.0 + 3.4 * len(triads)), layout="constrained")
    figure.suptitle(printable(title).replace("$", r"\$"))
    axes = figure.subplots(len(triads), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (name, triad, factor, unit) in zip(axes, triads, strict=True):
        _draw_triad(axis, triad, factor)
        label(axis, f"change of {name} bias [{unit}]", "up: rising, down: falling")
    axes[-1].set_xlabel("temperature [deg C]")
    return figure


def _draw_triad(axis: Axes, triad: TriadTemperature, factor: float) -> None:
    """Draw the three axes of a triad."""
    for k, (name, (colour, dashes)) in enumerate(zip("xyz", STYLES, strict=True)):
        start, sigma = triad.curve[0, k], factor * triad.sigma[k]
        curve = factor * (triad.curve[:, k] - start)
        axis.plot(triad.celsius, curve, color=colour, linestyle=dashes, label=name)
        axis.fill_between(
            triad.celsius, curve - sigma, curve + sigma, color=colour, alpha=0.15, linewidth=0.0
        )
        for values, marker in ((triad.rising, "^"), (triad.falling, "v")):
            shown = factor * (values[:, k] - start)
            axis.plot(triad.celsius, shown, marker, color=colour, markersize=3.5)
