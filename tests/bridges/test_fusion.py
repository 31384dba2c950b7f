"""Orientation live, over topics and over MAVLink, is that of the whole recording."""

from __future__ import annotations

import threading
import time
from uuid import uuid4

import numpy as np
import pytest

from strapdown.bridges.live import fuse_topic
from strapdown.bridges.mavlink import MavlinkLink, fuse_link
from strapdown.estimation import FILTERS
from strapdown.messages import Imu, MagneticField, Pose3D, conversion
from strapdown.series import ImuSeries
from strapdown.transport import Topic

STEP_NS = 5_000_000


@pytest.fixture
def swing():
    """Two seconds of a body that swings about its x axis."""
    t_ns = np.arange(1, 401) * STEP_NS
    angle = 0.5 * np.sin(t_ns * 1e-9)
    rate = np.zeros((400, 3))
    rate[:, 0] = 0.5 * np.cos(t_ns * 1e-9)
    zero = np.zeros(400)
    force = 9.81 * np.stack([zero, np.sin(angle), np.cos(angle)], axis=1)
    return ImuSeries(t_ns, rate, force)


def test_every_message_of_a_topic_is_answered_by_the_pose_of_the_whole_recording(swing):
    expected = FILTERS["eskf"]().run(swing)
    stop, reports = threading.Event(), []
    with (
        Topic(Imu, name="live/imu") as sender,
        Topic(Imu, name="live/imu") as source,
        Topic(Pose3D, name="live/pose") as target,
        Topic(Pose3D, name="live/pose") as receiver,
    ):

        def work():
            reports.append(fuse_topic(source, target, FILTERS["eskf"](), stop=stop))

        worker = threading.Thread(target=work)
        worker.start()
        poses = []
        try:
            for record in conversion.imu_from_series(swing):
                sender.send(Imu.from_record(record))
            while len(poses) < len(swing) and (pose := receiver.recv(timeout=60.0)) is not None:
                poses.append(pose)
        finally:
            stop.set()
            worker.join()
    assert [pose.timestamp_ns for pose in poses] == swing.t_ns.tolist()
    q = np.array([pose.orientation for pose in poses])
    np.testing.assert_allclose(q, expected.q_world_from_body, rtol=0.0, atol=1e-12)
    assert all(pose.x == pose.y == pose.z == 0.0 for pose in poses)
    assert reports[0].samples == len(swing)


def fused(backend, swing, field, step):
    """Send a series and every ``step``-th row of a field, field first; return the poses."""
    name, stop = f"fuse_{uuid4().hex[:8]}", threading.Event()
    with (
        Topic(Imu, 4096, name=name, backend=backend) as imus,
        Topic(MagneticField, 4096, name=f"{name}/mag", backend=backend) as fields,
        Topic(Imu, 4096, name=name, backend=backend) as source,
        Topic(MagneticField, 4096, name=f"{name}/mag", backend=backend) as magnetometer,
        Topic(Pose3D, 4096, name=f"{name}/pose", backend="local") as target,
        Topic(Pose3D, 4096, name=f"{name}/pose", backend="local") as receiver,
    ):
        source.try_recv()
        magnetometer.try_recv()
        receiver.try_recv()

        def work():
            fuse_topic(source, target, FILTERS["eskf"](), stop=stop, field=magnetometer)

        worker = threading.Thread(target=work)
        worker.start()
        poses = []
        try:
            for row, record in enumerate(conversion.imu_from_series(swing)):
                if row % step == 0:
                    fields.send(MagneticField(int(swing.t_ns[row]), "", tuple(field[row])))
                imus.send(Imu.from_record(record))
            while len(poses) < len(swing) and (pose := receiver.recv(timeout=60.0)) is not None:
                poses.append(pose)
        finally:
            stop.set()
            worker.join()
    return poses


