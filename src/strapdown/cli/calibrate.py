"""``strapdown calibrate``: calibration of a sensor from a recording."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from strapdown import calibration as procedures
from strapdown import plots
from strapdown.calibration import save_calibration
from strapdown.cli._calibration_kinds import KINDS, Hemisphere, Options
from strapdown.cli._common import (
    Force,
    Topic,
    check_targets,
    measured,
    notes_on,
    progress_bar,
    read_losses,
    working,
)
from strapdown.cli._completion import completed
from strapdown.cli._outcome import EXIT_LOSSY, EXIT_OK, Outcome
from strapdown.cli._pair import pair as align
from strapdown.cli._reading import open_imu
from strapdown.cli._reading_options import options as reading
from strapdown.errors import FormatError, UnknownNameError
from strapdown.units import MICROTESLA, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown.calibration import ImuCalibration
    from strapdown.series import ImuSeries

__all__ = ["calibrate"]

_USED_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "--sections": ("six", "ferraris"),
    "--norm": ("mag",),
    "--hemisphere": ("mag",),
    "--heading": ("rest",),
    "--temperature": ("temperature",),
}
"""Kinds that an option has an effect on."""
_WHOLE: Final = "its rows count from the start of the recording: leave out --from and --until"


def calibrate(
    source: Annotated[
        Path | None, typer.Argument(help="A recording, recognised by content; or --pair.")
    ] = None,
    *,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            help=f"One of: {', '.join(KINDS)}; by default six where the recording has only faces "
            "and whole turns, else multi.",
            autocompletion=completed(KINDS),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The calibration to write: .toml or .json."),
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="A figure: .png, .svg or .pdf.")
    ] = None,
    topic: Topic = None,
    gravity: Annotated[
        float | None, typer.Option("--gravity", help="Local gravity \\[m/s^2].")
    ] = None,
    latitude: Annotated[
        float | None,
        typer.Option(
            "--latitude", min=-90.0, max=90.0, help="Latitude, instead of gravity \\[deg]."
        ),
    ] = None,
    height: Annotated[
        float | None, typer.Option("--height", help="Height, with the latitude \\[m].")
    ] = None,
    initial_still: Annotated[
        float,
        typer.Option("--initial-still", min=1.0, help="Rest at the beginning, for multi \\[s]."),
    ] = 30.0,
    sections: Annotated[
        Path | None,
        typer.Option(
            "--sections", help="JSON with the rows of faces and turns, for six, ferraris."
        ),
    ] = None,
    turn: Annotated[
        float, typer.Option("--turn", help="Angle of each turn, for six and ferraris \\[deg].")
    ] = 360.0,
    norm: Annotated[
        float | None, typer.Option("--norm", help="Norm of the local field, for mag \\[uT].")
    ] = None,
    hemisphere: Annotated[
        Hemisphere | None,
        typer.Option("--hemisphere", help="For mag: shows whether its axes are left-handed."),
    ] = None,
    heading: Annotated[
        float | None,
        typer.Option(
            "--heading",
            help="Of the forward axis, east of north, for rest with --latitude \\[deg].",
        ),
    ] = None,
    temperature: Annotated[
        Path | None,
        typer.Option(
            "--temperature",
            help="CSV with t_ns or t_s and temperature_c, for temperature; by default that of the "
            "recording.",
        ),
    ] = None,
    warm_up: Annotated[
        float, typer.Option("--warm-up", min=0.0, help="Start to leave out, for temperature \\[s].")
    ] = 60.0,
    pair: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--pair",
            metavar="FIRST SECOND",
            help="Two recordings of one body: clock offset, rotation and lever arm of the second, "
            "an IMU or a pose.",
        ),
    ] = None,
    second_topic: Annotated[
        str | None, typer.Option("--second-topic", help="The topic of the second, for --pair.")
    ] = None,
    scale: Annotated[
        bool, typer.Option("--scale", help="Estimate scale errors of the first too, for --pair.")
    ] = False,
    force: Force = False,
) -> Outcome:
    """Calibrate a sensor from poses, turns, or its use, and write the calibration.

    Many attitudes (multi): leave the device alone for 30 s, then put it down in 30 to 50
    attitudes for 2 s each. Six faces (six, ferraris): rest on each face, and a whole turn
    about each axis. A magnetometer (mag): turn it through all directions. Also the bias at rest
    (rest) and over temperature (temperature), and two sensors on one body (--pair). "strapdown
    convert --calibration" applies the result to recordings.

    Exit code 3: there are findings, such as attitudes that are missing.

    Examples
    --------
    strapdown calibrate tumble.mcap --latitude 48.1 --height 520 --output cal.toml

    strapdown calibrate tumble.mcap --gravity 9.807 --output cal.toml --picture cal.png

    strapdown calibrate faces.csv --kind six --gravity 9.81 --json

    strapdown calibrate turns.mcap --kind mag --norm 48.6 --output mag.toml

    strapdown calibrate --pair helmet.mcap reference.tum --output pair.toml
    """
    if pair is not None:
        if source is not None or kind is not None:
            raise typer.BadParameter("expected two recordings and no --kind", param_hint="'--pair'")
        return align(
            *pair,
            topic=topic,
            second_topic=second_topic,
            scale=scale,
            output=output,
            picture=picture,
            force=force,
        )
    if source is None:
        raise typer.BadParameter("expected a recording, or --pair", param_hint="'SOURCE'")
    _check(
        {
            ("--second-topic", "expected --pair with it"): second_topic is not None,
            ("--scale", "expected --pair with it"): scale,
            ("--heading", "expected --latitude with it"): latitude is None and heading is not None,
            ("--sections", _WHOLE): sections is not None and reading.cuts,
        }
    )
    if kind is not None and kind not in KINDS:
        raise UnknownNameError("kind of calibration", kind, KINDS)
    check_targets(output, picture, force=force, recording=False, sources=[source])
    options = Options(
        gravity=gravity,
        latitude=None if latitude is None else latitude * RAD_PER_DEG,
        height=height,
        initial_still_s=initial_still,
        sections=None if sections is None else _read_sections(sections),
        turn_deg=turn,
        norm=None if norm is None else norm * MICROTESLA,
        hemisphere=hemisphere,
        heading=None if heading is None else heading * RAD_PER_DEG,
        warm_up_s=warm_up,
    )
    with working(f"reading {source}"):
        recording = open_imu(source, topic)
    name = kind or _recognised(recording.imu_series(topic), sections, temperature)
    given = {"--sections": sections, "--norm": norm, "--hemisphere": hemisphere,
             "--heading": heading, "--temperature": temperature}  # fmt: skip
    _check(
        {
            (option, f"no effect on kind {name}"): name not in _USED_BY[option]
            for option, value in given.items()
            if value is not None
        }
    )
    if name == "temperature":
        options = replace(
            options,
            temperature=procedures.recorded_temperature(recording, topic)
            if temperature is None
            else procedures.read_temperature(temperature),
        )
    draw = KINDS[name].picture
    if picture is not None and draw is None:
        raise typer.BadParameter(f"there is no figure of kind {name}", param_hint="'--picture'")
    series = measured(recording, topic, *KINDS[name].needs, to="calibrate")
    with progress_bar(f"{name} over {len(series)} samples") as progress:
        result = KINDS[name].run(series, replace(options, progress=progress))
    view = [*notes_on(recording, topic), f"kind: {name}", *result.lines()]
    view += [f"finding: {line}" for line in result.warnings]
    data = {
        "input": str(source),
        "topic": recording.imu_topic(topic),
        "kind": name,
        "findings": list(result.warnings),
    }
    data |= result.to_dict()
    if output is not None:
        save_calibration(_with_origin(result.calibration, source), output, force=force)
        view.append(f"wrote {output}")
        data["output"] = str(output)
    if picture is not None and draw is not None:
        with working("drawing"):
            plots.save(draw(series, result, f"{source.name}: {name}"), picture, force=force)
        view.append(f"wrote {picture}")
    code = EXIT_LOSSY if result.warnings else EXIT_OK
    return Outcome(data, view, read_losses(recording.report), code=code)


def _check(wrong: Mapping[tuple[str, str], bool]) -> None:
    """Raise where a use of an option, given with the reason, is wrong."""
    for (option, reason), is_wrong in wrong.items():
        if is_wrong:
            raise typer.BadParameter(reason, param_hint=f"'{option}'")


def _recognised(series: ImuSeries, sections: Path | None, temperature: Path | None) -> str:
    """Return the kind that a recording certainly is, or the usual one."""
    if temperature is not None:
        return "temperature"
    if sections is not None or procedures.has_faces_and_turns(series):
        return "six"
    return "multi"


def _read_sections(path: Path) -> Mapping[str, Any]:
    """Return the sections in a file.

    Raises
    ------
    FormatError
        It is not an object of JSON.
    """
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise FormatError(f"expected sections as JSON, got {error}", path=path) from error
    if not isinstance(content, dict):
        raise FormatError(
            'expected sections such as {"x_p": {"start": 540, "end": 1271}, ...}, got '
            f"{type(content).__name__}",
            path=path,
        )
    return content


def _with_origin(calibration: ImuCalibration, source: Path) -> ImuCalibration:
    """Return a calibration with the name and digest of its recording, and the date."""
    provenance = replace(
        calibration.provenance,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        source=source.name,
        source_sha256=_digest(source),
    )
    return replace(calibration, provenance=provenance)


def _digest(source: Path) -> str:
    """Return the SHA-256 of a file, or of the files of a folder in order of their names."""
    whole = hashlib.sha256()
    paths = sorted(source.rglob("*")) if source.is_dir() else [source]
    for path in filter(Path.is_file, paths):
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                whole.update(block)
    return whole.hexdigest()
