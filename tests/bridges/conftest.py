"""A controller's end of the wire, a scripted world, and a server between the two."""

from __future__ import annotations

import itertools
import os
import socket
import threading
from pathlib import Path
from struct import calcsize, pack, unpack_from
from typing import Any, NamedTuple

import pytest

from strapdown.bridges.webots.server import Server
from strapdown.webots.port import Answer, DeviceInfo, RobotInfo

NUMBERS = itertools.count()
IDENTITY = [0.0, 0.0, 0.0, 1.0]

# What a client must know of the records that it receives: by command to the robot, and by node
# type and command to a device.
ROBOT_DATA = {2: "", 4: "d", 5: "d", 10: "i", 11: "s", 12: "B", 13: "s", 46: "s", 80: "i"}
DEVICE_DATA = {
    (35, 51): "3d",
    (36, 1): "d",
    (39, 52): "3d",
    (42, 50): "d",
    (44, 2): "7d",
    (45, 53): "3d",
    (46, 54): "4d",
    (49, 55): "d",
    (50, 5): "d",
    (52, 1): "d",
    (57, 5): "d",
    (60, 40): "d",
    (60, 41): "3d",
}
# What a supervisor is told besides, as src/controller/c/supervisor.c of R2025a reads it.
NODE = ["I", "I", "i", "i", "B"]  # number, type, tag, parent, is a PROTO
SUPERVISOR_DATA = {
    0: ["I", "i", "B", "B", "s", "s"],
    16: ["B"],
    17: ["B"],
    20: ["i", "s", "i"],
    65: ["i"],
    77: ["s"],
    78: ["i", "B", "i", "s"],
    82: ["B"],
    83: [*NODE, "B", "s", "s"],
    84: [*NODE, "s"],
    85: [*NODE, "B", "s", "s"],
    87: ["i", "i", "B", "i", "i", "i", "s"],
    88: ["V"],
    89: ["i"],
    90: ["3d"],
    91: ["9d"],
    92: ["i", "i", "16d"],
    93: ["3d"],
    94: ["i", "B", "i"],
    95: ["B"],
    96: ["6d"],
    97: ["I"],
    98: ["B"],
}
FIELD_VALUES = ["", "B", "i", "d", "2d", "3d", "4d", "3d", "s"]  # by type, 16 more for many
TABLE = "T"  # int32 rows, three doubles each
DEVICE_CONFIGURES = {
    35: [TABLE],
    38: ["I", "H", "H", "d", "d", "B", "d", "d", "B", "B", "5d"],
    39: [TABLE],
    41: ["H", "H"],
    42: ["i", "3d", TABLE],
    44: ["i"],
    45: [TABLE],
    46: ["d", "s"],
    48: ["I", "H", "H", "d", "d", "B", "d", "H", "5d"],
    49: [TABLE],
    50: ["i", "11d", "L"],
    52: ["i"],
    55: ["I", "H", "H", "d", "d", "B", "d"],
    57: ["i", "11d", "L"],
    60: ["i", TABLE],
}


class Received(NamedTuple):
    """An answer as a client reads it."""

    delay: int
    data: dict[tuple[Any, ...], Any]
    order: list[tuple[int, int]]


