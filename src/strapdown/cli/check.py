"""``strapdown check``: units, axes, signs and stamps of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strapdown._words import counted
from strapdown.cli._common import Input, Topic, notes_on, read_losses, taken, working
from strapdown.cli._outcome import Outcome
from strapdown.cli._reading import open_imu, trajectories

if TYPE_CHECKING:
    from strapdown.checking import CheckReport, Finding
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries

TABLE = "table"
"""Format whose columns ``strapdown import`` can state: tables of other programs."""


def check(source: Input, *, topic: Topic = None) -> Outcome:
    """Check units, axes, signs and stamps before anything is estimated.

    The specific force has to be 9.81 m/s^2 at rest, gyro, accelerometer and magnetometer have to
    turn alike, and a recorded orientation has to agree with gyro and gravity. Also checked: field
    strength, rate, order and gaps of stamps, saturation, and values that do not change. Each
    finding states what was seen, the likely error, and what mends it.

    Exit code 3: there are findings; 1 with --strict.

    Examples
    --------
    strapdown check walk.csv

    strapdown check flight.ulg --topic sensor_combined

    strapdown check logs/*.ulg --workers 2 --json
    """
    with working(f"reading {source}"):
        recording = open_imu(source, topic, trajectories)
    series = recording.imu_series(topic)
    with working(f"checking {len(series)} samples"):
        report = _report(recording, series)
    view = [
        *notes_on(recording, topic),
        *(line for finding in report.findings for line in _lines(recording, finding)),
        *report.lines()[len(report.findings) :],
    ]
    data = {"input": str(source), **taken(recording, topic), **report.to_dict()}
    codes = ", ".join(str(finding.code) for finding in report.findings)
    brief = f"{counted(len(report.findings), 'finding')}: {codes}" if codes else "no findings"
    found = len(report.findings)
    return Outcome(data, view, read_losses(recording.report), found=found, brief=brief)


def _report(recording: Recording, series: ImuSeries) -> CheckReport:
    """Return the report of an IMU and of the orientations in other topics."""
    from strapdown.checking import check as checked  # noqa: PLC0415 (NumPy, only when it runs)

    return checked(series, recording.trajectories)


def _lines(recording: Recording, finding: Finding) -> list[str]:
    """Return a finding as lines: what was seen, the likely error, what mends it."""
    lines = [f"{finding.code}: {finding}"]
    if finding.option and recording.report.format == TABLE:
        save = "" if "--save" in finding.option else " --save columns.toml"
        lines.append(
            f"  mend: strapdown import {recording.path.name} {finding.option}{save}; "
            "then --columns columns.toml"
        )
    elif finding.python:
        lines.append(f"  mend, in Python: {finding.python}")
    return lines
