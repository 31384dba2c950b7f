"""The simulated device: instants, first samples, reset, state, and what it hands out."""

from __future__ import annotations

import copy
import itertools
import json
import math
import pickle
import subprocess
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from strapdown.errors import DeviceError, ShapeError, UnknownNameError, ValueRangeError
from strapdown.sensors.samples import Flag, Sample, Samples
from strapdown.sensors.simulator import ImuSimulator
from strapdown.sensors.spec import Clock, Fifo, ImuSpec, Latency
from strapdown.sensors.temperature import TemperatureProfile
from strapdown.sensors.triad import Bandwidth, Temperature, TriadSpec, TurnOn
from strapdown.sensors.vibration import Line, Vibration
from strapdown.series import Trajectory

W_HZ, F_HZ = (0.3, 0.5, 0.7), (0.4, 0.6, 0.2)
ALL_SAMPLINGS = ["point", "mean", "integral", "preintegrated", "velocity_difference"]
COLUMNS = [name for name in Sample._fields if name != "temperature_degC"]


@dataclass
class Tones:
    """Sines about constants, with their integrals; a velocity difference is its integral."""

    start_s: float = 0.0
    end_s: float = math.inf
    amplitude: float = 1.0
    has_pose: bool = True
    has_acceleration: bool = True

    def inputs(self, t_s):
        t_s = np.asarray(t_s)[:, None]
        assert t_s.size == 0 or (t_s.min() >= self.start_s and t_s.max() <= self.end_s)
        w = 0.25 + self.amplitude * np.sin(2 * np.pi * np.array(W_HZ) * t_s)
        f = np.array([0.5, -0.5, 9.75]) + self.amplitude * np.sin(2 * np.pi * np.array(F_HZ) * t_s)
        return w, f

    def _primitives(self, t_s):
        t_s = np.asarray(t_s)[:, None]
        assert t_s.size == 0 or (t_s.min() >= self.start_s and t_s.max() <= self.end_s)
        return [
            mean * t_s - self.amplitude * np.cos(2 * np.pi * hz * t_s) / (2 * np.pi * hz)
            for mean, hz in (
                (np.full(3, 0.25), np.array(W_HZ)),
                (np.array([0.5, -0.5, 9.75]), np.array(F_HZ)),
            )
        ]

    def integrals(self, edges_s):
        angle, velocity = (np.diff(value, axis=0) for value in self._primitives(edges_s))
        return angle, velocity

    preintegrated = integrals

    def velocity_change(self, edges_s):
        return self.integrals(edges_s)[1]

    def truth(self, t_s, *, start_ns=0):
        half = 0.05 * np.asarray(t_s)
        zero = np.zeros_like(half)
        q = np.stack([zero, zero, np.sin(half), np.cos(half)], axis=-1)
        return Trajectory(start_ns + np.rint(np.asarray(t_s) * 1e9).astype(np.int64), q)


STILL = Tones(amplitude=0.0)
ENDLESS = Tones(start_s=-math.inf)
LOWPASS = Bandwidth("lowpass", 20.0, 2)
NOISY = TriadSpec(
    noise_density=1e-3,
    bias_instability=1e-3,
    bias_random_walk=1e-4,
    turn_on_bias=TurnOn("normal", 0.01),
    resolution=1e-4,
    bits=18,
    measurement_range=12.0,
)
SPECS = {
    **{
        name: ImuSpec(rate_hz=100, sampling=name, gyro=NOISY, accel=NOISY) for name in ALL_SAMPLINGS
    },
    "filter": ImuSpec(
        rate_hz=100,
        gyro=replace(NOISY, bandwidth=LOWPASS, noise_at="element"),
        accel=replace(NOISY, bandwidth=Bandwidth("boxcar"), carry_residue=True),
        mag=TriadSpec(noise_density=1e-7, bandwidth=LOWPASS),
    ),
    "seven": ImuSpec(rate_hz=100, sampling="integral", oversampling=7, gyro=NOISY, accel=NOISY),
    "clock": ImuSpec(
        rate_hz=100,
        gyro=NOISY,
        accel=replace(NOISY, temperature=Temperature(20.0, ((1e-3,),) * 3, ((1e-4,),) * 3)),
        clock=Clock(100.0, 1.0, 1.0, 1e-4, 1e-5, 8),
        latency=Latency(0.01, 0.01),
        fifo=Fifo(5, 6),
        drop_probability=0.1,
    ),
}


