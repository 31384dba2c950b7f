"""Execution: a loop over samples in plain Python until machine code is there, then by that.

Nobody waits for a compiler unasked. A short recording runs in plain Python. A longer one takes
machine code that was compiled before, and only a long one compiles it. A stream starts in plain
Python and changes over when machine code was found; it never compiles.
"""

from __future__ import annotations

import math
from struct import Struct
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from strapdown._compile import MachineCode
from strapdown.samples.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from strapdown._object_code import LinkedCode
    from strapdown._records import Record, RecordArray
    from strapdown._typing import AnyArray, Three
    from strapdown.samples.sample import SampleColumns

__all__ = ["BLOCK", "SAMPLE_LAYOUT", "Execution", "Program", "SharedExecution", "packed_sample"]

UPDATES_BEFORE_LOADING: Final = 500
BLOCK: Final = 2_048  # samples that are taken at a time

SAMPLE_LAYOUT: Final = Struct("=q9dq")  # the fields of a Sample
_NO_FIELD: Final = (math.nan, math.nan, math.nan)


class Program:
    """A loop ``run(*memory, samples, rows)`` over records, as plain Python and as machine code.

    Parameters
    ----------
    name : str
        What it is for, as a person reads it.
    run : kernel
        Takes an array of one record for each part of the memory, then one of
        :class:`~strapdown.samples.sample.Sample` and one of as many rows, which it writes.
    memory : sequence of type of Record
        What it remembers and is told.
    row : type of Record
    sample : type of Record, optional
        What it goes through instead of samples.
    weight : float, optional
        How many times as long as a filter's a step takes in plain Python.
    """

    def __init__(
        self,
        name: str,
        run: Callable[..., Any],
        memory: Sequence[type[Record]],
        row: type[Record],
        sample: type[Record] = Sample,
        *,
        weight: float = 1.0,
    ) -> None:
        self.plain = run
        self.memory = tuple(memory)
        self.row = row
        self.sample = sample
        self._weight = weight
        self.machine = MachineCode(run, *memory, sample, row, name=name)

    def code_for(self, rows: int) -> LinkedCode | None:
        """Return the machine code for so many rows; None where plain Python is done sooner."""
        return self.machine.code_for(round(rows * self._weight))


class Execution:
    """A program with its memory, for one stream or recording.

    Calls from several threads follow one another.

    Parameters
    ----------
    program : Program
    memory : Record
        One of each type that the program has.
    compiled : bool, optional
        True uses machine code from the start, and waits for it; False never uses it. By default
        it is used as soon as that costs no waiting.
    """

    def __init__(self, program: Program, *memory: Record, compiled: bool | None = None) -> None:
        self.program = program
        self.lock = RLock()
        self._may_change_over = compiled is None
        self._plain: tuple[Record, ...] = memory
        self._updates = 0
        self._code: LinkedCode | None = None
        self._arrays: list[RecordArray] = []
        if compiled:
            self._change_over(program.machine.compile())

    def memory(self, which: int) -> Any:
        """Return one part of the memory, as it is now."""
        if self._code is None:
            return self._plain[which]
        return self.program.memory[which].unpack(self._arrays[which])[0]

    def number(self, which: int, name: str) -> Any:
        """Return one number of a part of the memory, as it is now."""
        if self._code is None:
            return getattr(self._plain[which], name)
        return self._arrays[which][name].item()

    def replace(self, *memory: Record) -> None:
        """Go on with another memory."""
        self._plain = memory
        if self._code is not None:
            self._change_over(self._code)

    def through(self, columns: SampleColumns) -> Iterator[tuple[slice, RecordArray]]:
        """Go on through a recording, block by block; yield which rows, and the rows.

        What is done soonest for so many samples is chosen first: plain Python, or machine code,
        for which a long recording waits.
        """
        count = len(columns)
        if self._may_change_over:
            self._change_over(self.program.code_for(count))
        for first in range(0, count, BLOCK):
            last = min(first + BLOCK, count)
            yield slice(first, last), self.run(columns.block(first, last))

    def run(self, samples: RecordArray) -> RecordArray:
        """Go on through an array of samples; return an array with a row for each."""
        empty = np.zeros(len(samples), self.program.row.dtype())
        if self._code is not None:
            self._code(*self._arrays[: len(self._plain)], samples, empty)
            return empty
        rows = self.program.row.unpack(empty)
        self.program.plain(*self._lists(), Sample.unpack(samples), rows)
        return self.program.row.pack(rows)

    def update(
        self, t_ns: int, rate: Three, force: Three, field: Three, clipping: int, answer: str
    ) -> AnyArray:
        """Take one sample; return a field of its row."""
        if self._may_change_over:
            self._updates += 1
            if self._updates == UPDATES_BEFORE_LOADING:
                Thread(target=self.program.machine.load, name="strapdown load").start()
            self._change_over(self.program.machine.loaded)
        if self._code is not None:
            SAMPLE_LAYOUT.pack_into(self._buffer, 0, t_ns, *rate, *force, *field, clipping)
            self._step()
            return np.array(self._answers[answer][0])
        sample = Sample(
            t_ns=t_ns,
            angular_velocity=[*rate],
            specific_force=[*force],
            magnetic_field=[*field],
            clipping=clipping,
        )
        row = self._row = self.program.row()
        self.program.plain(*self._lists(), [sample], [row])
        return np.array(getattr(row, answer))

    def row(self) -> RecordArray:
        """Return the row of the last update, as an array of one."""
        return self._row.packed() if self._code is None else self._arrays[-1]

    def _lists(self) -> list[list[Record]]:
        return [[part] for part in self._plain]

    def _change_over(self, code: LinkedCode | None) -> None:
        """Go on by machine code, if there is any."""
        if code is None:
            return
        self._code, self._may_change_over = code, False
        sample, row = Sample().packed(), self.program.row().packed()
        self._arrays = [*(part.packed() for part in self._plain), sample, row]
        self._step = code.prepared(*self._arrays)
        self._buffer = sample.view(np.uint8).data
        self._answers = {name: row[name] for name in self.program.row.fresh()}


