"""Train under hpo: parameters in, reports out, and when to stop.

    import hpo

    trial = hpo.trial(lr=0.1, batch_size=256)        # defaults, for when the script runs alone
    model = build(trial.params.lr, trial.params["batch_size"])
    for epoch in trial.epochs(10):                   # as many as the study says; 10 when it runs alone
        for batch in data:
            train(model, batch)
            trial.step()                             # an iteration, for it/s; optional
        trial.report(epoch, loss=..., val_loss=...)

`report` waits for the study's decision, and `epochs` ends when that is to stop; a loop of one's own asks
`trial.should_stop()`. A script that ends is a finished trial; one that raises is a failed one, or, out of memory, one
that hpo tries again with more room. `with hpo.trial() as trial:` says the end at the end of the block.

To be stopped and go on later (asha pauses trials), a script says that it can, and keeps its state:

    trial = hpo.trial(checkpoint=True)
    if trial.resumed:
        state = load(trial.checkpoint)
        trial.resume_from(state.epoch)
    for epoch in trial.epochs(10):
        ...
        trial.report(epoch, val_loss=...)
        save(state, trial.checkpoint)                # after the report

A script that is slow to start may train one trial after the other: `for trial in hpo.trials(): ...`.

No dependency, Python 3.9 or newer. The protocol is docs/protocol.md. To search from within a program or a
notebook: hpo.Study (study.py).
"""

from __future__ import annotations

import atexit
import json
import math
import operator
import os
import pathlib
import resource
import select
import socket
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple

if TYPE_CHECKING:
    from .study import Pruned, Study, StudyError

__all__ = ["KerasCallback", "LightningCallback", "Params", "Pruned", "Study", "StudyError", "Trial", "trial", "trials"]
__version__ = "0.1.0"

_PROTOCOL = 2
_SHORTEST_STEP = 0.001  # seconds; steps that follow faster were trained before, and are reported one after the other
_SHORTEST_ITERATION = 2e-5  # seconds; so are iterations that are said to be shorter
_MOST_LINES = 12  # of an exception's words


def __getattr__(name: str) -> Any:
    """What only a program that searches needs is not imported by one that trains."""
    if name in ("Pruned", "Study", "StudyError"):
        from . import study

        return getattr(study, name)
    raise AttributeError(f"module 'hpo' has no attribute '{name}'")


