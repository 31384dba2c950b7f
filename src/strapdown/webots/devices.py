"""The simulator's side of a device: what is known about it, and when it is refreshed.

Parameters in :class:`~strapdown.webots.port.DeviceInfo`, by kind:

====================================  ===========================================================
Accelerometer, Gyro, Compass          ``lookup_table`` (flat, three numbers a row)
InertialUnit                          ``noise``, ``coordinate_system``
GPS                                   ``coordinate_system`` (0 local, 1 WGS84)
PositionSensor                        ``rotational``
RotationalMotor, LinearMotor          ``rotational``, ``min_position``, ``max_position``,
                                      ``max_velocity``, ``acceleration``, ``max_force``,
                                      ``control_pid``, ``position``, ``velocity``, ``multiplier``
DistanceSensor                        ``type``, ``min``, ``max``, ``aperture``, ``lookup_table``
LightSensor                           ``lookup_table``
TouchSensor                           ``type``, ``lookup_table``
Camera, RangeFinder, Display          ``width``, ``height``
====================================  ===========================================================

All others have none. Devices of a joint also have ``joint``, the tags of all that are on its
axis. A ``type`` is the number that the controller interface gives it.
"""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from strapdown.errors import DeviceError
from strapdown.webots.node_types import NODE_TYPES, fields_of
from strapdown.webots.port import DeviceInfo
from strapdown.webots.scene import BodyStates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.measurement import Measurement
    from strapdown.webots.node import Node
    from strapdown.webots.ports import RobotState
    from strapdown.webots.scene import Horizon
    from strapdown.webots.timeline import Timeline

__all__ = ["MOTORS", "NEVER", "DeviceState", "JointPosition", "Measuring", "Neutral", "describe"]

NEVER = sys.maxsize
"""The step at which a disabled device is refreshed."""

MOTORS = {"RotationalMotor", "LinearMotor"}
AT_ONCE = 512
"""Rows that are made at once: with more, plain numbers leave the caches of a processor."""
DISTANCE_TYPES = ("generic", "infra-red", "sonar", "laser")
TOUCH_TYPES = ("bumper", "force", "force-3d")


Measuring: TypeAlias = "Measurement | JointPosition | Neutral"


class Neutral:
    """Measures nothing: zeros at every refresh, as a device without surroundings."""

    def __init__(self, width: int = 1) -> None:
        self.width = width

    def take(self, _row: object, _dt_s: float) -> list[float]:
        """Return zeros."""
        return [0.0] * self.width

    def configure(self) -> None:
        """Have nothing to take over."""

    def reset(self) -> None:
        """Have nothing to forget."""


class JointPosition:
    """What a PositionSensor measures: the position of its joint [rad or m].

    Gaussian noise of the standard deviation ``noise`` is added, then ``resolution`` applied.
    """

    width = 1

    def __init__(
        self,
        node: Node,
        *,
        gaussian: Callable[[], float],
        discretize: Callable[[float, float], float],
    ) -> None:
        self._node = node
        self._gaussian = gaussian
        self._discretize = discretize
        self.configure()

    def take(self, row: float, _dt_s: float) -> list[float]:
        """Refresh once from the joint's position."""
        if self._noise:
            row += self._noise * self._gaussian()
        if self._resolution != -1.0:
            row = self._discretize(row, self._resolution)
        return [row]

    def configure(self) -> None:
        """Take over the fields."""
        self._noise = self._node.number("noise")
        self._resolution = self._node.number("resolution")

    def reset(self) -> None:
        """Have nothing to forget."""


class DeviceState:
    """A device of a robot, as the world keeps it.

    ``due`` and ``dt_s`` are all that the timing needs: the step of the next refresh, and the
    time from the last refresh, or from enabling, until then. Rows are made for the steps at
    which the device is due, and only for these.

    Parameters
    ----------
    robot : RobotState
        Whose it is.
    info : DeviceInfo
        What its controller knows.
    node : Node
    gaussian : callable
        Gives its noise the next standard normal number.
    timeline : Timeline
    """

    def __init__(
        self,
        robot: RobotState,
        info: DeviceInfo,
        node: Node,
        gaussian: Callable[[], float],
        timeline: Timeline,
    ) -> None:
        self.robot = robot
        self.node = node
        self.gaussian = gaussian
        self.info = info
        self.tag = info.tag
        self.name = info.name
        self.kind = info.kind
        self.fresh = robot.fresh
        self.removed = False
        self.period = 0
        """As asked for [ms]; 0: disabled."""
        self.stride = 0
        """The period in whole steps."""
        self.period_s = self.dt_s = 0.0
        self.due = NEVER
        self.next_row: Callable[[], Any] = _nothing
        self.take: Callable[[Any, float], list[float]] = _no_values
        self._measurement: Measuring | None = None
        self._timeline = timeline

    @property
    def measurement(self) -> Measuring | None:
        """What the device measures with; None: it has no samples. Another one may be put in."""
        return self._measurement

    @measurement.setter
    def measurement(self, measurement: Measuring | None) -> None:
        self._timeline.settle()
        self._measurement = measurement
        self.take = _no_values if measurement is None else measurement.take
        self.begin()

    def enable(self, period: int) -> None:
        """Wait for a first refresh from now on; 0 disables, and a negative period is every step."""
        timeline = self._timeline
        timeline.settle()
        self.period = period
        self.stride = timeline.whole_steps(period) if period else 0
        self.period_s = self.dt_s = self.stride * timeline.step_s
        able = self.stride and self._measurement is not None and not self.removed
        self.due = timeline.step_count + self.stride if able else NEVER
        self.begin()

    def reset(self, dt_s: float) -> None:
        """Be due at the first step after a reset, which comes ``dt_s`` after what was before."""
        self.removed = False
        if self._measurement is not None:
            self._measurement.configure()
            self._measurement.reset()
        if self.due != NEVER:
            self.due, self.dt_s = 1, dt_s
        self.begin()

    def begin(self) -> None:
        """Let a first period begin at the present state of the world."""
        measurement = self._measurement
        if self.due != NEVER and not isinstance(measurement, Neutral | JointPosition | None):
            scene = self._timeline.scene
            scene.watch(self.node)
            measurement.start(measurement.prepare(scene.present(self.node))[0])

    def batch(self, horizon: Horizon, origin: int, dt_s: FloatArray) -> FloatArray:
        """Return the refreshes (N, width) of a horizon whose first state is as for :meth:`look`.

        Raises
        ------
        DeviceError
            The device does not measure its own motion.
        """
        measurement = self._measurement
        if isinstance(measurement, Neutral | JointPosition | None):
            raise DeviceError(f"expected a device that measures its motion, got {self.kind}")
        return measurement.batch(_some(horizon.states(self.node), self._due_from(origin)), dt_s)

    def _due_from(self, origin: int) -> slice:
        """Return at which states after ``origin`` the device is due."""
        return slice(self.due - origin - 1, None, self.stride)

    def look(self, horizon: Horizon, origin: int) -> None:
        """Make the rows of a horizon whose first state stands one step after ``origin``."""
        measurement = self._measurement
        due = self._due_from(origin)
        if isinstance(measurement, JointPosition):
            positions: Sequence[Any] = horizon.positions(self.node)[due].tolist()
            self.next_row = iter(positions).__next__
        elif not isinstance(measurement, Neutral | None):
            states = _some(horizon.states(self.node), due)
            blocks = (
                measurement.prepare(_some(states, slice(row, row + AT_ONCE)))
                for row in range(0, len(states.position), AT_ONCE)
            )
            self.next_row = chain.from_iterable(blocks).__next__


