"""A study that a program describes without a file."""

from __future__ import annotations

import json
import math
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

__all__ = ["Categorical", "Float", "Int", "Space"]

_MOST_PATHS = 10_000  # ways through a function that defines a space


def _is_finite(number: Any) -> bool:
    try:
        return math.isfinite(number)
    except TypeError:
        return False


class _Numeric(Dict[str, Any]):
    _type = ""

    def __init__(self, low: Union[float, str], high: Union[float, str], *, log: bool = False,
                 step: Optional[float] = None, prior: Optional[float] = None, spread: Optional[float] = None,
                 role: Optional[str] = None, when: Optional[Mapping[str, Sequence[Any]]] = None) -> None:
        kind = f"hpo.{type(self).__name__}"
        for name, end in (("low", low), ("high", high)):
            if not isinstance(end, str) and not _is_finite(end):
                raise ValueError(f"{name} of {kind} is {end!r}, which is no finite number")
        if not isinstance(low, str) and not isinstance(high, str) and low > high:
            raise ValueError(f"high of {kind} is {high!r}, which is below low, {low!r}")
        if log and not isinstance(low, str) and low <= 0:
            raise ValueError(f"low of {kind} is {low!r}; with log=True it must be above 0")
        given = {"type": self._type, "low": low, "high": high, "log": log or None, "step": step, "prior": prior,
                 "spread": spread, "role": role, "when": when}
        super().__init__({key: value for key, value in given.items() if value is not None})


class Float(_Numeric):
    """A parameter that is a real number from `low` to `high`, both included.

    `log`: sample evenly over magnitudes. `step`: the distance between two values, from low on. `prior`: the value that is
    expected to be good; `spread`: how far from it, as a share of the range (0.1). `role`: how the value scales with the
    batch size. `when`: the parameter exists only if other parameters have these values: {"optimizer": ["sgd"]}. An end
    may be a text that computes it from other parameters: "width / 2"."""

    _type = "float"


class Int(_Numeric):
    """A parameter that is a whole number from `low` to `high`, both included. The arguments are those of Float."""

    _type = "int"


class Categorical(Dict[str, Any]):
    """A parameter that is one of `choices`: texts, numbers, truth values, None, or lists of these.

    `prior`: the choice that is expected to be good. `when`: as of Float."""

    def __init__(self, choices: Sequence[Any], *, prior: Any = None,
                 when: Optional[Mapping[str, Sequence[Any]]] = None) -> None:
        super().__init__(type="categorical", choices=list(choices))
        if prior is not None:
            self["prior"] = prior
        if when is not None:
            self["when"] = when


class _NoValue:
    """The result of Space.float() and Space.int(): a space is defined before there are values."""

    def _refuse(self, *_: Any) -> Any:
        raise TypeError("a function that defines a space may depend on its categorical parameters only, not on a "
                        "number; conditions on numbers are for where=[\"layers * width <= 1024\"]")

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __float__ = __int__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __iter__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class Space:
    """The argument of a function that defines a space, which is called once for each combination of choices:

        def space(s):
            s.float("lr", 1e-4, 1e-1, log=True)
            if s.categorical("optimizer", ["adam", "sgd"]) == "sgd":
                s.float("momentum", 0.8, 0.99)            # exists only with sgd
    """

    def __init__(self, chosen: Sequence[int] = ()) -> None:
        self._wanted = list(chosen)
        self.parameters: Dict[str, Dict[str, Any]] = {}
        self.choices: List[Tuple[str, int]] = []  # the categorical parameters, and which of their choices they had

    def float(self, name: str, low: Any, high: Any, **more: Any) -> Any:
        """A parameter as of Float."""
        self._add(name, Float(low, high, **more))
        return _NoValue()

    def int(self, name: str, low: Any, high: Any, **more: Any) -> Any:
        """A parameter as of Int."""
        self._add(name, Int(low, high, **more))
        return _NoValue()

    def categorical(self, name: str, choices: Sequence[Any], **more: Any) -> Any:
        """A parameter as of Categorical. Returns one of its choices."""
        added = Categorical(choices, **more)
        if not added["choices"]:
            raise ValueError(f"parameter '{name}' has no choices")
        self._add(name, added)
        place = len(self.choices)
        index = self._wanted[place] if place < len(self._wanted) else 0
        self.choices.append((name, index))
        return added["choices"][index]

    def _add(self, name: str, parameter: Dict[str, Any]) -> None:
        if name in self.parameters:
            raise ValueError(f"parameter '{name}' is defined twice")
        self.parameters[name] = parameter


