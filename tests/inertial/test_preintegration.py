"""Preintegration against another program, analytic motions and statistics."""

from __future__ import annotations

import gtsam
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown._kernels.compilation import compiling_first
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.evaluation import consistency, nees
from strapdown.geometry.gravity import gravity_world
from strapdown.inertial.preintegration import (
    ImuNoise,
    NavigationState,
    Preintegrator,
    Quadrature,
    compose,
    preintegrate,
)
from strapdown.inertial.self_test import Coning
from strapdown.motion import Mounted, MultiSine, Sines
from strapdown.series import ImuSeries

MS = 1_000_000
COUNT = 100
RNG = np.random.default_rng(4)
STAMPS = 7 * 10**18 + np.cumsum(RNG.integers(4 * MS, 6 * MS, COUNT))
RATES = RNG.normal(size=(COUNT, 3))
FORCES = 3.0 * RNG.normal(size=(COUNT, 3)) + [0.0, 0.0, 9.8]
SERIES = ImuSeries(STAMPS, RATES, FORCES)
GYRO_BIAS = np.array([0.01, -0.02, 0.03])
ACCEL_BIAS = np.array([0.1, 0.2, -0.3])
SCALE = 0.01 * RNG.normal(size=(3, 3))
BIASES = {"gyro_bias": GYRO_BIAS, "accel_bias": ACCEL_BIAS}
NOISE = ImuNoise(1e-3, 2e-3)
WALKING = ImuNoise(1e-3, 2e-3, 1e-3, 2e-2)
SMOOTH = MultiSine(
    Sines(np.array([[1.0], [0.7], [0.3]]), np.array([[2.0], [3.0], [5.0]]), np.zeros((3, 1))),
    Sines(np.array([[0.5], [0.4], [2.0]]), np.array([[4.0], [3.0], [2.0]]), np.ones((3, 1))),
)


def rotation_between(a, b):
    return (Rotation.from_quat(a).inv() * Rotation.from_quat(b)).as_rotvec()


def difference(a, b):
    """The nine errors of a with respect to b."""
    return np.concatenate(
        [
            rotation_between(b.delta_rotation, a.delta_rotation),
            a.delta_velocity - b.delta_velocity,
            a.delta_position - b.delta_position,
        ]
    )


# -- another program ------------------------------------------------------------------------


def by_gtsam(change=(0.0,) * 6, noise=WALKING, *, combined=False):
    kind = gtsam.PreintegrationCombinedParams if combined else gtsam.PreintegrationParams
    parameters = kind.MakeSharedU(9.80665)
    parameters.setGyroscopeCovariance(noise.gyro**2 * np.eye(3))
    parameters.setAccelerometerCovariance(noise.accel**2 * np.eye(3))
    parameters.setIntegrationCovariance(np.zeros((3, 3)))
    make = gtsam.PreintegratedImuMeasurementsManifold
    if combined:
        parameters.setBiasOmegaCovariance(noise.gyro_walk**2 * np.eye(3))
        parameters.setBiasAccCovariance(noise.accel_walk**2 * np.eye(3))
        make = gtsam.PreintegratedCombinedMeasurementsManifold
    bias = gtsam.imuBias.ConstantBias(
        ACCEL_BIAS + np.asarray(change[3:]), GYRO_BIAS + np.asarray(change[:3])
    )
    measured = make(parameters, bias)
    for step, rate, force in zip(np.diff(STAMPS) * 1e-9, RATES[1:], FORCES[1:], strict=True):
        measured.integrateMeasurement(force, rate, step)
    return measured


def of_gtsam(measured):
    return measured.deltaRij(), measured.deltaVij(), measured.deltaPij()


def gtsam_covariance(measured):
    """Its covariance in our order and axes: its velocity and position are in the axes at the end,
    and its errors are those of a prediction instead of those of the truth."""
    covariance = measured.preintMeasCov()
    size = len(covariance)
    order = [0, 1, 2, 6, 7, 8, 3, 4, 5, 12, 13, 14, 9, 10, 11][:size]
    turn = np.eye(size)
    turn[3:6, 3:6] = turn[6:9, 6:9] = measured.deltaRij().matrix()
    turn[:9] *= -1.0
    return turn @ covariance[np.ix_(order, order)] @ turn.T


