"""Error-state filter on simulated sensors: calibration, faults and covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.estimation.error_state.field import measure_field
from strapdown.estimation.error_state.filter import ErrorStateFilter
from strapdown.estimation.error_state.model import MATRIX_ERROR, OWN_ERRORS
from strapdown.estimation.error_state.params import ErrorStateParams
from strapdown.estimation.error_state.state import AGE, NORTH, ErrorStateMemory
from strapdown.evaluation import orientation_error
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries

DEG = np.pi / 180.0
REACTION = np.array([0.0, 0.0, 9.80665])  # reading of an accelerometer at rest
LEVEL, UP = 18e-6, -41e-6  # T
FIELD = np.array([0.0, LEVEL, UP])
DEFAULTS = ErrorStateParams()


def smooth(random, t, size, low, high):
    """Return three sums of five sines of random frequency [Hz] and phase, of an RMS."""
    pace = 2.0 * np.pi * random.uniform(low, high, (5, 3))
    phase = random.uniform(0.0, 2.0 * np.pi, (5, 3))
    return size * np.sqrt(0.4) * np.sin(t[:, None, None] * pace + phase).sum(axis=1)


def markov(random, shape, dt_over_tau, size):
    """Return Gauss-Markov processes, one a column."""
    keep = np.exp(-dt_over_tau)
    kicks = random.normal(0.0, size * np.sqrt(1.0 - keep * keep), shape)
    kicks[0] = random.normal(0.0, size, shape[1])
    return lfilter([1.0], [1.0, -keep], kicks, axis=0)


class Ride:
    """A sensor that rotates and moves about a place, and the readings of an ideal one."""

    def __init__(self, seed, seconds, rate_hz=100.0, *, turning=1.5, moving=0.5):
        self.random = np.random.default_rng(seed)
        self.dt = 1.0 / rate_hz
        self.t = np.arange(round(seconds * rate_hz)) * self.dt
        self.rates = smooth(self.random, self.t, turning, 0.05, 1.0)
        self.velocity = smooth(self.random, self.t, moving, 0.2, 1.2)
        self.start = Rotation.random(random_state=seed)

    def rest(self, until_s):
        """Begin with a rest."""
        envelope = np.clip(self.t - until_s, 0.0, 1.0)[:, None]
        self.rates, self.velocity = self.rates * envelope, self.velocity * envelope
        return self

    def attitude(self):
        steps = Rotation.from_rotvec(self.rates * self.dt)
        turned, apart = Rotation.concatenate([self.start, steps[1:]]), 1
        while apart < self.t.size:  # products of 2, 4, 8 ... factors
            turned = Rotation.concatenate([turned[:apart], turned[:-apart] * turned[apart:]])
            apart *= 2
        return turned

    def read(self, *, field=FIELD, gyro_bias=0.0, matrix=0.0, noise=1.0):
        """Return a series with noise, and the true attitude; ``field`` may vary."""
        truth = self.attitude()
        halves = Rotation.from_rotvec(0.5 * self.dt * self.rates)
        middle = truth * halves.inv()
        pushed = np.diff(self.velocity, axis=0, prepend=self.velocity[:1]) / self.dt
        random, count = self.random, self.t.size
        rates = self.rates + gyro_bias + random.normal(0.0, 0.003 * noise, (count, 3))
        rates = np.linalg.solve(np.eye(3) + matrix, rates.T).T
        forces = middle.inv().apply(pushed + REACTION)
        series = ImuSeries(
            np.round(self.t * 1e9).astype(np.int64),
            rates,
            forces + random.normal(0.0, 0.03 * noise, (count, 3)),
            magnetic_field=truth.inv().apply(np.zeros((count, 3)) + field)
            + random.normal(0.0, 5e-7 * noise, (count, 3)),
        )
        return series, truth.as_quat()


def errors(result, truth):
    """Return inclination and signed heading errors [deg]."""
    between = Rotation.from_quat(result.q_world_from_body) * Rotation.from_quat(truth).inv()
    z, w = between.as_quat().T[2:]
    heading = (np.degrees(2.0 * np.arctan2(z, w)) + 180.0) % 360.0 - 180.0
    return np.degrees(orientation_error(result.q_world_from_body, truth).inclination), heading


def learnt_matrix(filter_):
    """Return the gyro's matrix and the standard deviations of its elements."""
    memory = filter_._execution.memory(0)
    sigma = np.sqrt(np.diag(memory.error_covariance)[MATRIX_ERROR:OWN_ERRORS])
    return np.array(memory.gyro_matrix), sigma.reshape(3, 3)


