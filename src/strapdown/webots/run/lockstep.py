"""Several controllers on one world: time advances when all of them wait for it."""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from strapdown.webots.port import Answer, Request
    from strapdown.webots.world.local_port import LocalPort
    from strapdown.webots.world.world import World

__all__ = ["Lockstep"]

NAP_S = 0.05
"""Longest sleep of :meth:`Lockstep.ready`."""
LAG_S = 0.1
"""Delay that a simulation in real time may catch up."""


class Lockstep:
    """Advances a world when every participating robot waits for it.

    Parameters
    ----------
    world : World
    robots : iterable of str
        Names of the robots whose controllers the world waits for from the start.
    realtime : float
        Largest speed of the simulation relative to the wall clock; True is 1, and 0 or
        False means unlimited.
    """

    def __init__(self, world: World, robots: Iterable[str], *, realtime: float = 0.0) -> None:
        self._world = world
        self._factor = float(realtime)
        self._running = {world.port(name) for name in robots}
        """Controllers that the world waits for."""
        self._waiting: dict[LocalPort, None] = {}
        """Controllers that wait for the world, in the order in which they asked."""
        self._paced_s = monotonic()

    def submit(self, port: LocalPort, ms: int, requests: Sequence[Request]) -> int:
        """Apply a robot's requests now, and register it as waiting for ``ms``.

        Returns the step at which they will have elapsed. A robot that did not participate does now.
        """
        if port not in self._running:
            port.join()
        due = port.submit(ms, requests)
        self._running.discard(port)
        self._waiting[port] = None
        return due

    def drop(self, port: LocalPort) -> None:
        """Continue without a robot, until it submits again."""
        self._running.discard(port)
        self._waiting.pop(port, None)
        port.close()

    def ready(self) -> list[tuple[LocalPort, Answer]]:
        """Advance the world if all robots wait, and return the answers that are due.

        In real time this sleeps for a moment if the world is early, and may return an empty list
        then: call it again.
        """
        due = self._due()
        if not due and self._waiting and not self._running:
            step = min(port.due for port in self._waiting)
            if not self._is_early(step):
                self._world.advance_to(step)
                due = self._due()
        for port in due:
            del self._waiting[port]
            self._running.add(port)
        return [(port, port.answer()) for port in due]

    def _due(self) -> list[LocalPort]:
        """Return the robots whose step is due, or can no longer take place."""
        timeline = self._world.timeline
        now, ended = timeline.step_count, timeline.ended
        return [port for port in self._waiting if port.due <= now or ended or port.robot.removed]

    def _is_early(self, step: int) -> bool:
        """Return whether a step is before its time on the wall clock, after a short sleep."""
        if not self._factor:
            return False
        timeline = self._world.timeline
        ahead_s = (step - timeline.step_count) * timeline.step_s / self._factor
        early_s = self._paced_s + ahead_s - monotonic()
        if early_s > 0.0:
            sleep(min(early_s, NAP_S))
        if early_s > NAP_S:
            return True
        self._paced_s += ahead_s + max(-early_s - LAG_S, 0.0)
        return False
