"""Errors of estimates against a reference: attitude, position, covariance; faults; tables.

* :func:`evaluate_orientation`: total, heading and inclination (the BROAD metric).
* :func:`evaluate_position`, :func:`relative_pose_error`, :func:`closing_error`,
  :func:`strapdown_drift`: errors of a track.
* :func:`nees`, :func:`nis`, :func:`consistency`: consistency of covariances.
* :func:`with_faults`: recordings with lost samples, gaps and NaN.
* :func:`compare`: tables of algorithms.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
