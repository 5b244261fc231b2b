"""The trials of a study, as they are read from it."""

from __future__ import annotations

import dataclasses
import datetime
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional

from ._html import trials_html
from ._trial import Params

if TYPE_CHECKING:
    import pandas


@dataclasses.dataclass(frozen=True)
class TrialRecord:
    """A trial at the moment when it was read."""

    number: int
    state: str
    """queued, running, paused, complete, stopped, diverged or failed."""
    params: Params
    value: Optional[float]
    """The objective's value; None: none yet."""
    values: Dict[str, float]
    """The metrics of its best step, or of its last step before there is a best one."""
    closing: Dict[str, float]
    """The values that were told with its end."""
    best_step: Optional[int]
    steps: int
    """The last step."""
    rule: Optional[str]
    """The rule that has stopped or paused it."""
    reason: Optional[str]
    repeat_of: Optional[int]
    """The trial whose configuration this one trains with another seed."""
    started: Optional[datetime.datetime]
    """In UTC, as `ended`."""
    ended: Optional[datetime.datetime]

    @classmethod
    def of(cls, json: Mapping[str, Any]) -> "TrialRecord":
        """From a Trial of docs/json.md."""
        return cls(json["trial"], json["state"], Params(json["params"]), _number(json["value"]), _numbers(json["values"]),
                   _numbers(json["closing"]), json["best_step"], json["steps"], json["rule"], json["reason"],
                   json.get("repeat_of"), _time(json["started"]), _time(json["ended"]))


class TrialRecords(List[TrialRecord]):
    """Trials by number. A notebook shows them as a table."""

    def __init__(self, trials: Iterable[TrialRecord] = (), metric: str = "value") -> None:
        super().__init__(trials)
        self.metric = metric

    def _repr_html_(self) -> str:
        return trials_html(self, self.metric)

    def to_pandas(self) -> "pandas.DataFrame":
        """A table of the trials; see Study.to_pandas()."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas, which hpo does not install: pip install pandas") from error
        columns: Dict[str, List[Any]] = {"trial": [trial.number for trial in self]}
        for name in ("state", "value", "best_step", "steps"):
            columns[name] = [getattr(trial, name) for trial in self]
        for part in ("params", "values", "closing"):
            for name in dict.fromkeys(name for trial in self for name in getattr(trial, part)):
                columns[f"{part}.{name}"] = [getattr(trial, part).get(name) for trial in self]
        for name in ("rule", "reason"):
            columns[name] = [getattr(trial, name) for trial in self]
        for name in ("started", "ended"):
            columns[name] = pandas.to_datetime([getattr(trial, name) for trial in self], utc=True)
        frame = pandas.DataFrame(columns).set_index("trial")
        frame["value"] = frame["value"].astype(float)
        frame["best_step"] = frame["best_step"].astype("Int64")
        return frame


def _number(value: Any) -> Optional[float]:
    return None if value is None else float(value)  # "nan" and "inf", too


def _numbers(values: Mapping[str, Any]) -> Dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def _time(text: Optional[str]) -> Optional[datetime.datetime]:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None
