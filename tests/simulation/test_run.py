"""One sensor on a motion, in memory."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import FormatError, UnknownNameError, ValueRangeError
from strapdown.formats import Recording
from strapdown.motion import MOTIONS, Circle, Mount, Mounted, PoseSpline, _laws
from strapdown.samples import SampleKind
from strapdown.sensors import (
    Clock,
    ImuSimulator,
    ImuSpec,
    SpecWarning,
    TriadSpec,
    WhiteNoiseWarning,
    load_profile,
)
from strapdown.sensors.noise import sensor_number
from strapdown.simulation import Ride, find_motion, find_sensor, record, rest_deviation, simulate
from strapdown.simulation._sources import at_rest, shared
from strapdown.units import STANDARD_GRAVITY

NOISY = ImuSpec(
    name="noisy",
    rate_hz=200,
    gyro=TriadSpec(noise_density=1e-3, bias_instability=1e-4, bias_random_walk=1e-5),
    accel=TriadSpec(noise_density=1e-2),
)
SHEET = """\
name = "Mine"
[sources.sheet]
title = "sheet"
grade = "P"
[gyro]
noise_density = {{ value = {density}, unit = "{unit}", sided = "one", source = "sheet" }}
zero_offset = {{ value = 1, unit = "deg/s", source = "sheet" }}
[accel]
noise_density = {{ value = 100, unit = "ug/sqrt(Hz)", sided = "one", source = "sheet" }}
"""


@pytest.fixture
def sheet(tmp_path):
    def write(density=0.005, unit="deg/s/sqrt(Hz)"):
        path = tmp_path / "mine.toml"
        path.write_text(SHEET.format(density=density, unit=unit))
        return path

    return write


# -- simulate --------------------------------------------------------------------------------


def test_an_ideal_sensor_on_the_circle_reads_the_closed_form():
    run = simulate("circle", "ideal", 3.0)  # 5 m at 5 m/s
    count = 600
    rate, force = run.samples.angular_velocity, run.samples.specific_force
    assert rate == pytest.approx(np.tile([0.0, 0.0, 1.0], (count, 1)), abs=1e-12)
    expected = np.tile([0.0, 5.0, STANDARD_GRAVITY], (count, 1))
    assert force == pytest.approx(expected, rel=1e-12, abs=1e-12)
    t_s = np.arange(count) / 200.0
    path = 5.0 * np.column_stack([np.cos(t_s), np.sin(t_s), np.zeros(count)])
    assert run.truth.position_world == pytest.approx(path, abs=1e-12)


def test_the_truth_is_evaluated_when_it_is_asked_for():
    asked = []

    class Curious(Mounted):
        def truth(self, t_s, **options):
            asked.append(len(t_s))
            return super().truth(t_s, **options)

    run = simulate(Curious(MOTIONS["circle"]), "ideal", 3.0)
    assert asked == []
    assert run.truth is run.truth
    assert asked == [600]


def test_a_short_run_does_not_wait_for_its_motion_to_be_compiled(monkeypatch):
    monkeypatch.setattr(_laws, "compiled", None)
    run = simulate("wander", "ideal", 60.0, rate_hz=100)
    assert len(run.truth) == len(run.samples) == 6000


@pytest.mark.parametrize("name", ["wander", "six_position"])
@pytest.mark.parametrize("sampling", ["point", "integral"])
def test_a_long_run_has_the_samples_of_short_ones(name, sampling):
    spec = replace(NOISY, rate_hz=500, sampling=sampling, clock=Clock(rate_error_ppm=200.0))
    source, count = Mounted(MOTIONS[name]), 34_000
    whole = ImuSimulator(spec, source, seed=3).run(count)  # by machine code
    device = ImuSimulator(spec, source, seed=3)  # on arrays
    parts = [device.run(min(999, count - k)) for k in range(0, count, 999)]
    for column, value in vars(whole).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, np.concatenate([vars(part)[column] for part in parts]))


def test_the_truth_has_a_row_for_each_sample_at_its_true_instant():
    fast = replace(NOISY, clock=Clock(rate_error_ppm=1000.0, jitter_s=1e-5))
    run = simulate("wander", fast, 2.0)
    samples, truth = run.samples, run.truth
    assert np.array_equal(truth.t_ns, samples.t_ns)
    assert not np.array_equal(samples.t_ns, samples.t_sensor_ns)
    expected = Mounted(MOTIONS["wander"]).truth(np.maximum(samples.t_true_s, -1.0))
    assert np.array_equal(truth.position_world, expected.position_world)


def test_every_kind_of_motion_gives_the_same_samples(tmp_path):
    circle = Circle(radius=2.0, speed=1.0)
    source = Mounted(circle)
    kinds = [circle, source, Ride.of(source, "mine"), Ride.of(source, "mine", 30.0)]
    first, *others = (simulate(kind, NOISY, 1.5).samples for kind in kinds)
    assert len(first) == 300
    for samples in others:
        assert np.array_equal(samples.specific_force, first.specific_force)
    truth = source.truth(np.arange(200) / 100.0)
    files.write(tmp_path / "a.csv", Recording(trajectories={"pose": truth}))
    ride = find_motion(tmp_path / "a.csv", poses="interpolate")
    assert len(simulate(ride, "ideal").samples) == 398  # of 1.99 s


def test_a_file_is_a_motion_by_path_or_by_text(tmp_path):
    samples = simulate("wander", "ideal", 2.0).samples
    path = tmp_path / "imu.csv"
    files.write(path, Recording(imu={"imu": samples.series()}))
    by_path, by_text = simulate(path), simulate(str(path))
    assert by_path.truth is by_text.truth is None
    assert by_path.samples.specific_force == pytest.approx(
        samples.specific_force[: len(by_path.samples)], abs=1e-9
    )
    assert len(by_path.samples) == len(by_text.samples) == 399


def test_a_motion_that_ends_is_used_whole_and_others_for_a_minute():
    assert len(simulate("chirp", "ideal", rate_hz=10).samples) == 600
    assert len(simulate("turntable", "ideal", rate_hz=10).samples) == 620
    assert len(simulate("circle", "ideal", rate_hz=10).samples) == 600


def test_a_run_begins_where_a_late_motion_does():
    t_s = np.arange(2.0, 8.0, 0.01)
    truth = Mounted(MOTIONS["wander"]).truth(t_s)
    poses = truth.position_world, truth.q_world_from_body
    spline = PoseSpline.from_poses(t_s, *poses, mode="interpolate")
    samples = simulate(spline, "ideal", rate_hz=50).samples
    assert samples.t_true_s[[0, -1]] == pytest.approx([2.0, 7.96])  # of 5.99 s


def test_stamps_begin_with_those_of_the_motion_or_as_asked(tmp_path):
    series = simulate("wander", "ideal", 1.0, start_ns=10**18).samples.series()
    assert series.t_ns[0] == 10**18
    files.write(tmp_path / "imu.csv", Recording(imu={"imu": series}))
    assert simulate(tmp_path / "imu.csv").samples.t_ns[0] == 10**18
    assert simulate(tmp_path / "imu.csv", start_ns=5).samples.t_ns[0] == 5


@pytest.mark.parametrize("sampling", ["mean", "integral", "preintegrated"])
def test_an_interval_before_the_motion_is_not_given_and_the_last_is(sampling):
    run = simulate("chirp", find_sensor("ideal", sampling=sampling))
    samples, truth = run.samples, run.truth
    assert (samples.seq[0], len(samples)) == (1, 12_000)
    assert samples.t_true_s[[0, -1]] == pytest.approx([0.005, 60.0])
    assert np.array_equal(truth.t_ns, samples.t_ns)


def test_jitter_before_the_motion_costs_the_first_intervals_only():
    spec = replace(NOISY, clock=Clock(jitter_s=1e-4), sampling="mean")
    for seed in range(8):
        samples = simulate("chirp", spec, 1.0, seed=seed).samples
        assert samples.seq[0] in (1, 2)


@pytest.mark.parametrize("ppm", [-5000.0, 0.0, 5000.0])
def test_no_sample_of_a_wrong_clock_lies_beyond_the_end_of_the_motion(ppm):
    spec = replace(NOISY, clock=Clock(rate_error_ppm=ppm, walk_ppm=10.0))
    samples = simulate("chirp", spec).samples
    assert samples.t_true_s[-1] <= 60.0
    assert len(samples) == pytest.approx(min(12_000, 12_000 * (1.0 + ppm * 1e-6)), abs=2)


def test_a_run_shorter_than_a_sample_is_refused():
    with pytest.raises(ValueRangeError, match=r"at least one sample, got 0\.004 s at 200 Hz"):
        simulate("circle", "ideal", 0.004)


def test_the_same_seed_and_name_give_the_same_bits_and_others_do_not():
    first, again = (simulate("wander", NOISY, 1.0, seed=7).samples for _ in range(2))
    assert np.array_equal(first.angular_velocity, again.angular_velocity)
    for other in ({"seed": 8}, {"seed": 7, "name": "imu1"}):
        differs = simulate("wander", NOISY, 1.0, **other).samples
        assert not np.any(first.angular_velocity == differs.angular_velocity)


def test_two_parts_with_one_seed_and_name_have_independent_noise():
    one, other = (
        simulate("static", sensor, 50.0, seed=7).samples for sensor in ("MPU-6050", "MPU-9250")
    )
    for axis in range(3):
        pair = one.angular_velocity[:, axis], other.angular_velocity[:, axis]
        assert abs(np.corrcoef(*pair)[0, 1]) < 4.0 / np.sqrt(10_000)


def test_the_first_of_several_has_the_noise_of_the_only_one():
    only, first, second = (
        simulate("static", "MPU-6050", 1.0, seed=7, name=name).samples
        for name in ("imu", "imu0", "imu1")
    )
    assert np.array_equal(only.specific_force, first.specific_force)
    assert not np.array_equal(only.specific_force, second.specific_force)


def test_the_noise_of_a_spec_without_a_part_is_that_of_its_sensor_name():
    spec = replace(NOISY, name=ImuSpec().name)
    device = ImuSimulator(spec, Mounted(MOTIONS["static"]), seed=7, name="left")
    assert device.key == (7, sensor_number("left"))
    device = ImuSimulator(NOISY, Mounted(MOTIONS["static"]), seed=7, name="left")
    assert device.key == (7, sensor_number("noisy left"))


def test_a_drawn_seed_is_in_the_metadata_and_repeats_the_run():
    drawn = simulate("wander", NOISY, 1.0, seed=None)
    again = simulate("wander", NOISY, 1.0, seed=drawn.metadata["seed"])
    assert np.array_equal(drawn.samples.angular_velocity, again.samples.angular_velocity)
    assert "gyro.turn_on_bias" in drawn.metadata["missing"]


def test_conditions_reach_the_simulator():
    spec = ImuSpec(mag=TriadSpec())
    run = simulate("static", spec, 1.0, magnetic_field_world=(1e-5, 0.0, 0.0), temperature=30.0)
    assert run.samples.magnetic_field == pytest.approx(np.tile([1e-5, 0.0, 0.0], (200, 1)))
    assert run.samples.temperature_degC[0] == 30.0
    with pytest.raises(TypeError, match="magnetic_feild"):
        simulate("static", spec, 1.0, magnetic_feild=(1e-5, 0.0, 0.0))


# -- find_sensor -----------------------------------------------------------------------------


def test_a_sensor_is_a_spec_a_profile_a_file_or_ideal(sheet):
    assert find_sensor(NOISY) is NOISY
    assert find_sensor("ideal") == ImuSpec()
    assert find_sensor("mpu6050") == find_sensor("MPU-6050") == load_profile("mpu6050").spec()
    path = sheet()
    assert find_sensor(path) == find_sensor(str(path))
    assert find_sensor(path).name == "Mine"


@pytest.mark.parametrize("sensor", ["ideal", "mpu6050", NOISY])
def test_rate_and_sampling_are_those_that_are_asked_for(sensor):
    spec = find_sensor(sensor, rate_hz=50, sampling="mean")
    assert (spec.rate_hz, spec.sampling) == (50, SampleKind.MEAN)
    other = find_sensor(sensor)
    assert (other.rate_hz, other.sampling) == (200, SampleKind.POINT)
    assert spec.gyro == other.gyro


def test_a_range_is_a_choice_of_a_profile_alone():
    narrow = find_sensor("MPU-6050", gyro_range=math.radians(250.0), accel_range=4 * 9.80665)
    assert narrow.gyro.resolution == pytest.approx(math.radians(250.0) / 32768)
    assert narrow.accel.measurement_range == pytest.approx(4 * 9.80665)
    for sensor in ("ideal", ImuSpec()):
        with pytest.raises(ValueRangeError, match="expected a profile with gyro_range"):
            find_sensor(sensor, gyro_range=1.0)


def test_the_kind_of_sample_is_an_argument_of_a_run():
    run = simulate("circle", "ideal", 1.0, sampling="preintegrated")
    assert run.samples.delta_angle.shape == (200, 3)


def test_a_limit_of_unstated_meaning_is_off_until_one_says_what_it_means(sheet):
    path = sheet()
    assert find_sensor(path).gyro.turn_on_bias is None
    drawn = find_sensor(path, unstated_limits="3sigma").gyro.turn_on_bias
    assert drawn.size == pytest.approx([math.radians(1.0) / 3.0] * 3)


def test_a_doubtful_density_is_warned_about_once_with_its_line(sheet):
    path = sheet(0.005, "rad/s/sqrt(Hz)")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        find_sensor(path, rate_hz=100, sampling="mean")
    assert [each.category for each in caught] == [SpecWarning]
    assert "line 6" in str(caught[0].message)


def test_a_part_without_white_noise_is_warned_about_on_every_way_into_a_run(tmp_path):
    for run in (
        lambda: simulate("static", "ADIS16495-1", 1.0),
        lambda: record(tmp_path / "run.npz", "static", "ADIS16495-1", 1.0),
        lambda: load_profile("ADIS16495-1").spec(),
    ):
        with pytest.warns(WhiteNoiseWarning, match="ADIS16495-1: accel: no white noise"):
            run()


def test_an_unknown_sensor_gives_the_nearest_and_a_bad_file_its_line(sheet):
    with pytest.raises(UnknownNameError, match=r"'MPU6O50'.*'mpu6050'"):
        find_sensor("MPU6O50")
    with pytest.raises(FormatError, match=r"line 6: gyro\.noise_density: .* got nan"):
        find_sensor(sheet("nan"))
    with pytest.raises(FileNotFoundError):
        find_sensor(Path("nowhere.toml"))
    with pytest.raises(ValueRangeError, match="at most 8000 Hz"):
        find_sensor("mpu6050", rate_hz=1e5)


# -- rest_deviation --------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", SampleKind)
def test_the_deviation_at_rest_is_that_of_the_noise_whatever_a_sample_is(sampling):
    quiet = replace(NOISY, gyro=TriadSpec(noise_density=1e-3), sampling=sampling)
    found = rest_deviation(quiet, seed=3, samples=2**16)
    for name, density in (("gyro", 1e-3), ("accel", 1e-2)):
        tau_s = found[name].cluster_times_s[:4]
        expected = np.tile(density / np.sqrt(tau_s), (3, 1)).T
        assert tau_s[0] == 0.005
        assert found[name].deviation()[:4] == pytest.approx(expected, rel=0.025)  # 4 sigma


def test_the_deviation_at_rest_is_that_of_the_sensor_of_a_run():
    static = simulate("static", NOISY, 5.0, seed=9, name="imu3").samples
    found = rest_deviation(NOISY, seed=9, name="imu3", samples=1000)
    differences = np.diff(static.angular_velocity, axis=0)
    expected = np.sqrt(0.5 * np.mean(differences**2, axis=0))
    assert found["gyro"].deviation()[0] == pytest.approx(expected, rel=1e-9)


def test_a_magnetometer_has_a_deviation_too():
    spec = ImuSpec(mag=TriadSpec(noise_density=1e-8))
    found = rest_deviation(spec, samples=2**14)
    expected = 1e-8 * math.sqrt(200.0)
    assert found["mag"].deviation()[0] == pytest.approx([expected] * 3, rel=0.04)


# -- sources ---------------------------------------------------------------------------------


def test_the_source_at_rest_is_the_static_motion():
    rest, still = at_rest(), Mounted(MOTIONS["static"])
    t_s = np.array([0.0, 0.1, 0.4])
    for ask in ("inputs", "integrals", "preintegrated"):
        for mine, theirs in zip(getattr(rest, ask)(t_s), getattr(still, ask)(t_s), strict=True):
            assert np.allclose(mine, theirs, rtol=1e-14, atol=1e-15)
    assert np.allclose(rest.velocity_change(t_s), still.velocity_change(t_s), rtol=1e-14)


def test_sensors_that_share_a_source_ask_it_once_and_get_its_answers():
    class Counted:
        def __init__(self, source):
            self.source, self.asked = source, 0

        def __getattr__(self, name):
            return getattr(self.source, name)

        def inputs(self, t_s):
            self.asked += 1
            return self.source.inputs(t_s)

    away = Mounted(MOTIONS["wander"], Mount(lever_arm=(0.1, 0.0, 0.0)))
    alone = [ImuSimulator(NOISY, away, name=f"imu{i}").run(9000) for i in range(3)]
    counted = Counted(away)
    together = shared(counted)
    devices = [ImuSimulator(NOISY, together, name=f"imu{i}") for i in range(3)]
    parts = [[device.run(3000) for device in devices] for _ in range(3)]
    for i, own in enumerate(alone):
        joined = np.concatenate([block[i].specific_force for block in parts])
        assert np.array_equal(joined, own.specific_force)
    assert counted.asked == 3  # blocks of 4096 samples, not nine of them
