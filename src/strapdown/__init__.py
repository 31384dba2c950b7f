"""strapdown: the IMU stack for Python. One measurement, every dialect.

::

    motion (truth) -> sensors (error model) -> ImuSeries -> integration -> estimation -> Trajectory
                                                  ^  |
                       formats, transport           messages (Imu, VehicleImu, ...)

Conventions: quaternions are ``(..., 4)`` in the order x, y, z, w, Hamilton, active, unit, and
``v_world = R(q_world_from_body) v_body``; SI units, radians, int64 nanoseconds; the
accelerometer gives specific force, so a level sensor at rest reads +9.80665 m/s^2 on its up
axis. ``docs/conventions.md`` has the rest, with numbers.

The names below load on first use, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names
from strapdown._version import __version__

if TYPE_CHECKING:
    from strapdown.errors import StrapdownError
    from strapdown.estimation import (
        ComplementaryFilter,
        ErrorStateFilter,
        ErrorStateSmoother,
        FootNavigator,
        ImuSample,
        OfflineVqf,
        StrapdownNavigator,
        VqfFilter,
    )
    from strapdown.evaluation import evaluate_orientation
    from strapdown.formats import Recording, open, write  # noqa: A004 (strapdown.open, like gzip.open)
    from strapdown.geometry import BodyFrame, WorldFrame
    from strapdown.messages import (
        Imu,
        Odometry,
        Pose3D,
        Quaternion,
        RosImu,
        Vector3,
        VehicleImu,
    )
    from strapdown.sensors import ImuSimulator, ImuSpec
    from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory
    from strapdown.simulation import simulate
    from strapdown.transport import Topic
    from strapdown.warming import warm_up

_HOME = {
    "BodyFrame": "geometry",
    "ComplementaryFilter": "estimation",
    "ErrorStateFilter": "estimation",
    "ErrorStateSmoother": "estimation",
    "FootNavigator": "estimation",
    "Imu": "messages",
    "ImuSample": "samples",
    "ImuSeries": "series",
    "ImuSimulator": "sensors",
    "ImuSpec": "sensors",
    "Increments": "series",
    "Odometry": "messages",
    "OfflineVqf": "estimation",
    "Pose3D": "messages",
    "Quaternion": "messages",
    "Recording": "formats",
    "RosImu": "messages",
    "SensorIdentity": "series",
    "StrapdownError": "errors",
    "StrapdownNavigator": "estimation",
    "Topic": "transport",
    "Trajectory": "series",
    "Vector3": "messages",
    "VehicleImu": "messages",
    "VqfFilter": "estimation",
    "WorldFrame": "geometry",
    "evaluate_orientation": "evaluation",
    "open": "formats",
    "simulate": "simulation",
    "warm_up": "warming",
    "write": "formats",
}

__all__ = [
    "BodyFrame",
    "ComplementaryFilter",
    "ErrorStateFilter",
    "ErrorStateSmoother",
    "FootNavigator",
    "Imu",
    "ImuSample",
    "ImuSeries",
    "ImuSimulator",
    "ImuSpec",
    "Increments",
    "Odometry",
    "OfflineVqf",
    "Pose3D",
    "Quaternion",
    "Recording",
    "RosImu",
    "SensorIdentity",
    "StrapdownError",
    "StrapdownNavigator",
    "Topic",
    "Trajectory",
    "Vector3",
    "VehicleImu",
    "VqfFilter",
    "WorldFrame",
    "__version__",
    "evaluate_orientation",
    "open",
    "simulate",
    "warm_up",
    "write",
]

__getattr__, __dir__ = lazy_names(__name__, _HOME)
