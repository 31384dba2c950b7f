"""Golden bytes: the published byte tables; rosbags 0.11 serialises the same messages."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rosbags.typesys import Stores, get_typestore

from strapdown.errors import FormatError, TruncatedError, ValueRangeError
from strapdown.messages.cdr import (
    Batch,
    Stamped,
    Wire,
    decode,
    decode_batch,
    encode,
    encode_batch,
    encode_rows,
)
from strapdown.messages.ros_types import ROS_TYPES

STORES = {
    Wire.CDR: get_typestore(Stores.ROS2_HUMBLE),
    Wire.ROS1: get_typestore(Stores.ROS1_NOETIC),
}
STAMPED_TYPES = [kind for kind in ROS_TYPES.values() if kind.floats]
GOLDEN_BLOCK = np.zeros(37)
GOLDEN_BLOCK[[3, 4, 15, 27]] = 1.0, -1.0, 3.0, 9.81
GOLDEN = Stamped(1_000_000_002, "imu_link", GOLDEN_BLOCK, 5)

frame_names = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)
numbers = arrays(np.float64, 37, elements=st.floats())
stamps = st.integers(0, 2**31 * 10**9 - 1)


@st.composite
def messages(draw):
    return Stamped(draw(stamps), draw(frame_names), draw(numbers), draw(st.integers(0, 2**32 - 1)))


def foreign(message: Stamped, kind, wire: Wire) -> bytes:
    """Serialise with rosbags, filling the numbers in the order of the definition."""
    store, left = STORES[wire], iter(message.values.tolist())

    def build(name):
        made = store.types[name]
        if name == "std_msgs/msg/Header":
            time = store.types["builtin_interfaces/msg/Time"](*divmod(message.stamp_ns, 10**9))
            seq = {"seq": message.seq} if wire is Wire.ROS1 else {}
            return made(stamp=time, frame_id=message.frame_id, **seq)
        fields = {}
        for field, (node, detail) in store.get_msgdef(name).fields:
            if node.name == "NAME":
                fields[field] = build(detail)
            elif node.name == "ARRAY":
                fields[field] = np.array([next(left) for _ in range(detail[1])])
            else:
                fields[field] = next(left)
        return made(**fields)

    serialize = store.serialize_cdr if wire is Wire.CDR else store.serialize_ros1
    data = bytes(serialize(build(kind.name), kind.name))
    assert next(left, None) is None
    return data


def same(a: Stamped, b: Stamped, wire: Wire) -> bool:
    seq = a.seq == b.seq if wire is Wire.ROS1 else b.seq == 0
    return a[:2] == b[:2] and seq and a.values.tobytes() == b.values.tobytes()


def rewritten(order: str, representation: int, alignment: int, frame: bytes, values) -> bytes:
    """Write CDR by hand in another byte order or version."""
    head = struct.pack(order + "iII", 1, 2, len(frame)) + frame
    head += bytes(-len(head) % alignment)
    return struct.pack(">HH", representation, 0) + head + struct.pack(f"{order}37d", *values)


@pytest.mark.parametrize(
    ("wire", "start", "digest"),
    [
        (
            Wire.CDR,
            "00010000 01000000 02000000 09000000 696d755f6c696e6b 00 000000",
            "3808a91cf0f4cac65835d345bf394f18e8853f9f0c2ff43ed479f2e55837a1e9",
        ),
        (
            Wire.ROS1,
            "05000000 01000000 02000000 08000000 696d755f6c696e6b",
            "01d2c26cae489dd51530dee93ecfaffdd1aaf97e9fa272879b2ae5d4464f8ad7",
        ),
    ],
)
def test_the_golden_message_has_the_published_bytes(wire, start, digest):
    data = encode(GOLDEN, wire)
    assert data.startswith(bytes.fromhex(start))
    assert hashlib.sha256(data).hexdigest() == digest


@pytest.mark.parametrize(
    ("frame_id", "cdr", "ros1"),
    [("", 316, 312), ("imu", 316, 315), ("imu_link", 324, 320), ("base_link", 324, 321)],
)
def test_sizes_follow_the_frame_name(frame_id, cdr, ros1):
    message = GOLDEN._replace(frame_id=frame_id)
    assert len(encode(message)) == cdr
    assert len(encode(message, Wire.ROS1)) == ros1


@pytest.mark.parametrize("wire", Wire)
@given(message=messages())
def test_imu_bytes_equal_those_of_rosbags(wire, message):
    kind = ROS_TYPES["sensor_msgs/msg/Imu"]
    assert encode(message, wire) == foreign(message, kind, wire)


@pytest.mark.parametrize("wire", Wire)
@pytest.mark.parametrize("kind", STAMPED_TYPES, ids=lambda kind: kind.name)
def test_every_type_equals_rosbags_for_every_padding(wire, kind):
    for length in range(9):
        values = np.arange(1.0, 1.0 + kind.floats)
        message = Stamped(5 * 10**18, "f" * length, values, 7)._replace(stamp_ns=10**18 + 3)
        data = foreign(message, kind, wire)
        assert encode(message, wire) == data
        assert same(message, decode(data, kind.floats, wire), wire)


@pytest.mark.parametrize("wire", Wire)
@given(message=messages())
def test_decoding_gives_back_every_bit(wire, message):
    data = encode(message, wire)
    assert same(message, decode(data, 37, wire), wire)
    assert same(message, decode(memoryview(data), 37, wire), wire)


@pytest.mark.parametrize(
    ("order", "representation", "alignment"),
    [("<", 1, 8), (">", 0, 8), ("<", 7, 4), (">", 6, 4)],
)
@pytest.mark.parametrize("frame", [b"\0", b"imu\0", b"imu_link\0", b"base_link\0"])
def test_other_byte_orders_and_cdr_2_are_read(order, representation, alignment, frame):
    values = np.arange(37.0)
    data = rewritten(order, representation, alignment, frame, values)
    expected = Stamped(1_000_000_002, frame[:-1].decode(), values)
    assert same(expected, decode(data, 37), Wire.CDR)
    assert same(expected, next(iter(decode_batch([data, data], 37))), Wire.CDR)


def damaged(at: int, content: bytes) -> bytes:
    data = bytearray(encode(GOLDEN))
    data[at : at + len(content)] = content
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "error", "offset", "text"),
    [
        (b"", TruncatedError, 0, "header"),
        (encode(GOLDEN)[:15], TruncatedError, 15, "header"),
        (encode(GOLDEN)[:-1], TruncatedError, 323, "324 bytes"),
        (encode(GOLDEN) + b"\0", FormatError, 324, "got 325"),
        (damaged(0, b"\0\3"), FormatError, 0, "got 0003"),
        (damaged(12, b"\0"), FormatError, 316, "frame_id of 0 bytes"),
        (rewritten("<", 1, 8, b"", np.zeros(37)), FormatError, 16, "only NUL"),
        (damaged(12, b"\xff\xff\xff\xff"), TruncatedError, 324, "4294967295"),
        (damaged(12, b"\x08"), FormatError, 16, "only NUL"),
        (damaged(12, b"\x0a"), FormatError, 16, "only NUL"),
        (damaged(20, b"\0"), FormatError, 16, "only NUL"),
        (damaged(17, b"\xff"), FormatError, 17, "UTF-8"),
        (damaged(8, b"\x00\xca\x9a\x3b"), FormatError, 8, "1000000000 ns"),
        (damaged(4, b"\xff\xff\xff\xff"), FormatError, 4, "got -1 s"),
    ],
)
def test_a_malformed_payload_says_what_and_where(data, error, offset, text):
    for read in (
        lambda: decode(data, 37),
        lambda: decode_batch([encode(GOLDEN), data, encode(GOLDEN)], 37),
    ):
        with pytest.raises(error, match=text) as caught:
            read()
        assert caught.value.offset == offset
        assert isinstance(caught.value, TruncatedError) == (error is TruncatedError)
    assert str(caught.value).startswith("message 1: ")


@pytest.mark.parametrize("wire", Wire)
def test_every_truncation_is_reported(wire):
    data = encode(GOLDEN, wire)
    for size in range(len(data)):
        with pytest.raises(TruncatedError):
            decode(data[:size], 37, wire)


@pytest.mark.parametrize("wire", Wire)
def test_a_flipped_bit_gives_a_message_or_a_format_error(wire):
    data = encode(GOLDEN, wire)
    refused = 0
    for bit in range(28 * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        batch = decode_batch([data, bytes(flipped), data], 37, wire, lenient=True)
        try:
            decode(flipped, 37, wire)
        except FormatError:
            refused += 1
            assert len(batch.malformed) + batch.times_normalised == 1
        else:
            assert len(batch) == 3
    assert refused > 32


@pytest.mark.parametrize(("wire", "limit"), [(Wire.CDR, 2**31), (Wire.ROS1, 2**32)])
def test_stamps_outside_the_seconds_of_the_header_are_refused(wire, limit):
    last = GOLDEN._replace(stamp_ns=limit * 10**9 - 1)
    assert decode(encode(last, wire), 37, wire).stamp_ns == last.stamp_ns
    for stamp in (-1, limit * 10**9):
        bad = GOLDEN._replace(stamp_ns=stamp)
        with pytest.raises(ValueRangeError, match=str(stamp)):
            encode(bad, wire)
        with pytest.raises(ValueRangeError, match=str(stamp)):
            encode_batch(
                Batch(np.array([0, stamp]), np.zeros((2, 37)), ("", ""), np.zeros(2)), wire
            )


@pytest.mark.parametrize(
    ("change", "wire"),
    [
        ({"seq": -1}, Wire.ROS1),
        ({"seq": 2**32}, Wire.ROS1),
        ({"frame_id": "a\0b"}, Wire.CDR),
        ({"frame_id": "\ud800"}, Wire.CDR),
    ],
)
def test_headers_that_do_not_fit_are_refused(change, wire):
    with pytest.raises(ValueRangeError):
        encode(GOLDEN._replace(**change), wire)


@pytest.mark.parametrize("change", [{"stamp_ns": 1e9}, {"seq": 1.0}])
def test_times_and_counts_are_integers(change):
    with pytest.raises(TypeError):
        encode(GOLDEN._replace(**change), Wire.ROS1)


def test_lenient_reading_normalises_times_and_counts_them():
    late = damaged(8, struct.pack("<I", 1_500_000_000))
    early = damaged(4, struct.pack("<i", -1))
    batch = decode_batch([encode(GOLDEN), late, early], 37, lenient=True)
    assert batch.stamps_ns.tolist() == [1_000_000_002, 2_500_000_000, -999_999_998]
    assert batch.times_normalised == 2
    assert not len(batch.malformed)


@pytest.mark.parametrize("wire", Wire)
@given(parts=st.lists(messages(), max_size=8))
def test_a_batch_equals_its_messages_one_by_one(wire, parts):
    payloads = [encode(message, wire) for message in parts]
    batch = decode_batch([memoryview(data) for data in payloads], 37, wire)
    assert len(batch) == len(parts)
    assert all(same(a, b, wire) for a, b in zip(parts, batch, strict=True))
    assert encode_batch(batch, wire) == payloads


def test_mixed_forms_keep_their_order_and_malformed_ones_are_named():
    forms = [
        encode(GOLDEN),
        b"",
        rewritten(">", 0, 8, b"big\0", np.arange(37.0)),
        encode(GOLDEN._replace(frame_id="other_ln", stamp_ns=7)),
        damaged(17, b"\xff"),
        rewritten("<", 7, 4, b"imu_link\0", np.arange(37.0)),
    ]
    batch = decode_batch(forms * 50, 37, lenient=True)
    assert batch.frame_ids == ("imu_link", "big", "other_ln", "imu_link") * 50
    assert batch.stamps_ns.tolist() == [1_000_000_002, 1_000_000_002, 7, 1_000_000_002] * 50
    assert batch.malformed.tolist() == [6 * i + k for i in range(50) for k in (1, 4)]
    assert batch.values[1].tolist() == list(range(37))


def test_one_frame_name_is_written_as_one_block():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(5, 12))
    batch = Batch(np.arange(5) * 10**9 + 1, values, ("imu",) * 5, np.arange(5))
    for wire in Wire:
        assert encode_batch(batch, wire) == [encode(message, wire) for message in batch]


def test_a_batch_longer_than_a_block_keeps_the_order_of_mixed_messages():
    count = 10_000
    names = ["imu", "base_link", "imu_link"]
    messages = [Stamped(i * 1_000, names[i % 7 % 3], np.arange(4.0) + i) for i in range(count)]
    batch = decode_batch([encode(message) for message in messages], 4)
    assert batch.frame_ids == tuple(message.frame_id for message in messages)
    assert np.array_equal(batch.stamps_ns, np.arange(count) * 1_000)
    assert np.array_equal(batch.values, np.arange(4.0) + np.arange(count)[:, None])


def test_damage_beyond_the_first_block_is_counted_and_named():
    payloads = [encode(Stamped(i, "imu", np.zeros(4))) for i in range(5_000)]
    payloads[4_500] = payloads[4_500][:-1]
    assert decode_batch(payloads, 4, lenient=True).malformed.tolist() == [4_500]
    with pytest.raises(FormatError, match="message 4500"):
        decode_batch(payloads, 4)


@pytest.mark.parametrize("wire", list(Wire))
def test_rows_are_the_messages_one_by_one(wire):
    rng = np.random.default_rng(4)
    stamps = rng.integers(0, 2**31 * 10**9, 20)
    batch = Batch(stamps, rng.normal(size=(20, 37)), ("imu_link",) * 20, np.arange(20))
    rows = encode_rows(batch, wire).rows()
    assert [row.tobytes() for row in rows] == [encode(message, wire) for message in batch]


def test_rows_need_one_frame():
    batch = Batch(np.arange(2), np.zeros((2, 4)), ("a", "b"), np.arange(2))
    with pytest.raises(ValueRangeError, match="one frame_id, got 2"):
        encode_rows(batch)
