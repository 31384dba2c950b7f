"""Conversion between messages and series: every function, and the rules they share.

Frames
    Messages of horus and ROS are body FLU, world ENU; those of PX4 are body FRD. A series in
    other frames is converted on writing; reading gives the frames of the message. Vectors and
    covariances change signs and places only; a quaternion between ENU and NED is rounded.
Units
    SI everywhere. ``linear_acceleration`` of a message is the ``specific_force`` of a series.
Time
    Integer nanoseconds; PX4 has microseconds, to which stamps are rounded. A series or message
    of rates that comes from increments is stamped at the middle of the interval, increments at
    its end: ``t_mid = t_end - dt // 2``.
Rates and increments
    ``rate = delta / dt``, each delta with its own dt. The way back is only for mean rates over
    the interval; samples at points in time are integrated instead
    (:mod:`strapdown.inertial`). PX4's ``sensor_combined`` holds the rates of ``vehicle_imu``
    with its own rounding: the increment times the float32 quotient ``1e6 / dt``.
Covariance
    Absent, unknown and known (:mod:`strapdown.messages.covariance`) survive every conversion;
    the writer uses the form of its dialect. In a series, an orientation that no row has is
    ``None``, a row without one is NaN, and a covariance that no row knows is ``None``.
    An absent orientation is written as the identity.
Loss
    What a target cannot hold is left out. :func:`losses` names it, and ``strict=True`` raises
    :class:`~strapdown.errors.ConversionLossError` instead.
"""

from strapdown.messages.conversion.horus import (
    floats_from_messages,
    imu_from_series,
    messages_from_floats,
    odometry_from_trajectory,
    pose_from_trajectory,
    series_from_imu,
    trajectory_from_odometry,
    trajectory_from_pose,
)
from strapdown.messages.conversion.loss import losses
from strapdown.messages.conversion.px4 import (
    imu_from_vehicle_imu,
    increments_from_mean_rates,
    increments_from_vehicle_imu,
    series_from_increments,
    vehicle_imu_from_imu,
    vehicle_imu_from_increments,
)
from strapdown.messages.conversion.px4_estimates import (
    join_attitude,
    orientation_covariance_from_vehicle_odometry,
    trajectory_from_vehicle_attitude,
    trajectory_from_vehicle_odometry,
    vehicle_attitude_from_trajectory,
    vehicle_odometry_from_trajectory,
)
from strapdown.messages.conversion.px4_rates import (
    fifo_delays_ns,
    sensor_combined_from_vehicle_imu,
    series_from_sensor_accel,
    series_from_sensor_combined,
    series_from_sensor_gyro,
    series_from_vehicle_acceleration,
    series_from_vehicle_angular_velocity,
    vehicle_imu_from_sensor_combined,
    white_noise_covariance,
)
from strapdown.messages.conversion.ros import (
    imu_from_ros,
    ros_from_imu,
    ros_from_magnetic_field,
    ros_from_series,
    ros_from_trajectory,
    series_from_ros,
    trajectory_from_ros,
)

__all__ = [
    "fifo_delays_ns",
    "floats_from_messages",
    "imu_from_ros",
    "imu_from_series",
    "imu_from_vehicle_imu",
    "increments_from_mean_rates",
    "increments_from_vehicle_imu",
    "join_attitude",
    "losses",
    "messages_from_floats",
    "odometry_from_trajectory",
    "orientation_covariance_from_vehicle_odometry",
    "pose_from_trajectory",
    "ros_from_imu",
    "ros_from_magnetic_field",
    "ros_from_series",
    "ros_from_trajectory",
    "sensor_combined_from_vehicle_imu",
    "series_from_imu",
    "series_from_increments",
    "series_from_ros",
    "series_from_sensor_accel",
    "series_from_sensor_combined",
    "series_from_sensor_gyro",
    "series_from_vehicle_acceleration",
    "series_from_vehicle_angular_velocity",
    "trajectory_from_odometry",
    "trajectory_from_pose",
    "trajectory_from_ros",
    "trajectory_from_vehicle_attitude",
    "trajectory_from_vehicle_odometry",
    "vehicle_attitude_from_trajectory",
    "vehicle_imu_from_imu",
    "vehicle_imu_from_increments",
    "vehicle_imu_from_sensor_combined",
    "vehicle_odometry_from_trajectory",
    "white_noise_covariance",
]
