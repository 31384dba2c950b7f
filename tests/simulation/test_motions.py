"""Motions by name and from files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import strapdown.formats as files
from strapdown.errors import (
    FormatError,
    ShapeError,
    TimeOrderError,
    UnknownNameError,
    ValueRangeError,
)
from strapdown.formats import Recording
from strapdown.motion import MOTIONS, FlatEarth, Mount, Mounted, PoseSpline, SplineWarning, Wgs84
from strapdown.series import ImuSeries
from strapdown.simulation import Ride, find_motion
from strapdown.units import STANDARD_GRAVITY

WORLDS = Path(__file__).parents[1] / "motion" / "worlds"
START_NS = 1_403_636_580_838_555_648
WANDER = Mounted(MOTIONS["wander"])
T_S = np.arange(0.0, 10.0, 0.01)
INSIDE_S = np.linspace(1.0, 8.0, 57)


@pytest.fixture(scope="module")
def track():
    return WANDER.truth(T_S, start_ns=START_NS)


@pytest.fixture(scope="module")
def recorded(track):
    rate, force = WANDER.inputs(T_S)
    return ImuSeries(track.t_ns, rate, force)


def written(path, **series):
    files.write(path, Recording(**series))
    return path


def as_euroc(folder, track):
    place = folder / "mav0" / "state_groundtruth_estimate0"
    place.mkdir(parents=True)
    x, y, z, w = track.q_world_from_body.T
    columns = [*track.position_world.T, w, x, y, z, *track.velocity_world.T, *np.zeros((6, len(x)))]
    rows = [
        f"{t},{','.join(map(repr, map(float, row)))}"
        for t, row in zip(track.t_ns, np.transpose(columns), strict=True)
    ]
    names = "p_RS_R_x,p_RS_R_y,p_RS_R_z,q_RS_w,q_RS_x,q_RS_y,q_RS_z,v_RS_R_x,v_RS_R_y,v_RS_R_z"
    names += ",b_w_RS_S_x,b_w_RS_S_y,b_w_RS_S_z,b_a_RS_S_x,b_a_RS_S_y,b_a_RS_S_z"
    (place / "data.csv").write_text("\n".join([f"#timestamp,{names}", *rows]) + "\n")
    return folder


# -- by name ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MOTIONS)
def test_every_name_is_a_ride_of_its_length_or_of_a_minute(name):
    ride = find_motion(name)
    end_s = MOTIONS[name].end_s
    assert ride.duration_s == (end_s if math.isfinite(end_s) else 60.0)
    assert (ride.name, ride.start_s, ride.start_ns, ride.notes) == (name, 0.0, 0, ())
    t_s = [0.0, 0.7]
    expected = Mounted(MOTIONS[name]).inputs(t_s)
    assert np.array_equal(ride.source.inputs(t_s), expected)


def test_a_ride_begins_where_its_source_does_but_not_before_0():
    pose = WANDER.truth(T_S)
    poses = pose.position_world, pose.q_world_from_body
    late = Mounted(PoseSpline.from_poses(T_S + 2.0, *poses, mode="interpolate"))
    early = Mounted(PoseSpline.from_poses(T_S - 2.0, *poses, mode="interpolate"))
    rides = [Ride.of(source, "poses") for source in (late, early, WANDER)]
    assert [ride.start_s for ride in rides] == [2.0, 0.0, 0.0]
    assert [ride.duration_s for ride in rides] == pytest.approx([9.99, 7.99, 60.0])


def test_mount_and_earth_are_those_that_are_given():
    mount = Mount(lever_arm=(0.3, 0.0, 0.0))
    _, force = find_motion("spin", mount=mount).source.inputs([0.0])
    assert force[0] == pytest.approx([-0.3 * (2.0 * math.pi) ** 2, 0.0, STANDARD_GRAVITY])
    equator = Wgs84(0.0, 0.0, 0.0)
    rate, force = find_motion("static", earth=equator).source.inputs([0.0])
    assert rate[0] == pytest.approx([0.0, 7.292115e-5, 0.0], rel=1e-6)
    assert force[0, 2] == pytest.approx(9.7803253359, abs=1e-9)  # normal gravity at the equator


def test_an_unknown_name_gives_the_nearest():
    with pytest.raises(UnknownNameError, match=r"no motion or file 'cirle'.* 'circle'"):
        find_motion("cirle")


@pytest.mark.parametrize("duration_s", [0.0, -1.0, math.nan, math.inf])
def test_a_duration_is_positive(duration_s):
    with pytest.raises(ValueRangeError, match=r"positive duration_s, got"):
        find_motion("circle", duration_s=duration_s)


def test_a_duration_is_no_longer_than_the_motion():
    assert find_motion("chirp", duration_s=60.0).duration_s == 60.0
    with pytest.raises(ValueRangeError, match=r"at most 60 s, the length of chirp, got 60\.1 s"):
        find_motion("chirp", duration_s=60.1)
    assert find_motion("wander", duration_s=1e5).duration_s == 1e5


# -- trajectories ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["tum", "csv", "mcap", "euroc"])
def test_a_trajectory_gives_the_motion_that_it_was_taken_of(tmp_path, track, kind):
    if kind == "euroc":
        path = as_euroc(tmp_path, track)
    else:
        path = written(tmp_path / f"a.{kind}", trajectories={"pose": track})
    ride = find_motion(path, poses="interpolate")
    assert ride.start_ns == START_NS
    assert ride.duration_s == pytest.approx(T_S[-1], abs=1e-6)
    rate, force = ride.source.inputs(INSIDE_S)
    true_rate, true_force = WANDER.inputs(INSIDE_S)
    assert np.abs(rate - true_rate).max() < 1e-4
    assert np.abs(force - true_force).max() < 0.02  # TUM and EuRoC writers keep 1 us
    assert "outside 0.05 to" in ride.notes[0]


@pytest.mark.parametrize("noise", [{"pose_noise": (1e-3, 1e-3)}, {"knots_per_s": 7.0}])
def test_noisy_poses_are_smoothed(tmp_path, track, noise):
    rng = np.random.default_rng(3)
    noisy = track.position_world + rng.normal(0.0, 1e-3, (len(track), 3))
    path = written(tmp_path / "a.tum", trajectories={"pose": track.replace(position_world=noisy)})
    _, force = find_motion(path, poses="smooth", **noise).source.inputs(INSIDE_S)
    _, true_force = WANDER.inputs(INSIDE_S)
    assert np.sqrt(np.mean((force - true_force) ** 2)) < 0.3
    _, rough = find_motion(path, poses="interpolate").source.inputs(INSIDE_S)
    assert np.sqrt(np.mean((rough - true_force) ** 2)) > 10.0


def test_waypoints_begin_and_end_at_rest(tmp_path):
    path = tmp_path / "way.tum"
    path.write_text("0 0 0 0 0 0 0 1\n5 1 0 0 0 0 0.2588190 0.9659258\n9 1 2 0 0 0 0.5 0.8660254\n")
    ride = find_motion(path, poses="waypoints")
    rate, force = ride.source.inputs([0.0, 9.0])
    assert np.abs(rate).max() < 1e-9
    assert force == pytest.approx(np.tile([0.0, 0.0, STANDARD_GRAVITY], (2, 1)), abs=1e-9)
    assert ride.notes == ()


def test_poses_far_apart_are_warned_about(tmp_path):
    path = tmp_path / "way.tum"
    path.write_text("0 0 0 0 0 0 0 1\n5 1 0 0 0 0 1 0\n")
    with pytest.warns(SplineWarning, match=r"turns by 180\.0 deg"):
        find_motion(path, poses="waypoints")


def test_rows_without_a_pose_are_left_out_and_counted(tmp_path, track):
    holes = track.position_world.copy()
    holes[500:503] = np.nan
    path = written(tmp_path / "a.csv", trajectories={"pose": track.replace(position_world=holes)})
    ride = find_motion(path, poses="interpolate")
    assert "3 of 1000 rows have no pose and are left out" in ride.notes
    _, force = ride.source.inputs(INSIDE_S)
    assert force == pytest.approx(WANDER.inputs(INSIDE_S)[1], abs=0.02)


def test_the_topic_chooses_among_tracks_and_the_reference_is_the_default(tmp_path, track):
    other = track.replace(position_world=2.0 * track.position_world)
    tracks = {"odometry": other, "truth/pose": track[:800]}
    path = written(tmp_path / "a.mcap", trajectories=tracks)
    ride = find_motion(path, poses="interpolate")
    assert ride.duration_s == pytest.approx(7.99)
    moved = find_motion(path, poses="interpolate", topic="odometry").source.truth([4.0])
    twice = 2.0 * ride.source.truth([4.0]).position_world
    assert moved.position_world == pytest.approx(twice, abs=1e-6)


def test_mount_and_earth_hold_for_a_trajectory_too(tmp_path, track):
    path = written(tmp_path / "a.csv", trajectories={"pose": track})
    away = Mount(lever_arm=(0.0, 0.5, 0.0))
    moon = FlatEarth(gravity=1.62)
    _, force = find_motion(path, poses="interpolate", mount=away, earth=moon).source.inputs([4.0])
    _, expected = Mounted(MOTIONS["wander"], away, moon).inputs([4.0])
    assert force == pytest.approx(expected, abs=1e-3)


# -- replay ----------------------------------------------------------------------------------


def test_a_recorded_imu_is_replayed(tmp_path, recorded):
    path = written(tmp_path / "imu.csv", imu={"imu": recorded})
    ride = find_motion(path)
    assert not ride.source.has_pose
    assert ride.start_ns == START_NS
    assert ride.duration_s == pytest.approx(9.99)
    _, force = ride.source.inputs([2.0, 3.0])
    assert force == pytest.approx(recorded.specific_force[[200, 300]], abs=1e-6)
    assert ride.notes == ("a replay has no content above 50 Hz, and its pose is not known",)


def test_the_topic_chooses_the_imu_of_a_recording_with_poses(tmp_path, track, recorded):
    both = {"imu": {"imu/data": recorded}, "trajectories": {"truth/pose": track}}
    path = written(tmp_path / "a.mcap", **both)
    assert not find_motion(path, topic="imu/data").source.has_pose
    assert find_motion(path, topic="truth/pose", poses="interpolate").source.has_pose
    with pytest.raises(UnknownNameError, match=r"no topic 'imu/dta'.*'imu/data'"):
        find_motion(path, topic="imu/dta")


# -- motion commands -------------------------------------------------------------------------

COMMANDS = """\
lat (deg),lon (deg),alt (m),vx,vy,vz,yaw (deg),pitch (deg),roll (deg)
47,8.5,400,0,0,0,90,0,0
type,yaw (deg),pitch (deg),roll (deg),vx,vy,vz,duration (s),GPS
2,90,0,0,5,0,0,{duration},1
1,0,0,0,0,0,0,5,1
"""


def test_commands_move_over_the_turning_earth_of_their_file(tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text(COMMANDS.format(duration=20))
    ride = find_motion(path)
    assert ride.notes == ()
    rate, _ = ride.source.inputs([0.0])
    assert np.linalg.norm(rate) == pytest.approx(7.292115e-5, rel=1e-6)
    end = ride.source.truth([ride.duration_s])
    assert end.velocity_world[0] == pytest.approx([5.0, 0.0, 0.0], abs=1e-3)  # east
    assert find_motion(path, duration_s=3.0).duration_s == 3.0


def test_commands_that_were_not_reached_are_named(tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text(COMMANDS.format(duration=2))
    assert find_motion(path).notes == ("commands that were not reached in their time: [1]",)


# -- worlds ----------------------------------------------------------------------------------


def test_a_world_carries_the_sensor_on_its_site():
    ride = find_motion(WORLDS / "quadrotor.xml", duration_s=0.2)
    assert ride.duration_s == 0.2
    assert ride.notes == ("physics in steps of 0.001 s, the IMU on 'imu'",)
    assert ride.source.has_pose
    link = find_motion(WORLDS / "arm.urdf", site="rod", duration_s=0.2)
    assert link.notes[0].endswith("on 'rod'")


def test_a_world_without_the_site_names_what_it_has():
    with pytest.raises(UnknownNameError, match=r"arm\.urdf: there is no site 'imu'.*'imu_link'"):
        find_motion(WORLDS / "arm.urdf", duration_s=0.2)


# -- what goes wrong -------------------------------------------------------------------------


def test_the_way_through_poses_has_no_default(tmp_path, track):
    path = written(tmp_path / "a.tum", trajectories={"pose": track})
    with pytest.raises(ValueRangeError, match=r"a\.tum: .*interpolate .*smooth .*waypoints"):
        find_motion(path)
    with pytest.raises(UnknownNameError, match=r"'interpolat'.*'interpolate'"):
        find_motion(path, poses="interpolat")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"poses": "smooth"}, "either pose_noise or knots_per_s"),
        (
            {"poses": "smooth", "pose_noise": (1e-3, 1e-3), "knots_per_s": 5.0},
            "either pose_noise or knots_per_s",
        ),
        ({"poses": "interpolate", "knots_per_s": 5.0}, "no pose_noise or knots_per_s"),
        ({"poses": "waypoints", "pose_noise": (1e-3, 1e-3)}, "no pose_noise or knots_per_s"),
        ({"poses": "smooth", "knots_per_s": -5.0}, "knots_per_s above 0"),
        ({"poses": "smooth", "pose_noise": (math.nan, 1e-3)}, "sigma_position above 0"),
    ],
)
def test_noise_goes_with_smoothing_and_nothing_else(tmp_path, track, options, words):
    path = written(tmp_path / "a.tum", trajectories={"pose": track})
    with pytest.raises(ValueRangeError, match=words):
        find_motion(path, **options)


@pytest.fixture
def one_of_each(tmp_path, track, recorded):
    commands = tmp_path / "drive.csv"
    commands.write_text(COMMANDS.format(duration=20))
    return {
        "name": "circle",
        "world": WORLDS / "quadrotor.xml",
        "commands": commands,
        "imu": written(tmp_path / "imu.csv", imu={"imu": recorded}),
        "poses": written(tmp_path / "a.tum", trajectories={"pose": track}),
    }


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("name", {"poses": "smooth", "site": "imu"}, "no poses, site with a motion by name"),
        ("world", {"earth": FlatEarth(), "topic": "a"}, "no earth, topic with a world"),
        ("commands", {"earth": FlatEarth()}, "no earth with motion commands"),
        ("imu", {"mount": Mount(), "poses": "smooth"}, "no mount, poses with a recorded IMU"),
        ("poses", {"poses": "interpolate", "site": "imu"}, "no site with poses"),
    ],
)
def test_an_option_that_a_motion_has_no_use_for_is_refused(one_of_each, kind, options, words):
    with pytest.raises(ValueRangeError, match=words):
        find_motion(one_of_each[kind], **options)


def test_stamps_that_repeat_name_file_and_row(tmp_path, track):
    twice = np.sort(np.append(np.arange(len(track)), 470))
    path = written(tmp_path / "dup.tum", trajectories={"pose": track[twice]})
    with pytest.raises(TimeOrderError, match=r"dup\.tum: row 471: the stamp .* repeats") as caught:
        find_motion(path, poses="interpolate")
    assert caught.value.row == 471


def test_too_few_poses_name_the_file(tmp_path, track):
    path = written(tmp_path / "few.tum", trajectories={"pose": track[:5]})
    with pytest.raises(ShapeError, match=r"few\.tum: expected at least 6 poses .* got 5"):
        find_motion(path, poses="interpolate")


def test_a_record_with_a_gap_names_the_file(tmp_path, recorded):
    holey = recorded[np.r_[:300, 600:1000]]
    path = written(tmp_path / "imu.csv", imu={"imu": holey})
    with pytest.raises(ValueRangeError, match=r"imu\.csv: row 300: .*without gaps"):
        find_motion(path)


def test_a_file_with_attitude_alone_is_no_motion(tmp_path, track):
    attitude = track.replace(position_world=None, velocity_world=None)
    path = written(tmp_path / "a.csv", trajectories={"pose": attitude})
    with pytest.raises(FormatError, match="positions, or an IMU, the file holds neither"):
        find_motion(path)


def test_a_file_of_another_kind_is_a_format_error(tmp_path):
    path = tmp_path / "notes.bin"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(FormatError, match=r"notes\.bin: expected"):
        find_motion(path)
