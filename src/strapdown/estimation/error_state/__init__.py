"""The error-state model that the online filter and the smoother share, and both of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
