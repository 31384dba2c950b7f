"""What the cases run on: recordings of the data folder, and a series that is hard on everything."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

import strapdown
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries
from strapdown.series.timebase import ordered
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

DATA = Path(os.environ.get("STRAPDOWN_DATA", Path(__file__).parents[3] / "shared" / "data"))
MOST_ROWS = 20_000
STEP_NS = 10_000_000  # of the hard series
FIELD = np.array([0.0, 2.5e-5, -4.3e-5])  # T, ENU
RANGE_GYRO, RANGE_ACCEL = 8.0, 78.0  # rad/s, m/s^2: where the hard series clips

RECORDINGS = {
    "broad-02": "broad/02_undisturbed_slow_rotation_B.npz",
    "broad-08": "broad/08_undisturbed_fast_rotation_with_breaks_A.npz",
    "broad-24": "broad/24_disturbed_tapping_A.npz",
    "broad-34": "broad/34_disturbed_attached_magnet_3cm.npz",
    "pyshoe-walk": "pyshoe/2017-11-22-11-22-03.npz",
    "pyshoe-run": "pyshoe/2017-12-15-18-00-13.npz",
    "tumvi-room1": "tumvi/room1.npz",
    "imu-static": "imu_static/adis_16405_imu1.npz",
    "gnss-walk": "gnss_walk/imu_1730_sf.csv",
    "gait-tracking": "gait_tracking/short_walk.csv",
    "px4-sample": "px4/ulog/sample.ulg",
    "px4-small": "px4/ulog/sample_log_small.ulg",
}
"""File of each recording in the data folder."""


@cache
def series_of(name: str) -> ImuSeries:
    """Return the beginning of a recording, or the hard series."""
    if name == "hard":
        return hard()
    return _read(DATA / RECORDINGS[name], name.partition("-")[0])


def _read(path: Path, source: str) -> ImuSeries:
    if source == "px4":
        found = strapdown.open(path, on_error="salvage").imu["sensor_combined"]
        return found[:MOST_ROWS]
    return _read_csv(path, source) if path.suffix == ".csv" else _read_npz(path, source)


def _read_csv(path: Path, source: str) -> ImuSeries:
    rows = np.loadtxt(path, delimiter=",", skiprows=int(source == "gait"), max_rows=MOST_ROWS)
    t_ns = np.round((rows[:, 0] - rows[0, 0]) * 1e6).astype(np.int64) * 1000
    first, second = rows[:, 1:4], rows[:, 4:7]
    if source == "gait":
        return ImuSeries(t_ns, first * RAD_PER_DEG, second * STANDARD_GRAVITY)
    return ImuSeries(t_ns, second, first * STANDARD_GRAVITY)


def _read_npz(path: Path, source: str) -> ImuSeries:
    rows = slice(MOST_ROWS)
    with np.load(path) as data:
        if source == "imu":
            rate = data["gyr_lsb"][rows] * (float(data["gyr_scale_dps"]) * RAD_PER_DEG)
            force = data["acc_lsb"][rows] * (float(data["acc_scale_g"]) * STANDARD_GRAVITY)
            return ImuSeries(np.arange(len(rate)) * STEP_NS, rate, force)
        rate, force = data["gyr"][rows], data["acc"][rows]
        if source == "broad":
            field = data["mag"][rows] * np.float64(1e-6)
            return ImuSeries(np.arange(len(rate)) * 3_500_000, rate, force, magnetic_field=field)
        if source == "pyshoe":
            t_ns = np.round((data["t"] - data["t"][0]) * 1e9).astype(np.int64)[rows]
            return ImuSeries(t_ns, rate, force, body="FRD", world="NED")
        return ImuSeries(data["t_ns"][rows], rate, force)


@cache
def in_order(name: str) -> ImuSeries:
    """Return the samples of a series whose stamps ascend."""
    return ordered(series_of(name), "drop")[0]


def samples_of(series: ImuSeries) -> list[ImuSample]:
    """Return the samples of a series one by one, in FLU axes; a vector of NaN is none."""
    inside = series.in_frames(body="FLU", world="ENU")
    none = np.zeros(len(inside), np.uint8)
    field = inside.magnetic_field
    columns = (
        inside.t_ns,
        inside.angular_velocity,
        inside.specific_force,
        np.full((len(inside), 3), np.nan) if field is None else field,
        none if inside.gyro_clipping is None else inside.gyro_clipping,
        none if inside.accel_clipping is None else inside.accel_clipping,
    )
    return [
        ImuSample(t, w, f, None if np.isnan(m).all() else m, g, a)
        for t, w, f, m, g, a in zip(*(column.tolist() for column in columns), strict=True)
    ]


class _Motion:
    """Angular velocity of the body, and forces other than gravity, phase after phase."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.rates: list[np.ndarray] = []
        self.gravity: list[np.ndarray] = []  # 1: felt; 0: in free fall
        self.forces: list[np.ndarray] = []

    def phase(self, seconds, rate=(0.0, 0.0, 0.0), *, felt=1.0, force=(0.0, 0.0, 0.0)):
        rows = round(seconds * 100)
        wave = np.sin(np.pi * (np.arange(rows) + 0.5) / rows)[:, None]
        self.rates.append(np.asarray(rate) * wave)
        self.forces.append(np.asarray(force) * wave)
        self.gravity.append(np.full(rows, felt))

    def tumble(self, seconds, size):
        t = np.arange(round(seconds * 100))[:, None] * 0.01
        pace, phase = self.rng.uniform(2.0, 9.0, (1, 3)), self.rng.uniform(0.0, 6.0, (1, 3))
        self.rates.append(size * np.sin(pace * t + phase))
        self.forces.append(size * np.cos(pace * t - phase))
        self.gravity.append(np.ones(len(t)))

    def fall(self, turn_rad_s=3.0, impact_m_s2=70.0, *, spin=0.0):
        self.phase(0.3, felt=0.5)
        self.phase(0.45, (2.0, 1.0, spin), felt=0.0)
        self.phase(0.06, (0.0, turn_rad_s, 0.0), force=(0.3 * impact_m_s2, 5.0, impact_m_s2))
        self.phase(0.8, (0.0, turn_rad_s, 0.0), force=(0.0, 0.0, 4.0))


