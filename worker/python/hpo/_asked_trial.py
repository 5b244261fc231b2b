"""A trial that a Study has given out, and the delivery of its reports to the study."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Set, Tuple

from ._session import StudyError
from ._trial import Trial

if TYPE_CHECKING:
    from .study import Study

__all__ = ["AskedTrial"]


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
        self._warned: Set[str] = set()  # kinds of reports that are not used

    def _deliver(self, step: int, numbers: Mapping[str, Any], iterations: Optional[int]) -> None:
        unused = self._why_unused(step, numbers)
        if unused:
            self._warn(*unused)
        elif step > self._repeats:
            self.study.report(self, step, numbers)
            self._sent[step] = numbers

    def _why_unused(self, step: int, numbers: Mapping[str, Any]) -> Optional[Tuple[str, str]]:
        """The reason why the study does not use a report: a kind and a text; None if it uses or already has it."""
        if self._finished or self._stop is not None:
            state = ("was stopped" if self._stop == "stopped" else "is paused" if self._stop == "paused" else "has ended")
            return "late", f"{state}; what is reported now is not used: return once trial.should_stop()"
        if step <= self._repeats:
            if step not in self._sent:
                return ("left out", f"began again after an interruption and reports step {step}, which it had left out: it is "
                                    "not used")
            if self._sent[step] != numbers:
                return ("other", f"began again after an interruption and reports other numbers for step {step}; those "
                                 "reported first are kept")
            return None
        if step == self._delivered:
            return "again", f"reports step {step} again, which is not used: report all metrics of a step together"
        if step < self._delivered:
            return "back", f"reports step {step} after step {self._delivered}, which is not used"
        if self.steps is not None and step > self.steps:
            return "beyond", f"reports step {step}, which is not used: the study has {self.steps} (epochs=)"
        return None

    def _warn(self, kind: str, message: str) -> None:
        """Tells the user, once a trial for each kind, that a report is not used."""
        if kind not in self._warned:
            self._warned.add(kind)
            print(f"hpo: trial {self.number} {message}", file=sys.stderr, flush=True)

    def _heard(self, step: int, answer: Mapping[str, Any]) -> None:
        """The study has decided on a step."""
        self._step = max(self._step, step)
        self._told = max(self._told, step)
        self._delivered = max(self._delivered, step)
        decided = {"stop": "stopped", "pause": "paused"}.get(answer["decision"])
        self._stop = decided or ("complete" if self.steps is not None and step >= self.steps else None)
        self.rule, self.reason = answer.get("rule", ""), answer.get("reason", "")

    def _finish(self, outcome: str, message: str = "", values: Optional[Mapping[str, Any]] = None,
                last: bool = False) -> None:
        if self._finished or self.decision != "continue":
            return  # ended with its reported values, or paused
        state = {"out_of_memory": "failed"}.get(outcome, outcome)
        try:
            self.study.tell(self, values, state=state, reason=message)
        except StudyError as error:
            if state != "stopped":
                raise
            self.study.tell(self, values, state="failed", reason=f"{message}: {error}")  # it lacks the objective

    def __reduce__(self) -> Any:
        raise TypeError("a trial of a Study belongs to the process that opened the study: hand over trial.params")
