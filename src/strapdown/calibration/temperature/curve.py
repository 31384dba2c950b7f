"""Calibration of biases against temperature, from a recording at rest.

The bias of each axis is a polynomial in temperature of at most degree 3, chosen by
cross-validation over bins of 1 K that have equal weights. Where temperature rises and falls, the
lag of its sensor is fitted, and the hysteresis is the difference between both directions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.imu import ImuCalibration, Provenance
from strapdown.calibration.temperature.blocks import Blocks, block_means
from strapdown.calibration.temperature.polynomials import (
    bins_of,
    fit_polynomials,
    misfit,
)
from strapdown.calibration.temperature.result import TemperatureCalibration, TriadTemperature
from strapdown.calibration.triad import TemperatureCurve, TriadCalibration, bias_covariance
from strapdown.errors import ValueRangeError
from strapdown.series.series import require_series
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray, IntArray
    from strapdown.calibration.temperature.readings import TemperatureReadings
    from strapdown.series import ImuSeries

__all__ = ["temperature_curve"]

MAX_LAG_S: Final = 60.0
_BLOCK_S: Final = 1.0
_QUIET: Final = 3.0  # multiple of the median spread of a block, above which the sensor moved
_FEWEST_BINS: Final = 3
_NARROW_K: Final = 10.0  # range of temperature that is worth a warning
_TREND_S: Final = 30.0  # time before and after a block that shows whether temperature rises
_TREND: Final = 0.1  # part of the fastest change, below which temperature counts as constant
_LAG_GAIN: Final = 9.0  # gain in twice the log likelihood that a lag needs: 3 standard deviations
_STEP: Final = 0.3 * RAD_PER_DEG  # change of direction between 10 s: the sensor was turned
_TURN: Final = 3.0 * RAD_PER_DEG  # change of direction over the recording


def temperature_curve(
    series: ImuSeries, temperature: TemperatureReadings, *, warm_up_s: float = 60.0
) -> TemperatureCalibration:
    """Calibrate biases against temperature from a recording of a sensor at rest.

    The sensor is heated and cooled, once or more, while it lies still. The gyro's bias is its mean
    reading, which includes the Earth's rate (15 deg/h). Of the accelerometer the change of its bias
    since the reference temperature is found, if the attitude is constant; a tilt of the support
    with temperature cannot be distinguished from it. Scale factors need positions at several
    temperatures and are not estimated.

    Parameters
    ----------
    series : ImuSeries
        At rest; blocks of 1 s with motion, and those without temperatures, are left out.
    temperature : TemperatureReadings
        On the same clock.
    warm_up_s : float, optional
        Time at the start that is left out [s]: the sensor heats itself unevenly after power-on.

    Returns
    -------
    TemperatureCalibration

    Raises
    ------
    ValueRangeError
        Temperatures span fewer than three bins of 1 K, or are not those of the recording; the
        warm-up is negative.
    TypeError
        The series is of another type.

    Notes
    -----
    The fit of the lag maximises the likelihood of polynomials of degree 3. A lag acts on a curve
    like a term in the slope of the temperature, so it covers even self-heating to first order.
    """
    require_series(series)
    if not 0.0 <= warm_up_s < np.inf:
        raise ValueRangeError(f"expected warm_up_s of at least 0, got {warm_up_s}")
    blocks, moving = _at_rest(_measured(series, temperature), series, warm_up_s)
    celsius = temperature.at(blocks.t_ns)
    _require_range(celsius, len(series))
    turned = _turned(blocks.specific_force)
    rise = temperature.rise(blocks.t_ns, _TREND_S)
    slow = _TREND * np.quantile(np.abs(rise), 0.95)
    rising, falling = rise > slow, rise < -slow
    both = min(rising.mean(), falling.mean()) > 0.05
    values = [blocks.angular_velocity] + [blocks.specific_force] * (not turned)
    lag_s = _fitted_lag(blocks, temperature, np.hstack(values)) if both else 0.0
    element = temperature.at(blocks.t_ns, lag_s=lag_s)
    reference_c = float(np.round(0.5 * (element.min() + element.max())))
    found = [_triad(each, element, reference_c, rising, falling) for each in values]
    gyro, accel = found[0], None if turned else found[1]
    warnings = _warnings(element, lag_s, moving, len(blocks.t_ns), both=both, turned=turned)
    edges = {"lowest_c": float(element.min()), "highest_c": float(element.max()), "lag_s": lag_s}
    calibration = ImuCalibration(
        gyro=replace(
            _calibration(gyro, reference_c, edges),
            bias=gyro.fit.coefficients[0],
            covariance=bias_covariance(gyro.fit.sigma_constant),
        ),
        accel=TriadCalibration() if accel is None else _calibration(accel, reference_c, edges),
        body=series.body,
        provenance=Provenance(
            method="temperature", residuals=_residuals(gyro, accel), notes=warnings
        ),
    )
    return TemperatureCalibration(
        calibration=calibration,
        warnings=warnings,
        gyro=gyro,
        accel=accel,
        lag_s=lag_s,
        warm_up_s=warm_up_s,
        moving_s=moving * _BLOCK_S,
    )


def _measured(series: ImuSeries, temperature: TemperatureReadings) -> Blocks:
    """Return the blocks of a series between the first and last temperature.

    Raises
    ------
    ValueRangeError
        There are blocks, but no temperature at their time.
    """
    blocks = block_means(series, _BLOCK_S)
    edge_ns = round(_BLOCK_S * NS_PER_S)
    inside = (blocks.t_ns > temperature.t_ns[0] - edge_ns) & (
        blocks.t_ns < temperature.t_ns[-1] + edge_ns
    )
    if len(blocks.t_ns) and not inside.any():
        start, stop = (int(t - series.t_ns.min()) / NS_PER_S for t in temperature.t_ns[[0, -1]])
        raise ValueRangeError(
            f"expected temperatures during the recording, got some {start:.0f} to {stop:.0f} s "
            "after its start; pass stamps on the clock of the recording"
        )
    return blocks.rows(inside)


def _at_rest(blocks: Blocks, series: ImuSeries, warm_up_s: float) -> tuple[Blocks, int]:
    """Return the blocks after the warm-up in which the sensor is at rest, and count the others."""
    if len(blocks.t_ns):
        start_ns = int(series.t_ns.min()) + round(warm_up_s * NS_PER_S)
        blocks = blocks.rows(blocks.t_ns >= start_ns)
    quiet = np.ones(len(blocks.t_ns), np.bool_)
    for spread in (blocks.rate_spread, blocks.force_spread):
        if len(spread):
            quiet &= spread <= _QUIET * max(float(np.median(spread)), 1e-12)
    return blocks.rows(quiet), int((~quiet).sum())


def _require_range(celsius: FloatArray, samples: int) -> None:
    """Raise unless temperatures span enough bins."""
    count = len(np.unique(np.floor(celsius)))
    if count < _FEWEST_BINS:
        span = f"{celsius.min():.1f} to {celsius.max():.1f} deg C" if len(celsius) else "none"
        raise ValueRangeError(
            f"expected temperatures that span at least {_FEWEST_BINS} bins of 1 K, got {span} in "
            f"{len(celsius)} s at rest ({samples} samples); heat or cool the sensor while it lies "
            "still, or lower warm_up_s"
        )


def _turned(force: FloatArray) -> bool:
    """Return whether the direction of the specific force (B, 3) changed by more than a bias may."""
    groups = max(len(force) // 10, 1)
    means = np.array([part.mean(axis=0) for part in np.array_split(force, groups)])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    steps = np.linalg.norm(np.diff(means, axis=0), axis=1)
    whole = np.linalg.norm(means - np.median(means, axis=0), axis=1)
    return bool(steps.max(initial=0.0) > _STEP or whole.max() > _TURN)


def _fitted_lag(blocks: Blocks, temperature: TemperatureReadings, values: FloatArray) -> float:
    """Return the lag with the largest likelihood; 0 where it is not significant."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 (slow to import)

    middle = float(np.median(temperature.celsius))

    def cost(lag_s: float) -> float:
        element = temperature.at(blocks.t_ns, lag_s=lag_s)
        left = misfit((element - middle) / 10.0, values, bins_of(element))
        return float(np.log(np.maximum(left, 1e-30)).sum())

    grid = np.linspace(0.0, MAX_LAG_S, 13)
    costs = [cost(lag_s) for lag_s in grid]
    best = float(grid[int(np.argmin(costs))])
    near = (max(best - 5.0, 0.0), min(best + 5.0, MAX_LAG_S))
    found = minimize_scalar(cost, bounds=near, method="bounded", options={"xatol": 0.01})
    # errors of the bins, up and down, are taken as independent, those within a bin as common
    visits = 2 * len(np.unique(np.floor(temperature.at(blocks.t_ns))))
    return float(found.x) if visits * (costs[0] - float(found.fun)) > _LAG_GAIN else 0.0


