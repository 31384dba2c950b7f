"""Robots and their devices, as a world keeps them: what is known, and when to refresh."""

from __future__ import annotations

import sys
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from strapdown.errors import DeviceError
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
"""The step at which a disabled device is refreshed."""

AT_ONCE = 512
"""Rows that are made at once: with more, plain numbers leave the caches of a processor."""


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


class RobotState:
    """A robot of a world, with its devices in the order of their tags.

    ``fresh`` holds the last sample of each device that was refreshed since the last answer, and
    ``news`` the devices whose change the controller has not been told.
    """

    def __init__(self, name: str, node: Node) -> None:
        self.name = name
        self.node = node
        self.devices: list[DeviceState] = []
        self.fresh: dict[int, Sample] = {}
        self.news: dict[int, DeviceInfo] = {}
        self.new_custom_data: str | None = None
        """Set where somebody else than the controller changed it."""
        self.removed = False

    @property
    def custom_data(self) -> str:
        """The robot's text, which all that run in the world share."""
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
    """What a device asks the time of its world for."""

    step_s: float
    """How long a basic step lasts [s]."""
    step_count: int
    """How many are over."""

    @property
    def scene(self) -> Scene:
        """The scene, brought to the present step, with no states ahead."""
        ...

    def settle(self) -> None:
        """Bring the scene to the present step, and forget states ahead."""
        ...

    def whole_steps(self, ms: float) -> int:
        """Return how many basic steps it takes until a positive time [ms] is over."""
        ...


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
    clock : Clock
        The time of its world.
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
        """As asked for [ms]; 0: disabled."""
        self.stride = 0
        """The period in whole steps."""
        self.period_s = self.dt_s = 0.0
        self.due = NEVER
        self.next_row: Callable[[], Any] = _nothing
        self.take: Callable[[Any, float], list[float]] = _no_values
        self._measurement: Measuring | None = None
        self._clock = clock

    @property
    def measurement(self) -> Measuring | None:
        """What the device measures with; None: it has no samples. Another one may be put in."""
        return self._measurement

    @measurement.setter
    def measurement(self, measurement: Measuring | None) -> None:
        self._clock.settle()
        self._measurement = measurement
        self.take = _no_values if measurement is None else measurement.take
        self.begin()

    def enable(self, period: int) -> None:
        """Wait for a first refresh from now on; 0 disables, and a negative period is every step."""
        clock = self._clock
        clock.settle()
        self.period = period
        self.stride = clock.whole_steps(period) if period else 0
        self.period_s = self.dt_s = self.stride * clock.step_s
        able = self.stride and self._measurement is not None and not self.removed
        self.due = clock.step_count + self.stride if able else NEVER
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


def _nothing() -> None:
    """Give the row of a device that looks at nothing."""


def _no_values(_row: object, _dt_s: float) -> list[float]:
    """Give the values of a device that measures nothing."""
    return []
