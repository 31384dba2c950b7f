"""Fit of a sphere or an ellipsoid to points, robust, with the covariance of its parameters.

A surface is the set of readings ``s`` with ``|A (s - b)| = 1``, where the symmetric matrix
``A = sum_p a_p E_p`` has 1 (sphere), 3 (axes along the sensor's) or 6 (any) parameters.

References
----------
Q. Li, J. Griffiths: Least squares ellipsoid specific fitting, GMP 2004 (algebraic start).
P. D. Sampson: Fitting conic sections to "very scattered" data, Computer Graphics and Image
Processing 18, 1982 (distance to the surface). P. J. Huber, E. Ronchetti: Robust Statistics, 2nd
edition, 2009, section 7.6 (covariance); J. W. Tukey's biweight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from strapdown._typing import BoolArray, FloatArray

__all__ = ["BASES", "Surface", "correlation_time", "fit_surface", "with_unknown_iron"]

CUT: Final = 4.685  # robust standard deviations at which the weight becomes 0 (95 % efficiency)
KEPT: Final = 0.6  # of the samples, those nearest to the surface
STARTS: Final = 10  # concentration steps of the start
ROUNDS: Final = 60
SCALED_ROUNDS: Final = 20  # rounds in which the scale of the residuals is estimated again
SETTLED: Final = 1e-8  # of the radius: convergence of the parameters
ROUNDING: Final = 1e-10  # of the radius: residuals that are nothing but rounding
MAD: Final = 1.4826  # standard deviation of normal errors over their median absolute value


def _bases() -> dict[str, FloatArray]:
    unit = np.eye(3)[:, :, None] * np.eye(3)[:, None, :]  # unit[i, j, k] = d_ij d_ik
    mixed = np.zeros((3, 3, 3))
    for row, (i, j) in enumerate(((1, 2), (0, 2), (0, 1))):
        mixed[row, i, j] = mixed[row, j, i] = 1.0
    return {"hard": np.eye(3)[None], "diagonal": unit, "full": np.concatenate([unit, mixed])}


BASES: Final = _bases()
"""Matrices (P, 3, 3) whose combinations are the matrices of each kind."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Surface ``|matrix (s - bias)| = 1`` fitted to readings.

    Parameters
    ----------
    matrix : (3, 3)
        Symmetric [1 / unit of the readings].
    bias : (3,)
        Centre [unit of the readings].
    covariance : (12, 12)
        Of the bias, then the matrix row by row.
    scale : float
        Robust standard deviation of the distances [unit of the readings].
    distances : (N,)
        From the surface to the readings, outside positive [unit of the readings].
    is_outlier : (N,) bool
        Readings with the weight 0.
    correlated : float
        Number of neighbouring residuals that are worth one independent residual, at least 1.
    parameters : int
        Number of fitted parameters.
    """

    matrix: FloatArray
    bias: FloatArray
    covariance: FloatArray
    scale: float
    distances: FloatArray
    is_outlier: BoolArray
    correlated: float
    parameters: int

    @property
    def radius(self) -> float:
        """Geometric mean of the half axes [unit of the readings]."""
        return 1.0 / float(np.cbrt(np.linalg.det(self.matrix)))

    def strength(self, readings: FloatArray) -> FloatArray:
        """Return the norms (N,) of the calibrated field, relative to that of the field."""
        norms: FloatArray = np.linalg.norm((readings - self.bias) @ self.matrix.T, axis=1)
        return norms

    def directions(self, readings: FloatArray) -> FloatArray:
        """Return the unit vectors (N, 3) of the calibrated field."""
        m = (readings - self.bias) @ self.matrix.T
        directions: FloatArray = m / np.linalg.norm(m, axis=1, keepdims=True)
        return directions

    def cost(self, scale: float, correlated: float) -> float:
        """Return the Bayesian information criterion for residuals of a standard deviation.

        So many residuals count as one independent residual.
        """
        worth = len(self.distances) / correlated
        loss = 2.0 * np.mean(_loss(self.distances / scale)) * worth
        return float(loss + self.parameters * np.log(worth))


def fit_surface(readings: FloatArray, kind: str) -> Surface | None:
    """Fit a surface, or return None where the readings determine no ellipsoid.

    Coordinates are centred and divided by their spread, because the condition number of the
    algebraic fit is about 1e12 otherwise. From the algebraic fit of all readings the start
    concentrates on the nearest 60 % (least trimmed squares); then Levenberg and Marquardt's
    method minimises Tukey's biweight of Sampson's distances, with exact derivatives.

    Parameters
    ----------
    readings : (N, 3)
        In the order of time.
    kind : {"hard", "diagonal", "full"}
    """
    middle = np.median(readings, axis=0)
    size = float(np.median(np.linalg.norm(readings - middle, axis=1)))
    if not size > 0.0:
        return None
    x = (readings - middle) / size
    basis = BASES[kind]
    start = _start(x, basis)
    if start is None:
        return None
    theta = _refine(x, basis, start)
    r, J = _distances(x, basis, theta)
    scale = _scale(r, len(theta))
    correlated = correlation_time(np.clip(r / scale, -CUT, CUT))
    spread = _covariance(r / scale, J) * scale * scale * correlated
    matrix = np.tensordot(theta[3:], basis, 1) / size
    if np.linalg.eigvalsh(matrix)[0] <= 0.0:
        return None
    whole = np.zeros((12, len(theta)))
    whole[:3, :3] = size * np.eye(3)
    whole[3:, 3:] = basis.reshape(-1, 9).T / size
    return Surface(
        matrix, middle + size * theta[:3], whole @ spread @ whole.T, size * scale, size * r,
        np.abs(r) >= CUT * scale, correlated, len(theta),
    )  # fmt: skip


def with_unknown_iron(sphere: Surface, readings: FloatArray, iron: float) -> Surface:
    """Return a sphere whose covariance contains soft iron that was not fitted.

    Soft iron changes the readings by the derivatives of a full ellipsoid; least squares of the
    sphere takes a part of this change for a bias and a scale.

    Parameters
    ----------
    sphere : Surface
        Of the kind ``hard``.
    readings : (N, 3)
    iron : float
        Standard deviation of each element of the matrix, relative to its scale.
    """
    basis, size = BASES["full"], sphere.radius
    x = (readings[~sphere.is_outlier] - sphere.bias) / size
    J = _distances(x, basis, np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))[1]
    fitted = np.column_stack([J[:, :3], J[:, 3:6].sum(axis=1)])
    taken = iron * np.linalg.pinv(fitted) @ J[:, 3:]
    whole = np.zeros((12, 4))
    whole[:3, :3] = size * np.eye(3)
    whole[3:, 3] = np.eye(3).ravel() / size
    change = whole @ taken
    return replace(sphere, covariance=sphere.covariance + change @ change.T)


def _start(x: FloatArray, basis: FloatArray) -> FloatArray | None:
    """Return parameters from algebraic fits to the readings nearest to the surface."""
    fit = _sphere if len(basis) == 1 else _ellipsoid
    near, best, least = x, None, np.inf
    for _ in range(STARTS):
        found = fit(near)
        if found is None:
            break
        bias, matrix = found
        # The nearest matrix of the kind; basis matrices are orthogonal to each other.
        a = np.tensordot(basis, matrix, 2) / np.tensordot(basis, basis, ([1, 2], [1, 2])).diagonal()
        theta = np.concatenate([bias, a])
        away = np.abs(_distances(x, basis, theta)[0])
        order = np.argpartition(away, int(KEPT * len(x)))[: int(KEPT * len(x))]
        trimmed = float(away[order].sum())
        if trimmed >= least:
            break
        near, best, least = x[order], theta, trimmed
    return best


def _sphere(x: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return centre and matrix of the sphere by linear least squares."""
    design = np.column_stack([2.0 * x, np.ones(len(x))])
    solution = np.linalg.lstsq(design, (x * x).sum(axis=1), rcond=None)[0]
    centre = solution[:3]
    square = solution[3] + centre @ centre
    return None if square <= 0.0 else (centre, np.eye(3) / np.sqrt(square))


