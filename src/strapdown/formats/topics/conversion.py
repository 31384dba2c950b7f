"""Messages of one topic as a series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.formats.topics.kinds import HORUS, PX4, TWISTS, VECTORS
from strapdown.messages import ros_types
from strapdown.messages.cdr import Batch
from strapdown.messages.conversion import (
    barometer_from_fluid_pressure,
    gnss_from_navsat,
    rule_between,
    trajectory_from_ros_odometry,
)
from strapdown.messages.imu import Imu
from strapdown.messages.pose import Odometry
from strapdown.messages.px4 import SensorCombined, VehicleAttitude, VehicleImu, VehicleOdometry
from strapdown.series import ImuSeries, Increments, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats._series_headers import Series
    from strapdown.formats.topics.decoding import Part

__all__ = ["converted", "intervals", "sensor_combined", "stamps_of"]

_INTERVALS: Final[dict[str, tuple[str, str]]] = {
    "px4_msgs/msg/VehicleImu": ("timestamp_sample", "delta_angle_dt"),
    "px4_msgs/msg/SensorCombined": ("timestamp", "gyro_integral_dt"),
}
"""Fields for end and length of the interval, of messages that hold means or integrals."""
_AIDING: Final[dict[str, tuple[str, Callable[[Any], Series]]]] = {
    ros_types.NAV_SAT_FIX.name: ("gnss", gnss_from_navsat),
    ros_types.FLUID_PRESSURE.name: ("barometers", barometer_from_fluid_pressure),
}
_TRACKS: Final[dict[str, type[Any]]] = {
    ros_types.POSE_STAMPED.name: Batch,
    ros_types.QUATERNION_STAMPED.name: Batch,
    "horus/Odometry": Odometry,
}


def converted(kind: str, messages: Part, topic: str) -> tuple[str, Series]:
    """Return group and series of messages; vectors, which join a series, have none."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return _converted(kind, messages, topic)


def _converted(kind: str, messages: Any, topic: str) -> tuple[str, Series]:  # noqa: ANN401 (the type depends on the kind)
    px4 = PX4.get(kind)
    if px4 is VehicleImu:
        return "increments", rule_between(px4, Increments).function(messages)
    if kind in _AIDING:
        holds, function = _AIDING[kind]
        return holds, function(messages)
    if kind == ros_types.ODOMETRY.name:
        return "trajectories", trajectory_from_ros_odometry(messages, name=topic)
    if px4 in {VehicleAttitude, VehicleOdometry}:
        return "trajectories", rule_between(px4, Trajectory).function(messages, name=topic)
    if kind in _TRACKS:
        return "trajectories", rule_between(_TRACKS[kind], Trajectory).function(messages)
    source = px4 or (Imu if kind in HORUS else Batch)
    return "imu", rule_between(source, ImuSeries).function(messages)


def stamps_of(kind: str, messages: Part) -> IntArray | None:
    """Return the stamps of the series of messages; None for vectors, which join a series."""
    is_joined = kind in VECTORS or kind in TWISTS
    return None if is_joined else np.asarray(converted(kind, messages, "")[1].t_ns)


def intervals(kind: str, messages: Part) -> tuple[IntArray, IntArray] | None:
    """Return ends and lengths of the intervals of messages [us]; None where they have none."""
    if kind not in _INTERVALS or not isinstance(messages, np.ndarray):
        return None
    end, length = _INTERVALS[kind]
    return messages[end].astype(np.int64), messages[length].astype(np.int64)


def sensor_combined(messages: Part) -> NDArray[np.void] | None:
    """Return messages if they are mean rates of PX4."""
    is_combined = isinstance(messages, np.ndarray) and messages.dtype == SensorCombined.dtype
    return messages if is_combined else None  # type: ignore[return-value]  # as checked
