"""Tables of other programs: recognise their columns and units, or read them by a plan.

``strapdown.open`` uses this by itself. A plan that was recognised can be kept as TOML,
edited, and passed to ``open(path, columns=...)``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
