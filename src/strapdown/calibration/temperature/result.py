"""Result of a calibration against temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray
    from strapdown.calibration.imu import ImuCalibration
    from strapdown.calibration.temperature.polynomials import TriadPolynomials

__all__ = ["TemperatureCalibration", "TriadTemperature"]


@dataclass(frozen=True, eq=False, kw_only=True)
class TriadTemperature:
    """Bias of three axes against temperature.

    Parameters
    ----------
    celsius : (B,)
        Mean temperatures of the bins of 1 K [deg C].
    curve : (B, 3)
        The polynomials at these temperatures [unit].
    rising, falling : (B, 3)
        Mean readings of each bin while temperature rises and falls [unit]; NaN without any.
    fit : TriadPolynomials
        In ``T - reference``.
    hysteresis : (3,)
        Root mean square over the bins of the difference between rising and falling, without
        the noise of the means [unit]; NaN where temperature went in one direction only.
    """

    celsius: FloatArray
    curve: FloatArray
    rising: FloatArray
    falling: FloatArray
    fit: TriadPolynomials
    hysteresis: FloatArray

    @property
    def sigma(self) -> FloatArray:
        """Standard deviation (3,) of the curve: its error at left-out bins, and half the band."""
        sigma: FloatArray = self.fit.left_out_rms + 0.5 * np.nan_to_num(self.hysteresis)
        return sigma


@dataclass(frozen=True, eq=False, kw_only=True)
class TemperatureCalibration:
    """Result of :func:`temperature_curve`.

    Parameters
    ----------
    calibration : ImuCalibration
        Gyro bias and the curves.
    warnings : tuple of str
        Findings, each with the next step.
    gyro : TriadTemperature
        [rad/s].
    accel : TriadTemperature, optional
        [m/s^2]; None where the attitude changed.
    lag_s : float
        Lag of the temperature sensor [s]; 0 where it is not significant.
    warm_up_s, moving_s : float
        Time left out at the start, and because the sensor moved [s].
    """

    calibration: ImuCalibration
    warnings: tuple[str, ...]
    gyro: TriadTemperature
    accel: TriadTemperature | None
    lag_s: float
    warm_up_s: float
    moving_s: float

    def lines(self) -> list[str]:
        """Return the result for people."""
        low, high = self.gyro.celsius[[0, -1]]
        text = [
            f"{low:.0f} to {high:.0f} deg C",
            f"left out: {self.warm_up_s:g} s of warm-up, {self.moving_s:g} s of motion",
            f"lag of the temperature sensor: {self.lag_s:.1f} s",
            _line("gyro", self.gyro, 1.0 / RAD_PER_DEG, "deg/s"),
        ]
        if self.accel is not None:
            text.append(_line("accelerometer", self.accel, 1e3, "mm/s^2"))
        return text

    def to_dict(self) -> dict[str, object]:
        """Return the figures in types of JSON."""
        values: dict[str, object] = {
            "lag_s": self.lag_s,
            "warm_up_s": self.warm_up_s,
            "moving_s": self.moving_s,
            "lowest_c": float(self.gyro.celsius[0]),
            "highest_c": float(self.gyro.celsius[-1]),
            "warnings": list(self.warnings),
        }
        for name, triad in (("gyro", self.gyro), ("accel", self.accel)):
            if triad is not None:
                values[name] = {
                    "degree": triad.fit.degree.tolist(),
                    "left_out_rms": triad.fit.left_out_rms.tolist(),
                    "hysteresis": [None if np.isnan(h) else float(h) for h in triad.hysteresis],
                }
        return values


def _line(name: str, found: TriadTemperature, factor: float, unit: str) -> str:
    """Return the figures of a triad."""
    change = factor * np.ptp(found.curve, axis=0)
    band = factor * found.hysteresis
    degrees = " ".join(str(degree) for degree in found.fit.degree)
    return (
        f"{name}: change {_three(change)} {unit}, degree {degrees}, hysteresis {_three(band)}, "
        f"error at left-out bins {_three(factor * found.fit.left_out_rms)}"
    )


def _three(values: FloatArray) -> str:
    return " ".join("-" if np.isnan(value) else f"{value:.3g}" for value in values)
