"""Topics whose messages arrive in parts and leave in blocks: series, and vectors that join them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown.formats._coverage import Coverage
from strapdown.formats._nearest_rows import NearestRows, before
from strapdown.formats._plausible import Tally, suspicions
from strapdown.formats._series_headers import heading
from strapdown.formats.block_reader import NeedsWhole
from strapdown.formats.topics.conversion import intervals, sensor_combined
from strapdown.formats.topics.description import restore
from strapdown.formats.topics.kinds import VECTORS, WITHIN_NS
from strapdown.messages.cdr import Batch
from strapdown.messages.covariance import ROS_ABSENT, normal_form
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from strapdown._typing import FloatArray
    from strapdown.formats._series_headers import Motion, Series
    from strapdown.formats.topics.decoding import Part

__all__ = ["SeriesStream", "VectorStream"]

_MOTION: Final = {"imu", "trajectories", "increments"}


class VectorStream:
    """Vectors of a topic, and their assignment to the rows of a series.

    Parameters
    ----------
    topic : str
        The topic.
    kind : str
        Type of its messages, one of ``VECTORS``.

    Attributes
    ----------
    column : str
        Column of the series that the vectors become.
    is_joined : bool
        Whether they belong to a series.
    waiting : list of Batch
        Messages that came before this was decided.
    nearest : NearestRows
        Vectors and rows, where they belong to a series.
    count : int
        Number of vectors so far.
    """

    def __init__(self, topic: str, kind: str) -> None:
        self.topic, self.kind, self.column = topic, kind, VECTORS[kind]
        self.is_joined = False
        self.waiting: list[Batch] = []
        self.nearest = NearestRows(WITHIN_NS[self.column])
        self.count = 0

    def take(self, cut_ns: int) -> tuple[FloatArray, int]:
        """Return the values of the rows before a time [ns], and how many vectors were assigned."""
        placed = self.nearest.placed
        values = self.nearest.take(cut_ns)
        return values, self.nearest.placed - placed


@dataclass
class SeriesStream:
    """Rows of a topic.

    Parameters
    ----------
    name, holds, kind : str
        The topic, the group of its series, and the type of its messages.
    header : dict
        Header of its first rows, which those of all later rows equal.

    Attributes
    ----------
    vectors : VectorStream, optional
        Vectors that join the rows.
    coverage : Coverage, optional
        Of the intervals of the rows so far, where they have any.
    tally : Tally
        Implausible rows among those that were taken.
    last_ns : int, optional
        Stamp of the last row that has arrived [ns].
    """

    name: str
    holds: str
    kind: str
    header: dict[str, Any]
    vectors: VectorStream | None = None
    coverage: Coverage | None = None
    tally: Tally = field(default_factory=Tally)
    last_ns: int | None = None
    _waiting: list[Series] = field(default_factory=list)
    _records: list[NDArray[np.void]] = field(default_factory=list)
    _rows: int = 0
    _taken_ns: int | None = None
    _measured: tuple[bool, ...] = ()
    _description: Mapping[str, str] | None = None

    @property
    def waiting(self) -> int:
        """Number of rows that were not taken."""
        return sum(map(len, self._waiting))

    def series(self) -> Series:
        """Return the rows that were not taken."""
        if len(self._waiting) > 1:
            kind = type(self._waiting[0])
            try:
                self._waiting = [kind.concatenate(self._waiting)]  # type: ignore[arg-type]  # all are of one class
            except (ValueError, TypeError) as error:
                raise NeedsWhole(str(error)) from error
        return self._waiting[0]

    def add(self, holds: str, kind: str, series: Series, messages: Part) -> Series:
        """Add the rows of messages; return them with the columns of the first."""
        if (holds, kind) != (self.holds, self.kind):
            raise NeedsWhole(f"{self.name} has messages of two types")
        if heading(holds, series) != self.header:
            series = _like(self.header, series, messages)
        self._waiting.append(series)
        if (spans := intervals(kind, messages)) is not None:
            self.coverage = self.coverage or Coverage()
            self.coverage.add(*spans)
        if (records := sensor_combined(messages)) is not None:
            self._records.append(records)
        return series

    def take(
        self, cut_ns: int, description: Mapping[str, str]
    ) -> tuple[Series, NDArray[np.void] | None]:
        """Take the rows before a time [ns], and the messages that hold mean rates of PX4."""
        series = self.series()
        count = before(series.t_ns, cut_ns)
        self._waiting = [series[count:]]
        series, records = series[:count], None
        if self._records:
            waiting = np.concatenate(self._records)
            records, self._records = waiting[:count], [waiting[count:]]
        if self.vectors is not None:
            values, placed = self.vectors.take(cut_ns)
            if not self._rows and count and not placed:
                raise NeedsWhole(f"the first samples of {self.vectors.topic} belong to no row")
            series = series.replace(**{self.vectors.column: values})
        series = self._restored(series, description)
        if self.holds in _MOTION and count:
            self._judge(series)  # type: ignore[arg-type]  # of these groups
        self._rows += count
        return series, records

    def _restored(self, series: Series, description: Mapping[str, str]) -> Series:
        """Return rows as the file describes them."""
        self._description = description if self._description is None else self._description
        if description != self._description:
            raise NeedsWhole(f"{self.name} is described after its first rows")
        try:
            return restore(series, description)
        except ValueError as error:
            raise NeedsWhole(f"the description of {self.name} is damaged") from error

    def _judge(self, series: Motion) -> None:
        """Count implausible rows."""
        if isinstance(series, ImuSeries):
            triads = series.angular_velocity, series.specific_force
            measured = tuple(bool(np.isfinite(triad).any()) for triad in triads)
            if self._measured and measured != self._measured:
                raise NeedsWhole(f"a sensor of {self.name} begins or ends")
            self._measured = measured
        self.tally.add(self.name, suspicions(series, after_ns=self._taken_ns), start=self._rows)
        self._taken_ns = int(series.t_ns[-1])


def _like(header: dict[str, Any], series: Series, messages: Part) -> Series:
    """Return rows with the columns of the first block, where their values are known.

    Raises
    ------
    NeedsWhole
        They are not, or another property differs.
    """
    own = heading(header["holds"], series)
    missing = {*header["columns"]} - {*own["columns"]}
    if isinstance(series, ImuSeries) and isinstance(messages, Batch):
        rows = len(series)
        stated = normal_form(messages.values[:, 4:13], ROS_ABSENT).reshape(-1, 3, 3)
        none = normal_form(np.zeros((rows, 9)), ROS_ABSENT).reshape(-1, 3, 3)
        known = {
            "q_world_from_body": np.full((rows, 4), np.nan),
            "orientation_covariance": stated,
            "angular_velocity_covariance": none,
            "specific_force_covariance": none,
        }
        if missing <= known.keys():
            series = series.replace(**{name: known[name] for name in missing})
    if heading(header["holds"], series) != header:
        raise NeedsWhole("columns or frames of a topic change")
    return series
