"""MAVLink over real sockets, with pymavlink at the other end."""

from __future__ import annotations

import os
import socket
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink import mavutil
from pymavlink.dialects.v20 import common

from strapdown import ImuSeries
from strapdown.bridges import mavlink
from strapdown.bridges.mavlink import Decoder, Kind, MavlinkLink
from strapdown.errors import PeerLostError, ValueRangeError
from strapdown.simulation import find_motion
from strapdown.webots.file.sample_worlds import find_world
from strapdown.webots.world.world import World

MS = 1_000_000


@pytest.fixture
def connect(monkeypatch):
    """Return what opens the other end: pymavlink, by its own address."""
    monkeypatch.setitem(os.environ, "MAVLINK20", "1")

    opened = []

    def open_end(address):
        end = mavutil.mavlink_connection(address, dialect="common", source_system=42)
        opened.append(end)
        return end

    yield open_end
    for end in opened:
        end.close()


@pytest.fixture
def listener(connect):
    """Pymavlink as a receiver, and the address to send to."""
    end = connect("udpin:127.0.0.1:0")
    host, port = end.port.getsockname()
    return end, f"{host}:{port}"


def motion(count=50):
    t = np.arange(count) * 5 * MS
    angle = np.linspace(0.0, 1.0, count)[:, None]
    return ImuSeries(t, angle * [1.0, -2.0, 3.0], 9.81 - angle * [1.0, 2.0, 3.0])


def frames(count, kind="heartbeat", first=0, **sender):
    """Return frames with sequence numbers that count up, as pymavlink packs them."""
    packer = common.MAVLink(None, srcSystem=1, srcComponent=1)
    packed = []
    for number in range(first, first + count):
        packer.seq = number % 256
        message = (
            common.MAVLink_heartbeat_message(2, 3, 0, 0, 0, 3)
            if kind == "heartbeat"
            else common.MAVLink_scaled_imu_message(number, 1, 2, 3, 4, 5, 6, 7, 8, 9)
        )
        packed.append(message.pack(packer, **sender))
    return packed


