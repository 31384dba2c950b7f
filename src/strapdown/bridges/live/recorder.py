"""Recording of live topics to a file that stays readable if the process is killed."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from strapdown._closing import Closing
from strapdown._html import FieldsAsHtml
from strapdown._words import counted
from strapdown.errors import FormatError, RecordError, TransportError, ValueRangeError
from strapdown.formats.mcap.live import LiveMcap, LiveOptions
from strapdown.formats.mcap.messages import McapForm, mcap_form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    from strapdown.transport.stats import Info
    from strapdown.transport.topic import Topic

__all__ = ["LiveOptions", "RecordReport", "Recorder"]

LOOK_S: Final = 0.1
"""Longest wait for a topic at the end of a recording [s]."""
JOIN_S: Final = 0.1
"""Time in which what a topic retains arrives [s]."""
LONGEST_JOIN_S: Final = 1.0
"""Longest time to receive it [s]."""
SHORT_S: Final = 0.001
"""Interval between checks whether a slow disk has caught up [s]."""
FRAMES: Final = "ENU from FLU; px4_msgs: NED from FRD"
"""Frames of the messages, as stated in the file."""
_USUAL: Final = LiveOptions()


@dataclass(frozen=True)
class RecordReport(FieldsAsHtml):
    """An account of a recording.

    Parameters
    ----------
    files : tuple of Path
        In the order of writing.
    messages : mapping of str to int
        Messages that were taken in, by topic.
    bytes : int
        Size of all files.
    dropped : int
        Messages given to :meth:`Recorder.write` that found the queue full.
    lost : tuple of str
        What is missing, one line each.
    notes : tuple of str
        Where topics begin that had retained more when they were joined, one line each.
    """

    files: tuple[Path, ...]
    messages: Mapping[str, int] = field(default_factory=dict)
    bytes: int = 0
    dropped: int = 0
    lost: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Recorder(Closing):
    """Recorder of topics, and of messages from :meth:`write`, to an MCAP file.

    A context manager; every method is safe among threads. Each topic has a thread that receives.
    At most 0.25 s are lost where the process is killed. A topic begins with the oldest message that
    it retains and after which none is missing.

    Parameters
    ----------
    path : path-like
        The file; in a series, ``run.mcap`` means ``run_000.mcap`` and so on.
    topics : iterable of Topic
        Handles from which only the recorder receives: a message that the caller received from one
        would be missing in the file. The caller closes them after the recorder.
    force : bool
        Replace files that exist; never one that somebody writes.
    options : LiveOptions
        When to begin another file, and when to end.
    count : int, optional
        End after so many messages.
    metadata : mapping of str to str, optional
        Metadata of the file, in addition to the version, the start time and the frames.

    Raises
    ------
    FileExistsError
        A file exists, and not ``force``; or is being written by another process.
    OSError
        Any other error of the operating system for the file.
    TypeError
        A topic carries a type of a user's own.

    Examples
    --------
    >>> with Recorder("run.mcap", [Topic(Imu)]) as recorder:  # doctest: +SKIP
    ...     recorder.add("pose", Pose3D)
    ...     recorder.write("pose", Pose3D(x=1.0))
    ...     recorder.wait(10.0)
    >>> recorder.report().messages  # doctest: +SKIP
    {'imu': 2000, 'pose': 1}
    """

    def __init__(  # noqa: PLR0913 (options of a recording)
        self,
        path: str | PathLike[str],
        topics: Iterable[Topic[Any]] = (),
        *,
        force: bool = False,
        options: LiveOptions = _USUAL,
        count: int | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._forms: dict[str, _Channel] = {}
        self._taken: Counter[str] = Counter()
        self._refused: dict[str, Refused] = {}
        self._followed: list[_Followed] = []
        self._left = count
        self._lock = Lock()
        self._stopping, self._ended = Event(), Event()
        self._closed: RecordReport | None = None
        said = {"started": datetime.now(UTC).isoformat(), "frames": FRAMES, **(metadata or {})}
        self._file = LiveMcap(
            path, force=force, options=options, metadata=said, failed=self._ended.set
        )
        try:
            for topic in topics:
                self.follow(topic)
        except BaseException:
            self.close()
            raise

    def add(self, name: str, msg_type: type[Any]) -> None:
        """Define a topic of the file; repeating a definition has no effect.

        Parameters
        ----------
        name : str
            Its name in the file.
        msg_type : type
            Of its messages.

        Raises
        ------
        TypeError
            Messages of that type cannot be written, or the topic has another.
        """
        form = mcap_form(msg_type)
        with self._lock:
            if name not in self._forms:
                number = self._file.add_channel(name, form.schema)
                self._forms[name] = _Channel(number, form)
            elif (known := self._forms[name].form) is not form:
                raise TypeError(
                    f"topic {name} is recorded as {known.msg_type.__name__}, got "
                    f"{msg_type.__name__}; record it under another name"
                )

    def write(self, name: str, message: object, *, received_ns: int | None = None) -> bool:
        """Write a message, without waiting for the disk.

        Parameters
        ----------
        name : str
            A topic that was added.
        message : object
            Of its type.
        received_ns : int, optional
            Time of reception [ns since 1970]; by default now.

        Returns
        -------
        bool
            False where it is not written: the queue is full, the message does not fit the
            file (both are counted), or as many as wanted have come.

        Raises
        ------
        RecordError
            The recording has ended: the disk is full, or the file is gone.
        TypeError
            The message is of another type.
        KeyError
            The topic was not added.
        """
        channel = self._forms[name]
        if type(message) is not (kind := channel.form.msg_type):
            raise TypeError(f"topic {name} takes {kind.__name__}, got {type(message).__name__}")
        try:
            payload = channel.form.encode(message)
            stamp_ns = channel.form.stamp_ns(message)
        except (ValueRangeError, FormatError, OverflowError) as error:
            return self._refuse(name, error)
        if received_ns is None:
            received_ns = time.time_ns()
        with self._lock:
            if self._left == 0:
                return False
            done = self._file.write(
                channel.number, payload, publish_ns=stamp_ns, log_ns=received_ns
            )
            self._taken[name] += done
            if done and self._left is not None:
                self._left -= 1
                if self._left == 0:
                    self._ended.set()
        return done

    def follow(self, topic: Topic[Any], name: str | None = None) -> None:
        """Record what a topic carries from now on, in a thread.

        Parameters
        ----------
        topic : Topic
            A handle, which stays open until the recorder is closed.
        name : str, optional
            Its name in the file; by default its own.

        Raises
        ------
        TypeError
            As :meth:`add`.
        """
        name = name or topic.name
        self.add(name, topic.msg_type)
        followed = _Followed(name, topic)
        followed.thread = Thread(target=self._receive, args=(followed,), daemon=True)
        self._followed.append(followed)
        followed.thread.start()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the recording ends by itself: as many as wanted have come, or the disk fails.

        Returns
        -------
        bool
            Whether it has ended.
        """
        return self._ended.wait(timeout_s)

    @property
    def messages(self) -> int:
        """Messages taken in."""
        return self._taken.total()

    @property
    def size(self) -> int:
        """Bytes written, of all files."""
        return self._file.size

    @property
    def dropped(self) -> int:
        """Messages that found the queue full."""
        return self._file.dropped

    def report(self) -> RecordReport:
        """Return the account until now; it asks every topic what was lost."""
        return self._closed or RecordReport(
            self._file.files,
            dict(self._taken),
            self._file.size,
            self._file.dropped,
            tuple(self._losses()),
            tuple(followed.began for followed in list(self._followed) if followed.began),
        )

    def close(self) -> RecordReport:
        """Take in what waits on the topics, and finish the file; a second call does nothing.

        Raises
        ------
        RecordError
            The recording ended before: the disk is full, or the file is gone.
        """
        if self._closed is None:
            self._stopping.set()
            for followed in self._followed:
                followed.thread.join()
            try:
                self._file.close()
            finally:
                self._closed = self.report()
        return self._closed

    def _receive(self, followed: _Followed) -> None:
        """Receive until the end, and then what waits."""
        name, topic = followed.name, followed.topic
        try:
            self._join(followed)
            while not self._stopping.is_set():
                self._take(name, topic, LOOK_S)
            for _ in range(topic.pending_count()):  # messages that come later are not waited for
                self._take(name, topic, 0.0)
        except RecordError:
            return  # close() reports it
        except Exception as error:  # noqa: BLE001 (a thread has nobody to raise to: it is counted)
            followed.error = error

    def _join(self, followed: _Followed) -> None:
        """Write what the topic retains, from the first message after which none is missing.

        A topic that retains as much as it can loses the oldest messages while it is joined.
        """
        name, topic = followed.name, followed.topic
        retained: list[tuple[Any, Info]] = []
        following: dict[str, int] = {}
        start, begun = 0, time.monotonic()
        while True:
            got, passed_s = topic.recv_with_info(0.0), time.monotonic() - begun
            if got is None:
                if passed_s > JOIN_S or self._stopping.wait(SHORT_S):
                    followed.begin(retained[start:])
                    break
                continue
            info = got[1]
            if info.seq != following.get(info.publisher, info.seq):
                start = len(retained)
            following[info.publisher] = info.seq + 1
            retained.append(got)
            if passed_s > LONGEST_JOIN_S:  # it does not keep up: all that is missing is lost
                start = 0
                break
        for message, info in retained[start:]:
            self._wait_for_room()
            self.write(name, message, received_ns=info.received_ns)

    def _take(self, name: str, topic: Topic[Any], timeout_s: float) -> None:
        """Receive and write one message; the topic retains the next ones as long as it can."""
        self._wait_for_room()
        got = topic.recv_with_info(timeout_s)
        if got is not None:
            self.write(name, got[0], received_ns=got[1].received_ns)

    def _wait_for_room(self) -> None:
        while self._file.is_busy:
            time.sleep(SHORT_S)

    def _refuse(self, name: str, error: Exception) -> bool:
        with self._lock:
            self._refused.setdefault(name, Refused(str(error))).count += 1
        return False

    def _losses(self) -> list[str]:
        """Return a line for each kind of loss."""
        lost = []
        if dropped := self._file.dropped:
            lost.append(f"{counted(dropped, 'message')} dropped: the disk is too slow")
        lost += [each.line(name) for name, each in list(self._refused.items())]
        for followed in list(self._followed):
            lost += followed.losses()
        return lost


