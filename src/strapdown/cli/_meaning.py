"""Types, units and frames of messages and series in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.formats._series_headers import Series

__all__ = ["meaning"]

_IMU = "rad/s and m/s^2, body FLU; orientation xyzw, ENU from FLU"
_US = "times in us"
_MESSAGES: Mapping[str, str] = {
    "Imu": _IMU,
    "RosImu": _IMU,
    "NavSatFix": "degrees, m above the ellipsoid; covariance in m^2, ENU",
    "FluidPressure": "Pa",
    "MagneticField": "T, body FLU; covariance in T^2",
    "Odometry": "m and rad in frame_id; m/s and rad/s in child_frame_id",
    "Pose2D": "m and rad in a plane, theta anticlockwise",
    "Pose3D": "m in ENU; orientation xyzw, ENU from FLU",
    "Quaternion": "xyzw",
    "Twist": "m/s and rad/s, body FLU",
    "TwistWithCovarianceStamped": "m/s and rad/s, of a receiver ENU; their covariance",
    "Vector3": "unit and frame defined by the publisher",
    "SensorAccel": f"m/s^2, board FRD; temperature in degrees C; {_US}",
    "SensorAccelFifo": f"m/s^2 once multiplied by scale, board FRD; {_US}",
    "SensorCombined": f"rad/s and m/s^2, body FRD; {_US}",
    "SensorGyro": f"rad/s, board FRD; temperature in degrees C; {_US}",
    "SensorGyroFifo": f"rad/s once multiplied by scale, board FRD; {_US}",
    "SensorSelection": _US,
    "VehicleAcceleration": f"m/s^2, body FRD; {_US}",
    "VehicleAngularVelocity": f"rad/s and rad/s^2, body FRD; {_US}",
    "VehicleAttitude": f"q wxyz, NED from FRD; {_US}",
    "VehicleImu": f"rad and m/s, body FRD; {_US}",
    "VehicleImuStatus": f"rad/s and m/s^2, body FRD; temperatures in degrees C; {_US}",
    "VehicleOdometry": f"m, m/s and rad/s in pose_frame and velocity_frame; q wxyz; {_US}",
}


def meaning(source: type | Series) -> str:
    """Return type, units and frames of a type of messages, or of a series of a recording."""
    if isinstance(source, type):
        return (
            f"{source.__name__}, {_MESSAGES.get(source.__name__, 'units defined by the publisher')}"
        )
    parts = []
    if isinstance(source, GnssSeries):
        return f"GnssSeries, rad, m above the ellipsoid and m/s, {source.world}"
    if isinstance(source, BarometerSeries):
        return "BarometerSeries, m, Pa and degC"
    if isinstance(source, ImuSeries):
        parts.append(f"rad/s and m/s^2, body {source.body}")
        if source.magnetic_field is not None:
            parts.append("magnetic field in T")
    elif isinstance(source, Increments):
        parts.append(f"rad and m/s, body {source.body}")
    elif source.position_world is not None or source.velocity_world is not None:
        parts.append(f"m and m/s, {source.world}")
    if not isinstance(source, Increments) and source.q_world_from_body is not None:
        parts.append(f"orientation xyzw, {source.world} from {source.body}")
    return f"{type(source).__name__}, {'; '.join(parts)}"
