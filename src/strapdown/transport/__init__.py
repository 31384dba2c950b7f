"""Topics: messages from those who send to all who listen."""

from strapdown.transport.stats import TopicStats
from strapdown.transport.topic import Topic

__all__ = ["Topic", "TopicStats"]