def test_the_simple_quadrature_agrees_with_gtsam():
    ours = preintegrate(SERIES, quadrature="euler", noise=NOISE, **BIASES)
    rotation, velocity, position = of_gtsam(by_gtsam())
    expected = Rotation.from_matrix(rotation.matrix()).as_quat()
    assert np.linalg.norm(rotation_between(ours.delta_rotation, expected)) < 1e-12
    np.testing.assert_allclose(ours.delta_velocity, velocity, atol=1e-12)
    np.testing.assert_allclose(ours.delta_position, position, atol=1e-12)
    assert ours.dt == pytest.approx(by_gtsam().deltaTij())


def test_jacobians_agree_with_differences_of_gtsam():
    ours = preintegrate(SERIES, quadrature="euler", **BIASES)
    for column, change in enumerate(1e-5 * np.eye(6)):
        (more, v_more, p_more), (less, v_less, p_less) = (
            of_gtsam(by_gtsam(sign * change)) for sign in (1, -1)
        )
        slope = [gtsam.Rot3.Logmap(less.between(more)), v_more - v_less, p_more - p_less]
        np.testing.assert_allclose(
            ours.jacobian[:, column], np.concatenate(slope) / 2e-5, atol=1e-6
        )


def test_covariances_agree_with_gtsam():
    ours = preintegrate(SERIES, quadrature="euler", noise=NOISE, **BIASES)
    expected = gtsam_covariance(by_gtsam())
    sigma = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        ours.covariance / np.outer(sigma, sigma), expected / np.outer(sigma, sigma), atol=1e-9
    )
    ours = preintegrate(SERIES, quadrature="euler", noise=WALKING, **BIASES).combined_covariance
    expected = gtsam_covariance(by_gtsam(combined=True))
    sigma = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        ours / np.outer(sigma, sigma), expected / np.outer(sigma, sigma), atol=0.01
    )