def test_the_jacobian_of_the_heading_is_the_numeric_derivative():
    random = np.random.default_rng(4)
    for _ in range(20):
        memory = ErrorStateMemory(has_tilt=True, has_heading=True)
        m = random.normal(0.0, 1.0, 3)
        swing = np.cross(random.normal(0.0, 1.0, 3), m)
        for i, row in enumerate(memory.error_covariance):
            row[i] = 1.0  # so P H^T is H
        memory.field.total[:] = m.tolist()
        memory.field.swing[:] = swing[:2].tolist()
        memory.field.count = 1

        def heading(error, m=m, swing=swing):
            x, y, _ = Rotation.from_rotvec(error[:3]).apply(m - error[4] * swing)
            return np.arctan2(x, y) - error[3]

        measure_field(memory, DEFAULTS.settings(), 0.1)
        h = np.array(memory.correction.column)
        step = 1e-6 * np.eye(5)
        numeric = [(heading(-e) - heading(e)) / 2e-6 for e in step]  # of the residual, 0 at truth
        places = [0, 1, 2, NORTH, AGE]
        np.testing.assert_allclose(h[places], numeric, atol=1e-6 * max(1.0, np.abs(numeric).max()))
        assert not np.delete(h, places).any()


def test_scale_misalignment_and_bias_of_the_gyro_are_recovered():
    random = np.random.default_rng(8)
    matrix = random.choice([-1.0, 1.0], (3, 3)) * 0.01
    bias = np.array([0.006, -0.004, 0.005])
    ride = Ride(3, 120.0, turning=2.5, moving=0.05)
    series, truth = ride.read(matrix=matrix, gyro_bias=bias)
    params = replace(DEFAULTS, gyro_matrix_sigma=0.01, speed_sigma=0.1, gyro_noise=0.0005)
    orientation = ErrorStateFilter(replace(params, gyro_scale_noise=0.0, accel_noise=0.005))
    tilt, heading = errors(orientation.run(series), truth)
    m, sigma = learnt_matrix(orientation)
    assert sigma.max() < 2e-3
    assert (np.abs(m - matrix) < 3.5 * sigma + 1e-4).all()
    known = orientation.estimate
    assert (np.abs(known.gyro_bias - bias) < 4.0 * known.gyro_bias_sigma).all()
    assert tilt[-2000:].max() < 0.5
    assert np.abs(heading[-2000:]).max() < 2.5


@pytest.mark.parametrize("moving", [0.0, 1.0])
def test_without_rotation_the_matrix_of_the_gyro_does_not_move(moving):
    series, _ = Ride(1, 60.0, turning=0.0, moving=moving).read()
    orientation = ErrorStateFilter()
    orientation.run(series)
    m, sigma = learnt_matrix(orientation)
    assert np.abs(m).max() < 0.2 * DEFAULTS.gyro_matrix_sigma
    np.testing.assert_allclose(sigma, DEFAULTS.gyro_matrix_sigma, rtol=0.05)


@pytest.mark.parametrize("axis", ["z", "x"])
def test_a_step_of_the_field_for_half_a_minute_hardly_moves_heading(axis):
    ride = Ride(0, 120.0)
    away = (ride.t > 40.0) & (ride.t < 70.0)
    stepped = 1.3 * Rotation.from_euler(axis, 20.0, degrees=True).apply(FIELD)
    series, truth = ride.read(field=np.where(away[:, None], stepped, FIELD))
    result = ErrorStateFilter().run(series)
    tilt, heading = errors(result, truth)
    before = heading[(ride.t > 35.0) & (ride.t < 40.0)].mean()
    assert np.abs(heading[away] - before).max() < 1.0
    assert result.magnetic_disturbance[away].mean() > 0.95
    assert result.magnetic_disturbance[ride.t > 75.0].mean() < 0.05
    assert tilt[ride.t > 10.0].max() < 1.5


