"""Calibration of one triad of axes: an affine map from its readings to the calibrated vector."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from strapdown._checks import as_finite, as_floats
from strapdown.errors import ValueRangeError

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, BoolArray, FloatArray

__all__ = ["TemperatureCurve", "TriadCalibration", "bias_covariance", "combined"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TemperatureCurve:  # noqa: PLW1641 (arrays have no hash)
    """Change of a bias with temperature, held constant outside the measured range.

    ``change(T) = sum_i coefficients[i] (T - reference_c)^(i+1)``

    Parameters
    ----------
    reference_c : float
        Temperature at which the change is zero [deg C].
    coefficients : (D, 3)
        By power from 1 to D, at most 3 [unit of the bias per K^power, sensor axes].
    lowest_c, highest_c : float
        Range of the measurement [deg C].
    lag_s : float
        Time constant by which the temperature reading follows the sensing element [s];
        :meth:`TemperatureReadings.at` removes it.
    sigma : (3,)
        Standard deviation of the curve, with half of its hysteresis [unit of the bias].

    Raises
    ------
    ShapeError, ValueRangeError
        A field has a wrong shape, is not finite, or the range is empty.
    """

    reference_c: float
    coefficients: FloatArray
    lowest_c: float
    highest_c: float
    lag_s: float = 0.0
    sigma: FloatArray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        _settle(self, "coefficients", (3,))
        _settle(self, "sigma", (3,))
        if not 1 <= len(self.coefficients) <= 3 or self.coefficients.ndim != 2:
            raise ValueRangeError(
                f"expected coefficients of 1 to 3 powers, got shape {self.coefficients.shape}"
            )
        if not self.lowest_c < self.highest_c:
            raise ValueRangeError(
                f"expected lowest_c below highest_c, got {self.lowest_c} and {self.highest_c}"
            )
        if not 0.0 <= self.lag_s < np.inf:
            raise ValueRangeError(f"expected lag_s of at least 0, got {self.lag_s}")

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    def change(self, temperature_c: ArrayLike) -> FloatArray:
        """Return the change of the bias (N, 3) at temperatures (N,) [deg C]."""
        step = np.clip(temperature_c, self.lowest_c, self.highest_c)[..., None] - self.reference_c
        change = np.zeros((*step.shape[:-1], 3))
        for coefficient in self.coefficients[::-1]:
            change = (change + coefficient) * step
        return change

    def outside(self, temperature_c: ArrayLike) -> BoolArray:
        """Return flags (N,) of temperatures outside the measured range, where it is held."""
        temperature = np.asarray(temperature_c)
        return (temperature < self.lowest_c) | (temperature > self.highest_c)


@dataclass(frozen=True, eq=False, kw_only=True)
class TriadCalibration:  # noqa: PLW1641 (arrays have no hash)
    """Affine map ``y = matrix (s - bias)`` of the readings ``s`` of three axes.

    Parameters
    ----------
    matrix : (3, 3)
        Inverse of scale and misalignment [unit of y per unit of s]; by default the identity.
    bias : (3,)
        Reading at zero input [unit of s, sensor axes].
    covariance : (12, 12), optional
        Of the parameters: the bias, then the matrix row by row; None where unknown.
    temperature : TemperatureCurve, optional
        Change of the bias with temperature.
    unit_in : str
        Unit of the readings; empty where it is the SI unit of the calibrated vector.

    Raises
    ------
    ShapeError, ValueRangeError
        A field has a wrong shape or is not finite, or the matrix cannot be inverted.

    Examples
    --------
    >>> triad = TriadCalibration(matrix=2.0 * np.eye(3), bias=[0.5, 0.0, 0.0])
    >>> triad.calibrated([[1.0, 0.0, 3.0]]).tolist()
    [[1.0, 0.0, 6.0]]
    """

    matrix: FloatArray = field(default_factory=lambda: np.eye(3))
    bias: FloatArray = field(default_factory=lambda: np.zeros(3))
    covariance: FloatArray | None = None
    temperature: TemperatureCurve | None = None
    unit_in: str = ""

    def __post_init__(self) -> None:
        _settle(self, "matrix", (3, 3))
        _settle(self, "bias", (3,))
        if self.covariance is not None:
            _settle(self, "covariance", (12, 12))
        if not np.linalg.cond(self.matrix) < 1e9:
            raise ValueRangeError(
                f"expected a matrix that can be inverted, got {self.matrix.tolist()}"
            )

    def __eq__(self, other: object) -> bool:
        return _equal(self, other)

    @property
    def inverse_matrix(self) -> FloatArray:
        """Inverse (3, 3) of the matrix: scale and misalignment [unit of s per unit of y]."""
        return np.linalg.inv(self.matrix).astype(np.float64, copy=False)

    @property
    def sigma_bias(self) -> FloatArray:
        """Standard deviation (3,) of the bias [unit of s]; NaN where unknown."""
        return self._sigmas()[:3]

    @property
    def sigma_matrix(self) -> FloatArray:
        """Standard deviation (3, 3) of the elements of the matrix; NaN where unknown."""
        return self._sigmas()[3:].reshape(3, 3)

    def _sigmas(self) -> FloatArray:
        if self.covariance is None:
            return np.full(12, np.nan)
        return np.sqrt(np.diag(self.covariance))

    def bias_at(self, temperature_c: ArrayLike | None) -> FloatArray:
        """Return the bias at temperatures: (N, 3), or (3,) without a curve.

        Raises
        ------
        ValueRangeError
            There is a curve and no temperature.
        """
        if self.temperature is None:
            return self.bias
        if temperature_c is None:
            raise ValueRangeError(
                "expected a temperature, because the bias depends on it, got none; pass "
                "temperature, or drop the curve with without_temperature()"
            )
        return self.bias + self.temperature.change(temperature_c)

    def calibrated(self, readings: ArrayLike, temperature_c: ArrayLike | None = None) -> FloatArray:
        """Return the calibrated vectors (..., 3) of readings (..., 3)."""
        values = as_floats(readings, "readings", (3,)) - self.bias_at(temperature_c)
        return values @ self.matrix.T

    def turned(self, rotation: FloatArray) -> TriadCalibration:
        """Return the calibration for readings and vectors that are both rotated.

        Parameters
        ----------
        rotation : (3, 3)
            ``R_new_from_old`` of the axes.
        """
        whole = np.zeros((12, 12))
        whole[:3, :3] = rotation
        whole[3:, 3:] = np.kron(rotation, rotation)
        covariance = self.covariance
        return replace(
            self,
            matrix=rotation @ self.matrix @ rotation.T,
            bias=rotation @ self.bias,
            covariance=None if covariance is None else whole @ covariance @ whole.T,
            temperature=_curve_sum([(rotation, self.temperature)]),
        )


def combined(matrix: FloatArray, *terms: tuple[FloatArray, TriadCalibration]) -> TriadCalibration:
    """Return a calibration whose bias is a sum of mapped biases, without covariance.

    Parameters
    ----------
    matrix : (3, 3)
        Of the new calibration.
    terms : pairs of (3, 3) and TriadCalibration
        Each contributes its bias, and its curve, multiplied by the matrix of the pair.

    Raises
    ------
    ValueRangeError
        Two curves have different temperatures of reference, ranges or lags.
    """
    return TriadCalibration(
        matrix=matrix,
        bias=np.sum([each @ triad.bias for each, triad in terms], axis=0),
        temperature=_curve_sum([(each, triad.temperature) for each, triad in terms]),
    )


def bias_covariance(sigma: FloatArray) -> FloatArray:
    """Return the covariance (12, 12) of a calibration that estimates the bias alone.

    Parameters
    ----------
    sigma : (3,)
        Standard deviation of the bias.
    """
    covariance = np.zeros((12, 12))
    covariance[:3, :3] = np.diag(np.square(sigma))
    return covariance


def _curve_sum(terms: list[tuple[FloatArray, TemperatureCurve | None]]) -> TemperatureCurve | None:
    """Return the sum of curves, each multiplied by a matrix; None is a curve of zeros."""
    mapped = [
        replace(
            curve,
            coefficients=curve.coefficients @ matrix.T,
            sigma=np.sqrt(matrix**2 @ np.square(curve.sigma)),
        )
        for matrix, curve in terms
        if curve is not None and np.any(matrix)
    ]
    if not mapped:
        return None
    ranges = {(c.reference_c, c.lowest_c, c.highest_c, c.lag_s) for c in mapped}
    if len(ranges) > 1:
        raise ValueRangeError(
            "expected temperature curves of one reference, range and lag, got "
            f"{sorted(ranges)}; combine the calibrations without_temperature()"
        )
    coefficients = np.zeros((max(len(c.coefficients) for c in mapped), 3))
    for curve in mapped:
        coefficients[: len(curve.coefficients)] += curve.coefficients
    sigma = np.sqrt(np.sum([np.square(c.sigma) for c in mapped], axis=0))
    return replace(mapped[0], coefficients=coefficients, sigma=sigma)


def _settle(owner: object, name: str, tail: tuple[int, ...]) -> None:
    """Store a field as a finite, read-only array whose last dimensions are given."""
    values = as_finite(getattr(owner, name), name, tail).copy()
    values.flags.writeable = False
    object.__setattr__(owner, name, values)


def _equal(one: TemperatureCurve | TriadCalibration, other: object) -> bool:
    if type(other) is not type(one):
        return False
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        for a, b in ((getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    )
