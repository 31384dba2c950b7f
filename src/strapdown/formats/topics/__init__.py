"""Topics of messages in a container (MCAP, bags), and the series that they become.

=====================================  ==================================================
type                                   becomes
=====================================  ==================================================
``sensor_msgs/Imu``                    an IMU series (ROS 1 and ROS 2 serialisation)
``sensor_msgs/MagneticField``          the ``magnetic_field`` of an IMU series
``geometry_msgs/PoseStamped``          a trajectory
``geometry_msgs/QuaternionStamped``    a trajectory without positions
``geometry_msgs/Vector3Stamped``       on ``T/velocity``: the ``velocity_world`` of the
                                       trajectory ``T``; on a topic that is named ``mag...``: as
                                       ``MagneticField``, its unit by the norm
``horus/Imu``                          an IMU series (its 304 bytes)
``horus/Odometry``                     a trajectory in the plane (its 736 bytes)
``px4_msgs/VehicleImu``                increments
``px4_msgs/SensorCombined``            an IMU series, stamped at the middle of the intervals
``px4_msgs/SensorGyro``,               an IMU series without specific force
``px4_msgs/VehicleAngularVelocity``
``px4_msgs/SensorAccel``,              an IMU series without angular velocity
``px4_msgs/VehicleAcceleration``
``px4_msgs/VehicleAttitude``           a trajectory without positions
``px4_msgs/VehicleOdometry``           a trajectory
``sensor_msgs/NavSatFix``              a GNSS series
``geometry_msgs/TwistStamped``,        on ``T/velocity``, ``T_velocity`` or next to ``T`` as
``TwistWithCovarianceStamped``         ``vel``: the velocity of the GNSS series ``T``
``sensor_msgs/FluidPressure``          a barometer series
``nav_msgs/Odometry``                  a trajectory with covariances; its twist in the world
=====================================  ==================================================

A magnetic field belongs to the IMU topic ``T`` if its own topic is ``T/...``, or else if both
have the same parent (``imu/data`` and ``imu/mag``, REP 145), or else if both have the same frame;
each of its samples goes to the row that is nearest in time. Velocities are joined by equal stamps.
Twists that belong to no receiver, such as commands, are not read.
All other rows are NaN.

Messages of PX4 are recognised by their type, on any topic, in the ROS 2 serialisation, VehicleImu
also in that of ROS 1; their size determines the release. Where their intervals leave gaps, a note
reports it: the bridge of PX4 sends at most 100 of them a second unless it is configured
otherwise.

ROS messages are FLU and ENU, those of PX4 are FRD and NED. A topic may have a description of what
its messages cannot hold: the original frames, the identity of the sensor, the rows that count.
"""
