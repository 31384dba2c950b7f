"""Checks of the payload of a ULog record that need only the record itself.

References
----------
PX4 ULog file format, https://docs.px4.io/main/en/dev_log/ulog_file_format.html
"""

from __future__ import annotations

import re
import struct
from typing import Final

from strapdown.formats.ulog.message_formats import Formats, setting

__all__ = [
    "FLAGS",
    "KINDS",
    "SUBSCRIPTION",
    "SYNC_PAYLOAD",
    "TOPIC_NAME",
    "objection",
    "topic_name",
]

FLAGS: Final = struct.Struct("<8s8s3Q")
SUBSCRIPTION: Final = struct.Struct("<BH")
SYNC_PAYLOAD: Final = b"\x2f\x73\x13\x20\x25\x0c\xbb\x12"
_LEAST_SIZES: Final = dict(
    zip(b"BFIMPQARDLCSO", (40, 3, 3, 4, 3, 4, 4, 2, 10, 9, 11, 8, 2), strict=True)
)
TOPIC_NAME: Final = re.compile(r"[\w/-]+", re.ASCII)
_EXACT_SIZES: Final = frozenset(b"RSO")
_PARAMETER_TYPES: Final = ("int32_t", "float")
KINDS: Final = frozenset(_LEAST_SIZES)
"""Types of records."""


def objection(kind: int, payload: bytes, formats: Formats | None) -> str | None:
    """Return the reason why a record is invalid, or None; of rows only the size is checked.

    Parameters
    ----------
    kind : int
        Its type.
    payload : bytes
        Its payload.
    formats : Formats, optional
        Formats that may be subscribed to; None where they are not known yet.
    """
    least = _LEAST_SIZES.get(kind)
    if least is None:
        return f"expected a record type, got byte {kind}"
    if len(payload) < least or (len(payload) > least and kind in _EXACT_SIZES):
        return f"expected {least} bytes in a record of type {chr(kind)}, got {len(payload)}"
    sound, expected = True, ""
    match chr(kind):
        case "S":
            sound, expected = payload == SYNC_PAYLOAD, "the bytes of a sync record"
        case "L" | "C":
            sound = payload[0] in b"01234567" and b"\0" not in payload[least:].rstrip(b"\0")
            expected = "a level of 0 to 7 and a text"
        case "I" | "M" | "P" | "Q":
            held = setting(payload[kind in b"MQ" :])
            sound = held is not None and (kind in b"IM" or held.kind in _PARAMETER_TYPES)
            expected = "'type name' and a value of that type"
        case "F":
            sound, expected = Formats.is_format(payload), "a format 'name:type field;...'"
        case "A":
            name = topic_name(payload)
            sound = bool(TOPIC_NAME.fullmatch(name)) and (formats is None or name in formats.text)
            expected = f"a topic with a format, got {name[:40]!r}"
        case "B":
            sound, expected = False, "flags only at the beginning"
    return None if sound else f"expected {expected}"


def topic_name(subscription: bytes) -> str:
    """Return the name of the topic of a subscription."""
    return subscription[SUBSCRIPTION.size :].decode("ascii", "replace")
