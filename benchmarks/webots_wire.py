"""How many steps a second a controller in another process gets from the Webots server.

Run with ``python benchmarks/webots_wire.py``. The controller is a plain Python program of this
file that speaks the protocol by itself; its robot turns on a kinematic world and has an
InertialUnit, an Accelerometer and a Gyro, all refreshed at every step. With reads, it makes lists
of the ten numbers of each answer. The last column divides by what the original Python controller
library reached against a minimal server over IPC, measured on two cores of a server. Medians of
the repeats.
"""

from __future__ import annotations

import multiprocessing
import platform
import socket
import statistics
import sys
import threading
import time
from struct import Struct, pack
from typing import TYPE_CHECKING

from strapdown.bridges.webots.server import Server
from strapdown.webots.world.world import World

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

STEPS = 50_000
REPEATS = 5
REFERENCE = {"no reads": 61_500, "three reads": 38_600}
WORLD = """#VRML_SIM R2025a utf8
WorldInfo { basicTimeStep 32 }
Robot {
  name "rob" controller "<extern>"
  rotation 0 0 1 0.3
  linearVelocity 1 0 0 angularVelocity 0 0 0.5
  physics Physics { mass 1 }
  children [
    InertialUnit { name "imu" } Accelerometer { name "acc" } Gyro { name "gyro" }
  ]
}
"""
ANSWER = Struct("<iHBdHB4dHB3dHB3d")
ENABLE = b"".join(pack("<HiBH", tag, 3, 1, 32) for tag in (1, 2, 3))


def receive(peer: socket.socket, size: int) -> bytes:
    """Return exactly so many bytes."""
    data = peer.recv(size)
    while len(data) < size:
        data += peer.recv(size - len(data))
    return data


def control(place: str | tuple[str, int], steps: int, pipe: Connection, *, reads: bool) -> None:
    """Be a controller, and report the steps a second."""
    tcp = not isinstance(place, str)
    peer = socket.socket(socket.AF_INET if tcp else socket.AF_UNIX)
    peer.connect(place)
    if tcp:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(b"CTR\nRobot-Name: rob")
        peer.recv(10)
    peer.sendall(pack("<iI", 8, 0))
    peer.recv(1 << 16)
    head = 11 if tcp else 4
    size = head + ANSWER.size
    request = pack("<iI", 8, 32)
    peer.sendall(pack("<iI", 8 + len(ENABLE), 32) + ENABLE)
    receive(peer, size)
    start = time.perf_counter()
    for _ in range(steps):
        peer.sendall(request)
        data = receive(peer, size)
        if reads:
            row = ANSWER.unpack_from(data, head - 4 if tcp else head)
            _ = list(row[6:10]), list(row[12:15]), list(row[17:20])
    pipe.send(steps / (time.perf_counter() - start))
    peer.sendall(bytes(4))
    peer.close()


def measure(transport: str, *, reads: bool) -> float:
    """Return steps a second of one controller against one server."""
    world = World(WORLD, profile="R2025a", dynamics="kinematic")
    ours, theirs = multiprocessing.Pipe()
    with Server(address=("127.0.0.1", 0), log=lambda _line: None) as server:
        place = server.address if transport == "tcp" else f"{server.instance_path}ipc/rob/extern"
        controller = multiprocessing.Process(
            target=control, args=(place, STEPS, theirs), kwargs={"reads": reads}
        )

        def end() -> None:
            controller.join()
            server.stop()

        threading.Timer(0.3, controller.start).start()
        watcher = threading.Timer(0.6, end)
        watcher.start()
        server.serve(["rob"], world.port)
        watcher.join()
    return float(ours.recv())


def main() -> None:
    """Print the table."""
    print(f"{platform.processor() or platform.machine()}, Python {sys.version.split()[0]}")
    print(f"{'transport':10} {'controller':12} {'steps/s':>9} {'ratio':>6}")
    for transport in ("ipc", "tcp"):
        for name, reference in REFERENCE.items():
            runs = [measure(transport, reads=name != "no reads") for _ in range(REPEATS)]
            rate = statistics.median(runs)
            print(f"{transport:10} {name:12} {rate:9,.0f} {rate / reference:6.2f}")


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    main()
