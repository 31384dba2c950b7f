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
from strapdown.formats.block_reader import WholeFile
from strapdown.units import NS_PER_S, ns_from_decimal_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from strapdown.formats import BlockReader, ReadReport, Recording

__all__ = ["input_blocks", "open_input", "refuse_reading"]

_EARLIEST_NS: Final = 315_964_800 * NS_PER_S
"""Earlier stamps count from something else than 1970: begin of GPS time, 1980-01-06 [ns]."""
_FOREVER: Final = np.iinfo(np.int64).max


def open_input(path: Path) -> Recording:
    """Read a recording, or standard input for ``-``, by the options of the verb.

    Damage is counted.

    Raises
    ------
    FormatError
        It cannot be read, or has no sample between ``--from`` and ``--until``.
    """
    recording = _whole(path)
    if not options.cuts:
        return recording
    start_ns, stop_ns = _span(recording)
    part = recording.between_ns(start_ns, stop_ns)
    if part.span_ns is None:
        raise FormatError(
            f"expected samples in the span of time, got none; {_extent(recording)}", path=path
        )
    return part


@contextmanager
def input_blocks(path: Path) -> Iterator[BlockReader]:
    """Read a recording block by block by the options of the verb."""
    if options.merged:
        blocks: BlockReader = WholeFile(_whole(path))
        yield _Part(path, blocks) if options.cuts else blocks
        return
    file = as_file(path)
    with (
        naming(path),
        files.open_blocks(file, on_error="salvage", columns=options.columns) as blocks,
    ):
        yield _Part(path, blocks) if options.cuts else blocks


def _whole(path: Path) -> Recording:
    """Return a recording, joined with those of ``options.merged``."""
    from strapdown.formats.merging import merge  # noqa: PLC0415 (only with several recordings)

    recordings = []
    for each in (path, *options.merged):
        file = as_file(each)
        with naming(each):
            recording = files.open(file, on_error="salvage", columns=options.columns)
        recordings.append(replace(recording, path=each))
    return merge(recordings)


def refuse_reading() -> None:
    """Raise where an option of reading has no effect, because the source is live."""
    if options.cuts or options.columns is not None:
        raise typer.BadParameter("--from, --until and --columns work for recordings")


class _Part:
    """The part of a recording between ``--from`` and ``--until``, block by block."""

    def __init__(self, path: Path, blocks: BlockReader) -> None:
        self._path = path
        self._blocks = blocks

    @property
    def report(self) -> ReadReport:
        """An account of the reading."""
        return self._blocks.report

    def __iter__(self) -> Iterator[Recording]:
        """Yield the blocks; raise after the last where none had a sample in the span."""
        span: tuple[int, int] | None = None
        empty = True
        for block in self._blocks:
            if span is None and block.span_ns is not None:
                span = _span(block)
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
