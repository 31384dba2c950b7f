"""``strapdown navigate``: position, velocity and attitude from an IMU and a GNSS receiver."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import strapdown.formats as files
from strapdown import plots
from strapdown.cli._aiding import receiver_of, usage_of
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
    read_losses,
    working,
)
from strapdown.cli._latency import latencies_of, latency_lines
from strapdown.cli._outcome import Outcome
from strapdown.cli._params import ParamsFile, changed, changed_lines, configured, setting
from strapdown.cli._reading import aiding, open_imu
from strapdown.cli._starting import navigated
from strapdown.estimation.navigation import StrapdownNavigator
from strapdown.formats import Recording
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.estimation.navigation import NavigationResult
    from strapdown.evaluation import PositionEvaluation
    from strapdown.series import Trajectory

_TRACKS_ONLY = (".csv", ".tum")
"""Endings of formats that hold one trajectory, and no positions on the Earth."""


def _chosen(_arguments: Mapping[str, Any]) -> Callable[[], StrapdownNavigator]:
    """Return the navigator of the verb."""
    return StrapdownNavigator


def navigate(
    source: Input,
    *,
    gnss: Annotated[
        Path | None,
        typer.Option(
            "--gnss", help="File with the fixes, if the recording has none: .pos, NMEA, ..."
        ),
    ] = None,
    gnss_topic: Annotated[
        str | None,
        typer.Option(
            "--gnss-topic",
            help="The fixes to use if there are several: a receiver, or an odometry.",
        ),
    ] = None,
    lever_arm: Annotated[
        tuple[float, float, float] | None,
        typer.Option("--lever-arm", metavar="X Y Z", help="From the IMU to the antenna [m, FLU]."),
    ] = None,
    latency: Annotated[
        float | None,
        typer.Option("--latency", help="By how much the stamps of the fixes are late \\[s]."),
    ] = None,
    velocity_latency: Annotated[
        float | None,
        typer.Option(
            "--velocity-latency",
            help="The same for velocities \\[s]; by default that of the fixes.",
        ),
    ] = None,
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Use the samples and fixes after each instant too.")
    ] = False,
    settings: Annotated[list[str] | None, setting(_chosen)] = None,
    params: ParamsFile = None,
    topic: Topic = None,
    anyway: Anyway = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File of the track: .mcap, .csv, .tum, ..."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="A map: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Estimate position, velocity and attitude from an IMU and the fixes of a GNSS receiver.

    The world is east, north and up at the first fix. A barometer in the recording is used too. In
    a PX4 log, latency and lever arm are by default those of its parameters.

    Parameters are those of NavigatorParams.

    Examples
    --------
    strapdown navigate flight.ulg --output track.mcap --picture map.png

    strapdown navigate imu.csv --gnss rover.pos --lever-arm 0.1 0 0.3 --smooth --output track.csv

    strapdown navigate drive.bag --latency 0.11 --set accel_noise=0.02 --json
    """
    check_targets(output, picture, force=force, sources=[source])
    navigator = configured(_chosen({}), params, settings)
    with working(f"reading {source}"):
        recording = open_imu(source, topic, aiding)
        topic = covered(recording, topic, anyway=anyway)
        imu = measured(recording, topic, "angular_velocity", "specific_force", to="navigate")
        receiver = receiver_of(
            recording,
            imu,
            gnss,
            topic=gnss_topic,
            lever_arm=lever_arm,
            latency=latency,
            velocity_latency=velocity_latency,
        )
    view: list[Any] = [
        *notes_on(recording, topic),
        *receiver.notes,
        *doubts(imu),
        *changed_lines(navigator),
    ]
    origin = receiver.fixes.origin
    with working(f"navigating over {len(imu)} samples and {len(receiver.fixes)} fixes"):
        result, start = navigated(navigator.params, imu, receiver, smooth=smooth)
        late = latencies_of(navigator.params, imu, receiver)
    usage = usage_of(result)
    reference, error = _against(recording, result)
    track = result.trajectory().replace(name="navigation")
    sigma = _sigma(result)
    data: dict[str, Any] = {
        "input": str(source),
        "params": changed(navigator),
        "imu": topic,
        "gnss": receiver.topic,
        "fixes": len(receiver.fixes),
        "latency_s": receiver.latency,
        "velocity_latency_s": receiver.velocity_latency,
        "lever_arm_m": list(receiver.lever_arm),
        "aiding": usage.kinds,
        "latency_found": {kind: asdict(each) for kind, each in late.items()},
        "outages_s": [(end - begin) * 1e-9 for begin, end in usage.outages],
        "origin": dict(zip(("latitude", "longitude", "altitude"), _degrees(origin), strict=True)),
        "frames": {"world": str(track.world), "body": str(track.body)},
        "start": asdict(start),
        "end_sigma_m": sigma,
        "error": None if error is None else error.to_dict(),
        "output": None if output is None else str(output),
        "report": result.report.to_dict(),
    }
    latitude, longitude, altitude = _degrees(origin)
    view += [
        f"IMU {topic}: {len(imu)} samples; fixes {receiver.topic}: {len(receiver.fixes)}",
        f"origin {latitude:.7f} deg, {longitude:.7f} deg, {altitude:.3f} m",
        str(start),
        *usage.lines(),
        *latency_lines(late, receiver),
        *([] if error is None else [_in_words(error, reference)]),
        f"sigma of the position at the end {sigma:.3g} m",
        str(result.report),
    ]
    lost = [*read_losses(recording.report), *result.report.losses()]
    if output is not None:
        lost += files.write(output, _product(result, origin, output), force=force).lost
        view.append(f"wrote {output}: {len(track)} poses")
    if picture is not None:
        with working("drawing"):
            figure = plots.plot_navigation(
                result, receiver.fixes, origin, reference=reference, title=source.name
            )
            plots.save(figure, picture, force=force)
        view.append(f"wrote {picture}")
    return Outcome(data, view, lost)


