"""Allan-type deviations: the noise of a sensor at rest over the cluster time."""

from __future__ import annotations

from strapdown.calibration.allan_deviation.accumulator import AllanAccumulator
from strapdown.calibration.allan_deviation.confidence import NoiseType
from strapdown.calibration.allan_deviation.deviations import allan
from strapdown.calibration.allan_deviation.estimators import DeviationKind
from strapdown.calibration.allan_deviation.result import AllanResult

__all__ = ["AllanAccumulator", "AllanResult", "DeviationKind", "NoiseType", "allan"]
