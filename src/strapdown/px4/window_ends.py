"""Ends of the windows of an autopilot, from those that its log holds."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray

__all__ = ["no_ends", "window_ends"]

_ROUNDED_US: Final = 2
"""Rounding of a length that PX4 sums in float32 [us]."""
_OTHERS: Final = (0, 1, -1, 2, -2, 3, -3)
"""Messages of an accelerometer that may end a window, counted from the likely one, by preference.

A window of PX4 ends with the messages that have arrived."""


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
    gyro = _gyro_spans(gyro_us, ends_us, logged["delta_angle_dt"].astype(np.int64))
    known = gyro_us[gyro.ends] == ends_us
    known[1:] &= (gyro.begins[1:] < 0) | (gyro.begins[1:] >= gyro.ends[:-1])
    gyro = _Spans(*(column[known] for column in gyro))
    lengths_us = logged["delta_velocity_dt"][known].astype(np.int64)
    accel = _accel_spans(accel_us, gyro, gyro_us[gyro.ends], lengths_us)
    whole = gyro.begins >= 0
    # A window also begins where one ends, unless the previous one in the log ends there already.
    apart = whole & (gyro.begins > np.append(-1, gyro.ends[:-1]))
    begins_us = gyro_us[gyro.begins[apart]]
    starts = np.where(accel.begins >= 0, accel.begins, _last(accel_us, gyro_us[gyro.begins]))
    begins = [begins_us, accel_us[starts[apart]], np.zeros_like(begins_us)]
    ends = [gyro_us[gyro.ends], accel_us[accel.ends], whole]
    before = _before(gyro_us, accel_us, gyro, whole)
    table = np.concatenate([before, np.column_stack(begins), np.column_stack(ends)])
    return np.ascontiguousarray(table[np.argsort(table[:, 0], kind="stable")])


def _gyro_spans(t_us: IntArray, ends_us: IntArray, lengths_us: IntArray) -> _Spans:
    """Return the messages of windows from their ends and lengths."""
    begins = _last(t_us, ends_us - lengths_us + _ROUNDED_US)
    near = np.abs(t_us[begins] - (ends_us - lengths_us)) <= _ROUNDED_US
    return _Spans(np.where(near, begins, -1), _last(t_us, ends_us))


def _accel_spans(t_us: IntArray, gyro: _Spans, ends_us: IntArray, lengths_us: IntArray) -> _Spans:
    """Return the messages of windows from their lengths, and the ends of the gyroscope.

    Windows without a gap between them all begin where the previous one ends. Of the messages at
    which the first may begin, that one is taken for which most of them end with a message.
    """
    likely = _last(t_us, ends_us)
    likely += ends_us - t_us[likely] > np.median(np.diff(t_us)) / 2 if len(t_us) > 1 else 0
    at = np.clip(likely + np.array(_OTHERS)[:, None], 0, len(t_us) - 1)  # (7, N)
    ends, begins = _last(t_us, ends_us), np.full(len(ends_us), -1)
    since_us = np.cumsum(lengths_us)
    runs = np.flatnonzero(gyro.begins != np.append(-1, gyro.ends[:-1]))
    for first, stop in pairwise([*runs.tolist(), len(ends_us)]):
        rows = slice(first, stop)
        before_us = int(since_us[first] - lengths_us[first])
        origins = t_us[at[:, rows]] - (since_us[rows] - before_us)
        found, place, number = np.unique(origins, return_index=True, return_counts=True)
        number += t_us[_last(t_us, found)] == found  # the first one begins with a message too
        best = np.lexsort((place, -number))[0]  # of equals the one preferred
        if number[best] > 1:
            wanted = found[best] + since_us[rows] - before_us
            tried = _last(t_us, wanted)
            fits = (t_us[tried] == wanted) & (lengths_us[rows] > 0)
            ends[rows][fits] = tried[fits]
            begins[rows][fits] = _last(t_us, wanted - lengths_us[rows])[fits]
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
