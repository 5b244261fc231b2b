"""Train under hpo: parameters in, reports out, and when to stop.

    import hpo

    trial = hpo.trial(lr=0.1, batch_size=256)        # defaults, for when the script runs alone
    model = build(trial.params.lr, trial.params["batch_size"])
    for epoch in trial.epochs(10):                   # as many as the study says; 10 when it runs alone
        for batch in data:
            train(model, batch)
            trial.step()                             # an iteration, for it/s; optional
        trial.report(epoch, loss=..., val_loss=...)

`report` waits for the study's decision, and `epochs` ends when the decision is to stop; in any other loop, ask
`trial.should_stop()`. The trial is complete when the script ends, and failed when it raises. If it runs out of memory,
hpo tries it again with more. With `with hpo.trial() as trial:` the trial ends with the block.

For trials that are paused and resumed later (asha does this), declare that the script can, and save its state:

    trial = hpo.trial(checkpoint=True)
    if trial.resumed:
        state = load(trial.checkpoint)
        trial.resume_from(state.epoch)
    for epoch in trial.epochs(10):
        ...
        trial.report(epoch, val_loss=...)
        save(state, trial.checkpoint)                # after the report

A script that is slow to start can train several trials, one after the other: `for trial in hpo.trials(): ...`.

No dependency, Python 3.9 or newer. The protocol is docs/protocol.md. To search from within a program or a
notebook: hpo.Study (study.py).
"""

from __future__ import annotations

import operator
import json
import os
import pathlib
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple

from ._connection import Connection, Heartbeat, json_number
from ._failures import failure_of, report_uncaught_exceptions
from ._memory import peak, peak_device_bytes

if TYPE_CHECKING:
    from .callbacks import KerasCallback, LightningCallback
    from .study import Pruned, Study, StudyError

__all__ = ["KerasCallback", "LightningCallback", "Params", "Pruned", "Study", "StudyError", "Trial", "trial", "trials"]
__version__ = "0.1.0"

_SHORTEST_STEP = 0.001  # seconds; faster steps were trained before and are only reported now, so they are not timed
_SHORTEST_ITERATION = 2e-5  # seconds; the same holds for faster iterations


def __getattr__(name: str) -> Any:
    """Imports on first use what a script that only trains does not need."""
    if name in ("Pruned", "Study", "StudyError"):
        from . import study

        return getattr(study, name)
    if name in ("KerasCallback", "LightningCallback"):
        from . import callbacks

        return getattr(callbacks, name)
    raise AttributeError(f"module 'hpo' has no attribute '{name}'")


