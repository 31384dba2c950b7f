"""``strapdown evaluate``: an estimate against a reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import strapdown.formats as files
from strapdown.cli._common import read_losses, working
from strapdown.cli._outcome import Outcome
from strapdown.evaluation import Alignment, evaluate_orientation

if TYPE_CHECKING:
    from strapdown.evaluation import OrientationEvaluation


def evaluate(
    estimate: Annotated[Path, typer.Argument(help="A recording that holds the estimate.")],
    reference: Annotated[Path, typer.Argument(help="A recording that holds the truth.")],
    *,
    align: Annotated[
        Alignment, typer.Option(help="What is removed before errors are taken.")
    ] = Alignment.NONE,
    estimate_topic: Annotated[str | None, typer.Option(help="Track of the estimate.")] = None,
    reference_topic: Annotated[str | None, typer.Option(help="Track of the reference.")] = None,
) -> Outcome:
    """Print the orientation error of ESTIMATE against REFERENCE, in degrees RMS.

    Total, heading (about the vertical) and inclination, as the BROAD benchmark defines them.

    Examples
    --------
    strapdown evaluate attitude.tum truth.csv

    strapdown evaluate attitude.mcap demo.mcap --json

    strapdown evaluate attitude.csv flight.ulg --reference-topic vehicle_attitude --align heading
    """
    with working("reading"):
        recordings = [files.open(path, on_error="salvage") for path in (estimate, reference)]
    track = recordings[0].trajectory(estimate_topic)
    truth = recordings[1].trajectory(reference_topic or recordings[1].reference_topic())
    evaluation = evaluate_orientation(track, truth, align=align)
    data = {
        "estimate": str(estimate),
        "reference": str(reference),
        "orientation_error": evaluation.to_dict(),
    }
    lost = [line for recording in recordings for line in read_losses(recording.report)]
    return Outcome(data, [error_line(evaluation)], lost)


def error_line(evaluation: OrientationEvaluation) -> str:
    """Return the errors as one line for a person."""
    left_out = "".join(f", {count} {why}" for why, count in evaluation.excluded.items())
    return (
        f"total {evaluation.total_deg:.3f} deg, heading {evaluation.heading_deg:.3f} deg, "
        f"inclination {evaluation.inclination_deg:.3f} deg RMS over {evaluation.samples} samples"
        f"{left_out} (alignment: {evaluation.align})"
    )