def _triad(
    values: FloatArray,
    element_c: FloatArray,
    reference_c: float,
    rising: BoolArray,
    falling: BoolArray,
) -> TriadTemperature:
    """Fit one triad, and compare both directions of temperature."""
    x, bins = element_c - reference_c, bins_of(element_c)
    fit = fit_polynomials(x, values, bins)
    centre = np.bincount(bins, x) / np.bincount(bins)
    residual = values - fit.at(x)
    up, down = (_means(residual, bins, rows) for rows in (rising, falling))
    noise = sum(
        _means(residual**2, bins, rows) / np.bincount(bins[rows], minlength=len(up))[:, None]
        for rows in (rising, falling)
    )
    excess = (up - down) ** 2 - noise
    known = np.isfinite(excess[:, 0])
    band = np.full(3, np.nan)
    if known.sum() >= _FEWEST_BINS:
        band = np.sqrt(np.maximum(excess[known].mean(axis=0), 0.0))
    curve = fit.at(centre)
    return TriadTemperature(
        celsius=reference_c + centre,
        curve=curve,
        rising=curve + up,
        falling=curve + down,
        fit=fit,
        hysteresis=band,
    )


def _means(values: FloatArray, bins: IntArray, rows: BoolArray) -> FloatArray:
    """Return the means (B, 3) of some rows in each bin; NaN without any."""
    size = int(bins.max()) + 1
    count = np.bincount(bins[rows], minlength=size)
    sums = np.stack([np.bincount(bins[rows], v, minlength=size) for v in values[rows].T], axis=1)
    means = np.full((size, 3), np.nan)
    np.divide(sums, count[:, None], out=means, where=count[:, None] > 0)
    return means