def device(which, source=None, **options):
    source = Tones() if source is None else source
    options = {"seed": 7, "temperature": TemperatureProfile(20.0, 30.0, 5.0)} | options
    return ImuSimulator(SPECS[which], source, **options)


def assert_same(samples: Samples, rows: list[Sample]):
    for name in COLUMNS:
        expected = getattr(samples, name)
        got = [getattr(row, name) for row in rows]
        if expected is None:
            assert got == [None] * len(rows), name
        else:
            assert np.array_equal(expected, np.array(got), equal_nan=True), name


def assert_equal(a: Samples, b: Samples, *, but=()):
    for name in COLUMNS:
        x, y = getattr(a, name), getattr(b, name)
        if x is not None and name not in but:
            assert np.array_equal(x, y, equal_nan=True), name


# -- the same bits -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPECS)
def test_steps_give_the_bits_of_a_run(name):
    stream = device(name)
    assert_same(device(name).run(300), [stream.step() for _ in range(300)])


@pytest.mark.parametrize("name", SPECS)
def test_plain_python_gives_the_bits_of_machine_code(name, monkeypatch):
    samples = device(name).run(300)
    monkeypatch.setattr("strapdown.sensors.simulator.compiled_is_quicker", lambda *_: False)
    assert_equal(device(name).run(300), samples)


@pytest.mark.parametrize("name", SPECS)
def test_chunks_and_restored_states_give_the_bits_of_a_run(name):
    samples, parts, simulator = device(name).run(6000), [], device(name)
    for size in (1, 2, 500, 1, 4096, 1400):
        parts.append(simulator.run(size))
        state = json.loads(json.dumps(simulator.state()))
        simulator = device(name)
        simulator.restore(state)
    for column in COLUMNS:
        if getattr(samples, column) is not None:
            joined = np.concatenate([getattr(part, column) for part in parts])
            assert np.array_equal(getattr(samples, column), joined, equal_nan=True), column


@pytest.mark.parametrize("name", SPECS)
def test_seeking_gives_the_bits_of_a_run(name):
    samples, simulator = device(name).run(5000), device(name)
    for row in (4500, 100, 700):
        simulator.seek(int(samples.seq[row]))
        assert_equal(samples[row : row + 50], simulator.run(50))


def test_blocks_are_a_run_taken_apart():
    blocks = list(device("filter").blocks(1000, block=300))
    assert [len(block) for block in blocks] == [300, 300, 300, 100]
    whole = device("filter").run(1000)
    joined = np.concatenate([block.specific_force for block in blocks])
    assert np.array_equal(whole.specific_force, joined)


def test_feeding_the_truth_gives_the_bits_of_riding_on_it():
    samples = device("point").run(200)
    w, f = Tones().inputs(samples.t_true_s)
    fed = ImuSimulator(SPECS["point"], seed=7)
    rows = [fed.feed(a, b) for a, b in zip(w.tolist(), f.tolist(), strict=True)]
    assert_same(samples, rows)


def test_another_seed_or_name_is_other_noise_and_the_same_stamps():
    samples = device("point").run(100)
    for other in (device("point", seed=8), device("point", name="imu1"), device("point", sensor=3)):
        others = other.run(100)
        assert (
            not np.isclose(samples.angular_velocity, others.angular_velocity, atol=1e-5)
            .all(0)
            .any()
        )
        assert np.array_equal(samples.t_ns, others.t_ns)


def test_no_seed_draws_one_and_says_which():
    simulator = device("point", seed=None)
    seed = simulator.metadata()["seed"]
    assert seed != device("point", seed=None).metadata()["seed"]
    assert_equal(simulator.run(50), device("point", seed=seed).run(50))


