"""One thread that serves the controllers of a world: connections, requests, answers, timers.

A controller that sends nonsense loses its connection and disturbs nobody.
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from strapdown.bridges.webots.connection import Connection
from strapdown.bridges.webots.names import CONNECTED, hello_may_grow, reply_to_hello
from strapdown.bridges.webots.requests import read_request
from strapdown.bridges.webots.wire import Session, frame, no_event
from strapdown.errors import FormatError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from strapdown.bridges.webots.requests import Incoming
    from strapdown.webots.port import Answer, Port, Request

    OpenPort: TypeAlias = Callable[[str], Port]

__all__ = ["LINGER_S", "Loop", "Scheduler"]

QUIET_S: Final = 0.02
"""Silence that ends a handshake, which has no end mark [s]."""
PATIENCE_S: Final = 10.0
"""Longest time for controllers to continue after the end of the simulation [s]."""
LINGER_S: Final = 1.0
"""Longest wait for controllers that were asked to quit [s]."""
LOOK_S: Final = 0.005
"""Interval between checks whether a step is due on the wall clock [s]."""
LONE_S: Final = 0.02
"""Longest time that one controller may occupy the loop [s]."""
MIN_HELLO: Final = 3


class Scheduler(Protocol):
    """Advances a world when every participating robot waits for it."""

    def submit(self, port: Any, ms: int, requests: Sequence[Request]) -> object:  # noqa: ANN401 (of its own kind)
        """Accept the requests of a robot, which then waits for ``ms`` of simulated time."""
        ...

    def drop(self, port: Any) -> object:  # noqa: ANN401 (of its own kind)
        """Close a port; the others continue without it until it submits again."""
        ...

    def ready(self) -> Sequence[tuple[Port, Answer]]:
        """Move the world on if all wait, and return the answers that are due."""
        ...


class Loop:
    """Answers controllers until the simulation is over.

    Parameters
    ----------
    realtime : bool
        The scheduler does not let simulated time run ahead of the wall clock.
    log : callable
        Gets every line that is worth reading.

    Attributes
    ----------
    robots : dict of str to Connection or None
        Who has which of the robots that are served.
    """

    def __init__(self, *, realtime: bool, log: Callable[[str], object]) -> None:
        self.robots: dict[str, Connection | None] = {}
        self._realtime = realtime
        self._log = log
        self._alarm, self._waker = socket.socketpair()
        self._poll = select.poll()
        self._poll.register(self._waker, select.POLLIN)
        self._doors: dict[int, tuple[socket.socket, str]] = {}
        self._connections: dict[int, Connection] = {}
        self._waiting: dict[Port, Connection] = {}
        self._timers: dict[Connection, float] = {}
        self._lone: list[tuple[int, int]] = []
        self._lone_until = 0.0
        self._stopping = False
        self._ended_at: float | None = None

    def open(self, robot: str, listeners: Iterable[socket.socket]) -> None:
        """Accept controllers of a robot on listening sockets."""
        self.robots[robot] = None
        for listener in listeners:
            self._open(listener, robot)

    def run(self, tcp: socket.socket | None, port: OpenPort, scheduler: Scheduler | None) -> None:
        """Serve until the simulation has ended, or :meth:`stop` is called.

        Parameters
        ----------
        tcp : socket or None
            Where controllers come that name their robot later.
        port : callable
            Gives the port of a robot.
        scheduler : Scheduler or None
            Moves the world on when all wait; None: every robot moves it by its own steps.
        """
        self._port, self._scheduler = port, scheduler
        if tcp is not None:
            self._open(tcp, "")
        while not self._is_over():
            self._turn()

    def stop(self) -> None:
        """Make :meth:`run` return; callable from any thread or signal handler."""
        self._stopping = True
        with suppress(OSError):
            self._alarm.send(b".")

    def close(self) -> None:
        """Ask all controllers to quit, and wait a moment for them."""
        until = monotonic() + LINGER_S
        told = [each for each in self._connections.values() if each.session is not None]
        for connection in told:
            with suppress(OSError):
                connection.quit(LINGER_S)
        for connection in told:
            with suppress(OSError):
                while connection.drain(max(until - monotonic(), 0.01)):
                    pass
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._alarm.close()
        self._waker.close()

    # -- time --------------------------------------------------------------------------------------

    def _turn(self) -> None:
        """Wait until something happens, and do what follows from it."""
        for number, event in self._events():
            connection = self._connections.get(number)
            if connection is not None:
                self._attend(connection, event)
            elif number in self._doors:
                self._admit(*self._doors[number])
        if self._timers:
            self._ring()
        if self._scheduler is not None and self._waiting:
            self._move_on(self._scheduler)

    def _events(self) -> list[tuple[int, int]]:
        """Return what happened, and to whom.

        One controller alone is read from without asking who else there is, which saves a tenth of
        its step; a new one waits a moment more.
        """
        if self._lone and monotonic() < self._lone_until:
            return self._lone
        events = self._poll.poll(self._patience_ms())
        if len(events) > 1:  # leaving controllers make room for new ones
            events.sort(key=lambda event: event[0] in self._doors)
        is_lone = len(self._connections) == 1 and not (self._timers or self._realtime)
        if is_lone and events == [(next(iter(self._connections)), select.POLLIN)]:
            self._lone, self._lone_until = events, monotonic() + LONE_S
        return events

    def _move_on(self, scheduler: Scheduler) -> None:
        """End steps, until somebody is waited for."""
        while self._waiting and (answers := scheduler.ready()):
            for port, answer in answers:
                connection = self._waiting.pop(port)
                connection.waits = False
                self._answer(connection, answer)
                self._proceed(connection)

    def _is_over(self) -> bool:
        if self._stopping or self._ended_at is None:
            return self._stopping
        return not self._connections or monotonic() > self._ended_at + PATIENCE_S

    def _patience_ms(self) -> float | None:
        """Return how long to wait at most [ms]; None: until something happens."""
        if not self._timers and self._ended_at is None and not self._realtime:
            return None
        times = list(self._timers.values())
        if self._ended_at is not None:
            times.append(self._ended_at + PATIENCE_S)
        if self._realtime and self._waiting:
            times.append(monotonic() + LOOK_S)
        return max(min(times) - monotonic(), 0.0) * 1000.0 if times else None

    def _ring(self) -> None:
        """Handle the timers that are due."""
        now = monotonic()
        for connection, time in list(self._timers.items()):
            if time <= now:
                del self._timers[connection]
                if connection.robot:
                    self._send(connection, no_event(tcp=connection.tcp))
                else:
                    self._greet(connection)

    # -- connections -------------------------------------------------------------------------------

    def _open(self, listener: socket.socket, robot: str) -> None:
        """Accept controllers on a listening socket; those on TCP name their robot later."""
        listener.setblocking(False)  # noqa: FBT003 (the library's form)
        self._doors[listener.fileno()] = (listener, robot)
        self._poll.register(listener, select.POLLIN)

    def _admit(self, listener: socket.socket, robot: str) -> None:
        """Accept a new connection, unless its robot has one."""
        try:
            peer, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        if self.robots.get(robot) is not None:
            peer.close()
            self._log(f"robot {robot!r}: refused a second controller")
            return
        connection = Connection(peer, robot)
        self._connections[connection.fileno()] = connection
        self._poll.register(connection, select.POLLIN)
        if robot:
            self.robots[robot] = connection

    def _greet(self, connection: Connection) -> None:
        """Answer a handshake with one word, and nothing more before the first request."""
        hello = bytes(connection.received)
        taken = {robot: holder is not None for robot, holder in self.robots.items()}
        word, robot = reply_to_hello(hello, taken)
        self._send(connection, word)
        if word != CONNECTED:
            self._end(connection, f"{word.decode()} after {hello[:80]!r}")
            return
        connection.robot = robot
        connection.received = b""
        self.robots[robot] = connection

    def _end(self, connection: Connection, why: str) -> None:
        """Close a connection and free its robot."""
        self._poll.unregister(connection)
        del self._connections[connection.fileno()]
        self._timers.pop(connection, None)
        self._lone = []
        connection.close()
        if connection.robot:
            self.robots[connection.robot] = None
        if connection.port is not None:
            self._waiting.pop(connection.port, None)
            if self._scheduler is None:
                connection.port.close()
            else:
                self._scheduler.drop(connection.port)
        self._log(f"{connection}: {why}")

    # -- requests and answers ----------------------------------------------------------------------

    def _attend(self, connection: Connection, event: int) -> None:
        """Do what became possible on a connection."""
        if event & select.POLLOUT:
            connection.send()
            if not connection.unsent:
                self._poll.modify(connection, select.POLLIN)
        is_open = event == select.POLLOUT or connection.receive()
        while is_open and event & select.POLLHUP:
            is_open = connection.receive()
        if connection.robot:
            self._proceed(connection)
        else:
            self._listen(connection)
        if not is_open and connection.fileno() in self._connections:
            self._end(connection, "connection lost")

    def _listen(self, connection: Connection) -> None:
        """Wait for the end of a handshake."""
        if not hello_may_grow(connection.received):
            self._end(connection, f"no controller begins with {bytes(connection.received[:16])!r}")
        elif len(connection.received) >= MIN_HELLO:
            self._timers[connection] = monotonic() + QUIET_S

    def _proceed(self, connection: Connection) -> None:
        """Execute the received requests, each after the answer to the one before."""
        try:
            while connection.received and (request := connection.request()) is not None:
                if not request:
                    self._end(connection, "left")
                    return
                self._handle(connection, request)
        except FormatError as error:
            self._end(connection, f"connection closed: {error}")

    def _handle(self, connection: Connection, request: bytes) -> None:
        """Execute one request."""
        port, session = connection.port, connection.session
        if port is None or session is None:
            self._begin(connection, request)
            return
        incoming = read_request(request, session.kinds)
        if incoming.console or incoming.unknown:
            self._tell(connection, incoming)
        if incoming.supervision:
            self._supervise(connection, session, incoming.supervision)
        if incoming.ms and self._scheduler is not None:
            connection.waits = True
            self._waiting[port] = connection
            self._scheduler.submit(port, incoming.ms, incoming.requests)
            return
        answer = port.exchange(incoming.ms, incoming.requests)
        if incoming.leaving:
            self._send(connection, frame(tcp=connection.tcp))
            return
        self._answer(connection, answer, urdf=incoming.urdf)
        if incoming.wait_ms is not None:
            self._timers[connection] = monotonic() + 1e-3 * max(incoming.wait_ms, 0)

    def _begin(self, connection: Connection, request: bytes) -> None:
        """Answer the first request with a description of the robot, regardless of its content."""
        port = self._port(connection.robot)
        info = port.configure()
        try:
            session = Session(info, tcp=connection.tcp, realtime=self._realtime, port=port)
        except ValueRangeError as error:
            raise FormatError(str(error)) from error
        read_request(request, session.kinds)
        connection.port, connection.session = port, session
        self._log(f"{connection}: connected by {'tcp' if connection.tcp else 'ipc'}")
        self._send(connection, session.configure())

    def _answer(self, connection: Connection, answer: Answer, *, urdf: bool = False) -> None:
        """Send a controller the answer of its port."""
        if answer.delay < 0:
            self._ended_at = monotonic()
        if connection.session is not None:
            self._send(connection, connection.session.answer(answer, urdf=urdf))

    def _send(self, connection: Connection, data: bytes) -> None:
        """Send data, now or as soon as possible."""
        connection.send(data)
        if connection.unsent:
            self._poll.modify(connection, select.POLLIN | select.POLLOUT)

    def _tell(self, connection: Connection, incoming: Incoming) -> None:
        """Log a controller's output, and once a request without effect."""
        for text in incoming.console:
            for line in text.splitlines():
                self._log(f"[{connection.robot}] {line}")
        for what in incoming.unknown:
            self._tell_once(connection, f"skipped {what}")

    def _supervise(self, connection: Connection, session: Session, commands: bytes) -> None:
        """Execute the commands of a supervisor."""
        supervisor = session.supervisor
        if supervisor is None:
            self._tell_once(connection, f"skipped command {commands[0]} of a robot")
            return
        for note in supervisor.execute(commands):
            self._tell_once(connection, note)
        if supervisor.has_quit:
            self._ended_at = monotonic()

    def _tell_once(self, connection: Connection, note: str) -> None:
        if note not in connection.told:
            connection.told.add(note)
            self._log(f"{connection}: {note}")
