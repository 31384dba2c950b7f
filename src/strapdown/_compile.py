"""Compile kernels with Numba: one source, two speeds.

A kernel is a small pure function over plain floats in a module named ``_kernels``. As it
stands it runs as ordinary Python; :func:`compiled` gives the same source compiled, and
nothing is compiled, and Numba is not imported, before the first call. In a module that says
``INLINE = True`` the compiled kernels are merged into their callers, so that the state of a
recursion, a tuple of many floats, is not copied at every step.
"""

from __future__ import annotations

import sys
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    Kernel = TypeVar("Kernel", bound=Callable[..., Any])

__all__ = ["compiled"]


def compiled(kernel: Kernel) -> Kernel:
    """Return ``kernel`` compiled, together with every kernel that it calls.

    The machine code is cached on disk, so one process pays for it once per installation.
    Arithmetic stays IEEE double in the written order (no fast-math), and the call releases
    the interpreter lock.

    Parameters
    ----------
    kernel : function
        Defined at the top of a module named ``_kernels``.

    Returns
    -------
    function
        The compiled twin.
    """
    scope = _compiled_scope(kernel.__module__)
    return cast("Kernel", scope[kernel.__name__])


@cache
def _compiled_scope(module_name: str) -> dict[str, Any]:
    """Return the globals of a kernel module with its functions compiled."""
    from numba import njit  # noqa: PLC0415 (a slow import that only compiled runs pay for)

    scope = dict(vars(sys.modules[module_name]))
    for name, value in list(scope.items()):
        if not isinstance(value, FunctionType):
            continue
        if value.__module__ == module_name:
            twin = FunctionType(value.__code__, scope, name, value.__defaults__)
            twin.__qualname__ = value.__qualname__
            twin.__module__ = module_name
            scope[name] = njit(
                cache=True, nogil=True, fastmath=False, forceinline=scope.get("INLINE", False)
            )(twin)
        elif value.__module__.endswith("._kernels"):
            scope[name] = _compiled_scope(value.__module__)[value.__name__]
    return scope
