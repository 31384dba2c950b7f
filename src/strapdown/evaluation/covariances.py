"""Consistency of covariances: squared errors normalised by the estimated covariance.

The normalised estimation error squared e' P^-1 e of n components has a chi-square distribution
of n degrees of freedom, and so has that of an innovation (Y. Bar-Shalom, X. Li, T. Kirubarajan,
"Estimation with Applications to Tracking and Navigation", 2001, section 5.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from strapdown._checks import as_floats
from strapdown.errors import ShapeError, ValueRangeError
from strapdown.evaluation._results import Evaluation
from strapdown.geometry import quaternion

if TYPE_CHECKING:
    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["Consistency", "consistency", "nees", "nis", "orientation_nees"]


@dataclass(frozen=True)
class Consistency(Evaluation):
    """Squared errors of many samples against their distribution.

    Parameters
    ----------
    average : float
        Mean per degree of freedom (ANEES, or the same of NIS): 1 for consistent
        covariances, more for optimistic ones.
    lower, upper : float
        Band in which ``average`` lies with probability ``level``, if samples are independent.
    share_within : float
        Share of single samples below the ``level`` quantile of their own distribution.
    level : float
        Probability of the band.
    samples, dof : int
        Samples that are finite, and degrees of freedom of each.
    """

    average: float
    lower: float
    upper: float
    share_within: float
    level: float
    samples: int
    dof: int

    DERIVED: ClassVar[tuple[str, ...]] = ("is_consistent",)

    @property
    def is_consistent(self) -> bool:
        """Whether the average lies in its band."""
        return self.lower <= self.average <= self.upper


def nees(error: ArrayLike, covariance: ArrayLike) -> FloatArray:
    """Return the normalised estimation error squared, e' P^-1 e.

    Parameters
    ----------
    error : array_like, shape (..., n)
        Estimate minus truth, in any unit.
    covariance : array_like, shape (..., n, n)
        Covariance of the error according to the estimator, in that unit squared.

    Returns
    -------
    ndarray, shape (...)
        NaN where an input is NaN.

    Raises
    ------
    ShapeError
        The shapes of the two do not match.
    ValueRangeError
        A covariance is singular.
    """
    error = as_floats(error, "error", ())
    if error.ndim < 1:
        raise ShapeError(f"expected errors of shape (..., n), got {error.shape}")
    covariance = as_floats(covariance, "covariance", (error.shape[-1],) * 2)
    try:
        whitened = np.linalg.solve(covariance, error[..., np.newaxis])[..., 0]
    except np.linalg.LinAlgError:
        raise ValueRangeError(
            "expected covariances that can be inverted, got a singular one; leave out what is"
            " known exactly"
        ) from None
    return np.asarray(np.sum(error * whitened, axis=-1))


def nis(innovation: ArrayLike, covariance: ArrayLike) -> FloatArray:
    """Return the normalised innovation squared: :func:`nees` of measured minus predicted.

    Parameters
    ----------
    innovation : array_like, shape (..., n)
        Measurement minus prediction.
    covariance : array_like, shape (..., n, n)
        Of the innovation: prediction and measurement noise together.

    Returns
    -------
    ndarray, shape (...)

    Raises
    ------
    ShapeError, ValueRangeError
        As :func:`nees`.
    """
    return nees(innovation, covariance)


def orientation_nees(
    q_estimate: ArrayLike, q_reference: ArrayLike, orientation_covariance: ArrayLike
) -> FloatArray:
    """Return the NEES of attitudes, with the error as a rotation about the fixed world axes.

    Parameters
    ----------
    q_estimate, q_reference : array_like, shape (..., 4)
        ``q_world_from_body``, x y z w.
    orientation_covariance : array_like, shape (..., 3, 3)
        In the axes of that world [rad^2].

    Returns
    -------
    ndarray, shape (...)

    Raises
    ------
    ShapeError, ValueRangeError
        As :func:`nees`.
    """
    turn = quaternion.multiply(q_estimate, quaternion.conjugate(q_reference))
    return nees(quaternion.to_rotation_vector(turn), orientation_covariance)


def consistency(squares: ArrayLike, dof: int, *, level: float = 0.99) -> Consistency:
    """Compare squared errors with the chi-square distribution of consistent covariances.

    Parameters
    ----------
    squares : array_like, shape (N,)
        NEES or NIS; values that are not finite are left out.
    dof : int
        Components of the error, 1 or more.
    level : float
        Probability of the two-sided band, in (0, 1).

    Returns
    -------
    Consistency

    Raises
    ------
    ValueRangeError
        No value is finite, or ``dof`` or ``level`` is out of its range.
    """
    from scipy.stats import chi2  # noqa: PLC0415 (a slow import that only this needs)

    squares = as_floats(squares, "squares", ()).ravel()
    squares = squares[np.isfinite(squares)]
    if not squares.size or dof < 1 or not 0.0 < level < 1.0:
        raise ValueRangeError(
            "expected finite squares, dof of 1 or more and level in (0, 1), got "
            f"{squares.size} finite squares, dof {dof}, level {level}"
        )
    total = squares.size * dof
    lower, upper = (float(chi2.ppf(0.5 * (1.0 + side * level), total)) / total for side in (-1, 1))
    return Consistency(
        average=float(squares.mean()) / dof,
        lower=lower,
        upper=upper,
        share_within=float(np.mean(squares <= chi2.ppf(level, dof))),
        level=level,
        samples=squares.size,
        dof=dof,
    )