class Reader:
    """Reads values one after another."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, layout: str) -> Any:
        if layout == "s":
            end = self.data.index(b"\0", self.at)
            text, self.at = self.data[self.at : end].decode(), end + 1
            return text
        if layout == "V":
            return self.value()
        if layout in {TABLE, "L"}:
            count = self.take("i")
            return list(self.many(f"{3 * count}d" if layout == TABLE else f"{count}H"))
        values = self.many(layout)
        return values[0] if len(values) == 1 else list(values)

    def value(self) -> list[Any]:
        """Read a value of a field: its type, 0 if there is none, where it is, the value."""
        kind = self.take("i")
        if kind == 0:
            return [kind]
        head = [kind, *self.many("iii")]
        if kind % 16 != 9:
            return [*head, self.take(FIELD_VALUES[kind % 16])]
        number = self.take("I")
        return [*head, [number, *(self.take(each) for each in [*NODE[1:], "s", "s"] if number)]]

    def many(self, layout: str) -> tuple[Any, ...]:
        values = unpack_from(f"<{layout}", self.data, self.at)
        self.at += calcsize(f"<{layout}")
        return values

    @property
    def over(self) -> bool:
        return self.at == len(self.data)


class Client:
    """A controller, written from the description of the protocol."""

    def __init__(self, peer: socket.socket, *, tcp: bool) -> None:
        self.peer = peer
        self.tcp = tcp
        self.node_types = [34]
        self.supervises = False
        peer.settimeout(10.0)

    @staticmethod
    def request(ms: int, *records: tuple[int, bytes]) -> bytes:
        body = b"".join(pack("<Hi", tag, len(data)) + data for tag, data in records)
        return pack("<iI", 8 + len(body), ms) + body

    def send(self, data: bytes, piece: int = 1 << 20) -> None:
        for start in range(0, len(data), piece):
            self.peer.sendall(data[start : start + piece])

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            more = self.peer.recv(count - len(data))
            if not more:
                raise ConnectionError(data)
            data += more
        return data

    def receive_bytes(self) -> bytes:
        """Return delay and records of the next message."""
        if not self.tcp:
            return self.exactly(unpack_from("<i", self.exactly(4))[0] - 4)
        chunks, size = unpack_from("<Hi", self.exactly(6))
        data = b""
        for _ in range(chunks):
            length, kind = unpack_from("<iB", self.exactly(5))
            assert kind == 0
            data += self.exactly(length)
        assert len(data) == size
        return data

    def receive(self) -> Received:
        reader = Reader(self.receive_bytes())
        delay = reader.take("i")
        data: dict[tuple[Any, ...], Any] = {}
        order = []
        while not reader.over:
            tag, command = reader.many("HB")
            order.append((tag, command))
            value = self.read_record(reader, tag, command)
            data[(tag, command) if (tag, command) not in data else (tag, command, "again")] = value
        return Received(delay, data, order)

    def read_record(self, reader: Reader, tag: int, command: int) -> Any:
        if tag:
            kind = self.node_types[tag]
            if command == 0:
                return [reader.take(each) for each in DEVICE_CONFIGURES[kind]]
            return reader.take(DEVICE_DATA[kind, command])
        if self.supervises and command in SUPERVISOR_DATA:
            return [reader.take(each) for each in SUPERVISOR_DATA[command]]
        if command == 0:
            return self.read_configure(reader)
        if command == 15:
            return [self.read_device(reader) for _ in range(reader.take("H"))]
        layout = ROBOT_DATA[command]
        return reader.take(layout) if layout else None

    def read_configure(self, reader: Reader) -> dict[str, Any]:
        names = "name version supervisor synchronization count node_type time"
        robot = dict(zip(names.split(), map(reader.take, "ssBBHHd"), strict=True))
        self.node_types = [34]
        robot["devices"] = [self.read_device(reader) for _ in range(robot["count"] - 1)]
        names = "step project world model window remote controller custom show html mode"
        robot |= dict(zip(names.split(), map(reader.take, "dsssssssBBi"), strict=True))
        self.supervises = bool(robot["supervisor"])
        return robot

    def read_device(self, reader: Reader) -> tuple[int, str, str]:
        device = (reader.take("H"), reader.take("s"), reader.take("s"))
        self.node_types.append(device[0])
        return device

    def exchange(self, ms: int, *records: tuple[int, bytes]) -> Received:
        self.send(self.request(ms, *records))
        return self.receive()

    def begin(self) -> Received:
        """Say what every controller says first, and learn about the robot."""
        return self.exchange(0, (0, pack("<BH", 35, 0)))

    def exit(self) -> None:
        """Leave as a program does that ends by itself."""
        self.send(self.request(0, (0, bytes([38]))))
        assert self.receive_bytes() == bytes(4)
        self.goodbye()

    def goodbye(self) -> None:
        self.send(bytes(4))
        self.peer.close()

    @property
    def closed(self) -> bool:
        """Whether the other side has closed."""
        try:
            return self.peer.recv(1) == b""
        except ConnectionError:
            return True


class ScriptedPort:
    """A robot whose vectors tell the time of their sample: (t, 2 t, -t) in milliseconds."""

    def __init__(self, world: ScriptedWorld, name: str, devices: tuple[DeviceInfo, ...]) -> None:
        self.world = world
        self.name = name
        self.devices = devices
        self.periods: dict[int, int] = {}
        self.commands: list[Any] = []
        self.news: list[DeviceInfo] = []
        self.custom_data: str | None = None
        self.opened = self.closed = self.due = self.last = 0

    def configure(self) -> RobotInfo:
        self.opened += 1
        self.periods.clear()
        self.last = self.world.now
        return RobotInfo(
            name=self.name,
            model="",
            version="R2025a",
            profile="R2025a",
            coordinate_system="ENU",
            supervisor=False,
            synchronization=True,
            time_s=0.001 * self.world.now,
            basic_time_step=32.0,
            project_path="/p",
            world_path="/p/w.wbt",
            custom_data="",
            controller="ctl",
            controller_args=(),
            devices=self.devices,
        )

    def apply(self, requests: Any) -> None:
        for tag, command, arguments in requests:
            if command == "period":
                self.periods[tag] = arguments[0]
            else:
                self.commands.append((tag, command, arguments))

    def answer(self, delay: int) -> Answer:
        samples = []
        for tag, period in sorted(self.periods.items()):
            kind = self.devices[tag - 1].kind
            times = range(self.last + 32, self.world.now + 1, 32)
            fresh = [t for t in times if period and t % (-(-period // 32) * 32) == 0]
            if fresh:
                t = float(fresh[-1])
                samples.append(
                    (tag, 0.001 * t, IDENTITY if kind == "InertialUnit" else [t, 2 * t, -t])
                )
        self.last = self.world.now
        answer = Answer(delay, 0.001 * self.world.now, samples, self.news, self.custom_data)
        self.news, self.custom_data = [], None
        return answer

    def exchange(self, ms: int, requests: Any) -> Answer:
        assert ms == 0
        self.apply(requests)
        return self.answer(0)

    def close(self) -> None:
        self.closed += 1


class ScriptedWorld:
    """Time, and robots that wait for it; the scheduler of a server."""

    def __init__(
        self, robots: dict[str, tuple[DeviceInfo, ...]], end_ms: float = float("inf")
    ) -> None:
        self.now = 0
        self.end_ms = end_ms
        self.ports = {name: ScriptedPort(self, name, devices) for name, devices in robots.items()}
        self.taking_part = set(self.ports)
        self.waiting: dict[str, ScriptedPort] = {}

    def submit(self, port: ScriptedPort, ms: int, requests: Any) -> None:
        port.apply(requests)
        self.taking_part.add(port.name)
        self.waiting[port.name] = port
        port.due = self.now + ms

    def drop(self, port: ScriptedPort) -> None:
        self.taking_part.discard(port.name)
        self.waiting.pop(port.name, None)
        port.close()

    def ready(self) -> list[tuple[ScriptedPort, Answer]]:
        if not self.waiting or self.waiting.keys() != self.taking_part:
            return []
        while self.now < min(*(port.due for port in self.waiting.values()), self.end_ms):
            self.now += 32
        over = self.now >= self.end_ms
        due = [port for port in self.waiting.values() if over or port.due <= self.now]
        for port in due:
            del self.waiting[port.name]
        return [(port, port.answer(-1 if over else 0)) for port in due]


def device(tag: int, kind: str, node_type: int, name: str, **parameters: Any) -> DeviceInfo:
    return DeviceInfo(tag, kind, node_type, name, "", parameters)


THREE_DEVICES = (
    device(1, "InertialUnit", 46, "imu", noise=0.0, coordinate_system="ENU"),
    device(2, "Accelerometer", 35, "acc", lookup_table=[]),
    device(3, "Gyro", 45, "gyro", lookup_table=[]),
)


class Running:
    """A server in a thread."""

    def __init__(self, world: Any, robots: list[str], scheduler: Any, **options: Any) -> None:
        self.world = world
        self.scheduler = scheduler
        self.log: list[str] = []
        number = os.getpid() * 1000 + next(NUMBERS)
        self.server = Server(number=number % (1 << 31), log=self.log.append, **options)
        self.path = Path(self.server.instance_path)
        self.robots = robots
        self.clients: list[Client] = []
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.serving = threading.Event()

    def run(self) -> None:
        with self.server:
            self.server.serve(self.robots, self.world.ports.__getitem__, self.scheduler)

    def socket(self, door: str = "extern", robot: str = "rob") -> socket.socket:
        peer = socket.socket(socket.AF_UNIX)
        peer.connect(str(self.path / "ipc" / robot / door))
        return peer

    def ipc(self, door: str = "extern", robot: str = "rob") -> Client:
        client = Client(self.socket(door, robot), tcp=False)
        self.clients.append(client)
        return client

    def hello(self, robot: str | None = "rob", piece: int = 1 << 20) -> tuple[Client, bytes]:
        """Connect by TCP; return what the handshake brought."""
        peer = socket.create_connection(self.server.address)
        client = Client(peer, tcp=True)
        self.clients.append(client)
        client.send(b"CTR" if robot is None else b"CTR\nRobot-Name: " + robot.encode(), piece)
        return client, peer.recv(10)

    def tcp(self, robot: str | None = "rob") -> Client:
        client, word = self.hello(robot)
        assert word == b"CONNECTED"
        return client

    def connect(self, transport: str) -> Client:
        return self.ipc() if transport == "ipc" else self.tcp()

    def stop(self) -> None:
        for client in self.clients:
            client.peer.close()
        self.server.stop()
        self.thread.join(10.0)
        assert not self.thread.is_alive()


@pytest.fixture(params=["ipc", "tcp"])
def transport(request):
    return request.param


@pytest.fixture
def three_devices():
    return THREE_DEVICES


@pytest.fixture
def describe_device():
    return device


@pytest.fixture
def make_client():
    return Client


@pytest.fixture
def scripted():
    return ScriptedWorld


@pytest.fixture
def serve(scripted):
    """Start servers; each is stopped at the end, and must leave nothing behind."""
    running = []

    def start(robots=None, world=None, scheduler=None, end_ms=float("inf"), **options):
        if world is None:
            world = scheduler = scripted(robots or {"rob": THREE_DEVICES}, end_ms)
        one = Running(world, list(world.ports), scheduler, **options)
        running.append(one)
        one.thread.start()
        last = one.path / "ipc"
        for _ in range(1000):
            if len(list(last.glob("*/intern"))) == len(one.robots):
                break
            threading.Event().wait(0.005)
        return one

    yield start
    for one in running:
        one.stop()
        assert not one.path.exists()
