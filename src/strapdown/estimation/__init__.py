"""Orientation filters, smoothers and inertial navigators.

Filters share the methods ``update(sample)`` and ``run(series)``, smoothers ``run``.
:data:`FILTERS` and :data:`SMOOTHERS` list them by name.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
