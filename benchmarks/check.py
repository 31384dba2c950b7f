"""Rate at which errors of convention are detected in recordings, and how fast.

Run with ``python benchmarks/check.py DATA`` (or STRAPDOWN_DATA). Every single error is injected
into every development recording with an IMU. "possible" are the recordings whose values the error
changes in a way that physics shows: axes and unit of the gyro need a gravity (or field) that
turns by more than 15 deg in the axes of the sensor, the sign of the accelerometer a recorded
orientation. "named" are those whose finding names the sensor at fault.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import strapdown
from strapdown.checking import check
from strapdown.geometry import quaternion
from strapdown.series import ImuSeries, Trajectory
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SWAP = np.eye(3)[[1, 0, 2]]
MIRROR = np.diag([1.0, 1.0, -1.0])
TURNED_DEG = 15.0


@dataclass(frozen=True)
class Case:
    """A recording: its IMU and its reference orientation, if any."""

    imu: ImuSeries
    track: Trajectory | None = None


@dataclass(frozen=True)
class Error:
    """An error of convention, what it needs to be seen, and the codes that name it."""

    inject: Callable[[Case], Case]
    needs: str
    codes: tuple[str, ...]


def on(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Case], Case]:
    """Return an error of a column of the IMU."""
    return lambda case: Case(
        case.imu.replace(**{name: change(getattr(case.imu, name))}), case.track
    )


def turned(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Case], Case]:
    """Return an error of the orientation."""

    def inject(case: Case) -> Case:
        q = change(case.track.q_world_from_body)
        return Case(case.imu, case.track.replace(q_world_from_body=q))

    return inject


def as_enu(case: Case) -> Case:
    """Return the orientation in NED from FRD, labelled as it was."""
    other = case.track.in_frames(
        world="NED" if case.track.world == "ENU" else "ENU",
        body="FRD" if case.track.body == "FLU" else "FLU",
    )
    return Case(case.imu, other.replace(world=case.track.world, body=case.track.body))


def scaled_stamps(factor: float) -> Callable[[Case], Case]:
    """Return stamps read in another unit."""

    def scaled(t_ns: np.ndarray) -> np.ndarray:
        return np.rint((t_ns - t_ns[0]) * factor).astype(np.int64)

    return lambda case: Case(case.imu.replace(t_ns=scaled(case.imu.t_ns)), None)


ACCEL, GYRO, MAG = "specific_force", "angular_velocity", "magnetic_field"
SIGN = ("attitude_convention", "attitude_gravity")
ERRORS: dict[str, Error] = {
    "accel in g": Error(on(ACCEL, lambda v: v / STANDARD_GRAVITY), "", ("accel_unit",)),
    "accel in mg": Error(on(ACCEL, lambda v: 1e3 * v / STANDARD_GRAVITY), "", ("accel_unit",)),
    "accel negated": Error(on(ACCEL, lambda v: -v), "track", SIGN),
    "accel x, y swapped": Error(on(ACCEL, lambda v: v @ SWAP), "turns", ("accel_axes",)),
    "accel z mirrored": Error(on(ACCEL, lambda v: v @ MIRROR), "turns", ("accel_axes",)),
    "gyro in deg/s": Error(on(GYRO, lambda v: v / RAD_PER_DEG), "turns", ("gyro_unit",)),
    "gyro negated": Error(on(GYRO, lambda v: -v), "turns", ("gyro_axes",)),
    "gyro x, y swapped": Error(on(GYRO, lambda v: v @ SWAP), "turns", ("gyro_axes",)),
    "gyro z mirrored": Error(on(GYRO, lambda v: v @ MIRROR), "turns", ("gyro_axes",)),
    "mag in uT": Error(on(MAG, lambda v: 1e6 * v), "mag", ("mag_unit",)),
    "mag x, y swapped": Error(on(MAG, lambda v: v @ SWAP), "mag turns", ("mag_axes",)),
    "mag z mirrored": Error(on(MAG, lambda v: v @ MIRROR), "mag turns", ("mag_axes",)),
    "ms read as s": Error(scaled_stamps(1e3), "", ("time_unit",)),
    "s read as ms": Error(scaled_stamps(1e-3), "", ("time_unit",)),
    "attitude inverted": Error(
        turned(quaternion.conjugate), "track turns", ("attitude_convention",)
    ),
    "attitude w x y z": Error(turned(quaternion.to_wxyz), "track", ("attitude_convention",)),
    "attitude constant": Error(
        turned(lambda q: np.tile([0.0, 0.0, 0.0, 1.0], (len(q), 1))),
        "track turns",
        ("attitude_constant",),
    ),
    "NED called ENU": Error(as_enu, "track turns", ("attitude_convention",)),
}
"""By name; ``inject`` makes them, and the original recording is the control."""


def cases(data: Path) -> Iterator[tuple[str, Case]]:
    """Yield the development recordings with an IMU, by name."""
    for path in sorted((data / "broad").glob("*.npz")):
        with np.load(path) as trial:
            stamps = np.arange(len(trial["gyr"])) * 3_500_000
            field = trial["mag"] * np.float64(1e-6)
            imu = ImuSeries(stamps, trial["gyr"], trial["acc"], magnetic_field=field)
            track = Trajectory(stamps, quaternion.from_wxyz(trial["ref"]))
            yield f"broad {path.stem[:2]}", Case(imu, track)
    for path in sorted((data / "tumvi").glob("*.npz")):
        with np.load(path) as room:
            imu = ImuSeries(room["t_ns"], room["gyr"], room["acc"])
            track = Trajectory(room["gt_t_ns"], quaternion.from_wxyz(room["gt"][:, 3:]))
            yield f"tumvi {path.stem}", Case(imu, track)
    for path in sorted((data / "pyshoe").glob("*.npz")):
        with np.load(path) as walk:
            stamps = np.rint(1e9 * walk["t"]).astype(np.int64)
            yield (
                f"pyshoe {path.stem}",
                Case(ImuSeries(stamps, walk["gyr"], walk["acc"], body="FRD")),
            )
    path = data / "gait_tracking" / "short_walk.csv"
    if path.is_file():
        yield "gait_tracking", Case(strapdown.open(path).imu_series())
    path = data / "gnss_walk" / "imu_1730_sf.csv"
    if path.is_file():
        rows = np.loadtxt(path, delimiter=",", usecols=range(7))
        stamps = np.rint(1e9 * (rows[:, 0] - rows[0, 0])).astype(np.int64)
        yield "gnss_walk", Case(ImuSeries(stamps, rows[:, 4:7], STANDARD_GRAVITY * rows[:, 1:4]))
    path = data / "imucal" / "example_ferraris_session.csv"
    if path.is_file():
        rows = np.loadtxt(path, delimiter=",", skiprows=1)
        stamps = np.rint(np.arange(len(rows)) * 1e9 / 102.4).astype(np.int64)
        yield "imucal", Case(ImuSeries(stamps, RAD_PER_DEG * rows[:, 1:4], rows[:, 4:7]))
    path = data / "imu_static" / "adis_16405_imu1.npz"
    if path.is_file():
        with np.load(path) as log:
            rate = RAD_PER_DEG * log["gyr_scale_dps"] * log["gyr_lsb"][:200_000]
            force = STANDARD_GRAVITY * log["acc_scale_g"] * log["acc_lsb"][:200_000]
        yield "imu_static", Case(ImuSeries(np.arange(len(rate)) * 10_000_000, rate, force))
    for path in sorted((data / "px4" / "ulog").glob("*.ulg")):
        recording = strapdown.open(path)
        topic = recording.reference_topic()
        track = None if topic is None else recording.trajectory(topic)
        yield f"px4 {path.stem}", Case(recording.imu_series(), track)


def is_possible(case: Case, error: Error) -> bool:
    """Return whether a recording shows an error in principle."""
    if "track" in error.needs and case.track is None:
        return False
    if "mag" in error.needs and case.imu.magnetic_field is None:
        return False
    return "turns" not in error.needs or turn_deg(case.imu) > TURNED_DEG


def turn_deg(imu: ImuSeries) -> float:
    """Return how far the mean of the specific force over 2 s turns in the axes of the sensor."""
    block = max(1, round(2.0 * imu.rate_hz))
    force = imu.specific_force[: len(imu) // block * block].reshape(-1, block, 3)
    mean = np.nanmean(force, axis=1)
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    cosine = np.clip(mean @ mean.T, -1.0, 1.0)
    return float(np.degrees(np.arccos(cosine.min())))


def codes(case: Case) -> set[str]:
    """Return the codes of the findings of a case."""
    tracks = {} if case.track is None else {"reference": case.track}
    return {finding.code for finding in check(case.imu, tracks).findings}


def main() -> None:
    """Print the table, findings on the originals, and the speed."""
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["STRAPDOWN_DATA"])
    recordings = dict(cases(data))
    started = time.perf_counter()
    originals = {name: codes(case) for name, case in recordings.items()}
    speed = sum(len(case.imu) for case in recordings.values()) / (time.perf_counter() - started)
    print(f"{len(recordings)} recordings, {speed:,.0f} samples a second")
    print(f"{'error':20} {'detected':>9} {'possible':>9} {'named':>6} {'beyond':>8}  missed")
    for name, error in ERRORS.items():
        rows = []
        for label, case in recordings.items():
            if ("track" in error.needs and case.track is None) or (
                "mag" in error.needs and case.imu.magnetic_field is None
            ):
                continue
            new = codes(error.inject(case)) - originals[label]
            rows.append((label, is_possible(case, error), bool(new), bool(new & {*error.codes})))
        seen = sum(found for _, possible, found, _ in rows if possible)
        possible = sum(possible for _, possible, _, _ in rows)
        named = sum(right for _, possible, _, right in rows if possible)
        beyond = sum(found for _, possible, found, _ in rows if not possible)
        missed = ", ".join(label for label, possible, found, _ in rows if possible and not found)
        print(f"{name:20} {seen:9} {possible:9} {named:6} {beyond:8}  {missed}")
    print("findings on the originals:")
    for label, found in originals.items():
        if found:
            print(f"  {label}: {', '.join(sorted(found))}")


if __name__ == "__main__":
    main()
