"""Calibration of a sensor over the time of a log, by parameters and temperature."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strapdown.px4.calibration import LEAST_CHANGE, CalibrationTracker, thermal_offset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from strapdown.px4.calibration import Sensor, SensorCalibration

__all__ = ["LogParameters", "calibration_history"]


class LogParameters(NamedTuple):
    """The parameters of a log.

    Parameters
    ----------
    initial : mapping of str to number
        Values at its start.
    changes : sequence of (int, str, number)
        Later changes: time [us], name and value, in the order of the log.
    """

    initial: Mapping[str, float]
    changes: Sequence[tuple[int, str, float]] = ()


def calibration_history(
    sensor: Sensor,
    device_id: int,
    parameters: LogParameters,
    correction: NDArray[np.void] | None = None,
    *,
    least_change: float = LEAST_CHANGE,
) -> list[tuple[int, SensorCalibration]]:
    """Return the calibrations of a sensor over a log.

    Parameters
    ----------
    sensor : "gyro" or "accel"
        Sensor whose parameters to use.
    device_id : int
        Id that selects its slot.
    parameters : LogParameters
        Parameters with the calibrations. Changes at the same time are applied together.
    correction : structured array, optional
        Messages ``sensor_correction``: thermal offsets, 0 before the first. A message whose offset
        for the device is not finite is ignored.
    least_change : float
        As for :class:`~strapdown.px4.calibration.CalibrationTracker`.

    Returns
    -------
    list of (int, SensorCalibration)
        Time from which each is in force [us], ascending; the first from 0.

    Raises
    ------
    UnknownNameError
        There is no such kind of sensor.
    """
    tracker = CalibrationTracker(sensor, device_id, least_change=least_change)
    now = dict(parameters.initial)
    history = [(0, tracker.update(now))]
    changed: dict[int, dict[str, float]] = {}
    for t_us, name, value in parameters.changes:
        changed.setdefault(t_us, {})[name] = value
    events: list[tuple[int, dict[str, float] | np.void]] = [*changed.items()]
    if correction is not None:
        events += zip(correction["timestamp"].tolist(), correction, strict=True)
    for t_us, event in sorted(events, key=itemgetter(0)):
        if isinstance(event, dict):
            now.update(event)
            tracker.update(now)
        elif np.isfinite(thermal_offset(event, sensor, device_id)).all():
            tracker.update_thermal(event)
        if tracker.calibration != history[-1][1]:
            history.append((t_us, tracker.calibration))
    return history
