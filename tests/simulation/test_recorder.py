"""Sensors on a motion, streamed to files."""

from __future__ import annotations

import sys
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import BackendMissingError, UnsupportedError, ValueRangeError
from strapdown.formats import Recording
from strapdown.motion import MOTIONS, Mounted
from strapdown.sensors import Bandwidth, Clock, ImuSimulator, ImuSpec, TriadSpec
from strapdown.simulation import find_sensor, record, recorder, simulate
from strapdown.units import STANDARD_GRAVITY

ENDINGS = [".mcap", ".npz", ".parquet", ".csv"]
NOISY = ImuSpec(
    name="noisy",
    rate_hz=200,
    gyro=TriadSpec(noise_density=1e-3, bias_instability=1e-4, bias_random_walk=1e-5),
    accel=TriadSpec(noise_density=1e-2, bandwidth=Bandwidth("lowpass", 60.0, order=2)),
    clock=Clock(jitter_s=1e-6),
)


@pytest.fixture
def never_simulated(monkeypatch):
    """Make sure that what fails does so before the first sample, and leaves nothing."""

    def run(*_):
        pytest.fail("samples were simulated")

    monkeypatch.setattr(ImuSimulator, "run", run)


def columns(series):
    return [getattr(series, name) for name in ("t_ns", "angular_velocity", "specific_force")]


def assert_same(series, expected):
    for mine, theirs in zip(columns(series), columns(expected), strict=True):
        assert np.array_equal(mine, theirs)


# -- what the files hold ---------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_file_holds_the_samples_that_memory_has(tmp_path, ending):
    path = tmp_path / f"run{ending}"
    spec = replace(NOISY, clock=Clock())
    report = record(path, "wander", spec, 3.0, seed=5)
    expected = simulate("wander", spec, 3.0, seed=5)
    assert (report.samples, report.seed, report.sensors) == (600, 5, ("imu",))
    found = files.open(path)
    assert_same(found.imu_series(), expected.samples.series())
    truth = found if ending != ".csv" else files.open(tmp_path / "run.truth.csv")
    pose = truth.trajectory() if ending == ".csv" else truth.trajectories["truth/pose"]
    assert np.array_equal(pose.t_ns, expected.truth.t_ns)
    for name in ("position_world", "q_world_from_body", "velocity_world"):
        assert getattr(pose, name) == pytest.approx(getattr(expected.truth, name), abs=1e-12)


@pytest.mark.parametrize("ending", [".mcap", ".npz", ".parquet"])
def test_covariance_and_clipping_are_in_the_file(tmp_path, ending):
    narrow = replace(NOISY, accel=TriadSpec(noise_density=1e-2, measurement_range=9.0))
    report = record(tmp_path / f"run{ending}", "static", narrow, 1.0)
    series = files.open(tmp_path / f"run{ending}").imu["imu/data"]
    variance = np.diagonal(series.specific_force_covariance, axis1=1, axis2=2)
    assert variance == pytest.approx(np.full((200, 3), 1e-4 * 200.0))
    assert report.clipped == {"gyro": 0, "accel": 200}
    assert np.all(series.specific_force[:, 2] == 9.0)


@pytest.mark.parametrize("ending", [".mcap", ".npz", ".parquet"])
@pytest.mark.parametrize("sampling", ["integral", "preintegrated"])
def test_increments_are_increments_in_the_file(tmp_path, ending, sampling):
    spec = find_sensor("ADIS16470", sampling=sampling)
    record(tmp_path / f"run{ending}", "coning", spec, 1.0, seed=2)
    found = files.open(tmp_path / f"run{ending}").increments["imu/increments"]
    expected = simulate("coning", spec, 1.0, seed=2).samples
    precision = {".mcap": 1e-7}.get(ending, 0.0)  # PX4's message has single floats
    assert found.in_frames(body="FLU").delta_angle == pytest.approx(
        expected.delta_angle, rel=precision, abs=precision
    )


def test_csv_holds_increments(tmp_path):
    spec = find_sensor("ideal", sampling="integral")
    report = record(tmp_path / "run.csv", "circle", spec, 1.0)
    assert report.lost == ()
    assert len(files.open(tmp_path / "run.csv").increments["vehicle_imu"]) == 200
    rates = files.open(tmp_path / "run.csv").imu_series().angular_velocity
    assert rates == pytest.approx(np.tile([0.0, 0.0, 1.0], (200, 1)), abs=1e-9)


