"""Sensors: what an instrument makes of the truth, with the errors of its data sheet.

:class:`ImuSpec` is what is known about a part, :func:`load_profile` reads data sheets, and
:class:`ImuSimulator` is the device.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
