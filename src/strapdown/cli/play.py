"""``strapdown play``: playback of a recording to live topics."""

from __future__ import annotations

import math
import os
import re
import select
import sys
import termios
import time
import tty
from contextlib import ExitStack, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from strapdown._words import counted
from strapdown.bridges.live.player import Player, PlayReport
from strapdown.cli._common import Input
from strapdown.cli._live import exit_code, positive, seconds, showing, stopped_by_signals
from strapdown.cli._outcome import Outcome, say
from strapdown.cli._streams import as_file, naming
from strapdown.errors import ValueRangeError
from strapdown.messages import Imu, RosImu
from strapdown.transport.address import open_topic, parse_address
from strapdown.transport.backends import Horus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from strapdown.transport.topic import Topic

LOOK_S: Final = 0.1
"""Interval of checks for keys and signals [s]."""
STEP_S: Final = 5.0
"""Step of the arrow keys [s]."""
KEYS: Final = "space pause, left and right 5 s, + and - rate, q end"
_NAME: Final = "{topic}"
_ARROWS: Final = {b"\x1b[D": -STEP_S, b"\x1b[C": STEP_S}
_RATES: Final = {b"+": 2.0, b"-": 0.5}
_SLOWEST: Final = 2.0**-10
_FASTEST: Final = 2.0**10
_KEY: Final = re.compile(rb"\x1b\[.|.", re.DOTALL)


def play(
    source: Input,
    *,
    to: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Target; {topic} is replaced by the name in the recording."
        ),
    ] = "ipc:{topic}",
    topic: Annotated[
        list[str] | None, typer.Option(help="A topic to play, repeatable; by default all.")
    ] = None,
    rate: Annotated[
        float, typer.Option(help="Recorded seconds per second; inf: as fast as possible.")
    ] = 1.0,
    loop: Annotated[bool, typer.Option("--loop", help="Restart at the end.")] = False,
    start: Annotated[
        float, typer.Option("--start", "--from", help="Seconds of the recording to skip.")
    ] = 0.0,
    until: Annotated[
        float | None, typer.Option(help="End, exclusive: seconds since the first message.")
    ] = None,
    duration: Annotated[float | None, typer.Option(help="Seconds to play at most.")] = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait at most for a subscriber.")] = 0.0,
) -> Outcome:
    """Play a recording to live topics at its recorded pace.

    Messages keep their stamps, and those of MCAP files their bytes. In a terminal: space
    pauses, the arrows skip 5 s back and forward, + and - double and halve the rate, q ends.

    Exit codes: 3 the recording is damaged; 130 Ctrl-C; 0 SIGTERM.

    The fields of --json: input, messages (by topic), skipped (of other types), passes, left_out
    (fields that the type of a topic cannot hold, with messages that used them).

    Examples
    --------
    strapdown play run.mcap

    strapdown play run.mcap --to zenoh:tcp/10.0.0.2:7447/imu --topic imu/data --rate 2

    strapdown play flight.ulg --to ros1:/{topic} --from 30 --until 60
    """
    until_s = positive(duration, "'--duration'")
    positive(rate, "'--rate'")
    stop_s = math.inf if until is None else seconds(until, "'--until'")
    if not stop_s > seconds(start, "'--from'"):
        raise typer.BadParameter(
            f"expected an end after the begin, got {start:g} and {stop_s:g}",
            param_hint="'--until'",
        )
    seconds(wait, "'--wait'")
    with ExitStack() as stack:
        stop, signals = stack.enter_context(stopped_by_signals())
        show = stack.enter_context(showing())
        targets = _Targets(to, stop, wait, stack)
        with naming(source):
            player = Player(
                as_file(source),
                targets,
                rate=rate,
                loop=loop,
                start_s=start,
                stop_s=stop_s,
                topics=topic,
            )
        keys = stack.enter_context(_keys())
        playing = _Playing(player)
        playing.start()
        end_s = time.monotonic() + until_s
        while playing.is_alive() and not stop.is_set() and time.monotonic() < end_s:
            for key in _KEY.findall(keys(playing)):
                _obey(player, key)
            show(_line(player))
        report = playing.finish()
    data = {
        "input": str(source),
        "messages": dict(report.messages),
        "skipped": dict(report.skipped),
        "passes": report.passes,
        "left_out": dict(report.left_out),
    }
    sent = counted(sum(report.messages.values()), "message")
    view = [f"played {source}: {sent} on {', '.join(targets.opened) or 'no topic'}"]
    view += [
        f"left out {counted(count, 'message')} on {name}: no topic carries their type"
        for name, count in report.skipped.items()
    ]
    view += [
        f"left out: {field} of {counted(count, 'message')}, the topic cannot hold it"
        for field, count in report.left_out.items()
    ]
    return Outcome(data, view, report.lost, code=exit_code(signals))


