"""Exploration of the ring's interleavings: real code, in threads that a scheduler steps.

CPython changes threads only after a call, where a loop goes round, where a function begins, and
where a thread blocks. A :class:`Scheduler` runs the threads of a scenario one at a time, stops
them at exactly these points (by tracing instructions), and changes threads at chosen ones. The
explorer runs every choice of at most so many changes; where a thread blocks or ends, the next
one continues. Locks and conditions are replaced by such that block in the scheduler: a state in
which nobody can continue is a hang, a forgotten ``notify_all`` included.
"""

from __future__ import annotations

import dis
import inspect
import itertools
import math
import random
import sys
import textwrap
import threading
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from strapdown.errors import TransportError
from strapdown.messages import Imu
from strapdown.transport import Backend, Topic, exchange, registry, ring, slots, topic
from strapdown.transport.link import Arrival, Channel, Link, Sink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import CodeType, FrameType

    from strapdown.transport.backends import AnyBackend

    Program = Callable[[], object]
    Scenario = Callable[["Run"], list[Program]]

STEPPED = {module.__file__ for module in (exchange, ring, slots, topic)}


class HangError(AssertionError):
    """No thread can continue."""


@cache
def switch_points(code: CodeType) -> frozenset[int]:
    """Return the offsets of the instructions before which CPython may change threads."""
    found, follows_call = set(), False
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if follows_call or name.startswith("JUMP_BACKWARD"):
            found.add(instruction.offset)
        follows_call = name.startswith("CALL") or name == "FOR_ITER"  # next() of a WeakSet
    return frozenset(found)


class Scheduler:
    """Runs threads one at a time, and changes between them at the given points.

    Parameters
    ----------
    changes : iterable of int
        Points, counted over all threads, at which the next thread continues.
    counted : bool
        Whether the points behind the last of these are counted; that takes most of the time.
    """

    def __init__(self, changes: Iterable[int], *, counted: bool):
        self.changes = frozenset(changes)
        self.last = math.inf if counted else max(self.changes)
        self.points = 0
        self.hung = False
        self.blocked: dict[int, Callable[[], bool]] = {}
        self.gates: list[threading.Lock] = []
        self.done: list[bool] = []
        self.local = threading.local()
        self.errors: list[BaseException] = []

    @property
    def me(self) -> int:
        """Number of the calling thread; -1 outside of :meth:`run`."""
        return getattr(self.local, "me", -1)

    def run(self, programs: list[Program], first: int) -> None:
        """Run each function in a thread of its own."""
        self.done = [False] * len(programs)
        self.gates = [threading.Lock() for _ in programs]
        for gate in self.gates:
            gate.acquire()
        threads = [
            threading.Thread(target=self._run, args=each, daemon=True)
            for each in enumerate(programs)
        ]
        for thread in threads:
            thread.start()
        self.gates[first].release()
        for thread in threads:
            thread.join(30.0)
            assert not thread.is_alive()
        if self.errors:
            raise self.errors[0]

    def block(self, ready: Callable[[], bool]) -> None:
        """Let others run until a condition is met."""
        self.blocked[self.me] = ready
        self._continue(self._next())
        del self.blocked[self.me]

    def _run(self, number: int, program: Program) -> None:
        self.local.me = number
        self.gates[number].acquire()
        try:
            sys.settrace(self._enter)
            program()
        except BaseException as error:  # noqa: BLE001 (raised again by run)
            self.errors.append(error)
        finally:
            sys.settrace(None)
            self.done[number] = True
            if not all(self.done):
                self._open(self._next())

    def _enter(self, frame: FrameType, _event: str, _argument: object):
        if frame.f_code.co_filename not in STEPPED:
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        offsets = switch_points(frame.f_code)

        def step(frame: FrameType, event: str, _argument: object):
            if self.points >= self.last:
                sys.settrace(None)
            elif event == "opcode" and frame.f_lasti in offsets:
                self.point()
            return step

        self.point()
        return step

    def point(self) -> None:
        """Let the next thread continue if this point is a chosen one."""
        self.points += 1
        if self.points in self.changes and (number := self._next()) is not None:
            self._continue(number)

    def _next(self) -> int | None:
        """Return the next thread that can continue, of which the calling one is the last."""
        count = len(self.done)
        for number in ((self.me + step) % count for step in range(1, count + 1)):
            if not self.done[number] and self.blocked.get(number, lambda: True)():
                return number
        return None

    def _open(self, number: int | None) -> None:
        if number is None:
            self.hung = True
        for each in range(len(self.gates)) if self.hung else [number]:
            if self.gates[each].locked():
                self.gates[each].release()

    def _continue(self, number: int | None) -> None:
        """Let a thread run, and wait for the next turn."""
        if number != self.me:
            self._open(number)
            self.gates[self.me].acquire()
        if self.hung:
            raise HangError(f"no thread can continue, {self.blocked.keys()} wait")


