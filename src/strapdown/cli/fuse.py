"""``strapdown fuse``: attitude from a recording, or live."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, cast

import typer

import strapdown.formats as files
from strapdown import plots
from strapdown.cli._common import (
    Anyway,
    Force,
    Topic,
    check_targets,
    covered,
    doubts,
    frames_of,
    measured,
    notes_on,
    progress_bar,
    read_losses,
    taken,
    working,
)
from strapdown.cli._compare import aligned, compare, usable_reference
from strapdown.cli._completion import completed
from strapdown.cli._declination import (
    DeclinationOption,
    Source,
    about_heading,
    headings,
    parse_declination,
    to_north,
)
from strapdown.cli._fuse_blocks import LongRun, as_data
from strapdown.cli._outcome import EXIT_OK, Outcome, say
from strapdown.cli._params import ParamsFile, changed, changed_lines, configured, setting
from strapdown.cli._reading import open_imu, references, refuse_reading
from strapdown.cli.evaluate import error_line
from strapdown.errors import PeerLostError, UnknownNameError, ValueRangeError
from strapdown.estimation import FILTERS, SMOOTHERS
from strapdown.evaluation import Alignment, evaluate_orientation
from strapdown.formats import Recording
from strapdown.geometry.frames import BodyFrame, WorldFrame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown.estimation import OrientationFilter, OrientationResult, OrientationSmoother
    from strapdown.estimation.filter import RecursiveFilter
    from strapdown.series import ImuSeries, Trajectory

    Estimator: TypeAlias = OrientationFilter | OrientationSmoother[Any]

DEFAULT = "eskf"


def _chosen(arguments: Mapping[str, Any]) -> Callable[[], Estimator]:
    """Return the filter or smoother that the arguments of the verb select."""
    name = arguments.get("filter_name") or DEFAULT
    return SMOOTHERS[name] if arguments.get("smooth") else FILTERS[name]


def fuse(
    source: Annotated[
        Path | None,
        typer.Argument(
            help="A recording, - for standard input, or a live topic such as ipc:imu; none with "
            "--live."
        ),
    ] = None,
    *,
    filter_name: Annotated[
        str,
        typer.Option(
            "--filter",
            help=f"One of: {', '.join(FILTERS)}.",
            autocompletion=completed(FILTERS),
        ),
    ] = DEFAULT,
    smooth: Annotated[
        bool,
        typer.Option(
            "--smooth", help=f"Use the samples after each instant too: {', '.join(SMOOTHERS)}."
        ),
    ] = False,
    compare_all: Annotated[
        bool,
        typer.Option(
            "--compare", help="Run every filter and smoother, and print a table of errors."
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File of the attitude: .csv, .tum, ...; of a live topic also another topic.",
        ),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="A figure: .png, .svg or .pdf.")
    ] = None,
    no_mag: Annotated[
        bool,
        typer.Option(
            "--no-mag", help="Do not use the magnetometer: heading is relative to the start."
        ),
    ] = False,
    declination: DeclinationOption = None,
    align: Annotated[
        Alignment | None, typer.Option(help="Rotation removed before a reference is compared.")
    ] = None,
    settings: Annotated[list[str] | None, setting(_chosen)] = None,
    params: ParamsFile = None,
    topic: Topic = None,
    anyway: Anyway = False,
    live: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="Receive MAVLink IMU messages here, by UDP."),
    ] = None,
    magnetometer: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Of a live topic: topic of the magnetometer of that IMU, such as ipc:mag.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="[HOST:]PORT", help="With --live: send ATTITUDE_QUATERNION there."),
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Live: seconds; by default until Ctrl-C.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Estimate attitude from a recording or live, and write it.

    If the recording also holds a reference (a truth, an autopilot's attitude), the errors are
    printed. Without a magnetometer the reference is first turned to the heading of the
    estimate over the first second. --compare runs every estimator; without a reference it
    shows the difference of each from the best smoother.

    Heading refers to magnetic north, with --declination to true north, without a magnetometer
    to the start. Attitudes before the first magnetic field are written as NaN; with --smooth
    they are known.

    Parameters are those of the class of the estimator, such as ErrorStateParams; those of a
    smoother have other names than those of its filter.

    A live topic is fused until Ctrl-C; every second a line states rate, roll, pitch, yaw (from
    the start) and their standard deviations. With --magnetometer yaw refers to magnetic north from
    the first magnetic field on; a field joins the nearest message that is not answered yet, within
    20 ms. With --live the samples are those in HIGHRES_IMU or
    HIL_SENSOR of the first sender heard.

    Examples
    --------
    strapdown fuse flight.ulg --output attitude.mcap

    strapdown fuse demo.mcap --smooth --output attitude.tum --picture attitude.png

    strapdown fuse logs/*.ulg --output results/ --workers 2

    strapdown fuse demo.mcap --compare --picture filters.png

    strapdown fuse flight.ulg --declination auto --output attitude.csv

    strapdown fuse walk.csv --filter vqf --no-mag --output attitude.csv --json

    strapdown fuse walk.csv --set gyro_noise=0.004 --set speed_sigma=2 --output attitude.csv

    strapdown fuse ipc:imu --duration 60 --output ipc:attitude

    strapdown fuse ros2:/imu/data --magnetometer ros2:/imu/mag --output attitude.mcap

    strapdown fuse --live 127.0.0.1:14550 --to 127.0.0.1:14560 --output attitude.mcap
    """
    _check_name(filter_name, smooth=smooth)
    if source is not None and _is_live(source):
        _alone(
            "SOURCE",
            smooth=smooth,
            compare=compare_all,
            picture=picture,
            align=align,
            topic=topic,
            anyway=anyway,
            declination=declination,
            live=live,
            to=to,
            **{"no-mag": no_mag and magnetometer is not None},
        )
        return _live_topic(
            source,
            filter_name,
            configured(FILTERS[filter_name], params, settings),
            output,
            magnetometer=magnetometer,
            duration=duration,
            force=force,
        )
    if live is not None and source is None:
        _alone(
            "--live",
            smooth=smooth,
            compare=compare_all,
            picture=picture,
            align=align,
            topic=topic,
            anyway=anyway,
            declination=declination,
            magnetometer=magnetometer,
        )
        refuse_reading()
        check_targets(output, None, force=force)
        orientation = configured(FILTERS[filter_name], params, settings)
        options = {"no_mag": no_mag, "force": force}
        return _live(filter_name, orientation, live, to, duration, output=output, **options)
    if source is None or live is not None:
        raise typer.BadParameter("expected either a recording or --live", param_hint="'SOURCE'")
    _alone("SOURCE", to=to, duration=duration, magnetometer=magnetometer)
    declined = parse_declination(declination, no_mag=no_mag)
    if not (output or picture or compare_all):
        raise typer.BadParameter(
            "expected --output, --picture or --compare", param_hint="'--output'"
        )
    if compare_all:
        _alone("--compare", output=output, smooth=smooth, set=settings or None, params=params)
    check_targets(output, picture, force=force, sources=[source])
    chosen = _chosen({"filter_name": filter_name, "smooth": smooth})
    estimator = configured(chosen, params, settings)
    run = LongRun(source, estimator, filter_name, output, declined, no_mag, align, anyway, force)
    needs_whole = smooth or compare_all or picture is not None or declination == "auto"
    if (long := run.outcome(topic, needs_whole=needs_whole)) is not None:
        return long
    with working(f"reading {source}"):
        recording = open_imu(source, topic, references)
    imu_topic = covered(recording, topic, anyway=anyway)
    series = measured(recording, imu_topic, "angular_velocity", to="fuse")
    if compare_all:
        return _compared(
            recording, series, topic, picture, align,
            no_mag=no_mag, declined=declined, force=force,
        )  # fmt: skip
    name = f"{filter_name} smoothed" if smooth else filter_name
    north = declined(recording, series)
    result = to_north(_estimated(series, estimator, name, no_mag=no_mag), north)
    attitude = result.trajectory()
    data = {"input": str(source), **taken(recording, topic)}
    data |= as_data(name, estimator, output, attitude) | about_heading(result)
    view = [*notes_on(recording, topic), *doubts(series), *changed_lines(estimator)]
    view += [f"{frames_of(attitude)}, {headings(result, north)}", str(result.report)]
    lost = [*read_losses(recording.report), *result.report.losses()]
    if output is not None:
        product = Recording(trajectories={"attitude": attitude})
        lost += files.write(output, product, force=force).lost
        view.append(f"wrote {output}: {len(attitude)} attitudes")
    name_of_reference, why_not = usable_reference(recording, series, align)
    added, line, reference = _against_reference(recording, name_of_reference, result, align)
    if picture is not None:
        figure = plots.plot_track(
            attitude,
            reference=reference,
            heading_is_relative=not result.uses_magnetic_field,
            title=f"{source}: {name}",
        )
        plots.save(figure, picture, force=force)
        view.append(f"wrote {picture}")
    brief = "; ".join([*line, view[-1]] if line else view[-1:])
    return Outcome(
        data | added | {"report": result.report.to_dict()},
        [*view, *why_not, *line],
        lost,
        brief=brief,
    )