def test_predictions_agree_with_gtsam():
    start = NavigationState(Rotation.random(rng=RNG).as_quat(), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    ours = preintegrate(SERIES, quadrature="euler", **BIASES).predict(start)
    q = start.q_world_from_body
    state = gtsam.NavState(
        gtsam.Rot3.Quaternion(q[3], *q[:3]), start.position_world, start.velocity_world
    )
    theirs = by_gtsam().predict(state, gtsam.imuBias.ConstantBias(ACCEL_BIAS, GYRO_BIAS))
    expected = Rotation.from_matrix(theirs.attitude().matrix()).as_quat()
    assert np.linalg.norm(rotation_between(ours.q_world_from_body, expected)) < 1e-12
    np.testing.assert_allclose(ours.velocity_world, theirs.velocity(), atol=1e-12)
    np.testing.assert_allclose(ours.position_world, theirs.position(), atol=1e-12)


# -- analytic motions -----------------------------------------------------------------------


def motion_error(quadrature, rate_hz):
    """The residual over 2 s of a motion in closed form, 0.1 s after the first sample."""
    t_ns = np.arange(2.1 * rate_hz + 0.5) * round(1e9 / rate_hz)
    t_ns = t_ns.astype(np.int64)
    rates, forces = Mounted(SMOOTH).inputs(t_ns * 1e-9)
    warm = round(0.1 * rate_hz)
    integrator = Preintegrator(quadrature=quadrature)
    integrator.run(ImuSeries(t_ns, rates, forces)[: warm + 1])
    integrator.cut()
    integrator.run(ImuSeries(t_ns, rates, forces)[warm + 1 :])
    true = SMOOTH.at(t_ns[[warm, -1]] * 1e-9)
    states = [
        NavigationState(*columns)
        for columns in zip(
            true.q_world_from_body, true.velocity_world, true.position_world, strict=True
        )
    ]
    return np.abs(integrator.result().residual(*states)).max()


@pytest.mark.parametrize(
    ("quadrature", "order", "bound"), [("trapezoid", 2, 2e-4), ("am4", 4, 1e-8)]
)
def test_motions_are_found_to_the_order_of_the_quadrature(quadrature, order, bound):
    coarse, fine = motion_error(quadrature, 250), motion_error(quadrature, 500)
    assert fine < bound
    assert coarse / fine > 0.8 * 2**order


@pytest.mark.parametrize("quadrature", ["trapezoid", "am4", "mean"])
def test_a_circle_is_exact_to_rounding(quadrature):
    # rotation at a constant rate, with a centripetal force that is constant in body axes
    radius, rate = 2.0, 3.0
    t = np.arange(101) * 0.01
    forces = np.tile([-radius * rate**2, 0.0, 9.80665], (101, 1))
    series = ImuSeries(np.arange(101) * 10 * MS, np.tile([0.0, 0.0, rate], (101, 1)), forces)
    start = NavigationState([0.0, 0.0, 0.0, 1.0], [0.0, radius * rate, 0.0], [radius, 0.0, 0.0])
    angle = rate * t[-1]
    across = np.array([-np.sin(angle), np.cos(angle), 0.0])
    along = np.array([np.cos(angle), np.sin(angle), 0.0])
    end = NavigationState(
        Rotation.from_rotvec([0.0, 0.0, angle]).as_quat(), radius * rate * across, radius * along
    )
    residual = preintegrate(series, quadrature=quadrature).residual(start, end)
    np.testing.assert_allclose(residual, 0.0, atol=1e-12)


def test_vibration_is_rectified_as_far_as_the_quadrature_goes():
    cone = Coning(np.radians(5.0), 50.0)
    series = cone.samples(np.arange(2_001) * MS)  # whole turns: the true rotation is none
    uncorrected = cone.uncorrected(1e-3)
    for quadrature, share in (("mean", 0.6), ("trapezoid", 1.0), ("am4", 0.02)):
        turn = Rotation.from_quat(preintegrate(series, quadrature=quadrature).delta_rotation)
        assert turn.magnitude() / 2.0 < share * uncorrected


# -- derivatives ----------------------------------------------------------------------------


@pytest.mark.parametrize("quadrature", list(Quadrature))
def test_jacobians_are_those_of_the_deltas(quadrature):
    def at(parameters):
        return preintegrate(
            SERIES,
            gyro_bias=GYRO_BIAS + parameters[:3],
            accel_bias=ACCEL_BIAS + parameters[3:6],
            scale_misalignment=SCALE + parameters[6:].reshape(3, 3),
            quadrature=quadrature,
        )

    ours = at(np.zeros(15))
    columns = [difference(at(d), at(-d)) / 2e-5 for d in 1e-5 * np.eye(15)]
    np.testing.assert_allclose(ours.jacobian, np.transpose(columns), atol=1e-5)
    np.testing.assert_array_equal(
        np.hstack([
            ours.gyro_bias_jacobian, ours.accel_bias_jacobian, ours.scale_misalignment_jacobian,
        ]),
        ours.jacobian,
    )  # fmt: skip


def test_corrections_of_biases_are_right_to_first_order():
    before = preintegrate(SERIES, noise=NOISE, **BIASES)
    gyro, accel, scale = RNG.normal(size=3), RNG.normal(size=3), RNG.normal(size=(3, 3))
    errors = []
    for size in (1e-2, 1e-3):
        changes = size * gyro, size * accel, size * scale
        corrected = before.correct(*changes)
        anew = preintegrate(
            SERIES, gyro_bias=GYRO_BIAS + changes[0], accel_bias=ACCEL_BIAS + changes[1],
            scale_misalignment=changes[2],
        )  # fmt: skip
        errors.append(np.abs(difference(corrected, anew)).max())
        np.testing.assert_array_equal(corrected.gyro_bias, anew.gyro_bias)
        np.testing.assert_array_equal(corrected.accel_bias, anew.accel_bias)
        np.testing.assert_array_equal(corrected.scale_misalignment, anew.scale_misalignment)
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] > 50.0


