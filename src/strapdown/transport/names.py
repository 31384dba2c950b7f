"""Names of topics: rules, and choice of the one that is given."""

from __future__ import annotations

import re

from strapdown.errors import ValueRangeError

__all__ = ["checked_name", "topic_name"]


def topic_name(msg_type: type, candidates: list[str | None]) -> str:
    """Return the one name that is given, or the default of the type.

    Parameters
    ----------
    msg_type : type
    candidates : list of (str or None)
        The names that are given; None is no name.

    Raises
    ------
    ValueRangeError
        A name is not allowed, or they differ.
    TypeError
        None is given, and the type has no default.
    """
    names = {checked_name(candidate) for candidate in candidates if candidate is not None}
    if len(names) > 1:
        raise ValueRangeError(f"expected one topic name, got {' and '.join(sorted(names))}")
    if names:
        return names.pop()
    default: str | None = getattr(msg_type, "__topic_name__", None)
    if default is None:
        raise TypeError(f"{msg_type.__qualname__} has no default topic name: pass name=")
    return default


def checked_name(name: str) -> str:
    """Return a name without its leading slash.

    Raises
    ------
    ValueRangeError
        The name is not allowed.
    """
    where = f"topic name {name!r}"
    if "@" in name:
        raise ValueRangeError(
            f"{where}: unexpected '@'; a topic on another host needs backend=\"zenoh\", not a name"
        )
    bad = re.search(r"[^A-Za-z0-9_./-]|//|(?<=.)/\Z", name)
    if bad:
        raise ValueRangeError(
            f"{where}: unexpected {bad.group()!r} at character {bad.start()}; use letters, digits "
            "and _ . - with single slashes between"
        )
    bare = name.removeprefix("/")
    if not 1 <= len(bare) <= 255:
        raise ValueRangeError(f"{where}: expected 1 to 255 characters, got {len(bare)}")
    return bare
