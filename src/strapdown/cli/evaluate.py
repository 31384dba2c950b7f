"""``strapdown evaluate``: errors of an estimate against a reference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from strapdown.cli._common import read_losses, working
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import open_track
from strapdown.errors import ValueRangeError
from strapdown.evaluation import (
    Alignment,
    PositionAlignment,
    evaluate_orientation,
    evaluate_position,
    relative_pose_error,
)

if TYPE_CHECKING:
    from strapdown.evaluation import OrientationEvaluation, PositionEvaluation, RelativePoseError
    from strapdown.series import Trajectory


def evaluate(
    estimate: Annotated[Path, typer.Argument(help="A recording with the estimate.")],
    reference: Annotated[Path, typer.Argument(help="A recording with the reference.")],
    *,
    align: Annotated[
        Alignment, typer.Option(help="Rotation removed before attitudes are compared.")
    ] = Alignment.NONE,
    align_position: Annotated[
        PositionAlignment,
        typer.Option(help="Transformation removed before positions are compared."),
    ] = PositionAlignment.NONE,
    rpe_s: Annotated[
        float, typer.Option(help="Time over which relative errors are taken \\[s].")
    ] = 1.0,
    rpe_m: Annotated[
        float | None, typer.Option(help="Distance along the reference instead \\[m].")
    ] = None,
    estimate_topic: Annotated[str | None, typer.Option(help="Topic of the estimate.")] = None,
    reference_topic: Annotated[str | None, typer.Option(help="Topic of the reference.")] = None,
) -> Outcome:
    """Print the errors of ESTIMATE against REFERENCE: attitude, and position if both hold it.

    Attitude: total, heading (about the vertical) and inclination in degrees RMS, as the BROAD
    benchmark defines them. Position: absolute trajectory error, drift over the distance, and
    the relative error over a time or a distance.

    Examples
    --------
    strapdown evaluate attitude.tum truth.csv

    strapdown evaluate attitude.mcap demo.mcap --json

    strapdown evaluate attitude.csv flight.ulg --reference-topic vehicle_attitude --align heading

    strapdown evaluate walk.tum truth.tum --align-position rigid2d --rpe-m 10
    """
    with working("reading"):
        recordings = [
            open_track(estimate, estimate_topic),
            open_track(reference, reference_topic, is_reference=True),
        ]
    names = (
        recordings[0].track_topic(estimate_topic),
        recordings[1].track_topic(reference_topic or recordings[1].reference_topic()),
    )
    track, truth = (each.trajectory(name) for each, name in zip(recordings, names, strict=True))
    data: dict[str, Any] = {"estimate": str(estimate), "reference": str(reference)}
    data |= {"estimate_topic": names[0], "reference_topic": names[1]}
    view = [f"topic {names[0]} of {estimate}, compared with {names[1]} of {reference}"]
    placed = track.position_world is not None and truth.position_world is not None
    turned = not placed or (_knows_attitude(track) and _knows_attitude(truth))
    if turned:
        orientation = evaluate_orientation(track, truth, align=align)
        data["orientation_error"] = orientation.to_dict()
        view.append(error_line(orientation))
    if placed:
        position = evaluate_position(track, truth, align=align_position)
        data["position_error"] = position.to_dict()
        view.append(position_line(position))
    if turned and placed:
        over_s = rpe_s if rpe_m is None else None
        try:
            relative = relative_pose_error(track, truth, over_s=over_s, over_m=rpe_m)
        except ValueRangeError as error:
            view.append(f"no relative error: {error}")
        else:
            data["relative_pose_error"] = relative.to_dict()
            view.append(relative_line(relative))
    lost = [line for recording in recordings for line in read_losses(recording.report)]
    return Outcome(data, view, lost)


def error_line(evaluation: OrientationEvaluation) -> str:
    """Return the errors of attitude as one line."""
    return (
        f"total {evaluation.total_deg:.3f} deg, heading {evaluation.heading_deg:.3f} deg, "
        f"inclination {evaluation.inclination_deg:.3f} deg RMS over {_rows(evaluation)}"
    )


def position_line(evaluation: PositionEvaluation) -> str:
    """Return the errors of position as one line."""
    return (
        f"position {evaluation.ate:.3f} m, horizontal {evaluation.ate_2d:.3f} m, "
        f"vertical {evaluation.ate_vertical:.3f} m RMS, closing error "
        f"{evaluation.closing_error:.3f} m ({evaluation.drift_percent:.2f} % of "
        f"{evaluation.distance:.1f} m) over {_rows(evaluation)}"
    )


def relative_line(error: RelativePoseError) -> str:
    """Return the relative errors as one line."""
    length = f"{error.over_s:g} s" if error.over_m is None else f"{error.over_m:g} m"
    return (
        f"over {length}: {error.translation:.3f} m ({error.drift_percent:.2f} % of the distance), "
        f"{error.rotation_deg:.3f} deg RMS over {error.pairs} segments"
    )


def _rows(evaluation: OrientationEvaluation | PositionEvaluation) -> str:
    left_out = "".join(f", {count} {why}" for why, count in evaluation.excluded.items())
    return f"{evaluation.samples} samples{left_out} (alignment: {evaluation.align})"


def _knows_attitude(track: Trajectory) -> bool:
    return bool(np.isfinite(track.q_world_from_body).all(axis=1).any())
