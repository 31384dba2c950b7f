"""Writing of MCAP files for ROS 2 tools, Foxglove and strapdown itself.

Profile ``ros2``: schemas in ``ros2msg``, messages in CDR, and on each channel the quality of
service and type hash that rosbag2 needs for playback. Chunks are compressed by zstd; chunks, data
section and summary have checksums. A metadata record ``strapdown`` names the writer; a record
``strapdown/topic`` for each series holds the content that its messages cannot; a record
``strapdown/history`` names the processing of the samples, if any.

==================  ================================================ ==========================
what                type                                             topic
==================  ================================================ ==========================
ImuSeries           ``sensor_msgs/msg/Imu``                          T
  magnetic field    ``sensor_msgs/msg/MagneticField``                ``P/mag`` for T = ``P/data``,
                                                                     else ``T/mag``
Trajectory          ``geometry_msgs/msg/PoseStamped``, without       T
                    position ``QuaternionStamped``
  velocity          ``geometry_msgs/msg/Vector3Stamped``             ``T/velocity``
Increments          ``px4_msgs/msg/VehicleImu``                      T
GnssSeries          ``sensor_msgs/msg/NavSatFix``, without the       T
                    number of satellites and the heading
  velocity          ``geometry_msgs/msg/TwistWithCovarianceStamped`` ``T/velocity``
BarometerSeries     ``sensor_msgs/msg/FluidPressure``: pressure      T
one message         by :mod:`~strapdown.formats.mcap.messages`       T
==================  ================================================ ==========================

ROS messages are FLU and ENU in the file, those of PX4 are FRD. Publish time is the stamp of the
message, as is log time unless it is given.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from strapdown._version import __version__
from strapdown.errors import ValueRangeError
from strapdown.formats._output import replacing
from strapdown.formats.mcap.messages import (
    channel_encoding,
    channel_metadata,
    mcap_form,
    schema_of,
)
from strapdown.formats.mcap.reader import DESCRIPTION, HISTORY
from strapdown.formats.mcap.ros_topics import in_turn, parts_of
from strapdown.formats.reports import WriteReport
from strapdown.formats.topics.description import sealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Self

    from strapdown.formats._series_headers import Series
    from strapdown.formats.recording import Recording
    from strapdown.series import BarometerSeries, GnssSeries, ImuSeries, Increments, Trajectory

__all__ = ["McapBlocks", "McapWriter", "mcap_writer", "write"]


def write(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write a recording: all topics, in the order of their stamps.

    Parameters
    ----------
    path : Path
        The file.
    recording : Recording
        Its topics keep their names.
    force : bool
        Replace a file that exists.

    Returns
    -------
    WriteReport

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    ValueRangeError
        A stamp is negative, or another number does not fit its field.
    """
    with mcap_writer(path, force=force) as blocks:
        blocks.write(recording)
    return WriteReport("mcap", blocks.messages, tuple(blocks.lost))


class McapBlocks:
    """Writer of a recording block by block."""

    def __init__(self, writer: McapWriter) -> None:
        self.notes: tuple[str, ...] = ()
        self._writer = writer
        self._lost: dict[str, None] = {}
        self._history: tuple[str, ...] = ()

    @property
    def messages(self) -> int:
        """Messages written so far."""
        return self._writer.messages

    @property
    def lost(self) -> list[str]:
        """Content that messages cannot hold, one line a topic."""
        return list(self._lost)

    def write(self, block: Recording) -> None:
        """Append the messages of a block.

        Raises
        ------
        ValueRangeError
            A stamp is negative, or another number does not fit its field.
        """
        if block.history and not self._history:
            self._history = block.history
            self._writer.describe_history(block.history)
        lost = self._writer.write_series(
            imu=block.imu,
            trajectories=block.trajectories,
            increments=block.increments,
            gnss=block.gnss,
            barometers=block.barometers,
        )
        self._lost.update(dict.fromkeys(lost))


@contextmanager
def mcap_writer(path: Path, *, force: bool = False) -> Iterator[McapBlocks]:
    """Open a file that takes a recording block by block.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    """
    with McapWriter(path, force=force) as writer:
        yield McapBlocks(writer)


