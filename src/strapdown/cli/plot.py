"""``strapdown plot``: figures of a recording."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from strapdown import plots
from strapdown._checks import as_member
from strapdown.cli._common import (
    Force,
    Input,
    Output,
    Topic,
    check_targets,
    read_losses,
    working,
)
from strapdown.cli._completion import completed
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import drawn, open_imu, open_input
from strapdown.errors import UnknownNameError
from strapdown.formats._output import check_ending
from strapdown.plots._axes import PICTURES

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from strapdown.formats import Recording
    from strapdown.formats.px4.health import Metric
    from strapdown.viewer import ChartPage


class Preset(StrEnum):
    """Contents of a figure."""

    IMU = "imu"
    """Angular velocity, specific force, magnetic field and attitude over time."""
    VIBRATION = "vibration"
    """PX4's vibration metric, over the limits of log reviewers."""
    CLIPPING = "clipping"
    """Saturated axes over time."""
    PSD = "psd"
    """Amplitude spectral density, of raw FIFO samples if a log has them."""
    TIMING = "timing"
    """Steps between samples, and their distribution."""


def plot(
    source: Input,
    *,
    output: Output,
    preset: Annotated[
        str,
        typer.Option(
            "--preset",
            help=f"One of: {', '.join(Preset)}; signals over time by default.",
            autocompletion=completed(Preset),
        ),
    ] = Preset.IMU,
    topic: Topic = None,
    force: Force = False,
) -> Outcome:
    """Draw a recording: its signals, vibration, clipping, spectrum or sampling.

    The ending of the output chooses the format: .png, .svg, .pdf, or .html for interactive
    charts of imu and psd.

    Examples
    --------
    strapdown plot demo.mcap --output demo.png

    strapdown plot flight.ulg --topic sensor_combined --output flight.png

    strapdown plot flight.ulg --preset vibration --output vibration.svg

    strapdown plot demo.mcap --output demo.html

    strapdown plot flight.ulg --preset psd --topic sensor_gyro_fifo.0 --output spectrum.png
    """
    chosen = as_member(Preset, preset, "preset")
    check_ending(output, (*PICTURES, ".html"))
    check_targets(output, None, force=force, recording=False, sources=[source])
    with working(f"reading {source}"):
        recording = _read(source, chosen, topic)
    with working("drawing"):
        if output.suffix.lower() == ".html":
            _interactive(recording, chosen, topic).save(output, force=force)
        else:
            plots.save(_drawn(recording, chosen, topic), output, force=force)
    data = {"input": str(source), "output": str(output), "preset": str(chosen)}
    about = []
    if chosen is not Preset.VIBRATION and (recording.imu or recording.increments):
        data["topic"] = recording.imu_topic(topic)
        about = [f"topic {data['topic']}"]
    recognised = recording.report.notes if recording.report.format == "table" else ()
    return Outcome(data, [*recognised, *about, f"wrote {output}"], read_losses(recording.report))


def _read(source: Path, preset: Preset, topic: str | None) -> Recording:
    """Read what a figure shows: by default a spectrum is of the fastest of all sensors."""
    if preset is Preset.VIBRATION or (preset is Preset.PSD and topic is None):
        return open_input(source)
    return open_imu(source, topic, drawn if preset is Preset.IMU else None)


def _interactive(recording: Recording, preset: Preset, topic: str | None) -> ChartPage:
    from strapdown.viewer import chart_page, spectrum_page  # noqa: PLC0415 (only for .html)

    draw = {Preset.IMU: chart_page, Preset.PSD: spectrum_page}.get(preset)
    if draw is None:
        raise typer.BadParameter(
            f"interactive charts show imu or psd, got {preset}; write .png, .svg or .pdf",
            param_hint="'--preset'",
        )
    return draw(recording, topic=topic)


def _drawn(recording: Recording, preset: Preset, topic: str | None) -> Figure:
    if preset is Preset.VIBRATION:
        return _vibration(recording, topic)
    draw = {
        Preset.IMU: plots.plot_recording,
        Preset.CLIPPING: plots.plot_clipping,
        Preset.PSD: plots.plot_spectrum,
        Preset.TIMING: plots.plot_timing,
    }[preset]
    return draw(recording, topic=topic)


def _vibration(recording: Recording, topic: str | None) -> Figure:
    """Draw the metric of one IMU or of all, over time since the first sample."""
    from strapdown.formats.px4.health import vibration_of  # noqa: PLC0415 (only this preset)

    metrics, names = vibration_of(recording), [*recording.imu, *recording.increments]
    if metrics and topic is not None:
        by_topic = {name: metric for metric in metrics for name in _topics(metric)}
        if topic not in by_topic:
            raise UnknownNameError("vibration metric of the topic", topic, by_topic)
        metrics = [by_topic[topic]]
        names = [name for name in names if name in _topics(metrics[0])] or names
    stamps = [recording.imu_series(name).t_ns for name in names]
    return plots.plot_vibration(
        metrics,
        start_ns=min((int(t_ns.min()) for t_ns in stamps if len(t_ns)), default=None),
        title=f"{recording.path.name}: vibration",
    )


def _topics(metric: Metric) -> tuple[str, ...]:
    """Return the topics of a metric."""
    kind, _, instance = metric.name.partition(" ")
    if kind != "IMU":
        return (metric.name,)
    return f"vehicle_imu.{instance}", f"vehicle_imu_status.{instance}"
