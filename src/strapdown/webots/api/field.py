"""Fields of nodes, for supervisors."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    NamedTuple,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
)

from strapdown.webots.api import texts
from strapdown.webots.api.owner import Owner
from strapdown.webots.api.texts import say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

__all__ = ["Field", "FieldKey", "FieldOwner"]

KINDS = ("Bool", "Int32", "Float", "Vec2f", "Vec3f", "Rotation", "Color", "String", "Node")
SIZES = {"Vec2f": 2, "Vec3f": 3, "Rotation": 4, "Color": 3}
MANY = 16
"""Difference between the numbers of a multiple-value field type and of its single-value type."""


class FieldOwner(Owner, Protocol):
    """Interface of a node to its fields."""

    @property
    def id(self) -> int:
        """Number of the node."""
        ...

    @classmethod
    def _made(cls, owner: Owner, ref: int | None) -> Self | None: ...


Node = TypeVar("Node", bound=FieldOwner)
Value: TypeAlias = "bool | int | float | str | list[float] | Node | None"


class FieldKey(NamedTuple, Generic[Node]):
    """Identification of a field."""

    node: Node
    name: str
    type_name: str
    """Type, such as ``SFVec3f``."""


class Field(Generic[Node]):
    """Field of a node; obtained from nodes.

    Parameters
    ----------
    ref : FieldKey
        Identification of the field.
    """

    SF_BOOL: ClassVar[int] = 1
    SF_INT32: ClassVar[int] = 2
    SF_FLOAT: ClassVar[int] = 3
    SF_VEC2F: ClassVar[int] = 4
    SF_VEC3F: ClassVar[int] = 5
    SF_ROTATION: ClassVar[int] = 6
    SF_COLOR: ClassVar[int] = 7
    SF_STRING: ClassVar[int] = 8
    SF_NODE: ClassVar[int] = 9
    MF_BOOL: ClassVar[int] = 17
    MF_INT32: ClassVar[int] = 18
    MF_FLOAT: ClassVar[int] = 19
    MF_VEC2F: ClassVar[int] = 20
    MF_VEC3F: ClassVar[int] = 21
    MF_ROTATION: ClassVar[int] = 22
    MF_COLOR: ClassVar[int] = 23
    MF_STRING: ClassVar[int] = 24
    MF_NODE: ClassVar[int] = 25

    def __init__(self, ref: FieldKey[Node]) -> None:
        self._ref = ref
        self._kind = ref.type_name[2:]
        number = KINDS.index(self._kind) + 1
        self.type = number + MANY if ref.type_name.startswith("MF") else number

    def getName(self) -> str:
        """Return the name."""
        return self.name

    def getType(self) -> int:
        """Return the type, such as :attr:`SF_VEC3F`."""
        return self.type

    def getTypeName(self) -> str:
        """Return the name of the type, such as ``SFVec3f``."""
        return self.type_name

    def getCount(self) -> int:
        """Return the number of values; -1: the field has a single value."""
        return self.count

    def getActualField(self) -> Field[Node]:
        """Return the field of the node inside a PROTO: this field."""
        return self

    def enableSFTracking(self, samplingPeriod: int) -> None:
        """Do nothing: values are always the present ones."""

    def disableSFTracking(self) -> None:
        """Do nothing: there is no tracking."""

    def removeMF(self, index: int) -> None:
        """Remove one of many values."""
        self._call("remove_mf", "remove_item", index)

    def removeSF(self) -> None:
        """Remove the node of this field."""
        self._call("remove_sf", "remove_item", None)

    def importMFNodeFromString(self, position: int, nodeString: str) -> None:
        """Insert a node given as text of a world file; -1: at the end."""
        self._call("import_mf_node_from_string", "import", position, nodeString)

    def importSFNodeFromString(self, nodeString: str) -> None:
        """Insert a node given as text of a world file."""
        self._call("import_sf_node_from_string", "import", None, nodeString)

    def getSFBool(self) -> bool:
        """Return the boolean value."""
        return cast("bool", self.value)

    def getSFInt32(self) -> int:
        """Return the integer."""
        return cast("int", self.value)

    def getSFFloat(self) -> float:
        """Return the float."""
        return cast("float", self.value)

    def getSFVec2f(self) -> list[float]:
        """Return the two floats."""
        return cast("list[float]", self.value)

    def getSFVec3f(self) -> list[float]:
        """Return the three floats."""
        return cast("list[float]", self.value)

    def getSFRotation(self) -> list[float]:
        """Return axis and angle."""
        return cast("list[float]", self.value)

    def getSFColor(self) -> list[float]:
        """Return red, green and blue."""
        return cast("list[float]", self.value)

    def getSFString(self) -> str:
        """Return the text."""
        return cast("str", self.value)

    def getSFNode(self) -> Node | None:
        """Return the node, or None."""
        return cast("Node | None", self.value)

    def getMFBool(self, index: int) -> bool:
        """Return a boolean value of many."""
        return cast("bool", self._get(index))

    def getMFInt32(self, index: int) -> int:
        """Return an integer of many."""
        return cast("int", self._get(index))

    def getMFFloat(self, index: int) -> float:
        """Return a float of many."""
        return cast("float", self._get(index))

    def getMFVec2f(self, index: int) -> list[float]:
        """Return two floats of many."""
        return cast("list[float]", self._get(index))

    def getMFVec3f(self, index: int) -> list[float]:
        """Return three floats of many."""
        return cast("list[float]", self._get(index))

    def getMFRotation(self, index: int) -> list[float]:
        """Return axis and angle of many."""
        return cast("list[float]", self._get(index))

    def getMFColor(self, index: int) -> list[float]:
        """Return red, green and blue of many."""
        return cast("list[float]", self._get(index))

    def getMFString(self, index: int) -> str:
        """Return a text of many."""
        return cast("str", self._get(index))

    def getMFNode(self, index: int) -> Node | None:
        """Return a node of many."""
        return cast("Node | None", self._get(index))

    def setSFBool(self, value: bool) -> None:
        """Set the boolean value."""
        self.value = value

    def setSFInt32(self, value: int) -> None:
        """Set the integer."""
        self.value = value

    def setSFFloat(self, value: float) -> None:
        """Set the float."""
        self.value = value

    def setSFVec2f(self, value: Sequence[float]) -> None:
        """Set the two floats."""
        self._set_vector(value)

    def setSFVec3f(self, value: Sequence[float]) -> None:
        """Set the three floats."""
        self._set_vector(value)

    def setSFRotation(self, value: Sequence[float]) -> None:
        """Set axis and angle."""
        self._set_vector(value)

    def setSFColor(self, value: Sequence[float]) -> None:
        """Set red, green and blue."""
        self._set_vector(value)

    def setSFString(self, value: str) -> None:
        """Set the text."""
        self.value = value

    def setMFBool(self, index: int, value: bool) -> None:
        """Set a boolean value of many."""
        self._put("set", index, value)

    def setMFInt32(self, index: int, value: int) -> None:
        """Set an integer of many."""
        self._put("set", index, value)

    def setMFFloat(self, index: int, value: float) -> None:
        """Set a float of many."""
        self._put("set", index, value)

    def setMFVec2f(self, index: int, value: Sequence[float]) -> None:
        """Set two floats of many."""
        self._put("set", index, value)

    def setMFVec3f(self, index: int, value: Sequence[float]) -> None:
        """Set three floats of many."""
        self._put("set", index, value)

    def setMFRotation(self, index: int, value: Sequence[float]) -> None:
        """Set axis and angle of many."""
        self._put("set", index, value)

    def setMFColor(self, index: int, value: Sequence[float]) -> None:
        """Set red, green and blue of many."""
        self._put("set", index, value)

    def setMFString(self, index: int, value: str) -> None:
        """Set a text of many."""
        self._put("set", index, value)

    def insertMFBool(self, index: int, value: bool) -> None:
        """Insert a boolean value into many; -1: at the end."""
        self._put("insert", index, value)

    def insertMFInt32(self, index: int, value: int) -> None:
        """Insert an integer into many; -1: at the end."""
        self._put("insert", index, value)

    def insertMFFloat(self, index: int, value: float) -> None:
        """Insert a float into many; -1: at the end."""
        self._put("insert", index, value)

    def insertMFVec2f(self, index: int, value: Sequence[float]) -> None:
        """Insert two floats into many; -1: at the end."""
        self._put("insert", index, value)

    def insertMFVec3f(self, index: int, value: Sequence[float]) -> None:
        """Insert three floats into many; -1: at the end."""
        self._put("insert", index, value)

    def insertMFRotation(self, index: int, value: Sequence[float]) -> None:
        """Insert axis and angle into many; -1: at the end."""
        self._put("insert", index, value)

    def insertMFColor(self, index: int, value: Sequence[float]) -> None:
        """Insert red, green and blue into many; -1: at the end."""
        self._put("insert", index, value)

    def insertMFString(self, index: int, value: str) -> None:
        """Insert a text into many; -1: at the end."""
        self._put("insert", index, value)

    @property
    def name(self) -> str:
        """Name."""
        return self._ref.name

    @property
    def type_name(self) -> str:
        """Name of the type, such as ``SFVec3f``."""
        return self._ref.type_name

    @property
    def count(self) -> int:
        """Number of values; -1: the field has a single value."""
        if self.type < MANY:
            return -1
        _, count = self._call("get_count", "field")
        return int(count)

    @property
    def value(self) -> Value[Node]:
        """Value; None for a field of many values."""
        return None if self.type > MANY else self._get(None)

    @value.setter
    def value(self, value: bool | float | str | Sequence[float]) -> None:
        if self.type > MANY:
            say(texts.WRONG_VALUE)
        else:
            self._put("set", None, value)

    def _get(self, index: int | None) -> Value[Node]:
        value = self._call("get", "get", index)
        if self._kind == "Node":
            return self._ref.node._made(self._ref.node, value)
        return list(value) if self._kind in SIZES else cast("Value[Node]", value)

    def _set_vector(self, value: Sequence[float]) -> None:
        size = SIZES[self._kind]
        if len(value) == size:
            self.value = value
        else:
            say(texts.WRONG_LENGTH, f"set{self.type_name}", size)

    def _put(self, method: str, index: int | None, value: object) -> None:
        """Set or insert a value, if it has the right type."""
        plain = _plain(self._kind, value)
        if plain is None:
            say(texts.WRONG_VALUE)
        else:
            self._call(method, method, index, plain)

    def _call(self, call: str, method: str, *values: object) -> Any:  # noqa: ANN401 (by the method)
        node, name, _ = self._ref
        session = node._session
        return session.supervise(f"field_{call}", method, node.id, name, *values)


def _plain(kind: str, value: object) -> bool | int | float | str | tuple[float, ...] | None:
    """Return a value as plain data; None if it has another type."""
    if kind == "Bool":
        return value if isinstance(value, bool) else None
    if kind == "Int32":
        return value if isinstance(value, int) else None
    if kind == "Float":
        return float(value) if isinstance(value, int | float) else None
    if kind == "String":
        return value if isinstance(value, str) else None
    try:
        numbers = tuple(map(float, cast("Sequence[float]", value)))
    except (TypeError, ValueError):
        return None
    return numbers if len(numbers) == SIZES.get(kind) else None
