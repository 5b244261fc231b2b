"""Of nni.utils what scripts use to take their parameters."""

from __future__ import annotations

from typing import Any, Mapping

__all__ = ["merge_parameter"]


def merge_parameter(base_params: Any, override_params: Mapping[str, Any]) -> Any:
    """Puts the trial's parameters over a script's own, a dictionary or what argparse returns, and returns that. A name
    that it has not is a ValueError; a number takes the type that the script's own has."""
    if base_params is None:
        return dict(override_params)
    own = base_params if isinstance(base_params, dict) else vars(base_params)
    for name, value in override_params.items():
        if name not in own:
            raise ValueError(f"the script has no parameter '{name}'; it has: {', '.join(map(str, own))}")
        before = own[name]
        if isinstance(before, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        elif isinstance(before, int) and isinstance(value, float) and value.is_integer():
            value = int(value)
        own[name] = value
    return base_params
