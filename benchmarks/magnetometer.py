"""Calibration of magnetometers compared with magcal and magyc, and headings before and after.

Run with ``python benchmarks/magnetometer.py``. ``magcal`` comes with the extra ``bench``; ``magyc``
needs NumPy 1 and therefore an environment of its own: ``pip install magyc``, then ``pip install -e
.`` in it. A library that is missing is left out. Real recordings: the folder ``broad`` of
``STRAPDOWN_DATA``, if there is one.

First table: a device is turned by hand for 60 s at 50 Hz, magnetometer with hard iron of 1.3 times
the field and soft iron of 20 %. Figures are medians over seeds: error of the bias in % of the
field, of the symmetric matrix (largest element, determinant 1) in %, and the angle between the
calibrated and the true direction over the whole sphere. Second table: heading error against the
true attitude (simulation) or optical motion capture (BROAD), raw, after ``ellipsoid`` and after
``align_magnetometer``; to recordings whose sensor was calibrated already, hard and soft iron and a
rotation by 25 deg are added. Third: samples a second of ``MagCalibrator``.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from _machine import describe
from strapdown.calibration import MagCalibrator, align_magnetometer, ellipsoid
from strapdown.errors import ValueRangeError
from strapdown.geometry import quaternion
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

if TYPE_CHECKING:
    from collections.abc import Callable

    Calibrated = tuple[np.ndarray, np.ndarray]  # A and b of m = A (s - b)

RATE_HZ = 50.0
SECONDS = 60.0
SEEDS = 5
NORM = 48.0  # uT
WORLD = NORM * np.array([0.0, np.cos(np.radians(65.0)), -np.sin(np.radians(65.0))])
BIAS = np.array([35.0, -20.0, 48.0])
IRON = np.array([[1.15, 0.08, -0.03], [0.08, 0.95, 0.05], [-0.03, 0.05, 0.95]])
IRON = IRON / np.cbrt(np.linalg.det(IRON))
TURN = quaternion.to_matrix(quaternion.from_rotation_vector(np.radians([15.0, -12.0, 16.0])))
DELAY_S = 0.013  # of BROAD's magnetometer, for the comparison with motion capture


class Session(NamedTuple):
    """Readings of a device that is turned, and the truth."""

    series: ImuSeries  # in T
    R_world_from_body: np.ndarray


def session(
    seed: int, *, noise: float = 0.005, outliers: float = 0.0, tilt: float = 3.0
) -> Session:
    """Return a simulated session; the device tilts by up to so many radians."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, SECONDS, 1.0 / RATE_HZ)
    phase = rng.uniform(0.0, 2.0 * np.pi, 3)
    roll = tilt * np.sin(0.61 * t + phase[0])
    pitch = 0.5 * tilt * np.sin(0.43 * t + phase[1])
    angles = np.column_stack([0.9 * t + phase[2], pitch, roll])
    q = np.array([0.0, 0.0, 0.0, 1.0])
    for column, axis in zip(angles.T, np.eye(3)[::-1], strict=True):
        q = quaternion.multiply(q, quaternion.from_rotation_vector(column[:, None] * axis))
    R = quaternion.to_matrix(q)
    step = quaternion.multiply(quaternion.conjugate(q[:-1]), q[1:])
    rate = quaternion.to_rotation_vector(step) * RATE_HZ
    rate = np.concatenate([rate[:1], rate])  # the mean over the interval before each sample
    field = np.transpose(R, (0, 2, 1)) @ WORLD
    readings = field @ np.linalg.inv(IRON).T + BIAS + rng.normal(0.0, noise * NORM, field.shape)
    hit = rng.permutation(len(t))[: round(outliers * len(t))]
    readings[hit] += NORM * rng.uniform(0.3, 1.2, (len(hit), 1)) * rng.normal(size=(len(hit), 3))
    force = np.transpose(R, (0, 2, 1)) @ [0.0, 0.0, 9.81]
    series = ImuSeries(
        (t * 1e9).astype(np.int64),
        rate + rng.normal(0.0, 0.002, rate.shape),
        force + rng.normal(0.0, 0.02, rate.shape),
        magnetic_field=1e-6 * readings,
    )
    return Session(series, R)


