"""Euler conventions against SciPy, PX4-Matrix and Webots."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from strapdown.errors import ShapeError, UnknownNameError
from strapdown.geometry.euler import EulerConvention, describe, from_quaternion, to_quaternion
from strapdown.geometry.frames import BodyFrame, WorldFrame, convert_quaternion
from strapdown.geometry.quaternion import IDENTITY, angle_between

HALF = math.pi / 2
SEQUENCES = {  # axes of the unit: sequence, and the sign of each angle in it
    EulerConvention.ZYX: ("ZYX", (1, 1, 1)),
    EulerConvention.WEBOTS_DOCUMENTED: ("YZX", (-1, 1, 1)),
    EulerConvention.WEBOTS_NUE: ("YZX", (1, 1, 1)),
    EulerConvention.WEBOTS_ENU: ("ZYX", (1, 1, 1)),
}
WITH_GIMBAL = [EulerConvention.ZYX, EulerConvention.WEBOTS_DOCUMENTED]

every_convention = pytest.mark.parametrize("convention", EulerConvention)
turns = st.floats(-math.pi, math.pi)
slopes = st.one_of(
    st.floats(-HALF, HALF),
    st.builds(
        lambda sign, distance: sign * (HALF - distance),
        st.sampled_from([-1, 1]),
        st.sampled_from([0.0, 1e-15, 1e-10, 0.9e-9, 1.1e-9, 1e-8, 1e-6]),
    ),
)


def oracle(roll_pitch_yaw, convention):
    sequence, signs = SEQUENCES[convention]
    yaw_pitch_roll = np.asarray(roll_pitch_yaw)[..., ::-1]
    return Rotation.from_euler(sequence, yaw_pitch_roll * signs).as_quat()


@every_convention
@given(roll=st.floats(-10, 10), pitch=st.floats(-10, 10), yaw=st.floats(-10, 10))
def test_angles_become_the_rotation_that_scipy_says(convention, roll, pitch, yaw):
    q = to_quaternion([roll, pitch, yaw], convention)
    assert angle_between(q, oracle([roll, pitch, yaw], convention)) < 4e-15


@every_convention
@given(roll=turns, pitch=st.floats(-1.5, 1.5), yaw=turns)
def test_away_from_gimbal_the_angles_come_back(convention, roll, pitch, yaw):
    back = from_quaternion(oracle([roll, pitch, yaw], convention), convention)
    difference = (back - [roll, pitch, yaw] + math.pi) % (2 * math.pi) - math.pi
    np.testing.assert_allclose(difference, 0.0, atol=1e-13)


@pytest.mark.parametrize("convention", WITH_GIMBAL)
@given(roll=turns, pitch=slopes, yaw=turns, sign=st.sampled_from([-1.0, 1.0]))
def test_the_angles_are_in_range_and_say_the_same_rotation_at_any_pitch(
    convention, roll, pitch, yaw, sign
):
    q = sign * oracle([roll, pitch, yaw], convention)
    angles = from_quaternion(q, convention)
    for angle, (low, high) in zip(angles, describe(convention).ranges, strict=True):
        assert low <= angle <= high
    gimbal = HALF - abs(pitch) < 1e-9
    assert angle_between(to_quaternion(angles, convention), q) < (2e-9 if gimbal else 2e-15)


@pytest.mark.parametrize("convention", WITH_GIMBAL)
def test_at_gimbal_roll_is_zero_and_yaw_is_the_whole_turn(convention):
    for pitch, turn in itertools.product((-HALF, HALF), np.arange(-3.0, 3.5, 0.5)):
        q = oracle([0.0, pitch, turn], convention)
        np.testing.assert_allclose(from_quaternion(q, convention), [0, pitch, turn], atol=1e-15)
        # a turn about the vertical nose is a turn of the heading
        rolled = oracle([0.4, pitch, turn], convention)
        expected = turn - 0.4 * math.copysign(1.0, pitch)
        roll, _, yaw = from_quaternion(rolled, convention)
        assert roll == 0.0
        assert math.remainder(yaw - expected, 2 * math.pi) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("convention", WITH_GIMBAL)
def test_the_corners_of_the_cube_come_back_as_the_same_rotation(convention):
    # the 36 cases of the attitude tests of PX4-Matrix
    right = (-90, 0, 90)
    angles = np.radians(list(itertools.product(right, right, (-179, -89, 1, 91))))
    q = oracle(angles, convention)
    assert angle_between(to_quaternion(from_quaternion(q, convention), convention), q).max() < 1e-15


def test_a_turn_about_one_axis_gives_that_angle_alone():
    s, c = math.sin(0.15), math.cos(0.15)
    for convention in WITH_GIMBAL:
        assert from_quaternion(IDENTITY, convention).tolist() == [0, 0, 0]
    assert from_quaternion([s, 0, 0, c], "zyx").tolist() == pytest.approx([0.3, 0, 0], abs=0)
    np.testing.assert_allclose(from_quaternion([0, s, 0, c], "zyx"), [0, 0.3, 0], atol=1e-16)
    np.testing.assert_allclose(
        from_quaternion([0, 0, s, c], "zyx"), [0, 0, 0.3], atol=0, rtol=1e-15
    )


def test_small_angles_keep_all_their_digits():
    angles = [1e-12, -2e-12, 3e-12]
    np.testing.assert_allclose(
        from_quaternion(to_quaternion(angles, "zyx"), "zyx"), angles, rtol=1e-11
    )


def test_a_published_triple_becomes_its_quaternion():
    # the products of half angles in double precision; in 80 bits they differ by at most 1 ulp
    expected = [0.24442959607853676, 0.01710509924714876, 0.8314780364149006, 0.498603914044254]
    q = to_quaternion([0.3, -0.4, 2.0], EulerConvention.ZYX)
    assert np.all(np.abs(q - expected) <= np.spacing(np.abs(expected)))
    # the attitude tests of PX4-Matrix
    expected = [0.0342708, 0.10602051, 0.14357218, 0.98334744]
    np.testing.assert_allclose(to_quaternion([0.1, 0.2, 0.3], "zyx"), expected, atol=1e-8)
    np.testing.assert_allclose(from_quaternion(expected, "zyx"), [0.1, 0.2, 0.3], atol=1e-7)


# Webots: the inertial unit as its reference page describes it.


def axis_angle(x, y, z, angle):
    return np.append(math.sin(angle / 2) * np.array([x, y, z]), math.cos(angle / 2))


@pytest.mark.parametrize(
    ("world", "body", "q", "roll_pitch_yaw"),
    [
        ("NUE", "FUR", IDENTITY, (0, 0, 0)),
        ("NUE", "FUR", axis_angle(0, 1, 0, -HALF), (0, 0, HALF)),  # east
        ("NUE", "FUR", axis_angle(0, 1, 0, HALF), (0, 0, -HALF)),  # west
        ("NUE", "FUR", axis_angle(1, 0, 0, 0.3), (0.3, 0, 0)),
        ("NUE", "FUR", axis_angle(0, 0, 1, 0.3), (0, 0.3, 0)),
        ("NUE", "FUR", (0.050362191, -0.276489453, 0.171221984, 0.944298821), (0.2, 0.3, 0.6)),
        ("ENU", "FUR", (0.721186225, 0.273474787, 0.394334581, 0.499602050), (0.2, 0.3, 0.6)),
        ("EUN", "FUR", (-0.085460779, -0.863227667, 0.156683673, 0.472212533), (0.2, 0.3, 0.6)),
        ("ENU", "FLU", (0.156683673, -0.085460779, 0.472212533, 0.863227667), (0.2, 0.3, 0.6)),
        ("ENU", "FLU", IDENTITY, (0, 0, HALF)),
        ("ENU", "FLU", axis_angle(0, 0, 1, HALF), (0, 0, 0)),
        ("ENU", "FLU", axis_angle(0, 1, 0, -0.3), (0, 0.3, HALF)),
        ("ENU", "FUR", IDENTITY, (-HALF, 0, HALF)),
    ],
)
def test_the_documented_inertial_unit(world, body, q, roll_pitch_yaw):
    in_webots = convert_quaternion(q, world=(world, "NUE"), body=(body, "FUR"))
    angles = from_quaternion(in_webots, EulerConvention.WEBOTS_DOCUMENTED)
    np.testing.assert_allclose(angles, roll_pitch_yaw, atol=2e-9)
    back = to_quaternion(roll_pitch_yaw, EulerConvention.WEBOTS_DOCUMENTED)
    back = convert_quaternion(back, world=("NUE", world), body=("FUR", body))
    assert angle_between(back, q) < 3e-9


# Webots R2025a: the formulas of its client library.


@pytest.mark.data
def test_webots_r2025a_angles_to_the_last_digits(data_dir):
    text = (data_dir / "webots" / "quaternion_to_rpy_r2025a.json").read_text("utf-8")
    cases = json.loads(text)["cases"]
    assert len(cases) == 231
    for case in cases:
        system = "webots_nue" if case["coordinateSystem"] == "NUE" else "webots_enu"
        expected = np.array(case["roll_pitch_yaw"], dtype=np.float64)  # null is NaN
        got = from_quaternion(case["quaternion"], system)
        # a vectorised arc function may differ from the C library in the last digits
        np.testing.assert_array_max_ulp(got, expected, 4)
        angles = ~np.isnan(expected)
        assert np.array_equal(np.signbit(got[angles]), np.signbit(expected[angles])), case


@pytest.mark.parametrize(
    ("convention", "q", "roll_pitch_yaw"),
    [
        # turned by 0.3 about up: a compass would fall, these yaws rise
        ("webots_nue", axis_angle(0, 1, 0, 0.3), (0, 0, 0.3)),
        ("webots_enu", axis_angle(0, 0, 1, 0.3), (0, 0, 0.3)),
        # nose up
        ("webots_nue", axis_angle(0, 0, 1, 0.3), (0, 0.3, 0)),
        ("webots_enu", axis_angle(0, 1, 0, 0.3), (0, 0.3, 0)),
    ],
)
def test_webots_r2025a_signs(convention, q, roll_pitch_yaw):
    np.testing.assert_allclose(from_quaternion(q, convention), roll_pitch_yaw, atol=1e-15)


def test_webots_r2025a_clamps_the_sine_in_enu_only():
    above = 1.0 + 1e-12
    r = math.sqrt(0.5) * above
    assert np.isnan(from_quaternion([0, 0, r, r], "webots_nue")[1])
    assert from_quaternion([0, r, 0, r], "webots_enu")[1] == HALF


# Edges.


@every_convention
def test_unknown_rows_stay_unknown_without_a_warning(convention):
    unknown = np.full(4, np.nan)
    angles = from_quaternion([IDENTITY, unknown], convention)
    assert np.isnan(angles).tolist() == [[False] * 3, [True] * 3]
    q = to_quaternion([[0, 0, 0], [0.1, np.nan, 0.2], [0, np.inf, 0]], convention)
    assert np.isnan(q).tolist() == [[False] * 4, [True] * 4, [True] * 4]


@every_convention
def test_batches_of_any_shape_are_taken_row_by_row(convention):
    angles = np.random.default_rng(1).uniform(-1, 1, size=(2, 3, 3))
    q = to_quaternion(angles, convention)
    assert q.shape == (2, 3, 4)
    np.testing.assert_allclose(q[1, 2], to_quaternion(angles[1, 2], convention), rtol=4e-16)
    np.testing.assert_allclose(from_quaternion(q, convention), angles, rtol=1e-13)
    assert from_quaternion(np.empty((0, 4)), convention).shape == (0, 3)


def test_the_description_names_the_frames_of_the_quaternion():
    webots = describe("webots_documented")
    assert (webots.world, webots.body) == (WorldFrame.NUE, BodyFrame.FUR)
    assert "Ry(-yaw) Rz(pitch) Rx(roll)" in webots.sequence
    assert describe(EulerConvention.ZYX).world is None
    assert {describe(convention).ranges[1] for convention in EulerConvention} == {(-HALF, HALF)}


def test_an_unknown_convention_or_shape_is_refused():
    for call in (from_quaternion, to_quaternion):
        with pytest.raises(UnknownNameError, match="zyx"):
            call(IDENTITY, "xyz")
    with pytest.raises(UnknownNameError, match="Euler convention"):
        describe("rpy")
    with pytest.raises(ShapeError, match="roll_pitch_yaw"):
        to_quaternion(IDENTITY, "zyx")
