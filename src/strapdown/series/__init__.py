"""Series: frozen structs of arrays with frames and stamps in nanoseconds, and their time base."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
