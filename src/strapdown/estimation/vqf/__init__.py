"""VQF: orientation with and without the magnetic field at once, gyro bias, and rest."""

from strapdown.estimation.vqf.filter import VqfFilter
from strapdown.estimation.vqf.model import VqfParams
from strapdown.estimation.vqf.offline import OfflineVqf

__all__ = ["OfflineVqf", "VqfFilter", "VqfParams"]
