"""Calibration of a magnetometer while it is used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.calibration.magnetometer.coverage import FACETS, covered_share, facet_of
from strapdown.calibration.magnetometer.describe import described
from strapdown.calibration.magnetometer.ellipsoid import fit_readings
from strapdown.calibration.magnetometer.gyro_pairs import GyroPairs
from strapdown.calibration.magnetometer.readings import Readings
from strapdown.calibration.magnetometer.surface import Surface
from strapdown.errors import ShapeError, UnknownNameError, ValueRangeError
from strapdown.geometry.frames import BodyFrame
from strapdown.samples.sample import MAX_FIELD, MAX_RATE
from strapdown.samples.state import SavedState
from strapdown.units import NS_PER_S, RAD_PER_DEG

if TYPE_CHECKING:
    from strapdown._typing import FloatArray, Three
    from strapdown.calibration.magnetometer.result import MagnetometerFit
    from strapdown.samples import ImuSample

__all__ = ["MagCalibrator", "MagCalibratorState"]

NAME: Final = "MagCalibrator"
FACET_READINGS: Final = 8  # that are kept of each facet
APART: Final = 0.1  # of the radius: between a kept reading and the one kept before
EVERY: Final = 8  # new readings between fits,
SELDOM: Final = 64  # and where neither coverage nor residual promise a better one
BETTER: Final = 0.8  # ratio of the residuals of a better calibration to the published one
GAP_NS: Final = NS_PER_S // 2  # between samples; beyond, the rotation is unknown
GYRO_ANGLE: Final = 90.0 * RAD_PER_DEG  # before, and between, calibrations by the gyro
CHANGED: Final = 5.0  # standard deviations: the bias by the gyro is another one
ABSENT, BY_GYRO, BY_FIT = 0, 1, 2


@dataclass(frozen=True)
class MagCalibratorState(SavedState):
    """Saved state of a :class:`MagCalibrator`; calibrations after it are the same, bit for bit.

    Parameters
    ----------
    calibrator : str
        ``MagCalibrator``.
    readings, published_readings, published_pairs, pairs : tuple of float
        Kept readings, and those of the published calibration; equations of the gyro, of the
        published calibration and now.
    counts : tuple of int
        Kind of the published calibration, last stamp, and counts.

    Raises
    ------
    ValueRangeError
        A number is not finite, or a count does not fit in 64 bits.
    """

    calibrator: str
    readings: tuple[float, ...]
    published_readings: tuple[float, ...]
    published_pairs: tuple[float, ...]
    pairs: tuple[float, ...]
    counts: tuple[int, ...]


class MagCalibrator:
    """Calibrate a magnetometer sample by sample, in bounded memory.

    After 90 deg of rotation the hard iron follows from the rotation by the gyro; its component
    along an axis about which the device only turned remains 0 until it turns about another. At
    most 8 readings in each of 32 facets of the sphere are kept, the newest ones; as soon as they
    cover enough of it, :func:`~strapdown.calibration.ellipsoid` is fitted to them. A calibration
    is published when it covers more of the sphere than the one before, or fits the kept readings
    better: then the field of the device has changed.

    Parameters
    ----------
    norm : float, optional
        Norm of the local field [T]; as of :func:`~strapdown.calibration.ellipsoid`.

    Raises
    ------
    ValueRangeError
        The norm is not positive.

    Examples
    --------
    >>> calibrator = MagCalibrator()
    >>> calibrator.published is None
    True
    """

    def __init__(self, *, norm: float | None = None) -> None:
        if norm is not None and not 0.0 < norm < np.inf:
            raise ValueRangeError(f"expected norm above 0, got {norm}")
        self._norm = norm
        self._kind = self._new = self._last_ns = self._samples = self._invalid = 0
        self.reset()

    @property
    def published(self) -> MagnetometerFit | None:
        """Last published calibration."""
        return self._published

    def update(self, sample: ImuSample) -> MagnetometerFit | None:
        """Take a sample; return a calibration if this one makes a better one.

        A magnetic field that is missing or not finite is left out and counted; a stamp that does
        not increase is ignored.
        """
        step_ns = sample.t_ns - self._last_ns
        if self._samples and step_ns <= 0:
            return None
        first, self._last_ns, self._samples = not self._samples, sample.t_ns, self._samples + 1
        rate, field = sample.angular_velocity, sample.magnetic_field
        if first or step_ns > GAP_NS or not _usable(rate, MAX_RATE):
            self._pairs.restart()
        else:
            assert rate is not None  # noqa: S101 (checked by _usable)
            self._pairs.turn(rate, step_ns / NS_PER_S)
        if not _usable(field, MAX_FIELD):
            self._invalid += 1
            return None
        assert field is not None  # noqa: S101 (checked by _usable)
        turned = _usable(rate, MAX_RATE) and self._pairs.add(field)
        found = self._fit() if self._keep(field) and self._promising() else None
        if found is None and turned and self._kind != BY_FIT:
            found = self._fit_of_gyro()
        return found

    @property
    def state(self) -> MagCalibratorState:
        """State that future calibrations depend on, without the norm."""
        counts = (self._kind, self._last_ns, self._samples, self._invalid, self._new)
        return MagCalibratorState(
            NAME,
            tuple(np.ravel(self._readings).tolist()),
            tuple(np.ravel(self._published_readings).tolist()),
            self._published_pairs.numbers(),
            self._pairs.numbers(),
            counts,
        )

    def reset(self, state: MagCalibratorState | None = None) -> None:
        """Reset to a saved state, or to the state before the first sample.

        Raises
        ------
        UnknownNameError
            The state belongs to something else.
        ShapeError
            The state has another size.
        """
        numbers = GyroPairs().numbers()
        if state is None:
            state = MagCalibratorState(NAME, (), (), numbers, numbers, (ABSENT, 0, 0, 0, 0))
        if state.calibrator != NAME:
            raise UnknownNameError("state of this calibrator", state.calibrator, [NAME])
        got = [len(state.pairs), len(state.published_pairs), len(state.counts)]
        if got != [len(numbers), len(numbers), 5] or len(state.readings) % 3:
            raise ShapeError(f"expected a {NAME} state, got one of other sizes, {got}")
        self._readings = np.reshape(state.readings, (-1, 3)).astype(np.float64)
        self._published_readings = np.reshape(state.published_readings, (-1, 3)).astype(np.float64)
        self._published_pairs = GyroPairs.of_numbers(state.published_pairs)
        self._pairs = GyroPairs.of_numbers(state.pairs)
        kind, last_ns, samples, invalid, new = state.counts
        self._kind, self._new = kind, new
        self._last_ns, self._samples, self._invalid = last_ns, samples, invalid
        self._published: MagnetometerFit | None = None
        self._published_residual = 0.0
        if self._kind == BY_FIT:
            readings = _readings(self._published_readings, self._invalid)
            self._published = fit_readings(readings, self._norm, "auto")
        elif self._kind == BY_GYRO:
            self._published = self._by_gyro(self._published_pairs, self._published_readings)
        self._note()

        if self._published is not None:
            self._published_residual = self._residual(self._published, self._published_readings)

    def _note(self) -> None:
        """Note the last reading that is kept, and how far away the next one is."""
        kept = self._readings
        self._last: Three | None = None
        self._apart = 0.0
        if len(kept):
            x, y, z = kept[-1].tolist()
            radius = np.median(np.linalg.norm(kept - self._centre(kept), axis=1))
            self._last, self._apart = (x, y, z), APART * float(radius)

    def _keep(self, field: Three) -> bool:
        """Keep a reading if it differs from the last one kept; return whether it does."""
        if self._last is not None and math.dist(field, self._last) <= self._apart:
            return False
        kept = np.concatenate([self._readings, [field]])
        away = kept - self._centre(kept)
        size = np.linalg.norm(away, axis=1, keepdims=True)
        facets = facet_of(away / np.where(size > 0.0, size, 1.0))
        newest = np.zeros(len(kept), np.bool_)
        for facet in range(FACETS):
            newest[np.flatnonzero(facets == facet)[-FACET_READINGS:]] = True
        self._readings = kept[newest]
        self._new += 1
        self._note()
        return True

    def _centre(self, kept: FloatArray) -> FloatArray:
        """Return the bias, before there is one the middle of the readings."""
        if self._published is not None:
            return self._published.triad.bias
        centre: FloatArray = 0.5 * (kept.min(axis=0) + kept.max(axis=0))
        return centre

    def _promising(self) -> bool:
        """Return whether it is time to fit the kept readings."""
        old = self._published
        if self._new < EVERY or old is None or self._kind != BY_FIT:
            return self._new >= EVERY
        m = old.triad.calibrated(self._readings)
        share = covered_share(m / np.linalg.norm(m, axis=1, keepdims=True))
        worse = BETTER * self._residual(old) > self._published_residual
        return self._new >= SELDOM or share > old.coverage.share or worse

    def _fit(self) -> MagnetometerFit | None:
        """Fit the kept readings; publish the calibration if it is better."""
        self._new = 0
        try:
            fit = fit_readings(_readings(self._readings, self._invalid), self._norm, "auto")
        except ValueRangeError:  # not enough of the sphere yet
            return None
        old = self._published
        if self._kind == BY_FIT and old is not None:
            covers_more = fit.coverage.share > old.coverage.share
            if not covers_more and self._residual(fit) > BETTER * self._residual(old):
                return None
        return self._publish(BY_FIT, fit)

    def _residual(self, fit: MagnetometerFit, readings: FloatArray | None = None) -> float:
        """Return the median deviation of the kept readings from the norm, relative to it."""
        readings = self._readings if readings is None else readings
        norms = np.linalg.norm(fit.triad.calibrated(readings), axis=1)
        return float(np.median(np.abs(norms / fit.norm - 1.0)))

    def _fit_of_gyro(self) -> MagnetometerFit | None:
        """Publish the hard iron by the gyro, every 90 deg of rotation if it is better."""
        old = self._published
        if self._pairs.angle - self._published_pairs.angle * (old is not None) < GYRO_ANGLE:
            return None
        fit = self._by_gyro(self._pairs, self._readings)
        if fit is None:
            return None
        sigma = np.linalg.norm(fit.triad.sigma_bias)
        if old is not None and sigma > BETTER * np.linalg.norm(old.triad.sigma_bias):
            change = np.linalg.norm(fit.triad.bias - old.triad.bias)
            if change < CHANGED * min(fit.triad.sigma_bias):
                return None
        return self._publish(BY_GYRO, fit)

    def _publish(self, kind: int, fit: MagnetometerFit) -> MagnetometerFit:
        self._kind, self._published, self._published_readings = kind, fit, self._readings.copy()
        self._published_pairs = GyroPairs.of_numbers(self._pairs.numbers())
        self._published_residual = self._residual(fit)
        self._note()
        return fit

    def _by_gyro(self, pairs: GyroPairs, kept: FloatArray) -> MagnetometerFit | None:
        """Return the hard iron by the gyro as a sphere around the kept readings."""
        found = pairs.solution()
        if found is None:
            return None
        bias, covariance, unseen = found
        away = np.linalg.norm(kept - bias, axis=1)
        radius = float(np.median(away))
        whole = np.zeros((12, 12))
        whole[:3, :3] = covariance + radius**2 * unseen.T @ unseen
        distances = away - radius
        sphere = Surface(
            np.eye(3) / radius, bias, whole, float(distances.std()), distances,
            np.zeros(len(kept), np.bool_), 1.0, 3,
        )  # fmt: skip
        fit = described(
            "hard", sphere, _readings(kept, self._invalid), sphere.is_outlier, self._norm
        )
        texts = [
            "no rotation about another axis than ({}) yet: the bias along it is unknown".format(
                ", ".join(f"{value:.2f}" for value in axis)
            )
            for axis in unseen
        ]
        return replace(fit, warnings=(*texts, *fit.warnings))


def _readings(field: FloatArray, invalid: int) -> Readings:
    return Readings(field, np.arange(len(field)), invalid, 0, None, None, BodyFrame.FLU)


def _usable(vector: Three | None, limit: float) -> bool:
    return vector is not None and all(abs(value) < limit for value in vector)
