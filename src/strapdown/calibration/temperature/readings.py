"""Temperature of a sensor over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.series.columns import as_stamps
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray, IntArray

__all__ = ["TemperatureReadings"]

_HOTTEST: Final = 200.0  # inertial sensors work up to 175 deg C


@dataclass(frozen=True, eq=False)
class TemperatureReadings:
    """Readings of a temperature sensor, at any rate.

    Between readings the temperature is linear; before the first and after the last it is held.

    Parameters
    ----------
    t_ns : (N,) int64
        Increasing stamps, on the clock of the samples [ns].
    celsius : (N,)
        [deg C].

    Raises
    ------
    ShapeError
        There are no readings, or not one per stamp.
    ValueRangeError
        A reading is not finite, the stamps do not increase, or the readings are in kelvin.

    Examples
    --------
    >>> readings = TemperatureReadings([0, 10_000_000_000], [20.0, 30.0])
    >>> readings.at([-1, 4_000_000_000, 20_000_000_000]).tolist()
    [20.0, 24.0, 30.0]
    """

    t_ns: IntArray
    celsius: FloatArray

    def __post_init__(self) -> None:
        t_ns, celsius = as_stamps(self.t_ns), as_finite(self.celsius, "celsius", ())
        if celsius.shape != t_ns.shape or not len(t_ns):
            raise ShapeError(
                f"expected one or more temperatures, one per stamp, got celsius of shape "
                f"{celsius.shape} and t_ns of shape {t_ns.shape}"
            )
        if not (np.diff(t_ns) > 0).all():
            raise ValueRangeError(
                "expected increasing stamps of temperatures, got one that repeats or goes back; "
                "sort the readings"
            )
        if float(np.median(celsius)) > _HOTTEST:
            raise ValueRangeError(
                f"expected temperatures in deg C, got a median of {np.median(celsius):.1f}; "
                "convert kelvin"
            )
        object.__setattr__(self, "t_ns", t_ns)
        object.__setattr__(self, "celsius", celsius)

    def __len__(self) -> int:
        return len(self.t_ns)

    def __repr__(self) -> str:
        return (
            f"TemperatureReadings({len(self)} readings, {self.celsius.min():.1f} to "
            f"{self.celsius.max():.1f} deg C)"
        )

    def at(self, t_ns: ArrayLike, *, lag_s: float = 0.0) -> FloatArray:
        """Return the temperature (N,) of the sensing element at stamps (N,) [deg C].

        A temperature sensor with one pole reads ``T`` where the element has ``T + lag dT/dt``. The
        product of lag and slope is the mean over one lag after the stamp less the mean over one lag
        before it: exact for a parabola, and with the noise of a mean.

        Parameters
        ----------
        t_ns : (N,) int64
            Stamps [ns].
        lag_s : float, optional
            Time constant of the temperature sensor [s].
        """
        t = self._seconds(t_ns)
        temperature = np.interp(t, self._seconds(self.t_ns), self.celsius)
        return temperature + self.rise(t_ns, lag_s) if lag_s > 0.0 else temperature

    def rise(self, t_ns: ArrayLike, span_s: float) -> FloatArray:
        """Return the rise (N,) of the temperature over a time about stamps (N,) [K].

        Parameters
        ----------
        t_ns : (N,) int64
            Stamps [ns].
        span_s : float
            The time [s]; the slope is taken from the means over this time before and after.
        """
        t = self._seconds(t_ns)
        before, here, after = (self._integral(t + offset) for offset in (-span_s, 0.0, span_s))
        rise: FloatArray = (after - 2.0 * here + before) / span_s
        return rise

    def _seconds(self, t_ns: ArrayLike) -> FloatArray:
        """Return stamps as time since the first reading [s]."""
        seconds: FloatArray = (np.asarray(t_ns, np.int64) - self.t_ns[0]) / NS_PER_S
        return seconds

    def _integral(self, t: FloatArray) -> FloatArray:
        """Return the integral of the temperature above the first reading up to times t [K s]."""
        knots, above = self._seconds(self.t_ns), self.celsius - self.celsius[0]
        steps = np.diff(knots) * 0.5 * (above[1:] + above[:-1])
        whole = np.concatenate([[0.0], np.cumsum(steps)])
        k = np.clip(np.searchsorted(knots, t, side="right") - 1, 0, len(knots) - 1)
        integral: FloatArray = whole[k] + 0.5 * (above[k] + np.interp(t, knots, above)) * (
            t - knots[k]
        )
        return integral
