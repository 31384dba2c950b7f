"""Records: what they declare, and their way into an array and back."""

from __future__ import annotations

import numpy as np
import pytest

from strapdown._kernels.compilation import compiled
from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Matrix, Record, Vector, filled, values_of, vector, zeros


class Side(Record):
    extreme: float = 0.0
    run: int = 0


class Axis(Record):
    high: Side = Side()
    low: Side = Side(run=3)
    stamps: list[int] = [0] * 2


class Memory(Record):
    primed: bool = False
    bias: Vector = vector(1.0, 2.0, 3.0)
    covariance: Matrix = zeros(2, 2)
    axes: list[Axis] = [Axis()] * 3


@kernel
def turn(memory):
    memory[0].primed = True
    for k in range(3):
        side = memory[0].axes[k].low
        side.run += k
        memory[0].axes[k].stamps[1] = 2**62 + k
    memory[0].covariance[1][0] = memory[0].bias[2]


def test_records_share_nothing():
    one, other = Memory(), Memory()
    one.axes[0].low.run = 9
    one.axes[0].stamps[0] = 1
    one.covariance[0][0] = 5.0
    assert other == Memory()
    assert one.axes[1].low.run == 3


def test_plain_python_and_machine_code_change_the_same_fields():
    plain, packed = Memory(), Memory().packed()
    turn([plain])
    compiled(turn)(packed)
    (back,) = Memory.unpack(packed)
    assert back == plain
    assert back.axes[2].stamps == [0, 2**62 + 2]
    assert [type(part) for part in (back.bias, back.covariance[0], back.axes)] == [list] * 3
    np.testing.assert_array_equal(back.packed(), packed)


def test_values_are_numbers_in_the_order_of_the_fields():
    memory = Memory(bias=[4.0, 5.0, 6.0])
    turn([memory])
    values = values_of(memory)
    assert len(values) == 1 + 3 + 4 + 3 * 6
    assert values[:5] == [1.0, 4.0, 5.0, 6.0, 0.0]
    assert Memory.of_values(values) == memory
    with pytest.raises(ValueError, match="too few"):
        Memory.of_values(values[:-1])
    with pytest.raises(ValueError, match="too many"):
        Memory.of_values([*values, 0.0])


def test_a_field_that_is_not_declared_is_refused():
    with pytest.raises(TypeError, match="no field speed"):
        Memory(speed=filled(3))
