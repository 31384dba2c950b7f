"""VQF against the authors' implementation, and on faults that it does not handle."""

from __future__ import annotations

import math

import numpy as np
import pytest
import vqf
from scipy.spatial.transform import Rotation

from strapdown.errors import StrapdownError, ValueRangeError
from strapdown.estimation.vqf import OfflineVqf, VqfFilter, VqfParams
from strapdown.samples import ImuSample
from strapdown.series import ImuSeries
from strapdown.units import RAD_PER_DEG

STEP_NS = 3_500_000
STEP_S = STEP_NS * 1e-9


def wandering(count, *, seed=0, step_ns=STEP_NS):
    """Return readings of a body that alternates between rotation, mostly vertical, and rest.

    A magnet passes. The other readings are not those of a real body, which parity does not need.
    At both ends the body is level: a first tilt correction there causes a false bias in the
    other program.
    """
    random = np.random.default_rng(seed)
    t = np.arange(count) * step_ns * 1e-9
    moving = (np.sin(0.4 * t + 2.0) > 0.0)[:, None]
    pace, phase = random.uniform(0.5, 5.0, 6), random.uniform(0.0, 6.0, 6)
    waves = np.sin(np.multiply.outer(t, pace) + phase)
    rate = [0.1, 0.1, 2.0] * waves[:, :3] * moving + 0.005
    force = [0.4, 0.8, 9.7] + 3.0 * waves[:, 3:] * moving
    heading = rate[:, 2].cumsum() * step_ns * 1e-9
    field = np.stack([20.0 * np.sin(heading), 20.0 * np.cos(heading), np.full(count, -40.0)], 1)
    field[(t > 18.0) & (t < 20.0)] += [0.0, 30.0, 0.0]
    noises = random.standard_normal((3, count, 3))
    noises[:, [0, -1]] = 0.0
    rate[[0, -1]], force[[0, -1]] = 1e-12, [0.0, 0.0, 9.8]
    return np.arange(count) * step_ns, *(
        np.ascontiguousarray(column + size * noise)
        for column, size, noise in zip(
            (rate, force, field), (0.002, 0.02, 0.1), noises, strict=True
        )
    )


def as_series(t_ns, rate, force, field=None):
    return ImuSeries(t_ns, rate, force, magnetic_field=field)


def angles_deg(q_xyzw, peer_wxyz):
    apart = Rotation.from_quat(q_xyzw) * Rotation.from_quat(peer_wxyz[:, [1, 2, 3, 0]]).inv()
    return np.degrees(apart.magnitude())


def without_field(result):
    turn_back = Rotation.from_rotvec(np.outer(-result.heading_offset, [0, 0, 1]))
    return (turn_back * Rotation.from_quat(result.q_world_from_body)).as_quat()


def assert_agree(result, peer, *, quaternion="quat9D", bias_deg=1e-6):
    assert angles_deg(result.q_world_from_body[1:], peer[quaternion][1:]).max() < 1e-6
    assert np.degrees(np.abs(result.gyro_bias - peer["bias"])[1:-1]).max() < bias_deg
    assert (result.rest == peer["restDetected"])[1:].all()
    if quaternion == "quat9D":
        assert (result.magnetic_disturbance == peer["magDistDetected"])[1:].all()
        apart = result.heading_offset - peer["delta"]
        assert np.degrees(np.abs(np.angle(np.exp(1j * apart)))[1:]).max() < 1e-6


