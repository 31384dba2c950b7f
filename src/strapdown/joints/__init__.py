"""Two sensors, one joint: relative orientation, axes and angles of two segments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
