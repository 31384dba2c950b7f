"""Detectors by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown._lazy import LazyMapping

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.detection.detector import Detector

__all__ = ["DETECTORS"]

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
