"""Callbacks for the training loops of frameworks."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from . import Trial, trial


class _Callback:
    """Ignores every hook of a framework except those that a subclass defines.

    `to`: the trial to report to; by default hpo.trial()."""

    def __init__(self, to: Optional[Trial] = None) -> None:
        self.trial = to or trial()

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("on_", "set_", "setup", "teardown", "load_", "_implements")):
            return lambda *arguments, **more: None
        raise AttributeError(name)


class KerasCallback(_Callback):
    """Reports the logs of each epoch, and stops the fit: model.fit(..., callbacks=[hpo.KerasCallback(trial)])."""

    model: Any = None

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_train_batch_end(self, batch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        self.trial.step()

    def on_epoch_end(self, epoch: int, logs: Optional[Mapping[str, Any]] = None) -> None:
        self.trial.report(epoch + 1, logs)
        if self.trial.should_stop():
            self.model.stop_training = True

    def _implements_train_batch_hooks(self) -> bool:
        return True


class LightningCallback(_Callback):
    """Reports the logged metrics after each validation: Trainer(callbacks=[hpo.LightningCallback(trial)])."""

    state_key = "hpo"

    def state_dict(self) -> Dict[str, Any]:
        return {}

    def on_train_batch_end(self, trainer: Any, *arguments: Any, **more: Any) -> None:
        self.trial.step()

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        if getattr(trainer, "sanity_checking", False):
            return
        self.trial.report(trainer.current_epoch + 1, dict(trainer.callback_metrics))
        if self.trial.should_stop():
            trainer.should_stop = True
