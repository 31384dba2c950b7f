"""Recording of a container that was read to its end."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from strapdown.formats._coverage import Coverage
from strapdown.formats._nearest_rows import on_nearest_rows
from strapdown.formats._plausible import doubts
from strapdown.formats.recording import Recording
from strapdown.formats.topics.content import Content
from strapdown.formats.topics.conversion import converted, intervals, sensor_combined
from strapdown.formats.topics.decoding import joined
from strapdown.formats.topics.feed import report_of
from strapdown.formats.topics.gnss import with_velocities
from strapdown.formats.topics.kinds import TWISTS, VECTORS, WITHIN_NS
from strapdown.formats.topics.magnetometer import in_tesla, is_magnetometer, owners
from strapdown.messages import ros_types
from strapdown.messages.cdr import Batch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from strapdown.formats.topics.collector import Topics
    from strapdown.formats.topics.decoding import Part
    from strapdown.formats.topics.feed import Feed

__all__ = ["content_of", "whole_recording"]


def whole_recording(feed: Feed, topics: Topics) -> Recording:
    """Return the recording of all messages of a feed, which were decoded into ``topics``.

    Raises
    ------
    FormatError
        A description is invalid; never in salvage.
    """
    content = content_of(topics)
    if not feed.has_checksums:
        for group in (content.imu, content.trajectories, content.increments):
            for topic, series in group.items():
                topics.notes += doubts(topic, series)
    return Recording(
        topics.path,
        report_of(feed, topics),
        *content,
        sensor_combined=topics.sensor_combined,
        history=feed.history,
    )


def content_of(topics: Topics) -> Content:
    """Convert the collected messages to series.

    Raises
    ------
    FormatError
        A description is invalid; never in salvage.
    """
    content = Content({}, {}, {}, {}, {})
    vectors: dict[str, dict[str, Batch]] = {kind: {} for kind in (*VECTORS, *TWISTS)}
    with np.errstate(invalid="ignore"):  # a signalling NaN
        for (topic, kind), parts in topics.taken().items():
            messages = joined(parts)
            if not len(messages):
                continue
            if isinstance(messages, Batch) and kind in vectors:
                vectors[kind][topic] = messages
            else:
                _add(topics, content, topic, kind, messages)
        _join(topics, content, vectors)
        for holds, group in content._asdict().items():
            for topic, series in group.items():
                group[topic] = topics.restored(holds, topic, series)
    return content


def _add(topics: Topics, content: Content, topic: str, kind: str, messages: Part) -> None:
    """Add the series of messages; the second of a topic is named by its type, too."""
    holds, series = converted(kind, messages, topic)
    group = content.group(holds)
    name = f"{topic} ({kind})" if topic in group else topic
    group[name] = series
    topics.sources[name] = topic, kind
    if (spans := intervals(kind, messages)) is not None:
        topics.cover(name, Coverage.of(*spans))
    if (records := sensor_combined(messages)) is not None:
        topics.sensor_combined[name] = records


def _join(topics: Topics, content: Content, vectors: dict[str, dict[str, Batch]]) -> None:
    """Join vectors, by type and topic, to the series that they belong to."""
    velocities = vectors[ros_types.VECTOR3_STAMPED.name]
    fields = vectors[ros_types.MAGNETIC_FIELD.name]
    choices = {topic: [f"{topic}/velocity"] for topic in content.trajectories}
    of_tracks = set(chain(*choices.values()))
    for topic in sorted(filter(is_magnetometer, velocities.keys() - of_tracks)):
        _take_field(topics, topic, velocities.pop(topic), fields)
    _attach(topics, content.trajectories, "velocity_world", velocities, choices)
    choices, notes = owners(content.imu, fields, topics.fields_described())
    topics.notes += notes
    _attach(topics, content.imu, "magnetic_field", fields, choices)
    twists = [vectors[kind] for kind in TWISTS]
    for topic, left in with_velocities(content.gnss, twists).items():
        topics.drop(topic, left)


def _take_field(topics: Topics, topic: str, vectors: Batch, fields: dict[str, Batch]) -> None:
    """Add vectors without a unit to the magnetic fields, if their norm determines it."""
    field_t, note = in_tesla(vectors)
    topics.notes.append(f"{topic}: {note}")
    if field_t is None or topic in fields:
        topics.drop(topic, len(vectors))
    else:
        fields[topic] = field_t


def _attach(
    topics: Topics,
    targets: dict[str, Any],
    column: str,
    sources: Mapping[str, Batch],
    choices: Mapping[str, Sequence[str]],
) -> None:
    """Assign each vector to the row nearest in time; account for those that are left out."""
    within_ns = WITHIN_NS[column]
    placed = {name: np.zeros(len(source), np.bool_) for name, source in sources.items()}
    for topic, series in targets.items():
        for name in filter(sources.__contains__, choices[topic]):
            stamps_ns, vectors = sources[name].stamps_ns, sources[name].values[:, :3]
            values, found = on_nearest_rows(series.t_ns, stamps_ns, vectors, within_ns=within_ns)
            if found.any():
                targets[topic] = series.replace(**{column: values})
                placed[name] |= found
                break
    chosen = set(chain(*choices.values()))
    for name, found in placed.items():
        left = len(found) - int(found.sum())
        topics.leave_out(name, left, len(found), within_ns if name in chosen else None)
