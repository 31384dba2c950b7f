"""Messages and recordings shared by the tests of binary formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from strapdown.formats import ReadReport, Recording
from strapdown.series import ImuSeries, Increments, SensorIdentity, Trajectory

START_NS = 1_700_000_000_123_456_789


class RosMessages:
    """Factory of messages in the types of rosbags, with distinct numbers."""

    def __init__(self, store):
        self.store = get_typestore(store)
        self.ros1 = store is Stores.ROS1_NOETIC

    def _type(self, name):
        return self.store.types[name]

    def header(self, stamp_ns, frame_id, seq=0):
        seconds, nanoseconds = divmod(stamp_ns, 10**9)
        stamp = self._type("builtin_interfaces/msg/Time")(seconds, nanoseconds)
        kind = self._type("std_msgs/msg/Header")
        return kind(seq, stamp, frame_id) if self.ros1 else kind(stamp, frame_id)

    def vector(self, numbers):
        return self._type("geometry_msgs/msg/Vector3")(*map(float, numbers))

    def quaternion(self, numbers):
        return self._type("geometry_msgs/msg/Quaternion")(*map(float, numbers))

    def imu(self, stamp_ns, numbers, frame_id="imu_link", seq=0):
        """Return a message of 37 numbers in the order of the message."""
        return self._type("sensor_msgs/msg/Imu")(
            self.header(stamp_ns, frame_id, seq),
            self.quaternion(numbers[:4]),
            np.array(numbers[4:13], float),
            self.vector(numbers[13:16]),
            np.array(numbers[16:25], float),
            self.vector(numbers[25:28]),
            np.array(numbers[28:37], float),
        )

    def magnetic_field(self, stamp_ns, field):
        kind = self._type("sensor_msgs/msg/MagneticField")
        return kind(self.header(stamp_ns, "imu_link"), self.vector(field), np.zeros(9))

    def text(self, words):
        return self._type("std_msgs/msg/String")(words)

    def serialize(self, message):
        if self.ros1:
            return bytes(self.store.serialize_ros1(message, message.__msgtype__))
        return bytes(self.store.serialize_cdr(message, message.__msgtype__))


@pytest.fixture(scope="session")
def ros2():
    return RosMessages(Stores.ROS2_HUMBLE)


@pytest.fixture(scope="session")
def ros1():
    return RosMessages(Stores.ROS1_NOETIC)


@pytest.fixture(scope="session")
def imu_numbers():
    """Stamps and 37 numbers of forty messages sensor_msgs/Imu, all numbers distinct."""
    numbers = np.random.default_rng(1).normal(size=(40, 37))
    numbers[:, :4] /= np.linalg.norm(numbers[:, :4], axis=1, keepdims=True)
    numbers[:, [4, 16, 28]] = np.abs(
        numbers[:, [4, 16, 28]]
    )  # a negative number would mean: absent
    return START_NS + np.arange(40) * 5_000_001, numbers


@pytest.fixture
def assert_same_imu(imu_numbers):
    """Compare a series with the numbers, field by field, and its stamps to the nanosecond."""

    def compare(series, rows=slice(None), name="imu_link"):
        stamps, numbers = imu_numbers[0][rows], imu_numbers[1][rows]
        assert series.t_ns.tolist() == stamps.tolist()
        assert series.q_world_from_body.tolist() == numbers[:, :4].tolist()
        assert series.angular_velocity.tolist() == numbers[:, 13:16].tolist()
        assert series.specific_force.tolist() == numbers[:, 25:28].tolist()
        for column, first in (
            (series.orientation_covariance, 4),
            (series.angular_velocity_covariance, 16),
            (series.specific_force_covariance, 28),
        ):
            assert column.reshape(-1, 9).tolist() == numbers[:, first : first + 9].tolist()
        assert (series.body, series.world) == ("FLU", "ENU")
        assert series.sensor.name == name

    return compare


@pytest.fixture
def recording():
    """A recording with one topic of every kind, 60 rows each."""
    rng = np.random.default_rng(2)
    rows = 60
    t_ns = START_NS + np.arange(rows) * 10_000_000
    q = rng.normal(size=(rows, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    field = rng.normal(size=(rows, 3)) * 1e-5
    field[1::2] = np.nan
    imu = ImuSeries(
        t_ns,
        rng.normal(size=(rows, 3)),
        rng.normal(size=(rows, 3)),
        magnetic_field=field,
        q_world_from_body=q,
        orientation_covariance=np.tile(np.diag([0.1, 0.2, 0.3]), (rows, 1, 1)),
        sensor=SensorIdentity("imu_link", 5, 7),
    )
    plain = ImuSeries(t_ns + 1_000, rng.normal(size=(rows, 3)), rng.normal(size=(rows, 3)))
    truth = Trajectory(
        t_ns,
        q,
        position_world=rng.normal(size=(rows, 3)),
        velocity_world=rng.normal(size=(rows, 3)),
        moving=rng.random(rows) > 0.5,
        name="truth",
    )
    increments = Increments(
        t_ns // 1000 * 1000,
        rng.normal(size=(rows, 3)).astype(np.float32),
        rng.normal(size=(rows, 3)).astype(np.float32),
        np.full(rows, 10_000_000),
        np.full(rows, 9_999_000),
        gyro_clipping=rng.integers(0, 8, rows).astype(np.uint8),
        accel_calibration_count=np.ones(rows, np.uint8),
        body="FRD",
        sensor=SensorIdentity("", 11, 12),
    )
    return Recording(
        Path("by hand"),
        ReadReport("hand"),
        imu={"imu/data": imu, "imu/data_raw": plain},
        trajectories={"truth": truth, "attitude": Trajectory(t_ns, q)},
        increments={"vehicle_imu": increments},
    )
