"""Recordings as messages in the order of time, for playback.

The messages of MCAP files keep their bytes and log times. A file of another format is read as
series, which are encoded in memory as the messages of an MCAP file, with their stamps.
"""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import strapdown.formats as files
from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats._series_headers import topics as topics_of
from strapdown.formats.mcap import reader
from strapdown.formats.mcap.messages import McapForm, form_of_channel
from strapdown.formats.mcap.records import Opcode
from strapdown.formats.mcap.ros_topics import in_turn, parts_of
from strapdown.formats.mcap.scan import MESSAGE_HEAD, McapScan
from strapdown.messages.cdr import Wire

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from strapdown.formats.reports import ReadReport

__all__ = ["MessageFile", "TimedMessage"]


class TimedMessage(NamedTuple):
    """A message of a recording."""

    t_ns: int
    """Time of reception [ns]; the stamp where the file does not store it."""
    topic: str
    form: McapForm
    """Its type and encoding."""
    payload: bytes


class MessageFile:
    """The messages of a recording, for any number of passes.

    Parameters
    ----------
    path : path-like
        A recording of any format.
    topics : iterable of str, optional
        Topics to read, by default all.

    Attributes
    ----------
    skipped : Counter
        Messages of unsupported types in the last complete pass, by topic.
    lost : list of str
        Damage found by the last complete pass, one line each.

    Raises
    ------
    FormatError
        No format is recognised.
    OSError
        An error of the operating system, such as FileNotFoundError.
    """

    def __init__(self, path: str | PathLike[str], *, topics: Iterable[str] | None = None) -> None:
        self.path = Path(path)
        self.skipped: Counter[str] = Counter()
        self.lost: list[str] = []
        self._only = None if topics is None else frozenset(topics)
        self._is_mcap = False
        if not self.path.is_dir():
            with self.path.open("rb") as file:
                self._is_mcap = reader.sniff(file.read(16), self.path)
        self._start_ns: int | None = None
        self.end_ns: int | None = None
        """Time of the last message [ns]; None unless the file has a summary with it."""

    @property
    def start_ns(self) -> int | None:
        """Time of the first message [ns]; None where there is none."""
        if self._start_ns is None:
            self._start_ns = next((message.t_ns for message in self.messages()), None)
        return self._start_ns

    def messages(self, from_ns: int | None = None) -> Iterator[TimedMessage]:
        """Yield the messages in the order of time.

        Parameters
        ----------
        from_ns : int, optional
            Leave out earlier messages [ns].

        Yields
        ------
        TimedMessage

        Raises
        ------
        FormatError
            Nothing of the file can be read; other damage is counted.
        UnknownNameError
            The file lacks one of the topics; the message gives the nearest.
        """
        found = self._of_mcap(from_ns) if self._is_mcap else self._of_series()
        for message in found:
            if self._only is not None and message.topic not in self._only:
                continue
            if from_ns is None or message.t_ns >= from_ns:
                yield message

    def _of_mcap(self, from_ns: int | None) -> Iterator[TimedMessage]:
        scan = _TimedScan(self.path, from_ns or 0)
        forms: dict[int, tuple[str, McapForm]] = {}
        for t_ns, number, payload in scan.timed():
            if scan.times_ns and not forms:  # the summary was read, so all channels are known
                self.end_ns = scan.times_ns[1]
                self._check_names({channel.topic for channel in scan.channels.values()})
            if number not in forms:
                channel = scan.channels[number]
                form = form_of_channel(scan.schemas[channel.schema_id].name, channel.encoding)
                if form is None:  # it was selected, so it exists
                    continue
                forms[number] = channel.topic, form
            yield TimedMessage(t_ns, *forms[number], payload)
        skipped: Counter[str] = Counter()
        for number, count in scan.passed_over.items():
            skipped[scan.channels[number].topic] += count
        self._account({channel.topic for channel in scan.channels.values()}, skipped, scan)

    def _of_series(self) -> Iterator[TimedMessage]:
        skipped: Counter[str] = Counter()
        known: set[str] = set()
        with files.open_blocks(self.path, on_error="salvage") as blocks:
            for block in blocks:
                names = {topic for _, topic, _ in topics_of(block)}
                parts = []
                for _, topic, series in topics_of(block):
                    parts += parts_of(topic, series, names)[0]
                known.update(part.topic for part in parts)
                forms = [form_of_channel(part.kind.name, Wire.CDR) for part in parts]
                for rows, turns in in_turn(parts):
                    waiting = []
                    for number, t_ns, payloads in rows:
                        data = map(bytes, payloads.rows())
                        waiting.append((number, zip(t_ns.tolist(), data, strict=True)))
                    for turn in turns.tolist():
                        number, messages = waiting[turn]
                        t_ns, payload = next(messages)
                        form, topic = forms[number], parts[number].topic
                        if form is None:
                            skipped[topic] += 1
                        else:
                            yield TimedMessage(t_ns, topic, form, payload)
            skipped.update(blocks.report.skipped)
            self._account(known | set(skipped), skipped, blocks.report)

    def _check_names(self, known: set[str]) -> None:
        """Raise an error where the file lacks a selected topic."""
        if missing := sorted((self._only or set()) - known):
            raise UnknownNameError("topic", missing[0], known)

    def _account(self, known: set[str], skipped: Counter[str], told: ReadReport | McapScan) -> None:
        """Store what a complete pass left out."""
        self._check_names(known)
        if self._only is not None:
            skipped = Counter({name: skipped[name] for name in self._only & set(skipped)})
        lost = list(told.damage)
        if told.lost_bytes:
            lost.insert(0, f"{told.lost_bytes} bytes of the input cannot be read")
        if told.lost_messages:
            lost.insert(0, f"{told.lost_messages} messages of the input are damaged")
        self.skipped, self.lost = skipped, lost


