"""Detectors of events: free fall, falls, impacts, clipping.

Each takes a stream (``update``) or a series (``run``), keeps bounded memory, and states its
latency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strapdown.detection.clipping import ClippingDetector, ClippingParams, clipping_bits
from strapdown.detection.detector import Detector, DetectorParams, DetectorReport, DetectorState
from strapdown.detection.events import Event, Events, Marker
from strapdown.detection.falls import FALL_PRESETS, FallDetector, FallParams, FallScore
from strapdown.detection.free_fall import FreeFallDetector, FreeFallParams, is_freefall
from strapdown.detection.impact import ImpactDetector, ImpactParams

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DETECTORS",
    "FALL_PRESETS",
    "ClippingDetector",
    "ClippingParams",
    "Detector",
    "DetectorParams",
    "DetectorReport",
    "DetectorState",
    "Event",
    "Events",
    "FallDetector",
    "FallParams",
    "FallScore",
    "FreeFallDetector",
    "FreeFallParams",
    "ImpactDetector",
    "ImpactParams",
    "Marker",
    "clipping_bits",
    "is_freefall",
]

DETECTORS: Mapping[str, type[Detector[Any]]] = {
    kind.NAME: kind for kind in (FreeFallDetector, FallDetector, ImpactDetector, ClippingDetector)
}
"""Every detector by name; with default parameters when called."""
