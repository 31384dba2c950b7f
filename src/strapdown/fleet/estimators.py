"""Estimators of the orientation by name: ours, and those of the package vqf."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from strapdown.errors import UnknownNameError
from strapdown.estimation import FILTERS, SMOOTHERS
from strapdown.samples.params import with_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from strapdown._typing import FloatArray
    from strapdown.series import ImuSeries

    Estimate: TypeAlias = Callable[[ImuSeries, bool], FloatArray]

__all__ = ["ESTIMATORS", "PEERS", "estimate", "make_estimator", "peer_version"]

_SMOOTHED: Final = " smoothed"
ESTIMATORS: Final = (*FILTERS, *(name + _SMOOTHED for name in SMOOTHERS))
"""Names of the filters, and of the smoothers."""


def make_estimator(name: str, parameters: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401 (a filter or a smoother)
    """Return a filter, or with ``smoothed`` after the name a smoother.

    Raises
    ------
    UnknownNameError
        There is no such estimator, or it has no such parameter.
    ValueRangeError
        The value of a parameter is of another type, or outside its range.

    Examples
    --------
    >>> make_estimator("eskf", {"gyro_noise": 0.004}).params.gyro_noise
    0.004
    """
    if name not in ESTIMATORS:
        raise UnknownNameError("filter", name, ESTIMATORS)
    made: Any = FILTERS.get(name) or SMOOTHERS[name.removesuffix(_SMOOTHED)]
    default = made()
    return made(with_values(default.params, parameters, name)) if parameters else default


def estimate(name: str, series: ImuSeries, with_field: bool) -> FloatArray:  # noqa: FBT001 (as Estimate)
    """Return the orientation by an estimator of ours, q_world_from_body of shape (n, 4)."""
    result = make_estimator(name).run(series, use_magnetic_field=with_field)
    found: FloatArray = result.q_world_from_body
    return found


def peer_version() -> str | None:
    """Return the version of the package vqf; None if it is not installed."""
    try:
        return version("vqf")
    except PackageNotFoundError:
        return None


def _online(series: ImuSeries, with_field: bool) -> FloatArray:  # noqa: FBT001 (as Estimate)
    return _batch("VQF", series, with_field=with_field)


def _basic(series: ImuSeries, with_field: bool) -> FloatArray:  # noqa: FBT001 (as Estimate)
    return _batch("BasicVQF", series, with_field=with_field)


def _batch(kind: str, series: ImuSeries, *, with_field: bool) -> FloatArray:
    gyr, acc, mag = columns(series)
    made = getattr(import_module("vqf"), kind)(1.0 / series.rate_hz)
    out = made.updateBatch(gyr, acc, mag) if with_field else made.updateBatch(gyr, acc)
    return xyzw(out["quat9D" if with_field else "quat6D"])


def _offline(series: ImuSeries, with_field: bool) -> FloatArray:  # noqa: FBT001 (as Estimate)
    gyr, acc, mag = columns(series)
    out = import_module("vqf").offlineVQF(
        gyr, acc, mag if with_field else None, 1.0 / series.rate_hz
    )
    return xyzw(out["quat9D" if with_field else "quat6D"])


PEERS: Final[Mapping[str, Estimate]] = {
    "online": _online,
    "offline": _offline,
    "basic": _basic,
}
"""Estimators of the package vqf, with its default parameters."""


def columns(series: ImuSeries) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the input of other libraries: writable arrays [rad/s], [m/s^2], [T]."""
    field = series.magnetic_field
    mag = np.zeros((len(series), 3)) if field is None else field.copy()
    return series.angular_velocity.copy(), series.specific_force.copy(), mag


def xyzw(wxyz: FloatArray) -> FloatArray:
    """Return quaternions whose scalar comes last."""
    return np.roll(wxyz, -1, axis=1)
