"""Detectors of events: free fall, falls, impacts, and faults of sensors; vibration; voting.

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
from strapdown.detection.health import Health, HealthDetector, HealthParams, HealthStatus
from strapdown.detection.impact import ImpactDetector, ImpactParams
from strapdown.detection.stillness import (
    Stillness,
    StillnessDetector,
    StillnessKind,
    StillnessParams,
    quiet_noise,
)
from strapdown.detection.stuck import StuckDetector, StuckParams
from strapdown.detection.timing import TimingDetector, TimingParams
from strapdown.detection.vibration import (
    BANDS_HZ,
    Line,
    SensorVibration,
    Spread,
    Vibration,
    VibrationWindows,
    vibration_metrics,
)
from strapdown.detection.voting import (
    Mount,
    SensorState,
    Vote,
    Voter,
    VoteResult,
    VoterParams,
    VoterProfile,
    VoterReport,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BANDS_HZ",
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
    "Health",
    "HealthDetector",
    "HealthParams",
    "HealthStatus",
    "ImpactDetector",
    "ImpactParams",
    "Line",
    "Marker",
    "Mount",
    "SensorState",
    "SensorVibration",
    "Spread",
    "Stillness",
    "StillnessDetector",
    "StillnessKind",
    "StillnessParams",
    "StuckDetector",
    "StuckParams",
    "TimingDetector",
    "TimingParams",
    "Vibration",
    "VibrationWindows",
    "Vote",
    "VoteResult",
    "Voter",
    "VoterParams",
    "VoterProfile",
    "VoterReport",
    "clipping_bits",
    "is_freefall",
    "quiet_noise",
    "vibration_metrics",
]

DETECTORS: Mapping[str, type[Detector[Any]]] = {
    kind.NAME: kind
    for kind in (
        FreeFallDetector,
        FallDetector,
        ImpactDetector,
        ClippingDetector,
        StuckDetector,
        TimingDetector,
        HealthDetector,
    )
}
"""Every detector by name; with default parameters when called."""
