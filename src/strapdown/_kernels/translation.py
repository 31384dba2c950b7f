"""What Numba makes of a kernel for arguments of certain types: object code with one entry."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final
from warnings import catch_warnings, simplefilter

import llvmlite.binding as llvm
import numba
from numba import types

from strapdown._kernels.kernel import kernels_used
from strapdown._kernels.object_code import ENTRY, ObjectCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown._kernels.object_code import Description

__all__ = ["translated"]

_OF_THE_COMPILER: Final = ("numba_", "NRT_", "Py")  # functions that are not there without it


def translated(kernel: FunctionType, arguments: Sequence[object]) -> ObjectCode:
    """Compile a kernel for arguments of the types of these.

    Raises
    ------
    RuntimeError
        It needs what only the compiler has at hand.
    """
    dispatcher, signature = _jit(kernel), tuple(map(numba.typeof, arguments))
    with catch_warnings():
        simplefilter("ignore")  # a record may stand for its base: experimental, and tested
        dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    target = compiled.fndesc.llvm_func_name
    module = compiled.library._final_module.clone()  # noqa: SLF001 (Numba gives no other access)
    outside = [each.name for each in module.functions if each.is_declaration]
    if strange := [each for each in outside if each.startswith(_OF_THE_COMPILER)]:
        raise RuntimeError(
            f"{kernel.__name__} needs {', '.join(strange)}, which only the compiler has"
        )
    slots = [str(each.type) for each in module.get_function(target).arguments]
    module.link_in(llvm.parse_assembly(_entry(target, slots)))
    code = compiled.library.codegen._tm.emit_object(module)  # noqa: SLF001 (as above)
    return ObjectCode(code, slots, _description(compiled.signature.return_type))


@cache
def _jit(kernel: FunctionType) -> Any:
    """Return a kernel as Numba compiles it, and so every kernel that it calls.

    None needs a wrapper that takes Python's objects apart, which for a tuple of many floats takes
    longer to compile than the kernel does.
    """
    jit: Any = numba.njit  # it takes more options than it tells
    scope = dict(kernel.__globals__)
    for used in kernels_used(kernel):
        scope[used] = _jit(scope[used])
    twin = FunctionType(kernel.__code__, scope, kernel.__name__, kernel.__defaults__)
    twin.__module__ = kernel.__module__
    return jit(
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        forceinline=kernel.inlines,  # type: ignore[attr-defined]
        _nrt=False,
        nogil=True,
        fastmath=False,
    )(twin)


def _entry(target: str, slots: list[str]) -> str:
    """Return the entry in LLVM's language: it takes numbers from a block and hands them on."""
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
    """Return what a result of a type is, as :class:`ObjectCode` says it."""
    kind = types.unliteral(kind)  # type: ignore[no-untyped-call]
    if isinstance(kind, types.BaseTuple):
        parts: Any = kind
        own = getattr(kind, "instance_class", None)
        name = own and f"{own.__module__}:{own.__qualname__}"
        return {"tuple": name, "parts": [_description(part) for part in parts]}
    return None if kind == types.none else str(kind)
