"""Attitude of a long recording by a filter, block by block."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

import strapdown.formats as files
from strapdown.cli._common import doubts, frames_of, read_losses
from strapdown.cli._compare import usable_reference
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
from strapdown.cli.evaluate import error_line
from strapdown.errors import ValueRangeError
from strapdown.evaluation import Alignment, evaluate_orientation
from strapdown.formats import Recording
from strapdown.formats.block_reader import NeedsWhole

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, IntArray
    from strapdown.estimation import OrientationFilter, OrientationResult, OrientationSmoother
    from strapdown.estimation.filter import RecursiveFilter
    from strapdown.formats import BlockWriter
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["LongRun", "as_data"]

_GAP: Final = 5.0
_LEAST_GAP_NS: Final = 20_000_000
"""Rows of an estimate that are farther apart than this, and than five intervals, are a gap [ns]."""


@dataclass(frozen=True)
class LongRun:
    """A filter over a long recording, block by block."""

    source: Path
    estimator: OrientationFilter | OrientationSmoother[Any]
    name: str
    output: Path | None
    declined: Source
    no_mag: bool
    align: Alignment | None
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
        try:
            return self._outcome(blocks, _Attitudes(), _Comparison(blocks, self.align))
        except NeedsWhole:
            self._filter.reset()
            raise

    def _outcome(
        self, blocks: ImuBlocks, attitudes: _Attitudes, comparison: _Comparison
    ) -> Outcome:
        with ExitStack() as stack:
            writer: BlockWriter | None = None
            for series in blocks:
                result = self._filter.run(series, use_magnetic_field=not self.no_mag)
                assert blocks.first is not None  # noqa: S101 (there is a block)
                result = attitudes.add(series, result, self.declined, blocks.first)
                comparison.add(series, result)
                if self.output is not None:
                    writer = writer or stack.enter_context(
                        files.block_writer(self.output, force=self.force)
                    )
                    writer.write(Recording(trajectories={"attitude": result.trajectory()}))
            if not blocks.has_rates or not (self.anyway or blocks.is_covered):
                raise NeedsWhole(f"{blocks.topic} may be of no use")
        lost = [] if writer is None else [*writer.lost]
        return self._account(blocks, attitudes, comparison, lost)

    def _account(
        self,
        blocks: ImuBlocks,
        attitudes: _Attitudes,
        comparison: _Comparison,
        lost: list[str],
    ) -> Outcome:
        last, report = attitudes.last, self._filter.report
        assert last is not None  # noqa: S101 (there are samples)
        heading = about_heading(last) | {"attitudes_without_heading": attitudes.unknown}
        data = {"input": str(self.source), **blocks.taken()}
        data |= as_data(self.name, self.estimator, self.output, last.trajectory()) | heading
        added, line, why_not = comparison.result()
        data |= {"attitudes": attitudes.rows, **added, "report": report.to_dict()}
        view = [*blocks.notes(), *attitudes.doubtful, *changed_lines(self.estimator)]
        about = headings(last, attitudes.north, unknown=attitudes.unknown)
        view += [f"{frames_of(last.trajectory())}, {about}", str(report)]
        if self.output is not None:
            view.append(f"wrote {self.output}: {attitudes.rows} attitudes")
        brief = "; ".join([*line, view[-1]] if line else view[-1:])
        lost = [*read_losses(blocks.report), *report.losses(), *lost]
        return Outcome(data, [*view, *why_not, *line], lost, brief=brief)


@dataclass
class _Attitudes:
    """Counts of the attitudes of successive blocks, and the last of them."""

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


class _Comparison:
    """Comparison of the attitudes of successive blocks with the reference of a recording.

    Of an estimate the rows next to those of the reference are kept.
    """

    def __init__(self, blocks: ImuBlocks, align: Alignment | None) -> None:
        self._name, self._align = blocks.reference_topic, align
        self._reference = blocks.reference()
        self._why_not: list[str] = []
        if self._reference is None and self._name is not None:
            self._why_not.append(
                f"not compared with {self._name}: it is long, or a part; strapdown evaluate "
                "compares what was written"
            )
        self._path = blocks.path
        self._kept: list[Trajectory] = []
        self._last: OrientationResult | None = None
        self._gap_ns = 0

    def add(self, series: ImuSeries, result: OrientationResult) -> None:
        """Keep the rows of a block that are needed."""
        reference = self._reference
        if reference is None or self._name is None or not len(series):
            return
        if self._last is None:
            held = Recording(self._path, trajectories={self._name: reference})
            topic, self._why_not = usable_reference(held, series, self._align)
            if topic is None:
                self._reference = None
                return
            steps = np.diff(series.t_ns)
            usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
            self._gap_ns = max(round(_GAP * usual), _LEAST_GAP_NS)
        self._last = result
        self._kept.append(result.trajectory()[_near(reference.t_ns, series.t_ns)])

    def result(self) -> tuple[dict[str, Any], list[str], list[str]]:
        """Return the errors for JSON, the line about them, and why there are none."""
        if self._reference is None or self._last is None:
            return {}, [], self._why_not
        align = self._align or (
            Alignment.NONE if self._last.uses_magnetic_field else Alignment.HEADING
        )
        estimate = self._kept[0].concatenate(self._kept)
        try:
            found = evaluate_orientation(
                estimate, self._reference, align=align, max_gap_ns=self._gap_ns
            )
        except ValueRangeError as error:
            return {}, [f"not compared with {self._name}: {error}"], self._why_not
        data = {"reference": self._name, "orientation_error": found.to_dict()}
        return data, [f"against {self._name}: {error_line(found)}"], self._why_not


def _near(reference_ns: IntArray, t_ns: IntArray) -> BoolArray:
    """Return the rows on both sides of those of a reference, and the ends of a block."""
    kept = np.zeros(len(t_ns), np.bool_)
    kept[[0, -1]] = True
    if (np.diff(t_ns) < 0).any():
        return np.ones(len(t_ns), np.bool_)
    inside = reference_ns[(reference_ns >= t_ns[0]) & (reference_ns <= t_ns[-1])]
    after = np.searchsorted(t_ns, inside)
    kept[after] = True
    kept[np.maximum(after - 1, 0)] = True
    kept[np.minimum(after + 1, len(t_ns) - 1)] = True
    return kept


def _doubts(series: ImuSeries) -> list[str]:
    """Return what the first samples of a long recording contradict."""
    return [f"{line}, by the first {len(series)} samples" for line in doubts(series)]


def as_data(
    name: str, estimator: object, output: Path | None, attitude: Trajectory
) -> dict[str, Any]:
    """Return the description of attitudes, for JSON."""
    return {
        "filter": name,
        "params": changed(estimator),
        "output": None if output is None else str(output),
        "attitudes": len(attitude),
        "frames": {"world": str(attitude.world), "body": str(attitude.body)},
    }
