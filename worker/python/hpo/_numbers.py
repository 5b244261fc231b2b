"""Metrics, as the protocol writes them."""

from __future__ import annotations

import math
from typing import Any, Dict, Mapping, Union


def json_number(value: Any) -> Union[float, str]:
    """A number as the protocol writes it. JSON cannot hold numbers that are not finite, so these become texts."""
    number = float(value)
    if math.isfinite(number):
        return number
    return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"


def json_metrics(values: Mapping[Any, Any]) -> Dict[str, Union[float, str]]:
    """Metrics by name. A metric that is None was not measured and is left out. Numbers and scalars of NumPy, PyTorch and
    others are accepted. Raises TypeError for any other value."""
    metrics = {}
    for name, value in values.items():
        if value is None:
            continue
        try:
            metrics[str(name)] = json_number(value)
        except Exception:  # libraries raise errors of several types
            cure = "; give several numbers by their names, as in {'loss': 0.5, 'f1': 0.8}" if isinstance(value, tuple) else ""
            raise TypeError(f"metric '{name}' must be one number, or None if it was not measured; it is a "
                            f"{type(value).__name__}: {str(value)[:60]}{cure}") from None
    return metrics


def metrics_by_name(metrics: Union[Mapping[str, Any], float, None], values: Mapping[str, Any],
                    objective: str) -> Dict[str, Union[float, str]]:
    """Metrics that a call was given as a mapping, or as the objective's number alone, and as keywords."""
    given: Mapping[str, Any] = metrics if isinstance(metrics, Mapping) else {} if metrics is None else {objective: metrics}
    return json_metrics({**given, **values})