def _paths(function: Callable[[Space], Any]) -> Iterator[Space]:
    """Calls the function with each combination of choices."""
    chosen: Optional[List[int]] = []
    for _ in range(_MOST_PATHS):
        path = Space(chosen or ())
        function(path)
        yield path
        indices = [index for _, index in path.choices]
        while indices and indices[-1] + 1 == len(path.parameters[path.choices[len(indices) - 1][0]]["choices"]):
            indices.pop()
        if not indices:
            return
        chosen = indices[:-1] + [indices[-1] + 1]
    raise ValueError(f"the function that defines the space has more than {_MOST_PATHS} combinations of choices; give the "
                     "space as a mapping, with when= for parameters that depend on others")


def space_of(function: Callable[[Space], Any]) -> Dict[str, Dict[str, Any]]:
    """The space that a function defines. A parameter that some combinations of choices lack gets its `when`."""
    paths = list(_paths(function))
    space: Dict[str, Dict[str, Any]] = {}
    for path in paths:
        for name, parameter in path.parameters.items():
            if space.setdefault(name, parameter) != parameter:
                raise ValueError(f"parameter '{name}' has two definitions, {dict(space[name])} and {dict(parameter)}: "
                                 "give them two names")
    if not space:
        raise ValueError("the function that defines the space names no parameter")
    for name, parameter in space.items():
        conditions = _conditions(name, paths, space)
        if conditions:
            parameter["when"] = {**conditions, **parameter.get("when", {})}
    return space


def _conditions(name: str, paths: Sequence[Space], space: Mapping[str, Mapping[str, Any]]) -> Dict[str, List[Any]]:
    having = [dict(path.choices) for path in paths if name in path.parameters]
    if len(having) == len(paths):
        return {}
    # Parents: the choices of each of these paths, where not all choices lead here.
    allowed: Dict[str, List[int]] = {}
    for parent in having[0]:
        indices = sorted({path[parent] for path in having if parent in path})
        if parent != name and all(parent in path for path in having) and len(indices) < len(space[parent]["choices"]):
            allowed[parent] = indices
    for path in paths:
        chosen = dict(path.choices)
        if all(chosen.get(parent, -1) in indices for parent, indices in allowed.items()) != (name in path.parameters):
            raise ValueError(f"parameter '{name}' depends on several choices in a way that cannot be stated as 'this and "
                             "that parameter have one of these values': let it always exist, or give it one name for each "
                             "case")
    return {parent: [space[parent]["choices"][index] for index in indices] for parent, indices in allowed.items()}


def study_keys(*, objective: Any, direction: Union[str, Sequence[str], None], at: Optional[str], trials: Optional[int],
               epochs: Optional[int], time: Union[str, float, None], patience: Optional[int], seed: Optional[int],
               repeats: Optional[int], sampler: Any, stopping: Any, where: Any, constraints: Any, start: Any,
               warm_start: Any) -> Dict[str, Any]:
    """The keys of a study file that these arguments of Study stand for."""
    if callable(objective):
        raise TypeError("objective= is the name of a metric, such as \"val_loss\"; the function to optimize is the "
                        "argument of optimize()")
    keys: Dict[str, Any] = {}
    if isinstance(objective, Sequence) and not isinstance(objective, str):
        keys["objective"] = _objectives(objective, direction, at)
    elif isinstance(objective, str) or direction is not None or at is not None:
        given = {"metric": objective} if isinstance(objective, str) else dict(objective or {})
        more = {"direction": direction, "at": at}
        keys["objective"] = {**given, **{key: value for key, value in more.items() if value is not None}}
    elif objective is not None:
        keys["objective"] = objective
    budget = {"trials": trials, "epochs": epochs, "time": f"{round(time)}s" if isinstance(time, (int, float)) else time,
              "patience": patience}
    budget = {key: value for key, value in budget.items() if value is not None}
    if budget:
        keys["budget"] = budget
    others = {"seed": seed, "repeats": repeats, "sampler": {"type": sampler} if isinstance(sampler, str) else sampler,
              "stopping": stopping, "where": where, "constraints": constraints, "start": start, "warm_start": warm_start}
    keys.update({key: value for key, value in others.items() if value is not None})
    return keys