class Lock:
    """A reentrant lock that blocks in the scheduler."""

    def __init__(self, scheduler: Scheduler):
        self.scheduler, self.owner, self.depth = scheduler, None, 0

    def acquire(self, blocking=True, timeout=-1.0):  # noqa: ARG002 (as threading has it)
        me = self.scheduler.me
        if self.owner not in (None, me):
            if not blocking:
                return False
            self.scheduler.block(lambda: self.owner is None)
        self.owner, self.depth = me, self.depth + 1
        return True

    def release(self):
        assert self.owner == self.scheduler.me
        self.depth -= 1
        if not self.depth:
            self.owner = None

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *_):
        self.release()


class Condition:
    """A condition whose waits never time out."""

    def __init__(self, lock: Lock):
        self.lock, self.sleepers = lock, set()

    def wait(self, timeout=None):  # noqa: ARG002 (as threading has it)
        lock, ticket = self.lock, object()
        self.sleepers.add(ticket)
        kept = lock.owner, lock.depth
        lock.owner, lock.depth = None, 0
        lock.scheduler.block(lambda: ticket not in self.sleepers and lock.owner is None)
        lock.owner, lock.depth = kept

    def notify_all(self):
        self.sleepers.clear()


# One run


def imu(number: int) -> Imu:
    return Imu(0.0, 0.0, 9.81, 0.0, 0.0, 0.1, timestamp_ns=number)


SPAN = 1000
"""Messages of a sender are numbered from a multiple of this on."""


class Run:
    """One run of a scenario: handles on one topic, what they sent and what they received."""

    def __init__(self, changes: Iterable[int], *, counted: bool) -> None:
        self.scheduler = Scheduler(changes, counted=counted)
        self.handles: list[Topic] = []
        self.sent: dict[Topic, list[int]] = {}
        self.received: dict[Topic, list[list[int]]] = {}  # a list for each thread
        self.elsewhere = 0  # messages that were delivered

    def open(
        self, capacity: int = 2, reliability: str = "sensor", backend: AnyBackend = "local"
    ) -> Topic:
        handle = Topic(Imu, capacity, backend=backend, reliability=reliability)
        self.handles.append(handle)
        self.sent[handle], self.received[handle] = [], []
        return handle

    def sends(self, handle: Topic, times: int, how: str = "send") -> Program:
        sent = self.sent[handle]
        start = SPAN * self.handles.index(handle)

        def program() -> None:
            for _ in range(times):
                number = start + len(sent)
                if getattr(handle, how)(imu(number)):
                    sent.append(number)

        return program

    def receives(self, handle: Topic, times: int, timeout: float | None = 0.0) -> Program:
        return self.takes(handle, lambda: filter(None, [handle.recv(timeout)]), times)

    def takes(self, handle: Topic, take: Callable[[], Iterable[Imu]], times: int = 1) -> Program:
        taken: list[int] = []
        self.received[handle].append(taken)

        def program() -> None:
            for _ in range(times):
                taken.extend(message.timestamp_ns for message in take())

        return program

    def arrival(self) -> Arrival:
        """Return the next message from elsewhere."""
        self.elsewhere += 1
        payload = bytes(imu(9 * SPAN + self.elsewhere))
        return Arrival(payload, self.elsewhere - 1, "elsewhere", 1, 1)

    def check(self) -> None:
        """Hold what each handle received and counted against what was sent."""
        total = sum(map(len, self.sent.values())) + self.elsewhere
        for handle in self.handles:
            if handle._ring is None:
                continue
            self.takes(handle, handle.recv_all)()
            taken, stats = self.received[handle], handle.stats()
            numbers = [number for each in taken for number in each]
            assert len(set(numbers)) == len(numbers), f"received twice: {taken}"
            assert all(is_in_order(each) for each in taken), f"out of order: {taken}"
            assert stats.sent == len(self.sent[handle])
            assert stats.received == len(numbers)
            assert stats.received + stats.lost_overwritten == total, f"{taken}, {stats}"
            if handle._ring.channel.reliable:
                assert stats.lost_overwritten == 0
        alone = [lists for lists in self.received.values() if len(lists) <= 2]
        orders = [[*itertools.chain(*lists)] for lists in alone]
        for one, other in itertools.combinations(orders, 2):
            assert [n for n in one if n in other] == [n for n in other if n in one]


