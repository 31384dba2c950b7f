"""Estimates against a reference: attitude, position, covariance; faults; tables.

* :func:`evaluate_orientation`: total, heading and inclination (the BROAD metric).
* :func:`evaluate_position`, :func:`relative_pose_error`, :func:`closing_error`,
  :func:`strapdown_drift`: where a track leads.
* :func:`nees`, :func:`nis`, :func:`consistency`: whether covariances are honest.
* :func:`with_faults`: recordings with lost samples, gaps and NaN.
* :func:`compare`: algorithms beside each other.

The names below load on first use.
"""

from typing import TYPE_CHECKING

from strapdown._lazy import lazy_names

if TYPE_CHECKING:
    from strapdown.evaluation.comparison import Comparison, compare
    from strapdown.evaluation.covariances import (
        Consistency,
        consistency,
        nees,
        nis,
        orientation_nees,
    )
    from strapdown.evaluation.drift import (
        StrapdownDrift,
        drift_errors,
        strapdown_drift,
        true_states,
    )
    from strapdown.evaluation.faults import (
        Fault,
        blank_samples,
        cut_gaps,
        drop_samples,
        surviving,
        with_faults,
    )
    from strapdown.evaluation.orientation import (
        Alignment,
        OrientationError,
        OrientationEvaluation,
        evaluate_orientation,
        orientation_error,
    )
    from strapdown.evaluation.positions import (
        PositionAlignment,
        PositionEvaluation,
        RelativePoseError,
        closing_error,
        evaluate_position,
        relative_pose_error,
    )

__all__ = [
    "Alignment",
    "Comparison",
    "Consistency",
    "Fault",
    "OrientationError",
    "OrientationEvaluation",
    "PositionAlignment",
    "PositionEvaluation",
    "RelativePoseError",
    "StrapdownDrift",
    "blank_samples",
    "closing_error",
    "compare",
    "consistency",
    "cut_gaps",
    "drift_errors",
    "drop_samples",
    "evaluate_orientation",
    "evaluate_position",
    "nees",
    "nis",
    "orientation_error",
    "orientation_nees",
    "relative_pose_error",
    "strapdown_drift",
    "surviving",
    "true_states",
    "with_faults",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Alignment": "orientation",
        "Comparison": "comparison",
        "Consistency": "covariances",
        "Fault": "faults",
        "OrientationError": "orientation",
        "OrientationEvaluation": "orientation",
        "PositionAlignment": "positions",
        "PositionEvaluation": "positions",
        "RelativePoseError": "positions",
        "StrapdownDrift": "drift",
        "blank_samples": "faults",
        "closing_error": "positions",
        "compare": "comparison",
        "consistency": "covariances",
        "cut_gaps": "faults",
        "drift_errors": "drift",
        "drop_samples": "faults",
        "evaluate_orientation": "orientation",
        "evaluate_position": "positions",
        "nees": "covariances",
        "nis": "covariances",
        "orientation_error": "orientation",
        "orientation_nees": "covariances",
        "relative_pose_error": "positions",
        "strapdown_drift": "drift",
        "surviving": "faults",
        "true_states": "drift",
        "with_faults": "faults",
    },
)
