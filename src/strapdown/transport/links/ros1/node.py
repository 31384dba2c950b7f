"""The node of this process on a ROS 1 graph, by rospy.

rospy comes with the distribution (Debian's ``python3-rospy``), not from PyPI. It is pure Python,
so its folder is put at the end of ``sys.path`` when it is first needed. It allows one node in a
process, once; every ROS 1 topic and device of the process shares it.

This module adds what rospy lacks. All topics and services are registered again with a master that
was restarted, and nothing waits for one that does not answer: topics closed meanwhile are not
unregistered. Topics are closed before the node leaves. Logging of the process is not changed.
A node whose master is on this host listens on this host only, unless ``ROS_IP`` or
``ROS_HOSTNAME`` say otherwise.
"""

from __future__ import annotations

import atexit
import http.client
import logging
import os
import re
import sys
import threading
import time
import xmlrpc.client
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from xml.parsers.expat import ExpatError

from strapdown.errors import TransportError, ValueRangeError
from strapdown.transport import registry

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from strapdown.messages.ros_types import RosType

__all__ = [
    "INSTALL",
    "Master",
    "Node",
    "RawPublisher",
    "graph_name",
    "load",
    "ros1_name",
    "ros1_node",
]

_log = logging.getLogger(__name__)

INSTALL: Final = (
    "apt install --no-install-recommends python3-rospy python3-sensor-msgs python3-rosmaster"
)
"""Command that installs rospy, the messages and a master."""
FOLDER: Final = "/usr/lib/python3/dist-packages"
"""Folder of Debian's Python packages."""
QUEUE: Final = 1000
"""Messages queued for one slow subscriber; beyond that the oldest are dropped."""

_MASTER_S: Final = 2.0
"""Longest wait for an answer of the master [s]."""
_WATCH_S: Final = 1.0
"""Interval at which the master is asked whether it still knows the node [s]."""
_FLUSH_S: Final = 1.0
"""Longest wait for subscribers to fetch queued messages when the publisher closes [s]."""
_NAP_S: Final = 0.002
_NO_ANSWER: Final = (
    *(OSError, xmlrpc.client.Error, http.client.HTTPException),
    *(ExpatError, TypeError, ValueError),  # something else answers
)

_lock = threading.Lock()
_node: Node | None = None


def load(name: str = "rospy") -> ModuleType:
    """Return a module of the ROS 1 installation.

    Raises
    ------
    TransportError
        It is not installed; the message contains the command that installs it.
    """
    if find_spec("rospy") is None:
        folders = os.environ.get("STRAPDOWN_ROS1_PATH", FOLDER).split(os.pathsep)
        sys.path.extend(folder for folder in folders if folder not in sys.path)
    loggers = logging.getLoggerClass()
    try:
        return import_module(name)
    except ImportError as error:
        raise TransportError(
            f"ROS 1 needs the package {error.name or name} of the system: {INSTALL} "
            "(STRAPDOWN_ROS1_PATH names another folder than Debian's)"
        ) from error
    finally:
        logging.setLoggerClass(loggers)


def graph_name(name: str) -> str:
    """Return the name of a topic from the root of the graph, regardless of the namespace.

    Raises
    ------
    ValueRangeError
        ROS does not allow such a name.
    """
    if bad := re.search(r"[^A-Za-z0-9_/]|^[^A-Za-z]", name):
        raise ValueRangeError(
            f"expected a ROS 1 name of letters, digits, _ and / that begins with a letter, got "
            f"{bad[0]!r} in {name!r}"
        )
    return f"/{name}"


def ros1_name(ros: RosType) -> str:
    """Return the name of a type in ROS 1, such as ``"sensor_msgs/Imu"``."""
    return ros.name.replace("/msg/", "/")


class _Transport(xmlrpc.client.Transport):
    """XML-RPC that does not wait for ever."""

    def make_connection(self, host: Any) -> http.client.HTTPConnection:  # noqa: ANN401 (the library's type is private)
        connection = super().make_connection(host)
        connection.timeout = _MASTER_S
        return connection


