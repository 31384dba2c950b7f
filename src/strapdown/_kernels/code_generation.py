"""Code generation of Numba for kernels, which run from object code and never in the compiler.

Numba optimises each function alone, then quickly and at last in full with the functions that it
calls, and makes machine code of every one. Here a function is only optimised in full, and only
the kernel that is wanted becomes machine code.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.registry import CPUDispatcher, CPUTarget, cpu_target

__all__ = ["KernelDispatcher"]


class _Library(JITCodeLibrary):
    """Function in LLVM IR, with those that it calls."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout  # noqa: SLF001 (Numba's own interface)

    def _optimize_final_module(self) -> None:
        codegen: Any = self._codegen  # Numba has few type hints
        passes, builder = codegen._module_pass_manager()  # noqa: SLF001 (as above)
        passes.run(self._final_module, builder)

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


class _Target(CPUTarget):
    """The processor of this machine, with the types of Numba."""

    @property
    def typing_context(self) -> Any:
        return cpu_target.typing_context

    @cached_property
    def target_context(self) -> Any:
        generator = _Generator("strapdown")  # type: ignore[no-untyped-call]
        return cpu_target.target_context.subtarget(_internal_codegen=generator)


class KernelDispatcher(CPUDispatcher):
    """Kernel of Numba, compiled for other kernels and for object code."""

    targetdescr = _Target("cpu")  # type: ignore[no-untyped-call]
