"""Many runs in many processes, each done once: on ``concurrent.futures`` or Dask.

:func:`map` runs a task for every item and keeps the results in a folder, from which a second run
continues. :func:`run_study` simulates and evaluates a grid of motions, sensors, seeds and filters.
:func:`measure_accuracy` evaluates every filter on public data sets.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