# -- statistics -----------------------------------------------------------------------------


def noisy(rng, noise):
    """One noisy copy of the series, with white noise and random walks of the biases."""
    steps = np.diff(STAMPS, prepend=STAMPS[0] - 5 * MS)[:, np.newaxis] * 1e-9

    def white(density):
        return density / np.sqrt(steps) * rng.normal(size=(COUNT, 3))

    gyro_bias, accel_bias = (
        np.cumsum(density * np.sqrt(steps) * rng.normal(size=(COUNT, 3)), axis=0)
        for density in (noise.gyro_walk, noise.accel_walk)
    )
    series = SERIES.replace(
        angular_velocity=RATES + gyro_bias + white(noise.gyro),
        specific_force=FORCES + accel_bias + white(noise.accel),
    )
    return series, np.concatenate([gyro_bias[-1] - gyro_bias[0], accel_bias[-1] - accel_bias[0]])


def repeats(quadrature, noise):
    """Errors of 2000 noisy copies, and the random walks of their biases."""
    rng = np.random.default_rng(11)
    integrator = Preintegrator(quadrature=quadrature, noise=noise)
    for _ in range(2000):
        integrator.reset()
        series, walked = noisy(rng, noise)
        integrator.run(series)
        yield integrator.result(), walked


def test_errors_of_2000_noisy_repeats_have_the_covariance():
    true = preintegrate(SERIES)
    found = [each for each, _ in repeats("trapezoid", NOISE)]
    turned = Rotation.from_quat([each.delta_rotation for each in found])
    errors = np.hstack(
        [
            (turned.inv() * Rotation.from_quat(true.delta_rotation)).as_rotvec(),
            true.delta_velocity - [each.delta_velocity for each in found],
            true.delta_position - [each.delta_position for each in found],
        ]
    )
    squares = nees(errors, np.array([each.covariance for each in found]))
    assert consistency(squares, 9, level=0.99).is_consistent


def test_errors_with_walking_biases_have_the_combined_covariance():
    start = NavigationState([0.0, 0.0, 0.0, 1.0], np.zeros(3), np.zeros(3))
    end = preintegrate(SERIES, quadrature="mean").predict(start)
    found, walked = zip(*repeats("mean", WALKING), strict=True)
    errors = np.hstack([[each.residual(start, end) for each in found], walked])
    squares = nees(errors, np.array([each.combined_covariance for each in found]))
    assert consistency(squares, 15, level=0.99).is_consistent


# -- pieces, streams and damaged series -----------------------------------------------------


@pytest.mark.parametrize("quadrature", ["trapezoid", "mean", "euler"])
def test_pieces_that_share_a_sample_compose_to_the_whole(quadrature):
    def over(rows):
        return preintegrate(
            SERIES[rows], quadrature=quadrature, noise=WALKING, scale_misalignment=SCALE, **BIASES
        )

    assert_same(
        compose(compose(over(slice(41)), over(slice(40, 90))), over(slice(89, None))),
        over(slice(None)),
    )


def assert_same(composed, whole):
    assert np.abs(difference(composed, whole)).max() < 1e-12
    np.testing.assert_allclose(composed.jacobian, whole.jacobian, atol=1e-9)
    sigma = np.sqrt(np.diag(whole.combined_covariance))
    scaled = composed.combined_covariance / np.outer(sigma, sigma)
    np.testing.assert_allclose(
        scaled, whole.combined_covariance / np.outer(sigma, sigma), atol=1e-9
    )
    assert (composed.t_start_ns, composed.t_end_ns) == (whole.t_start_ns, whole.t_end_ns)
    assert composed.report == whole.report


