"""Readings of a world's devices in each profile, against the published conventions."""

from __future__ import annotations

import math

import pytest

from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.run.explaining import TURN, TURNS, explain

HALF = math.pi / 2.0
LEVEL = """#VRML_SIM R2025a utf8
WorldInfo {{ coordinateSystem "{}" }}
Robot {{
  name "rob"
  children [
    InertialUnit {{ noise 0.1 }} Accelerometer {{ lookupTable [ -99 -99 0.5, 99 99 0.5 ] }}
    Gyro {{ }} Camera {{ name "eye" }} UnheardOf {{ }}
  ]
  {}
}}
"""


@pytest.fixture
def explained(tmp_path):
    def run(system, fields=""):
        path = tmp_path / "w.wbt"
        path.write_text(LEVEL.format(system, fields))
        return explain(path)

    return run


def changes(explanation, profile):
    """Return the change of each angle of the only unit when the robot turns."""
    meaning = next(each for each in explanation.meanings if each.profile == profile)
    (readings,) = meaning.angles.values()
    still = readings[TURNS[0]]
    return {
        turn: [
            round(math.remainder(after - before, 2.0 * math.pi), 9)
            for after, before in zip(readings[turn], still, strict=True)
        ]
        for turn in TURNS[1:]
    }


def test_a_unit_of_the_manual_has_pitch_up_roll_right_and_yaw_as_a_compass(explained):
    assert changes(explained("NUE"), "documented") == {
        "nose up": [0.0, TURN, 0.0],
        "right side down": [TURN, 0.0, 0.0],
        "to the left": [0.0, 0.0, -TURN],
    }


def test_a_release_turns_yaw_to_the_left_and_pitches_down_in_enu(explained):
    assert changes(explained("NUE"), "R2025a") == {
        "nose up": [0.0, TURN, 0.0],
        "right side down": [TURN, 0.0, 0.0],
        "to the left": [0.0, 0.0, TURN],
    }
    assert changes(explained("ENU"), "R2025a") == {
        "nose up": [0.0, -TURN, 0.0],
        "right side down": [TURN, 0.0, 0.0],
        "to the left": [0.0, 0.0, TURN],
    }


def test_a_unit_of_2021_in_an_enu_world_is_turned_by_two_right_angles(explained):
    meaning = next(each for each in explained("ENU").meanings if each.profile == "R2021a")
    assert meaning.angles["rob", "inertial unit"][TURNS[0]] == pytest.approx([-HALF, 0.0, -HALF])


@pytest.mark.parametrize(
    ("system", "up", "north"),
    [
        ("NUE", (0, 1, 0), (1, 0, 0)),
        ("ENU", (0, 0, 1), (0, 1, 0)),
        ("EUN", (0, 1, 0), (0, 0, 1)),
    ],
)
def test_the_axes_are_those_of_the_coordinate_system(explained, system, up, north):
    for meaning in explained(system).meanings:
        assert (meaning.coordinate_system, meaning.up, meaning.north) == (system, up, north)
        assert meaning.gravity == pytest.approx(9.81)


def test_an_accelerometer_without_physics_is_nan_in_releases_and_measures_in_the_manual(explained):
    explanation = explained("ENU")
    for meaning in explanation.meanings:
        values = meaning.at_rest["rob", "accelerometer"]
        if meaning.profile in {"documented", "R2020a"}:
            assert values == pytest.approx([0.0, 0.0, 9.81])
        else:
            assert all(map(math.isnan, values))
    explanation = explained("ENU", "physics Physics { }")
    for meaning in explanation.meanings:
        assert meaning.at_rest["rob", "accelerometer"] == pytest.approx([0.0, 0.0, 9.81])


def test_what_is_inert_or_unknown_is_said(explained, capsys):
    explanation = explained("ENU")
    assert {(each.name, each.inert) for each in explanation.devices} == {
        ("inertial unit", False),
        ("accelerometer", False),
        ("gyro", False),
        ("eye", True),
    }
    assert [each.tag for each in explanation.devices] == [1, 2, 3, 4]
    assert any("UnheardOf" in message for message in explanation.messages)
    assert capsys.readouterr().err == ""


def test_what_moves_a_world_is_said():
    assert explain(find_world("pendulum")).physics
    assert not explain(find_world("turntable")).physics


def test_a_nose_that_points_up_has_a_right_side_all_the_same(explained):
    explanation = explained("ENU", "rotation 0 1 0 -1.5707963267948966")
    turned = changes(explanation, "R2025a")
    assert all(any(map(abs, each)) for each in turned.values())
