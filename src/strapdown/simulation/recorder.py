"""Sensors on a motion, many of them, streamed to files in bounded memory."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from strapdown._html import FieldsAsHtml
from strapdown.errors import ValueRangeError
from strapdown.formats import Recording, block_writer
from strapdown.formats._output import check_ending
from strapdown.sensors import Flag
from strapdown.sensors.filters import oversampling
from strapdown.series import ImuSeries, Increments, Trajectory
from strapdown.simulation.run import Run, as_ride, find_sensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from os import PathLike

    from strapdown.formats import BlockWriter
    from strapdown.motion import InertialSource, Motion
    from strapdown.samples import SampleKind
    from strapdown.sensors import ImuSpec, Samples
    from strapdown.simulation.motions import Ride

    Series: TypeAlias = ImuSeries | Increments | Trajectory

__all__ = ["ENDINGS", "TRUTH_ENDINGS", "SimulationReport", "record"]

ENDINGS: Final = (".mcap", ".bag", ".ulg", ".csv", ".npz", ".parquet")
"""Formats of files that hold samples."""
TRUTH_ENDINGS: Final = (*ENDINGS, ".tum")
"""Formats of files for the truth alone."""
TRUTH: Final = "truth/pose"
"""Topic of the truth."""
_ROWS: Final = 2**16
"""Internal samples of all sensors together in memory at once, for a small number of sensors."""
_FEWEST_ROWS: Final = 2**8


@dataclass(frozen=True)
class SimulationReport(FieldsAsHtml):
    """An account of a run that was written to files.

    Parameters
    ----------
    seed : int
        Key of all noise.
    sensors : tuple of str
        Their names.
    samples : int
        Of all sensors together.
    duration_s : float
        Length of the run [s].
    files : dict of str to int
        Messages or rows in each file, by its path.
    dropped : int
        Samples lost between sensor and host, as the specification states.
    clipped : dict of str to int
        Samples with an axis at its limit, for gyro and accel.
    missing : tuple of str
        Parameters that the specification lacks: these terms are off.
    notes : tuple of str
        Remarks about the files, one line each.
    lost : tuple of str
        Data that the files could not hold, one line each.
    """

    seed: int
    sensors: tuple[str, ...]
    samples: int
    duration_s: float
    files: Mapping[str, int]
    dropped: int
    clipped: Mapping[str, int]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    lost: tuple[str, ...]


def record(  # noqa: PLR0913 (as simulate)
    path: str | PathLike[str],
    motion: Ride | InertialSource | Motion | str | PathLike[str],
    sensor: ImuSpec | str | PathLike[str] = "ideal",
    duration_s: float | None = None,
    *,
    rate_hz: float | None = None,
    sampling: SampleKind | str | None = None,
    sensors: int = 1,
    seed: int | None = 0,
    start_ns: int | None = None,
    truth: str | PathLike[str] | None = None,
    force: bool = False,
    progress: Callable[[float], object] | None = None,
    **conditions: Any,  # noqa: ANN401 (handed on to ImuSimulator, which checks them)
) -> SimulationReport:
    """Simulate one or more sensors on a motion, and stream them to a file in bounded memory.

    One sensor is topic ``imu/data`` (``imu/increments`` where it gives increments), many are
    ``imu0/data``, ``imu1/data``, ..., each with independent noise. The truth is ``truth/pose``, at
    the nominal instants of the samples. A CSV file holds one table, so there each topic gets a
    file: ``run.csv``, or ``run.imu0.csv`` and so on, and ``run.truth.csv``. Files appear when
    they are whole.

    Parameters
    ----------
    path : path-like
        Ends in .mcap, .bag, .ulg, .npz, .parquet or .csv.
    motion, sensor, duration_s, rate_hz, sampling, seed, start_ns, **conditions
        As :func:`simulate`.
    sensors : int
        Number of sensors.
    truth : path-like, optional
        A file for the truth alone; it may also end in .tum, which has no velocity.
    force : bool
        Replace files that exist.
    progress : callable, optional
        Called with the fraction that is done.

    Returns
    -------
    SimulationReport

    Raises
    ------
    UnknownNameError, FormatError, ValueRangeError
        As :func:`simulate`.
    UnsupportedError
        A file has another ending.
    FileExistsError
        A file exists, and not ``force``.
    BackendMissingError
        The format needs a package that is not installed.
    """
    path, truth = Path(path), None if truth is None else Path(truth)
    check_ending(path, ENDINGS)
    if truth is not None:
        check_ending(truth, TRUTH_ENDINGS)
    if sensors < 1:
        raise ValueRangeError(f"expected at least 1 sensor, got {sensors}")
    names = ("imu",) if sensors == 1 else tuple(f"imu{i}" for i in range(sensors))
    spec = find_sensor(sensor, rate_hz=rate_hz, sampling=sampling)
    ride = as_ride(motion, duration_s)
    if truth is not None and not ride.source.has_pose:
        raise ValueRangeError(f"expected a motion with a pose for the truth, got {ride.name}")
    run = Run(ride, spec, names, seed, start_ns, conditions)
    places = _places(path, truth, names, spec, has_pose=ride.source.has_pose)
    tally: Counter[str] = Counter()
    with ExitStack() as stack:
        writers = {
            at: stack.enter_context(block_writer(at, force=force))
            for at in dict.fromkeys(places.values())
        }
        rows = max(_FEWEST_ROWS, _ROWS // (sensors * oversampling(spec)))
        for samples, pose in run.blocks(rows):
            for own in samples:
                _account(tally, own)
            _write(writers, places, [*map(_series, samples), *([] if pose is None else [pose])])
            if progress is not None:
                progress(tally["samples"] / (run.count * sensors))
    return SimulationReport(
        seed=run.simulators[0].key.seed,
        sensors=names,
        samples=tally["samples"],
        duration_s=ride.duration_s,
        files={str(at): writer.messages for at, writer in writers.items()},
        dropped=tally["dropped"],
        clipped={triad: tally[triad] for triad in ("gyro", "accel")},
        missing=spec.missing(),
        notes=tuple(dict.fromkeys(_notes(places, writers))),
        lost=tuple(line for writer in writers.values() for line in writer.lost),
    )


def _places(
    path: Path, truth: Path | None, names: tuple[str, ...], spec: ImuSpec, *, has_pose: bool
) -> dict[str, Path]:
    """Return the file of each topic: of each sensor, and of the truth."""
    last = "increments" if spec.sampling.is_increment else "data"
    parts = {f"{name}/{last}": name for name in names} | ({TRUTH: "truth"} if has_pose else {})
    places = dict.fromkeys(parts, path)
    if path.suffix.lower() == ".csv":
        for topic, part in parts.items():
            if part != "imu":
                places[topic] = path.with_name(f"{path.stem}.{part}{path.suffix}")
    if truth is not None:
        places[TRUTH] = truth
    return places


def _notes(places: Mapping[str, Path], writers: Mapping[Path, BlockWriter]) -> Iterator[str]:
    for topic, at in places.items():
        ending = at.suffix.lower()
        if ending == ".csv" and topic != TRUTH:
            yield "CSV has no place for covariances"
        if ending == ".tum":
            yield "TUM has no place for velocities"
    for at, writer in writers.items():
        if at.suffix.lower() not in {".csv", ".tum"}:  # of which each topic has a file
            yield from writer.notes


def _write(
    writers: Mapping[Path, BlockWriter], places: Mapping[str, Path], parts: list[Series]
) -> None:
    """Write the next rows of every topic, in the order of the topics."""
    for at, writer in writers.items():
        own = {t: part for (t, to), part in zip(places.items(), parts, strict=True) if to == at}
        if at.suffix.lower() == ".tum":
            own = {TRUTH: own[TRUTH].replace(velocity_world=None)}
        writer.write(
            Recording(
                imu={t: part for t, part in own.items() if isinstance(part, ImuSeries)},
                increments={t: part for t, part in own.items() if isinstance(part, Increments)},
                trajectories={t: part for t, part in own.items() if isinstance(part, Trajectory)},
            )
        )


def _series(samples: Samples) -> ImuSeries | Increments:
    return samples.series() if samples.delta_angle is None else samples.increments()


def _account(tally: Counter[str], samples: Samples) -> None:
    tally["samples"] += len(samples)
    tally["gyro"] += int(np.count_nonzero(samples.gyro_clipping))
    tally["accel"] += int(np.count_nonzero(samples.accel_clipping))
    tally["dropped"] += int(np.count_nonzero(samples.flags & Flag.DROPPED))
