"""Description of a series for what ROS messages cannot hold: a mapping of texts in the file.

======================================  =====================================================
key                                     text
======================================  =====================================================
``body``, ``world``                     frames of the series; its messages are in those of ROS
``sensor``                              name of the sensor
``accel_device_id``, ``gyro_device_id`` decimal numbers
``name``                                of a trajectory
``moving``                              spans of a trajectory that count: ``first last`` [ns],
                                        inclusive, separated by ``;``
``magnetic_field``                      topic that holds the magnetic field, empty for none
``check``                               CRC-32 of all other lines ``key=text``, sorted
======================================  =====================================================
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from strapdown.series import SensorIdentity, Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown._typing import BoolArray, IntArray
    from strapdown.formats._series_headers import Series

__all__ = ["describe", "is_intact", "restore", "sealed"]


def describe(series: Series) -> tuple[dict[str, str], list[str]]:
    """Return the texts, and the names of the columns that they cannot hold either."""
    said = {name: str(getattr(series, name)) for name in ("body", "world") if hasattr(series, name)}
    if not isinstance(series, Trajectory):
        said["sensor"] = series.sensor.name
        said["accel_device_id"] = str(series.sensor.accel_device_id)
        said["gyro_device_id"] = str(series.sensor.gyro_device_id)
        return said, []
    said["name"] = series.name
    if series.moving is None:
        return said, []
    said["moving"] = _spans(series.t_ns, series.moving)
    if np.array_equal(_within(series.t_ns, said["moving"]), series.moving):
        return said, []
    del said["moving"]  # rows with repeated or decreasing stamps cannot be identified by stamp
    return said, ["moving"]


def restore(series: Series, said: Mapping[str, str]) -> Series:
    """Return the series with the description applied.

    Raises
    ------
    ValueError
        A text is invalid; FrameError and ValueRangeError are subclasses.
    """
    if isinstance(series, Trajectory):
        moving = _within(series.t_ns, said["moving"]) if "moving" in said else None
        series = series.replace(name=said.get("name", ""), moving=moving)
    else:
        identity = SensorIdentity(
            said.get("sensor", series.sensor.name),
            int(said.get("accel_device_id", series.sensor.accel_device_id)),
            int(said.get("gyro_device_id", series.sensor.gyro_device_id)),
        )
        series = series.replace(sensor=identity)
    frames = {name: said[name] for name in ("body", "world") if name in said}
    return series.in_frames(**frames)


def sealed(said: Mapping[str, str]) -> dict[str, str]:
    """Return the texts with their checksum: the file may store them without one."""
    return {**said, "check": _checksum(said)}


def is_intact(said: Mapping[str, str]) -> bool:
    """Return whether the checksum matches; texts of other writers may have none."""
    return said.get("check", _checksum(said)) == _checksum(said)


def _checksum(said: Mapping[str, str]) -> str:
    lines = (f"{key}={text}" for key, text in sorted(said.items()) if key != "check")
    return f"{zlib.crc32(chr(10).join(lines).encode()):08x}"


def _spans(t_ns: IntArray, flags: BoolArray) -> str:
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False)).reshape(-1, 2)
    return ";".join(f"{t_ns[first]} {t_ns[stop - 1]}" for first, stop in edges)


def _within(t_ns: IntArray, spans: str) -> BoolArray:
    inside = np.zeros(len(t_ns), np.bool_)
    for span in filter(None, spans.split(";")):
        first, last = map(int, span.split())
        inside |= (t_ns >= first) & (t_ns <= last)
    return inside
