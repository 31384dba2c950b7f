"""Recordings, streams of samples, and simulated people who fall or do something else."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

G = 9.80665
RATE_HZ = 200.0
SECONDS = 10.0


def as_samples(series: ImuSeries) -> list[ImuSample]:
    """Return the samples of a series, one by one."""
    none = np.zeros(len(series), np.uint8)
    gyro = none if series.gyro_clipping is None else series.gyro_clipping
    accel = none if series.accel_clipping is None else series.accel_clipping
    columns = (series.t_ns, series.angular_velocity, series.specific_force)
    rows = zip(*(column.tolist() for column in (*columns, gyro, accel)), strict=True)
    return [ImuSample(t, w, f, None, g, a) for t, w, f, g, a in rows]


@pytest.fixture(scope="session")
def stream():
    """Return a function: the events that a loop of update gives, and the detector after it."""

    def run(detector, series):
        found = [detector.update(sample) for sample in as_samples(series)]
        return [event for event in found if event is not None]

    return run


@pytest.fixture(scope="session")
def recordings(data_dir):
    """Every development recording of a moving sensor, by name."""
    found = {}
    for path in sorted((data_dir / "broad").glob("*.npz")):
        data = np.load(path)
        t_ns = np.round(np.arange(len(data["acc"])) * (1e9 / float(data["fs"]))).astype(np.int64)
        found[f"broad {path.stem[:2]}"] = ImuSeries(t_ns, data["gyr"], data["acc"])
    for path in sorted((data_dir / "pyshoe").glob("*.npz")):
        data = np.load(path)
        t_ns = np.round((data["t"] - data["t"][0]) * 1e9).astype(np.int64)
        found[f"walk {path.stem}"] = ImuSeries(t_ns, data["gyr"], data["acc"], body="FRD")
    for path in sorted((data_dir / "tumvi").glob("*.npz")):
        data = np.load(path)
        found[path.stem] = ImuSeries(data["t_ns"], data["gyr"], data["acc"])
    return found


@pytest.fixture(scope="session")
def static_log(data_dir):
    """Return the log of a sensor of few codes that stands still, 2.8 h."""
    data = np.load(data_dir / "imu_static" / "adis_16405_imu1.npz")
    rate = np.radians(data["gyr_lsb"] * float(data["gyr_scale_dps"]))
    force = data["acc_lsb"] * float(data["acc_scale_g"]) * G
    return ImuSeries(np.arange(len(rate)) * 10_000_000, rate, force)


class Person:
    """Ten seconds of a sensor at the waist: magnitude of the specific force, and tilt."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.t = np.arange(0.0, SECONDS, 1.0 / RATE_HZ)
        self.size = np.full(len(self.t), G)
        self.tilt = np.zeros(len(self.t))
        self.at = 4.0 + self.draw(0.0, 0.5)  # when it begins
        self.restless = 0.3

    def draw(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def level(self, seconds: float, size_g: float, ramp: float = 0.04) -> None:
        """Hold a magnitude from ``at`` on, with ramps; then it is later."""
        edge = np.clip((self.t - self.at) / ramp, 0, 1) * np.clip(
            (self.at + seconds - self.t) / ramp, 0, 1
        )
        self.size += edge * (size_g - 1.0) * G
        self.at += seconds

    def hit(self, peak_g: float, seconds: float, ring_hz: float = 0.0) -> None:
        """Half of a sine, and ringing after it."""
        phase = (self.t - self.at) / seconds
        self.size += np.where((phase > 0) & (phase < 1), np.sin(np.pi * phase), 0) * peak_g * G
        self.at += seconds
        after = np.clip(self.t - self.at, 0, None)
        ring = np.exp(-after / 0.05) * np.sin(2 * np.pi * ring_hz * after)
        self.size += 0.3 * peak_g * G * ring

    def lean(self, angle_deg: float, start: float, stop: float) -> None:
        """Tilt smoothly by so much more."""
        share = np.clip((self.t - start) / (stop - start), 0, 1)
        self.tilt += np.radians(angle_deg) * share**2 * (3 - 2 * share)

    def series(self) -> ImuSeries:
        """Return what the sensor, mounted anyhow, reads."""
        axes, _ = np.linalg.qr(self.rng.normal(size=(3, 3)))
        direction = np.outer(np.cos(self.tilt), axes[0]) + np.outer(np.sin(self.tilt), axes[1])
        sums = np.cumsum(self.rng.normal(size=(len(self.t) + 40, 3)), axis=0)
        slow = (sums[40:] - np.concatenate([np.zeros((1, 3)), sums[: len(self.t) - 1]])) / 40**0.5
        force = self.size[:, None] * direction + self.restless * slow
        force += 0.05 * self.rng.normal(size=force.shape)
        rate = np.gradient(self.tilt, self.t)[:, None] * axes[2]
        rate = rate + 0.01 * self.rng.normal(size=rate.shape)
        return ImuSeries(np.round(self.t * 1e9).astype(np.int64), rate, force)


def fall(seed: int) -> ImuSeries:
    """Low for a while, an impact with ringing, then lying, and moving."""
    person = Person(seed)
    start = person.at
    person.level(person.draw(0.2, 0.5), person.draw(0.2, 0.7))
    person.hit(person.draw(3, 12), person.draw(0.02, 0.06), person.draw(10, 25))
    person.lean(person.draw(60, 120), start, person.at + 0.3)
    person.restless = person.draw(0.2, 1.0)
    return person.series()


def sit_down(seed: int) -> ImuSeries:
    """Drop into a chair; the trunk leans forward and mostly back again."""
    person = Person(seed)
    start = person.at
    person.level(person.draw(0.15, 0.3), person.draw(0.5, 0.9))
    person.hit(person.draw(1, 3), person.draw(0.04, 0.08), 8.0)
    person.lean(30.0, start - 0.5, start)
    person.lean(-30.0 + person.draw(0, 25), person.at, person.at + 0.6)
    return person.series()


def jump(seed: int) -> ImuSeries:
    """Crouch, 0.3 s of flight, landing."""
    person = Person(seed)
    person.level(0.2, person.draw(1.3, 1.8))
    person.level(0.3, person.draw(0.03, 0.15), ramp=0.02)
    person.hit(person.draw(3, 5), person.draw(0.04, 0.08), 12.0)
    person.lean(person.draw(0, 15), person.at, person.at + 0.5)
    return person.series()


def climb_stairs(seed: int) -> ImuSeries:
    """Two steps a second, one after the other."""
    person = Person(seed)
    pace, depth = person.draw(1.5, 2.2), person.draw(0.2, 0.45)
    steps = np.sin(2 * np.pi * pace * person.t)
    person.size += G * depth * (steps + 0.8 * np.clip(steps, 0, None) ** 6)
    person.lean(person.draw(0, 10), 3.0, 4.0)
    return person.series()


def lie_down(seed: int) -> ImuSeries:
    """Lie down slowly: tilt and no impact."""
    person = Person(seed)
    start = person.at
    person.level(0.5, person.draw(0.7, 0.95))
    person.hit(person.draw(0.1, 0.4), 0.1)
    person.lean(person.draw(60, 100), start - 1.0, start + person.draw(1.0, 2.0))
    return person.series()


def stumble(seed: int) -> ImuSeries:
    """Trip, catch oneself with a hard step, and stand up straight again."""
    person = Person(seed)
    start = person.at
    person.level(0.15, person.draw(0.3, 0.7))
    person.hit(person.draw(2, 4), person.draw(0.03, 0.06), 12.0)
    bent = person.draw(25, 50)
    person.lean(bent, start, person.at)
    person.lean(person.draw(0, 15) - bent, person.at + 0.1, person.at + 0.8)
    return person.series()


def drop_device(seed: int, *, leave: bool = False) -> ImuSeries:
    """Let the device fall from the hand, and pick it up or leave it on the floor."""
    person = Person(seed)
    start = person.at
    person.level(person.draw(0.3, 0.5), person.draw(0.0, 0.03), ramp=0.006)
    person.hit(person.draw(8, 15), person.draw(0.01, 0.02), 40.0)
    turned = person.draw(60, 180)
    person.lean(turned, start, person.at)
    if not leave:
        picked = person.at + person.draw(0.2, 0.4)
        person.lean(person.draw(0, 25) - turned, picked, picked + 0.5)
    return person.series()


@pytest.fixture(scope="session")
def people():
    """Functions of a seed: what a sensor reads of a fall, and of what can be taken for one."""
    return {
        kind.__name__: kind
        for kind in (fall, sit_down, jump, climb_stairs, lie_down, stumble, drop_device)
    }
