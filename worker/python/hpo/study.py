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
as long as the study is open (_session.py). Safe for threads.
"""

from __future__ import annotations

import operator
import os
import pathlib
import re
import sys
import tempfile
import threading
from collections import deque
from concurrent.futures import wait
from typing import (TYPE_CHECKING, Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type,
                    Union, overload)

from . import __version__
from ._asked_trial import AskedTrial
from ._html import study_html
from ._numbers import metrics_by_name
from ._program import ProgramNotFound, client_of, program as find_program
from ._progress import progress_of
from ._results import TrialRecord, TrialRecords
from ._session import Session, StudyError, checked, session_named_in, waited
from ._space import Space, set_options, study_keys, study_text
from ._trial import Params, Pruned

if TYPE_CHECKING:
    import pandas

__all__ = ["AskedTrial", "Best", "Pruned", "Study", "StudyError"]

_MOST_SECONDS = 10  # seconds that an interrupted report waits for its answer

Metrics = Union[Mapping[str, Any], float, None]


class Best(NamedTuple):
    """The best trial so far, or one of the Pareto front."""

    number: int
    params: Params
    values: Dict[str, float]
    """The metrics of its best step, and the values that were told with its end."""
    step: int
    state: str
    value: float
    """The objective's value."""


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
                 direction: Union[str, Sequence[str], None] = None, at: Optional[str] = None, trials: Optional[int] = None,
                 epochs: Optional[int] = None, time: Union[str, float, None] = None, patience: Optional[int] = None,
                 seed: Optional[int] = None, repeats: Optional[int] = None,
                 sampler: Union[str, Mapping[str, Any], None] = None,
                 stopping: Union[str, Sequence[Mapping[str, Any]], None] = None,
                 where: Union[str, Sequence[str], None] = None,
                 constraints: Optional[Sequence[Mapping[str, Any]]] = None,
                 start: Optional[Sequence[Mapping[str, Any]]] = None, warm_start: Union[str, Sequence[str], None] = None,
                 store: bool = True, set: Sequence[str] = (), program: Optional[str] = None) -> None:
        """`study`: a study file, or the name of a study that was begun; with `space`, the name of this study. A study
        without a name is not stored.

        `space`: names to hpo.Float, hpo.Int, hpo.Categorical or a list of choices, or a function that defines them (see
        Space). `objective`: the metric to optimize, in a `direction`, minimize or maximize (val_loss, loss and
        val_accuracy have theirs); several are a list of names, all in `direction` or each in that of a list, or of
        {"metric": ..., "direction": ...}. `trials` (64; with `time` alone as many as it allows), `epochs` (the steps of a
        trial, 20), `time` (seconds, or "30m") and `patience` are the budget. These and the others up to `warm_start` are the keys of a study file (docs/studies.md), and override those of `study` without `space`.

        `store=False` keeps nothing. `set`: any key, such as "budget.trials=50". `program`: hpo itself; by default
        $HPO_PROGRAM, the one that this client belongs to, or the one on the PATH.

        Raises StudyError with hpo's message where the study is wrong, runs elsewhere or began with another space, and
        where hpo is not found or has another version."""
        keys = study_keys(objective=objective, direction=direction, at=at, trials=trials, epochs=epochs, time=time,
                          patience=patience, seed=seed, repeats=repeats, sampler=sampler, stopping=stopping, where=where,
                          constraints=constraints, start=start, warm_start=warm_start)
        if study is None and space is None:
            raise TypeError("hpo.Study() needs a study file, the name of a study that was begun, or space=")
        self._stored = store and study is not None
        options = [] if self._stored else ["--no-store"]
        for assignment in [*(set_options(keys) if space is None else []), *set]:
            options += ["--set", assignment]
        self._claims = threading.Lock()
        self._returned: Deque[Mapping[str, Any]] = deque()  # trials of calls that were interrupted; guarded by _claims
        try:
            self._program = find_program(program)
        except ProgramNotFound as error:
            raise StudyError(str(error)) from None
        if space is None:
            self._session = self._open(os.fspath(study or ""), options)
        else:
            with tempfile.TemporaryDirectory(prefix="hpo-study-") as folder:
                file = pathlib.Path(folder, "hpo.Study")
                file.write_text(study_text(os.fspath(study or "unnamed"), space, keys), encoding="utf-8")
                self._session = self._open(str(file), options)
        about = self._session.about
        self.name: str = about["study"]
        self.metric: str = about["metric"]
        """The objective's."""
        self.direction: str = about["direction"]
        self.steps: int = about["epochs"]
        """The full length of a trial (budget.epochs)."""
        self.budget: Optional[int] = about["trials"]
        """The number of trials (budget.trials); None: as many as the time allows."""
        self.seed: int = about["seed"]
        self._final: Optional[Dict[str, Any]] = None  # what leads, once the session is closed
        self.done: Optional[str] = None
        """Why the study is over, once an ask was told so."""

    def _open(self, file: str, options: Sequence[str]) -> Session:
        """Starts hpo, where an earlier session of this process may have to end for it."""
        try:
            session = self._begin(file, options)
        except StudyError as error:
            earlier = session_named_in(str(error))
            if earlier is None:
                raise
            earlier.close("the study was opened again in this process, which has closed this session")
            session = self._begin(file, options)
        version = str(session.about.get("version", "0.0"))
        if version.split(".")[:2] != __version__.split(".")[:2]:
            session.close()
            raise StudyError(f"this client is of version {__version__}, and {self._program} "
                             f"{'is older' if version == '0.0' else 'of version ' + version}: use the client that "
                             f"belongs to it ({client_of(self._program)}), or name another program by HPO_PROGRAM")
        return session

    def _begin(self, file: str, options: Sequence[str]) -> Session:
        try:
            return Session(self._program, file, options)
        except StudyError as error:
            raise StudyError(_of_arguments(str(error), os.path.dirname(file))) from error.__cause__

    def __repr__(self) -> str:
        return f"<study {self.name}: {self.direction} {self.metric}>"

    def _repr_html_(self) -> Optional[str]:
        if self._session.is_closed():
            return None  # a notebook then shows repr()
        front, several = self._leading()
        return study_html(self.name, self.metric, self.direction, self.budget, self.trials, front, several)

    @overload
    def ask(self) -> Optional[AskedTrial]: ...

    @overload
    def ask(self, count: int) -> List[AskedTrial]: ...

    def ask(self, count: Optional[int] = None) -> Union[AskedTrial, List[AskedTrial], None]:
        """A trial; None when none may start now (all of the budget are out, or the study is over: see `done`).
        With `count`: a list of at most `count` trials."""
        claim = _Claim(1 if count is None else operator.index(count))
        try:
            waited(self._session.submit(self._claim_trials, claim))
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
        exchange = self._session.submit(self._session.exchange, request)
        try:
            answer = checked("report", waited(exchange))
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
        """The trial is over: complete, with its last numbers (a single one is the objective's; none: its reports
        count), `state="stopped"`, with what it has reported, or `state="failed"`. Returns once that is on the disk."""
        if state not in ("complete", "stopped", "failed"):
            raise ValueError(f"state={state!r}: a trial ends as 'complete', 'stopped' or 'failed'")
        body: Dict[str, Any] = {"trial": _number_of(trial), "state": state}
        numbers = metrics_by_name(metrics, values, self.metric)
        if numbers:
            body["values"] = numbers
        if reason:
            body["reason"] = reason
        self._session.say({"tell": body})
        if isinstance(trial, AskedTrial):
            trial._finished = True

    def optimize(self, function: Callable[[AskedTrial], Any], n: Optional[int] = None, *,
                 catch: Tuple[Type[Exception], ...] = (), progress: Optional[bool] = None) -> None:
        """Calls `function(trial)` for `n` new trials (None: until the study is over), and for those that come back
        meanwhile. What it returns is told: the objective's value, several by name, or None where reports or
        trial.finish() say all. Pruned stops a trial with what it reported. Another exception is a failed trial, and is
        raised again unless it is one of `catch`. An interrupted trial begins again with the next call.

        `progress`: show how far the study is; by default in a notebook and where standard error is a terminal. If it is
        neither, True prints a line for each trial."""
        begun = 0
        with progress_of(self, n, progress) as shown:
            while n is None or begun < n:
                trial = self.ask()
                if trial is None:
                    break
                begun += 0 if trial.reported else 1
                shown.began(trial.number, begun)
                self._train(function, trial, catch)
                shown.ended(trial)
        if self.done and begun < (n or 0):
            more = f"; open it with trials={self.budget + n - begun} for all of them" if self.budget and n else ""
            print(f"hpo: study {self.name} is over ({self.done}): {begun} of {n} trials began{more}", file=sys.stderr,
                  flush=True)

    def _train(self, function: Callable[[AskedTrial], Any], trial: AskedTrial,
               catch: Tuple[Type[Exception], ...]) -> None:
        try:
            try:
                result = function(trial)
            except Pruned:
                trial._prune()
                return
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
        answer = self._final or self._session.say({"best": 1})
        trials = answer.get("front", [answer] if answer["trial"] is not None else [])
        return [self._best_of(trial) for trial in trials], "front" in answer

    def _best_of(self, answer: Mapping[str, Any]) -> Best:
        values = {name: float(value) for name, value in answer["values"].items()}
        return Best(answer["trial"], Params(answer["params"]), values, answer["step"], answer["state"],
                    values.get(self.metric, float("nan")))

    @property
    def trials(self) -> TrialRecords:
        """All trials so far, by number: a list that a notebook shows as a table."""
        answer = self._session.say({"trials": 1})
        return TrialRecords([TrialRecord.of(trial) for trial in answer["trials"]], self.metric)

    def to_pandas(self) -> "pandas.DataFrame":
        """All trials as a table, by number: state, value, best_step, steps, params.NAME, values.NAME, closing.NAME (what
        was told at the end), rule, reason, started, ended. Raises ImportError without pandas."""
        return self.trials.to_pandas()

    def close(self) -> None:
        """Ends the session. Trials that were not told come back from the next session's ask(). `best` and `front` stay
        what they were. In a process that was forked from the one that opened the session, it does nothing."""
        try:
            if not self._session.is_closed():
                self._final = self._session.say({"best": 1})
        except StudyError:
            pass  # hpo has ended by itself
        finally:  # also after Ctrl-C: hpo would hold the study as long as this process runs
            self._session.close(self._closed())

    def _closed(self) -> str:
        """The answer to requests after the end."""
        if self._stored:
            known = "`best` and `front` are known, and for the rest " if self._final else ""
            return f"the study is closed; {known}open it again: hpo.Study({self.name!r})"
        known = "only `best` and `front` are" if self._final else "nothing of it is"
        return f"the study is closed, and as it was not stored {known} known: read `trials` before it is closed"

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __del__(self) -> None:
        session: Optional[Session] = getattr(self, "_session", None)
        if session is not None:
            session.close()

    def _claim_trials(self, claim: _Claim) -> None:
        """Claims the trials that interrupted calls have left, then new ones. Runs between exchanges, so that it
        comes after the answers to interrupted calls."""
        with self._claims:
            while self._returned and len(claim.trials) < claim.wanted and not claim.abandoned:
                claim.trials.append(self._returned.popleft())
            missing = claim.wanted - len(claim.trials)
        if (missing <= 0 and claim.trials) or claim.abandoned:
            return
        answer = checked("ask", self._session.exchange({"ask": missing}))
        if answer.get("done"):
            self.done = answer["reason"]
        with self._claims:
            (self._returned if claim.abandoned else claim.trials).extend(answer["trials"])

    def _abandon(self, claim: _Claim) -> None:
        with self._claims:
            claim.abandoned = True
            self._returned.extendleft(reversed(claim.trials))

def _number_of(trial: Union[AskedTrial, int]) -> int:
    return trial.number if isinstance(trial, AskedTrial) else operator.index(trial)


def _of_arguments(message: str, folder: str) -> str:
    """A message about a study file, in which a file that was made from the arguments in `folder` is not quoted."""
    if f"{folder}/hpo.Study" not in message:
        return message
    lines = [re.sub(r"^.*?hpo\.Study(:\d+:\d+)?: ", "", line) for line in message.splitlines() if not re.match(r" *\d* \|", line)]
    return re.sub(r"'(?:budget|objective|sampler)\.(\w+)'", r"\1=", "\n".join(lines))
