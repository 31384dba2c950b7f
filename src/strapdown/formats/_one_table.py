"""Writers of the formats that hold one table, CSV and TUM; the report names the rest."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from strapdown.errors import FormatError
from strapdown.formats._output import replacing
from strapdown.formats._series_headers import topics
from strapdown.formats.reports import WriteReport
from strapdown.formats.text import csv_file, tum
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from strapdown.formats._series_headers import Motion, Series
    from strapdown.formats.recording import Recording
    from strapdown.series import Trajectory

__all__ = ["CsvWriter", "TumWriter", "csv_writer", "tum_writer", "write_csv", "write_tum"]


def write_csv(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write the longest IMU series, with a trajectory that has the same stamps and frames.

    Without an IMU the longest trajectory is written, and without that the longest increments.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    FormatError
        The recording is empty.
    """
    with csv_writer(path, force=force) as writer:
        writer.write(recording)
    return WriteReport("csv", writer.messages, tuple(writer.lost), tuple(writer.notes))


class CsvWriter:
    """Writer of a CSV file that takes a recording block by block."""

    def __init__(self, path: Path) -> None:
        self.messages = 0
        self._path = path
        self._unheld = csv_file.UnheldColumns(Counter(), {})
        self._left: Counter[tuple[str, str]] = Counter()
        self._chosen: tuple[str, str] | None = None
        self._history: tuple[str, ...] = ()

    def write(self, block: Recording) -> None:
        """Append the rows of one topic, chosen from the first block, and of a matching trajectory.

        The topic is the longest IMU; without one the longest trajectory, and without that the
        longest increments.

        Raises
        ------
        FormatError
            The first block is empty.
        ShapeError
            A block has other columns or frames than the previous ones.
        """
        self._chosen = self._chosen or _choose(block)
        self._history = self._history or block.history
        holds, topic = self._chosen
        series = getattr(block, holds).get(topic)
        parts: list[Motion] = [] if series is None else [series]
        if isinstance(series, ImuSeries):
            parts += [track for track in block.trajectories.values() if _fits(series, track)][:1]
        if parts:
            unheld = csv_file.write(
                self._path, *parts, append=self.messages > 0, history=self._history
            )
            self._unheld.samples.update(unheld.samples)
            self._unheld.about.update(unheld.about)
            self.messages += len(parts[0])
        self._left.update(_left_out(block, parts))

    @property
    def topic(self) -> str | None:
        """Topic whose rows are written; None before the first block."""
        return None if self._chosen is None else self._chosen[1]

    @property
    def lost(self) -> list[str]:
        """Samples of the blocks that the file cannot hold, one line each."""
        columns = [f"{name} of {rows} samples" for name, rows in self._unheld.samples.items()]
        return [*columns, *_as_lines(self._left)]

    @property
    def notes(self) -> list[str]:
        """Further notes for the user, one line each."""
        return [f"left out of the file: {what}" for what in self._unheld.about]


@contextmanager
def csv_writer(path: Path, *, force: bool = False) -> Iterator[CsvWriter]:
    """Open a file that takes a recording block by block.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    """
    with replacing(path, force=force) as partial:
        yield CsvWriter(partial)


def write_tum(path: Path, recording: Recording, *, force: bool = False) -> WriteReport:
    """Write the longest trajectory.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    FormatError
        The recording has no trajectory.
    """
    with tum_writer(path, force=force) as writer:
        writer.write(recording)
    return WriteReport("tum", writer.messages, tuple(writer.lost))


class TumWriter:
    """Writer of a TUM file that takes a recording block by block."""

    def __init__(self, path: Path) -> None:
        self.messages = 0
        self.notes: tuple[str, ...] = ()
        self._path = path
        self._lost: dict[str, None] = {}
        self._left: Counter[tuple[str, str]] = Counter()
        self.topic: str | None = None

    def write(self, block: Recording) -> None:
        """Append the rows of one trajectory, the longest of the first block."""
        tracks = block.tracks
        if self.topic is None:
            block.trajectory()  # raises where there is none
            self.topic = max(tracks, key=lambda name: len(tracks[name]))
        if self.topic not in tracks:
            self._left.update(_left_out(block, []))
            return
        trajectory = tracks[self.topic]
        lost = tum.write(self._path, trajectory, append=self.messages > 0)
        self._lost.update(dict.fromkeys(lost))
        self._left.update(_left_out(block, [trajectory]))
        self.messages += len(trajectory)

    @property
    def lost(self) -> list[str]:
        """Content of the blocks that the file cannot hold, one line each."""
        return [*self._lost, *_as_lines(self._left)]


@contextmanager
def tum_writer(path: Path, *, force: bool = False) -> Iterator[TumWriter]:
    """Open a file that takes trajectories block by block.

    Raises
    ------
    FileExistsError
        The file exists, and not ``force``.
    """
    with replacing(path, force=force) as partial:
        yield TumWriter(partial)


def _choose(block: Recording) -> tuple[str, str]:
    """Return group and topic of the series of a recording that the table gets."""
    for holds in ("imu", "trajectories", "increments"):
        held = getattr(block, holds)
        if held:
            return holds, max(held, key=lambda topic: len(held[topic]))
    raise FormatError("expected an IMU, a trajectory or increments to write, got none")


def _fits(series: ImuSeries, trajectory: Trajectory) -> bool:
    """Return whether one table can hold both."""
    own = series.q_world_from_body
    return (
        (series.body, series.world) == (trajectory.body, trajectory.world)
        and np.array_equal(series.t_ns, trajectory.t_ns)
        and (own is None or np.array_equal(own, trajectory.q_world_from_body, equal_nan=True))
    )


def _left_out(recording: Recording, parts: Sequence[Series]) -> Counter[tuple[str, str]]:
    """Count the rows of the topics that are not written."""
    return Counter(
        {
            (topic, type(series).__name__): len(series)
            for _, topic, series in topics(recording)
            if not any(series is part for part in parts)
        }
    )


def _as_lines(left: Counter[tuple[str, str]]) -> list[str]:
    return [f"{topic}: {rows} rows of {kind}" for (topic, kind), rows in left.items()]
