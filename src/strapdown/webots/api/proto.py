"""PROTO nodes, for supervisors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from strapdown.webots.api.field import FieldOwner

if TYPE_CHECKING:
    from typing import Self

    from strapdown.webots.api.field import Field

__all__ = ["Proto", "ProtoOwner"]


class ProtoOwner(FieldOwner, Protocol):
    """Interface of an instance of a PROTO."""

    @property
    def type_name(self) -> str:
        """Name of the PROTO."""
        ...

    @property
    def number_of_fields(self) -> int:
        """Number of fields."""
        ...

    def getField(self, fieldName: str) -> Field[Self] | None:
        """Return a field; None if there is none."""
        ...

    def getFieldByIndex(self, index: int) -> Field[Self] | None:
        """Return a field by its index; None if there is none."""
        ...


Node = TypeVar("Node", bound=ProtoOwner)


class Proto(Generic[Node]):
    """PROTO of a node; obtained from nodes.

    Its fields are those of the node: PROTO parameters are not stored.

    Parameters
    ----------
    ref : Node
        The node.
    """

    def __init__(self, ref: Node) -> None:
        self._ref = ref

    def getTypeName(self) -> str:
        """Return the name of the PROTO."""
        return self.type_name

    def getParent(self) -> Proto[Node] | None:
        """Return the PROTO that this one is derived from: None, it is not stored."""
        return None

    def getField(self, name: str) -> Field[Node] | None:
        """Return a field of the node; None if there is none."""
        return self._ref.getField(name)

    def getFieldByIndex(self, index: int) -> Field[Node] | None:
        """Return a field of the node by its index."""
        return self._ref.getFieldByIndex(index)

    def getNumberOfFields(self) -> int:
        """Return the number of fields of the node."""
        return self.number_of_fields

    def isDerived(self) -> bool:
        """Return whether the PROTO is derived from another: False, it is not stored."""
        return self.is_derived

    @property
    def type_name(self) -> str:
        """Name of the PROTO."""
        return self._ref.type_name

    @property
    def number_of_fields(self) -> int:
        """Number of fields of the node."""
        return self._ref.number_of_fields

    @property
    def is_derived(self) -> bool:
        """Whether the PROTO is derived from another: False, it is not stored."""
        return False
