"""Messages, field-exact: horus, ROS and PX4, and conversion between them and to series.

Layouts live in one module per dialect; :mod:`strapdown.messages.conversion` has the rules. The
names below load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
