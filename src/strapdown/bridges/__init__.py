"""Bridges to other programs, and what joins topics, files and estimators in live systems."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
