"""Stamps of a sensor on the clock of the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    device, without the jitter of the arrivals, and are late by the smallest delay. Samples that
    arrive together are stamped together.

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
    >>> clock.stamps([(65_000e3, 1_000_000_000), (464e3, 1_001_500_000)])
    [1000000100, 1001000100]
    """

    def __init__(self, modulus_ns: float = 0.0) -> None:
        self.restarts = 0
        self._modulus_ns = round(modulus_ns)
        self._device_ns: int | None = None
        self._arrival_ns = self._last_ns = 0
        self._offset_ns = self._turns_ns = 0

    def reset(self) -> None:
        """Begin again with the next stamp, as that of a device that may have restarted."""
        self._device_ns, self._turns_ns = None, 0

    def stamps(self, times: Iterable[tuple[float, int]]) -> list[int]:
        """Return the stamps of samples that arrive together on the clock of the host [ns].

        Parameters
        ----------
        times : iterable of (float, int)
            For each the stamp by the device, and the clock of the host when it arrived [ns].
        """
        found: list[int] = []
        together: list[int] = []
        for exact_ns, arrival_ns in times:
            device_ns = round(exact_ns)
            step = self._step(device_ns, arrival_ns)
            if step is None:
                found += self._settled(together)
                together, self._turns_ns = [], 0
            offset_ns = arrival_ns - device_ns - self._turns_ns
            if step is not None:
                offset_ns = min(offset_ns, self._offset_ns + round(_DRIFT * step))
            self._offset_ns, self._device_ns, self._arrival_ns = offset_ns, device_ns, arrival_ns
            together.append(device_ns + self._turns_ns)
        return found + self._settled(together)

    def _step(self, device_ns: int, arrival_ns: int) -> int | None:
        """Return the time since the last sample; None where the device has begun, or again."""
        if self._device_ns is None:
            return None
        step = device_ns - self._device_ns
        if step < 0 and self._modulus_ns:
            step += self._modulus_ns
            self._turns_ns += self._modulus_ns
        if 0 <= step <= arrival_ns - self._arrival_ns + _RESTART_NS:
            return step
        self.restarts += 1
        return None

    def _settled(self, unwrapped: list[int]) -> list[int]:
        """Return the stamps of times of the device, each after the one before."""
        found = []
        for device_ns in unwrapped:
            self._last_ns = max(device_ns + self._offset_ns, self._last_ns + 1)
            found.append(self._last_ns)
        return found
