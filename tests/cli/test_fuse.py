"""``strapdown fuse`` with every estimator, compared, smoothed and live."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from typer.testing import CliRunner

import strapdown
from strapdown._kernels.compilation import worth_compiling
from strapdown.bridges.mavlink import MavlinkLink
from strapdown.cli import _compare
from strapdown.cli._app import app
from strapdown.cli._params import configured
from strapdown.errors import ValueRangeError
from strapdown.estimation import FILTERS, SMOOTHERS, ErrorStateFilter, ErrorStateParams
from strapdown.simulation import simulate

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["fuse", *map(str, arguments)])


def run_json(*arguments):
    done = run(*arguments, "--json")
    return json.loads(done.stdout), done


@pytest.fixture(scope="module")
def flight():
    """Twenty seconds of a consumer IMU that wanders, and the truth."""
    return simulate("wander", "MPU-6050", 20.0, rate_hz=100, seed=3)


@pytest.fixture(scope="module")
def recorded(flight, tmp_path_factory):
    path = tmp_path_factory.mktemp("flight") / "flight.mcap"
    recording = strapdown.Recording(
        imu={"imu/data": flight.samples.series()}, trajectories={"truth/pose": flight.truth}
    )
    strapdown.write(path, recording)
    return path


@pytest.mark.parametrize("name", FILTERS)
def test_every_filter_writes_attitude_near_the_truth(recorded, tmp_path, name):
    data, done = run_json(recorded, "--filter", name, "--output", tmp_path / "attitude.tum")
    assert done.exit_code in {0, 3}
    assert data["filter"] == name
    assert data["orientation_error"]["inclination_deg"] < 5.0
    assert len(strapdown.open(tmp_path / "attitude.tum").trajectory()) == data["attitudes"]


@pytest.mark.parametrize("name", SMOOTHERS)
def test_every_smoother_writes_attitude_and_a_picture(recorded, tmp_path, name):
    picture = tmp_path / "attitude.png"
    data, done = run_json(recorded, "--filter", name, "--smooth", "--picture", picture)
    assert done.exit_code in {0, 3}
    assert data["filter"] == f"{name} smoothed"
    assert data["output"] is None
    assert data["orientation_error"]["inclination_deg"] < 2.0
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("options", [(), ("--align", "world")])
def test_the_picture_shows_the_reference_as_it_was_compared(
    recorded, tmp_path, monkeypatch, options
):
    kept = []
    monkeypatch.setattr("strapdown.plots.save", lambda figure, *_, **__: kept.append(figure))
    data, _ = run_json(recorded, "--picture", tmp_path / "a.png", *options)
    (axis,) = kept[0].axes
    lines = {line.get_label(): line.get_ydata() for line in axis.get_lines()}
    assert next(iter(lines)) == "reference"
    assert "yaw, relative to the start" in lines  # the sensor has no magnetometer
    error = np.asarray(lines["roll"]) - lines["reference"]
    assert np.sqrt(np.mean(error**2)) < 2.0 * data["orientation_error"]["total_deg"]


def test_the_comparison_has_every_estimator_and_draws_them(recorded, tmp_path):
    picture = tmp_path / "filters.png"
    data, done = run_json(recorded, "--compare", "--picture", picture)
    assert done.exit_code in {0, 3}
    names = [row["filter"] for row in data["estimators"]]
    assert names == [*FILTERS, *(f"{name} smoothed" for name in SMOOTHERS)]
    assert data["reference"] == "truth/pose"
    assert all(row["samples_per_s"] > 0.0 for row in data["estimators"])
    assert picture.read_bytes().startswith(b"\x89PNG\r\n")
    view = run(recorded, "--compare").stdout
    assert all(name in view for name in names)


@pytest.mark.parametrize(("count", "compiles"), [(100, False), (60_000, True)])
def test_the_time_of_an_estimator_has_no_time_of_the_compiler(flight, count, compiles):
    calls = []

    class Estimator:
        def run(self, series, **_):
            calls.append((len(series), worth_compiling(1)))

    part = flight.samples.series()[np.zeros(count, int)]
    _, seconds = _compare._timed("one", Estimator, part, with_field=False)
    assert calls == [(min(count, 200), compiles), (count, False)]
    assert 0.0 <= seconds < 1.0


def test_without_a_reference_estimators_are_compared_with_the_best_smoother(flight, tmp_path):
    strapdown.write(tmp_path / "imu.mcap", flight.samples.series())
    data, done = run_json(tmp_path / "imu.mcap", "--compare")
    assert done.exit_code in {0, 3}
    assert data["reference"] == "eskf smoothed"
    assert "eskf smoothed" not in [row["filter"] for row in data["estimators"]]


def test_another_alignment_is_taken_as_told(recorded):
    data, _ = run_json(recorded, "--compare", "--align", "world")
    assert {row["orientation_error"]["align"] for row in data["estimators"]} == {"world"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--filter", "mahony", "--smooth", "--output", "a.tum"], "there is no smoother"),
        (["--filter", "kalman", "--output", "a.tum"], "there is no filter 'kalman'"),
    ],
)
def test_what_does_not_exist_is_one_line(recorded, arguments, words):
    done = run(recorded, *arguments)
    assert done.exit_code == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["flight.mcap"],
        ["flight.mcap", "--live", "14550"],
        ["flight.mcap", "--compare", "--output", "attitude.csv"],
        ["flight.mcap", "--compare", "--set", "gyro_noise=1"],
        ["flight.mcap", "--compare", "--params", "noise.toml"],
        ["flight.mcap", "--output", "attitude.csv", "--set", "gyro_noise"],
        ["flight.mcap", "--output", "attitude.csv", "--set", "=1"],
        ["flight.mcap", "--output", "attitude.csv", "--duration", "1"],
        ["--live", "14550", "--compare"],
    ],
)
def test_half_a_command_or_options_that_do_nothing_are_usage_errors(arguments):
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("first", [["none.mcap"], ["--live", "127.0.0.1:0"]])
@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("there.csv", "exists already"),
        ("attitude.doc", "there is no format with the ending '.doc'"),
        ("nowhere/attitude.csv", "expected a folder that exists"),
    ],
)
def test_a_place_that_cannot_be_written_is_known_before_the_work(tmp_path, first, output, words):
    (tmp_path / "there.csv").touch()
    done = run(*first, "--output", tmp_path / output)
    assert done.exit_code == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1  # and nobody listened


def test_a_recording_without_a_row_is_one_line(tmp_path):
    nothing = np.zeros((0, 3))
    strapdown.write(tmp_path / "a.csv", strapdown.ImuSeries(np.zeros(0, int), nothing, nothing))
    done = run(tmp_path / "a.csv", "--compare")
    assert done.exit_code == 1
    assert "expected samples to fuse, the IMU has none" in done.stderr


@pytest.fixture(scope="module")
def estimate(recorded, tmp_path_factory):
    """Return attitude and JSON of a fusion with some options."""
    folder = tmp_path_factory.mktemp("estimates")

    def fused(*options):
        data, done = run_json(recorded, "--force", "-o", folder / "a.csv", *options)
        assert done.exit_code in {0, 3}, done.stderr
        return strapdown.open(folder / "a.csv").trajectory().q_world_from_body, data

    return fused


def test_attitude_before_the_first_field_is_written_as_unknown(flight, tmp_path):
    series = flight.samples.series()
    held = Rotation.from_quat(flight.truth.q_world_from_body[: len(series)])
    field = held.inv().apply([0.0, 2e-5, -4e-5])
    field[:500] = np.nan
    strapdown.write(tmp_path / "late.csv", series.replace(magnetic_field=field))
    data, _ = run_json(tmp_path / "late.csv", "-o", tmp_path / "a.csv")
    assert data["attitudes_without_heading"] == 500
    q = strapdown.open(tmp_path / "a.csv").trajectory().q_world_from_body
    np.testing.assert_array_equal(np.isnan(q).all(axis=1), np.arange(len(q)) < 500)
    done = run(tmp_path / "late.csv", "-o", tmp_path / "b.csv", "--picture", tmp_path / "b.png")
    line = "magnetic north; 500 attitudes before the first magnetic field are NaN"
    assert line in " ".join(done.stdout.split())
    data, _ = run_json(tmp_path / "late.csv", "--smooth", "-o", tmp_path / "c.csv")
    assert data["attitudes_without_heading"] == 0
    q = strapdown.open(tmp_path / "c.csv").trajectory().q_world_from_body
    assert np.isfinite(q).all()


def test_set_parameters_are_those_of_the_filter(flight, estimate):
    series = flight.samples.series()
    found, data = estimate("--set", "gyro_noise=0.02", "--set", "sample_kind=point")
    params = ErrorStateParams(gyro_noise=0.02, sample_kind="point")
    expected = ErrorStateFilter(params).run(series).q_world_from_body
    np.testing.assert_allclose(np.abs((found * expected).sum(axis=1)), 1.0, atol=1e-12)
    assert data["params"] == {"sample_kind": "point", "gyro_noise": 0.02}
    usual, data = estimate()
    assert data["params"] == {}
    assert np.abs((found * usual).sum(axis=1)).min() < 1.0 - 1e-7


def test_a_file_sets_parameters_and_set_takes_precedence(estimate, tmp_path):
    file = tmp_path / "noise.toml"
    file.write_text("rate_noise = 1\nlearn_bias_at_rest = false\ntau_acc = 2.5\n")
    _, data = estimate("--filter", "vqf", "--params", file, "--set", "tau_acc=1.5")
    assert data["params"] == {"tau_acc": 1.5, "learn_bias_at_rest": False, "rate_noise": 1}


def test_set_parameters_of_a_smoother_are_its_own(estimate):
    _, data = estimate("--smooth", "--set", "bias_walk=1e-4", "--set", "bias_walk=.0002")
    assert data["params"] == {"bias_walk": 0.0002}


def test_the_view_shows_the_parameters_that_were_changed(recorded, tmp_path):
    options = ("--set", "gyro_noise=2e-2", "--set", "accel_noise=0.05", "--set", "gyro_range=35")
    view = run(recorded, "-o", tmp_path / "a.csv", *options).stdout
    assert "parameters: gyro_range 35 (default inf), gyro_noise 0.02 (default 0.002)\n" in view


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("gyronoise=1", "there is no parameter of ErrorStateParams 'gyronoise'; the nearest names"),
        ("gyro_noise=low", "--set: expected gyro_noise as a number, got 'low'"),
        ("gyro_noise=true", "--set: expected gyro_noise as a number, got 'true'"),
        ("gyro_noise=-1", "--set: expected gyro_noise finite and positive, got -1"),
        ("gyro_noise=nan", "--set: expected gyro_noise finite and positive, got nan"),
        ("gyro_noise=", "--set: expected gyro_noise as a number, got ''"),
        ("sample_kind=some", "'some'; the nearest names: 'mean'"),
    ],
)
@pytest.mark.parametrize("source", ["none.csv", "--live=127.0.0.1:0"])
def test_a_wrong_setting_is_one_line_before_the_work(tmp_path, setting, words, source):
    done = run(source, "--set", setting, "--output", tmp_path / "a.csv")
    assert done.exit_code == 1
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tau_acc = 'slow'", "expected tau_acc as a number, got 'slow'"),
        ("tau_acc = true", "expected tau_acc as a number, got True"),
        ("tau_acc = [1.0]", "expected tau_acc as a number, got [1.0]"),
        ("learn_bias_at_rest = 1", "expected learn_bias_at_rest as true or false, got 1"),
        ("tau_acc = 0", "expected tau_acc finite and positive, got 0"),
        ("[vqf]\ntau_acc = 1", "expected a flat table of parameters (NAME = value), got the table"),
        ("tau_acc 1", "expected a table of parameters, got"),
        ("tau_ac = 1", "there is no parameter of VqfParams 'tau_ac'; the nearest names: 'tau_acc'"),
    ],
)
def test_a_wrong_file_of_parameters_is_one_line(tmp_path, text, words):
    (tmp_path / "params.toml").write_text(text)
    options = ("--params", tmp_path / "params.toml", "--output", tmp_path / "a.csv")
    done = run("none.csv", "--filter", "vqf", *options)
    assert done.exit_code == 1
    assert words in done.stderr
    assert ("params.toml" in done.stderr) == ("there is no" not in words)
    assert done.stderr.count("\n") == 1


def test_a_parameter_that_a_line_cannot_express_is_left_to_python():
    @dataclass(frozen=True)
    class Params:
        gains: tuple[float, ...] = (1.0, 2.0)

    @dataclass
    class Filter:
        params: Params = field(default_factory=Params)

    with pytest.raises(ValueRangeError, match="--set: gains is no number, flag or text; set it"):
        configured(Filter, None, ["gains=1,2"])


@pytest.fixture(scope="module")
def thinned(tmp_path_factory):
    """Windows of 5 ms at rest: 2 a second (coverage 1 %), 3 of 4, and too few to serve."""

    def windows(step, count=800):
        t_ns = np.arange(1, count, step) * 5_000_000
        each = np.full(len(t_ns), 5_000_000)
        force = np.tile([0.0, 0.0, -9.81 * 0.005], (len(t_ns), 1))
        return strapdown.Increments(t_ns, 0.0 * force, force, each, each, body="FRD")

    most = windows(1)
    most = most[np.arange(len(most)) % 4 != 1]
    path = tmp_path_factory.mktemp("thinned") / "thinned.npz"
    increments = {"imu.0": windows(100), "imu.1": most, "imu.2": windows(3)}
    strapdown.write(path, strapdown.Recording(increments=increments))
    return path


@pytest.mark.parametrize("verb", [["fuse", "--filter", "mahony"], ["odometry"]])
def test_a_thinned_topic_is_refused_with_the_topic_that_serves(thinned, tmp_path, verb):
    def answer(*options):
        target = ("--force", "-o", str(tmp_path / "a.tum"))
        return runner.invoke(app, [*verb, str(thinned), *target, *options])

    done = answer("--topic", "imu.0")
    assert done.exit_code == 1
    assert "got 1.1% in imu.0; use imu.1 (--topic imu.1), which covers 75" in done.stderr
    assert done.stderr.count("\n") == 1
    assert answer("--topic", "imu.0", "--anyway").exit_code in {0, 3}
    assert answer().exit_code in {0, 3}
    assert answer("--topic", "imu.1").exit_code in {0, 3}


def test_slow_windows_of_a_px4_log_are_refused_with_the_topic_that_serves(data_dir, tmp_path):
    log = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    done = run(log, "--topic", "vehicle_imu.0", "--output", tmp_path / "a.tum")
    assert done.exit_code == 1
    assert "got 1.1% in vehicle_imu.0; use sensor_combined (--topic" in done.stderr
    assert not (tmp_path / "a.tum").exists()


@pytest.mark.parametrize(
    ("rate", "force", "doubted"),
    [(0.1, 9.8, False), (0.1, 1.0, True), (200.0, 9.8, True), (30.0, 9.8, False)],
)
def test_other_units_are_doubted(tmp_path, rate, force, doubted):
    t_ns, up = np.arange(200) * 5_000_000, np.tile([0.0, 0.0, 1.0], (200, 1))
    strapdown.write(tmp_path / "a.csv", strapdown.ImuSeries(t_ns, rate * up, force * up))
    done = run(tmp_path / "a.csv", "--filter", "vqf", "--output", tmp_path / "b.csv")
    assert ("doubtful" in done.stdout) == doubted
    assert done.exit_code == 0


def test_one_sample_is_compared_and_drawn(tmp_path):
    one = strapdown.ImuSeries(np.zeros(1, int), np.zeros((1, 3)), np.array([[0.0, 0.0, 9.8]]))
    strapdown.write(tmp_path / "a.csv", one)
    assert run(tmp_path / "a.csv", "--compare", "--picture", tmp_path / "a.png").exit_code == 0


def test_live_attitude_goes_back_and_into_a_file(tmp_path):
    t_ns = np.arange(1, 201) * 5_000_000
    tilt = Rotation.from_euler("x", 30.0, degrees=True)
    series = strapdown.ImuSeries(
        t_ns,
        np.zeros((200, 3)),
        np.tile(tilt.inv().apply([0.0, 0.0, 9.81]), (200, 1)),
    ).in_frames(world="NED", body="FRD")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    answers, stop = [], threading.Event()
    with MavlinkLink(listen="127.0.0.1:0") as ear:

        def talk():
            with MavlinkLink(to=f"127.0.0.1:{port}") as mouth:
                while not stop.is_set():
                    mouth.send_imu(series, kind="hil_sensor", speed=float("inf"))
                    stop.wait(0.1)

        def listen():
            while not stop.is_set():
                if (message := ear.receive(0.1)) is not None:
                    answers.append(message)

        threads = [threading.Thread(target=work) for work in (talk, listen)]
        for thread in threads:
            thread.start()
        try:
            data, done = run_json(
                *("--live", f"127.0.0.1:{port}", "--to", "{}:{}".format(*ear.address)),
                *("--duration", "3", "--filter", "complementary"),
                *("--output", tmp_path / "live.tum", "--set", "bias_limit=0"),
            )
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert done.exit_code in {0, 3}, done.output
    assert data["attitudes"] >= 200
    assert data["params"] == {"bias_limit": 0.0}
    track = strapdown.open(tmp_path / "live.tum").trajectory()
    assert len(track) == data["attitudes"]
    assert {answer.get_type() for answer in answers} == {"ATTITUDE_QUATERNION"}
    roll = 2.0 * np.arctan2(abs(answers[-1].q2), abs(answers[-1].q1))
    assert np.degrees(roll) == pytest.approx(30.0, abs=0.1)


def test_silence_is_one_line():
    done = run("--live", "127.0.0.1:0", "--duration", "0.3")
    assert done.exit_code == 1
    assert "received none" in done.stderr
