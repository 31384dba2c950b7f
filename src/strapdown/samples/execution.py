"""Execution of a loop over samples: plain Python until machine code is available.

A short recording runs in plain Python. A longer one uses machine code that was compiled before,
and only a long one compiles it. A stream starts in plain Python and switches as soon as existing
machine code is loaded; it never compiles.
"""

from __future__ import annotations

from functools import partial
from struct import Struct
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._kernels.compilation import MachineCode
from strapdown._kernels.records import RecordView
from strapdown.samples.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from strapdown._kernels.object_code import LinkedCode, PreparedCall
    from strapdown._kernels.records import Record, RecordArray
    from strapdown.samples.sample import SampleColumns

__all__ = ["BLOCK", "Execution", "Program"]

UPDATES_BEFORE_LOADING: Final = 500
BLOCK: Final = 2_048  # samples per block
_SAMPLE: Final = "q9dq"  # the numbers of a Sample, ...
_NUMBERS: Final = 11  # ... and how many


class Program:
    """Loop ``run(*memory, samples, *rows)`` over records, as plain Python and as machine code.

    Parameters
    ----------
    name : str
        Name in messages.
    run : kernel
        Takes an array of records for each part of the state, then one of
        :class:`~strapdown.samples.sample.Sample` and the arrays of rows, which it writes.
    memory : sequence of type of Record
        Record types of state and parameters.
    *rows : type of Record
    sample : type of Record, optional
        Input type, if not ``Sample``.
    weight : float, optional
        Duration of a step in plain Python relative to that of a filter.
    """

    def __init__(
        self,
        name: str,
        run: Callable[..., Any],
        memory: Sequence[type[Record]],
        *rows: type[Record],
        sample: type[Record] = Sample,
        weight: float = 1.0,
    ) -> None:
        self.plain = run
        self.memory = tuple(memory)
        self.rows = rows
        self.sample = sample
        self._weight = weight
        self.machine = MachineCode(run, *memory, sample, *rows, name=name)

    def code_for(self, rows: int) -> LinkedCode | None:
        """Return the machine code for this many rows; None where plain Python is faster."""
        return self.machine.code_for(round(rows * self._weight))


