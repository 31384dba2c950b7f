"""``strapdown odometry``: position by dead reckoning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import strapdown.formats as files
from strapdown import plots
from strapdown.cli._common import (
    Anyway,
    Force,
    Input,
    Topic,
    check_targets,
    covered,
    doubts,
    measured,
    notes_on,
    progress_bar,
    read_losses,
    taken,
    working,
)
from strapdown.cli._outcome import Outcome
from strapdown.cli._params import ParamsFile, changed, changed_lines, configured, setting
from strapdown.cli._reading import open_imu
from strapdown.estimation.foot import FootNavigator
from strapdown.estimation.navigation import StrapdownNavigator
from strapdown.evaluation import closing_error
from strapdown.formats import Recording

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.estimation.foot import FootResult
    from strapdown.estimation.navigation import NavigationResult
    from strapdown.series import ImuSeries


def _chosen(arguments: Mapping[str, Any]) -> Callable[[], FootNavigator | StrapdownNavigator]:
    """Return the navigator that the arguments of the verb select."""
    return FootNavigator if arguments.get("foot") else StrapdownNavigator


def odometry(
    source: Input,
    *,
    foot: Annotated[
        bool,
        typer.Option("--foot", help="Worn on a foot: each stance bounds the drift."),
    ] = False,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="With --foot: use the samples after each instant too.")
    ] = False,
    settings: Annotated[list[str] | None, setting(_chosen)] = None,
    params: ParamsFile = None,
    topic: Topic = None,
    anyway: Anyway = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File of the track: .csv, .tum, ..."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="A figure: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Estimate attitude, velocity and position from angular velocity and specific force.

    The recording must begin at rest, at the origin. On a foot the drift is a few percent of the
    distance; elsewhere position is lost within seconds, and the printed sigma states by how much.

    Parameters are those of NavigatorParams, or with --foot of FootParams.

    Examples
    --------
    strapdown odometry walk.csv --foot --output track.csv

    strapdown odometry walk.csv --foot --smooth --output track.mcap --picture track.png

    strapdown odometry walks/*.csv --foot --output results/ --workers 2

    strapdown odometry walk.csv --foot --set contact_height=0.05 --output track.csv

    strapdown odometry flight.ulg --output dead_reckoning.mcap --json
    """
    if smooth and not foot:
        raise typer.BadParameter("expected --foot with --smooth", param_hint="'--smooth'")
    check_targets(output, picture, force=force, sources=[source])
    navigator = configured(_chosen({"foot": foot}), params, settings)
    with working(f"reading {source}"):
        recording = open_imu(source, topic)
    name = covered(recording, topic, anyway=anyway)
    series = measured(recording, name, "angular_velocity", "specific_force", to="navigate")
    view: list[Any] = [*notes_on(recording, topic), *doubts(series), *changed_lines(navigator)]
    data: dict[str, Any] = {"input": str(source), **taken(recording, topic)}
    data["params"] = changed(navigator)
    result: NavigationResult
    if isinstance(navigator, FootNavigator):
        result = walked = _walked(navigator, series, smooth=smooth)
        data["gait"] = _gait(walked)
        view.append(str(walked.gait()))
    else:
        with working(f"navigating over {len(series)} samples"):
            result = navigator.run(series)
    track = result.trajectory()
    whole, plane = closing_error(track)
    sigma = _sigma(result)
    data |= {
        "output": None if output is None else str(output),
        "frames": {"world": str(track.world), "body": str(track.body)},
        "end_to_start_m": whole,
        "end_to_start_plane_m": plane,
        "end_sigma_m": sigma,
        "report": result.report.to_dict(),
    }
    ends = f"from start to end: {plane:.3f} m in the plane, {whole:.3f} m in space"
    ends += f"; sigma at the end {sigma:.3g} m"
    view += [ends, str(result.report)]
    lost = [*read_losses(recording.report), *result.report.losses()]
    if output is not None:
        product = Recording(trajectories={"odometry": track})
        lost += files.write(output, product, force=force).lost
        view.append(f"wrote {output}: {len(track)} poses")
    if picture is not None:
        with working("drawing"):
            figure = plots.plot_odometry(track, heading_is_relative=True, title=source.name)
            plots.save(figure, picture, force=force)
        view.append(f"wrote {picture}")
    return Outcome(data, view, lost, brief=ends)


def _walked(navigator: FootNavigator, series: ImuSeries, *, smooth: bool) -> FootResult:
    with progress_bar(f"walking over {len(series)} samples") as progress:
        return navigator.run(series, smooth=smooth, progress=progress)


def _gait(walked: FootResult) -> dict[str, Any]:
    """Return the strides for JSON."""
    gait = walked.gait()
    columns = ("stride_length", "duration", "clearance", "cadence", "height_change")
    medians = {
        name: float(np.median(getattr(gait, name))) if len(gait) else None for name in columns
    }
    return {"strides": len(gait), "distance_m": gait.distance, "median": medians}


def _sigma(result: NavigationResult) -> float:
    """Return the standard deviation of the last position [m]."""
    return float(np.sqrt(np.trace(result.pose_covariance()[-1, :3, :3])))