class McapWriter:
    """Writer of single messages and whole series to one file.

    A context manager. Until it is closed the file is ``NAME.partial``; where the block ends with an
    exception, the file is removed.

    Parameters
    ----------
    path : path-like
        The file.
    force : bool
        Replace a file that exists.
    metadata : mapping of str to str, optional
        Entries of the record ``strapdown`` in addition to the version.

    Attributes
    ----------
    messages : int
        Messages written so far.

    Raises
    ------
    FileExistsError
        The file exists, or is being written, and not ``force``.

    Examples
    --------
    >>> with McapWriter("run.mcap") as writer:  # doctest: +SKIP
    ...     writer.write("imu", Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=1))
    ...     writer.write_series(trajectories={"truth": trajectory})
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        force: bool = False,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        from strapdown.formats.mcap.bulk import McapFile  # noqa: PLC0415 (it needs mcap)

        self.messages = 0
        self._closed = False
        self._channels: dict[tuple[str, str], int] = {}
        self._schemas: dict[str, int] = {}
        self._own: dict[str, set[str]] = {}
        self._said: dict[str, dict[str, str]] = {}
        with ExitStack() as stack:
            partial = stack.enter_context(replacing(Path(path), force=force))
            stream = stack.enter_context(partial.open("wb"))
            worker = stack.enter_context(ThreadPoolExecutor(1))
            library = f"strapdown/{__version__}"
            self._file = McapFile(stream, worker, profile="ros2", library=library)
            self._file.add_metadata("strapdown", {"version": __version__, **(metadata or {})})
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._closed = True
            self._stack.__exit__(kind, error, traceback)

    def close(self) -> None:
        """Write the summary, synchronise with the disk, and give the file its name.

        Closing twice has no effect.
        """
        if not self._closed:
            self._closed = True
            with self._stack:
                self._file.finish()

    def write(self, topic: str, message: object, *, log_time_ns: int | None = None) -> None:
        """Write one message.

        Parameters
        ----------
        topic : str
            Topic of the message.
        message : Imu, RosImu, Pose3D, VehicleImu or another of ``strapdown.messages``
            Encoded by ``strapdown.formats.mcap.messages``.
        log_time_ns : int, optional
            Time of reception [ns]; by default the stamp of the message.

        Raises
        ------
        ValueRangeError
            A time does not fit its field.
        TypeError
            It is no message of ``strapdown.messages``.
        """
        form = mcap_form(type(message))
        stamp, payload = form.stamp_ns(message), form.encode(message)
        log_time_ns = stamp if log_time_ns is None else log_time_ns
        self._check_open()
        for name, value in (("the stamp", stamp), ("log_time_ns", log_time_ns)):
            if not 0 <= value < 2**64:
                raise ValueRangeError(f"expected {name} from 0 to 2^64 - 1 ns, got {value}")
        self._file.add_message(self._channel(topic, form.schema), log_time_ns, stamp, payload)
        self.messages += 1

    def write_series(
        self,
        *,
        imu: Mapping[str, ImuSeries] | None = None,
        trajectories: Mapping[str, Trajectory] | None = None,
        increments: Mapping[str, Increments] | None = None,
        gnss: Mapping[str, GnssSeries] | None = None,
        barometers: Mapping[str, BarometerSeries] | None = None,
    ) -> list[str]:
        """Write series, by topic, in the order of their stamps; later calls may continue a topic.

        Returns
        -------
        list of str
            Content that messages cannot hold, one line a topic.

        Raises
        ------
        ValueRangeError
            A stamp is negative, or another number does not fit its field; the block of rows with it
            is not written. Or a topic continues in other frames.
        """
        from strapdown.formats.mcap.bulk import Rows  # noqa: PLC0415 (it needs mcap)

        self._check_open()
        groups: dict[str, Mapping[str, Series]] = {
            "imu": imu or {},
            "trajectories": trajectories or {},
            "increments": increments or {},
            "gnss": gnss or {},
            "barometers": barometers or {},
        }
        parts, lost = [], []
        for holds, group in groups.items():
            for topic, series in group.items():
                others = {name for name, _ in self._channels} - self._own.pop(topic, set())
                taken = others.union(*groups.values(), *self._own.values())
                begins = topic not in self._said
                own, said, unsaid = parts_of(topic, series, taken, begins=begins)
                self._own[topic] = {part.topic for part in own}
                self._describe({"topic": topic, "holds": holds, **said})
                parts += own
                if unsaid:
                    lost.append(f"{topic}: {', '.join(unsaid)}")
        channels = [self._channel(part.topic, part.kind.name) for part in parts]
        for rows, turns in in_turn(parts):
            parts_now = [Rows(channels[number], t_ns, data) for number, t_ns, data in rows]
            self._file.add(parts_now, turns)
            self.messages += len(turns)
        return lost

    def describe_history(self, history: Sequence[str]) -> None:
        """Write the processing that the samples have passed, as ``history`` of a recording."""
        self._check_open()
        steps = {f"{number:03d}": step for number, step in enumerate(history)}
        self._file.add_metadata(HISTORY, steps)

    def _describe(self, said: dict[str, str]) -> None:
        """Write the description of a topic once."""
        topic = said["topic"]
        if topic not in self._said:
            self._said[topic] = said
            self._file.add_metadata(DESCRIPTION, sealed(said))
        elif self._said[topic] != said:
            raise ValueRangeError(
                f"expected {topic} described as in the previous blocks, got {said}; write it to "
                "another topic"
            )

    def _channel(self, topic: str, kind: str) -> int:
        """Return the number of a channel; create it if it is new."""
        if (topic, kind) not in self._channels:
            if kind not in self._schemas:
                self._schemas[kind] = self._file.add_schema(kind, *schema_of(kind))
            self._channels[topic, kind] = self._file.add_channel(
                topic, channel_encoding(kind), self._schemas[kind], channel_metadata(kind)
            )
        return self._channels[topic, kind]

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("expected an open writer, got one that is closed")
