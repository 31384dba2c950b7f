"""Recording files: one entry point for reading and one for writing.

======================  =======================================  =========================
format                  recognised by                            written, by ending
======================  =======================================  =========================
MCAP                    magic bytes                              ``.mcap``
ROS 1 bag               ``#ROSBAG V``                            ``.bag``
ROS 2 bag               its folder, or magic bytes of SQLite     a folder: no ending
ULog (PX4)              magic bytes                              ``.ulg``
DataFlash (ArduPilot)   a FMT message
MAVLink telemetry log   a time stamp and a frame
npz arrays              a zip archive of arrays                  ``.npz``
Parquet                 magic bytes                              ``.parquet``
EuRoC                   ``#timestamp``, or its folder
TUM trajectory          eight numbers in the first row           ``.tum``
CSV                     a header line                            ``.csv``
======================  =======================================  =========================

A file is recognised by its content, never by its name.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
