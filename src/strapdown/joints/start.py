"""First state of a joint, from which least squares converges.

The vertical components of the constraints do not depend on the heading, and are linear: they
give the centre of the joint, and the axes of a hinge unless they stay at one inclination. The
horizontal components then give the heading.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from strapdown.joints.anatomy import JointKind
from strapdown.joints.model import CENTRE_PRIOR, FORCE_PRIOR, Model, State, turned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from strapdown._typing import FloatArray
    from strapdown.joints.heading import Heading

__all__ = ["first_states"]

SWEEPS: Final = 4
"""Times that heading and centre are estimated in turn."""
WINDOW: Final = 5
"""Knots over which the heading is constant at first."""
NOISE: Final = 1.0
"""Of one instant of acceleration, with its correlation [m/s^2]."""
DIRECTIONS: Final = 400
PARALLEL: Final = 0.9
"""Cosine of the angle between two axes from which they count as one."""
X: Final = np.array([1.0, 0.0, 0.0])


def first_states(model: Model, heading: Heading) -> Iterator[State]:
    """Yield states to begin with; the one that ends best is the right one."""
    zero = np.zeros(3)
    state = State(
        np.zeros(heading.count), zero, zero, zero, zero, X, X, delay=model.segments.delay_s
    )
    state = _with_centre(model, heading, state, vertical=True)
    for _ in range(SWEEPS):
        first, second = model.accelerations(state)
        state = state.moved({}, _heading(heading, first, second) - state.heading)
        state = _with_centre(model, heading, state)
    at = heading.weights @ state.heading
    if model.kind is JointKind.BALL:
        yield state
        return
    relative = _relative(model, at)
    if model.kind is JointKind.SADDLE:
        yield _saddle(state, relative)
        return
    U, _, Vt = np.linalg.svd(relative.mean(axis=0))
    yield replace(state, axis_first=U[:, 0], axis_second=Vt[0])
    one, two = model.segments.first.rotation, model.segments.second.rotation
    for axis_first, axis_second in _axes_by_inclination(one, two):
        candidate = replace(state, axis_first=axis_first, axis_second=axis_second)
        knots = _heading(heading, one @ axis_first, two @ axis_second)
        candidate = candidate.moved({}, knots - state.heading)
        yield _with_centre(model, heading, candidate)


def _with_centre(model: Model, heading: Heading, state: State, *, vertical: bool = False) -> State:
    """Return a state with the best centre and accelerometer errors for its heading."""
    names = ("centre_first", "centre_second", "force_first", "force_second")
    constraint = model.constraints(state, heading.weights @ state.heading)["centre"]
    rows = slice(2, 3) if vertical else slice(0, 3)
    jacobian = np.concatenate([constraint.by[name] for name in names], axis=2)[:, rows]
    jacobian = jacobian.reshape(-1, 12) / NOISE
    left = constraint.rows[:, rows].ravel() / NOISE
    prior = np.repeat([CENTRE_PRIOR, FORCE_PRIOR], 6) ** -2.0
    before = np.concatenate([getattr(state, name) for name in names])
    information = jacobian.T @ jacobian + np.diag(prior)
    step = -np.linalg.solve(information, jacobian.T @ left + prior * before)
    parts = dict(zip(names, step.reshape(4, 3), strict=True))
    return state.moved(parts, np.zeros(heading.count))


def _heading(heading: Heading, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the heading at the knots that turns vectors (K, 3) of the second to the first."""
    products = (first[:, 0] + 1j * first[:, 1]) * (second[:, 0] - 1j * second[:, 1])
    summed = np.convolve(heading.weights.T @ products, np.ones(WINDOW), "same")
    found: FloatArray = np.unwrap(np.angle(summed))
    return found


def _relative(model: Model, heading: FloatArray) -> FloatArray:
    """Return the rotations (K, 3, 3) of the second segment in the first."""
    one, two = model.segments.first.rotation, model.segments.second.rotation
    columns = [turned(heading, two[:, :, i]) for i in range(3)]
    relative: FloatArray = np.swapaxes(one, 1, 2) @ np.stack(columns, axis=2)
    return relative


def _saddle(state: State, relative: FloatArray) -> State:
    """Return a state with the axes whose angle varies least: a search over directions."""
    mean = relative.mean(axis=0)
    entries = (relative - mean).reshape(-1, 9)
    spread = (entries.T @ entries / len(entries)).reshape(3, 3, 3, 3)
    number = np.arange(DIRECTIONS) + 0.5
    z = 1.0 - number / DIRECTIONS  # a spiral over half of the sphere
    angle = number * np.pi * (1.0 + 5.0**0.5)
    ring = np.sqrt(1.0 - z**2)
    first = np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)
    variances, vectors = np.linalg.eigh(np.einsum("ni,ijkl,nk->njl", first, spread, first))
    second = np.swapaxes(vectors, 1, 2)  # three for each direction
    cosine = np.einsum("ni,ij,nmj->nm", first, mean, second)
    square = variances / np.maximum(1.0 - cosine**2, 1e-12)
    square[np.abs(cosine) > PARALLEL] = np.inf
    n, m = np.unravel_index(np.argmin(square), square.shape)
    angle = float(np.arccos(cosine[n, m]))
    return replace(state, axis_first=first[n], axis_second=second[n, m], angle=angle)


def _axes_by_inclination(
    one: FloatArray, two: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield axes of a hinge that have the same inclination in both segments at all instants."""
    ups = np.concatenate([one[:, 2], -two[:, 2]], axis=1)
    _, vectors = np.linalg.eigh(ups.T @ ups)
    first, second = np.split(vectors[:, 0], 2)
    if min(np.linalg.norm(first), np.linalg.norm(second)) < 0.1:  # one inclination: any length
        first, second = (np.linalg.eigh(each[:, 2].T @ each[:, 2])[1][:, 0] for each in (one, two))
    first, second = (each / np.linalg.norm(each) for each in (first, second))
    yield first, second
    yield first, -second
