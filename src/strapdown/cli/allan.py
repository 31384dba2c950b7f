"""``strapdown allan``: noise of a sensor from a log at rest."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.markup import escape
from rich.table import Table

from strapdown import calibration, plots
from strapdown._scratch import any_finite
from strapdown._words import printable
from strapdown.calibration.noise.units import DEVIATION, SHOWN, stored_unit
from strapdown.cli._common import Force, Input, Topic, check_targets, notes_on, read_losses, working
from strapdown.cli._completion import completed
from strapdown.cli._in_blocks import ImuBlocks, from_imu_blocks
from strapdown.cli._outcome import EXIT_LOSSY, EXIT_OK, Outcome
from strapdown.cli._reading import open_imu, open_input
from strapdown.errors import FormatError, ValueRangeError
from strapdown.estimation import ErrorStateParams
from strapdown.formats import ReadReport, Recording
from strapdown.formats._output import check_ending, replacing
from strapdown.formats.block_reader import NeedsWhole
from strapdown.series import ImuSeries
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from rich.console import RenderableType

    from strapdown.calibration import AllanResult, ChannelNoise, NoiseFit

KINDS = ("oadev", "adev", "totdev", "mdev", "tdev", "hdev", "ohdev")
FITTED = KINDS[:3]
KEYS = (
    "kind", "tau_s", "channels", "units", "deviation", "lower", "upper", "edf", "terms",
    "confidence", "rate_hz", "samples", "duration_s", "pieces", "coverage", "notes",
)  # fmt: skip
"""Fields of the result in the JSON."""
FEWEST = 100
"""Samples below which no noise is determined."""
YEAR_2001_NS = 10**18
"""About this long after 1970 [ns]; stamps above it give the date of the log."""


def allan(
    source: Input,
    *,
    topic: Topic = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help=f"Deviation: {', '.join(KINDS)}. Noise is fitted to the first three.",
            autocompletion=completed(KINDS),
        ),
    ] = KINDS[0],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A figure: .png, .svg or .pdf.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", help="A sensor profile (.toml) for strapdown sim.")
    ] = None,
    kalibr: Annotated[Path | None, typer.Option("--kalibr", help="imu.yaml for kalibr.")] = None,
    params: Annotated[
        Path | None,
        typer.Option(
            "--params", help="Noise parameters of eskf (.toml) for strapdown fuse --params."
        ),
    ] = None,
    inflate: Annotated[
        float, typer.Option("--inflate", help="Factor on the densities in imu.yaml and parameters.")
    ] = 1.0,
    data: Annotated[
        Path | None, typer.Option("--data", help="Curves with bounds and model as .csv.")
    ] = None,
    spectrum: Annotated[
        Path | None, typer.Option("--spectrum", help="A figure of the spectrum, with white noise.")
    ] = None,
    bandwidth: Annotated[
        float | None,
        typer.Option("--bandwidth", help="Of the sensor [Hz]: shorter cluster times are left out."),
    ] = None,
    force: Force = False,
) -> Outcome:
    """Characterise the noise of a sensor from a log at rest.

    Fits white noise, flicker noise, random walk, quantisation, a ramp and Gauss-Markov processes to
    the Allan deviation of each axis, with 95 % intervals.

    Exit code 3: a warning about the log, or a model that does not fit.

    Examples
    --------
    strapdown allan static.mcap --output allan.png

    strapdown allan static.mcap --sheet my_imu.toml --kalibr imu.yaml --inflate 5

    strapdown allan static.csv --kind mdev --data mdev.csv --json
    """
    is_fitted = kind in FITTED or kind not in KINDS  # an unknown kind is refused by its function
    if not is_fitted and (sheet or kalibr or params or spectrum):
        raise typer.BadParameter(
            f"expected {', '.join(FITTED)} for files of the fit and the spectrum, got {kind}",
            param_hint="'--kind'",
        )
    _check((sheet, params), output, kalibr, data, spectrum, force=force)
    why_whole = "a spectrum shows all samples" if spectrum is not None else ""
    log = from_imu_blocks(source, topic, _spilled, why_whole=why_whole)
    if log is None:
        with working(f"reading {source}"):
            compared = spectrum is not None and topic is None  # it shows the fastest of all
            recording = open_input(source) if compared else open_imu(source, topic)
        series, notes = recording.imu_series(topic), notes_on(recording, topic)
        log = _Log(series, recording, recording.imu_topic(topic), notes, recording.report)
    series = log.series
    _require_values(series, source)
    with working(f"{kind} of {len(series)} samples"):
        result = calibration.allan(series, kind=kind)
    fit = None
    if is_fitted:
        with working("fitting noise"):
            fit = result.fit(bandwidth_hz=bandwidth)
    origin = _origin(source, log.recording, series)
    warnings = [*result.warnings, *(fit.warnings if fit else ())]
    warned = (f"warning: {printable(warning)}" for warning in warnings)
    view: list[RenderableType] = [*log.notes, origin, *result.notes, *warned]
    found = {"input": str(source), "topic": log.topic, "allan": _summary(result)}
    if fit is not None:
        found |= {"noise": fit.to_dict(), "covariance": _covariance(fit)}
        view += [_table(fit), *_minima(fit)]
    texts: dict[Path, str] = {}
    if data is not None:
        texts[data] = result.to_csv(fit)
    if fit is not None:
        texts |= _exports(fit, origin, sheet, kalibr, params, inflate)
    for path, text in texts.items():
        with replacing(path, force=force) as partial:
            partial.write_text(text, "utf-8")
    if output is not None:
        title = f"{origin}: {result.duration_s / 3600.0:.3g} h at {result.rate_hz:.4g} Hz"
        plots.save(plots.plot_noise(result, fit, title=title), output, force=force)
    if spectrum is not None:
        figure = plots.plot_spectrum(log.recording, topic=topic, noise=fit)
        plots.save(figure, spectrum, force=force)
    view += [f"wrote {path}" for path in (output, spectrum, *texts) if path is not None]
    code = EXIT_LOSSY if warnings else EXIT_OK
    found["warnings"] = warnings
    return Outcome(found, view, read_losses(log.report), code=code)


class _Log(NamedTuple):
    """Samples of a sensor at rest, and where they come from."""

    series: ImuSeries
    recording: Recording
    topic: str
    notes: list[str]
    report: ReadReport


def _spilled(blocks: ImuBlocks) -> _Log:
    """Write the samples of a long recording to a temporary file, of which parts are in memory."""
    from strapdown.formats.spill import Table as Rows  # noqa: PLC0415 (only long recordings)

    rows = Rows()
    for series in blocks:
        rows.append(series.t_ns, {"rate": series.angular_velocity, "force": series.specific_force})
    if blocks.first is None:
        raise NeedsWhole("no samples were found")
    return _Log(
        ImuSeries(rows.t_ns, rows.mapped("rate"), rows.mapped("force"), body=series.body),
        blocks.first,
        blocks.topic,
        blocks.notes(),
        blocks.report,
    )


def _require_values(series: ImuSeries, source: Path) -> None:
    """Raise if a log has neither sensor, or too few samples."""
    if not (any_finite(series.angular_velocity) or any_finite(series.specific_force)):
        raise FormatError("expected angular velocity or specific force, got none", path=source)
    if len(series) < FEWEST:
        raise FormatError(
            f"expected {FEWEST} samples or more, better an hour of them, got {len(series)}",
            path=source,
        )


def _check(
    tables: tuple[Path | None, ...],
    output: Path | None,
    kalibr: Path | None,
    data: Path | None,
    spectrum: Path | None,
    *,
    force: bool,
) -> None:
    """Check all targets before the work."""
    endings = [*((path, (".toml",)) for path in tables), (data, (".csv",))]
    for path, known in (*endings, (kalibr, (".yaml", ".yml"))):
        if path is not None:
            check_ending(path, known)
        check_targets(path, None, force=force, recording=False)
    for path in (output, spectrum):
        check_targets(None, path, force=force)


def _exports(  # noqa: PLR0917 (one file each)
    fit: NoiseFit,
    origin: str,
    sheet: Path | None,
    kalibr: Path | None,
    params: Path | None,
    inflate: float,
) -> dict[Path, str]:
    """Return the texts of the files for other programs."""
    texts = {}
    if sheet is not None:
        texts[sheet] = fit.to_sheet(sheet.stem, source=origin)
    if kalibr is not None:
        texts[kalibr] = fit.to_kalibr(inflate=inflate, source=origin)
    if params is not None:
        usual, found = (
            asdict(ErrorStateParams()),
            asdict(fit.to_params(ErrorStateParams, inflate=inflate)),
        )
        lines = [f"{name} = {value!r}" for name, value in found.items() if value != usual[name]]
        texts[params] = "\n".join([f"# eskf, from {origin}", *lines]) + "\n"
    return texts


def _origin(source: Path, recording: Recording, series: ImuSeries) -> str:
    """Return the name of the log, with its date where the stamps have one."""
    start_ns = int(series.t_ns[0]) + (recording.clock_offset_ns or 0) if len(series) else 0
    if start_ns < YEAR_2001_NS:  # the clock counts from somewhere else
        return printable(source.name)
    date = datetime.fromtimestamp(start_ns // NS_PER_S, UTC).date()
    return f"{printable(source.name)} of {date}"


def _summary(result: AllanResult) -> dict[str, Any]:
    """Return the curves and the properties of the log."""
    everything = result.to_dict()
    return {key: everything[key] for key in KEYS}


def _covariance(fit: NoiseFit) -> dict[str, Any]:
    """Return the covariance of one sample, or the reason why there is none."""
    try:
        return {name: matrix.tolist() for name, matrix in fit.covariance().items()}
    except ValueRangeError as error:  # white noise is not identified on an axis
        return {"reason": str(error)}


def _table(fit: NoiseFit) -> Table:
    """Return the coefficients of all channels, in units of data sheets and in SI units."""
    table = Table(
        "channel", "", "value", "95 % interval", "unit", "SI value", "SI unit", "read off",
        r"at \[s]", box=None, pad_edge=False,
    )  # fmt: skip
    for noise in fit.channels:
        for letter in noise.coefficients:
            for row in _rows(noise, letter):
                table.add_row(*(escape(printable(cell)) for cell in row))
        for process in noise.processes:
            sigma, time_s = process.sigma, process.correlation_time_s
            unit, factor = DEVIATION[noise.unit]
            interval = f"{factor * sigma.lower:.4g} to {factor * sigma.upper:.4g}"
            cells = (f"{factor * (sigma.value or 0.0):.4g}", interval, unit)
            si = (f"{sigma.value:.4g}", noise.unit, "", f"time {time_s.value:.3g}")
            table.add_row(noise.channel, "GM", *cells, *map(escape, si))
    return table


def _rows(noise: ChannelNoise, letter: str) -> list[tuple[str, ...]]:
    """Return the rows of a coefficient: one for each unit; none of a Q or R that is absent."""
    estimate, reading = noise.coefficients[letter], noise.readings[letter]
    if estimate.value is None and reading.value is None and letter in "QR":
        return []
    rows: list[tuple[str, ...]] = []
    for number, (unit, factor) in enumerate(SHOWN[noise.unit][letter]):
        known = estimate.value is not None
        value = f"{factor * (estimate.value or 0.0):.4g}" if known else "-"
        high = f"{factor * estimate.upper:.4g}"
        interval = f"{factor * estimate.lower:.4g} to {high}" if known else f"below {high}"
        read = "-" if reading.value is None else f"{factor * reading.value:.4g}"
        at = "" if reading.at_s is None else f"{reading.at_s[0]:.3g} to {reading.at_s[1]:.3g}"
        si = (f"{estimate.value:.4g}" if known else "-", stored_unit(letter, noise.unit))
        head = (noise.channel, letter) if not number else ("", "")
        rows.append((*head, value, interval, unit, *(si if not number else ("", "")), read, at))
    return rows


def _minima(fit: NoiseFit) -> list[str]:
    """Return the lowest point of each curve as a line."""
    lines = []
    for noise in fit.channels:
        if (lowest := noise.minimum) is None:
            continue
        unit, factor = DEVIATION[noise.unit]
        late = ", still falling: a longer log may show a lower one" if lowest.at_end else ""
        lines.append(
            f"{noise.channel}: lowest point {factor * lowest.deviation:.4g} {unit} at "
            f"{lowest.tau_s:.3g} s, the bias instability of data sheets{late}"
        )
    return lines