def _is_live(path: Path) -> bool:
    """Return whether this is the address of a live topic."""
    from strapdown.transport.address import is_address  # noqa: PLC0415 (loads all messages)

    return is_address(str(path))


def _check_name(name: str, *, smooth: bool) -> None:
    """Raise unless there is such a filter, or smoother."""
    if name not in FILTERS:
        raise UnknownNameError("filter", name, FILTERS)
    if smooth and name not in SMOOTHERS:
        raise UnknownNameError("smoother for the filter", name, SMOOTHERS)


def _alone(option: str, **others: object) -> None:
    """Raise if an option is given with others that it would ignore."""
    if names := [f"--{name}" for name, value in others.items() if value not in (None, False)]:
        raise typer.BadParameter(f"does not go with {', '.join(names)}", param_hint=f"'{option}'")


def _estimated(
    series: ImuSeries, estimator: Estimator, name: str, *, no_mag: bool
) -> OrientationResult:
    """Return the orientation by a filter or a smoother."""
    from strapdown.estimation import OrientationSmoother  # noqa: PLC0415 (loads the estimators)

    if isinstance(estimator, OrientationSmoother):
        with progress_bar(f"{name} over {len(series)} samples") as progress:
            return estimator.run(series, use_magnetic_field=not no_mag, progress=progress)
    with working(f"{name} filter over {len(series)} samples"):
        return estimator.run(series, use_magnetic_field=not no_mag)


