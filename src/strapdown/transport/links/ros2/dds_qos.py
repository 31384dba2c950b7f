"""Quality of service in DDS: the profiles of ROS, and a watch over endpoints that do not fit."""

from __future__ import annotations

from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from cyclonedds.qos import Policy, Qos

from strapdown.errors import TransportError
from strapdown.transport.links.ros2.dds import COMPATIBILITY
from strapdown.transport.ros_messages import message_type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from strapdown.transport.backends import Ros2
    from strapdown.transport.link import Channel
    from strapdown.transport.links.ros2.dds_session import Session
    from strapdown.transport.ros_messages import RosForm

__all__ = ["ENTITY_NAME", "Watch", "profiles"]

ENTITY_NAME: Final = "strapdown"
"""Name of writers that store message numbers in their time stamps."""

_ROOM: Final = 8192
"""Messages that may wait for the thread of a link."""
_BEST_EFFORT: Final = Policy.Reliability.BestEffort
_RELIABLE: Final = Policy.Reliability.Reliable(0)
"""A write never waits for room: it would hold all threads of the process."""
_POLICIES: Final[Mapping[int, type[Any]]] = {
    2: Policy.Durability,
    4: Policy.Deadline,
    5: Policy.LatencyBudget,
    6: Policy.Ownership,
    8: Policy.Liveliness,
    11: Policy.Reliability,
    12: Policy.DestinationOrder,
    23: Policy.DataRepresentation,
}
"""Policies on which two endpoints must agree, by their DDS numbers."""
_TYPE_CONSISTENCY: Final = 24
_NONE: Final = 0
"""Every policy fits, and the types do not, or cannot be compared."""
_Entity: TypeAlias = Any
"""Things of the binding, whose methods have no types."""
_log = getLogger(__name__)


def profiles(backend: Ros2, channel: Channel, form: RosForm) -> tuple[Qos, Qos]:
    """Return what a writer offers on a topic, and what a reader asks for."""
    latched, sensor = backend.qos == "latched", backend.qos == "sensor"
    asked = _RELIABLE if latched or channel.reliable else _BEST_EFFORT
    depth = 5 if sensor else 10 if latched else channel.capacity
    last = Policy.History.KeepLast(min(depth, channel.capacity))
    durability = Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile
    common = (
        durability,
        Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
        Policy.Userdata(f"typehash={form.ros.rihs01};".encode()),
        Policy.IgnoreLocal.Participant,  # within the process the ring delivers
    )
    service = [Policy.DurabilityService(0, last, -1, -1, -1)] if latched else []
    kept = Policy.History.KeepAll if channel.reliable else last
    offered = (_BEST_EFFORT if sensor else _RELIABLE, kept, Policy.EntityName(ENTITY_NAME))
    writer = Qos(*offered, *service, *common)
    room = Policy.ResourceLimits(channel.capacity if channel.reliable else _ROOM, -1, -1)
    return writer, Qos(asked, Policy.History.KeepAll, room, *common)


def _both(dds_name: str) -> str:
    """Return the name of a type in DDS, and here."""
    kind = message_type_of(dds_name)
    return dds_name if kind is None else f"{dds_name} ({kind.__name__})"


class Watch:
    """Looks at the endpoints of others on a topic, and warns once of each that does not fit.

    Attributes
    ----------
    problem : str
        The last warning.
    """

    def __init__(self, session: Session, topic: str, form: RosForm) -> None:
        self._session, self._topic, self._type = session, topic, form.dds_name
        self.problem = ""
        self._young: set[Any] = set()
        self._judged: set[Any] = set()

    def refuse_other_types(self) -> None:
        """Raise where others use the topic for another type.

        Raises
        ------
        TransportError
            Names both types.
        """
        everybody = (
            *self._session.publishers(self._topic),
            *self._session.subscribers(self._topic),
        )
        for endpoint in everybody:
            if endpoint.type_name != self._type:
                raise TransportError(
                    f"topic {self._topic.removeprefix('rt/')!r}: expected {_both(self._type)}, "
                    f"others use it for {_both(endpoint.type_name)}; give this topic another name"
                )

    def look(self, reader: _Entity, writer: _Entity) -> None:
        """Warn of new incompatible endpoints; an endpoint has until the next call to match.

        Parameters
        ----------
        reader, writer : DataReader, DataWriter
            The ends here.
        """
        for theirs in self._late(self._session.publishers(self._topic), reader.matched_pub):
            policy = reader.get_requested_incompatible_qos_status().last_policy_id
            self._warn(theirs, "comes from a publisher", policy, (theirs.qos, reader.get_qos()))
        for theirs in self._late(self._session.subscribers(self._topic), writer.matched_sub):
            policy = writer.get_offered_incompatible_qos_status().last_policy_id
            self._warn(theirs, "goes to a subscriber", policy, (writer.get_qos(), theirs.qos))

    def _late(self, endpoints: list[Any], matched: list[int]) -> Iterator[Any]:
        """Give endpoints that have not matched in time, once."""
        handles = {handle % 2**64 for handle in matched}
        for endpoint in endpoints:
            if endpoint.key not in self._judged:
                fits = endpoint.sample_info.instance_handle in handles
                if not fits and endpoint.key not in self._young:
                    self._young.add(endpoint.key)
                    continue
                self._judged.add(endpoint.key)
                if not fits:
                    yield endpoint

    def _warn(self, theirs: _Entity, what: str, policy: int, ends: tuple[Qos, Qos]) -> None:
        if theirs.type_name != self._type:
            why = f"its type is {theirs.type_name}, here it is {self._type}"
        elif policy in _POLICIES:
            kind = _POLICIES[policy]
            name = kind.__name__
            offered, asked = (str(end[kind]).removeprefix(f"Policy.{name}.") for end in ends)
            why = f"{name} is offered as {offered} and asked for as {asked}"
        elif policy == _TYPE_CONSISTENCY:
            why = f"its type {theirs.type_name} has other fields than here"
        elif policy == _NONE:
            why = (
                f"Cyclone DDS refused the description of its type {theirs.type_name}; it refuses "
                "those of Fast DDS 3 (ROS 2 Kilted), unless the configuration of the domain "
                f"contains {COMPATIBILITY}"
            )
        else:
            why = f"policy {policy} of its quality of service does not fit"
        self.problem = f"nothing {what}: {why}"
        _log.warning("topic %s: %s", self._topic, self.problem)
