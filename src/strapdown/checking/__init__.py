"""Checks of recordings before anything is estimated from them: units, axes, signs and stamps.

:func:`check` compares the sensors of a series with physics, with each other and with recorded
orientations. Each :class:`Finding` names what was seen, the likely error and what mends it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
