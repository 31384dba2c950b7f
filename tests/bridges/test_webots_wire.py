"""The codec: golden bytes, tables of records, and bytes that are no request."""

from __future__ import annotations

import math
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strapdown.bridges.webots.requests import Incoming, read_request, request_size
from strapdown.bridges.webots.wire import Session, frame, no_event, quit_message
from strapdown.errors import FormatError, TruncatedError
from strapdown.webots.port import Answer

FIRST_REQUEST = bytes.fromhex("11 00 00 00 00 00 00 00 00 00 03 00 00 00 23 00 00")
CONFIGURE = bytes.fromhex(
    "79 00 00 00 00 00 00 00 00 00 00 72 6f 62 00 52 32 30 32 35 61 00 00 01 04 00 22 00 00 00 00 "
    "00 00 00 00 00 2e 00 69 6d 75 00 00 23 00 61 63 63 00 00 2d 00 67 79 72 6f 00 00 00 00 00 00 "
    "00 00 40 40 2f 70 00 2f 70 2f 77 2e 77 62 74 00 00 00 00 63 74 6c 00 00 00 01 02 00 00 00 01 "
    "00 00 00 00 00 00 00 00 00 00 45 4e 55 00 02 00 00 00 00 00 00 03 00 00 00 00 00 00 "
)
STEP = bytes.fromhex(
    "23 00 00 00 20 00 00 00 01 00 03 00 00 00 01 20 00 02 00 03 00 00 00 01 40 00"
    "03 00 03 00 00 00 01 32 00"
)
ANSWER = (
    bytes.fromhex("36 00 00 00 00 00 00 00 00 00 04 fc a9 f1 d2 4d 62 a0 3f 01 00 36")
    + bytes(24)
    + bytes.fromhex("00 00 00 00 00 00 f0 3f")
)
TCP_HEAD = bytes.fromhex("01 00 32 00 00 00 32 00 00 00 00")
IDENTITY = [0.0, 0.0, 0.0, 1.0]
KINDS = ["Robot", "InertialUnit", "RotationalMotor", "LED", "Camera"]


@pytest.fixture
def session(scripted, three_devices):
    def make(devices=three_devices, *, tcp=False, **options):
        port = scripted({"rob": devices}).ports["rob"]
        return Session(port.configure(), tcp=tcp, **options)

    return make


def record(tag, data):
    return pack("<Hi", tag, len(data)) + data


def request(ms, *records):
    body = b"".join(records)
    return pack("<iI", 8 + len(body), ms) + body


class TestTheExampleSession:
    def test_the_first_request_asks_nothing_of_the_port(self):
        assert request_size(FIRST_REQUEST) == len(FIRST_REQUEST)
        assert read_request(FIRST_REQUEST, KINDS) == Incoming(0, [], unknown=[])

    def test_the_configure_answer_is_the_recorded_one(self, session):
        assert len(CONFIGURE) == 121
        assert session().configure() == CONFIGURE

    def test_a_step_enables_three_sensors(self, session):
        incoming = read_request(STEP, session().kinds)
        assert incoming.ms == 32
        periods = [(1, "period", (32,)), (2, "period", (64,)), (3, "period", (50,))]
        assert incoming.requests == periods

    def test_the_answer_carries_time_and_quaternion(self, session):
        answer = Answer(0, 0.032, [(1, 0.032, IDENTITY)])
        assert session().answer(answer) == ANSWER
        assert session(tcp=True).answer(answer) == TCP_HEAD + ANSWER[4:]

    def test_time_is_told_only_when_it_has_changed(self, session):
        talk = session()
        assert talk.answer(Answer(0, 0.0, [])) == bytes.fromhex("08 00 00 00 00 00 00 00")
        assert len(talk.answer(Answer(0, 0.032, []))) == 8 + 11
        assert len(talk.answer(Answer(0, 0.032, []))) == 8


