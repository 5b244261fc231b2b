"""The processes of one trial: the ranks of a launcher (torchrun, mpirun, srun), and processes that the script starts.

One process speaks with hpo. The others connect to it and get the trial's values and hpo's decisions. A rank other than 0
reports nothing: its call returns when the same call of rank 0 has returned, and with the same decision, so that all ranks
stop at the same step. Any other process may report as well, and the first report of a step counts.

The connection is a Unix socket in the abstract namespace, to which only processes of the same user are admitted. It
carries lines of JSON: a request, then its answer."""

from __future__ import annotations

import atexit
import collections
import errno
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, BinaryIO, Deque, Dict, Mapping, Optional, Set, Tuple

if TYPE_CHECKING:
    from ._trial import Trial

RANKS = "HPO_RANKS"  # the environment variable with the address of the process that speaks with hpo
_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "LOCAL_RANK")
_RETRY = 0.05  # seconds
_RANK_0_WITHIN = 300.0  # seconds after which a rank no longer waits for rank 0 to call hpo.trial()
_LINGERS_FOR = 10.0  # seconds that rank 0 waits at its end for ranks that still ask
_KEPT_RUNS = 100
_NOTICE_AFTER = 120.0  # seconds that a rank waits for a call of rank 0


def rank() -> int:
    """The rank of this process; 0 also if it is no rank. A script that torch.distributed runs need not set variables."""
    return _rank()[0]


def _rank() -> Tuple[int, str]:
    """The rank, and what says so."""
    for name in _VARIABLES:
        word = os.environ.get(name, "")
        if word.isdecimal() and int(word) > 0:
            return int(word), f"{name}={word}"
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            number = int(distributed.get_rank())
            return number, f"torch.distributed.get_rank() is {number}"
    except Exception:
        pass
    return 0, ""