def test_pieces_that_are_cut_compose_with_every_quadrature():
    for quadrature in Quadrature:
        whole, pieces = (Preintegrator(quadrature=quadrature, noise=WALKING) for _ in range(2))
        whole.run(SERIES)
        pieces.run(SERIES[:60])
        first = pieces.cut()
        pieces.run(SERIES[60:])
        assert_same(compose(first, pieces.result()), whole.result())


def test_pieces_that_do_not_meet_or_differ_in_bias_are_refused():
    first = preintegrate(SERIES[:50])
    with pytest.raises(ValueRangeError, match="share a sample"):
        compose(first, preintegrate(SERIES[50:]))
    with pytest.raises(ValueRangeError, match="same gyro_bias"):
        compose(first, preintegrate(SERIES[49:], gyro_bias=GYRO_BIAS))


@pytest.mark.parametrize("quadrature", list(Quadrature))
def test_streams_are_batches_bit_for_bit_and_the_source_runs_as_python(quadrature):
    options = {"quadrature": quadrature, "noise": WALKING, "scale_misalignment": SCALE, **BIASES}
    plain = Preintegrator(**options)
    assert not plain._execution._in_arrays
    with compiling_first():
        batch, stream = preintegrate(SERIES, **options), Preintegrator(**options)
        stream.run(SERIES[:1])
    assert stream._execution._in_arrays
    for row, sample in enumerate(zip(STAMPS.tolist(), RATES, FORCES, strict=True)):
        plain.update(*sample)
        if row > 0:
            stream.update(*sample)
    for found in (stream.result(), plain.result()):
        for name in (
            "delta_rotation",
            "delta_velocity",
            "delta_position",
            "jacobian",
            "combined_covariance",
        ):
            assert getattr(found, name).tobytes() == getattr(batch, name).tobytes()
        assert found.report == batch.report


def smooth_series(count=401, step_ns=5 * MS):
    t_ns = np.arange(count) * step_ns
    return ImuSeries(t_ns, *Mounted(SMOOTH).inputs(t_ns * 1e-9))


def test_samples_that_are_missing_are_bridged_and_counted():
    whole = smooth_series()
    rates, forces = whole.angular_velocity.copy(), whole.specific_force.copy()
    rates[[0, 50, 200]] = np.nan
    forces[[100, 400], 1] = np.inf, 1e300
    damaged = preintegrate(whole.replace(angular_velocity=rates, specific_force=forces))
    clean = preintegrate(whole[1:-1])
    assert damaged.report.unusable == 5
    assert damaged.report.steps == 395
    assert (damaged.t_start_ns, damaged.t_end_ns) == (clean.t_start_ns, clean.t_end_ns)
    assert np.abs(difference(damaged, clean)).max() < 1e-3


def test_stamps_that_repeat_or_go_back_are_left_out_and_counted():
    whole = smooth_series(30)
    rows = [0, 1, 1, 2, 3, 1, 4, *range(5, 30)]
    found = preintegrate(whole[np.array(rows)])
    assert (found.report.repeated, found.report.backward) == (1, 1)
    assert np.abs(difference(found, preintegrate(whole))).max() == 0.0


@given(
    st.lists(
        st.tuples(
            st.integers(-(10**9), 10**9),
            st.sampled_from([0.0, 1.0, -3.0, np.nan, np.inf, 1e300, -9e3]),
            st.sampled_from([0.0, 9.8, np.nan, -np.inf, 1e300, 9e4]),
        ),
        max_size=30,
    )
)
def test_no_sample_leaves_anything_that_is_not_finite(samples):
    integrator = Preintegrator(noise=WALKING)
    for start in (0, 5 * MS):
        integrator.update(start, (0.0, 0.0, 0.0), (0.0, 0.0, 9.8))
    for t_ns, rate, force in samples:
        integrator.update(t_ns, (rate, 0.0, 1.0), (0.0, force, 9.8))
    found = integrator.result()
    for array in (found.delta_position, found.jacobian, found.combined_covariance):
        assert np.isfinite(array).all()
    assert np.linalg.norm(found.delta_rotation) == pytest.approx(1.0)
    report = found.report
    assert report.steps + report.unusable + report.repeated + report.backward == len(samples) + 1


