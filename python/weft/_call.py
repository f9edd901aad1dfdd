# SPDX-License-Identifier: MIT
"""The library, and one call into it: a request and a reply, both JSON (weft/call.h)."""

import ctypes
import json
import math
import os
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional

Progress = Callable[[Optional[float], Optional[float]], object]

_LIBRARY = "libweft.so.0"
_PROGRESS = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_double)
_WRONG_INPUT = 2


class Error(Exception):
    """What went wrong, in one line. code: 2 wrong input, 3 internal error, as the program exits."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class InputError(Error, ValueError):
    """The input is wrong: the message names file, element, value and what was expected."""


class InternalError(Error):
    """weft itself is wrong, or the memory is full."""


class Stop:
    """Ends a search of another thread with what it has: weft.place(..., stop=s), then s.set()."""

    def __init__(self) -> None:
        self._flag = ctypes.c_int(0)  # sig_atomic_t

    def set(self) -> None:
        self._flag.value = 1

    def is_set(self) -> bool:
        return self._flag.value != 0


class Reply(NamedTuple):
    status: int  # 0 done, 1 no plan exists or a check failed
    result: Any
    notes: List[str]
    interrupted: bool  # by Ctrl-C


def _load() -> ctypes.CDLL:
    """The library of $WEFT_LIBRARY, else the one beside this file, else that of the system."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), _LIBRARY)
    path = os.environ.get("WEFT_LIBRARY") or (beside if os.path.exists(beside) else _LIBRARY)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"the library of weft cannot be loaded: {error}; "
            "install libweft0, or set WEFT_LIBRARY to the path of libweft.so.0"
        ) from None
    library.weft_version.restype = ctypes.c_char_p
    library.weft_call_watched.restype = ctypes.c_int
    library.weft_call_watched.argtypes = [
        ctypes.c_char_p,
        _PROGRESS,
        ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_int),
        ctypes.POINTER(ctypes.c_void_p),
    ]
    library.weft_call_free.restype = None
    library.weft_call_free.argtypes = [ctypes.c_void_p]
    return library


_library = _load()


def version() -> str:
    """The version of the library."""
    return _library.weft_version().decode()


class _Watch:
    """Passes progress on; an exception of the listener stops the search and is raised afterwards."""

    def __init__(self, progress: Optional[Progress], stop: Stop) -> None:
        self.progress = progress
        self.stop = stop
        self.error: Optional[BaseException] = None
        self.callback = _PROGRESS(self._tell) if progress else _PROGRESS()

    def _tell(self, _context: Any, value: float, bound: float) -> None:
        try:
            if self.error is None and self.progress:
                self.progress(
                    value if math.isfinite(value) else None,
                    bound if math.isfinite(bound) and bound > 0 else None,
                )
        except BaseException as error:  # nothing may pass through C
            self.error = error
            self.stop.set()


def _ask(request: bytes, watch: _Watch) -> bytes:
    reply = ctypes.c_void_p()
    flag = ctypes.byref(watch.stop._flag)
    _library.weft_call_watched(request, watch.callback, None, flag, ctypes.byref(reply))
    try:
        return ctypes.string_at(reply.value or 0)
    finally:
        _library.weft_call_free(reply)


class _Caller(threading.Thread):
    """Asks in a thread of its own, so that the main one stays free for Ctrl-C."""

    def __init__(self, request: bytes, watch: _Watch) -> None:
        super().__init__(name="weft", daemon=True)
        self.request = request
        self.watch = watch
        self.reply = b""
        self.is_done = threading.Event()

    def run(self) -> None:
        try:
            self.reply = _ask(self.request, self.watch)
        finally:
            self.is_done.set()

    def wait(self) -> None:
        while not self.is_done.wait(0.5):
            pass


def _ask_interruptibly(request: bytes, watch: _Watch) -> "tuple[bytes, bool]":
    """The first Ctrl-C ends the search, the second one leaves it behind."""
    caller = _Caller(request, watch)
    caller.start()
    try:
        caller.wait()
        return caller.reply, False
    except KeyboardInterrupt:
        watch.stop.set()
        caller.wait()
        return caller.reply, True


def _has_no_plan(result: Any) -> bool:
    if not isinstance(result, dict):
        return result is None
    return "status" in result and result["status"] not in ("optimal", "bounded")


def call(
    command: str,
    arguments: Dict[str, Any],
    progress: Optional[Progress] = None,
    stop: Optional[Stop] = None,
) -> Reply:
    """Runs a command. Arguments have the names of its flags and operands; Error if it fails.

    progress(value, bound) is called when one of them changes, None for what is not known yet; it is
    called by other threads, never by two at once. Ctrl-C ends the search: the best plan is returned,
    or KeyboardInterrupt raised if there is none."""
    watch = _Watch(progress, stop or Stop())
    request = json.dumps(
        {"schema": "weft.request/1", "command": command, "arguments": arguments}, allow_nan=False
    ).encode()
    is_main = threading.current_thread() is threading.main_thread()
    text, interrupted = _ask_interruptibly(request, watch) if is_main else (_ask(request, watch), False)
    reply = json.loads(text)
    if watch.error is not None:
        raise watch.error
    if reply["error"] is not None:
        message, code = reply["error"]["message"], reply["error"]["code"]
        raise (InputError if code == _WRONG_INPUT else InternalError)(message, code)
    if interrupted and _has_no_plan(reply["result"]):
        raise KeyboardInterrupt
    return Reply(reply["status"], reply["result"], reply["notes"], interrupted)
