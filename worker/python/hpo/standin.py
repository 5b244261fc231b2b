"""The common part of the stand-ins for other tools' packages (worker.shim): a trial's parameters, and the file for its
metrics. Scripts should not use it: `import hpo` offers more.

hpo sets HPO_PARAMS (a JSON object), HPO_TRIAL and HPO_REPORTS (a file of JSON Lines, which it follows) for each trial.
They are read at each use, since a preloaded interpreter imports this module before there is a trial.
"""

from __future__ import annotations

import ast
import functools
import json
import math
import os
import sys
from typing import Any, Callable, Dict, Mapping, Optional, Set, Tuple

_OWN_WORDS = ("params_file", "folder", "trial", "steps", "seed", "data_seed")  # a study calls such a parameter seed_
_told: Set[str] = set()


def parameters() -> Dict[str, Any]:
    """The parameters of this trial by their names in the study; empty without hpo."""
    return dict(_read(os.environ.get("HPO_PARAMS", "{}")))


@functools.lru_cache(maxsize=1)
def _read(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return {name: _typed(value) for name, value in found.items()} if isinstance(found, dict) else {}


def folder() -> str:
    """The trial's folder; without hpo the current one."""
    return os.path.dirname(os.environ.get("HPO_REPORTS", "")) or "."


def trial_number() -> int:
    """The number of the trial, from 1; 0 without hpo."""
    word = os.environ.get("HPO_TRIAL", "")
    return int(word) if word.isdecimal() else 0


def nested(params: Mapping[str, Any]) -> Dict[str, Any]:
    """The parameters as the script names them: head.width of the study is in the mapping head, and seed_ is seed."""
    out: Dict[str, Any] = {}
    for name, value in sorted(params.items()):  # head comes before head.width
        own = name[:-1]
        within = out
        *groups, last = (own if name.endswith("_") and own in _OWN_WORDS else name).split(".")
        for group in groups:
            if not isinstance(within.get(group), dict):
                # A choice that has parameters of its own: NNI calls its name so.
                within[group] = {"_name": within[group]} if group in within else {}
            within = within[group]
        within[last] = value
    return out


def study_name_of(name: str) -> str:
    """The name of this parameter or metric in a study: hpo convert keeps to the same rule."""
    fit = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in name)
    return (fit if fit[:1].isalpha() or fit[:1] == "_" else "_" + fit)[:64]


def metric_name_of(name: str) -> str:
    """As study_name_of; metrics may have a slash."""
    fit = "".join(c if c.isascii() and (c.isalnum() or c in "._-/") else "_" for c in name)
    return (fit if fit[:1].isalpha() or fit[:1] == "_" else "_" + fit)[:64]


def number_of(value: Any) -> Optional[float]:
    """The number of a value, also of an object that holds one (of NumPy, PyTorch, ...); None: it has none."""
    if isinstance(value, (str, bytes, bytearray)) or value is None:
        return None
    try:
        return float(value)
    except Exception:
        return None


def numbers_of(values: Mapping[Any, Any], prefix: str = "") -> Dict[str, float]:
    """The numbers among them by their metrics' names; those of a mapping within it as train.loss."""
    out: Dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            out.update(numbers_of(value, f"{prefix}{name}."))
            continue
        number = number_of(value)
        if number is not None:
            out[metric_name_of(f"{prefix}{name}")] = number
    return out


def report(numbers: Mapping[str, float]) -> None:
    """For hpo to read. A step is over once the study's objective is among them."""
    place = os.environ.get("HPO_REPORTS", "")
    if not place or not numbers:
        return
    printable = {name: number if math.isfinite(number) else str(number) for name, number in numbers.items()}
    try:
        file = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(file, (json.dumps(printable) + "\n").encode())
        finally:
            os.close(file)
    except OSError as error:
        tell(f"cannot write {place}: {error.strerror}")


def tell(text: str) -> None:
    """Once."""
    if text not in _told:
        _told.add(text)
        print(f"hpo: {text}", file=sys.stderr, flush=True)


def _typed(value: Any) -> Any:
    """The value of a text that hpo convert made of another type: True, None, [64, 'a'], {"x": 1}, as Python or JSON
    writes it."""
    if isinstance(value, str) and (value in ("True", "False", "None", "null") or value[:1] in ("[", "{")):
        readers: Tuple[Callable[[str], Any], ...] = (json.loads, ast.literal_eval)
        for read in readers:
            try:
                return read(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                pass
    return value
