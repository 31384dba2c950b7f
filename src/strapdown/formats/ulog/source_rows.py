"""Rows of a source log, for series that were read from them and written unchanged.

A series holds when and what was measured, but neither when a message was published nor the resets
of an estimate. Where a row of a series still equals that of the log, the row of the log is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from strapdown.messages.conversion import (
    increments_from_vehicle_imu,
    trajectory_from_vehicle_attitude,
    trajectory_from_vehicle_odometry,
    vehicle_attitude_from_trajectory,
    vehicle_imu_from_increments,
    vehicle_odometry_from_trajectory,
)
from strapdown.messages.px4 import VehicleAttitude, VehicleImu, VehicleOdometry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from strapdown._typing import BoolArray, IntArray
    from strapdown.formats.px4.log import Px4Log
    from strapdown.messages.uorb import UorbMessage

__all__ = ["SourceRows"]

_THERE_AND_BACK: Final[dict[type[UorbMessage], tuple[Callable[..., Any], Callable[..., Any]]]] = {
    VehicleImu: (increments_from_vehicle_imu, vehicle_imu_from_increments),
    VehicleAttitude: (trajectory_from_vehicle_attitude, vehicle_attitude_from_trajectory),
    VehicleOdometry: (trajectory_from_vehicle_odometry, vehicle_odometry_from_trajectory),
}
_STAMPS: Final = ("timestamp", "timestamp_sample")


class _Rows(NamedTuple):
    """Rows of a topic in the order of their sampling times."""

    records: NDArray[np.void]
    sampled_us: IntArray
    absent: tuple[str, ...]
    """Fields that the log does not have."""


class SourceRows:
    """Rows of one log.

    Parameters
    ----------
    log : Px4Log
        The log that the series were read from.
    shift_us : int
        Offset that was added to their stamps [us].
    """

    def __init__(self, log: Px4Log, shift_us: int) -> None:
        self._log, self._shift = log, np.uint64(shift_us)
        self._rows: dict[str, _Rows] = {}
        self._lost: dict[tuple[str, str], int] = {}

    @property
    def lost(self) -> list[str]:
        """Fields of the log that are not in the file, one line each topic and field."""
        return [f"{source}: {field} of {rows} rows" for (source, field), rows in self._lost.items()]

    def restored(
        self, source: str, kind: type[UorbMessage], topic: str, records: NDArray[np.void]
    ) -> NDArray[np.void]:
        """Return messages of a series, with rows of the log where they are unchanged.

        Parameters
        ----------
        source : str
            Name of the series, such as ``vehicle_attitude`` or ``vehicle_imu.1``.
        kind : type of UorbMessage
            Class of the messages.
        topic : str
            Topic to which they are written.
        records : (N,) array of kind.dtype
            They are not modified.

        Returns
        -------
        (N,) array of kind.dtype
        """
        name, _, number = source.partition(".")
        instance = int(number) if number.isdecimal() else 0
        if name != topic or kind not in _THERE_AND_BACK or not len(records):
            return records
        if instance not in self._log.instances(name):
            return records
        rows, sampled_us, absent = self._rows_of(source, kind, name, instance)
        order = np.argsort(records["timestamp_sample"], kind="stable")
        own_us = (records["timestamp_sample"][order] - self._shift).astype(np.int64)
        # The first row with a stamp belongs to the first message with it, and so on.
        places = sampled_us.searchsorted(own_us) + _repetition(own_us)
        known = sampled_us[np.minimum(places, len(sampled_us) - 1)] == own_us
        known &= places < len(sampled_us)
        order, rows = order[known], rows[places[known]]
        read, write = _THERE_AND_BACK[kind]
        again = write(read(rows))
        same = _equal(again, records[order])
        self._count(source, rows[~same], again[~same], absent)
        restored = records.copy()
        rows = rows[same]
        for field in absent:
            rows[field] = again[same][field]
        for field in _STAMPS:
            rows[field] += self._shift * (rows[field] > 0)
        restored[order[same]] = rows
        return restored

    def _rows_of(self, source: str, kind: type[UorbMessage], name: str, instance: int) -> _Rows:
        """Return the rows of a topic; they are read once."""
        if source not in self._rows:
            rows, absent = self._log.records(kind, instance, topic=name)
            stamps = np.where(rows[_STAMPS[1]] == 0, rows[_STAMPS[0]], rows[_STAMPS[1]])
            order = np.argsort(stamps, kind="stable")
            self._rows[source] = _Rows(rows[order], stamps[order].astype(np.int64), absent)
        return self._rows[source]

    def _count(
        self,
        source: str,
        rows: NDArray[np.void],
        again: NDArray[np.void],
        absent: tuple[str, ...],
    ) -> None:
        """Count the values of changed rows that a series does not hold."""
        for field in rows.dtype.names or ():
            lost = int(np.count_nonzero(~_equal(rows, again, (field,))))
            if lost and field not in absent:
                self._lost[source, field] = self._lost.get((source, field), 0) + lost


def _repetition(ascending: IntArray) -> IntArray:
    """Return how many equal values precede each one."""
    return np.arange(len(ascending)) - ascending.searchsorted(ascending)


def _equal(
    a: NDArray[np.void], b: NDArray[np.void], fields: Sequence[str] | None = None
) -> BoolArray:
    """Return whether rows agree in some fields, by default all but the stamps; NaN equals NaN."""
    equal = np.ones(len(a), np.bool_)
    for name in fields or [name for name in a.dtype.names or () if name not in _STAMPS]:
        one, other = a[name], b[name]
        agree = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124 (NaN)
        equal &= agree.all(axis=tuple(range(1, agree.ndim)))
    return equal
