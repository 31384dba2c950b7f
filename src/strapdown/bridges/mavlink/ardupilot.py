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
from typing import Final

from strapdown.bridges.mavlink.simulator import Simulator
from strapdown.geometry import quaternion

__all__ = ["ArduPilotSimulator"]

_PACKETS: Final = {18458: struct.Struct("<HHI16H"), 29569: struct.Struct("<HHI32H")}
_LEAST_US, _SPAN_US = 1000, 1000  # pulse widths of a motor that stops, and up to full speed


class ArduPilotSimulator(Simulator):
    """The simulator's end of ArduPilot's JSON interface.

    ``counts`` are those of packets received, ``controls``, and of packets that were skipped by
    their numbers, ``lost``.
    """

    port = 9002
    sensors = "Accelerometer", "Gyro", "InertialUnit"

    def _open(self, place: tuple[str, int]) -> socket.socket:
        self.counts = {"controls": 0, "lost": 0}
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            end.bind(place)
        except OSError:
            end.close()
            raise
        return end

    def _fly(self, until_s: float) -> None:
        last, reply = -1, b""
        heard = time.monotonic()
        while self._goes_on(until_s):
            try:
                data, sender = self._socket.recvfrom(1 << 12)
            except TimeoutError:
                if time.monotonic() - heard > self._patience_s:
                    host, port = self.address
                    raise self._lost(f"packets of ArduPilot at {host}:{port}") from None
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
