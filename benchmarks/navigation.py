"""Navigation with GNSS: errors in outages of a recorded walk, and consistency of covariances.

Run with ``python benchmarks/navigation.py [FOLDER] [RUNS] [fit]``; the folder holds ``gnss_walk/``
(a walk with a consumer IMU and RTK fixes, rtklibexplorer/GNSS_IMU); by default it is the
environment variable STRAPDOWN_DATA.

**Walk.** The fixes are thinned from 4 Hz to 1 Hz, and in each trial those of 15 s are left out; the
errors are distances in space from the fixes that were left out. Only the part with fixed
ambiguities is used. ``end`` is the last fix of an outage, ``within`` the root mean square over it.
The files do not document mounting, lever arm and clocks. What the innovations of the fixes at 4 Hz
give (smallest sum of NIS, printed with ``fit``; the standard deviations are those of its
curvature) is in the constants below: the clocks agree without leap seconds, the velocities lag by
half of an interval of 4 Hz, and the antenna is next to the sensor. The attitude of the sensor is
found in motion, and its forward axis is not along the walk: the lateral speed is 0 at a point
0.67 m from the sensor, as if a person carried it in front of the body. ``walking`` is the same
with aiding by a walk at that point: no side slip (0.3 m/s, correlated over a second), and in an
outage the mean speed of the 10 s before.
The published program of this walk states 4 to 6 m after 15 s. pyins is not in the package registry,
so it is not compared.

**Monte Carlo.** Sensors with the noise of their sheets and biases as a calibration leaves them move
for 90 s on the rotating Earth, with fixes at 1 Hz of an antenna with a lever arm, and an outage of
15 s. ``nees`` is the ANEES of position, velocity and orientation (1 is consistent); ``outage`` the
root mean square error of position in the outages; open loop is the same start without any fix.
"""

from __future__ import annotations

import math
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.optimize import minimize

import strapdown
from strapdown.estimation import (
    Aiding,
    NavigationPrior,
    NavigationResult,
    NavigatorParams,
    StrapdownNavigator,
    align_in_motion,
    gnss_aiding,
)
from strapdown.geometry import quaternion
from strapdown.inertial.navigation import Place
from strapdown.motion import Mounted, MultiSine, Sines, Wgs84
from strapdown.sensors import ImuSpec, TriadSpec, TurnOn
from strapdown.series import FixType, GnssSeries, ImuSeries, Trajectory
from strapdown.simulation import find_sensor, simulate
from strapdown.units import STANDARD_GRAVITY, ns_from_decimal_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._typing import FloatArray

LEAP_SECONDS: Final = 18  # by which the clock of the sensor is ahead of UTC: it is that of GPS
POSITION_LATENCY_S: Final = -0.018  # +- 0.002
VELOCITY_LATENCY_S: Final = 0.122  # +- 0.002: half of an interval of 0.25 s
LEVER_ARM: Final = (-0.045, 0.007, 0.027)  # m, +- 0.004, 0.003, 0.009
CARRIED: Final = (0.0, 0.665, 0.0)  # m, from the sensor to the point without lateral speed
FORWARD: Final = math.atan2(-1.0, 0.178)  # rad, heading of the walk in the axes of the sensor
FORWARD_FROM_SENSOR: Final = quaternion.from_rotation_vector([0.0, 0.0, -FORWARD])
LATERAL: Final = (0.8, 0.3)  # m/s, of a sample of the lateral and the vertical velocity, ...
FORWARD_SIGMA: Final = 0.8  # m/s, ... and of the forward velocity, ...
WALKING_HZ: Final = 5.0  # ... of which the errors are correlated
WALKING_FROM_S: Final = 12.0
WALK: Final = NavigatorParams(
    gyro_noise=1e-3,
    accel_noise=2e-2,
    gyro_walk=5e-5,
    accel_walk=1e-3,
    gyro_bias_sigma=0.01,
    accel_bias_sigma=0.2,
    gate=1.0,
)
FIX_SCALE: Final = 1.2  # times the stated standard deviations of the positions
FIXED_UNTIL_S: Final = 87.0  # after the first sample
OUTAGE_S: Final = 15.0
OUTAGES_S: Final = tuple(range(24, 72, 4))  # beginnings, one a trial

