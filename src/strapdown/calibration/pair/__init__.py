"""Two sensors on one body: clock offset and drift, rotation, lever arm."""

from __future__ import annotations

from strapdown.calibration.pair.alignment import align_pair
from strapdown.calibration.pair.files import load_pair, save_pair
from strapdown.calibration.pair.result import PairResiduals, PairResult

__all__ = ["PairResiduals", "PairResult", "align_pair", "load_pair", "save_pair"]
