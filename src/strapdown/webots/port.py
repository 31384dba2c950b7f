"""Messages between a controller and its world, and the interface that carries them.

A controller in this process, one in a separate process and one that speaks the wire protocol all do
the same: read the configuration, then send requests and receive answers.
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
    """Description of a device, as its controller gets it."""

    tag: int
    kind: str
    """Type of the node, such as ``InertialUnit``."""
    node_type: int
    """Number of the node type in the controller interface, such as 46."""
    name: str
    model: str
    parameters: Mapping[str, Any]
    """Depend on ``kind``: see :mod:`strapdown.webots.devices.device_info`."""


class RobotInfo(NamedTuple):
    """Description of a robot and its world, as the controller gets it."""

    name: str
    model: str
    version: str
    """Release of the simulated Webots, such as ``R2025a``."""
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
    """Answer to a step."""

    delay: int
    """Milliseconds that the previous step took more than this one asks for; -1 after the end."""
    time_s: float
    samples: Sequence[Sample]
    """The last sample of each device that was refreshed since the last answer, in tag order."""
    devices: Sequence[DeviceInfo] = ()
    """Devices whose parameters changed, and new ones."""
    custom_data: str | None = None
    """The new text where somebody other than the controller changed it."""


class Port(Protocol):
    """Interface of a controller to its robot."""

    def configure(self) -> RobotInfo:
        """Return the description of robot and world; the first call of a controller."""
        ...

    def begin(self, ms: int, requests: Sequence[Request]) -> None:
        """Send requests, which take effect now, and ask for ``ms`` of simulated time."""
        ...

    def end(self) -> Answer:
        """Wait for the answer to :meth:`begin`."""
        ...

    def exchange(self, ms: int, requests: Sequence[Request]) -> Answer:
        """Call :meth:`begin` and :meth:`end`."""
        ...

    def supervise(self, method: str, *arguments: Any) -> Any:  # noqa: ANN401 (as the method says)
        """Call a supervisor's method; see :mod:`strapdown.webots.world.supervision`."""
        ...

    def close(self) -> None:
        """Announce that the controller has ended."""
        ...
