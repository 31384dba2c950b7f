"""``strapdown convert`` to another rate, other axes and of several files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from mcap.reader import make_reader
from typer.testing import CliRunner

import strapdown
from strapdown.calibration import ImuCalibration, TriadCalibration, save_calibration
from strapdown.cli._app import app
from strapdown.formats import Recording
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.series import ImuSeries, Increments, Trajectory

runner = CliRunner()
ROWS = 1000
START_NS = 1_700_000_000_000_000_000
T_NS = START_NS + np.arange(ROWS) * 5_000_000  # 200 Hz
RAMP = np.column_stack([np.arange(ROWS) * 1e-3, np.zeros(ROWS), np.ones(ROWS)])


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


def converted(*arguments, code=0):
    done = run("convert", *arguments, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def imu(first=0, stop=ROWS, **changes):
    rows = slice(first, stop)
    columns = {"t_ns": T_NS, "angular_velocity": RAMP, "specific_force": RAMP + 1.0, **changes}
    return ImuSeries(**{name: array[rows] for name, array in columns.items()})


def turn(first=0, stop=ROWS):
    """A turn about z at 1 rad/s."""
    half = (T_NS - START_NS)[first:stop] * 0.5e-9
    q = np.column_stack([0 * half, 0 * half, np.sin(half), np.cos(half)])
    return Trajectory(T_NS[first:stop], q)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "fast.mcap"
    strapdown.write(path, Recording(imu={"imu": imu()}, trajectories={"pose": turn()}))
    return path


def test_resampling_is_linear_for_vectors_and_slerp_for_attitude(source, tmp_path):
    said = converted(source, tmp_path / "a.npz", "--resample", 300)
    back = strapdown.open(tmp_path / "a.npz")
    series, track = back.imu["imu"], back.trajectories["pose"]
    t_s = (series.t_ns - START_NS) * 1e-9
    assert np.allclose(t_s, np.arange(len(t_s)) / 300, atol=1e-9, rtol=0)
    assert series.t_ns[-1] <= T_NS[-1] < series.t_ns[-1] + 1e9 / 300
    np.testing.assert_allclose(series.angular_velocity[:, 0], t_s * 0.2, atol=1e-12)
    angle = 2 * np.arctan2(track.q_world_from_body[:, 2], track.q_world_from_body[:, 3])
    np.testing.assert_allclose(angle, t_s, atol=1e-9)
    assert said["topics"] == {"imu": len(series), "pose": len(track)}
    notes = "\n".join(said["notes"])
    assert "imu: resampled from 200 to 300 Hz (linear)" in notes
    assert "pose: resampled from 200 to 300 Hz (slerp)" in notes
    assert "folded" not in notes


def test_slower_resampling_states_that_it_does_not_filter(source, tmp_path):
    said = converted(source, tmp_path / "a.npz", "--resample", 50, "--topic", "imu")
    assert any("above 25 Hz are folded" in note and "--decimate" in note for note in said["notes"])
    back = strapdown.open(tmp_path / "a.npz")
    assert back.imu["imu"] == imu()[::4]
    assert back.imu.keys() | back.trajectories.keys() == {"imu"}


def test_gaps_are_not_bridged(tmp_path):
    keep = (np.arange(ROWS) < 400) | (np.arange(ROWS) >= 600)  # one second
    path = tmp_path / "gap.npz"
    strapdown.write(path, imu()[keep])
    said = converted(path, tmp_path / "a.npz", "--resample", 100)
    back = strapdown.open(tmp_path / "a.npz").imu["imu/data"]
    assert np.isfinite(back.angular_velocity).all()
    assert back.t_ns.tolist() == [t for t in T_NS[::2] if t <= T_NS[399] or t >= T_NS[600]]
    assert any("grid points" in note and "left out" in note for note in said["notes"])


@pytest.mark.parametrize("ending", [".mcap", ".npz", ".parquet", ".csv"])
def test_decimation_names_its_filter_and_every_format_keeps_it(source, tmp_path, ending):
    said = converted(source, tmp_path / f"a{ending}", "--decimate", 4, "--topic", "imu")
    back = strapdown.open(tmp_path / f"a{ending}")
    (series,) = back.imu.values()
    assert series.t_ns.tolist() == T_NS[::4].tolist()
    inside = slice(20, -20)
    np.testing.assert_allclose(series.angular_velocity[inside], RAMP[::4][inside], atol=1e-9)
    (line,) = [note for note in said["notes"] if "decimated" in note]
    assert "zero-phase FIR low-pass" in line
    assert "cut-off 20 Hz" in line
    assert back.history == (line,)
    assert line in "".join(run("info", tmp_path / f"a{ending}").stdout.splitlines())
    again = tmp_path / f"b{ending}"
    converted(tmp_path / f"a{ending}", again)
    assert strapdown.open(again).history == (line,)


def test_a_filter_on_irregular_samples_is_noted(tmp_path):
    path = tmp_path / "jitter.npz"
    late = np.where(np.arange(ROWS) % 2, 2_000_000, 0)  # steps of 7 and 3 ms
    strapdown.write(path, imu().replace(t_ns=T_NS + late))
    said = converted(path, tmp_path / "a.npz", "--decimate", 2)
    assert any("intervals vary by 2.83 ms (RMS)" in note for note in said["notes"])


def test_decimation_then_resampling_of_increments(tmp_path):
    dt_ns = np.full(ROWS, 5_000_000)
    increments = Increments(T_NS, RAMP * 5e-3, (RAMP + 1) * 5e-3, dt_ns, dt_ns)
    path = tmp_path / "increments.npz"
    strapdown.write(path, increments)
    said = converted(path, tmp_path / "a.npz", "--decimate", 2, "--resample", 50)
    (series,) = strapdown.open(tmp_path / "a.npz").imu.values()
    assert series.rate_hz == pytest.approx(50.0)
    np.testing.assert_allclose(
        series.angular_velocity[10:-10, 0], RAMP[::4, 0][10 : len(series) - 10], atol=1e-9
    )
    order = [note.split(": ")[1][:9] for note in said["notes"] if "imu: " in note]
    assert order[:2] == ["decimated", "resampled"]
    refused = run("convert", path, tmp_path / "b.npz", "--decimate", 2, "--increments")
    assert refused.exit_code == 2
    assert "become rates" in " ".join(refused.output.split())


def test_other_axes(source, tmp_path):
    converted(source, tmp_path / "a.npz", "--frame", "NED/FRD")
    back = strapdown.open(tmp_path / "a.npz")
    series = back.imu["imu"]
    assert (series.world, series.body) == (WorldFrame.NED, BodyFrame.FRD)
    assert (back.trajectories["pose"].world, back.trajectories["pose"].body) == ("NED", "FRD")
    np.testing.assert_array_equal(series.specific_force, (RAMP + 1.0) * [1, -1, -1])
    said = converted(source, tmp_path / "a.mcap", "--frame", "FRD", "--topic", "imu")
    assert strapdown.open(tmp_path / "a.mcap").imu["imu"].body == BodyFrame.FRD
    assert any("ENU from FLU, as ROS prescribes" in note for note in said["notes"])


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("a.ulg", "--frame", "NED"), 2, "NED from FRD"),
        (("a.bag", "--frame", "NED"), 2, "ENU from FLU"),
        (("a.npz", "--frame", "XYZ"), 1, "no frame 'XYZ'"),
        (("a.npz", "--frame", "NED", "--frame", "ENU"), 2, "one world frame"),
        (("a.csv", "--frame-id", "foot"), 2, "holds no frame id"),
        (("a.npz", "--decimate", "1"), 2, "greater than or equal to 2"),
        (("a.npz", "--resample", "0"), 2, "above 0"),
    ],
)
def test_what_cannot_be_is_refused(source, tmp_path, options, code, words):
    done = run("convert", source, tmp_path / options[0], *options[1:])
    assert done.exit_code == code
    assert words in " ".join(done.output.replace("│", " ").split())
    assert not (tmp_path / options[0]).exists()


def test_the_frame_id_of_one_sensor(source, tmp_path):
    converted(source, tmp_path / "a.mcap", "--frame-id", "left_foot")
    assert strapdown.open(tmp_path / "a.mcap").imu["imu"].sensor.name == "left_foot"
    with (tmp_path / "a.mcap").open("rb") as file:
        schema, _, message = next(iter(make_reader(file).iter_messages(topics=["imu"])))
    assert schema.name == "sensor_msgs/msg/Imu"
    assert b"left_foot\0" in message.data[:40]
    two = tmp_path / "two.npz"
    strapdown.write(two, Recording(imu={"a": imu(), "b": imu()}))
    done = run("convert", two, tmp_path / "b.npz", "--frame-id", "x")
    assert done.exit_code == 1
    assert "got the topics a, b; choose one with --topic" in done.output
    converted(two, tmp_path / "b.npz", "--frame-id", "x", "--topic", "b")
    assert strapdown.open(tmp_path / "b.npz").imu["b"].sensor.name == "x"


@pytest.fixture
def parts(tmp_path):
    """Three files of one sensor: the second repeats 20 rows of the first."""
    spans = ((0, 400), (380, 700), (700, ROWS))
    paths = [tmp_path / f"part{number}.npz" for number in range(len(spans))]
    for path, span in zip(paths, spans, strict=True):
        strapdown.write(path, Recording(imu={"imu": imu(*span)}))
    return paths


def test_parts_are_joined_in_the_order_of_time(parts, tmp_path):
    said = converted(parts[2], parts[0], parts[1], tmp_path / "whole.npz", "--merge")
    assert strapdown.open(tmp_path / "whole.npz").imu["imu"] == imu()
    assert said["messages"] == ROWS
    assert said["inputs"] == [str(parts[2]), str(parts[0]), str(parts[1])]
    assert "imu: 20 rows of a later file repeat rows of the one before: dropped" in said["notes"]


def test_topics_of_several_files_go_to_one(parts, tmp_path):
    strapdown.write(tmp_path / "pose.npz", Recording(trajectories={"pose": turn()}))
    converted(parts[0], tmp_path / "pose.npz", tmp_path / "both.mcap", "--merge", "--to", 1)
    back = strapdown.open(tmp_path / "both.mcap")
    assert back.imu["imu"] == imu(0, 200)
    assert len(back.trajectories["pose"]) == 200


def test_one_recording_is_not_joined_into_another(parts):
    before = parts[1].read_bytes()
    done = run("convert", parts[0], parts[1], "--merge", "--force")
    assert done.exit_code == 2
    assert "two recordings or more" in " ".join(done.output.replace("│", " ").split())
    assert parts[1].read_bytes() == before


def test_an_overlap_with_other_samples_is_refused(parts, tmp_path):
    other = tmp_path / "other.npz"
    strapdown.write(other, Recording(imu={"imu": imu(390, 600, angular_velocity=RAMP * 2)}))
    done = run("convert", parts[0], other, tmp_path / "whole.npz", "--merge")
    assert done.exit_code == 1
    assert "until 1700000001.995000000 s" in done.output
    assert "from 1700000001.950000000 s on" in done.output
    assert not (tmp_path / "whole.npz").exists()


def test_parts_in_other_frames_are_refused(parts, tmp_path):
    other = tmp_path / "other.npz"
    strapdown.write(other, Recording(imu={"imu": imu(500, 600).replace(body="FRD")}))
    done = run("convert", parts[0], other, tmp_path / "whole.npz", "--merge")
    assert done.exit_code == 1
    assert "expected body 'FLU' in every part, got 'FRD'" in done.output


def test_logs_of_several_starts_are_joined_on_the_clock_of_1970(data_dir, tmp_path):
    log = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    if not log.is_file():
        pytest.skip(f"no log at {log}")
    options = ("--topic", "sensor_combined")
    converted(log, tmp_path / "a.mcap", *options, "--to", 2)
    converted(log, tmp_path / "b.mcap", *options, "--from", 2)
    converted(log, tmp_path / "whole.mcap", *options)
    whole = strapdown.open(tmp_path / "whole.mcap").imu["sensor_combined"]
    converted(tmp_path / "b.mcap", tmp_path / "a.mcap", tmp_path / "ab.mcap", "--merge")
    assert strapdown.open(tmp_path / "ab.mcap").imu["sensor_combined"] == whole
    # The log itself counts from the start of the autopilot.
    converted(log, tmp_path / "b.npz", *options, "--from", 2, "--clock", "epoch")
    converted(log, tmp_path / "b.npz", tmp_path / "c.mcap", "--merge", *options)
    again = strapdown.open(tmp_path / "c.mcap").imu["sensor_combined"]
    assert again.t_ns.tolist() == whole.t_ns.tolist()


def test_a_calibration_is_not_applied_twice(source, tmp_path):
    cal = tmp_path / "cal.toml"
    save_calibration(ImuCalibration(gyro=TriadCalibration(bias=[0.1, 0.0, 0.0])), cal)
    once = tmp_path / "once.mcap"
    converted(source, once, "--calibration", cal, "--topic", "imu")
    assert strapdown.open(once).history[0].startswith("calibrated by cal.toml (sha256 ")
    done = run("convert", once, tmp_path / "twice.mcap", "--calibration", cal)
    assert done.exit_code == 1
    assert "cal.toml has not calibrated yet" in done.output
    other = tmp_path / "other.toml"
    save_calibration(ImuCalibration(gyro=TriadCalibration(bias=[0.2, 0.0, 0.0])), other)
    said = converted(once, tmp_path / "both.mcap", "--calibration", other)
    assert any("already calibrated by cal.toml" in note for note in said["notes"])
    assert len(strapdown.open(tmp_path / "both.mcap").history) == 2
