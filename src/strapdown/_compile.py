"""Compile kernels with Numba: one source, two speeds.

A kernel is a small pure function over plain floats in a module named ``_kernels``. As it
stands it runs as ordinary Python; :func:`compiled` gives the same source compiled, and
nothing is compiled, and Numba is not imported, before the first call. In a module that says
``INLINE = True`` the compiled kernels are merged into their callers, so that the state of a
recursion, a tuple of many floats, is not copied at every step. In one that says
``BORROWS = True`` the kernels make no arrays, and those that they are given are not counted:
two atomic operations less for every array in every call.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from hashlib import blake2s
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    Kernel = TypeVar("Kernel", bound=Callable[..., Any])

__all__ = ["compiled"]

_IMPORTED: Final = re.compile(rb"^from (strapdown\.[\w.]+) import", re.MULTILINE)


def compiled(kernel: Kernel, **parts: Callable[..., Any]) -> Kernel:
    """Return ``kernel`` compiled, together with every kernel that it calls.

    The machine code is cached on disk, so one process pays for it once per installation; what
    was compiled from other sources, of this kernel or of one that it calls, is not used again.
    Arithmetic stays IEEE double in the written order (no fast-math), and the call releases
    the interpreter lock.

    Parameters
    ----------
    kernel : function
        Defined at the top of a module named ``_kernels``.
    **parts : function
        Kernels that stand for names which ``kernel`` calls and its module leaves open: so one
        loop serves many steps.

    Returns
    -------
    function
        The compiled twin.
    """
    given = tuple((name, part.__module__, part.__name__) for name, part in parts.items())
    return cast("Kernel", _entry(kernel.__module__, kernel.__name__, given))


@cache
def _entry(module_name: str, name: str, given: tuple[tuple[str, str, str], ...]) -> FunctionType:
    """Return a kernel as Python calls it."""
    kernel = vars(sys.modules[module_name])[name]
    scope = _compiled_scope(module_name)
    if given:
        parts = {part: _compiled_scope(home)[twin] for part, home, twin in given}
        scope = scope | parts
        # The cache tells functions apart by name, and this one has a body for each binding.
        name = "_".join([name, *(f"{home}.{twin}_{_digest(home)}" for _, home, twin in given)])
    return _jit(kernel, scope, name, no_cpython_wrapper=False)


@cache
def _digest(module_name: str) -> str:
    """Return what changes with the source of a module, or of one that it imports from.

    The cache of the compiler looks at the file of a function alone, not at what is called.
    """
    sources: dict[str, bytes] = {}
    left = [module_name]
    while left:  # modules of a package may import each other
        name = left.pop()
        if name not in sources:
            sources[name] = Path(str(sys.modules[name].__file__)).read_bytes()
            left += (found.decode() for found in _IMPORTED.findall(sources[name]))
    return blake2s(b"".join(sources[name] for name in sorted(sources)), digest_size=4).hexdigest()


@cache
def _compiled_scope(module_name: str) -> dict[str, Any]:
    """Return the globals of a kernel module with its functions as other kernels call them.

    These need no wrapper that takes Python's objects apart, which for a tuple of many floats
    takes longer to compile than the kernel does.
    """
    scope = dict(vars(sys.modules[module_name]))
    for name, value in list(scope.items()):
        if not isinstance(value, FunctionType):
            continue
        if value.__module__ == module_name:
            scope[name] = _jit(value, scope, f"{name}_within", no_cpython_wrapper=True)
        elif value.__module__.endswith("._kernels"):
            scope[name] = _compiled_scope(value.__module__)[value.__name__]
    return scope


def _jit(
    kernel: FunctionType, scope: dict[str, Any], name: str, *, no_cpython_wrapper: bool
) -> FunctionType:
    """Return a kernel to be compiled, under a name for its file in the cache."""
    from numba import njit  # noqa: PLC0415 (a slow import that only compiled runs pay for)

    twin = FunctionType(kernel.__code__, scope, name, kernel.__defaults__)
    twin.__qualname__ = f"{name}_{_digest(kernel.__module__)}"
    twin.__module__ = kernel.__module__
    options: dict[str, Any] = {
        "forceinline": scope.get("INLINE", False),
        "no_cpython_wrapper": no_cpython_wrapper,
        "no_cfunc_wrapper": True,
        "_nrt": not scope.get("BORROWS", False),
    }
    return cast("FunctionType", njit(cache=True, nogil=True, fastmath=False, **options)(twin))
