"""Service types of the ROS package ``webots_ros``, made at run time.

Nothing has to be built or installed for them: a service is known on a connection by its name and
by the MD5 sum of its definition, and every one has one field each way. Clients use the classes of
the package itself.

References
----------
ROS 1 service definitions and their MD5 sums, http://wiki.ros.org/ROS/Technical%20Overview
Webots Reference Manual, "ROS API": common services
"""

from __future__ import annotations

import hashlib
from functools import cache
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from strapdown.errors import FormatError, UnknownNameError
from strapdown.transport.links.ros1.node import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SERVICES", "service_class"]

SERVICES: Final[Mapping[str, tuple[str, str]]] = {
    "set_int": ("int32 value", "bool success"),
    "set_float": ("float64 value", "bool success"),
    "get_bool": ("bool ask", "bool value"),
    "get_int": ("bool ask", "int32 value"),
    "get_uint64": ("bool ask", "uint64 value"),
    "get_float": ("bool ask", "float64 value"),
    "get_float_array": ("bool ask", "float64[] value"),
    "get_string": ("bool ask", "string value"),
}
"""Request and response of each, as their definition has them."""

_COUNT: Final = Struct("<I")
_NUMBERS: Final[Mapping[str, tuple[Struct, type[Any]]]] = {
    "bool": (Struct("<B"), bool),
    "int32": (Struct("<i"), int),
    "uint64": (Struct("<Q"), int),
    "float64": (Struct("<d"), float),
}


@cache
def service_class(name: str) -> type[Any]:
    """Return the class that rospy wants for a service.

    Parameters
    ----------
    name : str
        One of ``SERVICES``.

    Raises
    ------
    UnknownNameError
        There is no such service.
    TransportError
        ROS 1 is not installed.
    """
    if name not in SERVICES:
        raise UnknownNameError("service of webots_ros", name, SERVICES)
    request, response = SERVICES[name]
    about = {
        "_type": f"webots_ros/{name}",
        "_md5sum": _md5(request + response),
        "_request_class": _message_class(f"webots_ros/{name}Request", request),
        "_response_class": _message_class(f"webots_ros/{name}Response", response),
    }
    return type(name, (), about)


def _message_class(full_name: str, definition: str) -> type[Any]:
    """Return a class of messages with one field."""
    kind, field = definition.split()
    write, read, empty = _codec(kind)

    def initialise(self: Any, *values: Any, **fields: Any) -> None:  # noqa: ANN401 (of any class here)
        (value,) = values or fields.values() or (empty(),)
        setattr(self, field, value)

    def serialize(self: Any, buffer: Any) -> None:  # noqa: ANN401 (as above)
        buffer.write(write(getattr(self, field)))

    def deserialize(self: Any, data: bytes) -> Any:  # noqa: ANN401 (as above)
        setattr(self, field, read(data))
        return self

    about = {
        "__slots__": [field],
        "__init__": initialise,
        "serialize": serialize,
        "deserialize": deserialize,
        "_slot_types": [kind],
        "_type": full_name,
        "_md5sum": _md5(definition),
        "_full_text": f"{definition}\n",
        "_has_header": False,
    }
    return type(full_name.rpartition("/")[2], (load("genpy").Message,), about)


def _codec(
    kind: str,
) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any], Callable[[], Any]]:
    """Return how a field is written and read, and what makes its first value."""
    if kind == "string":
        return _write_text, lambda data: _counted(data, 1).decode(), str
    if kind == "float64[]":
        return _write_floats, _read_floats, list
    layout, python = _NUMBERS[kind]
    return layout.pack, lambda data: python(layout.unpack(data)[0]), python


def _write_text(text: str) -> bytes:
    data = text.encode()
    return _COUNT.pack(len(data)) + data


def _write_floats(values: list[float]) -> bytes:
    return _COUNT.pack(len(values)) + Struct(f"<{len(values)}d").pack(*values)


def _read_floats(data: bytes) -> list[float]:
    rest = _counted(data, 8)
    return list(Struct(f"<{len(rest) // 8}d").unpack(rest))


def _counted(data: bytes, size: int) -> bytes:
    """Return what follows a count of items."""
    count, rest = int.from_bytes(data[:4], "little"), data[4:]
    if len(data) < 4 or len(rest) != count * size:
        raise FormatError(f"expected {count} items of {size} bytes, got {len(rest)} bytes")
    return rest


def _md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
