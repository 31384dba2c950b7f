"""Detection of falls of people."""

from __future__ import annotations

from strapdown.detection.falls.detector import FallDetector
from strapdown.detection.falls.params import FALL_PRESETS, FallParams
from strapdown.detection.falls.score import FallScore

__all__ = ["FALL_PRESETS", "FallDetector", "FallParams", "FallScore"]
