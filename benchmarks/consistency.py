"""Consistency of covariances: simulated runs of sensors with the errors of their data sheets.

Run with ``python benchmarks/consistency.py [RUNS]``. In each run a sensor with newly drawn noise,
biases and scale errors follows another lively motion for a minute, as if held in the hand, with a
magnetometer in a uniform field. The figure is the ANEES: the squared error of the orientation,
normalised by its covariance and its three degrees of freedom, averaged over all runs. 1 is
consistent, more is overconfident, less is conservative. The band is that of consistent covariances
with a probability of 95 %, where each run counts as a single sample. ``defaults`` are the default
parameters, ``matched`` those set to the data sheet and to the speed and field of the simulation.
Errors without a standard deviation or limit in the data sheet are not simulated.
"""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.estimation import (
    Aiding,
    ErrorStateFilter,
    ErrorStateParams,
    ErrorStateSmoother,
    NavigationPrior,
    NavigationResult,
    NavigatorParams,
    SmootherParams,
    StrapdownNavigator,
)
from strapdown.evaluation import Consistency, consistency, orientation_nees
from strapdown.geometry import euler
from strapdown.motion import PoseSpline
from strapdown.samples import SampleKind
from strapdown.sensors import ImuSpec, TriadSpec, TurnOn
from strapdown.simulation import find_sensor, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown.estimation import OrientationResult
    from strapdown.series import ImuSeries, Trajectory

    Result = OrientationResult | NavigationResult
    Estimate = Callable[[ImuSeries, Trajectory], Result]

SENSORS: Final = ("ADIS16470", "MPU-6050")
RATE_HZ: Final = 100
SECONDS: Final = 60.0
SETTLED: Final = 10 * RATE_HZ  # the first row that counts; then one a second
GYRO_BIAS, ACCEL_BIAS = 0.003, 0.03  # rad/s, m/s^2: standard deviations
FIELD: Final = (0.0, 18e-6, -41e-6)  # T
FIELD_NOISE: Final = 5e-7  # T, of a sample
SPEED, SPEED_TIME, PULL_S = 0.5, 0.5, 10.0  # m/s; s; s within which it comes back
SWING: Final = (0.35, 0.2, 0.5)  # rad, of each of five sines of roll, pitch and yaw
TURNING: Final = 0.5  # rad/sqrt(s): density of the angular velocity
MEAN: Final = SampleKind.MEAN
REST_S: Final = 2.0
STEP_S: Final = 0.1  # between the poses that the motion goes through
FIX: Final = 0.1  # m, of a position given once a second


def lively(rng: np.random.Generator) -> PoseSpline:
    """Return a motion as the filters suppose it, that begins at rest, level, towards the east.

    Velocity is a Gauss-Markov process, weakly pulled back to the origin; the three angles are
    sums of sines.
    """
    t_s = np.arange(-0.5, SECONDS + 0.5, STEP_S)
    keep = math.exp(-STEP_S / SPEED_TIME)
    kicks = rng.normal(0.0, SPEED * math.sqrt(1.0 - keep**2), (t_s.size, 3))
    velocity, position = np.zeros((2, t_s.size, 3))
    ramp = np.clip(t_s - REST_S, 0.0, 1.0)[:, np.newaxis]
    for k in range(1, t_s.size):
        velocity[k] = keep * velocity[k - 1] + kicks[k]
        position[k] = position[k - 1] * (1.0 - STEP_S / PULL_S) + velocity[k] * ramp[k] * STEP_S
    pace = 2.0 * math.pi * rng.uniform(0.05, 0.5, (5, 3))
    phase = rng.uniform(0.0, 2.0 * math.pi, (5, 3))
    angles = np.sin(t_s[:, None, None] * pace + phase).sum(axis=1) * ramp
    q = euler.to_quaternion(angles * SWING, "zyx")
    return PoseSpline.from_poses(t_s, position, q, mode="interpolate")


def sensor_of(name: str) -> ImuSpec:
    """Return the sensor with the biases that a calibration leaves, and a magnetometer."""
    spec = find_sensor(name, rate_hz=RATE_HZ, sampling="mean")
    return replace(
        spec,
        gyro=replace(spec.gyro, turn_on_bias=TurnOn("normal", GYRO_BIAS)),
        accel=replace(spec.accel, turn_on_bias=TurnOn("normal", ACCEL_BIAS)),
        mag=TriadSpec(noise_density=FIELD_NOISE / math.sqrt(RATE_HZ)),
    )


def scale_sigma(spec: TriadSpec) -> float:
    """Return the standard deviation of scale errors; a uniform one has its half width / root 3."""
    drawn = spec.turn_on_scale
    if drawn is None:
        return 0.0
    return float(max(drawn.per_axis())) / (
        math.sqrt(3.0) if drawn.distribution == "uniform" else 1.0
    )


def noise_of(spec: TriadSpec) -> float:
    """Return the density of white noise and rounding together, of the worst axis."""
    rounding = np.max(spec.resolution or 0.0) / math.sqrt(12.0 * RATE_HZ)
    return math.hypot(float(np.max(spec.noise_density or 0.0)), float(rounding))


