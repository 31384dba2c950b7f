"""Pictures of recordings, of estimates against truth, of simulated sensors, of their health.

Every function returns a figure and shows nothing. Units stand in the labels and frames in the
titles; x, y and z differ in colour and in dash; gaps are drawn as gaps; long signals keep
their peaks, because each pixel shows the smallest and the largest value behind it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