class Params(Dict[str, Any]):
    """Names to values: params["lr"], params.lr."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no parameter '{name}'; there are: {', '.join(sorted(self)) or 'none'}") from None


class Trial:
    """One trial. Made by trial() and trials()."""

    def __init__(self, defaults: Mapping[str, Any], link: Optional["_Link"], run: Mapping[str, Any]) -> None:
        self._link = link
        self._id = {"trial": run.get("trial", 0), "attempt": run.get("attempt", 0)}
        self.number: int = self._id["trial"]
        """Of the trial in its study; 0 when the script runs alone."""
        self.params = Params(defaults)
        self.params.update(run.get("params", {}))
        self.steps: Optional[int] = run.get("steps")
        """How many steps the study gives it; None when the script runs alone."""
        self.seed: int = run.get("seed", 1) % 2**31
        """Of the trial; of 31 bits, which every library takes (NumPy refuses more than 32)."""
        self.data_seed: int = run.get("data_seed", 1) % 2**31
        """The same for all trials of a study: for what must not differ between them, such as the split."""
        self.folder: Optional[pathlib.Path] = pathlib.Path(run["folder"]) if run.get("folder") else None
        """For its checkpoints; None: keep none."""
        self.checkpoint: Optional[pathlib.Path] = self.folder / "last.ckpt" if self.folder else None
        """The file to write after each report and to go on from; None: keep none."""
        self.resumed: bool = bool(run.get("resume")) and self.checkpoint is not None and self.checkpoint.exists()
        """An earlier attempt has left `checkpoint`."""
        self._step = 0
        self._started = self._finished = False
        self._stop: Optional[str] = None  # the outcome that was asked for
        self._failure: Optional[Tuple[str, str]] = None  # outcome and words, to be said once it is known what follows
        self._done: Mapping[str, Any] = run.get("done") or {}  # what earlier attempts have reported
        self._iterations: Optional[int] = None if self.resumed else 0
        self._window = self._unmeasured = 0  # iterations since the last report; of them before `_clock` ran
        self._seconds: Optional[float] = self._done.get("seconds", None if self.resumed else 0.0)
        self._since = time.monotonic()
        self._clock: Optional[float] = None  # since when iterations are timed; None: where training began is not known
        self._timed = (0, 0.0)  # iterations, and the seconds that they took
        _peak.begin()
        if self.folder and link:
            self.folder.mkdir(parents=True, exist_ok=True)

    def resume_from(self, step: int) -> None:
        """Says, after the checkpoint was loaded, how many steps are done already."""
        self._step = operator.index(step)
        if self._step == self._done.get("step") and self._iterations is None:
            self._iterations = self._done.get("iteration")

    def epochs(self, alone: int = 10) -> Iterator[int]:
        """The steps that are left, from 1; ends early when the study says so. `alone`: the last one of a script that
        runs without hpo."""
        self._start()
        if self._clock is None:
            self._since = self._clock = time.monotonic()
        while self._step < (alone if self.steps is None else self.steps) and not self.should_stop():
            step = self._step + 1
            yield step
            self._step = max(self._step, step)

    def step(self, iterations: int = 1) -> None:
        """Counts iterations (updates of the weights) that are done, for it/s."""
        self._window += iterations
        if self._clock is None:
            # A loop of the script's own: when its first iteration began is not known.
            self._start()
            self._clock = time.monotonic()
            self._unmeasured = iterations

    def report(self, step: Optional[int] = None, metrics: Optional[Mapping[str, Any]] = None, *,
               iterations: Optional[int] = None, **values: Any) -> None:
        """Step `step` (from 1; by itself the next one) is done, with these numbers. Returns once the study has
        decided: see should_stop(). `iterations`: updates in this step, where they are not counted by step()."""
        step = self._step + 1 if step is None else operator.index(step)
        numbers = {str(name): _number(value) for name, value in {**(metrics or {}), **values}.items()}
        self._step = step
        if self._link is None:
            print(f"step {step}:", *(f"{name}={value}" for name, value in numbers.items()), flush=True)
            return
        if self._finished or self._link.elsewhere() or self.should_stop():
            return
        self._start()
        message: Dict[str, Any] = {"type": "report", **self._id, "step": step, "metrics": numbers}
        message.update(self._measured(iterations))
        self._link.send(message)
        while self._stop is None:
            if self._hear(self._link.receive()) == step:
                break
        if self._stop is None and self.steps is not None and step >= self.steps:
            self._stop = "complete"
        self._since = self._clock = time.monotonic()

    def should_stop(self) -> bool:
        """The study wants no further step of this trial: write what is to be kept, and return. Also true after the
        last step of the budget. False for ever when the script runs alone."""
        link = self._link
        if link is None or link.elsewhere():
            return False
        while self._stop is None:
            message = link.receive(wait=False)
            if message is None:
                break
            self._hear(message)
        return self._stop is not None

    def alive(self, phase: str = "training") -> None:
        """A sign of life where nothing else shows one: a long download, say."""
        if self._link is not None and not self._link.elsewhere():
            self._link.send({"type": "alive", **self._id, "phase": phase})

    def log(self, text: str) -> None:
        """A line for the user, beside what the script prints."""
        if self._link is None:
            print(text, flush=True)
        elif not self._link.elsewhere():
            self._link.send({"type": "log", **self._id, "text": str(text)[:4000]})

    def finish(self, **values: Any) -> None:
        """The trial is over: the end of a `with` block and of the script say so by themselves. `values` are final
        numbers, such as test_accuracy=0.9."""
        self._finish(self._stop or "complete", values=values)

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.finish()
        elif isinstance(error, Exception):
            self._failure = _failure_of(error)
            if self._link is None or self._link.once:
                self._settle()

    def _start(self) -> None:
        if self._started or self._link is None or self._link.elsewhere():
            return
        self._started = True
        self._link.send({"type": "started", **self._id, "from_step": self._step})

    def _measured(self, iterations: Optional[int]) -> Dict[str, Any]:
        """What the client knows by itself."""
        now = time.monotonic()
        window = self._window if iterations is None else iterations
        timed = window - (self._unmeasured if iterations is None else 0)
        took = 0.0 if self._clock is None else now - self._clock
        self._window = self._unmeasured = 0
        measured: Dict[str, Any] = {"peak_bytes": _peak.bytes()}
        if self._seconds is not None:
            self._seconds += now - self._since
            measured["seconds"] = self._seconds
        if self._iterations is not None:
            self._iterations += window
            if self._iterations:
                measured["iteration"] = self._iterations
        if timed > 0 and took >= max(_SHORTEST_STEP, timed * _SHORTEST_ITERATION):
            self._timed = (self._timed[0] + timed, self._timed[1] + took)
            measured["it_s"] = timed / took
            measured["it_s_overall"] = self._timed[0] / self._timed[1]
        device = _peak_device_bytes()
        if device:
            measured["peak_device_bytes"] = device
        return measured

    def _hear(self, message: Mapping[str, Any]) -> Optional[int]:
        """Takes a message in; the step that it decides on."""
        kind = message.get("type")
        if kind == "shutdown":
            self._stop = "stopped"
        if any(message.get(name) != number for name, number in self._id.items()):
            return None
        if kind == "stop":
            self._stop = "stopped"
        if kind != "decision":
            return None
        if message.get("action") in ("stop", "pause"):
            self._stop = "paused" if message["action"] == "pause" else "stopped"
        return message.get("step")

    def _settle(self, last: bool = False) -> None:
        """Says a failure that was noted."""
        if self._failure is not None:
            self._finish(*self._failure, last=last)

    def _finish(self, outcome: str, message: str = "", values: Optional[Mapping[str, Any]] = None,
                last: bool = False) -> None:
        if self._finished:
            return
        self._finished = True
        if self._link is None or self._link.elsewhere():
            return
        words: Dict[str, Any] = {"type": "finished", **self._id, "outcome": outcome}
        if message:
            words["message"] = message
        if values:
            words["values"] = {name: _number(value) for name, value in values.items()}
        if last:
            words["last"] = True
        if self.checkpoint is not None and self.checkpoint.exists():
            words["checkpoint"] = str(self.checkpoint)
        try:
            self._link.send(words)
        except OSError:
            pass  # hpo is gone, and with it whoever would have wanted to know


_current: Optional[Trial] = None


def trial(defaults: Any = None, /, *, checkpoint: bool = False, micro_batch: bool = False, **more: Any) -> Trial:
    """The trial that this process trains. `defaults` (a mapping, or what argparse returns) and keywords are the
    parameters of a script that runs without hpo, and of those that the study does not name. `checkpoint`: the script
    can go on from its checkpoint. `micro_batch`: it trains a batch in `params["accumulation"]` parts when told so."""
    global _current
    if _current is None or _current._finished:
        _current = next(_serve(_mapping(defaults, more), ["once", *_abilities(checkpoint, micro_batch)]))
    return _current


def trials(defaults: Any = None, /, *, checkpoint: bool = False, micro_batch: bool = False,
           **more: Any) -> Iterator[Trial]:
    """One trial after the other, for scripts that take long to start; one alone without hpo. The arguments are those
    of trial()."""
    global _current
    for _current in _serve(_mapping(defaults, more), _abilities(checkpoint, micro_batch)):
        yield _current
        _current._settle()
        _current.finish()


def _abilities(checkpoint: bool, micro_batch: bool) -> List[str]:
    return ["checkpoint"] * checkpoint + ["micro_batch"] * micro_batch


def _mapping(defaults: Any, more: Mapping[str, Any]) -> Dict[str, Any]:
    if defaults is not None and not isinstance(defaults, Mapping):
        defaults = vars(defaults)
    return {**(defaults or {}), **more}


def _serve(defaults: Mapping[str, Any], abilities: List[str]) -> Iterator[Trial]:
    # Processes that this one starts run alone: the token is good for one connection.
    endpoint, token = os.environ.pop("HPO_ENDPOINT", ""), os.environ.pop("HPO_TOKEN", "")
    if "HPO_PRELOADING" in os.environ:
        raise RuntimeError("worker.preload is for modules that a script imports, not for the script itself")
    if not endpoint:
        yield Trial(defaults, None, {})
        return
    link = _Link(endpoint, token, abilities)
    _report_uncaught_exceptions(link)
    _Pulse(link)
    while True:
        message = link.receive()
        if message.get("type") == "shutdown":
            return
        if message.get("type") == "run":
            link.current = Trial(defaults, link, message)
            yield link.current


class _Link:
    """The connection to hpo: lines of JSON. It is never closed but by the process's end."""

    def __init__(self, endpoint: str, token: str, abilities: List[str]) -> None:
        self.current: Optional[Trial] = None
        self.alive_every = 5.0
        self.once = "once" in abilities
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._bytes = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(endpoint)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self.send({"type": "hello", "version": _PROTOCOL, "token": token, "pid": self._pid, "slots": 1,
                   "backend": "", "capabilities": abilities})

    def elsewhere(self) -> bool:
        """In a process that was forked from the trial's: it must not speak for it."""
        return os.getpid() != self._pid

    def send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._socket.sendall(line)

    def receive(self, wait: bool = True) -> Any:
        """The next message; None if there is none yet and `wait` is false."""
        while b"\n" not in self._bytes:
            if not wait and not self._poll.poll(0):
                return None
            more = self._socket.recv(65536)
            if not more:
                raise ConnectionError("hpo has closed the connection")
            self._bytes += more
        line, self._bytes = self._bytes.split(b"\n", 1)
        message = json.loads(line)
        if message.get("type") == "welcome":
            self.alive_every = float(message.get("alive_every", 5.0))
        return message


