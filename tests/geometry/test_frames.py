"""Changes of frame against axes written out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import FrameError
from strapdown.geometry.frames import (
    BodyFrame,
    WorldFrame,
    convert_covariance,
    convert_quaternion,
    convert_vector,
    frame,
)
from strapdown.geometry.quaternion import to_matrix

# Rows: the axes of the frame in east, north, up and in forward, left, up.
AXES = {
    "ENU": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "NED": [[0, 1, 0], [1, 0, 0], [0, 0, -1]],
    "NWU": [[0, 1, 0], [-1, 0, 0], [0, 0, 1]],
    "NUE": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "EUN": [[-1, 0, 0], [0, 0, 1], [0, 1, 0]],
    "FLU": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "FRD": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
    "FUR": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
}
WORLD_PAIRS = list(itertools.product(WorldFrame, repeat=2))
BODY_PAIRS = list(itertools.product(BodyFrame, repeat=2))
# One half turn about a coordinate axis apart, so no component of a quaternion is mixed.
EXACT = [("FLU", "FRD"), ("NED", "NWU")]


def change(source, target):
    return np.array(AXES[target]) @ np.array(AXES[source]).T


@pytest.fixture(scope="module")
def attitudes():
    return Rotation.random(50, random_state=1).as_quat()


def test_every_frame_is_right_handed():
    assert set(AXES) == {*WorldFrame, *BodyFrame}
    for pairs in (WORLD_PAIRS, BODY_PAIRS):
        for source, target in pairs:
            assert np.linalg.det(convert_vector(np.eye(3), source, target)) == 1.0


def test_vectors_follow_the_axes_and_come_back_to_the_bit(subtests):
    for source, target in WORLD_PAIRS + BODY_PAIRS:
        with subtests.test(source=source, target=target):
            v = np.random.default_rng(1).normal(size=(2, 5, 3))
            v[0, 0] = [-0.0, np.inf, 5e-324]
            there = convert_vector(v, source, target)
            assert np.array_equal(there[1], v[1] @ change(source, target).T)
            assert convert_vector(there, target, source).tobytes() == v.tobytes()


def test_covariances_follow_the_axes_and_come_back_to_the_bit(subtests):
    for source, target in WORLD_PAIRS + BODY_PAIRS:
        with subtests.test(source=source, target=target):
            c = np.random.default_rng(2).normal(size=(4, 3, 3))  # no symmetry to hide behind
            there = convert_covariance(c, source, target)
            P = change(source, target)
            assert np.array_equal(there, P @ c @ P.T)
            assert convert_covariance(there, target, source).tobytes() == c.tobytes()


def test_quaternions_follow_the_axes_of_both_sides_and_come_back(attitudes, subtests):
    for world, body in itertools.product(WORLD_PAIRS, BODY_PAIRS):
        with subtests.test(world=world, body=body):
            check_quaternions(attitudes, world, body)


def check_quaternions(attitudes, world, body):
    q = convert_quaternion(attitudes, world=world, body=body)
    expected = change(*world) @ Rotation.from_quat(attitudes).as_matrix() @ change(*body).T
    np.testing.assert_allclose(Rotation.from_quat(q).as_matrix(), expected, rtol=0, atol=2e-15)
    np.testing.assert_allclose(np.linalg.norm(q, axis=-1), 1.0, rtol=1e-15)
    back = convert_quaternion(q, world=world[::-1], body=body[::-1])
    np.testing.assert_allclose(back, attitudes, rtol=0, atol=4e-16)  # the sign too


def test_a_chain_of_changes_has_the_sign_of_the_direct_one(attitudes):
    for a, b, c in itertools.product(WorldFrame, repeat=3):
        chain = convert_quaternion(convert_quaternion(attitudes, world=(a, b)), world=(b, c))
        direct = convert_quaternion(attitudes, world=(a, c))
        np.testing.assert_allclose(chain, direct, rtol=0, atol=4e-16)


@pytest.mark.parametrize("pair", EXACT)
def test_half_turns_about_an_axis_move_quaternions_without_rounding(pair, attitudes):
    side = "world" if pair[0] in WorldFrame.__members__ else "body"
    q = convert_quaternion(attitudes, **{side: pair})
    assert np.array_equal(np.sort(np.abs(q)), np.sort(np.abs(attitudes)))
    assert np.array_equal(convert_quaternion(q, **{side: pair[::-1]}), attitudes)


def test_two_quarter_turns_move_quaternions_without_rounding(attitudes):
    q = convert_quaternion(attitudes, world=("NUE", "NED"), body=("FUR", "FRD"))
    assert np.array_equal(q, attitudes[:, [0, 2, 1, 3]] * [1, 1, -1, 1])


def test_an_attitude_of_px4_becomes_one_of_ros():
    # worked out by hand: [x + y, x - y, w - z, w + z] / sqrt(2)
    q_ned_frd = [0.77062242, -0.29022966, -0.2505754, -0.5090381]
    q_enu_flu = np.array([0.33968898, 0.75013571, -0.18276073, -0.53712786])
    q = convert_quaternion(q_ned_frd, world=("NED", "ENU"), body=("FRD", "FLU"))
    np.testing.assert_allclose(q * np.sign(q @ q_enu_flu), q_enu_flu, atol=1e-7)


def test_level_and_nose_north_is_the_identity_in_ned_and_a_quarter_turn_in_enu():
    q = convert_quaternion([0, 0, 0, 1], world=("NED", "ENU"), body=("FRD", "FLU"))
    np.testing.assert_allclose(to_matrix(q) @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(to_matrix(q) @ [0, 0, 1], [0, 0, 1], atol=1e-15)


def test_no_change_is_no_change(attitudes):
    assert np.array_equal(convert_quaternion(attitudes), attitudes)
    assert np.array_equal(convert_quaternion(attitudes, world=("NUE", "NUE")), attitudes)
    assert convert_quaternion(np.empty((0, 4)), body=("FLU", "FRD")).shape == (0, 4)


def test_unknown_rows_stay_unknown_and_touch_no_other(attitudes):
    q = attitudes[:3].copy()
    q[1] = np.nan
    there = convert_quaternion(q, world=("NED", "ENU"))
    assert np.isnan(there).tolist() == [[False] * 4, [True] * 4, [False] * 4]


def test_the_result_is_a_copy():
    v = np.zeros(3)
    convert_vector(v, "ENU", "ENU")[0] = 1.0
    assert v[0] == 0.0


def test_frames_are_found_by_name():
    assert frame("NED") is WorldFrame.NED
    assert frame(BodyFrame.FUR) is BodyFrame.FUR
    with pytest.raises(FrameError, match=r"expected a frame among ENU, .*FUR, got 'ned'"):
        frame("ned")


@pytest.mark.parametrize(
    ("source", "target"),
    [("ENU", "FLU"), (BodyFrame.FRD, WorldFrame.NED), (None, "NED"), ("ENU", None), ("map", "FLU")],
)
def test_a_missing_unknown_or_mixed_frame_is_refused_by_both_names(source, target):
    named = f"got {source} -> {target}"
    with pytest.raises(FrameError, match=named):
        convert_vector([1, 2, 3], source, target)
    with pytest.raises(FrameError, match=named):
        convert_covariance(np.eye(3), source, target)
    with pytest.raises(FrameError, match=named):
        convert_quaternion([0, 0, 0, 1], world=(source, target))


def test_a_body_change_is_not_taken_for_a_world_change():
    with pytest.raises(FrameError, match=r"two of ENU, .*got FLU -> FRD"):
        convert_quaternion([0, 0, 0, 1], world=("FLU", "FRD"))
    with pytest.raises(FrameError, match="two of FLU, FRD, FUR, got NED -> ENU"):
        convert_quaternion([0, 0, 0, 1], body=("NED", "ENU"))
