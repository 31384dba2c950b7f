"""A robot of a Webots world that ArduPilot flies, through the JSON interface of its SITL.

ArduPilot sends the pulse widths of its outputs by UDP; each packet advances the world by one basic
step and is answered by a line of JSON: time, readings of the Accelerometer and the Gyro, attitude
of the InertialUnit, true position and velocity. ArduPilot derives the readings of its GPS,
barometer and compass from these itself. Body axes are forward, right, down, world axes north, east,
down.

References
----------
ArduPilot, ``libraries/SITL/examples/JSON/readme.md``.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import TYPE_CHECKING, Final

from strapdown.bridges.mavlink.link import LOOPBACK, address_of
from strapdown.bridges.mavlink.vehicle import Vehicle, positive
from strapdown.errors import PeerLostError
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from strapdown.webots.world.world import World

__all__ = ["ARDUPILOT_PORT", "ArduPilotSimulator"]

ARDUPILOT_PORT: Final = 9002
"""Port at which ArduPilot looks for its simulator."""

_SENSORS: Final = ("Accelerometer", "Gyro", "InertialUnit")
_PACKETS: Final = {18458: struct.Struct("<HHI16H"), 29569: struct.Struct("<HHI32H")}
_LEAST_US, _SPAN_US = 1000, 1000  # pulse widths of a motor that stops, and up to full speed
_LOOK_S: Final = 0.2


class ArduPilotSimulator:
    """The simulator's end of ArduPilot's JSON interface.

    Parameters
    ----------
    world : World
        In ENU.
    listen : str
        ``[HOST:]PORT``; without a host only this machine can send. Port 0 is any free one.
    robot, motors, patience_s
        As of :class:`~strapdown.bridges.mavlink.hil.HilSimulator`.

    Attributes
    ----------
    counts : dict of str to int
        Packets received, ``controls``, and how many were skipped by their numbers, ``lost``.

    Raises
    ------
    DeviceError
        The robot lacks a sensor or has no such motor, or the world has other coordinates.
    ValueRangeError
        The patience is not above 0 s, or the address is invalid.
    OSError
        The address is not available.
    """

    def __init__(
        self,
        world: World,
        *,
        listen: str = f"{LOOPBACK}:{ARDUPILOT_PORT}",
        robot: str | None = None,
        motors: tuple[str, ...] = (),
        patience_s: float = 60.0,
    ) -> None:
        self._patience_s = positive(patience_s)
        self._vehicle = Vehicle(world, robot, motors, _SENSORS)
        self._world = world
        self.counts = {"controls": 0, "lost": 0}
        self._stopped = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind(address_of(listen, least=0))
        except OSError:
            self._socket.close()
            raise
        self._socket.settimeout(min(_LOOK_S, patience_s))

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of this end."""
        host, port = self._socket.getsockname()
        return host, port

    def fly(self, duration_s: float) -> float:
        """Answer packets until a time.

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
            No packet is received for the patience.
        """
        begin, last, reply = self._world.time_s, -1, b""
        heard = time.monotonic()
        while self._world.time_s - begin < duration_s - 1e-9 and not self._stopped:
            try:
                data, sender = self._socket.recvfrom(1 << 12)
            except TimeoutError:
                if time.monotonic() - heard > self._patience_s:
                    host, port = self.address
                    raise PeerLostError(
                        f"expected packets of ArduPilot at {host}:{port} within"
                        f" {self._patience_s:g} s, got none"
                    ) from None
                continue
            heard = time.monotonic()
            packet = _PACKETS.get(int.from_bytes(data[:2], "little"))
            if packet is None or packet.size != len(data):
                continue
            _, _, frame, *widths = packet.unpack(data)
            if frame != last:  # otherwise it asks again
                self.counts["controls"] += 1
                self.counts["lost"] += max(0, frame - last - 1) if last >= 0 else 0
                last = frame
                self._vehicle.drive([(width - _LEAST_US) / _SPAN_US for width in widths])
                if not self._vehicle.step():
                    break
                reply = self._state()
            self._socket.sendto(reply, sender)
        return self._world.time_s - begin

    def stop(self) -> None:
        """End the simulation at its present step; from any thread, or a signal handler."""
        self._stopped = True

    def close(self) -> None:
        """Leave the address."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _state(self) -> bytes:
        """Return the answer to a packet."""
        vehicle = self._vehicle
        position, velocity = vehicle.truth()
        q = quaternion.to_wxyz(quaternion.from_matrix(vehicle.attitude()))
        state = {
            "timestamp": self._world.time_s,
            "imu": {
                "gyro": vehicle.angular_velocity().tolist(),
                "accel_body": vehicle.specific_force().tolist(),
            },
            "position": position.tolist(),
            "quaternion": q.tolist(),
            "velocity": velocity.tolist(),
        }
        return f"\n{json.dumps(state)}\n".encode()
