"""Reading by the options that verbs share: time span, and columns of foreign tables."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import typer

import strapdown.formats as files
from strapdown.cli._reading_options import options
from strapdown.cli._streams import as_file, naming
from strapdown.errors import FormatError
from strapdown.formats._coverage import LEAST_FUSED, share_of
from strapdown.formats.block_reader import NeedsWhole, WholeFile
from strapdown.formats.recording import is_whole
from strapdown.formats.summary import summary_of
from strapdown.units import NS_PER_S, ns_from_decimal_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from strapdown.formats import BlockReader, ReadReport, Recording
    from strapdown.formats.summary import Summary
    from strapdown.series import ImuSeries, Increments

    Beside = Callable[[Summary], Collection[str | None]]

__all__ = [
    "OfBlocks",
    "Part",
    "aiding",
    "drawn",
    "input_blocks",
    "open_imu",
    "open_input",
    "open_track",
    "references",
    "refuse_reading",
    "summarize_input",
    "tracks",
    "trajectories",
    "whole_blocks",
]

_EARLIEST_NS: Final = 315_964_800 * NS_PER_S
"""Earlier stamps count from something else than 1970: begin of GPS time, 1980-01-06 [ns]."""
_FOREVER: Final = np.iinfo(np.int64).max


def references(summary: Summary) -> Collection[str | None]:
    """Return the topic of the attitude that an estimate is compared with."""
    return (summary.reference_topic(),)


def trajectories(summary: Summary) -> Collection[str]:
    """Return the topics of all attitudes that IMUs do not report themselves."""
    return summary.tracks.keys() - summary.imus.keys()


def tracks(summary: Summary) -> Collection[str]:
    """Return the topics of all attitudes."""
    return summary.tracks.keys()


def drawn(summary: Summary) -> Collection[str | None]:
    """Return the topics of the attitudes that figures show: the longest, and the reference."""
    counts = summary.tracks
    return max(counts, key=lambda name: counts[name], default=None), summary.reference_topic()


def aiding(summary: Summary) -> Collection[str]:
    """Return all topics except those of IMUs: fixes, barometers, references."""
    return {each.topic for each in summary.topics} - summary.imus.keys()


def open_imu(
    path: Path,
    topic: str | None,
    beside: Beside | None = None,
    *,
    least: float = LEAST_FUSED,
) -> Recording:
    """Read the IMU of a recording that a verb uses, by the options of the verb.

    It is the one of :meth:`Recording.imu_topic`, chosen from the summary of the file, so that
    memory does not depend on the others; ``Recording.unread`` names them. With ``--from`` and
    ``--until``, which count from the first sample of all, and in files without such a summary
    everything is read.

    Parameters
    ----------
    path : Path
        The file; ``-`` is standard input.
    topic : str, optional
        Topic of the IMU.
    beside : callable, optional
        Returns the further topics that the verb needs.
    least : float
        Coverage below which the verb refuses a topic, and names others: then all is read.

    Raises
    ------
    FormatError
        As :func:`open_input`.
    """
    if topic is not None and beside is None:
        part = open_input(path, topic=topic)
        is_thin = topic in {*part.imu, *part.increments} and share_of(part, topic) < least
        return open_input(path) if is_thin else part
    if options.cuts or options.merged or options.columns is not None:
        return open_input(path)
    file = as_file(path)
    with naming(path):
        summary = files.summarize(file)
        if summary.recording is not None:
            return replace(summary.recording, path=path)
        some = _part(file, summary, topic, beside)
    if some is None or share_of(some, some.imu_topic(topic)) < least:
        return open_input(path)  # an error names the others
    held = {*some.imu, *some.increments}
    return replace(some, path=path, unread=tuple(summary.imus.keys() - held))


def open_track(path: Path, topic: str | None, *, is_reference: bool = False) -> Recording:
    """Read the attitude of a recording that is compared, or everything where none is known.

    Parameters
    ----------
    path : Path
        The file; ``-`` is standard input.
    topic : str, optional
        Topic of the attitude; by default the longest, or of a reference that of
        :meth:`Recording.reference_topic`.
    is_reference : bool
        Whether the estimate is compared with it; options of reading do not apply to it.
    """
    file = as_file(path)
    if not is_reference and (options.cuts or options.columns is not None):
        return open_input(path)
    with naming(path):
        summary = files.summarize(file)
        if summary.recording is not None:
            return replace(summary.recording, path=path)
        longest = max(summary.tracks, key=summary.tracks.__getitem__, default=None)
        name = topic or (summary.reference_topic() if is_reference else longest)
        if name not in summary.tracks:
            name = None
        return replace(files.open(file, on_error="salvage", topic=name), path=path)


def _part(
    file: Path, summary: Summary, topic: str | None, beside: Beside | None
) -> Recording | None:
    """Read an IMU and the further topics; None where they are everything, or without an IMU."""
    known = {each.topic for each in summary.topics}
    if not summary.imus or topic not in {None, *summary.imus}:
        return None
    further = {name for name in beside(summary) if name is not None} if beside else set()
    lame: set[str] = set()
    while (name := summary.imu_topic(topic, file, lame)) not in lame:
        if {name} | further >= known:
            return None
        part = files.open(file, on_error="salvage", topic={name} | further)
        held: dict[str, ImuSeries | Increments] = {**part.imu, **part.increments}
        if name not in held:
            return None
        if topic is not None or not summary.imus[name].is_whole or is_whole(held[name]):
            return part
        lame.add(name)
    return None


def open_input(path: Path, *, topic: str | None = None) -> Recording:
    """Read a recording, or standard input for ``-``, by the options of the verb.

    Damage is counted. With the topic of an IMU only that is read; with ``--from`` and ``--until``,
    which count from the first sample of all, everything.

    Raises
    ------
    FormatError
        It cannot be read, or has no sample between ``--from`` and ``--until``.
    """
    recording = _whole(path, topic)
    if not options.cuts:
        return recording
    start_ns, stop_ns = _span(recording)
    part = recording.between_ns(start_ns, stop_ns)
    if part.span_ns is None:
        raise FormatError(
            f"expected samples in the span of time, got none; {_extent(recording)}", path=path
        )
    return part


def summarize_input(path: Path, *, full: bool) -> Summary:
    """Summarise a recording by the options of the verb; with any of them it is read as a whole.

    Raises
    ------
    FormatError
        As :func:`open_input`.
    """
    if options.cuts or options.merged or options.columns is not None:
        return summary_of(open_input(path))
    file = as_file(path)
    with naming(path):
        return files.summarize(file, full=full)


@contextmanager
def input_blocks(path: Path, *, topic: str | None = None) -> Iterator[BlockReader]:
    """Read a recording block by block by the options of the verb; a topic as :func:`open_input`."""
    if options.merged:
        yield whole_blocks(path)
        return
    file, only = as_file(path), None if options.cuts else topic
    with (
        naming(path),
        files.open_blocks(file, on_error="salvage", columns=options.columns, topic=only) as blocks,
    ):
        yield Part(path, blocks) if options.cuts else blocks


def _whole(path: Path, topic: str | None) -> Recording:
    """Return a recording, joined with those of ``options.merged``."""
    from strapdown.formats.merging import merge  # noqa: PLC0415 (only with several recordings)

    only = None if options.cuts or options.merged else topic
    recordings = []
    for each in (path, *options.merged):
        file = as_file(each)
        with naming(each):
            recording = files.open(file, on_error="salvage", columns=options.columns, topic=only)
            if only is not None and only not in {*recording.imu, *recording.increments}:
                recording = files.open(file, on_error="salvage", columns=options.columns)
        recordings.append(replace(recording, path=each))
    return merge(recordings)


def refuse_reading() -> None:
    """Raise where an option of reading has no effect, because the source is live."""
    if options.cuts or options.columns is not None:
        raise typer.BadParameter("--from, --until and --columns work for recordings")


def whole_blocks(path: Path) -> BlockReader:
    """Return a recording as its only block, by the options of the verb."""
    blocks: BlockReader = WholeFile(_whole(path, None))
    return Part(path, blocks) if options.cuts else blocks


class OfBlocks:
    """Blocks that are made of others, with their report and progress."""

    def __init__(self, blocks: BlockReader) -> None:
        self._blocks = blocks

    @property
    def report(self) -> ReadReport:
        """An account of the reading, complete after the last block."""
        return self._blocks.report

    @property
    def progress(self) -> float:
        """Fraction of the file that is read so far."""
        return self._blocks.progress


class Part(OfBlocks):
    """The part of a recording between ``--from`` and ``--until``, block by block."""

    def __init__(self, path: Path, blocks: BlockReader, *, is_exact: bool = False) -> None:
        super().__init__(blocks)
        self._path, self._is_exact = path, is_exact

    def __iter__(self) -> Iterator[Recording]:
        """Yield the blocks; raise after the last where none had a sample in the span."""
        span: tuple[int, int] | None = None
        first_ns = 0
        empty = True
        for block in self._blocks:
            extent = block.span_ns
            if span is None and extent is not None:
                span, first_ns = _span(block), extent[0]
            elif self._is_exact and extent is not None and extent[0] < first_ns:
                raise NeedsWhole("the first sample is not the earliest", path=self._path)
            part = block if span is None else block.between_ns(*span)
            empty = empty and part.span_ns is None
            yield part
        if empty:
            raise FormatError(
                "expected samples between --from and --until, got none", path=self._path
            )


def _span(recording: Recording) -> tuple[int, int]:
    """Return begin and end of the wanted part, as stamps of a recording that begins as this one."""
    first_ns = 0 if recording.span_ns is None else recording.span_ns[0]
    start = (
        first_ns if options.start is None else _stamp(options.start, "--from", first_ns, recording)
    )
    stop = (
        _FOREVER if options.stop is None else _stamp(options.stop, "--until", first_ns, recording)
    )
    if start >= stop:
        raise typer.BadParameter(
            f"expected an end after the begin, got {options.start or 0} and {options.stop}",
            param_hint="'--until'",
        )
    return start, stop


def _stamp(text: str, option: str, first_ns: int, recording: Recording) -> int:
    """Return a time of the command line as a stamp of a recording."""
    from strapdown.formats.foreign.stamps import ns_from_iso8601  # noqa: PLC0415 (few need it)

    try:
        return first_ns + ns_from_decimal_seconds(text)
    except ValueError:
        pass
    try:
        since_1970 = ns_from_iso8601(text)
    except ValueError:
        raise typer.BadParameter(
            f"expected seconds, or date and time such as 2026-11-24T08:00:00Z, got {text!r}",
            param_hint=f"'{option}'",
        ) from None
    offset_ns = recording.clock_offset_ns or 0
    if not recording.knows_1970:
        why = "the recording does not state when its clock began"
    elif first_ns + offset_ns < _EARLIEST_NS:
        why = f"stamps of the recording do not count from 1970, the first is {first_ns / 1e9:g} s"
    else:
        return since_1970 - offset_ns
    raise typer.BadParameter(
        f"expected seconds since the first sample, such as {option} 10: {why}",
        param_hint=f"'{option}'",
    )


def _extent(recording: Recording) -> str:
    first, last = recording.span_ns or (0, 0)
    return f"it lasts {(last - first) / 1e9:.3f} s"
