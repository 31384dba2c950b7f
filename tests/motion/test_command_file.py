from __future__ import annotations

import math

import numpy as np
import pytest

from strapdown.errors import FormatError, ShapeError, ValueRangeError
from strapdown.motion.command_file import Command, CommandType, InitialState, read, sniff

# Headings and rows as gnss-ins-sim has them in demo_motion_def_files.
FIRST = (
    "ini lat (deg),ini lon (deg),ini alt (m),ini vx_body (m/s),ini vy_body (m/s),"
    "ini vz_body (m/s),ini yaw (deg),ini pitch (deg),ini roll (deg)"
)
SECOND = (
    "command type,yaw (deg),pitch (deg),roll (deg),vx_body (m/s),vy_body (m/s),vz_body (m/s),"
    "command duration (s),GPS visibility"
)
INITIAL = "32,120,5.5,1,2,3,90,-30,45"


@pytest.fixture
def written(tmp_path):
    def write(*rows, initial=INITIAL, first=FIRST, second=SECOND, end="\n", encoding="utf-8"):
        path = tmp_path / "motion.csv"
        lines = [line for line in (first, initial, second, *rows) if line is not None]
        path.write_bytes((end.join(lines) + end).encode(encoding))
        return path

    return write


def test_a_file_is_read_in_radians_and_in_the_order_roll_pitch_yaw(written):
    initial, commands = read(written("1,10,20,30,4,5,6,200,1", "5,-15,0,0,7,0,0,4,0"))
    assert initial == InitialState(
        latitude=math.radians(32),
        longitude=math.radians(120),
        height=5.5,
        velocity=(1.0, 2.0, 3.0),
        roll_pitch_yaw=(math.radians(45), math.radians(-30), math.radians(90)),
    )
    assert commands[0] == Command(
        CommandType.RATES,
        (math.radians(30), math.radians(20), math.radians(10)),
        (4.0, 5.0, 6.0),
        200.0,
        gps_visible=True,
    )
    assert commands[1].type is CommandType.CHANGE_ATTITUDE_TARGET_VELOCITY
    assert commands[1].gps_visible is False
    assert len(commands) == 2


def test_empty_cells_are_zeros(written):
    initial, commands = read(written("2,,,,,,,10,", initial="32,120,,,,,,,"))
    assert initial == InitialState(math.radians(32), math.radians(120))
    assert commands == [
        Command(CommandType.TARGET, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 10.0, gps_visible=False)
    ]


@pytest.mark.parametrize(
    "rows",
    [
        ["1.000000,0.000000,0.0,0.0,0.0,0.0,0.0,90.000000,1.000000"],
        [' 1 , 0,0,0,0,0,0,90,"1"'],
        ["1,0,0,0,0,0,0,90,1,,,"],
        ["", "1,0,0,0,0,0,0,90,1", ",,,,,,,,", ""],
    ],
)
def test_what_a_spreadsheet_makes_of_a_file_is_read(written, rows):
    for end, encoding in (("\n", "utf-8"), ("\r\n", "utf-8-sig")):
        _, commands = read(written(*rows, end=end, encoding=encoding))
        zero = (0.0, 0.0, 0.0)
        assert commands == [Command(CommandType.RATES, zero, zero, 90.0)]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0,0,0,0,0,0,90", "line 5: expected 9 columns .*gps_visible.*, got 8"),
        ("1,0,0,0,0,0,0,90,1,7", "line 5: expected 9 columns .*, got 10"),
        ("1,0,abc,0,0,0,0,90,1", "line 5: column 'pitch': expected a finite number, got 'abc'"),
        ("1,0,0,0,nan,0,0,90,1", "line 5: column 'vx': expected a finite number, got 'nan'"),
        ("1,0,0,0,0,0,0,inf,1", "line 5: column 'duration': expected a finite number"),
        ("1,1_0,0,0,0,0,0,9,1", "line 5: column 'yaw': expected a finite number, got '1_0'"),
        ("1,0,0,0,0,0,0,-2,1", "line 5: expected a duration from 0 to 9.22e.09 s, got -2"),
        ("6,0,0,0,0,0,0,9,1", "line 5: expected type 1, 2, 3, 4 or 5, got 6"),
        ("1.5,0,0,0,0,0,0,9,1", "line 5: expected type 1, 2, 3, 4 or 5, got 1.5"),
        (",0,0,0,0,0,0,9,1", "line 5: expected type 1, 2, 3, 4 or 5, got 0"),
    ],
)
def test_an_error_names_file_line_and_column(written, row, message):
    path = written("1,0,0,0,0,0,0,1,1", row)
    with pytest.raises(FormatError, match=message) as caught:
        read(path)
    assert caught.value.path == path
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"first": None}, "expected a heading such as 'lat,lon,.*, got '32,120.* in line 1"),
        ({"second": None}, "expected a heading such as 'type,yaw,.*, got '1,0,.* in line 3"),
        ({"initial": None}, "line 2: expected 9 columns|line 2: column 'lat'"),
        ({"initial": "95,0,0,0,0,0,0,0,0"}, "line 2: expected lat in -90 ... 90 deg, got 95"),
        ({"initial": "32,x,0,0,0,0,0,0,0"}, "line 2: column 'lon'"),
    ],
)
def test_a_missing_or_wrong_beginning_is_named(written, parts, message):
    with pytest.raises(FormatError, match=message):
        read(written("1,0,0,0,0,0,0,1,1", **parts))


