"""A stand-in for nni, by hpo (worker: {shim: nni}): a script that takes its parameters from nni.get_next_parameter() and
reports to it is a trial of hpo as it is. Nothing of NNI is in it, and nothing else of NNI works with it."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional

from hpo import standin as _standin

__version__ = "999.0"  # of no release: newer than any that a script may ask for


def get_next_parameter() -> Dict[str, Any]:
    """Of this trial; a choice that has parameters of its own is {"_name": ..., "width": ...}. Empty without hpo."""
    _set_environment()
    return _standin.nested(_standin.parameters())


def get_current_parameter(tag: Optional[str] = None) -> Any:
    params = get_next_parameter()
    return params if tag is None else params.get(tag)


def report_intermediate_result(metric: Any) -> None:
    """A step: a number, or a mapping with one as 'default'."""
    _report(metric)


def report_final_result(metric: Any) -> None:
    """The trial's result: the last step."""
    _report(metric)


def get_experiment_id() -> str:
    return "hpo"


def get_trial_id() -> str:
    return f"trial-{_standin.trial_number()}"


def get_sequence_id() -> int:
    """From 0."""
    return max(0, _standin.trial_number() - 1)


def _set_environment() -> None:
    """Sets the variables of NNI that scripts read: output folder and ids. Sets nothing without hpo."""
    if _standin.trial_number() < 1:
        return
    for name, value in (("NNI_PLATFORM", "local"), ("NNI_EXP_ID", get_experiment_id()), ("NNI_TRIAL_JOB_ID", get_trial_id()),
                        ("NNI_TRIAL_SEQ_ID", str(get_sequence_id())), ("NNI_OUTPUT_DIR", _standin.folder()),
                        ("NNI_SYS_DIR", _standin.folder())):
        os.environ[name] = value


def _report(metric: Any) -> None:
    values = metric if isinstance(metric, Mapping) else {"default": metric}
    numbers = _standin.numbers_of(values)
    if "default" not in numbers:
        _standin.tell("nni: a result that is no number, and no mapping with a number as 'default', is ignored")
    _standin.report(numbers)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"hpo's stand-in for nni has no '{name}'; it has get_next_parameter, report_intermediate_result, "
                         "report_final_result, get_trial_id, get_sequence_id and utils.merge_parameter. Without the line "
                         "'shim: nni' in the study the script finds NNI itself")


_set_environment()  # for values that a script asks for before its parameters; a preloaded interpreter has no trial yet
