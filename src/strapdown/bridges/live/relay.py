"""Messages of one topic passed on to another, converted where the types differ."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from strapdown._html import FieldsAsHtml
from strapdown.errors import StrapdownError, TransportError
from strapdown.messages import Imu, RosImu, VehicleImu, conversion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from threading import Event

    from strapdown.transport.topic import Topic

__all__ = ["Relay", "RelayReport", "steps_between"]

LOOK_S = 0.2
"""Longest wait for an answer at the end [s]."""
TELL_S = 1.0
"""Interval between accounts [s]; counting losses takes a moment on some backends."""


@dataclass(frozen=True)
class RelayReport(FieldsAsHtml):
    """An account of what passed.

    Parameters
    ----------
    received, sent : int
        Messages.
    lost : int
        Messages of the source that were not received.
    malformed : int
        Received data that were not messages.
    refused : int
        Messages that could not be converted or sent.
    left_out : mapping of str to int
        Fields that the target cannot hold, and in how many messages they said something.
    problem : str
        The first reason for refusing.
    """

    received: int = 0
    sent: int = 0
    lost: int = 0
    malformed: int = 0
    refused: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


class Relay:
    """Passes the messages of a topic on to another.

    Types convert by the table of :mod:`strapdown.messages.conversion`, directly or by way of
    ``Imu``. A message of rates has no interval: for increments, each takes the time since the one
    before it, and the first only sets that time.

    Parameters
    ----------
    source : Topic
        Its messages from now on are received.
    target : Topic
        Where they are sent.
    frame_id : str
        What the headers say of the ``RosImu`` that are sent; by default what those that came
        as one say.

    Raises
    ------
    TransportError
        There is no conversion between the types.
    """

    def __init__(self, source: Topic[Any], target: Topic[Any], *, frame_id: str = "") -> None:
        self._source, self._target = source, target
        self._steps = steps_between(source.msg_type, target.msg_type)
        self._frame_id = frame_id
        self._received = self._sent = self._refused = 0
        self._left_out: Counter[str] = Counter()
        self._problem = ""

    def run(
        self,
        stop: Event,
        *,
        duration: float = math.inf,
        progress: Callable[[RelayReport], object] | None = None,
    ) -> RelayReport:
        """Pass on messages until stopped, within 0.2 s, or until the time is over.

        Parameters
        ----------
        stop : Event
            Ends it; what waits then is passed on.
        duration : float
            Longest time [s].
        progress : callable, optional
            Gets an account every second.

        Raises
        ------
        TransportError
            A topic was closed, or its backend cannot continue.
        """
        now = time.monotonic()
        until, next_told = now + duration, now + TELL_S
        while not stop.is_set() and (now := time.monotonic()) < until:
            message = self._source.recv(timeout=min(LOOK_S, until - now))
            if message is not None:
                self._pass_on([message, *self._source.recv_all()])
            if progress is not None and time.monotonic() >= next_told:
                next_told += TELL_S
                progress(self.report())
        self._pass_on(self._source.recv_all())
        return self.report()

    def report(self) -> RelayReport:
        """Return the account so far."""
        stats = self._source.stats()
        return RelayReport(
            self._received,
            self._sent,
            stats.lost_overwritten + stats.lost_transport,
            stats.malformed,
            self._refused,
            dict(self._left_out),
            self._problem,
        )

    def _pass_on(self, messages: list[Any]) -> None:
        self._received += len(messages)
        for message in messages:
            try:
                converted = self._converted(message)
                if converted is not None:
                    self._target.send(converted)
                    self._sent += 1
            except TransportError:
                raise
            except (StrapdownError, OverflowError) as error:  # of this message, not of the others
                self._refused += 1
                self._problem = self._problem or str(error)

    def _converted(self, message: Any) -> Any | None:  # noqa: ANN401 (of the target's type)
        for kind, convert in self._steps:
            self._left_out.update(conversion.losses(message, kind))
            message = convert(message)
            if message is None:
                return None
        if self._frame_id and isinstance(message, RosImu):
            message.frame_id = self._frame_id
        return message


def steps_between(
    source: type[Any], target: type[Any]
) -> list[tuple[type[Any], Callable[[Any], Any]]]:
    """Return the types that a message takes on, each with what converts it.

    Raises
    ------
    TransportError
        There is no conversion between the types.
    """
    if source is target:
        return []
    problem = ""
    routes: list[list[type[Any]]] = [[source, target], [source, Imu, target]]
    for kinds in routes:
        try:
            rules = [conversion.rule_between(*pair) for pair in pairwise(kinds)]
        except TypeError as error:
            problem = problem or str(error)
            continue
        return [(rule.target, _step(rule)) for rule in rules]
    raise TransportError(problem)


def _step(rule: conversion.Rule) -> Callable[[Any], Any]:
    if (rule.source, rule.target) == (Imu, VehicleImu):
        return _Increments()
    return partial(conversion.convert, to=rule.target)


class _Increments:
    """Mean rates as increments over the time since the message before; the first gives none."""

    def __init__(self) -> None:
        self._last_ns: int | None = None

    def __call__(self, imu: Imu) -> VehicleImu | None:
        last_ns, self._last_ns = self._last_ns, imu.timestamp_ns
        if last_ns is None:
            return None
        return conversion.convert(imu, to=VehicleImu, dt_ns=imu.timestamp_ns - last_ns)
