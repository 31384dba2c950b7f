"""A robot of a Webots world that an autopilot flies over MAVLink, as hardware in the loop (HIL).

The simulator listens on TCP, as PX4's ``simulator_mavlink`` expects it: the autopilot connects and
gets HIL_SENSOR at every basic step and HIL_GPS at the period of the receiver, in simulated time. It
answers with HIL_ACTUATOR_CONTROLS. From its first answer on both run in lockstep: time advances
only after an answer to the last HIL_SENSOR.

Readings are those of the robot's devices: the first Accelerometer, Gyro, GPS and Altimeter; the
first InertialUnit gives the attitude in which the magnetic field is seen. Body axes are forward,
right, down. Pressure is that of the standard atmosphere; there is no airspeed.

References
----------
MAVLink, ``common.xml``: HIL_SENSOR, HIL_GPS, HIL_ACTUATOR_CONTROLS. PX4 user guide, "Simulation":
MAVLink API of the simulator, and lockstep.
"""

from __future__ import annotations

import contextlib
import math
import socket
import time
from typing import TYPE_CHECKING, Final

from strapdown.bridges.mavlink.simulator import LOOK_S, Simulator
from strapdown.formats.mavlink.frames import Decoder, end_of_frame
from strapdown.formats.mavlink.messages import dialect

if TYPE_CHECKING:
    from typing import Any

    from strapdown.formats.mavlink.messages import WireMessage

__all__ = ["HilSimulator", "pressure_at"]

_SENSOR_FIELDS: Final = 0x1BFF  # all but the differential pressure, and the bit of a reset
_QUIET_S: Final = 0.05  # after this time without an answer, no other is on its way
_SETTLE_S: Final = 2.0  # an autopilot that still sends after this time is not in lockstep
_LONGEST_S: Final = 1e6  # longest wait that a socket accepts on every system
_BUFFER: Final = 1 << 16


def pressure_at(altitude: float) -> float:
    """Return the pressure [hPa] of the standard atmosphere at an altitude [m], below 11 km.

    Above, the formula is continued down to 0 hPa.

    Examples
    --------
    >>> round(pressure_at(0.0), 2), round(pressure_at(1000.0), 1)
    (1013.25, 898.7)
    """
    return float(1013.25 * max(0.0, 1.0 - 0.0065 * altitude / 288.15) ** 5.255877)


