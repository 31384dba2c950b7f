"""MuJoCo: a model with its state, stepped and read. Needs the extra ``physics``."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.errors import BackendMissingError, ValueRangeError
from strapdown.motion.links import PointStates

if TYPE_CHECKING:
    from types import ModuleType

    from mujoco import MjModel

    from strapdown._typing import FloatArray, IntArray

__all__ = ["Engine", "backend", "words"]

_BAD_STATE: Final = slice(3, 6)  # mjWARN_BADQPOS, mjWARN_BADQVEL, mjWARN_BADQACC


class Engine:
    """A compiled model and its state.

    Parameters
    ----------
    model : mujoco.MjModel
    advice : str
        Remedy for an unstable simulation, for the error.

    Attributes
    ----------
    data : mujoco.MjData
        The present state.
    gravity : (3,)
        Of the model [m/s^2, world].
    step, forward : callable
        ``step(n)`` takes n steps, by default one; ``forward()`` computes the quantities derived
        from positions and velocities.
    """

    def __init__(self, model: MjModel, advice: str) -> None:
        self._mujoco = mujoco = import_module("mujoco")
        self._model, self._advice = model, advice
        self.data = data = mujoco.MjData(model)
        self.gravity = np.array(model.opt.gravity)
        self.step = partial(mujoco.mj_step, model, data)
        self.forward = partial(mujoco.mj_forward, model, data)
        self._warnings: IntArray = data.warning.number  # a view
        self._site_kind = mujoco.mjtObj.mjOBJ_SITE
        self._spatial = np.empty(6)

    def settle(self) -> None:
        """Update the quantities derived from positions and velocities.

        The next step is not affected.
        """
        start = self.data.qacc_warmstart.copy()
        self.forward()
        self._mujoco.mj_rnePostConstraint(self._model, self.data)
        self.data.qacc_warmstart[:] = start

    def check_stable(self, t_s: float) -> None:
        """Raise if MuJoCo met a state that is not finite: it then restarts silently.

        Raises
        ------
        ValueRangeError
            It restarted before ``t_s``.
        """
        if self._warnings[_BAD_STATE].any():
            raise ValueRangeError(
                "expected a stable simulation, got positions, velocities or accelerations that"
                f" are huge or not finite before t = {t_s:.6g} s; {self._advice}"
            )

    def state(self, site: int) -> tuple[FloatArray, PointStates]:
        """Return axes (3, 3) and origin of a site, in a state that is settled, as copies."""
        data, spatial, asked = self.data, self._spatial, (self._site_kind, site)
        self._mujoco.mj_objectVelocity(self._model, data, *asked, spatial, 0)
        rate, velocity = spatial.reshape(2, 3).copy()
        self._mujoco.mj_objectAcceleration(self._model, data, *asked, spatial, 0)
        spin_up, acceleration = spatial.reshape(2, 3).copy()
        acceleration += self.gravity  # in MuJoCo gravity is an upward acceleration of the world
        position, R = data.site_xpos[site].copy(), data.site_xmat[site].reshape(3, 3).copy()
        return R, PointStates(position, velocity, rate, acceleration, spin_up)


def backend(what: str) -> ModuleType:
    """Return MuJoCo, which ``what`` needs.

    Raises
    ------
    BackendMissingError
        It is not installed.
    """
    try:
        return import_module("mujoco")
    except ImportError:
        raise BackendMissingError(what, extra="physics") from None


def words(error: ValueError) -> str:
    """Return the text of an error from MuJoCo, as one line."""
    return " ".join(str(error).split())
