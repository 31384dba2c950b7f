"""``strapdown fuse``: attitude from a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import strapdown.formats as files
from strapdown.cli._common import (
    Force,
    Input,
    Output,
    Topic,
    frames_of,
    read_losses,
    working,
)
from strapdown.cli._outcome import Outcome
from strapdown.cli.evaluate import error_line
from strapdown.errors import FormatError, UnknownNameError, ValueRangeError
from strapdown.estimation import FILTERS
from strapdown.evaluation import Alignment, evaluate_orientation
from strapdown.formats import Recording
from strapdown.series import Trajectory


def fuse(
    source: Input,
    *,
    filter_name: Annotated[
        str, typer.Option("--filter", help=f"One of: {', '.join(FILTERS)}.")
    ] = "complementary",
    output: Output,
    no_mag: Annotated[
        bool, typer.Option("--no-mag", help="Leave the magnetometer out: heading is relative.")
    ] = False,
    topic: Topic = None,
    force: Force = False,
) -> Outcome:
    """Estimate attitude from a recording and write it as .csv, .tum or .mcap.

    Where the recording also holds a reference (a truth, an autopilot's own attitude), the
    difference is printed. Without a magnetometer the reference is first turned to the
    heading of the estimate over the first second.

    Examples
    --------
    strapdown fuse flight.ulg --filter complementary --output attitude.mcap

    strapdown fuse demo.mcap --no-mag --output attitude.tum

    strapdown fuse walk.csv --filter complementary --output attitude.csv --json
    """
    if filter_name not in FILTERS:
        raise UnknownNameError("filter", filter_name, FILTERS)
    with working(f"reading {source}"):
        recording = files.open(source, on_error="salvage")
    series = recording.imu_series(topic)
    if len(series) and not np.isfinite(series.angular_velocity).any():
        raise FormatError("expected angular velocity to fuse, the IMU has none", path=source)
    with working(f"{filter_name} filter over {len(series)} samples"):
        result = FILTERS[filter_name]().run(series, use_magnetic_field=not no_mag)
    attitude = result.trajectory()
    product = Recording(trajectories={"attitude": attitude})
    written = files.write(output, product, force=force)
    data = _as_data(source, output, filter_name, attitude)
    view = [
        *recording.report.notes,
        frames_of(attitude),
        f"wrote {output}: {len(attitude)} attitudes",
        str(result.report),
    ]
    if (name := recording.reference_topic()) is not None:
        align = Alignment.NONE if result.uses_magnetic_field else Alignment.HEADING
        try:
            evaluation = evaluate_orientation(attitude, recording.trajectory(name), align=align)
        except ValueRangeError as error:
            view.append(f"not compared with {name}: {error}")
        else:
            data |= {"reference": name, "orientation_error": evaluation.to_dict()}
            view.append(f"against {name}: {error_line(evaluation)}")
    lost = [*read_losses(recording.report), *result.report.losses(), *written.lost]
    return Outcome(data | {"report": result.report.to_dict()}, view, lost)


def _as_data(source: Path, output: Path, name: str, attitude: Trajectory) -> dict[str, Any]:
    return {
        "input": str(source),
        "output": str(output),
        "filter": name,
        "attitudes": len(attitude),
        "frames": {"world": str(attitude.world), "body": str(attitude.body)},
    }