class Params(Dict[str, Any]):
    """Names to values: params["lr"], params.lr."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no parameter '{name}'; there are: {', '.join(sorted(self)) or 'none'}") from None


class Trial:
    """A trial, as trial() and trials() return it.

    A script that runs without hpo gets one as well: `number` is 0, and reports are printed."""

    def __init__(self, defaults: Mapping[str, Any], link: Optional["Connection"], run: Mapping[str, Any]) -> None:
        self._link = link
        self._id = {"trial": run.get("trial", 0), "attempt": run.get("attempt", 0)}
        self.number: int = self._id["trial"]
        """The number of the trial in its study, from 1; 0 when the script runs alone."""
        self.params = Params(defaults)
        self.params.update(run.get("params", {}))
        self.steps: Optional[int] = run.get("steps")
        """The budget in steps; None when the script runs alone."""
        self.seed: int = run.get("seed", 1) % 2**31
        """The seed of the trial, of 31 bits: every library accepts it (NumPy refuses more than 32)."""
        self.data_seed: int = run.get("data_seed", 1) % 2**31
        """A seed for what must be the same in all trials of a study, such as the split of the data."""
        self._folder = pathlib.Path(run["folder"]) if run.get("folder") else None
        self._folder_is_made = link is None
        self._last = self._folder / "last.ckpt" if self._folder else None
        self.resumed: bool = bool(run.get("resume")) and self._last is not None and self._last.exists()
        """Whether an earlier attempt has left `checkpoint`."""
        self._step = 0
        self._started = self._finished = False
        self._stop: Optional[str] = None  # the outcome that was asked for
        self._failure: Optional[Tuple[str, str]] = None  # outcome and message, reported once it is known what follows
        self._done: Mapping[str, Any] = run.get("done") or {}  # what earlier attempts have reported
        self._iterations: Optional[int] = None if self.resumed else 0
        self._window = self._unmeasured = 0  # iterations since the last report; of them before `_clock` ran
        self._seconds: Optional[float] = self._done.get("seconds", None if self.resumed else 0.0)
        self._since = time.monotonic()
        self._clock: Optional[float] = None  # since when iterations are timed; None: where training began is not known
        self._timed = (0, 0.0)  # iterations, and the seconds that they took
        peak.begin()

    @property
    def folder(self) -> Optional[pathlib.Path]:
        """The folder for its checkpoints, which is made when it is asked for; None: keep none."""
        if self._folder and not self._folder_is_made:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._folder_is_made = True
        return self._folder

    @property
    def checkpoint(self) -> Optional[pathlib.Path]:
        """The file to write after each report and to resume from; None: keep none."""
        return self._last if self.folder else None

    def resume_from(self, step: int) -> None:
        """Call this after loading the checkpoint. `step`: the number of completed steps."""
        self._step = operator.index(step)
        if self._step == self._done.get("step") and self._iterations is None:
            self._iterations = self._done.get("iteration")

    def epochs(self, alone: int = 10) -> Iterator[int]:
        """Yields the numbers of the remaining steps, the first of all being 1. Ends early when the study stops the
        trial. `alone`: the number of steps when the script runs without hpo."""
        self._start()
        if self._clock is None:
            self._since = self._clock = time.monotonic()
        while self._step < (alone if self.steps is None else self.steps) and not self.should_stop():
            step = self._step + 1
            yield step
            self._step = max(self._step, step)

    def step(self, iterations: int = 1) -> None:
        """Counts completed iterations (updates of the weights), from which hpo shows iterations per second."""
        self._window += iterations
        if self._clock is None:
            # The script has its own loop, so it is not known when its first iteration began.
            self._start()
            self._clock = time.monotonic()
            self._unmeasured = iterations

    def report(self, step: Optional[int] = None, metrics: Optional[Mapping[str, Any]] = None, *,
               iterations: Optional[int] = None, **values: Any) -> None:
        """Reports a completed step with its metrics, and waits for the study's decision: see should_stop().

        `step`: its number, from 1; by default the next one. `metrics` and keywords: numbers by name, of which one is
        the study's objective. `iterations`: updates in this step, where step() has not counted them. Raises TypeError
        or ValueError for a metric that is no number, and ConnectionError when hpo has gone."""
        step = self._step + 1 if step is None else operator.index(step)
        numbers = {str(name): json_number(value) for name, value in {**(metrics or {}), **values}.items()}
        self._step = step
        if self._link is None:
            print(f"step {step}:", *(f"{name}={value}" for name, value in numbers.items()), flush=True)
            return
        if self._finished or self._link.in_another_process() or self.should_stop():
            return
        messages = [] if self._started else [self._started_message(step - 1)]
        messages.append({"type": "report", **self._id, "step": step, "metrics": numbers, **self._measured(iterations)})
        self._link.send(*messages)
        last = self.steps is not None and step >= self.steps
        while self._stop is None and not (last and self._link.may_run_ahead):
            if self._hear(self._link.receive()) == step:
                break
        if last and self._stop is None:
            self._stop = "complete"
        self._since = self._clock = time.monotonic()

    def should_stop(self) -> bool:
        """Whether the trial must end now: save what is to be kept, and return. This is true when the study has stopped
        or paused the trial, and after the last step of the budget; never when the script runs alone."""
        link = self._link
        if link is None or link.in_another_process():
            return False
        while self._stop is None:
            message = link.receive(wait=False)
            if message is None:
                break
            self._hear(message)
        return self._stop is not None

    def alive(self, phase: str = "training") -> None:
        """Tells hpo that the script makes progress where nothing else shows it, such as in a long download."""
        if self._link is not None and not self._link.in_another_process():
            self._link.send({"type": "alive", **self._id, "phase": phase})

    def log(self, text: str) -> None:
        """Writes a line to the trial's log, of which the first 4000 characters are kept."""
        if self._link is None:
            print(text, flush=True)
        elif not self._link.in_another_process():
            self._link.send({"type": "log", **self._id, "text": str(text)[:4000]})

    def finish(self, **values: Any) -> None:
        """Ends the trial. The end of a `with` block and of the script do this too. `values`: final metrics, such as
        test_accuracy=0.9."""
        self._finish(self._stop or "complete", values=values)

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.finish()
        elif isinstance(error, Exception):
            self._failure = failure_of(error)
            if self._link is None or self._link.once:
                self._report_failure()

    def _start(self) -> None:
        """Tells hpo that training begins, unless it has been told."""
        if self._link is not None and not self._started and not self._link.in_another_process():
            self._link.send(self._started_message(self._step))

    def _started_message(self, from_step: int) -> Dict[str, Any]:
        self._started = True
        return {"type": "started", **self._id, "from_step": from_step}

    def _measured(self, iterations: Optional[int]) -> Dict[str, Any]:
        """What the client measures: time, iterations and memory."""
        now = time.monotonic()
        window = self._window if iterations is None else iterations
        timed = window - (self._unmeasured if iterations is None else 0)
        took = 0.0 if self._clock is None else now - self._clock
        self._window = self._unmeasured = 0
        measured: Dict[str, Any] = {"peak_bytes": peak.bytes()}
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
        device = peak_device_bytes()
        if device:
            measured["peak_device_bytes"] = device
        return measured

    def _hear(self, message: Mapping[str, Any]) -> Optional[int]:
        """Processes a message, and returns the step that it decides on."""
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

    def _report_failure(self, last: bool = False) -> None:
        """Reports a failure that was noted."""
        if self._failure is not None:
            self._finish(*self._failure, last=last)

    def _finish(self, outcome: str, message: str = "", values: Optional[Mapping[str, Any]] = None,
                last: bool = False) -> None:
        if self._finished:
            return
        self._finished = True
        if self._link is None or self._link.in_another_process():
            return
        message_out: Dict[str, Any] = {"type": "finished", **self._id, "outcome": outcome}
        if message:
            message_out["message"] = message
        if values:
            message_out["values"] = {name: json_number(value) for name, value in values.items()}
        if last:
            message_out["last"] = True
        if self._last is not None and self._last.exists():
            message_out["checkpoint"] = str(self._last)
        try:
            self._link.send(message_out)
        except OSError:
            pass  # hpo has gone, so nobody reads the message


