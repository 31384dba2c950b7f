"""Kernels: small pure functions that run as plain Python and as machine code.

They work on plain floats, arrays and records, and call only kernels and functions that the
compiler supports.
"""

from __future__ import annotations

from dis import get_instructions
from functools import cache
from hashlib import blake2s
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Kernel = TypeVar("Kernel", bound=Callable[..., Any])

__all__ = ["bind", "digest", "inlined_kernel", "is_kernel", "kernel", "kernels_used"]


def kernel(function: Kernel) -> Kernel:
    """Mark a function as a kernel.

    A kernel allocates no arrays, writes to no slices and keeps no references: its caller passes
    the memory that it works in, so that no reference counting is compiled.
    """
    function.inlines = False  # type: ignore[attr-defined]
    return function


def inlined_kernel(function: Kernel) -> Kernel:
    """Mark a kernel that is inlined into its callers, because it passes many numbers by value."""
    function.inlines = True  # type: ignore[attr-defined]
    return function


def is_kernel(value: object) -> bool:
    """Whether a value is a function marked as a kernel."""
    return isinstance(value, FunctionType) and hasattr(value, "inlines")


def bind(loop: Kernel, **parts: Callable[..., Any]) -> Kernel:
    """Return a kernel in which names that its module leaves undefined refer to other kernels.

    Thus one loop serves the steps of many filters, in both executions.
    """
    source = cast("FunctionType", loop)
    name = "_".join(
        [source.__name__, *(f"{part.__module__}.{part.__name__}" for part in parts.values())]
    )
    bound = FunctionType(source.__code__, source.__globals__ | parts, name)
    bound.__module__ = source.__module__
    return kernel(cast("Kernel", bound))


def kernels_used(function: FunctionType) -> list[str]:
    """Return the names of the kernels that a kernel calls."""
    scope = function.__globals__
    return [name for name in _names(function.__code__) if is_kernel(scope.get(name))]


@cache
def _names(code: CodeType) -> list[str]:
    """Return the names of the globals that code uses."""
    own = [step.argval for step in get_instructions(code) if step.opname == "LOAD_GLOBAL"]
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _names(part)]
    return list(dict.fromkeys([*own, *inner]))


@cache
def digest(function: FunctionType) -> str:
    """Return a digest of the code of a kernel, of the kernels that it calls, and of constants.

    The cache of the compiler depends on the file of a function only, not on the kernels it calls.
    """
    scope = function.__globals__
    parts = [function.__module__, *_code_parts(function.__code__)]  # machine code imports modules
    for name in _names(function.__code__):
        value = scope.get(name)
        if is_kernel(value):
            parts.append(digest(cast("FunctionType", value)))
        elif isinstance(value, int | float | str | tuple):
            parts.append(f"{name}={value!r}")
        elif isinstance(value, type):
            parts.append(f"{name}={vars(value).get('_fields')}")
    return blake2s("\n".join(parts).encode(), digest_size=6).hexdigest()


def _code_parts(code: CodeType) -> Iterator[str]:
    yield repr((code.co_code, code.co_names, code.co_varnames))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant)
        else:
            yield repr(constant)