def _some(states: BodyStates, rows: slice) -> BodyStates:
    """Return some of N states."""
    count = len(states.position)
    if len(range(*rows.indices(count))) == count:  # all of them: without six slices
        return states
    return BodyStates(*(array[rows] for array in states))


def describe(
    node: Node, tag: int, *, coordinate_system: str, wgs84: bool, position: float
) -> DeviceInfo:
    """Return what a controller learns about a device.

    Parameters
    ----------
    node : Node
        The device.
    tag : int
        Its number on the robot.
    coordinate_system : str
        Of the world: ``NUE``, ``ENU`` or ``EUN``.
    wgs84 : bool
        Whether a GPS of this world gives geodetic coordinates.
    position : float
        Of the joint of a motor, now [rad or m].
    """
    kind = node.type
    parameters: dict[str, Any] = {}
    if kind == "InertialUnit":
        parameters = {"noise": node.number("noise"), "coordinate_system": coordinate_system}
    elif kind == "GPS":
        parameters = {"coordinate_system": int(wgs84)}
    elif kind == "PositionSensor":
        joint = node.parent
        parameters = {"rotational": joint is None or joint.type != "SliderJoint"}
    elif kind in MOTORS:
        parameters = _motor(node, position)
    elif kind in {"Camera", "RangeFinder", "Display"}:
        parameters = {side: node.get(side) for side in ("width", "height")}
    elif kind in {"Accelerometer", "Gyro", "Compass", "LightSensor"}:
        parameters = {"lookup_table": _flat_table(node)}
    elif kind == "TouchSensor":
        parameters = {"type": _index(node, TOUCH_TYPES), "lookup_table": _flat_table(node)}
    elif kind == "DistanceSensor":
        parameters = _distance_sensor(node)
    if node.parent is not None and node.parent_field.startswith("device"):
        together = node.parent.nodes(node.parent_field)
        first = tag - together.index(node)
        parameters["joint"] = tuple(range(first, first + len(together)))
    model = node.text("model") if "model" in fields_of(kind) else ""
    return DeviceInfo(tag, kind, NODE_TYPES[kind], node.text("name"), model, parameters)


def _motor(node: Node, position: float) -> dict[str, Any]:
    """Return the parameters of a motor."""
    rotational = node.type == "RotationalMotor"
    velocity = node.number("maxVelocity")
    return {
        "rotational": rotational,
        "min_position": node.number("minPosition"),
        "max_position": node.number("maxPosition"),
        "max_velocity": velocity,
        "acceleration": node.number("acceleration"),
        "max_force": node.number("maxTorque" if rotational else "maxForce"),
        "control_pid": node.vector("controlPID"),
        "position": position,
        "velocity": velocity,
        "multiplier": node.number("multiplier"),
    }


def _distance_sensor(node: Node) -> dict[str, Any]:
    """Return the parameters of a DistanceSensor; its range is that of the table's outputs."""
    table = _flat_table(node)
    outputs = table[1::3] or [0.0]
    return {
        "type": _index(node, DISTANCE_TYPES),
        "min": min(outputs),
        "max": max(outputs),
        "aperture": node.number("aperture"),
        "lookup_table": table,
    }


def _flat_table(node: Node) -> list[float]:
    """Return the lookup table as one list of 3 N numbers."""
    return [value for row in node.vectors("lookupTable") for value in row]


def _index(node: Node, types: tuple[str, ...]) -> int:
    """Return the number of the node's ``type``; the first where it is none of them."""
    name = node.text("type")
    return types.index(name) if name in types else 0


def _nothing() -> None:
    """Give the row of a device that looks at nothing."""


def _no_values(_row: object, _dt_s: float) -> list[float]:
    """Give the values of a device that measures nothing."""
    return []