def test_a_magnet_that_passes_hardly_moves_heading():
    ride = Ride(2, 60.0)
    near = np.exp(-0.5 * ((ride.t - 40.0) / 1.5) ** 2)[:, None]
    series, truth = ride.read(field=FIELD + near * np.array([40e-6, -10e-6, 25e-6]))
    _, heading = errors(ErrorStateFilter().run(series), truth)
    assert np.abs(heading[ride.t > 35.0]).max() < 1.5


def test_a_new_field_that_stays_is_accepted_in_the_end():
    ride = Ride(5, 150.0)
    turned = 1.3 * Rotation.from_euler("z", 20.0, degrees=True).apply(FIELD)
    series, truth = ride.read(field=np.where(ride.t[:, None] > 40.0, turned, FIELD))
    result = ErrorStateFilter().run(series)
    _, heading = errors(result, truth)
    assert np.abs(heading[ride.t < 75.0]).max() < 6.0
    assert np.abs(heading[-500:] + 20.0).max() < 1.0  # north is where the new field points
    assert not result.magnetic_disturbance[-500:].any()


def test_a_start_in_a_disturbed_field_does_not_last():
    ride = Ride(3, 120.0)
    strange = 1.4 * Rotation.from_euler("z", 40.0, degrees=True).apply(FIELD)
    series, truth = ride.read(field=np.where(ride.t[:, None] < 10.0, strange, FIELD))
    _, heading = errors(ErrorStateFilter().run(series), truth)
    assert np.abs(heading[:500]).min() > 30.0
    assert np.abs(heading[ride.t > 45.0]).max() < 2.0


def test_a_late_magnetometer_is_found_out():
    ride = Ride(6, 90.0, 200.0, turning=3.0)
    series, truth = ride.read()
    late = 4  # samples: 20 ms
    field = np.roll(series.magnetic_field, late, axis=0)
    field[:late] = field[late]
    orientation = ErrorStateFilter()
    _, heading = errors(orientation.run(series.replace(magnetic_field=field)), truth)
    assert orientation._execution.memory(0).field.delay == pytest.approx(0.02, abs=0.006)
    assert np.abs(heading[-2000:]).max() < 1.5


@pytest.mark.parametrize(
    "blow",
    [
        pytest.param(lambda force, t: np.where(t < 1.0, 0.0, force), id="free fall for 1 s"),
        pytest.param(lambda force, t: np.where(t < 0.02, force + 980.0, force), id="100 g"),
        pytest.param(
            lambda force, t: np.where(t < 0.02, np.minimum(force + 980.0, 157.0), force),
            id="100 g, clipped at 16 g",
        ),
    ],
)
def test_falls_throws_and_blows_do_not_tilt_the_world(blow):
    ride = Ride(4, 40.0, 200.0)
    series, truth = ride.read()
    t = ride.t[:, None] - 20.0
    force = np.where((t >= 0.0) & (t < 1.0), blow(series.specific_force, t), series.specific_force)
    params = replace(DEFAULTS, accel_range=157.0)
    result = ErrorStateFilter(params).run(
        series.replace(specific_force=force), use_magnetic_field=False
    )
    tilt, _ = errors(result, truth)
    assert tilt[ride.t > 25.0].max() < 1.0 or tilt[ride.t > 20.0].max() < 2.0
    assert tilt[(ride.t > 19.0) & (ride.t < 20.0)].max() < 1.0


@pytest.mark.parametrize("declared", [True, False])
def test_tilt_recovers_from_clipped_swings_and_the_calibration_is_unharmed(declared):
    ride = Ride(7, 30.0, 200.0, turning=0.0, moving=0.0)
    swing = np.array([12.0, 9.0, -7.0]) * np.sin(8.0 * ride.t[:, None] + [0.0, 1.0, 2.0])
    ride.rates = np.where((ride.t[:, None] > 10.0) & (ride.t[:, None] < 15.0), swing, 0.0)
    series, truth = ride.read()
    limit = 500.0 * DEG
    params = replace(DEFAULTS, gyro_range=limit) if declared else DEFAULTS
    orientation = ErrorStateFilter(params)
    clipped = series.replace(angular_velocity=np.clip(series.angular_velocity, -limit, limit))
    tilt, heading = errors(orientation.run(clipped), truth)
    assert tilt[ride.t > 15.0].max() > 2.0  # otherwise nothing is tested
    assert tilt[ride.t > 20.0].max() < 1.0
    assert np.abs(learnt_matrix(orientation)[0]).max() < 3.0 * DEFAULTS.gyro_matrix_sigma
    assert np.abs(heading[-400:]).max() < 3.0


