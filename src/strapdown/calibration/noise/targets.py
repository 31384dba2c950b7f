"""Noise parameters for estimators, messages and other tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args

import numpy as np

from strapdown._checks import as_floats
from strapdown._words import printable
from strapdown.calibration.noise.triads import QUANTITIES, triads_of
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from strapdown._typing import ArrayLike, FloatArray
    from strapdown.calibration.noise.channel import ChannelNoise

__all__ = ["Axes", "covariance", "sample_covariance", "to_kalibr", "to_params"]

Axes = Literal["worst", "mean"]
Params = TypeVar("Params")

_FIELDS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "NavigatorParams": {
        "gyro_noise": ("gyro", "N"),
        "accel_noise": ("accel", "N"),
        "gyro_walk": ("gyro", "K"),
        "accel_walk": ("accel", "K"),
    },
    "ErrorStateParams": {
        "gyro_noise": ("gyro", "N"),
        "accel_noise": ("accel", "N"),
        "gyro_bias_walk": ("gyro", "K"),
    },
    "SmootherParams": {"gyro_noise": ("gyro", "N"), "bias_walk": ("gyro", "K")},
    "VqfParams": {"rate_noise": ("gyro", "N")},
    "ImuNoise": {
        "gyro": ("gyro", "N"),
        "accel": ("accel", "N"),
        "gyro_walk": ("gyro", "K"),
        "accel_walk": ("accel", "K"),
    },
}
"""Fields of estimators that a log at rest determines, by class."""


def to_kalibr(  # noqa: PLR0913 (one option a choice of the file)
    channels: Sequence[ChannelNoise],
    rate_hz: float,
    *,
    topic: str,
    inflate: float,
    axes: Axes,
    source: str,
) -> str:
    """Return the text of ``NoiseFit.to_kalibr``, which describes it."""
    if axes not in get_args(Axes):
        raise UnknownNameError("choice of axes", axes, get_args(Axes))
    triads, factor = triads_of(channels, both=True), _factor(inflate)
    pick: Callable[[list[float]], float] = max if axes == "worst" else lambda v: float(np.mean(v))
    lines = [
        f"# Noise for kalibr, from Allan deviations of {printable(source)}",
        "# Continuous-time densities: roots of two-sided spectra, N and K of IEEE Std 952.",
        f"# Of three axes: the {axes}. Multiplied by {factor:g} (inflate).",
        f"rostopic: {json.dumps(printable(topic), ensure_ascii=False)}",
        f"update_rate: {rate_hz:.9g}",
    ]
    for triad, word, unit in (("accel", "accelerometer", "m/s^2"), ("gyro", "gyroscope", "rad/s")):
        white, walk = white_noise(triads[triad]), [walk_or_bound(each) for each in triads[triad]]
        bound = [each.channel for each in triads[triad] if not each.without_processes.K]
        note = f"; upper bound where not identified: {', '.join(bound)}" if bound else ""
        walk_unit = {"m/s^2": "m/s^3", "rad/s": "rad/s^2"}[unit]
        lines += [
            f"{word}_noise_density: {factor * pick(white):.9e}  # {unit}/sqrt(Hz)",
            f"{word}_random_walk: {factor * pick(walk):.9e}  # {walk_unit}/sqrt(Hz){note}",
        ]
    return "\n".join(lines) + "\n"


def to_params(channels: Sequence[ChannelNoise], kind: type[Params], *, inflate: float) -> Params:
    """Return the parameters of ``NoiseFit.to_params``, which describes it."""
    if kind.__name__ not in _FIELDS:
        raise UnknownNameError("estimator with noise of a sensor", kind.__name__, _FIELDS)
    wanted, factor = _FIELDS[kind.__name__], _factor(inflate)
    triads = triads_of(channels, both=any(triad == "accel" for triad, _ in wanted.values()))
    values: dict[str, Any] = {}
    for field, (triad, letter) in wanted.items():
        three = triads[triad]
        found = white_noise(three) if letter == "N" else [walk_or_bound(each) for each in three]
        axes = tuple(factor * value for value in found)
        values[field] = axes if kind.__name__ == "ImuNoise" else max(axes)
    return kind(**values)


def covariance(
    channels: Sequence[ChannelNoise],
    *,
    rate_hz: float,
    noise_bandwidth_hz: float | None,
    include_bias: bool,
) -> dict[str, FloatArray]:
    """Return the covariances of ``NoiseFit.covariance``, which describes it."""
    band = rate_hz if noise_bandwidth_hz is None else 2.0 * noise_bandwidth_hz
    if not 0.0 < band < np.inf:
        raise ValueRangeError(f"expected a rate or noise bandwidth above 0, got {band}")
    found = {}
    for triad, three in triads_of(channels).items():
        variance = np.square(white_noise(three)) * band
        if include_bias:
            variance += np.square([each.without_processes.B or 0.0 for each in three])
        found[QUANTITIES[triad]] = np.diag(variance)
    return found


def sample_covariance(values: ArrayLike) -> FloatArray:
    """Return the covariance (3, 3) of samples at rest, without their linear trend.

    The measured alternative to :meth:`NoiseFit.covariance`: it contains everything that the log
    contains, filter and vibration too.

    Parameters
    ----------
    values : (N, 3)
        Samples of a sensor at rest; rows that are not finite are left out [u].

    Returns
    -------
    (3, 3)
        [u^2].

    Raises
    ------
    ShapeError
        The values are not (N, 3).
    ValueRangeError
        Fewer than 10 rows are finite, or an axis is constant, so that its variance would be 0.
    """
    rows = as_floats(values, "values", (3,))
    if rows.ndim != 2:
        raise ShapeError(f"expected values (N, 3), got {rows.shape}")
    known = np.isfinite(rows).all(axis=1)
    if known.sum() < 10:
        raise ValueRangeError(f"expected 10 finite rows or more, got {known.sum()}")
    time = np.flatnonzero(known)
    design = np.stack([np.ones(len(time)), time / time[-1]], axis=1)
    residual = rows[known] - design @ np.linalg.lstsq(design, rows[known], rcond=None)[0]
    found = residual.T @ residual / (len(time) - 2)
    if not (np.ptp(rows[known], axis=0) > 0.0).all():
        raise ValueRangeError("expected samples that change on all axes, got a constant axis")
    return np.asarray(found)


def white_noise(three: Sequence[ChannelNoise]) -> list[float]:
    """Return N of three axes.

    Raises
    ------
    ValueRangeError
        It is not identified on an axis.
    """
    values = []
    for each in three:
        density = each.without_processes.N
        if density is None:
            raise ValueRangeError(
                f"expected white noise on {each.channel}, got none in the fit: "
                f"{each.coefficients['N'].reason or 'other terms explain the curve'}; a variance "
                "can be measured instead, with sample_covariance"
            )
        values.append(density)
    return values


def walk_or_bound(channel: ChannelNoise) -> float:
    """Return K, or the largest that the curve allows where it is not identified."""
    return channel.without_processes.K or channel.coefficients["K"].upper


def _factor(inflate: float) -> float:
    if not 0.0 < inflate < np.inf:
        raise ValueRangeError(f"expected inflate above 0, got {inflate}")
    return inflate
