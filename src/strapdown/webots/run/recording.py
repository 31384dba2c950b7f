"""Recordings of the sensors of a world in files."""

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
"""Endings of files for samples."""
_BLOCK: Final = 2**14
"""Samples in memory at once while a file is written."""


@dataclass
class RecordingReport(FieldsAsHtml):
    """Report of a recording, filled when the recording ends.

    Parameters
    ----------
    path : Path
        The file.
    samples : dict of str to int
        Number of samples by topic.
    notes : tuple of str
        Notes for the user, one line each.
    lost : tuple of str
        Data that the file could not contain, one line each.
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

    So are those of every GPS. Topics are those of :meth:`SensorLog.recording`. CSV contains one
    table: ``imu/data``, or the first device if no robot has such a topic; the others are listed as
    losses.
    The file appears, complete, when the ``with`` statement ends without an error.

    Parameters
    ----------
    world : World
        World of the sensors.
    path : path-like
        Path with the ending .mcap, .npz, .parquet or .csv.
    force : bool, optional
        Replace an existing file.

    Yields
    ------
    RecordingReport
        Filled when the ``with`` statement ends.

    Raises
    ------
    UnsupportedError
        The file has another ending.
    FileExistsError
        The file exists, and ``force`` is not set.
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
            for topic, series in {**block.imu, **block.gnss, **block.trajectories}.items():
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
    """Return a block with the one topic of a CSV file: the one written so far, or the best one."""
    left_out.update({**block.gnss, **block.trajectories})
    block = replace(block, gnss={}, trajectories={})
    known = [*written, *(topic for topic in block.imu if topic.endswith("imu/data")), *block.imu]
    if not known:
        return block
    chosen = known[0]
    covered = chosen.removesuffix("imu/data")  # imu/data includes the devices of its robot
    left_out.update(topic for topic in block.imu if not topic.startswith(covered))
    return replace(block, imu={topic: s for topic, s in block.imu.items() if topic == chosen})


def _notes(log: SensorLog, samples: Mapping[str, int], path: Path) -> Iterator[str]:
    if not samples:
        yield f"{path} is empty: no controller enabled an inertial sensor for a whole period"
    for name, kind in log.other.items():
        yield f"{kind} {name!r} is not recorded"
    if log.resets:
        yield f"the simulation was reset {log.resets} times; time stamps continue over each reset"
