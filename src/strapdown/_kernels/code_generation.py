"""Code generation of Numba for kernels, which run from object code and never in the compiler.

Numba optimises each function alone, then quickly and at last in full with the functions that it
calls, and makes machine code of every one. Here only the kernel that is wanted is optimised, with
all functions that it calls, and becomes machine code.

Most of the time is that of Numba's own passes in Python. Those that kernels do not need are left
out, and the type of an operation on certain types is looked up once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.registry import CPUDispatcher, CPUTarget, cpu_target
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.typing.context import Context
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

__all__ = ["KernelDispatcher", "object_code"]

_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    GenericRewrites,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
    IRLegalization,
    AnnotateTypes,
    NativeLowering,
    NoPythonBackend,
)
"""Passes of Numba without those for closures, contexts, array expressions and loops in parallel."""


class _Compiler(CompilerBase):
    """Compiler of a function."""

    def define_pipelines(self) -> list[PassManager]:
        manager = PassManager("kernel")  # type: ignore[no-untyped-call]
        for each in _PASSES:
            manager.add_pass(each, each.__name__)  # type: ignore[no-untyped-call]
        manager.finalize()  # type: ignore[no-untyped-call]
        return [manager]


class _Library(JITCodeLibrary):
    """Function in LLVM IR, with those that it calls."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout  # noqa: SLF001 (Numba's own interface)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_specific(self) -> None:
        pass

    def get_pointer_to_function(self, _name: str) -> int:
        return 0  # no function is loaded


class _Generator(JITCPUCodegen):
    """Generator of code for this processor that does not load the code."""

    _library_class = _Library

    def _add_module(self, module: Any) -> None:
        pass

    def set_env(self, env_name: str, env: Any) -> None:
        pass


class _Typing(Context):
    """Types of calls; those of functions of Numba itself are looked up once."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._found: dict[tuple[Any, ...], Any] = {}

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        if kws or not isinstance(func, types.Function):
            return super().resolve_function_type(func, args, kws)  # type: ignore[no-untyped-call]
        key = func, tuple(args)
        if key not in self._found:
            self._found[key] = super().resolve_function_type(func, args, kws)  # type: ignore[no-untyped-call]
        return self._found[key]


class _Target(CPUTarget):
    """The processor of this machine, with the implementations of Numba."""

    @cached_property
    def typing_context(self) -> Any:
        return _Typing()

    @cached_property
    def target_context(self) -> Any:
        generator = _Generator("strapdown")  # type: ignore[no-untyped-call]
        return cpu_target.target_context.subtarget(
            typing_context=self.typing_context, _internal_codegen=generator
        )


class KernelDispatcher(CPUDispatcher):
    """Kernel of Numba, compiled for other kernels and for object code."""

    targetdescr = _Target("cpu")  # type: ignore[no-untyped-call]

    def __init__(self, function: Any, options: dict[str, object]) -> None:
        super().__init__(function, targetoptions=options, pipeline_class=_Compiler)


def object_code(module: Any) -> bytes:
    """Optimise a module, and return its machine code."""
    generator = KernelDispatcher.targetdescr.target_context.codegen()
    passes, builder = generator._module_pass_manager()  # noqa: SLF001 (as above)
    passes.run(module, builder)
    return bytes(generator._tm.emit_object(module))  # noqa: SLF001 (as above)