class _Pulse(threading.Thread):
    """Says `alive` for a script that gets on between its reports: its processor time grows, or its main thread is
    somewhere else than it was. One that hangs falls silent, and is ended after the study's progress timeout."""

    def __init__(self, link: _Link) -> None:
        super().__init__(name="hpo", daemon=True)
        self._link = link
        self._main = threading.main_thread().ident
        self.start()

    def run(self) -> None:
        before: Tuple[float, Any] = (0.0, None)
        while True:
            time.sleep(self._link.alive_every)
            now = (time.process_time(), self._place())
            current = self._link.current
            if current is not None and not current._finished and (now[0] - before[0] > 0.05 or now[1] != before[1]):
                try:
                    current.alive()
                except OSError:
                    return
            before = now

    def _place(self) -> Any:
        frames: Callable[[], Mapping[Any, Any]] = getattr(sys, "_current_frames", dict)
        frame = frames().get(self._main)
        return None if frame is None else (id(frame), frame.f_lasti)


def _report_uncaught_exceptions(link: _Link) -> None:
    """With the word that the process ends: no further trial is handed to it, and its traceback stays in this one's log.
    So does a failure that a `with` block has noted, where nothing follows it."""
    before = sys.excepthook

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        try:
            before(kind, error, trace)
        finally:
            if link.current is not None and isinstance(error, Exception):
                link.current._failure = _failure_of(error)
                link.current._settle(last=True)

    def at_exit() -> None:
        if link.current is not None:
            link.current._settle(last=True)

    sys.excepthook = hook
    atexit.register(at_exit)


