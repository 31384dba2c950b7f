from __future__ import annotations

import threading
from uuid import uuid4

import numpy as np
import pytest

from strapdown.bridges.live import Relay
from strapdown.errors import TransportError
from strapdown.messages import Imu, Pose3D, RosImu, SensorCombined, VehicleImu, conversion
from strapdown.transport import Topic

MS = 1_000_000


@pytest.fixture
def relayed():
    """Return what passes messages on, and what came out with the report."""

    def run(kind, target, messages, **options):
        name = uuid4().hex
        with (
            Topic(kind, name=name, backend="local") as source,
            Topic(target, name=f"{name}.out", backend="local") as out,
        ):
            relay = Relay(source, out, **options)
            for message in messages:
                source.send(message)
            report = relay.run(threading.Event(), duration=0.05)
            return out.recv_all(), report

    return run


@pytest.fixture
def imu():
    message = Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 5 * MS)
    message.set_orientation_from_euler(0.1, 0.2, 0.3, covariance=0.01)
    return message


def test_messages_of_one_type_pass_as_they_are(relayed, imu):
    got, report = relayed(Imu, Imu, [imu, imu])
    assert got == [imu, imu]
    assert (report.received, report.sent, report.lost, report.refused) == (2, 2, 0, 0)
    assert report.left_out == {}


def test_a_message_gets_a_header_for_ros(relayed, imu):
    (got,), report = relayed(Imu, RosImu, [imu], frame_id="imu_link")
    assert got == conversion.ros_from_imu(imu, frame_id="imu_link")
    assert report.left_out == {}


def test_a_header_has_no_place_in_a_message_of_horus(relayed, imu):
    named = conversion.ros_from_imu(imu, frame_id="imu_link")
    (first, second), report = relayed(RosImu, Imu, [named, conversion.ros_from_imu(imu)])
    assert first == second == imu
    assert list(report.left_out.values()) == [1]


def test_a_frame_is_renamed_only_where_it_is_told(relayed, imu):
    message = conversion.ros_from_imu(imu, frame_id="old")
    assert [each.frame_id for each in relayed(RosImu, RosImu, [message])[0]] == ["old"]
    (renamed,), _ = relayed(RosImu, RosImu, [message], frame_id="new")
    assert renamed.frame_id == "new"


@pytest.mark.parametrize("target", [Imu, RosImu])
def test_increments_become_mean_rates_at_the_middle(relayed, target):
    message = VehicleImu(
        timestamp=20_000,
        timestamp_sample=20_000,
        delta_angle=[0.001, 0.002, 0.003],
        delta_velocity=[0.01, 0.02, -0.03],
        delta_angle_dt=10_000,
        delta_velocity_dt=10_000,
    )
    (got,), report = relayed(VehicleImu, target, [message])
    np.testing.assert_allclose(got.angular_velocity, [0.1, -0.2, -0.3], rtol=1e-6)
    np.testing.assert_allclose(got.linear_acceleration, [1.0, -2.0, 3.0], rtol=1e-6)
    stamp = got.timestamp_ns if target is Imu else got.header_stamp_ns
    assert stamp == 15 * MS
    assert report.left_out


def test_increments_become_the_rates_of_the_autopilot(relayed):
    message = VehicleImu(
        timestamp_sample=20_000, delta_angle=[0.5, 0.0, 0.0], delta_angle_dt=10_000
    )
    (got,), report = relayed(VehicleImu, SensorCombined, [message])
    assert got == conversion.convert(message, to=SensorCombined)
    assert report.sent == 1


@pytest.mark.parametrize("kind", [Imu, RosImu])
def test_rates_become_increments_since_the_message_before(relayed, kind):
    imus = [Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, k * 10 * MS) for k in (1, 2, 4)]
    messages = imus if kind is Imu else list(map(conversion.ros_from_imu, imus))
    got, report = relayed(kind, VehicleImu, messages)
    assert [each.delta_angle_dt for each in got] == [10_000, 20_000]
    np.testing.assert_allclose(got[1].delta_angle, [0.002, -0.004, -0.006], rtol=1e-6)
    assert (report.received, report.sent, report.refused) == (3, 2, 0)


def test_a_message_that_cannot_be_converted_is_counted_and_the_rest_passes(relayed):
    imus = [Imu(1.0, 2.0, 3.0, 0.1, 0.2, 0.3, k * 10 * MS) for k in (1, 3, 2, 4)]
    got, report = relayed(Imu, VehicleImu, imus)
    assert [each.delta_angle_dt for each in got] == [20_000, 20_000]
    assert (report.received, report.sent, report.refused) == (4, 2, 1)
    assert report.problem


def test_types_without_a_conversion_are_refused_before_anything_passes():
    with (
        Topic(Imu, name=uuid4().hex, backend="local") as source,
        Topic(Pose3D, name=uuid4().hex, backend="local") as out,
        pytest.raises(TransportError, match="got Imu and Pose3D"),
    ):
        Relay(source, out)


def test_what_gave_way_is_counted(imu):
    name = uuid4().hex
    with (
        Topic(Imu, 4, name=name, backend="local") as source,
        Topic(Imu, name=f"{name}.out", backend="local") as out,
    ):
        relay = Relay(source, out)
        for _ in range(10):
            source.send(imu)
        report = relay.run(threading.Event(), duration=0.01)
    assert (report.received, report.lost) == (4, 6)


def test_it_goes_on_until_told_to_stop_and_says_how_it_stands(imu, monkeypatch):
    monkeypatch.setattr("strapdown.bridges.live.relay.TELL_S", 0.05)
    name, stop, seen = uuid4().hex, threading.Event(), []
    with (
        Topic(Imu, name=name, backend="local") as source,
        Topic(Imu, name=f"{name}.out", backend="local") as out,
    ):
        relay = Relay(source, out)

        def look(report):
            seen.append(report)
            source.send(imu)
            if len(seen) == 3:
                stop.set()

        report = relay.run(stop, progress=look)
        assert [each.received for each in seen] == [0, 1, 2]
        assert report.sent == len(out.recv_all()) == 3
