"""A search from within a program or a notebook: hpo proposes, this program trains.

    import hpo

    def train(trial):
        model = build(lr=trial.params.lr, width=trial.params["width"])
        for epoch in trial.epochs():                  # ends when a rule says so
            trial.report(epoch, val_loss=model.fit())
        return model.validate()                       # the objective; None: what was reported counts

    with hpo.Study("study.yaml") as study:
        study.optimize(train, 50)
        print(study.best)

or by hand, one trial after the other or many at once:

    trial = study.ask()                               # None: no trial may start now
    study.tell(trial, loss(trial.params))

The study file needs no `worker`. What was told is stored below runs/, and the same file goes on where it was
(`store=False` keeps nothing). A process `hpo ask-tell` runs beside this one for as long as the study is open; it is
free of signal handlers and prints nothing. Safe for threads: each waits for its own answer.
"""

from __future__ import annotations

import json
import operator
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import weakref
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, Union

from . import Params
from ._numbers import json_metrics

__all__ = ["AskedTrial", "Best", "Pruned", "Study", "StudyError"]


class StudyError(RuntimeError):
    """The error message of hpo, or the reason why it has ended."""


class Pruned(Exception):
    """Raised by a function that optimize() calls, once trial.should_stop(): the trial ends here."""


class Best(NamedTuple):
    """The best trial so far, or one of the Pareto front."""

    number: int
    params: Params
    values: Dict[str, float]
    """The metrics of its best step, and what was told with its end."""
    step: int
    state: str


def _best_of(answer: Mapping[str, Any]) -> Best:
    values = {name: float(value) for name, value in answer["values"].items()}
    return Best(answer["trial"], Params(answer["params"]), values, answer["step"], answer["state"])


class AskedTrial:
    """One trial that the study has given out."""

    def __init__(self, study: "Study", number: int, params: Mapping[str, Any], resume_from: int = 0,
                 seed: Optional[int] = None, repeat_of: int = 0) -> None:
        self.study = study
        self.number = number
        self.params = Params(params)
        self.seed = seed
        """With `repeats` in the study file: the seed to train with."""
        self.repeat_of = repeat_of
        """The trial whose configuration this one trains with another seed; 0: none."""
        self.resume_from = resume_from
        """The last step that was reported before the trial was paused, or its session ended; 0: it begins."""
        self.decision = "continue"
        """The study's last word: continue, stop or pause."""
        self.rule = self.reason = ""
        """Of a stop or a pause: which rule, and why."""
        self._step = resume_from

    def __repr__(self) -> str:
        return f"<trial {self.number} {dict(self.params)}>"

    def epochs(self) -> Iterator[int]:
        """The steps that are left of the study's budget.epochs; ends early when the study says so."""
        while self._step < self.study.steps and not self.should_stop():
            step = self._step + 1
            yield step
            self._step = max(self._step, step)

    def report(self, step: Optional[int] = None, metrics: Union[Mapping[str, Any], float, None] = None,
               **values: Any) -> str:
        """Step `step` (from 1; by itself the next one) is done, with these numbers (a single one is the objective's).
        Returns the decision; see should_stop()."""
        return self.study.report(self, self._step + 1 if step is None else step, metrics, **values)

    def should_stop(self) -> bool:
        """The study wants no further step of this trial now: it was stopped, or is paused and may come back."""
        return self.decision != "continue"


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


