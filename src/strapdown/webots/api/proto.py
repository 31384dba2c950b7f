"""PROTO nodes, for supervisors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strapdown.webots.api.field import Field
    from strapdown.webots.api.node import Node

__all__ = ["Proto"]


class Proto:
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

    def getParent(self) -> Proto | None:
        """Return the PROTO that this one is made from: None, it is not kept."""
        return None

    def getField(self, name: str) -> Field | None:
        """Return a field of the node; None where there is none."""
        return self._ref.getField(name)

    def getFieldByIndex(self, index: int) -> Field | None:
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
