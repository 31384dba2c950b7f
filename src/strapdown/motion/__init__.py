"""Motion: the truth at any time t, which sensors measure and estimates are held against.

A :class:`Motion` gives attitude, position and their derivatives at any instant. A sensor asks an
:class:`InertialSource`: :class:`Mounted` makes one of a motion, a mount and an Earth;
:class:`Replay` of a recorded IMU; :class:`PhysicsWorld` of a simulated world.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