class _Channel(NamedTuple):
    number: int
    form: McapForm


@dataclass
class Refused:
    """Messages of one topic that could not be written, or sent, and why the first could not."""

    why: str
    count: int = 0

    def line(self, name: str) -> str:
        """Return the losses of a report as lines."""
        return f"{name}: {counted(self.count, 'message')} refused: {self.why}"


@dataclass
class _Followed:
    name: str
    topic: Topic[Any]
    thread: Thread = field(init=False)
    error: Exception | None = None
    before: tuple[int, int] = (0, 0)
    """Messages overwritten and lost before the first one of the recording."""
    began: str = ""
    """A line about that message, if others were lost before it."""

    def begin(self, messages: Sequence[tuple[Any, Info]]) -> None:
        """Count losses from here on; ``messages`` are all that was received, without a gap."""
        stats = self.topic.stats(settled=False)
        self.before = stats.lost_overwritten, stats.lost_transport
        if any(self.before) and messages:
            self.began = (
                f"{self.name}: begins with message {messages[0][1].seq}: retained ones before it "
                "were overwritten while the topic was joined"
            )

    def losses(self) -> list[str]:
        """Return a line with the losses of the topic since the recording began."""
        ways: dict[str, int] = {}
        try:
            stats = self.topic.stats()
            ways["overwritten before they were received"] = stats.lost_overwritten - self.before[0]
            ways["lost on the way"] = stats.lost_transport - self.before[1]
            ways["malformed"] = stats.malformed
        except TransportError as error:  # the handle was closed
            self.error = self.error or error
        lost = [f"{self.name}: {counted(n, 'message')} {way}" for way, n in ways.items() if n]
        return [*lost, f"{self.name}: ended early: {self.error}"] if self.error else lost
