"""CSV in our own layout, and CSV of other programs."""

from __future__ import annotations

import csv
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import strapdown.formats as files
from strapdown.errors import (
    FormatError,
    FrameError,
    ShapeError,
    TruncatedError,
    UnknownNameError,
    ValueRangeError,
)
from strapdown.formats import Recording, block_writer
from strapdown.formats.text import csv_file
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory
from strapdown.units import RAD_PER_DEG, STANDARD_GRAVITY

OURS = """\
# strapdown body=FRD world=NED
# a remark
t_ns,angular_velocity_x,angular_velocity_y,angular_velocity_z,specific_force_x,specific_force_y,specific_force_z
1700000000123456789,0.1,-0.25,1e-300,nan,,-9.80665
# another remark
1700000000128456789,inf,-0.0,3,4.0,5.5,0.1
"""
DELTAS = """\
# strapdown body=FRD
t_ns,delta_angle_x,delta_angle_y,delta_angle_z,delta_velocity_x,delta_velocity_y,delta_velocity_z,\
delta_angle_dt_ns,delta_velocity_dt_ns,gyro_clipping,accel_clipping,\
gyro_calibration_count,accel_calibration_count
1700000000005000000,0.001,-0.25,1e-300,nan,0.0,-0.049,5000000,4999000,0,5,1,255
1700000000010000000,inf,-0.0,3.0,4.0,5.5,0.1,9007199254740993,-1,7,0,2,0
"""
WALK = {
    "t_ns": ("Time (s)", 1e9),
    **{f"angular_velocity_{a}": (f"Gyroscope {a.upper()} (deg/s)", RAD_PER_DEG) for a in "xyz"},
    **{f"specific_force_{a}": (f"Accelerometer {a.upper()} (g)", STANDARD_GRAVITY) for a in "xyz"},
}


@pytest.fixture
def ours(tmp_path) -> Path:
    path = tmp_path / "imu.csv"
    path.write_text(OURS)
    return path


def numbers(rows: int, columns: int):
    return arrays(np.float64, (rows, columns), elements=st.floats())


@st.composite
def imu_series(draw) -> ImuSeries:
    n = draw(st.integers(0, 5))
    stamps = draw(arrays(np.int64, n, elements=st.integers(-(2**63), 2**63 - 1)))
    return ImuSeries(
        stamps,
        draw(numbers(n, 3)),
        draw(numbers(n, 3)),
        magnetic_field=draw(st.none() | numbers(n, 3)),
        q_world_from_body=draw(st.none() | numbers(n, 4)),
        gyro_clipping=draw(st.none() | arrays(np.uint8, n)),
        body=draw(st.sampled_from(["FLU", "FRD", "FUR"])),
        world=draw(st.sampled_from(["ENU", "NED", "EUN"])),
    )


@st.composite
def increments(draw) -> Increments:
    n = draw(st.integers(0, 5))
    whole = arrays(np.int64, (3, n), elements=st.integers(-(2**63), 2**63 - 1))
    t_ns, *spans = draw(whole)
    clipping_and_counts = draw(arrays(np.uint8, (4, n)))
    names = (f"{triad}_{what}" for what in ("clipping", "calibration_count")
             for triad in ("gyro", "accel"))  # fmt: skip
    return Increments(
        t_ns,
        draw(numbers(n, 3)),
        draw(numbers(n, 3)),
        *spans,
        **dict(zip(names, clipping_and_counts, strict=True)),
        body=draw(st.sampled_from(["FLU", "FRD", "FUR"])),
    )


