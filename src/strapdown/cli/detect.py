"""``strapdown detect``: falls, impacts, stillness and faults in a recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.table import Table

from strapdown import plots
from strapdown._words import counted
from strapdown.cli._common import (
    Force,
    Input,
    Topic,
    check_targets,
    notes_on,
    read_losses,
    taken,
    working,
)
from strapdown.cli._completion import completed
from strapdown.cli._in_blocks import ImuBlocks, from_imu_blocks
from strapdown.cli._outcome import EXIT_LOSSY, EXIT_OK, Outcome
from strapdown.cli._reading import open_imu
from strapdown.detection import DETECTORS, Detector, Event, Events, HealthDetector
from strapdown.detection.registry import KINDS, detector
from strapdown.formats import ReadReport
from strapdown.formats._output import replacing
from strapdown.series import ImuSeries
from strapdown.units import NS_PER_S

SHOWN = 2
"""Number of values of an event in the table; the JSON holds all."""


def detect(
    source: Input,
    *,
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            help=f"Separated by commas: {', '.join(KINDS)}; by default all but still.",
            autocompletion=completed(KINDS),
        ),
    ] = ",".join(DETECTORS),
    topic: Topic = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the events as JSON.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="A figure: .png, .svg or .pdf.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Find free falls, falls of people, impacts, stillness and faults of sensors.

    Fall detection uses the preset for a sensor at the waist: see the guide on detection for
    other positions. No detector is a medical device.

    Exit code 3: events were found.

    Examples
    --------
    strapdown detect walk.csv

    strapdown detect logs/*.mcap --output results/ --workers 2

    strapdown detect phone.mcap --kind free_fall,impact --picture drop.png

    strapdown detect flight.ulg --kind clipping,stuck --output faults.json --json
    """
    names = [name.strip() for name in kind.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("expected at least one kind", param_hint="'--kind'")
    detectors = {name: detector(name) for name in names}
    check_targets(output, picture, force=force, recording=False, sources=[source])

    def in_blocks(blocks: ImuBlocks) -> _Found:
        found, start_ns = _run(detectors, blocks)
        return _Found(found, start_ns, blocks.taken(), blocks.notes(), blocks.report)

    why_whole = "a figure shows all samples" if picture is not None else ""
    found = from_imu_blocks(source, topic, in_blocks, why_whole=why_whole)
    if found is None:
        with working(f"reading {source}"):
            recording = open_imu(source, topic)
        series = recording.imu_series(topic)
        with working(f"{', '.join(names)} over {len(series)} samples"):
            events_of, start_ns = _run(detectors, [series])
        about, notes = taken(recording, topic), notes_on(recording, topic)
        found = _Found(events_of, start_ns, about, notes, recording.report)
    events = Events.of([]).merge(*found.events)
    reports = {name: each.report.to_dict() for name, each in detectors.items()}
    health = [
        sensor.to_dict()
        for each in detectors.values()
        if isinstance(each, HealthDetector)
        for sensor in each.summary.values()
    ]
    data = {"input": str(source), **found.about, "detectors": reports, **events.to_dict()}
    if health:
        data["health"] = health
    view = [*found.notes, _table(events, found.start_ns) if len(events) else "nothing found"]
    view += [_health_line(each) for each in health]
    if output is not None:
        _write(output, events, force=force)
        view.append(f"wrote {output}: {len(events)} events")
    if picture is not None:
        title = f"{source.name}: {', '.join(names)}"
        plots.save(plots.plot_events(series, events, title=title), picture, force=force)
        view.append(f"wrote {picture}")
    code = EXIT_LOSSY if len(events) else EXIT_OK
    kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(e.kind for e in events).items())
    brief = f"{counted(len(events), 'event')}: {kinds}" if kinds else "nothing found"
    return Outcome(data, view, read_losses(found.report), code=code, brief=brief)


class _Found(NamedTuple):
    """Events of a recording by detector, and the description of the recording."""

    events: list[Events]
    start_ns: int
    about: dict[str, Any]
    notes: list[str]
    report: ReadReport


def _run(
    detectors: Mapping[str, Detector[Any]], parts: Iterable[ImuSeries]
) -> tuple[list[Events], int]:
    """Return the events of each detector, and the earliest stamp [ns]."""
    found: dict[str, list[Event]] = {name: [] for name in detectors}
    starts = []
    for each in detectors.values():
        each.reset()
    for series in parts:
        starts += [int(series.t_ns.min())] if len(series) else []
        for name, each in detectors.items():
            found[name] += each.run(series)
    for name, each in detectors.items():
        last = each.finish()
        found[name] += [] if last is None else [last]
    return [Events.of(events) for events in found.values()], min(starts, default=0)


def _health_line(health: dict[str, object]) -> str:
    """Return the health of a sensor as a line."""
    reasons = health["reasons"]
    why = f": {', '.join(reasons)}" if isinstance(reasons, list) and reasons else ""
    return f"{health['sensor']} {health['status']}{why}"


def _table(events: Events, start_ns: int) -> Table:
    """Return the events as a table."""
    table = Table(
        "event", r"start \[s]", r"duration \[s]", r"decided \[s]", "figures", "flags",
        box=None, pad_edge=False,
    )  # fmt: skip
    for event in events:
        times = (event.t_start_ns - start_ns, event.t_end_ns - event.t_start_ns)
        decided = f"+{(event.t_decided_ns - event.t_start_ns) / NS_PER_S:.3f}"
        shown = list(event.values.items())[:SHOWN]
        figures = ", ".join(f"{name} {value:.4g}" for name, value in shown)
        cells = (f"{t / NS_PER_S:.3f}" for t in times)
        table.add_row(event.kind, *cells, decided, figures, " ".join(sorted(event.flags)))
    return table


def _write(path: Path, events: Events, *, force: bool) -> None:
    from json import dumps  # noqa: PLC0415 (only an output needs it)

    with replacing(path, force=force) as partial:
        partial.write_text(dumps(events.to_dict(), indent=2) + "\n", "utf-8")
