"""PROTO nodes, for supervisors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from strapdown.webots.api.field import FieldOwner

if TYPE_CHECKING:
    from typing import Self

    from strapdown.webots.api.field import Field

__all__ = ["Proto", "ProtoOwner"]


class ProtoOwner(FieldOwner, Protocol):
    """What a PROTO asks of the node that is made from it."""

    @property
    def type_name(self) -> str:
        """Name of the PROTO."""
        ...

    @property
    def number_of_fields(self) -> int:
        """How many fields there are."""
        ...

    def getField(self, fieldName: str) -> Field[Self] | None:
        """Return a field; None where there is none."""
        ...

    def getFieldByIndex(self, index: int) -> Field[Self] | None:
        """Return a field by its place; None where there is none."""
        ...


Node = TypeVar("Node", bound=ProtoOwner)


class Proto(Generic[Node]):
    """What a node was made from; nodes make them.

    Its fields are those of the node: PROTO parameters are not kept.

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
        """Return the PROTO that this one is made from: None, it is not kept."""
        return None

    def getField(self, name: str) -> Field[Node] | None:
        """Return a field of the node; None where there is none."""
        return self._ref.getField(name)

    def getFieldByIndex(self, index: int) -> Field[Node] | None:
        """Return a field of the node by its place."""
        return self._ref.getFieldByIndex(index)

    def getNumberOfFields(self) -> int:
        """Return how many fields the node has."""
        return self.number_of_fields

    def isDerived(self) -> bool:
        """Return whether the PROTO is made from another: it is not kept."""
        return self.is_derived

    @property
    def type_name(self) -> str:
        """Name of the PROTO."""
        return self._ref.type_name

    @property
    def number_of_fields(self) -> int:
        """How many fields the node has."""
        return self._ref.number_of_fields

    @property
    def is_derived(self) -> bool:
        """Whether the PROTO is made from another: it is not kept."""
        return False
