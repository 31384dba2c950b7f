"""VQF: orientation with and without the magnetic field at once, gyro bias, and rest."""

from strapdown.estimation.vqf.filter import VqfFilter
from strapdown.estimation.vqf.offline import OfflineVqf
from strapdown.estimation.vqf.params import VqfParams

__all__ = ["OfflineVqf", "VqfFilter", "VqfParams"]