def _calibration(
    found: TriadTemperature, reference_c: float, edges: dict[str, float]
) -> TriadCalibration:
    """Return the calibration of a triad with its change of bias since the reference."""
    degree = max(int(found.fit.degree.max()), 1)
    curve = TemperatureCurve(
        reference_c=reference_c,
        coefficients=found.fit.coefficients[1 : degree + 1],
        sigma=found.sigma,
        **edges,
    )
    return TriadCalibration(temperature=curve)


def _residuals(gyro: TriadTemperature, accel: TriadTemperature | None) -> dict[str, float]:
    """Return the figures of quality: the largest of the axes."""
    values = {}
    for name, triad, unit in (("gyro", gyro, "rad_s"), ("accel", accel, "m_s2")):
        if triad is not None:
            values[f"{name}_left_out_{unit}"] = float(triad.fit.left_out_rms.max())
            if np.isfinite(triad.hysteresis).all():
                values[f"{name}_hysteresis_{unit}"] = float(triad.hysteresis.max())
    return values


def _warnings(  # noqa: PLR0913 (one a finding)
    element_c: FloatArray, lag_s: float, moving: int, rest: int, *, both: bool, turned: bool
) -> tuple[str, ...]:
    """Return the findings, each with the next step."""
    span = float(element_c.max() - element_c.min())
    findings = {
        f"temperatures span {span:.1f} K only: heat and cool the sensor over its range of use": (
            span < _NARROW_K
        ),
        "temperature went in one direction only, so hysteresis and the lag of its sensor are "
        "unknown: record a ramp up and a ramp down": not both,
        "the attitude changed, so the accelerometer is left out: keep the sensor on one face": (
            turned
        ),
        f"the sensor moved in {moving} of {moving + rest} s, which are left out: keep it still": (
            moving > 0.05 * rest
        ),
        f"the lag of the temperature sensor is at its limit of {MAX_LAG_S:g} s: change temperature "
        "more slowly, or bring its sensor nearer": lag_s > 0.98 * MAX_LAG_S,
    }
    return tuple(text for text, found in findings.items() if found)