class HilSimulator(Simulator):
    """The simulator's end of MAVLink HIL.

    ``counts`` are those of messages sent, ``sensors`` and ``fixes``, and of answers received,
    ``controls``.

    Attributes
    ----------
    decoder : Decoder
        Counts what was received.

    Examples
    --------
    >>> with HilSimulator(World("quadcopter")) as simulator:  # doctest: +SKIP
    ...     simulator.fly(60.0)  # in another terminal: PX4's none_iris
    """

    port = 4560
    sensors = "Accelerometer", "Gyro", "GPS", "Altimeter", "InertialUnit"

    def close(self) -> None:
        """Disconnect, and leave the address."""
        if self._peer is not None:
            self._peer.close()
        super().close()

    def _open(self, place: tuple[str, int]) -> socket.socket:
        self._module = dialect()
        self._mav = self._module.MAVLink(None, srcSystem=1, srcComponent=51)
        self.decoder = Decoder()
        self.counts = {"sensors": 0, "fixes": 0, "controls": 0}
        self._pending = b""
        self._peer: socket.socket | None = None
        return socket.create_server(place)

    def _fly(self, until_s: float) -> None:
        self._accept()
        next_fix, lockstep = self._world.time_s, False
        with contextlib.suppress(ConnectionError):
            while self._goes_on(until_s) and self._vehicle.step():
                if self._world.time_s >= next_fix - 1e-9:
                    self._send_fix()
                    next_fix += 1e-3 * self._vehicle.fix_ms
                self._send_sensor()
                answered = self._await_controls(wait=lockstep)
                if answered and not lockstep:
                    lockstep = True
                    self._settle()

    def _accept(self) -> None:
        """Wait for an autopilot."""
        until = time.monotonic() + self._patience_s
        while self._peer is None and not self._stopped:
            with contextlib.suppress(TimeoutError):
                self._peer, _ = self._socket.accept()
                self._peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._peer is None and time.monotonic() > until:
                host, port = self.address
                raise self._lost(f"an autopilot to connect to {host}:{port}")

    def _settle(self) -> None:
        """Discard the answers to what was sent before the first one."""
        until = time.monotonic() + _SETTLE_S
        while self._await_controls(wait=False, timeout_s=_QUIET_S) and time.monotonic() < until:
            pass

    def _send(self, message: WireMessage) -> None:
        if self._peer is None:
            return
        self._peer.settimeout(min(self._patience_s, _LONGEST_S))
        try:
            self._peer.sendall(message.pack(self._mav))
        except TimeoutError:
            raise self._lost("an autopilot that receives") from None
        self._mav.seq = (self._mav.seq + 1) % 256

    def _send_sensor(self) -> None:
        vehicle = self._vehicle
        triads = (vehicle.specific_force(), vehicle.angular_velocity(), vehicle.magnetic_field())
        altitude = vehicle.altitude()
        self._send(
            self._module.MAVLink_hil_sensor_message(
                self._stamp(), *(float(value) for triad in triads for value in triad),
                pressure_at(altitude), 0.0, altitude, 15.0 - 0.0065 * altitude, _SENSOR_FIELDS, 0,
            )
        )  # fmt: skip
        self.counts["sensors"] += 1

    def _send_fix(self) -> None:
        fix = self._vehicle.fix()
        if fix is None:
            return
        north, east, down = map(float, fix.velocity_ned)
        course = math.degrees(math.atan2(east, north)) % 360.0
        accuracy_cm = min(max(1, round(100 * self._vehicle.gps_accuracy())), 0xFFFF)
        ground_cm_s = min(round(100 * math.hypot(east, north)), 0xFFFF)
        velocity_cm_s = (min(max(round(100 * v), -0x8000), 0x7FFF) for v in (north, east, down))
        self._send(
            self._module.MAVLink_hil_gps_message(
                self._stamp(), 3, round(1e7 * fix.latitude), round(1e7 * fix.longitude),
                round(1e3 * fix.altitude), accuracy_cm, accuracy_cm,
                ground_cm_s, *velocity_cm_s, round(100 * course) % 36000, 12,
            )
        )  # fmt: skip
        self.counts["fixes"] += 1

    def _await_controls(self, *, wait: bool, timeout_s: float | None = None) -> bool:
        """Pass outputs to the motors; return whether there were any."""
        usual = self._patience_s if wait else 1e-3 * self._vehicle.step_ms
        until = time.monotonic() + (usual if timeout_s is None else timeout_s)
        while not self._stopped:
            received: list[Any] = [
                message
                for message in self._receive(min(until - time.monotonic(), LOOK_S))
                if message.get_type() == "HIL_ACTUATOR_CONTROLS"
            ]
            if received:
                self.counts["controls"] += len(received)
                self._vehicle.drive(received[-1].controls)
                return True
            if time.monotonic() >= until:
                if wait:
                    raise self._lost("HIL_ACTUATOR_CONTROLS")
                break
        return False

    def _receive(self, timeout_s: float) -> list[WireMessage]:
        """Return the messages whose last byte has arrived."""
        if self._peer is None:
            return []
        self._peer.settimeout(max(timeout_s, 1e-4))
        try:
            data = self._peer.recv(_BUFFER)
        except TimeoutError:
            return []
        if not data:
            raise ConnectionAbortedError
        data = self._pending + data
        messages: list[WireMessage] = []
        at = 0
        while at < len(data):
            end = end_of_frame(data, at)
            if len(data) - at < 3 or (end is not None and end > len(data)):
                break
            taken = self.decoder.take(data, at, is_lost=False)
            at = at + 1 if taken is None else taken[1]
            messages += [] if taken is None else [taken[0]]
        self._pending = data[at:]
        return messages

    def _stamp(self) -> int:
        return round(1e6 * self._world.time_s)
