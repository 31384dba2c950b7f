"""Samples of a whole run at once, without a controller: far faster than stepping."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import DeviceError, ValueRangeError
from strapdown.webots.run.sensor_log import INERTIAL, SensorLog

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.webots.devices.device import DeviceState
    from strapdown.webots.world.world import World

__all__ = ["measure"]

_CHUNK: Final = 2**15
"""Number of states in memory at once."""


def measure(
    world: World, duration_s: float, *, periods: int | Mapping[str, int] | None = None
) -> SensorLog:
    """Advance a world without controllers, and sample its inertial sensors.

    The samples are those that a controller would read that enables the sensors now and then only
    steps, within rounding: columns are computed in a different order than single numbers.
    Other devices have no samples meanwhile; an enabled one starts a period afterwards.

    Parameters
    ----------
    world : World
        At any time; afterwards it is ``duration_s`` later, or at its end.
    duration_s : float
        Duration [s].
    periods : int or mapping of str to int, optional
        Sampling period of all sensors, or by name for those listed only [ms]; by default one
        basic step.

    Returns
    -------
    SensorLog
        Every sample.

    Raises
    ------
    ValueRangeError
        The duration is not positive, or a period is less than 1.
    DeviceError
        No inertial sensor has such a name; or several devices draw their noise from one stream
        of random numbers, as in releases, whose order only stepping reproduces.
    """
    timeline = world.timeline
    if not duration_s > 0.0:
        raise ValueRangeError(f"expected a positive duration_s, got {duration_s}")
    devices = _chosen(world, periods)
    noisy = [f"{device.kind} {device.name!r}" for device in devices if _draws(device)]
    if world.profile.shared_stream and len(noisy) > 1:
        raise DeviceError(
            f"expected noise of one device at most in the profile {world.profile.name!r}, whose"
            f" devices share one stream of random numbers, got {', '.join(noisy)}; step the world"
            " instead, or take the profile 'documented'"
        )
    after = {
        device: 0 if device in devices else device.period
        for robot in world.robots.values()
        for device in robot.devices
    }
    for device, period in devices.items():
        world.enable(device, period)
    log = SensorLog(world)
    stop = min(timeline.step_count + timeline.whole_steps(1e3 * duration_s), timeline.last_step)
    while timeline.step_count < stop:
        origin = timeline.step_count
        horizon, count = timeline.leap(min(_CHUNK, stop - origin))
        for device in devices:
            steps = np.arange(device.due, origin + count + 1, device.stride)
            if len(steps):
                dt_s = np.full(len(steps), device.period_s)
                dt_s[0] = device.dt_s
                log.add(device, steps, device.batch(horizon, origin, dt_s))
                device.dt_s, device.due = device.period_s, int(steps[-1]) + device.stride
    for device, period in after.items():
        world.enable(device, period)
    log.stop()
    return log


def _chosen(world: World, periods: int | Mapping[str, int] | None) -> dict[DeviceState, int]:
    """Return the devices to sample, with their periods [ms]."""
    if periods is None:
        periods = max(1, math.floor(world.basic_time_step))
    inertial = [
        device
        for robot in world.robots.values()
        for device in robot.devices
        if device.kind in INERTIAL
    ]
    if not inertial:
        raise DeviceError("expected a world with inertial sensors, got one without any")
    if isinstance(periods, int):
        chosen = dict.fromkeys(inertial, periods)
    else:
        unknown = sorted(periods.keys() - {device.name for device in inertial})
        if unknown:
            raise DeviceError(f"expected inertial sensors, got {unknown[0]!r}, which is none")
        chosen = {each: periods[each.name] for each in inertial if each.name in periods}
    for device, period in chosen.items():
        if period < 1:
            raise ValueRangeError(
                f"expected a period of {device.name!r} of 1 ms or more, got {period}"
            )
    return chosen


def _draws(device: DeviceState) -> bool:
    """Return whether a device's fields specify noise."""
    if device.kind == "InertialUnit":
        return device.node.number("noise") != 0.0
    return any(row[2] != 0.0 for row in device.node.vectors("lookupTable"))
