"""strapdown: the IMU stack for Python. One measurement, every dialect.

::

    motion (truth) -> sensors (error model) -> ImuSeries -> integration -> estimation -> Trajectory
                                                  ^  |
                       formats, transport           messages (Imu, VehicleImu, ...)

Conventions: quaternions are ``(..., 4)`` in the order x, y, z, w, Hamilton, active, unit, and
``v_world = R(q_world_from_body) v_body``; SI units, radians, int64 nanoseconds; the
accelerometer gives specific force, so a level sensor at rest reads +9.80665 m/s^2 on its up
axis. ``docs/conventions.md`` has the rest, with numbers.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
