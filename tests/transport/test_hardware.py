"""Sensors at a pseudo-terminal, in datagrams and in a made-up tree of IIO, as topics."""

from __future__ import annotations

import json
import os
import pty
import socket
import struct
import time
import tty
from contextlib import contextmanager
from threading import Thread

import numpy as np
import pytest
from typer.testing import CliRunner

import strapdown
from strapdown.bridges.live import Pipeline
from strapdown.cli._app import app
from strapdown.errors import BackendMissingError, TransportError
from strapdown.messages import CovarianceStatus, Imu, Pose3D
from strapdown.transport import Iio, Serial, Topic, Udp
from strapdown.transport.address import find_type, open_topic, parse_address

pytestmark = pytest.mark.xdist_group("transport")

G = 9.80665
PATIENCE_S = 20.0
XSENS = bytes.fromhex(  # as in test_hardware_protocols
    "FAFF3631102002DFC510600400459DA040200CBEDC9AFA3F549F37411CBB70"
    "80200CBBAA5C803B8C5501BB813300E020040000008145"
)
runner = CliRunner()


def line(k, *, z=1.0):
    return f"I,{1_000_000 + 10_000 * k},0.0000,0.0000,{k}.0000,0.0000,0.0000,{z:.4f}\r\n".encode()


def received(topic, count):
    """Return so many messages of a topic."""
    found, end = [], time.monotonic() + PATIENCE_S
    while len(found) < count:
        message = topic.recv(timeout=0.2)
        if message is not None:
            found.append(message)
        assert time.monotonic() < end, (len(found), topic.stats())
    return found


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def port():
    """A pseudo-terminal: the end of the sensor, and the path of the port."""
    pytest.importorskip("serial")
    sensor, host = pty.openpty()
    tty.setraw(host)
    yield sensor, os.ttyname(host)
    os.close(sensor)
    os.close(host)


def test_samples_at_a_serial_port_are_messages_of_a_topic(port):
    sensor, path = port
    with Topic(Imu, name=path, backend=Serial(protocol="x-imu3")) as topic:
        before_ns = time.time_ns()
        thread = sending(sensor, 30)
        found = received(topic, 30)
        thread.join()
        assert topic.stats().publishers == 1
    np.testing.assert_allclose([each.gyro_z for each in found], np.radians(range(30)))
    assert [each.accel_z for each in found] == [G] * 30
    stamps = np.array([each.timestamp_ns for each in found])
    assert (np.diff(stamps) > 0).all()
    assert np.median(np.diff(stamps)) == pytest.approx(1e7, abs=2e3)  # 100 ppm
    assert abs(stamps[0] - before_ns) < 1e9
    assert found[0].angular_velocity_status is CovarianceStatus.UNKNOWN
    assert not found[0].has_orientation()


def test_stamps_may_be_arrivals(port):
    sensor, path = port
    backend = Serial(protocol="x-imu3", stamps="host", baud=115200)
    with Topic(Imu, name=path, backend=backend) as topic:
        os.write(sensor, line(0) + line(100))
        first, second = received(topic, 2)
    # The last one arrives when it is read, the one before it by the time of transfer earlier.
    bits = 10 * len(line(100))
    assert second.timestamp_ns - first.timestamp_ns == pytest.approx(bits * 1e9 / 115200, rel=1e-3)


def test_damage_and_losses_are_counted_by_the_topic_and_said_at_the_end(port, caplog):
    sensor, path = port
    later = bytearray(XSENS)
    later[8] += 4
    later[-1] = -sum(later[1:-1]) & 0xFF
    bad = bytearray(XSENS)
    bad[20] ^= 1
    with Topic(Imu, name=path, backend=Serial(protocol="xsens-mti")) as topic:
        os.write(sensor, XSENS + bytes(bad) + bytes(later))
        received(topic, 2)
        stats = topic.stats()
    assert stats.malformed == 1
    assert stats.lost_transport == 3
    assert stats.received == 2
    assert "2 samples, 1 bad checksum, " in caplog.text
    assert "3 lost by the count of the sensor" in caplog.text


