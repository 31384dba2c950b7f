"""Output of ULog records: sorting by stamp, and a queue to a writing thread."""

from __future__ import annotations

from threading import Condition, Thread
from typing import TYPE_CHECKING, Final

from strapdown.formats.ulog.record_encoding import interleaved, single

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import BinaryIO

    from strapdown.formats.ulog.record_encoding import Rows

__all__ = ["LiveQueue", "OrderedStream"]

_FLUSH_S: Final = 0.1
"""Longest time that a record waits in the queue [s]."""
_NEVER: Final = 2**63
_ROWS: Final = 2**17
"""Rows of a topic that are sorted at once."""


class OrderedStream:
    """Stream that writes records in the order of their stamps; late ones are left out.

    Parameters
    ----------
    stream : BinaryIO
        Target of the bytes; flushed after every write.
    reorder_us : int
        Longest time by which a record may be earlier than the latest one before it [us]; none
        waits longer than twice that.
    head : callable
        Returns the bytes before all records, from the stamp of the first.
    subscriptions : mapping of int to bytes
        Records to write before the first data of each message id.
    written_us : dict of int to int
        Last stamp in the file of each subscribed message id.

    Attributes
    ----------
    rows, late_rows : int
        Data records that were accepted, and that were too late.
    """

    def __init__(
        self,
        stream: BinaryIO,
        reorder_us: int,
        head: Callable[[int], bytes],
        subscriptions: Mapping[int, bytes],
        written_us: dict[int, int],
    ) -> None:
        self.rows = self.late_rows = 0
        self._stream = stream
        self._reorder_us = reorder_us
        self._head = head
        self._subscriptions = subscriptions
        self._waiting: list[Rows] = []
        self._oldest_us, self._newest_us = _NEVER, 0
        self._half_second: int | None = None
        self._written_us = written_us

    def take(self, parts: Sequence[Rows]) -> None:
        """Add records and write those that are due; without records, write all waiting ones."""
        for part in filter(len, map(self._timely, parts)):
            self._waiting.append(part)
            self._oldest_us = min(self._oldest_us, _first_us(part))
            self._newest_us = max(self._newest_us, int(part.t_us[-1]))
        if not parts:
            self._write(self._newest_us)
        elif self._newest_us - self._oldest_us >= 2 * self._reorder_us:
            self._write(self._newest_us - self._reorder_us)

    def _timely(self, part: Rows) -> Rows:
        """Leave out data with decreasing stamps."""
        if part.msg_id is None:
            return part
        late = int(part.t_us.searchsorted(self._written_us.get(part.msg_id, 0)))
        self.late_rows += late
        self.rows += len(part) - late
        return part[late:]

    def _write(self, until_us: int) -> None:
        """Write records up to a stamp, some hundred thousand rows at a time."""
        while self._oldest_us <= until_us:
            ends_us = [int(part.t_us[_ROWS]) for part in self._waiting if len(part) > _ROWS]
            self._write_at_once(min([until_us, *ends_us]))

    def _write_at_once(self, until_us: int) -> None:
        cuts = [int(part.t_us.searchsorted(until_us, "right")) for part in self._waiting]
        cut_parts = list(zip(self._waiting, cuts, strict=True))
        ready = sorted((part[:cut] for part, cut in cut_parts if cut), key=_first_us)
        self._waiting = [part[cut:] for part, cut in cut_parts if cut < len(part)]
        self._oldest_us = min(map(_first_us, self._waiting), default=_NEVER)
        if self._half_second is None:
            self._stream.write(self._head(_first_us(ready[0])))
        parts = []
        for part in ready:
            if part.msg_id is not None:
                if part.msg_id not in self._written_us:
                    parts.append(single(_first_us(part), self._subscriptions[part.msg_id]))
                    self._written_us[part.msg_id] = 0
                written = max(self._written_us[part.msg_id], int(part.t_us[-1]))
                self._written_us[part.msg_id] = written
            parts.append(part)
        data, self._half_second = interleaved(parts, self._half_second)
        self._stream.write(data.data)
        self._stream.flush()


class LiveQueue:
    """Bounded queue to a thread that writes records.

    Parameters
    ----------
    take : callable
        Function for records, called in the thread.
    room : int
        Bytes that may wait. A larger piece is accepted when the queue is empty.
    """

    def __init__(self, take: Callable[[Sequence[Rows]], None], room: int) -> None:
        self._take = take
        self._room = room
        self._parts: list[Rows] = []
        self._bytes = 0
        self._closed = False
        self._error: BaseException | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="ulog", daemon=True)
        self._thread.start()

    def put(self, parts: Sequence[Rows]) -> bool:
        """Queue records that belong together; return False, without queueing, where it is full.

        Raises
        ------
        OSError
            Earlier records could not be written.
        """
        size = sum(part.records.nbytes for part in parts)
        with self._changed:
            self._check()
            if self._parts and self._bytes + size > self._room:
                return False
            self._parts += parts
            self._bytes += size
            if 2 * self._bytes > self._room:
                self._changed.notify()
        return True

    def close(self) -> None:
        """Wait until all records are written.

        Raises
        ------
        OSError
            Records could not be written.
        """
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        self._check()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        closed = False
        while not closed:
            with self._changed:
                self._changed.wait_for(self._is_urgent, _FLUSH_S)
                parts, self._parts, self._bytes = self._parts, [], 0
                closed = self._closed
            try:
                self._take(parts)
            except BaseException as error:  # noqa: BLE001 (raised by the next put)
                self._error = error
                return

    def _is_urgent(self) -> bool:
        return self._closed or 2 * self._bytes > self._room


def _first_us(part: Rows) -> int:
    return int(part.t_us[0])