class Inbox(Link):
    """A link in which receivers wait, and from which one may take messages directly."""

    name = "inbox"
    waits = takes = True

    def __init__(self, run: Run, sink: Sink, *, active: bool) -> None:
        self.run, self.sink, self.active = run, sink, active
        self.arrived: list[Arrival] = []
        self.sent: list[int] = []
        self.woken = False

    def arrive(self, times: int) -> None:
        for _ in range(times):
            self.arrived.append(self.run.arrival())
            self.woken = True

    def send(self, message: Arrival) -> None:
        self.sent.append(message.seq)

    def poll(self) -> None:
        arrived, self.arrived = self.arrived, []
        self.sink.deliver(arrived)

    def take(self) -> Arrival | None:
        return self.arrived.pop(0) if self.arrived else None

    def wait(self, timeout_s: float) -> None:  # noqa: ARG002 (wakes only when it is told)
        self.run.scheduler.block(lambda: self.woken)
        self.woken = False

    def wake(self) -> None:
        self.woken = True

    def tend(self) -> None:
        self.run.scheduler.point()
        with self.sink.intake:
            pass

    def publishers(self) -> int:
        return 0

    def subscribers(self) -> int:
        return 0

    def close(self) -> None:
        pass


@dataclass(frozen=True, eq=False)
class Linked(Backend):
    """The way of :class:`Inbox`."""

    run: Run
    active: bool
    name = "inbox"

    def open_link(self, channel: Channel, sink: Sink) -> Link:  # noqa: ARG002 (any channel)
        return Inbox(self.run, sink, active=self.active)


