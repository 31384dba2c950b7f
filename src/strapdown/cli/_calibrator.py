"""Calibration of the blocks of a recording while it is converted."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, TypeVar

import strapdown.formats as files
from strapdown.cli._streams import as_file
from strapdown.errors import FormatError
from strapdown.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from strapdown.calibration import TemperatureReadings
    from strapdown.formats import Recording
    from strapdown.series import ImuSeries, Increments

    Data = TypeVar("Data", ImuSeries, Increments)

__all__ = ["Calibrator"]

_STEP: Final = "calibrated by"
_DIGITS: Final = 12


class Calibrator:
    """Calibration of the blocks of a recording.

    Raises
    ------
    FormatError
        The calibration depends on a temperature and there is none, there are several sensors and
        no topic, or the file states that it was calibrated so before.
    """

    def __init__(
        self, path: Path, sources: Sequence[Path], topic: str | None, temperature: Path | None
    ) -> None:
        from strapdown import calibration as procedures  # noqa: PLC0415 (only with the option)

        self._calibration = procedures.load_calibration(path)
        source = sources[0]
        self._path, self._source, self._topic = path, source, topic
        self._digest = sha256(path.read_bytes()).hexdigest()[:_DIGITS]
        self.notes: dict[str, None] = {}
        self._changes = self._is_warm = False
        self._seen: set[str] = set()
        self._temperature: TemperatureReadings | None = None
        if temperature is not None:
            self._temperature = procedures.read_temperature(temperature)
        elif self._calibration.needs_temperature:
            if len(sources) == 1:
                recording = files.open(as_file(source), on_error="salvage")
                self._temperature = procedures.recorded_temperature(recording, topic)
            if self._temperature is None:
                raise FormatError(
                    f"expected the temperature of the sensor, on which {path.name} depends, the "
                    "recording has none (or is joined of several); pass --temperature with a CSV "
                    "file of the columns t_ns or t_s and temperature_c",
                    path=source,
                )

    def __call__(self, block: Recording) -> Recording:
        """Return a block with calibrated samples and increments."""
        self._check_history(block)
        self._seen |= {*block.imu, *block.increments}
        if self._topic is None and len(self._seen) > 1:
            raise FormatError(
                "expected one sensor for --calibration, got the topics "
                f"{', '.join(sorted(self._seen))}; choose one with --topic",
                path=self._source,
            )
        chosen = self._topic
        return replace(
            block,
            imu={n: self._applied(s) if chosen in {None, n} else s for n, s in block.imu.items()},
            increments={
                n: self._applied(s) if chosen in {None, n} else s
                for n, s in block.increments.items()
            },
            history=(*block.history, f"{_STEP} {self._path.name} (sha256 {self._digest})"),
        )

    def _check_history(self, block: Recording) -> None:
        """Raise if this calibration was applied before; note another one."""
        for step in block.history:
            if step.startswith(_STEP) and self._digest in step:
                raise FormatError(
                    f"expected samples that {self._path.name} has not calibrated yet, got a file "
                    "that states it; calibrate the original recording, or omit --calibration",
                    path=self._source,
                )
            if step.startswith(_STEP):
                self.notes[f"already {step}: {self._path.name} is applied on top of it"] = None

    def check(self) -> None:
        """Check, after the last block, that the calibration had an effect at known temperatures.

        Raises
        ------
        FormatError
            There was no temperature during the recording, or no sample changed.
        """
        if self._seen and not self._is_warm:
            raise FormatError(
                "expected temperatures during the recording, got none; pass stamps on the clock of "
                "the recording",
                path=self._source,
            )
        if self._seen and not self._changes:
            raise FormatError(
                f"expected a sensor that {self._path.name} calibrates, got none: no sample changes",
                path=self._source,
            )

    def _applied(self, data: Data) -> Data:
        """Return calibrated data."""
        calibrated = self._calibration.apply(data, temperature=self._temperature)
        self._changes = self._changes or calibrated != data
        warm = self._temperature
        self._is_warm = (
            self._is_warm
            or warm is None
            or bool(
                len(data)
                and data.t_ns.min() < warm.t_ns[-1] + NS_PER_S
                and data.t_ns.max() > warm.t_ns[0] - NS_PER_S
            )
        )
        return calibrated
