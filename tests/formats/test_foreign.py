"""Tables of other programs: recognised, asked about, read by a plan. All are made here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import strapdown
from strapdown.checking.rates import turn_ratio
from strapdown.errors import FormatError, ShapeError, UnknownNameError, ValueRangeError
from strapdown.formats.foreign import (
    Hints,
    ImportPlan,
    TimeColumn,
    VectorColumns,
    import_frame,
    read_sheet,
    recognised,
)
from strapdown.formats.foreign.names import meaning_of
from strapdown.formats.foreign.stamps import ns_from_counts, ns_from_iso8601
from strapdown.formats.foreign.units import factor
from strapdown.geometry import EulerConvention, euler

DEG = 180.0 / np.pi
G = 9.80665
ROWS = 400
RATE = 100.0
RNG = np.random.default_rng(3)
T = np.arange(ROWS) / RATE
ROLL = 0.8 * np.sin(2.0 * np.pi * 0.3 * T)
W = np.column_stack([np.gradient(ROLL, T), 0.0 * T, 0.0 * T]) + RNG.normal(0, 1e-3, (ROWS, 3))
F = G * np.column_stack([0.0 * T, np.sin(ROLL), np.cos(ROLL)]) + RNG.normal(0, 1e-2, (ROWS, 3))
M = 1e-6 * np.column_stack([20.0 + 0 * T, 5.0 * np.sin(ROLL), -40.0 * np.cos(ROLL)])
START_NS = 1_700_000_000_000_000_000
T_NS = START_NS + np.arange(ROWS) * 10_000_000


def text(header, *columns, separator=",", decimal=".", before="", quoted=False):
    """Return a table as text; a column of strings is taken as it is."""
    cells = [
        each for column in columns for each in (column.T if np.ndim(column) == 2 else [column])
    ]
    rows = [[] if header is None else header]
    rows += [
        [
            (each if isinstance(each, str) else repr(each.item())).replace(".", decimal)
            for each in row
        ]
        for row in zip(*cells, strict=True)
    ]
    if quoted:
        rows = [[f'"{cell}"' for cell in row] for row in rows]
    end = "\r\n" if quoted else "\n"
    return before + "".join(separator.join(row) + end for row in rows)


XYZ = ("x", "y", "z")


def names(*templates):
    return [template.format(axis) for template in templates for axis in XYZ]


XSENS = [
    name.replace("_x", "_X").replace("_y", "_Y").replace("_z", "_Z")
    for name in names("Acc_{}", "Gyr_{}")
]
CASES = {
    "phone, g and deg/s by their values": (
        text(["time [s]", "gx", "gy", "gz", "ax", "ay", "az"], T, W * DEG, F / G, separator=";"),
        True,
    ),
    "decimal commas, German, units in names": (
        text(
            ["Zeit (s)", *names("Gyroskop {} (rad/s)", "Acc {} (m/s²)")],
            T,
            W,
            F,
            separator=";",
            decimal=",",
        ).encode("latin-1"),
        True,
    ),
    "milliseconds since 1970, no units": (
        text(["timestamp", *names("acc_{}", "gyro_{}")], T_NS // 1_000_000, F, W),
        False,
    ),
    "dates and times": (
        text(
            ["DateTime", *names("Acc{}", "Gyro{}")],
            [datetime.fromtimestamp(t, UTC).isoformat() for t in START_NS / 1e9 + T],
            F,
            W,
        ),
        False,
    ),
    "quoted cells, byte order mark, CRLF": (
        text(
            ["Timestamp (ms)", *names("Gyro {} (dps)", "Accel {} (mg)")],
            1000.0 * T,
            W * DEG,
            1000.0 * F / G,
            quoted=True,
            before="\ufeff",
        ),
        True,
    ),
    "Shimmer: separator line, names, units": (
        text(
            [
                "Shimmer_1_Timestamp_Unix_CAL",
                *names("Shimmer_1_Accel_LN_{}_CAL", "Shimmer_1_Gyro_{}_CAL"),
            ],
            START_NS / 1e6 + 1000.0 * T,
            F,
            W * DEG,
            separator="\t",
            before='"sep=\t"\n',
        ).replace(
            "_CAL\n", "_CAL\n" + "\t".join(["ms", *["m/(s^2)"] * 3, *["deg/s"] * 3]) + "\n", 1
        ),
        False,
    ),
    "x-io": (
        text(
            ["Time (s)", *names("Gyroscope {} (deg/s)", "Accelerometer {} (g)")], T, W * DEG, F / G
        ),
        True,
    ),
    "flight mechanics: p, q, r": (
        text(["t", "p", "q", "r", "ax", "ay", "az"], T, W, F),
        True,
    ),
    "p, q, r with units": (
        text(["t", "P [deg/s]", "Q [deg/s]", "R [deg/s]", *names("acc {} [g]")], T, W * DEG, F / G),
        True,
    ),
    "decimal commas in quotes between commas": (
        text(
            ["Time (s)", *names("Gyro {} (rad/s)", "Acc {} (m/s^2)")],
            T,
            W,
            F,
            decimal=",",
            quoted=True,
        ),
        True,
    ),
    "UTF-16": (
        text(
            ["Time (s)", *names("Gyr {} (rad/s)", "Acc {} (m/s²)")], T, W, F, separator="\t"
        ).encode("utf-16"),
        True,
    ),
    "UTF-16, big endian": (
        b"\xfe\xff"
        + text(["Time (s)", *names("Gyr {} (rad/s)", "Acc {} (m/s²)")], T, W, F).encode(
            "utf-16-be"
        ),
        True,
    ),
    "phyphox": (
        text(
            [
                "Time (s)",
                *names("Gyroscope {} (rad/s)", "Acceleration {} (m/s^2)"),
                "Absolute acceleration (m/s^2)",
            ],
            T,
            W,
            F,
            np.linalg.norm(F, axis=1),
        ),
        True,
    ),
    "white space": (
        text(["t", *names("w{}", "a{}")], T, W, F, separator="  "),
        True,
    ),
    "a preamble, and a column of words": (
        text(
            ["Time (s)", *names("Gyr {} [rad/s]", "Acc {} [m/s^2]"), "label"],
            T,
            W,
            F,
            ["walk"] * ROWS,
            before="Recorded by a logger\nDevice: 7, firmware 2.1\n\n",
        ),
        True,
    ),
    "rostopic echo -p": (
        text(
            [
                "%time",
                "field.header.seq",
                "field.header.stamp",
                "field.header.frame_id",
                *names("field.orientation.{}"),
                "field.orientation.w",
                *names("field.angular_velocity.{}", "field.linear_acceleration.{}"),
            ],
            T_NS,
            np.arange(ROWS),
            T_NS,
            ["imu"] * ROWS,
            np.zeros((ROWS, 3)),
            np.ones(ROWS),
            W,
            F,
        ),
        False,
    ),
    "ulog2csv": (
        text(
            [
                "timestamp",
                *[f"gyro_rad[{i}]" for i in range(3)],
                *[f"accelerometer_m_s2[{i}]" for i in range(3)],
            ],
            T_NS // 1000,
            W,
            F,
        ),
        False,
    ),
    "Xsens MT Manager": (
        text(
            ["PacketCounter", "SampleTimeFine", *XSENS],
            np.arange(ROWS) + 65_400,
            (np.arange(ROWS) * 100 + 2**32 - 9000) % 2**32,
            F,
            W,
            separator="\t",
            before="// General information:\n//  MT Manager version:\t4.6\n",
        ),
        True,
    ),
    "Xsens DOT": (
        text(
            ["PacketCounter", "SampleTimeFine", *XSENS],
            np.arange(ROWS),
            np.arange(ROWS) * 10_000,
            F,
            W * DEG,
            before="sep=,\nDeviceTag:,D1\n",
        ),
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_ordinary_tables_open(tmp_path, name):
    content, relative = CASES[name]
    path = tmp_path / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    recording = strapdown.open(path)
    series = recording.imu_series()
    np.testing.assert_allclose(series.angular_velocity, W, atol=1e-12)
    np.testing.assert_allclose(series.specific_force, F, atol=1e-12)
    expected = T_NS - START_NS if relative else T_NS
    slack = 200_000 if "1970" in name or "Shimmer" in name or "dates" in name else 0
    assert np.max(np.abs(series.t_ns - series.t_ns[0] - (expected - expected[0]))) <= slack
    assert abs(int(series.t_ns[0]) - int(expected[0])) <= slack or "Xsens" in name
    assert series.body == ("FRD" if name == "ulog2csv" else "FLU")
    assert sum("->" in note for note in recording.report.notes) >= 3
    assert recording.report.lost_messages == 0


@pytest.mark.parametrize("letters", ["wf", "ga", "wa", "gf"])
def test_letters_of_rates_and_forces_name_their_columns(tmp_path, letters):
    header = ["t [s]", *names(f"{letters[0]}{{}}"), *names(f"{letters[1]}{{}}")]
    (tmp_path / "a.csv").write_text(text(header, T, W * DEG, F))
    series = strapdown.open(tmp_path / "a.csv").imu_series()
    np.testing.assert_allclose(series.angular_velocity, W, atol=1e-12)
    np.testing.assert_allclose(series.specific_force, F, atol=1e-12)


@pytest.mark.parametrize("end", ["", "\n", "\n[s],[g],[g],[g]\n"])
def test_a_table_without_rows_is_named_as_one(tmp_path, end):
    (tmp_path / "a.csv").write_text("t,ax,ay,az" + end)
    for read in (strapdown.open, read_sheet):
        with pytest.raises(FormatError, match="rows of numbers below the names t, ax, ay, az, got"):
            read(tmp_path / "a.csv")


def test_other_text_is_no_table_without_rows(tmp_path):
    (tmp_path / "a.txt").write_text("It was the last time, that a sample of text, was read\n")
    with pytest.raises(FormatError, match="or a table in text, got a file that begins with"):
        strapdown.open(tmp_path / "a.txt")


def test_a_real_export_of_a_logger(data_dir):
    path = data_dir / "gait_tracking" / "short_walk.csv"
    series = strapdown.open(path).imu_series()
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    np.testing.assert_allclose(series.angular_velocity, table[:, 1:4] / DEG, rtol=1e-12)
    np.testing.assert_allclose(series.specific_force, table[:, 4:7] * G, rtol=1e-12)


def test_a_real_session_of_an_inertial_sensor(data_dir):
    path = data_dir / "imucal" / "example_ferraris_session.csv"
    with pytest.raises(FormatError, match="rate of the counter 'n_samples'"):
        strapdown.open(path)
    plan = recognised(read_sheet(path), Hints(rate_hz=102.4)).plan
    series = strapdown.open(path, columns=plan).imu_series()
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    np.testing.assert_allclose(series.angular_velocity, table[:, 1:4] / DEG, rtol=1e-12)
    np.testing.assert_allclose(series.specific_force, table[:, 4:7], rtol=1e-12)
    assert series.rate_hz == pytest.approx(102.4)


QUESTIONS = {
    "rate of turn at rest": (
        text(["t", *names("g{}", "a{}")], T, 0.0 * W + 0.01, 0 * F + [0, 0, G]),
        "unit of gx, gy, gz",
        Hints({"angular_velocity": "rad/s"}),
    ),
    "no time": (
        text(names("gyro_{}_dps", "acc_{}_g"), W, F),
        "sampling rate of rows without time",
        Hints(rate_hz=100.0),
    ),
    "day or month": (
        text(
            ["time", *names("gyro_{}_dps")], [f"05/01/2024 12:00:{t:06.3f}" for t in T.tolist()], W
        ),
        r"order of day and month in 'time' \(05/01/2024 12:00:00.000\)\?",
        Hints({"time": "month_first"}),
    ),
    "counts of an accelerometer": (
        text(["t (s)", *names("gyro_{}_dps", "acc_{}")], T, W, np.rint(16384.0 * F / G)),
        r"unit of acc_x, acc_y, acc_z .* '1/16384 g', in a file of columns unit = ",
        Hints({"specific_force": "1/16384 g"}),
    ),
    "times that run backward": (
        text(["time", *names("gyro_{}_dps")], T[::-1], W),
        "sampling rate of rows, as 'time' has no numbers or dates that run forward",
        Hints(rate_hz=100.0),
    ),
    "a counter": (
        text(["sample", *names("gyro_{}_dps")], np.arange(ROWS), W),
        "sampling rate of the counter 'sample'",
        Hints(rate_hz=100.0),
    ),
    "milliseconds or samples": (
        text(["time", *names("gyro_{}_dps")], np.arange(ROWS), W),
        "unit of the time 'time'",
        Hints({"time": "ms"}),
    ),
    "two accelerometers": (
        text(["t (s)", *names("gyro_{}_dps", "acc_low_{}_g", "acc_high_{}_g")], T, W, F, F),
        "which specific force: acc_low_x_g, .* or acc_high_x",
        Hints(words=["high"]),
    ),
    "counts": (
        text(["t (s)", *names("gyro_{}_dps", "acc_{}")], T, W, 1671.0 * F),
        "unit of acc_x, acc_y, acc_z",
        Hints({"specific_force": "mg"}),
    ),
    "units that differ": (
        text(["t (s)", "gyro x (dps)", "gyro y (rad/s)", "gyro z (rad/s)"], T, W),
        r"unit of gyro x .* The names state several\. \(--gyro-unit\)",
        Hints({"angular_velocity": "rad/s"}),
    ),
    "counts of a gyro": (
        text(["t (s)", *names("gyro_{}", "acc_{}_g")], T, 131.0 * DEG * W, F / G),
        "unit of gyro_x, gyro_y, gyro_z .* are no rad/s or deg/s",
        Hints({"angular_velocity": "mdeg/s"}),
    ),
    "counts of a gyro alone": (
        text(["t (s)", *names("gyro_{}")], T, 1e4 * W),
        "unit of gyro_x, gyro_y, gyro_z .* are no rad/s or deg/s",
        Hints({"angular_velocity": "mdeg/s"}),
    ),
    "no names": (
        text(None, T, W, F),
        "names of the 7 columns",
        Hints(names=["t", *names("w{}", "a{}")]),
    ),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_not_determined_is_asked_and_the_answer_is_taken(tmp_path, name):
    content, question, answer = QUESTIONS[name]
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(FormatError, match=question):
        strapdown.open(path)
    found = recognised(read_sheet(path), answer)
    assert not found.questions
    found.plan.save(tmp_path / "plan.toml")
    plan = ImportPlan.load(tmp_path / "plan.toml")
    assert plan == found.plan
    series = strapdown.open(path, columns=tmp_path / "plan.toml").imu_series()
    assert len(series) == ROWS
    assert series.rate_hz == pytest.approx(1000.0 if name.startswith("milli") else RATE)
    assert series == strapdown.open(path, columns=plan).imu_series()


def test_units_of_the_answer_are_applied(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(QUESTIONS["counts"][0])
    plan = recognised(read_sheet(path), Hints({"specific_force": "mg"}, body="FRD")).plan
    series = strapdown.open(path, columns=plan).imu_series()
    np.testing.assert_allclose(series.specific_force, 1671.0 * F * G / 1000.0, rtol=1e-12)
    assert series.body == "FRD"


def test_a_sign_in_a_plan_negates_a_column(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text(["t", "a", "b", "c"], T, W))
    plan = ImportPlan(
        TimeColumn("t", "s"), {"angular_velocity": VectorColumns(("b", "-a", "c"), "deg/s")}
    )
    rates = strapdown.open(path, columns=plan).imu_series().angular_velocity
    np.testing.assert_allclose(rates, W[:, [1, 0, 2]] * [1, -1, 1] / DEG, rtol=1e-12)


def test_times_of_a_counter_of_32_bits_go_on_after_a_wrap(tmp_path):
    path = tmp_path / "table.csv"
    stamps = (2**32 - 2_000_000 + 10_000 * np.arange(ROWS)) % 2**32
    path.write_text(text(["timestamp_us", *names("gyro_{}_dps")], stamps, W))
    found = recognised(read_sheet(path), Hints({"time": "us"}))
    recording = strapdown.open(path, columns=found.plan)
    assert set(np.diff(recording.imu_series().t_ns).tolist()) == {10_000_000}
    assert "the counter wrapped 1 times" in recording.report.notes


def test_acceleration_without_gravity_is_not_read(tmp_path):
    path = tmp_path / "table.csv"
    free = F - np.array([0.0, 0.0, G]) * 0.999
    path.write_text(
        text(
            ["Time (s)", *names("Gyroscope {} (rad/s)", "Linear Acceleration {} (m/s^2)")],
            T,
            W,
            0.05 * free,
        )
    )
    recording = strapdown.open(path)
    assert np.isnan(recording.imu_series().specific_force).all()
    assert any("without gravity" in note for note in recording.report.notes)


def test_an_orientation_between_unnamed_frames_is_not_read_but_a_plan_names_them(tmp_path):
    path = tmp_path / "table.csv"
    quaternions = np.column_stack([np.sin(ROLL / 2), 0 * T, 0 * T, np.cos(ROLL / 2)])
    path.write_text(
        text(
            ["t (s)", *names("gyro_{}_dps"), "quat_x", "quat_y", "quat_z", "quat_w"],
            T,
            W,
            quaternions,
        )
    )
    recording = strapdown.open(path)
    assert recording.imu_series().q_world_from_body is None
    assert any("orientation between frames" in note for note in recording.report.notes)
    columns = ("quat_x", "quat_y", "quat_z", "quat_w")
    plan = ImportPlan(
        TimeColumn("t (s)", "s"), {"orientation": VectorColumns(columns, "1")}, world="NED"
    )
    track = strapdown.open(path, columns=plan).trajectory()
    np.testing.assert_allclose(track.q_world_from_body, quaternions, atol=1e-15)
    assert track.world == "NED"


def test_damaged_rows_are_named_or_counted(tmp_path):
    path = tmp_path / "table.csv"
    lines = CASES["x-io"][0].split("\n")
    lines[20] = "0.19,1.0,2.0"
    path.write_text("\n".join(lines))
    with pytest.raises(FormatError, match="line 21: expected 7 columns, got 3"):
        strapdown.open(path)
    recording = strapdown.open(path, on_error="salvage")
    assert recording.report.lost_messages == 1
    assert len(recording.imu_series()) == ROWS - 1


@pytest.mark.parametrize("unit", ["s", "iso8601"])
def test_a_damaged_time_does_not_hide_the_column(tmp_path, unit):
    path = tmp_path / "table.csv"
    day = datetime(2026, 11, 24, tzinfo=UTC)
    instants = [(day + timedelta(seconds=t)).isoformat() for t in T.tolist()]
    content = text(["t", *names("g{}", "a{}")], T if unit == "s" else instants, W, F)
    lines = content.split("\n")
    lines[100] = "t" + lines[100][lines[100].index(",") :]
    path.write_text("\n".join(lines))
    recording = strapdown.open(path, on_error="salvage")
    assert recording.report.lost_messages == 1
    assert len(recording.imu_series()) == ROWS - 1
    np.testing.assert_allclose(recording.imu_series().angular_velocity[:99], W[:99], rtol=1e-12)


@pytest.mark.parametrize("dates", [False, True])
def test_rows_of_a_frame_without_a_time_are_left_out_and_counted(dates):
    pd = pytest.importorskip("pandas")
    columns = names("gyro_{}_rad/s", "acc_{}_m/s2")
    vectors = dict(zip(columns, np.column_stack([W, F]).T, strict=True))
    stamps = pd.Series(pd.to_datetime(T_NS) if dates else T)
    stamps[5] = pd.NaT if dates else np.nan
    recording = import_frame(pd.DataFrame({"time": stamps, **vectors}))
    assert recording.report.lost_messages == 1
    series = recording.imu_series()
    expected = T_NS if dates else T_NS - START_NS
    assert series.t_ns.tolist() == np.delete(expected, 5).tolist()
    np.testing.assert_array_equal(series.specific_force, np.delete(F, 5, axis=0))


def test_a_frame_without_columns_is_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(FormatError, match="expected a table with columns, got none"):
        import_frame(pd.DataFrame())


def test_empty_cells_are_unknown(tmp_path):
    path = tmp_path / "table.csv"
    lines = CASES["x-io"][0].split("\n")
    cells = lines[5].split(",")
    lines[5] = ",".join([*cells[:4], "", "", ""])
    path.write_text("\n".join(lines))
    series = strapdown.open(path).imu_series()
    assert np.isnan(series.specific_force[4]).all()
    np.testing.assert_allclose(series.angular_velocity, W, atol=1e-12)


def test_arrays_and_parquet_of_other_programs(tmp_path):
    np.savez(tmp_path / "a.npz", time_s=T, gyro_rad=W, acc_ms2=F, mag_uT=1e6 * M, note=np.array(7))
    series = strapdown.open(tmp_path / "a.npz").imu_series()
    np.testing.assert_allclose(series.angular_velocity, W, rtol=1e-12)
    np.testing.assert_allclose(series.magnetic_field, M, rtol=1e-12)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"stamp": pandas.to_datetime(T_NS, utc=True)}
        | {name: W.T[i] * DEG for i, name in enumerate(names("gyro_{}_dps"))}
        | {name: F.T[i] for i, name in enumerate(names("accel_{}"))}
    )
    frame.to_parquet(tmp_path / "a.parquet")
    for found in (strapdown.open(tmp_path / "a.parquet"), import_frame(frame)):
        series = found.imu_series()
        np.testing.assert_array_equal(series.t_ns, T_NS)
        np.testing.assert_allclose(series.angular_velocity, W, rtol=1e-12)
        np.testing.assert_allclose(series.specific_force, F, rtol=1e-12)
    indexed = frame.set_index("stamp")
    np.testing.assert_array_equal(import_frame(indexed).imu_series().t_ns, T_NS)


def test_a_folder_of_one_file_per_sensor(tmp_path):
    columns = ["time", "seconds_elapsed", "z", "y", "x"]
    for name, values in (("Gyroscope", W), ("TotalAcceleration", F), ("Accelerometer", 0.1 * W),
                         ("Magnetometer", 1e6 * M), ("Location", W)):  # fmt: skip
        (tmp_path / f"{name}.csv").write_text(text(columns, T_NS, T, values[:, ::-1]))
    late = text(columns, T_NS[:-5] + 5_000_000, T[:-5], F[:-5, ::-1])
    (tmp_path / "TotalAcceleration.csv").write_text(late)
    recording = strapdown.open(tmp_path)
    series = recording.imu_series()
    np.testing.assert_array_equal(series.t_ns, T_NS)
    np.testing.assert_allclose(series.angular_velocity, W, rtol=1e-12)
    middle = 0.5 * (F[:-6] + F[1:-5])
    np.testing.assert_allclose(series.specific_force[1:-5], middle, atol=1e-9)
    assert np.isnan(series.specific_force[[0, -1]]).all()
    assert "layout of Sensor Logger" in recording.report.notes


def test_the_folder_of_a_kitti_drive(tmp_path):
    data = tmp_path / "oxts" / "data"
    data.mkdir(parents=True)
    stamps = []
    for i in range(5):
        row = np.zeros(30)
        row[3:6], row[11:14], row[17:20] = [0.1, -0.05, 0.3 + 0.01 * i], F[i], W[i]
        (data / f"{i:010d}.txt").write_text(" ".join(map(repr, row.tolist())) + "\n")
        stamps.append(f"2011-09-26 13:02:25.9{i}4389445")
    (tmp_path / "oxts" / "timestamps.txt").write_text("\n".join(stamps) + "\n")
    recording = strapdown.open(tmp_path)
    series = recording.imu_series()
    np.testing.assert_array_equal(series.specific_force, F[:5])
    np.testing.assert_array_equal(series.angular_velocity, W[:5])
    assert np.diff(series.t_ns).tolist() == [10_000_000] * 4
    assert series.t_ns[0] % 1_000_000_000 == 904_389_445
    track = recording.trajectory()
    angles = euler.from_quaternion(track.q_world_from_body, EulerConvention.ZYX)
    np.testing.assert_allclose(angles[2], [0.1, -0.05, 0.32], atol=1e-12)
    (data / "0000000003.txt").write_text("1 2 3\n")
    with pytest.raises(
        FormatError, match="expected sample 3 of the drive: expected 30 numbers, got 3"
    ):
        strapdown.open(tmp_path)
    assert strapdown.open(tmp_path, on_error="salvage").report.lost_messages == 1


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("accelerometerAccelerationX(G)", ("specific_force", "x", "g")),
        ("motionUserAccelerationX(G)", ("gravity_free", "x", "g")),
        ("motionRotationRateZ(rad/s)", ("angular_velocity", "z", "rad/s")),
        ("Magnetic field y (µT)", ("magnetic_field", "y", "uT")),
        ("mag_z_gauss", ("magnetic_field", "z", "gauss")),
        ("gx", ("angular_velocity", "x", None)),
        ("gx_dps", ("angular_velocity", "x", "deg/s")),
        ("gyRad_s", ("angular_velocity", "y", "rad/s")),
        ("ax_g", ("specific_force", "x", "g")),
        ("az_m/s2", ("specific_force", "z", "m/s^2")),
        ("my_uT", ("magnetic_field", "y", "uT")),
        ("gx_offset", None),
        ("xgyro", ("angular_velocity", "x", None)),
        ("zacc (mg)", ("specific_force", "z", "mg")),
        ("fx", ("specific_force", "x", None)),
        ("fz [m/s^2]", ("specific_force", "z", "m/s^2")),
        ("wy", ("angular_velocity", "y", None)),
        ("fix", None),
        ("xg", None),
        ("SampleTimeFine", ("counter", "", None)),
        ("roll_rate_dps", ("angular_velocity", "x", "deg/s")),
        ("yawRate [rad/s]", ("angular_velocity", "z", "rad/s")),
        ("Timestamp [us]", ("time", "", "us")),
        ("temperature", None),
        ("x", None),
        ("yaw (deg)", None),
        ("q0", None),
    ],
)
def test_meanings_of_names(name, expected):
    found = meaning_of(name)
    assert (None if found is None else (found.quantity, found.axis, found.unit)) == expected


def test_the_turn_of_gravity_tells_the_unit_of_a_gyro():
    assert turn_ratio(T, W, F) == pytest.approx(1.0, abs=0.02)
    assert turn_ratio(T, W * DEG, F / G) == pytest.approx(1.0 / DEG, rel=0.02)
    assert turn_ratio(T, 0.0 * W, 0.0 * F + [0.0, 0.0, G]) is None
    assert turn_ratio(T, W[:, ::-1], F) is None


def test_times_are_exact():
    assert ns_from_iso8601("1970-01-01T00:00:01.000000001Z") == 1_000_000_001
    assert ns_from_iso8601("1970-01-01 02:00:00,5+02:00") == 500_000_000
    t_ns, wraps = ns_from_counts(np.array([65_534, 65_535, 0, 1]), 1000.0)
    assert t_ns.tolist() == [0, 1_000_000, 2_000_000, 3_000_000]
    assert wraps == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("format = 1", "format = 1 instead of"),
        ('format = "strapdown columns 1"\n[time]\ncolumn = "t"\nunit = "s"', "at least one of"),
        ('format = "strapdown columns 1"\nthyme = 1', "no entry 'thyme'|entry.*thyme"),
        ("[", "a plan of columns in TOML"),
        ('format = "strapdown columns 1"\n[time]\nunit = "s"\n', "a column of time"),
        ('format = "strapdown columns 1"\n[time]\ncolumn = "t"\nunit = "h"\n', "unit of time"),
        (('format = "strapdown columns 1"\n[time]\ncolumn = "t"\nunit = "s"\n[specific_force]\n'
         'columns = ["a", "b"]\nunit = "g"'), "3 columns of specific_force, got 2"),
    ],
)  # fmt: skip
def test_files_that_are_no_plan_are_named(tmp_path, content, message):
    path = tmp_path / "plan.toml"
    path.write_text(content)
    with pytest.raises(FormatError, match=message) as caught:
        ImportPlan.load(path)
    assert str(path) in str(caught.value)


def test_columns_of_a_plan_must_exist(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text(["t", "a", "b", "c"], T, W))
    plan = ImportPlan(
        TimeColumn("t", "s"), {"angular_velocity": VectorColumns(("a", "b", "d"), "deg/s")}
    )
    with pytest.raises(FormatError, match=r"column.*'d'"):
        strapdown.open(path, columns=plan)


def test_wrong_statements_are_named(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text(["t", *names("gyro_{}")], T, W))
    with pytest.raises(ShapeError, match="expected 4 names, one for each column, got 2"):
        recognised(read_sheet(path), Hints(names=["t", "gx"]))
    with pytest.raises(UnknownNameError, match="unit of angular_velocity"):
        recognised(read_sheet(path), Hints({"angular_velocity": "mph"}))
    with pytest.raises(ValueRangeError, match="rate_hz above 0"):
        TimeColumn(None, "samples", -1.0)
    path.write_text("no table\nat all\n")
    with pytest.raises(FormatError, match="expected rows of numbers"):
        read_sheet(path)


def test_a_word_that_no_sensor_has_is_named(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text(["t", *names("gyro_{}_dps")], T, W))
    with pytest.raises(UnknownNameError, match="no sensor with the word 'high'"):
        recognised(read_sheet(path), Hints(words=["high"]))


MIDNIGHT_S = 86_400.0 - 1.5
"""Time of day of the first row: midnight is within the table."""


def of_day(t, form="{h:02d}:{m:02d}:{s:06.3f}"):
    seconds = (MIDNIGHT_S + t) % 86_400.0
    hours, rest = divmod(seconds + 1e-9, 3600.0)
    minutes, seconds = divmod(rest, 60.0)
    return form.format(h=int(hours), m=int(minutes), s=seconds - 1e-9)


def one_time(tmp_path, cells):
    path = tmp_path / "table.csv"
    path.write_text(text(["time", *names("gyro_{}_dps", "acc_{}_g")], cells, W, F))
    return path


def test_times_of_day_pass_midnight(tmp_path):
    recording = strapdown.open(one_time(tmp_path, list(map(of_day, T.tolist()))))
    series = recording.imu_series()
    assert series.t_ns[0] == round(MIDNIGHT_S * 1e9)
    assert (np.diff(series.t_ns) == 10_000_000).all()
    assert any("midnight passes 1 time" in note for note in recording.report.notes)


def test_a_time_of_day_with_one_digit_of_a_second(tmp_path):
    cells = [f"12:{row // 600:02d}:{row % 600 // 10:02d}.{row % 10}" for row in range(ROWS)]
    series = strapdown.open(one_time(tmp_path, cells)).imu_series()
    assert series.t_ns.tolist() == [(12 * 36_000 + row) * 10**8 for row in range(ROWS)]


@pytest.mark.parametrize(
    ("form", "unit"),
    [
        ("%d.%m.%Y %H:%M:%S.%f", "day_first"),
        ("%d/%m/%Y %H:%M:%S.%f", "day_first"),
        ("%m/%d/%Y %I:%M:%S.%f %p", "month_first"),
        ("%m-%d-%Y %H:%M:%S.%f", "month_first"),
    ],
)
def test_dates_with_a_day_above_12_say_their_order(tmp_path, form, unit):
    start = datetime(2024, 5, 21, 23, 59, 58, tzinfo=UTC)
    path = one_time(tmp_path, [(start + timedelta(seconds=t)).strftime(form) for t in T.tolist()])
    found = recognised(read_sheet(path))
    assert found.plan.time.unit == unit
    series = strapdown.open(path).imu_series()
    first = int(start.timestamp()) * 10**9
    assert np.abs(series.t_ns - first - np.rint(T * 1e9)).max() <= 1000  # microseconds in text


def test_impossible_times_are_damaged_rows(tmp_path):
    cells = [of_day(t, "{h:02d}:{m:02d}:{s:06.3f}") for t in T.tolist()]
    cells[200], cells[300] = "25:00:00.0", "12:61:00"
    recording = strapdown.open(one_time(tmp_path, cells), on_error="salvage")
    assert recording.report.lost_messages == 2
    assert len(recording.imu_series()) == ROWS - 2
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"time": cells, **dict(zip(names("gyro_{}_dps"), W.T, strict=True))})
    recording = import_frame(frame)
    assert recording.report.lost_messages == 2
    assert len(recording.imu_series()) == ROWS - 2


def test_dots_have_the_day_first_and_other_signs_are_asked_about(tmp_path):
    stamps = [f"01.05.2024 12:00:{t:06.3f}" for t in T.tolist()]
    series = strapdown.open(one_time(tmp_path, stamps)).imu_series()
    assert series.t_ns[0] == int(datetime(2024, 5, 1, 12, tzinfo=UTC).timestamp()) * 10**9
    path = one_time(tmp_path, [stamp.replace(".", "/", 2) for stamp in stamps])
    for unit, month in (("day_first", 5), ("month_first", 1)):
        plan = recognised(read_sheet(path), Hints({"time": unit})).plan
        day = 1 if unit == "day_first" else 5
        expected = int(datetime(2024, month, day, 12, tzinfo=UTC).timestamp()) * 10**9
        assert strapdown.open(path, columns=plan).imu_series().t_ns[0] == expected


def long_rows(kind):
    """Return a long table: the accelerometer is read 2 ms after the gyro."""
    rows = []
    for row in range(ROWS):
        for word, delay, vector in (("gyro", 0.0, W[row] * DEG), ("accel", 0.002, F[row] / G)):
            t = repr(round(T.tolist()[row] + delay, 6))
            if kind == "x y z":
                rows.append([t, word, *map(repr, vector.tolist())])
            for axis, value in zip(XYZ, vector.tolist(), strict=True):
                if kind == "axis":
                    rows.append([t, word, axis, repr(value)])
                elif kind == "name":
                    rows.append([t, f"{word}_{axis}", repr(value)])
    return rows


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        ("x y z", "time (s),sensor,x,y,z"),
        ("axis", "time (s),name,axis,value"),
        ("name", "time (s),signal,value"),
    ],
)
def test_long_tables_become_columns(tmp_path, kind, header):
    path = tmp_path / "long.csv"
    rows = [",".join(row) for row in long_rows(kind)]
    path.write_text("\n".join([header, *rows]) + "\n")
    hints = Hints({"angular_velocity": "deg/s", "specific_force": "g"})
    plan = recognised(read_sheet(path), hints).plan
    series = strapdown.open(path, columns=plan).imu_series()
    assert series.t_ns.tolist() == [round(t * 1e9) for t in T.tolist()]
    np.testing.assert_allclose(series.angular_velocity, W, atol=1e-12)
    earlier, later = F[:-1], F[1:]
    np.testing.assert_allclose(  # 8 of 10 ms from one reading to the next
        series.specific_force[1:], earlier + 0.8 * (later - earlier), atol=1e-9
    )
    assert np.isnan(series.specific_force[0]).all()
    path.write_text("\n".join([header, *rows[:100], "0.5,gyro,broken", *rows[100:]]) + "\n")
    with pytest.raises(FormatError, match=r"line 102: expected \d cells with numbers"):
        strapdown.open(path, columns=plan)
    salvaged = strapdown.open(path, columns=plan, on_error="salvage")
    assert salvaged.report.lost_messages == 1
    assert salvaged.imu_series() == series


@pytest.mark.parametrize(
    ("quantity", "column", "unit", "counts"),
    [
        ("specific_force", "acc", "g", 16384.0 / G),
        ("specific_force", "acc", "m/s^2", 2048.0 / G),
        ("angular_velocity", "gyro", "deg/s", 131.0 * DEG * 40.0),
        ("magnetic_field", "mag", "uT", 1e8),
    ],
)
def test_counts_are_no_unit_even_if_it_is_stated(tmp_path, quantity, column, unit, counts):
    vector = {"acc": F, "gyro": W, "mag": M}[column]
    path = tmp_path / "table.csv"
    path.write_text(text(["t (s)", *names(column + "_{}")], T, np.rint(vector * counts)))
    found = recognised(read_sheet(path), Hints({quantity: unit}))
    assert found.plan is None
    (question,) = found.questions
    assert f"{unit} is no {quantity.replace('_', ' ')}" in question
    scale = "0.15 uT" if column == "mag" else "1/"
    assert scale in question
    base = {"acc": "m/s^2", "gyro": "rad/s", "mag": "T"}[column]
    plan = recognised(read_sheet(path), Hints({quantity: f"1/{counts} {base}"})).plan
    plan.save(tmp_path / "plan.toml")
    series = strapdown.open(path, columns=tmp_path / "plan.toml").imu_series()
    np.testing.assert_allclose(getattr(series, quantity), vector, atol=0.51 / counts)


def test_counts_under_a_name_with_a_unit_are_asked_about(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text(["t (s)", *names("acc_{} (g)")], T, np.rint(16384.0 * F / G)))
    with pytest.raises(FormatError, match="g is no specific force"):
        strapdown.open(path)
    path.write_text(text(["t (s)", *names("acc_{} (mg)")], T, np.rint(1000.0 * F / G)))
    assert np.allclose(strapdown.open(path).imu_series().specific_force, F, atol=5e-3)


def test_scales_of_counts_are_units():
    assert factor("specific_force", "1/16384 g") == pytest.approx(G / 16384)
    assert factor("angular_velocity", "0.061 mdeg/s") == pytest.approx(0.061e-3 / DEG)
    assert factor("angular_velocity", "1 / 131 dps") == pytest.approx(1.0 / 131.0 / DEG)
    for wrong in ("1/0 g", "1/16384", "1/16384 lsb", "-1 g"):
        with pytest.raises(UnknownNameError, match="unit of specific_force"):
            factor("specific_force", wrong)


def test_one_of_p_q_r_alone_is_no_rate(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text(["t (s)", "p", "q", *names("acc_{}_g")], T, W[:, :2], F))
    found = recognised(read_sheet(path))
    assert found.plan.vectors.keys() == {"specific_force"}
