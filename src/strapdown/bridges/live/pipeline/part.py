"""Base of the stages of a pipeline: inputs, output, counts, start and end."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import median
from threading import Event, Lock
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Final

from strapdown._html import FieldsAsHtml
from strapdown._words import counted, wording
from strapdown.bridges.live.fusion import incoming
from strapdown.errors import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from strapdown.bridges.live.pipeline.tables import Table
    from strapdown.transport import Topic

__all__ = ["Part", "PartReport", "State"]

_DELAYS: Final = 1000
"""Number of blocks of messages over which the latency is the median."""


class State(StrEnum):
    """State of a stage."""

    STARTING = "starting"
    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True)
class PartReport(FieldsAsHtml):
    """Account of a stage, running or ended.

    Parameters
    ----------
    name, kind : str
        From the header of its table.
    state : State
    received, sent : int
        Messages received from other stages or from outside, and messages passed on, published or
        recorded.
    lost : int
        Messages that were sent to it and that it did not get.
    running_s : float
        How long it has been running [s].
    latency_s, longest_s : float
        From the receipt of a message to the sending of what it became: the median of the last
        1000 times, and the longest [s]; NaN where it has none.
    losses : tuple of str
        What was lost, dropped or left out, one line each.
    notes : tuple of str
        What a user should know, one line each.
    error : str
        Why it failed.
    """

    name: str
    kind: str
    state: State
    received: int = 0
    sent: int = 0
    lost: int = 0
    running_s: float = 0.0
    latency_s: float = math.nan
    longest_s: float = math.nan
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""

    @property
    def messages(self) -> int:
        """Messages that went through it."""
        return max(self.received, self.sent)

    @property
    def rate_hz(self) -> float:
        """Messages a second, since it runs [Hz]."""
        return self.messages / self.running_s if self.running_s > 0.0 else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON holds it."""
        return asdict(self) | {"rate_hz": self.rate_hz}


class Part(ABC):
    """Stage of a pipeline, built from its table; it runs in a separate thread.

    Parameters
    ----------
    table : Table
        Its table in the file.

    Attributes
    ----------
    parts : list of Part
        Those it takes messages from.
    inlets : dict of str to Topic
        From them, by name.
    outlet : Topic
        Where its messages go.
    stop : Event
        Ends it: a source at once, others with what they were sent before.
    rate_hz : float or None
        Messages a second, where that is known beforehand.
    notes : list of str
        What a user should know.
    """

    TAKES: ClassVar[tuple[type[Any], ...]] = ()
    """Types of the messages it takes; empty is any."""
    SOURCES: ClassVar[range] = range(1, 2)
    """Numbers of stages from which it may receive."""
    gives: type[Any] | None = None
    """Type of its output messages."""
    speed: float = 1.0
    """Ratio of the time of its messages to the wall clock."""
    seed: int | None = None
    """Seed of its noise, if that is known."""
    waits: bool = False
    """Whether senders wait for it, so that it may wait for messages of another stage."""
    address: tuple[str, str] | None = None
    """Backend and name of the live topic that it reads or publishes."""
    file_written: Path | None = None
    """File that it writes."""

    def __init__(self, table: Table) -> None:
        self.table, self.name, self.kind = table, table.name, table.kind
        self.stop = Event()
        self.parts: list[Part] = []
        self.inlets: dict[str, Topic[Any]] = {}
        self.outlet: Topic[Any] | None = None
        self.rate_hz: float | None = None
        self.error: BaseException | None = None
        self.notes: list[str] = []
        self.state = State.STARTING
        self._received = self._sent = 0
        self._began_s = self._ended_s = 0.0
        self._delays: deque[float] = deque(maxlen=_DELAYS)
        self._longest_s = 0.0
        self._counting = Lock()
        self._before = 0
        self._lost: int | None = None

    # -- overridden by each kind of stage --------------------------------------------------------

    def join(self, parts: Sequence[Part]) -> None:
        """Set the stages it receives from, which are joined before it.

        Raises
        ------
        FormatError
            One gives messages of another type than it takes.
        """
        self.parts = list(parts)
        for part in parts:
            if part.gives not in (self.TAKES or (part.gives,)):
                wanted = " or ".join(each.__name__ for each in self.TAKES)
                given = f"{getattr(part.gives, '__name__', '')} from {part.name!r}"
                raise self.table.error(f"expected messages of type {wanted}, got {given}", "from")

    def before(self) -> dict[str, Part]:
        """Return the stages upstream of it, by name."""
        found: dict[str, Part] = {}
        for part in self.parts:
            found |= {**part.before(), part.name: part}
        return found

    def open(self, stack: ExitStack) -> None:  # noqa: B027 (not every part needs it)
        """Prepare for the first message; resources to be closed go on the stack."""

    @abstractmethod
    def work(self) -> None:
        """Process messages until stopped, or until none is left."""

    def outside(self) -> Sequence[Topic[Any]]:
        """Return the topics outside of the pipeline that it receives from."""
        return ()

    def counts(self) -> tuple[int, int]:
        """Return how many messages it received, and how many it sent."""
        return self._received, self._sent

    def losses(self) -> list[str]:
        """Return one line for each kind of loss."""
        lost = self.lost()
        return [f"{counted(lost, 'message')} lost before they were received"] if lost else []

    # -- while it runs ---------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Skip messages from outside that came while other stages were being prepared."""
        with suppress(TransportError):  # it has failed, and is closed
            for topic in self.outside():
                topic.recv_all()
            self._before = self.lost()

    def begin(self) -> None:
        """Run from now on."""
        self._began_s = monotonic()
        self.state = State.RUNNING

    def settle(self) -> None:
        """Store the count of lost messages while the topics are still open."""
        lost = self.lost()
        with self._counting:
            self._lost = lost

    def end(self, error: BaseException | None) -> None:
        """Record the end, normal or by an error."""
        self._ended_s = monotonic()
        self.error = error
        self.state = State.ENDED if error is None else State.FAILED

    def give(self, message: object) -> None:
        """Send a message to the following stages."""
        if self.outlet is not None:
            self.outlet.send(message)

    def follow(self, source: Topic[Any], take: Callable[[Any], object]) -> None:
        """Pass every message of a topic to a function until stopped."""
        for messages in incoming(source, stop=self.stop):
            began_s = perf_counter()
            for message in messages:
                take(message)
            self.passed(len(messages), perf_counter() - began_s)

    def passed(self, messages: int, seconds: float) -> None:
        """Count messages that were received and passed on, and the time taken."""
        self._received += messages
        self._sent += messages
        self._delays.append(seconds)
        self._longest_s = max(seconds, self._longest_s)

    def made(self, messages: int) -> None:
        """Count messages that began here."""
        self._sent += messages

    def lost(self) -> int:
        """Count messages that were sent to it and did not come."""
        with self._counting:
            if self._lost is None:
                stats = [topic.stats() for topic in (*self.inlets.values(), *self.outside())]
                lost = (s.lost_overwritten + s.lost_transport + s.malformed for s in stats)
                return sum(lost) - self._before
            return self._lost

    def report(self) -> PartReport:
        """Return the account of the stage."""
        now_s = self._ended_s or monotonic()
        delays = list(self._delays)
        return PartReport(
            self.name,
            self.kind,
            self.state,
            *self.counts(),
            self.lost(),
            now_s - self._began_s if self._began_s else 0.0,
            median(delays) if delays else math.nan,
            self._longest_s if delays else math.nan,
            tuple(f"{self.name}: {line}" for line in self.losses()),
            tuple(f"{self.name}: {note}" for note in self.notes),
            "" if self.error is None else wording(self.error),
        )