@pytest.mark.parametrize("backend", ["local", "ipc"])
def test_a_live_magnetometer_gives_the_poses_of_the_whole_recording(swing, backend):
    field = np.tile([1.5e-5, 1.5e-5, -4e-5], (400, 1))
    field[np.arange(400) % 4 > 0] = np.nan
    expected = FILTERS["eskf"]().run(swing.replace(magnetic_field=field))
    poses = fused(backend, swing, field, 4)
    assert [pose.timestamp_ns for pose in poses] == swing.t_ns.tolist()
    q = np.array([pose.orientation for pose in poses])
    np.testing.assert_allclose(q, expected.q_world_from_body, rtol=0.0, atol=1e-12)


def test_a_topic_of_something_else_is_no_magnetometer():
    wrong = pytest.raises(TypeError, match="expected a topic of MagneticField, got Imu")
    with Topic(Imu, name="live/no-mag", backend="local") as topic, wrong:
        fuse_topic(topic, topic, FILTERS["eskf"](), stop=threading.Event(), field=topic)


def test_an_autopilot_hears_its_attitude_while_it_speaks(swing):
    frd = swing.in_frames(world="NED", body="FRD")
    stop, tracks = threading.Event(), []
    with MavlinkLink(listen="127.0.0.1:0") as ear, MavlinkLink(listen="127.0.0.1:0") as mouth:
        host, port = ear.address
        back = "{}:{}".format(*mouth.address)

        def work():
            with MavlinkLink(to=back) as answers:
                orientation = FILTERS["eskf"]()
                tracks.append(
                    fuse_link(ear, answers, orientation, goes_on=lambda: not stop.is_set())
                )

        worker = threading.Thread(target=work)
        worker.start()
        heard = []
        try:
            with MavlinkLink(to=f"{host}:{port}") as autopilot:
                autopilot.send_imu(frd, kind="hil_sensor", speed=float("inf"))
                end = time.monotonic() + 60.0
                while len(heard) < len(swing) and time.monotonic() < end:
                    message = mouth.receive(0.5)
                    if message is not None:
                        heard.append(message)
        finally:
            stop.set()
            worker.join()
    assert {message.get_type() for message in heard} == {"ATTITUDE_QUATERNION"}
    assert len(heard) == len(swing)
    (track,) = tracks
    assert track.t_ns.tolist() == swing.t_ns.tolist()
    roll = 2.0 * np.arctan2(track.q_world_from_body[:, 0], track.q_world_from_body[:, 3])
    truth = 0.5 * np.sin(swing.t_ns * 1e-9)
    assert np.abs(np.sin(0.5 * (roll - truth))).max() < np.radians(1.0)
    assert heard[-1].q2 == pytest.approx(track.q_world_from_body[-1, 0], abs=1e-6)


def test_a_heading_from_before_the_first_field_is_not_kept(swing):
    field = np.where(swing.t_ns[:, np.newaxis] < swing.t_ns[40], np.nan, [2e-5, 0.0, 4e-5])
    frd = swing.replace(magnetic_field=field).in_frames(world="NED", body="FRD")
    parts = iter([frd[:20], frd[20:30], frd[30:]])
    with MavlinkLink(listen="127.0.0.1:0") as ear:
        host, port = ear.address
        with MavlinkLink(to=f"{host}:{port}") as autopilot:

            def goes_on():
                part = next(parts, None)
                if part is not None:
                    autopilot.send_imu(part, kind="hil_sensor", speed=float("inf"))
                return part is not None

            track = fuse_link(ear, None, FILTERS["complementary"](), goes_on=goes_on)
    assert len(track) == len(swing)
    unknown = np.isnan(track.q_world_from_body).all(axis=1)
    np.testing.assert_array_equal(unknown, swing.t_ns < swing.t_ns[40])


def test_nothing_heard_is_an_empty_track():
    with MavlinkLink(listen="127.0.0.1:0") as ear:
        orientation = FILTERS["complementary"]()
        asked = iter([True, False])
        track = fuse_link(ear, None, orientation, goes_on=lambda: next(asked))
    assert len(track) == 0
    assert track.world == "NED"
