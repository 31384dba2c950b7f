"""Calibration of magnetometers: hard and soft iron, and rotation relative to the IMU."""

from __future__ import annotations

from strapdown.calibration.magnetometer.alignment import align_magnetometer
from strapdown.calibration.magnetometer.coverage import Coverage
from strapdown.calibration.magnetometer.ellipsoid import ellipsoid
from strapdown.calibration.magnetometer.result import MagnetometerAlignment, MagnetometerFit
from strapdown.calibration.magnetometer.streaming import MagCalibrator, MagCalibratorState

__all__ = [
    "Coverage",
    "MagCalibrator",
    "MagCalibratorState",
    "MagnetometerAlignment",
    "MagnetometerFit",
    "align_magnetometer",
    "ellipsoid",
]