class TestMessages:
    def test_quit_and_the_empty_answer_are_the_recorded_bytes(self):
        assert quit_message(tcp=False).hex(" ") == "0b 00 00 00 00 00 00 00 00 00 02"
        assert (
            quit_message(tcp=True).hex(" ")
            == "01 00 07 00 00 00 07 00 00 00 00 00 00 00 00 00 00 02"
        )
        assert frame(tcp=False).hex(" ") == "08 00 00 00 00 00 00 00"

    def test_the_end_of_the_simulation_is_a_quit_with_delay_zero(self, session):
        answer = session().answer(Answer(-1, 0.0, []))
        assert answer == quit_message(tcp=False)

    def test_a_late_step_tells_its_delay(self, session):
        assert session().answer(Answer(24, 0.0, [])) == pack("<ii", 8, 24)

    def test_no_event_is_command_80_with_event_zero(self):
        assert no_event(tcp=False) == pack("<iiHBi", 15, 0, 0, 80, 0)

    def test_the_description_is_an_empty_string(self, session):
        assert session().answer(Answer(0, 0.0, []), urdf=True) == pack(
            "<iiHBs", 12, 0, 0, 46, b"\0"
        )

    def test_custom_data_of_somebody_else_is_told(self, session):
        answer = session().answer(Answer(0, 0.0, [], (), "gr\u00fcn"))
        assert answer == pack("<iiHB6s", 17, 0, 0, 11, "gr\u00fcn".encode() + b"\0")

    def test_real_time_is_mode_1(self, session):
        fast, real = session().configure(), session(realtime=True).configure()
        assert [(a, b) for a, b in zip(fast, real, strict=True) if a != b] == [(2, 1)]

    def test_a_changed_device_is_configured_again_after_the_samples(self, session, describe_device):
        changed = describe_device(2, "Accelerometer", 35, "acc", lookup_table=[-1, -2, 0, 1, 2, 0])
        answer = session().answer(Answer(0, 0.0, [(1, 0.0, IDENTITY)], [changed]))
        configure = pack("<HBi6d", 2, 0, 2, -1, -2, 0, 1, 2, 0)
        assert answer == frame(pack("<HB4d", 1, 54, *IDENTITY) + configure, tcp=False)

    def test_a_new_device_is_declared_before_its_sample(self, session, describe_device):
        new = describe_device(4, "GPS", 44, "gps", coordinate_system=1)
        values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
        talk = session()
        answer = talk.answer(Answer(0, 0.0, [(4, 0.0, values)], [new]))
        declared = pack("<HBHH4s1s", 0, 15, 1, 44, b"gps\0", b"\0") + pack("<HBi", 4, 0, 1)
        assert answer == frame(declared + pack("<HB7d", 4, 2, *values), tcp=False)
        assert talk.kinds[4] == "GPS"
        assert talk.answer(Answer(0, 0.0, [(4, 0.0, values)])) == frame(
            pack("<HB7d", 4, 2, *values), tcp=False
        )


MOTOR = {
    "min_position": -1.0,
    "max_position": 1.0,
    "max_velocity": 10.0,
    "acceleration": -1.0,
    "max_force": 20.0,
    "control_pid": (10.0, 0.5, 0.25),
    "position": 0.1,
    "velocity": 9.0,
    "multiplier": 1.0,
}
MOTOR_NUMBERS = (-1.0, 1.0, 10.0, -1.0, 20.0, 10.0, 0.5, 0.25, 0.1, 9.0, 1.0)
TABLE = [0.0, 1.0, 0.0, 2.0, 3.0, 0.1]


