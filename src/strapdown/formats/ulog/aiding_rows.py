"""Fixes of GNSS receivers and readings of barometers as rows of a ULog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.geometry.frames import WorldFrame
from strapdown.messages.conversion.px4_gnss import (
    AIR_DATA,
    SENSOR_GPS,
    air_data_from_barometer,
    barometer_from_air_data,
    gnss_from_sensor_gps,
    sensor_gps_from_gnss,
)
from strapdown.series import GnssSeries
from strapdown.series.columns import present
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from strapdown._typing import AnyArray
    from strapdown.series import BarometerSeries

__all__ = ["FORMATS", "aiding_rows", "unheld_aiding"]

FORMATS: Final[dict[str, np.dtype[Any]]] = {
    "sensor_gps": SENSOR_GPS,
    "vehicle_gps_position": SENSOR_GPS,
    "vehicle_air_data": AIR_DATA,
}
"""Types of the rows, by topic."""
_ROUNDED: Final = 1e-6  # of float32, squared


def aiding_rows(source: str, series: GnssSeries | BarometerSeries) -> tuple[str, NDArray[np.void]]:
    """Return the topic of a series with this name, and its rows."""
    if not isinstance(series, GnssSeries):
        return "vehicle_air_data", air_data_from_barometer(series)
    name = source.partition(".")[0]
    return name if name in FORMATS else "sensor_gps", sensor_gps_from_gnss(series)


def unheld_aiding(
    source: str, series: GnssSeries | BarometerSeries, rows: NDArray[np.void]
) -> list[str]:
    """Return the names of the columns that do not read back from the rows, but for rounding."""
    back: GnssSeries | BarometerSeries | None = barometer_from_air_data(rows)
    if isinstance(series, GnssSeries):
        series, back = series.in_frames(world=WorldFrame.ENU), gnss_from_sensor_gps(rows)
    columns = ((name, array, getattr(back, name)) for name, _, array in present(series))
    unheld = [name for name, array, other in columns if not _same(name, array, other)]
    if "t_ns" in unheld:
        unheld[0] = "t_ns below one microsecond"
    if series.sensor.name not in {"", source}:
        unheld.append("sensor.name")
    return unheld


def _same(name: str, ours: AnyArray, theirs: AnyArray) -> bool:
    if name == "t_ns":
        return bool((ours % NS_PER_US == 0).all())
    if name == "heading":
        ours, theirs = np.exp(1j * ours), np.exp(1j * theirs)
    return np.allclose(ours, theirs, rtol=_ROUNDED, atol=0.0, equal_nan=True)