class Execution:
    """Programs that share one state, for one stream or recording.

    Callers that may run in several threads hold the ``lock`` during each call.

    Parameters
    ----------
    program : Program
        Program of the stream.
    *memory : Record or list of Record
        State and parameters: one record, or a list, for each type of the program.
    sizes : sequence of int, optional
        Number of samples, and of rows of each type, per update; by default one.
    compiled : bool, optional
        True uses machine code from the start, and waits for it; False never uses it. By default
        it is used as soon as it is available without waiting.
    """

    def __init__(
        self,
        program: Program,
        *memory: Record | list[Any],
        sizes: Sequence[int] = (1, 1),
        compiled: bool | None = None,
    ) -> None:
        self.program = program
        self.lock = RLock()
        self._compiled = compiled
        self._updates = 0
        # the state is kept in records for plain Python, or in arrays for machine code
        self._types = program.memory
        self._records = [_listed(part) for part in memory]
        kinds = zip(self._types, self._records, strict=True)
        self._arrays = [np.zeros(len(part), kind.dtype()) for kind, part in kinds]
        self._in_arrays = False
        # the samples and rows of an update
        given = zip((program.sample, *program.rows), sizes, strict=True)
        self._samples: list[Any]
        self._samples, *self._rows = ([kind() for _ in range(size)] for kind, size in given)
        self._answer: Mapping[str, Any] = vars(self._rows[0][0])
        self._step: PreparedCall | None = None  # with arrays of them
        if compiled:
            self._change_over(program.machine.compile())

    def records(self, which: int) -> list[Any]:
        """Return a part of the current state; not to be changed."""
        if self._in_arrays:
            return self._types[which].unpack(self._arrays[which])
        return self._records[which]

    def memory(self, which: int) -> Any:
        """Return a part of the current state that is one record; not to be changed."""
        return self.records(which)[0]

    def view(self, which: int) -> Any:
        """Return the same to read a few of its fields."""
        if self._in_arrays:
            return RecordView(self._types[which], self.array(which))
        return self._records[which][0]

    def array(self, which: int) -> RecordArray:
        """Return a copy of a part of the current state as an array."""
        if not self._in_arrays:
            return self._types[which].pack(self._records[which])
        array = self._arrays[which]
        return np.frombuffer(array.tobytes(), array.dtype)  # in bytes, as below

    def number(self, which: int, name: str) -> Any:
        """Return one number of a part of the current state."""
        if self._in_arrays:
            return self._arrays[which][name].item()
        return getattr(self._records[which][0], name)

    def replace(self, first: int, *parts: Record | list[Any] | RecordArray) -> None:
        """Replace parts of the state, from number ``first`` on."""
        for which, part in enumerate(parts, first):
            kind = self._types[which]
            if self._in_arrays:
                array = part if isinstance(part, np.ndarray) else kind.pack(_listed(part))
                _overwrite(self._arrays[which], array)
            else:
                records = kind.unpack(part) if isinstance(part, np.ndarray) else _listed(part)
                self._records[which] = records

    def prepare_for(self, program: Program, rows: int) -> None:
        """Load or compile machine code where that is fastest for this many rows."""
        if self._compiled is None:
            program.code_for(rows)

    def through(self, columns: SampleColumns) -> Iterator[tuple[slice, RecordArray]]:
        """Process a recording block by block; yield the slice of samples, and the rows."""
        self.prepare_for(self.program, len(columns))
        for first in range(0, len(columns), BLOCK):
            samples = columns.block(first, first + BLOCK)
            rows = np.zeros(len(samples), self.program.rows[0].dtype())
            self.run(self.program, samples, rows)
            yield slice(first, first + len(rows)), rows

    def run(self, program: Program, samples: RecordArray, *rows: RecordArray) -> None:
        """Process an array of samples, and write rows."""
        code = None if self._compiled is False else program.machine.loaded
        if self._compiled:
            code = code or program.machine.compile()
        if code is not None:
            if not self._in_arrays:
                self._bring(into_arrays=True)
            code(*self._arrays, samples, *rows)
            return
        if self._in_arrays:
            self._bring(into_arrays=False)
        written = [kind.unpack(array) for kind, array in zip(program.rows, rows, strict=True)]
        program.plain(*self._records, program.sample.unpack(samples), *written)
        for kind, array, records in zip(program.rows, rows, written, strict=True):
            _overwrite(array, kind.pack(records))

    def update(self, numbers: Sequence[float]) -> Mapping[str, Any]:
        """Process samples of a stream; return the fields of the first row until the next call.

        Parameters
        ----------
        numbers : sequence of int or float
            :func:`~strapdown.samples.sample.numbers_of` one sample, or of several in a row.
        """
        step = self._step
        if step is None and self._compiled is None:
            step = self._look_for_machine_code()
        if step is None:
            return self._update_in_plain_python(numbers)
        if not self._in_arrays:
            self._bring(into_arrays=True)
        self._write(*numbers)
        step()
        return self._answer

    def _update_in_plain_python(self, numbers: Sequence[float]) -> Mapping[str, Any]:
        if self._in_arrays:
            self._bring(into_arrays=False)
        for i, sample in enumerate(self._samples):
            w, f, m = sample.angular_velocity, sample.specific_force, sample.magnetic_field
            own = numbers[i * _NUMBERS : (i + 1) * _NUMBERS]
            sample.t_ns, w[0], w[1], w[2], f[0], f[1], f[2], m[0], m[1], m[2], sample.clipping = own
        self.program.plain(*self._records, self._samples, *self._rows)
        return self._answer

    def rows(self) -> list[RecordArray]:
        """Return the rows of the last update."""
        if self._step is not None:
            return self._row_arrays
        kinds = zip(self.program.rows, self._rows, strict=True)
        return [kind.pack(rows) for kind, rows in kinds]

    def _look_for_machine_code(self) -> PreparedCall | None:
        self._updates += 1
        if self._updates == UPDATES_BEFORE_LOADING:
            Thread(target=self.program.machine.load, name="strapdown load").start()
        if (code := self.program.machine.loaded) is not None:
            self._change_over(code)
        return self._step

    def _change_over(self, code: LinkedCode) -> None:
        """Process the samples of a stream by machine code from now on."""
        if not self._in_arrays:
            self._bring(into_arrays=True)
        samples = self.program.sample.pack(self._samples)
        self._row_arrays = self.rows()
        self._step = code.prepared(*self._arrays, samples, *self._row_arrays)
        layout = Struct("=" + len(samples) * _SAMPLE)
        self._write = partial(layout.pack_into, samples.view(np.uint8).data, 0)
        first = self._row_arrays[0][:1]
        names = self.program.rows[0].fresh()
        self._answer = {name: first[name].reshape(first[name].shape[1:]) for name in names}

    def _bring(self, *, into_arrays: bool) -> None:
        """Convert the state to arrays for machine code, or to records for plain Python."""
        form: Callable[[int], Any] = self.array if into_arrays else self.records
        parts = [form(which) for which in range(len(self._types))]
        self._in_arrays = into_arrays
        self.replace(0, *parts)


def _listed(part: Record | list[Any]) -> list[Any]:
    return part if isinstance(part, list) else [part]


def _overwrite(array: RecordArray, values: RecordArray) -> None:
    """Copy records as bytes; NumPy copies them field by field."""
    array.view(np.uint8)[:] = values.view(np.uint8)