class Master:
    """Client of a ROS master; it needs no node.

    Attributes
    ----------
    uri : str
        Where it is: ``ROS_MASTER_URI``, or port 11311 on this host.

    Raises
    ------
    TransportError
        Of every method: it does not answer.
    """

    def __init__(self) -> None:
        self.uri: str = load("rosgraph").get_master_uri()

    def ask(self, method: str, *arguments: Any, caller: str = "/strapdown") -> Any:  # noqa: ANN401 (by the method)
        """Call a method of the master API; None where the master refuses."""
        try:
            with xmlrpc.client.ServerProxy(self.uri, transport=_Transport()) as proxy:
                code, _, value = getattr(proxy, method)(caller, *arguments)
        except _NO_ANSWER as error:
            raise TransportError(
                f"no ROS master answers at {self.uri} ({error}): start one with roscore, or name "
                "another by ROS_MASTER_URI"
            ) from error
        return value if code == 1 else None

    def topic_type(self, topic: str) -> str | None:
        """Return the type of a topic that somebody uses."""
        publishers, subscribers, _ = self.ask("getSystemState")
        if not any(name == topic for name, _ in [*publishers, *subscribers]):
            return None
        kinds = dict(self.ask("getTopicTypes"))
        kind: str = kinds.get(topic, "*")
        return None if kind == "*" else kind


class RawPublisher:
    """A topic that takes messages in their serialised form.

    Parameters
    ----------
    node : Node
    topic : str
        Name in the graph.
    ros : RosType
    waits : bool
        Whether sending waits for slow subscribers instead of dropping their oldest messages.

    Raises
    ------
    TransportError
        The master does not answer, or ROS 1 has no such message.
    """

    def __init__(self, node: Node, topic: str, ros: RosType, *, waits: bool = False) -> None:
        self._node = node
        node.master.ask("getPid")  # rospy would wait for it without end
        self._publisher = node.rospy.Publisher(
            topic, node.raw(ros), tcp_nodelay=True, queue_size=QUEUE, headers={node.MARK: node.name}
        )
        self._impl = self._publisher.impl
        self._known: list[Any] = []
        self._others: list[Any] = []
        if waits:
            self._impl.set_queue_size(None)

    def subscribers(self) -> list[Any]:
        """Return the connections to other nodes."""
        connections = self._impl.connections
        if connections is not self._known:  # rospy makes a new list on each change
            mine = self._node.name
            self._others = [each for each in connections if each.endpoint_id != mine]
            self._known = connections
        return self._others

    def send(self, data: bytes) -> None:
        """Send a message to all other nodes that listen; one thread at a time."""
        packet = len(data).to_bytes(4, "little") + data
        for connection in self.subscribers():
            try:
                connection.write_data(packet)
            except Exception as error:  # noqa: BLE001 (what rospy itself does, see its publish)
                _log.debug("connection to %s ended: %s", connection.endpoint_id, error)
                connection.close()

    def flush(self) -> None:
        """Wait until subscribers have what was sent, but not for ever."""
        end = time.monotonic() + _FLUSH_S
        written = None
        while time.monotonic() < end:
            before, others = written, self.subscribers()
            written = [each.stat_num_msg for each in others]
            if written == before and not any(getattr(each, "_queue", ()) for each in others):
                return
            time.sleep(_NAP_S)

    def close(self) -> None:
        """Leave the topic."""
        if self._node.is_alive:
            self.flush()
            self._node.look()
            self._publisher.unregister()