def test_bytes_of_another_protocol_are_a_problem(port, caplog):
    sensor, path = port
    with Topic(Imu, name=path, backend=Serial(protocol="xsens-mti")) as topic:
        topic.try_recv()
        for k in range(100):
            os.write(sensor, line(k))
        until(lambda: topic.stats().problem)
        assert "check protocol, baud" in topic.stats().problem
    assert caplog.text.count("check protocol, baud") == 1


def test_a_port_that_goes_and_comes_again(tmp_path):
    pytest.importorskip("serial")
    link = tmp_path / "imu"

    @contextmanager
    def plugged():
        sensor, host = pty.openpty()
        tty.setraw(host)
        link.symlink_to(os.ttyname(host))
        yield sensor
        link.unlink()
        os.close(sensor)
        os.close(host)

    with plugged() as sensor:
        topic = Topic(Imu, name=str(link), backend=Serial(protocol="x-imu3"))
        os.write(sensor, line(0))
        received(topic, 1)
    with topic:
        until(lambda: topic.stats().problem)
        assert topic.stats().publishers == 0
        with plugged() as sensor:
            until(lambda: not topic.stats().problem)
            os.write(sensor, line(1))
            received(topic, 1)


WRONG = {
    "serial:/dev/none?protocol=x-imu3": "serial:/dev/none: there is no such port",
    "serial:/dev/null?protocol=csv": "serial:/dev/null: expected a serial port, got another file",
    "serial:/dev/none?protocol=csv&baud=0": "expected a positive baud, got 0",
    "serial:/dev/none": "serial:/dev/none: expected ?protocol= with one of csv, microstrain-mip",
    "serial:/dev/null?protocol=csv&stamps=gps": "expected stamps=device or stamps=host",
    "udp:imu?protocol=csv": "expected the number of a port, such as udp:5005, got udp:imu",
    "udp:5005?protocol=csv&host=192.0.2.1": "udp:5005 at 192.0.2.1: ",
    "iio:7?root=/nowhere": "iio:7: there is no such device in /nowhere; there are: none",
    "iio:7?mode=fast": "expected mode as auto or buffer or poll, got 'fast'",
}


@pytest.mark.parametrize("address", WRONG)
def test_what_cannot_be_opened_is_said(address):
    pytest.importorskip("serial")
    with pytest.raises(TransportError) as caught, open_topic(address) as topic:
        topic.try_recv()
    assert WRONG[address] in str(caught.value)


def test_without_pyserial_it_says_what_to_install(monkeypatch, port):
    monkeypatch.setitem(__import__("sys").modules, "serial", None)
    with (
        pytest.raises(BackendMissingError, match=r"strapdown\[hardware\]"),
        Topic(Imu, name=port[1], backend=Serial(protocol="csv")) as topic,
    ):
        topic.try_recv()