@pytest.mark.parametrize("ending", [".mcap", ".csv"])
def test_a_magnetometer_reaches_the_file(tmp_path, ending):
    spec = ImuSpec(rate_hz=50, mag=TriadSpec(noise_density=1e-8))
    field = (1e-5, 2e-5, -4e-5)
    record(tmp_path / f"run{ending}", "wander", spec, 2.0, magnetic_field_world=field)
    series = files.open(tmp_path / f"run{ending}").imu_series()
    size = np.linalg.norm(series.magnetic_field, axis=1)
    assert size == pytest.approx(np.full(100, np.linalg.norm(field)), abs=1e-6)
    assert np.ptp(series.magnetic_field[:, 0]) > 1e-5  # it turns


# -- many sensors ----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".mcap", ".npz", ".parquet"])
def test_many_sensors_are_topics_of_one_file(tmp_path, ending):
    path = tmp_path / f"run{ending}"
    report = record(path, "wander", NOISY, 1.0, sensors=3)
    assert report.sensors == ("imu0", "imu1", "imu2")
    assert report.samples == 600
    found = files.open(path)
    assert sorted(found.imu) == ["imu0/data", "imu1/data", "imu2/data"]
    assert list(found.trajectories) == ["truth/pose"]
    assert [series.sensor.name for series in found.imu.values()] == list(report.sensors)
    assert list(report.files) == [str(path)]


def test_many_sensors_are_files_of_csv(tmp_path):
    report = record(tmp_path / "run.csv", "wander", NOISY, 1.0, sensors=2)
    names = ["run.imu0.csv", "run.imu1.csv", "run.truth.csv"]
    assert sorted(entry.name for entry in tmp_path.iterdir()) == names
    assert report.files == {str(tmp_path / name): 200 for name in names}


@pytest.mark.parametrize("rows", [1, 300, 10_000, 2**16])
@pytest.mark.by_default("1", "300", "10000")
def test_the_bits_of_a_sensor_depend_on_neither_the_others_nor_the_blocks(
    tmp_path, monkeypatch, rows
):
    monkeypatch.setattr(recorder, "_ROWS", rows)
    monkeypatch.setattr(recorder, "_FEWEST_ROWS", 7)
    duration_s = 1.0 if rows < 10_000 else 30.0
    record(tmp_path / "run.npz", "wander", NOISY, duration_s, sensors=3, seed=11)
    found = files.open(tmp_path / "run.npz")
    for name in ("imu0", "imu2"):
        alone = simulate("wander", NOISY, duration_s, seed=11, name=name)
        assert_same(found.imu[f"{name}/data"], alone.samples.series())


def test_the_only_sensor_has_the_bits_of_the_first_of_three(tmp_path):
    for sensors in (1, 3):
        record(tmp_path / f"{sensors}.npz", "wander", "MPU-6050", 1.0, sensors=sensors, seed=11)
    only = files.open(tmp_path / "1.npz").imu["imu/data"]
    first = files.open(tmp_path / "3.npz").imu["imu0/data"]
    assert np.array_equal(only.angular_velocity, first.angular_velocity)
    assert np.array_equal(only.specific_force, first.specific_force)


def test_memory_does_not_grow_with_the_length_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "_ROWS", 2**13)
    spec = replace(NOISY, clock=Clock(), accel=TriadSpec(noise_density=1e-2))
    path = tmp_path / "run.npz"

    def peak(duration_s):
        tracemalloc.start()
        record(path, "static", spec, duration_s, sensors=2, force=True)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10.0)
    short, long = peak(400.0), peak(1600.0)
    assert path.stat().st_size > 3.0 * short
    assert long < 1.1 * short < 10e6


# -- the truth -------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [*ENDINGS, ".tum"])
def test_the_truth_can_have_a_file_of_its_own(tmp_path, ending):
    at = tmp_path / f"truth{ending}"
    report = record(tmp_path / "run.mcap", "wander", NOISY, 1.0, truth=at)
    assert not report.lost
    assert list(report.files) == [str(tmp_path / "run.mcap"), str(at)]
    assert not files.open(tmp_path / "run.mcap").trajectories
    truth = files.open(at).trajectory()
    expected = Mounted(MOTIONS["wander"]).truth(np.arange(200) / 200.0)
    assert truth.position_world == pytest.approx(expected.position_world, abs=1e-9)
    assert (truth.velocity_world is None) == (ending == ".tum")
    assert ("TUM has no place for velocities" in report.notes) == (ending == ".tum")


