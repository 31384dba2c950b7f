"""``strapdown joint``: angles of a joint from two sensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strapdown import plots
from strapdown.cli._common import (
    Force,
    Topic,
    check_targets,
    doubts,
    measured,
    notes_on,
    read_losses,
    working,
)
from strapdown.cli._completion import completed
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import open_imu
from strapdown.formats._output import check_ending
from strapdown.joints import JOINTS, JointKind, Side, estimate_joint, save_angles
from strapdown.samples import SampleKind

if TYPE_CHECKING:
    from strapdown.series import ImuSeries

__all__ = ["joint"]


def joint(
    first: Annotated[
        Path, typer.Argument(help="Recording of the sensor nearer to the trunk, by content.")
    ],
    second: Annotated[
        Path, typer.Argument(help="Recording of the other sensor; may be the same file.")
    ],
    *,
    kind: Annotated[
        JointKind, typer.Option("--kind", help="One axis, two axes, or three.")
    ] = JointKind.HINGE,
    name: Annotated[
        str | None,
        typer.Option(
            "--joint",
            help=f"For names and signs of the angles by the ISB: {', '.join(JOINTS)}.",
            autocompletion=completed(JOINTS),
        ),
    ] = None,
    side: Annotated[Side, typer.Option("--side", help="Side of the body.")] = Side.RIGHT,
    neutral: Annotated[
        float | None,
        typer.Option(
            "--neutral",
            min=0.1,
            help="Length of the neutral pose at the beginning, with zero angles \\[s].",
        ),
    ] = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", help="Reverse the direction of the first axis.")
    ] = False,
    points: Annotated[
        bool,
        typer.Option("--points", help="Samples are values at their stamps, instead of means."),
    ] = False,
    topic: Topic = None,
    second_topic: Annotated[
        str | None, typer.Option("--second-topic", help="The topic of the second sensor.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File of angles and relative orientation: .csv."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="A figure: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Estimate the angles of a joint from a sensor on each of its two segments.

    No magnetometer is used: the joint itself shows the heading between the sensors, its axes and
    its centre. Sensors may be mounted in any orientation. Without --neutral, angles are zero in
    the mean pose.

    Exit code 3: there are findings, such as an axis that the motion does not determine.

    Examples
    --------
    strapdown joint thigh.mcap shank.mcap --kind hinge --output angles.csv

    strapdown joint thigh.mcap shank.mcap --joint knee --side left --neutral 5 --picture knee.png

    strapdown joint arm.csv forearm.csv --kind saddle --joint elbow --json

    strapdown joint leg.mcap leg.mcap --topic imu/pelvis --second-topic imu/thigh --kind ball
    """
    if first == second and (topic is None or second_topic is None):
        raise typer.BadParameter(
            "expected --topic and --second-topic for two sensors of one file",
            param_hint="'--second-topic'",
        )
    check_targets(output, picture, force=force, recording=False, sources=[first, second])
    if output is not None:
        check_ending(output, (".csv",))
    view: list[Any] = []
    lost: list[str] = []
    one = _sensor(first, topic, view, lost)
    two = _sensor(second, second_topic, view, lost)
    with working(f"estimating the joint from {len(one)} and {len(two)} samples"):
        result = estimate_joint(
            one,
            two,
            kind,
            joint=name,
            side=side,
            neutral_s=neutral,
            reverse=reverse,
            sample_kind=SampleKind.POINT if points else SampleKind.MEAN,
        )
    view += result.lines()
    data = {"first": str(first), "second": str(second), **result.to_dict()}
    for report in result.reports:
        lost += report.losses()
    if output is not None:
        save_angles(result, output, force=force)
        view.append(f"wrote {output}: {len(result)} rows")
        data["output"] = str(output)
    if picture is not None:
        with working("drawing"):
            figure = plots.plot_joint(result, title=f"{first.name} and {second.name}")
            plots.save(figure, picture, force=force)
        view.append(f"wrote {picture}")
    return Outcome(data, view, lost, found=len(result.warnings))


def _sensor(source: Path, topic: str | None, view: list[Any], lost: list[str]) -> ImuSeries:
    """Return a sensor of a recording; add notes and losses to the lists."""
    with working(f"reading {source}"):
        recording = open_imu(source, topic)
    series = measured(recording, topic, "angular_velocity", "specific_force", to="estimate a joint")
    view += [*notes_on(recording, topic), *doubts(series)]
    lost += read_losses(recording.report)
    return series
