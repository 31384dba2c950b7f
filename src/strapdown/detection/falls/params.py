"""Parameters of the fall detector, with presets by the place of the sensor."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from strapdown.detection.detector import DetectorParams
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FALL_PRESETS", "FallParams"]


class FallLaw(Protocol):
    """Logistic law of a fall, such as a :class:`~strapdown.detection.FallScore`."""

    @property
    def weights(self) -> tuple[float, ...]: ...
    @property
    def offset(self) -> float: ...
    @property
    def threshold(self) -> float: ...


@dataclass(frozen=True)
class FallParams(DetectorParams):
    """Parameters of the fall detector; the defaults are for a sensor at the waist.

    Parameters
    ----------
    low_m_s2 : float
        The specific force is below this at some time in the second before the impact.
    high_m_s2, high_below_40_hz_m_s2 : float
        Its peak is above this; the second value applies to sampling rates below 40 Hz, where
        peaks are missed.
    angle_rad : float
        The mean specific force turns by more than this, from the second that ends one second
        before the impact to the second that begins one second after it.
    coverage : float
        Share of each of these seconds that has to be measured; with less a candidate is counted
        as undecided.
    long_lie_s, long_lie_within_s : float
        Lying still for ``long_lie_s``, ending at most ``long_lie_within_s`` after the impact, is
        a separate event.
    still_m_s2, still_rad_s : float
        Limits of lying still: specific force about its mean, and turn rate.

    Raises
    ------
    ValueRangeError
        A value is not finite and positive, or the coverage above 1.
    """

    low_m_s2: float = 0.7 * STANDARD_GRAVITY
    high_m_s2: float = 2.5 * STANDARD_GRAVITY
    high_below_40_hz_m_s2: float = 1.8 * STANDARD_GRAVITY
    angle_rad: float = 45.0 * RAD_PER_DEG
    coverage: float = field(default=0.8, metadata={"most": 1.0})
    long_lie_s: float = 10.0
    long_lie_within_s: float = 60.0
    still_m_s2: float = 0.5
    still_rad_s: float = 10.0 * RAD_PER_DEG

    # the logistic law of a score, one weight a feature; NaN: no score
    BESIDE: ClassVar[Mapping[str, Any]] = {
        "weights": [math.nan] * 6,
        "offset": math.nan,
        "likely": math.nan,
    }


FALL_PRESETS: Final[Mapping[str, FallParams]] = MappingProxyType(
    {
        "waist": FallParams(),
        "pocket": FallParams(high_m_s2=2.0 * STANDARD_GRAVITY),
        "wrist": FallParams(high_m_s2=3.0 * STANDARD_GRAVITY),
    }
)
"""Parameters by the place of the sensor. The wrist is the least reliable place: arms swing, turn
and knock as in a fall, and a fall need not turn them."""
