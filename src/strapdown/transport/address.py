"""Addresses of live topics, as the command line takes them: ``BACKEND:NAME[?key=value&...]``.

``ipc:imu``, ``ros1:/imu/data``, ``ros2:/imu/data?rmw=zenoh&domain=3``, ``horus:imu``,
``zenoh:imu?listen=tcp/127.0.0.1:7447``, and for short ``zenoh:tcp/10.0.0.2:7447/imu/data``,
where the endpoint to connect to precedes the name. The keys are the options of the
backend, and ``type``, which names the type of the messages; lists are separated by commas.
"""

from __future__ import annotations

import dataclasses
import math
import re
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import unquote

from strapdown.errors import TransportError, UnknownNameError, ValueRangeError
from strapdown.messages import Imu
from strapdown.transport.backends import Backend, Zenoh, find_backend
from strapdown.transport.names import checked_name
from strapdown.transport.topic import Topic
from strapdown.transport.wire import MESSAGE_TYPES, message_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from threading import Event

__all__ = [
    "Address",
    "await_type",
    "can_find_type",
    "find_type",
    "is_address",
    "open_topic",
    "parse_address",
]

DISCOVERY_S = 1.0
"""Longest search for the type that a topic carries [s]."""
LOOK_S = 0.2
"""Interval between questions [s]."""
ANSWER_S = 0.5
"""Longest wait for one answer [s]; on a network it takes more than a moment."""

_BACKEND = re.compile(r"\w{2,}")  # one letter is a drive
_ENDPOINT = re.compile(r"(?P<endpoint>(?:tcp|udp|tls|quic|ws)/[^/]+:\d+)/(?P<name>.*)")


@dataclass(frozen=True)
class Address:
    """Address of a live topic.

    Parameters
    ----------
    backend : Backend
        Backend that carries its messages, with options.
    name : str
        Name of the topic.
    msg_type : type, optional
        Type of its messages, if the address contains it.

    Raises
    ------
    ValueRangeError
        No topic has such a name.
    """

    backend: Backend
    name: str
    msg_type: type[Any] | None = None

    def __post_init__(self) -> None:
        checked_name(self.name)

    def __str__(self) -> str:
        return f"{self.backend.name}:{self.name}"


def is_address(text: str) -> bool:
    """Whether this can only be the address of a live topic: a word, a colon, and no such file."""
    prefix, colon, _ = text.partition(":")
    if not colon or not _BACKEND.fullmatch(prefix):
        return False
    try:
        return not Path(text).exists()
    except OSError:  # no file can have so long a name
        return True


def parse_address(text: str, *, folder: Path | None = None) -> Address:
    """Read an address.

    Parameters
    ----------
    text : str
    folder : Path, optional
        Folder in which relative paths of files begin, by default the working directory.

    Raises
    ------
    UnknownNameError
        There is no such backend, option or type of messages; the message gives the nearest.
    ValueRangeError
        The form is not ``BACKEND:NAME[?key=value&...]``, no topic has such a name, or a value is
        invalid for its key.
    TransportError
        Neither the address nor the environment gives zenoh an endpoint, so that it would reach
        nobody; or a sensor has no such option.
    FormatError, OSError
        The file of a protocol declares none, or cannot be read.

    Examples
    --------
    >>> parse_address("ros2:/imu/data?domain=3&type=Imu")
    Address(backend=Ros2(rmw='dds', domain=3, frame_id='', qos='default', connect=''), \
name='/imu/data', msg_type=<class 'strapdown.messages.imu.Imu'>)
    """
    prefix, colon, rest = text.partition(":")
    name, mark, query = rest.partition("?")
    wrong_form = ValueRangeError(f"expected BACKEND:NAME, such as ipc:imu, got {text!r}")
    if not colon:
        raise wrong_form
    backend = find_backend(prefix)
    options = _options(text, query) if mark else {}
    kind = options.pop("type", None)
    if isinstance(backend, Zenoh) and (match := _ENDPOINT.fullmatch(name)):
        name = match["name"]
        options["connect"] = ",".join(filter(None, (match["endpoint"], options.get("connect"))))
    if not name:
        raise wrong_form
    hints = get_type_hints(type(backend))
    known = [field.name for field in dataclasses.fields(backend)]
    for key in options:
        if key not in known:
            raise UnknownNameError(f"option of {backend.name}", key, [*known, "type"])
    for key in backend.files & options.keys():
        if folder is not None and Path(options[key]).suffix:  # a name has no ending
            options[key] = str(folder / options[key])
    values = {key: _value(text, key, hints[key], value) for key, value in options.items()}
    msg_type = None if kind is None else message_type(kind)
    backend = dataclasses.replace(backend, **values)
    address = Address(backend, name, msg_type)
    backend.check(name)
    if isinstance(backend, Zenoh) and not backend.resolved().reaches_others:
        raise TransportError(
            f"{text}: expected an endpoint, nobody else hears it without; connect by "
            f"zenoh:tcp/HOST:PORT/{name}, listen by zenoh:{name}?listen=tcp/HOST:PORT, or set "
            f"{Zenoh.CONNECT} or {Zenoh.LISTEN}"
        )
    return address


