"""Magnetic fields as messages of topics."""

from __future__ import annotations

import os
import socket
import threading
import time
from uuid import uuid4

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore
from typer.testing import CliRunner

import strapdown
from strapdown import Topic
from strapdown.bridges.live import fuse_topic
from strapdown.cli._app import app
from strapdown.cli._rows import message_fields
from strapdown.errors import FormatError
from strapdown.estimation import FILTERS
from strapdown.formats import McapWriter
from strapdown.messages import Imu, MagneticField, Pose3D, Wire
from strapdown.transport import Ros2, Zenoh
from strapdown.transport.ros_messages import message_type_of, ros_form, type_carried
from strapdown.transport.wire import message_type, wire_form

pytestmark = pytest.mark.xdist_group("transport")

NAME = "sensor_msgs/msg/MagneticField"
FIELD = MagneticField(
    1_700_000_001_000_000_002, "imu_link", (2e-5, -1e-5, -4e-5), (1e-14, *[0.0] * 8)
)


@pytest.fixture
def name():
    return f"field_{uuid4().hex[:8]}"


@pytest.fixture(params=["local", "ipc", "zenoh"])
def ends(request, name):
    """Two handles of a topic of fields, through a backend."""
    one = other = request.param
    if request.param == "zenoh":
        pytest.importorskip("zenoh")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            endpoint = f"tcp/127.0.0.1:{probe.getsockname()[1]}"
        one, other = Zenoh(listen=(endpoint,)), Zenoh(connect=(endpoint,))
    with (
        Topic(MagneticField, 8, name=name, backend=one) as sender,
        Topic(MagneticField, 8, name=name, backend=other) as receiver,
    ):
        receiver.try_recv()
        assert request.param == "local" or sender.wait_for_subscriber(20.0)
        yield sender, receiver


def test_a_topic_carries_fields(ends):
    sender, receiver = ends
    sender.send(FIELD)
    assert receiver.recv(timeout=5.0) == FIELD


def test_a_filter_takes_fields_over_dds(name):
    pytest.importorskip("cyclonedds")
    backend, stop = Ros2(domain=10 + os.getpid() % 90), threading.Event()
    with (
        Topic(Imu, 512, name=name, backend=backend) as imus,
        Topic(MagneticField, 512, name=f"{name}/mag", backend=backend) as fields,
        Topic(Imu, 512, name=name, backend=backend) as source,
        Topic(MagneticField, 512, name=f"{name}/mag", backend=backend) as magnetometer,
        Topic(Pose3D, 512, name=f"{name}/pose", backend="local") as target,
        Topic(Pose3D, 512, name=f"{name}/pose", backend="local") as receiver,
    ):
        for each in (source, magnetometer, receiver):
            each.try_recv()
        assert imus.wait_for_subscriber(20.0)
        assert fields.wait_for_subscriber(20.0)

        def work():
            fuse_topic(source, target, FILTERS["vqf"](), stop=stop, field=magnetometer)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            for number in range(1, 101):
                t_ns = FIELD.header_stamp_ns + number * 10_000_000
                fields.send(MagneticField(t_ns, "", (1.5e-5, -1.5e-5, -4e-5)))
                time.sleep(0.002)
                imus.send(Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, t_ns))
            poses = [receiver.recv(timeout=20.0) for _ in range(100)]
        finally:
            stop.set()
            worker.join()
    yaw = 2.0 * np.arctan2(poses[-1].qz, poses[-1].qw)
    assert np.degrees(yaw) == pytest.approx(135.0, abs=1.0)


def test_addresses_and_ros_names_give_the_type():
    assert message_type("MagneticField") is MagneticField
    for ros_name in (NAME, "sensor_msgs/MagneticField", "sensor_msgs::msg::dds_::MagneticField_"):
        assert message_type_of(ros_name) is MagneticField
    assert type_carried("/imu/mag", [NAME]) is MagneticField


@pytest.mark.parametrize("wire", Wire)
def test_rosbags_reads_a_field_and_writes_the_same_bytes(wire):
    form = ros_form(MagneticField, wire)
    data = form.encode(wire_form(MagneticField).encode(FIELD), "other", wire, 5)
    ros1 = wire is Wire.ROS1
    store = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE)
    read = store.deserialize_ros1 if ros1 else store.deserialize_cdr
    write = store.serialize_ros1 if ros1 else store.serialize_cdr
    message = read(data, NAME)
    assert message.header.frame_id == "imu_link"
    vector = message.magnetic_field
    assert (vector.x, vector.y, vector.z) == FIELD.magnetic_field
    assert tuple(message.magnetic_field_covariance) == FIELD.magnetic_field_covariance
    assert bytes(write(message, NAME)) == data
    assert MagneticField.from_cdr(form.decode(data, wire)) == FIELD
    encoded = form.encode(MagneticField(5).to_cdr(), "given", wire, 0)
    assert MagneticField.from_wire(encoded, wire).frame_id == "given"


def test_a_field_that_ros_2_cannot_hold_is_refused():
    late = MagneticField(3_000_000_000 * 10**9)
    with pytest.raises(FormatError):
        ros_form(MagneticField).decode(late.to_ros1(), Wire.ROS1)


def test_a_recording_of_both_topics_reads_back_as_one_series(tmp_path):
    with McapWriter(tmp_path / "run.mcap") as writer:
        for number in range(10):
            t_ns = FIELD.header_stamp_ns + number * 10_000_000
            writer.write("imu", Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.0, t_ns))
            if number % 2 == 0:
                writer.write("mag", MagneticField(t_ns + 2_000_000, "", FIELD.magnetic_field))
    (series,) = strapdown.open(tmp_path / "run.mcap").imu.values()
    assert series.magnetic_field[::2].tolist() == [list(FIELD.magnetic_field)] * 5
    assert np.isnan(series.magnetic_field[1::2]).all()


def test_cat_prints_a_field(name):
    with Topic(MagneticField, 8, name=name, backend="local") as topic:
        topic.send(FIELD)
        address = f"local:{name}?type=MagneticField"
        done = CliRunner().invoke(app, ["cat", address, "--count", "1", "--format", "csv"])
    assert done.exit_code == 0, done.output
    assert "T, body FLU" in done.stderr
    assert "magnetic_field_x,magnetic_field_y,magnetic_field_z" in done.stdout
    assert "2e-05,-1e-05,-4e-05" in done.stdout
    assert message_fields(FIELD)["stamp_ns"] == FIELD.header_stamp_ns
