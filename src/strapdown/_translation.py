"""What Numba makes of a kernel for arguments of certain types: object code with one entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding as llvm
from numba import types

from strapdown._object_code import ENTRY, ObjectCode

if TYPE_CHECKING:
    from strapdown._object_code import Description

__all__ = ["translated"]

_OF_THE_COMPILER: Final = ("numba_", "NRT_", "Py")  # functions that are not there without it


def translated(dispatcher: Any, signature: tuple[Any, ...], name: str) -> ObjectCode:
    """Compile a function for a signature.

    Raises
    ------
    RuntimeError
        It needs what only the compiler has at hand: it makes arrays, say.
    """
    dispatcher.compile(signature)
    compiled = dispatcher.overloads[signature]
    target = compiled.fndesc.llvm_func_name
    module = compiled.library._final_module.clone()  # noqa: SLF001 (Numba gives no other access)
    outside = [each.name for each in module.functions if each.is_declaration]
    if strange := [each for each in outside if each.startswith(_OF_THE_COMPILER)]:
        raise RuntimeError(f"{name} needs {', '.join(strange)}, which only the compiler has")
    slots = [str(each.type) for each in module.get_function(target).arguments]
    module.link_in(llvm.parse_assembly(_entry(target, slots)))
    code = compiled.library.codegen._tm.emit_object(module)  # noqa: SLF001 (as above)
    return ObjectCode(code, slots, _description(compiled.signature.return_type))


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