def peers() -> dict[str, Callable[[Session], Calibrated]]:
    """Return the methods of the libraries that are installed, and those of strapdown."""
    methods: dict[str, Callable[[Session], Calibrated]] = {
        "strapdown ellipsoid": lambda s: ours(ellipsoid(s.series)),
        "strapdown align": lambda s: ours(align_magnetometer(s.series)),
    }
    with contextlib.suppress(ImportError):
        from magcal.core import MagnetometerCalibrator  # noqa: PLC0415 (may be missing)

        def of_magcal(s: Session) -> Calibrated:
            calibrator = MagnetometerCalibrator()
            calibrator.raw_data = (1e6 * s.series.magnetic_field).tolist()
            found = calibrator.calibrate()
            return found["transform_matrix"], found["center"]

        methods["magcal ellipsoid"] = of_magcal
    try:
        from magyc import (  # noqa: PLC0415 (may be missing)
            ellipsoid_fit,
            ellipsoid_fit_fang,
            magyc_ls,
            magyc_nls,
            sphere_fit,
            twostep_hsi,
        )
    except ImportError:
        print("magyc is not installed here (it needs NumPy 1): its lines are left out")
        return methods

    def of_magyc(found: tuple[np.ndarray, ...]) -> Calibrated:
        return np.linalg.inv(found[1]), np.ravel(found[0])

    def field(s: Session) -> np.ndarray:
        return np.array(1e6 * s.series.magnetic_field)

    def with_gyro(s: Session) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return field(s), np.array(s.series.angular_velocity), s.series.t_ns * 1e-9

    return methods | {
        "magyc sphere_fit": lambda s: (np.eye(3), np.ravel(sphere_fit(field(s))[0])),
        "magyc ellipsoid_fit": lambda s: of_magyc(ellipsoid_fit(field(s))),
        "magyc ellipsoid_fit_fang": lambda s: of_magyc(ellipsoid_fit_fang(field(s))),
        "magyc twostep_hsi": lambda s: of_magyc(
            twostep_hsi(field(s), WORLD, measurement_noise_std=0.005 * NORM)
        ),
        "magyc magyc_ls": lambda s: of_magyc(magyc_ls(*with_gyro(s))),
        "magyc magyc_nls": lambda s: of_magyc(magyc_nls(*with_gyro(s))),
    }


def ours(found: object) -> Calibrated:
    """Return matrix and bias in the unit of the peers."""
    triad = found.calibration.magnetometer
    return triad.matrix, 1e6 * triad.bias


def errors(found: Calibrated) -> tuple[float, float, float]:
    """Return the errors of bias and matrix [%], and of directions [deg]."""
    matrix, bias = found
    matrix = matrix / np.cbrt(np.linalg.det(matrix))
    rng = np.random.default_rng(0)
    true = rng.normal(size=(2000, 3))
    true /= np.linalg.norm(true, axis=1, keepdims=True)
    got = (NORM * true @ np.linalg.inv(IRON).T + BIAS - bias) @ matrix.T
    cosine = (got * true).sum(axis=1) / np.linalg.norm(got, axis=1)
    angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return (
        100.0 * float(np.linalg.norm(bias - BIAS)) / NORM,
        100.0 * float(np.abs(matrix - IRON).max()),
        float(np.sqrt(np.mean(angle**2))),
    )


def compare() -> None:
    """Print the first table."""
    methods = peers()
    cases: dict[str, dict[str, float]] = {
        "all attitudes, noise 0.5 %": {},
        "all attitudes, noise 3 %": {"noise": 0.03},
        "all attitudes, 20 % outliers": {"outliers": 0.2},
        "tilted by up to 70 deg": {"tilt": 1.25},
        "tilted by up to 50 deg": {"tilt": 0.9},
    }
    for case, arguments in cases.items():
        data = [session(seed, **arguments) for seed in range(SEEDS)]
        print(f"\n{case:28} {'bias %':>8} {'matrix %':>9} {'deg':>7} {'worst deg':>10}"
              f" {'ms':>9} {'time ratio':>11}")  # fmt: skip
        base = 0.0
        for name, method in methods.items():
            found, times = [], []
            for each in data:
                start = time.perf_counter()
                with contextlib.suppress(ValueError, RuntimeError, np.linalg.LinAlgError):
                    with contextlib.redirect_stdout(io.StringIO()):
                        result = method(each)
                    found.append(errors(result))
                times.append(time.perf_counter() - start)
            spent = statistics.median(times)
            base = base or spent
            if len(found) < SEEDS or not np.isfinite(found).all():
                good = sum(np.isfinite(each).all() for each in found)
                print(f"{name:28} a result in {good} of {SEEDS} sessions")
                continue
            bias, matrix, angle = np.median(found, axis=0)
            worst = np.max(found, axis=0)[2]
            print(f"{name:28} {bias:8.2f} {matrix:9.2f} {angle:7.2f} {worst:10.2f}"
                  f" {1e3 * spent:9.1f} {spent / base:11.2f}")  # fmt: skip


