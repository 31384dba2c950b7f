"""Topics: messages from those who send to all who listen."""

from strapdown.transport.backends import (
    BACKENDS,
    Backend,
    Horus,
    Ipc,
    Local,
    Ros1,
    Ros2,
    Zenoh,
)
from strapdown.transport.stats import Info, TopicStats
from strapdown.transport.topic import Topic

__all__ = [
    "BACKENDS",
    "Backend",
    "Horus",
    "Info",
    "Ipc",
    "Local",
    "Ros1",
    "Ros2",
    "Topic",
    "TopicStats",
    "Zenoh",
]
