"""Motion: the truth at any time t, which sensors measure and estimates are compared with.

A :class:`Motion` gives attitude, position and their derivatives at any instant. A sensor reads an
:class:`InertialSource`: :class:`Mounted` builds one from a motion, a mount and an Earth;
:class:`Replay` from a recorded IMU; :class:`PhysicsWorld` from a simulated world.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
