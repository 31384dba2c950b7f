"""Contacts in a MuJoCo model of a world: the pairs that may touch, and their parameters.

Contacts are damped springs: a body on one point sinks in by 1 mm with a substep of 2 ms. A hard
contact of a convex solver lifts off when it slides, because the friction that it cannot provide
becomes normal force; a soft one stays closed, and friction, made hard by ``impratio``, still
sticks. Contacts are the harder, the more mass in the world the lighter body may have to carry, so
that nothing sinks in much further.

References
----------
E. Todorov, "Convex and analytically-invertible dynamics with contacts and constraints", ICRA 2014.
MuJoCo documentation, "Computation: constraint model" and "Modeling: solver parameters".
T. Schwager and T. Poeschel, "Coefficient of restitution and linear-dashpot model revisited",
Granular Matter 9, 2007.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from strapdown.errors import ValueRangeError
from strapdown.motion.engine import words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import mujoco

    from strapdown.webots.file.node import Node

__all__ = ["IMPRATIO", "Surface", "add_contacts", "compile_model", "unmapped"]

IMPRATIO: Final = 1e4
"""Factor by which friction is stiffer than the normal direction."""

_SOFT, _FIRM = 0.15, 0.999  # least and greatest impedance: the share of a true constraint
_CARRIED: Final = 1.0  # multiple of its weight that a body carries on the softest contact
_FREQUENCY: Final = 0.2  # of a body on one contact [rad per substep]
_DAMPING: Final = 0.75  # the ratio above which many contacts at once would be unstable
_STICK_PER_S: Final = 30.0  # rate at which friction stops a slip, where it is strong enough
_MOST_FRICTION: Final = 10.0  # in place of an infinite coefficient
_PLAIN: Final = {  # fields of ContactProperties without effect, and their neutral values
    "frictionRotation": (0.0, 0.0),
    "rollingFriction": (0.0, 0.0, 0.0),
    "forceDependentSlip": [0.0],
}


class Surface(NamedTuple):
    """A geometry, and the properties that decide whether it touches another."""

    geom: mujoco.MjsGeom
    """Geometry in the model."""
    material: str
    assembly: Node | None
    """The topmost Solid of those that are fixed to each other."""
    neighbour: Node | None
    """The assembly on the other side of the joint that holds this one."""
    robot: Node | None
    """The outermost Robot that it is part of."""
    moves: bool
    """Whether forces move it."""

    def may_touch(self, other: Surface) -> bool:
        """Return whether this surface may collide with another.

        In Webots two surfaces do not collide if forces move neither, if they are fixed to each
        other, or if one joint connects them; nor do those of one Robot without ``selfCollision``.
        """
        if not (self.moves or other.moves) or self.assembly is other.assembly:
            return False
        if self.neighbour is other.assembly or other.neighbour is self.assembly:
            return False
        is_self = self.robot is not None and self.robot is other.robot
        return not is_self or (self.robot is not None and self.robot.flag("selfCollision"))


def add_contacts(
    spec: mujoco.MjSpec,
    surfaces: Sequence[Surface],
    rules: Iterable[Node],
    substep_s: float,
    joined: Collection[frozenset[Node | None]] = (),
) -> None:
    """Add the pairs of surfaces that may touch to a model.

    Friction is 1 unless ContactProperties for the two materials specify another value. A collision
    returns as little velocity as possible, at most a fifth, unless their ``bounce`` is written
    and larger; this holds for a single point of contact.

    Parameters
    ----------
    spec : mujoco.MjSpec
        Contains a geometry for each surface.
    surfaces : sequence of Surface
    rules : iterable of Node
        ContactProperties; the first that matches is used.
    substep_s : float
        Time step of the model [s].
    joined : collection of frozenset
        Pairs of assemblies that a joint connects in addition to those above them.
    """
    by_materials: dict[frozenset[str], Node] = {}
    for rule in rules:
        materials = frozenset((rule.text("material1"), rule.text("material2")))
        by_materials.setdefault(materials, rule)
    model = compile_model(spec)  # has the inverse masses of the bodies
    mobility = model.body_invweight0[:, 0] * model.body_mass.sum()
    frequency = _FREQUENCY / substep_s
    for one, other in combinations(surfaces, 2):
        if not one.may_touch(other) or frozenset((one.assembly, other.assembly)) in joined:
            continue
        load = mobility[one.geom.parent.id] + mobility[other.geom.parent.id]
        impedance = 1.0 - _CARRIED / load if load > _CARRIED else 0.0
        impedance = min(max(impedance, _SOFT), _FIRM)
        found = by_materials.get(frozenset((one.material, other.material)))
        friction = _friction(found) if found else 1.0
        bounces = found is not None and "bounce" in found.fields
        damping = _damping_ratio(found.number("bounce")) if found and bounces else _DAMPING
        pair = spec.add_pair(geomname1=one.geom.name, geomname2=other.geom.name)
        pair.condim = 3 if friction > 0.0 else 1
        pair.friction = [friction, friction, 0.0, 0.0, 0.0]
        pair.solimp = [impedance, impedance, 1.0, 0.5, 2.0]
        pair.solref = [-(frequency**2), -2.0 * damping * frequency]
        pair.solreffriction = [0.0, -_STICK_PER_S * impedance]


def compile_model(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Return the compiled model of a specification.

    Raises
    ------
    ValueRangeError
        MuJoCo refuses a size, mass or inertia; its words are in the message.
    """
    try:
        return spec.compile()
    except ValueError as error:
        raise ValueRangeError(
            f"expected sizes, masses and inertias of real bodies, got: {words(error)}; check the"
            " bounding objects and Physics of the world"
        ) from error


def unmapped(rule: Node) -> Iterator[str]:
    """Yield the fields of ContactProperties that request an effect that is not simulated."""
    for name, plain in _PLAIN.items():
        if rule.get(name) != plain:
            yield name
    if len(rule.numbers("coulombFriction")) > 1:
        yield "coulombFriction in two directions"


def _friction(rule: Node) -> float:
    coefficient = next(iter(rule.numbers("coulombFriction")), 1.0)
    return min(coefficient, _MOST_FRICTION) if coefficient >= 0.0 else _MOST_FRICTION


def _damping_ratio(bounce: float) -> float:
    """Return the damping ratio of a spring that returns this share of the velocity.

    A contact only pushes: it ends when its force is zero, and returns exp(-(pi - 2 a) tan a)
    with the ratio sin a (Schwager and Poeschel).
    """
    low, high = 0.0, 0.5 * math.pi
    for _ in range(40):
        angle = 0.5 * (low + high)
        if math.exp(-(math.pi - 2.0 * angle) * math.tan(angle)) > bounce:
            low = angle
        else:
            high = angle
    return min(math.sin(low), _DAMPING)
