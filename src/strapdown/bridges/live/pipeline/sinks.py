"""Parts that messages leave by: a live topic, a recording."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from strapdown.bridges.live.fusion import LOOK_S
from strapdown.bridges.live.pipeline.part import Part
from strapdown.bridges.live.recorder import LiveOptions, Recorder, RecordReport
from strapdown.errors import FormatError
from strapdown.formats._output import check_ending, refuse
from strapdown.transport.address import open_topic, parse_address

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import ExitStack

    from strapdown.bridges.live.pipeline.tables import Table

__all__ = ["RecordSink", "TopicSink"]


class TopicSink(Part):
    """Publishes on a live topic."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        with table.about("address"):
            self._address = parse_address(table.need("address", str), folder=table.folder)
        if not self._address.backend.can_send:
            line = f"expected a topic to publish on, {self._address.backend.name} only receives"
            raise table.error(line, "address")
        self.address = self._address.backend.name, self._address.name.removeprefix("/")

    def join(self, parts: Sequence[Part]) -> None:
        """Publish the messages of the preceding stage."""
        super().join(parts)
        (source,) = parts
        wanted, given = self._address.msg_type, source.gives
        if wanted is not None and given is not None and wanted is not given:
            got = f"{given.__name__} from {source.name!r}"
            raise self.table.error(f"expected {wanted.__name__} messages, got {got}", "address")

    def open(self, stack: ExitStack) -> None:
        """Join the topic."""
        self._topic = stack.enter_context(open_topic(self._address, self.parts[0].gives))

    def work(self) -> None:
        """Publish every message."""
        for source in self.inlets.values():
            self.follow(source, self._topic.send)


class RecordSink(Part):
    """Sink that writes the messages of each stage as a topic of a recording."""

    SOURCES = range(1, 2**16)

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._path = self.file_written = table.place(table.need("file", str))
        with table.about("file"):
            check_ending(self._path, (".mcap",))
            refuse(self._path, force=table.force)
            if not self._path.parent.is_dir():
                line = "expected a folder that exists, make it first"
                raise FormatError(line, path=self._path.parent)
        usual = LiveOptions()
        with table.about("split_bytes", "split_s", "min_free_bytes"):
            self._options = LiveOptions(
                split_bytes=table.get("split_bytes", int),
                split_s=table.get("split_s", float),
                min_free_bytes=table.get("min_free_bytes", int, usual.min_free_bytes),
            )
        self._report: Callable[[], RecordReport] = lambda: RecordReport(())

    def open(self, stack: ExitStack) -> None:
        """Begin the file."""
        path, before = self.table.path, self.before()
        seeds = {name: part.seed for name, part in before.items() if part.seed is not None}
        metadata = {"pipeline": path.name if path else "", "seeds": json.dumps(seeds)}
        recorder = Recorder(
            self._path, force=self.table.force, options=self._options, metadata=metadata
        )
        self._recorder = stack.enter_context(recorder)
        self._report = recorder.report
        for name, source in self.inlets.items():
            recorder.follow(source, name)

    def work(self) -> None:
        """Write every message; those queued at the end are written when the file is closed."""
        while not self.stop.is_set() and not self._recorder.wait(LOOK_S):
            pass

    def counts(self) -> tuple[int, int]:
        """Return the numbers of messages received and written."""
        report = self._report()
        written = sum(report.messages.values())
        return written + report.dropped, written

    def losses(self) -> list[str]:
        """Return what is missing in the file."""
        return list(self._report().lost)
