"""Frames, rate and frame id of the series that ``strapdown convert`` writes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import typer

from strapdown.errors import FormatError, UnknownNameError
from strapdown.formats.recording import HOLDS
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series import ImuSeries, Increments, timebase
from strapdown.units import NS_PER_MS, NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from strapdown.formats import Recording
    from strapdown.series import Trajectory

__all__ = ["Reshaping", "joined", "parse_frames"]

_FIXED_FRAMES: Final = {".bag": "ENU from FLU", "": "ENU from FLU", ".ulg": "NED from FRD"}
"""Endings of formats whose messages prescribe their axes."""
_JITTER: Final = 0.1
"""Variation of the intervals, relative to their median, from which a filter is inexact."""
_NAMELESS: Final = {".csv", ".tum", ".ulg"}
"""Endings of formats that hold no frame id."""


def parse_frames(texts: Sequence[str] | None) -> dict[str, str]:
    """Return world and body frame as named by ``--frame``: NED, FRD, or NED/FRD.

    Raises
    ------
    UnknownNameError
        There is no such frame.
    typer.BadParameter
        Two world frames or two body frames are named.
    """
    chosen: dict[str, str] = {}
    for name in re.split(r"[/,\s]+", "/".join(texts or ()).strip("/")):
        if not name:
            continue
        if name.upper() not in {*WorldFrame, *BodyFrame}:
            raise UnknownNameError("frame", name, map(str, (*WorldFrame, *BodyFrame)), nearest=8)
        side = "world" if name.upper() in set(WorldFrame) else "body"
        if side in chosen:
            raise typer.BadParameter(
                f"expected one {side} frame, got {chosen[side]} and {name}", param_hint="'--frame'"
            )
        chosen[side] = name.upper()
    return chosen


@dataclass
class Reshaping:
    """Changes of series: axes, then decimation, then resampling, and the frame id.

    Parameters
    ----------
    decimate : int, optional
        Keep every n-th row of low-pass filtered samples.
    resample : float, optional
        Rate of a regular grid [Hz].
    frames : mapping of str to str
        World and body frame, as of :func:`parse_frames`.
    frame_id : str, optional
        Name of the sensor.
    """

    decimate: int | None = None
    resample: float | None = None
    frames: dict[str, str] = field(default_factory=dict)
    frame_id: str | None = None
    notes: list[str] = field(default_factory=list, init=False)
    lost: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.resample is not None and not 0.0 < self.resample <= 1e6:
            raise typer.BadParameter(
                f"expected a rate above 0 and up to 1e6 Hz, got {self.resample:g}",
                param_hint="'--resample'",
            )

    @property
    def changes_rate(self) -> bool:
        """Whether series of rates are needed."""
        return self.decimate is not None or self.resample is not None

    @property
    def needs_whole(self) -> bool:
        """Whether the recording is needed as one block."""
        return self.changes_rate or self.frame_id is not None

    def check_target(self, target: Path) -> None:
        """Raise if the format of a file cannot hold what is asked for."""
        ending = target.suffix.lower()
        if self.frames and ending in _FIXED_FRAMES:
            raise typer.BadParameter(
                f"{ending or 'a ROS 2 bag'} holds messages in {_FIXED_FRAMES[ending]}; write "
                ".csv, .npz, .parquet or .mcap",
                param_hint="'--frame'",
            )
        if self.frames and ending == ".mcap":
            self.notes.append(
                "messages are ENU from FLU, as ROS prescribes; strapdown reads them in "
                f"{'/'.join(self.frames.values())}"
            )
        if self.frame_id is not None and ending in _NAMELESS:
            raise typer.BadParameter(
                f"{ending} holds no frame id; write .mcap, .bag, .npz or .parquet",
                param_hint="'--frame-id'",
            )

    def __call__(self, block: Recording) -> Recording:
        """Return a block with the changes; where :attr:`needs_whole`, it is the only one.

        Raises
        ------
        FormatError
            A frame id is given, and there is not exactly one sensor.
        """
        steps: list[str] = []
        groups: dict[str, Any] = {
            holds: {
                topic: self._changed(topic, series, steps)
                for topic, series in getattr(block, holds).items()
            }
            for holds in HOLDS
        }
        if self.frame_id is not None:
            self._rename(groups, block)
        return replace(block, **groups, history=(*block.history, *steps))

    def _changed(
        self, topic: str, series: ImuSeries | Trajectory | Increments, steps: list[str]
    ) -> ImuSeries | Trajectory | Increments:
        """Return one series with other axes and rate."""
        if isinstance(series, Increments):
            return series.in_frames(body=self.frames.get("body"))
        samples: ImuSeries | Trajectory = series.in_frames(**self.frames)
        if not self.changes_rate:
            return samples
        samples, order = timebase.ordered(samples, "sort")
        if order.dropped_duplicates:
            self.lost.append(f"{topic}: {order.dropped_duplicates} rows whose stamp repeats")
        if self.decimate is not None:
            samples = self._decimated(topic, samples, steps)
        if self.resample is not None:
            samples = self._resampled(topic, samples, steps)
        return samples

    def _decimated(
        self, topic: str, series: ImuSeries | Trajectory, steps: list[str]
    ) -> ImuSeries | Trajectory:
        from strapdown.series.decimation import decimate  # noqa: PLC0415 (only with the option)

        factor = self.decimate or 0
        clock = timebase.report(series.t_ns)
        if clock.jitter_ns * clock.rate_hz > _JITTER * NS_PER_S:
            self.notes.append(
                f"{topic}: intervals vary by {clock.jitter_ns / NS_PER_MS:.3g} ms (RMS); the "
                "cut-off is that of the median interval"
            )
        series, report = decimate(series, factor)
        kept = f"one pose of {factor} is kept, without a filter"
        self._tell(f"{topic}: {report if isinstance(series, ImuSeries) else kept}", steps)
        return series

    def _resampled(
        self, topic: str, series: ImuSeries | Trajectory, steps: list[str]
    ) -> ImuSeries | Trajectory:
        before_hz, rate_hz = series.rate_hz, self.resample or 0.0
        series, report = timebase.resample(series, rate_hz=rate_hz)
        if report.in_gaps:
            step_ns = np.diff(series.t_ns).min(initial=np.iinfo(np.int64).max)
            series = series[_measured(series)]
            self.notes.append(
                f"{topic}: no samples in gaps: {report.in_gaps} grid points of "
                f"{step_ns / 1e6:.4g} ms are left out"
            )
        how = ", ".join(sorted(set(report.method.values()) & {"linear", "slerp"}))
        self._tell(
            f"{topic}: resampled from {before_hz:.4g} to {rate_hz:g} Hz ({how}): "
            f"{report.exact} rows exact, {report.interpolated} interpolated",
            steps,
        )
        if rate_hz < 0.99 * before_hz:
            self.notes.append(
                f"{topic}: motion and vibration above {rate_hz / 2:g} Hz are folded, resampling "
                "does not filter; --decimate does"
            )
        return series

    def _tell(self, line: str, steps: list[str]) -> None:
        self.notes.append(line)
        steps.append(line)

    def _rename(self, groups: dict[str, Any], block: Recording) -> None:
        """Give the sensor the frame id."""
        sensors = [(holds, topic) for holds in ("imu", "increments") for topic in groups[holds]]
        if len(sensors) != 1:
            topics = ", ".join(topic for _, topic in sensors) or "none"
            raise FormatError(
                f"expected one sensor for --frame-id, got the topics {topics}; choose one with "
                "--topic",
                path=block.path,
            )
        ((holds, topic),) = sensors
        series = groups[holds][topic]
        groups[holds][topic] = series.replace(
            sensor=replace(series.sensor, name=self.frame_id or "")
        )


def _measured(series: ImuSeries | Trajectory) -> Any:  # noqa: ANN401 (a mask)
    """Return the rows that have any value; those in gaps have none."""
    values = [getattr(series, name) for name in ("q_world_from_body", "position_world")
              if getattr(series, name, None) is not None]  # fmt: skip
    if isinstance(series, ImuSeries):
        values += [series.angular_velocity, series.specific_force]
    return np.logical_or.reduce([np.isfinite(each).any(axis=1) for each in values])


def joined(blocks: Iterable[Recording]) -> Iterable[Recording]:
    """Yield all blocks of a recording as one."""
    blocks = list(blocks)
    if not blocks:
        return
    groups: dict[str, Any] = {}
    for holds, kind in HOLDS.items():
        parts: dict[str, list[Any]] = {}
        for block in blocks:
            for topic, series in getattr(block, holds).items():
                parts.setdefault(topic, []).append(series)
        groups[holds] = {topic: kind.concatenate(each) for topic, each in parts.items()}
    yield replace(blocks[0], **groups)
