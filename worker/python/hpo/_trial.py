"""A trial, as a script sees it."""

from __future__ import annotations

import operator
import pathlib
import shutil
import sys
import time
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple, Union

from ._connection import Connection
from ._failures import failure_of
from ._memory import device_peak, peak
from ._numbers import json_metrics, metrics_by_name
from ._ranks import RankLink, rank

_SHORTEST_STEP = 0.001  # seconds; faster steps were trained before and are only reported now, so they are not timed
_SHORTEST_ITERATION = 2e-5  # seconds; the same holds for faster iterations
_LONGEST_LINE = 4000  # characters of a line for the log


class Params(Dict[str, Any]):
    """Names to values: params["lr"], params.lr."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no parameter '{name}'; there are: {', '.join(sorted(self)) or 'none'}") from None


class Pruned(Exception):
    """To be raised where a trial is not worth its further steps, or once trial.should_stop(): the trial ends here, as
    stopped with what it has reported. Before a value was reported it fails, since there is nothing to compare."""


class Trial:
    """A trial, as trial() and trials() return it to a script, and ask() and optimize() of a Study to a program.

    A script that runs without hpo gets one as well: `number` is 0, and reports are printed."""

    rule = ""
    """Of a stop or a pause in a Study: the stopping rule."""
    reason = ""
    """The rule's reason."""

    def __init__(self, defaults: Mapping[str, Any], link: Union[Connection, RankLink, None], run: Mapping[str, Any],
                 run_number: int = 0) -> None:
        self._link = link
        self._run = run_number  # of the process that speaks with hpo
        self._id = {"trial": run.get("trial", 0), "attempt": run.get("attempt", 0)}
        self.number: int = self._id["trial"]
        """The number of the trial in its study, from 1; 0 when the script runs alone."""
        self.params = Params(defaults)
        self.params.update(run.get("params", {}))
        self.steps: Optional[int] = run.get("steps")
        """The budget in steps; None when the script runs alone."""
        self.metric: Optional[str] = (run.get("objective") or {}).get("metric")
        """The name of the study's objective; None when the script runs alone."""
        self.seed: int = run.get("seed", 1) % 2**31
        """The seed of the trial, of 31 bits: every library accepts it (NumPy refuses more than 32)."""
        self.data_seed: int = run.get("data_seed", 1) % 2**31
        """A seed for everything that must be the same in all trials of a study, such as the split of the data."""
        self._folder = pathlib.Path(run["folder"]) if run.get("folder") else None
        self._folder_is_made = link is None
        self._last = self._folder / "last.ckpt" if self._folder else None
        self.resumed: bool = bool(run.get("resume")) and self._last is not None and self._last.exists()
        """True if an earlier attempt has left `checkpoint`."""
        self._step = 0
        self._told = 0  # the last step that was reported
        self._resumed_from: Optional[int] = None
        self._shift = 0  # 1 in a script whose steps count from 0
        self._asked = 0  # number of calls of should_stop()
        self._started = self._finished = self._told_late = False
        self._resumes = isinstance(link, Connection) and link.resumes
        self._stop: Optional[str] = None  # the outcome that was asked for
        self._failure: Optional[Tuple[str, str]] = None  # outcome and message, reported once it is known what follows
        self._done: Mapping[str, Any] = run.get("done") or {}  # the reports of earlier attempts
        self.reported: int = self._done.get("step") or 0
        """The last step that earlier attempts have reported; 0: none."""
        self._iterations: Optional[int] = None if self.resumed else 0
        self._window = self._unmeasured = 0  # iterations since the last report; and those of them before `_clock` ran
        self._seconds: Optional[float] = self._done.get("seconds", None if self.resumed else 0.0)
        self._since = time.monotonic()
        self._clock: Optional[float] = None  # start of the timed iterations; None: the start of training is not known
        self._timed = (0, 0.0)  # iterations, and the seconds that they took
        if isinstance(link, Connection):  # this process reports the peak
            peak.begin()
            device_peak.begin()

    def __repr__(self) -> str:
        return f"<trial {self.number} {dict(self.params)}>"

    @property
    def folder(self) -> Optional[pathlib.Path]:
        """The folder for its checkpoints, which is made at the first use; None: keep none."""
        if self._folder and not self._folder_is_made:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._folder_is_made = True
        return self._folder

    @property
    def checkpoint(self) -> Optional[pathlib.Path]:
        """The file to write after each report and to resume from; None: keep none."""
        return self._last if self.folder else None

    def resume_from(self, step: int) -> None:
        """Call this after loading the checkpoint. `step`: the number of completed steps.

        Raises SystemExit if reports up to this step are missing, as after a loss of power that kept the checkpoint: the
        curve would have a gap. The checkpoint is set aside then, and hpo begins the trial anew. Raises ValueError where
        it is no file of hpo's, so that it cannot be set aside: resume nothing and begin at step 1. A script may report
        every tenth step, say, and save each: nothing is missing between two reports. One that saves before it reports
        may miss the report of this very step, and goes on with a gap of it, of which hpo warns, unless the step is the
        last. In a Study, which knows no checkpoints, a step after `reported` raises ValueError."""
        step = operator.index(step)
        if self._lacks_reports(step):
            self._refuse_ahead(step)
        self._step = self._resumed_from = step
        if self._step == self._done.get("step") and self._iterations is None:
            self._iterations = self._done.get("iteration")

    def _lacks_reports(self, step: int) -> bool:
        """True if a trial that goes on after this step lacks reports that it would have made."""
        stored: Optional[int] = self._done.get("step")
        if stored is None or step <= stored:
            return False
        if self._last is None:
            return True
        stride: int = self._done.get("stride", 0)
        if stride == 0:  # no trial has reported a step so far, and maybe none does
            return False
        return step > stored + stride or (self.steps is not None and step >= self.steps)

    def _refuse_ahead(self, step: int) -> None:
        """Ends the attempt, whose checkpoint is of a step that hpo has not stored."""
        stored = f"the last stored step is {self.reported}" if self.reported else "no step is stored"
        if self._last is None:
            raise ValueError(f"trial {self.number}: resume_from({step}), but {stored}: begin at step 1")
        text = f"its checkpoint is of step {step}, but {stored}, as after a loss of power"
        link, other = self._links()
        if other is not None:  # the process that has the connection puts the checkpoint aside
            other.call(self._run, "lost", step, text=text)
            self._finished = True
        elif link is not None:
            with link.lock:
                self._put_aside(text)
        raise SystemExit(f"hpo: trial {self.number}: {text}: it is kept as {self._last.name}.ahead, and the trial begins anew")

    def _put_aside(self, text: str) -> None:
        """Renames the checkpoint and ends the attempt, unless another process of the trial has asked for it before.
        Raises ValueError if there is none or it cannot be renamed, so that the next attempt would find it again."""
        if self._finished:
            return
        assert self._last is not None
        aside = self._last.with_name(self._last.name + ".ahead")
        try:
            if aside.is_dir() and self._last.exists():
                shutil.rmtree(aside)
            self._last.replace(aside)
        except FileNotFoundError:
            raise ValueError(f"trial {self.number}: {text}, and it is not {self._last}, so that hpo cannot put it aside: "
                             "resume nothing and begin at step 1, or remove it") from None
        except OSError as error:
            raise ValueError(f"trial {self.number}: {text}, and {self._last} cannot be renamed ({error.strerror}): resume "
                             "nothing and begin at step 1, or remove it") from error
        self._finish("lost", f"{text}: it is kept as {aside.name}, and the trial begins anew", last=True)

    def epochs(self, alone: int = 10) -> Iterator[int]:
        """Yields the numbers of the remaining steps, the first of all being 1. Ends early when the study stops the
        trial. `alone`: the number of steps when the script runs without hpo."""
        self._start()
        if self._clock is None:
            self._since = self._clock = time.monotonic()
        while self._step < (alone if self.steps is None else self.steps) and not self._returns("epochs", self._step + 1):
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

    def report(self, step: Optional[int] = None, metrics: Union[Mapping[str, Any], float, None] = None, *,
               iterations: Optional[int] = None, **values: Any) -> str:
        """Reports a completed step with its metrics, and waits for the study's decision, which it returns.

        `step`: its number, from 1 or from 0; by default the next one. `metrics` and keywords: numbers by name, of which
        one is the study's objective, or the objective alone; None: not measured in this step. `iterations`: updates in
        this step, where step() has not counted them. In a rank other than 0, it only waits for rank 0's report of the
        step. Raises TypeError or ValueError for a metric that is no number and for a step that cannot be,
        ConnectionError when hpo has gone, and in a Study also StudyError."""
        step = self._number_of(step)
        numbers = metrics_by_name(metrics, values, self.metric or "objective")
        self._step = max(self._step, step)
        self._deliver(step, numbers, iterations)
        self._told = max(self._told, step)
        return self.decision

    @property
    def decision(self) -> str:
        """The study's last word: continue, stop or pause. See should_stop()."""
        return {"stopped": "stop", "paused": "pause"}.get(self._stop or "", "continue")

    def _deliver(self, step: int, numbers: Mapping[str, Any], iterations: Optional[int]) -> None:
        """Hands a step to the study, to hpo or to rank 0, which decides on it."""
        link, other = self._links()
        if other is not None:
            updates, self._window = self._window if iterations is None else iterations, 0
            if self._stop is None or rank() == 0:  # the other ranks wait for rank 0's call
                self._stop = other.call(self._run, "report", step, metrics=numbers, iterations=updates) or self._stop
        elif link is None:
            print(f"step {step - self._shift}:", *(f"{name}={value}" for name, value in numbers.items()), flush=True)
        else:
            with link.lock:
                self._report(link, step, numbers, iterations)
                link.ranks.returned("report", step, self._stop)

    def _report(self, link: Connection, step: int, numbers: Mapping[str, Any], iterations: Optional[int]) -> None:
        if self._finished and not self._told_late:
            self._told_late = True
            print(f"hpo: trial {self.number} has ended; what is reported now is not used", file=sys.stderr, flush=True)
        if self._finished or self._hears_stop(link):
            return
        messages = [] if self._started else [self._started_message(step - 1 if self._resumed_from is None else self._resumed_from)]
        messages.append({"type": "report", **self._id, "step": step, "metrics": numbers, **self._measured(iterations)})
        link.send(*messages)
        last = self.steps is not None and step >= self.steps
        while self._stop is None and not (last and link.may_run_ahead):
            if self._hear(link.receive()) == step:
                break
        if last and self._stop is None:
            self._stop = "complete"
        self._since = self._clock = time.monotonic()

    def _number_of(self, step: Optional[int]) -> int:
        """The number of a step from 1."""
        if step is None:
            return self._step + 1
        number = operator.index(step)
        if number == 0 and self._step == 0:
            if self._resumes:
                raise ValueError("steps of a trial that may resume from its checkpoint count from 1: report(epoch + 1, ...)")
            self._shift = 1
        if number + self._shift < 1:
            raise ValueError(f"step {number} is reported; steps count from 1, or from 0")
        return number + self._shift

    def should_stop(self) -> bool:
        """True if the trial must end now: save its results, and return. This is the case when the study has stopped
        or paused the trial, and after the last step of the budget; never when the script runs alone. All ranks of a
        trial call it equally often, and get the answer of rank 0."""
        self._asked += 1
        return self._returns("should_stop", self._asked)

    def _returns(self, call: str, number: int) -> bool:
        """True if the trial ends with this call."""
        link, other = self._links()
        if other is not None and (self._stop is None or rank() == 0):
            self._stop = other.call(self._run, call, number) or self._stop
        elif link is not None:
            with link.lock:
                self._hears_stop(link)
                link.ranks.returned(call, number, self._stop)
        return self._stop is not None

    def _hears_stop(self, link: Connection) -> bool:
        while self._stop is None:
            message = link.receive(wait=False)
            if message is None:
                break
            self._hear(message)
        return self._stop is not None

    def _links(self) -> Tuple[Optional[Connection], Optional[RankLink]]:
        """The connection to hpo, or to the process that has it; neither when the script runs alone."""
        if self._link is not None and self._link.in_another_process():
            self._link = RankLink(self._link.address)
        if isinstance(self._link, RankLink):
            return None, self._link
        return self._link, None

    def _do(self, call: str, number: int, request: Mapping[str, Any]) -> None:
        """Does what another process of the trial has called."""
        link = self._links()[0]
        assert link is not None
        with link.lock:
            if call == "log":
                return self.log(request["text"])
            if call == "lost":
                return self._put_aside(request["text"])
            if call == "finish":
                return self._finish(self._stop or "complete", values=request["values"])
            if call == "report":
                self._step = max(self._step, number)
                self._report(link, number, request["metrics"], request["iterations"])
            else:
                self._start()
                self._hears_stop(link)
            link.ranks.returned(call, number, self._stop)

    def alive(self, phase: str = "training") -> None:
        """Tells hpo that the script makes progress where nothing else shows it, such as in a long download."""
        link = self._link
        if isinstance(link, Connection) and not link.in_another_process():
            link.send({"type": "alive", **self._id, "phase": phase})

    def log(self, text: str) -> None:
        """Writes a line to the trial's log, of which the first 4000 characters are kept."""
        text = str(text)
        if len(text) > _LONGEST_LINE:
            text = f"{text[:_LONGEST_LINE - 30]}... ({len(text)} characters)"
        link, other = self._links()
        if other is not None:
            other.call(self._run, "log", 0, text=text)
        elif link is None:
            print(text, flush=True)
        else:
            link.send({"type": "log", **self._id, "text": text})

    def finish(self, **values: Any) -> None:
        """Ends the trial. The end of a `with` block and of the script do this too. `values`: final metrics, such as
        test_accuracy=0.9. The objective is one of them if no step has reported it; it is then the trial's value."""
        numbers = json_metrics(values)
        link, other = self._links()
        if other is not None and numbers and not self._finished and rank() == 0:
            other.call(self._run, "finish", 0, values=numbers)
        self._finish(self._stop or "complete", values=numbers)

    def __enter__(self) -> "Trial":
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> bool:
        if isinstance(error, Pruned):
            self._prune()
            return True
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.finish()
            return False
        if isinstance(error, Exception):
            self._failure = failure_of(error)
            if self._link is None or self._link.once:
                self._report_failure()
        return False

    def __reduce__(self) -> Any:
        # multiprocessing hands a trial to a process that it starts.
        return _of_this_process, (dict(self.params),)

    def _prune(self, last: bool = False) -> None:
        """Ends a trial that has raised Pruned. One that has been stopped, or has reported its last step, ends as it would
        have without. `last`: as in _finish()."""
        step = max(self._told, self.reported)
        if self._stop is not None:
            self._finish(self._stop, last=last)
        elif step == 0:
            self._finish("failed", "pruned before its first report", last=last)
        else:
            self._finish("stopped", f"raised hpo.Pruned after step {step}", last=last)

    def _start(self) -> None:
        """Tells hpo that training begins, unless it has been told."""
        link = self._links()[0]
        if link is not None and not self._started:
            link.send(self._started_message(self._step))

    def _started_message(self, from_step: int) -> Dict[str, Any]:
        self._started = True
        started: Dict[str, Any] = {"type": "started", **self._id, "from_step": from_step}
        if self._resumes:
            started["checkpoints"] = True
        return started

    def _measured(self, iterations: Optional[int]) -> Dict[str, Any]:
        """The measurements of the client: time, iterations and memory."""
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
        device = device_peak.bytes()
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
        link = self._link
        if not isinstance(link, Connection) or link.in_another_process():
            return
        message_out: Dict[str, Any] = {"type": "finished", **self._id, "outcome": outcome}
        if message:
            message_out["message"] = message
        if values:
            message_out["values"] = values
        if last:
            message_out["last"] = True
        if outcome in ("out_of_memory", "complete"):  # a trial may be complete without a report
            message_out["peak_bytes"] = peak.bytes()
        if self._last is not None and self._last.exists():
            message_out["checkpoint"] = str(self._last)
        try:
            link.send(message_out)
        except OSError:
            pass  # hpo has gone: the message has no reader
        link.ranks.ended(outcome)
        if link.once:
            link.ranks.over()


def _of_this_process(params: Mapping[str, Any]) -> Trial:
    from . import trial

    return trial(params)
