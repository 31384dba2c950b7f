"""Controllers, each in a process of its own, on the robots of one world.

The world is in this process, so whatever a controller does (crash, hang, leave) the world and
what records it stay whole. The simulation goes on when every robot that has a controller waits
for it.
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
    from strapdown.webots.world.ports import LocalPort
    from strapdown.webots.world.world import World

__all__ = ["Ended", "RunReport", "ended_by_signals", "run_controllers"]

GRACE_S = 1.0
"""How long a controller may go on after the end, unless told otherwise [s, wall clock]."""
MISTAKES = (ValueError, TypeError, LookupError, NotImplementedError, OSError)
"""What a wrong request raises, beside the errors of this package; anything else is a bug here."""
LOOK_S = 0.05
"""How often the processes are looked at while the simulation goes on [s]."""


@dataclass(frozen=True)
class Ended:
    """How a controller ended.

    Parameters
    ----------
    robot : str
        The robot that it drove.
    status : int
        Exit status of its process; 128 and the signal where a signal ended it.
    time_s : float
        Simulated time when it ended [s].
    forced : str
        Why the runner ended it; empty where it ended by itself.
    """

    robot: str
    status: int
    time_s: float
    forced: str = ""


@dataclass(frozen=True)
class RunReport(FieldsAsHtml):
    """How a run went.

    Parameters
    ----------
    time_s : float
        Simulated time at the end [s].
    steps : int
        Basic steps until then.
    ended : tuple of Ended
        One of each controller, in the order of the programs.
    exit_status : int
        What a Supervisor ended the simulation with.
    signal : int
        Number of the signal that ended the simulation; 0: none did.
    """

    time_s: float
    steps: int
    ended: tuple[Ended, ...]
    exit_status: int = 0
    signal: int = 0

    @property
    def status(self) -> int:
        """128 and the signal; else the first that is not 0 of a Supervisor's and all others'."""
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

    When the simulation ends (its motion or duration is over, a Supervisor or Ctrl-C ends it),
    the next step of every controller returns -1. A controller that still runs ``grace_s`` later
    gets SIGTERM, and as long after that SIGKILL. No process outlives this function, and none
    that of the caller by more than a second.

    Parameters
    ----------
    world : World
        Where the robots live.
    programs : sequence of Program
        Which controller drives which robot.
    timeout_s : float, optional
        How long a controller may let the simulation wait [s, wall clock]; then it is ended.
    grace_s : float
        How long a controller may go on after the end of the simulation [s, wall clock].
    realtime : bool
        Let simulated time not run ahead of the wall clock.
    progress : callable, optional
        Gets the fraction of the simulation that is over.

    Returns
    -------
    RunReport

    Raises
    ------
    StrapdownError
        The world cannot go on; all controllers have been ended.
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
    """A controller's process and this end of its link."""

    def __init__(self, program: Program, port: LocalPort, instance: str) -> None:
        self.program = program
        self.port = port
        self.waits = False
        """For the simulation, so that it is not late."""
        self.heard_s = monotonic()
        self.deadline_s = math.inf
        """When the next signal is due."""
        self.forced = ""
        self.ended: Ended | None = None
        self._signals = iter([signal.SIGTERM])
        ours, theirs = socket.socketpair()
        self.connection = process_port.Connection(ours)
        with theirs, ExitStack() as failing:
            failing.callback(ours.close)
            command = [sys.executable, "-u", "-P", "-m", "strapdown.webots.run.child"]
            arguments = [str(theirs.fileno()), str(program.script), *program.args]
            self.process = subprocess.Popen(  # noqa: S603 (what the user wants to run)
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
        self.reply(tuple(answer))  # plain, but where devices changed

    def reply(
        self,
        value: Any,  # noqa: ANN401 (by the word)
        how: Callable[[process_port.Connection, Any], None] = process_port.reply,
    ) -> None:
        """Answer a word, unless the controller has died meanwhile, which is heard next."""
        with suppress(OSError):
            how(self.connection, value)

    def is_late(self, timeout_s: float, now: float) -> bool:
        """Return whether the simulation waits for the controller too long."""
        return not (self.waits or self.forced) and now - self.heard_s > timeout_s

    def press(self, why: str, grace_s: float) -> None:
        """Send the next signal, to whatever the controller started, too; wait for its effect."""
        self.forced = self.forced or why
        self.kill(next(self._signals, signal.SIGKILL))
        self.deadline_s = monotonic() + grace_s

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal to the controller and whatever it started."""
        with suppress(ProcessLookupError, PermissionError):  # nobody is left
            os.killpg(self.process.pid, number)


class _Run:
    """The state of :func:`run_controllers`."""

    def __init__(
        self, world: World, lockstep: Lockstep, timeout_s: float | None, grace_s: float
    ) -> None:
        self.all: list[_Controller] = []
        self.live: list[_Controller] = []
        self.looks = 0
        """How often the processes were looked at."""
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
        self._selector.register(controller.connection, selectors.EVENT_READ, controller)

    def turn(self) -> None:
        """Hear who speaks, let the world go on if it can, and look after the processes."""
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
            controller.connection.close()
        self._selector.close()

    def _hear(self, controller: _Controller) -> None:
        """Take one message of a controller."""
        try:
            word, *arguments = controller.connection.receive()
        except (EOFError, OSError):
            self._selector.unregister(controller.connection)
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
        """Do what a controller asks for."""
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
        """Note that a controller has ended, or see to it."""
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
        """Take a controller whose process has ended out of the run."""
        controller.kill()  # what it started and left behind
        with suppress(KeyError):  # its link was closed before
            self._selector.unregister(controller.connection)
        self._lockstep.drop(controller.port)
        self.live.remove(controller)
        controller.connection.close()
        status = status if status >= 0 else 128 - status
        controller.ended = Ended(
            controller.program.robot, status, self._world.time_s, controller.forced
        )


@contextmanager
def ended_by_signals(end: Callable[[], object]) -> Iterator[list[int]]:
    """Let the first Ctrl-C or SIGTERM call ``end`` within the block, and the second one end all.

    Yields
    ------
    list of int
        The numbers of the signals that came.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # only the main thread gets signals
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
