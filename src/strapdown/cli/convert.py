"""``strapdown convert``: one format into another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import strapdown.formats as files
from strapdown.cli._common import Force, Input, Topic, read_losses, working
from strapdown.cli._outcome import Outcome


def convert(
    source: Input,
    target: Annotated[Path, typer.Argument(help="The file to write: .mcap, .csv or .tum.")],
    *,
    topic: Topic = None,
    force: Force = False,
) -> Outcome:
    """Convert a recording; the ending of TARGET names the format.

    Frames are converted where a format fixes them (ROS messages: ENU from FLU). Samples that
    the target cannot hold are named, with exit code 3; covariances and names of sensors that
    find no place are noted.

    Examples
    --------
    strapdown convert flight.ulg flight.mcap

    strapdown convert demo.mcap imu.csv --topic imu/data

    strapdown convert attitude.csv attitude.tum --force
    """
    if target.exists() and target.samefile(source):
        raise typer.BadParameter(f"{target} is the input; write to another file")
    with working(f"reading {source}"):
        recording = files.open(source, on_error="salvage")
    if topic is not None:
        recording = recording.only(topic)
    with working(f"writing {target}"):
        written = files.write(target, recording, force=force)
    data = {
        "input": str(source),
        "output": str(target),
        "messages": written.messages,
    }
    data["notes"] = list(written.notes)
    lost = [*read_losses(recording.report), *written.lost]
    return Outcome(data, [f"wrote {target}: {written.messages} messages", *written.notes], lost)
