"""Stamps of a sensor on the clock of the host."""

from __future__ import annotations

from typing import Final

from strapdown.units import NS_PER_S

__all__ = ["DeviceClock"]

_DRIFT: Final = 1e-4
"""Largest difference of rate between the two clocks, 100 ppm."""
_RESTART_NS: Final = 2 * NS_PER_S
"""If the device is ahead of the arrivals by this much more than before, it has restarted [ns]."""


class DeviceClock:
    """Clock of a device, from its stamps and their arrivals at the host.

    A sample arrives after its stamp by a delay that is never negative, so the offset between the
    clocks is the smallest difference of arrival and stamp so far. It may rise by 100 ppm of the
    time of the device, so that it follows a slow device. The stamps keep the spacing of the
    device, without the jitter of the arrivals, and are late by the smallest delay.

    Parameters
    ----------
    modulus_ns : float
        Time after which the counter of the device begins again at 0 [ns]; 0 where it does not.

    Attributes
    ----------
    restarts : int
        Times that the device began again.

    Examples
    --------
    >>> clock = DeviceClock(modulus_ns=2.0**16 * 1e3)
    >>> clock.stamp(65_000e3, 1_000_000_000), clock.stamp(464e3, 1_001_500_000)
    (1000000000, 1001000100)
    """

    def __init__(self, modulus_ns: float = 0.0) -> None:
        self.restarts = 0
        self._modulus_ns = modulus_ns
        self._device_ns: float | None = None
        self._arrival_ns = self._last_ns = 0
        self._offset_ns = self._turns_ns = 0.0

    def stamp(self, device_ns: float, arrival_ns: int) -> int:
        """Return the stamp of a sample on the clock of the host [ns].

        Parameters
        ----------
        device_ns : float
            Its stamp by the device [ns].
        arrival_ns : int
            Clock of the host when it arrived [ns].
        """
        last = device_ns if self._device_ns is None else self._device_ns
        step = device_ns - last
        if step < 0.0 and self._modulus_ns:
            step += self._modulus_ns
            self._turns_ns += self._modulus_ns
        waited = arrival_ns - self._arrival_ns
        begins = self._device_ns is None
        if not begins and not 0.0 <= step <= waited + _RESTART_NS:
            self.restarts += 1
            begins = True
        if begins:
            self._turns_ns = 0.0
        unwrapped = device_ns + self._turns_ns
        difference = arrival_ns - unwrapped
        if begins or difference < self._offset_ns + _DRIFT * step:
            self._offset_ns = difference
        else:
            self._offset_ns += _DRIFT * step
        self._device_ns, self._arrival_ns = device_ns, arrival_ns
        self._last_ns = max(round(unwrapped + self._offset_ns), self._last_ns + 1)
        return self._last_ns
