"""Object code: compiled kernels, saved on disk and run without the compiler.

Importing the compiler takes longer than a minute of samples in plain Python. LLVM alone links
existing object code in a few milliseconds.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2s
from importlib import import_module
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from uuid import uuid4

import llvmlite
import llvmlite.binding as llvm
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Description: TypeAlias = str | dict[str, Any] | None

__all__ = ["ENTRY", "LinkedCode", "ObjectCode", "PreparedCall", "find", "save"]

ENTRY: Final = "strapdown_entry"
_CHECKSUM_BYTES: Final = 16
_UNUSED_S: Final = 30 * 86_400
"""Files unused for longer belong to an old version of the source, or are soon compiled again."""
_FILES: Final = 500
"""Number of files that are kept in a folder: those that were used last."""
_LONGEST_NAME: Final = 200  # with all endings below the 255 bytes of a file system
_OURS: Final = re.compile(r".+\.[0-9a-f]{12}\.o(\.[0-9a-f]{32})?")
_DONE: Final = (0, -2)  # with a result, with None
_SLOT: Final = {"ptr": "q", "i64": "q", "double": "d", "float": "f4x", "i8": "b7x", "i1": "?7x"}


class ObjectCode(NamedTuple):
    """Compiled kernel.

    Parameters
    ----------
    code : bytes
        Contains a function ``ENTRY``, which takes a block with a slot of eight bytes for each
        number: address of the result, address of the error, and the arguments of the kernel.
    slots : list of str
        LLVM type of each slot.
    result : str, dict or None
        Type of the result: None, the NumPy type of a number, or ``{"tuple": "module:name" or None,
        "parts": [...]}``.
    """

    code: bytes
    slots: list[str]
    result: Description

    def packed(self) -> bytes:
        """Return the contents of a file."""
        header = json.dumps([self.slots, self.result]).encode() + b"\n"
        return _checksum(header + self.code) + header + self.code

    @classmethod
    def unpacked(cls, data: bytes) -> ObjectCode | None:
        """Return the object code in a file, if that is complete."""
        checksum, contents = data[:_CHECKSUM_BYTES], data[_CHECKSUM_BYTES:]
        if checksum != _checksum(contents):
            return None
        header, _, code = contents.partition(b"\n")
        return cls(code, *json.loads(header))


def find(name: str) -> ObjectCode | None:
    """Return the object code that was saved under a name for this processor."""
    for folder in _folders():
        with suppress(OSError):
            file = folder / _file(name)
            if found := ObjectCode.unpacked(file.read_bytes()):
                with suppress(OSError):  # it cannot be written
                    os.utime(file)
                return found
    return None


def save(name: str, code: ObjectCode) -> None:
    """Save object code in the first folder that can be written, if there is one."""
    for folder in _folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = folder / f"{_file(name)}.{uuid4().hex}"
            unfinished.write_bytes(code.packed())
            unfinished.replace(folder / _file(name))
            _tidy(folder)
            return


def _tidy(folder: Path) -> None:
    """Remove unused files; a process that needs one compiles it again."""
    used: dict[Path, float] = {}
    for file in folder.iterdir():
        if _OURS.fullmatch(file.name):
            with suppress(FileNotFoundError):  # another process has finished or removed it
                used[file] = file.stat().st_mtime
    newest = sorted(used, key=used.__getitem__, reverse=True)
    oldest_kept = time.time() - _UNUSED_S
    for k, file in enumerate(newest):
        if k >= _FILES or used[file] < oldest_kept:
            with suppress(OSError):  # as above, or it is another user's
                file.unlink()


class LinkedCode:
    """Object code that is ready to run.

    Parameters
    ----------
    name : str
        Of the kernel, for errors.
    code : ObjectCode
    layouts : sequence of dtype, optional
        Layouts of the records, if its arguments are arrays of records.
    """

    def __init__(
        self, name: str, code: ObjectCode, layouts: Sequence[np.dtype[Any]] | None = None
    ) -> None:
        self.name = name
        self._layouts = layouts
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
        self._engine.finalize_object()
        entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p)
        self._entry = entry(self._engine.get_function_address(ENTRY))
        self._block = Struct("=" + "".join(_SLOT[slot] for slot in code.slots))
        self.description = code.result
        self._layout = np.dtype([("value", _layout(code.result))], align=True)

    def __call__(self, *arguments: object) -> Any:
        """Run with arguments of the types for which it was compiled."""
        call = self.prepared(*arguments)
        call()
        return call.value

    def prepared(self, *arguments: object) -> PreparedCall:
        """Return the call with these arguments, which can be repeated."""
        if self._layouts is not None:
            self._check(arguments)
        result, error = np.zeros(1, self._layout), np.zeros(1, np.intp)
        numbers = [number for argument in arguments for number in _numbers(argument)]
        block = self._block.pack(result.ctypes.data, error.ctypes.data, *numbers)
        return PreparedCall(self, self._entry, block, (arguments, error), result)

    def _check(self, arguments: Sequence[Any]) -> None:
        for array, layout in zip(arguments, self._layouts or (), strict=True):
            if array.dtype != layout or array.ndim != 1 or not array.flags.c_contiguous:
                raise TypeError(f"{self.name}: expected a contiguous array of {layout.names}")


class PreparedCall:
    """Object code with its arguments; the contents of arrays may change between calls."""

    def __init__(
        self,
        code: LinkedCode,
        entry: Callable[[bytes], int],
        block: bytes,
        held: object,
        result: Any,
    ) -> None:
        self._result = result
        self._code, self._entry, self._block = code, entry, block
        self._held = held  # what the block points to

    @property
    def value(self) -> Any:
        """Result of the last run."""
        return _rebuilt(self._code.description, self._result["value"][0].item())

    def __call__(self) -> None:
        """Run."""
        if self._entry(self._block) not in _DONE:
            raise ArithmeticError(f"{self._code.name}: the machine code met a division by zero")


def _numbers(argument: object) -> Iterator[Any]:
    """Return an argument as Numba passes it: as a sequence of numbers."""
    if isinstance(argument, np.ndarray):
        yield from (0, 0, argument.size, argument.itemsize, argument.ctypes.data)
        yield from argument.shape
        yield from argument.strides
    elif isinstance(argument, tuple):
        for part in argument:
            yield from _numbers(part)
    else:
        yield 0 if argument is None else argument


def _layout(result: Description) -> np.dtype[Any]:
    """Return the memory layout of a result."""
    if isinstance(result, dict):
        parts = [(f"f{i}", _layout(part)) for i, part in enumerate(result["parts"])]
        return np.dtype(parts, align=True)
    return np.dtype(result or np.intp)  # of None it is a pointer


def _rebuilt(result: Description, value: Any) -> Any:
    """Return a result with its named tuples."""
    if not isinstance(result, dict):
        return value if result else None
    parts = map(_rebuilt, result["parts"], value)
    if result["tuple"] is None:
        return tuple(parts)
    module, _, name = result["tuple"].partition(":")
    return getattr(import_module(module), name)(*parts)


def _folders() -> Iterator[Path]:
    """Return the folders of object code: NUMBA_CACHE_DIR, or the package's and the user's."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named)
        return
    yield Path(__file__).parent / "__pycache__"
    usual = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    yield Path(os.environ.get(usual) or Path.home() / ".cache") / "strapdown"


def _file(name: str) -> str:
    return f"{name[-_LONGEST_NAME:]}.{_platform()}.o"  # a name ends with a digest


@cache
def _platform() -> str:
    """Return a digest of the platform on which object code depends."""
    facts = (
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        llvmlite.__version__,
        sys.version_info[:2],
    )
    return blake2s(repr(facts).encode(), digest_size=6).hexdigest()


def _machine() -> llvm.TargetMachine:
    """Return a description of this processor, for one engine."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


def _checksum(data: bytes) -> bytes:
    return blake2s(data, digest_size=_CHECKSUM_BYTES).digest()
