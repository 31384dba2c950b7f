"""Figures of motions, and of sensors compared with their specification."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.plots._axes import GREY, STYLES, draw, label, panels
from strapdown.plots.recordings import draw_attitude, draw_imu
from strapdown.units import MICROTESLA, RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from strapdown.calibration import AllanAccumulator
    from strapdown.motion import InertialSource
    from strapdown.sensors import ImuSpec, TriadSpec
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["plot_allan", "plot_motion", "plot_simulation"]


class _Quantity(NamedTuple):
    """Name of a triad, and the units of its Allan deviation and its white noise."""

    sensor: str
    unit: str
    size: float
    density_unit: str
    density_size: float


_QUANTITIES = {
    "gyro": _Quantity("gyroscope", "deg/h", RAD_PER_DEG / 3600.0, "deg/√h", RAD_PER_DEG / 60.0),
    "accel": _Quantity("accelerometer", "µg", 1e-6 * STANDARD_GRAVITY, "m/s/√h", 1.0 / 60.0),
    "mag": _Quantity("magnetometer", "nT", 1e-3 * MICROTESLA, "nT/√Hz", 1e-3 * MICROTESLA),
}
_SHORTEST_S, _LONGEST_S = 0.01, 10_000.0
_SAMPLES = 20_000
_FEWEST = 10  # differences of a point that is drawn


def plot_motion(source: InertialSource, *, title: str, duration_s: float) -> Figure:
    """Draw a motion and the readings of an ideal IMU on it.

    Parameters
    ----------
    source : InertialSource
        With a pose.
    title : str
        Title of the figure.
    duration_s : float
        From the start of the motion, or from 0 [s].

    Returns
    -------
    Figure
        Attitude, position, angular velocity and specific force over time.
    """
    start_s = source.start_s if np.isfinite(source.start_s) else 0.0
    t_s = np.linspace(start_s, min(start_s + duration_s, source.end_s), _SAMPLES)
    truth = source.truth(t_s)
    rate, force = source.inputs(t_s)
    figure, axes = panels(4, title, columns=2)
    start_ns = int(truth.t_ns[0])
    draw_attitude(axes[0], truth, start_ns)
    draw(axes[1], truth.t_ns, np.asarray(truth.position_world), start_ns)
    label(axes[1], "position [m]", f"world {truth.world}")
    draw(axes[2], truth.t_ns, rate, start_ns)
    label(axes[2], "angular velocity [rad/s]", f"body {truth.body}")
    draw(axes[3], truth.t_ns, force, start_ns)
    label(axes[3], "specific force [m/s$^2$]", f"body {truth.body}")
    return figure


def plot_allan(
    spec: ImuSpec, measured: Mapping[str, AllanAccumulator] | None = None, *, title: str = ""
) -> Figure:
    """Draw the Allan deviation of a specification, and measured ones.

    Parameters
    ----------
    spec : ImuSpec
        Its model is the thick line; white noise, random walk and flicker floor are thin lines,
        with their numbers in the legend.
    measured : mapping of AllanAccumulator, optional
        By name of the triad: ``gyro``, ``accel``, ``mag``; drawn as points, with the standard
        deviation of each as a bar (IEEE Std 952-1997, annex C: 1/sqrt(2 n) of n differences).
    title : str, optional
        By default the name of the specification.

    Returns
    -------
    Figure
        One panel a triad.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    triads = spec.triads()
    figure = Figure(figsize=(5.0 * len(triads), 4.2), layout="constrained")
    figure.suptitle(title or f"{spec.name}: Allan deviation")
    _draw_allan(figure, spec, measured or {})
    return figure


def plot_simulation(
    series: ImuSeries, truth: Trajectory | None, spec: ImuSpec, rest: Mapping[str, AllanAccumulator]
) -> Figure:
    """Draw the samples of a simulated IMU, and its Allan deviation at rest.

    Parameters
    ----------
    series : ImuSeries
        Samples of the sensor, or the first part of them.
    truth : Trajectory, optional
        Its attitude is drawn as well.
    spec : ImuSpec
        The specification.
    rest : mapping of AllanAccumulator
        By name of the triad, from the same sensor at rest.

    Returns
    -------
    Figure
    """
    from matplotlib.figure import Figure  # noqa: PLC0415 (a slow import that only pictures need)

    rows = 2 + (series.magnetic_field is not None) + (truth is not None)
    figure = Figure(figsize=(10.0, 2.2 * rows + 4.5), layout="constrained")
    above, below = np.asarray(figure.subfigures(2, 1, height_ratios=(2.2 * rows, 4.5)), object)
    above.suptitle(f"{series.sensor.name}: {spec.name} at {float(spec.rate_hz):g} Hz")
    axes = list(np.atleast_1d(above.subplots(rows, 1, sharex=True)))
    axes[-1].set_xlabel("time since the first sample [s]")
    start_ns = int(series.t_ns[0]) if len(series) else 0
    left = draw_imu(axes, series, start_ns)
    if truth is not None:
        draw_attitude(left[0], truth, start_ns)
    below.suptitle("Allan deviation at rest, simulated, and the lines of the specification")
    _draw_allan(below, spec, rest)
    return figure