def _rotations(rates: np.ndarray) -> np.ndarray:
    """Return R_world_from_body after each step of 10 ms, (N, 3, 3)."""
    attitude, found = np.eye(3), []
    for x, y, z in (rates * 0.01).tolist():
        angle = max((x * x + y * y + z * z) ** 0.5, 1e-12)
        axis = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) / angle
        turn = np.eye(3) + np.sin(angle) * axis + (1.0 - np.cos(angle)) * (axis @ axis)
        attitude = attitude @ turn
        found.append(attitude)
    return np.array(found)


def hard() -> ImuSeries:
    """Return a hundred seconds in which everything happens that a sensor can do.

    The first fifteen seconds have one of each, for those that go through them in plain Python.
    Values are rounded, so that they are the same with any mathematics library.
    """
    rng = np.random.default_rng(20)
    motion = _Motion(rng)
    motion.phase(1.6)  # rest
    motion.tumble(1.4, 1.5)
    motion.fall(spin=25.0)  # a spinning free fall, an impact that clips
    motion.phase(2.2)
    motion.tumble(2.0, 3.0)
    motion.phase(1.19)
    motion.tumble(3.0, 2.0)
    motion.phase(2.0)
    for k in range(4):
        motion.tumble(4.0, 1.0 + 2.5 * k)
        motion.fall(3.0 - k, 30.0 + 30.0 * k, spin=6.0 * k)
        motion.phase(4.0 + 6.0 * (k == 1))  # once long enough for a long lie
        motion.phase(1.0, (0.0, 0.0, 1.5), force=(3.0, 0.0, 0.0))
    motion.phase(1.5, (0.0, 0.0, 40.0), felt=0.0)  # thrown, turning beyond the range
    motion.phase(0.03, force=(90.0, -90.0, 150.0))
    motion.phase(6.0)
    motion.tumble(20.0, 2.0)
    motion.phase(5.0)
    rates, felt = np.concatenate(motion.rates), np.concatenate(motion.gravity)
    R = _rotations(rates)
    up = R[:, 2, :] * (STANDARD_GRAVITY * felt)[:, None]
    n = len(rates)
    w = rates + rng.normal(0.0, 0.004, (n, 3)) + [0.01, -0.006, 0.004]
    f = up + np.concatenate(motion.forces) + rng.normal(0.0, 0.05, (n, 3)) + [0.05, -0.1, 0.08]
    m = np.einsum("nji,j->ni", R, FIELD) + rng.normal(0.0, 3e-7, (n, 3))
    return _damaged(rng, np.round(w, 9), np.round(f, 9), np.round(m, 12))


def _damaged(rng: np.random.Generator, w, f, m) -> ImuSeries:
    n = len(w)
    for low, high in ((760, 900), (7000, 7400)):  # a magnet
        m[low:high] += [3e-5, -1e-5, 2e-5]
    m[np.arange(n) % 4 != 1] = np.nan  # slower than the others
    t_ns = 1_000_000_000 + np.arange(n) * STEP_NS + rng.integers(-200_000, 200_000, n)

    gyro_bits = ((np.abs(w) >= RANGE_GYRO) @ [1, 2, 4]).astype(np.uint8)
    accel_bits = ((np.abs(f) >= RANGE_ACCEL) @ [1, 2, 4]).astype(np.uint8)
    w, f = np.clip(w, -RANGE_GYRO, RANGE_GYRO), np.clip(f, -RANGE_ACCEL, RANGE_ACCEL)
    gyro_bits[5000:] = accel_bits[5000:] = 0  # clipped, but the samples do not say so

    for first in (620, 4300, 6600):
        w[first : first + 60, 0] = w[first, 0]  # stuck axes
        f[first + 30 : first + 90, 1] = f[first + 30, 1]
        w[first + 110 : first + 115] = 0.0  # dropouts to exact zeros
        f[first + 113 : first + 118] = 0.0
        m[first + 113 : first + 118] = 0.0
        f[first + 130 : first + 133] = 1e7  # implausible
    for values in (w, f, m):
        values[rng.random(n) < 0.01] = np.nan
        values[1050:1056] = np.nan
    w[1100, 1], f[1101, 2], f[1102, 0] = np.nan, np.inf, -np.inf
    w[4600:4780] = np.nan  # silent for almost two seconds
    f[4650:4900] = np.nan

    t_ns[950:] += 400_000_000  # gaps
    t_ns[1150:] += 60_000_000
    t_ns[1300:] += 12_000_000_000  # the clock jumps ahead
    t_ns[6400:] += 2_500_000_000
    t_ns[8000:] -= 5_000_000_000  # and back
    for row in (1000, 1020, 5200, 5600):
        t_ns[row] = t_ns[row - 1]  # duplicates
        t_ns[row + 5] -= 35_000_000  # backward stamps
    for row in (1040, 5300):  # two sensors in two messages of one stamp
        t_ns[row] = t_ns[row - 1]
        w[row], f[row - 1] = np.nan, np.nan
    kept = (rng.random(n) >= 0.01) | (np.arange(n) < 10)
    series = ImuSeries(
        t_ns, w, f, magnetic_field=m, gyro_clipping=gyro_bits, accel_clipping=accel_bits
    )
    return series[kept]
