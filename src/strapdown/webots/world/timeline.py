"""The time of a world in whole basic steps, and when devices are refreshed.

The scene is asked for states ahead, twice as many each time as long as nobody commands or changes
anything, and every device makes at once what needs no history. A step is then little more than
one call for each device that is due.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from strapdown.webots.devices.device import NEVER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from strapdown.webots.devices.device import DeviceState, RobotState
    from strapdown.webots.scene.scene import Horizon, Scene

    Observer: TypeAlias = Callable[[RobotState, DeviceState, int, list[float]], object]

__all__ = ["Observation", "Timeline"]

MOST_AHEAD = 4096
"""The most states that are asked ahead."""


class Timeline:
    """Moves a scene on, and refreshes devices.

    Parameters
    ----------
    basic_time_step : float
        [ms].
    devices : callable
        Gives all devices, in the order of robots and tags.
    """

    def __init__(
        self, basic_time_step: float, devices: Callable[[], Iterable[DeviceState]]
    ) -> None:
        self.basic_time_step = basic_time_step
        self.step_s = basic_time_step / 1000.0
        self.observers: list[Observer] = []
        self._devices = devices

    def start(self, scene: Scene, *, most_ahead: int, last_step: int) -> None:
        """Begin at time zero.

        Parameters
        ----------
        scene : Scene
            At time zero.
        most_ahead : int
            The most states that may be asked ahead, beside what the scene allows.
        last_step : int
            When the simulation ends; no state after it is asked for.
        """
        self.step_count = 0
        self.time_s = 0.0
        self.last_step = last_step
        self.ended = False
        """Whether time was to go on beyond the last step."""
        self._scene = scene
        self._most = min(scene.lookahead, most_ahead, MOST_AHEAD)
        self._ahead = 1
        self._origin = self._known = 0
        self._active: list[DeviceState] = []
        self._next_due = NEVER

    @property
    def scene(self) -> Scene:
        """The scene, brought to the present step, with no states ahead."""
        self.settle()
        return self._scene

    def whole_steps(self, ms: float) -> int:
        """Return how many basic steps it takes until a positive time [ms] is over."""
        return max(1, math.ceil(ms / self.basic_time_step - 1e-9))

    def settle(self) -> None:
        """Bring the scene to the present step, and forget states ahead."""
        if self._known != self._origin:
            self._scene.commit(self.step_count - self._origin)
        self._origin = self._known = self.step_count
        self._ahead = 1

    def end_here(self) -> None:
        """Make the present step the last one."""
        self.last_step = self.step_count
        self.ended = True

    def advance_to(self, step: int) -> None:
        """Move on to a step, or to the end of the simulation before it."""
        if step > self.last_step:
            step = self.last_step
            self.ended = True
        while self.step_count < step:
            if self.step_count == self._known:
                self._look_ahead(step)
            now, due = self._known, self._next_due
            if step < now:  # noqa: PLR1730 (three times as fast as min, in every step)
                now = step
            if is_due := due <= now:
                now = due
            self.step_count = now
            self.time_s = now * self.basic_time_step / 1000.0
            if is_due:
                self._refresh(now)

    def leap(self, count: int) -> tuple[Horizon, int]:
        """Move on by at most ``count`` steps, and refresh no device.

        Returns the states of the steps, and how many there are. The states hold until time goes
        on.
        """
        self.settle()
        count = min(count, self._scene.lookahead)
        horizon = self._scene.ahead(count)
        self.step_count += count
        self.time_s = self.step_count * self.basic_time_step / 1000.0
        self._known = self.step_count
        return horizon, count

    def _look_ahead(self, step: int) -> None:
        """Ask for the next states, as far as ``step`` if that is possible."""
        origin = self.step_count
        last = max(self.last_step, step)  # what ends the simulation may come at any time
        count = min(max(self._ahead, step - origin), self._most, last - origin)
        if self._known != self._origin:
            self._scene.commit(origin - self._origin)
        horizon = self._scene.ahead(count)
        self._origin, self._known = origin, origin + count
        self._ahead = 2 * count
        self._active = [device for device in self._devices() if device.due != NEVER]
        for device in self._active:
            if device.due <= self._known:
                device.look(horizon, origin)
        self._next_due = min((device.due for device in self._active), default=NEVER)

    def _refresh(self, now: int) -> None:
        """Refresh the devices that are due."""
        time_s, observers = self.time_s, self.observers
        earliest = NEVER
        for device in self._active:
            due = device.due
            if due == now:
                values = device.take(device.next_row(), device.dt_s)
                tag = device.tag
                device.fresh[tag] = (tag, time_s, values)
                device.dt_s = device.period_s
                device.due = due = now + device.stride
                for observer in observers:
                    observer(device.robot, device, now, values)
            if due < earliest:  # noqa: PLR1730 (three times as fast as min, in every step)
                earliest = due
        self._next_due = earliest


class Observation:
    """An observer of every refresh, until it is stopped."""

    def __init__(self, timeline: Timeline, observer: Observer) -> None:
        self._observers = timeline.observers
        self._observer = observer
        self._observers.append(observer)

    def stop(self) -> None:
        """Observe no longer."""
        if self._observer in self._observers:
            self._observers.remove(self._observer)
