"""Sensors: simulated measurements of the truth, with the errors of a data sheet.

:class:`ImuSpec` holds the parameters of a part, :func:`load_profile` reads data sheets, and
:class:`ImuSimulator` is the device.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
