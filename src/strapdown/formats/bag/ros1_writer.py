"""ROS 1 bags, version 2.0, written through rosbags and compressed by lz4.

Types and topics are those of :mod:`strapdown.formats.mcap.writer`, in their ROS 1 form; headers
count from 0 on each topic. Increments are ``px4_msgs/VehicleImu`` with its definition: ROS 1 has
no such package, but tools that use the definition can read it. A bag holds messages only: the
report lists samples that these cannot hold as lost, and names and devices in notes.

References
----------
ROS bag format 2.0, http://wiki.ros.org/Bags/Format/2.0
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from strapdown.formats._output import replacing
from strapdown.formats._series_headers import Unheld, topics
from strapdown.formats.mcap.ros_topics import in_turn, parts_of
from strapdown.formats.reports import WriteReport
from strapdown.messages.cdr import Batch, Wire
from strapdown.messages.conversion import losses
from strapdown.messages.navsat import NavSatFix
from strapdown.messages.px4 import VehicleImu
from strapdown.messages.ros_types import NAV_SAT_FIX, VEHICLE_IMU
from strapdown.series import BarometerSeries, GnssSeries, Increments, Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from rosbags.interfaces import Connection
    from rosbags.rosbag1 import Writer
    from rosbags.rosbag2 import Writer as Ros2Writer

    from strapdown._typing import ByteArray
    from strapdown.formats._series_headers import Series
    from strapdown.formats.recording import Recording
    from strapdown.messages.ros_types import RosType

    Connect: TypeAlias = Callable[[str, RosType], Connection]

__all__ = ["BagBlocks", "bag_writer", "rows_as_bytes", "write"]

_OWN_TOPIC: Final = {"magnetic_field", "velocity_world"}
"""Columns with a topic separate from that of their series."""
_LZ4: Final = {"block_linked": False, "content_checksum": True, "store_size": False}
"""The only form of LZ4 frames that the rosbag of ROS decompresses."""


def write(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write a recording: all topics, in the order of their stamps.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    ValueRangeError
        A stamp is negative, or another number does not fit its field.
    """
    with bag_writer(path, force=force) as blocks:
        blocks.write(recording)
    return WriteReport("rosbag1", blocks.messages, tuple(blocks.lost), tuple(blocks.notes))


@contextmanager
def bag_writer(path: Path, *, force: bool = False) -> Iterator[BagBlocks]:
    """Open a bag that takes a recording block by block.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    """
    from lz4.frame import compress  # noqa: PLC0415 (as below)
    from rosbags.rosbag1 import Writer  # noqa: PLC0415 (only bags need it)

    with replacing(path, force=force) as partial:
        partial.unlink()  # rosbags wants to make the file
        writer = Writer(partial)
        writer.set_compression(Writer.CompressionFormat.LZ4)
        writer.compressor = lambda chunk: compress(chunk, **_LZ4)
        with writer:
            yield BagBlocks(writer, _connect(writer), _ros1)


def _connect(writer: Writer) -> Connect:
    from rosbags.typesys import (  # noqa: PLC0415 (only bags need it)
        Stores,
        get_types_from_msg,
        get_typestore,
    )

    types = get_typestore(Stores.ROS1_NOETIC)
    types.register(get_types_from_msg(VEHICLE_IMU.definition, VEHICLE_IMU.name))
    return lambda topic, kind: writer.add_connection(topic, kind.name, typestore=types)


