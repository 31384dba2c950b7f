"""What a topic tells about itself."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TopicStats"]


@dataclass(frozen=True)
class TopicStats:
    """Exact counts of one handle, and who else is there.

    Once a handle has drained its topic, ``received + lost_overwritten + lost_transport`` is the
    number of messages sent since it joined, and of those it took over as history.

    Parameters
    ----------
    sent : int
        Messages sent through this handle.
    received : int
        Messages received through it.
    lost_overwritten : int
        Messages that gave way to newer ones before this handle received them; a handle that
        has never received has lost none.
    lost_transport : int
        Messages lost between processes.
    duplicates, out_of_order : int
        Messages that arrived twice, or late.
    publishers, subscribers : int
        Open handles on the topic that have sent, and that have received.
    """

    sent: int = 0
    received: int = 0
    lost_overwritten: int = 0
    lost_transport: int = 0
    duplicates: int = 0
    out_of_order: int = 0
    publishers: int = 0
    subscribers: int = 0