def test_a_file_without_commands_is_refused(written):
    with pytest.raises(FormatError, match="expected commands below the second heading, got none"):
        read(written())


def test_a_file_that_ends_early_is_refused(tmp_path):
    for text in ("", FIRST, f"{FIRST}\n{INITIAL}\n"):
        path = tmp_path / "short.csv"
        path.write_text(text)
        with pytest.raises(FormatError, match=r"expected a heading .* got the end of the file"):
            read(path)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_bytes(f"{FIRST}\n".encode() + b"\xff\xfe\n")
    with pytest.raises(FormatError, match="expected CSV in UTF-8"):
        read(path)


def test_a_missing_file_is_what_the_system_says(tmp_path):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "nowhere.csv")


def test_a_motion_command_file_is_recognised(written):
    for options in ({}, {"end": "\r\n"}, {"encoding": "utf-8-sig"}, {"initial": "32,120,,,,,,,"}):
        head = written("1,0,0,0,0,0,0,1,1", **options).read_bytes()
        assert sniff(head)
        assert sniff(head[: len(FIRST) + len(INITIAL) + 30])


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\0\0\0\0",
        b"\x89MCAP0\r\n",
        f"{FIRST}\n{INITIAL}".encode(),
        b"# timestamp tx ty tz qx qy qz qw\n1 2 3 4 5 6 7 8\n2 2 3 4 5 6 7 8\n",
        b"t,a,b,c,d,e,f,g,h\n1,2,3,4,5,6,7,8,9\n2,2,3,4,5,6,7,8,9\n",
        b"#t [ns],w_x,w_y,w_z,a_x,a_y,a_z\n1,2,3,4,5,6,7\n2,2,3,4,5,6,7\n",
        b"one,two\nthree,four\nfive,six\n",
    ],
)
def test_other_files_are_not_recognised(head):
    assert not sniff(head)


def test_rows_of_numbers_make_the_same_as_a_file(written):
    initial, commands = read(written("3,10,20,30,4,5,6,7,1"))
    assert InitialState.from_row([32, 120, 5.5, 1, 2, 3, 90, -30, 45]) == initial
    assert Command.from_row(np.array([3, 10, 20, 30, 4, 5, 6, 7, 1])) == commands[0]


@pytest.mark.parametrize("row", [[1.0] * 8, [[1.0] * 9]])
def test_a_row_has_nine_numbers(row):
    with pytest.raises(ShapeError, match="row"):
        Command.from_row(row)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (lambda: Command(7, (0, 0, 0), (0, 0, 0), 1.0), "type"),
        (lambda: Command(1, (0, 0, math.nan), (0, 0, 0), 1.0), "roll_pitch_yaw"),
        (lambda: Command(1, (0, 0, 0), (0, math.inf, 0), 1.0), "velocity"),
        (lambda: Command(1, (0, 0, 0), (0, 0, 0), math.nan), "duration"),
        (lambda: Command(1, (0, 0, 0), (0, 0, 0), 1e10), "duration"),
        (lambda: InitialState(latitude=2.0), "lat"),
        (lambda: InitialState(height=math.nan), "alt"),
    ],
)
def test_what_cannot_be_is_refused(command, message):
    with pytest.raises(ValueRangeError, match=message):
        command()