@pytest.mark.parametrize("step_ns", [1_250_000, STEP_NS, 10_000_000, 40_000_000])
def test_regular_samples_give_what_the_authors_program_gives(step_ns):
    t_ns, *vectors = wandering(30_000_000_000 // step_ns, step_ns=step_ns)
    result = VqfFilter().run(as_series(t_ns, *vectors))
    peer = vqf.VQF(step_ns * 1e-9).updateBatch(*vectors)
    assert_agree(result, peer)
    assert angles_deg(without_field(result)[1:], peer["quat6D"][1:]).max() < 1e-6
    assert 0.1 < result.rest.mean() < 0.9  # otherwise the samples test less than intended
    assert 0.1 < result.magnetic_disturbance.mean() < 0.95


def test_six_axes_give_what_the_authors_program_gives():
    t_ns, *vectors = wandering(6000, seed=1)
    result = VqfFilter().run(as_series(t_ns, *vectors), use_magnetic_field=False)
    peer = vqf.VQF(STEP_S).updateBatch(*vectors[:2])
    assert_agree(result, peer, quaternion="quat6D")
    assert not result.uses_magnetic_field
    assert not result.heading_offset.any()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"learn_bias_in_motion": False}, {"motionBiasEstEnabled": False}),
        ({"learn_bias_at_rest": False}, {"restBiasEstEnabled": False}),
        ({"reject_disturbed_field": False}, {"magDistRejectionEnabled": False}),
        ({"tau_acc": 1.0, "tau_mag": 2.0}, {"tauAcc": 1.0, "tauMag": 2.0}),
        (
            {"bias_clip": 0.2 * RAD_PER_DEG, "bias_sigma_start": 0.2 * RAD_PER_DEG},
            {"biasClip": 0.2, "biasSigmaInit": 0.2},
        ),
        (
            {"rest_rate": 0.5 * RAD_PER_DEG, "rest_force": 0.1, "rest_time": 0.5, "rest_tau": 0.2},
            {"restThGyr": 0.5, "restThAcc": 0.1, "restMinT": 0.5, "restFilterTau": 0.2},
        ),
        (
            {"rejection_time": 2.0, "rejection_factor": 3.0, "strength_tolerance": 0.05},
            {"magMaxRejectionTime": 2.0, "magRejectionFactor": 3.0, "magNormTh": 0.05},
        ),
    ],
    ids=",".join,
)
def test_each_parameter_does_what_it_does_there(ours, theirs):
    t_ns, *vectors = wandering(4000, seed=2)
    result = VqfFilter(VqfParams(**ours)).run(as_series(t_ns, *vectors))
    peer = vqf.VQF(STEP_S, **theirs).updateBatch(*vectors)
    if "restBiasEstEnabled" in theirs:  # the other program then does not detect rest
        peer["restDetected"] = result.rest
    if "magDistRejectionEnabled" in theirs:  # nor disturbances
        peer["magDistDetected"] = result.magnetic_disturbance
    assert_agree(result, peer)


def test_offline_gives_what_the_authors_program_gives():
    t_ns, *vectors = wandering(6000, seed=3)
    result = OfflineVqf().run(as_series(t_ns, *vectors))
    peer = vqf.offlineVQF(*vectors, STEP_S)
    assert_agree(result, peer)
    assert angles_deg(without_field(result), peer["quat6D"]).max() < 1e-6
    six = OfflineVqf().run(as_series(t_ns, *vectors), use_magnetic_field=False)
    assert_agree(six, vqf.offlineVQF(*vectors[:2], None, STEP_S), quaternion="quat6D")


def test_the_first_correction_of_tilt_teaches_nothing_about_the_bias(still):
    series, _ = still(np.arange(400) * 5_000_000, Rotation.from_euler("X", 70.0, degrees=True))
    assert np.abs(VqfFilter().run(series).gyro_bias).max() < 1e-12


def test_a_slower_magnetometer_gives_what_it_gives_there():
    t_ns, rate, force, field = wandering(8000, seed=4)
    slow = np.where((np.arange(len(t_ns)) % 4 == 0)[:, None], field, np.nan)
    result = VqfFilter().run(as_series(t_ns, rate, force, slow))
    peer, quaternions = vqf.VQF(STEP_S, magTs=4.0 * STEP_S), []
    for i in range(len(t_ns)):
        peer.updateGyr(rate[i].copy())
        peer.updateAcc(force[i].copy())
        if i % 4 == 0:
            peer.updateMag(field[i].copy())
        quaternions.append(peer.getQuat9D())
    apart = angles_deg(result.q_world_from_body, np.array(quaternions))
    assert apart[int(1.0 / STEP_S) :].max() < 0.05  # its rate is estimated, not passed