@given(series=imu_series())
def test_a_series_reads_back_equal_and_writes_the_same_bytes_again(series, tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    assert csv_file.write(folder / "a.csv", series) == ({}, {})
    recording = csv_file.read(folder / "a.csv", salvage=False)
    assert recording.imu == {"imu": series}
    assert recording.report.messages == len(series)
    assert recording.report.lossless
    csv_file.write(folder / "b.csv", recording.imu["imu"])
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


@given(series=increments())
def test_increments_read_back_equal_and_write_the_same_bytes_again(series, tmp_path_factory):
    folder = tmp_path_factory.mktemp("csv")
    assert csv_file.write(folder / "a.csv", series) == ({}, {})
    recording = csv_file.read(folder / "a.csv", salvage=False)
    assert recording.increments == {"vehicle_imu": series}
    assert (recording.imu, recording.trajectories, recording.report.notes) == ({}, {}, ())
    assert recording.report.messages == len(series)
    csv_file.write(folder / "b.csv", recording.increments["vehicle_imu"])
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


@pytest.mark.parametrize(
    "optional", [(), ("position_world",), ("position_world", "velocity_world")]
)
def test_a_trajectory_reads_back_equal(optional, tmp_path):
    rng = np.random.default_rng(5)
    pose = Trajectory(
        np.arange(50) * 10_000_000 + 1_700_000_000_000_000_001,
        rng.standard_normal((50, 4)),
        **{name: rng.standard_normal((50, 3)) for name in optional},
        body="FRD",
        world="NED",
    )
    csv_file.write(tmp_path / "a.csv", pose)
    recording = csv_file.read(tmp_path / "a.csv", salvage=False)
    assert recording.trajectories == {"trajectory": pose}
    assert not recording.imu


def test_orientation_beside_imu_columns_is_offered_by_the_series_and_as_a_trajectory(tmp_path):
    t_ns = np.arange(3)
    q = np.tile([0.0, 0.6, 0.0, 0.8], (3, 1))
    imu = ImuSeries(t_ns, np.ones((3, 3)), np.ones((3, 3)), q_world_from_body=q)
    track = Trajectory(t_ns, q, position_world=np.full((3, 3), 7.0))
    csv_file.write(tmp_path / "a.csv", imu, track)
    recording = csv_file.read(tmp_path / "a.csv", salvage=False)
    assert recording.imu == {"imu": imu}
    assert recording.trajectories == {"trajectory": track}


def test_the_text_of_a_file_is_as_documented(tmp_path):
    series = ImuSeries(
        [1, 2], [[0.1, 0.2, 1e-5], [1, 2, 3]], [[0, -0.0, 9.80665], [np.nan, np.inf, 1 / 3]]
    )
    csv_file.write(tmp_path / "a.csv", series)
    assert (tmp_path / "a.csv").read_text() == (
        "# strapdown body=FLU world=ENU\n"
        "t_ns,angular_velocity_x,angular_velocity_y,angular_velocity_z,"
        "specific_force_x,specific_force_y,specific_force_z\n"
        "1,0.1,0.2,0.00001,0.0,-0.0,9.80665\n"
        "2,1.0,2.0,3.0,nan,inf,0.3333333333333333\n"
    )


def test_the_text_of_increments_is_as_documented(tmp_path):
    series = Increments(
        [1700000000005000000, 1700000000010000000],
        [[0.001, -0.25, 1e-300], [math.inf, -0.0, 3.0]],
        [[math.nan, 0.0, -0.049], [4.0, 5.5, 0.1]],
        [5_000_000, 2**53 + 1],
        [4_999_000, -1],
        gyro_clipping=[0, 7],
        accel_clipping=[5, 0],
        gyro_calibration_count=[1, 2],
        accel_calibration_count=[255, 0],
        body="FRD",
        sensor=SensorIdentity("", 11, 12),
    )
    unheld = csv_file.write(tmp_path / "a.csv", series)
    assert (tmp_path / "a.csv").read_text() == DELTAS
    assert unheld == ({}, {"the sensor's identity, accel 11 gyro 12": None})
    back = csv_file.read(tmp_path / "a.csv", salvage=False).increments["vehicle_imu"]
    assert back == series.replace(sensor=SensorIdentity())


def test_frames_numbers_and_empty_cells_are_read(ours):
    imu = csv_file.read(ours, salvage=False).imu["imu"]
    assert imu == ImuSeries(
        [1700000000123456789, 1700000000128456789],
        [[0.1, -0.25, 1e-300], [math.inf, -0.0, 3.0]],
        [[math.nan, math.nan, -9.80665], [4.0, 5.5, 0.1]],
        body="FRD",
        world="NED",
    )


def test_a_file_that_names_no_frames_is_read_as_flu_and_enu_and_says_so(ours):
    ours.write_text(OURS.partition("\n")[2])
    recording = csv_file.read(ours, salvage=False)
    assert (recording.imu["imu"].body, recording.imu["imu"].world) == ("FLU", "ENU")
    assert "FLU, ENU assumed" in recording.report.notes[0]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("4.0,5.5,0.1", "4.0,5.5"), "line 6: expected 7 columns, got 6"),
        (("-0.25", "fast"), "line 4: column 'angular_velocity_y': expected a number, got 'fast'"),
        (("1700000000128456789", "1.5"), "line 6: column 't_ns': expected a number, got '1.5'"),
        (("1700000000128456789", "9" * 30), "line 6: column 't_ns'"),
        (("5.5", "5_5"), "line 6: column 'specific_force_y'"),
        (("5.5", "٣"), "line 6: column 'specific_force_y'"),
        (("specific_force_y,", "specific_force_q,"), "expected 'specific_force_x', "),
        (("specific_force_y,", "specific_force_x,"), "expected one column 'specific_force_x'"),
        (("t_ns,", "time,"), "expected a header with t_ns"),
        (("body=FRD", "body=ABC"), "expected the names of known frames"),
    ],
)
def test_an_error_names_the_file_the_line_and_the_column(ours, change, complaint):
    ours.write_text(OURS.replace(*change))
    with pytest.raises(FormatError) as caught:
        csv_file.read(ours, salvage=False)
    assert str(caught.value).startswith(f"{ours}: {complaint}")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("4999000", "4999000.5"), "line 3: column 'delta_velocity_dt_ns': expected a number"),
        (("4999000", "nan"), "line 3: column 'delta_velocity_dt_ns': expected a number"),
        (("4999000", ""), "line 3: column 'delta_velocity_dt_ns': expected a number, got ''"),
        (("4999000", "4_9"), "line 3: column 'delta_velocity_dt_ns': expected a number"),
        (("4999000", str(2**63)), "line 3: column 'delta_velocity_dt_ns': expected 64 bits of ns"),
        (("4999000", "9" * 5000), "line 3: column 'delta_velocity_dt_ns': expected a number"),
        (("5.5", "fast"), "line 4: column 'delta_velocity_y': expected a number, got 'fast'"),
        ((",2,0\n", ",0\n"), "line 4: expected 13 columns, got 12"),
        ((",2,0\n", ",256,0\n"), "expected gyro_calibration_count as whole numbers"),
        ((",2,0\n", ",2,0.5\n"), "expected accel_calibration_count as whole numbers"),
        ((",7,0,2", ",-1,0,2"), "expected gyro_clipping as whole numbers"),
        (("delta_angle_dt_ns", "dt"), "expected 'delta_angle_x', "),
        (("delta_angle_y", "delta_angle_q"), "expected 'delta_angle_x', 'delta_angle_y', "),
        (("delta_velocity_", "velocity_", 4), "expected 'delta_angle_x', "),
        (("body=FRD", "body=ABC"), "expected the names of known frames"),
    ],
)
def test_an_error_in_increments_names_the_file_the_line_and_the_column(tmp_path, change, complaint):
    path = tmp_path / "a.csv"
    path.write_text(DELTAS.replace(*change))
    with pytest.raises(FormatError) as caught:
        csv_file.read(path, salvage=False)
    assert str(caught.value).startswith(f"{path}: {complaint}")


