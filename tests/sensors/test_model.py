"""The error model: every formula by hand, and the same bits however it is run."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strapdown.sensors.model import SensorModel
from strapdown.sensors.noise import NoiseKey, Process, normals, uniforms
from strapdown.sensors.triad import Bandwidth, GaussMarkov, Temperature, TriadSpec, TurnOn

KEY = NoiseKey(0x123456789ABCDEF0, 7)
NOTHING = TriadSpec()
CROSS = ((0.01, 0.002, 0.001), (0.003, -0.01, 0.001), (0.002, 0.001, 0.02))

FULL = {
    "noise_density": (0.01, 0.02, 0.03),
    "bias_random_walk": 1e-3,
    "bias_instability": 1e-2,
    "rate_ramp": 1e-4,
    "turn_on_bias": TurnOn("normal", 0.1),
    "turn_on_scale": TurnOn("uniform", 0.01),
    "turn_on_misalignment": TurnOn("normal", 0.001),
    "bias": (0.1, -0.2, 0.3),
    "scale_misalignment": CROSS,
    "resolution": 1 / 1024,
    "bits": 12,
    "measurement_range": 1.8,
}
WARM = Temperature(
    25.0,
    bias=((0.01, 1e-4), (0.02,), ()),
    scale=((1e-4,), (), (1e-4, 1e-6)),
    noise=((0.02,), (0.01, 1e-3), ()),
)
NARROW = Bandwidth("lowpass", 20.0, 3)

# name: gyro, accelerometer, options of the model
CASES = {
    "everything at the output": (
        TriadSpec(**FULL, g_sensitivity=CROSS),
        TriadSpec(**FULL, temperature=WARM),
        {"rate_hz": 1000.0, "temperature": lambda k: 20.0 + 0.01 * k},
    ),
    "terms too fast for the nodes": (
        TriadSpec(gauss_markov=(GaussMarkov(0.1, 0.004), GaussMarkov(0.1, 50.0))),
        TriadSpec(bias_instability=0.01, flicker_band_s=(0.02, 100.0)),
        {"rate_hz": 500.0},
    ),
    "element and filter": (
        TriadSpec(
            noise_density=0.01,
            noise_at="element",
            bandwidth=NARROW,
            temperature=WARM,
            quadratic=0.01,
            cubic=-0.02,
            g_sensitivity=CROSS,
            g_squared_sensitivity=CROSS,
            element_range=1.0,
        ),
        TriadSpec(bandwidth=Bandwidth("boxcar"), carry_residue=True, resolution=0.01),
        {"rate_hz": 100.0, "oversampling": 4, "temperature": lambda k: 20.0 + 0.1 * k},
    ),
    "means of seven": (
        TriadSpec(**FULL),
        TriadSpec(bandwidth=Bandwidth("sections", sections=((0.5, 0.2, 0.1, 1.0, 0.1, 0.2),))),
        {"rate_hz": 100.0, "oversampling": 7, "mean": True},
    ),
}


def model_of(case):
    gyro, accel, options = CASES[case]
    return SensorModel((gyro, accel), KEY, **options)


def inputs_of(case, samples):
    window = CASES[case][2].get("oversampling", 1)
    t = np.arange(samples * window) / (CASES[case][2]["rate_hz"] * window)
    return np.array([1.4 * np.sin((3 + axis) * t + axis) for axis in range(6)])


def stepped(model, inputs):
    steps = [step for row in inputs.T.tolist() if (step := model.step(row)) is not None]
    values = np.array([step.values for step in steps]).reshape(len(steps), len(inputs))
    clipping = np.array([step.clipping for step in steps], np.uint8)
    clipping = clipping.reshape(len(steps), len(inputs) // 3)
    return values.T, clipping.T


def saved_and_restored(model, case):
    fresh = model_of(case)
    fresh.restore(json.loads(json.dumps(model.state())))
    return fresh


# -- the same bits -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_a_stream_gives_the_bits_of_a_run(case):
    inputs = inputs_of(case, 2500)
    values, clipping = model_of(case).run(inputs)
    other_values, other_clipping = stepped(model_of(case), inputs)
    assert np.array_equal(values, other_values)
    assert np.array_equal(clipping, other_clipping)


@pytest.mark.parametrize("case", CASES)
@given(
    pieces=st.lists(
        st.tuples(st.sampled_from([1, 2, 31, 700, 2049]), st.booleans(), st.booleans()), max_size=8
    )
)
@settings(max_examples=8, deadline=None, derandomize=True)
def test_chunks_steps_and_restored_states_give_the_bits_of_one_run(case, pieces):
    samples, window = 3000, CASES[case][2].get("oversampling", 1)
    inputs = inputs_of(case, samples)
    values, clipping = model_of(case).run(inputs)
    model, at, parts = model_of(case), 0, []
    for size, in_steps, save in [*pieces, (samples, False, False)]:
        columns = inputs[:, at * window : (at + size) * window]
        parts.append(model.run(columns, compiled=not in_steps or size > 100))
        at = min(samples, at + size)
        if save:
            model = saved_and_restored(model, case)
    assert np.array_equal(values, np.concatenate([part[0] for part in parts], axis=1))
    assert np.array_equal(clipping, np.concatenate([part[1] for part in parts], axis=1))


@pytest.mark.parametrize("start", [1, 777, 2048, 150_001])
def test_a_model_without_memory_starts_anywhere_with_the_bits_of_a_run(start):
    case = "terms too fast for the nodes"
    inputs = inputs_of(case, start + 50)
    values, _ = model_of(case).run(inputs)
    model = model_of(case)
    model.position = start
    assert np.array_equal(values[:, start:], model.run(inputs[:, start:])[0])
    model.position = 0  # and back
    assert np.array_equal(values[:, :50], model.run(inputs[:, :50])[0])


def test_a_state_in_the_middle_of_a_window_goes_on_there():
    case = "element and filter"
    inputs = inputs_of(case, 20)
    values, _ = stepped(model_of(case), inputs)
    model = model_of(case)
    before, _ = stepped(model, inputs[:, :42])
    after, _ = stepped(saved_and_restored(model, case), inputs[:, 42:])
    assert np.array_equal(values, np.concatenate((before, after), axis=1))


def test_threads_change_no_bits():
    case = "everything at the output"
    inputs = inputs_of(case, 20_000)

    def sensor(number):
        gyro, accel, options = CASES[case]
        return SensorModel((gyro, accel), NoiseKey(3, number), **options).run(inputs)[0]

    alone = [sensor(number) for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(sensor, range(8)))
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))
    assert not np.array_equal(alone[0], alone[1])


def test_a_run_leaves_its_inputs_alone():
    inputs = inputs_of("element and filter", 100)
    kept = inputs.copy()
    model_of("element and filter").run(inputs)
    assert np.array_equal(inputs, kept)


def test_a_stream_loads_neither_numba_nor_scipy():
    code = (
        "import sys\n"
        "from strapdown.sensors.model import SensorModel\n"
        "from strapdown.sensors.noise import NoiseKey\n"
        "from strapdown.sensors.triad import Bandwidth, TriadSpec\n"
        "triad = TriadSpec(noise_density=1e-4, bias_instability=1e-4,"
        " bandwidth=Bandwidth('lowpass', 40.0), noise_at='element')\n"
        "model = SensorModel((triad, triad), NoiseKey(0, 0), rate_hz=100, oversampling=4)\n"
        "steps = [model.step([0.0] * 6) for _ in range(9)]\n"
        "assert sum(step is not None for step in steps) == 2\n"
        "print('numba' in sys.modules, 'scipy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# -- the formulas --------------------------------------------------------------------------------


def triad_outputs(triad, inputs, **options):
    """Run one triad alone over inputs (3, N)."""
    options = {"rate_hz": 20.0} | options
    return SensorModel((triad,), KEY, **options).run(np.asarray(inputs, float))


def test_nothing_known_changes_nothing():
    inputs = inputs_of("everything at the output", 100)
    model = SensorModel((NOTHING, NOTHING), KEY, rate_hz=20.0)
    values, clipping = model.run(inputs)
    assert np.array_equal(values, inputs)
    assert not clipping.any()
    assert not model.variance.any()


def test_scale_misalignment_and_g_sensitivity_are_the_matrix_of_the_definition():
    inputs = inputs_of("everything at the output", 100)
    gyro = TriadSpec(scale_misalignment=CROSS, g_sensitivity=((1, 2, 3), (4, 5, 6), (7, 8, 9)))
    values, _ = SensorModel((gyro, TriadSpec(scale_misalignment=CROSS)), KEY, rate_hz=20.0).run(
        inputs
    )
    error = np.eye(3) + CROSS
    leaked = inputs[:3] + np.array(gyro.g_sensitivity) @ inputs[3:]
    np.testing.assert_allclose(values[:3], error @ leaked, atol=1e-14)
    np.testing.assert_allclose(values[3:], error @ inputs[3:], atol=1e-14)


def test_an_axis_that_does_not_see_a_value_does_not_see_that_it_is_missing():
    values, _ = SensorModel((NOTHING, NOTHING), KEY, rate_hz=20.0).run(
        np.array([[1.0], [2.0], [3.0], [math.nan], [4.0], [5.0]])
    )
    assert values[:, 0].tolist()[:3] == [1.0, 2.0, 3.0]
    assert np.isnan(values[3, 0])
    assert values[4:, 0].tolist() == [4.0, 5.0]


def test_the_element_follows_its_polynomial_before_anything_else():
    gyro = TriadSpec(
        quadratic=0.1,
        cubic=-0.01,
        g_sensitivity=CROSS,
        g_squared_sensitivity=((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), (0.7, 0.8, 0.9)),
        scale_misalignment=CROSS,
    )
    inputs = inputs_of("everything at the output", 50)
    values, _ = SensorModel((gyro, NOTHING), KEY, rate_hz=20.0).run(inputs)
    w, f = inputs[:3], inputs[3:]
    element = w + 0.1 * w**2 - 0.01 * w**3
    element = element + np.array(CROSS) @ f + np.array(gyro.g_squared_sensitivity) @ f**2
    np.testing.assert_allclose(values[:3], (np.eye(3) + CROSS) @ element, atol=1e-13)


def test_halves_are_rounded_to_even_codes():
    inputs = [[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]] * 3
    values, _ = triad_outputs(TriadSpec(resolution=1.0), inputs)
    assert values[0].tolist() == [-2.0, -2.0, 0.0, 0.0, 2.0, 2.0]


def test_a_code_at_the_limit_or_beyond_is_flagged_and_stays_on_the_limit():
    inputs = np.array([[-30.0, -8.0, -7.6, -7.4, 0.0, 6.4, 6.6, 7.0, 30.0]] * 3)
    inputs[1], inputs[2] = 0.0, -inputs[0]
    values, clipping = triad_outputs(TriadSpec(resolution=1.0, bits=4), inputs)
    assert values[0].tolist() == [-8, -8, -8, -7, 0, 6, 7, 7, 7]
    assert values[2].tolist() == [7, 7, 7, 7, 0, -6, -7, -7, -8]
    assert clipping[0].tolist() == [5, 5, 5, 4, 0, 0, 1, 1, 5]


def test_a_range_within_the_codes_limits_first():
    values, clipping = triad_outputs(
        TriadSpec(resolution=0.5, bits=8, measurement_range=2.0), [[-9.0, -1.9, 1.7, 1.8, 9.0]] * 3
    )
    assert values[0].tolist() == [-2.0, -2.0, 1.5, 2.0, 2.0]
    assert clipping[0].tolist() == [7, 7, 0, 7, 7]


def test_a_range_without_codes_limits_exactly():
    values, clipping = triad_outputs(
        TriadSpec(measurement_range=0.3), [[-0.3, -0.2, 0.29, 1.0]] * 3
    )
    assert values[0].tolist() == [-0.3, -0.2, 0.29, 0.3]
    assert clipping[0].tolist() == [7, 0, 0, 7]


def test_noise_is_added_before_the_range_so_a_clipped_axis_sits_still():
    triad = TriadSpec(noise_density=0.1, resolution=0.01, bits=8)
    inputs = np.repeat([[100.0], [-100.0], [0.0]], 5000, axis=1)
    values, clipping = triad_outputs(triad, inputs)
    assert set(values[0]) == {1.27}
    assert set(values[1]) == {-1.28}
    assert len(set(values[2])) > 50
    assert set(clipping[0].tolist()) <= {3, 7}


def test_noise_far_below_half_a_step_sticks_at_one_code():
    triad = TriadSpec(noise_density=1e-3 / math.sqrt(20.0), resolution=1.0)
    values, _ = triad_outputs(triad, np.full((3, 5000), 0.3))
    assert set(values.ravel()) == {0.0}


def test_a_carried_rest_keeps_the_running_sum_within_half_a_step():
    inputs = np.random.default_rng(0).normal(size=(3, 5000))
    values, _ = triad_outputs(TriadSpec(resolution=0.25, carry_residue=True), inputs)
    assert set(np.unique(values / 0.25 % 1.0)) == {0.0}
    assert np.abs(np.cumsum(values - inputs, axis=1)).max() <= 0.125 + 1e-9


def test_axes_that_are_off_give_nan_and_leave_the_others():
    triad = TriadSpec(enabled=(True, False, True), resolution=0.5, bits=3)
    values, clipping = triad_outputs(triad, [[1.0] * 4, [9.0] * 4, [9.0] * 4])
    assert values[0].tolist() == [1.0] * 4
    assert np.isnan(values[1]).all()
    assert clipping[0].tolist() == [4] * 4


def test_white_noise_is_the_addressed_stream_times_its_size():
    triad = TriadSpec(noise_density=(0.1, 0.2, 0.3))
    values, _ = triad_outputs(triad, np.zeros((3, 3000)), channel=6)
    for axis, density in enumerate((0.1, 0.2, 0.3)):
        stream = normals(KEY, 6 + axis, Process.WHITE, 0, 3000).astype(float)
        np.testing.assert_allclose(values[axis], density * math.sqrt(20.0) * stream, rtol=1e-14)


def test_what_is_drawn_at_power_on_has_the_number_of_the_power_cycle():
    triad = TriadSpec(
        turn_on_bias=TurnOn("normal", (1.0, 2.0, 3.0)),
        turn_on_scale=TurnOn("uniform", 0.1),
        turn_on_misalignment=TurnOn("normal", 0.01),
    )
    model = SensorModel((triad,), KEY, rate_hz=20.0)
    for cycle in (0, 5):
        model.reset(cycle)
        outputs = [model.run(np.array(column)[:, None])[0][:, 0] for column in
                   ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]  # fmt: skip
        bias = [n * normals(KEY, n - 1, Process.TURN_ON_BIAS, cycle, 1)[0] for n in (1, 2, 3)]
        np.testing.assert_allclose(outputs[0], bias, rtol=1e-7)
        matrix = np.array(outputs[1:]).T - outputs[0][:, None]
        unit = [2 * uniforms(KEY, axis, Process.SCALE, cycle, 1)[0] - 1 for axis in range(3)]
        np.testing.assert_allclose(np.diag(matrix), 1 + 0.1 * np.array(unit), rtol=1e-12)
        drawn = normals(KEY, 1, Process.MISALIGNMENT, 2 * cycle, 2)
        np.testing.assert_allclose(matrix[1, [0, 2]], 0.01 * drawn, rtol=1e-6)


def test_each_axis_draws_from_its_own_stream():
    triad = TriadSpec(
        turn_on_bias=TurnOn("normal", 1.0),
        turn_on_scale=TurnOn("normal", 1.0),
        turn_on_misalignment=TurnOn("normal", 1.0),
        noise_density=1.0,
        bias_random_walk=1.0,
        bias_instability=1.0,
    )
    model = SensorModel((triad, triad), KEY, rate_hz=20.0)
    outputs = [model.run(column)[0][:, 0] for column in (np.zeros((6, 1)), np.ones((6, 1)))]
    assert len({round(value, 9) for output in outputs for value in output.tolist()}) == 12
    quiet = TriadSpec(turn_on_bias=TurnOn("normal", 1.0))
    bias = SensorModel((quiet, quiet), KEY, rate_hz=20.0, channel=3).run(np.zeros((6, 1)))[0]
    expected = [normals(KEY, 3 + a, Process.TURN_ON_BIAS, 0, 1)[0] for a in range(6)]
    np.testing.assert_allclose(bias[:, 0], expected, rtol=1e-7)


def test_temperature_moves_bias_and_scale_along_their_polynomials():
    terms = Temperature(
        20.0, ((0.1, -0.02, 0.003), (0.1,), ()), ((1e-3, -2e-5), (), (1e-3, 0.0, 1e-7))
    )
    ramp = np.arange(400.0) * 0.1 - 10.0  # at 20 Hz every sample is a node
    values, _ = triad_outputs(
        TriadSpec(temperature=terms), np.full((3, 400), 2.0), temperature=lambda k: k * 0.1 - 10.0
    )
    d = ramp - 20.0
    bias = [0.1 * d - 0.02 * d**2 + 0.003 * d**3, 0.1 * d, 0 * d]
    scale = [1e-3 * d - 2e-5 * d**2, 0 * d, 1e-3 * d + 1e-7 * d**3]
    expected = 2.0 * (1.0 + np.array(scale)) + bias
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def test_between_nodes_temperature_terms_are_linear():
    terms = Temperature(0.0, ((1.0,),) * 3)
    values, _ = triad_outputs(
        TriadSpec(temperature=terms),
        np.zeros((3, 1000)),
        rate_hz=1000.0,
        temperature=lambda k: np.where(k < 512, 0.0, 1.0),
    )
    assert set(values[0, :480]) == {0.0}
    assert set(values[0, 512:]) == {1.0}
    np.testing.assert_allclose(values[0, 480:512], np.arange(32) / 32, atol=1e-15)


@pytest.mark.parametrize("noise_at", ["output", "element"])
def test_temperature_scales_white_noise_and_nothing_else(noise_at):
    hot = Temperature(20.0, noise=((0.1,), (0.0, 0.01), ()))
    triad = TriadSpec(noise_density=0.1, noise_at=noise_at, bias=(1.0, 1.0, 1.0))
    inputs = np.zeros((3, 500))
    cold, _ = SensorModel([triad], KEY, rate_hz=100.0).run(inputs)
    model = SensorModel(
        [replace(triad, temperature=hot)],
        KEY,
        rate_hz=100.0,
        temperature=lambda samples: np.full(len(samples), 30.0),
    )
    warm, _ = model.run(inputs)
    np.testing.assert_allclose(warm - 1.0, (cold - 1.0) * [[2.0], [2.0], [1.0]], atol=1e-14)
    expected = 0.1**2 * 100.0 * np.array([4.0, 4.0, 1.0])
    np.testing.assert_allclose(model.variance_at(7, 2), [expected, expected], rtol=1e-14)


def test_variances_do_not_depend_on_the_chunk():
    model = model_of("element and filter")
    whole = model.variance_at(0, 300)
    assert np.ptp(whole[:, 0]) > 0.0
    for start, count in [(0, 1), (1, 36), (37, 263)]:
        np.testing.assert_array_equal(model.variance_at(start, count), whole[start : start + count])


def test_an_axis_that_is_off_does_not_saturate():
    triad = TriadSpec(element_range=1.0, enabled=(False, True, True))
    values, clipping = SensorModel([triad], KEY, rate_hz=100.0).run(np.full((3, 4), 2.0))
    assert clipping.tolist() == [[6] * 4]
    assert np.isnan(values[0]).all()


def test_without_a_temperature_its_terms_are_off():
    triad = TriadSpec(temperature=Temperature(25.0, ((1.0,),) * 3, ((1.0,),) * 3))
    values, _ = triad_outputs(triad, np.ones((3, 10)))
    assert set(values.ravel()) == {1.0}


def test_a_ramp_grows_with_the_time_since_power_on():
    values, _ = triad_outputs(
        TriadSpec(rate_ramp=(0.1, 0.2, 0.0)), np.zeros((3, 5000)), rate_hz=100
    )
    np.testing.assert_allclose(values[1], 0.2 * np.arange(5000) / 100, atol=1e-12)
    assert not values[2].any()


# -- filters and windows -------------------------------------------------------------------------


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("oversampling", [1, 4, 7])
def test_a_filter_starts_in_the_steady_state_of_its_first_input(order, oversampling):
    triad = TriadSpec(bandwidth=Bandwidth("lowpass", 5.0, order))
    for mean in (False, True):
        values, _ = triad_outputs(
            triad, np.full((3, 5 * oversampling), 9.80665), oversampling=oversampling, mean=mean
        )
        assert values.shape == (3, 5)
        assert set(values.ravel()) == {9.80665}


def test_sections_of_a_user_start_steady_too():
    sections = ((0.4, 0.1, 0.05, 1.0, -0.3, 0.1), (1.0, 0.5, 0.0, 1.0, 0.2, 0.0))
    gain = (0.55 / 0.8) * (1.5 / 1.2)
    triad = TriadSpec(bandwidth=Bandwidth("sections", sections=sections))
    values, _ = triad_outputs(triad, np.full((3, 5), 2.0))
    np.testing.assert_allclose(values, 2.0 * gain, rtol=1e-15)
    assert len(set(values.ravel())) == 1


def test_a_filter_is_the_one_of_scipy():
    signal = pytest.importorskip("scipy.signal")
    inputs = np.random.default_rng(1).normal(size=(3, 700))
    sos = signal.butter(3, 5.0, fs=80.0, output="sos")
    triad = TriadSpec(bandwidth=Bandwidth("lowpass", 5.0, 3))
    values, _ = triad_outputs(triad, inputs, oversampling=4)
    zi = signal.sosfilt_zi(sos)[:, None, :] * inputs[:, :1]
    expected, _ = signal.sosfilt(sos, inputs, axis=1, zi=zi)
    np.testing.assert_allclose(values, expected[:, 3::4], atol=1e-13)


def test_a_missing_input_does_not_stay_in_the_filter():
    triad = TriadSpec(bandwidth=Bandwidth("lowpass", 2.0))
    inputs = np.full((3, 6), 5.0)
    inputs[:, [0, 3]] = math.nan
    values, _ = triad_outputs(triad, inputs)
    assert np.isnan(values[0]).tolist() == [True, False, False, True, False, False]
    assert set(values[0][[1, 2, 4, 5]]) == {5.0}


def test_a_boxcar_takes_the_mean_of_its_window():
    inputs = np.random.default_rng(2).normal(size=(3, 70))
    values, _ = triad_outputs(TriadSpec(bandwidth=Bandwidth("boxcar")), inputs, oversampling=7)
    np.testing.assert_allclose(values, inputs.reshape(3, 10, 7).mean(axis=2), atol=1e-15)


def test_a_mean_carries_the_flags_of_its_window():
    inputs = np.zeros((3, 12))
    inputs[1, 5] = 5.0  # the mean, 1.25, is far from the range
    values, clipping = triad_outputs(
        TriadSpec(measurement_range=4.0), inputs, oversampling=4, mean=True
    )
    assert clipping[0].tolist() == [0, 2, 0]
    assert values[1].tolist() == [0.0, 1.0, 0.0]


def test_the_range_of_the_element_limits_before_the_filter():
    triad = TriadSpec(element_range=1.0, scale_misalignment=((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0)))
    values, clipping = triad_outputs(triad, [[0.5, 3.0, -1.0]] * 3)
    assert values[0].tolist() == [1.0, 2.0, -2.0]
    assert clipping[0].tolist() == [0, 7, 7]
