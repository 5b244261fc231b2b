"""A search from within a program or a notebook: hpo proposes, this program trains (docs/python.md).

    import hpo

    def train(trial):
        model = build(lr=trial.params.lr, width=trial.params["width"])
        for epoch in trial.epochs():                  # ends when a rule says so
            trial.report(epoch, val_loss=model.fit())
        return model.validate()                       # the objective; None: what was reported counts

    space = {"lr": hpo.Float(1e-4, 1e-1, log=True), "width": hpo.Int(16, 256, log=True)}
    with hpo.Study("widths", space=space, objective="val_loss") as study:
        study.optimize(train, 50)
        print(study.best)

or by hand, one trial after the other or many at once:

    trial = study.ask()                               # None: no trial may start now
    study.tell(trial, loss(trial.params))

hpo.Study("study.yaml") takes the space from a study file, which needs no `worker`. What was told is stored below runs/,
and the same study goes on where it was (`store=False` keeps nothing). A process `hpo ask-tell` runs beside this one for
as long as the study is open; it is free of signal handlers and prints nothing. Safe for threads: each waits for its own
answer.
"""

from __future__ import annotations

import json
import operator
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import (TYPE_CHECKING, Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type,
                    TypeVar, Union, overload)

from . import __version__
from ._html import study_html
from ._numbers import metrics_by_name
from ._program import ProgramNotFound, program as find_program
from ._progress import progress_of
from ._results import TrialRecord, TrialRecords
from ._space import Space, set_options, study_keys, study_text
from ._trial import Params, Pruned, Trial

if TYPE_CHECKING:
    import pandas

__all__ = ["AskedTrial", "Best", "Pruned", "Study", "StudyError"]

_MOST_BYTES = 1 << 20  # of a request
_MOST_SECONDS = 10  # that an interrupted report waits for its answer
_MOST_WARNINGS = 1 << 20  # bytes that are shown at once

Metrics = Union[Mapping[str, Any], float, None]
T = TypeVar("T")


class StudyError(RuntimeError):
    """The error message of hpo, or the reason why it has ended or cannot start."""


class Best(NamedTuple):
    """The best trial so far, or one of the Pareto front."""

    number: int
    params: Params
    values: Dict[str, float]
    """The metrics of its best step, and what was told with its end."""
    step: int
    state: str
    value: float
    """The objective's value."""


class AskedTrial(Trial):
    """A trial that a study has given out to this program. It keeps no checkpoints, and its reports go to the study."""

    def __init__(self, study: "Study", given: Mapping[str, Any]) -> None:
        super().__init__({}, None, {**given, "steps": study.steps, "data_seed": study.seed,
                                    "objective": {"metric": study.metric}, "done": {"step": given.get("resume_from", 0)}})
        self.study = study
        self.repeat_of: int = given.get("repeat_of", 0)
        """The trial whose configuration this one trains with another seed; 0: none."""
        self._given = given
        self._repeats: int = given.get("delivered", 0)  # steps of a trial that was interrupted, which the study knows
        self._delivered = self._repeats  # the last step that this session has been told
        self._sent: Dict[int, Mapping[str, Any]] = dict(given.get("sent", {}))  # the metrics of these steps
        self._warned = False

    def _deliver(self, step: int, numbers: Mapping[str, Any], iterations: Optional[int]) -> None:
        if self._finished or self._stop in ("stopped", "paused"):
            state = "has ended" if self._finished else "is paused" if self._stop == "paused" else "was stopped"
            self._warn(f"{state}; what is reported now is not used: return once trial.should_stop()")
        elif step > self._repeats:
            self.study.report(self, step, numbers)
            self._sent[step] = numbers
        elif step not in self._sent:
            self._warn(f"began again after an interruption and reports step {step}, which it had left out: it is not used")
        elif self._sent[step] != numbers:
            self._warn(f"began again after an interruption and reports other numbers for step {step}; those reported "
                       "first are kept")

    def _warn(self, message: str) -> None:
        """Tells the user, once a trial, that a report is not used."""
        if not self._warned:
            self._warned = True
            print(f"hpo: trial {self.number} {message}", file=sys.stderr, flush=True)

    def _heard(self, step: int, answer: Mapping[str, Any]) -> None:
        """The study has decided on a step."""
        self._step = max(self._step, step)
        self._delivered = max(self._delivered, step)
        decided = {"stop": "stopped", "pause": "paused"}.get(answer["decision"])
        self._stop = decided or ("complete" if self.steps is not None and step >= self.steps else None)
        self.rule, self.reason = answer.get("rule", ""), answer.get("reason", "")

    def _finish(self, outcome: str, message: str = "", values: Optional[Mapping[str, Any]] = None,
                last: bool = False) -> None:
        if self._finished or self.decision != "continue":
            return  # it has ended with what it reported, or is paused
        failed = outcome in ("failed", "out_of_memory")
        self.study.tell(self, values, state="failed" if failed else "complete", reason=message)

    def __reduce__(self) -> Any:
        raise TypeError("a trial of a Study belongs to the process that opened the study: hand over trial.params")


