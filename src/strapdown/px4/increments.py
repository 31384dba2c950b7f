"""PX4's integrator without its scheduling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._kernels.compilation import compiled
from strapdown.errors import ShapeError
from strapdown.inertial.increments import require_positive
from strapdown.px4 import float32 as kernels
from strapdown.px4._rounding import nearest_us
from strapdown.series import Increments
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from strapdown._typing import BoolArray, IntArray
    from strapdown.series import ImuSeries

__all__ = ["dt_max_s", "integrate_float32", "px4_increments"]

_NEVER: Final = 2**62


def dt_max_s(px4_version: tuple[int, int]) -> np.float32:
    """Return the longest window of PX4's integrator [s].

    The length of a window is a 16-bit number of microseconds up to v1.15 and a 32-bit one since.

    Parameters
    ----------
    px4_version : tuple of 2 int
        Such as (1, 16).

    Returns
    -------
    numpy.float32
    """
    bits = 32 if tuple(px4_version) >= (1, 16) else 16
    return np.float32(2**bits - 1) * kernels.MICRO_F


def integrate_float32(  # noqa: PLR0913 (two columns, and the rules of a window)
    t_us: IntArray,
    values: ArrayLike,
    *,
    coning: bool,
    samples_per_window: int | None = None,
    is_last: BoolArray | None = None,
    previous_us: int = 0,
    px4_version: tuple[int, int] = (1, 16),
) -> tuple[IntArray, IntArray, NDArray[np.float32]]:
    """Run PX4's integrator over the samples of one sensor.

    Parameters
    ----------
    t_us : (N,) int64
        Stamps [us].
    values : (N, 3)
        Readings; they are rounded to float32.
    coning : bool
        Add the coning correction of a gyroscope.
    samples_per_window : int, optional
        Samples per window, 1 or more.
    is_last : (N,) bool, optional
        A window ends with each marked sample. A sample that PX4 rejects restarts the window, so a
        window may be empty.
    previous_us : int, optional
        Stamp before the first [us]. PX4 starts with 0, so its first window begins at boot.
    px4_version : tuple of 2 int, optional
        Such as (1, 16): up to v1.15 a window has 16 bits of microseconds.

    Returns
    -------
    ends : (M,) int64
        Row of the last sample of each window.
    lengths_us : (M,) int64
        Lengths of the windows [us].
    deltas : (M, 3) float32
        Integrals.

    Raises
    ------
    ShapeError
        The numbers of rows and stamps differ.
    ValueRangeError
        ``samples_per_window`` is less than 1.
    """
    samples = _NEVER if samples_per_window is None else samples_per_window
    require_positive("samples_per_window", samples)
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(values, np.float32)
    count = len(t_us)
    if rows.shape != (count, 3):
        raise ShapeError(f"expected values of shape {(count, 3)}, got {rows.shape}")
    most = count // samples
    if is_last is None:
        is_last = np.zeros(count, np.bool_)
    else:
        most += int(is_last.sum())
    ends, lengths = np.empty(most, np.int64), np.empty(most, np.int64)
    deltas = np.empty((most, 3), np.float32)
    _, windows = compiled(kernels.integrate)(
        kernels.FRESH, previous_us, np.ascontiguousarray(t_us, np.int64), rows, is_last,
        samples, dt_max_s(px4_version), coning, ends, lengths, deltas,
    )  # fmt: skip
    return ends[:windows], lengths[:windows], deltas[:windows]


def px4_increments(series: ImuSeries, samples_per_window: int) -> Increments:
    """Integrate instantaneous samples as PX4 does, bit for bit, without its scheduling.

    Gyroscope and accelerometer are integrated by the trapezoid rule in float32, with PX4's
    coning correction and no sculling correction. The first sample starts the first window.

    Parameters
    ----------
    series : ImuSeries
        N samples at instants. Stamps are rounded to microseconds.
    samples_per_window : int
        Samples per window, 1 or more.

    Returns
    -------
    Increments
        (N - 1) // samples_per_window rows.

    Raises
    ------
    ValueRangeError
        ``samples_per_window`` is less than 1.
    """
    t_us = nearest_us(series.t_ns)
    first = int(t_us[0]) if len(t_us) else 0
    ends, lengths, angles = integrate_float32(
        t_us, series.angular_velocity,
        coning=True, samples_per_window=samples_per_window, previous_us=first,
    )  # fmt: skip
    _, _, velocities = integrate_float32(
        t_us, series.specific_force,
        coning=False, samples_per_window=samples_per_window, previous_us=first,
    )  # fmt: skip
    return Increments(
        series.t_ns[ends],
        angles.astype(np.float64),
        velocities.astype(np.float64),
        lengths * NS_PER_US,
        lengths * NS_PER_US,
        body=series.body,
        sensor=series.sensor,
    )