def test_sample_by_sample_is_the_run_and_parts_of_a_run_are_the_whole():
    series = as_series(*wandering(400, seed=5))
    whole = VqfFilter().run(series)
    parts = VqfFilter()
    first, second = parts.run(series[:123]), parts.run(series[123:])
    assert np.array_equal(
        np.concatenate([first.q_world_from_body, second.q_world_from_body]),
        whole.q_world_from_body,
    )
    streaming, plain = VqfFilter(compiled=True), VqfFilter(compiled=False)
    for i in range(200):
        sample = ImuSample(
            int(series.t_ns[i]),
            series.angular_velocity[i].tolist(),
            series.specific_force[i].tolist(),
            series.magnetic_field[i].tolist(),
        )
        assert np.array_equal(streaming.update(sample), whole.q_world_from_body[i])
        assert np.array_equal(plain.update(sample), whole.q_world_from_body[i])


@pytest.mark.parametrize("estimator", [VqfFilter, OfflineVqf])
def test_machine_code_and_plain_python_give_the_same_bits(estimator):
    t_ns, rate, force, field = wandering(600, seed=11)
    rate[100:103] = 0.0  # lost readings
    force[200] = np.nan
    t_ns[300:] += 200_000_000  # a gap
    t_ns[400] = t_ns[399]
    series = as_series(t_ns, rate, force, field)
    machine, plain = (estimator(compiled=compiled).run(series) for compiled in (True, False))
    assert machine.report == plain.report
    for name in (
        "q_world_from_body", "orientation_covariance", "gyro_bias", "gyro_bias_sigma",
        "rest", "magnetic_disturbance", "heading_offset",
    ):  # fmt: skip
        assert np.array_equal(getattr(machine, name), getattr(plain, name))


def test_sensors_of_one_stamp_may_come_one_after_the_other():
    t_ns, rate, force, field = wandering(1000, seed=6)
    whole = VqfFilter().run(as_series(t_ns, rate, force, field))
    apart = VqfFilter()
    for i in range(1000):
        t = int(t_ns[i])
        apart.update(ImuSample(t, rate[i], force[i]))
        q = apart.update(ImuSample(t, None, None, field[i]))
        assert np.abs(q - whole.q_world_from_body[i]).max() < 1e-9
    assert apart.report.merged == 1000


@pytest.mark.parametrize("smoother", [False, True])
def test_uneven_stamps_cost_little(tumble, smoother):
    random = np.random.default_rng(7)
    estimator = OfflineVqf if smoother else VqfFilter
    params = VqfParams(sample_kind="point")

    def error_deg(t_ns):
        series, truth = tumble(t_ns)
        result = estimator(params).run(series)
        apart = (
            Rotation.from_quat(result.q_world_from_body)
            * Rotation.from_quat(truth.q_world_from_body).inv()
        )
        late = t_ns > 10_000_000_000
        return math.sqrt(np.mean(np.degrees(apart.magnitude()[late]) ** 2))

    even = np.arange(6000) * 5_000_000
    uneven = even + (random.standard_normal(6000) * 0.2 * 5_000_000).astype(np.int64)
    uneven = np.unique(uneven)
    assert error_deg(uneven) < 1.2 * error_deg(even) + 1e-3


def test_a_change_of_the_sampling_rate_goes_unnoticed(tumble):
    quick = np.arange(4000) * 2_500_000
    slow = quick[-1] + np.arange(1, 2001) * 10_000_000
    t_ns = np.concatenate([quick, slow])
    series, truth = tumble(t_ns)
    result = VqfFilter(VqfParams(sample_kind="point")).run(series)
    apart = (
        Rotation.from_quat(result.q_world_from_body)
        * Rotation.from_quat(truth.q_world_from_body).inv()
    )
    settled = t_ns > 5_000_000_000
    assert np.degrees(apart.magnitude()[settled]).max() < 0.1


