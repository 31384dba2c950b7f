"""The state of a navigator, its kernels, and the rows of data that they go through."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._compile import compiled
from strapdown.estimation import _kernels as head
from strapdown.estimation.filtering import as_inputs
from strapdown.estimation.navigation.aiding import KINDS, AidingResult
from strapdown.estimation.navigation.memory import _kernels as memory
from strapdown.estimation.navigation.step import _kernels as kernels
from strapdown.geometry.frames import BodyFrame
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from strapdown._typing import FloatArray
    from strapdown.estimation.navigation.aiding import Aiding
    from strapdown.estimation.navigation.params import NavigatorParams
    from strapdown.integration.navigation import Place
    from strapdown.series import ImuSeries, Increments

    Kernel = TypeVar("Kernel", bound=Callable[..., object])

__all__ = ["NOT_MEASURED", "Core", "IncrementRows", "SampleRows"]

NOT_MEASURED: Final = (math.nan, math.nan, math.nan)


class Core:
    """State, account and settings, and the kernels that change them.

    Parameters
    ----------
    params : NavigatorParams
    place : Place
    compile_kernels : bool
        False runs them as ordinary Python.
    """

    def __init__(self, params: NavigatorParams, place: Place, *, compile_kernels: bool) -> None:
        self.earth = place.for_kernels()
        self.settings = np.concatenate([params.settings()[: memory.EARTH], self.earth])
        self.gate, self.patience = params.gate, params.patience
        self.state = np.array(memory.FRESH)
        self.account = np.zeros(head.ACCOUNT_SIZE, np.int64)
        self._compile_kernels = compile_kernels
        self._step: Callable[..., None] = self._made(kernels.step)
        self._aid = self._made(kernels.aid)

    @property
    def last_ns(self) -> int:
        """Stamp of the last sample [ns]."""
        return self.account.item(head.LAST_NS)

    def step(self, t_ns: int, values: Sequence[float]) -> None:
        """Take a sample: angular velocity, specific force, magnetic field, clipped axes."""
        self._step(self.state, self.account, self.settings, t_ns, *values)

    def run(self, kernel: Callable[..., None], *columns: object) -> None:
        """Take many rows."""
        self._made(kernel)(self.state, self.account, self.settings, *columns)

    def tell(self, aiding: Aiding) -> AidingResult:
        """Correct the state by an aiding that holds now."""
        from scipy.special import chdtri  # noqa: PLC0415 (a slow import that few need)

        rows, residuals, variances = aiding.rows(self.state, self.earth)
        gate = float(chdtri(len(residuals), 1.0 - self.gate))
        if not self.state[memory.ALIGNED]:
            gate = -math.inf  # the start is measured anew with every sample
        nis, accepted = self._aid(
            self.state, self.state.copy(), KINDS.index(aiding.kind),
            rows, residuals, variances, gate, self.patience,
        )  # fmt: skip
        return AidingResult(aiding.t_ns, aiding.kind, nis, len(residuals), accepted)

    def reach(self, t_ns: int, next_ns: int, sample: Sequence[float]) -> None:
        """Go on to a time between two samples, of which the second is given."""
        readings = np.array(sample[:6])
        if not np.isfinite(readings).all() or self.state[memory.STARTED] == 0.0:
            return
        if not self.settings[head.MEAN_SAMPLES]:
            history = [self.state[at : at + 3] for at in (memory.RATES, memory.FORCES)]
            start_ns = self.last_ns - round(self.state[memory.BEHIND] * NS_PER_S)
            weight = (t_ns - start_ns) / (next_ns - start_ns)
            readings = weight * readings + (1.0 - weight) * np.concatenate(history)
        values = (*readings.tolist(), *NOT_MEASURED, int(sample[9]))
        self._uncounted(kernels.step, t_ns, *values)

    def reach_within(self, t_ns: int, parts: Sequence[float], clipped: int) -> None:
        """Go on by a part of an increment."""
        self._uncounted(kernels.step_increment, t_ns, *parts, clipped)

    def _uncounted(self, kernel: Callable[..., None], t_ns: int, *values: float) -> None:
        account = self.account.copy()
        self._made(kernel)(self.state, account, self.settings, t_ns, *values)
        self.account[head.LAST_NS] = t_ns

    def _made(self, kernel: Kernel) -> Kernel:
        return compiled(kernel) if self._compile_kernels else kernel


class SampleRows:
    """Samples of a series, and the rows of results that they give."""

    def __init__(self, series: ImuSeries) -> None:
        self.t_ns, self._rate, self._force, _, self._clipped = as_inputs(
            series, use_magnetic_field=False
        )
        self.out = np.empty((len(series), memory.ROW))

    def run(self, core: Core, first: int, last: int) -> None:
        """Take the samples from ``first`` to before ``last``."""
        columns = (self.t_ns, self._rate, self._force, self._clipped, self.out)
        core.run(kernels.run, *(column[first:last] for column in columns))

    def reach(self, core: Core, t_ns: int, row: int) -> None:
        """Go on to a time before the sample ``row``."""
        sample = (*self._rate[row], *self._force[row], *NOT_MEASURED, self._clipped[row])
        core.reach(t_ns, int(self.t_ns[row]), sample)


class IncrementRows:
    """Increments, and the rows of results that they give."""

    def __init__(self, increments: Increments) -> None:
        inside = increments.in_frames(body=BodyFrame.FLU)
        self.t_ns = inside.t_ns
        self._spans = [
            inside.delta_angle_dt_ns / NS_PER_S,
            inside.delta_velocity_dt_ns / NS_PER_S,
        ]
        self._integrals = [inside.delta_angle.copy(), inside.delta_velocity.copy()]
        accel = (inside.accel_clipping & 7).astype(np.int64)
        self._clipped = (inside.gyro_clipping & 7) | accel << 3
        self.out: FloatArray = np.empty((len(inside), memory.ROW))

    def run(self, core: Core, first: int, last: int) -> None:
        """Take the increments from ``first`` to before ``last``."""
        columns = (self.t_ns, *self._spans, *self._integrals, self._clipped, self.out)
        core.run(kernels.run_increments, *(column[first:last] for column in columns))

    def reach(self, core: Core, t_ns: int, row: int) -> None:
        """Go on to a time within the increment ``row``, which loses its first part."""
        span_ns = self._spans[1][row] * NS_PER_S
        part = 1.0 - (self.t_ns[row] - t_ns) / span_ns
        if not 0.0 < part < 1.0:
            return
        first = [
            *(part * column[row] for column in self._spans),
            *(part * column[row, axis] for column in self._integrals for axis in range(3)),
        ]
        for column in (*self._spans, *self._integrals):
            column[row] *= 1.0 - part
        core.reach_within(t_ns, first, int(self._clipped[row]))
