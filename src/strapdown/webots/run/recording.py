"""What the sensors of a world measured, in files."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from strapdown._html import FieldsAsHtml
from strapdown.formats import Recording, block_writer
from strapdown.formats._output import check_ending
from strapdown.webots.run.sensor_log import SensorLog

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from strapdown.webots.world.world import World

__all__ = ["ENDINGS", "RecordingReport", "record"]

ENDINGS: Final = (".mcap", ".bag", ".ulg", ".csv", ".npz", ".parquet")
"""Of files that hold samples."""
_BLOCK: Final = 2**14
"""Samples that are in memory at once while a file is written."""


@dataclass
class RecordingReport(FieldsAsHtml):
    """An account of a recording of a world, filled when the recording ends.

    Parameters
    ----------
    path : Path
        The file.
    samples : dict of str to int
        By topic.
    notes : tuple of str
        What a user should know about it, one line each.
    lost : tuple of str
        What the file could not hold, one line each.
    """

    path: Path
    samples: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@contextmanager
def record(
    world: World, path: str | PathLike[str], *, force: bool = False
) -> Iterator[RecordingReport]:
    """Write every sample of the inertial sensors of a world to a file, in bounded memory.

    Topics are those of :meth:`SensorLog.recording`. CSV holds one table, which is ``imu/data``, or
    the first device's where no robot has such; what it leaves out is among the losses.
    The file appears, whole, when the ``with`` statement ends without an error.

    Parameters
    ----------
    world : World
        Whose sensors.
    path : path-like
        Ends in .mcap, .npz, .parquet or .csv.
    force : bool, optional
        Replace a file that exists.

    Yields
    ------
    RecordingReport
        It is filled when the ``with`` statement ends.

    Raises
    ------
    UnsupportedError
        The file has another ending.
    FileExistsError
        The file exists, and not ``force``.
    """
    path = Path(path)
    check_ending(path, ENDINGS)
    samples: dict[str, int] = {}
    left_out: set[str] = set()
    report = RecordingReport(path, samples)
    with block_writer(path, force=force) as writer, SensorLog(world) as log:

        def flush() -> None:
            block = log.recording()
            if path.suffix.lower() == ".csv":
                block = _one_table(block, samples, left_out)
            for topic, series in block.imu.items():
                samples[topic] = samples.get(topic, 0) + len(series)
            writer.write(block)
            log.clear()

        log.between_steps = lambda: flush() if len(log) >= _BLOCK else None
        yield report
        flush()
    report.notes = tuple(_notes(log, samples, path))
    lost = (f"{topic}: CSV holds one table" for topic in sorted(left_out))
    report.lost = (*writer.lost, *lost)


def _one_table(block: Recording, written: Mapping[str, int], left_out: set[str]) -> Recording:
    """Return a block with the one topic of a CSV file: that written so far, or the best one."""
    known = [*written, *(topic for topic in block.imu if topic.endswith("imu/data")), *block.imu]
    if not known:
        return block
    chosen = known[0]
    covered = chosen.removesuffix("imu/data")  # imu/data has the devices of its robot
    left_out.update(topic for topic in block.imu if not topic.startswith(covered))
    return replace(block, imu={topic: s for topic, s in block.imu.items() if topic == chosen})


def _notes(log: SensorLog, samples: Mapping[str, int], path: Path) -> Iterator[str]:
    if not samples:
        yield f"{path} is empty: no controller enabled an inertial sensor for a whole period"
    for name, kind in log.other.items():
        yield f"{kind} {name!r} is not recorded"
    if log.resets:
        yield f"the simulation was reset {log.resets} times; the time of the recording goes on"
