"""Pipeline: stages that are connected, started, watched and stopped as one."""

from __future__ import annotations

import itertools
import math
from contextlib import ExitStack
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import product
from logging import getLogger
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from strapdown._html import FieldsAsHtml
from strapdown._words import counted, wording
from strapdown.bridges.live.pipeline.detect import DetectSink
from strapdown.bridges.live.pipeline.navigate import NavigateStage
from strapdown.bridges.live.pipeline.odometry import OdometryStage
from strapdown.bridges.live.pipeline.part import State
from strapdown.bridges.live.pipeline.sinks import RecordSink, TopicSink
from strapdown.bridges.live.pipeline.sources import LogSource, TopicSource, device_source
from strapdown.bridges.live.pipeline.stages import CalibrateStage, FilterStage, SensorStage
from strapdown.bridges.live.pipeline.tables import PipelineFile, read_tables
from strapdown.errors import FormatError, TransportError, UnknownNameError
from strapdown.transport import Topic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from types import TracebackType
    from typing import Self

    from strapdown.bridges.live.pipeline.part import Part, PartReport
    from strapdown.bridges.live.pipeline.tables import Table

__all__ = ["Pipeline", "PipelineReport"]

_log = getLogger(__name__)
_CAPACITY: Final = 4096
"""Messages that may be queued for a stage."""
_numbers = itertools.count()


def _topic(table: Table) -> Part:
    """Return the stage of a ``[topic.NAME]``: a sink if it receives from a stage, else a source."""
    return TopicSink(table) if table.texts("from") else TopicSource(table)


KINDS: Final[Mapping[str, Callable[[Table], Part]]] = {
    "device": device_source,
    "log": LogSource,
    "topic": _topic,
    "calibrate": CalibrateStage,
    "sensor": SensorStage,
    "filter": FilterStage,
    "odometry": OdometryStage,
    "navigate": NavigateStage,
    "detect": DetectSink,
    "record": RecordSink,
}
"""Stages by the kind in their header."""


@dataclass(frozen=True)
class PipelineReport(FieldsAsHtml):
    """Account of a pipeline, running or ended.

    Parameters
    ----------
    parts : tuple of PartReport
        In the order of the file.
    running_s : float
        Running time [s].
    """

    parts: tuple[PartReport, ...]
    running_s: float

    @property
    def failed(self) -> bool:
        """Whether a stage has failed."""
        return any(part.state is State.FAILED for part in self.parts)

    @property
    def losses(self) -> list[str]:
        """One line for each kind of loss."""
        return [line for part in self.parts for line in part.losses]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        return {"running_s": self.running_s, "parts": [part.to_dict() for part in self.parts]}