def test_a_start_upside_down_is_right_at_once():
    ride = Ride(1, 10.0)
    ride.start = Rotation.from_euler("x", 180.0, degrees=True)
    ride.velocity[:] = 0.0
    series, truth = ride.read()
    tilt, _ = errors(ErrorStateFilter().run(series), truth)
    assert tilt.max() < 2.0  # including the rotation in half a sample


@pytest.mark.parametrize("phase", [0.0, 1.5, 3.0])
def test_a_start_in_motion_settles(phase):
    ride = Ride(1, 15.0, moving=0.0)
    pace = 2.0 * np.pi
    ride.velocity = -0.8 * np.cos(pace * ride.t[:, None] + phase + [0.0, 1.0, 2.0])
    series, truth = ride.read()
    tilt, _ = errors(ErrorStateFilter().run(series, use_magnetic_field=False), truth)
    assert tilt[ride.t > 5.0].max() < 2.0


def test_a_start_with_half_a_degree_a_second_of_bias_settles():
    bias = np.array([0.5, -0.5, 0.5]) * DEG
    moving = Ride(2, 60.0)
    tilt, _ = errors(ErrorStateFilter().run((read := moving.read(gyro_bias=bias))[0]), read[1])
    assert tilt[(moving.t > 5.0)].max() < 4.0
    resting = Ride(2, 30.0).rest(5.0)
    orientation = ErrorStateFilter()
    series, truth = resting.read(gyro_bias=bias)
    tilt, _ = errors(orientation.run(series), truth)
    np.testing.assert_allclose(orientation.estimate.gyro_bias, bias, atol=0.1 * DEG)
    assert tilt[resting.t > 5.0].max() < 1.0


def test_a_gyro_far_off_is_believed_at_rest():
    bias = np.array([0.0, 1.2, 4.4]) * DEG
    ride = Ride(9, 40.0).rest(8.0)
    orientation = ErrorStateFilter()
    series, truth = ride.read(gyro_bias=bias)
    tilt, _ = errors(orientation.run(series), truth)
    np.testing.assert_allclose(orientation.estimate.gyro_bias, bias, atol=0.2 * DEG)
    assert tilt[ride.t > 8.0].max() < 1.5


def test_an_accelerometer_bias_is_found_in_rotation():
    bias = np.array([0.08, -0.05, 0.06])  # rotated through all attitudes, it differs from gravity
    ride = Ride(3, 120.0, turning=1.0)
    ride.velocity[:] = 0.0
    series, _ = ride.read()
    params = ErrorStateParams(speed_sigma=0.05, accel_noise=0.005)  # turned about one place
    orientation = ErrorStateFilter(params)
    result = orientation.run(series.replace(specific_force=series.specific_force + bias))
    error = np.abs(result.accel_bias - bias)
    np.testing.assert_allclose(result.accel_bias[-1], bias, atol=0.02)
    assert (error[-1] < 4.0 * result.accel_bias_sigma[-1]).all()
    assert (result.accel_bias_sigma[-1] < 0.5 * DEFAULTS.accel_bias_sigma).all()
    np.testing.assert_array_equal(result.accel_bias_sigma[0], [DEFAULTS.accel_bias_sigma] * 3)
    estimate = orientation.estimate
    np.testing.assert_array_equal(estimate.accel_bias, result.accel_bias[-1])
    np.testing.assert_array_equal(estimate.accel_bias_sigma, result.accel_bias_sigma[-1])
    other = result.in_frames(world="NED", body="FRD")
    np.testing.assert_array_equal(other.accel_bias, result.accel_bias * [1.0, -1.0, -1.0])
    np.testing.assert_array_equal(other.accel_bias_sigma, result.accel_bias_sigma)


def test_before_the_first_sample_no_accelerometer_bias_is_known():
    estimate = ErrorStateFilter().estimate
    assert estimate.accel_bias is None
    assert estimate.accel_bias_sigma is None


