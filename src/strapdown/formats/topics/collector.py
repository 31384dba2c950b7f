"""Conversion of message payloads by topic, from any container, to series by topic.

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

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._coverage import Coverage
from strapdown.formats._nearest_rows import MAGNETOMETER_WITHIN_NS, on_nearest_rows, unplaced
from strapdown.formats.mcap.messages import channel_encoding, mcap_form
from strapdown.formats.topics.description import is_intact, restore
from strapdown.formats.topics.gnss import (
    FIELDWISE,
    TWISTS,
    decode_each,
    velocity_topics,
    with_velocities,
)
from strapdown.formats.topics.magnetometer import in_tesla, is_magnetometer, owners
from strapdown.messages import ros_types
from strapdown.messages.cdr import Batch, Wire, decode_batch
from strapdown.messages.conversion import (
    barometer_from_fluid_pressure,
    gnss_from_navsat,
    rule_between,
    trajectory_from_ros_odometry,
)
from strapdown.messages.imu import Imu
from strapdown.messages.pose import Odometry
from strapdown.messages.px4 import (
    SensorAccel,
    SensorCombined,
    SensorGyro,
    VehicleAcceleration,
    VehicleAngularVelocity,
    VehicleAttitude,
    VehicleImu,
    VehicleOdometry,
)
from strapdown.messages.px4_versions import decode_samples
from strapdown.messages.uorb import ENCAPSULATION
from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments, Trajectory
from strapdown.units import NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from strapdown._typing import IntArray
    from strapdown.formats._series_headers import Series
    from strapdown.messages._record import Record
    from strapdown.messages.cdr import Payload
    from strapdown.messages.navsat import NavSatFix
    from strapdown.messages.ros_odometry import RosOdometry
    from strapdown.messages.uorb import UorbMessage

__all__ = [
    "INTERVALS",
    "REMEDY",
    "Content",
    "Part",
    "Topics",
    "can_read",
    "converted",
    "joined",
    "modern",
    "stamps_of",
]

_HORUS: Final[dict[str, type[Record]]] = {mcap_form(kind).schema: kind for kind in (Imu, Odometry)}
"""Messages of horus, stored as they are in memory, by type name."""
_LATEST_NS: Final = 2**63 - 1

_PX4_IMU: Final[tuple[type[UorbMessage], ...]] = (
    SensorCombined,
    SensorGyro,
    SensorAccel,
    VehicleAngularVelocity,
    VehicleAcceleration,
)
_PX4_TRACKS: Final[tuple[type[UorbMessage], ...]] = (VehicleAttitude, VehicleOdometry)
_PX4_KINDS: Final[tuple[type[UorbMessage], ...]] = (VehicleImu, *_PX4_IMU, *_PX4_TRACKS)
_PX4: Final = {f"px4_msgs/msg/{kind.__name__}": kind for kind in _PX4_KINDS}
INTERVALS: Final[dict[str, tuple[str, str]]] = {
    "px4_msgs/msg/VehicleImu": ("timestamp_sample", "delta_angle_dt"),
    "px4_msgs/msg/SensorCombined": ("timestamp", "gyro_integral_dt"),
}
"""Fields for end and length of the interval, of messages that hold means or integrals."""
REMEDY: Final = "add a rate_limit for the topic, or vehicle_imu, to dds_topics.yaml of PX4"
_VECTORS: Final = {ros_types.MAGNETIC_FIELD.name, ros_types.VECTOR3_STAMPED.name}
_TRACKS: Final[dict[str, type[Any]]] = {
    ros_types.POSE_STAMPED.name: Batch,
    ros_types.QUATERNION_STAMPED.name: Batch,
    "horus/Odometry": Odometry,
}
Part: TypeAlias = "Batch | NDArray[np.void] | list[NavSatFix] | list[RosOdometry]"


class Content(NamedTuple):
    """Series by topic."""

    imu: dict[str, ImuSeries]
    trajectories: dict[str, Trajectory]
    increments: dict[str, Increments]
    gnss: dict[str, GnssSeries]
    barometers: dict[str, BarometerSeries]


def can_read(kind: str, encoding: str) -> bool:
    """Return whether messages of this type and encoding can be converted to series."""
    if kind in _HORUS:
        return encoding == channel_encoding(kind)
    if modern(kind) in _PX4:
        return encoding == Wire.CDR or (
            encoding == Wire.ROS1 and modern(kind) == ros_types.VEHICLE_IMU.name
        )
    ros = ros_types.ROS_TYPES.get(modern(kind))
    return (
        encoding in list(Wire)
        and ros is not None
        and (ros.floats is not None or ros.name in FIELDWISE)
    )


@dataclass
class Topics:
    """Collector of messages; :meth:`content` converts them to the series of a recording.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    salvage : bool
        Count what cannot be decoded instead of raising.
    only : frozenset of str, optional
        The only topics to collect, with what may join their series.

    Attributes
    ----------
    messages, lost : int
        Numbers of messages that were decoded, and that could not be.
    skipped : dict
        Numbers of intact messages that are not read, by topic.
    notes, damage : list of str
        For the report.
    coverage : dict of str to float
        Share of the time that the intervals of a topic cover.
    sensor_combined : dict of str to array of SensorCombined.dtype
        The messages of IMU topics that hold mean rates.
    sources : dict of str to (str, str)
        Topic and type of the messages of each series, by its name.
    declared : set of (str, str)
        Topic and type of messages that are collected, whether there are any or not.
    """

    path: Path
    salvage: bool
    only: frozenset[str] | None = None
    messages: int = 0
    lost: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    coverage: dict[str, float] = field(default_factory=dict)
    sensor_combined: dict[str, NDArray[np.void]] = field(default_factory=dict)
    sources: dict[str, tuple[str, str]] = field(default_factory=dict)
    declared: set[tuple[str, str]] = field(default_factory=set)
    _others: set[str] = field(default_factory=set)
    _parts: dict[tuple[str, str], list[Part]] = field(default_factory=dict)
    _said: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)

    def wants(self, topic: str, kind: str, encoding: str) -> bool:
        """Return whether messages of a topic are collected."""
        wanted = self._wants(topic, kind, encoding)
        if wanted:
            self.declared.add((topic, modern(kind)))
        return wanted

    def _wants(self, topic: str, kind: str, encoding: str) -> bool:
        if self.only is None or not can_read(kind, encoding):
            return can_read(kind, encoding)
        parent = topic.rpartition("/")[0]
        if modern(kind) in _VECTORS:
            return parent not in self._others
        if modern(kind) in TWISTS:
            return any(topic in velocity_topics(name) for name in self.only)
        if self.only & {topic, f"{topic} ({modern(kind)})"}:
            return True
        joined = {name.rpartition("/")[0] for name in self.only}
        self._others |= {topic, parent} - self.only - joined
        return False

    def pass_over(self, topic: str, kind: str, encoding: str, count: int) -> None:
        """Count messages that are not wanted, unless their topic could be read."""
        if count and not can_read(kind, encoding):
            self.skip(topic, count)

    def add(self, topic: str, kind: str, encoding: str, payloads: Sequence[Payload]) -> None:
        """Decode messages of one topic, in order, of a type for which ``can_read`` is true.

        Raises
        ------
        FormatError
            One of them cannot be decoded; never in salvage.
        """
        kind = modern(kind)
        try:
            part, repaired = _decode(kind, encoding, payloads, lenient=self.salvage)
        except FormatError as error:
            what = f"topic {topic}: {error.message}"
            raise type(error)(what, path=self.path, topic=topic) from error
        lost = len(payloads) - len(part)
        if lost:
            self.damage.append(f"{topic}: {lost} messages that are not {kind}")
        if repaired:
            self.damage.append(f"{topic}: {repaired} impossible stamps, normalised")
        self.lost += lost
        self.messages += len(part)
        self._parts.setdefault((topic, kind), []).append(part)

    def skip(self, topic: str, count: int) -> None:
        """Count messages that are not read."""
        self.skipped[topic] = self.skipped.get(topic, 0) + count

    def describe(self, said: Mapping[str, str]) -> None:
        """Store a description of a topic, as of :mod:`strapdown.formats.topics.description`.

        Raises
        ------
        FormatError
            Its checksum does not match; never in salvage.
        """
        if is_intact(said):
            self._said[said.get("holds", ""), said.get("topic", "")] = said
        else:
            self._nonsense(said.get("topic", ""), "its checksum does not match")

    def taken(self) -> dict[tuple[str, str], list[Part]]:
        """Remove the messages collected so far, and return them by topic and type."""
        taken, self._parts = self._parts, {}
        return taken

    def description(self, holds: str, topic: str) -> Mapping[str, str]:
        """Return the description of a series, empty where there is none."""
        return self._said.get((holds, topic), {})

    def fields_described(self) -> dict[str, str]:
        """Return the topic of the magnetometer by that of the IMU, where the file states it."""
        return {
            topic: said["magnetic_field"]
            for (holds, topic), said in self._said.items()
            if holds == "imu" and "magnetic_field" in said
        }

    def content(self) -> Content:
        """Convert the collected messages.

        Raises
        ------
        FormatError
            A description is invalid; never in salvage.
        """
        content = Content({}, {}, {}, {}, {})
        vectors: dict[str, dict[str, Batch]] = {kind: {} for kind in (*_VECTORS, *TWISTS)}
        with np.errstate(invalid="ignore"):  # a signalling NaN
            for (topic, kind), parts in self._parts.items():
                whole = joined(parts)
                if not len(whole):
                    continue
                if isinstance(whole, Batch) and kind in vectors:
                    vectors[kind][topic] = whole
                else:
                    name = _convert(content, topic, kind, whole)
                    self.sources[name] = topic, kind
                    self._cover(name, kind, whole)
            velocities = vectors[ros_types.VECTOR3_STAMPED.name]
            choices = {topic: [f"{topic}/velocity"] for topic in content.trajectories}
            fields = vectors[ros_types.MAGNETIC_FIELD.name]
            velocity = set(chain(*choices.values()))
            for topic in sorted(filter(is_magnetometer, velocities.keys() - velocity)):
                self._take_field(topic, velocities.pop(topic), fields)
            self._attach(content.trajectories, "velocity_world", velocities, choices, 0)
            choices, notes = owners(content.imu, fields, self.fields_described())
            self.notes += notes
            within_ns = MAGNETOMETER_WITHIN_NS
            self._attach(content.imu, "magnetic_field", fields, choices, within_ns)
            for topic, left in with_velocities(content.gnss, [vectors[k] for k in TWISTS]).items():
                self.messages -= left
                self.skip(topic, left)
            for holds, group in content._asdict().items():
                self._restore(holds, group)
        return content

    def _take_field(self, topic: str, vectors: Batch, fields: dict[str, Batch]) -> None:
        """Add vectors without a unit to the magnetic fields, if their norm determines it."""
        field_t, note = in_tesla(vectors)
        self.notes.append(f"{topic}: {note}")
        if field_t is None or topic in fields:
            self.messages -= len(vectors)
            self.skip(topic, len(vectors))
        else:
            fields[topic] = field_t

    def _cover(self, topic: str, kind: str, messages: Part) -> None:
        """Compute the coverage of messages with intervals; note gaps between these."""
        if kind in INTERVALS and isinstance(messages, np.ndarray):
            ends, lengths = (messages[name].astype(np.int64) for name in INTERVALS[kind])
            coverage = Coverage.of(ends, lengths)  # a share has no unit: these are us
            self.coverage[topic] = coverage.share
            self.notes += coverage.shortfall(topic, REMEDY)
            if messages.dtype == SensorCombined.dtype:
                self.sensor_combined[topic] = messages

    def _attach(
        self,
        targets: dict[str, Any],
        column: str,
        sources: Mapping[str, Batch],
        choices: Mapping[str, Sequence[str]],
        within_ns: int,
    ) -> None:
        """Assign each vector to the row nearest in time; count those that are left out."""
        placed = {name: np.zeros(len(source), np.bool_) for name, source in sources.items()}
        for topic, series in targets.items():
            for name in filter(sources.__contains__, choices[topic]):
                stamps_ns, vectors = sources[name].stamps_ns, sources[name].values[:, :3]
                values, found = on_nearest_rows(
                    series.t_ns, stamps_ns, vectors, within_ns=within_ns
                )
                if found.any():
                    targets[topic] = series.replace(**{column: values})
                    placed[name] |= found
                    break
        chosen = set(chain(*choices.values()))
        for name, found in placed.items():
            if self.only is not None and name not in chosen:
                self.messages -= len(found)  # of another series
            elif not found.all():
                nowhere = f"{name}: left out, there is no topic that it belongs to"
                left = len(found) - int(found.sum())
                line = unplaced(name, found, within_ns)
                self.notes.append(line if name in chosen else nowhere)
                self.messages -= left
                self.skip(name, left)

    def _restore(self, holds: str, group: dict[str, Any]) -> None:
        for topic, series in group.items():
            try:
                group[topic] = restore(series, self.description(holds, topic))
            except ValueError as error:
                self._nonsense(topic, str(error))

    def _nonsense(self, topic: str, reason: str) -> None:
        what = f"topic {topic}: expected a valid description: {reason}"
        if not self.salvage:
            raise FormatError(what, path=self.path, topic=topic)
        self.damage.append(what)


def modern(kind: str) -> str:
    """Return the ROS 2 name of a type."""
    return kind.replace("/", "/msg/") if kind.count("/") == 1 and kind not in _HORUS else kind


def _decode(
    kind: str, encoding: str, payloads: Sequence[Payload], *, lenient: bool
) -> tuple[Part, int]:
    """Return the decodable messages, and the number of repaired stamps."""
    if kind in _HORUS:
        dtype = _HORUS[kind].dtype
        whole = [data for data in payloads if len(data) == dtype.itemsize]
        if len(whole) < len(payloads) and not lenient:
            raise FormatError(f"expected {dtype.itemsize} bytes of {kind} in every message")
        records = np.frombuffer(b"".join(whole), dtype)
        return _timely(records, "timestamp_ns", 1, lenient=lenient), 0
    if kind in _PX4:
        if encoding == Wire.ROS1:  # the same bytes, as nothing in VehicleImu needs alignment
            payloads = [ENCAPSULATION + data for data in payloads]
        (records, _), _ = decode_samples(_PX4[kind], payloads, lenient=lenient)
        stamp = "timestamp_sample" if "timestamp_sample" in _names(records) else "timestamp"
        return _timely(records, stamp, NS_PER_US, lenient=lenient), 0
    if kind in FIELDWISE:
        return decode_each(kind, payloads, Wire(encoding), lenient=lenient), 0
    floats = ros_types.ROS_TYPES[kind].floats or 0
    batch = decode_batch(payloads, floats, Wire(encoding), lenient=lenient)
    return batch, batch.times_normalised


def _names(records: NDArray[np.void]) -> tuple[str, ...]:
    return records.dtype.names or ()


def _timely(
    records: NDArray[np.void], stamp: str, scale: int, *, lenient: bool
) -> NDArray[np.void]:
    """Leave out messages whose stamps do not fit into 64 bits of nanoseconds."""
    late = records[stamp] > _LATEST_NS // scale
    if late.any() and not lenient:
        raise FormatError(f"expected {stamp} below 2^63 ns, got {records[stamp].max()}")
    return records[~late]


def stamps_of(kind: str, messages: Part) -> IntArray | None:
    """Return the stamps of the series of messages; None for vectors, which join a series."""
    return None if kind in _VECTORS else np.asarray(converted(kind, messages, "")[1].t_ns)


def converted(kind: str, messages: Part, topic: str) -> tuple[str, Series]:
    """Return group and series of the messages of one topic."""
    content = Content({}, {}, {}, {}, {})
    with np.errstate(invalid="ignore"):  # a signalling NaN
        _convert(content, topic, kind, messages)
    ((holds, series),) = (
        (holds, each) for holds, group in content._asdict().items() for each in group.values()
    )
    return holds, series


def joined(parts: Sequence[Part]) -> Part:
    """Return messages of one topic as one part."""
    if len(parts) == 1:
        return parts[0]
    lists: list[Any] = [part for part in parts if isinstance(part, list)]
    if lists:
        return list(chain.from_iterable(lists))
    batches = [part for part in parts if isinstance(part, Batch)]
    if not batches:
        return np.concatenate([part for part in parts if isinstance(part, np.ndarray)])
    return Batch(
        np.concatenate([batch.stamps_ns for batch in batches]),
        np.concatenate([batch.values for batch in batches]),
        tuple(chain.from_iterable(batch.frame_ids for batch in batches)),
        np.concatenate([batch.seq for batch in batches]),
    )


def _convert(content: Content, topic: str, kind: str, messages: Any) -> str:  # noqa: ANN401 (the type depends on the kind)
    """Convert the messages of one topic into its group; return their name there."""
    px4, name = _PX4.get(kind), topic
    if px4 is VehicleImu:
        content.increments[topic] = rule_between(px4, Increments).function(messages)
    elif kind == ros_types.NAV_SAT_FIX.name:
        content.gnss[topic] = gnss_from_navsat(messages)
    elif kind == ros_types.ODOMETRY.name:
        name = f"{topic} ({kind})" if topic in content.trajectories else topic
        content.trajectories[name] = trajectory_from_ros_odometry(messages, name=topic)
    elif kind == ros_types.FLUID_PRESSURE.name:
        content.barometers[topic] = barometer_from_fluid_pressure(messages)
    elif px4 in _PX4_TRACKS or kind in _TRACKS:
        name = f"{topic} ({kind})" if topic in content.trajectories else topic
        rule = rule_between(px4 or _TRACKS[kind], Trajectory)
        content.trajectories[name] = rule.function(messages, **({"name": topic} if px4 else {}))
    else:
        name = f"{topic} ({kind})" if topic in content.imu else topic
        source = px4 or (Imu if kind in _HORUS else Batch)
        content.imu[name] = rule_between(source, ImuSeries).function(messages)
    return name
