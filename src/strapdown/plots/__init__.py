"""Figures of recordings, estimates, events, simulated sensors and their health.

Every function returns a figure and shows nothing. Labels give units, titles give frames; x, y and
z differ in colour and dash; lines break at gaps and where angles wrap. Long signals keep their
peaks: a pale envelope of extremes is drawn below the mean.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