class TestDevices:
    @pytest.mark.parametrize(
        ("kind", "parameters", "expected"),
        [
            ("Accelerometer", {"lookup_table": TABLE}, pack("<i6d", 2, *TABLE)),
            ("Compass", {"lookup_table": []}, pack("<i", 0)),
            ("Gyro", {"lookup_table": TABLE}, pack("<i6d", 2, *TABLE)),
            ("LightSensor", {"lookup_table": TABLE}, pack("<i6d", 2, *TABLE)),
            (
                "InertialUnit",
                {"noise": 0.5, "coordinate_system": "NUE"},
                pack("<d4s", 0.5, b"NUE\0"),
            ),
            ("GPS", {"coordinate_system": 0}, pack("<i", 0)),
            (
                "DistanceSensor",
                {"type": 2, "min": 1.0, "max": 9.0, "aperture": 0.5, "lookup_table": TABLE},
                pack("<idddi6d", 2, 1.0, 9.0, 0.5, 2, *TABLE),
            ),
            ("TouchSensor", {"type": 1, "lookup_table": TABLE}, pack("<ii6d", 1, 2, *TABLE)),
            ("PositionSensor", {"rotational": True}, pack("<i", 0)),
            ("PositionSensor", {"rotational": False}, pack("<i", 1)),
            ("RotationalMotor", MOTOR | {"rotational": True}, pack("<i11di", 0, *MOTOR_NUMBERS, 0)),
            ("LinearMotor", MOTOR | {"rotational": False}, pack("<i11di", 1, *MOTOR_NUMBERS, 0)),
            ("Display", {"width": 64, "height": 48}, pack("<HH", 64, 48)),
        ],
    )
    def test_configure_records_have_the_layout_of_the_client(
        self, session, describe_device, kind, parameters, expected
    ):
        plain = session(()).configure()
        with_device = session((describe_device(1, kind, 99, "d", **parameters),)).configure()
        assert with_device.endswith(pack("<HB", 1, 0) + expected)
        assert len(with_device) == len(plain) + len(b"\x63\0d\0\0") + 3 + len(expected)

    @pytest.mark.parametrize(("kind", "size"), [("Camera", 83), ("RangeFinder", 33), ("Lidar", 75)])
    def test_devices_with_pictures_are_configured(self, session, describe_device, kind, size):
        device = describe_device(1, kind, 38, "d", width=320, height=240)
        configure = session((device,)).configure()
        begins = configure.rindex(pack("<HBIHH", 1, 0, 1, 320, 240))
        assert len(configure) - begins == 3 + size

    def test_a_device_without_records_is_only_declared(self, session, describe_device):
        talk = session((describe_device(1, "LED", 47, "led"),))
        assert talk.configure().endswith(pack("<BBi", 0, 1, 2))
        assert talk.answer(Answer(0, 0.0, [(1, 0.0, [0.0])])) == frame(tcp=False)

    @pytest.mark.parametrize(
        ("kind", "command", "width"),
        [
            ("Accelerometer", 51, 3),
            ("Altimeter", 1, 1),
            ("Compass", 52, 3),
            ("Gyro", 53, 3),
            ("InertialUnit", 54, 4),
            ("GPS", 2, 7),
            ("DistanceSensor", 50, 1),
            ("LightSensor", 55, 1),
            ("TouchSensor", 40, 1),
            ("PositionSensor", 1, 1),
            ("RotationalMotor", 5, 1),
        ],
    )
    def test_samples_have_their_command(self, session, describe_device, kind, command, width):
        parameters = {"type": 0}
        values = [0.5 * i for i in range(width)]
        talk = session((describe_device(1, kind, 99, "d", **parameters),))
        expected = frame(pack(f"<HB{width}d", 1, command, *values), tcp=False)
        assert talk.answer(Answer(0, 0.0, [(1, 0.0, values)])) == expected

    def test_a_three_dimensional_touch_sensor_has_another_command(self, session, describe_device):
        talk = session((describe_device(1, "TouchSensor", 60, "d", type=2, lookup_table=[]),))
        expected = frame(pack("<HB3d", 1, 41, 1.0, 2.0, 3.0), tcp=False)
        assert talk.answer(Answer(0, 0.0, [(1, 0.0, [1.0, 2.0, 3.0])])) == expected


