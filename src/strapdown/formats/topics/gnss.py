"""Velocities of GNSS receivers in ROS: their topics, and the fixes that they join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.formats._nearest_rows import on_nearest_rows
from strapdown.messages.conversion import velocity_of_twist

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from strapdown.messages.cdr import Batch
    from strapdown.series import GnssSeries

__all__ = ["velocity_topics", "with_velocities"]


def with_velocities(
    gnss: dict[str, GnssSeries], twists: Sequence[Mapping[str, Batch]]
) -> dict[str, int]:
    """Add velocities to the receivers that they belong to, by equal stamps.

    Parameters
    ----------
    gnss : dict of str to GnssSeries
        By topic; changed.
    twists : sequence of mappings of str to Batch
        Velocities by topic, those of preferred types first.

    Returns
    -------
    dict of str to int
        Number of messages that belong to no receiver, by topic.
    """
    left = {topic: len(batch) for group in twists for topic, batch in group.items()}
    for topic, series in gnss.items():
        choices = [
            (name, group[name])
            for group in twists
            for name in velocity_topics(topic)
            if name in group
        ]
        for name, batch in choices[:1]:
            velocity, covariance = velocity_of_twist(batch)
            both = np.concatenate([velocity, covariance.reshape(-1, 9)], axis=1)
            values, placed = on_nearest_rows(series.t_ns, batch.stamps_ns, both, within_ns=0)
            if placed.any():
                covariance = np.nan_to_num(values[:, 3:]).reshape(-1, 3, 3)
                gnss[topic] = series.replace(
                    velocity_world=values[:, :3], velocity_covariance=covariance
                )
                left[name] -= int(placed.sum())
    return {topic: count for topic, count in left.items() if count}


def velocity_topics(topic: str) -> Iterator[str]:
    """Yield the topics of the velocity of a receiver: ours, and those of common drivers.

    >>> list(velocity_topics("/gps/fix"))
    ['/gps/fix/velocity', '/gps/fix_velocity', '/gps/vel']
    """
    parent, slash, _ = topic.rpartition("/")
    yield from (f"{topic}/velocity", f"{topic}_velocity", f"{parent}{slash}vel")
