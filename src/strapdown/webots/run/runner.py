"""Controllers in separate processes, for the robots of one world.

The world is in this process, so that neither it nor a recording is affected by a controller that
crashes, hangs or exits. The simulation advances when every robot that has a controller waits for
it.
"""

from __future__ import annotations

import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Any

from strapdown._html import FieldsAsHtml
from strapdown.errors import StrapdownError
from strapdown.webots.run import process_port
from strapdown.webots.run.lockstep import Lockstep
from strapdown.webots.run.programs import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from strapdown.webots.port import Answer
    from strapdown.webots.run.programs import Program
    from strapdown.webots.world.local_port import LocalPort
    from strapdown.webots.world.world import World

__all__ = ["Ended", "RunReport", "ended_by_signals", "run_controllers"]

GRACE_S = 1.0
"""Default time that a controller may continue after the end [s, wall clock]."""
MISTAKES = (ValueError, TypeError, LookupError, NotImplementedError, OSError)
"""Errors of invalid requests, in addition to those of this package; others are bugs here."""
LOOK_S = 0.05
"""Interval between checks of the processes while the simulation runs [s]."""


@dataclass(frozen=True)
class Ended:
    """End of a controller.

    Parameters
    ----------
    robot : str
        Robot that it controlled.
    status : int
        Exit status of its process; 128 and the signal where a signal ended it.
    time_s : float
        Simulated time at its end [s].
    forced : str
        Reason why the runner ended it; empty if it ended by itself.
    """

    robot: str
    status: int
    time_s: float
    forced: str = ""


@dataclass(frozen=True)
class RunReport(FieldsAsHtml):
    """Result of a run.

    Parameters
    ----------
    time_s : float
        Simulated time at the end [s].
    steps : int
        Basic steps until then.
    ended : tuple of Ended
        One for each controller, in the order of the programs.
    exit_status : int
        Status with which a Supervisor ended the simulation.
    signal : int
        Number of the signal that ended the simulation; 0 for none.
    """

    time_s: float
    steps: int
    ended: tuple[Ended, ...]
    exit_status: int = 0
    signal: int = 0

    @property
    def status(self) -> int:
        """128 plus the signal; else the first non-zero one of the Supervisor's and all others'."""
        if self.signal:
            return 128 + self.signal
        return next(filter(None, (self.exit_status, *(each.status for each in self.ended))), 0)


def run_controllers(  # noqa: PLR0913 (options of a run)
    world: World,
    programs: Sequence[Program],
    *,
    timeout_s: float | None = None,
    grace_s: float = GRACE_S,
    realtime: bool = False,
    progress: Callable[[float], object] | None = None,
) -> RunReport:
    """Run controllers until all have ended.

    When the simulation ends (by its motion or duration, a Supervisor or Ctrl-C), the next step of
    every controller returns -1. A controller that still runs ``grace_s`` later gets SIGTERM, and
    SIGKILL after the same time again. No process outlives this function, or the calling process
    by more than a second.

    Parameters
    ----------
    world : World
        World of the robots.
    programs : sequence of Program
        Controllers and their robots.
    timeout_s : float, optional
        Longest time that the simulation waits for a controller before ending it [s, wall clock].
    grace_s : float
        Time that a controller may continue after the end of the simulation [s, wall clock].
    realtime : bool
        Limit simulated time to the wall clock.
    progress : callable, optional
        Called with the elapsed fraction of the simulation.

    Returns
    -------
    RunReport

    Raises
    ------
    StrapdownError
        The world cannot continue; all controllers have been ended.
    OSError
        A process cannot be started.
    """
    with ExitStack() as stack:
        instance = stack.enter_context(TemporaryDirectory(prefix="strapdown-"))
        signals = stack.enter_context(ended_by_signals(world.quit))
        lockstep = Lockstep(world, [each.robot for each in programs], realtime=realtime)
        run = _Run(world, lockstep, timeout_s, grace_s)
        stack.callback(run.kill)
        for program in programs:
            run.start(program, f"{instance}/")
        looks = 0
        while run.live:
            run.turn()
            if progress is not None and run.looks != looks and world.end_step:
                looks = run.looks
                progress(world.step_count / world.end_step)
        ended = tuple(each.ended for each in run.all if each.ended)
    return RunReport(world.time_s, world.step_count, ended, world.exit_status, *signals[:1])


