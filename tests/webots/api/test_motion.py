"""Motion files, played while a robot steps."""

from __future__ import annotations

import pytest

from strapdown.webots.api import Motion

WAVE = """#WEBOTS_MOTION,V1.0,left,right
00:00:000,Pose1,0,*
00:00:064, Pose2, 1.0, 5

00:00:128,Pose3,0.5,7
"""
MOTOR = {"position": 0.0, "velocity": 10.0, "max_velocity": 10.0}


@pytest.fixture
def rob(robot):
    motors = ("RotationalMotor left", "RotationalMotor right")
    return robot(*motors, parameters={"RotationalMotor": MOTOR})


@pytest.fixture
def wave(tmp_path, rob):
    path = tmp_path / "wave.motion"
    path.write_text(WAVE)
    return Motion(str(path), robot=rob)


def sent(rob, motor=1):
    return [values[0] for tag, _, values in rob.port.requests if tag == motor]


def steps(rob, count, ms=32):
    for _ in range(count):
        rob.step(ms)


def test_poses_are_sent_step_by_step_and_interpolated(rob, wave):
    assert wave.isValid()
    assert (wave.getDuration(), wave.getTime(), wave.isOver()) == (128, 0, False)
    wave.play()
    for over in (False, False, False, False, True):
        rob.step(32)
        assert wave.isOver() is over
    steps(rob, 3)
    assert sent(rob) == [0.0, 0.5, 1.0, 0.75, 0.5]
    assert rob.getDevice("left").getTargetPosition() == 0.5


def test_an_asterisk_leaves_a_motor_alone_until_it_has_two_poses(rob, wave):
    wave.play()
    steps(rob, 5)
    assert sent(rob, 2) == [5.0, 6.0, 7.0]


def test_a_comma_at_the_end_of_a_line_is_no_further_motor_or_position(tmp_path, rob):
    path = tmp_path / "commas.motion"
    path.write_text("\n".join(f"{line}, " if line else "" for line in WAVE.split("\n")))
    motion = Motion(str(path), robot=rob)
    assert (motion.isValid(), motion.getDuration()) == (True, 128)
    motion.play()
    steps(rob, 5)
    assert (sent(rob), sent(rob, 2)) == ([0.0, 0.5, 1.0, 0.75, 0.5], [5.0, 6.0, 7.0])


def test_a_motion_that_does_not_play_sends_nothing(rob, wave):
    steps(rob, 3)
    assert rob.port.requests == []
    wave.play()
    wave.play()
    rob.step(32)
    wave.stop()
    steps(rob, 2)
    assert (sent(rob), wave.getTime()) == ([0.0], 32)
    wave.play()
    rob.step(32)
    assert sent(rob) == [0.0, 0.5]


def test_a_loop_begins_again_and_is_never_over(rob, wave):
    wave.setLoop(True)
    wave.play()
    steps(rob, 7)
    assert sent(rob) == [0.0, 0.5, 1.0, 0.75, 0.5, 0.5, 1.0]
    assert not wave.isOver()


def test_a_loop_keeps_its_pace_over_the_end(rob, wave):
    wave.setLoop(True)
    wave.play()
    steps(rob, 4, ms=48)
    assert sent(rob) == [0.0, 0.75, 0.75, 0.25]
    assert wave.getTime() == 64


def test_a_motion_in_reverse_begins_at_its_end(rob, wave):
    wave.setReverse(True)
    wave.play()
    steps(rob, 6)
    assert sent(rob) == [0.5, 0.75, 1.0, 0.5, 0.0]
    assert wave.isOver()
    assert wave.getTime() == 0


def test_a_motion_that_is_over_can_be_played_again(rob, wave):
    wave.play()
    steps(rob, 5)
    wave.play()
    assert not wave.isOver()
    steps(rob, 2)
    assert sent(rob) == [0.0, 0.5, 1.0, 0.75, 0.5, 0.0, 0.5]


def test_the_time_can_be_set_within_the_motion(rob, wave):
    wave.setTime(48)
    wave.play()
    rob.step(32)
    assert sent(rob) == [0.75]
    wave.time = 1000
    assert wave.getTime() == 128
    wave.setTime(-1)
    assert wave.getTime() == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "No such file"),
        ("", "line 1: expected '#WEBOTS_MOTION,V1.0' and names of motors, got ''"),
        ("left,right\n", "line 1: expected '#WEBOTS_MOTION,V1.0' and names of motors"),
        ("#WEBOTS_MOTION,V1.0,left\n", "expected at least one pose, got none"),
        ("#WEBOTS_MOTION,V1.0,left\n00:00:000,a,1,2\n", "line 2: expected 1 positions, got 2"),
        ("#WEBOTS_MOTION,V1.0,left\n00:00,a,1\n", "line 2: expected a pose"),
        ("#WEBOTS_MOTION,V1.0,left\n00:00:000,a,x\n", "line 2: expected a pose"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_and_not_valid(rob, tmp_path, capsys, text, said):
    path = tmp_path / "bad.motion"
    if text is not None:
        path.write_text(text)
    motion = Motion(str(path), robot=rob)
    assert said in capsys.readouterr().err
    assert not motion.isValid()
    assert motion.getDuration() == 0
    motion.play()
    rob.step(32)
    assert rob.port.requests == []


def test_a_motor_that_the_robot_does_not_have_is_told(rob, tmp_path, capsys):
    path = tmp_path / "other.motion"
    path.write_text("#WEBOTS_MOTION,V1.0,left,nose\n00:00:000,a,1,2\n")
    motion = Motion(str(path), robot=rob)
    assert capsys.readouterr().err == 'Warning: "nose" device not found.\n'
    motion.play()
    rob.step(32)
    assert rob.port.requests == [(1, "position", (1.0,))]
    assert capsys.readouterr().err == ""