def test_salvage_leaves_increments_with_a_damaged_interval_out(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(DELTAS)
    whole = csv_file.read(path, salvage=False).increments["vehicle_imu"]
    path.write_text(DELTAS.replace("4999000", "1e6"))
    salvaged = csv_file.read(path, salvage=True)
    assert salvaged.increments["vehicle_imu"] == whole[1:]
    assert salvaged.report.lost_messages == 1


def test_clipping_and_counts_of_increments_are_zero_where_they_are_absent(tmp_path):
    path = tmp_path / "a.csv"
    rows = (",".join(line.split(",")[:9]) for line in DELTAS.splitlines())
    path.write_text("\n".join([*rows, ""]))
    found = csv_file.read(path, salvage=False).increments["vehicle_imu"]
    assert found.delta_angle_dt_ns.tolist() == [5_000_000, 2**53 + 1]
    assert not found.accel_clipping.any()
    assert not found.accel_calibration_count.any()


def test_foreign_increments_are_read_through_a_column_map_with_exact_intervals(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time;ax;ay;az;vx;vy;vz;dt;ms\n2.5;1;2;3;4;5;6;4000.001;9007199254.740993\n")
    deltas = {f"delta_{name}_{axis}": (f"{name[0]}{axis}", RAD_PER_DEG if name == "angle" else 1.0)
              for name in ("angle", "velocity") for axis in "xyz"}  # fmt: skip
    times = {"t_ns": ("time", 1e9), "delta_angle_dt_ns": ("dt", 1e3)}
    columns = {**times, **deltas, "delta_velocity_dt_ns": ("ms", 1e6)}
    found = csv_file.read(path, salvage=False, columns=columns).increments["vehicle_imu"]
    assert found == Increments(
        [2_500_000_000], np.radians([[1.0, 2.0, 3.0]]), [[4.0, 5.0, 6.0]], [4_000_001], [2**53 + 1]
    )
    columns["delta_velocity_dt_ns"] = ("ms", 2.0)
    with pytest.raises(ValueRangeError, match="the factor of delta_velocity_dt_ns as 1, 1e3"):
        csv_file.read(path, salvage=False, columns=columns)


def test_calibration_counts_without_increments_are_not_read(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t_ns,gyro_clipping,gyro_calibration_count\n1,2,x\n")
    recording = csv_file.read(path, salvage=False)
    assert recording.imu["imu"].gyro_clipping.tolist() == [2]
    assert "columns that were not read: 'gyro_calibration_count'" in recording.report.notes


def test_salvage_leaves_damaged_rows_out_and_counts_them(ours):
    row = "1700000000129000000,1,2,3,4,5,6\n"
    ours.write_text(OURS + row + row[:-9] + "\n" + row.replace(",2,", ",two,") + row)
    report = csv_file.read(ours, salvage=True).report
    assert (report.messages, report.lost_messages, report.lossless) == (4, 2, False)


def test_rows_that_are_all_damaged_are_an_error_even_when_salvaging(ours):
    ours.write_text(OURS.partition("1700")[0] + "x,1,2,3,4,5,6\n")
    with pytest.raises(FormatError, match="1 damaged lines"):
        csv_file.read(ours, salvage=True)


def test_a_file_that_is_cut_anywhere_gives_exactly_the_rows_before_the_cut(ours, stride):
    whole = csv_file.read(ours, salvage=False).imu["imu"]
    text = OURS.encode()
    first_row = text.index(b"1700")
    for cut in range(1, len(text), stride):
        ours.write_bytes(text[:cut])
        rows = text[:cut].count(b"\n1700") - (text[:cut].rpartition(b"\n")[2][:4] == b"1700")
        if text[cut - 1 : cut] == b"\n" and cut >= first_row:
            assert csv_file.read(ours, salvage=False).imu["imu"] == whole[:rows]
            continue
        if cut >= first_row and text[:cut].rpartition(b"\n")[2][:1] == b"#":
            continue  # nothing is lost with a remark
        with pytest.raises(FormatError) as caught:
            csv_file.read(ours, salvage=False)
        if cut >= first_row:
            assert isinstance(caught.value, TruncatedError)
            assert caught.value.offset == text[:cut].rindex(b"\n") + 1
        if rows:
            salvaged = csv_file.read(ours, salvage=True)
            assert salvaged.imu["imu"] == whole[:rows]
            assert salvaged.report.lost_messages == 1


def test_an_empty_file_and_a_lone_header(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("")
    with pytest.raises(FormatError, match="expected a header with t_ns"):
        csv_file.read(path, salvage=True)
    path.write_text(OURS.partition("1700")[0])
    assert len(csv_file.read(path, salvage=False).imu["imu"]) == 0


def test_text_that_is_not_utf_8_is_a_format_error(ours):
    ours.write_bytes(OURS.replace("a remark", "§").encode("latin-1"))
    with pytest.raises(FormatError, match="line 2: expected UTF-8 text"):
        csv_file.read(ours, salvage=False)
    ours.write_bytes(OURS.replace("5.5", "§").encode("latin-1"))
    with pytest.raises(FormatError, match="line 6: expected UTF-8 text"):
        csv_file.read(ours, salvage=False)
    assert csv_file.read(ours, salvage=True).report.lost_messages == 1


def test_a_line_without_end_is_one_damaged_row_and_costs_no_memory(ours):
    with ours.open("ab") as file:
        for _ in range(20):
            file.write(bytes(1 << 18))
        file.write(b"\n1700000000129000000,1,2,3,4,5,6\n")
    with pytest.raises(FormatError, match="line 7: expected a row, got a line above 65536 bytes"):
        csv_file.read(ours, salvage=False)
    report = csv_file.read(ours, salvage=True).report
    assert (report.messages, report.lost_messages) == (3, 1)


def test_columns_that_are_absent_or_unknown_are_noted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "t_ns,angular_velocity_x,angular_velocity_y,angular_velocity_z,beer\n1,2,3,4,x\n"
    )
    recording = csv_file.read(path, salvage=False)
    assert np.isnan(recording.imu["imu"].specific_force).all()
    assert "the file has no specific_force: NaN" in recording.report.notes
    assert "columns that were not read: 'beer'" in recording.report.notes


def test_a_foreign_walk_is_read_through_a_column_map(data_dir):
    path = data_dir / "gait_tracking" / "short_walk.csv"
    imu = csv_file.read(path, salvage=False, columns=WALK).imu["imu"]
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert len(imu) == len(rows) == 16_539
    assert imu.t_ns.tolist() == [round(Decimal(row[0]) * 10**9) for row in rows]
    assert imu.t_ns[1] == imu.t_ns[2]
    degrees = np.array([row[1:4] for row in rows], np.float64)
    np.testing.assert_allclose(imu.angular_velocity, np.radians(degrees), rtol=1e-15)
    g = np.array([row[4:7] for row in rows], np.float64)
    np.testing.assert_allclose(imu.specific_force, g * 9.80665, rtol=1e-15)


def test_a_foreign_file_without_a_map_says_how_to_name_its_columns(data_dir):
    with pytest.raises(FormatError, match=r"name foreign columns, strapdown\.open"):
        csv_file.read(data_dir / "gait_tracking" / "short_walk.csv", salvage=False)


@pytest.mark.parametrize(
    ("factor", "text", "t_ns"),
    [
        (1, "1700000000123456789", 1700000000123456789),
        (1e3, "1700000000123456.789", 1700000000123456789),
        (1e6, "1.700000000123456789e12", 1700000000123456789),
        (1e9, "1700000000.123456789", 1700000000123456789),
        (1e9, "-0.000000001", -1),
    ],
)
def test_decimal_times_of_every_unit_are_exact(factor, text, t_ns, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f'\ufeff"t"; "x";y;z;"what"\r\n{text};"1";2;3;not, read_\r\n')
    columns = {f"position_{axis}": (axis, 0.5) for axis in "xyz"} | {"t_ns": ("t", factor)}
    track = csv_file.read(path, salvage=False, columns=columns).trajectories["trajectory"]
    assert track.t_ns.tolist() == [t_ns]
    assert track.position_world.tolist() == [[0.5, 1.0, 1.5]]
    assert np.isnan(track.q_world_from_body).all()


@pytest.mark.parametrize("text", ["1e999999", "1e400", "nan", "x", "1e99999999999999999999"])
@pytest.mark.parametrize("factor", [1, 1e3, 1e9])
def test_times_that_are_none_are_format_errors(factor, text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"t,x,y,z\n{text},1,2,3\n")
    columns = {f"position_{axis}": (axis, 1.0) for axis in "xyz"} | {"t_ns": ("t", factor)}
    with pytest.raises(FormatError, match="line 2: column 't': expected a number"):
        csv_file.read(path, salvage=False, columns=columns)


def test_a_value_that_overflows_by_its_factor_is_infinite(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t,x,y,z\n1,1e308,0,-inf\n")
    columns = {f"specific_force_{axis}": (axis, 9.80665) for axis in "xyz"} | {"t_ns": ("t", 1)}
    imu = csv_file.read(path, salvage=False, columns=columns).imu["imu"]
    assert imu.specific_force.tolist() == [[math.inf, 0.0, -math.inf]]


def test_a_foreign_last_row_without_line_end_is_read_and_doubted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("t_ns,position_x,position_y,position_z\n1,2,3,4\n5,6,7,8")
    recording = csv_file.read(path, salvage=False)
    assert len(recording.trajectories["trajectory"]) == 2
    assert any("line 3 has no line end" in note for note in recording.report.notes)


def test_a_wrong_map_is_refused(ours):
    with pytest.raises(UnknownNameError, match="'angular_velocity_x'"):
        csv_file.read(ours, salvage=False, columns={"angular_velocty_x": ("x", 1.0)})
    with pytest.raises(FormatError, match="expected one column 'Time' in the header, got 0"):
        csv_file.read(ours, salvage=False, columns={"t_ns": ("Time", 1.0)})
    columns = {"t_ns": ("t_ns", 60e9)} | {
        f"angular_velocity_{axis}": (f"angular_velocity_{axis}", 1.0) for axis in "xyz"
    }
    with pytest.raises(ValueRangeError, match="expected the factor of t_ns as"):
        csv_file.read(ours, salvage=False, columns=columns)


def test_the_writer_names_what_the_file_cannot_hold(tmp_path):
    n = 4
    imu = ImuSeries(
        np.arange(n),
        np.zeros((n, 3)),
        np.zeros((n, 3)),
        sensor=SensorIdentity("imu_link"),
    )
    assert csv_file.write(tmp_path / "a.csv", imu) == (
        {},
        {"the sensor's identity, imu_link": None},
    )
    track = Trajectory(np.arange(n), np.zeros((n, 4)), moving=np.ones(n, np.bool_))
    assert csv_file.write(tmp_path / "a.csv", track) == ({"moving": 4}, {})


def test_clipping_bits_stand_in_whole_numbers_and_nothing_else_is_taken_for_them(tmp_path):
    bits = np.array([0, 5, 4, 7], np.uint8)
    imu = ImuSeries(np.arange(4), np.zeros((4, 3)), np.zeros((4, 3)), accel_clipping=bits)
    csv_file.write(tmp_path / "a.csv", imu)
    text = (tmp_path / "a.csv").read_text()
    assert text.splitlines()[3].endswith(",5")
    assert csv_file.read(tmp_path / "a.csv", salvage=False).imu["imu"] == imu
    for bad in ("256", "1.5", "nan", "-1"):
        (tmp_path / "b.csv").write_text(text.replace(",5\n", f",{bad}\n"))
        with pytest.raises(FormatError, match="accel_clipping as whole numbers"):
            csv_file.read(tmp_path / "b.csv", salvage=False)


def test_the_writer_refuses_parts_that_do_not_belong_together(tmp_path):
    imu = ImuSeries(np.arange(3), np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(FrameError, match="expected body=FLU world=ENU throughout"):
        csv_file.write(tmp_path / "a", imu, Trajectory(np.arange(3), np.zeros((3, 4)), world="NED"))
    with pytest.raises(ValueRangeError, match="expected equal t_ns"):
        csv_file.write(tmp_path / "a", imu, Trajectory(np.arange(4), np.zeros((4, 4))))
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("head", "is_csv"),
    [
        (OURS, True),
        ("t_ns,angular_velocity_x\n0,1\n", True),
        ("Time (s),Gyroscope X (deg/s)\n0,1\n", False),
        ("#timestamp [ns],w_RS_S_x\n1,2\n", False),
        ("1.5 0 0 0 0 0 0 1\n", False),
        ("hello\n", False),
        ("a,b\0", False),
        ("", False),
    ],
)
def test_a_csv_is_known_by_its_header_line(head, is_csv):
    assert csv_file.sniff(head.encode(), Path("x")) is is_csv


def blocks_of(series: Increments, size: int) -> list[Increments]:
    return [series[start : start + size] for start in range(0, len(series), size)]


@pytest.fixture
def deltas() -> Increments:
    rng = np.random.default_rng(3)
    t_ns = np.arange(20) * 5_000_000
    vectors = rng.standard_normal((2, 20, 3))
    return Increments(t_ns, *vectors, np.full(20, 5_000_000), np.full(20, 4_999_000), body="FRD")


def test_the_longest_increments_of_the_first_block_are_written_and_others_are_lost(
    deltas, tmp_path
):
    other = deltas.replace(t_ns=deltas.t_ns + 1)
    whole = Recording(increments={"vehicle_imu.0": other[:5], "vehicle_imu.1": deltas})
    report = files.write(tmp_path / "a.csv", whole)
    assert (report.messages, report.notes) == (20, ())
    assert report.lost == ("vehicle_imu.0: 5 rows of Increments",)
    with block_writer(tmp_path / "b.csv") as writer:
        for part in blocks_of(deltas, 7):
            first = writer.messages == 0
            beside = other[: 6 if first else 9]
            writer.write(Recording(increments={"vehicle_imu.0": beside, "vehicle_imu.1": part}))
        writer.write(Recording(increments={"vehicle_imu.0": other[:2]}))
    assert writer.lost == ["vehicle_imu.0: 26 rows of Increments"]
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert files.open(tmp_path / "b.csv").increments == {"vehicle_imu": deltas}


def test_a_table_keeps_to_its_topic_when_a_later_block_has_others(deltas, tmp_path):
    imu = ImuSeries(deltas.t_ns, deltas.delta_angle, deltas.delta_velocity, body="FRD")
    track = Trajectory(deltas.t_ns, np.ones((20, 4)), body="FRD")
    with block_writer(tmp_path / "a.csv") as writer:
        writer.write(Recording(increments={"vehicle_imu": deltas[:5]}))
        writer.write(
            Recording(
                imu={"vehicle_imu": imu},
                trajectories={"attitude": track},
                increments={"vehicle_imu": deltas[5:]},
            )
        )
        writer.write(Recording())
    assert writer.lost == ["vehicle_imu: 20 rows of ImuSeries", "attitude: 20 rows of Trajectory"]
    assert files.open(tmp_path / "a.csv").increments == {"vehicle_imu": deltas}


def test_a_block_in_other_frames_is_refused_and_one_without_rows_is_not(deltas, tmp_path):
    turned = deltas.in_frames(body="FLU")
    with block_writer(tmp_path / "a.csv") as writer:
        writer.write(Recording(increments={"vehicle_imu": deltas}))
        writer.write(Recording(increments={"vehicle_imu": turned[:0]}))
        with pytest.raises(
            ShapeError, match="frames of the previous rows, got 'strapdown body=FLU'"
        ):
            writer.write(Recording(increments={"vehicle_imu": turned}))
    assert files.open(tmp_path / "a.csv").increments == {"vehicle_imu": deltas}


def test_increments_of_a_flight_log_read_back_equal(data_dir, tmp_path):
    log = files.open(data_dir / "px4" / "ulog" / "sample_log_small.ulg").only("vehicle_imu.1")
    report = files.write(tmp_path / "a.csv", log)
    (given,) = log.increments.values()
    assert report.messages == len(given) == 12
    assert report.lost == ()
    assert report.notes == (f"left out of the file: the sensor's identity, {given.sensor}",)
    back = files.open(tmp_path / "a.csv")
    assert back.increments == {"vehicle_imu": given.replace(sensor=SensorIdentity())}
    assert back.imu_series() == log.imu_series().replace(sensor=SensorIdentity())
