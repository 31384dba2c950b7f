"""Decision which vectors join which series, by what has arrived before the first block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.topics.decoding import joined
from strapdown.formats.topics.magnetometer import is_magnetometer, owners
from strapdown.messages.cdr import Batch
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strapdown.formats.topics.streams import SeriesStream, VectorStream

__all__ = ["join"]


def join(
    streams: Mapping[str, SeriesStream],
    vectors: Mapping[str, VectorStream],
    described: Mapping[str, str],
) -> list[str]:
    """Assign vectors to the series that they belong to.

    Parameters
    ----------
    streams, vectors : mapping of str to stream
        By topic; changed.
    described : mapping of str to str
        Magnetometer topic by IMU topic, where the file states it.

    Returns
    -------
    list of str
        Notes for the report.

    Raises
    ------
    NeedsWhole
        Only the whole file determines it.
    """
    fields = _join_velocities(streams, vectors)
    series = {name: stream.series() for name, stream in streams.items()}
    imu = {name: each for name, each in series.items() if isinstance(each, ImuSeries)}
    choices, notes = owners(imu, fields, described)
    for name, names in choices.items():
        known = [each for each in names if each in fields]
        if len(known) > 1:
            raise NeedsWhole(f"{name} may have the samples of {' or '.join(known)}")
        if known:
            _assign(streams[name], vectors[known[0]])
    return notes


def _join_velocities(
    streams: Mapping[str, SeriesStream], vectors: Mapping[str, VectorStream]
) -> dict[str, Batch]:
    """Assign velocities to their trajectories; return the magnetic fields by topic."""
    fields = {}
    for topic, mine in vectors.items():
        track = topic.removesuffix("/velocity")
        stream = streams.get(track)
        if mine.column == "magnetic_field":
            batch = joined(mine.waiting)
            assert isinstance(batch, Batch)  # noqa: S101 (only such are added)
            fields[topic] = batch
        elif stream is not None and stream.holds == "trajectories" and track != topic:
            _assign(stream, mine)
        elif is_magnetometer(topic):
            raise NeedsWhole(f"the unit of {topic} follows from all of its samples")
    return fields


def _assign(stream: SeriesStream, vectors: VectorStream) -> None:
    if vectors.is_joined:
        raise NeedsWhole("several topics share their vectors")
    stream.vectors, vectors.is_joined = vectors, True
