"""Calibration from the parts of a recording at rest."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from strapdown._words import counted
from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.in_use.attitudes import AccelCalibrator
from strapdown.calibration.in_use.rest import RestCalibrator
from strapdown.calibration.poses.result import gravity_of, rms
from strapdown.detection import Events, StillnessParams, quiet_noise
from strapdown.errors import ValueRangeError
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

    from strapdown.calibration.in_use.rest_interval import Refusal, RestInterval, RestParams
    from strapdown.calibration.poses.force import ForceFit
    from strapdown.series import ImuSeries

__all__ = ["RestCalibration", "rest_calibration"]

_NOISIEST_M_S2: Final = 0.1  # accelerometer noise beyond which a recording was never at rest
_UNSEEN: Final = "without a magnetometer a slow turn about the vertical would count as bias"


@dataclass(frozen=True, eq=False, kw_only=True)
class RestCalibration:
    """Result of :func:`rest_calibration`.

    Parameters
    ----------
    calibration : ImuCalibration
        With the gyro bias at the end of the recording, and the accelerometer where the attitudes
        at rest determine it.
    warnings : tuple of str
        Findings, each with the next step.
    intervals : tuple of RestInterval
        Intervals at rest, in FLU.
    refused : mapping of Refusal to int
        Number of intervals that were not used.
    accel : ForceFit, optional
        Fit of the accelerometer [FLU].
    """

    calibration: ImuCalibration
    warnings: tuple[str, ...]
    intervals: tuple[RestInterval, ...]
    refused: Mapping[Refusal, int]
    accel: ForceFit | None = None

    @property
    def events(self) -> Events:
        """Jumps and drifts of the bias."""
        return Events.of(interval.event for interval in self.intervals if interval.event)

    def lines(self) -> list[str]:
        """Return the result for people."""
        gyro = self.calibration.gyro
        rest_s = sum(i.t_end_ns - i.t_start_ns for i in self.intervals) / NS_PER_S
        used = f"{counted(len(self.intervals), 'interval')} at rest, {rest_s:.0f} s"
        refused = ", ".join(f"{count} by {reason}" for reason, count in self.refused.items())
        bias, sigma = gyro.bias / RAD_PER_DEG, gyro.sigma_bias / RAD_PER_DEG
        pairs = zip("xyz", bias, sigma, strict=True)
        text = [
            used + (f"; refused: {refused}" if refused else ""),
            "gyro bias: " + ", ".join(f"{a} {b:+.4f} +- {s:.4f}" for a, b, s in pairs) + " deg/s",
        ]
        if self.accel is not None:
            fit = f"{len(self.accel.residuals)} attitudes, |f| to {1e3 * self._norm_error:.2f}"
            text.append(f"accelerometer: bias, scale and misalignment from {fit} mm/s^2")
        return text

    @property
    def _norm_error(self) -> float:
        """Root mean square of |f| - g in the attitudes [m/s^2]; NaN without a fit."""
        return float("nan") if self.accel is None else rms(self.accel.residuals)

    def to_dict(self) -> dict[str, object]:
        """Return the figures in types of JSON."""
        gyro = self.calibration.gyro
        return {
            "gyro_bias_rad_s": gyro.bias.tolist(),
            "gyro_bias_sigma_rad_s": gyro.sigma_bias.tolist(),
            "intervals": len(self.intervals),
            "accel_attitudes": 0 if self.accel is None else len(self.accel.residuals),
            "refused": {str(reason): count for reason, count in self.refused.items()},
            "events": self.events.to_dict(),
            "warnings": list(self.warnings),
        }


def rest_calibration(
    series: ImuSeries,
    params: RestParams | None = None,
    *,
    latitude: float | None = None,
    heading: float | None = None,
    gravity: float | None = None,
) -> RestCalibration:
    """Calibrate from the parts of a recording at rest.

    The gyro bias always, by :class:`RestCalibrator`; the accelerometer by :class:`AccelCalibrator`,
    if there are 12 attitudes or more that determine it.

    Parameters
    ----------
    series : ImuSeries
        With 6 s at rest or more.
    params : RestParams, optional
    latitude, heading : float, optional
        As in :class:`RestCalibrator`.
    gravity : float, optional
        [m/s^2]; by default that at the latitude, at sea level, or the standard value.

    Returns
    -------
    RestCalibration

    Raises
    ------
    ValueRangeError
        There is no interval at rest (the message counts those that were refused), or gravity is
        not that of the Earth.
    """
    require_series(series)
    calibrator = RestCalibrator(
        params, stillness=_stillness(series), latitude=latitude, heading=heading
    )
    found = calibrator.run(series)
    last = calibrator.finish()
    intervals = (*found, last) if last else tuple(found)
    refused = calibrator.refused
    if not intervals:
        reasons = ", ".join(f"{count} by {reason}" for reason, count in refused.items())
        raise ValueRangeError(
            f"expected an interval at rest of 6 s, got none in {len(series)} samples"
            f"{' (refused: ' * bool(reasons)}{reasons}{')' * bool(reasons)}; leave the sensor "
            "still on a firm support"
        )
    local, unknown = gravity_of(gravity, latitude if gravity is None else None, None)
    accelerometer = AccelCalibrator(local)
    for interval in intervals:
        accelerometer.add(interval)
    accel = accelerometer.fit()
    calibration = calibrator.calibration()
    residuals = {"gyro_bias_sigma_rad_s": float(calibration.gyro.sigma_bias.max())}
    warnings = _warnings(intervals, refused)
    if accel is not None:
        calibration = replace(calibration, accel=accel.triad)
        residuals["norm_m_s2"] = rms(accel.residuals)
        warnings = (*warnings, *unknown)
    notes = () if series.magnetic_field is not None else (_UNSEEN,)
    provenance = Provenance(method="rest", residuals=residuals, notes=(*warnings, *notes))
    return RestCalibration(
        calibration=replace(calibration, provenance=provenance).in_frame(series.body),
        warnings=warnings,
        intervals=intervals,
        refused=dict(refused),
        accel=accel,
    )


def _stillness(series: ImuSeries) -> StillnessParams:
    """Return parameters of stillness for the noise of a recording, if that is more than usual."""
    usual = StillnessParams.of("variance")
    try:
        noise = quiet_noise(series, "variance").accel_sigma_m_s2
    except ValueRangeError:  # too short, or without noise
        return usual
    sigma = min(max(noise, usual.accel_sigma_m_s2), _NOISIEST_M_S2)
    return replace(usual, accel_sigma_m_s2=sigma)


def _warnings(intervals: tuple[RestInterval, ...], refused: Counter[Refusal]) -> tuple[str, ...]:
    """Return the findings, each with the next step."""
    findings = {
        "more intervals were refused than used: leave the sensor still on a firm support": (
            refused.total() > len(intervals)
        ),
        "the bias jumped or drifted within the recording, and the last value is given: see the "
        "events": any(interval.event for interval in intervals),
    }
    return tuple(text for text, found in findings.items() if found)
