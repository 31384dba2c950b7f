"""Steps of the autopilot's estimator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, ValueRangeError
from strapdown.messages.px4 import VehicleImu
from strapdown.px4.down_sampler import EstimatorDownSampler, down_sampled


def windows(count, dt_us, rate=(0.0, 0.0, 0.0), force=(0.0, 0.0, 0.0)):
    records = np.zeros(count, VehicleImu.dtype)
    records["timestamp_sample"] = 1_000_000 + dt_us * np.arange(1, count + 1)
    records["delta_angle_dt"] = records["delta_velocity_dt"] = dt_us
    records["delta_angle"] = np.multiply(rate, dt_us * 1e-6)
    records["delta_velocity"] = np.multiply(force, dt_us * 1e-6)
    return records


@pytest.mark.parametrize(
    ("factor", "last_us"), [(1.0, 10_000), (0.5, 10_000), (1.6, 16_000), (0.333, 9_990)]
)
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_steps_last_about_ten_milliseconds_and_keep_the_rates(factor, last_us, axis):
    rate = np.zeros(3) if axis is None else np.eye(3)[axis]
    force = np.array([-0.46, 0.87, 0.20]) if axis is None else np.zeros(3)
    count = int(30 / factor)
    steps = down_sampled(windows(count, int(factor * 10_000), rate, force))
    assert steps["delta_angle_dt"][-1] == steps["delta_velocity_dt"][-1] == last_us
    seconds = last_us * 1e-6
    np.testing.assert_allclose(steps["delta_angle"][-1] / seconds, rate, atol=count * 1e-7)
    np.testing.assert_allclose(steps["delta_velocity"][-1] / seconds, force, atol=count * 1e-7)


def test_the_first_steps_of_slow_windows_are_longer():
    steps = down_sampled(windows(30, 10_000))
    assert steps["delta_angle_dt"].tolist()[:4] == [20_000, 20_000, 10_000, 10_000]


def test_a_wanted_length_of_eight_milliseconds_takes_two_windows_of_four():
    rate, force = np.array([0.0, 0.0, 1.0]), np.array([0.3, -0.2, -9.8])
    sampler = EstimatorDownSampler(8000)
    steps = []
    for turn in range(3):
        rows = map(VehicleImu.from_record, windows(4, 4000, np.roll(rate, -turn)))
        steps.extend(map(sampler.update, rows))
        done = steps[-1]
        wanted = np.roll(rate, -turn) * 0.008
        np.testing.assert_array_max_ulp(done.delta_angle, wanted.astype(np.float32), 1)
        assert done.delta_angle_dt == 8000
    assert [step is not None for step in steps[:4]] == [False, True, False, True]
    still = EstimatorDownSampler(8000)
    for row in windows(2, 4000, force=force):
        step = still.update(VehicleImu.from_record(row))
    np.testing.assert_array_max_ulp(step.delta_velocity, (force * 0.008).astype(np.float32), 1)


def test_the_next_step_is_laid_out_for_the_mean_length_of_windows():
    sampler = EstimatorDownSampler(8000)
    for row in windows(2, 4000):
        sampler.update(VehicleImu.from_record(row))
    total = sampler.state[0]
    assert total.required == 2
    laid_out = (total.mean_dt, total.least, total.target)
    assert laid_out == pytest.approx((0.00481, 0.00481, 0.00962), rel=1e-6)


def test_rotations_compose_and_velocity_ends_in_the_axes_at_the_end():
    rng = np.random.default_rng(5)
    records = windows(2, 5000)
    records["delta_angle"] = rng.normal(0.0, 0.2, (2, 3))
    records["delta_velocity"] = rng.normal(0.0, 1.0, (2, 3))
    step = down_sampled(records)[0]
    turns = [Rotation.from_rotvec(row) for row in records["delta_angle"].astype(np.float64)]
    np.testing.assert_allclose(step["delta_angle"], (turns[0] * turns[1]).as_rotvec(), rtol=2e-6)
    velocity = np.zeros(3)
    for turn, delta in zip(turns, records["delta_velocity"].astype(np.float64), strict=True):
        velocity = turn.inv().apply(velocity) + (delta + turn.inv().apply(delta)) / 2
    np.testing.assert_allclose(step["delta_velocity"], velocity, rtol=2e-6)


def test_a_stream_gives_the_bits_of_a_batch_and_its_state_can_be_put_back():
    rng = np.random.default_rng(6)
    records = windows(40, 3300)
    records["delta_angle"] = rng.normal(0.0, 0.1, (40, 3))
    records["delta_velocity"] = rng.normal(0.0, 0.1, (40, 3))
    records["delta_angle_clipping"] = rng.integers(0, 8, 40) * (rng.random(40) < 0.2)
    sampler, other = EstimatorDownSampler(), EstimatorDownSampler(5000)
    steps = []
    for row in records:
        other = EstimatorDownSampler()
        other.state = sampler.state
        step, again = (each.update(VehicleImu.from_record(row)) for each in (sampler, other))
        assert (step is None) == (again is None)
        if step:
            assert bytes(step) == bytes(again)
            steps.append(step)
    assert (VehicleImu.array(steps) == down_sampled(records)).all()


def test_windows_without_length_or_of_another_type_are_refused():
    records = windows(3, 5000)
    records["delta_angle_dt"][1] = 0
    with pytest.raises(ValueRangeError, match="row 1"):
        down_sampled(records)
    with pytest.raises(ShapeError, match=r"VehicleImu\.dtype"):
        down_sampled(np.zeros(3))
    assert len(down_sampled(records[:0])) == 0
