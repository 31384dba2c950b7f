"""Live data: recorder, player, relay, fusion and pipelines between topics and files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