def _draw_allan(
    figure: Figure | SubFigure, spec: ImuSpec, measured: Mapping[str, AllanAccumulator]
) -> None:
    triads = spec.triads()
    axes = np.atleast_1d(figure.subplots(1, len(triads)))
    for axis, (name, triad) in zip(axes, triads.items(), strict=True):
        quantity = _QUANTITIES[name]
        axis.set_title(quantity.sensor, fontsize="medium")
        axis.set_xlabel("cluster time [s]")
        axis.set_ylabel(f"Allan deviation [{quantity.unit}]")
        words = {"noise_density": "white noise", "bias_instability": "bias instability"}
        unknown = [text for field, text in words.items() if getattr(triad, field) is None]
        notes = [f"not given: {', '.join(unknown)}"] if unknown else []
        drawn = _draw_model(axis, triad, quantity)
        if drawn and name in measured and not _draw_points(axis, measured[name], quantity):
            notes.append("simulated: constant, the noise is below the resolution")
        if drawn:
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.minorticks_off()  # they would take a quarter of the time of the whole picture
            axis.grid(alpha=0.3)
            axis.legend(fontsize="small", frameon=False, loc="upper right")
        else:
            axis.set(xticks=[], yticks=[])
        place = {"x": 0.03, "y": 0.04} if drawn else {"x": 0.5, "y": 0.5, "ha": "center"}
        axis.text(
            **place, s="\n".join(notes),
            transform=axis.transAxes, fontsize="small", color="#555555",
        )  # fmt: skip


def _draw_model(axis: Axes, triad: TriadSpec, quantity: _Quantity) -> bool:
    """Draw the model and its components; return whether there are any."""
    tau_s = np.geomspace(_SHORTEST_S, _LONGEST_S, 200)
    model = np.nanmax(triad.allan(tau_s), axis=-1) / quantity.size
    if not model.any():
        return False
    axis.plot(tau_s, model, color=GREY, linewidth=3.0, label="model")
    axis.set_ylim(0.3 * model.min(), 5.0 * model.max())
    lines = []
    if density := triad.per_axis("noise_density"):
        text = f"white noise, {max(density) / quantity.density_size:.4g} {quantity.density_unit}"
        lines.append((tau_s, max(density) / np.sqrt(tau_s), "dashed", text))
    if walk := triad.per_axis("bias_random_walk"):
        text = f"random walk, {max(walk) / quantity.size:.4g} {quantity.unit}/√s"
        lines.append((tau_s, max(walk) * np.sqrt(tau_s / 3.0), "dashdot", text))
    if instability := triad.per_axis("bias_instability"):
        floor = np.full(2, max(instability) * np.sqrt(2.0 * np.log(2.0) / np.pi))
        text = f"flicker floor, {floor[0] / quantity.size:.4g} {quantity.unit}"
        lines.append((np.array(triad.flicker_band_s), floor, "dotted", text))
    for x, y, dashes, text in lines:
        axis.plot(x, y / quantity.size, color="black", lw=0.8, linestyle=dashes, label=text)
    return True


def _draw_points(axis: Axes, measured: AllanAccumulator, quantity: _Quantity) -> bool:
    """Draw measured deviations; return whether there are any."""
    sure = measured.differences >= _FEWEST
    tau_s, deviation = measured.cluster_times_s[sure], measured.deviation()[sure] / quantity.size
    relative = 1.0 / np.sqrt(2.0 * measured.differences[sure])
    drawn = False
    for name, (colour, _), size, column in zip("xyz", STYLES, (6, 4, 2), deviation.T, strict=True):
        if (column > 0.0).any():  # smaller on larger, so that all are seen where they agree
            axis.errorbar(
                tau_s, column, relative * column,
                fmt="o", color=colour, markersize=size, elinewidth=0.8, label=f"{name}, simulated",
            )  # fmt: skip
            drawn = True
    return drawn