def can_find_type(address: Address) -> bool:
    """Whether :func:`find_type` can ask: participants announce the type on this backend."""
    return _finder(address) is not None


def find_type(address: Address, timeout_s: float = DISCOVERY_S) -> type[Any] | None:
    """Return the type that a topic carries, if a participant answers within ``timeout_s``.

    Raises
    ------
    BackendMissingError
        A package is not installed.
    TransportError
        A service that the backend needs does not answer, or no type here fits the topic.
    """
    find = _finder(address)
    return None if find is None else find(address.backend, address.name, timeout_s)


def await_type(
    address: Address, *, stop: Event, waiting: Callable[[], object], until_s: float = math.inf
) -> tuple[type[Any] | None, bool]:
    """Wait for a participant that announces the type of a topic, unless the address has it.

    Parameters
    ----------
    address : Address
    stop : Event
        Ends the wait, within a second.
    waiting : callable
        Called once if there is no participant yet.
    until_s : float
        End of the wait, by ``time.monotonic`` [s].

    Returns
    -------
    kind : type or None
        Type to open it with; None if stopped, or if no participant came.
    waited : bool
        Whether there was no participant at first, so that all retained messages are new.

    Raises
    ------
    BackendMissingError, TransportError
        As :func:`find_type`.
    """
    if address.msg_type is not None or not can_find_type(address):
        return address.msg_type or _by_name(address.name), False

    def left_s() -> float:
        return max(until_s - time.monotonic(), 0.0)

    kind = find_type(address, min(DISCOVERY_S, left_s()))
    if kind is not None:
        return kind, False
    waiting()
    while kind is None and left_s() and not stop.wait(min(LOOK_S, left_s())):
        kind = find_type(address, min(ANSWER_S, left_s()))
    return kind, True


def open_topic(
    address: str | Address,
    msg_type: type[Any] | None = None,
    *,
    timeout_s: float = DISCOVERY_S,
    **options: Any,  # noqa: ANN401 (those of Topic)
) -> Topic[Any]:
    """Open a handle on a live topic.

    Parameters
    ----------
    address : str or Address
    msg_type : type, optional
        Type of the messages; by default that in the address, else the one that the topic
        carries, else the type whose default topic has this name, else ``Imu``.
    timeout_s : float
        Longest search for the type that the topic carries [s].
    **options
        Those of :class:`~strapdown.transport.topic.Topic`.

    Raises
    ------
    UnknownNameError, ValueRangeError
        As :func:`parse_address`.
    BackendMissingError, TransportError
        As :class:`~strapdown.transport.topic.Topic`.
    """
    if isinstance(address, str):
        address = parse_address(address)
    kind = msg_type or address.msg_type or find_type(address, timeout_s) or _by_name(address.name)
    return Topic(kind, name=address.name, backend=address.backend, **options)


def _finder(address: Address) -> Callable[[Backend, str, float], type[Any] | None] | None:
    module = address.backend.module
    return None if module is None else getattr(import_module(module), "find_type", None)


def _by_name(name: str) -> type[Any]:
    """Return the type whose default topic has this name, or Imu."""
    bare = name.removeprefix("/")
    kinds = MESSAGE_TYPES.values()
    return next((kind for kind in kinds if getattr(kind, "__topic_name__", None) == bare), Imu)


def _options(text: str, query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in query.split("&"):
        key, equals, value = part.partition("=")
        if not (key and equals):
            raise ValueRangeError(f"{text}: expected key=value after '?', got {part!r}")
        if key in options:
            raise ValueRangeError(f"{text}: expected {key} once")
        options[key] = unquote(value)
    return options


def _value(text: str, key: str, hint: object, value: str) -> str | int | tuple[str, ...]:
    """Return an option as the type that its backend declares."""
    if hint == tuple[str, ...]:
        parts = tuple(value.split(","))
        if not all(parts):
            raise ValueRangeError(f"{text}: expected {key} separated by commas, got {value!r}")
        return parts
    if hint == int | None:
        if not value.isdecimal():
            raise ValueRangeError(
                f"{text}: expected 0 or a positive whole number for {key}, got {value!r}"
            )
        return int(value)
    return value
