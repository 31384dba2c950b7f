"""What passes between a controller and the world: the one door for every kind of controller.

A controller in this process, one in a process of its own and one that speaks the wire protocol
all do the same: read the configuration, then send requests and get answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Answer", "DeviceInfo", "Port", "Request", "RobotInfo", "Sample"]

Request: TypeAlias = tuple[int, str, tuple[Any, ...]]
"""Tag (0: the robot), command, arguments."""

Sample: TypeAlias = tuple[int, float, list[float]]
"""Tag, sample time [s], values."""


class DeviceInfo(NamedTuple):
    """What a controller learns about a device."""

    tag: int
    kind: str
    """Name of the node, such as ``InertialUnit``."""
    node_type: int
    """Number of the kind in the controller interface, such as 46."""
    name: str
    model: str
    parameters: Mapping[str, Any]
    """By the kind: see :mod:`strapdown.webots.devices.device_info`."""


class RobotInfo(NamedTuple):
    """What a controller learns about its robot and the world."""

    name: str
    model: str
    version: str
    """Of the simulator that is played, such as ``R2025a``."""
    profile: str
    coordinate_system: str
    supervisor: bool
    synchronization: bool
    time_s: float
    basic_time_step: float
    """[ms]."""
    project_path: str
    world_path: str
    custom_data: str
    controller: str
    controller_args: tuple[str, ...]
    devices: tuple[DeviceInfo, ...]
    """Tags 1, 2, ... in order."""


class Answer(NamedTuple):
    """What comes back from a step."""

    delay: int
    """How much longer than asked the step took [ms]; -1 when the simulation has ended."""
    time_s: float
    samples: Sequence[Sample]
    """The last sample of each device that was refreshed since the last answer, in tag order."""
    devices: Sequence[DeviceInfo] = ()
    """Devices whose parameters changed, and new ones."""
    custom_data: str | None = None
    """Where somebody else changed it."""


class Port(Protocol):
    """The door of one robot."""

    def configure(self) -> RobotInfo:
        """Return what there is; the first call of a controller."""
        ...

    def begin(self, ms: int, requests: Sequence[Request]) -> None:
        """Send requests, which take effect now, and ask for ``ms`` of simulated time."""
        ...

    def end(self) -> Answer:
        """Wait for the answer to :meth:`begin`."""
        ...

    def exchange(self, ms: int, requests: Sequence[Request]) -> Answer:
        """Do :meth:`begin` and :meth:`end` in one."""
        ...

    def supervise(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401 (as the method says)
        """Call a supervisor's method; see :mod:`strapdown.webots.world.supervision`."""
        ...

    def close(self) -> None:
        """Say that the controller has gone."""
        ...
