"""Magnetometers in bags and MCAP files, written by rosbags: types, units and the IMU they join."""

from __future__ import annotations

import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import StoragePlugin
from rosbags.rosbag2 import Writer as Writer2

import strapdown

FIELD_T = np.array([2e-5, -1e-5, -4e-5])


@pytest.fixture(params=["bag", "db3", "mcap"])
def bag(request, ros1, ros2, imu_numbers, tmp_path):
    """Write an IMU topic, and vectors on another, at every fourth stamp and 3 ms after it."""
    ros = ros1 if request.param == "bag" else ros2
    path = tmp_path / "recording"

    def write(kind, topic, vector, *, imu_topic="/imu/data", frame="imu_link"):
        if request.param == "bag":
            writer = Writer1(path)
        else:
            plugin = StoragePlugin.MCAP if request.param == "mcap" else StoragePlugin.SQLITE3
            writer = Writer2(path, version=9, storage_plugin=plugin)
        with writer:
            imu = writer.add_connection(imu_topic, "sensor_msgs/msg/Imu", typestore=ros.store)
            mag = writer.add_connection(topic, kind, typestore=ros.store)
            for row, (stamp, numbers) in enumerate(zip(*imu_numbers, strict=True)):
                writer.write(imu, int(stamp), ros.serialize(ros.imu(int(stamp), numbers)))
                if row % 4 == 0:
                    message = vector_message(ros, kind, int(stamp) + 2_000_000, vector, frame)
                    writer.write(mag, int(stamp), ros.serialize(message))
        return strapdown.open(path)

    return write


def vector_message(ros, kind, stamp_ns, vector, frame):
    header, vector = ros.header(stamp_ns, frame), ros.vector(vector)
    extra = [np.zeros(9)] if kind.endswith("MagneticField") else []
    return ros.store.types[kind](header, vector, *extra)


MAGNETIC_FIELD, VECTOR = "sensor_msgs/msg/MagneticField", "geometry_msgs/msg/Vector3Stamped"


@pytest.mark.parametrize(
    ("kind", "factor", "unit"),
    [
        (MAGNETIC_FIELD, 1.0, None),
        (VECTOR, 1.0, "T"),
        (VECTOR, 1e4, "gauss"),
        (VECTOR, 1e6, "uT"),
    ],
)
def test_a_magnetometer_of_either_type_joins_its_imu_in_tesla(bag, kind, factor, unit):
    back = bag(kind, "/imu/mag", FIELD_T * factor)
    field = back.imu["/imu/data"].magnetic_field
    np.testing.assert_allclose(field[::4], [FIELD_T] * 10, rtol=1e-12)
    assert np.isnan(field).any(1).sum() == 30
    assert (back.report.messages, back.report.skipped) == (50, {})
    norm = f"{np.linalg.norm(FIELD_T) * factor:.3g}"
    expected = f"/imu/mag: taken for {unit}, because the median norm is {norm}"
    assert [note for note in back.report.notes if "mag" in note] == [expected] * bool(unit)


def test_a_magnetometer_of_another_namespace_joins_by_its_frame(bag):
    back = bag(MAGNETIC_FIELD, "/compass/magnetic", FIELD_T)
    assert np.isfinite(back.imu["/imu/data"].magnetic_field).all(1).sum() == 10
    assert "/compass/magnetic: joined to /imu/data, by the frame imu_link" in back.report.notes


def test_a_magnetometer_elsewhere_is_counted_and_named(bag):
    back = bag(MAGNETIC_FIELD, "/compass/magnetic", FIELD_T, frame="compass")
    assert back.imu["/imu/data"].magnetic_field is None
    assert back.report.skipped == {"/compass/magnetic": 10}
    note = "/compass/magnetic: left out, there is no topic that it belongs to"
    assert note in back.report.notes


@pytest.mark.parametrize("vector", [[300.0, 10.0, 20.0], [0.0, 0.0, 0.0], [np.nan] * 3])
def test_vectors_of_no_known_unit_are_counted_and_named(bag, vector):
    back = bag(VECTOR, "/imu/mag", vector)
    assert back.imu["/imu/data"].magnetic_field is None
    assert back.report.skipped == {"/imu/mag": 10}
    assert any("is no field of the Earth in T, gauss, uT" in note for note in back.report.notes)


def test_other_vectors_are_no_magnetometers(bag):
    back = bag(VECTOR, "/imu/image_motion", FIELD_T)
    assert back.imu["/imu/data"].magnetic_field is None
    assert back.report.skipped == {"/imu/image_motion": 10}