class Node:
    """A process on the graph; made by :func:`ros1_node`.

    Attributes
    ----------
    rospy : module
    name : str
        Of the node in the graph.
    uri : str
        Where other nodes find it.
    master : Master
    is_lost : bool
        Whether the master does not answer at present. Connected topics continue.
    """

    MARK: Final = "strapdown_node"
    """Field in the headers of connections to nodes of this package, and of no others."""

    def __init__(self) -> None:
        self.master = Master()
        self.rospy = rospy = load()
        self._registration = load("rospy.impl.registration")
        self._looking = threading.Lock()
        self._registrars: list[Any] = []
        self._pid = os.getpid()
        self.is_lost = False
        self._raw: dict[str, type[Any]] = {}
        self.master.ask("getPid")
        if not rospy.core.is_initialized():
            _stay_on_this_host(self.master.uri)
            configure, rospy.core.configure_logging = rospy.core.configure_logging, _leave_logging
            try:
                rospy.init_node(
                    "strapdown", argv=[], anonymous=True, disable_signals=True, disable_rosout=True
                )
            finally:
                rospy.core.configure_logging = configure
        self.name: str = rospy.get_name()
        self.uri: str = rospy.get_node_uri()
        atexit.unregister(rospy.core._ros_atexit)  # noqa: SLF001 (it would go before our topics)
        atexit.register(self._leave)
        threading.Thread(target=self._watch, name="strapdown-ros1", daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """Whether the node is on the graph, in this process."""
        return os.getpid() == self._pid and not self.rospy.is_shutdown()

    def raw(self, ros: RosType) -> type[Any]:
        """Return a class of messages that holds the serialised form of a type.

        Raises
        ------
        TransportError
            The package of the message is not installed, or has another version of it.
        """
        if ros.name not in self._raw:
            name = ros1_name(ros)
            kind = load("roslib.message").get_message_class(name)
            md5 = getattr(kind, "_md5sum", "none")
            if md5 != ros.md5:
                raise TransportError(
                    f"expected {name} with md5 {ros.md5} in the ROS 1 installation, got {md5}: "
                    f"{INSTALL}"
                )
            self._raw[ros.name] = _raw_class(load("genpy").Message, kind)
        return self._raw[ros.name]

    def look(self) -> None:
        """Notice whether the master is lost; to be called before something is closed."""
        if not self.is_lost:
            self._look()

    def _look(self) -> None:
        """Notice whether the master is lost or back."""
        with self._looking:
            try:
                known = self.master.ask("lookupNode", self.name, caller=self.name)
            except TransportError:
                if not self.is_lost:
                    self._lose()
                return
            if self.is_lost:
                for registrar in self._registrars:
                    self._registration.get_registration_listeners().add_listener(registrar)
            if self.is_lost or known is None:
                self._register_again()
            if self.is_lost:
                _log.warning("the ROS master at %s is back", self.master.uri)
            self.is_lost = False

    def _lose(self) -> None:
        """Stop all calls to the master: rospy might wait for it without end."""
        _log.warning(
            "the ROS master at %s does not answer: connected topics go on, new ones have to wait "
            "for it",
            self.master.uri,
        )
        listeners = self._registration.get_registration_listeners()
        self._registrars = list(listeners.listeners)
        listeners.clear()
        self.is_lost = True

    def _register_again(self) -> None:
        """Register every topic and service with the master again."""
        registration = self._registration
        topics, services = registration.get_topic_manager(), registration.get_service_manager()
        kinds = registration.Registration
        told = registration.get_registration_listeners().notify_added
        for kind, all_of in (
            (kinds.PUB, topics.get_publications()),
            (kinds.SUB, topics.get_subscriptions()),
            (kinds.SRV, services.get_services()),
        ):
            for name, what in all_of:
                told(name, what, kind)

    def _watch(self) -> None:
        """Notice when the master is lost and when it is back."""
        while self.is_alive:
            time.sleep(_WATCH_S)
            if self.is_alive:
                self._look()

    def _leave(self) -> None:
        """Close all topics and leave the graph, at the end of the process."""
        if self.is_alive:
            registry._shut_all()  # noqa: SLF001 (it is about to happen anyway, but too late)
            self.look()
            if not self.is_lost:
                self.rospy.signal_shutdown("the process ends")


def ros1_node() -> Node:
    """Return the node of this process.

    Raises
    ------
    TransportError
        ROS 1 is not installed, no master answers, or the node is gone: after a fork, or after it
        was shut down.
    """
    global _node  # noqa: PLW0603 (rospy allows one node in a process)
    with _lock:
        if _node is None:
            _node = Node()
        if not _node.is_alive:
            raise TransportError(
                f"the ROS 1 node {_node.name} is gone, and rospy starts no second one in a process "
                "or its forks; start a process of its own"
            )
        return _node


def _stay_on_this_host(master_uri: str) -> None:
    """Bind the node to loopback if its master is local and the environment sets no address."""
    is_here = (urlsplit(master_uri).hostname or "") in {"localhost", "127.0.0.1", "::1"}
    if is_here and not os.environ.keys() & {"ROS_IP", "ROS_HOSTNAME"}:
        os.environ["ROS_IP"] = "127.0.0.1"


def _leave_logging(*_arguments: object) -> None:
    """Do nothing, in place of the function that replaces the root logger's handlers."""


def _raw_class(base: type[Any], kind: type[Any]) -> type[Any]:
    """Return a message class that holds bytes, and passes as ``kind`` on a connection."""

    def initialise(self: Any, data: bytes = b"") -> None:  # noqa: ANN401 (made right here)
        self.data = data

    def deserialize(self: Any, data: bytes) -> Any:  # noqa: ANN401 (as above)
        self.data = data
        return self

    methods: dict[str, Callable[..., Any]] = {
        "__init__": initialise,
        "deserialize": deserialize,
    }
    about = {each: getattr(kind, each) for each in ("_type", "_md5sum", "_full_text")}
    slots = {"__slots__": ["data"], "_slot_types": ["uint8[]"], "_has_header": False}
    return type("Raw", (base,), {**slots, **about, **methods})
