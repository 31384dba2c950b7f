"""Protocols of sensors: examples of their makers, damage, counters, and errors in declarations."""

from __future__ import annotations

import doctest
import struct

import numpy as np
import pytest

from strapdown.errors import FormatError, UnknownNameError
from strapdown.transport.links.hardware import checksums, decoder, scan, stamps
from strapdown.transport.links.hardware.checksums import fletcher16
from strapdown.transport.links.hardware.decoder import Decoder
from strapdown.transport.links.hardware.protocol import find_protocol, protocols
from strapdown.transport.links.hardware.stamps import DeviceClock

G = 9.80665
# Of Xsens' protocol, in the float output format: counter 0x02df, 0x00459da0 ticks of 0.1 ms.
XSENS = bytes.fromhex(
    "FAFF3631 102002DFC5 10600400459DA0 40200CBEDC9AFA3F549F37411CBB70"
    "80200CBBAA5C803B8C5501BB813300 E0200400000081 45".replace(" ", "")
)
# The example of the manual of MIP, whose checksum is 84 EE.
MIP_ACCEL = bytes.fromhex("7565800E 0E043E7A63A0BB8E3B297FE5BF7F 84EE".replace(" ", ""))
# Of a VN-200, with its checksum.
VNIMU = (
    b"$VNIMU,-00.0350,+00.4222,-00.6643,-00.015,+00.019,+09.948,"
    b"+00.002066,-00.008442,-00.044656,+20.7,+084.322*66\r\n"
)


def wit(kind, *numbers):
    """Return a packet as the data sheet of WitMotion computes it, with the temperature 25 deg C."""
    data = struct.pack("<BB4h", 0x55, kind, *numbers, 2500)
    return data + bytes([sum(data) & 0xFF])


def mip(*fields):
    payload = b"".join(fields)
    packet = bytes([0x75, 0x65, 0x80, len(payload)]) + payload
    return packet + struct.pack(">H", fletcher16(packet))


def vn(stamp_ns, *numbers):
    body = bytes.fromhex("01 21 01") + struct.pack("<Q6f", stamp_ns, *numbers)
    return b"\xfa" + body + struct.pack(">H", checksums.crc16(body))


def mip_sample(stamp_s):
    return mip(
        struct.pack(">BB3f", 14, 4, 0.0, 0.5, -1.0),
        struct.pack(">BB3f", 14, 5, 0.1, 0.2, 0.3),
        struct.pack(">BBdHH", 14, 0x12, stamp_s, 2200, 7),
    )


# Bytes of one sample, specific force, angular velocity and stamp in the axes of the sensor.
SAMPLES = {
    "xsens-mti": (
        XSENS,
        np.frombuffer(XSENS[19:31], ">f4"),
        np.frombuffer(XSENS[34:46], ">f4"),
        0x00459DA0 * 1e5,
    ),
    "vectornav": (VNIMU, (-0.015, 0.019, 9.948), (0.002066, -0.008442, -0.044656), None),
    "vectornav-binary": (
        vn(5_000_000_123, 0.5, -0.25, 0.125, 1.0, 2.0, -9.5),
        (1.0, 2.0, -9.5),
        (0.5, -0.25, 0.125),
        5_000_000_123,
    ),
    "microstrain-mip": (mip_sample(12.5), (0.0, 0.5 * G, -G), (0.1, 0.2, 0.3), 12.5e9),
    "witmotion": (
        wit(0x51, 2048, 0, -1024) + wit(0x52, 16384, -8192, 0),
        (G, 0.0, -0.5 * G),
        np.radians([1000.0, -500.0, 0.0]),
        None,
    ),
    "x-imu3": (
        b"I,1000000,0.0000,0.0000,90.0000,0.0000,0.0000,1.0000\r\n",
        (0.0, 0.0, G),
        (0.0, 0.0, np.pi / 2),
        1e9,
    ),
    "csv": (b"2000,0,0,1,180,0,-90\n", (0.0, 0.0, G), (np.pi, 0.0, -np.pi / 2), 2e6),
}