def test_pymavlink_receives_every_sample_in_its_axes_and_units(listener):
    end, address = listener
    series = motion()
    with MavlinkLink(to=address, system=3, component=4) as link:
        report = link.send_imu(series, speed=np.inf)
    assert (report.messages, report.refused, report.saturated) == (50, 0, 0)
    got = [end.recv_match(type="HIL_SENSOR", blocking=True, timeout=5.0) for _ in range(50)]
    assert [m.time_usec for m in got] == (series.t_ns // 1000).tolist()
    flip = np.array([1.0, -1.0, -1.0])
    acc = [(m.xacc, m.yacc, m.zacc) for m in got]
    np.testing.assert_allclose(acc, series.specific_force * flip, rtol=1e-6)
    gyro = [(m.xgyro, m.ygyro, m.zgyro) for m in got]
    np.testing.assert_allclose(gyro, series.angular_velocity * flip, rtol=1e-6)
    assert {(m.get_srcSystem(), m.get_srcComponent()) for m in got} == {(3, 4)}
    assert (end.mav_count, end.mav_loss) == (50, 0)


def test_sequence_numbers_wrap_without_a_loss(listener):
    end, address = listener
    with MavlinkLink(to=address) as link:
        for block in range(3):
            link.send_imu(motion(100), kind="scaled_imu", speed=np.inf)
            for _ in range(100):
                assert end.recv_match(blocking=True, timeout=5.0).get_type() == "SCALED_IMU", block
    assert end.mav_loss == 0


def test_what_pymavlink_sends_is_received_and_answers_go_back(connect):
    with MavlinkLink(listen="0") as link:
        host, port = link.address
        assert host == "127.0.0.1"
        end = connect(f"udpout:127.0.0.1:{port}")
        with pytest.raises(PeerLostError, match="receive first"):
            link.send(Kind.SCALED_IMU, np.zeros(1, mavlink.DTYPES[Kind.SCALED_IMU]))
        sent = [12_345, *(0.1 * k for k in range(13)), 0x1FFF]
        end.mav.highres_imu_send(*sent)
        message = link.receive(timeout_s=5.0)
        (row,) = mavlink.records_from_messages(Kind.HIGHRES_IMU, [message])
        np.testing.assert_allclose(list(row.tolist())[:15], sent, rtol=1e-6)
        assert message.get_srcSystem() == 42
        link.send(Kind.SCALED_IMU, np.zeros(1, mavlink.DTYPES[Kind.SCALED_IMU]))
        assert end.recv_match(blocking=True, timeout=5.0).get_type() == "SCALED_IMU"


def test_receiving_gives_up_after_its_time():
    with MavlinkLink(listen="127.0.0.1:0") as link:
        begin = time.monotonic()
        assert link.receive(timeout_s=0.05) is None
        assert 0.04 < time.monotonic() - begin < 2.0
        assert link.receive(timeout_s=0.0) is None


def test_lost_and_late_frames_are_counted_by_sender():
    decoder = Decoder()
    packed = frames(600)
    for frame in [*packed[:250], *packed[260:280], packed[255], *packed[280:]]:
        decoder.datagram(frame)
    count = decoder.sources[1, 1]
    assert (count.messages, count.lost, count.late) == (591, 10, 1)
    other = common.MAVLink(None, srcSystem=9, srcComponent=1)
    decoder.datagram(common.MAVLink_heartbeat_message(2, 3, 0, 0, 0, 3).pack(other))
    assert decoder.sources[9, 1].lost == 0
    assert count.lost == 10


def test_a_datagram_with_garbage_keeps_its_frames_and_counts_the_rest():
    one, two, three = frames(3, "scaled")
    torn = b"\xfd\x18\x00" + one[:11]
    decoder = Decoder()
    messages = decoder.datagram(b"\x00\xfe\xfd" + one + b"junk" + torn + two + three + one[:9])
    assert [message.time_boot_ms for message in messages] == [0, 1, 2]
    assert decoder.bad_bytes == 3 + 4 + len(torn) + 9
    assert decoder.sources[1, 1].lost == 0


def test_a_flipped_bit_costs_one_frame_and_is_seen_twice():
    one, two, three = frames(3, "scaled")
    broken = bytearray(two)
    broken[15] ^= 0x10
    decoder = Decoder()
    messages = decoder.datagram(one + bytes(broken) + three)
    assert [message.time_boot_ms for message in messages] == [0, 2]
    assert decoder.bad_bytes == len(two)
    assert decoder.sources[1, 1].lost == 1


def test_mavlink_1_and_signed_frames_are_read():
    packer = common.MAVLink(None, srcSystem=1, srcComponent=1)
    packer.signing.secret_key = bytes(32)
    packer.signing.sign_outgoing = True
    signed = common.MAVLink_heartbeat_message(2, 3, 0, 0, 0, 3).pack(packer)
    (old,) = frames(1, force_mavlink1=True, first=1)
    assert (signed[2] & 1, old[0]) == (1, 0xFE)
    decoder = Decoder()
    assert len(decoder.datagram(signed + old)) == 2
    assert decoder.bad_bytes == 0
    assert decoder.sources[1, 1].lost == 0


def test_a_message_that_pymavlink_does_not_know_takes_its_place_in_the_sequence():
    one, two, three = frames(3)
    unknown = bytearray(two)
    unknown[7:10] = (0xFE, 0xFF, 0x70)
    decoder = Decoder()
    types = [message.get_type() for message in decoder.datagram(one + bytes(unknown) + three)]
    assert types == ["HEARTBEAT", f"UNKNOWN_{0x70FFFE}", "HEARTBEAT"]
    assert decoder.sources[1, 1].lost == 0


@given(st.binary(max_size=400), st.integers(0, 300))
def test_no_datagram_raises(junk, cut):
    decoder = Decoder()
    data = junk[:cut] + frames(1, "scaled")[0] + junk[cut:]
    decoder.datagram(data)
    decoder.datagram(b"\xfd" + junk)
    decoder.datagram(b"\xfe" + junk)
    assert 0 <= decoder.bad_bytes <= len(data) + 2 + 2 * len(junk)


def test_messages_that_find_nobody_are_counted():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    with MavlinkLink(to=str(port)) as link:
        report = link.send_imu(motion(5), speed=np.inf)
        assert (report.messages, report.refused) == (5, 5)
        assert link.receive(timeout_s=0.01) is None


def test_samples_go_out_at_the_times_of_their_stamps(listener):
    _, address = listener
    with MavlinkLink(to=address) as link:
        report = link.send_imu(motion(21), speed=0.5)  # 100 ms of stamps in 200 ms
        assert 0.195 < report.wall_s < 5.0
        assert link.send_imu(motion(21), speed=np.inf).wall_s < 0.19


def test_saturated_messages_are_counted(listener):
    _, address = listener
    series = motion(3).replace(angular_velocity=[[0, 0, 0], [33.0, 0, 0], [0, -40.0, 0]])
    with MavlinkLink(to=address) as link:
        assert link.send_imu(series, kind=Kind.SCALED_IMU, speed=np.inf).saturated == 2
        assert link.send_imu(series, kind=Kind.HIGHRES_IMU, speed=np.inf).saturated == 0


@pytest.mark.parametrize("speed", [0.0, -1.0, np.nan])
def test_the_speed_is_positive(listener, speed):
    with MavlinkLink(to=listener[1]) as link, pytest.raises(ValueRangeError, match="speed"):
        link.send_imu(motion(2), speed=speed)


@pytest.mark.parametrize(
    "ends",
    [
        {},
        {"to": "1", "listen": "2"},
        {"to": "127.0.0.1"},
        {"to": "0"},
        {"listen": "65536"},
        {"listen": "host:"},
        {"to": ""},
        {"to": "a..b:1"},
    ],
)
def test_an_address_is_a_port_with_a_host_or_without(ends):
    with pytest.raises(ValueRangeError, match="expected"):
        MavlinkLink(**ends)


def test_an_address_that_is_taken_is_an_error_of_the_system():
    with MavlinkLink(listen="0") as link:
        address = f"127.0.0.1:{link.address[1]}"
        with pytest.raises(OSError, match=f"in use: '{address}'"):
            MavlinkLink(listen=address)


def test_a_host_that_is_not_known_is_an_error_of_the_system_that_names_it():
    with pytest.raises(socket.gaierror) as caught:
        MavlinkLink(to="no such host:14550")
    assert caught.value.filename == "no such host:14550"


def test_a_simulated_robot_feeds_an_autopilot_in_lockstep(listener):
    """The robot makes a step only when the other end has answered the sample before."""
    end, address = listener
    steps = 50

    def autopilot():
        for number in range(steps):
            message = end.recv_match(type="HIL_SENSOR", blocking=True, timeout=10.0)
            heard.append(message)
            clock.append(world.step_count)
            time.sleep(0.0005 * (number % 3))  # the robot waits for a slow autopilot
            end.mav.hil_actuator_controls_send(message.time_usec, [0.0] * 16, 0, 0)

    world = World(find_world("imu_robot"), motion=find_motion("circle", duration_s=2.0), seed=1)
    port = world.port()
    tags = {info.kind: info.tag for info in port.configure().devices}
    gyro, accelerometer = tags["Gyro"], tags["Accelerometer"]
    requests = [(gyro, "period", (10,)), (accelerometer, "period", (10,))]
    heard, clock, sent = [], [], []
    thread = threading.Thread(target=autopilot)
    thread.start()
    with MavlinkLink(to=address) as link:
        for _ in range(steps):
            answer = port.exchange(10, requests)
            requests = []
            values = {tag: value for tag, _, value in answer.samples}
            t_ns = round(answer.time_s * 1e9)
            series = ImuSeries([t_ns], [values[gyro]], [values[accelerometer]])
            sent.append(series)
            link.send_imu(series)
            reply = link.receive(timeout_s=10.0)
            assert reply.get_type() == "HIL_ACTUATOR_CONTROLS"
            assert reply.time_usec == t_ns // 1000
    thread.join()
    assert clock == list(range(1, steps + 1))
    assert [m.time_usec for m in heard] == [10_000 * k for k in clock]
    assert link.decoder.sources[42, 0].lost == 0
    assert end.mav_loss == 0
    records = mavlink.records_from_messages(Kind.HIL_SENSOR, heard)
    assert set(records["fields_updated"].tolist()) == {0x3F}
    received = mavlink.series_from_records(Kind.HIL_SENSOR, records).in_frames(body="FLU")
    truth = ImuSeries.concatenate(sent)
    np.testing.assert_allclose(received.specific_force, truth.specific_force, rtol=1e-6)
    np.testing.assert_allclose(received.angular_velocity, truth.angular_velocity, rtol=1e-6)
    assert abs(records["zacc"].mean() + 9.81) < 0.1  # specific force of a level robot in FRD