def test_the_truth_is_at_the_nominal_instants_whatever_the_clock(tmp_path):
    slow = replace(NOISY, clock=Clock(rate_error_ppm=-300.0), sampling="mean")
    record(tmp_path / "run.npz", "chirp", slow, sensors=2)
    found = files.open(tmp_path / "run.npz")
    truth = found.trajectories["truth/pose"]
    assert np.array_equal(truth.t_ns, 5_000_000 * np.arange(1, len(truth) + 1))
    assert len(truth) == len(found.imu["imu1/data"])


@pytest.mark.usefixtures("never_simulated")
def test_a_motion_without_a_pose_has_no_truth(tmp_path):
    t_ns = np.arange(100) * 10_000_000
    still = np.tile([0.0, 0.0, STANDARD_GRAVITY], (100, 1))
    series = files.recording.ImuSeries(t_ns, 0.0 * still, still)
    files.write(tmp_path / "imu.csv", Recording(imu={"imu": series}))
    with pytest.raises(ValueRangeError, match=r"with a pose for the truth, got imu\.csv"):
        record(tmp_path / "run.csv", tmp_path / "imu.csv", truth=tmp_path / "t.tum")


# -- the report ------------------------------------------------------------------------------


def test_what_is_dropped_or_unknown_is_counted(tmp_path):
    lossy = replace(NOISY, drop_probability=0.1)
    report = record(tmp_path / "run.npz", "static", lossy, 10.0, sensors=2)
    held = sum(len(series) for series in files.open(tmp_path / "run.npz").imu.values())
    assert report.samples == 4000
    assert report.dropped == 4000 - held == pytest.approx(400, abs=76)  # 4 sigma
    assert report.duration_s == 10.0
    assert report.missing == lossy.missing()
    assert {"gyro.temperature", "accel.turn_on_bias"} <= set(report.missing)
    assert report.files == {str(tmp_path / "run.npz"): held + 2000}


def test_a_drawn_seed_is_reported_and_is_that_of_all_sensors(tmp_path):
    report = record(tmp_path / "a.npz", "static", NOISY, 1.0, sensors=2, seed=None)
    record(tmp_path / "b.npz", "static", NOISY, 1.0, sensors=2, seed=report.seed)
    first, again = (files.open(tmp_path / name).imu for name in ("a.npz", "b.npz"))
    for topic, series in first.items():
        assert_same(series, again[topic])


def test_progress_rises_to_one(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "_ROWS", 2**10)
    seen = []
    record(tmp_path / "run.npz", "static", NOISY, 20.0, sensors=2, progress=seen.append)
    assert len(seen) == 16
    assert np.all(np.diff(seen) > 0.0)
    assert seen[-1] == 1.0


# -- what goes wrong -------------------------------------------------------------------------


@pytest.mark.usefixtures("never_simulated")
@pytest.mark.parametrize("name", ["run.tum", "run.txt", "run"])
def test_another_ending_is_refused_before_the_first_sample(tmp_path, name):
    with pytest.raises(UnsupportedError, match=r"ending of \.mcap, .*, \.npz, \.parquet, got"):
        record(tmp_path / name, "circle")
    with pytest.raises(UnsupportedError, match=r"\.parquet, \.tum, got '\.png'"):
        record(tmp_path / "run.csv", "circle", truth=tmp_path / "truth.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("never_simulated")
def test_a_package_that_is_missing_is_named_before_the_first_sample(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BackendMissingError, match=r"strapdown\[parquet\]"):
        record(tmp_path / "run.parquet", "circle")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("never_simulated")
@pytest.mark.parametrize("taken", ["run.mcap", "truth.tum"])
def test_a_file_that_exists_stays_unless_forced(tmp_path, monkeypatch, taken):
    (tmp_path / taken).write_text("mine")
    places = {"path": tmp_path / "run.mcap", "truth": tmp_path / "truth.tum"}
    with pytest.raises(FileExistsError, match="force"):
        record(motion="circle", **places)
    assert [entry.name for entry in tmp_path.iterdir()] == [taken]
    assert (tmp_path / taken).read_text() == "mine"
    monkeypatch.undo()
    record(motion="circle", duration_s=1.0, force=True, **places)
    assert len(files.open(tmp_path / "run.mcap").imu_series()) == 200


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_interrupted_run_leaves_no_file(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(recorder, "_ROWS", 2**9)

    def interrupt(done):
        if done > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(
            tmp_path / f"run{ending}", "static", NOISY, 10.0,
            sensors=2, truth=tmp_path / "truth.tum", progress=interrupt,
        )  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("never_simulated")
def test_there_is_at_least_one_sensor(tmp_path):
    with pytest.raises(ValueRangeError, match="at least 1 sensor, got 0"):
        record(tmp_path / "run.csv", "circle", sensors=0)
