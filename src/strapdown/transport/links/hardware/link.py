"""Link of a topic to a sensor: a thread that delivers its samples."""

from __future__ import annotations

import os
import time
from logging import INFO, WARNING, getLogger
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from strapdown._words import wording
from strapdown.errors import TransportError
from strapdown.transport.link import Arrival, Link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from strapdown.messages import Imu
    from strapdown.transport.link import Sink

__all__ = ["HardwareLink", "Sensor"]

_log = getLogger(__name__)
_AGAIN_S = 1.0
"""Interval of attempts to open a port that has gone [s]."""
_JOIN_S = 2.0


class Sensor(Protocol):
    """A sensor that samples are read from."""

    @property
    def damaged(self) -> int:
        """Messages that could not be used."""
        ...

    @property
    def lost(self) -> int:
        """Samples that are missing by the count of the sensor."""
        ...

    def read(self) -> Sequence[Imu]:
        """Wait up to 0.1 s for samples, and return them.

        Raises
        ------
        OSError
            The port has gone.
        """
        ...

    def reopen(self) -> None:
        """Open the port again; raises TransportError where that is not possible."""
        ...

    def problem(self) -> str:
        """Describe why there are no samples, or return an empty string."""
        ...

    def account(self) -> str:
        """Return the counts as a line."""
        ...

    def close(self) -> None:
        """Close the port."""
        ...


class HardwareLink(Link):
    """A sensor, whose samples a thread delivers.

    Parameters
    ----------
    name : str
        Name of the backend.
    sensor : Sensor
        It is open.
    sink : Sink
        Ring of the topic.
    """

    def __init__(self, name: str, sensor: Sensor, sink: Sink) -> None:
        self._backend, self._sensor, self._sink = name, sensor, sink
        self._publisher = f"{name}-{os.getpid()}-{time.time_ns():x}"
        self._seq = self._damaged = self._lost = 0
        self._gone, self._is_reported = "", False
        self._stop = Event()
        self._thread = Thread(target=self._run, name=f"{name} sensor", daemon=True)
        self._thread.start()

    def send(self, message: Arrival) -> None:  # noqa: ARG002 (nothing is sent)
        """Refuse to send.

        Raises
        ------
        TransportError
            Always: a sensor only receives.
        """
        raise TransportError(
            f"a topic of {self._backend} is a sensor and only receives; publish to another topic"
        )

    def problem(self) -> str:
        """Report a port that has gone, or bytes that are no messages."""
        return self._gone or self._sensor.problem()

    def publishers(self) -> int:
        """Return 1 while the port is open."""
        return int(not self._gone)

    def subscribers(self) -> int:
        """Return 0: a sensor does not listen."""
        return 0

    def close(self) -> None:
        """Close the port."""
        self._stop.set()
        self._thread.join(_JOIN_S)
        self._sensor.close()
        level = WARNING if self._sensor.damaged or self._sensor.lost else INFO
        _log.log(level, "%s: %s", self._backend, self._sensor.account())

    def _run(self) -> None:
        """Deliver samples until closed; open the port again where it has gone."""
        while not self._stop.is_set():
            try:
                samples = self._sensor.read()
            except OSError as error:
                self._lose(wording(error))
                continue
            except Exception as error:  # noqa: BLE001 (it is reported, and the process goes on)
                _log.exception("%s ended", self._publisher)
                self._gone = wording(error)
                return
            received_ns = time.time_ns()
            arrivals = []
            for sample in samples:
                arrivals.append(Arrival(bytes(sample), self._seq, self._publisher, 0, received_ns))
                self._seq += 1
            self._report()
            if not self._is_reported and (problem := self._sensor.problem()):
                _log.warning("%s: %s", self._backend, problem)
                self._is_reported = True
            if arrivals:
                self._sink.deliver(arrivals)

    def _report(self) -> None:
        """Count what has been damaged or lost since the last call."""
        damaged, lost = self._sensor.damaged, self._sensor.lost
        if damaged > self._damaged:
            self._sink.note(malformed=damaged - self._damaged)
        if lost > self._lost:
            self._sink.lose(lost - self._lost)
        self._damaged, self._lost = damaged, lost

    def _lose(self, why: str) -> None:
        """Wait until the port can be opened again."""
        if not self._gone:
            _log.warning("%s: %s; it is opened again when it is there", self._backend, why)
        self._gone = why
        while not self._stop.wait(_AGAIN_S):
            try:
                self._sensor.reopen()
            except TransportError as error:
                self._gone = wording(error)
            else:
                self._gone = ""
                return
