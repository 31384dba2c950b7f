"""Writing a recording to a format that holds one table; what finds no place is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strapdown.formats import csv_file, tum
from strapdown.formats._output import replacing
from strapdown.formats.recording import WriteReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized
    from pathlib import Path

    from strapdown.formats.recording import Recording
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["write_csv", "write_tum"]


def write_csv(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write the longest IMU series, with a trajectory that has the same stamps and frames.

    Without an IMU the longest trajectory is written, and without that increments, as mean
    rates.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    FormatError
        The recording is empty.
    """
    parts: list[ImuSeries | Trajectory] = []
    notes = []
    if recording.imu:
        parts.append(series := max(recording.imu.values(), key=len))
        parts += [track for track in recording.trajectories.values() if _fits(series, track)][:1]
    elif recording.trajectories:
        parts.append(recording.trajectory())
    else:
        parts.append(recording.imu_series())
        notes.append("increments are written as mean rates at the middle of their intervals")
    with replacing(path, force=force) as partial:
        lost, unsaid = csv_file.write(partial, *parts)
    left = _left_out(recording, parts)
    return WriteReport("csv", len(parts[0]), (*lost, *left), (*notes, *unsaid))


def write_tum(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write the longest trajectory.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    FormatError
        The recording has no trajectory.
    """
    trajectory = recording.trajectory()
    with replacing(path, force=force) as partial:
        lost = tum.write(partial, trajectory)
    return WriteReport("tum", len(trajectory), (*lost, *_left_out(recording, [trajectory])))


def _fits(series: ImuSeries, trajectory: Trajectory) -> bool:
    """Tell whether one table can hold both."""
    own = series.q_world_from_body
    return (
        (series.body, series.world) == (trajectory.body, trajectory.world)
        and np.array_equal(series.t_ns, trajectory.t_ns)
        and (own is None or np.array_equal(own, trajectory.q_world_from_body, equal_nan=True))
    )


def _left_out(recording: Recording, parts: list[ImuSeries | Trajectory]) -> list[str]:
    groups: tuple[Mapping[str, Sized], ...] = (
        recording.imu,
        recording.trajectories,
        recording.increments,
    )
    return [
        f"{topic}: {len(series)} rows of {type(series).__name__}"
        for group in groups
        for topic, series in group.items()
        if not any(series is part for part in parts)
    ]
