"""A stand-in for wandb, by hpo (worker: {shim: wandb}): a script that takes its parameters from wandb.config and logs its
numbers with wandb.log is a trial of hpo as it is. Nothing of Weights & Biases is in it, nothing is sent anywhere, and
what it does not know (images, tables, artifacts, ...) is accepted and ignored, which it says once."""

from __future__ import annotations

import atexit
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from typing import Any, Callable, Dict, Iterator, Mapping, MutableMapping, Optional

from hpo import standin as _standin

__version__ = "999.0"  # of no release: newer than any that a script may ask for


class Config(MutableMapping[str, Any]):
    """The trial's parameters over the script's own: config["lr"], config.lr, config.get("lr", 0.1)."""

    def __init__(self) -> None:
        object.__setattr__(self, "_values", {})

    def _all(self) -> Dict[str, Any]:
        trial = _standin.nested(_standin.parameters())
        return _over(self._values, trial)

    def _key(self, name: str) -> Optional[str]:
        values = self._all()
        fit = _standin.study_name_of(name)  # a study cannot have every name
        return name if name in values else fit if fit in values else None

    def __getitem__(self, name: str) -> Any:
        key = self._key(name)
        if key is not None:
            return self._all()[key]
        found = _at(self._all(), name)
        if found is not _nothing:
            return found
        raise KeyError(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"wandb.config has no '{name}'; it has: {', '.join(self) or 'nothing'}") from None

    def __setitem__(self, name: str, value: Any) -> None:
        self.update({name: value})

    __setattr__ = __setitem__

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def update(self, values: Any = None, allow_val_change: Any = None, **more: Any) -> None:  # type: ignore[override]
        """Takes the script's own values; a trial's parameters do not change, as in a sweep."""
        trial = _standin.nested(_standin.parameters())
        for name, value in {**_mapping(values), **more}.items():
            of_trial = _at(trial, str(name))
            if of_trial is not _nothing and value != of_trial and not isinstance(value, Mapping):
                _standin.tell(f"wandb: config.{name} stays {of_trial!r}, the trial's, and is not {value!r}")
            self._values[str(name)] = value

    def setdefaults(self, values: Any = None) -> None:
        """Sets the script's defaults for keys without another value, such as a trial's parameters."""
        for name, value in _mapping(values).items():
            self._values.setdefault(str(name), value)

    def as_dict(self) -> Dict[str, Any]:
        return self._all()


class Summary(Dict[str, Any]):
    """The script's summary of the whole run. Numbers that were never logged are reported when it ends."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class _IgnoredClass(type):
    """The type of a class that is ignored with all its attributes: wandb.AlertLevel.INFO."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Ignored()


class _Ignored(metaclass=_IgnoredClass):
    """Takes everything and does nothing."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        pass

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        # As a decorator it leaves the function as it is.
        if len(arguments) == 1 and not more and isinstance(arguments[0], types.FunctionType):
            return arguments[0]
        return _Ignored()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _Ignored()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __enter__(self) -> "_Ignored":
        return self

    def __exit__(self, *error: Any) -> None:
        pass


class Run:
    """One run of the script: there may be several, one after the other."""

    def __init__(self, name: Optional[str] = None, project: Optional[str] = None) -> None:
        number = _standin.trial_number()
        self.config = config
        self.summary = Summary()
        self.id = self.name = name or f"trial-{number}"
        self.project = project or ""
        self.entity = self.url = self.notes = self.group = ""
        self.path = "."
        self.dir = _standin.folder()
        self.tags = ()
        self.sweep_id = "hpo"
        self.step = 0
        self.starting_step = 0
        self.offline = self.disabled = self.resumed = False
        self._open: Dict[str, float] = {}  # logged without a commit
        self._at: Optional[int] = None  # the step that the script named last
        self._said: set = set()  # reported names
        self._said_at: set = set()  # names reported for the step that the script named last
        self._over = False

    def log(self, data: Optional[Mapping[str, Any]] = None, step: Any = None, commit: Optional[bool] = None,
            sync: Any = None) -> None:
        numbers = _standin.numbers_of(_mapping(data))
        for name, value in _mapping(data).items():
            if _standin.number_of(value) is not None:
                self.summary[name] = value
        at = _standin.number_of(step)
        if at is not None:
            if at != self._at:
                self._at, self._said_at = int(at), set()
            # Numbers that a script logs for one step in several calls belong together: each counts once.
            numbers = {name: number for name, number in numbers.items() if name not in self._said_at}
            self._said_at |= set(numbers)
            self.step = int(at)
        self._open.update(numbers)
        if commit is False:
            return
        if at is None:
            self.step += 1
        self._said |= set(self._open)
        _standin.report(self._open)
        self._open = {}

    def finish(self, exit_code: Any = None, quiet: Any = None) -> None:
        global run
        if self._over:
            return
        self._over = True
        last = {name: number for name, number in _standin.numbers_of(self.summary).items() if name not in self._said}
        _standin.report({**self._open, **last})
        self._open = {}
        if run is self:
            run = None

    join = finish

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.finish()

    def define_metric(self, *arguments: Any, **more: Any) -> Any:
        return _Ignored()

    def get_url(self) -> str:
        return self.url

    def project_name(self) -> str:
        return self.project

    def __getattr__(self, name: str) -> Any:
        return _ignore(name, f"run.{name}")


config = Config()
summary = Summary()
run: Optional[Run] = None


def init(project: Optional[str] = None, entity: Any = None, config: Any = None, name: Optional[str] = None,
         config_exclude_keys: Any = None, config_include_keys: Any = None, **more: Any) -> Run:
    """A run, with the script's own values in its config, below the trial's."""
    global run
    if run is not None and more.get("reinit") in (None, False, "default", "return_previous"):
        _config.setdefaults(config)
        return run
    if run is not None:
        run.finish()
    _config._values.clear()
    own = _mapping(config)
    if config_include_keys:
        own = {key: value for key, value in own.items() if key in config_include_keys}
    _config.setdefaults({key: value for key, value in own.items() if key not in (config_exclude_keys or ())})
    run = Run(name, project)
    globals()["summary"] = run.summary
    return run


_config = config


def setup(*arguments: Any, **more: Any) -> None:
    pass


def login(*arguments: Any, **more: Any) -> bool:
    return True


def log(data: Optional[Mapping[str, Any]] = None, step: Any = None, commit: Optional[bool] = None, **more: Any) -> None:
    (run or init()).log(data, step, commit)


def finish(*arguments: Any, **more: Any) -> None:
    if run is not None:
        run.finish()


join = finish


def define_metric(*arguments: Any, **more: Any) -> Any:
    return _Ignored()


def sweep(*arguments: Any, **more: Any) -> str:
    """The sweep is hpo's."""
    return "hpo"