class _Targets:
    """Live topics, each opened when its first message is due."""

    def __init__(self, to: str, stop: Event, wait_s: float, stack: ExitStack) -> None:
        self.opened: list[str] = []
        self._to = to
        self._stop = stop
        self._wait_s = wait_s
        self._stack = stack

    def __call__(self, name: str, kind: type[Any]) -> Topic[Any]:
        if self.opened and _NAME not in self._to:
            raise ValueRangeError(
                f"expected one topic for --to {self._to}, the recording also holds {name!r}; "
                f"choose one with --topic, or write {_NAME} into the address"
            )
        address = parse_address(self._to.replace(_NAME, name.removeprefix("/")))
        if isinstance(address.backend, Horus) and kind is RosImu:
            kind = Imu  # the type of horus
        topic = self._stack.enter_context(open_topic(address, address.msg_type or kind))
        self.opened.append(str(address))
        until = time.monotonic() + self._wait_s
        while not self._stop.is_set() and (left := until - time.monotonic()) > 0.0:
            if topic.wait_for_subscriber(min(left, LOOK_S)):
                break
        return topic


class _Playing(Thread):
    """Thread that plays, and its error."""

    def __init__(self, player: Player) -> None:
        super().__init__(daemon=True)
        self._player = player
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._player.run()
        except Exception as error:  # noqa: BLE001 (raised where it is waited for)
            self._error = error

    def finish(self) -> PlayReport:
        """Stop, and return the report or raise the error."""
        self._player.stop()
        self.join()
        if self._error is not None:
            raise self._error
        return self._player.report()


def _no_key(playing: Thread) -> bytes:
    playing.join(LOOK_S)
    return b""


@contextmanager
def _keys() -> Iterator[Callable[[Thread], bytes]]:
    """Yield a function that waits for keys, or for an interval if there is no terminal."""
    stdin = sys.stdin.fileno() if sys.stdin and sys.stdin.isatty() else None
    if stdin is None or os.tcgetpgrp(stdin) != os.getpgrp():  # or in the background
        yield _no_key
        return
    before = termios.tcgetattr(stdin)
    tty.setcbreak(stdin)
    say(f"keys: {KEYS}")

    def pressed(_playing: Thread) -> bytes:
        ready, _, _ = select.select([stdin], [], [], LOOK_S)
        return os.read(stdin, 64) if ready else b""

    try:
        yield pressed
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)


def _obey(player: Player, key: bytes) -> None:
    """Execute the command of a key."""
    if key == b" ":
        player.paused = not player.paused
    elif key in _ARROWS:
        player.seek(player.position_s + _ARROWS[key])
    elif key in _RATES:
        player.rate = min(max(player.rate * _RATES[key], _SLOWEST), _FASTEST)
    elif key == b"q":
        player.stop()


def _line(player: Player) -> str:
    """Return the line of progress."""
    of = "" if player.duration_s is None else f" of {player.duration_s:.1f}"
    paused = ", paused" if player.paused else ""
    return f"{player.position_s:.1f}{of} s, rate {player.rate:g}{paused}"
