"""Samples as streaming algorithms take them: what one is, its clock, and what of it is usable."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