def test_a_gap_is_bridged_and_makes_the_result_uncertain():
    whole = smooth_series()
    kept = np.ones(len(whole), bool)
    kept[100:160] = False
    found, clean = preintegrate(whole[kept], noise=NOISE), preintegrate(whole, noise=NOISE)
    assert found.report.gaps == 1
    assert found.report.longest_gap_ns == found.report.bridged_ns == 61 * 5 * MS
    error = difference(clean, found)
    assert np.all(np.abs(error) < 3.0 * np.sqrt(np.diag(found.covariance)))
    assert np.all(np.diag(found.covariance) > 100.0 * np.diag(clean.covariance))
    longer = preintegrate(whole[kept], noise=NOISE, max_gap_ns=10**9)
    assert longer.report.gaps == 0


def test_a_gap_at_rest_says_little_more_than_the_noise_does():
    t_ns = np.arange(400) * 5 * MS
    rest = ImuSeries(t_ns, np.zeros((400, 3)), np.tile([0.0, 0.0, 9.8], (400, 1)))
    kept = np.abs(np.arange(400) - 200) > 50
    with_gap, whole = (preintegrate(series, noise=NOISE) for series in (rest[kept], rest))
    np.testing.assert_allclose(
        np.diag(with_gap.covariance)[:6], np.diag(whole.covariance)[:6], rtol=0.2
    )


def test_residuals_vanish_at_the_prediction_in_any_world():
    measured = preintegrate(SERIES)
    start = NavigationState(Rotation.random(rng=RNG).as_quat(), RNG.normal(size=3), np.ones(3))
    for gravity in (None, gravity_world("NED"), [1.0, 2.0, 3.0]):
        end = measured.predict(start, gravity)
        np.testing.assert_allclose(measured.residual(start, end, gravity), 0.0, atol=1e-12)
    turned = (
        Rotation.from_quat(end.q_world_from_body) * Rotation.from_rotvec([0.0, 0.0, 0.1])
    ).as_quat()
    residual = measured.residual(start, end._replace(q_world_from_body=turned), gravity)
    np.testing.assert_allclose(residual[:3], [0.0, 0.0, 0.1], atol=1e-12)


def test_results_do_not_change_when_the_stream_goes_on():
    integrator = Preintegrator(noise=NOISE)
    integrator.run(SERIES[:50])
    found = integrator.result()
    before = found.delta_velocity.copy(), found.jacobian.copy(), found.covariance.copy()
    integrator.run(SERIES[50:])
    for array, kept in zip(
        (found.delta_velocity, found.jacobian, found.covariance), before, strict=True
    ):
        np.testing.assert_array_equal(array, kept)


def test_what_cannot_be_preintegrated_is_refused():
    with pytest.raises(ValueRangeError, match="two samples"):
        preintegrate(SERIES[:1])
    with pytest.raises(ValueRangeError, match="two samples"):
        preintegrate(SERIES.replace(specific_force=np.full((COUNT, 3), np.nan)))
    with pytest.raises(UnknownNameError, match="simpson"):
        preintegrate(SERIES, quadrature="simpson")
    with pytest.raises(ShapeError, match="gyro_bias"):
        preintegrate(SERIES, gyro_bias=[1.0, 2.0])
    with pytest.raises(ShapeError, match="one scale_misalignment"):
        preintegrate(SERIES, scale_misalignment=np.zeros((2, 3, 3)))
    with pytest.raises(ValueRangeError, match="max_gap_ns"):
        Preintegrator(max_gap_ns=0)
    with pytest.raises(ValueRangeError, match="accel of 0 or more"):
        ImuNoise(accel=-1.0)
    with pytest.raises(ShapeError, match="gyro"):
        ImuNoise(gyro=[1.0, 2.0])
    with pytest.raises(ValueRangeError, match="velocity_world"):
        preintegrate(SERIES).predict(NavigationState([0, 0, 0, 1.0], [np.nan] * 3, [0.0] * 3))