class TestRequests:
    def test_a_period_is_a_number_of_16_bits_whose_sign_the_profile_decides(self):
        incoming = read_request(request(32, record(1, pack("<BH", 1, 40000))), KINDS)
        assert incoming.requests == [(1, "period", (40000,))]

    def test_a_motor_s_commands_have_16_bits(self):
        data = pack(
            "<HdHdHdHdHHHdHdddHH",
            1,
            math.inf,
            2,
            3.0,
            3,
            4.0,
            4,
            5.0,
            5,
            32,
            6,
            7.0,
            7,
            1,
            2,
            3,
            8,
            57,
        )
        incoming = read_request(request(0, record(2, data)), KINDS)
        assert incoming.requests == [
            (2, "position", (math.inf,)),
            (2, "velocity", (3.0,)),
            (2, "available_force", (4.0,)),
            (2, "force", (5.0,)),
            (2, "acceleration", (7.0,)),
            (2, "pid", (1.0, 2.0, 3.0)),
        ]
        assert not incoming.unknown

    def test_what_other_devices_are_told_is_skipped(self):
        records = (record(3, pack("<Bi", 1, 1)), record(4, pack("<BHBd", 1, 64, 4, 0.5)))
        beyond = record(9, b"any")
        incoming = read_request(request(32, *records, beyond), KINDS)
        assert incoming.requests == [(4, "period", (64,))]

    def test_a_robot_s_commands_are_told_apart(self):
        data = b"".join(
            (
                pack("<BBI", 30, 1, 6) + b"hello\0",
                pack("<BBI", 30, 2, 4) + b"oh\0x",
                pack("<BH", 31, 64),
                pack("<BBBHBHBH", 32, 33, 34, 8, 35, 8, 36, 8),
                pack("<BH", 37, 5) + "dä!".encode() + b"\0",
                pack("<BBBBBH", 39, 1, 40, 1, 41, 7),
                pack("<BdBdBdBI", 42, 1.0, 43, 1.0, 44, 1.0, 45, 1),
                pack("<BH", 46, 1) + b"\0",
                pack("<Bi", 81, 3) + b"ab\0",
                pack("<Bii", 80, 4, 250),
                bytes([38]),
            )
        )
        incoming = read_request(request(0, record(0, data)), KINDS)
        assert incoming.console == ("hello", "oh")
        assert incoming.requests == [(0, "battery", (64,)), (0, "custom_data", ("dä!",))]
        assert (incoming.urdf, incoming.wait_ms, incoming.leaving) == (True, 250, True)
        assert not incoming.unknown

    def test_an_unknown_command_ends_its_payload_only(self):
        data = bytes([54, 38, 38])
        incoming = read_request(request(32, record(0, data), record(1, pack("<BH", 1, 8))), KINDS)
        assert incoming.supervision == data  # of a supervisor, or skipped
        assert incoming.requests == [(1, "period", (8,))]
        assert not incoming.leaving

    @pytest.mark.parametrize("size", [-1, -(1 << 31), 1, 4, 7, (1 << 26) + 1, (1 << 31) - 1])
    def test_an_impossible_size_is_an_error(self, size):
        with pytest.raises(FormatError, match=f"got {size}"):
            request_size(pack("<i", size))

    def test_a_size_needs_four_bytes(self):
        assert request_size(b"\x11\0\0") is None
        assert request_size(bytes(4)) == 0

    def test_a_negative_step_is_an_error(self):
        with pytest.raises(FormatError, match="negative"):
            read_request(request((1 << 32) - 32), KINDS)

    @pytest.mark.parametrize(
        "body",
        [
            b"\1",
            pack("<Hi", 1, 4) + b"\1\0\0",
            pack("<Hi", 1, -1),
            pack("<Hi", 1, (1 << 31) - 1),
            record(1, pack("<BB", 1, 32)),
            record(2, pack("<Hf", 1, 0.5)),
            record(2, b"\1"),
            record(2, pack("<Hd", 1, math.nan)),
            record(0, pack("<BBI", 30, 1, 99) + b"x"),
            record(0, pack("<Bi", 81, -1)),
            record(0, pack("<BH", 37, 9) + b"x"),
            record(0, bytes([31])),
        ],
    )
    def test_a_record_or_command_that_is_cut_off_is_an_error(self, body):
        with pytest.raises(FormatError):
            read_request(request(32, body), KINDS)

    def test_the_error_says_what_was_expected_and_where(self):
        with pytest.raises(TruncatedError, match="expected 0 to 3 bytes at byte 14, got 4"):
            read_request(request(0, pack("<Hi", 1, 4) + b"\1\0\0"), KINDS)

    @given(st.integers(0, 200), st.binary(max_size=80))
    def test_any_bytes_are_a_request_or_a_format_error(self, ms, body):
        try:
            incoming = read_request(request(ms, body), KINDS)
        except FormatError:
            return
        assert incoming.ms == ms

    @given(st.integers(0, 4), st.binary(max_size=40))
    def test_any_payload_is_read_or_a_format_error(self, tag, payload):
        try:
            incoming = read_request(request(32, record(tag, payload)), KINDS)
        except FormatError:
            return
        assert all(isinstance(command, str) for _, command, _ in incoming.requests)
