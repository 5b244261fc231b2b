"""The connection to hpo, and the thread that shows it that a script makes progress."""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Tuple

from ._ranks import RankServer, address_of

if TYPE_CHECKING:
    from ._trial import Trial

PROTOCOL_VERSION = 2  # docs/protocol.md
_MOST_BYTES = 65536  # of a line
_PASSING = (errno.ENOBUFS, errno.ENOMEM, errno.EAGAIN)  # the kernel is short of memory
_RETRIED_FOR, _PAUSE = 60.0, 0.05  # seconds


class Connection:
    """The connection to hpo, with one JSON object a line. It stays open until the process ends.

    `abilities` are the capabilities of the protocol's `hello`. `listener` is where other processes of the trial connect.
    Raises OSError where hpo cannot be reached."""

    def __init__(self, endpoint: str, token: str, abilities: List[str], listener: socket.socket) -> None:
        self.current: Optional["Trial"] = None
        self.alive_every = 5.0
        self.once = "once" in abilities
        self.resumes = "checkpoint" in abilities
        self.address = address_of(token)
        self.lock = threading.RLock()  # held by a call, so that calls of other processes wait
        # True if a trial may end before the decision on its last step is there. The trial ends with any decision. But a
        # checkpoint must not be ahead of the steps that hpo has stored, and a process that exits must not leave a
        # message unread.
        self.may_run_ahead = not self.once and not self.resumes
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._bytes, self._heard = b"", False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(endpoint)
        except OSError as error:
            raise ConnectionError(f"hpo cannot be reached at {endpoint}: {error.strerror}") from error
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.send({"type": "hello", "version": PROTOCOL_VERSION, "token": token, "pid": _worker(), "slots": 1,
                   "backend": "", "capabilities": abilities})
        self.ranks = RankServer(listener)

    def in_another_process(self) -> bool:
        """True if this process was forked from the trial's process. It must not speak for the trial then."""
        return os.getpid() != self._pid

    def send(self, *messages: Mapping[str, Any]) -> None:
        lines = [json.dumps(message, separators=(",", ":")).encode() + b"\n" for message in messages]
        for message, line in zip(messages, lines):
            if len(line) > _MOST_BYTES:
                raise ValueError(_too_large(message, len(line)))
        with self._lock:
            self._send_all(memoryview(b"".join(lines)))

    def _send_all(self, rest: memoryview) -> None:
        """Sends the bytes, and retries for a while if the kernel refuses them for a moment. No byte is sent twice."""
        deadline = time.monotonic() + _RETRIED_FOR
        while rest:
            try:
                rest = rest[self._socket.send(rest):]
            except OSError as error:
                if error.errno not in _PASSING or time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE)

    def receive(self, wait: bool = True) -> Any:
        """The next message; None if there is none yet and `wait` is false. Raises ConnectionError when hpo has gone."""
        while b"\n" not in self._bytes:
            if not wait and not self._poll.poll(0):
                return None
            more = self._socket.recv(65536)
            if not more:
                raise ConnectionError("hpo has closed the connection" + ("" if self._heard else (
                    ": another process of this trial had it before; call hpo.trial() in one that lasts to its end")))
            self._bytes += more
            self._heard = True
        line, self._bytes = self._bytes.split(b"\n", 1)
        message = json.loads(line)
        if message.get("type") == "welcome":
            self.alive_every = float(message.get("alive_every", 5.0))
        return message


def _worker() -> int:
    """The process that hpo has started, which is this one or an ancestor, such as a launcher: all below it is the trial's
    memory."""
    pid = os.getpid()
    try:
        while pid > 1:
            with open(f"/proc/{pid}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
            with open(f"/proc/{parent}/comm", "rb") as file:
                if file.read() == b"hpo-supervisor\n":
                    return pid
            pid = parent
    except (OSError, ValueError, IndexError):
        pass
    return os.getpid()


def _too_large(message: Mapping[str, Any], size: int) -> str:
    """Why hpo would not read a message of `size` bytes, and the cure."""
    text = f"a message of {size} bytes is too large for hpo, which takes {_MOST_BYTES}"
    metrics = message.get("metrics") or message.get("values")
    if not metrics:
        return text
    longest = max(metrics, key=len)
    if len(longest) > 200:
        return f"{text}: the name of metric '{longest[:40]}...' has {len(longest)} characters; shorten it"
    return f"{text}: it has {len(metrics)} metrics, from '{min(metrics)}' to '{max(metrics)}'; report fewer at a step"


class Heartbeat(threading.Thread):
    """Sends `alive` while a script makes progress between its reports: its processor time grows, or its main thread has
    moved on. A script that hangs falls silent, and hpo ends it after the study's progress timeout."""

    def __init__(self, link: Connection) -> None:
        super().__init__(name="hpo", daemon=True)
        self._link = link
        self._main = threading.main_thread().ident
        self.start()

    def run(self) -> None:
        before: Tuple[float, Any] = (0.0, None)
        while True:
            time.sleep(self._link.alive_every)
            now = (time.process_time(), self._position())
            current = self._link.current
            if current is not None and not current._finished and (now[0] - before[0] > 0.05 or now[1] != before[1]):
                try:
                    current.alive()
                except OSError:
                    return
            before = now

    def _position(self) -> Any:
        frames: Callable[[], Mapping[Any, Any]] = getattr(sys, "_current_frames", dict)
        frame = frames().get(self._main)
        return None if frame is None else (id(frame), frame.f_lasti)
