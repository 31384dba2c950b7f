from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from strapdown._kernels import object_code
from strapdown._kernels.compilation import MachineCode
from strapdown._kernels.kernel import kernel
from strapdown._kernels.records import Record, Vector, vector


class Total(Record):
    """What has been added up."""

    sum: Vector = vector(0.0, 0.0)
    count: int = 0


class Step(Record):
    """What is added."""

    value: Vector = vector(0.0, 0.0)


@kernel
def add_up(total, steps):
    for step in steps:
        for k in range(2):
            total[0].sum[k] += step.value[k]
        total[0].count += 1


@kernel
def divide(total, steps):
    total[0].sum[0] = steps[0].value[0] / total[0].count


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """A folder for the code of these kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def code():
    return MachineCode(add_up, Total, Step).compile()


def test_arrays_are_changed_as_by_plain_python(code):
    steps = np.arange(200.0).reshape(100, 2).view(Step.dtype()).ravel()
    total, expected = Total().packed(), Total().packed()
    code(total, steps)
    MachineCode(add_up, Total, Step).plain(expected, steps)
    assert total.tobytes() == expected.tobytes()
    assert total["count"][0] == 100


def test_a_prepared_call_goes_on_with_its_arrays(code):
    total, step = Total().packed(), Step(value=[1.0, 2.0]).packed()
    again = code.prepared(total, step)
    again()
    step["value"][0] = [10.0, 20.0]
    again()
    assert total["sum"][0].tolist() == [11.0, 22.0]


def test_other_arrays_are_refused(code):
    total, steps = Total().packed(), np.zeros(10, Step.dtype())
    for wrong in ((steps, total), (total, steps[::2]), (total, steps.reshape(5, 2))):
        with pytest.raises(TypeError, match="add_up: expected a contiguous array of"):
            code(*wrong)
    with pytest.raises(ValueError, match="zip"):
        code(total)


def test_what_plain_python_cannot_divide_is_an_error_here_too():
    machine = MachineCode(divide, Total, Step)
    arrays = Total().packed(), Step().packed()
    with pytest.raises(ZeroDivisionError):
        machine.plain(*arrays)
    with pytest.raises(ArithmeticError, match="divide"):
        machine.compile()(*arrays)


CODE = object_code.ObjectCode(b"some", ["ptr", "i64"], {"tuple": None, "parts": ["float64"]})


def test_code_is_found_where_it_was_saved_and_kept_by_what_can_be_written(tmp_path, monkeypatch):
    shipped, own = tmp_path / "package", tmp_path / "user"
    monkeypatch.setattr(object_code, "_folders", lambda: iter((shipped, own)))
    assert object_code.find("code") is None
    object_code.save("code", CODE)
    assert [file.parent for file in tmp_path.rglob("*.o")] == [shipped]
    assert object_code.find("code") == CODE

    long = f"{'kernel_' * 40}.digest"
    object_code.save(long, CODE)
    assert object_code.find(long) == CODE

    nowhere = tmp_path / "file"
    nowhere.write_text("no folder")
    monkeypatch.setattr(object_code, "_folders", lambda: iter((nowhere, own)))
    object_code.save("more", CODE)
    assert [file.parent for file in own.rglob("*.o")] == [own]
    assert object_code.find("more") == CODE

    monkeypatch.setattr(object_code, "_folders", lambda: iter((nowhere,)))
    object_code.save("lost", CODE)
    assert object_code.find("lost") is None


def test_code_that_is_not_used_any_more_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(object_code, "_folders", lambda: iter((tmp_path,)))
    (tmp_path / "foreign.o").write_bytes(b"of another program")
    os.utime(tmp_path / "foreign.o", (0, 0))

    def last_used(name, days_ago):
        then = time.time() - 86_400 * days_ago
        os.utime(tmp_path / object_code._file(name), (then, then))

    def kept():
        return {file.name.partition(".")[0] for file in tmp_path.iterdir()}

    for name in ("former", "used", "recent"):
        object_code.save(name, CODE)
    last_used("former", 40)
    last_used("used", 40)
    last_used("recent", 20)
    unfinished = tmp_path / f"{object_code._file('killed')}.{'0' * 32}"
    unfinished.write_bytes(b"")
    os.utime(unfinished, (0, 0))
    assert object_code.find("used") == CODE
    object_code.save("new", CODE)
    assert kept() == {"foreign", "used", "recent", "new"}

    monkeypatch.setattr(object_code, "_FILES", 2)
    last_used("used", 10)
    object_code.save("newer", CODE)
    assert kept() == {"foreign", "new", "newer"}


def test_processes_that_remove_the_same_code_do_not_disturb_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr(object_code, "_folders", lambda: iter((tmp_path,)))
    for name in ("one", "two"):
        object_code.save(name, CODE)
    for name in ("one", "two"):
        os.utime(tmp_path / object_code._file(name), (0, 0))
    unlink = Path.unlink

    def unlink_after_another(file, **options):
        unlink(file)
        unlink(file, **options)

    monkeypatch.setattr(Path, "unlink", unlink_after_another)
    object_code.save("three", CODE)
    assert [file.name for file in tmp_path.iterdir()] == [object_code._file("three")]


def test_code_lies_where_the_user_says_or_with_the_package_or_the_user(monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/there")
    assert list(object_code._folders()) == [Path("/there")]
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    package = Path(object_code.__file__).parent
    assert list(object_code._folders()) == [package / "__pycache__", Path("/caches/strapdown")]