def test_every_protocol_of_the_package_has_an_example_and_a_document():
    assert protocols() == sorted(SAMPLES)
    assert all(find_protocol(name).document for name in protocols())


@pytest.mark.parametrize("name", SAMPLES)
def test_the_example_of_a_protocol_is_read(name):
    data, accel, gyro, stamp_ns = SAMPLES[name]
    (reading,) = Decoder(find_protocol(name)).feed(data)
    np.testing.assert_allclose(reading.accel, accel, rtol=1e-6)
    np.testing.assert_allclose(reading.gyro, gyro, rtol=1e-6)
    assert reading.stamp_ns == (stamp_ns if stamp_ns is None else pytest.approx(stamp_ns))


@pytest.mark.parametrize("name", SAMPLES)
def test_bytes_may_come_in_any_pieces(name):
    data = SAMPLES[name][0] * 3
    whole = [reading[:3] for reading in Decoder(find_protocol(name)).feed(data)]
    for size in (1, 2, 7):
        pieces = Decoder(find_protocol(name))
        parts = (data[at : at + size] for at in range(0, len(data), size))
        assert [each[:3] for part in parts for each in pieces.feed(part)] == whole
        assert pieces.counts.damaged == pieces.counts.resyncs == 0


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in {"x-imu3", "csv"}])
def test_a_flipped_bit_costs_one_sample_and_is_counted(name):
    data = SAMPLES[name][0]
    bad = bytearray(data)
    bad[len(data) // 2 + 3] ^= 0x10
    found = Decoder(find_protocol(name))
    readings = found.feed(data + bytes(bad) + data)
    assert len(readings) == 2
    assert (found.counts.damaged, found.counts.bad_checksums) == (1, 1)
    assert "1 bad checksum" in str(found.counts)


@pytest.mark.parametrize("name", SAMPLES)
def test_noise_between_messages_is_skipped_and_counted(name):
    data, noise = SAMPLES[name][0], b"\x00\x01\x02\x03\n"
    found = Decoder(find_protocol(name))
    assert len(found.feed(noise + data + noise + data)) == 2
    counts = found.counts
    assert counts.damaged == 1  # what comes before the first is not
    if name not in {"x-imu3", "csv"}:
        assert counts.skipped_bytes == len(noise)


def test_the_accelerometer_of_the_manual_of_mip_is_read():
    """0x3E7A63A0 and so on are -0.00434 g on y; a packet without gyro gives no sample yet."""
    found = Decoder(find_protocol("microstrain-mip"))
    assert found.feed(MIP_ACCEL) == []
    assert found.counts.bad_checksums == found.counts.resyncs == 0


def test_a_lost_packet_of_witmotion_does_not_mix_two_samples():
    accel, gyro = wit(0x51, 2048, 0, 0), wit(0x52, 100, 0, 0)
    next_accel, next_gyro = wit(0x51, 0, 2048, 0), wit(0x52, 0, 100, 0)
    (one, two) = Decoder(find_protocol("witmotion")).feed(
        accel + gyro + next_gyro + accel + next_accel + next_gyro
    )
    assert one.accel[0] > 9.0
    assert two.accel[1] > 9.0
    assert two.gyro[1] > 0.1


def test_missing_counts_are_lost_samples_also_where_the_counter_begins_again():
    def packet(count):
        body = bytearray(XSENS)
        body[7:9] = struct.pack(">H", count)
        body[-1] = -sum(body[1:-1]) & 0xFF
        return bytes(body)

    found = Decoder(find_protocol("xsens-mti"))
    for count in (65533, 65534, 2, 3, 3):
        found.feed(packet(count))
    assert found.counts.lost == 3
    assert "3 lost by the count of the sensor" in str(found.counts)
    found.feed(packet(100)[:10])
    found.reset()  # the port was opened again
    assert len(found.feed(packet(5000))) == 1
    assert (found.counts.lost, found.counts.damaged) == (3, 0)


def test_other_messages_of_a_sensor_are_ignored():
    other = bytes.fromhex("FAFF300000")[:4]
    other += bytes([-sum(other[1:]) & 0xFF])
    found = Decoder(find_protocol("xsens-mti"))
    assert len(found.feed(XSENS + other + XSENS)) == 2
    lines = Decoder(find_protocol("x-imu3"))
    assert lines.feed(b"Q,1000000,1.0,0.0,0.0,0.0\r\n") == []
    assert found.counts.damaged == found.counts.resyncs == lines.counts.unreadable == 0


def test_a_line_without_end_does_not_fill_the_memory():
    found = Decoder(find_protocol("csv"))
    for _ in range(100):
        found.feed(b"1" * 100)
    assert len(found._buffer) <= 1024


def test_stamps_of_a_device_keep_their_spacing_and_follow_its_clock():
    rng = np.random.default_rng(1)
    clock = DeviceClock(modulus_ns=2.0**32 * 1e3)
    true_ns = np.arange(2000) * 5_000_000 + 10**15
    device_us = (np.arange(2000) * 5_000 * (1.0 + 50e-6) + 2**32 - 10**6) % 2**32
    arrival_ns = true_ns + 1_000_000 + rng.exponential(2e6, 2000).astype(np.int64)
    found = np.array(
        [
            clock.stamps([(d * 1e3, a)])[0]
            for d, a in zip(device_us, arrival_ns.tolist(), strict=True)
        ]
    )
    late_ms = (found - true_ns)[200:] * 1e-6
    assert clock.restarts == 0
    assert late_ms.min() > 0.99
    assert late_ms.max() < 1.5  # where single arrivals are up to 15 ms late
    assert np.diff(found)[200:].std() < 0.1e6
    assert (np.diff(found) > 0).all()


def test_a_device_that_begins_again_keeps_the_clock_of_the_host():
    clock = DeviceClock()
    first = clock.stamps((k * 1e7, 10**15 + k * 10**7) for k in range(100))
    again = clock.stamps((k * 1e7, 10**15 + 3 * 10**9 + k * 10**7) for k in range(100))
    assert clock.restarts == 1
    assert again[0] - first[0] == 3 * 10**9
    assert again[-1] - again[0] == 99 * 10**7


def test_the_clock_follows_a_device_again_whose_port_was_closed_for_longer_than_its_counter():
    clock = DeviceClock(modulus_ns=65_536e6)
    clock.stamps([(1e9, 10**15)])
    clock.reset()
    assert clock.stamps([(3e9, 10**15 + 600 * 10**9)]) == [10**15 + 600 * 10**9]


def test_samples_that_arrive_together_keep_their_spacing():
    clock = DeviceClock()
    assert clock.stamps((k * 1e7, 10**15) for k in range(5)) == [
        10**15 - 40_000_000 + k * 10**7 for k in range(5)
    ]


DECLARED = """
name = "mine"
{extra}
[line]
[[message]]
columns = 7
accel = {{ at = 1, unit = "g" }}
gyro = {{ at = 4, unit = "deg/s" }}
"""
WRONG = {
    "name = 1": "expected TOML",
    "speed = 1": "there is no key 'speed'",
    "baud = 0": "expected a positive baud, got 0",
    'body = "FUL"': "body: there is no body 'FUL'",
    "baud = '9600'": "expected baud as a whole number, got '9600'",
    '[packet]\nsync = "55"': "expected one of [line] and [packet]",
    "[[message]]\ncolumns = 1\naccel = { at = -1, unit = 'g' }": (
        "expected message 1: accel.at from 0 on, got -1"
    ),
    "[[message]]\ncolumns = 1\naccel = { at = 1, unit = 'gs' }": (
        "message 1: accel.unit: there is no unit 'gs'"
    ),
    "[[message]]\ncolumns = 3\naccel = { at = 1, unit = 'g' }": (
        "message 1: expected columns of 4 or more for accel, got 3"
    ),
}


def test_a_protocol_of_a_user(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(DECLARED.format(extra='body = "FRD"'))
    (reading,) = Decoder(find_protocol(str(path))).feed(b"x,0,0,-1,0,0,90\n")
    assert reading.accel == (0.0, 0.0, -G)
    assert reading.stamp_ns is None


@pytest.mark.parametrize("extra", WRONG)
def test_what_is_wrong_in_a_declaration_is_said(tmp_path, extra):
    path = tmp_path / "mine.toml"
    path.write_text(DECLARED.format(extra=extra))
    with pytest.raises(FormatError) as caught:
        find_protocol(str(path))
    assert WRONG[extra] in str(caught.value)
    assert "mine.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        ('sync = "5x"', "expected packet.sync in pairs of hexadecimal digits, got '5x'"),
        ('sync = "55"', "expected packet.sync, and packet.length or packet.length_adds"),
        ('sync = "55"\nchecksum = "sum"', "there is no checksum 'sum'"),
        (
            'sync = "55"\nlength = 9\n[[message]]\nid = "01"',
            "message 2: expected another id, an earlier message has this one",
        ),
        ('sync = "55"\nlength = 9', "expected messages with gyro and accel"),
    ],
)
def test_what_is_wrong_in_packets_is_said(tmp_path, packet, message):
    path = tmp_path / "mine.toml"
    content = '[[message]]\nid = "01"\naccel = { at = 0, type = "i2", unit = "g" }\n'
    path.write_text(f'name = "mine"\n[packet]\n{packet}\n{content}')
    with pytest.raises(FormatError) as caught:
        find_protocol(str(path))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("message = [1]\n[line]", "message 1: expected a table [[message]], got 1"),
        ('message = []\n[line]\nseparator = ""', "expected line.separator as a text that is not"),
    ],
)
def test_what_is_wrong_in_lines_is_said(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "mine"\n{content}\n')
    with pytest.raises(FormatError) as caught:
        find_protocol(str(path))
    assert message in str(caught.value)


def test_unknown_protocols_are_said_with_the_nearest():
    with pytest.raises(UnknownNameError, match="the nearest names: 'xsens-mti'"):
        find_protocol("xsens")


def test_scans_are_aligned_and_sign_extended(tmp_path):
    for name, index, kind in (
        ("in_accel_x", 0, "be:s12/16>>4"),
        ("in_anglvel_x", 1, "le:u8/8>>0"),
        ("in_timestamp", 2, "le:s64/64>>0"),
        ("in_temp", 3, "le:s16/16>>0"),
    ):
        (tmp_path / f"{name}_en").write_text("1")
        (tmp_path / f"{name}_index").write_text(f"{index}\n")
        (tmp_path / f"{name}_type").write_text(f"{kind}\n")
    found = scan.Scan.enabled(tmp_path, {"in_accel_x", "in_anglvel_x", "in_timestamp"})
    assert (tmp_path / "in_temp_en").read_text() == "0"
    assert found.size == 16
    data = bytes.fromhex("8010 ff 0000000000") + struct.pack("<q", -5)
    assert found.values(data) == {"in_accel_x": -2047, "in_anglvel_x": 255, "in_timestamp": -5}


@pytest.mark.parametrize("module", [checksums, decoder, scan, stamps])
def test_examples(module):
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", SAMPLES)
def test_no_bytes_raise_and_good_ones_are_found_after_them(name):
    rng = np.random.default_rng(7)
    data = SAMPLES[name][0]
    found = Decoder(find_protocol(name))
    for _ in range(300):
        piece = bytearray(data * 3)
        for at in rng.integers(0, len(piece), rng.integers(0, 6)):
            piece[at] = rng.integers(256)
        del piece[: rng.integers(0, len(piece))]
        found.feed(bytes(piece))
        found.feed(rng.bytes(int(rng.integers(0, 40))), is_whole=bool(rng.integers(2)))
    before = found.counts.samples
    found.feed(b"\n" + data * 50)
    assert found.counts.samples >= before + 40
    assert len(found._buffer) < 1024
