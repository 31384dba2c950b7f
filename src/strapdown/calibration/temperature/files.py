"""Temperature of a sensor from a recording or from a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.temperature.readings import TemperatureReadings
from strapdown.errors import FormatError
from strapdown.formats.text.lines import read_opening
from strapdown.formats.text.rows import Column, Layout
from strapdown.formats.text.table import read_table
from strapdown.units import NS_PER_US, ns_from_decimal_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from numpy.typing import NDArray

    from strapdown._typing import FloatArray, IntArray
    from strapdown.formats import Recording

__all__ = ["read_temperature", "recorded_temperature"]

_PX4: Final = (
    ("sensor_gyro", "device_id", "temperature"),
    ("sensor_accel", "device_id", "temperature"),
    ("vehicle_imu_status", "gyro_device_id", "temperature_gyro"),
)
"""Topics with the temperature of an IMU, the device that it belongs to, and its field."""

_STAMPS: Final[dict[str, Callable[[str], int]]] = {"t_ns": int, "t_s": ns_from_decimal_seconds}
_DEGREES: Final = ("temperature_c", "temperature_degC", "temperature", "celsius")


def recorded_temperature(
    recording: Recording, topic: str | None = None
) -> TemperatureReadings | None:
    """Return the temperature of an IMU, as far as its recording has it.

    PX4 logs have it in ``sensor_gyro``, ``sensor_accel`` or ``vehicle_imu_status``: the readings of
    the device of the IMU if its series names one, otherwise those of instance 0.

    Parameters
    ----------
    recording : Recording
        From :func:`strapdown.formats.open`.
    topic : str, optional
        Topic of the IMU; by default that of :meth:`~strapdown.formats.Recording.imu_series`.

    Returns
    -------
    TemperatureReadings or None
        None where the recording has no temperature.

    Raises
    ------
    UnknownNameError
        There is no such topic.
    """
    log = recording.log
    if log is None:
        return None
    sensor = recording.imu_series(topic).sensor
    wanted = {sensor.gyro_device_id, sensor.accel_device_id} - {0}
    for name, device, degrees in _PX4:
        for instance in log.instances(name):
            rows = log.rows(name, instance)
            if not wanted or _device(rows, device) in wanted:
                readings = _of_rows(rows, degrees)
                if readings is not None:
                    return readings
    return None


def read_temperature(path: str | PathLike[str]) -> TemperatureReadings:
    """Read temperatures from a CSV file.

    Parameters
    ----------
    path : path-like
        With a header; the columns ``t_ns`` [ns] or ``t_s`` [s], on the clock of the recording, and
        ``temperature_c``, ``temperature_degC``, ``temperature`` or ``celsius`` [deg C]. Other
        columns are ignored; empty cells and NaN are left out.

    Raises
    ------
    FormatError
        A column is missing, a row is damaged.
    FileNotFoundError
        There is no such file.
    """
    path = Path(path)
    line = read_opening(path).line
    separator = max(",;\t", key=line.count)
    header = [cell.strip(' \t"') for cell in line.split(separator)]
    stamp = next((name for name in _STAMPS if name in header), None)
    degrees = next((name for name in _DEGREES if name in header), None)
    if stamp is None or degrees is None:
        raise FormatError(
            f"expected a header with t_ns or t_s and {' or '.join(_DEGREES)}, got {line[:80]!r}",
            path=path,
        )
    layout = Layout(
        separator=separator,
        width=len(header),
        stamp=Column(stamp, header.index(stamp)),
        read_stamp=_STAMPS[stamp],
        columns=[Column(degrees, header.index(degrees))],
        header=True,
        ended=False,
    )
    table = read_table(path, layout, salvage=False)
    readings = _finite(table.t_ns, table.values[:, 0])
    if readings is None:
        raise FormatError("expected rows with a temperature, got none", path=path)
    return readings


def _device(rows: NDArray[np.void], field: str) -> int:
    """Return the device id in the rows of a topic; 0 where they have none."""
    return int(rows[field][-1]) if field in (rows.dtype.names or ()) else 0


def _of_rows(rows: NDArray[np.void], degrees: str) -> TemperatureReadings | None:
    """Return the finite temperatures in the rows of a topic."""
    fields = rows.dtype.names or ()
    if degrees not in fields:
        return None
    stamps = "timestamp_sample" if "timestamp_sample" in fields else "timestamp"
    return _finite(rows[stamps].astype(np.int64) * NS_PER_US, rows[degrees].astype(np.float64))


def _finite(t_ns: IntArray, celsius: FloatArray) -> TemperatureReadings | None:
    """Return the finite readings in the order of their stamps, the first of equal ones."""
    known = np.isfinite(celsius)
    stamps, first = np.unique(t_ns[known], return_index=True)
    return TemperatureReadings(stamps, celsius[known][first]) if len(stamps) else None