_sessions: "weakref.WeakSet[Study]" = weakref.WeakSet()


def _leave_sessions_to_the_parent() -> None:
    """In a forked process: the sessions belong to the process that has opened them. As long as this one held their
    pipes open, hpo would not notice that they were closed."""
    for study in _sessions:
        nothing = os.open(os.devnull, os.O_RDWR)
        for pipe in (study._child.stdin, study._child.stdout):
            if pipe is not None and not pipe.closed:
                os.dup2(nothing, pipe.fileno(), inheritable=False)
        os.close(nothing)


os.register_at_fork(after_in_child=_leave_sessions_to_the_parent)


class _Claim:
    """The trials that one call of ask() is to return."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.trials: List[Mapping[str, Any]] = []
        self.abandoned = False  # the call was interrupted: its trials are for the next one


class Study:
    """One session of a study. Another process that runs the study at the same time is refused, as are processes forked
    from this one. Opened again in this process, as when a notebook's cell runs twice, the study goes on in the new
    session, and the earlier one is closed."""

    def __init__(self, study: Union[str, "os.PathLike[str]", None] = None, *,
                 space: Union[Mapping[str, Any], Callable[[Space], Any], None] = None,
                 objective: Union[str, Mapping[str, Any], Sequence[Union[str, Mapping[str, Any]]], None] = None,
                 direction: Optional[str] = None, at: Optional[str] = None, trials: Optional[int] = None,
                 epochs: Optional[int] = None, time: Union[str, float, None] = None, patience: Optional[int] = None,
                 seed: Optional[int] = None, repeats: Optional[int] = None,
                 sampler: Union[str, Mapping[str, Any], None] = None,
                 stopping: Union[str, Sequence[Mapping[str, Any]], None] = None,
                 where: Union[str, Sequence[str], None] = None,
                 constraints: Optional[Sequence[Mapping[str, Any]]] = None,
                 start: Optional[Sequence[Mapping[str, Any]]] = None, warm_start: Optional[Sequence[str]] = None,
                 store: bool = True, set: Sequence[str] = (), program: Optional[str] = None) -> None:
        """`study`: a study file, or the name of a study that was begun; with `space`, the name of this study. A study
        without a name is not stored.

        `space`: names to hpo.Float, hpo.Int, hpo.Categorical or a list of choices, or a function that defines them (see
        Space). `objective`: the metric to optimize, in a `direction`, minimize or maximize (val_loss, loss and
        val_accuracy have theirs); several are a list of names, all in `direction`, or of {"metric": ..., "direction":
        ...}. `trials` (64), `epochs` (the steps of a trial, 20), `time` (seconds, or "30m") and `patience` are the budget. These and the others up to
        `warm_start` are the keys of a study file (docs/studies.md), and override those of `study` without `space`.

        `store=False` keeps nothing. `set`: any key, such as "budget.trials=50". `program`: hpo itself; by default
        $HPO_PROGRAM, the one that this client belongs to, or the one on the PATH.

        Raises StudyError with hpo's message where the study is wrong, runs elsewhere or began with another space, and
        where hpo is not found or has another version."""
        keys = study_keys(objective=objective, direction=direction, at=at, trials=trials, epochs=epochs, time=time,
                          patience=patience, seed=seed, repeats=repeats, sampler=sampler, stopping=stopping, where=where,
                          constraints=constraints, start=start, warm_start=warm_start)
        if study is None and space is None:
            raise TypeError("hpo.Study() needs a study file, the name of a study that was begun, or space=")
        options = [] if store and study is not None else ["--no-store"]
        for assignment in [*(set_options(keys) if space is None else []), *set]:
            options += ["--set", assignment]
        self._lock = threading.Lock()
        # Ctrl-C raises in the main thread. It may end the wait for an answer, but no exchange half-way: the answer
        # would be taken for that of the next request.
        self._exchanges = ThreadPoolExecutor(1, "hpo-study")
        self._claims = threading.Lock()
        self._returned: Deque[Mapping[str, Any]] = deque()  # trials of calls that were interrupted; guarded by _claims
        self._closed_by = "the study is closed"
        self._pid = os.getpid()
        try:
            self._program = find_program(program)
        except ProgramNotFound as error:
            raise StudyError(str(error)) from None
        if space is None:
            about = self._open(os.fspath(study or ""), options)
        else:
            with tempfile.TemporaryDirectory(prefix="hpo-study-") as folder:
                file = pathlib.Path(folder, "hpo.Study")
                file.write_text(study_text(os.fspath(study or "unnamed"), space, keys), encoding="utf-8")
                about = self._open(str(file), options)
        self.name: str = about["study"]
        self.metric: str = about["metric"]
        """The objective's."""
        self.direction: str = about["direction"]
        self.steps: int = about["epochs"]
        """The full length of a trial (budget.epochs)."""
        self.budget: int = about["trials"]
        """The number of trials (budget.trials)."""
        self.seed: int = about["seed"]
        self.done: Optional[str] = None
        """Why the study is over, once an ask was told so."""

    def _open(self, file: str, options: Sequence[str]) -> Dict[str, Any]:
        """Starts hpo, and returns what it says of the study."""
        try:
            about = self._begin(file, options)
        except StudyError as error:
            earlier = self._earlier_session(str(error))
            if earlier is None:
                raise
            earlier._closed_by = "the study was opened again in this process, which has closed this session"
            earlier.close()
            about = self._begin(file, options)
        version = str(about.get("version", "0.0"))
        if version.split(".")[:2] != __version__.split(".")[:2]:
            self.close()
            raise StudyError(f"this client is of version {__version__}, and {self._program} "
                             f"{'is older' if version == '0.0' else 'of version ' + version}: install the client that "
                             "belongs to it (pip install worker/python in its checkout), or name another program by "
                             "HPO_PROGRAM")
        return about

    def _begin(self, file: str, options: Sequence[str]) -> Dict[str, Any]:
        self._errors = tempfile.TemporaryFile()  # its standard error, whose place in the file is that of the child, too
        self._shown = 0  # bytes of it
        try:
            # A session of its own: Ctrl-C is for this program to understand.
            self._child = subprocess.Popen([self._program, "ask-tell", file, *options], stdin=subprocess.PIPE,
                                           stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True)
        except OSError as error:
            self._errors.close()
            raise StudyError(f"{self._program} cannot be started: {error}; name another program by HPO_PROGRAM or "
                             "program=") from error
        _sessions.add(self)
        try:
            about = self._say({"study": 1})
            self._show_warnings()
            return about
        except StudyError as error:
            self._end()
            raise StudyError(_of_arguments(str(error), os.path.dirname(file))) from None
        except BaseException:
            self.close()
            raise

    def _earlier_session(self, message: str) -> Optional["Study"]:
        """The session of this process that holds the study, if the message of a refusal names its hpo."""
        holder = re.search(r"\bprocess (\d+)\b", message)
        for other in list(_sessions) if holder else []:
            if other is not self and other._pid == os.getpid() and holder and other._child.pid == int(holder[1]):
                return other
        return None

    def __repr__(self) -> str:
        return f"<study {self.name}: {self.direction} {self.metric}>"

    def _repr_html_(self) -> Optional[str]:
        if self._is_closed():
            return None  # a notebook then shows repr()
        front, several = self._leading()
        return study_html(self.name, self.metric, self.direction, self.budget, self.trials, front, several)

    def _is_closed(self) -> bool:
        return os.getpid() != self._pid or self._child.stdin is None or self._child.stdin.closed

    @overload
    def ask(self) -> Optional[AskedTrial]: ...

    @overload
    def ask(self, count: int) -> List[AskedTrial]: ...

    def ask(self, count: Optional[int] = None) -> Union[AskedTrial, List[AskedTrial], None]:
        """A trial; None when none may start now (all of the budget are out, or the study is over: see `done`).
        With `count` a list of so many, or of fewer."""
        claim = _Claim(1 if count is None else operator.index(count))
        try:
            self._answer(self._submit(self._claim_trials, claim))
            trials = [AskedTrial(self, given) for given in claim.trials]
        except BaseException:
            self._abandon(claim)
            raise
        return trials if count is not None else trials[0] if trials else None

    def report(self, trial: Union[AskedTrial, int], step: int, metrics: Metrics = None, **values: Any) -> str:
        """Step `step` (from 1) of a trial is done. Returns the decision: continue; stop: the trial has ended with what
        it reported; pause: it may come back from a later ask()."""
        step = operator.index(step)  # NumPy's integers, too
        numbers = metrics_by_name(metrics, values, self.metric)
        request = {"report": {"trial": _number_of(trial), "step": step, "values": numbers}}
        exchange = self._submit(self._exchange, request)
        try:
            answer = _checked("report", self._answer(exchange))
        except KeyboardInterrupt:  # the step is on its way: the trial is to know whether the study has it
            if isinstance(trial, AskedTrial):
                wait([exchange], timeout=_MOST_SECONDS)
                if exchange.done() and exchange.exception() is None and "error" not in exchange.result():
                    trial._heard(step, exchange.result())
                    trial._sent[step] = numbers
            raise
        if isinstance(trial, AskedTrial):
            trial._heard(step, answer)
        return str(answer["decision"])

    def tell(self, trial: Union[AskedTrial, int], metrics: Metrics = None, *, state: str = "complete", reason: str = "",
             **values: Any) -> None:
        """The trial is over: complete, with its last numbers (a single one is the objective's; none: what it reported
        counts), or `state="failed"`. Returns once that is on the disk."""
        if state not in ("complete", "failed"):
            raise ValueError(f"state={state!r}: a trial ends as 'complete' or as 'failed'")
        body: Dict[str, Any] = {"trial": _number_of(trial), "state": state}
        numbers = metrics_by_name(metrics, values, self.metric)
        if numbers:
            body["values"] = numbers
        if reason:
            body["reason"] = reason
        self._say({"tell": body})
        if isinstance(trial, AskedTrial):
            trial._finished = True

    def optimize(self, function: Callable[[AskedTrial], Any], n: Optional[int] = None, *,
                 catch: Tuple[Type[Exception], ...] = (), progress: Optional[bool] = None) -> None:
        """Calls `function(trial)` for `n` new trials (None: until the study is over), and for those that come back
        meanwhile. What it returns is told: the objective's value, several by name, or None where reports or
        trial.finish() say all. Pruned ends a trial with what it reported. Another exception is a failed trial, and is
        raised again unless it is one of `catch`. An interrupted trial begins again with the next call.

        `progress`: show how far the study is; by default in a notebook and where standard error is a terminal. If it is
        neither, True prints a line for each trial."""
        begun = 0
        with progress_of(self, n, progress) as shown:
            while n is None or begun < n:
                trial = self.ask()
                if trial is None:
                    return
                begun += 0 if trial.reported else 1
                shown.began(trial.number, begun)
                self._train(function, trial, catch)
                shown.ended(trial)

    def _train(self, function: Callable[[AskedTrial], Any], trial: AskedTrial,
               catch: Tuple[Type[Exception], ...]) -> None:
        try:
            try:
                result = function(trial)
            except Pruned:
                if not trial.reported and not trial._finished:  # there is no value to stop with
                    trial._finish("failed", "pruned before its first report")
                result = None
            if not trial._finished and trial.decision == "continue":
                self.tell(trial, result)
        except Exception as error:  # of a result that is no number, too
            trial._finish("failed", f"{type(error).__name__}: {error}"[:1000])
            if isinstance(error, catch):
                return
            raise
        except BaseException:  # Ctrl-C, or a notebook's stop
            if trial.decision == "continue" and not trial._finished:
                with self._claims:
                    self._returned.appendleft({**trial._given, "delivered": trial._delivered, "sent": trial._sent,
                                               "resume_from": max(trial._delivered, trial.reported)})
            raise

    @property
    def best(self) -> Optional[Best]:
        """The best trial so far; None before the first value. Raises StudyError where the study has several objectives:
        no trial is the best then, and `front` has those that no other beats."""
        front, several = self._leading()
        if several:
            raise StudyError(f"study {self.name} has several objectives, so no trial is the best: study.front has the "
                             "trials that no other beats")
        return front[0] if front else None

    @property
    def front(self) -> List[Best]:
        """Of a study with several objectives the Pareto front so far, by the first objective; else the best alone."""
        return self._leading()[0]

    def _leading(self) -> Tuple[List[Best], bool]:
        """The front, and whether the study has several objectives."""
        answer = self._say({"best": 1})
        trials = answer.get("front", [answer] if answer["trial"] is not None else [])
        return [self._best_of(trial) for trial in trials], "front" in answer

    def _best_of(self, answer: Mapping[str, Any]) -> Best:
        values = {name: float(value) for name, value in answer["values"].items()}
        return Best(answer["trial"], Params(answer["params"]), values, answer["step"], answer["state"],
                    values.get(self.metric, float("nan")))

    @property
    def trials(self) -> TrialRecords:
        """All trials so far, by number: a list that a notebook shows as a table."""
        answer = self._say({"trials": 1})
        return TrialRecords([TrialRecord.of(trial) for trial in answer["trials"]], self.metric)

    def to_pandas(self) -> "pandas.DataFrame":
        """All trials as a table, by number: state, value, best_step, steps, params.NAME, values.NAME, closing.NAME (what
        was told at the end), rule, reason, started, ended. Raises ImportError without pandas."""
        return self.trials.to_pandas()

    def close(self) -> None:
        """Ends the session. Trials that were not told come back from the next session's ask(). In a process that was
        forked from the one that opened the session, it does nothing."""
        if os.getpid() != self._pid:
            return
        self._exchanges.shutdown(wait=False)
        self._end()

    def _end(self) -> None:
        """Ends hpo."""
        with self._lock:
            if self._child.stdin and not self._child.stdin.closed:
                try:
                    self._child.stdin.close()
                except OSError:
                    pass  # it has ended
            if self._child.stdout and not self._child.stdout.closed:
                self._child.stdout.read()
                self._child.stdout.close()
            self._child.wait()
            if not self._errors.closed:
                self._show_warnings()
                self._errors.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_child", None) is not None:
            self.close()

    def _claim_trials(self, claim: _Claim) -> None:
        """Those that interrupted calls have left, then new ones. Runs between exchanges, so that it comes after the
        answers to such calls."""
        with self._claims:
            while self._returned and len(claim.trials) < claim.wanted and not claim.abandoned:
                claim.trials.append(self._returned.popleft())
            missing = claim.wanted - len(claim.trials)
        if (missing <= 0 and claim.trials) or claim.abandoned:
            return
        answer = _checked("ask", self._exchange({"ask": missing}))
        if answer.get("done"):
            self.done = answer["reason"]
        with self._claims:
            (self._returned if claim.abandoned else claim.trials).extend(answer["trials"])

    def _abandon(self, claim: _Claim) -> None:
        with self._claims:
            claim.abandoned = True
            self._returned.extendleft(reversed(claim.trials))

    def _say(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        return _checked(next(iter(request)), self._answer(self._submit(self._exchange, request)))

    def _submit(self, work: Callable[[Any], T], argument: Any) -> "Future[T]":
        if os.getpid() != self._pid:
            raise StudyError("this process was forked from the one that opened the study, which alone can use it")
        try:
            return self._exchanges.submit(work, argument)
        except RuntimeError as error:
            raise StudyError(self._closed_by) from error

    @staticmethod
    def _answer(answer: "Future[T]") -> T:
        # A signal that comes just before the thread sleeps does not wake it, and Python then sees it only afterwards.
        while not answer.done():
            wait([answer], timeout=1)
        return answer.result()

    def _exchange(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        if len(line) > _MOST_BYTES:
            raise StudyError(f"{len(line)} bytes are too many for hpo, which takes {_MOST_BYTES} at once: report fewer "
                             "metrics, or such with shorter names")
        with self._lock:
            if self._child.stdin is None or self._child.stdin.closed or self._child.stdout is None:
                raise StudyError(self._closed_by)
            try:
                self._child.stdin.write(line)
                self._child.stdin.flush()
                answer = self._child.stdout.readline()
            except OSError:
                answer = b""
            if not answer.endswith(b"\n"):
                raise StudyError(self._last_message())
        received: Dict[str, Any] = json.loads(answer)
        return received

    def _warnings(self) -> str:
        """What hpo has written to its standard error since the last call."""
        written = os.pread(self._errors.fileno(), _MOST_WARNINGS, self._shown)
        self._shown += len(written)
        return written.decode(errors="replace").strip()

    def _show_warnings(self) -> None:
        warnings = self._warnings()
        if warnings and sys.stderr is not None:
            print(warnings, file=sys.stderr, flush=True)

    def _last_message(self) -> str:
        status = self._child.wait()
        message = self._warnings().removeprefix("hpo: ")
        how = f"was killed by signal {-status}" if status < 0 else f"has ended with status {status}"
        return message or f"hpo ask-tell {how}"


def _checked(request: str, answer: Dict[str, Any]) -> Dict[str, Any]:
    if "error" in answer:
        raise StudyError(answer["error"].removeprefix(f"{request}: "))
    return answer


def _number_of(trial: Union[AskedTrial, int]) -> int:
    return trial.number if isinstance(trial, AskedTrial) else operator.index(trial)


def _of_arguments(message: str, folder: str) -> str:
    """A message about a study file, in which a file that was made from the arguments in `folder` is not quoted."""
    if f"{folder}/hpo.Study" not in message:
        return message
    lines = [re.sub(r"^.*?hpo\.Study(:\d+:\d+)?: ", "", line) for line in message.splitlines() if not re.match(r" *\d* \|", line)]
    return re.sub(r"'(?:budget|objective|sampler)\.(\w+)'", r"\1=", "\n".join(lines))