def _ellipsoid(x: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return centre and symmetric matrix of the ellipsoid of Li and Griffiths.

    Least squares of the quadric under the constraint ``4J - I^2 = 1``, which only ellipsoids
    satisfy: the eigenvector of the positive eigenvalue.
    """
    a, b, c = x.T
    design = np.column_stack(
        [a * a, b * b, c * c, 2 * b * c, 2 * a * c, 2 * a * b, 2 * x, 0 * a + 1]
    )
    S = design.T @ design
    constraint = np.zeros((6, 6))
    constraint[:3, :3] = 1.0 - 2.0 * np.eye(3)
    constraint[3:, 3:] = -4.0 * np.eye(3)
    try:
        lower = np.linalg.solve(S[6:, 6:], S[6:, :6])
        values, vectors = np.linalg.eig(np.linalg.solve(constraint, S[:6, :6] - S[:6, 6:] @ lower))
    except np.linalg.LinAlgError:
        return None
    v = vectors[:, values.real.argmax()].real
    yz, xz, xy = v[3:]
    E = np.array([[v[0], xy, xz], [xy, v[1], yz], [xz, yz, v[2]]])
    rest = -lower @ v
    try:
        centre = -np.linalg.solve(E, rest[:3])
    except np.linalg.LinAlgError:
        return None
    E /= centre @ E @ centre - rest[3]  # also makes E positive, whatever the sign of v
    values, vectors = np.linalg.eigh(E)
    if not values[0] > 0.0:
        return None
    return centre, (vectors * np.sqrt(values)) @ vectors.T


def _distances(
    x: FloatArray, basis: FloatArray, theta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return distances (N,) from the surface, to first order, and their derivatives (N, P).

    ``r = (h - 1) / g`` with ``h = |A (x - b)|`` and its gradient ``g = |A u|``, ``u`` the unit
    vector of ``A (x - b)``. Errors of equal size in all axes of the sensor have the same size
    in r, however A stretches them.
    """
    A = np.tensordot(theta[3:], basis, 1)
    d = x.T - theta[:3, None]  # rows are axes: whole rows are contiguous
    m = A @ d
    h = np.sqrt((m * m).sum(axis=0))
    u = m / h
    v = A @ u
    g = np.sqrt((v * v).sum(axis=0))
    r = (h - 1.0) / g
    w = A @ v - u * (g * g)  # the part of A v across u
    # dh = u.(dA d - A db); dg = (u.(dA v) + w.(dA d - A db)/h) / g
    bend = r / (g * g)
    toward = u / g - w * (bend / h)
    u *= bend
    J = np.empty((len(theta), len(r)))
    J[:3] = -A @ toward
    for row, E in zip(J[3:], basis, strict=True):
        i, j = np.nonzero(E)
        row[:] = (toward[i] * d[j] - u[i] * v[j]).sum(axis=0)
    return r, J.T


def _refine(x: FloatArray, basis: FloatArray, theta: FloatArray) -> FloatArray:
    """Minimise Tukey's biweight of the distances (Levenberg and Marquardt)."""
    r, J = _distances(x, basis, theta)
    damping = 0.0
    for round_number in range(ROUNDS):
        if round_number < SCALED_ROUNDS:
            scale = _scale(r, len(theta))
        weight = np.clip(1.0 - (r / (CUT * scale)) ** 2, 0.0, None) ** 2
        normal = J.T @ (weight[:, None] * J)
        step = np.linalg.lstsq(
            normal + damping * np.diag(np.diag(normal)), -J.T @ (weight * r), rcond=None
        )[0]
        trial = theta + step
        trial_r, trial_J = _distances(x, basis, trial)
        if _loss(trial_r / scale).sum() <= _loss(r / scale).sum() * (1.0 + 1e-12) + 1e-12:
            theta, r, J, damping = trial, trial_r, trial_J, 0.1 * damping
            if np.abs(step).max() < SETTLED:
                break
        elif damping > 1e6 or np.abs(step).max() < SETTLED:
            break
        else:
            damping = max(10.0 * damping, 1e-3)
    return theta


def _loss(z: FloatArray) -> FloatArray:
    """Return Tukey's biweight, which is z^2/2 near zero and constant from CUT on."""
    inside = np.clip(1.0 - (z / CUT) ** 2, 0.0, None)
    loss: FloatArray = CUT * CUT / 6.0 * (1.0 - inside**3)
    return loss


def _scale(r: FloatArray, parameters: int) -> float:
    """Return the robust standard deviation of residuals."""
    lost = len(r) / max(len(r) - parameters, 1)
    return max(MAD * float(np.median(np.abs(r))) * float(np.sqrt(lost)), ROUNDING)


def _covariance(z: FloatArray, J: FloatArray) -> FloatArray:
    """Return the covariance of the estimate for residuals in units of their scale.

    ``mean(psi^2) / mean(psi')^2 (J^T J)^-1`` over the readings within the cut.
    """
    inside = np.abs(z) < CUT
    t = (z[inside] / CUT) ** 2
    count = max(len(t) - J.shape[1], 1)
    noise = (z[inside] ** 2 * (1.0 - t) ** 4).sum() / count
    bend = np.mean((1.0 - t) * (1.0 - 5.0 * t))
    covariance: FloatArray = noise / bend**2 * np.linalg.pinv(J[inside].T @ J[inside])
    return covariance


def correlation_time(z: FloatArray) -> float:
    """Return how many of neighbouring residuals (N,) are worth one independent residual.

    ``1 + 2 sum of the autocorrelation`` up to its first value within its noise.
    """
    z = z - z.mean()
    spectrum = np.fft.rfft(z, 2 * len(z))
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[: len(z)]
    if not correlation[0] > 0.0:
        return 1.0
    correlation /= correlation[0]
    noise = 2.0 / np.sqrt(len(z))  # of the autocorrelation of white residuals, two sigma
    low = np.flatnonzero(correlation <= noise)
    stop = int(low[0]) if len(low) else len(z)
    return float(1.0 + 2.0 * correlation[1:stop].sum())