def _against_reference(
    recording: Recording, name: str | None, result: OrientationResult, align: Alignment | None
) -> tuple[dict[str, Any], list[str], Trajectory | None]:
    """Return the errors against the reference of a recording, and the reference as aligned."""
    if name is None:
        return {}, [], None
    align = align or (Alignment.NONE if result.uses_magnetic_field else Alignment.HEADING)
    reference = recording.trajectory(name)
    try:
        found = evaluate_orientation(result.trajectory(), reference, align=align)
    except ValueRangeError as error:
        return {}, [f"not compared with {name}: {error}"], None
    data = {"reference": name, "orientation_error": found.to_dict()}
    drawn = aligned(reference, found).in_frames(world=result.world, body=result.body)
    return data, [f"against {name}: {error_line(found)}"], drawn


def _compared(
    recording: Recording,
    series: ImuSeries,
    imu_topic: str | None,
    picture: Path | None,
    align: Alignment | None,
    *,
    no_mag: bool,
    declined: Source,
    force: bool,
) -> Outcome:
    """Run every estimator and compare them."""
    topic, why_not = usable_reference(recording, series, align)
    north = declined(recording, series)
    found = compare(series, recording, topic, with_field=not no_mag, align=align, north=north)
    view: list[Any] = [*notes_on(recording, imu_topic), *doubts(series), *why_not]
    view += [f"attitudes: {headings(found.rows[0].result, north)}", found.table()]
    if picture is not None:
        with working("drawing"):
            plots.save(found.figure(recording.path.name), picture, force=force)
        view.append(f"wrote {picture}")
    data = {
        "input": str(recording.path),
        **taken(recording, imu_topic),
        "reference": found.against,
        "estimators": [row.to_dict() for row in found.rows],
    }
    best = min(found.rows, key=lambda row: row.errors.total)
    lost = [*read_losses(recording.report), *best.result.report.losses()]
    brief = f"best: {best.name}, {best.errors.total_deg:.3f} deg against {found.against}"
    return Outcome(data, view, lost, brief=brief)