def _product(
    result: NavigationResult, origin: tuple[float, float, float], output: Path
) -> Recording:
    """Return the track, and where the format can hold it the same as positions on the Earth."""
    from strapdown.series import GnssSeries  # noqa: PLC0415 (only output needs it)

    track = result.trajectory().replace(name="navigation")
    if output.suffix.lower() in _TRACKS_ONLY:
        return Recording(trajectories={"navigation": track})
    inside = result.in_frames(world="ENU")
    place = GnssSeries.from_local_enu(
        inside.t_ns,
        inside.position_world,
        origin,
        inside.covariance[:, :3, :3],
        velocity_world=inside.velocity_world,
        velocity_covariance=inside.covariance[:, 3:6, 3:6],
    )
    return Recording(trajectories={"navigation": track}, gnss={"navigation/fix": place})


def _against(
    recording: Recording, result: NavigationResult
) -> tuple[Trajectory | None, PositionEvaluation | None]:
    """Return the reference of a recording in the world of a result, and the error against it."""
    from strapdown.evaluation import evaluate_position  # noqa: PLC0415 (few recordings have one)
    from strapdown.formats.recording import REFERENCE_WORDS  # noqa: PLC0415 (as above)

    named = (
        track.in_frames(world="ENU").replace(name=topic)
        for topic, track in recording.trajectories.items()
        if track.position_world is not None
        and any(word in topic.lower() for word in REFERENCE_WORDS)
    )
    reference = next(named, None)
    if reference is None or reference.position_world is None:
        return None, None
    error = evaluate_position(result.trajectory(), reference, align="rigid2d")
    moved = quaternion.rotate(np.array(error.removed_rotation), reference.position_world)
    moved = moved + np.array(error.removed_translation)
    return reference.replace(position_world=moved), error


def _in_words(error: PositionEvaluation, reference: Trajectory | None) -> str:
    name = "the reference" if reference is None else reference.name
    turned = math.degrees(2.0 * math.asin(error.removed_rotation[2]))
    return (
        f"against {name}: {error.ate:.3g} m RMS, {error.ate_2d:.3g} m in the plane, at most "
        f"{error.error_max:.3g} m, after a shift and a turn by {turned:.2f} deg"
    )


def _degrees(origin: tuple[float, float, float]) -> tuple[float, float, float]:
    return math.degrees(origin[0]), math.degrees(origin[1]), origin[2]


def _sigma(result: NavigationResult) -> float:
    """Return the standard deviation of the last position [m]; infinite if it is lost to rounding.

    A navigator that diverges has a covariance beyond 1e16 times that of its aiding.
    """
    variance = float(np.trace(result.pose_covariance()[-1, :3, :3]))
    return math.sqrt(variance) if variance >= 0.0 else math.inf
