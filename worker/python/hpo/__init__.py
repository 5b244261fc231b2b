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

A checkpoint up to which reports are missing, as after a loss of power, ends the attempt in `resume_from`: it is
kept as last.ckpt.ahead, and the trial begins anew.

A script that is slow to start can train several trials, one after the other: `for trial in hpo.trials(): ...`.
All processes of a trial, such as the ranks of torchrun, call hpo.trial(), and rank 0 reports (_ranks.py).

To search from within a program or a notebook: hpo.Study (study.py), whose trials are the same to a function that
trains. No dependency, Python 3.9 or newer. The protocol is docs/protocol.md.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional

from ._connection import Connection, Heartbeat
from ._failures import report_uncaught_exceptions
from ._ranks import RANKS, RankLink, address_of, claim, rank, refuse_cleared_environment
from ._trial import Params, Pruned, Trial

if TYPE_CHECKING:
    from ._results import TrialRecord, TrialRecords
    from ._space import Categorical, Float, Int, Space
    from .callbacks import KerasCallback, LightningCallback
    from .study import AskedTrial, Best, Study, StudyError

__all__ = ["AskedTrial", "Best", "Categorical", "Float", "Int", "KerasCallback", "LightningCallback", "Params", "Pruned",
           "Space", "Study", "StudyError", "Trial", "TrialRecord", "TrialRecords", "trial", "trials"]
__version__ = "0.2.0"

# Imported on first use, since a script that only trains does not need them.
_LATE = {"AskedTrial": "_asked_trial", "Best": "study", "Study": "study", "StudyError": "_session", "Categorical": "_space",
         "Float": "_space", "Int": "_space", "Space": "_space", "TrialRecord": "_results", "TrialRecords": "_results",
         "KerasCallback": "callbacks", "LightningCallback": "callbacks"}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'hpo' has no attribute '{name}'")
    return getattr(importlib.import_module(f".{_LATE[name]}", __name__), name)


def __dir__() -> List[str]:
    return [*__all__, "__doc__", "__version__"]


_current: Optional[Trial] = None


def trial(defaults: Any = None, /, *, checkpoint: bool = False, micro_batch: bool = False, **more: Any) -> Trial:
    """The trial that this process trains.

    `defaults` (a mapping, or what argparse returns) and keywords give the parameters of a script that runs without hpo,
    and those that the study does not name. `checkpoint`: the script can resume from its checkpoint. `micro_batch`: it
    trains each batch in `params["accumulation"]` parts, which hpo sets when memory is short. Other processes of the
    trial, such as the ranks of a launcher, get the same trial. Raises OSError when hpo cannot be reached, and
    RuntimeError when hpo runs the script without the variables that identify its trial."""
    global _current
    own = _mapping(defaults, more)
    if _current is None or (_current._finished and _current._link is None):
        _current = next(_serve(own, ["once", *_abilities(checkpoint, micro_batch)]), None)
        if _current is None:
            raise ConnectionError("hpo.trial(): the study has ended")
    for name, value in own.items():
        _current.params.setdefault(name, value)
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


def _serve(defaults: Mapping[str, Any], abilities: List[str]) -> Iterator[Trial]:
    # The token is valid for one connection: processes that this one starts find the address of that one's process.
    endpoint, token = os.environ.pop("HPO_ENDPOINT", ""), os.environ.pop("HPO_TOKEN", "")
    if "HPO_PRELOADING" in os.environ:
        raise RuntimeError("worker.preload is for modules that a script imports, not for the script itself")
    listener = None
    if endpoint:
        os.environ[RANKS] = address_of(token)
        listener = claim(address_of(token)) if rank() == 0 else None
    if endpoint and listener:
        yield from _trials_of_hpo(defaults, Connection(endpoint, token, abilities, listener))
    elif os.environ.get(RANKS):
        yield from _trials_of_rank_0(defaults, RankLink(os.environ[RANKS]))
    else:
        refuse_cleared_environment()
        yield Trial(defaults, None, {})


def _trials_of_hpo(defaults: Mapping[str, Any], link: Connection) -> Iterator[Trial]:
    report_uncaught_exceptions(link)
    Heartbeat(link)
    while True:
        message = link.receive()
        if message.get("type") == "shutdown":
            link.ranks.over()
            return
        if message.get("type") == "run":
            link.current = Trial(defaults, link, message, link.ranks.count + 1)
            link.ranks.begin(link.current, message)
            yield link.current


def _trials_of_rank_0(defaults: Mapping[str, Any], link: RankLink) -> Iterator[Trial]:
    number = 0
    while answer := link.next_run(number):
        number += 1
        yield Trial(defaults, link, answer["run"], number)
