"""A server for unchanged controllers that are linked with the library of Webots R2025a.

Controllers come through UNIX sockets in the folder of an instance, or through TCP after a
handshake. Each gets a robot of the world, and gives it back when its program ends or its
connection breaks.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from strapdown._closing import Closing
from strapdown.bridges.webots.instance import Instance
from strapdown.bridges.webots.loop import LINGER_S, Loop
from strapdown.bridges.webots.names import MAX_HELLO, PROCESSING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from strapdown.bridges.webots.loop import OpenPort, Scheduler

__all__ = ["Server"]

LOOK_S: Final = 0.005
"""Interval between checks whether the world is loaded [s]."""


class Server(Closing):
    """Server through which controllers drive the robots of a world; a context manager.

    Parameters
    ----------
    address : (str, int), optional
        Address for TCP; port 0 takes any free one. By default only UNIX sockets.
    number : int, optional
        Of the instance; by default the TCP port, else the number of this process.
    realtime : bool
        The scheduler does not let simulated time run ahead of the wall clock.
    log : callable, optional
        Gets every line that is worth reading; by default they go to stderr.

    Attributes
    ----------
    address : (str, int) or None
        Where TCP clients come.

    Raises
    ------
    TransportError
        The number is in use.
    OSError
        The TCP port cannot be had.

    Examples
    --------
    >>> with Server() as server:  # doctest: +SKIP
    ...     with server.loading():
    ...         world = World("robot.wbt", profile="R2025a")
    ...     server.serve(["robot"], world.port, Lockstep(world, ["robot"]))
    """

    def __init__(
        self,
        *,
        address: tuple[str, int] | None = None,
        number: int | None = None,
        realtime: bool = False,
        log: Callable[[str], object] | None = None,
    ) -> None:
        self._tcp = None if address is None else socket.create_server(address)
        self.address: tuple[str, int] | None = self._tcp.getsockname()[:2] if self._tcp else None
        if number is None:
            number = self.address[1] if self.address else os.getpid()
        try:
            self._instance = Instance(number)
        except BaseException:
            if self._tcp is not None:
                self._tcp.close()
            raise
        self._loop = Loop(realtime=realtime, log=log or _to_stderr)

    @property
    def instance_path(self) -> str:
        """Value of WEBOTS_INSTANCE_PATH for controllers that a simulator starts."""
        return f"{self._instance.path}/"

    def urls(self, robot: str) -> tuple[str, ...]:
        """Return the possible values of WEBOTS_CONTROLLER_URL for a controller of this robot.

        The name is not encoded: the controller library percent-encodes it.
        """
        urls = [f"ipc://{self._instance.number}/{robot}"]
        if self.address is not None:
            urls.append(f"tcp://{self.address[0]}:{self.address[1]}/{robot}")
        return tuple(urls)

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Ask controllers to retry while the block prepares the world."""
        over = threading.Event()
        thread = threading.Thread(target=self._put_off, args=(over,), daemon=True)
        self._instance.set_loading(loading=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self._instance.set_loading(loading=False)

    def open(self, robots: Sequence[str]) -> None:
        """Accept connections of controllers to robots; :meth:`serve` answers them.

        Raises
        ------
        TransportError
            The sockets of a robot cannot be opened.
        """
        for robot in robots:
            if robot not in self._loop.robots:
                self._loop.open(robot, self._instance.listen(robot))

    def serve(
        self, robots: Sequence[str], port: OpenPort, scheduler: Scheduler | None = None
    ) -> None:
        """Serve controllers until the simulation has ended, or :meth:`stop` is called.

        Parameters
        ----------
        robots : sequence of str
            Names of the robots that controllers may have.
        port : callable
            Gives the port of a robot.
        scheduler : Scheduler, optional
            Moves the world on when all wait. By default every robot moves it by its own steps,
            which is right for one alone.

        Raises
        ------
        TransportError
            The sockets of a robot cannot be opened.
        StrapdownError
            The world cannot continue.
        """
        self.open(robots)
        self._loop.run(self._tcp, port, scheduler)

    def stop(self) -> None:
        """Make :meth:`serve` return; callable from any thread or signal handler."""
        self._loop.stop()

    def close(self) -> None:
        """Ask all controllers to quit, wait a moment, and remove the instance's folder."""
        self._loop.close()
        if self._tcp is not None:
            self._tcp.close()
        self._instance.close()

    def _put_off(self, over: threading.Event) -> None:
        """Ask clients on TCP to retry, since the world is not loaded yet."""
        while self._tcp is not None and not over.is_set():
            came, _, _ = select.select([self._tcp], [], [], LOOK_S)
            if came:
                with suppress(OSError), self._tcp.accept()[0] as peer:
                    peer.settimeout(LINGER_S)
                    peer.recv(MAX_HELLO)
                    peer.sendall(PROCESSING)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
