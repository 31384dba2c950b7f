"""Comparison of all estimators on one recording: a table and a figure."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table

from strapdown import plots
from strapdown._kernels.compilation import compiling_first, worth_compiling
from strapdown.cli._common import working
from strapdown.cli._declination import Declination, about_heading, to_north
from strapdown.errors import FormatError
from strapdown.estimation import FILTERS, SMOOTHERS
from strapdown.evaluation import Alignment, evaluate_orientation
from strapdown.geometry import WorldFrame, quaternion
from strapdown.units import RAD_PER_DEG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.figure import Figure

    from strapdown.estimation import OrientationResult
    from strapdown.evaluation import OrientationEvaluation
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries, Trajectory

__all__ = ["Contest", "Row", "aligned", "compare", "usable_reference"]

REMOVED_BY = {
    "attitude_world": (Alignment.WORLD, Alignment.WORLD_AND_BODY),
    "attitude_mounting": (Alignment.WORLD_AND_BODY,),
}
"""Findings about an orientation that an alignment removes."""
BLAMES_SENSORS = ("gyro_axes", "attitude_gravity")
"""Findings by an orientation about the sensors."""
_WARMING = 200
"""Samples that run before the time is measured, so that all machine code exists."""


@dataclass(frozen=True)
class Row:
    """One estimator: result, errors and run time."""

    name: str
    result: OrientationResult
    errors: OrientationEvaluation
    seconds: float

    @property
    def samples_per_s(self) -> float:
        """Samples per second of a run without compilation."""
        return len(self.result) / self.seconds if self.seconds > 0.0 else float("inf")

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        return {
            "filter": self.name,
            "orientation_error": self.errors.to_dict(),
            "samples_per_s": self.samples_per_s,
            "uses_magnetic_field": self.result.uses_magnetic_field,
            **about_heading(self.result),
            "report": self.result.report.to_dict(),
        }


@dataclass(frozen=True)
class Contest:
    """All estimators compared with a reference, or with the best smoother if there is none."""

    rows: tuple[Row, ...]
    reference: Trajectory
    against: str

    def table(self) -> Table:
        """Return the table, best estimator first."""
        table = Table(
            "estimator", "total", "heading", "inclination", "largest", "M samples/s",
            box=None, pad_edge=False,
        )  # fmt: skip
        align = self.rows[0].errors.align
        table.title = rf"against {self.against} \[deg RMS], alignment: {align}"
        table.title_justify = "left"
        for row in sorted(self.rows, key=lambda row: row.errors.total):
            e = row.errors
            largest = e.total_max / RAD_PER_DEG
            figures = (e.total_deg, e.heading_deg, e.inclination_deg, largest)
            cells = (f"{figure:.3f}" for figure in figures)
            table.add_row(row.name, *cells, f"{row.samples_per_s / 1e6:.3g}")
        return table

    def figure(self, title: str) -> Figure:
        """Return a figure of the errors over time."""
        reference = self.reference.in_frames(world=WorldFrame.ENU)
        tracks = {
            row.name: row.result.trajectory().in_frames(world=WorldFrame.ENU, body=reference.body)
            for row in self.rows
        }
        return plots.plot_comparison(
            tracks,
            reference,
            removed={
                row.name: (row.errors.removed_rotation, row.errors.removed_body_rotation)
                for row in self.rows
            },
            title=f"{title}: estimators against {self.against}",
        )


def usable_reference(
    recording: Recording, series: ImuSeries, align: Alignment | None
) -> tuple[str | None, list[str]]:
    """Return the topic to compare an estimate with, or a line that states why there is none."""
    from strapdown.checking import check_reference  # noqa: PLC0415 (only where it is compared)

    topic = recording.reference_topic()
    if topic is None:
        return None, []
    found = check_reference(series, recording.trajectory(topic), topic="").findings
    for finding in found:
        if align not in REMOVED_BY.get(finding.code, ()) and finding.code not in BLAMES_SENSORS:
            return None, [f"not compared with {topic}: {finding}"]
    return topic, []


def compare(
    series: ImuSeries,
    recording: Recording,
    topic: str | None,
    *,
    with_field: bool,
    align: Alignment | None,
    north: Declination | None,
) -> Contest:
    """Run every filter and smoother, and evaluate each against an attitude of the recording."""
    results: dict[str, tuple[OrientationResult, float]] = {}
    for name, estimator in _estimators():
        result, seconds = _timed(name, estimator, series, with_field=with_field)
        results[name] = to_north(result, north), seconds
    uses_field = any(result.uses_magnetic_field for result, _ in results.values())
    if topic is not None:
        reference, against = recording.trajectory(topic), topic
        align = align or (Alignment.NONE if uses_field else Alignment.HEADING)
    elif SMOOTHERS:
        against = f"{list(SMOOTHERS)[-1]} smoothed"
        reference = results[against][0].trajectory()
        align = align or Alignment.NONE
    else:
        raise FormatError("expected a reference to compare with, got none", path=recording.path)
    rows = tuple(
        Row(
            each,
            result,
            evaluate_orientation(result.trajectory(), reference, align=align),
            seconds,
        )
        for each, (result, seconds) in results.items()
        if each != against
    )
    return Contest(rows, reference, against)


def aligned(reference: Trajectory, errors: OrientationEvaluation) -> Trajectory:
    """Return a reference turned as its comparison with an estimate turned it, in ENU."""
    inside = reference.in_frames(world=WorldFrame.ENU)
    turned = quaternion.multiply(errors.removed_rotation, inside.q_world_from_body)
    return inside.replace(
        q_world_from_body=quaternion.multiply(turned, errors.removed_body_rotation)
    )


def _timed(
    name: str, estimator: Callable[[], Any], series: ImuSeries, *, with_field: bool
) -> tuple[OrientationResult, float]:
    """Return the result of an estimator, and its run time without that of the compiler [s]."""
    as_later = compiling_first() if worth_compiling(len(series)) else nullcontext()
    with working(f"compiling {name}"), as_later:
        estimator().run(series[:_WARMING], use_magnetic_field=with_field)
    with working(f"{name} over {len(series)} samples"):
        made, start = estimator(), time.perf_counter()
        result = made.run(series, use_magnetic_field=with_field)
        return result, time.perf_counter() - start


def _estimators() -> Iterator[tuple[str, Any]]:
    """Yield every filter and smoother with its name in the table."""
    yield from FILTERS.items()
    for name, smoother in SMOOTHERS.items():
        yield f"{name} smoothed", smoother
