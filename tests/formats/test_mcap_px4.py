"""PX4 messages in MCAP files and ROS 2 bags, serialised by rosbags."""

from __future__ import annotations

import numpy as np
import pytest
from mcap.writer import Writer
from rosbags.rosbag2 import Writer as BagWriter
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import strapdown.formats as files
from strapdown.errors import FormatError
from strapdown.formats.px4.integration import vehicle_imu_from_recording
from strapdown.messages.ros_types import ROS_TYPES

ROWS = 50
START_US = 7_000_000
DT_US = 5000
KINDS = (
    "SensorCombined",
    "SensorGyro",
    "SensorAccel",
    "VehicleAttitude",
    "VehicleOdometry",
    "VehicleImuStatus",
)
T_US = START_US + np.arange(ROWS) * DT_US
VALUES = np.random.default_rng(1).normal(size=(ROWS, 4)).astype(np.float32)
UNIT = (VALUES / np.linalg.norm(VALUES, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def store():
    store = get_typestore(Stores.ROS2_HUMBLE)
    for kind in KINDS:
        name = f"px4_msgs/msg/{kind}"
        store.register(get_types_from_msg(ROS_TYPES[name].definition, name))
    return store


def message(store, kind, **fields):
    """Return a message with zeros in the fields that are not given."""
    cls = store.types[f"px4_msgs/msg/{kind}"]
    known = {}
    for name, (form, details) in store.get_msgdef(cls.__msgtype__).fields:
        if form.name == "ARRAY":
            (_, (scalar, _)), size = details
            known[name] = np.zeros(size, scalar)
        else:
            known[name] = 0
    return cls(**known | fields)


def messages(store, kind):
    for row, t_us in enumerate(T_US.tolist()):
        value, common = VALUES[row], {"timestamp": t_us, "timestamp_sample": t_us}
        if kind == "SensorCombined":
            yield message(
                store,
                kind,
                timestamp=t_us,
                gyro_rad=value[:3],
                gyro_integral_dt=DT_US,
                accelerometer_timestamp_relative=0x7FFFFFFF if row == 3 else 0,
                accelerometer_m_s2=value[1:],
                accelerometer_integral_dt=DT_US,
                accelerometer_clipping=row % 8,
            )
        elif kind in {"SensorGyro", "SensorAccel"}:
            x, y, z = value[:3].tolist()
            yield message(store, kind, **common, x=x, y=y, z=z, device_id=77)
        elif kind == "VehicleAttitude":
            yield message(store, kind, **common, q=UNIT[row])
        elif kind == "VehicleOdometry":
            fields = {"pose_frame": 1, "velocity_frame": 1, "position": value[:3], "q": UNIT[row]}
            yield message(store, kind, **common, **fields, velocity=value[1:])
        else:
            yield message(store, kind, timestamp=t_us)


def write(path, store, *, every=1, kinds=KINDS):
    with path.open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2")
        for kind in kinds:
            name = f"px4_msgs/msg/{kind}"
            schema = writer.register_schema(name, "ros2msg", ROS_TYPES[name].definition.encode())
            channel = writer.register_channel(f"/fmu/out/{kind.lower()}_v1", "cdr", schema)
            for each in list(messages(store, kind))[::every]:
                data = bytes(store.serialize_cdr(each, name))
                writer.add_message(channel, each.timestamp * 1000, data, each.timestamp * 1000)
        writer.finish()


@pytest.fixture(scope="module")
def recording(store, tmp_path_factory):
    path = tmp_path_factory.mktemp("px4") / "a.mcap"
    write(path, store)
    return files.open(path)


def test_sensor_combined_is_mean_rates_at_the_middle_of_their_intervals(recording):
    series = recording.imu["/fmu/out/sensorcombined_v1"]
    assert series.t_ns.tolist() == (T_US * 1000 - DT_US * 500).tolist()
    assert series.angular_velocity.tolist() == VALUES[:, :3].tolist()
    assert np.isnan(series.specific_force[3]).all()
    assert series.specific_force[4:].tolist() == VALUES[4:, 1:].tolist()
    assert series.accel_clipping.tolist() == [row % 8 for row in range(ROWS)]
    assert (series.body, series.world) == ("FRD", "NED")


def test_sensor_combined_of_a_bridge_is_taken_as_the_windows_that_it_holds(recording):
    topic = "/fmu/out/sensorcombined_v1"
    (found,) = vehicle_imu_from_recording(recording, topic=topic).values()
    assert found.result is None
    assert "windows already" in found.notes[0]
    assert found.vehicle_imu["timestamp_sample"].tolist() == T_US.tolist()
    assert set(found.vehicle_imu["delta_angle_dt"].tolist()) == {DT_US}
    angles = VALUES[:, :3].astype(np.float64) * (DT_US * 1e-6)
    np.testing.assert_allclose(found.vehicle_imu["delta_angle"], angles, rtol=1e-6)
    assert found.vehicle_imu["delta_velocity_dt"][3] == 0


def test_a_bridge_that_sends_every_second_window_is_refused(store, tmp_path):
    write(tmp_path / "a.mcap", store, every=2, kinds=["SensorCombined"])
    thin = files.open(tmp_path / "a.mcap")
    with pytest.raises(FormatError, match=r"got 51\.\d%"):
        vehicle_imu_from_recording(thin)
    assert vehicle_imu_from_recording(thin, anyway=True)


def test_one_sensor_leaves_the_other_unknown(recording):
    gyro = recording.imu["/fmu/out/sensorgyro_v1"]
    accel = recording.imu["/fmu/out/sensoraccel_v1"]
    assert gyro.angular_velocity.tolist() == accel.specific_force.tolist() == VALUES[:, :3].tolist()
    assert np.isnan(gyro.specific_force).all()
    assert np.isnan(accel.angular_velocity).all()
    assert gyro.t_ns.tolist() == (T_US * 1000).tolist()
    assert (gyro.sensor.gyro_device_id, accel.sensor.accel_device_id) == (77, 77)


def test_attitude_and_odometry_are_trajectories(recording):
    xyzw = np.roll(UNIT, -1, axis=1)
    attitude = recording.trajectories["/fmu/out/vehicleattitude_v1"]
    odometry = recording.trajectories["/fmu/out/vehicleodometry_v1"]
    for track in (attitude, odometry):
        assert (track.body, track.world) == ("FRD", "NED")
        assert np.allclose(np.abs(np.sum(track.q_world_from_body * xyzw, axis=1)), 1.0, atol=1e-6)
    assert odometry.position_world.tolist() == VALUES[:, :3].tolist()
    assert odometry.velocity_world.tolist() == VALUES[:, 1:].tolist()


def test_messages_about_the_sensor_are_counted(recording):
    assert recording.report.skipped == {"/fmu/out/vehicleimustatus_v1": ROWS}
    assert recording.report.lossless


def test_a_stream_without_holes_is_covered(recording):
    assert recording.report.coverage == {"/fmu/out/sensorcombined_v1": 1.0}
    assert not any("cover" in note for note in recording.report.notes)


def test_a_bridge_that_sends_every_second_window_is_named(store, tmp_path):
    write(tmp_path / "a.mcap", store, every=2, kinds=["SensorCombined"])
    report = files.open(tmp_path / "a.mcap").report
    # 25 windows of 5 ms; they begin 5 ms before the first stamp and end 240 ms after it
    share = 25 * 5 / (240 + 5)
    assert report.coverage["/fmu/out/sensorcombined_v1"] == pytest.approx(share, abs=1e-12)
    (note,) = [note for note in report.notes if "cover 51.0%" in note]
    assert "rate_limit" in note
    assert "dds_topics.yaml" in note


def test_a_ros2_bag_gives_the_same_series(store, recording, tmp_path):
    with BagWriter(tmp_path / "bag", version=9) as bag:
        for kind in KINDS:
            name = f"px4_msgs/msg/{kind}"
            connection = bag.add_connection(f"/fmu/out/{kind.lower()}_v1", name, typestore=store)
            for each in messages(store, kind):
                bag.write(connection, each.timestamp * 1000, store.serialize_cdr(each, name))
    back = files.open(tmp_path / "bag")
    assert back.imu == recording.imu
    assert back.trajectories == recording.trajectories
    assert back.report.coverage == recording.report.coverage
