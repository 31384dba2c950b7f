"""Poses and odometry of navigators and filters, and their covariances."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from strapdown.errors import ValueRangeError
from strapdown.estimation import ComplementaryFilter
from strapdown.estimation.navigation import (
    NavigationPrior,
    NavigatorParams,
    StrapdownNavigator,
    poses_of_orientation,
)
from strapdown.geometry.frames import BodyFrame, WorldFrame
from strapdown.messages import Odometry, Pose3D
from strapdown.motion import Circle, Mounted
from strapdown.series import ImuSeries

PARAMS = NavigatorParams(gyro_noise=1e-2)


@pytest.fixture(scope="module")
def driven():
    t_s = np.arange(201) / 100
    source = Mounted(Circle(5.0, 2.0))
    truth = source.truth(t_s)
    root = np.random.default_rng(0).normal(size=(15, 15)) * 0.1
    tilt = Rotation.from_euler("x", 0.3)
    start = NavigationPrior(
        (Rotation.from_quat(truth.q_world_from_body[0]) * tilt).as_quat(),
        truth.velocity_world[0],
        truth.position_world[0],
        covariance=root @ root.T,
    )
    w, f = (tilt.inv().apply(each) for each in source.inputs(t_s))
    data = ImuSeries(np.arange(201) * 10_000_000, w, f)
    return StrapdownNavigator(PARAMS, start=start).run(data), truth, data


def test_poses_are_those_of_the_track(driven):
    result, truth, data = driven
    poses = result.poses()
    np.testing.assert_array_equal(poses["timestamp_ns"], data.t_ns)
    np.testing.assert_allclose(poses["position"], truth.position_world, atol=1e-3)
    np.testing.assert_array_equal(poses["orientation"], result.q_world_from_body)
    assert Pose3D.from_record(poses[7]).x == result.position_world[7, 0]


def test_odometry_is_a_pose_in_the_plane_and_a_twist_in_the_body(driven):
    result, _, data = driven
    records = result.odometry(child_frame_id="imu")
    R = Rotation.from_quat(result.q_world_from_body)
    forward = R.apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(records["theta"], np.arctan2(forward[:, 1], forward[:, 0]))
    np.testing.assert_array_equal(records["x"], result.position_world[:, 0])
    np.testing.assert_allclose(R.apply(records["linear"].copy()), result.velocity_world, atol=1e-12)
    np.testing.assert_allclose(records["angular"], data.angular_velocity, atol=1e-12)
    last = Odometry.from_record(records[-1])
    assert (last.frame_id, last.child_frame_id) == ("odom", "imu")
    assert last.timestamp_ns == last.pose_timestamp_ns == last.twist_timestamp_ns == data.t_ns[-1]


def test_covariances_of_odometry_are_those_of_drawn_errors(driven):
    result, *_ = driven
    k = 120
    rng = np.random.default_rng(1)
    e = rng.multivariate_normal(np.zeros(9), result.covariance[k] * 1e-4, 100_000)
    record = result.odometry()[k]
    pose = np.hstack([e[:, :3], e[:, 6:]])
    np.testing.assert_allclose(
        record["pose_covariance"].reshape(6, 6) * 1e-4, pose.T @ pose / len(e), atol=1.5e-5
    )
    # the velocity that a body of true attitude Exp(phi) R and velocity v + dv has in its axes
    R = Rotation.from_quat(result.q_world_from_body[k])
    true = (Rotation.from_rotvec(e[:, 6:]) * R).inv().apply(result.velocity_world[k] + e[:, 3:6])
    drawn = np.cov((true - R.inv().apply(result.velocity_world[k].copy())).T)
    twist = record["twist_covariance"].reshape(6, 6)
    np.testing.assert_allclose(twist[:3, :3] * 1e-4, drawn, rtol=0, atol=0.03 * drawn.max())
    # a sample of white noise at 100 Hz, and the bias
    np.testing.assert_allclose(
        np.diag(twist)[3:], 1e-2**2 * 100 + result.gyro_bias_sigma[k] ** 2, rtol=1e-12
    )


def test_rotation_in_the_covariance_is_about_the_axes_of_the_world():
    # a body on its side with an uncertain heading only; any of its axes may be up
    covariance = np.zeros((15, 15))
    covariance[8, 8] = 0.01
    start = NavigationPrior(Rotation.from_euler("x", np.pi / 2).as_quat(), covariance=covariance)
    data = ImuSeries([0, 10_000_000], np.zeros((2, 3)), np.tile([0.0, 9.80665, 0.0], (2, 1)))
    still = NavigatorParams(gyro_noise=0.0, accel_noise=0.0, gyro_walk=0.0, accel_walk=0.0)
    record = StrapdownNavigator(still, start=start).run(data).odometry()[-1]
    expected = np.zeros(36)
    expected[35] = 0.01
    np.testing.assert_allclose(record["pose_covariance"], expected, atol=1e-12)


def test_in_other_axes_it_is_the_same_motion(driven):
    result, *_ = driven
    other = result.in_frames(world=WorldFrame.NED, body=BodyFrame.FRD)
    np.testing.assert_array_equal(other.position_world[:, 0], result.position_world[:, 1])
    np.testing.assert_array_equal(other.covariance[:, 0, 0], result.covariance[:, 1, 1])
    np.testing.assert_array_equal(other.covariance[:, 2, 6], -result.covariance[:, 2, 7])
    np.testing.assert_array_equal(other.gyro_bias_sigma, result.gyro_bias_sigma)
    np.testing.assert_array_equal(other.angular_velocity[:, 2], -result.angular_velocity[:, 2])
    back = other.in_frames(world=WorldFrame.ENU, body=BodyFrame.FLU)
    np.testing.assert_array_equal(back.covariance, result.covariance)
    for name in ("x", "linear", "pose_covariance", "twist_covariance"):
        np.testing.assert_allclose(other.odometry()[name], result.odometry()[name], atol=1e-12)


def test_data_in_other_axes_give_results_in_theirs(driven):
    *_, data = driven
    other = StrapdownNavigator().run(data.in_frames(world=WorldFrame.NED, body=BodyFrame.FRD))
    assert (other.world, other.body) == (WorldFrame.NED, BodyFrame.FRD)
    plain = StrapdownNavigator().run(data)
    np.testing.assert_allclose(other.position_world[:, 2], -plain.position_world[:, 2])


def test_names_of_frames_that_do_not_fit_are_refused(driven):
    with pytest.raises(ValueRangeError, match="31 bytes"):
        driven[0].odometry(frame_id="x" * 32)


def test_an_orientation_alone_is_a_pose_at_the_origin():
    data = ImuSeries(np.arange(9) * 10_000_000, np.zeros((9, 3)), np.tile([0, 3.0, 9.0], (9, 1)))
    result = ComplementaryFilter().run(data.in_frames(body=BodyFrame.FRD))
    poses = poses_of_orientation(result)
    assert not poses["position"].any()
    up = Rotation.from_quat(poses["orientation"]).apply([0.0, 3.0, 9.0])
    np.testing.assert_allclose(up, np.tile([0, 0, np.sqrt(90.0)], (9, 1)), atol=1e-9)
    np.testing.assert_array_equal(poses["timestamp_ns"], data.t_ns)
