"""Colours for the console: ECMA-48 control sequences."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["AnsiCodes"]


class AnsiCodes:
    """Control sequences for the colour and style of printed text."""

    RESET: ClassVar[str] = "\x1b[0m"
    BOLD: ClassVar[str] = "\x1b[1m"
    UNDERLINE: ClassVar[str] = "\x1b[4m"
    BLACK_FOREGROUND: ClassVar[str] = "\x1b[30m"
    RED_FOREGROUND: ClassVar[str] = "\x1b[31m"
    GREEN_FOREGROUND: ClassVar[str] = "\x1b[32m"
    YELLOW_FOREGROUND: ClassVar[str] = "\x1b[33m"
    BLUE_FOREGROUND: ClassVar[str] = "\x1b[34m"
    MAGENTA_FOREGROUND: ClassVar[str] = "\x1b[35m"
    CYAN_FOREGROUND: ClassVar[str] = "\x1b[36m"
    WHITE_FOREGROUND: ClassVar[str] = "\x1b[37m"
    BLACK_BACKGROUND: ClassVar[str] = "\x1b[40m"
    RED_BACKGROUND: ClassVar[str] = "\x1b[41m"
    GREEN_BACKGROUND: ClassVar[str] = "\x1b[42m"
    YELLOW_BACKGROUND: ClassVar[str] = "\x1b[43m"
    BLUE_BACKGROUND: ClassVar[str] = "\x1b[44m"
    MAGENTA_BACKGROUND: ClassVar[str] = "\x1b[45m"
    CYAN_BACKGROUND: ClassVar[str] = "\x1b[46m"
    WHITE_BACKGROUND: ClassVar[str] = "\x1b[47m"
    CLEAR_SCREEN: ClassVar[str] = "\x1b[2J"