def agent(sweep_id: Any = None, function: Optional[Callable[[], Any]] = None, **more: Any) -> None:
    """This trial: `function`, once."""
    if function is not None:
        function()


@atexit.register
def _end() -> None:
    finish()


_nothing = object()


def _at(values: Mapping[str, Any], name: str) -> Any:
    """The value of a name, or of a path such as model.dim into mappings; _nothing if there is none."""
    if name in values:
        return values[name]
    group, dot, rest = name.partition(".")
    within = values.get(group)
    return _at(within, rest) if dot and isinstance(within, Mapping) else _nothing


def _over(own: Mapping[str, Any], trial: Mapping[str, Any]) -> Dict[str, Any]:
    out = dict(own)
    # A script may name a parameter within a group by its path: {"model.dim": 1}.
    for name in own:
        if isinstance(name, str) and "." in name and _at(trial, name) is not _nothing:
            out[name] = _at(trial, name)
    for name, value in trial.items():
        before = out.get(name)
        out[name] = _over(before, value) if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    return out


def _mapping(values: Any) -> Dict[str, Any]:
    """The values of a dictionary, or of the result of argparse; none of a file's name."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, (str, bytes)):
        _standin.tell("wandb: a file of defaults is ignored; give wandb.init(config=...) a dictionary")
        return {}
    return dict(vars(values)) if hasattr(values, "__dict__") else dict(values)


class WandbCallback(_Ignored):
    """Keras's: logs each epoch's numbers."""

    _prefix = ""

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        log({self._prefix + name: value for name, value in (logs or {}).items()})


class WandbMetricsLogger(WandbCallback):
    """The same, named epoch/loss."""

    _prefix = "epoch/"


_modules = ("sdk", "integration", "keras", "plot", "util", "errors", "apis", "sklearn", "xgboost", "lightgbm", "catboost",
            "fastai", "wandb_run", "wandb_sdk", "env")
_known = {"Run": Run, "Config": Config, "WandbCallback": WandbCallback, "WandbMetricsLogger": WandbMetricsLogger,
          "generate_id": lambda *arguments, **more: f"trial-{_standin.trial_number()}"}
_classes: Dict[str, Any] = {}


def _ignore(name: str, shown: str) -> Any:
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    if name in _known:
        return _known[name]
    if name.endswith(("Error", "Exception")):  # nothing raises it
        return _classes.setdefault(name, type(name, (Exception,), {}))
    _standin.tell(f"wandb: {shown} is ignored by hpo's stand-in (without the line 'shim: wandb' in the study the script "
                  "finds wandb itself)")
    if name[:1].isupper():
        return _classes.setdefault(name, type(name, (_Ignored,), {}))
    return _Ignored()


def _below(module: str, name: str) -> Any:
    """The attributes that a script may find in a module, by name."""
    return importlib.import_module(f"{module}.{name}") if name in _modules else _ignore(name, f"{module}.{name}")


def __getattr__(name: str) -> Any:
    return _below(__name__, name)


class _Below(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Every module below wandb, with ignored contents."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname.startswith(__name__ + "."):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> Any:
        return None

    def exec_module(self, module: Any) -> None:
        module.__getattr__ = lambda name: _below(module.__name__, name)


sys.meta_path.append(_Below())
