"""Detection of stillness: a sensor, or the foot that carries it, does not move."""

from __future__ import annotations

from strapdown.detection.stillness.detector import Stillness, StillnessDetector
from strapdown.detection.stillness.noise import quiet_noise
from strapdown.detection.stillness.params import StillnessKind, StillnessParams

__all__ = ["Stillness", "StillnessDetector", "StillnessKind", "StillnessParams", "quiet_noise"]
