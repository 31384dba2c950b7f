"""Properties of the complementary filter."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.estimation import ComplementaryFilter, ComplementaryParams
from strapdown.evaluation import evaluate_orientation

MS = 1_000_000
SECOND = 1000 * MS


def test_a_gyro_bias_is_learnt_at_rest_unless_the_limit_forbids_it(still):
    bias = np.radians([1.0, -0.7, 0.4])
    readings, _ = still(np.arange(0, 20 * SECOND, 5 * MS))
    readings = readings.replace(angular_velocity=readings.angular_velocity + bias)

    def final_heading(params):
        result = ComplementaryFilter(params).run(readings, use_magnetic_field=False)
        return Rotation.from_quat(result.q_world_from_body[-1]).as_euler("ZYX")[0]

    assert abs(final_heading(None)) < np.radians(2.0)
    drift = final_heading(ComplementaryParams(bias_limit=0.0))
    assert drift == pytest.approx(bias[2] * 20.0, rel=0.02)


def test_a_disturbed_field_counts_less(still):
    readings, truth = still(np.arange(0, 30 * SECOND, 5 * MS))
    field = readings.magnetic_field.copy()
    magnet = (readings.t_ns > 20 * SECOND) & (readings.t_ns < 23 * SECOND)
    field[magnet] += [1e-4, 0.0, 0.0]
    track = ComplementaryFilter().run(readings.replace(magnetic_field=field)).trajectory()
    error = evaluate_orientation(track, truth)
    # full trust would go 1 - exp(-3/9) of the way to atan2(100, 25) = 76 deg
    assert np.radians(0.01) < error.heading_max < np.radians(2.0)


@pytest.mark.parametrize("moved", ["angular_velocity", "specific_force"])
def test_a_slow_turn_is_no_bias_while_the_sensor_shakes(still, moved):
    readings, _ = still(np.arange(0, 30 * SECOND, 5 * MS))
    wave = np.sin(4 * np.pi * readings.t_ns * 1e-9)[:, np.newaxis]
    shaken = {"angular_velocity": readings.angular_velocity + np.radians([0.0, 0.0, 1.0])}
    size = {"angular_velocity": np.radians([0, 0, 4]), "specific_force": [0, 0, 2]}[moved]
    shaken[moved] = shaken.get(moved, readings.specific_force) + wave * size
    result = ComplementaryFilter().run(readings.replace(**shaken), use_magnetic_field=False)
    heading = Rotation.from_quat(result.q_world_from_body[-1]).as_euler("ZYX", degrees=True)[0]
    assert heading == pytest.approx(30.0, abs=0.5)


@pytest.mark.parametrize(
    "change",
    [{"tau_acc": 0.0}, {"tau_mag": -1.0}, {"bias_limit": -0.1}, {"reset_after": np.nan},
     {"tau_acc": np.inf}],
)  # fmt: skip
def test_parameters_out_of_range_are_refused_by_name(change):
    with pytest.raises(ValueRangeError, match=next(iter(change))):
        ComplementaryParams(**change)


def test_gains_a_sample_are_time_constants_at_a_rate():
    params = ComplementaryParams.from_gains(0.01, 0.002, 100.0)
    # a correction by 1 % at 100 Hz reduces the error to 0.99^100 after 1 s
    assert np.exp(-1.0 / params.tau_acc) == pytest.approx(0.99**100)
    assert np.exp(-1.0 / params.tau_mag) == pytest.approx(0.998**100)
    for wrong in ((0.0, 0.1, 100.0), (0.1, 1.0, 100.0), (0.1, 0.1, 0.0), (np.nan, 0.1, 100.0)):
        with pytest.raises(ValueRangeError, match="between 0 and"):
            ComplementaryParams.from_gains(*wrong)


def test_rest_and_a_strange_field_are_told(still):
    readings, _ = still(np.arange(0, 30 * SECOND, 5 * MS))
    moved = (readings.t_ns > 20 * SECOND)[:, np.newaxis]
    noise = np.random.default_rng(1).normal(0.0, 0.3, (len(readings), 3))
    readings = readings.replace(
        angular_velocity=np.where(moved, noise, readings.angular_velocity),
        magnetic_field=readings.magnetic_field + moved * [1e-4, 0.0, 0.0],
    )
    result = ComplementaryFilter().run(readings)
    rest, strange = result.rest, result.magnetic_disturbance
    assert rest[readings.t_ns > 2 * SECOND].any()
    assert rest[(readings.t_ns > 2 * SECOND) & ~moved[:, 0]].all()
    assert not rest[readings.t_ns > 21 * SECOND].any()
    assert not strange[~moved[:, 0]].any()
    assert strange[moved[:, 0]].all()
    sigma = result.gyro_bias_sigma
    assert sigma is not None
    assert sigma[-1, 0] < 0.7 * sigma[0, 0]
