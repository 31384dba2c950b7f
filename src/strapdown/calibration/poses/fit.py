"""Weighted, robust least squares with a weak prior, for the fits of this package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strapdown._typing import BoolArray, FloatArray

    Model: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

__all__ = ["Fit", "excess_noise", "fit_robustly", "minimise", "unobserved"]

_ROUNDS: Final = 60
_SETTLED: Final = 1e-6  # expected decrease of the weighted squares that ends the rounds
_OUTLIER: Final = 6.0  # residuals beyond this many robust standard deviations are left out
_TO_SIGMA: Final = {1: 1.4826, 2: 1.2011, 3: 1.1260}  # from the median size of normal vectors
_UNOBSERVED: Final = 0.5  # posterior over prior sigma above which a parameter is not observable
_SMALLEST: Final = 1e-9  # noise below which the weights are no longer those of the data


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of a fit of P parameters to M groups of D residuals.

    Parameters
    ----------
    parameters : (P,)
        Estimate.
    covariance : (P, P)
        With the prior.
    residuals : (M, D)
        At the estimate, of all groups [unit of the residuals].
    gain : (P, M, D)
        Change of the parameters per change of a residual; its sign is that of the estimate.
    sigma : (M,)
        Noise of a residual, with the excess over the noise that is known.
    used : (M,) bool
        Groups that are no outliers.
    condition : float
        Condition number of the weighted Jacobian with columns of unit length.
    """

    parameters: FloatArray
    covariance: FloatArray
    residuals: FloatArray
    gain: FloatArray
    sigma: FloatArray
    used: BoolArray
    condition: float


def minimise(  # noqa: PLR0913 (what weighs the residuals)
    model: Model,
    start: FloatArray,
    sigma: FloatArray,
    *,
    prior: FloatArray,
    robust: float = np.inf,
    used: BoolArray | None = None,
) -> Fit:
    """Minimise the sum of ``rho(|r_k|) / sigma_k^2`` over the parameters.

    ``rho(r) = 2 c^2 (sqrt(1 + r^2 / c^2) - 1)`` (soft L1). Levenberg and Marquardt's damping with
    weights of the last round; each round is solved from the stacked rows, not the normal equations.

    Parameters
    ----------
    model : function
        Returns residuals (M, D) and their Jacobian (M, D, P).
    start : (P,)
        First estimate, and centre of the prior.
    sigma : (M,)
        Noise of a residual.
    prior : (P,)
        Standard deviation of the start; 0 holds a parameter.
    robust : float, optional
        c: size of a residual from which it counts less than by its square.
    used : (M,) bool, optional
        Groups to use.
    """
    free = prior > 0.0
    inverse_prior = 1.0 / prior[free]
    everywhere = np.ones(len(sigma), np.bool_) if used is None else used
    weigh = _Weighing(sigma, robust, everywhere)

    def away(x: FloatArray) -> FloatArray:
        return np.asarray((x - start)[free] * inverse_prior)

    x, damping = start.copy(), 1e-4
    r, J = model(x)
    cost = weigh.cost(r) + float(away(x) @ away(x))
    for _ in range(_ROUNDS):
        rows, values = weigh.rows(r, J[..., free])
        rows = np.vstack([rows, np.diag(inverse_prior)])
        values = np.concatenate([values, away(x)])
        step = _damped_step(rows, values, damping)
        expected = values @ values - np.sum((values + rows @ step) ** 2)
        candidate = x.copy()
        candidate[free] += step
        new_r, new_J = model(candidate)
        new_cost = weigh.cost(new_r) + float(away(candidate) @ away(candidate))
        if new_cost <= cost:
            x, r, J, cost = candidate, new_r, new_J, new_cost
            damping *= 0.05
        else:
            damping = max(damping, 1e-9) * 20.0
        if expected < _SETTLED:
            break
    return _fit(x, r, J, weigh, free, inverse_prior)