_current: Optional[Trial] = None


def trial(defaults: Any = None, /, *, checkpoint: bool = False, micro_batch: bool = False, **more: Any) -> Trial:
    """The trial that this process trains.

    `defaults` (a mapping, or what argparse returns) and keywords give the parameters of a script that runs without hpo,
    and those that the study does not name. `checkpoint`: the script can resume from its checkpoint. `micro_batch`: it
    trains each batch in `params["accumulation"]` parts, which hpo sets when memory is short. Raises OSError when hpo
    cannot be reached."""
    global _current
    if _current is None or _current._finished:
        _current = next(_serve(_mapping(defaults, more), ["once", *_abilities(checkpoint, micro_batch)]))
    return _current


def trials(defaults: Any = None, /, *, checkpoint: bool = False, micro_batch: bool = False,
           **more: Any) -> Iterator[Trial]:
    """Yields one trial after the other, for scripts that are slow to start; a single one without hpo. The arguments are
    those of trial()."""
    global _current
    for _current in _serve(_mapping(defaults, more), _abilities(checkpoint, micro_batch)):
        yield _current
        _current._report_failure()
        _current.finish()


def _abilities(checkpoint: bool, micro_batch: bool) -> List[str]:
    return ["checkpoint"] * checkpoint + ["micro_batch"] * micro_batch


def _mapping(defaults: Any, more: Mapping[str, Any]) -> Dict[str, Any]:
    if defaults is not None and not isinstance(defaults, Mapping):
        defaults = vars(defaults)
    return {**(defaults or {}), **more}


def _run_by_environment() -> Dict[str, Any]:
    """The trial of a script whose output hpo reads: it has no connection, and its parameters are in the environment. It
    is empty where the script runs alone."""
    params = os.environ.get("HPO_PARAMS")
    if not params:
        return {}
    return {"trial": int(os.environ.get("HPO_TRIAL", "0")), "params": json.loads(params),
            "seed": int(os.environ.get("HPO_SEED", "1"))}


def _serve(defaults: Mapping[str, Any], abilities: List[str]) -> Iterator[Trial]:
    # Processes that this one starts run without hpo, since the token is valid for one connection.
    endpoint, token = os.environ.pop("HPO_ENDPOINT", ""), os.environ.pop("HPO_TOKEN", "")
    if "HPO_PRELOADING" in os.environ:
        raise RuntimeError("worker.preload is for modules that a script imports, not for the script itself")
    if not endpoint:
        yield Trial(defaults, None, _run_by_environment())
        return
    link = Connection(endpoint, token, abilities)
    report_uncaught_exceptions(link)
    Heartbeat(link)
    while True:
        message = link.receive()
        if message.get("type") == "shutdown":
            return
        if message.get("type") == "run":
            link.current = Trial(defaults, link, message)
            yield link.current
