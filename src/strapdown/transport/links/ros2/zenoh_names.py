"""Keys and liveliness tokens of ``rmw_zenoh``, through which ROS 2 programs see each other.

Messages go to ``DOMAIN/TOPIC/DDS TYPE/HASH``. Whoever is alive says so with a token:

=========  ================================================================
of a node  ``@ros2_lv/DOMAIN/ZID/NID/ID/NN/ENCLAVE/NAMESPACE/NODE``
endpoint   the same with another kind, then ``/TOPIC/DDS TYPE/HASH/QOS``
=========  ================================================================

Within a field ``/`` is written as ``%``, and so is an empty field. Source: ``docs/design.md`` of
https://github.com/ros2/rmw_zenoh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.errors import FormatError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["NO_HASH", "PUBLISHER", "SUBSCRIBER", "Qos", "Token", "data_key", "tokens_of_topic"]

NO_HASH: Final = "TypeHashNotSupported"
"""Placeholder for the hash in ROS 2 Humble."""
PUBLISHER: Final = "MP"
SUBSCRIBER: Final = "MS"
NODE: Final = "NN"

_SPACE: Final = "@ros2_lv"
_PARTS_OF_NODE: Final = 9
_PARTS_OF_ENDPOINT: Final = 13
_BEST_EFFORT: Final = "2"
_TRANSIENT_LOCAL: Final = "1"
_KEEP_ALL: Final = "2"


@dataclass(frozen=True)
class Qos:
    """Quality of service in a token.

    Parameters
    ----------
    best_effort, transient_local, keep_all : bool
        Otherwise reliable, volatile, keep last.
    depth : int
        Messages kept last.
    """

    best_effort: bool = False
    transient_local: bool = False
    keep_all: bool = False
    depth: int = 10

    def __str__(self) -> str:
        """Return the last field of a token; values equal to the default are empty."""
        reliability = _BEST_EFFORT if self.best_effort else ""
        durability = _TRANSIENT_LOCAL if self.transient_local else ""
        history = _KEEP_ALL if self.keep_all else ""
        return f"{reliability}:{durability}:{history},{self.depth}:,:,:,,"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the last field of a token, with or without default values.

        Raises
        ------
        FormatError
            It is none.
        """
        try:
            reliability, durability, kept = text.split(":")[:3]
            history, depth = kept.split(",")
            for code in (reliability, durability, history):
                int(code or 0)
            return cls(
                reliability == _BEST_EFFORT,
                durability == _TRANSIENT_LOCAL,
                history == _KEEP_ALL,
                int(depth or 0),
            )
        except ValueError:
            raise FormatError(
                f"expected the quality of service as in '::,10:,:,:,,', got {text!r}"
            ) from None


class Token(NamedTuple):
    """Content of a liveliness token; only endpoints have the last four fields."""

    domain: int
    zid: str
    """The session, in hexadecimal."""
    nid: str
    """Number of the node within the session."""
    id: str
    """Number of the endpoint within the session; of a node, again its own."""
    kind: str
    node: str
    topic: str = ""
    """Without the leading slash."""
    dds_type: str = ""
    type_hash: str = ""
    qos: Qos = Qos()

    def __str__(self) -> str:
        """Return the key of the token."""
        key = f"{_SPACE}/{self.domain}/{self.zid}/{self.nid}/{self.id}/{self.kind}/%/%/{self.node}"
        if self.kind == NODE:
            return key
        return f"{key}/{_mangled(self.topic)}/{self.dds_type}/{self.type_hash}/{self.qos}"

    @classmethod
    def parse(cls, key: str) -> Self:
        """Read a token.

        Raises
        ------
        FormatError
            It is none.
        """
        parts = key.split("/")
        needed = _PARTS_OF_NODE if parts[5:6] == [NODE] else _PARTS_OF_ENDPOINT
        if len(parts) < needed or parts[0] != _SPACE or not parts[1].isdecimal():
            raise FormatError(f"expected a liveliness token of ROS 2, got {key!r}")
        domain, zid, nid, number, kind, _, _, node, *rest = parts[1:needed]
        if not rest:
            return cls(int(domain), zid, nid, number, kind, node)
        topic, dds_type, type_hash, qos = rest
        name = topic.replace("%", "/").removeprefix("/")
        return cls(
            int(domain), zid, nid, number, kind, node, name, dds_type, type_hash, Qos.parse(qos)
        )


def data_key(domain: int, topic: str, dds_type: str, type_hash: str) -> str:
    """Return where messages go; ``"*"`` for a hash of any kind."""
    return f"{domain}/{topic}/{dds_type}/{type_hash}"


def tokens_of_topic(domain: int, topic: str) -> str:
    """Return the keys of the tokens of every endpoint of a topic."""
    return f"{_SPACE}/{domain}/*/*/*/*/*/*/*/{_mangled(topic)}/*/*/*"


def _mangled(topic: str) -> str:
    return f"/{topic}".replace("/", "%")
