"""MAVLink: IMU messages to and from series, over UDP and from telemetry logs (extra ``mavlink``).

Layouts and checksums are those of pymavlink; here is what the numbers mean.

Examples
--------
Feed a simulator link with what a series holds, in its own time::

    with MavlinkLink(to="127.0.0.1:14560") as link:
        link.send_imu(series)

Read a telemetry log::

    recording = read_tlog("flight.tlog", on_error="salvage")
"""

from strapdown.bridges.mavlink.fusion import fuse_link
from strapdown.bridges.mavlink.link import MavlinkLink, SendReport
from strapdown.bridges.mavlink.telemetry_log import read_tlog
from strapdown.formats.mavlink.attitude import (
    attitude_records_from_trajectory,
    trajectory_from_attitude_records,
)
from strapdown.formats.mavlink.collection import Collection
from strapdown.formats.mavlink.conversion import (
    Ambient,
    RawScale,
    records_from_series,
    series_from_records,
)
from strapdown.formats.mavlink.frames import Decoder, SourceCount
from strapdown.formats.mavlink.increments import (
    CoveredIncrements,
    increments_from_records,
    records_from_vehicle_imu,
)
from strapdown.formats.mavlink.messages import (
    DTYPES,
    Kind,
    messages_from_records,
    records_from_messages,
)

__all__ = [
    "DTYPES",
    "Ambient",
    "Collection",
    "CoveredIncrements",
    "Decoder",
    "Kind",
    "MavlinkLink",
    "RawScale",
    "SendReport",
    "SourceCount",
    "attitude_records_from_trajectory",
    "fuse_link",
    "increments_from_records",
    "messages_from_records",
    "read_tlog",
    "records_from_messages",
    "records_from_series",
    "records_from_vehicle_imu",
    "series_from_records",
    "trajectory_from_attitude_records",
]
