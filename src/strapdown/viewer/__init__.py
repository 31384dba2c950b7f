"""Recordings and live topics on a page in the browser, in a notebook, in a file or a terminal.

Every form shows the same signals and charts; :class:`ViewModel` holds them without a browser.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