@dataclass(frozen=True, eq=False)
class _Weighing:
    """Noise, robust limit, and rows in use."""

    sigma: FloatArray
    robust: float
    used: BoolArray

    def cost(self, r: FloatArray) -> float:
        """Return the sum of rho(|r|) / sigma^2."""
        square = np.sum(r**2, axis=1)
        rho = square * 2.0 / (1.0 + np.sqrt(1.0 + square / self.robust**2))
        return float(np.sum((rho / self.sigma**2)[self.used]))

    def roots(self, r: FloatArray) -> FloatArray:
        """Return the root of the weight of each group."""
        bounded = (1.0 + np.sum(r**2, axis=1) / self.robust**2) ** -0.25
        return np.asarray(np.where(self.used, bounded / self.sigma, 0.0))

    def rows(self, r: FloatArray, J: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Jacobian and residuals as rows, multiplied by the roots of their weights."""
        root = self.roots(r)[:, None]
        return (J * root[..., None]).reshape(-1, J.shape[-1]), (r * root).ravel()


def _damped_step(rows: FloatArray, values: FloatArray, damping: float) -> FloatArray:
    scale = np.linalg.norm(rows, axis=0)
    damped = np.vstack([rows / scale, np.sqrt(damping) * np.eye(len(scale))])
    target = np.concatenate([-values, np.zeros(len(scale))])
    return np.asarray(np.linalg.lstsq(damped, target, rcond=None)[0] / scale)


def _fit(  # noqa: PLR0913, PLR0917 (all of the minimum)
    x: FloatArray, r: FloatArray, J: FloatArray, weigh: _Weighing, free: BoolArray,
    inverse_prior: FloatArray,
) -> Fit:  # fmt: skip
    """Return the fit at the minimum, with covariance, gain and condition."""
    rows, _ = weigh.rows(r, J[..., free])
    whole = np.vstack([rows, np.diag(inverse_prior)])
    scale = np.linalg.norm(whole, axis=0)
    u, s, vt = np.linalg.svd(whole / scale, full_matrices=False)
    inverse = (vt.T / s) @ u.T / scale[:, None]  # of the stacked rows
    covariance = np.zeros((len(x), len(x)))
    covariance[np.ix_(free, free)] = inverse @ inverse.T
    gain = np.zeros((len(x), r.size))
    gain[free] = -inverse[:, : r.size] * np.repeat(weigh.roots(r), r.shape[1])
    lengths = np.linalg.norm(rows, axis=0)
    singular = np.linalg.svd(rows / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)
    condition = float(singular[0] / max(singular[-1], 1e-300))
    shaped = gain.reshape(len(x), *r.shape)
    return Fit(x, covariance, r, shaped, weigh.sigma, weigh.used, condition)


def excess_noise(residuals: FloatArray, sigma: FloatArray, freedom: float) -> float:
    """Return the noise to add to ``sigma`` so that the residuals are as large as expected.

    Parameters
    ----------
    residuals : (M, D)
        Residuals of a fit.
    sigma : (M,)
        Their known noise.
    freedom : float
        Degrees of freedom that the residuals have left; 0 gives no excess.
    """
    square = np.sum(residuals**2, axis=1)
    if freedom <= 0.0 or np.sum(square / sigma**2) <= freedom:
        return 0.0
    low, high = 0.0, float(np.sqrt(square.sum() / freedom))
    for _ in range(60):
        middle = 0.5 * (low + high)
        if np.sum(square / (sigma**2 + middle**2)) > freedom:
            low = middle
        else:
            high = middle
    return high


def fit_robustly(  # noqa: PLR0913 (as minimise)
    model: Model,
    start: FloatArray,
    sigma: FloatArray,
    *,
    prior: FloatArray,
    robust: float,
    informative: int,
) -> Fit:
    """Fit with soft L1, leave outliers out, raise the noise to what the residuals show, fit again.

    Parameters
    ----------
    model, start, sigma, prior, robust
        As :func:`minimise`.
    informative : int
        Independent residuals in a group: 2 of the three of a difference of directions.
    """
    sigma = np.maximum(sigma, _SMALLEST)
    fit = minimise(model, start, np.hypot(sigma, 0.1 * robust), prior=prior, robust=robust)
    parameters = int(np.sum(prior > 0.0))
    for _ in range(3):
        size = np.sqrt(np.sum(fit.residuals**2, axis=1) / informative)
        spread = _TO_SIGMA[informative] * float(np.median(size))
        limit = _OUTLIER * np.maximum(spread * _shrunk(len(size) * informative, parameters), sigma)
        used = size <= limit
        freedom = informative * used.sum() - parameters
        excess = excess_noise(fit.residuals[used], sigma[used], freedom)
        fit = minimise(
            model, fit.parameters, np.hypot(sigma, excess), prior=prior, robust=robust, used=used
        )
    return fit


def _shrunk(values: int, parameters: int) -> float:
    """Return the factor from residuals of a fit to their noise."""
    return float(np.sqrt(values / max(values - parameters, 1)))


def unobserved(fit: Fit, prior: FloatArray, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the parameters that the data determine no better than the prior."""
    sigma = np.sqrt(np.diag(fit.covariance))
    free = prior > 0.0
    return tuple(
        name for name, one, first, use in zip(names, sigma, prior, free, strict=True)
        if use and one > _UNOBSERVED * first
    )  # fmt: skip
