"""Detectors of events: free fall, falls, impacts and faults of sensors; vibration; voting.

Each processes a stream (``update``) or a series (``run``) in bounded memory, and documents its
latency.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