SENSORS: Final = {"BMI088": (3e-3, 3e-2), "ADIS16470": (5e-4, 1e-2), "HG4930": (2e-5, 2e-3)}
"""Standard deviations of the biases [rad/s], [m/s^2]."""
FIXES: Final = (0.02, 0.5, 1.5)  # m, standard deviation of a coordinate
RATE_HZ: Final = 100
SECONDS: Final = 90.0
SETTLED: Final = 20 * RATE_HZ  # first row that counts, then one a second
OUT: Final = (50.0, 65.0)
ANTENNA: Final = (0.3, -0.2, 0.8)  # m
LATITUDE, HEIGHT = 0.8, 200.0
START: Final = np.repeat([1.0, 0.1, 0.01], 3)  # sigmas of position, velocity, orientation


class Outages(NamedTuple):
    """Distances from the fixes that were left out [m]: at the end, and within each outage."""

    end: FloatArray
    within: FloatArray

    def __str__(self) -> str:
        return (
            f"end: mean {self.end.mean():.3f}, largest {self.end.max():.3f} m;"
            f" within: rms {np.sqrt(np.mean(self.within**2)):.3f} m"
        )


def read_walk(folder: Path) -> tuple[ImuSeries, GnssSeries]:
    """Return the part with fixed ambiguities, on the clock of the sensor."""
    rows = np.loadtxt(folder / "imu_1730_sf.csv", delimiter=",", usecols=range(7), dtype=str)
    t_ns = np.array([ns_from_decimal_seconds(each) for each in rows[:, 0]])
    values = rows[:, 1:].astype(float)
    series = ImuSeries(t_ns, values[:, 3:], values[:, :3] * STANDARD_GRAVITY)
    fixes = strapdown.open(folder / "gnss_1730_sf.pos").gnss["gnss"]
    fixes = fixes.replace(t_ns=fixes.t_ns + LEAP_SECONDS * 10**9)
    until = t_ns[0] + round(FIXED_UNTIL_S * 1e9)
    kept = (fixes.t_ns > t_ns[0] + 10**9) & (fixes.t_ns < until)
    kept &= fixes.fix_type == FixType.RTK_FIXED
    return series[t_ns < until], fixes[kept]


def walk_aiding(
    fixes: GnssSeries,
    origin: tuple[float, float, float],
    latencies: Sequence[float] = (POSITION_LATENCY_S, VELOCITY_LATENCY_S),
    lever_arm: Sequence[float] = LEVER_ARM,
) -> list[Aiding]:
    """Return positions and velocities, each with its latency."""
    none = np.zeros_like(fixes.position_covariance)
    scaled = fixes.position_covariance * FIX_SCALE**2
    positions = fixes.replace(position_covariance=scaled, velocity_world=None)
    velocities = fixes.replace(position_covariance=none)
    return [
        each
        for series, latency in zip((positions, velocities), latencies, strict=True)
        for each in gnss_aiding(series, origin, lever_arm=lever_arm, latency=latency)
    ]


def fitted(folder: Path) -> tuple[FloatArray, FloatArray]:
    """Return both latencies and the lever arm with the smallest innovations, and their sigmas."""
    series, fixes = read_walk(folder)
    origin = fixes.origin
    place = Place("wgs84", latitude=origin[0], height=origin[2])
    start = align_in_motion(series, walk_aiding(fixes, origin), WALK, place=place)

    def misfit(numbers: FloatArray) -> float:
        aiding = walk_aiding(fixes, origin, numbers[:2].tolist(), numbers[2:].tolist())
        navigator = StrapdownNavigator(WALK, start=start, place=place)
        return sum(each.nis for each in navigator.run(series, aiding=aiding).aiding)

    simplex = np.zeros((6, 5)) + np.vstack([np.zeros(5), np.diag([0.05, 0.1, 0.1, 0.1, 0.1])])
    options = {"xatol": 1e-3, "fatol": 0.5, "initial_simplex": simplex}
    best = minimize(misfit, simplex[0], method="Nelder-Mead", options=options).x
    steps = np.diag([0.01, 0.02, 0.02, 0.02, 0.02])
    rise = [misfit(best + step) + misfit(best - step) - 2.0 * misfit(best) for step in steps]
    return best, np.diag(steps) * np.sqrt(2.0 / np.array(rise))


