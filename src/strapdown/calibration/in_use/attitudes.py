"""Running calibration of the accelerometer, from gravity in different attitudes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.poses.force import ForceFit, fit_force
from strapdown.errors import ValueRangeError
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.in_use.rest_interval import RestInterval

__all__ = ["AccelCalibrator"]

_ALIKE: Final = np.cos(20.0 * RAD_PER_DEG)  # cosine of the angle within which attitudes are alike
_MOST: Final = 64  # attitudes in the reservoir
_FEWEST: Final = 12  # attitudes for a fit


class AccelCalibrator:
    """Calibrate an accelerometer while it is used, whenever it is at rest in a new attitude.

    A reservoir keeps up to 64 attitudes: a new one replaces the nearest within 20 deg, otherwise
    the oldest of a full reservoir, so frequent attitudes do not outweigh rare ones. The fit is that
    of :func:`multi_position`: bias, scale and misalignment that make the norm of the specific force
    gravity.

    Parameters
    ----------
    gravity : float, optional
        Local gravity [m/s^2]; its relative error is that of the scale.

    Raises
    ------
    ValueRangeError
        Gravity is not positive.
    """

    def __init__(self, gravity: float = STANDARD_GRAVITY) -> None:
        if not 0.0 < gravity < np.inf:
            raise ValueRangeError(f"expected gravity above 0, got {gravity}")
        self.gravity = gravity
        self._attitudes: list[RestInterval] = []  # the oldest first

    @property
    def specific_forces(self) -> FloatArray:
        """Mean readings of the attitudes in the reservoir (M, 3) [m/s^2, FLU]."""
        return np.array([each.specific_force for each in self._attitudes]).reshape(-1, 3)

    def add(self, interval: RestInterval) -> None:
        """Add an interval at rest to the reservoir.

        Parameters
        ----------
        interval : RestInterval
            From :class:`RestCalibrator`.
        """
        if self._attitudes:
            old, new = self.specific_forces, interval.specific_force
            alike = old @ new / (np.linalg.norm(old, axis=1) * np.linalg.norm(new))
            nearest = int(np.argmax(alike))
            if alike[nearest] > _ALIKE:
                del self._attitudes[nearest]
        self._attitudes = [*self._attitudes, interval][-_MOST:]

    def fit(self) -> ForceFit | None:
        """Return the fit to the attitudes in the reservoir; takes some milliseconds.

        Returns
        -------
        ForceFit or None
            Its ``triad`` is the calibration [FLU]. None where attitudes are too few or too much
            alike to determine all nine parameters.
        """
        if len(self._attitudes) < _FEWEST:
            return None
        sigmas = np.array([each.specific_force_sigma for each in self._attitudes])
        noise = np.square(sigmas)[:, :, None] * np.eye(3)
        fit = fit_force(self.specific_forces, noise, self.gravity)
        return None if fit.not_observable else fit
