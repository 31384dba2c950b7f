"""``strapdown integrate``, as a person and as a script use it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pyulog import ULog
from typer.testing import CliRunner

import strapdown
from strapdown.cli._app import app
from strapdown.messages.px4 import VehicleImu

HEADER = ",".join(["t_ns", *(f"{name}_{axis}" for name in ("angular_velocity", "specific_force")
                             for axis in "xyz")])  # fmt: skip
runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, ["integrate", *map(str, arguments)], catch_exceptions=False)


def run_json(*arguments):
    done = run(*arguments, "--json")
    return json.loads(done.stdout), done


def one_line(done, code=1):
    """Return what a verb that failed says."""
    assert done.exit_code == code, done.output
    (line,) = done.stderr.strip().splitlines()
    return line


@pytest.fixture(scope="module")
def whole_log(px4, flight, tmp_path_factory):
    """A log without a dropout."""
    path = tmp_path_factory.mktemp("integrate") / "whole.ulg"
    return px4.write(path, flight, dropout=False)


# A recording


def test_a_log_becomes_windows_and_what_is_missing_is_said(flight_log, flight, px4, tmp_path):
    report, done = run_json(flight_log, tmp_path / "a.ulg")
    assert done.exit_code == report["exit"] == 3
    assert {line.partition(":")[0] for line in report["lost"]} == {"vehicle_imu.0", "vehicle_imu.1"}
    assert report["mode"] == "savage"
    ulog = ULog(str(tmp_path / "a.ulg"))
    for imu in report["imus"]:
        number = int(imu["topic"][-1])
        data = ulog.get_dataset("vehicle_imu", number).data
        assert imu["windows"] == imu["report"]["windows"] == len(data["timestamp"])
        assert int(data["gyro_device_id"][0]) == px4.IDS[0][number]
        logged = flight.windows(number, px4.DROPOUT_S)["timestamp_sample"]
        assert np.isin(logged, data["timestamp_sample"]).sum() >= len(logged) - 1
    changes = [imu["notes"] for imu in report["imus"]]
    assert ["each applied: 3" in " ".join(notes) for notes in changes] == [True, False]
    assert report["messages"] == sum(len(one.data["timestamp"]) for one in ulog.data_list)


@pytest.mark.parametrize("mode", ["savage", "px4"])
@pytest.mark.parametrize("ending", [".mcap", ".ulg", ".npz"])
def test_every_format_holds_the_windows_of_either_mode(whole_log, tmp_path, mode, ending):
    done = run(whole_log, tmp_path / f"a{ending}", "--mode", mode)
    assert done.exit_code == 3, done.output  # one packet is missing
    back = strapdown.open(tmp_path / f"a{ending}").increments
    assert sorted(back) == ["vehicle_imu.0", "vehicle_imu.1"]
    rates = back["vehicle_imu.1"].delta_velocity / (
        back["vehicle_imu.1"].delta_velocity_dt_ns[:, None] * 1e-9
    )
    assert np.allclose(rates.mean(axis=0), [0.3, 0.0, -9.80665], atol=0.1)  # two waves of 8
    for series in back.values():
        assert np.median(series.delta_angle_dt_ns) in (4_850_000, 4_900_000)


def test_one_csv_holds_one_imu_and_says_what_it_left_out(whole_log, tmp_path):
    done = run(whole_log, tmp_path / "a.csv", "--force")
    assert done.exit_code == 3
    assert "lost: vehicle_imu.1" in done.stderr
    assert len((tmp_path / "a.csv").read_text().splitlines()) > 500


def test_the_rate_is_that_of_the_log_unless_it_is_given(px4, flight, flight_log, tmp_path):
    asking = px4.write(tmp_path / "log.ulg", flight, parameters={"IMU_INTEG_RATE": 400})
    for log, options, length_us in (
        (flight_log, (), 4850),
        (asking, (), 2425),
        (asking, ("--rate", 100), 9700),
    ):
        run(log, tmp_path / "a.ulg", "--force", *options)
        data = ULog(str(tmp_path / "a.ulg")).get_dataset("vehicle_imu", 0).data
        assert np.median(data["delta_angle_dt"]) == pytest.approx(length_us, abs=1)


def test_the_kind_of_samples_can_be_said(tmp_path):
    source = tmp_path / "a.csv"
    rows = [f"{k * 1_000_000},{2 * k * 0.001:.9g},0,0,0,0,9.8" for k in range(400)]
    source.write_text("\n".join([HEADER, *rows, ""]))
    lengths = {}
    for kind in ("point", "mean", "integral"):
        done = run(source, tmp_path / f"{kind}.npz", "--kind", kind)
        assert done.exit_code == 0, done.output
        (found,) = strapdown.open(tmp_path / f"{kind}.npz").increments.values()
        row = found[10:11]
        end_s = row.t_ns[0] * 1e-9
        lengths[kind] = row.delta_angle[0, 0], end_s, row.delta_angle_dt_ns[0] * 1e-9
    for kind in ("rate", "preintegrated"):
        done = run(source, tmp_path / "a.npz", "--kind", kind)
        assert done.exit_code == 2
        assert "'point'" in done.output
    for kind, ahead_s in (("point", 0.0), ("mean", 0.0005)):
        angle, end_s, length_s = lengths[kind]
        middle_s = end_s - length_s / 2 + ahead_s  # a mean at its end is that of half a step ago
        assert angle == pytest.approx(2 * middle_s * length_s, rel=1e-6)
    angle, end_s, length_s = lengths["integral"]
    assert angle == pytest.approx(2 * (end_s - length_s / 2 + 0.0005) * 5, rel=1e-6)


@pytest.mark.parametrize(
    ("ending", "options", "since_1970"),
    [
        (".mcap", (), True),
        (".bag", (), True),
        (".csv", (), True),
        (".ulg", (), False),
        (".npz", (), False),
        (".mcap", ("--clock", "boot"), False),
        (".ulg", ("--clock", "epoch"), True),
    ],
)
def test_stamps_count_as_those_that_convert_writes(data_dir, tmp_path, ending, options, since_1970):
    log = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    if not log.is_file():
        pytest.skip(f"no log at {log}")
    offset_ns = strapdown.open(log).clock_offset_ns
    ends_us = ULog(str(log), ["sensor_combined"]).get_dataset("sensor_combined").data["timestamp"]
    run(log, tmp_path / f"a{ending}", "--anyway", *options)
    (found,) = strapdown.open(tmp_path / f"a{ending}").increments.values()
    expected = ends_us.astype(np.int64) * 1000 + offset_ns * since_1970
    assert found.t_ns.tolist() == expected.tolist()


def test_a_log_without_a_clock_says_from_when_its_stamps_count(whole_log, tmp_path):
    words = "stamps count from the start of the autopilot"
    report, _ = run_json(whole_log, tmp_path / "a.mcap")
    assert [words in note for note in report["notes"]] == [True]
    report, _ = run_json(whole_log, tmp_path / "b.mcap", "--clock", "boot")
    assert report["notes"] == []


# Verification


def test_a_log_that_is_made_again_is_accepted(flight_log):
    report, done = run_json(flight_log, "--verify")
    assert done.exit_code == 0, done.output
    assert report["accepted"] is True
    assert report["gyro_period_mismatches"] == report["accel_period_mismatches"] == 0
    assert report["max_gyro_residual"] <= 6e-8
    assert report["max_accel_residual"] <= 4e-6
    lines = run(flight_log, "--verify").stdout.splitlines()
    assert lines[-1] == "the samples give the logged windows"
    rows, packets = report["skipped_rows"], report["skipped_packets"]
    assert (rows > 0, packets > 0) == (True, True)
    assert lines[0] == f"{report['windows']} windows compared, in PX4's arithmetic"
    assert lines[1].startswith(f"{rows} rows left out: the first, and those at gaps in the log")
    assert lines[1].endswith("changes of sensor or calibration")
    assert lines[2] == f"{packets} rows left out: packets of them are missing"


def test_a_log_that_is_not_made_again_has_exit_code_3_and_1_if_strict(px4, flight, tmp_path):
    log = px4.write(tmp_path / "log.ulg", flight, parameters={"CAL_ACC2_XOFF": 0.2})
    report, done = run_json(log, "--verify")
    assert (done.exit_code, report["accepted"]) == (3, False)
    assert report["max_accel_residual"] == pytest.approx(0.09 * 1.02, rel=0.01)
    assert "lost: the samples do NOT give the logged windows" in run(log, "--verify").stderr
    assert run(log, "--verify", "--strict").exit_code == 1


@pytest.mark.parametrize("mode", ["savage", "px4"])
def test_a_log_is_verified_beside_an_output_in_either_mode(flight_log, tmp_path, mode):
    alone, _ = run_json(flight_log, "--verify", "--mode", mode)
    only, _ = run_json(flight_log, tmp_path / "a.ulg", "--mode", mode)
    both, done = run_json(flight_log, tmp_path / "b.ulg", "--mode", mode, "--verify")
    assert done.exit_code == 3  # of the packets that are missing, as without --verify
    assert both == alone | only | {"output": str(tmp_path / "b.ulg")}
    assert (tmp_path / "a.ulg").read_bytes() == (tmp_path / "b.ulg").read_bytes()
    text = run(flight_log, tmp_path / "b.ulg", "--force", "--mode", mode, "--verify").stdout
    assert "the samples give the logged windows" in text
    assert f"wrote {tmp_path / 'b.ulg'}" in text


def test_what_cannot_be_verified_leaves_no_output(tmp_path):
    other = tmp_path / "a.csv"
    other.write_text(f"{HEADER}\n0,0,0,0,0,0,9.8\n")
    assert "PX4 log to verify" in one_line(run(other, tmp_path / "b.ulg", "--verify"))
    assert not (tmp_path / "b.ulg").exists()


def test_a_log_without_raw_samples_and_other_files_cannot_be_verified(data_dir, tmp_path):
    log = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    if log.is_file():
        assert "raw samples of the gyro" in one_line(run(log, "--verify"))
    other = tmp_path / "a.csv"
    other.write_text(f"{HEADER}\n0,0,0,0,0,0,9.8\n")
    assert "PX4 log" in one_line(run(other, "--verify"))


# Errors


def test_sources_that_leave_time_out_need_to_be_asked_for(px4, flight, tmp_path):
    def edit(rows):
        for topic, instance in list(rows):
            if topic.startswith("sensor_"):
                del rows[topic, instance]

    log = px4.write(tmp_path / "log.ulg", flight, edit=edit)
    line = one_line(run(log, tmp_path / "a.ulg"))
    assert "vehicle_imu.0 1.2%" in line
    assert "--anyway" in line
    assert not (tmp_path / "a.ulg").exists()
    report, done = run_json(log, tmp_path / "a.ulg", "--anyway")
    assert done.exit_code == 3, done.output
    data = ULog(str(tmp_path / "a.ulg")).get_dataset("vehicle_imu").data
    expected = flight.windows(0)[::100]
    ends_us = expected["timestamp_sample"].astype(np.int64)
    assert data["timestamp_sample"].tolist() == ends_us.tolist()
    lost_us = int((np.diff(ends_us) - expected["delta_angle_dt"][1:]).sum())
    gaps = f"{lost_us * 1e-6:.3f} s have no window, gaps: {len(ends_us) - 1}"
    assert report["lost"] == [f"vehicle_imu.0: {gaps}"]


def test_windows_that_follow_each_other_lost_nothing(px4, flight, tmp_path):
    def edit(rows):
        for topic, instance in list(rows):
            if topic.startswith("sensor_"):
                del rows[topic, instance]
        rows["vehicle_imu", 0] = VehicleImu, flight.windows(0)

    log = px4.write(tmp_path / "log.ulg", flight, edit=edit, dropout=False)
    report, done = run_json(log, tmp_path / "a.ulg")
    assert (done.exit_code, report["lost"]) == (0, []), done.output


def test_of_a_real_log_the_lost_time_is_that_which_info_reports(data_dir, tmp_path):
    log = data_dir / "px4" / "ulog" / "sample_log_small.ulg"
    if not log.is_file():
        pytest.skip(f"no log at {log}")
    columns = ULog(str(log), ["sensor_combined"]).get_dataset("sensor_combined").data
    steps_us = np.diff(columns["timestamp"].astype(np.int64))
    lost_us = (steps_us - columns["gyro_integral_dt"][1:]).sum()
    report, _ = run_json(log, tmp_path / "a.ulg", "--anyway")
    assert report["lost"] == [f"vehicle_imu.0: {lost_us * 1e-6:.3f} s have no window, gaps: 1"]
    info = json.loads(runner.invoke(app, ["info", str(log), "--json"]).stdout)
    assert any(f"{lost_us * 1e-3:.1f} ms are lost" in note for note in info["notes"])


@pytest.mark.parametrize(
    ("target", "options", "text"),
    [
        ("a.ulg", ("--topic", "sensor_gyro_fifo.0"), "both sensors of an IMU"),
        ("a.ulg", ("--topic", "vehicle_imu.0"), "1.2% in vehicle_imu.0"),
        ("a.ulg", ("--topic", "vehicle_imu.7"), "no IMU topic 'vehicle_imu.7'"),
        ("a.foo", (), "an ending of .ulg, .mcap, .csv, .bag, .npz, .parquet, got '.foo'"),
        ("a.tum", (), "an ending of .ulg, .mcap, .csv, .bag, .npz, .parquet, got '.tum'"),
        ("a.ulg", ("--clock", "epoch"), "states when its clock began, for --clock epoch"),
        ("there.ulg", (), "there.ulg: exists already; pass --force"),
        ("no/a.ulg", (), "no: expected a folder that exists"),
    ],
)
def test_errors_are_one_line_with_exit_code_1(flight_log, tmp_path, target, options, text):
    (tmp_path / "there.ulg").touch()
    assert text in one_line(run(flight_log, tmp_path / target, *options))
    assert not (tmp_path / "a.ulg").exists()
    assert (tmp_path / "there.ulg").stat().st_size == 0


def test_a_file_that_is_not_there_or_no_recording_is_named(tmp_path):
    assert "nope.ulg: No such file" in one_line(run(tmp_path / "nope.ulg", tmp_path / "a.ulg"))
    (tmp_path / "b.bin").write_bytes(b"\x00\x01\x02" * 50)
    assert "b.bin: " in one_line(run(tmp_path / "b.bin", tmp_path / "a.ulg"))


def test_a_target_or_a_purpose_is_needed_and_the_target_is_not_the_source(flight_log):
    before = flight_log.read_bytes()
    for arguments in ((), (flight_log,), (flight_log, flight_log, "--force")):
        done = run(*arguments)
        assert done.exit_code == 2
        assert "Error" in done.stderr
    assert "--verify or --self-test" in " ".join(run(flight_log).stderr.replace("│", "").split())
    assert flight_log.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("a.ulg", "b.ulg", "--rate", "49.9"), "50 to 1000 windows a second, got 49.9"),
        (("a.ulg", "b.ulg", "--rate", "1001"), "50 to 1000 windows a second, got 1001"),
        (("a.ulg", "b.ulg", "--rate", "nan"), "50 to 1000 windows a second, got nan"),
        (("a.ulg", "b.ulg", "--samples", "4"), "it needs --self-test"),
        (("a.ulg", "--self-test"), "it takes no file, got a.ulg"),
        (("--verify", "--self-test"), "it needs a PX4 log, not --self-test"),
        (("a.ulg", "--verify", "--rate", "100"), "'--rate': it needs a file to write"),
        (("a.ulg", "--verify", "--topic", "sensor_combined"), "'--topic': it needs a file"),
        (("a.ulg", "--verify", "--force"), "'--force': it needs a file to write"),
    ],
)
def test_options_that_would_do_nothing_or_something_else_are_usage_errors(arguments, text):
    done = run(*arguments)
    assert done.exit_code == 2
    assert text in " ".join(done.stderr.replace("│", "").split())


# Self-test

# (amplitude, Hz, samples a second, samples a window) and drift: px4 with rate samples, better.
PUBLISHED = {
    ("coning", 1.0, 10.0, 200.0, 4): (480, 173, 0.343),
    ("coning", 1.0, 50.0, 800.0, 4): (3586, 1330, 3.98),
    ("coning", 1.0, 20.0, 400.0, 2): (255, 253, 0.689),
    ("sculling", 1.0, 50.0, 800.0, 4): (3.17e-2, 3.31e-2, 3.7e-5),
    ("sculling", 1.0, 20.0, 400.0, 2): (5.63e-3, 6.97e-3, 1.5e-5),
}


@pytest.mark.parametrize("mode", ["savage", "px4"])
def test_the_self_test_gives_the_drift_of_a_mode_beside_theory(mode):
    report, done = run_json("--self-test", "--mode", mode)
    assert done.exit_code == 0
    rows = {
        (row["motion"], round(row["amplitude_deg"], 6), row["frequency_hz"], row["rate_hz"],
         row["samples_per_window"]): row
        for row in report["rows"]
    }  # fmt: skip
    for case, (uncorrected, px4, better) in PUBLISHED.items():
        row = rows[case]
        assert row["uncorrected"] == pytest.approx(uncorrected, rel=0.01)
        assert row["px4"] == pytest.approx(px4, rel=0.01)
        assert row["drift"] == pytest.approx(px4 if mode == "px4" else better, rel=0.05)
        assert row["unit"] == ("deg/h" if case[0] == "coning" else "m/s^2")
    packet_s = report["packet_interval_s"]
    assert report["px4_packet_delay_s"] == pytest.approx(packet_s / 2, rel=1e-3)
    delay_s = packet_s / 2 if mode == "px4" else 0.0
    assert report["packet_delay_s"] == pytest.approx(delay_s, abs=packet_s / 1000)


def test_the_table_has_a_row_for_every_motion_and_the_delays_below():
    done = run("--self-test")
    lines = done.stdout.splitlines()
    assert "mode savage" in lines[0]
    (row,) = (
        line.split()
        for line in lines
        if line.startswith("coning 1 deg, 10 Hz") and "200 Hz" in line
    )
    assert row[-5:] == ["deg/h", "480", "173", "0.345", "503"]
    assert sum(line.startswith(("coning", "sculling")) for line in lines) == 16
    assert "lag 0.000 ms behind, those of PX4 0.625 ms" in done.stdout


@pytest.mark.parametrize(
    ("options", "samples_per_s", "samples"),
    [
        (("--rate", 100), {400.0}, {4}),
        (("--rate", 100, "--samples", 8), {800.0}, {8}),
    ],
)
def test_rate_is_of_windows_and_samples_are_of_one_window(options, samples_per_s, samples):
    rows = run_json("--self-test", *options)[0]["rows"]
    assert {row["rate_hz"] for row in rows} == samples_per_s
    assert {row["samples_per_window"] for row in rows} == samples
    for row in rows:
        if row["motion"] == "coning":  # theory at the rate of windows
            spin = 2 * np.pi * row["frequency_hz"]
            window_s = row["samples_per_window"] / row["rate_hz"]
            cone = np.radians(row["amplitude_deg"])
            drift = spin * (1 - np.cos(cone)) * (1 - np.sinc(spin * window_s / np.pi))
            assert row["uncorrected"] == pytest.approx(np.degrees(drift) * 3600, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--rate", "0"), "rate_hz"),
        (("--samples", "0"), "samples_per_window of 1 or more"),
        (("--rate", "100", "--samples", "0"), "1 or more"),
        (("--rate", "nan"), "rate_hz"),
        (("--rate", "inf"), "rate_hz"),
        (("--samples", "100000"), "samples_per_window of 2000 or less"),
    ],
)
def test_a_self_test_of_nothing_is_one_line(options, text):
    assert text in one_line(run("--self-test", *options))
