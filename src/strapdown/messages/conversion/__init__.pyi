__all__: list[str]  # noqa: PYI035 (made from what follows)

from .gnss import barometer_from_fluid_pressure as barometer_from_fluid_pressure
from .gnss import fluid_pressure_from_barometer as fluid_pressure_from_barometer
from .gnss import gnss_from_navsat as gnss_from_navsat
from .gnss import navsat_from_gnss as navsat_from_gnss
from .gnss import trajectory_from_ros_odometry as trajectory_from_ros_odometry
from .gnss import twist_from_gnss as twist_from_gnss
from .gnss import velocity_of_twist as velocity_of_twist
from .horus import floats_from_messages as floats_from_messages
from .horus import imu_from_series as imu_from_series
from .horus import messages_from_floats as messages_from_floats
from .horus import odometry_from_trajectory as odometry_from_trajectory
from .horus import pose_from_trajectory as pose_from_trajectory
from .horus import series_from_imu as series_from_imu
from .horus import trajectory_from_odometry as trajectory_from_odometry
from .horus import trajectory_from_pose as trajectory_from_pose
from .px4 import imu_from_vehicle_imu as imu_from_vehicle_imu
from .px4 import increments_from_mean_rates as increments_from_mean_rates
from .px4 import increments_from_vehicle_imu as increments_from_vehicle_imu
from .px4 import series_from_increments as series_from_increments
from .px4 import vehicle_imu_from_imu as vehicle_imu_from_imu
from .px4 import vehicle_imu_from_increments as vehicle_imu_from_increments
from .px4_estimates import join_attitude as join_attitude
from .px4_estimates import (
    orientation_covariance_from_vehicle_odometry as orientation_covariance_from_vehicle_odometry,
)
from .px4_estimates import trajectory_from_vehicle_attitude as trajectory_from_vehicle_attitude
from .px4_estimates import trajectory_from_vehicle_odometry as trajectory_from_vehicle_odometry
from .px4_estimates import vehicle_attitude_from_trajectory as vehicle_attitude_from_trajectory
from .px4_estimates import vehicle_odometry_from_trajectory as vehicle_odometry_from_trajectory
from .px4_gnss import air_data_from_barometer as air_data_from_barometer
from .px4_gnss import barometer_from_air_data as barometer_from_air_data
from .px4_gnss import gnss_from_sensor_gps as gnss_from_sensor_gps
from .px4_gnss import sensor_gps_from_gnss as sensor_gps_from_gnss
from .px4_rates import fifo_delays_ns as fifo_delays_ns
from .px4_rates import sensor_combined_from_vehicle_imu as sensor_combined_from_vehicle_imu
from .px4_rates import series_from_sensor_accel as series_from_sensor_accel
from .px4_rates import series_from_sensor_combined as series_from_sensor_combined
from .px4_rates import series_from_sensor_gyro as series_from_sensor_gyro
from .px4_rates import series_from_vehicle_acceleration as series_from_vehicle_acceleration
from .px4_rates import series_from_vehicle_angular_velocity as series_from_vehicle_angular_velocity
from .px4_rates import vehicle_imu_from_sensor_combined as vehicle_imu_from_sensor_combined
from .px4_rates import white_noise_covariance as white_noise_covariance
from .ros import imu_from_ros as imu_from_ros
from .ros import ros_from_imu as ros_from_imu
from .ros import ros_from_magnetic_field as ros_from_magnetic_field
from .ros import ros_from_series as ros_from_series
from .ros import ros_from_trajectory as ros_from_trajectory
from .ros import series_from_ros as series_from_ros
from .ros import trajectory_from_ros as trajectory_from_ros
from .table import RULES as RULES
from .table import Rule as Rule
from .table import convert as convert
from .table import losses as losses
from .table import rule_between as rule_between
