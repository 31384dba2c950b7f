"""``strapdown demo``: the whole chain on simulated motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import numpy as np
import typer
from rich.console import RenderableType
from rich.table import Table

import strapdown.formats as files
from strapdown import plots
from strapdown.cli._common import Force, frames_of, working
from strapdown.cli._outcome import Outcome
from strapdown.estimation import ErrorStateFilter
from strapdown.evaluation import Alignment, evaluate_orientation
from strapdown.formats import Recording
from strapdown.formats._output import refuse
from strapdown.inertial import increments_from_rates
from strapdown.messages import Imu, VehicleImu, conversion
from strapdown.samples import ImuSample
from strapdown.sensors import ImuSpec, TriadSpec
from strapdown.series import Trajectory
from strapdown.simulation import simulate
from strapdown.transport import Topic

if TYPE_CHECKING:
    from strapdown.evaluation import OrientationEvaluation
    from strapdown.series import ImuSeries, Increments

DURATION_S = 60.0
SAMPLES_PER_INCREMENT = 2

# A consumer sensor, 0.007 deg/s/sqrt(Hz) and 120 ug/sqrt(Hz), with an uncalibrated bias.
CONSUMER_IMU = ImuSpec(
    name="consumer IMU",
    gyro=TriadSpec(noise_density=1.2e-4, bias=(0.004, -0.003, 0.002)),
    accel=TriadSpec(noise_density=1.2e-3, bias=(0.03, -0.02, 0.04)),
    mag=TriadSpec(noise_density=3e-8),
)


def demo(
    *,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", file_okay=False, help="Folder for demo.mcap and demo.png."),
    ] = Path(),
    seed: Annotated[int, typer.Option(help="Seed of the sensor noise.")] = 0,
    force: Force = False,
) -> Outcome:
    """Simulate a minute of motion and run the whole chain on it.

    An IMU with noise and bias is simulated on an analytic motion. Its messages pass through a
    topic to a filter; its samples are converted to PX4 increments and back. Everything is
    recorded, compared with the truth, and drawn.

    Examples
    --------
    strapdown demo

    strapdown demo --output demo --force

    strapdown demo --output runs/7 --seed 7 --json
    """
    recording_path, picture_path = output / "demo.mcap", output / "demo.png"
    for path in (recording_path, picture_path):
        refuse(path, force=force)
    output.mkdir(parents=True, exist_ok=True)

    with working("simulating a minute of motion"):
        simulated = simulate("wander", CONSUMER_IMU, DURATION_S, seed=seed)
        series, truth = simulated.samples.series(), cast("Trajectory", simulated.truth)
    with working("publishing, receiving and fusing message by message"):
        streamed = _through_topic(series)
    with working("integrating to VehicleImu and back"):
        increments, mean_rates = _through_vehicle_imu(series)
    with working("fusing the recording"):
        attitude = ErrorStateFilter().run(series).trajectory()
        from_increments = ErrorStateFilter().run(mean_rates).trajectory()
    estimates = {
        "IMU and magnetometer, whole recording": (attitude, Alignment.NONE),
        "IMU messages, one by one from the topic": (streamed, Alignment.HEADING),
        "IMU through VehicleImu and back": (from_increments, Alignment.HEADING),
    }
    rows = {
        name: evaluate_orientation(estimate, truth, align=align)
        for name, (estimate, align) in estimates.items()
    }
    recording = Recording(
        imu={"imu/data": series},
        increments={"fmu/out/vehicle_imu": increments},
        trajectories={"truth/pose": truth, "attitude": attitude},
    )
    with working("recording and drawing"):
        written = files.write(recording_path, recording, force=force)
        plots.save(plots.plot_estimate(series, attitude, truth), picture_path, force=force)
    data = {
        "recording": str(recording_path),
        "picture": str(picture_path),
        "messages": written.messages,
        "seed": seed,
        "estimates": [
            {"estimate": name, "orientation_error": row.to_dict()} for name, row in rows.items()
        ],
    }
    view: list[RenderableType] = [
        frames_of(attitude),
        _table(rows),
        f"wrote {recording_path}: {written.messages} messages",
        f"wrote {picture_path}: look at it, or run: strapdown info {recording_path}",
    ]
    return Outcome(data, view, written.lost)


def _through_topic(series: ImuSeries) -> Trajectory:
    """Publish every sample as an ``Imu`` message, and fuse the received messages."""
    orientation = ErrorStateFilter()
    stamps, attitudes = [], []
    with Topic(Imu, name="demo/imu") as publisher, Topic(Imu, name="demo/imu") as subscriber:
        for record in conversion.imu_from_series(series):
            publisher.send(Imu.from_record(record))
            message = subscriber.recv(timeout=1.0)
            if message is None:
                continue
            sample = ImuSample(
                message.timestamp_ns, message.angular_velocity, message.linear_acceleration
            )
            stamps.append(message.timestamp_ns)
            attitudes.append(orientation.update(sample))
    return Trajectory(np.array(stamps), np.array(attitudes))


def _through_vehicle_imu(series: ImuSeries) -> tuple[Increments, ImuSeries]:
    """Integrate to increments, convert to PX4 messages and back, and return mean rates."""
    frd = series.in_frames(body="FRD")
    increments, _ = increments_from_rates(frd, samples_per_increment=SAMPLES_PER_INCREMENT)
    wire = conversion.vehicle_imu_from_increments(increments).tobytes()
    received = conversion.increments_from_vehicle_imu(np.frombuffer(wire, VehicleImu.dtype))
    return received, conversion.series_from_increments(received).in_frames(body="FLU")


def _table(rows: dict[str, OrientationEvaluation]) -> Table:
    table = Table(
        "estimate from", "total", "heading", "inclination", "alignment", box=None, pad_edge=False
    )
    table.title = r"orientation error against truth \[deg RMS]"
    table.title_justify = "left"
    for name, row in rows.items():
        figures = (row.total_deg, row.heading_deg, row.inclination_deg)
        table.add_row(name, *(f"{figure:.3f}" for figure in figures), str(row.align))
    return table
