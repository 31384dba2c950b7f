"""Program that evaluates templates in a separate process, which can open no file.

Started by :mod:`strapdown.webots.file.templates`. It reads a JSON object from each line of the
standard input and answers with one line. It imports nothing of the package, so that it starts
quickly, and loads an interpreter before it gives up the right to open files.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lupa.lua52 import LuaRuntime

MAX_MEMORY: Final = 256 * 2**20
"""Bytes that the program of a template may use; the process may use four times as many."""

MAX_TEXT: Final = 16 * 2**20
"""Characters of a result."""

MAX_ERROR: Final = 500
"""Characters of the error of a program; the rest is cut off."""

_LUA_NAMES: Final = """
assert error getmetatable ipairs next pairs pcall rawequal rawget rawlen rawset select setmetatable
tonumber tostring type unpack xpcall _VERSION bit32 math string table
"""

_LUA_START: Final = """
local names, program, fields, context = ...
local allowed = {}
for name in names:gmatch("%S+") do allowed[name] = _G[name] end
allowed._G = allowed
allowed.string.dump = nil
allowed.print = function() end
allowed.os = {clock = os.clock, time = os.time, date = os.date}
allowed.io = {write = function() end, stderr = {write = function() end}}
allowed.require = function(name)
  local module = ({math = math, string = string, table = table})[name]
  return module or error("module '" .. tostring(name) .. "' is not available")
end
allowed.fields, allowed.context = fields, context
return assert(load(program, "=template", "t", allowed))()
"""


def evaluate_lua(request: dict[str, Any]) -> str:
    """Return the result of a Lua program; its version is that of Webots, 5.2."""
    from lupa.lua52 import LuaRuntime  # noqa: PLC0415

    lua = LuaRuntime(
        max_memory=MAX_MEMORY,
        register_eval=False,
        register_builtins=False,
        attribute_filter=_refuse,
    )
    names = _LUA_NAMES
    fields, context = (_lua_value(lua, request[name]) for name in ("fields", "context"))
    return str(lua.execute(_LUA_START, names, request["program"], fields, context))


def _refuse(_owner: object, name: object, _setting: object) -> object:
    raise AttributeError(name)


def _lua_value(lua: LuaRuntime, value: object) -> object:
    """Return a value as Lua tables, so that a program never has an object of Python."""
    if isinstance(value, dict):
        return lua.table_from({name: _lua_value(lua, item) for name, item in value.items()})
    if isinstance(value, list):
        return lua.table_from([_lua_value(lua, item) for item in value])
    return value


def evaluate_javascript(request: dict[str, Any], modules: str) -> str:
    """Return the result of a JavaScript program."""
    from quickjs import Context  # noqa: PLC0415

    context = Context()
    context.set_memory_limit(MAX_MEMORY)
    context.eval(modules)
    for name in ("fields", "context"):
        context.eval(f"var {name} = {json.dumps(_with_undefined(request[name]))};")
    return str(context.eval(request["program"]))


def _with_undefined(value: object) -> object:
    """Return a value without the items that are None: a NULL node is undefined."""
    if isinstance(value, dict):
        return {name: _with_undefined(item) for name, item in value.items() if item is not None}
    return [_with_undefined(item) for item in value] if isinstance(value, list) else value


def answer(line: str, modules: str) -> dict[str, str]:
    """Return the answer to a request: the text, or the error of the program."""
    request = json.loads(line)
    try:
        if request["language"] == "lua":
            text = evaluate_lua(request)
        else:
            text = evaluate_javascript(request, modules)
    except MemoryError:
        return {"error": f"it needs more than {MAX_MEMORY >> 20} MiB of memory"}
    except Exception as error:  # noqa: BLE001 -- any error of a foreign program is the answer
        line = str(error).strip().partition("\n")[0][:MAX_ERROR]
        return {"error": line or type(error).__name__}
    if len(text) > MAX_TEXT:
        return {"error": f"its result has more than {MAX_TEXT} characters"}
    return {"text": text}


def main() -> None:
    """Answer every line of the standard input.

    Arguments: the processor time that a program may take [s], and the languages. SIGPROF ends the
    process after that time: no program can catch it.
    """
    deadline_s = float(sys.argv[1])
    modules = Path(__file__).with_name("template_modules.js").read_text("utf-8")
    for language in sys.argv[2:]:
        empty = {"language": language, "program": "", "fields": {}, "context": {}}
        answer(json.dumps(empty), modules)  # loads the interpreter
    resource.setrlimit(resource.RLIMIT_AS, (4 * MAX_MEMORY, 4 * MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, deadline_s)
        result = json.dumps(answer(line, modules))
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        print(result, flush=True)  # noqa: T201 -- the pipe


if __name__ == "__main__":
    main()
