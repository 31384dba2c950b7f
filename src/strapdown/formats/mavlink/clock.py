"""Time since 1970 of the stamps of autopilots, which count from their start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from strapdown.formats.mavlink.messages import WireMessage

__all__ = ["FIRST_US", "LAST_US", "Clock"]

FIRST_US: Final = 10**15
"""Later stamps count from 1970: this is September 2001, or 31 years of uptime [us]."""
LAST_US: Final = (2**63 - 1) // NS_PER_US
"""Latest stamp that nanoseconds hold [us]."""
_US_PER_MS: Final = 1000


class Clock:
    """Clock of one vehicle, by its messages and the times of their reception.

    SYSTEM_TIME of the vehicle counts first. Without it, the message that was received soonest
    after its stamp is taken to have no latency.
    """

    def __init__(self) -> None:
        self._stated_us: int | None = None
        self._received_us: int | None = None

    def take(self, message: WireMessage, received_us: int) -> None:
        """Take a message of the vehicle, and the time since 1970 of its reception [us]."""
        if message.get_type() == "SYSTEM_TIME":
            unix_us = int(getattr(message, "time_unix_usec", 0))
            boot_us = int(getattr(message, "time_boot_ms", 0)) * _US_PER_MS
            if self._stated_us is None and FIRST_US <= unix_us <= LAST_US:
                self._stated_us = unix_us - boot_us
            return
        stamp_us = getattr(message, "time_usec", None)
        if stamp_us is None and (stamp_ms := getattr(message, "time_boot_ms", None)) is not None:
            stamp_us = stamp_ms * _US_PER_MS
        if stamp_us is None:
            return
        if FIRST_US <= stamp_us <= LAST_US:
            self._stated_us = 0
        elif FIRST_US <= received_us <= LAST_US and stamp_us < FIRST_US:
            late_us = received_us - int(stamp_us)
            known_us = self._received_us
            self._received_us = late_us if known_us is None else min(late_us, known_us)

    @property
    def offset_ns(self) -> int | None:
        """Offset from stamps to time since 1970 [ns]; None where nothing states it."""
        offset_us = self._received_us if self._stated_us is None else self._stated_us
        return None if offset_us is None else offset_us * NS_PER_US
