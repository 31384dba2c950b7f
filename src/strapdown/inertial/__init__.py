"""Integration of IMU samples: delta angle and delta velocity, preintegration, navigation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
