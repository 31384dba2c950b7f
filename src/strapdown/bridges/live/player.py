"""Playback of recordings onto live topics, at recorded intervals."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum, auto
from threading import Condition
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from strapdown._html import FieldsAsHtml
from strapdown.bridges.live.recorder import Refused
from strapdown.bridges.live.relay import steps_between
from strapdown.errors import StrapdownError, TransportError, ValueRangeError
from strapdown.formats.playback import MessageFile
from strapdown.messages import conversion
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from strapdown.formats.playback import TimedMessage
    from strapdown.transport.topic import Topic

    _Step: TypeAlias = "tuple[type[Any], Callable[[Any], Any]]"
    _Way: TypeAlias = "tuple[Topic[Any] | None, list[_Step]]"
    Targets: TypeAlias = "Mapping[str, Topic[Any]] | Callable[[str, type[Any]], Topic[Any] | None]"

__all__ = ["PlayReport", "Player"]

SLICE_S: Final = 0.1
"""Longest uninterrupted wait, so that signals are handled [s]."""


@dataclass(frozen=True)
class PlayReport(FieldsAsHtml):
    """An account of playing.

    Parameters
    ----------
    messages : mapping of str to int
        Messages sent, by topic of the recording.
    skipped : mapping of str to int
        Messages that were not sent: their type has no topic, or no target was given.
    passes : int
        Number of times that the end was reached.
    left_out : mapping of str to int
        Fields that the type of a topic cannot hold, with how many messages used them.
    lost : tuple of str
        Damage in the recording and messages refused by a topic, one line each.
    """

    messages: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    passes: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


class _Next(Enum):
    """Outcome of the wait for a message."""

    SEND = auto()
    SEEK = auto()
    STOP = auto()


class Player:
    """Playback of the messages of a recording at the intervals at which they were recorded.

    :meth:`run` plays in the thread that calls it; the other methods work from any thread.
    Messages keep their stamps and, from MCAP, their bytes; where a topic has another type they
    are converted as :class:`~strapdown.bridges.live.relay.Relay` does.

    Parameters
    ----------
    path : path-like
        A recording of any format.
    targets : mapping of str to Topic, or callable
        Destination of each topic; a function gets the name and type of a topic and returns a
        handle, or None to leave the topic out.
    rate : float
        Recorded seconds per second; ``inf``: as fast as possible.
    loop : bool
        Restart at the end.
    start_s : float
        Start position [s after the first message].
    stop_s : float
        End, exclusive [s after the first message].
    topics : iterable of str, optional
        Topics to play, by default all.

    Raises
    ------
    ValueRangeError
        The rate is not above 0, ``start_s`` is negative, or ``stop_s`` not after it.
    FormatError, OSError
        The recording cannot be read.

    Examples
    --------
    >>> with Topic(Imu) as topic:  # doctest: +SKIP
    ...     Player("run.mcap", {"imu": topic}, rate=2.0).run()
    """

    def __init__(  # noqa: PLR0913 (options of playing)
        self,
        path: str | PathLike[str],
        targets: Targets,
        *,
        rate: float = 1.0,
        loop: bool = False,
        start_s: float = 0.0,
        stop_s: float = math.inf,
        topics: Iterable[str] | None = None,
    ) -> None:
        if not 0.0 <= start_s < math.inf:
            raise ValueRangeError(f"expected a start of 0 s or more, got {start_s}")
        self._rate = _checked_rate(rate)
        self._file = MessageFile(path, topics=topics)
        self._targets = targets
        self._loop = loop
        if not stop_s > start_s:
            raise ValueRangeError(f"expected an end after the start, got {stop_s} and {start_s} s")
        self._start_s, self._stop_s = start_s, stop_s
        self._ways: dict[tuple[str, type[Any]], _Way] = {}
        self._sent: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self._refused: dict[str, Refused] = {}
        self._passes = 0
        self._changed = Condition()
        self._stopped = self._paused = False
        self._seek_s: float | None = None
        self._start_ns: int | None = None
        self._now_ns = self._anchor_ns = 0
        self._anchor_s = 0.0

    @property
    def position_s(self) -> float:
        """Position [s after the first message]."""
        return max(0.0, (self._now_ns - (self._start_ns or 0)) / NS_PER_S)

    @property
    def duration_s(self) -> float | None:
        """Length of the recording [s]; None before it plays or if the file does not state it."""
        start_ns, end_ns = self._start_ns, self._file.end_ns
        return None if start_ns is None or end_ns is None else (end_ns - start_ns) / NS_PER_S

    @property
    def rate(self) -> float:
        """Recorded seconds per second; may be changed while playing."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        with self._changed:
            self._anchor(self._now_ns if self._paused else self._time_ns())
            self._rate = _checked_rate(rate)
            self._changed.notify_all()

    @property
    def paused(self) -> bool:
        """Whether playing is paused; may be changed."""
        return self._paused

    @paused.setter
    def paused(self, paused: bool) -> None:
        with self._changed:
            self._anchor(self._now_ns)
            self._paused = paused
            self._changed.notify_all()

    def seek(self, position_s: float) -> None:
        """Continue from another position [s after the first message]."""
        with self._changed:
            self._seek_s = max(0.0, position_s)
            self._changed.notify_all()

    def stop(self) -> None:
        """End :meth:`run`."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def run(self) -> PlayReport:
        """Play until the end, or :meth:`stop`; once.

        Returns
        -------
        PlayReport

        Raises
        ------
        TransportError
            A topic cannot be opened, has a type that there is no conversion to, or does not
            take a message in time.
        UnknownNameError
            The recording does not have one of the topics.
        FormatError, OSError
            The recording cannot be read.
        """
        from_s = self._start_s
        self._start_ns = self._file.start_ns
        while True:
            if self._pass(from_s) is _Next.STOP:
                break
            if self._seek_s is not None:
                from_s, self._seek_s = self._seek_s, None
                continue
            self._passes += 1
            if not self._loop or self._start_ns is None:
                break
            from_s = 0.0
        return self.report()

    def report(self) -> PlayReport:
        """Return the account so far."""
        lost = [*self._file.lost, *(each.line(name) for name, each in [*self._refused.items()])]
        skipped = self._file.skipped + self._skipped
        left_out = dict(self._left_out)
        return PlayReport(dict(self._sent), dict(skipped), self._passes, left_out, tuple(lost))

    def _pass(self, from_s: float) -> _Next | None:
        """Play once from a position to the end; return the reason if it ended before."""
        from_ns = (self._start_ns or 0) + round(from_s * NS_PER_S)
        with self._changed:
            self._now_ns = from_ns
            self._anchor(from_ns)
        for message in self._file.messages(from_ns if from_s else None):
            if (message.t_ns - (self._start_ns or 0)) / NS_PER_S >= self._stop_s:
                break
            step = self._wait_for(message.t_ns)
            if step is not _Next.SEND:
                return step
            self._send(message)
        return None

    def _wait_for(self, t_ns: int) -> _Next:
        """Wait until a message is due."""
        with self._changed:
            while True:
                if self._stopped:
                    return _Next.STOP
                if self._seek_s is not None:
                    return _Next.SEEK
                if self._paused:
                    self._changed.wait(SLICE_S)
                    continue
                left_s = (t_ns - self._anchor_ns) / NS_PER_S / self._rate
                left_s -= monotonic() - self._anchor_s
                if left_s <= 0.0 or math.isinf(self._rate):
                    self._now_ns = t_ns
                    return _Next.SEND
                self._changed.wait(min(left_s, SLICE_S))

    def _send(self, message: TimedMessage) -> None:
        topic, form = message.topic, message.form
        key = topic, form.msg_type
        if key not in self._ways:
            targets = self._targets
            handle = targets(*key) if callable(targets) else targets.get(topic)
            steps = [] if handle is None else steps_between(form.msg_type, handle.msg_type)
            self._ways[key] = handle, steps
            with self._changed:  # the time that opening took is not played
                self._anchor(message.t_ns)
        handle, steps = self._ways[key]
        if handle is None:
            self._skipped[topic] += 1
            return
        try:
            content = form.decode(message.payload)
            for kind, convert in steps:
                if content is not None:
                    self._left_out.update(conversion.losses(content, kind))
                    content = convert(content)
            if content is not None:
                handle.send(content)
                self._sent[topic] += 1
        except TransportError:
            raise
        except (StrapdownError, OverflowError) as error:  # only this message is refused
            self._refused.setdefault(topic, Refused(str(error))).count += 1

    def _anchor(self, t_ns: int) -> None:
        """Tie the present to a time in the recording."""
        self._anchor_ns, self._anchor_s = t_ns, monotonic()

    def _time_ns(self) -> int:
        """Return the time in the recording that corresponds to now."""
        if math.isinf(self._rate):
            return self._now_ns
        return self._anchor_ns + round((monotonic() - self._anchor_s) * self._rate * NS_PER_S)


def _checked_rate(rate: float) -> float:
    if not rate > 0.0:
        raise ValueRangeError(f"expected a rate above 0, got {rate}")
    return rate