class _Controller:
    """Process of a controller, and the runner's end of its socket pair."""

    def __init__(self, program: Program, port: LocalPort, instance: str) -> None:
        self.program = program
        self.port = port
        self.waits = False
        """Whether it waits for the simulation, so that it is not overdue."""
        self.heard_s = monotonic()
        self.deadline_s = math.inf
        """Time at which the next signal is due."""
        self.forced = ""
        self.ended: Ended | None = None
        self._signals = iter([signal.SIGTERM])
        ours, theirs = socket.socketpair()
        self.socket = process_port.MessageSocket(ours)
        with theirs, ExitStack() as failing:
            failing.callback(ours.close)
            command = [sys.executable, "-u", "-P", "-m", "strapdown.webots.run.child"]
            arguments = [str(theirs.fileno()), str(program.script), *program.args]
            self.process = subprocess.Popen(  # noqa: S603 (the user's program)
                command + arguments,
                cwd=program.script.parent,
                env=environment(program, instance),
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                process_group=0,
            )
            failing.pop_all()

    def answer(self, answer: Answer) -> None:
        """Answer a step."""
        self.waits = False
        self.heard_s = monotonic()
        self.reply(tuple(answer))  # plain, except for changed devices

    def reply(
        self,
        value: Any,  # noqa: ANN401 (by the word)
        how: Callable[[process_port.MessageSocket, Any], None] = process_port.reply,
    ) -> None:
        """Answer a request, unless the controller has died, which :meth:`_Run.turn` detects."""
        with suppress(OSError):
            how(self.socket, value)

    def is_late(self, timeout_s: float, now: float) -> bool:
        """Return whether the simulation has waited for the controller too long."""
        return not (self.waits or self.forced) and now - self.heard_s > timeout_s

    def press(self, why: str, grace_s: float) -> None:
        """Send the next signal, also to processes of the controller, and wait for its effect."""
        self.forced = self.forced or why
        self.kill(next(self._signals, signal.SIGKILL))
        self.deadline_s = monotonic() + grace_s

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the controller and the processes that it started."""
        with suppress(ProcessLookupError, PermissionError):  # none is left
            os.killpg(self.process.pid, number)


class _Run:
    """State of :func:`run_controllers`."""

    def __init__(
        self, world: World, lockstep: Lockstep, timeout_s: float | None, grace_s: float
    ) -> None:
        self.all: list[_Controller] = []
        self.live: list[_Controller] = []
        self.looks = 0
        """Number of checks of the processes."""
        self._world = world
        self._lockstep = lockstep
        self._timeout_s = math.inf if timeout_s is None else timeout_s
        self._grace_s = grace_s
        self._selector = selectors.DefaultSelector()
        self._by_port: dict[LocalPort, _Controller] = {}
        self._over = False
        self._look_s = 0.0

    def start(self, program: Program, instance: str) -> None:
        """Start a controller."""
        controller = _Controller(program, self._world.port(program.robot), instance)
        self.all.append(controller)
        self.live.append(controller)
        self._by_port[controller.port] = controller
        self._selector.register(controller.socket, selectors.EVENT_READ, controller)

    def turn(self) -> None:
        """Receive messages, advance the world if possible, and check the processes."""
        for key, _ in self._selector.select(LOOK_S):
            self._hear(key.data)
        for port, answer in self._lockstep.ready():
            self._by_port[port].answer(answer)
        now = monotonic()
        if now >= self._look_s:
            self._look_s = now + LOOK_S
            self.looks += 1
            if self._world.ended and not self._over:
                self._over = True
                for controller in self.live:
                    controller.deadline_s = now + self._grace_s
            for controller in list(self.live):
                self._look_after(controller, now)

    def kill(self) -> None:
        """End every process at once."""
        for controller in self.live:
            controller.kill()
            controller.process.wait()
            controller.socket.close()
        self._selector.close()

    def _hear(self, controller: _Controller) -> None:
        """Receive one message of a controller."""
        try:
            word, *arguments = controller.socket.receive()
        except (EOFError, OSError):
            self._selector.unregister(controller.socket)
            self._lockstep.drop(controller.port)
            self._look_s = 0.0
            with suppress(subprocess.TimeoutExpired):
                controller.process.wait(LOOK_S)
            return
        controller.heard_s = monotonic()
        try:
            self._do(controller, word, *arguments)
        except (StrapdownError, *MISTAKES) as error:
            controller.reply(error, process_port.fail)

    def _do(self, controller: _Controller, word: str, *arguments: Any) -> None:  # noqa: ANN401 (by the word)
        """Execute a request of a controller."""
        port = controller.port
        if word == "step":
            self._lockstep.submit(port, *arguments)
            controller.waits = True
        elif word == "supervise":
            method, values = arguments
            controller.reply(port.supervise(method, *values))
        elif word == "configure":
            controller.reply(port.configure())
        else:
            self._lockstep.drop(port)
            controller.waits = True

    def _look_after(self, controller: _Controller, now: float) -> None:
        """Record that a controller has ended, or end one that is overdue."""
        status = controller.process.poll()
        if status is not None:
            self._end(controller, status)
        elif now >= controller.deadline_s:
            controller.press(
                f"it still ran {self._grace_s:g} s after the end of the simulation", self._grace_s
            )
        elif controller.is_late(self._timeout_s, now):
            controller.press(f"it let the simulation wait for {self._timeout_s:g} s", self._grace_s)

    def _end(self, controller: _Controller, status: int) -> None:
        """Remove a controller whose process has ended from the run."""
        controller.kill()  # remaining processes that it started
        with suppress(KeyError):  # its socket was closed before
            self._selector.unregister(controller.socket)
        self._lockstep.drop(controller.port)
        self.live.remove(controller)
        controller.socket.close()
        status = status if status >= 0 else 128 - status
        controller.ended = Ended(
            controller.program.robot, status, self._world.time_s, controller.forced
        )


@contextmanager
def ended_by_signals(end: Callable[[], object]) -> Iterator[list[int]]:
    """Call ``end`` at the first Ctrl-C or SIGTERM within the block; exit at the second one.

    Yields
    ------
    list of int
        Numbers of the signals that were received.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # only the main thread receives signals
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def first(number: int, _frame: object) -> None:
        came.append(number)
        for each, handler in before.items():
            signal.signal(each, handler)
        end()

    for number in before:
        signal.signal(number, first)
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
