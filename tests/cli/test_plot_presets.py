"""``strapdown plot --preset`` on logs of PX4."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown import Increments
from strapdown.cli._app import app
from strapdown.formats import Recording

runner = CliRunner()

PRESETS = ("imu", "vibration", "clipping", "psd", "timing")


def run(*arguments):
    return runner.invoke(app, ["plot", *map(str, arguments)])


def one_line(done):
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.strip().splitlines()
    return line


@pytest.fixture(scope="module")
def real_log(data_dir):
    path = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    if not path.is_file():
        pytest.skip(f"no log at {path}")
    return path


def text_of(path):
    return path.read_text("utf-8")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_draws_a_log_of_an_autopilot(real_log, tmp_path, preset):
    done = run(real_log, "--preset", preset, "--output", tmp_path / "a.png")
    assert done.exit_code == 0, done.output
    picture = (tmp_path / "a.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n")
    assert len(picture) > 15_000


def drawn(monkeypatch, log, *options):
    """Return the figure that a command draws, instead of a file of it."""
    kept = []
    monkeypatch.setattr("strapdown.plots.save", lambda figure, *_, **__: kept.append(figure))
    done = run(log, "--output", "a.png", *options)
    assert done.exit_code == 0, done.output
    return kept[0]


def test_vibration_shows_every_imu_over_the_limits_of_reviewers(
    monkeypatch, flight_log, flight, px4
):
    accel, gyro = drawn(monkeypatch, flight_log, "--preset", "vibration").axes
    lines = {line.get_label(): line for line in accel.lines}
    assert {"IMU 0", "IMU 1"} <= set(lines)
    assert sorted(line.get_ydata()[0] for line in accel.lines if "from" in line.get_label()) == [
        4.905,
        9.81,
    ]
    status = px4.status_of(flight, 0)
    shown = lines["IMU 0"].get_ydata()
    assert shown[:20].tolist() == status["accel_vibration_metric"][:20].astype(float).tolist()
    assert {line.get_label() for line in gyro.lines} >= {"IMU 0", "IMU 1"}


@pytest.mark.parametrize("topic", ["vehicle_imu", "vehicle_imu_status"])
def test_vibration_shows_the_imu_that_was_asked_for_alone(
    monkeypatch, flight_log, flight, px4, topic
):
    options = ("--preset", "vibration", "--topic", f"{topic}.1")
    accel, gyro = drawn(monkeypatch, flight_log, *options).axes
    assert [line.get_label() for line in accel.lines if "from" not in line.get_label()] == ["IMU 1"]
    (shown,) = gyro.lines
    status = px4.status_of(flight, 1)
    assert shown.get_ydata()[0] == status["gyro_vibration_metric"][0]
    first_us = flight.windows(1)["timestamp_sample"][0]
    seconds = (int(status["timestamp"][0]) - int(first_us)) * 1e-6
    assert shown.get_xdata()[0] == pytest.approx(seconds, abs=0.006)  # a window, and its middle


def test_vibration_of_a_file_that_is_no_log_is_that_of_the_topic_alone(monkeypatch, tmp_path):
    t_ns, lengths = np.arange(1, 401) * 5_000_000, np.full(400, 5_000_000)
    rng = np.random.default_rng(1)
    one, two = (
        Increments(t_ns + shift, *rng.normal(size=(2, 400, 3)), lengths, lengths)
        for shift in (0, 10**9)
    )
    strapdown.write(tmp_path / "a.npz", Recording(increments={"one": one, "two": two}))
    for topic in ("one", "two"):
        options = ("--preset", "vibration", "--topic", topic)
        _, gyro = drawn(monkeypatch, tmp_path / "a.npz", *options).axes
        (shown,) = gyro.lines
        assert shown.get_label() == topic
        assert shown.get_xdata()[0] == pytest.approx(300 * 0.005 + 0.0025)  # from the middle
    _, gyro = drawn(monkeypatch, tmp_path / "a.npz", "--preset", "vibration").axes
    assert [line.get_xdata()[0] for line in gyro.lines] == pytest.approx([1.5025, 2.5025])


def test_clipping_marks_the_axes_that_were_saturated(monkeypatch, flight_log, flight, px4):
    topic = "sensor_accel_fifo.1"
    (axis,) = drawn(monkeypatch, flight_log, "--preset", "clipping", "--topic", topic).axes
    marks = {line.get_label(): line.get_xdata() for line in axis.lines}
    counts = flight.sensors["accel", 0].counts  # still in axes of the board
    for column, name in enumerate("xyz"):
        saturated = (counts[..., column] <= -32767) | (counts[..., column] >= 32766)
        assert len(marks[name]) == saturated.sum()
    assert marks["x"].mean() == pytest.approx(px4.CLIPPED_S, abs=2e-3)


def test_the_spectrum_is_that_of_the_raw_samples_and_has_its_peak_at_the_vibration(
    monkeypatch, flight_log, px4
):
    rates, forces = drawn(monkeypatch, flight_log, "--preset", "psd").axes
    for axis, column, frequency in ((rates, 0, 60.0), (forces, 2, 180.0)):
        hz, density = axis.lines[column].get_data()
        assert hz[-1] == pytest.approx(1e6 / px4.SPACING_US[0] / 2, rel=1e-3)  # true, not nominal
        quiet = hz > 20.0
        assert hz[quiet][density[quiet].argmax()] == pytest.approx(frequency, abs=hz[0])


def test_timing_shows_the_true_spacing_of_a_chip(monkeypatch, flight_log, px4):
    topic = "sensor_gyro_fifo.1"
    steps, _ = drawn(monkeypatch, flight_log, "--preset", "timing", "--topic", topic).axes
    medians = [line.get_ydata()[0] for line in steps.lines if "median" in line.get_label()]
    assert medians == [pytest.approx(px4.SPACING_US[0] * 1e-3, abs=1e-4)]
    assert max(steps.lines[0].get_ydata()) > 25.0  # the dropout [ms]


def test_json_names_what_was_drawn(real_log, tmp_path):
    output = tmp_path / "a.svg"
    done = run(real_log, "--preset", "clipping", "--output", output, "--json")
    report = json.loads(done.stdout)
    assert (report["preset"], report["output"]) == ("clipping", str(output))
    assert "<svg" in text_of(output)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--preset", "psd", "--topic", "vehicle_imu.0"), "64 samples in sequence"),
        (("--preset", "vibration", "--topic", "nope"), "'nope'"),
        (
            ("--preset", "vibration", "--topic", "vehicle_imu.7"),
            "metric of the topic 'vehicle_imu.7'",
        ),
        (("--preset", "vibration", "--topic", "sensor_gyro_fifo.0"), "'vehicle_imu.0'"),
        (("--preset", "timing", "--topic", "nope"), "'nope'"),
        (("--preset", "clipping", "--output", "a.foo"), ".foo"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(flight_log, tmp_path, options, text):
    if "--output" not in options:
        options = (*options, "--output", tmp_path / "a.png")
    assert text in one_line(run(flight_log, *options))
    assert not (tmp_path / "a.png").exists()


@pytest.mark.parametrize(
    ("output", "text"),
    [("a.htm", ".png, .svg, .pdf, .html, got '.htm'"), ("no/a.png", "no: expected a folder")],
)
def test_where_nothing_can_be_drawn_is_told_before_the_recording_is_read(tmp_path, output, text):
    assert text in one_line(run(tmp_path / "none.csv", "--output", tmp_path / output))


def test_pictures_are_replaced_only_on_request(flight_log, tmp_path):
    output = tmp_path / "a.png"
    output.touch()
    assert "exists already" in one_line(run(flight_log, "--preset", "timing", "--output", output))
    assert output.stat().st_size == 0


def test_series_without_clipping_bits_or_metric_are_one_line(tmp_path):
    source = tmp_path / "a.csv"
    header = ["t_ns", *(f"{name}_{axis}" for name in ("angular_velocity", "specific_force")
                        for axis in "xyz")]  # fmt: skip
    rows = [f"{k * 10_000_000},0,0,0,0,0,9.8" for k in range(100)]
    source.write_text("\n".join([",".join(header), *rows, ""]))
    output = tmp_path / "a.png"
    for preset, text in (("clipping", "clipping bits"), ("vibration", "vibration metric")):
        assert text in one_line(run(source, "--preset", preset, "--output", output))
    for preset in ("imu", "psd", "timing"):
        assert run(source, "--preset", preset, "--output", output, "--force").exit_code == 0