class Study:
    """One session of a study. Whoever else runs it at the same time is refused, as are processes forked from this one.
    """

    def __init__(self, file: Union[str, "os.PathLike[str]"], *, store: bool = True, set: Sequence[str] = (),
                 program: Optional[str] = None) -> None:
        """`file`: the study file, or the name of a study that was begun. `set`: overrides, such as "budget.trials=50".
        `program`: hpo itself; by default $HPO_PROGRAM, the one that this client belongs to, or the one on the PATH."""
        command = [program or _program(), "ask-tell", os.fspath(file)]
        command += [] if store else ["--no-store"]
        for assignment in set:
            command += ["--set", assignment]
        self._lock = threading.Lock()
        # Ctrl-C raises in the main thread. It may end the wait for an answer, but no exchange half-way: the answer
        # would be taken for that of the next request.
        self._exchanges = ThreadPoolExecutor(1, "hpo-study")
        self._interrupted: Deque["Future[Dict[str, Any]]"] = deque()  # asks whose answers nobody has taken
        self._given: Deque[Mapping[str, Any]] = deque()  # trials of such answers
        self._claims = threading.Lock()  # of both
        self._errors = tempfile.TemporaryFile()  # of its standard error
        try:
            # A session of its own: Ctrl-C is for this program to understand.
            self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=self._errors, start_new_session=True)
        except OSError as error:
            self._errors.close()
            raise StudyError(f"hpo cannot be started: {error}; put it on the PATH, or name it with HPO_PROGRAM or "
                             "program=") from error
        self._pid = os.getpid()
        _sessions.add(self)
        about = self._say({"study": 1})
        self.name: str = about["study"]
        self.metric: str = about["metric"]
        """The objective's."""
        self.direction: str = about["direction"]
        self.steps: int = about["epochs"]
        """The full length of a trial (budget.epochs)."""
        self.done: Optional[str] = None
        """Why the study is over, once an ask was told so."""

    def __repr__(self) -> str:
        return f"<study {self.name}: {self.direction} {self.metric}>"

    def ask(self, count: Optional[int] = None) -> Any:
        """A trial; None when none may start now (all of the budget are out, or the study is over: see `done`).
        With `count` a list of so many, or of fewer."""
        wanted = 1 if count is None else count
        given = self._given_before(wanted) if isinstance(wanted, int) else []
        if not given or len(given) < wanted:
            asked = self._send({"ask": wanted - len(given) if given else wanted})
            try:
                answer = _checked(asked.result())
            except BaseException:
                self._given.extendleft(reversed(given))
                self._interrupted.append(asked)
                raise
            given += answer["trials"]
            if answer.get("done"):
                self.done = answer["reason"]
        trials = [AskedTrial(self, trial["trial"], trial["params"], trial.get("resume_from", 0), trial.get("seed"),
                             trial.get("repeat_of", 0)) for trial in given]
        return trials if count is not None else trials[0] if trials else None

    def report(self, trial: Union[AskedTrial, int], step: int, metrics: Union[Mapping[str, Any], float, None] = None,
               **values: Any) -> str:
        """Step `step` (from 1) of a trial is done. Returns the decision: continue; stop: the trial has ended with what
        it reported; pause: it may come back from a later ask()."""
        step = operator.index(step)  # NumPy's integers, too
        numbers = self._numbers(metrics, values)
        answer = self._say({"report": {"trial": _number_of(trial), "step": step, "values": numbers}})
        if isinstance(trial, AskedTrial):
            trial._step = max(trial._step, step)
            trial.decision, trial.rule = answer["decision"], answer.get("rule", "")
            trial.reason = answer.get("reason", "")
        return str(answer["decision"])

    def tell(self, trial: Union[AskedTrial, int], metrics: Union[Mapping[str, Any], float, None] = None, *,
             state: str = "complete", reason: str = "", **values: Any) -> None:
        """The trial is over: complete, with its last numbers (a single one is the objective's; none: what it reported
        counts), or `state="failed"`. Returns once that is on the disk."""
        body: Dict[str, Any] = {"trial": _number_of(trial), "state": state}
        numbers = self._numbers(metrics, values)
        if numbers:
            body["values"] = numbers
        if reason:
            body["reason"] = reason
        self._say({"tell": body})

    def optimize(self, function: Callable[[AskedTrial], Any], n: Optional[int] = None, *,
                 catch: Tuple[Type[Exception], ...] = ()) -> None:
        """Calls `function(trial)` for `n` new trials (None: until the study is over), and for those that come back
        meanwhile. What it returns is told: the objective's value, several by name, or None where reports say all.
        Pruned ends a trial with what it reported. Another exception is a failed trial, and is raised again unless it
        is one of `catch`. An interrupted trial comes back in the next session."""
        begun = 0
        while n is None or begun < n:
            trial = self.ask()
            if trial is None:
                return
            begun += 0 if trial.resume_from else 1
            try:
                result = function(trial)
            except Pruned:
                result = None
            except Exception as error:
                if not trial.should_stop():
                    self.tell(trial, state="failed", reason=f"{type(error).__name__}: {error}"[:1000])
                if isinstance(error, catch):
                    continue
                raise
            if not trial.should_stop():
                self.tell(trial, result)

    @property
    def best(self) -> Optional[Best]:
        """The best trial so far; None before the first value."""
        answer = self._say({"best": 1})
        if answer["trial"] is None:
            return None
        return _best_of(answer)

    @property
    def front(self) -> List[Best]:
        """Of a study with several objectives the Pareto front so far, by the first objective; else the best alone."""
        answer = self._say({"best": 1})
        trials = answer.get("front", [answer] if answer["trial"] is not None else [])
        return [_best_of(trial) for trial in trials]

    def close(self) -> None:
        """Ends the session. Trials that were not told come back from the next session's ask(). In a process that was
        forked from the one that opened the session, it does nothing."""
        if os.getpid() != self._pid:
            return
        self._exchanges.shutdown(wait=False)
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
            self._errors.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_child", None) is not None:
            self.close()

    def _numbers(self, metrics: Union[Mapping[str, Any], float, None], values: Mapping[str, Any]) -> Dict[str, Any]:
        given: Mapping[str, Any] = metrics if isinstance(metrics, Mapping) else \
            {} if metrics is None else {self.metric: metrics}
        return json_metrics({**given, **values})

    def _say(self, request: Mapping[str, Any]) -> Dict[str, Any]:
        return _checked(self._send(request).result())

    def _send(self, request: Mapping[str, Any]) -> "Future[Dict[str, Any]]":
        if os.getpid() != self._pid:
            raise StudyError("this process was forked from the one that opened the study, which alone can use it")
        try:
            return self._exchanges.submit(self._exchange, json.dumps(request, separators=(",", ":")).encode() + b"\n")
        except RuntimeError as error:
            raise StudyError("the study is closed") from error

    def _exchange(self, line: bytes) -> Dict[str, Any]:
        with self._lock:
            if self._child.stdin is None or self._child.stdin.closed or self._child.stdout is None:
                raise StudyError("the study is closed")
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

    def _given_before(self, wanted: int) -> List[Mapping[str, Any]]:
        """Up to so many trials that an ask was given while it was interrupted."""
        with self._claims:
            while self._interrupted:
                asked = self._interrupted[0]
                if asked.exception() is None:
                    self._given.extend(asked.result().get("trials", []))
                self._interrupted.popleft()
            return [self._given.popleft() for _ in range(min(wanted, len(self._given)))]

    def _last_message(self) -> str:
        status = self._child.wait()
        self._errors.seek(0)
        message = self._errors.read().decode(errors="replace").strip()
        how = f"was killed by signal {-status}" if status < 0 else f"has ended with status {status}"
        return message or f"hpo ask-tell {how}"


def _checked(answer: Dict[str, Any]) -> Dict[str, Any]:
    if "error" in answer:
        raise StudyError(answer["error"])
    return answer


def _number_of(trial: Union[AskedTrial, int]) -> int:
    return trial.number if isinstance(trial, AskedTrial) else trial


def _program() -> str:
    given = os.environ.get("HPO_PROGRAM")
    if given:
        return given
    here = pathlib.Path(__file__).resolve()
    candidates: List[pathlib.Path] = [parent / "bin" / "hpo" for parent in here.parents[4:5]]  # beside share/hpo/python
    candidates += [parent / "hpo" for parent in here.parents[3:4] if (parent / "CMakeLists.txt").exists()]  # the source
    for program in candidates:
        if program.is_file() and os.access(program, os.X_OK):
            return str(program)
    return shutil.which("hpo") or "hpo"
