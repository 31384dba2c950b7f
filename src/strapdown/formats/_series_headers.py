"""Headers of series: what a file stores with its columns so that every series reads back equal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from strapdown.errors import StrapdownError
from strapdown.formats.recording import HOLDS, Recording
from strapdown.formats.reports import ReadReport
from strapdown.series import (
    BarometerSeries,
    GnssSeries,
    ImuSeries,
    Increments,
    SensorIdentity,
    Trajectory,
)
from strapdown.series.columns import present

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from strapdown._typing import AnyArray
    from strapdown.series.columns import Column

__all__ = [
    "Motion",
    "Series",
    "Unheld",
    "columns_of",
    "described",
    "heading",
    "history_of",
    "rebuild",
    "recording_of",
    "topics",
    "without_rows",
]

Motion: TypeAlias = ImuSeries | Trajectory | Increments
"""Series of what moves; aiding is the rest."""
Series: TypeAlias = Motion | GnssSeries | BarometerSeries

_NAMED: Final = {
    "name": "trajectory.name",
    "sensor.name": "sensor.name",
    "sensor.accel_device_id": "sensor.accel_device_id",
    "sensor.gyro_device_id": "sensor.gyro_device_id",
}
"""Fields that identify a series or a device, rather than hold samples."""


@dataclass
class Unheld:
    """Content of series that messages cannot hold.

    Attributes
    ----------
    lost : dict of str to None
        Samples, one line a topic.
    about : dict of str to None
        Information about samples: names, devices, covariances.
    """

    lost: dict[str, None] = field(default_factory=dict)
    about: dict[str, None] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """A line about the information that is left out, if any."""
        return [f"left out of the file: {', '.join(self.about)}"] if self.about else []

    def add(self, topic: str, names: Iterable[str]) -> None:
        """Add the names of fields of one topic."""
        samples = []
        for name in names:
            if name in _NAMED or name.endswith("_covariance"):
                self.about[_NAMED.get(name, name)] = None
            else:
                samples.append(name)
        if samples:
            self.lost[f"{topic}: {', '.join(samples)}"] = None


def topics(recording: Recording) -> Iterator[tuple[str, str, Series]]:
    """Yield group, topic and series of everything that a recording holds."""
    for holds in HOLDS:
        for topic, series in getattr(recording, holds).items():
            yield holds, topic, series


def heading(holds: str, series: Series) -> dict[str, Any]:
    """Return the header of a series, ready for JSON: all that its columns do not hold."""
    said: dict[str, Any] = {"holds": holds}
    said |= {
        name: str(getattr(series, name)) for name in ("body", "world") if hasattr(series, name)
    }
    if isinstance(series, Trajectory):
        said["name"] = series.name
    else:
        identity = series.sensor
        said["sensor"] = [identity.name, identity.accel_device_id, identity.gyro_device_id]
    said["columns"] = [name for name, _, _ in present(series)]
    return said


def described(said: Mapping[str, Mapping[str, Any]], history: Sequence[str]) -> str:
    """Return the description of a file as JSON: the header of each topic, and the processing."""
    past = {"history": list(history)} if history else {}
    return json.dumps({"version": 1, "topics": said, **past})


def rebuild(said: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Series:
    """Return the series of a header that :func:`heading` made.

    Raises
    ------
    ValueError
        The header is invalid, or does not fit the arrays.
    """
    columns_of(said)
    kind = HOLDS[said["holds"]]
    labels: dict[str, Any] = {
        name: said[name] for name in ("body", "world", "name") if name in said
    }
    if "sensor" in said:
        name, accel, gyro = said["sensor"]
        labels["sensor"] = SensorIdentity(str(name), int(accel), int(gyro))
    try:
        return kind(**{**arrays, **labels})
    except (StrapdownError, TypeError, KeyError) as error:
        raise ValueError(str(error)) from error


def columns_of(said: Mapping[str, Any]) -> dict[str, Column]:
    """Return the columns of a header by name.

    Raises
    ------
    ValueError
        The header is invalid.
    """
    kind = HOLDS.get(str(said.get("holds")))
    if kind is None:
        raise ValueError(f"expected a topic that holds {', '.join(HOLDS)}")
    declared = {
        each.name: each.metadata["column"] for each in fields(kind) if "column" in each.metadata
    }
    unknown = [name for name in said["columns"] if name not in declared]
    if unknown:
        raise ValueError(f"expected columns of {kind.__name__}, got {unknown[0]!r}")
    return {name: declared[name] for name in said["columns"]}


def without_rows(said: Mapping[str, Any]) -> Series:
    """Return the series of a header, without its rows.

    Raises
    ------
    ValueError
        The header is invalid.
    """
    columns = columns_of(said).items()
    return rebuild(
        said, {name: np.empty((0, *column.tail), column.dtype) for name, column in columns}
    )


def recording_of(
    path: Path,
    form: str,
    found: Mapping[str, tuple[str, Series]],
    description: Mapping[str, Any],
) -> Recording:
    """Return the recording of topics, each with its group, and of the description of a file."""
    groups: dict[str, Any] = {holds: {} for holds in HOLDS}
    for topic, (holds, series) in found.items():
        groups[holds][topic] = series
    rows = sum(len(series) for _, series in found.values())
    report = ReadReport(form, messages=rows)
    return Recording(path, report, **groups, history=history_of(description))


def history_of(description: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the steps of processing in the description of a file."""
    past = description.get("history")
    return tuple(map(str, past)) if isinstance(past, list) else ()
