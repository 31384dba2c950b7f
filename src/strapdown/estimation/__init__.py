"""Orientation filters: one shape, ``update(sample)`` and ``run(series)``; smoothers: ``run``.

:data:`FILTERS` and :data:`SMOOTHERS` name them all.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
