"""Robots and their devices in a world: properties, and times of refreshes."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from strapdown.errors import DeviceError
from strapdown.webots.devices.surroundings import DistanceMeter, TouchMeter
from strapdown.webots.scene.scene import BodyStates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import FloatArray
    from strapdown.webots.devices.measurement import Measurement
    from strapdown.webots.file.node import Node
    from strapdown.webots.port import DeviceInfo, Sample
    from strapdown.webots.scene.scene import Horizon, Scene

__all__ = ["NEVER", "Clock", "DeviceState", "JointPosition", "Measuring", "Neutral", "RobotState"]

NEVER = sys.maxsize
"""Step of the next refresh of a disabled device."""

AT_ONCE = 512
"""Rows that are prepared at once: more would leave the caches of a processor."""


Measuring: TypeAlias = "Measurement | JointPosition | Surveyor | Neutral"
Surveyor: TypeAlias = DistanceMeter | TouchMeter


class Neutral:
    """Measurement of a device without surroundings: zeros at every refresh."""

    def __init__(self, width: int = 1) -> None:
        self.width = width

    def take(self, _row: object, _dt_s: float) -> list[float]:
        """Return zeros."""
        return [0.0] * self.width

    def configure(self) -> None:
        """Do nothing: there are no fields."""

    def reset(self) -> None:
        """Do nothing: there is no state."""


class JointPosition:
    """Measurement of a PositionSensor: the position of its joint [rad or m].

    Gaussian noise of the standard deviation ``noise`` is added, then ``resolution`` is applied.
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
        """Return the reading at a joint position."""
        if self._noise:
            row += self._noise * self._gaussian()
        if self._resolution != -1.0:
            row = self._discretize(row, self._resolution)
        return [row]

    def configure(self) -> None:
        """Read the fields of the node again."""
        self._noise = self._node.number("noise")
        self._resolution = self._node.number("resolution")

    def reset(self) -> None:
        """Do nothing: there is no state."""


class RobotState:
    """A robot of a world, with its devices in the order of their tags.

    ``fresh`` contains the last sample of each device that was refreshed since the last answer, and
    ``news`` the changed devices that have not been reported to the controller.
    """

    def __init__(self, name: str, node: Node) -> None:
        self.name = name
        self.node = node
        self.devices: list[DeviceState] = []
        self.fresh: dict[int, Sample] = {}
        self.news: dict[int, DeviceInfo] = {}
        self.new_custom_data: str | None = None
        """New text where somebody other than the controller changed it."""
        self.removed = False

    @property
    def custom_data(self) -> str:
        """The robot's text, shared by all programs of the world."""
        return self.node.text("customData")

    def device(self, tag: int) -> DeviceState:
        """Return a device by its tag.

        Raises
        ------
        DeviceError
            The robot has no such tag.
        """
        if 0 < tag <= len(self.devices):
            return self.devices[tag - 1]
        count = len(self.devices)
        raise DeviceError(f"robot {self.name!r}: expected a device tag 1 ... {count}, got {tag}")


class Clock(Protocol):
    """Time of a world, as far as a device needs it."""

    step_s: float
    """Duration of a basic step [s]."""
    step_count: int
    """Number of basic steps that have elapsed."""

    @property
    def scene(self) -> Scene:
        """The scene at the present step, without states ahead."""
        ...

    def settle(self) -> None:
        """Set the scene to the present step, and discard states ahead."""
        ...

    def whole_steps(self, ms: float) -> int:
        """Return the number of basic steps until a positive time [ms] has elapsed."""
        ...


class DeviceState:
    """A device of a robot in its world.

    ``due`` and ``dt_s`` determine the timing: the step of the next refresh, and the time from the
    last refresh, or from enabling, until then. Rows are prepared only for the steps at which the
    device is due.

    Parameters
    ----------
    robot : RobotState
        Robot of the device.
    info : DeviceInfo
        Description for its controller.
    node : Node
    gaussian : callable
        Returns the next standard normal number for its noise.
    clock : Clock
        Time of its world.
    """

    def __init__(
        self,
        robot: RobotState,
        info: DeviceInfo,
        node: Node,
        gaussian: Callable[[], float],
        clock: Clock,
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
        """Period as requested [ms]; 0: disabled."""
        self.stride = 0
        """Period in whole steps."""
        self.period_s = self.dt_s = 0.0
        self.due = NEVER
        self.next_row: Callable[[], Any] = _nothing
        self.take: Callable[[Any, float], list[float]] = _no_values
        self._measurement: Measuring | None = None
        self._clock = clock

    @property
    def measurement(self) -> Measuring | None:
        """Measurement of the device; None if it has no samples. It can be replaced."""
        return self._measurement

    @measurement.setter
    def measurement(self, measurement: Measuring | None) -> None:
        self._clock.settle()
        self._measurement = measurement
        self.take = _no_values if measurement is None else measurement.take
        self.begin()

    def enable(self, period: int) -> None:
        """Schedule the first refresh; 0 disables, and with a negative period every step is due."""
        clock = self._clock
        clock.settle()
        self.period = period
        self.stride = clock.whole_steps(period) if period else 0
        self.period_s = self.dt_s = self.stride * clock.step_s
        able = self.stride and self._measurement is not None and not self.removed
        self.due = clock.step_count + self.stride if able else NEVER
        self.begin()

    def reset(self, dt_s: float) -> None:
        """Schedule a refresh at the first step after a reset, ``dt_s`` after the one before."""
        self.removed = False
        if self._measurement is not None:
            self._measurement.configure()
            self._measurement.reset()
        if self.due != NEVER:
            self.due, self.dt_s = 1, dt_s
        self.begin()

    def begin(self) -> None:
        """Start a first period at the present state of the world."""
        measurement = self._measurement
        if self.due == NEVER:
            return
        if isinstance(measurement, Surveyor):
            for node in measurement.watched:
                self._clock.scene.watch(node)
        elif not isinstance(measurement, Neutral | JointPosition | None):
            scene = self._clock.scene
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
        if isinstance(measurement, Neutral | JointPosition | Surveyor | None):
            raise DeviceError(f"expected a device that measures its motion, got {self.kind}")
        return measurement.batch(_some(horizon.states(self.node), self._due_from(origin)), dt_s)

    def _due_from(self, origin: int) -> slice:
        """Return the indices of the states after ``origin`` at which the device is due."""
        return slice(self.due - origin - 1, None, self.stride)

    def look(self, horizon: Horizon, origin: int) -> None:
        """Prepare the rows of a horizon whose first state is one step after ``origin``."""
        measurement = self._measurement
        due = self._due_from(origin)
        if isinstance(measurement, JointPosition):
            positions: Sequence[Any] = horizon.positions(self.node)[due].tolist()
            self.next_row = iter(positions).__next__
        elif isinstance(measurement, Surveyor):
            self.next_row = iter(measurement.survey(horizon, due)).__next__
        elif not isinstance(measurement, Neutral | None):
            states = _some(horizon.states(self.node), due)
            blocks = (
                measurement.prepare(_some(states, slice(row, row + AT_ONCE)))
                for row in range(0, len(states.position), AT_ONCE)
            )
            self.next_row = chain.from_iterable(blocks).__next__


def _some(states: BodyStates, rows: slice) -> BodyStates:
    """Return a selection of N states."""
    count = len(states.position)
    if len(range(*rows.indices(count))) == count:  # all of them: no need for six slices
        return states
    return BodyStates(*(array[rows] for array in states))


def _nothing() -> None:
    """Row of a device without input."""


def _no_values(_row: object, _dt_s: float) -> list[float]:
    """Return no values, for a device without a measurement."""
    return []
