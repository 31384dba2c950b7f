"""``strapdown fuse``: attitude from a recording."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from strapdown.errors import UnknownNameError
from strapdown.estimation import FILTERS
from strapdown.evaluation import Alignment, OrientationEvaluation, evaluate_orientation
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
    with working(f"{filter_name} filter over {len(series)} samples"):
        result = FILTERS[filter_name]().run(series, use_magnetic_field=not no_mag)
    attitude = result.trajectory()
    product = Recording(trajectories={"attitude": attitude})
    written = files.write(output, product, force=force)
    error = _against_reference(recording, attitude, has_heading=result.uses_magnetic_field)
    data = _as_data(source, output, filter_name, attitude)
    view = [frames_of(attitude), f"wrote {output}: {len(attitude)} attitudes", str(result.report)]
    if error is not None:
        name, evaluation = error
        data["reference"] = name
        data["orientation_error"] = evaluation.to_dict()
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


def _against_reference(
    recording: Recording, estimate: Trajectory, *, has_heading: bool
) -> tuple[str, OrientationEvaluation] | None:
    """Compare with the reference of the recording, if it has one."""
    name = recording.reference_topic()
    if name is None:
        return None
    align = Alignment.NONE if has_heading else Alignment.HEADING
    return name, evaluate_orientation(estimate, recording.trajectories[name], align=align)