def test_a_stream_loads_neither_numba_nor_scipy():
    code = (
        "import sys\n"
        "from strapdown.motion.mount import Mounted\n"
        "from strapdown.motion.primitives import Static\n"
        "from strapdown.sensors.simulator import ImuSimulator\n"
        "from strapdown.sensors.spec import ImuSpec\n"
        "simulator = ImuSimulator(ImuSpec(), Mounted(Static()))\n"
        "print(simulator.step().specific_force)\n"
        "simulator.feed((0, 0, 0), (0, 0, 1))\n"
        "print('numba' in sys.modules, 'scipy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[0.0, 0.0, 9.80665]", "False False"]


# -- what a sample is ----------------------------------------------------------------------------


def ideal(sampling="point", **options):
    return ImuSpec(rate_hz=100, sampling=sampling, **options)


def test_point_samples_are_the_truth_at_their_instants():
    samples = ImuSimulator(ideal(), Tones()).run(50)
    np.testing.assert_array_equal(samples.t_true_s, np.arange(50) / 100)
    w, f = Tones().inputs(samples.t_true_s)
    assert np.array_equal(samples.angular_velocity, w)
    assert np.array_equal(samples.specific_force, f)


@pytest.mark.parametrize("oversampling", [1, 4, 7])
def test_averages_are_exact_means_over_the_interval_before(oversampling):
    samples = ImuSimulator(ideal("mean", oversampling=oversampling), Tones()).run(50)
    edges_s = np.arange(51) / 100
    angle, velocity = Tones().integrals(edges_s)
    np.testing.assert_array_equal(samples.t_true_s, edges_s[1:])
    np.testing.assert_allclose(samples.angular_velocity, angle * 100, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(samples.specific_force, velocity * 100, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("sampling", ["integral", "preintegrated"])
def test_increments_add_up_whatever_the_clock_does(sampling):
    spec = ideal(sampling, clock=Clock(rate_error_ppm=5000.0, jitter_s=1e-3))
    samples = ImuSimulator(spec, Tones()).run(500)
    assert samples.angular_velocity is None
    assert samples.specific_force is None
    # the interval before sample 1 begins at sample 0, which has jitter as well
    begin_s = samples.t_true_s[0]
    angle, velocity = Tones().integrals(np.array([begin_s, samples.t_true_s[-1]]))
    np.testing.assert_allclose(samples.delta_angle[1:].sum(axis=0), angle[0], atol=1e-12)
    np.testing.assert_allclose(samples.delta_velocity[1:].sum(axis=0), velocity[0], atol=1e-11)


def test_velocity_differences_divide_by_the_interval_that_passed():
    spec = ideal("velocity_difference", clock=Clock(rate_error_ppm=10_000.0))
    samples = ImuSimulator(spec, STILL).run(20)
    assert np.isnan(samples.specific_force[0]).all()
    assert samples.flags.tolist() == [Flag.NOT_READY] + [0] * 19
    expected = np.broadcast_to([0.5, -0.5, 9.75], (19, 3))
    np.testing.assert_allclose(samples.specific_force[1:], expected, rtol=1e-12)
    assert set(samples.angular_velocity.ravel()) == {0.25}


def test_a_steady_motion_has_steady_samples_from_the_first_and_after_a_reset(subtests):
    for oversampling, bandwidth, sampling, start_s in itertools.product(
        [1, 4, 7],
        [None, LOWPASS, Bandwidth("boxcar")],
        ["point", "mean", "integral", "velocity_difference"],
        [0.0, -math.inf],
    ):
        with subtests.test(
            oversampling=oversampling, bandwidth=bandwidth, sampling=sampling, start_s=start_s
        ):
            check_steady_motion(oversampling, bandwidth, sampling, start_s)


def check_steady_motion(oversampling, bandwidth, sampling, start_s):
    triad = TriadSpec(bandwidth=bandwidth)
    spec = ideal(sampling, oversampling=oversampling, gyro=triad, accel=triad)
    simulator = ImuSimulator(spec, Tones(start_s=start_s, amplitude=0.0))
    means = sampling in {"mean", "integral"} or (bandwidth and bandwidth.kind == "boxcar")
    first = 1 if means and start_s == 0.0 else 0
    for _ in range(2):
        samples = simulator.run(5)
        assert samples.seq.tolist() == list(range(first, first + 5))
        scale = 0.01 if sampling == "integral" else 1.0
        w = samples.delta_angle if sampling == "integral" else samples.angular_velocity
        f = samples.delta_velocity if sampling == "integral" else samples.specific_force
        exact = 1e-13 if means else 0.0  # integrals of the source are not exact
        np.testing.assert_allclose(w / scale, np.full((5, 3), 0.25), rtol=exact)
        ready = f[1:] if sampling == "velocity_difference" and first == 0 else f
        tolerance = 1e-12 if sampling == "velocity_difference" else exact
        expected = np.broadcast_to([0.5, -0.5, 9.75], ready.shape)
        np.testing.assert_allclose(ready / scale, expected, rtol=tolerance)
        assert np.isnan(f[: len(f) - len(ready)]).all()
        simulator.reset()


@pytest.mark.parametrize("name", SPECS)
def test_a_reset_with_restarted_noise_is_a_fresh_run(name):
    simulator = device(name)
    simulator.run(123)
    simulator.reset(noise="restart")
    assert_equal(device(name).run(300), simulator.run(300))


def test_a_reset_elsewhere_starts_there():
    simulator = device("clock")
    simulator.run(50)
    simulator.reset(start_s=2.0, noise="restart")
    assert_equal(device("clock", start_s=2.0).run(50), simulator.run(50))


def test_noise_goes_on_over_a_reset():
    whole = device("point", source=STILL, temperature=None).run(400)
    simulator = device("point", source=STILL, temperature=None)
    simulator.run(150)
    simulator.reset()
    after = simulator.run(250)
    assert np.array_equal(after.specific_force, whole.specific_force[150:])
    assert after.seq.tolist() == list(range(250))
    assert after.t_true_s[0] == 0.0


def test_a_power_cycle_draws_the_turn_on_bias_anew_and_nothing_else():
    simulator = device("point", source=STILL, temperature=None, seed=8)
    before = simulator.run(100)
    simulator.reset(noise="restart", power_cycle=True)
    change = simulator.run(100).specific_force - before.specific_force
    assert np.abs(change[0]).min() > 1e-4
    np.testing.assert_allclose(change, np.broadcast_to(change[0], (100, 3)), atol=1.01e-4)
    simulator.seek(10)
    restored = device("point", source=STILL, temperature=None, seed=8)
    restored.restore(json.loads(json.dumps(simulator.state())))
    assert_equal(simulator.run(20), restored.run(20))


def test_oversampled_feeding_gives_one_sample_for_each_window():
    spec = ideal("mean", oversampling=4)
    fed = ImuSimulator(spec)
    rows = [fed.feed((i, 0.0, 0.0), (0.0, 0.0, 1.0)) for i in range(8)]
    assert [row is None for row in rows] == [True, True, True, False] * 2
    assert [row.angular_velocity[0] for row in rows if row] == [1.5, 5.5]
    assert [row.seq for row in rows if row] == [0, 1]


def test_a_tone_above_half_the_rate_aliases_with_the_gain_of_the_filter():
    signal = pytest.importorskip("scipy.signal")

    class Tone(Tones):
        def inputs(self, t_s):
            wave = np.sin(2 * np.pi * 87.0 * np.asarray(t_s))[:, None]
            return np.repeat(wave, 3, axis=1), np.repeat(wave, 3, axis=1)

    triad = TriadSpec(bandwidth=Bandwidth("lowpass", 40.0, 2))
    spec = ideal(gyro=triad, oversampling=16)
    rate = ImuSimulator(spec, Tone()).run(2000).angular_velocity[200:, 0]
    spectrum = 2 * np.abs(np.fft.rfft(rate[:1000])) / 1000
    assert np.argmax(spectrum) == 130  # |87 - 100| Hz in steps of 0.1 Hz
    sos = signal.butter(2, 40.0, fs=1600.0, output="sos")
    gain = abs(signal.sosfreqz(sos, [87.0], fs=1600.0)[1][0])
    assert 20 * np.log10(spectrum[130] / gain) == pytest.approx(0.0, abs=0.1)


def test_a_boxcar_takes_the_exact_mean_without_oversampling():
    spec = ideal(gyro=TriadSpec(bandwidth=Bandwidth("boxcar")))
    samples = ImuSimulator(spec, ENDLESS).run(20)
    angle, _ = Tones().integrals(np.arange(20) / 100)
    np.testing.assert_allclose(samples.angular_velocity[1:], angle * 100, rtol=1e-12)
    assert np.array_equal(samples.specific_force, ENDLESS.inputs(samples.t_true_s)[1])


def test_rectified_vibration_shifts_the_mean_and_leaves_no_tone():
    class Shaken(Tones):
        def inputs(self, t_s):
            wave = 30.0 * np.sin(2 * np.pi * 330.0 * np.asarray(t_s))[:, None]
            return np.zeros((len(t_s), 3)), np.repeat(wave, 3, axis=1)

    accel = TriadSpec(quadratic=1e-3, bandwidth=Bandwidth("lowpass", 5.0, 4))
    spec = ideal(accel=accel, oversampling=20)
    force = ImuSimulator(spec, Shaken()).run(1000).specific_force[400:]
    np.testing.assert_allclose(force.mean(axis=0), 1e-3 * 30.0**2 / 2, rtol=0.01)
    assert np.ptp(force, axis=0).max() < 0.01 * 1e-3 * 30.0**2 / 2


def test_vibration_is_added_to_the_inputs_of_both_triads():
    vibration = Vibration(
        lines=(Line((1.0, 0.0, 0.0), 7.0, 0.0),), angular_lines=(Line((0.0, 0.5, 0.0), 3.0, 0.0),)
    )
    samples = ImuSimulator(ideal(), STILL, vibration=vibration).run(100)
    t = samples.t_true_s
    np.testing.assert_allclose(
        samples.specific_force[:, 0], 0.5 + np.sin(14 * np.pi * t), atol=1e-12
    )
    np.testing.assert_allclose(
        samples.angular_velocity[:, 1], 0.25 + 0.5 * np.sin(6 * np.pi * t), atol=1e-12
    )


def test_a_magnetometer_sees_the_field_in_its_own_axes():
    spec = ideal(mag=TriadSpec(bias=(1e-6, 0.0, 0.0)))
    samples = ImuSimulator(spec, STILL, magnetic_field_world=(3e-5, 0.0, -4e-5)).run(100)
    yaw = 0.1 * samples.t_true_s
    expected = np.stack([3e-5 * np.cos(yaw) + 1e-6, -3e-5 * np.sin(yaw), 0 * yaw - 4e-5], axis=-1)
    np.testing.assert_allclose(samples.magnetic_field, expected, atol=1e-18)


def test_the_temperature_is_a_column_and_moves_the_bias():
    accel = TriadSpec(temperature=Temperature(20.0, ((0.1,),) * 3))
    spec = ImuSpec(rate_hz=20, accel=accel)
    profile = TemperatureProfile(lambda t_s: 15.0 + 2.0 * t_s)
    samples = ImuSimulator(spec, STILL, temperature=profile, start_s=1.0).run(100)
    np.testing.assert_allclose(samples.temperature_degC, 15.0 + 2.0 * samples.t_true_s, rtol=1e-15)
    bias = samples.specific_force - [0.5, -0.5, 9.75]
    expected = 0.1 * (samples.temperature_degC - 20.0)
    np.testing.assert_allclose(bias, np.repeat(expected[:, None], 3, axis=1), atol=1e-12)


# -- hand over -----------------------------------------------------------------------------------


def test_lost_samples_keep_their_numbers_and_noise_and_stay_out_of_the_series():
    samples = device("clock").run(2000)
    complete = ImuSimulator(
        replace(SPECS["clock"], drop_probability=0.0, fifo=None),
        Tones(),
        seed=7,
        temperature=TemperatureProfile(20.0, 30.0, 5.0),
    ).run(2000)
    assert np.array_equal(samples.specific_force, complete.specific_force)
    dropped = (samples.flags & Flag.DROPPED) != 0
    assert 100 < dropped.sum() < 1000
    series = samples.series(stamps="true")
    assert np.array_equal(series.t_ns, samples.t_ns[~dropped])
    assert np.array_equal(series.specific_force, samples.specific_force[~dropped])


def test_a_series_has_the_stamps_that_were_asked_for():
    samples = device("clock", start_ns=10**18).run(100)
    assert np.array_equal(samples.t_ns, 10**18 + np.rint(samples.t_true_s * 1e9).astype(np.int64))
    kept = (samples.flags & Flag.DROPPED) == 0
    for stamps, column in (("sensor", samples.t_sensor_ns), ("host", samples.t_host_ns)):
        assert np.array_equal(samples.series(stamps=stamps).t_ns, column[kept])
    assert samples.t_sensor_ns[0] == 10**18
    assert (samples.t_host_ns >= 10**18).all()
    assert samples.ticks.max() < 256
    with pytest.raises(UnknownNameError, match="kind of time stamp"):
        samples.series(stamps="gps")


def test_increments_have_the_nominal_interval():
    samples = device("integral").run(30)
    increments = samples.increments()
    assert np.array_equal(increments.delta_angle, samples.delta_angle)
    assert set(increments.delta_velocity_dt_ns.tolist()) == {10_000_000}
    with pytest.raises(ValueRangeError, match=r"use increments\(\)"):
        samples.series()
    with pytest.raises(ValueRangeError, match=r"use series\(\)"):
        device("point").run(3).increments()


def test_a_perfect_sensor_has_no_covariance():
    series = ImuSimulator(ideal(), Tones()).run(3).series()
    assert series.angular_velocity_covariance is None
    assert series.specific_force_covariance is None


def test_a_covariance_may_contain_the_bias():
    accel = TriadSpec(
        noise_density=0.01, turn_on_bias=TurnOn("uniform", 0.3), bias_random_walk=0.01
    )
    spec = ImuSpec(rate_hz=100, accel=accel)
    variance = ImuSimulator(spec, STILL, include_bias=True).run(201).accel_variance
    np.testing.assert_allclose(variance[0], 0.01**2 * 100 + 0.3**2 / 3, rtol=1e-12)
    np.testing.assert_allclose(variance[200] - variance[0], 0.01**2 * 2.0, rtol=1e-9)


def test_flicker_counts_with_its_steady_variance():
    accel = TriadSpec(bias_instability=0.5)
    variance = ImuSimulator(ImuSpec(accel=accel), STILL, include_bias=True).run(1).accel_variance
    np.testing.assert_allclose(np.sqrt(variance[0]), 1.948 * 0.5, rtol=1e-3)


def test_truth_is_that_of_the_source_at_the_samples():
    simulator = device("clock", start_ns=5)
    samples = simulator.run(10)
    truth = simulator.truth(samples)
    assert np.array_equal(truth.t_ns, samples.t_ns)


def test_metadata_says_what_is_off_and_how_late_the_filter_is():
    spec = replace(SPECS["filter"], accel=replace(SPECS["filter"].accel, temperature=Temperature()))
    metadata = ImuSimulator(spec, Tones(), seed=3).metadata()
    assert json.loads(json.dumps(metadata)) == metadata
    assert metadata["seed"] == 3
    assert metadata["oversampling"] == 2
    assert "gyro.quadratic" in metadata["missing"]
    assert metadata["without_temperature"] == ["accel"]
    assert metadata["group_delay_s"]["accel"] == pytest.approx(0.005)
    prewarped = 2 * 200 * math.tan(math.pi * 20 / 200)  # rad/s
    assert metadata["group_delay_s"]["gyro"] == pytest.approx(math.sqrt(2.0) / prewarped)


# -- misuse --------------------------------------------------------------------------------------


def test_a_motion_that_ends_ends_the_samples():
    simulator = ImuSimulator(ideal(), Tones(end_s=1.0))
    with pytest.raises(ValueRangeError, match=r"motion ends at 1 s, got sample 101 at 1\.01 s"):
        simulator.run(102)
    assert len(simulator.run(101)) == 101
    with pytest.raises(ValueRangeError, match="motion ends"):
        simulator.step()


def test_a_start_before_the_motion_is_refused():
    with pytest.raises(ValueRangeError, match="start_s within the motion"):
        ImuSimulator(ideal(), Tones(start_s=1.0))


def test_without_a_source_there_is_only_feeding():
    simulator = ImuSimulator(ideal())
    for call in (simulator.step, lambda: simulator.run(1), lambda: simulator.truth(None)):
        with pytest.raises(DeviceError, match="expected a source"):
            call()
    with pytest.raises(ShapeError, match="3 numbers"):
        simulator.feed((0.0, 0.0), (0.0, 0.0, 0.0))
    with pytest.raises(ShapeError, match="3 numbers"):
        ImuSimulator(ideal(mag=TriadSpec())).feed((0.0,) * 3, (0.0,) * 3)


def test_a_half_fed_window_stops_a_run():
    simulator = ImuSimulator(ideal(oversampling=2), Tones())
    simulator.feed((0.0,) * 3, (0.0,) * 3)
    with pytest.raises(DeviceError, match="whole samples"):
        simulator.run(1)


@pytest.mark.parametrize("sampling", ["preintegrated", "velocity_difference"])
def test_samplings_of_the_motion_between_cannot_be_fed(sampling):
    with pytest.raises(DeviceError, match="use step"):
        ImuSimulator(ideal(sampling)).feed((0.0,) * 3, (0.0,) * 3)


@pytest.mark.parametrize(
    ("spec", "source", "message"),
    [
        (ideal("preintegrated"), Tones(has_pose=False), "with a pose"),
        (ideal("velocity_difference"), Tones(has_pose=False), "with a pose"),
        (ideal(mag=TriadSpec()), Tones(has_pose=False), "with a pose for a magnetometer"),
        (ideal(), Tones(has_acceleration=False), "with accelerations"),
        (ideal("preintegrated", oversampling=2), Tones(), "neither filter nor oversampling"),
        (
            ideal("preintegrated", oversampling=1, gyro=TriadSpec(bandwidth=Bandwidth("boxcar"))),
            Tones(),
            "neither filter nor oversampling.* got a filter",
        ),
    ],
)
def test_a_source_or_filter_that_does_not_fit_the_sampling_is_refused(spec, source, message):
    with pytest.raises(ValueRangeError, match=message):
        ImuSimulator(spec, source)


def test_words_that_are_not_known_are_refused():
    with pytest.raises(UnknownNameError, match="noise start 'cold'"):
        ImuSimulator(ideal(), noise_start="cold")
    with pytest.raises(UnknownNameError, match="way of the noise 'new'"):
        ImuSimulator(ideal()).reset(noise="new")


def test_noise_may_start_at_zero():
    accel = TriadSpec(bias_instability=1.0)
    runs = [
        ImuSimulator(ImuSpec(accel=accel), STILL, noise_start=start).run(2).specific_force[0]
        for start in ("zero", "stationary")
    ]
    assert runs[0].tolist() == [0.5, -0.5, 9.75]
    assert np.abs(runs[1] - runs[0]).min() > 0.01


def test_a_late_reset_in_a_stream_is_quick():
    simulator = device("point", temperature=None)
    simulator.run(4 * 2**16 - 200)  # far from the checkpoint that a replay would begin at
    simulator.step()
    start = time.process_time()
    for _ in range(3):
        simulator.reset()
        simulator.step()
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("sampling", ["point", "velocity_difference"])
@pytest.mark.parametrize("seed", range(4))  # half of them sample early at first
def test_jitter_may_reach_before_the_motion(sampling, seed):
    spec = ImuSpec(rate_hz=100, oversampling=2, sampling=sampling, clock=Clock(jitter_s=1e-3))
    simulator = ImuSimulator(spec, Tones(), seed=seed)
    samples = simulator.run(3)
    assert (samples.flags[1:] == 0).all()
    assert np.isfinite(samples.specific_force[1:]).all()
    assert simulator.truth(samples).t_ns[0] == max(samples.t_ns[0], 0)


def test_a_step_does_not_go_on_inside_of_a_sample_that_was_fed():
    simulator = ImuSimulator(ImuSpec(oversampling=2), STILL)
    simulator.step()
    assert simulator.feed((0, 0, 0), (0, 0, 0)) is None
    with pytest.raises(DeviceError, match="whole samples"):
        simulator.step()


def test_seeking_leaves_a_half_fed_sample():
    simulator = ImuSimulator(ImuSpec(oversampling=2))
    assert simulator.feed((0, 0, 0), (0, 0, 0)) is None
    simulator.seek(10)
    assert simulator.feed((1, 1, 1), (0, 0, 0)) is None
    assert simulator.feed((2, 2, 2), (0, 0, 0)).seq == 10


def test_a_seek_or_reset_that_is_refused_changes_nothing():
    fed = ImuSimulator(ImuSpec(rate_hz=200, oversampling=1, gyro=TriadSpec(bandwidth=LOWPASS)))
    for _ in range(5):
        fed.feed((0, 0, 0), (0, 0, 0))
    with pytest.raises(DeviceError, match="source"):
        fed.seek(2)
    assert fed.position == 5
    riding = ImuSimulator(ImuSpec(), Tones(end_s=1.0))
    riding.run(5)
    with pytest.raises(ValueRangeError, match="within the motion"):
        riding.reset(start_s=2.0)
    with pytest.raises(ValueRangeError, match="until the motion ends"):
        riding.seek(500)
    assert riding.position == riding.run(1).seq[0] == 5


def test_copies_are_devices_of_their_own():
    spec = ImuSpec(accel=TriadSpec(temperature=Temperature(0.0, bias=((1.0,), (), ()))))
    warming = TemperatureProfile(20.0, 10.0, time_constant_s=1.0)
    original = ImuSimulator(spec, STILL, temperature=warming)
    copied = copy.deepcopy(original)
    pickled = pickle.loads(pickle.dumps(original))  # noqa: S301 (our own bytes)
    expected = original.run(50).specific_force
    original.reset(start_s=5.0)
    for other in (copied, pickled):
        np.testing.assert_array_equal(other.run(50).specific_force, expected)


def test_the_covariance_follows_the_temperature_of_the_sample():
    accel = TriadSpec(noise_density=0.01, temperature=Temperature(20.0, noise=((0.1,), (), ())))
    simulator = ImuSimulator(ImuSpec(rate_hz=100, accel=accel), STILL, temperature=30.0)
    covariance = simulator.run(2).series().specific_force_covariance
    np.testing.assert_allclose(covariance[1], np.diag([0.04, 0.01, 0.01]), rtol=1e-12)


def test_a_filter_that_lets_no_constant_through_has_no_delay():
    highpass = Bandwidth("sections", sections=((0.75, -0.75, 0.0, 1.0, -0.5, 0.0),))
    metadata = ImuSimulator(ImuSpec(gyro=TriadSpec(bandwidth=highpass))).metadata()
    assert metadata["group_delay_s"] == {"gyro": None, "accel": 0.0}


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("MPU-6050",), {}, "spec as ImuSpec"),
        ((ImuSpec(), object()), {}, "an InertialSource, got object; mount a motion"),
        ((ImuSpec(),), {"seed": 1.5}, "seed as a whole number"),
        ((ImuSpec(),), {"sensor": 1.5}, "sensor as a whole number"),
        ((ImuSpec(),), {"start_ns": 1.5}, "start_ns as a whole number"),
        ((ImuSpec(),), {"name": 7}, "name as str"),
        ((ImuSpec(),), {"temperature": "warm"}, "ambient as numbers"),
    ],
)
def test_arguments_of_another_kind_are_refused(arguments, options, words):
    with pytest.raises(TypeError, match=words):
        ImuSimulator(*arguments, **options)


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ValueRangeError, match="sensor from 0"):
        ImuSimulator(ideal(), sensor=2**32)
    with pytest.raises(ValueRangeError, match="seed"):
        ImuSimulator(ideal(), seed=-1)
    with pytest.raises(ValueRangeError, match="0 samples or more"):
        ImuSimulator(ideal(), Tones()).run(-1)
    with pytest.raises(ValueRangeError, match="from 1 on"):
        ImuSimulator(ideal("mean"), Tones()).seek(0)
    with pytest.raises(ValueRangeError, match="blocks of 1 or more"):
        next(ImuSimulator(ideal(), Tones()).blocks(10, block=0))
    with pytest.raises(ValueRangeError, match="finite start_s"):
        ImuSimulator(ideal(), start_s=math.nan)
    with pytest.raises(ValueRangeError, match="start_ns from"):
        ImuSimulator(ideal(), start_ns=2**63 - 1)