def packed_sample(t_ns: int, rate: Three, force: Three, clipping: int) -> RecordArray:
    """Return a sample without magnetic field as an array of one."""
    values = SAMPLE_LAYOUT.pack(t_ns, *rate, *force, *_NO_FIELD, clipping)
    return np.frombuffer(bytearray(values), Sample.dtype())


class SharedExecution:
    """Several programs that go on with one memory, for one stream or recording.

    Parameters
    ----------
    *memory : Record
        One of each type that the programs have.
    compiled : bool, optional
        As of :class:`Execution`.
    """

    def __init__(self, *memory: Record, compiled: bool | None = None) -> None:
        self._compiled = compiled
        self._types = [type(part) for part in memory]
        self._records: list[Record] = list(memory)
        self._arrays: list[RecordArray] = []  # instead, while machine code goes on
        self._updates = 0

    def record(self, which: int) -> Any:
        """Return one part of the memory, as it is now; not to be changed."""
        if self._arrays:
            return self._types[which].unpack(self._arrays[which])[0]
        return self._records[which]

    def array(self, which: int) -> RecordArray:
        """Return one part of the memory, as it is now, as an array of its own."""
        return _copied(self._arrays[which]) if self._arrays else self._records[which].packed()

    def number(self, which: int, name: str) -> Any:
        """Return one number of a part of the memory, as it is now."""
        if self._arrays:
            return self._arrays[which][name].item()
        return getattr(self._records[which], name)

    def replace(self, which: int, part: RecordArray) -> None:
        """Go on with another part of the memory."""
        if self._arrays:
            self._arrays[which] = _copied(part)
        else:
            self._records[which] = self._types[which].unpack(part)[0]

    def prepare_for(self, program: Program, rows: int) -> None:
        """Choose what is done soonest for so many rows; a long recording waits for the compiler."""
        if self._compiled is None:
            program.code_for(rows)

    def run(self, program: Program, samples: RecordArray, rows: RecordArray) -> None:
        """Go on through an array of samples, and write a row for each."""
        code = program.machine.loaded
        if self._compiled is not None:
            code = program.machine.compile() if self._compiled else None
        if code is not None:
            self._arrays = self._arrays or [part.packed() for part in self._records]
            code(*self._arrays, samples, rows)
            return
        if self._arrays:
            self._records = [self.record(which) for which in range(len(self._types))]
            self._arrays = []
        written = program.row.unpack(rows)
        parts = ([part] for part in self._records)
        program.plain(*parts, program.sample.unpack(samples), written)
        rows[:] = program.row.pack(written)

    def update(self, programs: Sequence[Program], sample: RecordArray, row: RecordArray) -> None:
        """Take one sample of a stream by the first of the programs that it uses."""
        self._updates += 1
        if self._compiled is None and self._updates == UPDATES_BEFORE_LOADING:
            Thread(target=_load, args=[programs], name="strapdown load").start()
        self.run(programs[0], sample, row)


def _copied(array: RecordArray) -> RecordArray:
    """Return a copy; NumPy copies records field by field, and bytes at once."""
    return np.frombuffer(bytearray(array.tobytes()), array.dtype)


def _load(programs: Sequence[Program]) -> None:
    for program in programs:
        program.machine.load()
