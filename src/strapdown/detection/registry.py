"""Detectors by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from strapdown._lazy import LazyMapping
from strapdown.errors import UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.detection.detector import Detector

__all__ = ["DETECTORS", "KINDS", "detector"]

DETECTORS: Mapping[str, type[Detector[Any]]] = LazyMapping(
    "detector",
    "strapdown.detection",
    {
        "free_fall": "free_fall:FreeFallDetector",
        "fall": "falls:FallDetector",
        "impact": "impact:ImpactDetector",
        "clipping": "clipping:ClippingDetector",
        "stuck": "stuck:StuckDetector",
        "timing": "timing:TimingDetector",
        "health": "health:HealthDetector",
    },
)
"""Every detector by name; a call without arguments uses the default parameters."""

KINDS: Final = (*DETECTORS, "still")
"""Names of :func:`detector`."""


def detector(name: str) -> Detector[Any]:
    """Return a detector with default parameters; ``still`` works without angular velocity.

    Raises
    ------
    UnknownNameError
        There is no such detector.
    """
    if name == "still":
        from strapdown.detection.stillness import StillnessDetector  # noqa: PLC0415 (only this one)

        return StillnessDetector("lowpass")
    if name not in DETECTORS:
        raise UnknownNameError("detector", name, KINDS)
    return DETECTORS[name]()
