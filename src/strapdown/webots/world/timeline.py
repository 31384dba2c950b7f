"""Time of a world in whole basic steps, and the refreshes of devices.

States ahead are requested from the scene, twice as many each time while no command or change
occurs, and every device prepares for them at once what needs no history. A step is then little
more than one call for each device that is due.
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
"""Largest number of states requested ahead."""


class Timeline:
    """Advances a scene, and refreshes devices.

    Parameters
    ----------
    basic_time_step : float
        [ms].
    devices : callable
        Returns all devices, in the order of robots and tags.
    """

    def __init__(
        self, basic_time_step: float, devices: Callable[[], Iterable[DeviceState]]
    ) -> None:
        self.basic_time_step = basic_time_step
        self.step_s = basic_time_step / 1000.0
        self.observers: list[Observer] = []
        self._devices = devices

    def start(self, scene: Scene, *, most_ahead: int, last_step: int) -> None:
        """Start at time zero.

        Parameters
        ----------
        scene : Scene
            The scene at time zero.
        most_ahead : int
            Largest number of states requested ahead, in addition to the scene's own limit.
        last_step : int
            Last step of the simulation; no state after it is requested.
        """
        self.step_count = 0
        self.time_s = 0.0
        self.last_step = last_step
        self.ended = False
        """Whether time was requested beyond the last step."""
        self._scene = scene
        self._most = min(scene.lookahead, most_ahead, MOST_AHEAD)
        self._ahead = 1
        self._origin = self._known = 0
        self._active: list[DeviceState] = []
        self._next_due = NEVER

    @property
    def scene(self) -> Scene:
        """The scene at the present step, without states ahead."""
        self.settle()
        return self._scene

    def whole_steps(self, ms: float) -> int:
        """Return the number of basic steps until a positive time [ms] has elapsed."""
        return max(1, math.ceil(ms / self.basic_time_step - 1e-9))

    def settle(self) -> None:
        """Set the scene to the present step, and discard states ahead."""
        if self._known != self._origin:
            self._scene.commit(self.step_count - self._origin)
        self._origin = self._known = self.step_count
        self._ahead = 1

    def end_here(self) -> None:
        """Make the present step the last one."""
        self.last_step = self.step_count
        self.ended = True

    def advance_to(self, step: int) -> None:
        """Advance to a step, or to the end of the simulation before it."""
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
        """Advance by at most ``count`` steps, without refreshing devices.

        Returns the states of the steps, and their number. The states are valid until time advances
        again.
        """
        self.settle()
        count = min(count, self._scene.lookahead)
        horizon = self._scene.ahead(count)
        self.step_count += count
        self.time_s = self.step_count * self.basic_time_step / 1000.0
        self._known = self.step_count
        return horizon, count

    def _look_ahead(self, step: int) -> None:
        """Request the next states, as far as ``step`` if possible."""
        origin = self.step_count
        last = max(self.last_step, step)  # a request may end the simulation at any time
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
        """Stop observing."""
        if self._observer in self._observers:
            self._observers.remove(self._observer)