def is_in_order(numbers: list[int]) -> bool:
    """Whether the messages of each sender follow each other."""
    return all(a < b for a, b in itertools.combinations(numbers, 2) if a // SPAN == b // SPAN)


# Every run


@pytest.fixture(autouse=True)
def registry_without_thread(monkeypatch):
    monkeypatch.setattr(registry, "_RINGS", {})
    monkeypatch.setattr(registry, "_keep", lambda: None)


def execute(
    scenario: Scenario, monkeypatch, first: int, changes: Iterable[int], *, counted: bool
) -> int:
    """Run a scenario once, and return the number of points at which threads could change."""
    run = Run(changes, counted=counted)
    stepped = SimpleNamespace(
        RLock=lambda: Lock(run.scheduler), Condition=Condition, Thread=threading.Thread
    )
    for module in (slots, exchange, ring):
        monkeypatch.setattr(module, "threading", stepped)
    try:
        run.scheduler.run(scenario(run), first)
        run.check()
    finally:
        registry._RINGS.clear()
    return run.scheduler.points


def explore(scenario: Scenario, monkeypatch, most_changes: int, share: float = 1.0) -> int:
    """Run a scenario with every choice of points, or a share of them; return how many runs."""
    draw = random.Random(1)  # noqa: S311 (chooses runs)
    runs, choices = 0, [(0, ()), (1, ())]
    while choices:
        first, changes = choices.pop()
        more = len(changes) < most_changes
        try:
            points = execute(scenario, monkeypatch, first, changes, counted=more)
        except Exception as error:
            error.add_note(f"{scenario.__name__}: from thread {first}, change at {changes}")
            raise
        runs += 1
        if more:
            later = range(changes[-1] + 1 if changes else 1, points + 1)
            chosen = [point for point in later if not changes or draw.random() < share]
            choices += [(first, (*changes, point)) for point in chosen]
    return runs


def a_sender_laps_a_reader(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()
    reader.recv()
    return [run.sends(sender, 5), run.receives(reader, 4)]


def a_reader_trails(run: Run) -> list[Program]:
    sender, reader = run.open(4), run.open(4)
    reader.recv()
    run.sends(sender, 5)()
    return [run.sends(sender, 5), run.receives(reader, 4)]


def senders_take_turns(run: Run) -> list[Program]:
    one, other, _ = run.open(), run.open(), run.open()
    return [run.sends(one, 3), run.sends(other, 3)]


def threads_share_a_reader(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()
    send, receive = run.sends(sender, 4), run.receives(reader, 3)
    return [lambda: (send(), receive()), run.receives(reader, 4)]


def threads_share_a_lapped_reader(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()
    reader.recv()
    run.sends(sender, 3)()
    return [run.receives(reader, 3), run.receives(reader, 3)]


def a_reader_waits(run: Run) -> list[Program]:
    sender, reader = run.open(4), run.open(4)
    run.sends(sender, 1)()
    run.receives(reader, 1)()
    return [run.sends(sender, 3), run.receives(reader, 3, None)]


def a_reliable_sender_waits(run: Run) -> list[Program]:
    sender, reader = run.open(2, "reliable"), run.open(2, "reliable")
    return [run.sends(sender, 3), run.receives(reader, 3, None)]


def a_sender_tries(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()
    reader.recv()
    return [run.sends(sender, 4, "try_send"), run.receives(reader, 3)]


def a_reader_drains(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()
    return [run.sends(sender, 5), run.takes(reader, reader.recv_all, 3)]


def messages_come_from_elsewhere(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()
    receive, ring = run.receives(reader, 2), reader._ring
    deliveries = [lambda: ring.deliver([run.arrival()])] * 3
    return [run.sends(sender, 3), lambda: ([deliver() for deliver in deliveries], receive())]


def messages_are_taken_from_the_link(run: Run) -> list[Program]:
    backend = Linked(run, active=False)
    sender, reader = (run.open(8, backend=backend) for _ in range(2))
    link, send = reader._ring.link, run.sends(sender, 2)
    return [lambda: (link.arrive(2), send(), link.arrive(1)), run.receives(reader, 5, None)]


def messages_go_out_and_come_in(run: Run) -> list[Program]:
    backend = Linked(run, active=True)
    sender, reader = (run.open(8, backend=backend) for _ in range(2))
    link, send = reader._ring.link, run.sends(sender, 2)
    return [lambda: (send(), link.arrive(1), send()), run.receives(reader, 5, None)]


def readers_wait_in_the_link(run: Run) -> list[Program]:
    backend = Linked(run, active=False)
    one, other = (run.open(8, backend=backend) for _ in range(2))
    link = one._ring.link
    return [
        run.receives(one, 2, None),
        run.receives(other, 2, None),
        lambda: (link.arrive(1), link.arrive(1)),
    ]


def a_leader_is_closed(run: Run) -> list[Program]:
    backend = Linked(run, active=False)
    one, other = (run.open(8, backend=backend) for _ in range(2))
    link = one._ring.link

    ended: list[bool] = []

    def lead() -> None:
        with pytest.raises(TransportError, match="closed"):
            one.recv(None)
        ended.append(True)

    def close() -> None:
        one.close()
        run.scheduler.block(lambda: bool(ended))
        link.arrive(1)

    return [run.receives(other, 1, None), lead, close]


def a_topic_is_closed_while_it_is_tended(run: Run) -> list[Program]:
    only = run.open(backend=Linked(run, active=True))
    return [only._ring.tend, only.close]


def the_ring_is_looked_at(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()
    run.sends(sender, 1)()
    ring = sender._ring
    looks = [ring.tend, sender.stats, ring.retained, reader.pending_count, reader.read_latest]
    return [run.sends(sender, 5), lambda: [look() for look in looks]]


def a_handle_comes_and_goes(run: Run) -> list[Program]:
    sender, reader = run.open(), run.open()

    def visit() -> None:
        with Topic(Imu, backend="local") as late:
            late.recv()
            late.recv()

    receive = run.receives(reader, 2)
    return [run.sends(sender, 4), lambda: (visit(), receive())]


SCENARIOS = [
    a_sender_laps_a_reader,
    a_reader_trails,
    senders_take_turns,
    threads_share_a_reader,
    threads_share_a_lapped_reader,
    a_reader_waits,
    a_reliable_sender_waits,
    a_sender_tries,
    a_reader_drains,
    messages_come_from_elsewhere,
    messages_are_taken_from_the_link,
    messages_go_out_and_come_in,
    readers_wait_in_the_link,
    a_leader_is_closed,
    a_topic_is_closed_while_it_is_tended,
    the_ring_is_looked_at,
    a_handle_comes_and_goes,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_every_message_is_received_once_in_order_or_counted_as_lost(scenario, monkeypatch):
    explore(scenario, monkeypatch, 1)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_that_holds_for_two_changes_of_threads(scenario, monkeypatch):
    explore(scenario, monkeypatch, 2, share=0.05)


# What is found


FAULTS = {
    "a message is stored, and counted later": (
        the_ring_is_looked_at,
        Topic.send,
        "self._out[self._next], self._next = stored, self._next + 1",
        "self._out[self._next] = stored; self._next = int(self._next) + 1",
    ),
    "the cursor moves before the message is read": (
        a_sender_laps_a_reader,
        Topic.recv,
        "stored = self._segment[self._index]",
        "self._index += 1; stored = self._segment[int(self._index) - 1]; self._index -= 1",
    ),
    "a message is read, and counted later": (
        threads_share_a_reader,
        Topic.recv,
        "self._index += 1 ",
        "self._index = int(self._index) + 1 ",
    ),
    "a reader reads on while it is moved to the lock": (
        a_sender_laps_a_reader,
        slots.Slots._fall_behind,
        "handle._cursor, handle._segment = self.base + handle._index, state",
        "handle._cursor = self.base + int(handle._index); handle._segment = state",
    ),
    "a sender goes on while its messages are counted": (
        the_ring_is_looked_at,
        slots.Slots.settle,
        "handle._out = None",
        "filled = int(handle._next); handle._out = None; handle._next = filled",
    ),
    "a message gives way while it is read": (
        a_reader_trails,
        ring.Ring._take,
        "return self.previous[offset]",
        "return int(1) and self.previous[offset]",
    ),
    "a reader does not look once more before it sleeps": (
        a_reader_waits,
        ring.Ring.wait,
        "self.settle()",
        "pass",
    ),
    "nobody wakes the reader": (
        a_reader_waits,
        exchange.Exchange._append,
        "if self.waiting:",
        "if False:",
    ),
    "nobody wakes the sender": (
        a_reliable_sender_waits,
        ring.Ring._take,
        "if self.channel.reliable and self.waiting",
        "if False",
    ),
    "nobody follows the leader": (
        a_leader_is_closed,
        ring.Ring._follow,
        "self.changed.notify_all()",
        "pass",
    ),
    "the leader leaves while another thread is about to sleep": (
        a_leader_is_closed,
        ring.Ring._follow,
        "with self.lock:",
        "self.leading = False\n    if not self.waiting:\n        return\n    with self.lock:",
    ),
    "locks are taken in two orders": (
        a_topic_is_closed_while_it_is_tended,
        ring.Ring.shut,
        "(self.joining, self.outgoing, self.intake)",
        "(self.outgoing, self.intake, self.joining)",
    ),
    "a handle receives once more what it took from the link": (
        messages_are_taken_from_the_link,
        exchange.Exchange.settle,
        "handle._cursor = self.base + self.fill",
        "pass",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.by_default(
    "nobody wakes the reader",
    "nobody wakes the sender",
    "a message gives way while it is read",
    "a reader does not look once more before it sleeps",
    "nobody follows the leader",
    "the leader leaves while another thread is about to sleep",
    "locks are taken in two orders",
    "a handle receives once more what it took from the link",
)
def test_a_fault_in_the_protocol_is_found(fault, monkeypatch):
    scenario, function, right, wrong = FAULTS[fault]
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(right) == 1
    owner = function.__qualname__.split(".")[0]
    source = source.replace(right, wrong).replace("super()", f"super({owner}, self)")
    code = compile(source, function.__code__.co_filename, "exec")
    defined: dict[str, Any] = {}
    exec(code, function.__globals__, defined)  # noqa: S102 (our own code, changed)
    owner_class = getattr(sys.modules[function.__module__], owner)
    monkeypatch.setattr(owner_class, function.__name__, defined[function.__name__])
    with pytest.raises((AssertionError, TypeError)):
        explore(scenario, monkeypatch, 2, share=0.05)
