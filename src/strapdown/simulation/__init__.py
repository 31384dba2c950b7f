"""Simulation: a sensor, or many, on a motion; by name, from files, to files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