def heading_error_deg(field: np.ndarray, R: np.ndarray) -> float:
    """Return the spread of the heading of a field in the world [deg]."""
    world = (R @ field[:, :, None])[:, :, 0]
    heading = np.exp(1j * np.arctan2(world[:, 0], world[:, 1]))
    return float(np.degrees(np.sqrt(np.mean(np.angle(heading * heading.mean().conj()) ** 2))))


def added(field: np.ndarray) -> np.ndarray:
    """Return a field as a disturbed, rotated magnetometer reads it."""
    return field @ TURN @ np.linalg.inv(IRON).T + 1e-6 * BIAS


def headings() -> None:
    """Print the second table."""
    rows: list[tuple[str, ImuSeries, np.ndarray, np.ndarray]] = []
    simulated = session(0)
    whole = np.arange(len(simulated.series))
    true = np.transpose(simulated.R_world_from_body, (0, 2, 1)) @ (1e-6 * WORLD)
    noise = np.random.default_rng(5).normal(0.0, 0.005e-6 * NORM, true.shape)
    turned = simulated.series.replace(magnetic_field=added(true) + noise)
    rows += [("simulated, rotated by 25 deg", turned, simulated.R_world_from_body, whole)]
    folder = os.environ.get("STRAPDOWN_DATA", Path(__file__).parents[2] / "shared" / "data")
    for path in sorted(Path(folder).glob("broad/*.npz")):
        trial = np.load(path)
        field = 1e-6 * trial["mag"].astype(np.float64)
        t_ns = np.arange(len(field)) * 3_500_000
        series = ImuSeries(t_ns, trial["gyr"], trial["acc"], magnetic_field=field)
        known = np.flatnonzero(~np.isnan(trial["ref"]).any(axis=1) & trial["mov"])
        q = quaternion.from_wxyz(trial["ref"][known].astype(np.float64))
        late = quaternion.from_rotation_vector(-DELAY_S * trial["gyr"][known].astype(np.float64))
        R = quaternion.to_matrix(quaternion.multiply(q, late))
        rows += [(path.stem[:30], series, R, known)]
        rows += [("    with errors added", series.replace(magnetic_field=added(field)), R, known)]
    print(
        f"\n{'heading error [deg]':32} {'raw':>7} {'ellipsoid':>10} {'aligned':>8} {'s':>6}  kind"
    )
    for name, series, R, known in rows:
        start = time.perf_counter()
        raw = heading_error_deg(series.magnetic_field[known], R)
        try:
            found = align_magnetometer(series, hemisphere="north")
        except ValueRangeError as error:
            print(f"{name:32} {raw:7.2f}  refused: {str(error)[:76]}")
            continue
        spent = time.perf_counter() - start
        fitted = found.fit.calibration.apply(series).magnetic_field[known]
        aligned = found.calibration.apply(series).magnetic_field[known]
        print(f"{name:32} {raw:7.2f} {heading_error_deg(fitted, R):10.2f}"
              f" {heading_error_deg(aligned, R):8.2f} {spent:6.2f}  {found.fit.kind}")  # fmt: skip


def streaming() -> None:
    """Print the speed of the stream."""
    series = session(0).series
    columns = (series.t_ns, series.angular_velocity, series.specific_force, series.magnetic_field)
    samples = [
        ImuSample(*row) for row in zip(*(column.tolist() for column in columns), strict=True)
    ]
    calibrator, start = MagCalibrator(), time.perf_counter()
    published = sum(calibrator.update(sample) is not None for sample in samples)
    spent = time.perf_counter() - start
    at_rest, start = samples[-1], time.perf_counter()
    for k in range(20_000):
        calibrator.update(
            ImuSample(
                at_rest.t_ns + (k + 1) * 20_000_000, (0.0, 0.0, 0.0), None, at_rest.magnetic_field
            )
        )
    rest = time.perf_counter() - start
    print(f"\nMagCalibrator: {len(samples) / spent:.0f} samples a second while turning"
          f" ({published} calibrations), {20_000 / rest:.0f} at rest")  # fmt: skip


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    print(describe("magcal", "magyc", "numpy"))
    align_magnetometer(session(0).series)  # loads or compiles what the timings leave out
    compare()
    headings()
    streaming()


if __name__ == "__main__":
    main()