@pytest.mark.parametrize("estimator", [VqfFilter, OfflineVqf])
def test_a_turn_in_a_gap_is_found_again(estimator, still):
    """The body turns by 40 deg about a level axis and 50 deg about the vertical in a gap."""
    before, _ = still(np.arange(8000) * 5_000_000)
    turned = Rotation.from_euler("ZX", [50.0, 40.0], degrees=True)
    after, _ = still(before.t_ns[-1] + 300_000_000 + np.arange(4000) * 5_000_000, turned)
    rate = before.angular_velocity.copy()
    rate[-1] = turned.as_rotvec() / 0.3  # it had begun
    series = ImuSeries(
        np.concatenate([before.t_ns, after.t_ns]),
        np.concatenate([rate, after.angular_velocity]),
        np.concatenate([before.specific_force, after.specific_force]),
        magnetic_field=np.concatenate([before.magnetic_field, after.magnetic_field]),
    )
    result = estimator().run(series)
    error = Rotation.from_quat(result.q_world_from_body) * turned.inv()
    error_deg = np.degrees(error.magnitude())
    assert error_deg[len(before) + 200] < 8.0  # after 1 s
    assert error_deg[len(before) + 1000] < 2.0


def test_a_gap_at_rest_changes_nothing(still):
    t_ns = np.arange(8000) * 5_000_000
    kept = (t_ns < 20_000_000_000) | (t_ns > 25_000_000_000)
    series, truth = still(t_ns[kept], Rotation.from_euler("Z", 30.0, degrees=True))
    result = VqfFilter().run(series)
    apart = (
        Rotation.from_quat(result.q_world_from_body)
        * Rotation.from_quat(truth.q_world_from_body).inv()
    )
    assert apart.magnitude().max() < 1e-9
    assert result.rest[int(2.0 / 0.005) :].all()


def test_a_clipped_specific_force_and_a_zero_one_are_left_out(still):
    series, truth = still(np.arange(4000) * 5_000_000)
    force = series.specific_force.copy()
    force[2000:2010] = [160.0, 0.0, 0.0]
    force[2500:2600] = 0.0
    result = VqfFilter(VqfParams(accel_range=160.0)).run(series.replace(specific_force=force))
    apart = np.abs(result.q_world_from_body - truth.q_world_from_body)
    assert apart.max() < 1e-9
    assert result.report.clipped_specific_force == 10


def test_a_turn_faster_than_the_range_is_found_again(still):
    """A turn of 90 deg at 1000 deg/s, of which a gyro of 500 deg/s measures one half."""
    turned = Rotation.from_euler("X", 90.0, degrees=True)
    before, _ = still(np.arange(4000) * 5_000_000)
    during, _ = still(before.t_ns[-1] + np.arange(1, 19) * 5_000_000, turned)
    after, _ = still(during.t_ns[-1] + np.arange(1, 3000) * 5_000_000, turned)
    rate = np.zeros((len(during), 3))
    rate[:, 0] = math.radians(500.0)
    series = ImuSeries(
        np.concatenate([before.t_ns, during.t_ns, after.t_ns]),
        np.concatenate([before.angular_velocity, rate, after.angular_velocity]),
        np.concatenate([p.specific_force for p in (before, during, after)]),
        magnetic_field=np.concatenate([p.magnetic_field for p in (before, during, after)]),
    )
    result = VqfFilter(VqfParams(gyro_range=math.radians(500.0))).run(series)
    error = Rotation.from_quat(result.q_world_from_body[-2000]) * turned.inv()  # 5 s later
    assert np.degrees(error.magnitude()) < 1.0


def test_a_larger_bias_is_learnt_where_the_clip_allows_it(still):
    series, _ = still(np.arange(12_000) * 5_000_000)
    bias = np.radians([4.0, -3.0, 2.5])
    series = series.replace(angular_velocity=series.angular_velocity + bias)
    params = VqfParams(bias_clip=np.radians(10.0), bias_sigma_start=np.radians(5.0))
    assert np.allclose(VqfFilter(params).run(series).gyro_bias[-1], bias, atol=np.radians(0.01))
    assert np.abs(VqfFilter().run(series).gyro_bias[-1]).max() < np.radians(2.01)