def _failure_of(error: BaseException) -> Tuple[str, str]:
    """The outcome, and the exception with where it came from: its own lines, then the last frames."""
    lines = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    if isinstance(error, SyntaxError):  # its type stands below its place
        lines = lines[-1:] + lines[:-1]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES - 2:-1] = ["..."]
    lines += "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[-3:])).rstrip().splitlines()
    text = "\n".join(line[:500] for line in lines)[:4000]
    return "out_of_memory" if _is_out_of_memory(error) else "failed", text or type(error).__name__


def _number(value: Any) -> Any:
    """JSON has no word for numbers that are not finite; the protocol spells them."""
    number = float(value)
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


class _Peak:
    """The most memory that this process held since a trial began: an earlier trial's is not its own."""

    def __init__(self) -> None:
        self._trials = 0
        self._key = "VmHWM:"

    def begin(self) -> None:
        self._trials += 1
        if self._trials == 1:
            return
        self._key = "VmHWM:"
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            self._key = "VmRSS:"  # a sample, where the kernel lets nobody begin anew

    def bytes(self) -> int:
        try:
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith(self._key))
        except (OSError, StopIteration):
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


_peak = _Peak()


def _peak_device_bytes() -> int:
    """Of PyTorch, if the script uses it on a device. What others take is measured from outside."""
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return 0
        return int(sum(torch.cuda.max_memory_reserved(device) for device in range(torch.cuda.device_count())))
    except Exception:
        return 0


def _is_out_of_memory(error: BaseException) -> bool:
    """MemoryError, and what PyTorch, JAX and TensorFlow raise on a full device."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "ResourceExhaustedError"):
        return True
    signs = ("out of memory", "RESOURCE_EXHAUSTED", "CUBLAS_STATUS_ALLOC_FAILED", "can't allocate memory")
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


class _Callback:
    """Answers every hook of a framework; subclasses know the few that matter here."""

    def __init__(self, to: Optional[Trial] = None) -> None:
        self.trial = to or trial()

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("on_", "set_", "setup", "teardown", "load_", "_implements")):
            return lambda *arguments, **more: None
        raise AttributeError(name)


class KerasCallback(_Callback):
    """model.fit(..., callbacks=[hpo.KerasCallback(trial)]): reports each epoch's logs, and stops the fit."""

    model: Any = None

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_train_batch_end(self, batch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        self.trial.step()

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        self.trial.report(epoch + 1, logs)
        if self.trial.should_stop():
            self.model.stop_training = True

    def _implements_train_batch_hooks(self) -> bool:
        return True


class LightningCallback(_Callback):
    """Trainer(callbacks=[hpo.LightningCallback(trial)]): reports what was logged after each validation."""

    state_key = "hpo"

    def state_dict(self) -> Dict[str, Any]:
        return {}

    def on_train_batch_end(self, trainer: Any, *arguments: Any, **more: Any) -> None:
        self.trial.step()

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        if getattr(trainer, "sanity_checking", False):
            return
        self.trial.report(trainer.current_epoch + 1, dict(trainer.callback_metrics))
        if self.trial.should_stop():
            trainer.should_stop = True