def test_a_sensor_only_receives_and_only_imu_messages(port):
    backend = Serial(protocol="csv")
    with (
        Topic(Imu, name=port[1], backend=backend) as topic,
        pytest.raises(TransportError, match="only receives"),
    ):
        topic.send(Imu(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    with (
        pytest.raises(TransportError, match=f"{port[1]} has .* Imu, got Pose3D; .* only sends"),
        Topic(Pose3D, name=port[1], backend=backend) as topic,
    ):
        topic.try_recv()


def test_addresses_of_sensors():
    address = parse_address("serial:/dev/ttyUSB0?protocol=x-imu3&baud=9600")
    assert address.backend == Serial(protocol="x-imu3", baud=9600)
    assert address.name == "/dev/ttyUSB0"
    assert find_type(address) is Imu


# -- datagrams -------------------------------------------------------------------------------------


def test_datagrams_are_read_with_or_without_the_end_of_a_line():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        number = probe.getsockname()[1]
    with (
        Topic(Imu, name=str(number), backend=Udp(protocol="csv")) as topic,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sensor,
    ):
        topic.try_recv()
        for text in (b"0,0,0,1,0,0,0\n1000,0,0,1,0,0,0", b"2000,0,0,1,0,0,180\n", b"3000,0,0"):
            sensor.sendto(text, ("127.0.0.1", number))
            time.sleep(0.005)
        found = received(topic, 3)
        until(lambda: topic.stats().malformed)
    assert found[2].gyro_z == pytest.approx(np.pi)
    assert np.diff([each.timestamp_ns for each in found]) == pytest.approx([1e6] * 2, abs=200)


# -- IIO -------------------------------------------------------------------------------------------

MOUNT = "0, 1, 0; -1, 0, 0; 0, 0, 1"


@pytest.fixture
def iio(tmp_path):
    """The attributes of a BMI160 as its driver has them, with a FIFO in place of the buffer."""
    device = tmp_path / "sys" / "iio:device3"
    attributes = {
        "name": "bmi160",
        "in_accel_scale": "0.000598",
        "in_anglvel_scale": "0.001065",
        "in_anglvel_offset": "10",
        "in_accel_mount_matrix": MOUNT,
        "in_accel_sampling_frequency": "100.000000",
        "buffer/enable": "0",
        "buffer/length": "2",
        "scan_elements/in_timestamp_en": "0",
        "scan_elements/in_timestamp_index": "6",
        "scan_elements/in_timestamp_type": "le:s64/64>>0",
    }
    for number, kind in enumerate(("anglvel", "accel")):
        for at, axis in enumerate("xyz"):
            attributes[f"in_{kind}_{axis}_raw"] = str(100 * number + at)
            element = f"scan_elements/in_{kind}_{axis}"
            attributes[f"{element}_en"] = "0"
            attributes[f"{element}_index"] = str(3 * number + at)
            attributes[f"{element}_type"] = "le:s16/16>>0"
    for name, value in attributes.items():
        path = device / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{value}\n")
    (tmp_path / "dev").mkdir()
    os.mkfifo(tmp_path / "dev" / "iio:device3")
    return tmp_path


def iio_topic(folder, name="3", mode="auto"):
    backend = Iio(mode, root=str(folder / "sys"), dev=str(folder / "dev"))
    return Topic(Imu, name=name, backend=backend)


@pytest.mark.parametrize("name", ["3", "bmi160"])
def test_scans_of_a_buffer_are_samples_in_si_units_with_the_stamps_of_the_kernel(iio, name):
    with iio_topic(iio, name) as topic:
        topic.try_recv()
        assert (iio / "sys/iio:device3/buffer/enable").read_text() == "1"
        assert (iio / "sys/iio:device3/scan_elements/in_accel_y_en").read_text() == "1"
        with (iio / "dev/iio:device3").open("wb", buffering=0) as buffer:
            for k in range(4):
                scan = struct.pack("<6hxxxxq", 0, -10, 990, 1000, 2000, 16000 + k, 10**18 + k)
                buffer.write(scan[:7])
                buffer.write(scan[7:])
            found = received(topic, 4)
    assert (iio / "sys/iio:device3/buffer/enable").read_text() == "0"
    assert [each.timestamp_ns for each in found] == [10**18 + k for k in range(4)]
    np.testing.assert_allclose(found[0].angular_velocity, 0.001065 * np.array([10.0, 0.0, 1000.0]))
    np.testing.assert_allclose(
        found[3].linear_acceleration, 0.000598 * np.array([2000.0, -1000.0, 16003.0])
    )


def test_stamps_of_another_clock_of_the_kernel_become_those_of_the_wall_clock(iio):
    (iio / "sys/iio:device3/current_timestamp_clock").write_text("monotonic\n")
    with iio_topic(iio) as topic:
        topic.try_recv()
        with (iio / "dev/iio:device3").open("wb", buffering=0) as buffer:
            scans = (struct.pack("<6hxxxxq", *range(6), 10**9 * k) for k in range(3))
            buffer.write(b"".join(scans))
            found = received(topic, 3)
        now_ns = time.time_ns()
    stamps = [each.timestamp_ns for each in found]
    assert np.diff(stamps).tolist() == [10**9, 10**9]
    assert 0 <= now_ns - stamps[-1] < 10**9


def test_without_a_buffer_attributes_are_polled(iio):
    with iio_topic(iio, mode="poll") as topic:
        found = received(topic, 5)
    steps = np.diff([each.timestamp_ns for each in found])
    assert steps.min() > 0
    np.testing.assert_allclose(
        found[0].linear_acceleration, 0.000598 * np.array([101.0, -100.0, 102.0])
    )
    np.testing.assert_allclose(found[0].angular_velocity, 0.001065 * np.array([10.0, 11.0, 12.0]))


def test_a_slow_device_is_polled_at_its_rate(iio):
    (iio / "sys/iio:device3/in_accel_sampling_frequency").write_text("4\n")
    with iio_topic(iio, mode="poll") as topic:
        found = received(topic, 3)
    steps = np.diff([each.timestamp_ns for each in found])
    assert steps == pytest.approx([2.5e8] * 2, rel=0.3)


def test_a_buffer_that_cannot_be_enabled_is_polled_or_said(iio):
    (iio / "dev/iio:device3").unlink()
    (iio / "sys/iio:device3/buffer/enable").write_text("1")  # by the program that uses it
    with iio_topic(iio) as topic:
        received(topic, 2)
    assert (iio / "sys/iio:device3/buffer/enable").read_text() == "1"
    with (
        pytest.raises(TransportError, match=r"the buffer cannot be enabled: .*mode=poll"),
        iio_topic(iio, mode="buffer") as topic,
    ):
        topic.try_recv()


def test_a_device_without_gyro_marks_the_angular_velocity_as_absent(iio):
    for axis in "xyz":
        (iio / f"sys/iio:device3/in_anglvel_{axis}_raw").unlink()
    with iio_topic(iio, mode="poll") as topic:
        (found,) = received(topic, 1)
    assert found.angular_velocity_status is CovarianceStatus.ABSENT
    assert found.linear_acceleration_status is CovarianceStatus.UNKNOWN


BROKEN = {
    "in_accel_scale": "expected a number in in_accel_x_scale, got 'x'",
    "in_accel_mount_matrix": "expected a mount matrix of 3 x 3, got 'x'",
}


@pytest.mark.parametrize("name", BROKEN)
def test_attributes_that_are_malformed_are_said(iio, name):
    (iio / "sys/iio:device3" / name).write_text("x\n")
    with pytest.raises(TransportError) as caught, iio_topic(iio) as topic:
        topic.try_recv()
    assert BROKEN[name] in str(caught.value)


# -- where addresses are taken ---------------------------------------------------------------------


def sending(sensor, count):
    """Send samples of 100 Hz from a thread."""

    def run():
        for k in range(count):
            os.write(sensor, line(k))
            time.sleep(0.01)

    thread = Thread(target=run)
    thread.start()
    return thread


def test_a_pipeline_estimates_and_records_a_sensor(port, tmp_path):
    sensor, path = port
    text = f"""
    [topic.imu]
    address = "serial:{path}?protocol=x-imu3"

    [filter.attitude]
    from = "imu"

    [record.file]
    from = ["imu", "attitude"]
    file = "run.mcap"
    """
    with Pipeline(text, folder=tmp_path) as running:
        running.start()
        sending(sensor, 100).join()
        os.write(sensor, b"I,1,2\r\n")
        file = next(part for part in running.parts if part.name == "file")
        until(lambda: file.report().messages == 200)
        until(lambda: running.parts[0].report().lost == 1)
        running.stop()
        assert running.wait(PATIENCE_S)
    recording = strapdown.open(tmp_path / "run.mcap")
    assert len(recording.imu_series("imu")) == len(recording.trajectory("attitude")) == 100
    assert recording.imu_series("imu").rate_hz == pytest.approx(100.0, rel=0.01)
    assert running.report().parts[0].losses == ("imu: 1 message lost before they were received",)


def test_the_verb_record_takes_a_sensor(port, tmp_path):
    sensor, path = port
    thread = sending(sensor, 200)
    arguments = ["record", f"serial:{path}?protocol=x-imu3", "-o", tmp_path / "imu.mcap"]
    done = runner.invoke(app, [*map(str, arguments), "--count", "50", "--json"])
    thread.join()
    assert done.exit_code == 0, done.output
    assert sum(json.loads(done.stdout)["messages"].values()) == 50
    assert len(strapdown.open(tmp_path / "imu.mcap").imu_series()) == 50
