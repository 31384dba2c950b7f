"""A port with scripted answers, and a robot on it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from strapdown.webots.api import Robot, Supervisor, runtime
from strapdown.webots.file.node_types import NODE_TYPES
from strapdown.webots.port import Answer, DeviceInfo, RobotInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LOOKUP = {"lookup_table": []}
PARAMETERS = {
    "InertialUnit": {"noise": 0.0, "coordinate_system": "ENU"},
    "Accelerometer": LOOKUP,
    "Gyro": LOOKUP,
    "Compass": LOOKUP,
    "GPS": {"coordinate_system": 0},
}
FOUR = ("InertialUnit inertial unit", "Accelerometer accelerometer", "Gyro gyro", "Compass compass")


class ScriptedPort:
    """World whose samples encode their time: (t, 2t, -t) in ms; the attitude is the identity."""

    def __init__(
        self,
        devices: Sequence[str] = FOUR,
        *,
        parameters: dict[str, dict[str, Any]] | None = None,
        end_ms: float = float("inf"),
        **info: Any,
    ) -> None:
        known = PARAMETERS | (parameters or {})
        kinds_and_names = [device.split(" ", 1) for device in devices]
        infos = tuple(
            DeviceInfo(tag, kind, NODE_TYPES[kind], name, "", MappingProxyType(known.get(kind, {})))
            for tag, (kind, name) in enumerate(kinds_and_names, start=1)
        )
        whole = {
            "name": "rob", "model": "mymodel", "version": "R2025a", "profile": "R2025a",
            "coordinate_system": "ENU", "supervisor": False, "synchronization": True,
            "time_s": 0.0, "basic_time_step": 32.0, "project_path": "<project path>",
            "world_path": "<world path>", "custom_data": "data", "controller": "ctl",
            "controller_args": (), "devices": infos,
        }  # fmt: skip
        self.info = RobotInfo(**(whole | info))
        self.requests: list[tuple[int, str, tuple[Any, ...]]] = []
        self.supervised: list[tuple[Any, ...]] = []
        self.replies: dict[str, Any] = {}
        self.news: list[DeviceInfo] = []
        self.new_custom_data: str | None = None
        self.closed = False
        self._now = 0.0
        self._end = end_ms
        self._asked = 0.0
        self._due: tuple[float, int] = (0.0, 0)
        self._periods: dict[int, tuple[float, float]] = {}
        self._fresh: dict[int, tuple[float, list[float]]] = {}

    def configure(self) -> RobotInfo:
        return self.info

    def begin(self, ms: int, requests: Sequence[tuple[int, str, tuple[Any, ...]]]) -> None:
        for tag, command, values in requests:
            self.requests.append((tag, command, values))
            if command == "period" and tag:
                self._periods[tag] = (values[0], self._now)
        delay = 0
        if ms > 0:
            delay = int(max(0.0, self._now - self._asked - ms))
            self._asked = self._now
        self._due = (self._now + ms, delay)

    def end(self) -> Answer:
        due, delay = self._due
        while self._now < min(due, self._end):
            self._now += self.info.basic_time_step
            for tag, (period, last) in self._periods.items():
                if period and self._now - last >= period:
                    self._periods[tag] = (period, self._now)
                    self._fresh[tag] = (self._now, self.measure(tag))
        samples = [(tag, t / 1000.0, values) for tag, (t, values) in sorted(self._fresh.items())]
        self._fresh.clear()
        news, self.news = self.news, []
        text, self.new_custom_data = self.new_custom_data, None
        delay = -1 if due > self._end else delay
        return Answer(delay, self._now / 1000.0, samples, news, text)

    def exchange(self, ms: int, requests: Sequence[tuple[int, str, tuple[Any, ...]]]) -> Answer:
        self.begin(ms, requests)
        return self.end()

    def measure(self, tag: int) -> list[float]:
        kind = self.info.devices[tag - 1].kind
        t = self._now
        if kind == "InertialUnit":
            by_profile = {"documented": [0.1, 0.2, 0.3], "R2020a": [0.1, 0.2, 0.3]}
            angles = by_profile.get(self.info.profile, [])
            return angles + ([] if self.info.profile == "R2020a" else [0.0, 0.0, 0.0, 1.0])
        if kind == "GPS":
            return [t, 2 * t, -t, 5.0, 3.0, 4.0, 0.0]
        return [t, 2 * t, -t] if kind in {"Accelerometer", "Gyro", "Compass"} else [0.0]

    def supervise(self, method: str, *arguments: Any) -> Any:
        self.supervised.append((method, *arguments))
        reply = self.replies.get(method)
        return reply(*arguments) if callable(reply) else reply

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def port() -> type[ScriptedPort]:
    return ScriptedPort


@pytest.fixture
def robot() -> Callable[..., Robot]:
    """Return a robot on a scripted port, which is its ``port``."""

    def make(*devices: str, **info: Any) -> Any:
        port = ScriptedPort(devices or FOUR, **info)
        kind = Supervisor if port.info.supervisor else Robot
        made: Any = kind(port=port)
        made.port = port
        return made

    return make


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[ScriptedPort], None]]:
    """Set up this process as a runner sets up that of a controller."""
    before = vars(Robot)["created"]

    def run(port: ScriptedPort) -> None:
        monkeypatch.setattr(runtime, "port", port)
        monkeypatch.setattr(runtime, "single_instance", True)
        Robot.created = None

    yield run
    Robot.created = before