def matched_filter(spec: ImuSpec) -> ErrorStateParams:
    """Return parameters of the filter that fit the simulation."""
    return ErrorStateParams(
        gyro_noise=noise_of(spec.gyro),
        gyro_scale_noise=0.0,
        gyro_bias_sigma=GYRO_BIAS,
        gyro_bias_walk=2e-5,  # as far as a walk is like flicker noise
        gyro_matrix_sigma=scale_sigma(spec.gyro),
        accel_noise=noise_of(spec.accel),
        accel_bias_sigma=ACCEL_BIAS,
        rest_rate_sigma=0.001,
        speed_sigma=SPEED,
        speed_time=SPEED_TIME,
        field_noise=FIELD_NOISE / math.hypot(*FIELD),
        field_sigma=1e-3,
        field_time=0.5 / RATE_HZ,
        north_sigma=0.0,
        field_delay_sigma=0.0,
    )


def matched_smoother(spec: ImuSpec) -> SmootherParams:
    """Return parameters of the smoother that fit the simulation."""
    known = matched_filter(spec)
    return SmootherParams(
        gyro_noise=known.gyro_noise,
        gyro_scale_noise=0.0,
        speed_turn_noise=0.0,
        bias_walk=known.gyro_bias_walk,
        speed_noise=known.accel_noise,
        place_noise=PULL_S * SPEED * math.sqrt(2.0 * SPEED_TIME),
        field_noise=known.field_noise / math.sqrt(RATE_HZ),
        bias_prior=known.gyro_bias_sigma,
        accel_prior=known.accel_bias_sigma,
        matrix_prior=known.gyro_matrix_sigma,
        delay_prior=0.0,
    )


def matched_navigator(spec: ImuSpec) -> NavigatorParams:
    """Return parameters of the navigator that fit; an unknown scale is noise to it."""
    known = matched_filter(spec)
    return NavigatorParams(
        sample_kind=MEAN,
        gyro_noise=math.hypot(known.gyro_noise, known.gyro_matrix_sigma * TURNING),
        accel_noise=known.accel_noise,
        gyro_walk=known.gyro_bias_walk,
        gyro_bias_sigma=GYRO_BIAS,
        accel_bias_sigma=ACCEL_BIAS,
    )


def filtered(params: ErrorStateParams, *, field: bool) -> Estimate:
    """Return the filter, with or without the magnetometer."""
    return lambda series, _: ErrorStateFilter(params).run(series, use_magnetic_field=field)


def smoothed(params: SmootherParams, *, field: bool) -> Estimate:
    """Return the smoother, with or without the magnetometer."""
    return lambda series, _: ErrorStateSmoother(params).run(series, use_magnetic_field=field)


def navigated(params: NavigatorParams) -> Estimate:
    """Return the navigator, from a known start and with a position once a second."""

    def run(series: ImuSeries, truth: Trajectory) -> NavigationResult:
        rng = np.random.default_rng(0)
        place = np.asarray(truth.position_world)
        start = NavigationPrior(truth.q_world_from_body[0], np.zeros(3), place[0])
        fixes = [
            Aiding.position(int(truth.t_ns[k]), place[k] + FIX * rng.normal(size=3), FIX**2)
            for k in range(RATE_HZ, len(truth), RATE_HZ)
        ]
        return StrapdownNavigator(params, start=start).run(series, aiding=fixes)

    return run


def squares(result: OrientationResult | NavigationResult, truth: Trajectory) -> float:
    """Return the mean squared error of a run in units of its covariance, of three components."""
    rows = slice(SETTLED, None, RATE_HZ)
    covariance = (
        result.covariance[:, 6:9, 6:9]
        if isinstance(result, NavigationResult)
        else result.orientation_covariance
    )
    nees = orientation_nees(
        result.q_world_from_body[rows], truth.q_world_from_body[rows], covariance[rows]
    )
    return float(nees.mean())


def estimators(spec: ImuSpec, hows: Sequence[str]) -> dict[str, Estimate]:
    """Return every estimator with the sets of parameters named."""
    filters = {"defaults": ErrorStateParams(), "matched": matched_filter(spec)}
    smoothers = {"defaults": SmootherParams(), "matched": matched_smoother(spec)}
    navigators = {"defaults": NavigatorParams(sample_kind=MEAN), "matched": matched_navigator(spec)}
    table: dict[str, Estimate] = {}
    for how in hows:
        for axes, field in (("9D", True), ("6D", False)):
            table[f"eskf {axes}, {how}"] = filtered(filters[how], field=field)
            table[f"eskf smoothed {axes}, {how}"] = smoothed(smoothers[how], field=field)
        table[f"navigator, {how}"] = navigated(navigators[how])
    return table


def anees(
    name: str, runs: int, hows: Sequence[str] = ("defaults", "matched")
) -> dict[str, Consistency]:
    """Return how honest each estimator is with a sensor."""
    spec = sensor_of(name)
    table = estimators(spec, hows)
    found: dict[str, list[float]] = {label: [] for label in table}
    for seed in range(runs):
        motion = lively(np.random.default_rng(seed))
        run = simulate(motion, spec, SECONDS, seed=seed, magnetic_field_world=FIELD)
        series, truth = run.samples.series(stamps="true"), run.truth
        if truth is None:
            raise SystemExit(f"expected {motion} to have a truth")
        for label, estimate in table.items():
            found[label].append(squares(estimate(series, truth), truth))
    return {label: consistency(each, 3, level=0.95) for label, each in found.items()}


def main(runs: int) -> None:
    """Print the table."""
    print(f"ANEES of {runs} runs of {SECONDS:.0f} s; [lower, upper] is the band of 95 %")
    for name in SENSORS:
        print(f"\n{name}")
        for label, found in anees(name, runs).items():
            verdict = "" if found.is_consistent else "outside"
            band = f"[{found.lower:.2f}, {found.upper:.2f}]"
            print(f"  {label:28} {found.average:8.2f}  {band}  {verdict}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 50)
