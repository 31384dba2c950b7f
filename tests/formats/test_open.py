"""Entry points for reading and writing recordings."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import Writer as Writer2

import strapdown
import strapdown.formats as files
from strapdown.errors import FormatError, TruncatedError, UnknownNameError
from strapdown.formats import OnError, ReadReport, Recording
from strapdown.series import ImuSeries, SensorIdentity, Trajectory
from strapdown.units import RAD_PER_DEG


def hand(**parts):
    return Recording(Path("by hand"), ReadReport("hand"), **parts)


@pytest.fixture
def bag_folder(tmp_path, ros2, imu_numbers):
    with Writer2(tmp_path / "bag", version=9) as writer:
        connection = writer.add_connection("/imu", "sensor_msgs/msg/Imu", typestore=ros2.store)
        raw = ros2.serialize(ros2.imu(1, imu_numbers[1][0]))
        writer.write(connection, 1, raw)
    return tmp_path / "bag"


@pytest.fixture
def a_file_of(tmp_path, recording, ros1, imu_numbers, bag_folder):
    """Return a factory of files of a format, under a name without ending."""
    path = tmp_path / "data"

    def make(kind):
        if kind in {"mcap", "csv", "tum"}:
            files.write(tmp_path / f"a.{kind}", recording)
            (tmp_path / f"a.{kind}").rename(path)
        elif kind == "rosbag1":
            with Writer1(path) as writer:
                imu = writer.add_connection("/imu", "sensor_msgs/msg/Imu", typestore=ros1.store)
                writer.write(imu, 1, ros1.serialize(ros1.imu(1, imu_numbers[1][0])))
        elif kind == "rosbag2":
            shutil.copy(bag_folder / "bag.db3", path)
        elif kind == "euroc":
            path.write_text("#timestamp [ns],w_x,w_y,w_z,a_x,a_y,a_z\n1,2,3,4,5,6,7\n")
        elif kind == "npz":
            t_ns, three = np.arange(2), np.ones((2, 3))
            truth = np.tile([0.0, 0, 0, 1, 0, 0, 0], (2, 1))
            with path.open("wb") as file:
                np.savez(file, t_ns=t_ns, gyr=three, acc=three, gt_t_ns=t_ns, gt=truth)
        return path

    return make


KINDS = ["mcap", "rosbag1", "rosbag2", "csv", "tum", "euroc", "npz"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_format_is_recognised_by_content(a_file_of, kind):
    back = files.open(a_file_of(kind))
    assert back.report.format == kind
    assert back.report.messages > 0
    assert back.path.name == "data"


def test_a_ulog_is_recognised_by_content(data_dir, tmp_path):
    source = min((data_dir / "px4" / "ulog").glob("*.ulg"))
    (tmp_path / "data").symlink_to(source)
    assert files.open(tmp_path / "data", on_error="salvage").report.format == "ulog"


def test_a_path_may_be_text_and_the_package_offers_the_doors(a_file_of):
    assert strapdown.open(str(a_file_of("csv"))).imu
    assert strapdown.write is files.write


def test_a_folder_of_a_bag_and_one_of_euroc_are_recognised(bag_folder, tmp_path):
    assert files.open(bag_folder).report.format == "rosbag2"
    imu = tmp_path / "euroc" / "mav0" / "imu0"
    imu.mkdir(parents=True)
    (imu / "data.csv").write_text("#timestamp [ns],w_x,w_y,w_z,a_x,a_y,a_z\n1,2,3,4,5,6,7\n")
    assert files.open(tmp_path / "euroc").report.format == "euroc"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "an empty file"),
        (b"\0" * 100, "begins with"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "begins with"),
        (b"hello world\n", "begins with"),
        (bytes(range(256)), "begins with"),
    ],
)
@pytest.mark.parametrize("on_error", list(OnError))
def test_an_unknown_file_gives_one_clear_error(tmp_path, content, what, on_error):
    path = tmp_path / "a.mcap"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=what) as caught:
        files.open(path, on_error=on_error)
    assert str(caught.value).startswith(str(path))
    assert "MCAP" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_first_bytes_of_mcap_alone_are_a_truncated_file(tmp_path):
    (tmp_path / "a").write_bytes(b"\x89MCA")
    with pytest.raises(TruncatedError):
        files.open(tmp_path / "a")


def test_a_folder_without_a_recording_gives_one_clear_error(tmp_path):
    with pytest.raises(FormatError, match="folder"):
        files.open(tmp_path)


def test_a_missing_file_is_the_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.open(tmp_path / "nothing.mcap")


def test_another_way_to_treat_damage_is_refused_by_name(a_file_of):
    with pytest.raises(UnknownNameError, match="salvage"):
        files.open(a_file_of("csv"), on_error="ignore")


def test_a_column_map_reads_a_foreign_csv(tmp_path):
    path = tmp_path / "phone.csv"
    path.write_text("Time (s),wx,wy,wz\n1.5,180,0,0\n")
    names = {f"angular_velocity_{axis}": (f"w{axis}", RAD_PER_DEG) for axis in "xyz"}
    back = files.open(path, columns={"t_ns": ("Time (s)", 1e9), **names})
    assert back.imu["imu"].t_ns.tolist() == [1_500_000_000]
    assert back.imu["imu"].angular_velocity[0, 0] == np.pi


@pytest.mark.parametrize("path", [None, 3, b"a.csv", ["a.csv"]])
def test_what_is_no_path_is_refused_with_what_to_pass(path):
    for use in (files.open, lambda path: files.write(path, hand()), files.check_output):
        with pytest.raises(TypeError, match="expected the path of a file or folder") as caught:
            use(path)
        assert f"got {type(path).__name__}; pass the path first" in str(caught.value)


def test_an_open_file_is_refused_with_what_to_pass(tmp_path):
    with (
        (tmp_path / "a.csv").open("wb") as file,
        pytest.raises(TypeError, match=r"got BufferedWriter; .* for an open file its name"),
    ):
        files.open(file)


@pytest.mark.parametrize(
    ("columns", "got"),
    [
        ([("t_ns", "Time (s)")], "expected columns as a mapping, got list"),
        ({"t_ns": "Time (s)"}, "got 'Time \\(s\\)'"),
        ({"t_ns": ("Time (s)",)}, "got \\('Time"),
        ({"t_ns": (1e9, "Time (s)")}, "got \\(1000000000"),
    ],
)
def test_a_column_map_of_another_form_is_refused_with_an_example(tmp_path, columns, got):
    path = tmp_path / "phone.csv"
    path.write_text("Time (s),wx,wy,wz\n1.5,180,0,0\n")
    with pytest.raises(TypeError, match=got) as caught:
        files.open(path, columns=columns)
    assert 'write {"t_ns": ("Time (s)", 1e9)}' in str(caught.value)


# Writing


class DataFrame:
    """A table of another library."""


@pytest.mark.parametrize("source", [DataFrame(), None, {}, [], np.zeros((3, 6)), "run.mcap"])
def test_a_source_that_is_no_recording_is_refused_with_what_to_build(source, tmp_path):
    expected = "expected a Recording, ImuSeries, Trajectory or Increments to write, got "
    with pytest.raises(TypeError, match=expected + type(source).__name__) as caught:
        strapdown.write(tmp_path / "a.csv", source)
    assert "ImuSeries(t_ns, angular_velocity, specific_force)" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_recording_of_something_else_is_refused_with_what_to_pass(recording, tmp_path):
    series = recording.imu["imu/data"]
    with pytest.raises(TypeError, match=r'got ImuSeries; pass imu=\{"topic": ImuSeries'):
        files.write(tmp_path / "a.mcap", hand(imu=series))
    with pytest.raises(TypeError, match=r"expected trajectories\['a'\] .* as Trajectory, got Imu"):
        files.write(tmp_path / "a.mcap", hand(trajectories={"a": series}))
    assert list(tmp_path.iterdir()) == []


def test_an_ending_without_a_writer_is_refused_by_name(recording, tmp_path):
    with pytest.raises(UnknownNameError, match="mcap"):
        files.write(tmp_path / "a.map", recording)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["mcap", "csv", "tum"])
def test_a_file_that_exists_is_replaced_only_by_force(recording, tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="force"):
        files.write(path, recording)
    assert path.read_text() == "precious"
    files.write(path, recording, force=True)
    assert files.open(path).report.messages > 0
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ["mcap", "csv", "tum"])
def test_a_folder_that_does_not_exist_is_the_error_of_the_system(recording, tmp_path, ending):
    with pytest.raises(FileNotFoundError):
        files.write(tmp_path / "no" / f"a.{ending}", recording)


def test_csv_takes_the_longest_imu_with_the_track_that_shares_its_stamps(tmp_path, recording):
    short = recording.imu["imu/data"][:5]
    report = files.write(
        tmp_path / "a.csv",
        hand(
            imu={"short": short, "long": recording.imu["imu/data"]},
            trajectories={
                "shifted": recording.trajectories["truth"].replace(
                    t_ns=recording.trajectories["truth"].t_ns + 1
                ),
                "fits": recording.trajectories["attitude"],
            },
            increments=recording.increments,
        ),
    )
    assert report.messages == 60
    left = [line for line in report.lost if " rows of " in line]
    assert left == [
        "short: 5 rows of ImuSeries",
        "shifted: 60 rows of Trajectory",
        "vehicle_imu: 60 rows of Increments",
    ]
    back = files.open(tmp_path / "a.csv")
    given = recording.imu["imu/data"]
    assert np.array_equal(back.imu["imu"].specific_force, given.specific_force)
    track = back.trajectories["trajectory"]
    assert np.array_equal(track.q_world_from_body, given.q_world_from_body)


def test_csv_takes_no_track_in_other_frames_or_with_another_attitude(tmp_path, recording):
    imu = recording.imu["imu/data"]
    attitude = recording.trajectories["attitude"]
    for number, other in enumerate(
        (
            attitude.in_frames(world="NED"),
            attitude.replace(q_world_from_body=-imu.q_world_from_body),
        )
    ):
        path = tmp_path / f"{number}.csv"
        report = files.write(path, hand(imu={"imu": imu}, trajectories={"other": other}))
        assert "other: 60 rows of Trajectory" in report.lost


def test_csv_takes_a_track_or_increments_where_there_is_no_imu(tmp_path, recording):
    files.write(tmp_path / "a.csv", hand(trajectories=recording.trajectories))
    assert not files.open(tmp_path / "a.csv").imu
    report = files.write(tmp_path / "b.csv", hand(increments=recording.increments))
    assert report.lost == ()
    increments = recording.increments["vehicle_imu"]
    again = files.open(tmp_path / "b.csv").increments["vehicle_imu"]
    assert again == increments.replace(sensor=SensorIdentity())


def test_tum_takes_the_longest_track_and_names_the_rest(tmp_path, recording):
    report = files.write(tmp_path / "a.tum", recording)
    assert report.format == "tum"
    assert report.messages == 60
    assert "imu/data: 60 rows of ImuSeries" in report.lost
    assert "attitude: 60 rows of Trajectory" in report.lost


@pytest.mark.parametrize("ending", ["csv", "tum"])
def test_an_empty_recording_cannot_be_written_as_a_table(tmp_path, ending):
    with pytest.raises(FormatError):
        files.write(tmp_path / f"a.{ending}", hand())
    assert list(tmp_path.iterdir()) == []


def test_an_empty_series_is_written_and_leaves_no_topic(tmp_path):
    empty = ImuSeries([], np.empty((0, 3)), np.empty((0, 3)))
    track = Trajectory([], np.empty((0, 4)))
    report = files.write(tmp_path / "a.mcap", hand(imu={"imu": empty}, trajectories={"t": track}))
    assert report.messages == 0
    assert files.open(tmp_path / "a.mcap").imu == {}