def believed(seed):
    """Return readings with the errors of the parameters, and the true attitude."""
    p, ride = DEFAULTS, Ride(seed, 40.0, turning=1.0)
    random, dt, count = ride.random, ride.dt, ride.t.size
    ride.velocity = markov(random, (count, 3), dt / p.speed_time, p.speed_sigma)
    deviation = markov(random, (count, 1), dt / p.field_time, p.field_sigma)
    deviation += markov(random, (count, 1), dt / 100.0, p.north_sigma)
    field = np.hstack([LEVEL * np.sin(deviation), LEVEL * np.cos(deviation), UP + 0 * deviation])
    rate2 = (ride.rates**2).sum(axis=1, keepdims=True)
    noise = np.sqrt((p.gyro_noise**2 + p.gyro_scale_noise**2 * rate2) / dt)
    bias = random.normal(0.0, p.gyro_bias_sigma, 3) + random.normal(0.0, 1.0, (count, 3)) * noise
    matrix = random.normal(0.0, p.gyro_matrix_sigma, (3, 3))
    series, truth = ride.read(field=field, gyro_bias=bias, matrix=matrix, noise=0.0)
    scale = np.hypot(LEVEL, UP)
    return series.replace(
        specific_force=series.specific_force
        + random.normal(0.0, p.accel_bias_sigma, 3)
        + random.normal(0.0, p.accel_noise / np.sqrt(dt), (count, 3)),
        magnetic_field=series.magnetic_field
        + random.normal(0.0, p.field_noise * scale, (count, 3)),
    ), truth


@pytest.mark.parametrize("rides", [16, pytest.param(40, marks=pytest.mark.slow)])
def test_errors_are_as_large_as_the_covariance_says(rides):
    """Normalised squared errors, in the mean (its scatter of 40 rides: about 0.06)."""
    squares = []
    for seed in range(rides):
        series, truth = believed(seed)
        result = ErrorStateFilter().run(series)
        turned = Rotation.from_quat(truth) * Rotation.from_quat(result.q_world_from_body).inv()
        phi = turned.as_rotvec()[500::100]
        inverse = np.linalg.inv(result.orientation_covariance[500::100])
        squares.append(np.einsum("ki,kij,kj->k", phi, inverse, phi).mean() / 3.0)
    assert 0.8 < np.mean(squares) < 1.25


@pytest.mark.parametrize("count", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_the_covariance_stays_positive_over_up_to_a_million_updates(count):
    random = np.random.default_rng(0)
    t_ns = np.arange(count) * 20_000_000
    rates = np.repeat(random.normal(0.0, 1.0, (count // 50, 3)), 50, axis=0)
    forces = np.repeat(random.normal(0.0, 3.0, (count // 10, 3)), 10, axis=0) + REACTION
    orientation = ErrorStateFilter()
    orientation.run(ImuSeries(t_ns, rates, forces, magnetic_field=forces * 5e-6))
    p = np.array(orientation._execution.memory(0).error_covariance)
    np.testing.assert_allclose(p, p.T)
    scale = 1.0 / np.sqrt(np.diag(p))
    assert np.linalg.eigvalsh(p * scale * scale[:, None]).min() > 1e-12


def test_magnetometers_may_be_slower_and_accelerometers_may_be_missing():
    ride = Ride(11, 40.0, 200.0)
    series, truth = ride.read()
    field = np.where(np.arange(ride.t.size)[:, None] % 10 == 0, series.magnetic_field, np.nan)
    force = np.where((ride.t[:, None] > 20.0) & (ride.t[:, None] < 24.0), np.nan, 1.0)
    force = force * series.specific_force
    result = ErrorStateFilter().run(series.replace(magnetic_field=field, specific_force=force))
    tilt, heading = errors(result, truth)
    assert tilt[ride.t > 5.0].max() < 1.5
    assert np.abs(heading[ride.t > 10.0]).max() < 2.0


def test_parameters_out_of_range_are_refused():
    with pytest.raises(ValueRangeError, match="speed_sigma"):
        ErrorStateParams(speed_sigma=0.0)
    assert ErrorStateParams(gyro_matrix_sigma=0.0).gyro_matrix_sigma == 0.0


def test_the_source_runs_as_python_to_the_same_result():
    series, _ = Ride(12, 4.0).read()
    fast, slow = ErrorStateFilter(compiled=True), ErrorStateFilter(compiled=False)
    for k in range(len(series)):
        row = series[k : k + 1]
        fast.run(row)
        slow.update(sample_of(row))
    assert fast.state == slow.state


def sample_of(row):
    return ImuSample(
        int(row.t_ns[0]), row.angular_velocity[0], row.specific_force[0], row.magnetic_field[0]
    )
