"""Topics of a ULog, block by block: of all rows only the stamps are kept."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.formats.recording import is_whole
from strapdown.formats.summary import Source, Summary, series_of, topic_summaries
from strapdown.formats.ulog.reader import UlogBlocks
from strapdown.series import ImuSeries
from strapdown.series.timebase import TimeTally

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["summarize"]

_BLOCK: Final = 2**20
"""Bytes of the file that are converted at once; larger blocks are no faster."""


def summarize(path: Path) -> Summary:
    """Summarise a log; damage is counted.

    Raises
    ------
    FormatError
        The file is no ULog.
    """
    clocks: defaultdict[str, TimeTally] = defaultdict(TimeTally)
    first: dict[str, Any] = {}
    blocks = UlogBlocks(path, salvage=True, block_bytes=_BLOCK)
    clock_offset_ns = None
    for block in blocks:
        clock_offset_ns = block.clock_offset_ns
        for name, series in series_of(block):
            clocks[name].add(series.t_ns)
            if name not in first:
                first[name] = series[:1]
            if isinstance(series, ImuSeries) and not is_whole(first[name]):
                first[name] = series[_known(series)] if is_whole(series) else first[name]
    topics = topic_summaries(first.items(), clocks)
    return Summary(blocks.report, topics, Source.DATA, clock_offset_ns=clock_offset_ns)


def _known(series: ImuSeries) -> list[int]:
    """Return the first row with an angular velocity, and the first with a specific force."""
    columns = series.angular_velocity, series.specific_force
    return [int(np.isfinite(each).any(axis=1).argmax()) for each in columns]
