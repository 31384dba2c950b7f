"""TUM trajectories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.errors import FormatError, TruncatedError
from strapdown.formats.text import tum
from strapdown.series import Trajectory

# The first rows of a ground truth as the RGB-D benchmark documents them.
BENCHMARK = """\
# ground truth trajectory
# file: 'rgbd_dataset_freiburg1_desk.bag'
# timestamp tx ty tz qx qy qz qw
1305031449.7996 1.2334 -0.0113 1.6941 0.7907 0.4393 -0.1770 -0.3879
1305031449.8096\t1.2335 -0.0112 1.6940   0.7907 0.4393 -0.1770 -0.3879
"""


def track(rows: int, **fields) -> Trajectory:
    rng = np.random.default_rng(3)
    q = rng.standard_normal((rows, 4))
    fields = {"position_world": rng.standard_normal((rows, 3)), **fields}
    return Trajectory(np.arange(rows) * 5_000_000 + 1_700_000_000_000_000_001, q, **fields)


def test_a_file_of_the_benchmark_is_read_in_its_order_and_to_the_nanosecond(tmp_path):
    path = tmp_path / "groundtruth.txt"
    path.write_text(BENCHMARK)
    recording = tum.read(path, salvage=False)
    assert recording.trajectories == {
        "trajectory": Trajectory(
            [1305031449799600000, 1305031449809600000],
            np.tile([0.7907, 0.4393, -0.1770, -0.3879], (2, 1)),
            position_world=[[1.2334, -0.0113, 1.6941], [1.2335, -0.0112, 1.6940]],
        )
    }
    assert "FLU, ENU assumed" in recording.report.notes[0]


@pytest.mark.parametrize("fields", [{}, {"position_world": None}, {"body": "FRD", "world": "NED"}])
def test_a_trajectory_reads_back_equal_and_writes_the_same_bytes_again(fields, tmp_path):
    trajectory = track(100, **fields)
    assert tum.write(tmp_path / "a.tum", trajectory) == []
    back = tum.read(tmp_path / "a.tum", salvage=False).trajectories["trajectory"]
    assert back == trajectory
    tum.write(tmp_path / "b.tum", back)
    assert (tmp_path / "a.tum").read_bytes() == (tmp_path / "b.tum").read_bytes()


@given(stamp=st.integers(-(2**63), 2**63 - 1))
def test_every_stamp_survives_as_nine_decimals(stamp, tmp_path_factory):
    path = tmp_path_factory.mktemp("tum") / "a.tum"
    tum.write(path, Trajectory([stamp], [[0.0, 0.0, 0.0, 1.0]]))
    assert tum.read(path, salvage=False).trajectories["trajectory"].t_ns.tolist() == [stamp]


def test_the_text_of_a_file_is_as_documented(tmp_path):
    tum.write(
        tmp_path / "a.tum", Trajectory([1_000_000_002, -5], np.tile([0, 0.6, 0, 0.8], (2, 1)))
    )
    assert (tmp_path / "a.tum").read_text() == (
        "# strapdown body=FLU world=ENU position=none\n"
        "# time x y z qx qy qz qw\n"
        "1.000000002 0.0 0.0 0.0 0.0 0.6 0.0 0.8\n"
        "-0.000000005 0.0 0.0 0.0 0.0 0.6 0.0 0.8\n"
    )


def test_what_the_file_cannot_hold_is_left_out_and_named(tmp_path):
    trajectory = track(10, velocity_world=np.zeros((10, 3)), moving=np.ones(10, np.bool_))
    q = trajectory.q_world_from_body.copy()
    position = trajectory.position_world.copy()
    q[3, 2], position[7, 0] = np.nan, np.inf
    trajectory = trajectory.replace(q_world_from_body=q, position_world=position)
    assert tum.write(tmp_path / "a.tum", trajectory) == [
        "velocity_world of 10 samples",
        "moving of 10 samples",
        "2 of 10 rows, whose pose is not known",
    ]
    back = tum.read(tmp_path / "a.tum", salvage=False).trajectories["trajectory"]
    assert back.t_ns.tolist() == np.delete(trajectory.t_ns, [3, 7]).tolist()


def test_an_error_names_line_and_column_and_salvage_counts(tmp_path):
    path = tmp_path / "a.tum"
    path.write_text(BENCHMARK.replace("-0.0112", "-0.01.12"))
    with pytest.raises(
        FormatError, match=r"line 5: column 'y': expected a number, got '-0\.01\.12'"
    ):
        tum.read(path, salvage=False)
    report = tum.read(path, salvage=True).report
    assert (report.messages, report.lost_messages) == (1, 1)
    path.write_text(BENCHMARK.replace(" 1.6940", ""))
    with pytest.raises(FormatError, match="line 5: expected 8 columns, got 7"):
        tum.read(path, salvage=False)


def test_a_file_that_is_cut_anywhere_gives_exactly_the_rows_before_the_cut(stride, tmp_path):
    path = tmp_path / "a.tum"
    trajectory = track(4)
    tum.write(path, trajectory)
    text = path.read_bytes()
    start = text.index(b"170000")
    for cut in range(start, len(text), stride):
        path.write_bytes(text[:cut])
        rows = text[start:cut].count(b"\n")
        if text[cut - 1 : cut] == b"\n":
            back = tum.read(path, salvage=False)
            assert back.trajectories["trajectory"] == trajectory[:rows]
            continue
        with pytest.raises(TruncatedError):
            tum.read(path, salvage=False)
        if rows:
            salvaged = tum.read(path, salvage=True)
            assert salvaged.trajectories["trajectory"] == trajectory[:rows]
            assert salvaged.report.lost_messages == 1


@pytest.mark.parametrize(
    ("head", "is_tum"),
    [
        (BENCHMARK, True),
        ("1 2 3 4 5 6 7 8\n", True),
        ("1 2 3 4 5 6 7\n", False),
        ("1,2,3,4,5,6,7,8\n", False),
        ("time x y z qx qy qz qw\n", False),
        ("1 2 3 4 5 6 7 8\0", False),
        ("", False),
    ],
)
def test_a_tum_file_is_known_by_eight_numbers_in_its_first_row(head, is_tum):
    assert tum.sniff(head.encode(), Path("x")) is is_tum
