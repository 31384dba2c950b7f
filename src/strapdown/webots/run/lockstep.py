"""Several controllers on one world: time goes on when all of them wait for it."""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from strapdown.webots.port import Answer, Request
    from strapdown.webots.world.ports import LocalPort
    from strapdown.webots.world.world import World

__all__ = ["Lockstep"]

NAP_S = 0.05
"""The longest that :meth:`Lockstep.ready` sleeps."""
LAG_S = 0.1
"""By how much a simulation in real time may be late and catch up."""


class Lockstep:
    """Lets a world go on when every robot that takes part waits for it.

    Parameters
    ----------
    world : World
    robots : iterable of str
        Names of the robots whose controllers are awaited from the start.
    realtime : float
        How many times faster than the wall clock the simulation may be; True is 1, and 0 or
        False means as fast as it can.
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
        """Take a robot's requests, which take effect now, and let it wait for ``ms``.

        Returns the step at which it will be over. A robot that did not take part does now.
        """
        if port not in self._running:
            port.join()
        due = port.submit(ms, requests)
        self._running.discard(port)
        self._waiting[port] = None
        return due

    def drop(self, port: LocalPort) -> None:
        """Let the others go on without a robot, until it submits again."""
        self._running.discard(port)
        self._waiting.pop(port, None)
        port.close()

    def ready(self) -> list[tuple[LocalPort, Answer]]:
        """Let the world go on if all wait, and return the answers that are due.

        In real time this sleeps for a moment where the world would be early, and may return
        nothing then: call it again.
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
        """Return those whose time has come, or who wait in vain."""
        timeline = self._world.timeline
        now, ended = timeline.step_count, timeline.ended
        return [port for port in self._waiting if port.due <= now or ended or port.robot.removed]

    def _is_early(self, step: int) -> bool:
        """Return whether a step comes before its time on the wall clock; wait a little for it."""
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
