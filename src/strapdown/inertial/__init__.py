"""From samples to increments: delta angle and delta velocity; and on to motion."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
