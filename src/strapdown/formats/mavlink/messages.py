"""The MAVLink messages about inertial sensors as numpy records, and as objects of pymavlink.

A batch of messages is an array of ``DTYPES[kind]``: the full payload in the order of the wire,
little endian, extensions last.

References
----------
``common.xml`` of MAVLink.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from strapdown.errors import BackendMissingError, UnknownNameError
from strapdown.messages._by_column import stamps_from_unsigned, unsigned_from_stamps
from strapdown.units import NS_PER_MS, NS_PER_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import ModuleType

    from numpy.typing import NDArray

    from strapdown._typing import IntArray

__all__ = [
    "ATTITUDE_KINDS",
    "AXES",
    "DTYPES",
    "FLOATS",
    "Kind",
    "WireMessage",
    "dialect",
    "messages_from_records",
    "put_stamps",
    "records_from_messages",
    "stamps_of",
]


class Kind(StrEnum):
    """A message that is understood here; ``Kind(...).name`` is what MAVLink calls it."""

    HIL_SENSOR = "hil_sensor"
    HIGHRES_IMU = "highres_imu"
    SCALED_IMU = "scaled_imu"
    SCALED_IMU2 = "scaled_imu2"
    SCALED_IMU3 = "scaled_imu3"
    RAW_IMU = "raw_imu"
    ATTITUDE = "attitude"
    ATTITUDE_QUATERNION = "attitude_quaternion"


ATTITUDE_KINDS: Final = (Kind.ATTITUDE, Kind.ATTITUDE_QUATERNION)
"""Messages of attitude."""


class WireMessage(Protocol):
    """Interface of a message object of pymavlink, as far as it is used."""

    def get_type(self) -> str:
        """Return the name of the message."""

    def get_srcSystem(self) -> int:
        """Return the number of the vehicle that sent it."""

    def get_srcComponent(self) -> int:
        """Return the number of the component of the vehicle that sent it."""

    def pack(self, mav: object) -> bytes:
        """Return the frame."""


AXES: Final = tuple(f"{axis}{triad}" for triad in ("acc", "gyro", "mag") for axis in "xyz")
"""Fields of the three triads."""
FLOATS: Final = (*AXES, "abs_pressure", "diff_pressure", "pressure_alt", "temperature")
"""Fields of HIL_SENSOR and HIGHRES_IMU that have a bit in ``fields_updated``, from bit 0 on."""

_MICROSECONDS: Final = ("time_usec", "<u8")
_MILLISECONDS: Final = ("time_boot_ms", "<u4")
_COUNTS: Final = [(name, "<i2") for name in AXES]
_READINGS: Final = [(name, "<f4") for name in FLOATS]
_TEMPERATURE: Final = ("temperature", "<i2")
_ID: Final = ("id", "u1")
_TURNS: Final = [(name, "<f4") for name in ("rollspeed", "pitchspeed", "yawspeed")]
_SCALED: Final = np.dtype([_MILLISECONDS, *_COUNTS, _TEMPERATURE])

DTYPES: Final[Mapping[Kind, np.dtype[np.void]]] = {
    Kind.HIL_SENSOR: np.dtype([_MICROSECONDS, *_READINGS, ("fields_updated", "<u4"), _ID]),
    Kind.HIGHRES_IMU: np.dtype([_MICROSECONDS, *_READINGS, ("fields_updated", "<u2"), _ID]),
    Kind.SCALED_IMU: _SCALED,
    Kind.SCALED_IMU2: _SCALED,
    Kind.SCALED_IMU3: _SCALED,
    Kind.RAW_IMU: np.dtype([_MICROSECONDS, *_COUNTS, _ID, _TEMPERATURE]),
    Kind.ATTITUDE: np.dtype(
        [_MILLISECONDS, *((name, "<f4") for name in ("roll", "pitch", "yaw")), *_TURNS]
    ),
    Kind.ATTITUDE_QUATERNION: np.dtype(
        [
            _MILLISECONDS,
            *((name, "<f4") for name in ("q1", "q2", "q3", "q4")),
            *_TURNS,
            ("repr_offset_q", "<f4", (4,)),
        ]
    ),
}
"""The full payload of each message."""


def dialect() -> ModuleType:
    """Return the module of pymavlink that has the messages.

    Raises
    ------
    BackendMissingError
        pymavlink is not installed.
    """
    try:
        from pymavlink.dialects.v20 import common  # noqa: PLC0415 (an optional package)
    except ImportError:
        raise BackendMissingError("MAVLink", extra="mavlink") from None
    module: ModuleType = common
    return module


def messages_from_records(kind: Kind, records: NDArray[np.void]) -> list[WireMessage]:
    """Return message objects of pymavlink.

    Parameters
    ----------
    kind : Kind
        Which message the records are.
    records : (N,) array of DTYPES[kind]

    Returns
    -------
    list
        N objects, ready to be packed.

    Raises
    ------
    BackendMissingError
        pymavlink is not installed.
    """
    make = getattr(dialect(), f"MAVLink_{kind}_message")
    columns = [records[name].tolist() for name in make.fieldnames]
    return [make(*row) for row in zip(*columns, strict=True)]


def records_from_messages(kind: Kind, messages: Iterable[WireMessage]) -> NDArray[np.void]:
    """Return what message objects of pymavlink hold.

    Parameters
    ----------
    kind : Kind
        Which message they are.
    messages : iterable
        N objects.

    Returns
    -------
    (N,) array of DTYPES[kind]

    Raises
    ------
    UnknownNameError
        An object is another message.
    """
    dtype = DTYPES[kind]
    rows = []
    for message in messages:
        if message.get_type() != kind.name:
            raise UnknownNameError("message among those asked for", message.get_type(), [kind.name])
        rows.append(tuple(getattr(message, name) for name in dtype.names or ()))
    return np.array(rows, dtype)


def put_stamps(records: NDArray[np.void], t_ns: IntArray) -> None:
    """Write stamps: microseconds to the nearest, milliseconds rounded down."""
    if "time_usec" in (records.dtype.names or ()):
        records["time_usec"] = unsigned_from_stamps(t_ns, "t_ns", np.uint64, NS_PER_US)
    else:
        whole = t_ns - t_ns % NS_PER_MS
        records["time_boot_ms"] = unsigned_from_stamps(whole, "t_ns", np.uint32, NS_PER_MS)


def stamps_of(records: NDArray[np.void]) -> IntArray:
    """Return the stamps of messages of any kind [ns]."""
    if "time_usec" in (records.dtype.names or ()):
        return stamps_from_unsigned(records["time_usec"], "time_usec", NS_PER_US)
    return stamps_from_unsigned(records["time_boot_ms"], "time_boot_ms", NS_PER_MS)
