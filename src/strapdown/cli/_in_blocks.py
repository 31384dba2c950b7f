"""Long recordings in verbs: read in blocks, in bounded memory, or as a whole if need be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

import strapdown.formats as files
from strapdown.cli._common import choice_of, progress_bar, working
from strapdown.cli._outcome import say
from strapdown.cli._reading import OfBlocks, Part, whole_blocks
from strapdown.cli._reading_options import options
from strapdown.cli._streams import as_file, naming
from strapdown.formats._coverage import LEAST_FUSED, Coverage
from strapdown.formats.block_reader import BlockReader, NeedsWhole
from strapdown.formats.long_files import block_reader, is_long

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from strapdown.formats import ReadReport, Recording
    from strapdown.series import ImuSeries, Trajectory

    Made = TypeVar("Made")

__all__ = ["ImuBlocks", "from_blocks", "from_imu_blocks"]

_MOST_REFERENCE: Final = 2_000_000
"""Rows of a reference that are read into memory."""


def from_blocks(
    path: Path,
    work: Callable[[BlockReader], Made],
    *,
    topic: str | None = None,
    why_whole: str = "",
) -> Made:
    """Return the result of work on a recording, which is read in blocks where it is long.

    Where blocks would differ from the whole, work is called again with the whole as one block. A
    terminal shows how much is read.

    Parameters
    ----------
    path : Path
        The file; ``-`` is standard input.
    work : callable
        From a block reader to the result; without an effect before its end.
    topic : str, optional
        The only topic that a long recording is read for.
    why_whole : str, optional
        What needs the whole, in words.
    """
    file = as_file(path)
    if options.merged or options.columns is not None:
        with naming(path), working(f"reading {path}"):
            return work(whole_blocks(path))
    with naming(path):
        only = topic if is_long(file) and not options.cuts else None
        if only not in {None, *(each.topic for each in files.summarize(file).topics)}:
            only = None
        blocks = None if why_whole else block_reader(file, on_error="salvage", topic=only)
        if blocks is not None:
            reader = Part(path, blocks, is_exact=True) if options.cuts else blocks
            try:
                with progress_bar(f"reading {path}") as show:
                    return work(_Shown(reader, show))
            except NeedsWhole as reason:
                why_whole = reason.message
        if why_whole and is_long(file):
            say(f"reading the whole recording into memory: {why_whole}")
        with working(f"reading {path}"):
            return work(whole_blocks(path))


def from_imu_blocks(
    path: Path, topic: str | None, work: Callable[[ImuBlocks], Made], *, why_whole: str = ""
) -> Made | None:
    """Return the result of work on the samples of one IMU of a long recording, block by block.

    It is None of a short recording, and where the whole is needed. Parameters are those of
    :func:`from_blocks`.
    """
    if options.merged or options.columns is not None or not is_long(as_file(path)):
        return None
    if not why_whole:
        try:
            with naming(path), progress_bar(f"reading {path}") as show:
                return work(ImuBlocks(path, topic, show))
        except NeedsWhole as reason:
            why_whole = reason.message
    say(f"reading the whole recording into memory: {why_whole}")
    return None


class _Shown(OfBlocks):
    """Blocks whose progress is shown."""

    def __init__(self, blocks: BlockReader, show: Callable[[float], object] | None) -> None:
        super().__init__(blocks)
        self._show = show

    def __iter__(self) -> Iterator[Recording]:
        """Yield the blocks."""
        for block in self._blocks:
            yield block
            if self._show is not None:
                self._show(self._blocks.progress)


class ImuBlocks:
    """Samples of one IMU of a long recording, block by block.

    Parameters
    ----------
    path : Path
        The file; ``-`` is standard input.
    topic : str, optional
        Topic of the IMU; by default that of :meth:`Recording.imu_topic`.
    show : callable, optional
        Called with the fraction of the file that is read.

    Attributes
    ----------
    path : Path
        The file.
    topic : str
        Topic of the IMU.
    reference_topic : str or None
        Topic of the attitude that an estimate is compared with.
    samples : int
        Number of samples so far.
    first : Recording or None
        The first block.

    Raises
    ------
    NeedsWhole
        There is no such topic, or the format has no blocks.
    """

    def __init__(
        self, path: Path, topic: str | None, show: Callable[[float], object] | None = None
    ) -> None:
        file = as_file(path)
        summary = files.summarize(file)
        if topic not in {None, *summary.imus} or not summary.imus:
            raise NeedsWhole("no topic of an IMU is chosen")
        self.path, self.topic = path, summary.imu_topic(topic, path)
        only = None if options.cuts else self.topic
        blocks = block_reader(file, on_error="salvage", topic=only)
        if blocks is None:
            raise NeedsWhole("its format has no blocks")
        self.samples = 0
        self.first: Recording | None = None
        self._is_chosen = topic is not None
        self._may_lack = self._is_chosen or not summary.imus[self.topic].is_whole
        self._others = summary.imus.keys() - {self.topic}
        self.reference_topic = summary.reference_topic()
        self._reference_rows = summary.tracks.get(self.reference_topic or "", 0)
        self._file = file
        self._reader = _Shown(Part(path, blocks, is_exact=True) if options.cuts else blocks, show)
        self._covered: Coverage | None = None
        self._measured = [False, False]

    def __iter__(self) -> Iterator[ImuSeries]:
        """Yield the samples; raise NeedsWhole at the end if the topic does not suit."""
        for block in self._reader:
            if self.topic not in {*block.imu, *block.increments}:
                continue
            self.first = self.first or block
            series = block.imu_series(self.topic)
            if self.topic in block.increments:
                windows = block.increments[self.topic]
                self._covered = self._covered or Coverage()
                self._covered.add(windows.t_ns, windows.delta_angle_dt_ns)
            for number, column in enumerate((series.angular_velocity, series.specific_force)):
                self._measured[number] = self._measured[number] or np.isfinite(column).any()
            self.samples += len(series)
            yield series
        if not self.samples or not (self._may_lack or all(self._measured)):
            raise NeedsWhole(f"{self.topic} lacks samples of a sensor")

    @property
    def report(self) -> ReadReport:
        """Report of the reading, complete after the last block."""
        return self._reader.report

    def reference(self) -> Trajectory | None:
        """Read the attitude that an estimate is compared with; None where that is too long.

        Raises
        ------
        NeedsWhole
            Its blocks would differ from the whole.
        """
        name = self.reference_topic
        if name is None or options.cuts or self._reference_rows > _MOST_REFERENCE:
            return None
        blocks = block_reader(self._file, on_error="salvage", topic=name)
        tracks = [] if blocks is None else [block.tracks.get(name) for block in blocks]
        found = [
            track.replace(position_world=None, velocity_world=None)
            for track in tracks
            if track is not None
        ]
        return found[0].concatenate(found) if found else None

    @property
    def has_rates(self) -> bool:
        """Whether there was an angular velocity."""
        return self._measured[0]

    @property
    def is_covered(self) -> bool:
        """Whether the intervals of mean rates cover enough of the time to be estimated from."""
        known = self.report.coverage.get(self.topic, 1.0)
        return (known if self._covered is None else self._covered.share) >= LEAST_FUSED

    def notes(self) -> list[str]:
        """Return the notes of the reader, and the topic that is taken, with the others."""
        return [*self.report.notes, choice_of(self.topic, self._others, is_chosen=self._is_chosen)]

    def taken(self) -> dict[str, object]:
        """Return the topic, and the number of its samples, for JSON."""
        return {"topic": self.topic, "samples": self.samples}
