"""Detection in a pipeline: events as lines of JSON."""

from __future__ import annotations

import json
from time import perf_counter
from typing import TYPE_CHECKING, TextIO

from strapdown._words import counted
from strapdown.bridges.live.fusion import BLOCK, incoming, sample_of
from strapdown.bridges.live.pipeline.part import Part
from strapdown.detection import DETECTORS
from strapdown.detection.registry import detector
from strapdown.formats._output import refuse
from strapdown.messages import Imu, conversion

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import ExitStack

    from strapdown.bridges.live.pipeline.tables import Table
    from strapdown.detection import Event

__all__ = ["DetectSink"]


class DetectSink(Part):
    """Detectors, each event of which is appended to a file as one line of JSON."""

    TAKES = (Imu,)

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        with table.about("kind"):
            names = table.texts("kind") or DETECTORS
            self._detectors = {name: detector(name) for name in names}
        self._path = self.file_written = table.place(table.need("file", str))
        with table.about("file"):
            refuse(self._path, force=table.force)
            if not self._path.parent.is_dir():
                raise table.error(f"expected a folder that exists: {self._path.parent}", "file")
        self._events = 0

    def open(self, stack: ExitStack) -> None:
        """Begin the file."""
        self._file: TextIO = stack.enter_context(self._path.open("w", encoding="utf-8"))

    def work(self) -> None:
        """Write every event as soon as it is complete, and at the end those that are open."""
        for source in self.inlets.values():
            for messages in incoming(source, stop=self.stop):
                began_s = perf_counter()
                self._write(self._found(messages))
                self.passed(len(messages), perf_counter() - began_s)
        last = (each.finish() for each in self._detectors.values())
        self._write(event for event in last if event is not None)
        self.notes.append(f"{counted(self._events, 'event')} in {self._path}")

    def _found(self, messages: Sequence[Imu]) -> Iterator[Event]:
        if len(messages) < BLOCK:
            for sample in map(sample_of, messages):
                yield from filter(None, (each.update(sample) for each in self._detectors.values()))
            return
        series = conversion.series_from_imu(messages)
        for each in self._detectors.values():
            yield from each.run(series)

    def _write(self, events: Iterable[Event]) -> None:
        for event in events:
            self._file.write(json.dumps(event.to_dict()) + "\n")
            self._file.flush()
            self._events += 1
