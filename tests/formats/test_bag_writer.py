"""ROS 1 bags against rosbags, field by field, and against our own reader."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.rosbag1 import Reader

import strapdown.formats as files
from strapdown.errors import ValueRangeError
from strapdown.formats import Recording, block_writer
from strapdown.messages import ROS_TYPES
from strapdown.messages.px4 import VehicleImu
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory

ROWS = 50
T_NS = 1_700_000_000_123_456_789 + np.arange(ROWS) * 5_000_001


def vectors(seed, width=3):
    return np.random.default_rng(seed).standard_normal((ROWS, width))


def quaternions(seed):
    q = vectors(seed, 4)
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def imu(**changes):
    series = ImuSeries(
        T_NS,
        vectors(1),
        vectors(2),
        magnetic_field=vectors(3),
        q_world_from_body=quaternions(4),
        angular_velocity_covariance=np.broadcast_to(np.diag([1.0, 2.0, 3.0]), (ROWS, 3, 3)),
        sensor=SensorIdentity("imu_link"),
    )
    return series.replace(**changes)


def increments():
    dt_ns = np.full(ROWS, 5_000_000)
    clipping = np.arange(ROWS, dtype=np.uint8) % 8
    return Increments(
        T_NS // 1000 * 1000,
        vectors(5).astype(np.float32),
        vectors(6).astype(np.float32),
        dt_ns,
        dt_ns + 1000,
        accel_clipping=clipping,
        gyro_calibration_count=clipping,
        body="FRD",
        sensor=SensorIdentity("", 1310988, 1310996),
    )


def pose():
    return Trajectory(T_NS, quaternions(7), position_world=vectors(8), velocity_world=vectors(9))


def messages_of(path):
    """Return the messages that rosbags decodes: by topic, a list of (time, message)."""
    found = {}
    with AnyReader([path]) as reader:
        for connection, t_ns, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            found.setdefault(connection.topic, []).append((t_ns, message))
    return found


def numbers_of(part):
    """Return all numbers of a message of rosbags, in its order."""
    fields = part.__dataclass_fields__
    values = [getattr(part, name) for name in fields if name != "__msgtype__"]
    return np.concatenate(
        [numbers_of(v) if hasattr(v, "__dataclass_fields__") else np.ravel(v) for v in values]
    )


def test_rosbags_reads_every_field_of_an_imu(tmp_path):
    report = files.write(tmp_path / "a.bag", Recording(imu={"imu/data": imu()}))
    assert (report.messages, report.lost) == (2 * ROWS, ())
    found = messages_of(tmp_path / "a.bag")
    assert set(found) == {"imu/data", "imu/mag"}
    for row, (t_ns, message) in enumerate(found["imu/data"]):
        stamp = message.header.stamp
        assert t_ns == stamp.sec * 10**9 + stamp.nanosec == T_NS[row]
        assert (message.header.seq, message.header.frame_id) == (row, "imu_link")
        assert numbers_of(message.orientation).tolist() == imu().q_world_from_body[row].tolist()
        assert message.orientation_covariance.tolist() == [0.0] * 9
        rates = imu().angular_velocity[row].tolist()
        assert numbers_of(message.angular_velocity).tolist() == rates
        covariance = [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0]
        assert message.angular_velocity_covariance.tolist() == covariance
        force = imu().specific_force[row].tolist()
        assert numbers_of(message.linear_acceleration).tolist() == force
    fields = [numbers_of(message.magnetic_field) for _, message in found["imu/mag"]]
    np.testing.assert_array_equal(fields, imu().magnetic_field)


def test_rosbags_reads_every_field_of_a_trajectory(tmp_path):
    attitude = Trajectory(T_NS, quaternions(7))
    whole = Recording(trajectories={"pose": pose(), "attitude": attitude})
    files.write(tmp_path / "a.bag", whole)
    found = messages_of(tmp_path / "a.bag")
    assert set(found) == {"pose", "pose/velocity", "attitude"}
    poses = np.array([numbers_of(message.pose) for _, message in found["pose"]])
    np.testing.assert_array_equal(poses, np.hstack([vectors(8), quaternions(7)]))
    speeds = [numbers_of(message.vector) for _, message in found["pose/velocity"]]
    np.testing.assert_array_equal(speeds, vectors(9))
    turns = [numbers_of(message.quaternion) for _, message in found["attitude"]]
    np.testing.assert_array_equal(turns, quaternions(7))
    assert {message.header.frame_id for _, message in found["pose"]} == {"map"}


def test_rosbags_reads_increments_by_the_definition_in_the_bag(tmp_path):
    files.write(tmp_path / "a.bag", Recording(increments={"vehicle_imu": increments()}))
    found = messages_of(tmp_path / "a.bag")["vehicle_imu"]
    assert [t_ns for t_ns, _ in found] == increments().t_ns.tolist()
    for row, (_, message) in enumerate(found):
        assert message.timestamp_sample == increments().t_ns[row] // 1000
        assert message.delta_angle.tolist() == increments().delta_angle[row].tolist()
        assert message.delta_velocity.tolist() == increments().delta_velocity[row].tolist()
        assert (message.delta_angle_dt, message.delta_velocity_dt) == (5000, 5001)
        assert message.delta_velocity_clipping == message.gyro_calibration_count == row % 8
        assert (message.accel_device_id, message.gyro_device_id) == (1310988, 1310996)
    assert set(VehicleImu.dtype.names) <= set(found[0][1].__dataclass_fields__)


def test_types_carry_the_hashes_of_ros_1_and_chunks_are_packed(tmp_path):
    whole = Recording(imu={"imu/data": imu()}, trajectories={"pose": pose()})
    files.write(tmp_path / "a.bag", whole)
    with Reader(tmp_path / "a.bag") as reader:
        hashes = {each.msgtype: each.digest for each in reader.connections}
        assert {chunk.decompressor.__name__ for chunk in reader.chunks.values()} == {"decompress"}
    assert hashes == {kind: ROS_TYPES[kind].md5 for kind in hashes}
    assert len(hashes) == 4
    assert b"compression=lz4" in (tmp_path / "a.bag").read_bytes()


def test_our_reader_gives_back_what_was_written(tmp_path):
    whole = Recording(
        imu={"imu/data": imu()},
        trajectories={"pose": pose()},
        increments={"vehicle_imu": increments()},
    )
    report = files.write(tmp_path / "a.bag", whole)
    back = files.open(tmp_path / "a.bag")
    assert back.report.messages == report.messages == 5 * ROWS
    assert (back.imu, back.trajectories, back.increments) == (
        whole.imu,
        whole.trajectories,
        whole.increments,
    )


def test_frames_become_those_of_ros(tmp_path):
    series = imu(magnetic_field=None)
    files.write(tmp_path / "a.bag", series.in_frames(body="FRD", world="NED"))
    back = files.open(tmp_path / "a.bag").imu["imu/data"]
    np.testing.assert_array_equal(back.specific_force, series.specific_force)
    turned = np.abs(np.sum(back.q_world_from_body * series.q_world_from_body, axis=1))
    np.testing.assert_allclose(turned, 1.0, atol=1e-15)


def test_topics_are_in_the_order_of_their_stamps(tmp_path):
    early = imu(t_ns=T_NS - 2_000_000)
    files.write(tmp_path / "a.bag", Recording(imu={"a/data": imu(), "b/data": early}))
    with Reader(tmp_path / "a.bag") as reader:
        order = [connection.topic for connection, _, _ in reader.messages()]
    assert order[:3] == ["b/data", "b/mag", "a/data"]


def test_a_magnetic_field_is_not_given_to_the_imu_beside(tmp_path, recording):
    files.write(tmp_path / "a.bag", recording)
    back = files.open(tmp_path / "a.bag")
    assert back.imu["imu/data"].magnetic_field is not None
    assert back.imu["imu/data_raw"] == recording.imu["imu/data_raw"]


@pytest.mark.parametrize("size", [1, 7])
def test_blocks_read_back_as_the_whole_and_go_on_counting(tmp_path, size):
    with block_writer(tmp_path / "a.bag") as writer:
        for start in range(0, ROWS, size):
            rows = slice(start, start + size)
            block = Recording(imu={"imu/data": imu()[rows]}, increments={"i": increments()[rows]})
            writer.write(block)
    assert (writer.messages, list(writer.lost)) == (3 * ROWS, [])
    back = files.open(tmp_path / "a.bag")
    assert back.imu["imu/data"] == imu()
    assert back.increments["i"] == increments()
    found = messages_of(tmp_path / "a.bag")
    assert [message.header.seq for _, message in found["imu/mag"]] == list(range(ROWS))


@pytest.mark.parametrize(
    ("whole", "lost"),
    [
        (Recording(imu={"a": imu(gyro_clipping=np.ones(ROWS, np.uint8))}), "a: gyro_clipping"),
        (Recording(trajectories={"a": pose().replace(moving=np.ones(ROWS, bool))}), "a: moving"),
    ],
)
def test_samples_that_messages_cannot_hold_are_lost(tmp_path, whole, lost):
    report = files.write(tmp_path / "a.bag", whole)
    assert (report.lost, report.notes) == ((lost,), ())


@pytest.mark.parametrize(
    ("whole", "what"),
    [
        (
            Recording(imu={"a": imu(sensor=SensorIdentity("x", 5, 7))}),
            "sensor.accel_device_id, sensor.gyro_device_id",
        ),
        (Recording(trajectories={"a": pose().replace(name="b")}), "trajectory.name"),
    ],
)
def test_names_and_devices_without_a_place_are_no_loss_but_noted(tmp_path, whole, what):
    report = files.write(tmp_path / "a.bag", whole)
    assert (report.lost, report.notes) == ((), (f"left out of the file: {what}",))
    with block_writer(tmp_path / "b.bag") as blocks:
        blocks.write(whole)
        blocks.write(whole)
    assert list(blocks.notes) == [f"left out of the file: {what}"]


def test_a_name_that_is_that_of_the_topic_is_not_left_out(tmp_path):
    whole = Recording(trajectories={"truth": pose().replace(name="truth")})
    report = files.write(tmp_path / "a.bag", whole)
    assert (report.lost, report.notes) == ((), ())


def test_a_bag_that_exists_is_replaced_only_by_force(tmp_path):
    (tmp_path / "a.bag").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        files.write(tmp_path / "a.bag", imu())
    assert (tmp_path / "a.bag").read_bytes() == b"mine"
    files.write(tmp_path / "a.bag", imu(), force=True)
    assert files.open(tmp_path / "a.bag").imu["imu/data"] == imu()


def test_a_negative_stamp_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(ValueRangeError, match="stamp_ns"):
        files.write(tmp_path / "a.bag", imu(t_ns=T_NS - T_NS[1]))
    assert not list(tmp_path.iterdir())


def test_an_empty_recording_is_an_empty_bag(tmp_path):
    files.write(tmp_path / "a.bag", Recording())
    back = files.open(tmp_path / "a.bag")
    assert (back.imu, back.trajectories, back.increments) == ({}, {}, {})
