"""Magnetometer topics of ROS: their unit, and the IMU topics that they belong to.

``sensor_msgs/MagneticField`` is in tesla. ``geometry_msgs/Vector3Stamped``, which drivers and
samples before ROS Indigo use, states no unit; the median norm determines it, because the field of
the Earth is between 22 and 67 microtesla.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.units import GAUSS, MICROTESLA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from strapdown.messages.cdr import Batch
    from strapdown.series import ImuSeries

__all__ = ["in_tesla", "is_magnetometer", "owners"]

_NAME: Final = re.compile(r"(?<![a-z])mag", re.IGNORECASE)
_EARTH_T: Final = (22e-6 / 3.0, 67e-6 * 3.0)
"""Norms of the field of the Earth, with a factor for iron nearby [T]."""
_UNITS: Final = {"T": 1.0, "gauss": GAUSS, "uT": MICROTESLA}


def is_magnetometer(topic: str) -> bool:
    """Return whether a topic of vectors holds a magnetic field, by its name.

    >>> [is_magnetometer(topic) for topic in ("/imu/mag", "/imu_magnetometer", "/image/gaze")]
    [True, True, False]
    """
    return _NAME.search(topic) is not None


def in_tesla(batch: Batch) -> tuple[Batch | None, str]:
    """Return vectors without a unit in tesla, and a note on their unit.

    None where the median norm is no field of the Earth in T, gauss or uT.
    """
    norms = np.linalg.norm(batch.values[:, :3], axis=1)
    known = norms[np.isfinite(norms)]
    usual = float(np.median(known)) if len(known) else float("nan")
    low_t, high_t = _EARTH_T
    for unit, factor in _UNITS.items():
        if low_t <= usual * factor <= high_t:
            note = f"taken for {unit}, because the median norm is {usual:.3g}"
            return replace(batch, values=batch.values * factor), note
    units = ", ".join(_UNITS)
    return None, f"left out, a median norm of {usual:.3g} is no field of the Earth in {units}"


def owners(
    imu: Mapping[str, ImuSeries], fields: Mapping[str, Batch], described: Mapping[str, str]
) -> tuple[dict[str, list[str]], list[str]]:
    """Return the magnetometer topics of each IMU topic, best first, and notes.

    Parameters
    ----------
    imu : mapping of str to ImuSeries
        By topic; the sensor is named by the frame of the messages.
    fields : mapping of str to Batch
        Magnetic fields by topic.
    described : mapping of str to str
        Magnetometer topic by IMU topic, where the file states it.
    """
    choices = {
        topic: [described[topic]] if topic in described else _of_namespace(topic, fields)
        for topic in imu
    }
    notes = []
    claimed = {name for names in choices.values() for name in names}
    for name in sorted(set(fields) - claimed):
        frame = _frame_of(fields[name])
        free = [
            topic
            for topic, series in imu.items()
            if frame and series.sensor.name == frame and not choices[topic]
        ]
        for topic in free:
            choices[topic].append(name)
        if free:
            notes.append(f"{name}: joined to {', '.join(free)}, by the frame {frame}")
    return choices, notes


def _of_namespace(imu: str, fields: Iterable[str]) -> list[str]:
    """Return the topics below an IMU topic, then those next to it (REP 145)."""
    parents = {name: name.rpartition("/")[0] for name in sorted(fields)}
    return [
        name
        for wanted in (imu, imu.rpartition("/")[0])
        for name, parent in parents.items()
        if parent == wanted
    ]


def _frame_of(batch: Batch) -> str:
    return batch.frame_ids[0] if batch.frame_ids else ""
