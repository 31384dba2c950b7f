"""Base class of keyboard, mouse and joystick, which get no input."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from strapdown.webots.api import texts
from strapdown.webots.api.owner import session_of
from strapdown.webots.api.texts import say

if TYPE_CHECKING:
    from strapdown.webots.api.owner import Owner

__all__ = ["UserInput"]


class UserInput:
    """Input device for the user of a simulation.

    Parameters
    ----------
    sampling_period : int, optional
        Period [ms]; 0: disabled; by default the basic time step.
    robot : Robot, optional
        Its robot; by default the first one of this process.
    """

    _function: ClassVar[str]

    def __init__(self, sampling_period: int | None = None, *, robot: Owner | None = None) -> None:
        self._session = session_of(robot)
        self._period = 0
        if sampling_period != 0:
            basic = int(self._session.info.basic_time_step)
            self.enable(basic if sampling_period is None else sampling_period)

    def enable(self, p: int) -> None:
        """Enable the device with a period [ms]."""
        period = self._session.milliseconds(p, 1)
        if period < 0:
            say(texts.NEGATIVE_PERIOD, self._function)
            return
        if period:
            self._session.inert(f"{type(self).__name__}.enable")
        self._period = period

    def disable(self) -> None:
        """Disable the device."""
        self.enable(0)

    def getSamplingPeriod(self) -> int:
        """Return the period [ms]; 0: disabled."""
        return self._period

    @property
    def sampling_period(self) -> int:
        """Period [ms]; 0 or None: disabled."""
        return self._period

    @sampling_period.setter
    def sampling_period(self, p: int | None) -> None:
        self.enable(0 if p is None else p)

    def _check(self, call: str) -> None:
        if not self._period:
            say(texts.DISABLED, self._function, call)
