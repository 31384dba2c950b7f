"""The types of ROS as Cyclone DDS wants them, made from the definitions of the messages.

Samples stay in bytes: the types announce the structure to others, and carry the bytes unchanged.
All are final, as those of ROS 2 are; the names are those that ROS 2 gives them in DDS.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from cyclonedds.idl import make_idl_struct, types

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from strapdown.messages.ros_types import RosType

__all__ = ["sample_type"]


@lru_cache
def sample_type(ros: RosType) -> type[Any]:
    """Return the class of the samples of a type, made of bytes: ``sample_type(IMU)(data)``.

    Parameters
    ----------
    ros : RosType
        Its definition gives the structure.
    """
    parts = _SEPARATOR.split(ros.definition)
    texts = {ros.name: parts[0]}
    for part in parts[1:]:
        name, _, text = part.partition("\n")
        texts[name.replace("/", "/msg/")] = text
    made = _struct(ros.name, texts, {})
    for name, member in vars(_Bytes).items():
        if not name.startswith("__") or name == "__init__":
            setattr(made, name, member)
    return made


class _Bytes:
    """Serialised sample, in place of a sample that is serialised field by field."""

    data: bytes
    """With the encapsulation of four bytes."""
    sample_info: Any
    """Set by the reader."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def serialize(self, **_options: object) -> bytes:
        return self.data

    @classmethod
    def deserialize(cls, data: bytes) -> Self:
        return cls(data)

    @classmethod
    def deserialize_key(cls, _data: bytes) -> None:
        """Read the key of a topic without one."""


_SEPARATOR: Final = re.compile("^={80}\nMSG: ", re.MULTILINE)
_FIELD: Final = re.compile(r"([\w/]+?)(?:\[(\d+)\])? (\w+)(?! *=)(?: .*)?")
"""Type, count and name, perhaps a default; not a constant."""
array: Any = types.array  # it is indexed like a generic type
_SCALARS: Final[Mapping[str, Any]] = {
    "string": str,
    "bool": bool,
    **{
        name: getattr(types, name)
        for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    },
    "float32": types.float32,
    "float64": types.float64,
}


def _struct(name: str, texts: Mapping[str, str], made: dict[str, type[Any]]) -> type[Any]:
    """Return the type with this name, and put it and those inside it among the ``made``."""
    if name in made:
        return made[name]
    fields = {}
    for line in texts[name].splitlines():
        match = _FIELD.fullmatch(line)
        if match is None:
            continue
        kind, count, field = match.groups()
        inner = _SCALARS.get(kind) or _struct(kind.replace("/", "/msg/"), texts, made)
        fields[field] = array[inner, int(count)] if count else inner
    package, _, bare = name.split("/")
    typename = f"{package}.msg.dds_.{bare}_"
    made[name] = make_idl_struct(f"{bare}_", typename, fields, dataclassify=False)
    return made[name]
