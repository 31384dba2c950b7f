"""Rigid-body physics: MuJoCo worlds with an inertial sensor on a site.

Needs the extra ``physics``. Any MJCF or URDF file can be used; the sensor is at a named site and
has its axes. A URDF has no sites: there a link's frame is used.

Recorded are the states between the steps; :class:`SteppedSource` defines the readings of a
sensor within them. State k is at k time steps exactly, regardless of MuJoCo's running sum of
time. Impacts are as hard as the world's contact parameters make them: their impulse
is right at any time step, their peak is not.

References
----------
E. Todorov, T. Erez and Y. Tassa, "MuJoCo: A physics engine for model-based control", IROS 2012.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown._checks import as_finite
from strapdown.errors import FormatError, UnknownNameError, UnsupportedError, ValueRangeError
from strapdown.geometry import quaternion
from strapdown.motion.engine import Engine, backend, words
from strapdown.motion.stepped import SteppedSource

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    import mujoco

    from strapdown._typing import ArrayLike, FloatArray

__all__ = ["PhysicsWorld"]

_POSE: Final = ("mjSENS_FRAMEPOS", "mjSENS_FRAMEQUAT", "mjSENS_FRAMELINVEL")
_REPORTED: Final = ("mjSENS_GYRO", "mjSENS_ACCELEROMETER")
_BLOCK: Final = 4096  # steps between checks of the stability and calls of the progress


class PhysicsWorld:
    """A MuJoCo world with inertial sensors, run as a whole or stepped by the user's loop.

    Poses and velocities come from MuJoCo's own sensors, which are added to the world: all
    sensors share one simulation. Between calls ``data`` may be changed freely (velocities,
    controls, forces); MuJoCo's z axis points up.

    Parameters
    ----------
    world : path, or str beginning with ``<``
        An MJCF or URDF file, or its text.
    sites : str or sequence of str
        Places of the sensors: names of sites or, where no site has the name, of bodies.
    keyframe : str, optional
        The world's keyframe to start from.
    qpos : (nq,), optional
        Joint positions to start from, in MuJoCo's order.
    reported : bool, optional
        Whether to record MuJoCo's own angular velocity and specific force with the states,
        for ``value="reported"`` of :class:`SteppedSource`.

    Attributes
    ----------
    model, data : mujoco.MjModel, mujoco.MjData
        The world, and its present state.
    step_s : float
        The time step [s].
    sites : tuple of str
        The sensors' names.

    Raises
    ------
    BackendMissingError
        MuJoCo is not installed.
    FileNotFoundError
        There is no such file.
    FormatError
        MuJoCo cannot read the world; its text is in the message.
    UnknownNameError
        No site or body, or no keyframe, has the name.
    ValueRangeError
        No site is named, or a joint position is not finite.
    UnsupportedError
        A site rides on a mocap body, which jumps from pose to pose without a velocity.
    """

    def __init__(
        self,
        world: str | Path,
        sites: str | Sequence[str],
        *,
        keyframe: str | None = None,
        qpos: ArrayLike | None = None,
        reported: bool = False,
    ) -> None:
        self._mujoco = mujoco = backend("MuJoCo physics")
        self.sites = (sites,) if isinstance(sites, str) else tuple(sites)
        if not self.sites:
            raise ValueRangeError("expected the name of a site, got none: nothing to measure")
        self._reported = reported
        kinds = _POSE + (_REPORTED if reported else ())
        self.model = _compiled(mujoco, world, self.sites, kinds)
        self.step_s = float(self.model.opt.timestep)
        self._engine = Engine(self.model, "use a shorter time step or softer contacts")
        self.data = self._engine.data
        added = self.model.nsensor - len(kinds) * len(self.sites)
        readings: FloatArray = self.data.sensordata[self.model.sensor_adr[added] :]
        self._readings = readings.reshape(len(self.sites), -1)  # a view
        names = [self.model.key(i).name for i in range(self.model.nkey)]
        if keyframe is not None and keyframe not in names:
            raise UnknownNameError("keyframe", keyframe, filter(None, names))
        self._keyframe = None if keyframe is None else names.index(keyframe)
        self._qpos = None if qpos is None else as_finite(qpos, "qpos", (self.model.nq,)).copy()
        self.reset()

    @property
    def t_s(self) -> float:
        """Time of the present state [s]."""
        return self._step * self.step_s

    def reset(self) -> None:
        """Reset to the initial state and to time 0."""
        mujoco, model, data = self._mujoco, self.model, self.data
        if self._keyframe is None:
            mujoco.mj_resetData(model, data)
        else:
            mujoco.mj_resetDataKeyframe(model, data, self._keyframe)
        if self._qpos is not None:
            data.qpos[:] = self._qpos
        self._engine.forward()
        self._step = 0

    def run(
        self,
        duration_s: float,
        *,
        control: Callable[[mujoco.MjModel, mujoco.MjData], object] | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> dict[str, SteppedSource]:
        """Simulate from the present state on, and return the readings of each sensor, by site.

        Memory: 10 numbers a step and site (80 bytes), 16 with ``reported``.

        Parameters
        ----------
        duration_s : float
            Duration [s]; rounded up to whole steps.
        control : callable, optional
            ``control(model, data)``, called before each step to set controls or forces. As
            always in MuJoCo, positions and velocities in ``data`` are then the present ones,
            and quantities derived from them (sensors, poses in the world) are one step old.
        progress : callable, optional
            ``progress(steps_done, steps)``, called every few thousand steps.

        Raises
        ------
        ValueRangeError
            The duration is not positive, or the simulation became unstable.
        """
        as_finite(duration_s, "duration_s", ())
        steps = math.ceil(duration_s / self.step_s - 1e-6)
        if steps < 1:
            raise ValueRangeError(f"expected a positive duration_s, got {duration_s}")
        model, data, step = self.model, self.data, self._engine.step
        readings = self._readings.data.cast("B")
        record = bytearray()  # grows by a copy of the readings: the cheapest way to keep them
        for start in range(0, steps, _BLOCK):
            block = min(_BLOCK, steps - start)
            for _ in range(block):
                if control is not None:
                    control(model, data)
                step()  # leaves the readings of the state before the step
                record += readings
            self._engine.check_stable((self._step + start + block) * self.step_s)
            if progress is not None:
                progress(start + block, steps)
        self._engine.settle()
        record += readings
        first, self._step = self._step, self._step + steps
        return self._sources(np.frombuffer(record).reshape(steps + 1, len(self.sites), -1), first)

    def step(self) -> tuple[float, FloatArray, FloatArray]:
        """Advance by one step, for a loop that feeds a simulated device.

        Afterwards positions, velocities and the quantities derived from them in ``data`` are
        those of the new state.

        Returns
        -------
        t_s : float
            Time of the state before the step [s].
        angular_velocity, specific_force : (S, 3)
            Readings of each sensor during the step, in the order of ``sites`` [rad/s], [m/s^2]:
            the same as :meth:`SteppedSource.inputs` gives at ``t_s``.

        Raises
        ------
        ValueRangeError
            The simulation became unstable.
        """
        mujoco = self._mujoco
        self._engine.step()
        self._engine.check_stable((self._step + 1) * self.step_s)
        before = self._readings.copy()
        mujoco.mj_step1(self.model, self.data)
        t_s = self.t_s
        self._step += 1
        if self._reported:
            return t_s, before[:, 10:13], before[:, 13:16]
        rate = np.empty((len(self.sites), 3))
        force = (self._readings[:, 7:10] - before[:, 7:10]) / self.step_s - self._engine.gravity
        q_sensor_from_world = np.empty(4)
        for i, (old, new) in enumerate(zip(before[:, 3:7], self._readings[:, 3:7], strict=True)):
            mujoco.mju_subQuat(rate[i], new, old)  # Log(R_old^T R_new)
            mujoco.mju_negQuat(q_sensor_from_world, old)
            mujoco.mju_rotVecQuat(force[i], force[i], q_sensor_from_world)
        return t_s, rate / self.step_s, force

    def _sources(self, states: FloatArray, first_step: int) -> dict[str, SteppedSource]:
        """Return the sources of states (N + 1, S, 10 or 16)."""
        return {
            site: SteppedSource(
                self.step_s,
                quaternion.from_wxyz(columns[:, 3:7]),
                columns[:, 0:3],
                columns[:, 7:10],
                self._engine.gravity,
                first_step=first_step,
                angular_velocity=columns[:, 10:13] if self._reported else None,
                specific_force=columns[:, 13:16] if self._reported else None,
            )
            for site, columns in zip(self.sites, np.moveaxis(states, 1, 0), strict=True)
        }


def _compiled(
    mujoco: ModuleType, world: str | Path, sites: tuple[str, ...], kinds: tuple[str, ...]
) -> mujoco.MjModel:
    """Return the model of a world, with sensors of some kinds on each site."""
    is_text = isinstance(world, str) and world.lstrip().startswith("<")
    path = None if is_text else Path(world)
    try:
        if path is None:
            spec = mujoco.MjSpec.from_string(world)
        else:
            path.stat()  # raises if there is no such file
            spec = mujoco.MjSpec.from_file(str(path))
        for site in sites:
            _add_sensors(mujoco, spec, site, kinds)
        model = spec.compile()
    except UnknownNameError:
        raise
    except ValueError as error:
        raise FormatError(words(error), path=path) from error
    for site in sites:
        root = model.body_rootid[model.site(site).bodyid[0]]
        if model.body_mocapid[root] >= 0:
            raise UnsupportedError(
                f"expected site {site!r} on a body that physics moves, got mocap body"
                f" {model.body(root).name!r}, which has no velocity; drive it by joints, or use"
                " a kinematic tree",
                path=path,
            )
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
    return model


def _add_sensors(
    mujoco: ModuleType, spec: mujoco.MjSpec, site: str, kinds: tuple[str, ...]
) -> None:
    """Add sensors on a site; a body's name makes a site in the body's frame."""
    if spec.site(site) is None:
        body = spec.body(site)
        if body is None:
            known = [item.name for item in (*spec.sites, *spec.bodies)]
            raise UnknownNameError("site", site, filter(None, known))
        body.add_site(name=site)
    for kind in kinds:
        spec.add_sensor(
            type=getattr(mujoco.mjtSensor, kind), objtype=mujoco.mjtObj.mjOBJ_SITE, objname=site
        )
