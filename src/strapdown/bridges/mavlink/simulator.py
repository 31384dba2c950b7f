"""Base of the simulators that an autopilot finds at an address."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Final

from strapdown._closing import Closing
from strapdown.bridges.mavlink.link import address_of
from strapdown.bridges.mavlink.vehicle import Vehicle
from strapdown.errors import PeerLostError, ValueRangeError

if TYPE_CHECKING:
    import socket

    from strapdown.webots.world.world import World

__all__ = ["LOOK_S", "Simulator"]

LOOK_S: Final = 0.2
"""Longest wait between checks whether to stop [s]."""


class Simulator(Closing):
    """The simulator's end of an interface to an autopilot.

    Parameters
    ----------
    world : World
        In ENU; with WGS84 as its GPS coordinate system, if the autopilot gets fixes.
    listen : str, optional
        ``[HOST:]PORT``; without a host only this machine can connect. Port 0 is any free one. By
        default :attr:`port`.
    robot : str, optional
        Name of the robot; by default the only one.
    motors : sequence of str, optional
        Names of the motors in the order of the outputs; by default ``motor 1``, ``motor 2`` ...
    patience_s : float
        Longest wait for an autopilot, and for its answer [s].

    Attributes
    ----------
    counts : dict of str to int
        Numbers of messages by kind.

    Raises
    ------
    DeviceError
        The robot lacks a sensor or has no such motor, or the world has other coordinates.
    ValueRangeError
        The patience is not above 0 s, or the address is invalid.
    BackendMissingError
        The interface needs a package that is not installed.
    OSError
        The address is not available.
    """

    port: ClassVar[int]
    """Port at which the autopilot looks for its simulator."""
    sensors: ClassVar[tuple[str, ...]]
    """Types of the sensors that the robot needs."""
    counts: dict[str, int]

    def __init__(
        self,
        world: World,
        *,
        listen: str | None = None,
        robot: str | None = None,
        motors: tuple[str, ...] = (),
        patience_s: float = 60.0,
    ) -> None:
        if not patience_s > 0.0:
            raise ValueRangeError(f"expected a patience above 0 s, got {patience_s}")
        self._patience_s = patience_s
        self._world = world
        self._vehicle = Vehicle(world, robot, motors, self.sensors)
        self._stopped = False
        place = address_of(str(self.port) if listen is None else listen, least=0)
        self._socket = self._open(place)
        self._socket.settimeout(min(LOOK_S, patience_s))

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of this end."""
        host, port = self._socket.getsockname()[:2]
        return host, port

    def fly(self, duration_s: float) -> float:
        """Wait for an autopilot, and simulate until a time, or until it disconnects.

        Parameters
        ----------
        duration_s : float
            Simulated seconds.

        Returns
        -------
        float
            Simulated time that passed [s].

        Raises
        ------
        PeerLostError
            There is no autopilot, or it does not answer.
        """
        begin = self._world.time_s
        self._fly(begin + duration_s - 1e-9)
        return self._world.time_s - begin

    def stop(self) -> None:
        """End the simulation at its present step; from any thread, or a signal handler."""
        self._stopped = True

    def close(self) -> None:
        """Disconnect, and leave the address."""
        self._socket.close()

    @abstractmethod
    def _open(self, place: tuple[str, int]) -> socket.socket:
        """Prepare the interface, and return the socket at its address."""

    @abstractmethod
    def _fly(self, until_s: float) -> None:
        """Simulate as long as :meth:`_goes_on`."""

    def _goes_on(self, until_s: float) -> bool:
        """Return whether the time [s] is not reached and nothing stopped the simulation."""
        return self._world.time_s < until_s and not self._stopped

    def _lost(self, expected: str) -> PeerLostError:
        """Return the error of an autopilot that the simulator waited for without effect."""
        return PeerLostError(
            f"expected {expected} within {self._patience_s:g} s, got none; does the autopilot run?"
        )
