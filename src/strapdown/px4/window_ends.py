"""Ends of the windows of an autopilot, from those that its log holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray

__all__ = ["no_ends", "window_ends"]

_ROUNDED_US: Final = 2
"""Rounding of a length that PX4 sums in float32 [us]."""
_LATER: Final = (0, 1, -1)
"""Messages of an accelerometer at which a window may end, after the last one in time."""


class _Spans(NamedTuple):
    """First and last message of windows; the first is not in the window, and -1 if unknown."""

    begins: IntArray
    ends: IntArray


def no_ends() -> IntArray:
    """Return the table for a log without windows."""
    return np.zeros((0, 3), np.int64)


def window_ends(gyro_us: IntArray, accel_us: IntArray, logged: NDArray[np.void]) -> IntArray:
    """Return where windows begin and end according to the windows of a log.

    A window of the log begins and ends with messages of the gyroscope, so that one window fixes
    the phase of all others around it. Before the first window of the log, windows have the usual
    number of messages.

    Parameters
    ----------
    gyro_us, accel_us : (N,), (M,) int64
        Stamps of the messages, ascending [us].
    logged : (K,) array of VehicleImu.dtype
        Windows of this IMU in the log, all or some, in any order. Those whose last message is not
        there are ignored.

    Returns
    -------
    (L, 3) int64
        Stamps of the last messages of gyroscope and accelerometer [us], ascending; the last column
        is 1 where everything since the previous row is one window, else 0.
    """
    if not (len(gyro_us) and len(accel_us) and len(logged)):
        return no_ends()
    ends_us, first = np.unique(logged["timestamp_sample"].astype(np.int64), return_index=True)
    logged = logged[first]
    gyro = _spans(gyro_us, ends_us, logged["delta_angle_dt"], (0,))
    known = gyro_us[gyro.ends] == ends_us
    known[1:] &= (gyro.begins[1:] < 0) | (gyro.begins[1:] >= gyro.ends[:-1])
    gyro = _Spans(*(column[known] for column in gyro))
    accel = _spans(accel_us, ends_us[known], logged["delta_velocity_dt"][known], _LATER)
    rows: list[IntArray] = []
    whole = gyro.begins >= 0
    starts = np.where(accel.begins >= 0, accel.begins, _last(accel_us, gyro_us[gyro.begins]))
    # A window also begins where one ends, unless the previous one in the log ends there already.
    apart = whole & (gyro.begins > np.append(-1, gyro.ends[:-1]))
    for begins, accel_begins, flag in (
        (gyro.begins[apart], starts[apart], np.zeros(int(apart.sum()), np.int64)),
        (gyro.ends, accel.ends, whole.astype(np.int64)),
    ):
        rows.append(np.column_stack([gyro_us[begins], accel_us[accel_begins], flag]))
    table = np.concatenate([_before(gyro_us, accel_us, gyro, whole), *rows])
    return np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")])


def _spans(
    t_us: IntArray, ends_us: IntArray, lengths_us: NDArray[np.uint32], others: tuple[int, ...]
) -> _Spans:
    """Return the messages of windows from their ends and lengths.

    A window of the accelerometer ends about when that of the gyroscope does: with the first of the
    ``others`` that is one length after another message.
    """
    latest = _last(t_us, ends_us)
    ends, begins = latest.copy(), np.full(len(latest), -1)
    for step in reversed(others):
        tried = np.clip(latest + step, 0, len(t_us) - 1)
        wanted = t_us[tried] - lengths_us.astype(np.int64)
        nearest = _last(t_us, wanted + _ROUNDED_US)
        fits = (np.abs(t_us[nearest] - wanted) <= _ROUNDED_US) & (nearest < tried)
        ends[fits], begins[fits] = tried[fits], nearest[fits]
    return _Spans(begins, ends)


def _before(gyro_us: IntArray, accel_us: IntArray, gyro: _Spans, whole: BoolArray) -> IntArray:
    """Return the ends before the first window of the log, in steps of the usual size."""
    if not whole.any():
        return no_ends()
    size = int(np.median(gyro.ends[whole] - gyro.begins[whole]))
    first = int(gyro.begins[0] if whole[0] else gyro.ends[0])
    ends = gyro_us[first % size : first : size]
    return np.column_stack([ends, accel_us[_last(accel_us, ends)], np.ones_like(ends)])


def _last(t_us: IntArray, until_us: IntArray) -> IntArray:
    """Return the last message up to each time; the first one where there is none."""
    return np.maximum(np.searchsorted(t_us, until_us, "right") - 1, 0)