class BagBlocks:
    """Writer of a recording block by block.

    Parameters
    ----------
    writer : Writer
        Of rosbags, for ROS 1 or ROS 2.
    connect : callable
        Creates the connection of a topic with a type.
    serialise : callable
        Converts CDR payloads of a type, (N, n) uint8, to the form of the bag; the last argument is
        the number of the first on its topic.
    """

    def __init__(
        self,
        writer: Writer | Ros2Writer,
        connect: Connect,
        serialise: Callable[[ByteArray, RosType, int], list[bytes]],
    ) -> None:
        self._writer: Any = writer
        self._connect = connect
        self._serialise = serialise
        self._connections: dict[tuple[str, str], Connection] = {}
        self._own: dict[str, set[str]] = {}
        self._counts: Counter[int] = Counter()
        self._unheld = Unheld()

    @property
    def messages(self) -> int:
        """Messages written so far."""
        return self._counts.total()

    @property
    def lost(self) -> list[str]:
        """Samples that messages cannot hold, one line a topic."""
        return list(self._unheld.lost)

    @property
    def notes(self) -> list[str]:
        """Other content that messages cannot hold, in one line."""
        return self._unheld.notes

    def write(self, block: Recording) -> None:
        """Append the messages of a block.

        Raises
        ------
        ValueRangeError
            A stamp is negative, or another number does not fit its field.
        """
        parts = []
        names = {topic for _, topic, _ in topics(block)} | _ambiguous(block.imu)
        for _, topic, series in topics(block):
            others = names.union(*(own for name, own in self._own.items() if name != topic))
            own, _, _ = parts_of(topic, series, others, begins=topic not in self._own)
            self._own[topic] = {part.topic for part in own}
            parts += own
            self._unheld.add(topic, _unheld(topic, series))
        connections = [self._connection(part.topic, part.kind) for part in parts]
        for rows, turns in in_turn(parts):
            waiting = []
            for number, t_ns, payloads in rows:
                connection = connections[number]
                first = self._counts[connection.id]
                self._counts[connection.id] += len(t_ns)
                data = self._serialise(payloads.rows(), parts[number].kind, first)
                waiting.append(zip([connection] * len(data), t_ns.tolist(), data, strict=True))
            for turn in turns.tolist():
                self._writer.write(*next(waiting[turn]))

    def _connection(self, topic: str, kind: RosType) -> Connection:
        """Return the connection of a topic; create it if it is new."""
        if (topic, kind.name) not in self._connections:
            self._connections[topic, kind.name] = self._connect(topic, kind)
        return self._connections[topic, kind.name]


def _ros1(payloads: ByteArray, kind: RosType, first: int) -> list[bytes]:
    """Return CDR payloads in their ROS 1 form: with a sequence number and without alignment."""
    rows = len(payloads)
    if kind is NAV_SAT_FIX:
        fixes = map(NavSatFix.from_cdr, rows_as_bytes(payloads))
        return [fix.to_wire(Wire.ROS1, seq=seq) for seq, fix in enumerate(fixes, first)]
    if kind.floats is None:
        converted = payloads[:, 4:]
    else:
        name = int.from_bytes(payloads[0, 12:16].tobytes(), "little") - 1
        count = np.arange(first, first + rows).astype("<u4")[:, None].view(np.uint8)
        length = np.broadcast_to(np.array([name], "<u4").view(np.uint8), (rows, 4))
        text, numbers = payloads[:, 16 : 16 + name], payloads[:, -8 * kind.floats :]
        converted = np.hstack([count, payloads[:, 4:12], length, text, numbers])
    return rows_as_bytes(converted)


def rows_as_bytes(rows: ByteArray) -> list[bytes]:
    """Return the rows of an (N, n) array."""
    joined, size = rows.tobytes(), rows.shape[1]
    return [joined[at : at + size] for at in range(0, len(joined), size)]


def _ambiguous(imu: Iterable[str]) -> set[str]:
    """Return names of magnetometers that readers would assign to more than one IMU."""
    parents = Counter(topic.rpartition("/")[0] for topic in imu)
    return {f"{parent}/mag" for parent, count in parents.items() if count > 1}


def _unheld(topic: str, series: Series) -> list[str]:
    """Return the names of the fields that messages cannot hold."""
    if isinstance(series, GnssSeries | BarometerSeries):
        return parts_of(topic, series, set())[2]
    target: Any = VehicleImu if isinstance(series, Increments) else Batch
    named = [name for name in losses(series, target) if name not in _OWN_TOPIC]
    if isinstance(series, Trajectory) and series.name == topic:
        named = [name for name in named if name != "name"]
    return named