def _live_topic(
    source: Path,
    name: str,
    orientation: OrientationFilter,
    output: Path | None,
    *,
    magnetometer: str | None,
    duration: float | None,
    force: bool,
) -> Outcome:
    """Fuse the messages of a live topic."""
    from strapdown.cli._fuse_live import fuse_live_topic  # noqa: PLC0415 (only live)

    refuse_reading()
    if output is not None and not _is_live(output):
        check_targets(output, None, force=force)
    recursive = cast("RecursiveFilter[Any]", orientation)
    done = fuse_live_topic(
        str(source),
        recursive,
        magnetometer=magnetometer,
        output=output,
        duration=duration,
        force=force,
    )
    data = {"input": str(source), "filter": name, "params": changed(orientation), **done.data}
    frames = {"world": str(WorldFrame.ENU), "body": str(BodyFrame.FLU)}
    attitude = f"attitude: q_world_from_body, xyzw, {frames['world']} from {frames['body']}"
    return replace(done, data={**data, "frames": frames}, view=[attitude, *done.view])


def _live(
    name: str,
    orientation: OrientationFilter,
    listen: str,
    to: str | None,
    duration: float | None,
    *,
    output: Path | None,
    no_mag: bool,
    force: bool,
) -> Outcome:
    """Fuse the messages of a sender until the time limit or a signal."""
    from strapdown.bridges.mavlink import MavlinkLink, fuse_link  # noqa: PLC0415 (an extra)
    from strapdown.webots.run.runner import ended_by_signals  # noqa: PLC0415 (only live)

    stop, heard = Event(), Recording()
    until = math.inf if duration is None else time.monotonic() + duration
    with MavlinkLink(listen=listen) as inward, ended_by_signals(stop.set) as signals:
        host, port = inward.address
        say(f"listening at {host}:{port}")
        outward = None if to is None else MavlinkLink(to=to)
        try:
            attitude = fuse_link(
                inward,
                outward,
                orientation,
                goes_on=lambda: not stop.is_set() and time.monotonic() < until,
                use_magnetic_field=not no_mag,
            )
        finally:
            if outward is not None:
                outward.close()
        lost = [*inward.decoder.losses(), *orientation.report.losses()]
    if not len(attitude):
        raise PeerLostError(
            f"expected HIGHRES_IMU or HIL_SENSOR at {host}:{port}, received none; check the target "
            "address of the sender"
        )
    view = [*changed_lines(orientation), frames_of(attitude), str(orientation.report)]
    if output is not None:
        heard = replace(heard, trajectories={"attitude": attitude})
        lost += files.write(output, heard, force=force).lost
        view.append(f"wrote {output}: {len(attitude)} attitudes")
    data = {"listened": f"{host}:{port}", **as_data(name, orientation, output, attitude)}
    data["report"] = orientation.report.to_dict()
    return Outcome(data, view, lost, code=128 + signals[0] if signals else EXIT_OK)
