"""Firmware, hardware, parameters and texts of a log."""

from __future__ import annotations

import json

import numpy as np
import pytest
from pyulog import ULog
from typer.testing import CliRunner

from strapdown.cli._app import app
from strapdown.formats import UlogWriter
from strapdown.formats.px4.log import load
from strapdown.formats.ulog.summary import summary_of

ROWS = np.zeros(3, [("timestamp", "<u8"), ("value", "<f4")])
ROWS["timestamp"] = 2_000_000, 3_000_000, 4_000_000


def written(path, *, texts=(), **info):
    with UlogWriter(path, start_us=1_500_000) as log:
        for key, value in info.items():
            log.add_info(key, value)
        for number in range(10):
            log.add_parameter(f"P{number}", number)
            log.add_default_parameter(f"P{number}", number - (number > 0))
        log.add_parameter("Q", 0.25)
        log.add_parameter("UNKNOWN", 7)
        log.add_parameter("UNSET", np.nan)
        log.add_default_parameter("UNSET", np.nan)
        log.add_default_parameter("Q", 0.5, system=False, setup=True)
        log.declare(ROWS.dtype, "thing")
        log.write("thing", 0, ROWS)
        log.add_parameter("Q", 0.75, t_us=3_000_000)
        for level, text in texts:
            log.log(level, 3_500_000, text)
    return path


def test_firmware_hardware_and_start_are_those_of_the_infos(tmp_path):
    path = written(
        tmp_path / "a.ulg",
        sys_name="PX4",
        ver_sw="0123abcd",
        ver_sw_branch="main",
        ver_sw_release=0x011001FF,
        ver_hw="PX4_FMU_V6X",
        ver_hw_subtype="V6X010",
        sys_uuid="42",
    )
    found = summary_of(load(path), epoch_offset_ns=1_600_000_000 * 10**9)
    assert found.firmware == {"PX4": "1.16.1 (release)", "branch": "main", "hash": "0123abcd"}
    assert found.hardware == {"board": "PX4_FMU_V6X", "subtype": "V6X010", "UUID": "42"}
    assert (found.start_us, found.start_utc) == (1_500_000, "2020-09-13 12:26:41 UTC")
    assert summary_of(load(path)).start_utc is None
    assert list(found.lines())[:3] == [
        "firmware: PX4 1.16.1 (release), branch main, hash 0123abcd",
        "hardware: board PX4_FMU_V6X, subtype V6X010, UUID 42",
        "start: 2020-09-13 12:26:41 UTC, 1.500 s on its clock",
    ]
    assert summary_of(load(path), epoch_offset_ns=2**62 * 1000).start_utc is None


def test_parameters_other_than_their_default_are_counted_and_named(tmp_path):
    found = summary_of(load(written(tmp_path / "a.ulg")))
    assert [tuple(each) for each in found.changed] == [(f"P{n}", n, n - 1) for n in range(1, 10)]
    (line,) = (line for line in found.lines() if line.startswith("parameters"))
    assert line == (
        "parameters: 13, changes in flight: 1, other than the default: 9: P1 1 (0), P2 2 (1), "
        "P3 3 (2), P4 4 (3), P5 5 (4), P6 6 (5), P7 7 (6), P8 8 (7), and 1 more, see --json"
    )


def test_texts_are_counted_by_level_and_the_last_problems_are_shown(tmp_path):
    texts = [(6, "fine"), *((4, f"warning {n}") for n in range(6)), (2, "evil \x1b[2J\nline")]
    path = written(tmp_path / "a.ulg", texts=texts, sys_name="PX4")
    result = CliRunner().invoke(app, ["info", str(path)], catch_exceptions=False)
    assert "logged texts: critical 1, warning 6, info 1" in result.stdout
    shown = [line for line in result.stdout.splitlines() if line.startswith("3.500 s ")]
    assert shown[:4] == [f"3.500 s warning: warning {n}" for n in range(2, 6)]
    assert shown[4].startswith("3.500 s critical: evil ")
    assert "\x1b" not in result.stdout
    whole = json.loads(CliRunner().invoke(app, ["info", str(path), "--json"]).stdout)["log"]
    assert [each["level"] for each in whole["problems"]] == ["warning"] * 6 + ["critical"]
    assert whole["levels"] == {"critical": 1, "warning": 6, "info": 1}
    assert whole["changed"][0] == {"name": "P1", "value": 1, "default": 0}
    assert whole["parameters"] == 13


@pytest.mark.parametrize(
    "name", ["sample_px4_events", "sample_logging_tagged_and_default_params", "sample_log_small"]
)
def test_parameters_of_public_logs_differ_as_pyulog_finds(data_dir, name):
    path = data_dir / "px4" / "ulog" / f"{name}.ulg"
    if not path.is_file():
        pytest.skip(f"no log at {path}")
    log, found = ULog(str(path)), summary_of(load(path))
    expected = {
        key: (log.initial_parameters[key], value)
        for key, value in log.get_default_parameters(0).items()
        if log.initial_parameters[key] != value
    } if log.has_default_parameters else {}  # fmt: skip
    assert {each.name: (each.value, each.default) for each in found.changed} == expected
    assert found.has_defaults == log.has_default_parameters
    assert sum(found.levels.values()) == len(log.logged_messages) + sum(
        map(len, log.logged_messages_tagged.values())
    )
