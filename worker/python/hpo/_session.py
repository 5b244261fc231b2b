"""The process `hpo ask-tell` beside a program that searches: requests and answers, one after the other
(docs/ask_tell.md). It is free of signal handlers and prints nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, TypeVar

__all__ = ["Session", "StudyError", "checked", "waited"]

_MOST_BYTES = 1 << 20  # of a request
_MOST_WARNINGS = 1 << 20  # bytes that are shown at once

T = TypeVar("T")


class StudyError(RuntimeError):
    """The error message of hpo, or the reason why it has ended or cannot start."""

    __module__ = "hpo"  # the module from which users import it, for tracebacks


class Session:
    """One session of a study. Safe for threads: each waits for its own answer. In a process that was forked from the one
    that began it, nothing but close() works."""

    def __init__(self, program: str, file: str, options: Sequence[str]) -> None:
        """Starts hpo for a study file, a study's name or folder. `about` is its description of the study. Raises
        StudyError with its message."""
        self.program = program
        self._lock = threading.Lock()
        # Ctrl-C raises in the main thread. It may end the wait for an answer, but no exchange half-way: the answer
        # would be taken for that of the next request.
        self._exchanges = ThreadPoolExecutor(1, "hpo-study")
        self._closed_by = "the study is closed"
        self._owner = os.getpid()
        self._errors = tempfile.TemporaryFile()  # its standard error, whose place in the file is that of the child, too
        self._shown = 0  # bytes of the errors that were shown
        self._begun = False  # hpo has answered: what it said while it started is no reason for its end
        try:
            # A session of its own: Ctrl-C is for this program to understand.
            self.child = subprocess.Popen([program, "ask-tell", file, *options], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
        except OSError as error:
            self._errors.close()
            raise StudyError(f"{program} cannot be started: {error}; name another program by HPO_PROGRAM or "
                             "program=") from error
        _sessions.add(self)
        try:
            # Meanwhile the hpo of a checkout says that it is being built, which takes minutes.
            about = waited(self.submit(self.exchange, {"study": 1}), self._show_warnings)
            self.about: Dict[str, Any] = checked("study", about)
            self._begun = True
        except BaseException:
            self.close()
            raise
        self._show_warnings()

    def is_closed(self) -> bool:
        return os.getpid() != self._owner or self.child.stdin is None or self.child.stdin.closed

    def say(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Returns the answer. Raises StudyError with hpo's message."""
        return checked(next(iter(request)), waited(self.submit(self.exchange, request)))

    def submit(self, work: Callable[[Any], T], argument: Any) -> "Future[T]":
        """Runs `work`, which may exchange messages, after all work that was submitted before."""
        if os.getpid() != self._owner:
            raise StudyError("this process was forked from the one that opened the study, which alone can use it")
        try:
            return self._exchanges.submit(work, argument)
        except RuntimeError as error:
            raise StudyError(self._closed_by) from error

    def exchange(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        """Sends a request and returns the answer, which may be an error. For work that was submitted."""
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        if len(line) > _MOST_BYTES:
            raise StudyError(f"{len(line)} bytes are too many for hpo, which takes {_MOST_BYTES} at once: report fewer "
                             "metrics, or such with shorter names")
        with self._lock:
            if self.child.stdin is None or self.child.stdin.closed or self.child.stdout is None:
                raise StudyError(self._closed_by)
            try:
                self.child.stdin.write(line)
                self.child.stdin.flush()
                answer = self.child.stdout.readline()
            except OSError:
                answer = b""
            if not answer.endswith(b"\n"):
                raise StudyError(self._last_message())
        received: Dict[str, Any] = json.loads(answer)
        return received

    def close(self, why: Optional[str] = None) -> None:
        """Ends hpo. `why`: what later requests are told. In a forked process it does nothing."""
        if os.getpid() != self._owner:
            return
        if why and not self.is_closed():
            self._closed_by = why
        self._exchanges.shutdown(wait=False)
        with self._lock:
            if self.child.stdin and not self.child.stdin.closed:
                try:
                    self.child.stdin.close()
                except OSError:
                    pass  # it has ended
            if self.child.stdout and not self.child.stdout.closed:
                self.child.stdout.read()
                self.child.stdout.close()
            self.child.wait()
            if not self._errors.closed:
                self._show_warnings()
                self._errors.close()

    def leave_to_the_parent(self) -> None:
        """In a forked process. As long as it held the pipes open, hpo would not notice that they were closed."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None and not pipe.closed:
                os.dup2(nothing, pipe.fileno(), inheritable=False)
        os.close(nothing)

    def _warnings(self) -> str:
        """The text that hpo has written to its standard error since the last call."""
        written = os.pread(self._errors.fileno(), _MOST_WARNINGS, self._shown)
        self._shown += len(written)
        return written.decode(errors="replace").strip()

    def _show_warnings(self) -> None:
        warnings = self._warnings()
        if warnings and sys.stderr is not None:
            print(warnings, file=sys.stderr, flush=True)

    def _last_message(self) -> str:
        status = self.child.wait()
        if not (message := self._warnings()) and not self._begun:
            self._shown = 0  # it was shown while hpo started
            message = self._warnings()
        message = message.removeprefix("hpo: ")
        if status >= 0:
            return message or f"hpo ask-tell has ended with status {status}"
        return f"hpo ask-tell was killed by signal {-status}" + (f"; its last message: {message}" if message else "")


_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


def _leave_sessions_to_the_parent() -> None:
    for session in _sessions:
        session.leave_to_the_parent()


os.register_at_fork(after_in_child=_leave_sessions_to_the_parent)


def session_named_in(refusal: str) -> Optional[Session]:
    """The session of this process that holds the study, if the message of a refusal names its hpo."""
    holder = re.search(r"\bprocess (\d+)\b", refusal)
    for session in list(_sessions) if holder else []:
        if holder and session.child.pid == int(holder[1]) and not session.is_closed():
            return session
    return None


def waited(answer: "Future[T]", meanwhile: Callable[[], None] = lambda: None) -> T:
    """The result, once it is there. Ctrl-C ends the wait. Calls `meanwhile` once a second."""
    # A signal that comes just before the thread sleeps does not wake it, and Python then sees it only afterwards.
    while not answer.done():
        if not wait([answer], timeout=1).done:
            meanwhile()
    return answer.result()


def checked(request: str, answer: Dict[str, Any]) -> Dict[str, Any]:
    if "error" in answer:
        raise StudyError(answer["error"].removeprefix(f"{request}: "))
    return answer
