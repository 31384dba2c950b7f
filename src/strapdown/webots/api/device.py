"""Base classes of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, SupportsFloat, TypeVar

from strapdown.webots.api.owner import session_of
from strapdown.webots.api.session import real

if TYPE_CHECKING:
    from strapdown.webots.api.owner import Owner
    from strapdown.webots.port import DeviceInfo

    Kind = TypeVar("Kind", bound="Device")

__all__ = ["Device", "JointDevice", "PresenceDevice"]

ROBOT_NODE = 34


class Device:
    """Device of a robot.

    Parameters
    ----------
    name : str or int
        Name, or tag of the device on its robot, from 1.
    robot : Robot, optional
        Its robot; by default the first one of this process.
    """

    _function: ClassVar[str] = "device"
    """Name of this device type in the function names of messages."""
    _kinds: ClassVar[tuple[str, ...]] = ()
    """Node types that this class represents; empty: all."""

    def __init__(self, name: str | int, *, robot: Owner | None = None) -> None:
        session = session_of(robot)
        self._session = session
        self._tag = name if isinstance(name, int) else session.find(name)
        state = session.state(self._tag)
        self._any = state
        fits = state is not None and (not self._kinds or state.info.kind in self._kinds)
        self._state = state if fits else None

    def getName(self) -> str:
        """Return the name."""
        return self.name

    def getModel(self) -> str:
        """Return the model, a text of the node."""
        return self.model

    def getNodeType(self) -> int:
        """Return the kind as a constant of :class:`Node`."""
        return self.node_type

    @property
    def name(self) -> str:
        """Name."""
        if self._tag == 0:
            return self._session.info.name
        info = self._info("get_name")
        return "" if info is None else info.name

    @property
    def model(self) -> str:
        """Model, a text of the node."""
        if self._tag == 0:
            return self._session.info.model
        info = self._info("get_model")
        return "" if info is None else info.model

    @property
    def node_type(self) -> int:
        """Kind as a constant of :class:`Node`."""
        if self._tag == 0:
            return ROBOT_NODE
        info = self._info("get_node_type")
        return 0 if info is None else info.node_type

    def _info(self, call: str) -> DeviceInfo | None:
        if self._any is None:
            self._session.refuse(self._tag, "device", call)
            return None
        return self._any.info

    def _refuse(self, call: str) -> None:
        self._session.refuse(self._tag, self._function, call)

    def _on_joint(self, kind: type[Kind]) -> Kind | None:
        """Return the device of a given type on the same joint."""
        for tag in () if self._state is None else self._state.info.parameters.get("joint", ()):
            state = self._session.state(tag)
            if tag != self._tag and state is not None and state.info.kind in kind._kinds:
                return kind(tag, robot=self)
        return None

    def _parameter(self, key: str, call: str, default: float) -> float:
        """Return a number that the simulator sent, or that was set here."""
        state = self._state
        if state is None:
            self._refuse(call)
            return default
        if key in state.memory:
            return state.memory[key]
        value: float = state.info.parameters.get(key, default)
        return value

    def _keep(self, key: str, call: str, value: SupportsFloat) -> None:
        """Store a number for :meth:`_parameter`."""
        number = value if isinstance(value, int) else real(value)
        if self._state is None:
            self._refuse(call)
        else:
            self._state.memory[key] = number


class JointDevice(Device):
    """Device of a joint."""

    ROTATIONAL: ClassVar[int] = 0
    LINEAR: ClassVar[int] = 1

    def getType(self) -> int:
        """Return :attr:`ROTATIONAL` or :attr:`LINEAR`."""
        return self.type

    @property
    def type(self) -> int:
        """:attr:`ROTATIONAL` or :attr:`LINEAR`."""
        rotational = self._parameter("rotational", "get_type", default=True)
        return self.ROTATIONAL if rotational else self.LINEAR


class PresenceDevice(Device):
    """Device that can detect the presence of an object to hold."""

    def enablePresence(self, sampling_period: int) -> None:
        """Enable presence detection with a period [ms]."""
        period = self._session.milliseconds(sampling_period, 2)
        self._keep("presence", "enable_presence", period)

    def disablePresence(self) -> None:
        """Disable presence detection."""
        self._keep("presence", "disable_presence", 0)

    def getPresenceSamplingPeriod(self) -> int:
        """Return the period of presence detection [ms]; 0: disabled."""
        return self.presence_sampling_period

    @property
    def presence_sampling_period(self) -> int:
        """Period of presence detection [ms]; 0: disabled."""
        return int(self._parameter("presence", "get_presence_sampling_period", 0))