class Pipeline:
    """Parts that pass messages on to each other, each in a thread of its own.

    All start together once they are ready, and end from front to back: a stage ends when those
    before it have ended and it has processed their messages, or when all those behind it have
    ended. The others continue if one fails.

    A context manager, which stops it.

    Parameters
    ----------
    text : str
        Tables ``[KIND.NAME]`` in TOML.
    folder : path-like
        Where relative paths in it begin.
    path : path-like, optional
        The file that it is from, for errors.
    force : bool
        Let recordings replace files.

    Raises
    ------
    FormatError
        Something is wrong in it; line and reason are named.

    Examples
    --------
    >>> with Pipeline('''
    ... [device.imu]
    ... motion = "wander"
    ... duration = 0.1
    ...
    ... [filter.attitude]
    ... from = "imu"
    ... filter = "madgwick"
    ... ''') as pipeline:
    ...     pipeline.start()
    ...     pipeline.wait()
    True
    >>> [(part.name, part.messages) for part in pipeline.report().parts]
    [('imu', 20), ('attitude', 20)]
    """

    def __init__(
        self,
        text: str,
        *,
        folder: str | PathLike[str] = ".",
        path: str | PathLike[str] | None = None,
        force: bool = False,
    ) -> None:
        place = None if path is None else Path(path)
        file = PipelineFile(text, folder=Path(folder), path=place, force=force)
        tables = read_tables(file, KINDS)
        sources = {table.name: table.texts("from") for table in tables}
        parts = {table.name: KINDS[table.kind](table) for table in tables}
        for table in tables:
            table.finish()
        for part in parts.values():
            _check(part, sources[part.name], parts)
        _check_files(parts.values())
        for name in _in_order(parts, sources):
            parts[name].join([parts[source] for source in sources[name]])
        self.parts: tuple[Part, ...] = tuple(parts.values())
        self._behind = {
            part.name: [each for each in self.parts if part in each.parts] for part in self.parts
        }
        self._go, self._ended = Event(), Event()
        self._changing = Lock()
        self._preparing, self._live = {*parts}, {*parts}
        self._began_s = self._ended_s = math.nan
        self._say: Callable[[str], object] = _log.info
        self._threads: list[Thread] = []

    @classmethod
    def from_file(cls, path: str | PathLike[str], *, force: bool = False) -> Self:
        """Read a pipeline from a file; relative paths in it begin in the folder of the file.

        Raises
        ------
        FormatError
            Something is wrong in it; file, line and reason are named.
        OSError
            What the operating system says, such as FileNotFoundError.
        """
        path = Path(path)
        try:
            text = path.read_text("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(f"expected a pipeline in TOML: {error}", path=path) from error
        return cls(text, folder=path.parent, path=path, force=force)

    def start(self, say: Callable[[str], object] | None = None) -> None:
        """Prepare all stages, then start them, once; return when they run.

        Parameters
        ----------
        say : callable, optional
            Gets a line for each event of a stage, from its thread; by default it is logged.

        Raises
        ------
        TransportError
            It was started before.
        """
        if self._threads:
            raise TransportError("this pipeline was started before: make another one")
        self._say = say or self._say
        self._link()
        self._threads = [
            Thread(target=self._run, args=(part,), name=f"part {part.name}", daemon=True)
            for part in self.parts
        ]
        for thread in self._threads:
            thread.start()
        self._go.wait()

    def stop(self) -> None:
        """Stop the sources, and the other stages after them."""
        for part in self.parts:
            if not part.parts:
                part.stop.set()
        self._go.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until all stages have ended; False if they have not in time."""
        return self._ended.wait(timeout_s)

    def report(self) -> PipelineReport:
        """Return the account of the pipeline."""
        now_s = monotonic() if math.isnan(self._ended_s) else self._ended_s
        running_s = 0.0 if math.isnan(self._began_s) else now_s - self._began_s
        return PipelineReport(tuple(part.report() for part in self.parts), running_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        for thread in self._threads:
            thread.join()

    # -- inside ----------------------------------------------------------------------------------

    def _link(self) -> None:
        """Open the topics between stages."""
        number = next(_numbers)
        # Without pacing, senders wait for receivers; otherwise slow receivers lose messages.
        way = "reliable" if any(part.speed == math.inf for part in self.parts) else "sensor"
        for part in self.parts:
            part.waits = way == "reliable"
            if part.gives is not None:
                behind = self._behind[part.name]
                name = f"pipeline/{number}/{part.name}"
                part.outlet, *inlets = (
                    Topic(part.gives, _CAPACITY, name=name, backend="local", reliability=way)
                    for _ in (part, *behind)
                )
                for each, inlet in zip(behind, inlets, strict=True):
                    each.inlets[part.name] = inlet
                    inlet.try_recv()  # from now on it counts what it loses

    def _run(self, part: Part) -> None:
        """Run a stage in its thread."""
        error: Exception | None = None
        with ExitStack() as links:
            for topic in filter(None, (part.outlet, *part.inlets.values())):
                links.enter_context(topic)
            try:
                with ExitStack() as own:
                    part.open(own)
                    self._is_ready(part)
                    self._go.wait()
                    part.begin()
                    try:
                        part.work()
                    finally:
                        part.settle()
            except Exception as caught:  # noqa: BLE001 (whatever it is, the others go on)
                error = caught
                _log.debug("part %s failed", part.name, exc_info=True)
            part.settle()
        part.end(error)
        self._has_ended(part)

    def _is_ready(self, part: Part) -> None:
        with self._changing:
            self._preparing.discard(part.name)
            if self._preparing or self._go.is_set():
                return
            for each in self.parts:
                each.catch_up()
            self._began_s = monotonic()
            self._go.set()
        live = (each.name for each in self.parts if each.state is not State.FAILED)
        self._print(f"running: {', '.join(live) or 'nothing'}")

    def _print(self, line: str) -> None:
        try:
            self._say(line)
        except Exception as error:  # noqa: BLE001 (the parts continue regardless)
            _log.warning("cannot report %r: %s", line, wording(error))

    def _has_ended(self, part: Part) -> None:
        """Stop the stages that have no input left without this one."""
        self._is_ready(part)
        report = part.report()
        ended = f"ended: {counted(report.messages, 'message')}"
        self._print(f"{part.name}: {f'failed: {report.error}' if report.error else ended}")
        with self._changing:
            self._live.discard(part.name)
            for each in self._behind[part.name]:
                if not any(source.name in self._live for source in each.parts):
                    each.stop.set()
            for source in part.parts:
                if not any(each.name in self._live for each in self._behind[source.name]):
                    source.stop.set()
            if not self._live:
                self._ended_s = monotonic()
                self._ended.set()


def _check(part: Part, sources: list[str], parts: Mapping[str, Part]) -> None:
    """Raise an error if a stage cannot receive from the stages that it names."""
    table = part.table
    if len(sources) not in part.SOURCES or len({*sources}) < len(sources):
        words = {0: "no part", 1: "one part", 2: "one part or two"}
        wanted = words.get(part.SOURCES[-1], "a list of parts, each once,")
        got = ", ".join(sources) or "none"
        raise table.error(f"expected {wanted} in from, got {got}", "from")
    for name in sources:
        with table.about("from"):
            if name not in parts:
                givers = [each.name for each in parts.values() if each.gives is not None]
                raise UnknownNameError("part", name, givers)
        if parts[name].gives is None:
            raise table.error(f"expected a part that gives messages, got {name!r}", "from")


def _check_files(parts: Iterable[Part]) -> None:
    """Raise an error if two stages write the same file."""
    writers: dict[Path, str] = {}
    for part in parts:
        if part.file_written is None:
            continue
        other = writers.setdefault(part.file_written.resolve(), part.name)
        if other != part.name:
            line = f"expected a file of its own, got that of {other!r}: {part.file_written}"
            raise part.table.error(line, "file")


def _in_order(parts: Mapping[str, Part], sources: Mapping[str, list[str]]) -> Iterable[str]:
    """Return the names of stages, each after those that it receives from.

    A stage also receives from one that publishes on the live topic that it reads.

    Raises
    ------
    FormatError
        Messages would go round in a cycle; its stages are named in the order of the data.
    """
    before = {name: [*sources[name]] for name in parts}
    for (name, part), (other, sink) in product(parts.items(), repeat=2):
        if part.address and part.address == sink.address and part.gives and not sink.gives:
            before[name].append(other)
    try:
        return [*TopologicalSorter(before).static_order()]
    except CycleError as error:
        cycle: list[str] = error.args[1]
        line = f"expected no cycle, got {' -> '.join(cycle)}: remove one of these connections"
        raise parts[cycle[-1]].table.error(line, "from", "address") from error
