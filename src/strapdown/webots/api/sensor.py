"""Base classes of sensors: with a lookup table, three values, or one value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from strapdown.webots.api import texts
from strapdown.webots.api.device import Device
from strapdown.webots.api.exceptions import NullPointerError
from strapdown.webots.api.texts import say

if TYPE_CHECKING:
    from strapdown.webots.api.owner import Owner
    from strapdown.webots.api.session import DeviceView

__all__ = ["ScalarSensor", "Sensor", "TableSensor", "VectorSensor"]


class Sensor(Device):
    """Device that measures with a period.

    Parameters
    ----------
    name : str or int
        Name or tag. A name also enables the sensor.
    sampling_period : int, optional
        With a name: the period [ms]; by default the basic time step.
    robot : Robot, optional
        Its robot; by default the first one of this process.
    """

    def __init__(
        self, name: str | int, sampling_period: int | None = None, *, robot: Owner | None = None
    ) -> None:
        super().__init__(name, robot=robot)
        if not isinstance(name, int):
            basic = int(self._session.info.basic_time_step)
            self.enable(basic if sampling_period is None else sampling_period)

    def enable(self, p: int) -> None:
        """Measure every ``p`` ms from the next step on; the first sample comes after one period."""
        period = self._session.milliseconds(p, 2)
        if period < 0:
            say(texts.NEGATIVE_PERIOD, self._function)
        elif self._state is None:
            self._refuse("enable")
        else:
            self._state.period = period
            self._session.ask(self._tag, "period", period)

    def disable(self) -> None:
        """Stop measuring; the last values stay readable."""
        self.enable(0)

    def getSamplingPeriod(self) -> int:
        """Return the period as requested [ms]; 0: disabled."""
        if self._state is None:
            self._refuse("get_sampling_period")
            return 0
        return self._state.period

    @property
    def sampling_period(self) -> int:
        """Period as requested [ms]; 0 or None: disabled."""
        return self.getSamplingPeriod()

    @sampling_period.setter
    def sampling_period(self, p: int | None) -> None:
        self.enable(0 if p is None else p)

    @property
    def sample_time(self) -> float:
        """Time of the present values [s]; NaN before the first measurement."""
        return math.nan if self._state is None else self._state.sample_time

    def _say_disabled(self, call: str) -> None:
        say(texts.DISABLED, self._function, call)

    def _read(self, call: str) -> DeviceView:
        """Return the state of a device of this kind, enabled or not."""
        state = self._state
        if state is None:
            self._refuse(call)
            raise NullPointerError
        if not state.period:
            self._say_disabled(call)
        return state

    def _scalar(self, call: str, index: int = 0) -> float:
        """Return one of the values; NaN for a device of another type."""
        state = self._state
        if state is None:
            self._refuse(call)
            return math.nan
        if not state.period:
            self._say_disabled(call)
        return state.values[index]


class TableSensor(Sensor):
    """Sensor with a lookup table."""

    def getLookupTable(self) -> list[float]:
        """Return the lookup table, row by row: input, output, noise."""
        return self.lookup_table

    @property
    def lookup_table(self) -> list[float]:
        """Lookup table, row by row: input, output, noise."""
        if self._state is None:
            self._refuse("get_lookup_table_size")
            self._refuse("get_lookup_table")
            return []
        return list(self._state.info.parameters.get("lookup_table", ()))


class VectorSensor(TableSensor):
    """Sensor of three values along its axes."""

    def getValues(self) -> list[float]:
        """Return the last values along x, y and z; NaN before the first measurement."""
        state = self._state
        if state is None or not state.period:
            state = self._read("get_values")
        return state.values[:]

    @property
    def value(self) -> list[float]:
        """Last values along x, y and z."""
        return self.getValues()


class ScalarSensor(Sensor):
    """Sensor of one value."""

    def getValue(self) -> float:
        """Return the last value; NaN before the first measurement."""
        return self._scalar("get_value")

    @property
    def value(self) -> float:
        """Last value."""
        return self._scalar("get_value")
