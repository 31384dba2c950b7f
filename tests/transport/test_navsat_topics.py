"""Fixes as messages of topics."""

from __future__ import annotations

import math
from uuid import uuid4

import pytest
from rosbags.typesys import Stores, get_typestore

import strapdown
from strapdown import Topic
from strapdown.bridges.live import Recorder
from strapdown.errors import FormatError
from strapdown.formats import McapWriter
from strapdown.messages import FluidPressure, NavSatFix, Wire
from strapdown.transport.ros_messages import ros_form
from strapdown.transport.wire import message_type, wire_form

FIX = NavSatFix(
    1_700_000_001_000_000_002, "gps", status=2, latitude=40.1, longitude=-105.1, altitude=1601.4,
    position_covariance=(0.01, 0.0, 0.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.03),
    position_covariance_type=NavSatFix.COVARIANCE_KNOWN,
)  # fmt: skip


@pytest.mark.parametrize("backend", ["local", "ipc"])
def test_a_topic_carries_fixes(backend):
    name = f"fixes_{uuid4().hex[:8]}"
    with (
        Topic(NavSatFix, 8, name=name, backend=backend) as sender,
        Topic(NavSatFix, 8, name=name, backend=backend) as receiver,
    ):
        receiver.try_recv()
        sender.send(FIX)
        assert receiver.recv(timeout=5.0) == FIX


def test_addresses_name_the_type():
    assert message_type("NavSatFix") is NavSatFix


@pytest.mark.parametrize("wire", Wire)
def test_rosbags_reads_a_fix(wire):
    form = ros_form(NavSatFix)
    data = form.encode(wire_form(NavSatFix).encode(FIX), "other", wire, 5)
    store = get_typestore(Stores.ROS1_NOETIC if wire is Wire.ROS1 else Stores.ROS2_HUMBLE)
    read = store.deserialize_ros1 if wire is Wire.ROS1 else store.deserialize_cdr
    message = read(data, "sensor_msgs/msg/NavSatFix")
    assert message.header.frame_id == "gps"
    assert (message.latitude, message.longitude, message.altitude) == (40.1, -105.1, 1601.4)
    assert message.status.status == 2
    assert message.position_covariance.tolist() == list(FIX.position_covariance)
    assert NavSatFix.from_cdr(form.decode(data, wire)) == FIX
    bare = NavSatFix(5)
    encoded = form.encode(bare.to_cdr(), "given", wire, 0)
    assert NavSatFix.from_wire(encoded, wire).frame_id == "given"


def test_a_fix_that_ros_2_cannot_hold_is_refused():
    late = NavSatFix(3_000_000_000 * 10**9)
    with pytest.raises(FormatError):
        ros_form(NavSatFix).decode(late.to_ros1(), Wire.ROS1)


def test_a_recorder_writes_fixes(tmp_path):
    with McapWriter(tmp_path / "fixes.mcap") as writer:
        writer.write("gps/fix", FIX)
    fixes = strapdown.open(tmp_path / "fixes.mcap").gnss_series("gps/fix")
    assert fixes.t_ns.tolist() == [FIX.header_stamp_ns]
    assert fixes.latitude[0] == pytest.approx(math.radians(40.1), abs=1e-15)
    assert fixes.position_covariance[0, 1, 1] == 0.02


PRESSURE = FluidPressure(1_700_000_001_000_000_002, "baro", 101_325.25, 4.0)


@pytest.mark.parametrize("wire", Wire)
def test_rosbags_reads_a_pressure_and_writes_the_same_bytes(wire):
    form = ros_form(FluidPressure, wire)
    data = form.encode(wire_form(FluidPressure).encode(PRESSURE), "other", wire, 5)
    store = get_typestore(Stores.ROS1_NOETIC if wire is Wire.ROS1 else Stores.ROS2_HUMBLE)
    ros1 = wire is Wire.ROS1
    read = store.deserialize_ros1 if ros1 else store.deserialize_cdr
    write = store.serialize_ros1 if ros1 else store.serialize_cdr
    message = read(data, "sensor_msgs/msg/FluidPressure")
    assert message.header.frame_id == "baro"
    assert (message.fluid_pressure, message.variance) == (101_325.25, 4.0)
    assert bytes(write(message, "sensor_msgs/msg/FluidPressure")) == data
    assert FluidPressure.from_cdr(form.decode(data, wire)) == PRESSURE
    assert FluidPressure.from_ros1(PRESSURE.to_ros1()) == PRESSURE


def test_a_topic_carries_pressures_and_a_recording_holds_them(tmp_path):
    name = f"pressure_{uuid4().hex[:8]}"
    with (
        Topic(FluidPressure, 8, name=name, backend="local") as sender,
        Topic(FluidPressure, 8, name=name, backend="local") as receiver,
        Recorder(tmp_path / "run.mcap") as recorder,
    ):
        receiver.try_recv()
        sender.send(PRESSURE)
        message = receiver.recv(timeout=5.0)
        assert message == PRESSURE
        recorder.add("baro", FluidPressure)
        recorder.write("baro", message)
    (series,) = strapdown.open(tmp_path / "run.mcap").barometers.values()
    assert series.pressure.tolist() == [101_325.25]
    assert series.altitude[0] == pytest.approx(-0.02, abs=0.01)  # 8.3 m per hPa