def forward_axes(series: ImuSeries, start: NavigationPrior) -> tuple[ImuSeries, NavigationPrior]:
    """Return the walk in axes whose first is forward."""
    back = FORWARD_FROM_SENSOR
    turned = series.replace(
        angular_velocity=quaternion.rotate(back, series.angular_velocity),
        specific_force=quaternion.rotate(back, series.specific_force),
    )
    return turned, replace(
        start,
        q_world_from_body=quaternion.multiply(start.q_world_from_body, quaternion.conjugate(back)),
    )


def walking_aiding(series: ImuSeries, fixes: GnssSeries, begin_s: float) -> list[Aiding]:
    """Return no side slip, and in an outage the speed before it, at the point that is carried."""
    arm = quaternion.rotate(FORWARD_FROM_SENSOR, CARRIED)
    since_s = since_first(series)
    steps = series.t_ns[since_s > WALKING_FROM_S][:: round(series.rate_hz / WALKING_HZ)].tolist()
    found = [Aiding.non_holonomic(t_ns, LATERAL, lever_arm=arm) for t_ns in steps]
    first, last = (series.t_ns[0] + round(s * 1e9) for s in (begin_s, begin_s + OUTAGE_S))
    before = (fixes.t_ns < first) & (fixes.t_ns > first - 10 * 10**9)
    speed = float(np.hypot(*fixes.velocity_world[before, :2].T).mean())
    return found + [
        Aiding.forward_speed(t_ns, speed, FORWARD_SIGMA, lever_arm=arm)
        for t_ns in steps
        if first < t_ns < last
    ]


def antenna_at(result: NavigationResult, arm: FloatArray, t_ns: FloatArray) -> FloatArray:
    """Return the positions of a lever arm at some instants."""
    at = result.position_world + quaternion.rotate(result.q_world_from_body, arm)
    return np.column_stack([np.interp(t_ns, result.t_ns, axis) for axis in at.T])


def outages(
    folder: Path,
    *,
    smooth: bool,
    walking: bool = False,
    begins_s: Sequence[int] = OUTAGES_S,
) -> Outages:
    """Return the errors of the filter or the smoother, a trial an outage."""
    series, fixes = read_walk(folder)
    origin, thin = fixes.origin, np.arange(len(fixes)) % 4 == 0
    place = Place("wgs84", latitude=origin[0], height=origin[2])
    since_s = (fixes.t_ns - series.t_ns[0]) * 1e-9
    arm = quaternion.rotate(FORWARD_FROM_SENSOR, LEVER_ARM) if walking else np.array(LEVER_ARM)
    early = series[since_first(series) < OUTAGES_S[0]]
    first = align_in_motion(early, walk_aiding(fixes[thin], origin), WALK, place=place)
    end, within = [], []
    for begin in begins_s:
        out = (since_s > begin) & (since_s < begin + OUTAGE_S)
        aiding = walk_aiding(fixes[thin & ~out], origin)
        data, start = series, first
        if walking:
            data, start = forward_axes(series, first)
            aiding = [replace(each, lever_arm=arm) for each in aiding]
            aiding += walking_aiding(data, fixes[thin & ~out], begin)
        navigator = StrapdownNavigator(WALK, start=start, place=place)
        result = navigator.run(data, aiding=aiding, smooth=smooth)
        t_ns = fixes.t_ns[out] - round(POSITION_LATENCY_S * 1e9)
        away = antenna_at(result, arm, t_ns) - fixes.local_enu(origin)[out]
        distance = np.linalg.norm(away, axis=1)
        end.append(distance[-1])
        within.append(math.sqrt(np.mean(distance**2)))
    return Outages(np.array(end), np.array(within))