def address_of(token: str) -> str:
    """The address at which the processes of a worker meet. Half of the token stays secret."""
    return "hpo-" + token[: len(token) // 2]


def claim(address: str) -> Optional[socket.socket]:
    """A listening socket, for the first process that claims the address; None for the others."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind("\0" + address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return listener


def _same_user(connection: socket.socket) -> bool:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return bool(struct.unpack("3i", credentials)[1] == os.getuid())


class _Run:
    """A trial that hpo has handed out, and the results of rank 0's calls."""

    def __init__(self, trial: "Trial", message: Mapping[str, Any]) -> None:
        self.trial = trial
        self.message = {**message, "resume": trial.resumed}
        self.ended: Optional[str] = None  # the outcome, once the trial has ended
        self.passed: Dict[str, int] = {}  # by call: the last step or number after which the trial went on
        self.stopped: Dict[str, str] = {}  # by call: the outcome with which it returned

    def has_returned(self, call: str, number: int) -> bool:
        return number <= self.passed.get(call, 0) or call in self.stopped or self.ended is not None

    def returned(self, call: str, number: int) -> Optional[str]:
        return None if number <= self.passed.get(call, 0) else self.stopped.get(call) or self.ended or "stopped"


class RankServer:
    """In the process that speaks with hpo: answers the other processes of the trial, each in a thread."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._changed = threading.Condition()
        self._runs: Deque[_Run] = collections.deque(maxlen=_KEPT_RUNS)
        self.count = 0
        """The number of trials that this process has been given."""
        self._over = False
        self._waiting: Set[socket.socket] = set()  # connections of ranks other than 0
        threading.Thread(target=self._accept, name="hpo-ranks", daemon=True).start()
        os.register_at_fork(after_in_child=listener.close)
        atexit.register(self._linger)

    def begin(self, trial: "Trial", message: Mapping[str, Any]) -> None:
        """The next trial begins."""
        with self._changed:
            self._runs.append(_Run(trial, message))
            self.count += 1
            self._changed.notify_all()

    def over(self) -> None:
        """No further trial comes."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def returned(self, call: str, number: int, stop: Optional[str]) -> None:
        """A call of rank 0 has returned. `stop`: the outcome with which the trial ends; None if it goes on."""
        with self._changed:
            run = self._runs[-1]
            if stop is None:
                run.passed[call] = max(number, run.passed.get(call, 0))
            else:
                run.stopped.setdefault(call, stop)
            self._changed.notify_all()

    def ended(self, outcome: str) -> None:
        """The trial has ended."""
        with self._changed:
            self._runs[-1].ended = outcome
            self._changed.notify_all()

    def _accept(self) -> None:
        while True:
            try:
                connection = self._listener.accept()[0]
            except OSError:
                return
            if _same_user(connection):
                threading.Thread(target=self._serve, args=(connection,), name="hpo-rank", daemon=True).start()
            else:
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as lines:
                for line in lines:
                    request = json.loads(line)
                    if not request["leads"]:
                        self._waiting.add(connection)
                    connection.sendall(json.dumps(self._answer(request)).encode() + b"\n")
        except OSError:
            pass  # the process has ended
        with self._changed:
            self._waiting.discard(connection)
            self._changed.notify_all()

    def _answer(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        call = request["call"]
        with self._changed:
            if call == "trial":
                self._changed.wait_for(lambda: self.count > request["after"] or self._over)
                run = self._run_of(request["after"] + 1)
                return {"run": run.message} if run else {}
            run = self._run_of(request["run"])
        if run is None:
            return {"stop": "stopped"}
        asked: _Run = run  # in the functions below, too
        once = call in ("log", "finish", "lost")
        acts = once or (request["leads"] and not run.has_returned(call, request["number"]))
        if acts and run is self._runs[-1] and run.ended is None:
            try:
                run.trial._do(call, request["number"], request)
            except Exception as error:
                return {"error": f"{type(error).__name__}: {error}"}
        if once:
            return {"stop": None}
        with self._changed:
            self._changed.wait_for(lambda: asked.has_returned(call, request["number"]) or run is not self._runs[-1] or self._over)
            return {"stop": run.returned(call, request["number"])}

    def _run_of(self, number: int) -> Optional[_Run]:
        position = number - self.count - 1  # from the end
        return self._runs[position] if -len(self._runs) <= position < 0 else None

    def _linger(self) -> None:
        """Ranks may be a call behind when the script of rank 0 ends."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, _LINGERS_FOR)


class RankLink:
    """In any other process of the trial: the connection to the process that speaks with hpo.

    Raises ConnectionError if there is none, for a rank other than 0 after 300 seconds."""

    once = True

    def __init__(self, address: str) -> None:
        self.address = address
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._connect()
        self._lines: BinaryIO = self._socket.makefile("rb")
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def _connect(self) -> None:
        number, why = _rank()
        deadline = time.monotonic() + (_RANK_0_WITHIN if number else 0.0)
        while True:
            try:
                self._socket.connect("\0" + self.address)
                break
            except ConnectionRefusedError:
                if time.monotonic() >= deadline:
                    raise ConnectionError(
                        f"hpo.trial() waited {_RANK_0_WITHIN:.0f} s for rank 0, which has not called it; this process is "
                        f"rank {number}, since {why}" if number else
                        "hpo.trial(): the process that spoke with hpo has ended, and so has the trial") from None
                time.sleep(_RETRY)
        if not _same_user(self._socket):
            raise ConnectionError("hpo.trial(): another user's process answers in place of rank 0")

    def in_another_process(self) -> bool:
        """True if this process was forked from the one that has the connection."""
        return os.getpid() != self._pid

    def next_run(self, after: int) -> Dict[str, Any]:
        """The run after run `after`, counted from 1; empty if there is none. Waits for it."""
        try:
            return self._ask({"call": "trial", "after": after, "leads": rank() == 0}, "hpo.trial()")
        except ConnectionError:
            if after == 0:
                raise
            return {}

    def call(self, run: int, call: str, number: int, **arguments: Any) -> Optional[str]:
        """The outcome with which the trial ends by this call; None if it goes on."""
        try:
            request = {"call": call, "run": run, "number": number, "leads": rank() == 0, **arguments}
            answer = self._ask(request, f"trial.{call}()")
        except ConnectionError:
            return "stopped"  # the process that spoke with hpo has ended
        if "error" in answer:
            raise RuntimeError(answer["error"])
        stop: Optional[str] = answer["stop"]
        return stop

    def _ask(self, request: Mapping[str, Any], what: str) -> Dict[str, Any]:
        with self._lock:
            try:
                self._socket.sendall(json.dumps(request).encode() + b"\n")
                if not self._poll.poll(_NOTICE_AFTER * 1000):
                    print(f"hpo: rank {rank()} waits in {what} for rank 0 to make the same call", file=sys.stderr, flush=True)
                line = self._lines.readline()
            except ConnectionError:
                line = b""
        if not line.endswith(b"\n"):
            raise ConnectionError(f"{what}: the process that spoke with hpo has ended, and so has the trial")
        answer: Dict[str, Any] = json.loads(line)
        return answer


def refuse_cleared_environment() -> None:
    """Raises RuntimeError if hpo has started a process above this one, whose environment lacks hpo's variables: the script
    would train its defaults."""
    pid = os.getppid()
    try:
        while pid > 1:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if b"\0HPO_TAG=" in b"\0" + file.read():
                    break
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        else:
            return
    except (OSError, ValueError, IndexError):
        return  # a process of another user, or no /proc
    raise RuntimeError("hpo.trial(): hpo runs this script, but the environment lacks HPO_ENDPOINT, without which the trial's "
                       "values are not known: keep the variables that begin with HPO_ (env -i, sudo, ssh and containers "
                       "drop them)")
