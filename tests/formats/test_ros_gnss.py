"""Receivers in ROS: NavSatFix in both forms and in files, against rosbags."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_typestore

import strapdown
from strapdown.errors import FormatError, TruncatedError
from strapdown.formats import Recording
from strapdown.messages import NavSatFix, Wire
from strapdown.messages.conversion import gnss_from_navsat, navsat_from_gnss
from strapdown.series import BarometerSeries, FixType, GnssSeries, SensorIdentity

STORES = {
    Wire.CDR: get_typestore(Stores.ROS2_HUMBLE),
    Wire.ROS1: get_typestore(Stores.ROS1_NOETIC),
}
T0 = 1_756_402_239_749_000_000
FIX = NavSatFix(T0, "gps", 2, 5, 40.0966916, -105.1471665, 1601.435, tuple(map(float, range(9))), 3)


def foreign(store, fix, seq=0):
    """Return a message of rosbags with the same content."""
    types = store.types
    stamp = types["builtin_interfaces/msg/Time"](*divmod(fix.header_stamp_ns, 10**9))
    seq_of_ros1 = (seq,) if store is STORES[Wire.ROS1] else ()
    head = types["std_msgs/msg/Header"](*seq_of_ros1, stamp, fix.frame_id)
    return types["sensor_msgs/msg/NavSatFix"](
        head,
        types["sensor_msgs/msg/NavSatStatus"](fix.status, fix.service),
        fix.latitude,
        fix.longitude,
        fix.altitude,
        np.array(fix.position_covariance),
        fix.position_covariance_type,
    )


def serialised(wire, fix):
    store = STORES[wire]
    message = foreign(store, fix)
    if wire is Wire.ROS1:
        return bytes(store.serialize_ros1(message, message.__msgtype__))
    return bytes(store.serialize_cdr(message, message.__msgtype__))


@pytest.mark.parametrize("wire", Wire)
def test_bytes_equal_those_of_rosbags_for_every_padding(wire):
    for length in range(9):
        fix = NavSatFix(**{**vars(FIX), "frame_id": "f" * length})
        assert fix.to_wire(wire) == serialised(wire, fix)
        assert NavSatFix.from_wire(serialised(wire, fix), wire) == fix


@pytest.mark.parametrize("wire", Wire)
def test_every_cut_is_noticed(wire):
    data = FIX.to_wire(wire)
    for length in range(len(data)):
        with pytest.raises(TruncatedError):
            NavSatFix.from_wire(data[:length], wire)
    with pytest.raises(FormatError, match="end of the message"):
        NavSatFix.from_wire(data + bytes(4), wire)


def test_covariance_types_and_fixes():
    def of(status, kind):
        return NavSatFix(T0, "gps", status, 1, 40.0, -105.0, 1600.0, FIX.position_covariance, kind)

    fixes = gnss_from_navsat([of(-1, 3), of(0, 0), of(0, 1), of(1, 2), of(2, 3)])
    assert fixes.has_fix.tolist() == [False, True, True, True, True]
    assert fixes.fix_type.tolist() == [
        FixType.NO_FIX, FixType.FIX_3D, FixType.FIX_3D, FixType.DIFFERENTIAL, FixType.DIFFERENTIAL,
    ]  # fmt: skip
    whole = np.arange(9.0).reshape(3, 3)
    assert not fixes.position_covariance[1].any()
    assert fixes.position_covariance[2].tolist() == whole.tolist()
    assert fixes.position_covariance[3].tolist() == np.diag([0.0, 4.0, 8.0]).tolist()
    assert fixes.position_covariance[4].tolist() == whole.tolist()
    assert fixes.sensor == SensorIdentity("gps")


def test_an_impossible_latitude_is_no_fix():
    assert not gnss_from_navsat([NavSatFix(latitude=400.0)]).has_fix.any()


def receiver(n=8):
    """Return fixes in which every column differs."""
    rng = np.random.default_rng(1)
    covariance = rng.standard_normal((n, 3, 3))
    return GnssSeries.from_local_enu(
        T0 + np.arange(n) * 250_000_000,
        rng.standard_normal((n, 3)) * 100.0,
        [*np.radians([40.0, -105.0]), 1600.0],
        covariance @ np.swapaxes(covariance, 1, 2),
        velocity_world=rng.standard_normal((n, 3)),
        velocity_covariance=np.tile(0.01 * np.eye(3), (n, 1, 1)),
        fix_type=np.full(n, FixType.DIFFERENTIAL, np.uint8),
        sensor=SensorIdentity("gps_antenna"),
    )


def test_a_series_survives_the_messages():
    fixes = receiver()
    again = gnss_from_navsat(navsat_from_gnss(fixes))
    assert again.latitude == pytest.approx(fixes.latitude, abs=1e-15)
    assert again.replace(latitude=fixes.latitude, longitude=fixes.longitude) == fixes.replace(
        velocity_world=None, velocity_covariance=None
    )


@pytest.mark.parametrize("name", ["fixes.mcap", "fixes.bag", "fixes"])
def test_files_hold_fixes_velocities_and_pressure(tmp_path, name):
    fixes = receiver()
    pressure = 101_325.0 - 12.0 * np.arange(8.0)
    air = BarometerSeries(fixes.t_ns, np.arange(8.0), pressure=pressure)
    recording = Recording(gnss={"/gps/fix": fixes}, barometers={"/air": air})
    report = strapdown.write(tmp_path / name, recording)
    assert report.messages == 24
    assert not report.lost
    again = strapdown.open(tmp_path / name)
    read = again.gnss_series("/gps/fix")
    assert read.longitude == pytest.approx(fixes.longitude, abs=1e-15)
    assert read.replace(latitude=fixes.latitude, longitude=fixes.longitude) == fixes
    assert again.barometers["/air"].pressure.tolist() == pressure.tolist()
    assert again.barometers["/air"].altitude[:2] == pytest.approx([0.0, 1.0], abs=0.01)
    assert again.report.messages == 24


def test_another_world_is_restored_from_mcap(tmp_path):
    fixes = receiver().in_frames(world="NED")
    strapdown.write(tmp_path / "ned.mcap", fixes)
    read = strapdown.open(tmp_path / "ned.mcap").gnss_series()
    assert read.replace(latitude=fixes.latitude, longitude=fixes.longitude) == fixes


def test_a_bag_of_a_driver_with_its_velocity(tmp_path):
    """As ublox_gps publishes: fix and fix_velocity with one stamp, and a command of others."""
    store = STORES[Wire.ROS1]
    types = store.types
    vector = types["geometry_msgs/msg/Vector3"]
    twist = types["geometry_msgs/msg/Twist"](vector(1.0, 2.0, 3.0), vector(0.0, 0.0, 0.0))
    covariance = np.zeros(36)
    covariance[[0, 7, 14]] = 0.01, 0.04, 0.09
    path = tmp_path / "ublox.bag"
    with Writer(path) as writer:
        fix = writer.add_connection("/gps/fix", "sensor_msgs/msg/NavSatFix", typestore=store)
        stamped = "geometry_msgs/msg/TwistWithCovarianceStamped"
        velocity = writer.add_connection("/gps/fix_velocity", stamped, typestore=store)
        plain = "geometry_msgs/msg/TwistStamped"
        command = writer.add_connection("/cmd_vel", plain, typestore=store)
        for k in range(3):
            t_ns = T0 + k * 200_000_000
            message = foreign(store, NavSatFix(**{**vars(FIX), "header_stamp_ns": t_ns}), k)
            writer.write(fix, t_ns, store.serialize_ros1(message, message.__msgtype__))
            moving = types["geometry_msgs/msg/TwistWithCovariance"](twist, covariance)
            data = store.serialize_ros1(types[stamped](message.header, moving), stamped)
            writer.write(velocity, t_ns, data)
            data = store.serialize_ros1(types[plain](message.header, twist), plain)
            writer.write(command, t_ns, data)
    recording = strapdown.open(path)
    fixes = recording.gnss_series()
    assert np.degrees(fixes.latitude) == pytest.approx(40.0966916, abs=1e-12)
    assert fixes.altitude.tolist() == [1601.435] * 3
    assert fixes.velocity_world.tolist() == [[1.0, 2.0, 3.0]] * 3
    assert np.diagonal(fixes.velocity_covariance[0]).tolist() == [0.01, 0.04, 0.09]
    assert recording.report.skipped == {"/cmd_vel": 3}
    assert recording.report.messages == 6


def test_a_damaged_fix_is_named_or_counted(tmp_path):
    from mcap.writer import Writer as McapWriter  # noqa: PLC0415

    path = tmp_path / "damaged.mcap"
    with path.open("wb") as stream:
        writer = McapWriter(stream)
        writer.start("ros2")
        schema = writer.register_schema("sensor_msgs/msg/NavSatFix", "ros2msg", b"")
        channel = writer.register_channel("/fix", "cdr", schema)
        for k, data in enumerate((FIX.to_cdr(), FIX.to_cdr()[:50], FIX.to_cdr())):
            writer.add_message(channel, k, data, k)
        writer.finish()
    with pytest.raises(FormatError, match="topic /fix: message 1: expected"):
        strapdown.open(path)
    recording = strapdown.open(path, on_error="salvage")
    assert len(recording.gnss_series()) == 2
    assert recording.report.lost_messages == 1