def since_first(series: ImuSeries) -> FloatArray:
    """Return the time since the first sample [s]."""
    return np.asarray((series.t_ns - series.t_ns[0]) * 1e-9)


def moving(rng: np.random.Generator) -> Mounted:
    """Return a motion over tens of metres with turns, on the rotating Earth."""

    def sines(size: tuple[float, float], pace: tuple[float, float]) -> Sines:
        shape = (3, 3)
        phases = rng.uniform(0.0, 2.0 * math.pi, shape)
        return Sines(rng.uniform(*size, shape), rng.uniform(*pace, shape), phases)

    motion = MultiSine(sines((2.0, 10.0), (0.1, 0.5)), sines((0.1, 0.3), (0.3, 1.5)))
    return Mounted(motion, earth=Wgs84(LATITUDE, 0.0, HEIGHT))


def sensor_of(name: str) -> ImuSpec:
    """Return a sensor with the noise of its sheet, and random biases."""
    gyro_bias, accel_bias = SENSORS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = find_sensor(name, rate_hz=RATE_HZ)
    return ImuSpec(
        rate_hz=RATE_HZ,
        gyro=_noise_alone(spec.gyro, gyro_bias),
        accel=_noise_alone(spec.accel, accel_bias),
    )


def _noise_alone(spec: TriadSpec, bias: float) -> TriadSpec:
    return TriadSpec(
        noise_density=spec.noise_density,
        bias_instability=spec.bias_instability,
        resolution=spec.resolution,
        turn_on_bias=TurnOn("normal", bias),
    )


def params_of(name: str) -> NavigatorParams:
    """Return the parameters that fit a sensor; a walk follows the instability over 8 s."""
    spec = sensor_of(name)
    gyro_bias, accel_bias = SENSORS[name]
    densities = {}
    for sensor, triad in (("gyro", spec.gyro), ("accel", spec.accel)):
        rounding = float(np.max(triad.resolution or 0.0)) / math.sqrt(12.0 * RATE_HZ)
        densities[f"{sensor}_noise"] = math.hypot(float(np.max(triad.noise_density)), rounding)
        densities[f"{sensor}_walk"] = float(np.max(triad.bias_instability or 0.0)) / math.sqrt(8.0)
    return NavigatorParams(
        gyro_bias_sigma=gyro_bias, accel_bias_sigma=accel_bias, gate=1.0, **densities
    )


class Trial(NamedTuple):
    """Mean NEES of 9 errors per degree of freedom, and squared position errors in the outage."""

    nees: float
    outage: float


def trial(name: str, sigma: float, seed: int) -> dict[str, Trial]:
    """Return a simulated run, navigated without fixes, by the filter and by the smoother."""
    rng = np.random.default_rng(seed)
    run = simulate(moving(rng), sensor_of(name), SECONDS, seed=seed)
    series, truth, params = run.samples.series(stamps="true"), run.truth, params_of(name)
    if truth is None:
        raise SystemExit("expected a motion with a truth")
    start = start_of(truth, rng, params)
    antenna = truth.position_world + quaternion.rotate(truth.q_world_from_body, ANTENNA)
    aiding = [
        Aiding.position(
            int(truth.t_ns[k]), antenna[k] + sigma * rng.normal(size=3), sigma**2, lever_arm=ANTENNA
        )
        for k in range(RATE_HZ, len(truth), RATE_HZ)
        if not OUT[0] <= k / RATE_HZ < OUT[1]
    ]
    place = Place("wgs84", latitude=LATITUDE, height=HEIGHT)
    found = {}
    for label, told, smooth in (
        ("open loop", [], False),
        ("filter", aiding, False),
        ("smoother", aiding, True),
    ):
        navigator = StrapdownNavigator(params, start=start, place=place)
        result = navigator.run(series, aiding=told, smooth=smooth)
        found[label] = against(result, truth)
    return found