@pytest.mark.parametrize("estimator", [VqfFilter, OfflineVqf])
def test_no_reading_and_no_clock_leaves_anything_but_numbers(estimator):
    t_ns, rate, force, field = wandering(3000, seed=8)
    random = np.random.default_rng(8)
    strange = np.array([np.nan, np.inf, -np.inf, 1e300, 0.0, -1e5])
    for column in (rate, force, field):
        bad = random.random(column.shape) < 0.1
        column[bad] = random.choice(strange, bad.sum())
    jumps = random.choice([0, 0, 0, -5_000_000_000, 20_000_000_000, -10_000_000], len(t_ns))
    t_ns = t_ns + np.where(random.random(len(t_ns)) < 0.01, jumps, 0).cumsum()
    result = estimator().run(as_series(t_ns, rate, force, field))
    assert np.allclose(np.linalg.norm(result.q_world_from_body, axis=1), 1.0, atol=1e-12)
    for column in (result.gyro_bias, result.gyro_bias_sigma, result.orientation_covariance):
        assert np.isfinite(column).all()


def test_the_covariance_covers_the_error_of_a_noisy_motion(tumble):
    random = np.random.default_rng(9)
    series, truth = tumble(np.arange(24_000) * 5_000_000)
    noisy = series.replace(
        angular_velocity=series.angular_velocity
        + np.radians([0.3, -0.2, 0.1])
        + 0.01 * random.standard_normal((len(series), 3)),
        specific_force=series.specific_force + 0.5 * random.standard_normal((len(series), 3)),
    )
    result = VqfFilter(VqfParams(sample_kind="point")).run(noisy, use_magnetic_field=False)
    apart = (
        Rotation.from_quat(result.q_world_from_body)
        * Rotation.from_quat(truth.q_world_from_body).inv()
    )
    error = apart.as_rotvec() - [0.0, 0.0, apart[0].as_rotvec()[2]]
    sigma = np.sqrt(np.diagonal(result.orientation_covariance, axis1=1, axis2=2))
    assert (np.abs(error[1000:]) < 3.0 * sigma[1000:]).mean() > 0.95
    assert sigma[-1, 2] > 3.0 * sigma[300, 2]  # heading without a field drifts


def test_the_smoother_refuses_single_samples():
    with pytest.raises(StrapdownError, match=r"use OfflineVqf.run\(series\), or VqfFilter"):
        OfflineVqf().update(ImuSample(7, (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)))


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_shortest_recordings_have_their_rows(count):
    series = as_series(*wandering(count, seed=10))
    for estimator in (VqfFilter, OfflineVqf):
        assert estimator().run(series).q_world_from_body.shape == (count, 4)


def test_a_parameter_that_makes_no_sense_is_refused():
    with pytest.raises(ValueRangeError, match="tau_acc"):
        VqfParams(tau_acc=0.0)
    with pytest.raises(ValueRangeError, match="bias_clip"):
        VqfParams(bias_clip=math.nan)


def test_the_defaults_are_the_published_ones():
    peer, ours = vqf.PyVQF(0.01)._params, VqfParams()
    assert ours.tau_acc == peer.tauAcc
    assert ours.tau_mag == peer.tauMag
    assert math.isclose(ours.bias_sigma_start, math.radians(peer.biasSigmaInit))
    assert ours.bias_forgetting_time == peer.biasForgettingTime
    assert math.isclose(ours.bias_clip, math.radians(peer.biasClip))
    assert math.isclose(ours.bias_sigma_motion, math.radians(peer.biasSigmaMotion))
    assert ours.bias_vertical_forgetting == peer.biasVerticalForgettingFactor
    assert math.isclose(ours.bias_sigma_rest, math.radians(peer.biasSigmaRest))
    assert ours.rest_time == peer.restMinT
    assert ours.rest_tau == peer.restFilterTau
    assert math.isclose(ours.rest_rate, math.radians(peer.restThGyr))
    assert ours.rest_force == peer.restThAcc
    assert ours.field_tau == peer.magCurrentTau
    assert ours.field_memory == peer.magRefTau
    assert ours.strength_tolerance == peer.magNormTh
    assert math.isclose(ours.dip_tolerance, math.radians(peer.magDipTh))
    assert ours.new_field_time == peer.magNewTime
    assert ours.first_field_time == peer.magNewFirstTime
    assert math.isclose(ours.new_field_rate, math.radians(peer.magNewMinGyr))
    assert ours.undisturbed_time == peer.magMinUndisturbedTime
    assert ours.rejection_time == peer.magMaxRejectionTime
    assert ours.rejection_factor == peer.magRejectionFactor