def _objectives(given: Sequence[Any], direction: Union[str, Sequence[str], None],
                at: Optional[str]) -> List[Dict[str, Any]]:
    """Several objectives: names, or mappings. `direction` is that of each without one of its own, or has one for each."""
    objectives = []
    directions: List[Optional[str]] = ([direction] * len(given) if direction is None or isinstance(direction, str)
                                       else list(direction))
    if len(directions) != len(given):
        raise ValueError(f"direction= has {len(directions)} and objective= {len(given)}: give one for each, or a single one "
                         "for all")
    for one, its_direction in zip(given, directions):
        if not isinstance(one, (str, Mapping)):
            raise TypeError(f"objective= has {one!r}, of type {type(one).__name__}: name a metric, or give "
                            "{\"metric\": ..., \"direction\": ...}")
        read = {"metric": one} if isinstance(one, str) else dict(one)
        if its_direction is not None:
            read.setdefault("direction", its_direction)
        objectives.append(read)
    if at is not None and objectives:
        objectives[0].setdefault("at", at)
    return objectives


def study_text(name: str, space: Any, keys: Mapping[str, Any]) -> str:
    """A study file: YAML whose values are written as JSON, with a line for each key and for each parameter."""
    if callable(space):
        space = space_of(space)
    if not isinstance(space, Mapping):
        raise TypeError("space= is a mapping of names to hpo.Float, hpo.Int, hpo.Categorical or a list of choices, or a "
                        f"function that defines them; it is of type {type(space).__name__}")
    if not space:
        raise ValueError("space= has no parameter: give it names with hpo.Float, hpo.Int, hpo.Categorical or a list of "
                         "choices each")
    lines = [f"study: {_json(name)}"]
    for key, value in keys.items():
        if key == "budget":  # a duration is no text in quotes
            lines += ["budget:", *(f"  {inner}: {v if str(v).isalnum() else _json(v)}" for inner, v in value.items())]
        else:
            lines.append(f"{key}: {_json(value)}")
    lines.append("space:")
    for parameter, given in space.items():
        if hasattr(given, "tolist"):
            given = given.tolist()  # an array
        if not isinstance(given, Mapping):
            if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
                raise TypeError(f"parameter '{parameter}' is of type {type(given).__name__}; it must be hpo.Float(low, high), "
                                "hpo.Int(low, high), hpo.Categorical(choices) or a list of choices")
            if isinstance(given, tuple) and len(given) == 2 and all(_is_number(bound) for bound in given):
                bounds = f"{given[0]}, {given[1]}"
                kind = "Int" if all(isinstance(bound, int) for bound in given) else "Float"
                raise TypeError(f"parameter '{parameter}' is the tuple ({bounds}): write hpo.{kind}({bounds}) for the range, "
                                f"or the list [{bounds}] for two choices")
            given = Categorical(given)
        lines.append(f"  {_json(str(parameter))}: {_json(given)}")
    return "\n".join(lines) + "\n"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def set_options(keys: Mapping[str, Any]) -> List[str]:
    """The same keys for a study that has a file: as --set takes them."""
    options = []
    for key, value in keys.items():
        nested = key in ("budget", "objective") and isinstance(value, Mapping)
        options += [f"{key}.{inner}={_plain(v)}" for inner, v in value.items()] if nested else [f"{key}={_plain(value)}"]
    return options


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_scalar)


def _scalar(value: Any) -> Any:
    """Scalars and arrays of NumPy and others."""
    for convert in ("tolist", "item"):
        if hasattr(value, convert):
            return getattr(value, convert)()
    raise TypeError(f"{value!r} is of type {type(value).__name__}, which a study file cannot hold")