def start_of(
    truth: Trajectory, rng: np.random.Generator, params: NavigatorParams
) -> NavigationPrior:
    """Return a start with errors of the covariance that it states."""
    error = rng.normal(size=9) * START
    turn = quaternion.from_rotation_vector(-error[6:])
    sigmas = [*START, *[params.accel_bias_sigma] * 3, *[params.gyro_bias_sigma] * 3]
    return NavigationPrior(
        quaternion.multiply(turn, truth.q_world_from_body[0]),
        truth.velocity_world[0] - error[3:6],
        truth.position_world[0] - error[:3],
        covariance=np.diag(np.square(sigmas)),
    )


def against(result: NavigationResult, truth: Trajectory) -> Trial:
    """Return the errors of a run."""
    turn = quaternion.multiply(
        truth.q_world_from_body, quaternion.conjugate(result.q_world_from_body)
    )
    off = np.hstack(
        [
            truth.position_world - result.position_world,
            truth.velocity_world - result.velocity_world,
            quaternion.to_rotation_vector(turn),
        ]
    )
    rows = slice(SETTLED, None, RATE_HZ)
    solved = np.linalg.solve(result.covariance[rows], off[rows, :, None])[..., 0]
    outage = slice(*(round(second * RATE_HZ) for second in OUT))
    squares = np.sum(off[outage, :3] ** 2, axis=1)
    return Trial(float(np.mean(np.sum(off[rows] * solved, axis=1) / 9.0)), float(squares.mean()))


def monte_carlo(name: str, sigma: float, runs: int) -> dict[str, Trial]:
    """Return the mean of runs: ANEES, and root mean square error in the outages."""
    found = [trial(name, sigma, seed) for seed in range(runs)]
    return {
        label: Trial(
            float(np.mean([each[label].nees for each in found])),
            math.sqrt(np.mean([each[label].outage for each in found])),
        )
        for label in found[0]
    }


def main(folder: Path, runs: int, *, fit: bool) -> None:
    """Print the tables."""
    walk = folder / "gnss_walk"
    if fit:
        names = "latency of positions", "of velocities", "lever arm x", "y", "z"
        for name, *numbers in zip(names, *fitted(walk), strict=True):
            print("  {:22} {:7.3f} +- {:.3f}".format(name, *numbers))
    if walk.exists():
        print(f"walk: {len(OUTAGES_S)} outages of {OUTAGE_S:.0f} s, fixes at 1 Hz")
        for walking in (False, True):
            for smooth in (False, True):
                label = ("smoother" if smooth else "filter") + ", walking" * walking
                print(f"  {label:18} {outages(walk, smooth=smooth, walking=walking)}")
    print(f"\n{runs} runs of {SECONDS:.0f} s: nees; error in an outage of 15 s [m]")
    print(f"{'sensor':10} {'fix':>6} {'open loop':>10} {'filter':>15} {'smoother':>15}  ratio")
    for name in SENSORS:
        for sigma in FIXES:
            found = monte_carlo(name, sigma, runs)
            free, *aided = found.values()  # an error of kilometres is not linear: no nees
            cells = " ".join(f"{each.nees:6.2f} {each.outage:8.3f}" for each in aided)
            ratio = found["smoother"].outage / found["filter"].outage
            print(f"{name:10} {sigma:5.2f}m {free.outage:10.1f} {cells}  {ratio:.3f}")


if __name__ == "__main__":
    default = os.environ.get("STRAPDOWN_DATA", "shared/data")
    main(
        Path(sys.argv[1] if len(sys.argv) > 1 else default),
        int(sys.argv[2]) if len(sys.argv) > 2 else 20,
        fit="fit" in sys.argv[3:],
    )
