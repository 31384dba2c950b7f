"""Object code: kernels as the compiler leaves them, kept on disk and linked without it.

Importing the compiler takes longer than a minute of samples in plain Python. LLVM alone links what
was compiled before in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache
from hashlib import blake2s
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import llvmlite
import llvmlite.binding as llvm
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["LinkedCode", "PreparedCall", "find", "save", "with_entry"]

_CHECKSUM_BYTES: Final = 16
_ENTRY: Final = "strapdown_entry"
_ARRAY: Final = ("ptr", "ptr", "i64", "i64", "ptr", "i64", "i64")  # as Numba passes one
_DONE: Final = (0, -2)  # with a result, with None
_LIBRARY_OF_THE_COMPILER: Final = ("numba_", "NRT_")


def find(name: str) -> bytes | None:
    """Return the object code that was saved under a name for this processor."""
    for folder in _folders():
        with suppress(OSError):
            data = (folder / _file(name)).read_bytes()
            if data[:_CHECKSUM_BYTES] == _checksum(data[_CHECKSUM_BYTES:]):
                return data[_CHECKSUM_BYTES:]
    return None


def save(name: str, code: bytes) -> None:
    """Save object code in the first folder that can be written, if there is one."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = folder / f"{_file(name)}.{uuid4().hex}"
            unfinished.write_bytes(_checksum(code) + code)
            unfinished.replace(folder / _file(name))
            return


def with_entry(result: Any, name: str) -> bytes:
    """Return the object code of a compiled function that takes arrays, with an entry.

    The entry takes one block of integers: what Numba passes for the arrays, one after the other.
    """
    target = result.fndesc.llvm_func_name
    module = result.library._final_module.clone()  # noqa: SLF001 (Numba gives no other access)
    needed = [each.name for each in module.functions if each.is_declaration]
    if strange := [each for each in needed if each.startswith(_LIBRARY_OF_THE_COMPILER)]:
        raise RuntimeError(f"{name} needs {', '.join(strange)}, which only the compiler has")
    passed = ["ptr", "ptr", *_ARRAY * len(result.signature.args)]
    loads = "\n".join(
        f"%at{i} = getelementptr i64, ptr %block, i64 {i}\n%value{i} = load {kind}, ptr %at{i}"
        for i, kind in enumerate(passed)
    )
    values = ", ".join(f"{kind} %value{i}" for i, kind in enumerate(passed))
    module.link_in(
        llvm.parse_assembly(
            f"declare i32 @{target}({', '.join(passed)})\n"
            f"define i32 @{_ENTRY}(ptr %block) {{\n{loads}\n"
            f"%status = call i32 @{target}({values})\nret i32 %status\n}}"
        )
    )
    code: bytes = result.library.codegen._tm.emit_object(module)  # noqa: SLF001 (as above)
    return code


class LinkedCode:
    """Object code that is ready to run over arrays of records.

    Parameters
    ----------
    name : str
        Of the kernel, for errors.
    code : bytes
    layouts : sequence of dtype
        Of the records in each array.
    """

    def __init__(self, name: str, code: bytes, layouts: Sequence[np.dtype[Any]]) -> None:
        self._name = name
        self._layouts = layouts
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
        self._entry = entry(self._engine.get_function_address(_ENTRY))

    def __call__(self, *arrays: NDArray[np.void]) -> None:
        """Run over arrays, which the kernel changes."""
        self.prepared(*arrays)()

    def prepared(self, *arrays: NDArray[np.void]) -> PreparedCall:
        """Return the call over arrays, to be made many times."""
        return PreparedCall(self._name, self._entry, arrays, list(self._passed(arrays)))

    def _passed(self, arrays: Sequence[NDArray[np.void]]) -> Iterator[int]:
        for array, layout in zip(arrays, self._layouts, strict=True):
            if array.dtype != layout or array.ndim != 1 or not array.flags.c_contiguous:
                raise TypeError(f"{self._name}: expected a contiguous array of {layout.names}")
            size, width = array.size, layout.itemsize
            yield from (0, 0, size, width, array.ctypes.data, size, width)


class PreparedCall:
    """Object code with the arrays that it runs over."""

    def __init__(
        self,
        name: str,
        entry: Callable[[int], int],
        arrays: Sequence[NDArray[np.void]],
        passed: Sequence[int],
    ) -> None:
        self._name, self._entry, self._arrays = name, entry, arrays
        self._outcome = np.zeros(2, np.intp)  # where Numba leaves a result and an error
        result, error = self._outcome.ctypes.data, self._outcome[1:].ctypes.data
        self._block = np.array([result, error, *passed], np.intp)
        self._address = self._block.ctypes.data

    def __call__(self) -> None:
        """Run."""
        if self._entry(self._address) not in _DONE:
            raise ArithmeticError(f"{self._name}: the machine code met a division by zero")


def _folders() -> Iterator[Path]:
    """Return where object code may lie: as the user says, with the package, with the user."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named)
        return
    yield Path(__file__).parent / "__pycache__"
    usual = {"win32": "LOCALAPPDATA"}.get(sys.platform, "XDG_CACHE_HOME")
    yield Path(os.environ.get(usual) or Path.home() / ".cache") / "strapdown"


def _file(name: str) -> str:
    return f"{name}.{_platform()}.o"


@cache
def _platform() -> str:
    """Return what object code depends on beside its source."""
    facts = (
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        llvmlite.__version__,
        sys.version_info[:2],
    )
    return blake2s(repr(facts).encode(), digest_size=6).hexdigest()


def _machine() -> llvm.TargetMachine:
    """Return a description of this processor, which an engine takes for itself."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


def _checksum(code: bytes) -> bytes:
    return blake2s(code, digest_size=_CHECKSUM_BYTES).digest()
