"""Numbers held fast: every bit of them as a digest, and a few as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import blake2s
from itertools import starmap

import numpy as np
from numba import njit

SAMPLES = 8  # numbers of each array that are written out
RELATIVE, ABSOLUTE = 1e-6, 1e-9  # how far these may be off with other mathematics


def arrays_of(value: object, name: str = "") -> dict[str, np.ndarray]:
    """Return the arrays and numbers in a result, whatever it is, by dotted names.

    Numbers side by side become one array; text becomes its code points. Who measured, and in
    which axes, is no number.
    """
    found: dict[str, np.ndarray] = {}
    numbers: list[float] = []
    for key, part in _parts(value):
        if isinstance(part, Enum):
            numbers.append(list(type(part)).index(part))
        elif part is None or isinstance(part, bool | int | float | np.generic):
            numbers.append(math.nan if part is None else part)
        elif isinstance(part, str | frozenset):
            text = part if isinstance(part, str) else " ".join(sorted(part))
            found[key] = np.frombuffer(text.encode(), np.uint8)
        elif isinstance(part, np.ndarray):
            found[key] = _as_codes(part) if part.dtype.kind == "U" else part
        else:
            found |= {f"{key}.{inner}": array for inner, array in arrays_of(part).items()}
    if numbers:
        found["numbers"] = np.array(numbers)
    return {f"{name}.{key}" if name else key: array for key, array in found.items()}


def _parts(value: object) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [(str(key), value[key]) for key in value]
    if is_dataclass(value):
        names = [entry.name for entry in fields(value) if not entry.name.startswith("_")]
        return [(each, getattr(value, each)) for each in names if each != "sensor"]
    if hasattr(value, "_asdict"):
        return list(value._asdict().items())
    if isinstance(value, list | tuple):
        return [(str(index), part) for index, part in enumerate(value)]
    return [("value", value)]


def _as_codes(texts: np.ndarray) -> np.ndarray:
    return np.frombuffer("\n".join(texts.tolist()).encode(), np.uint8)


def stacked(rows: list[Mapping[str, object]]) -> dict[str, np.ndarray]:
    """Return what a stream said, sample after sample, as columns."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def canonical(array: np.ndarray) -> np.ndarray:
    """Return little-endian float64 or int64; every NaN is the same."""
    if array.dtype.kind == "f":
        values = array.astype("<f8")
        values[np.isnan(values)] = np.nan
        return values
    return array.astype("<i8")


def pinned(arrays: Mapping[str, np.ndarray]) -> dict[str, dict[str, object]]:
    """Return what is written of each array: its digest, its shape, and a few numbers."""
    return dict(starmap(_pinned, arrays.items()))


def _pinned(name: str, array: np.ndarray) -> tuple[str, dict[str, object]]:
    values = canonical(np.asarray(array))
    rows = np.unique(np.linspace(0, max(values.size - 1, 0), SAMPLES).astype(np.int64))
    samples = values.ravel()[rows].tolist() if values.size else []
    return name, {
        "digest": blake2s(values.tobytes(), digest_size=8).hexdigest(),
        "shape": list(values.shape),
        "samples": [None if math.isnan(x) else x for x in samples],
    }


def difference(now: Mapping[str, object], pin: Mapping[str, object]) -> float:
    """Return how far apart the sampled numbers are at most, relative to the tolerance.

    Infinite where the shapes differ, or where only one of the two is NaN.
    """
    if now["shape"] != pin["shape"]:
        return math.inf
    return max(map(_off, now["samples"], pin["samples"]), default=0.0)


def _off(now: float | None, pin: float | None) -> float:
    if now is None or pin is None or math.isinf(now) or math.isinf(pin):
        return 0.0 if now == pin else math.inf
    return abs(now - pin) / (ABSOLUTE + RELATIVE * abs(pin))


def _functions(x: float, y: float) -> tuple[float, ...]:
    return (
        math.sin(x), math.cos(x), math.exp(x), math.expm1(x), math.atan2(x, y), math.hypot(x, y),
        math.sqrt(abs(x)), math.pow(abs(x), y), math.acos(y / 21.0), math.log(abs(x)),
    )  # fmt: skip


def fingerprint() -> dict[str, str]:
    """Return digests of what mathematics gives here: by Python, NumPy, Numba, linear algebra.

    Another C library, another processor, or another release of these rounds otherwise.
    """
    x, y = np.linspace(-20.0, 20.0, 400), np.linspace(20.0, -19.5, 400)
    functions = (np.sin, np.cos, np.exp, np.expm1, np.tan, np.arccos, np.log)
    with np.errstate(invalid="ignore"):
        arrays = [each(x) for each in functions]
    arrays += [np.arctan2(x, y), np.hypot(x, y), np.sqrt(np.abs(x)), np.abs(x) ** (y / 7.0)]
    square = np.sin(np.multiply.outer(x[:15], y[:15])) + 20.0 * np.eye(15)
    symmetric = square @ square.T
    algebra = [symmetric, np.linalg.solve(square, x[:15]), np.linalg.cholesky(symmetric)]
    algebra += [*np.linalg.eigh(symmetric), np.einsum("ij,jk->ik", square, symmetric)]
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    compiled = njit(_functions)
    return {
        "python": _digest([np.array(list(starmap(_functions, pairs)))]),
        "numpy": _digest(arrays),
        "numba": _digest([np.array(list(starmap(compiled, pairs)))]),
        "linear algebra": _digest(algebra),
    }


def _digest(arrays: list[np.ndarray]) -> str:
    return blake2s(b"".join(canonical(a).tobytes() for a in arrays), digest_size=8).hexdigest()
