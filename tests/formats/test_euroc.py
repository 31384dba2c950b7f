"""EuRoC files and folders."""

from __future__ import annotations

import pytest

from strapdown.errors import FormatError, TruncatedError, UnsupportedError
from strapdown.formats.text import euroc
from strapdown.series import ImuSeries, Trajectory

# In the form of MH_01_easy: header and line ends of the originals.
IMU = (
    "#timestamp [ns],w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1],"
    "a_RS_S_x [m s^-2],a_RS_S_y [m s^-2],a_RS_S_z [m s^-2]\r\n"
    "1403636579758555392,-0.099134701513277898,0.14730578886832138,0.02722713633111154,"
    "8.1476917083333333,-0.37592158333333331,-2.4026292499999999\r\n"
    "1403636579763555584,-0.099134701513277898,0.14032447186034408,0.029321531433504733,"
    "8.033280791666666,-0.40861041666666664,-2.4026292499999999\r\n"
)
TRUTH = (
    "#timestamp, p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], "
    "q_RS_z [], v_RS_R_x [m s^-1], v_RS_R_y [m s^-1], v_RS_R_z [m s^-1], b_w_RS_S_x [rad s^-1], "
    "b_w_RS_S_y [rad s^-1], b_w_RS_S_z [rad s^-1], b_a_RS_S_x [m s^-2], b_a_RS_S_y [m s^-2], "
    "b_a_RS_S_z [m s^-2]\n"
    "1403636580838555648,4.688319,-1.786938,0.783338,0.534108,-0.153029,-0.827383,-0.082152,"
    "-0.027876,0.033207,0.800006,-0.003172,0.021267,0.078502,-0.025266,0.136696,0.075593\n"
)
MOCAP = (
    "#timestamp [ns], p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w [], q_RS_x [], q_RS_y [], "
    "q_RS_z []\n1520531124150444163,0.84,-0.21,1.24,0.5,-0.1,0.7,0.2\n"
)


@pytest.fixture
def sequence(tmp_path):
    for name, text in {"imu0": IMU, "imu1": IMU, "state_groundtruth_estimate0": TRUTH}.items():
        (tmp_path / "MH_01" / "mav0" / name).mkdir(parents=True)
        (tmp_path / "MH_01" / "mav0" / name / "data.csv").write_bytes(text.encode())
    return tmp_path / "MH_01"


def write(folder, text):
    path = folder / "data.csv"
    path.write_bytes(text.encode())
    return path


def test_an_imu_file_is_read(tmp_path):
    recording = euroc.read(write(tmp_path, IMU), salvage=False)
    assert recording.imu == {
        "imu0": ImuSeries(
            [1403636579758555392, 1403636579763555584],
            [
                [-0.099134701513277898, 0.14730578886832138, 0.02722713633111154],
                [-0.099134701513277898, 0.14032447186034408, 0.029321531433504733],
            ],
            [
                [8.1476917083333333, -0.37592158333333331, -2.4026292499999999],
                [8.033280791666666, -0.40861041666666664, -2.4026292499999999],
            ],
        )
    }


def test_the_quaternion_of_the_truth_is_turned_from_w_first_to_w_last(tmp_path):
    recording = euroc.read(write(tmp_path, TRUTH), salvage=False)
    assert recording.trajectories == {
        "ground_truth": Trajectory(
            [1403636580838555648],
            [[-0.153029, -0.827383, -0.082152, 0.534108]],
            position_world=[[4.688319, -1.786938, 0.783338]],
            velocity_world=[[-0.027876, 0.033207, 0.800006]],
        )
    }


def test_motion_capture_without_velocity_is_read(tmp_path):
    recording = euroc.read(write(tmp_path, MOCAP), salvage=False)
    assert recording.trajectories["ground_truth"] == Trajectory(
        [1520531124150444163], [[-0.1, 0.7, 0.2, 0.5]], position_world=[[0.84, -0.21, 1.24]]
    )


@pytest.mark.parametrize("inside", [".", "mav0"])
def test_a_folder_gives_every_imu_and_the_reference(sequence, inside):
    recording = euroc.read(sequence / inside, salvage=False)
    assert sorted(recording.imu) == ["imu0", "imu1"]
    assert len(recording.trajectories["ground_truth"]) == 1
    assert recording.report.messages == 5
    assert euroc.sniff(b"", sequence / inside)


def test_a_folder_without_such_files_is_refused(tmp_path):
    assert not euroc.sniff(b"", tmp_path)
    with pytest.raises(FormatError, match=r"expected mav0/imu0/data\.csv"):
        euroc.read(tmp_path, salvage=False)


def test_another_sensor_is_not_supported(tmp_path):
    path = write(
        tmp_path, "#timestamp [ns],filename\n1403636579763555584,1403636579763555584.png\n"
    )
    with pytest.raises(UnsupportedError, match="expected 7 columns"):
        euroc.read(path, salvage=False)


def test_damage_names_line_and_column_and_salvage_counts_it(tmp_path):
    path = write(tmp_path, IMU.replace("0.14032447186034408", "0.14O"))
    with pytest.raises(FormatError, match=r"line 3: column 'w_y': expected a number, got '0\.14O'"):
        euroc.read(path, salvage=False)
    report = euroc.read(path, salvage=True).report
    assert (report.messages, report.lost_messages) == (1, 1)


def test_a_row_that_is_cut_inside_is_truncated(tmp_path):
    path = write(tmp_path, IMU[:-25])
    with pytest.raises(TruncatedError, match="line 3: expected 7 columns, got 6"):
        euroc.read(path, salvage=False)
    assert len(euroc.read(path, salvage=True).imu["imu0"]) == 1


def test_a_row_that_only_lacks_its_line_end_is_read_and_doubted(tmp_path):
    recording = euroc.read(write(tmp_path, IMU[:-2]), salvage=False)
    assert len(recording.imu["imu0"]) == 2
    assert any("line 3 has no line end" in note for note in recording.report.notes)


def test_files_are_known_by_their_first_word(tmp_path):
    path = tmp_path / "data.csv"
    assert euroc.sniff(IMU.encode()[:50], path)
    assert euroc.sniff(TRUTH.encode(), path)
    assert not euroc.sniff(b"t_ns,a\n", path)
