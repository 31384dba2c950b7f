"""Compilation of kernels by Numba for certain types: object code with one entry."""

from __future__ import annotations

import gc
import signal
from contextlib import contextmanager
from functools import cache
from threading import Timer, current_thread, main_thread
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings, simplefilter

import llvmlite.binding as llvm
import numba
from numba import types
from numba.core.compiler_lock import global_compiler_lock

from strapdown._kernels.code_generation import KernelDispatcher, object_code
from strapdown._kernels.kernel import kernels_used
from strapdown._kernels.object_code import ENTRY, ObjectCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

    from strapdown._kernels.object_code import Description

__all__ = ["translated"]

_OF_THE_COMPILER: Final = ("numba_", "NRT_", "Py")  # functions that only the compiler has
_AGAIN_S: Final = 0.05
"""Time until a signal that arrived within LLVM is repeated [s]."""


def translated(kernel: FunctionType, arguments: Sequence[object]) -> ObjectCode:
    """Compile a kernel for the types of these arguments.

    Raises
    ------
    RuntimeError
        It needs a function that only the compiler has.
    """
    dispatcher, signature = _jit(kernel), tuple(map(numba.typeof, arguments))
    with catch_warnings(), _interruptible(), _uncollected(), global_compiler_lock:
        simplefilter("ignore")  # a record may be passed as its base: experimental, and tested
        dispatcher.compile(signature)
        compiled = dispatcher.overloads[signature]
        compiled.library._ensure_finalized()  # noqa: SLF001 (Numba gives no other access)
    target = compiled.fndesc.llvm_func_name
    module = compiled.library._final_module.clone()  # noqa: SLF001 (as above)
    outside = [each.name for each in module.functions if each.is_declaration]
    if strange := [each for each in outside if each.startswith(_OF_THE_COMPILER)]:
        raise RuntimeError(
            f"{kernel.__name__} needs {', '.join(strange)}, which only the compiler has"
        )
    slots = [str(each.type) for each in module.get_function(target).arguments]
    module.link_in(llvm.parse_assembly(_entry(target, slots)))
    return ObjectCode(object_code(module), slots, _description(compiled.signature.return_type))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the collection of reference cycles: the compiler makes many objects and keeps them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _interruptible() -> Iterator[None]:
    """Repeat a signal that arrives within LLVM, whose callbacks lose the exception of its handler.

    Ctrl-C would print a traceback and end nothing.
    """
    is_main = current_thread() is main_thread()  # no other thread handles signals
    signals = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    handlers: dict[int, Callable[[int, FrameType | None], Any]] = {
        each: handler for each in signals if callable(handler := signal.getsignal(each))
    }

    def handle(number: int, frame: FrameType | None) -> None:
        if _is_in_llvm(frame):
            Timer(_AGAIN_S, signal.raise_signal, [number]).start()
        else:
            handlers[number](number, frame)

    try:
        for each in handlers:
            signal.signal(each, handle)
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)


def _is_in_llvm(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("llvmlite."):
            return True
        frame = frame.f_back
    return False


@cache
def _jit(kernel: FunctionType) -> Any:
    """Return a kernel, and every kernel that it calls, as dispatchers of Numba.

    Without wrappers that unpack Python objects: for a tuple of many floats such a wrapper takes
    longer to compile than the kernel.
    """
    scope = dict(kernel.__globals__)
    for used in kernels_used(kernel):
        scope[used] = _jit(scope[used])
    twin = FunctionType(kernel.__code__, scope, kernel.__name__, kernel.__defaults__)
    twin.__module__ = kernel.__module__
    options = {
        "nopython": True,
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "forceinline": kernel.inlines,  # type: ignore[attr-defined]
        "_nrt": False,
        "nogil": True,
        "fastmath": False,
    }
    return KernelDispatcher(twin, options)


def _entry(target: str, slots: list[str]) -> str:
    """Return the entry in LLVM IR, which loads numbers from a block and passes them to a kernel."""
    loads = "\n".join(
        f"%at{i} = getelementptr i64, ptr %block, i64 {i}\n%value{i} = load {slot}, ptr %at{i}"
        for i, slot in enumerate(slots)
    )
    values = ", ".join(f"{slot} %value{i}" for i, slot in enumerate(slots))
    return (
        f"declare i32 @{target}({', '.join(slots)})\n"
        f"define i32 @{ENTRY}(ptr %block) {{\n{loads}\n"
        f"%status = call i32 @{target}({values})\nret i32 %status\n}}"
    )


def _description(kind: Any) -> Description:
    """Return the description of a result type, as in :class:`ObjectCode`."""
    kind = types.unliteral(kind)  # type: ignore[no-untyped-call]
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        own = getattr(kind, "instance_class", None)
        name = own and f"{own.__module__}:{own.__qualname__}"
        return {"tuple": name, "parts": [_description(part) for part in parts]}
    return None if kind == types.none else str(kind)
