"""Counts of a handle on a topic, and the origin of one message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Info", "TopicStats"]


@dataclass(frozen=True)
class TopicStats:
    """Exact counts of one handle, and the number of other participants.

    Once a handle has drained its topic, ``received + lost_overwritten + lost_transport`` is the
    number of messages sent since it joined, plus those it received as history.

    Parameters
    ----------
    sent : int
        Messages sent through this handle.
    received : int
        Messages received through it.
    lost_overwritten : int
        Messages replaced by newer ones before this handle received them; a handle that has
        never received has lost none.
    lost_transport : int
        Messages lost between processes.
    duplicates, out_of_order : int
        Messages from other processes that arrived twice and were left out, or arrived late.
    malformed : int
        Messages from other processes that were left out because they are not of this type.
    publishers, subscribers : int
        Open handles on the topic that have sent, and that have received, and as many processes
        elsewhere.
    problem : str
        Current obstacle to the transport, such as a ROS master that does not answer.
    """

    sent: int = 0
    received: int = 0
    lost_overwritten: int = 0
    lost_transport: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    malformed: int = 0
    publishers: int = 0
    subscribers: int = 0
    problem: str = ""


class Info(NamedTuple):
    """Origin of a message; times are those of wall clocks [ns since 1970].

    The difference of the two is the delay on one host. Between hosts it also holds the
    difference of their clocks.
    """

    seq: int
    """Number that its publisher gave it: 0, 1, 2, ..."""
    publisher: str
    """Identifier of the sending process; another one after each restart."""
    sent_ns: int
    """Time of sending; 0 where that is not known."""
    received_ns: int
    """Time of reception in this process; 0 where that is not known."""
