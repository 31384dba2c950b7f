"""Attitude of a long recording by a filter, block by block."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import strapdown.formats as files
from strapdown.cli._common import doubts, frames_of, read_losses, working
from strapdown.cli._declination import (
    Declination,
    Source,
    about_heading,
    headings,
    to_north,
)
from strapdown.cli._in_blocks import ImuBlocks, from_imu_blocks
from strapdown.cli._outcome import Outcome
from strapdown.cli._params import changed, changed_lines
from strapdown.formats import Recording
from strapdown.formats.block_reader import NeedsWhole

if TYPE_CHECKING:
    from strapdown.estimation import OrientationFilter, OrientationResult, OrientationSmoother
    from strapdown.estimation.filter import RecursiveFilter
    from strapdown.formats import BlockWriter
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["LongRun", "as_data"]


@dataclass(frozen=True)
class LongRun:
    """A filter over a long recording, block by block."""

    source: Path
    estimator: OrientationFilter | OrientationSmoother[Any]
    name: str
    output: Path | None
    declined: Source
    no_mag: bool
    anyway: bool
    force: bool

    def outcome(self, topic: str | None, *, needs_whole: bool) -> Outcome | None:
        """Return the outcome; None of a short recording, and where the whole is needed."""
        why = "the options need all samples" if needs_whole else ""
        return from_imu_blocks(self.source, topic, self._over, why_whole=why)

    @property
    def _filter(self) -> RecursiveFilter[Any]:
        return cast("RecursiveFilter[Any]", self.estimator)

    def _over(self, blocks: ImuBlocks) -> Outcome:
        """Return the outcome of a recording; write the attitudes as they come."""
        self._filter.reset()
        attitudes = _Attitudes()
        with ExitStack() as stack:
            stack.enter_context(working(f"{self.name} filter over a long recording"))
            writer: BlockWriter | None = None
            for series in blocks:
                result = self._filter.run(series, use_magnetic_field=not self.no_mag)
                assert blocks.first is not None  # noqa: S101 (there is a block)
                result = attitudes.add(series, result, self.declined, blocks.first)
                if self.output is not None:
                    writer = writer or stack.enter_context(
                        files.block_writer(self.output, force=self.force)
                    )
                    writer.write(Recording(trajectories={"attitude": result.trajectory()}))
            if not blocks.has_rates or not (self.anyway or blocks.is_covered):
                raise NeedsWhole(f"{blocks.topic} may be of no use")
        return self._account(blocks, attitudes, [] if writer is None else [*writer.lost])

    def _account(self, blocks: ImuBlocks, attitudes: _Attitudes, lost: list[str]) -> Outcome:
        last, report = attitudes.last, self._filter.report
        assert last is not None  # noqa: S101 (there are samples)
        heading = about_heading(last) | {"attitudes_without_heading": attitudes.unknown}
        data = {"input": str(self.source), **blocks.taken()}
        data |= as_data(self.name, self.estimator, self.output, last.trajectory()) | heading
        data |= {"attitudes": attitudes.rows, "report": report.to_dict()}
        view = [*blocks.notes(), *attitudes.doubtful, *changed_lines(self.estimator)]
        about = headings(last, attitudes.north, unknown=attitudes.unknown)
        view += [f"{frames_of(last.trajectory())}, {about}", str(report)]
        if self.output is not None:
            view.append(f"wrote {self.output}: {attitudes.rows} attitudes")
        brief = view[-1]
        if blocks.references:
            view.append(
                f"not compared with {', '.join(blocks.references)}: the recording is long; "
                "strapdown evaluate compares what was written"
            )
        lost = [*read_losses(blocks.report), *report.losses(), *lost]
        return Outcome(data, view, lost, brief=brief)


@dataclass
class _Attitudes:
    """What is known of the attitudes of successive blocks."""

    rows: int = 0
    unknown: int = 0
    last: OrientationResult | None = None
    north: Declination | None = None
    doubtful: list[str] = field(default_factory=list)

    def add(
        self, series: ImuSeries, result: OrientationResult, declined: Source, first: Recording
    ) -> OrientationResult:
        """Return the result of a block, with its heading as it is asked for.

        Raises
        ------
        NeedsWhole
            The heading of the blocks before is unknown, as there is one from now on.
        """
        if self.last is None:
            self.north, self.doubtful = declined(first, series), _doubts(series)
        elif result.uses_magnetic_field and not self.last.uses_magnetic_field:
            raise NeedsWhole("the first magnetic field comes late")
        result = to_north(result, self.north)
        self.last = result
        self.rows += len(series)
        self.unknown += about_heading(result)["attitudes_without_heading"]
        return result


def _doubts(series: ImuSeries) -> list[str]:
    """Return what the first samples of a long recording contradict."""
    return [f"{line}, by the first {len(series)} samples" for line in doubts(series)]


def as_data(
    name: str, estimator: object, output: Path | None, attitude: Trajectory
) -> dict[str, Any]:
    """Return what is told of attitudes, for JSON."""
    return {
        "filter": name,
        "params": changed(estimator),
        "output": None if output is None else str(output),
        "attitudes": len(attitude),
        "frames": {"world": str(attitude.world), "body": str(attitude.body)},
    }
