"""Live pipelines: sources, stages that convert or estimate, topics and recorders, as one.

A pipeline is a TOML file with one table ``[KIND.NAME]`` a stage:

=============  =========================================  ==================  ===================
kind           keys                                       takes               gives
=============  =========================================  ==================  ===================
``device``     ``motion`` or ``world``, ``robot``,                            ``Imu``
               ``profile``; ``sensor``, ``rate``,
               ``seed``, ``duration``, ``speed``,
               ``start_ns``
``log``        ``file``, ``topic``, ``magnetic_field``,                       ``Imu``,
               ``speed``                                                      ``MagneticField``,
                                                                              ``NavSatFix``,
                                                                              a velocity or
                                                                              ``FluidPressure``
``topic``      ``address``                                                    ``Imu``, or the type
                                                                              in the address
``topic``      ``address``, ``from``                      any                 (publishes)
``calibrate``  ``from``, ``file``, ``temperature``        ``Imu`` or          the same
                                                          ``MagneticField``
``sensor``     ``from``, ``sensor``, ``rate``, ``seed``   ``Imu``             ``Imu``
``filter``     ``from``, ``filter``, its parameters       ``Imu``,            ``Pose3D``
                                                          ``MagneticField``
``odometry``   ``from``, ``foot``, its parameters         ``Imu``             ``Pose3D``
``navigate``   ``from``, ``lever_arm``, ``latency``,      ``Imu``,            ``Pose3D``
               its parameters                             ``NavSatFix``,
                                                          velocities and
                                                          ``FluidPressure``
``detect``     ``from``, ``kind``, ``file``               ``Imu``             (writes)
``record``     ``from`` (one or more), ``file``,          any                 (writes)
               ``split_bytes``, ``split_s``,
               ``min_free_bytes``
=============  =========================================  ==================  ===================
"""

from strapdown.bridges.live.pipeline.part import PartReport, State
from strapdown.bridges.live.pipeline.pipeline import Pipeline, PipelineReport

__all__ = ["PartReport", "Pipeline", "PipelineReport", "State"]