class _TimedScan(McapScan):
    """Pass that keeps the log time of each message, and skips chunks before the start time."""

    batch_bytes = 2**20

    def __init__(self, path: Path, from_ns: int) -> None:
        super().__init__(path, salvage=True, wanted=_has_form)
        self._from_ns = from_ns
        self._passes_over = False
        self._timed: list[tuple[int, int, bytes]] = []

    def timed(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield log time, channel and payload, in the order of time within each MiB."""
        for _ in self.batches():
            now, self._timed = self._timed, []
            now.sort(key=itemgetter(0))
            yield from now

    def _take_chunk(self, head: bytes, content: bytes, end: int) -> None:
        ends_ns = int.from_bytes(content[8:16], "little")
        if self.times_ns is not None and ends_ns < self._from_ns:  # its channels are in the summary
            self._chunked = self._passes_over = True
            self._search_from = end
        else:
            super()._take_chunk(head, content, end)

    def _take_messages(self, data: bytes, records: Iterable[tuple[int, int, int]]) -> None:
        begun = len(self._timed)

        def noting() -> Iterator[tuple[int, int, int]]:
            for opcode, start, stop in records:
                yield opcode, start, stop  # the caller compares it with the least size of a message
                if opcode == Opcode.MESSAGE:
                    channel = self._same.get(int.from_bytes(data[start : start + 2], "little"), -1)
                    if channel in self._chosen:
                        t_ns = int.from_bytes(data[start + 6 : start + 14], "little")
                        self._timed.append((t_ns, channel, data[start + MESSAGE_HEAD : stop]))

        try:
            super()._take_messages(data, noting())
        except FormatError:
            del self._timed[begun:]  # all of a chunk, or nothing
            raise

    def _compare_count(self) -> None:
        if not self._passes_over:
            super()._compare_count()


def _has_form(_topic: str, schema: str, encoding: str) -> bool:
    return form_of_channel(schema, encoding) is not None
