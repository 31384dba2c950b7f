"""``strapdown record``: crash-safe recording of live topics."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strapdown._words import counted
from strapdown.bridges.live.recorder import LiveOptions, Recorder
from strapdown.cli._common import Force
from strapdown.cli._live import (
    exit_code,
    parse_bytes,
    parse_split,
    positive,
    showing,
    stopped_by_signals,
)
from strapdown.cli._outcome import Outcome, say
from strapdown.errors import UnsupportedError
from strapdown.messages import Imu, RosImu
from strapdown.transport.address import (
    await_type,
    can_find_type,
    find_type,
    open_topic,
    parse_address,
)
from strapdown.transport.backends import Ros1, Ros2

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strapdown.transport.address import Address
    from strapdown.transport.topic import Topic

LOOK_S = 0.2
"""Interval of checks for signals and the time limit [s]."""


def record(
    sources: Annotated[
        list[str], typer.Argument(help="Live topics, such as ipc:imu or ros1:/imu/data.")
    ],
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, .mcap.")],
    split: Annotated[
        list[str] | None,
        typer.Option(help="Start another file at this size, 1GB, or age, 60s; or both."),
    ] = None,
    min_free: Annotated[str, typer.Option(help="End when less disk space is free.")] = "200MB",
    duration: Annotated[
        float | None, typer.Option(help="Seconds to record; by default until Ctrl-C.")
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, help="End after this many messages of all topics.")
    ] = None,
    force: Force = False,
) -> Outcome:
    """Record live topics: a kill costs 0.25 s at most, and the file needs no repair.

    A source is BACKEND:NAME, with options such as ipc:imu?type=Pose3D. Topics without a
    publisher are waited for; messages that a topic still retains are recorded as well, from the
    first after which none is missing. With --split, run.mcap becomes run_000.mcap, run_001.mcap
    and so on. Ctrl-C and SIGTERM end the recording and finish the file. A full disk also ends it
    and leaves a complete file.

    Exit codes: 3 messages were lost; 130 Ctrl-C; 0 SIGTERM.

    The fields of --json: output, files, messages (by topic), bytes, dropped, notes.

    Examples
    --------
    strapdown record ipc:imu -o run.mcap --duration 60

    strapdown record ipc:imu ros1:/imu/data -o run.mcap --split 1GB --split 10min

    strapdown record zenoh:tcp/10.0.0.2:7447/imu -o far.mcap --min-free 1GB --force
    """
    if output.suffix.lower() != ".mcap":
        raise UnsupportedError(
            f"expected a name that ends in .mcap, got {output.suffix!r}; convert it afterwards",
            path=output,
        )
    split_bytes, split_s = parse_split(split or [], "'--split'")
    options = LiveOptions(split_bytes, split_s, parse_bytes(min_free, "'--min-free'"))
    until = time.monotonic() + positive(duration, "'--duration'")
    named = _named([parse_address(source) for source in sources])
    with ExitStack() as stack:
        stop, signals = stack.enter_context(stopped_by_signals())
        show = stack.enter_context(showing())
        topics = stack.enter_context(ExitStack())  # closed after the recorder
        metadata = {"command": shlex.join(["strapdown", *sys.argv[1:]])}
        opened = _Sources(named, topics)  # before the file, so that a failure leaves none
        recorder = stack.enter_context(
            Recorder(output, force=force, options=options, count=count, metadata=metadata)
        )
        with opened.followed_by(recorder):
            began = time.monotonic()
            while not stop.is_set() and (left := until - time.monotonic()) > 0.0:
                opened.check()
                if recorder.wait(min(left, LOOK_S)):
                    break
                show(_line(recorder, time.monotonic() - began))
        report = recorder.close()
    messages = sum(report.messages.values())
    notes = [f"no message on {name}" for name in named if not report.messages.get(name)]
    notes += report.notes
    data = {
        "output": str(output),
        "files": [str(path) for path in report.files],
        "messages": dict(report.messages),
        "bytes": report.bytes,
        "dropped": report.dropped,
        "notes": notes,
    }
    wrote = str(report.files[0]) if len(report.files) == 1 else counted(len(report.files), "file")
    view = [f"wrote {wrote}: {counted(messages, 'message')}, {report.bytes} bytes", *notes]
    return Outcome(data, view, [*opened.lost, *report.lost], code=exit_code(signals))


class _Sources:
    """Topics to record: the present ones, and those that are waited for.

    Parameters
    ----------
    named : mapping of str to Address
        By name in the file.
    topics : ExitStack
        Closes them.
    """

    def __init__(self, named: Mapping[str, Address], topics: ExitStack) -> None:
        self._topics = topics
        self._failed: dict[str, Exception] = {}
        self._there: list[tuple[str, Address, Topic[Any]]] = []
        self._awaited: dict[str, Address] = {}
        self._stop = Event()
        for name, address in named.items():
            kind = address.msg_type
            if kind is None and can_find_type(address):
                kind = find_type(address)
                if kind is None:
                    self._awaited[name] = address
                    continue
            self._there.append((name, address, self._open(address, kind)))

    @property
    def lost(self) -> list[str]:
        """One line for each topic that cannot be recorded."""
        return [f"{name}: not recorded: {error}" for name, error in self._failed.items()]

    def check(self) -> None:
        """Raise if no topic can be recorded."""
        if len(self._failed) == len(self._there) + len(self._awaited):
            raise next(iter(self._failed.values()))

    @contextmanager
    def followed_by(self, recorder: Recorder) -> Iterator[None]:
        """Record the topics, each as soon as it has a publisher."""
        for name, address, topic in self._there:
            _follow(recorder, name, address, topic)
        threads = [
            Thread(target=self._await, args=(recorder, *source), daemon=True)
            for source in self._awaited.items()
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._stop.set()
            for thread in threads:
                thread.join()

    def _await(self, recorder: Recorder, name: str, address: Address) -> None:
        try:
            kind, _ = await_type(
                address, stop=self._stop, waiting=lambda: say(f"waiting for {address}")
            )
            if kind is not None:
                _follow(recorder, name, address, self._open(address, kind))
        except Exception as error:  # noqa: BLE001 (the others continue; it is reported)
            self._failed[name] = error
            say(f"not recording {address}: {error}")

    def _open(self, address: Address, kind: type[Any] | None) -> Topic[Any]:
        if kind is Imu and address.msg_type is None and isinstance(address.backend, Ros1 | Ros2):
            kind = RosImu  # keeps frame_id
        return self._topics.enter_context(open_topic(address, kind))


def _follow(recorder: Recorder, name: str, address: Address, topic: Topic[Any]) -> None:
    recorder.follow(topic, name)
    say(f"recording {address}: {topic.msg_type.__name__}")


def _named(addresses: Sequence[Address]) -> dict[str, Address]:
    """Return the sources by their names in the file, prefixed with the backend if ambiguous."""
    bare = [address.name.removeprefix("/") for address in addresses]
    times = Counter(bare)
    names = [
        name if times[name] == 1 else f"{address.backend.name}/{name}"
        for name, address in zip(bare, addresses, strict=True)
    ]
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"expected each source once, got {' '.join(map(str, addresses))}")
    return dict(zip(names, addresses, strict=True))


def _line(recorder: Recorder, seconds: float) -> str:
    """Return the line of progress."""
    lost = f", {recorder.dropped} dropped" if recorder.dropped else ""
    return (
        f"{counted(recorder.messages, 'message')}, "
        f"{recorder.messages / max(seconds, LOOK_S):.0f}/s, {recorder.size / 1e6:.1f} MB{lost}"
    )
