"""A study as HTML for notebooks. Names and texts of a study are escaped; colours are those of the notebook's theme."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from ._results import TrialRecord
    from .study import Best

_MOST_ROWS = 10
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 480, 150, 70, 20, 10  # pixels of the curve and of its margins


def study_html(name: str, metric: str, direction: str, budget: Optional[int], trials: Sequence["TrialRecord"],
               front: Sequence["Best"], several: bool) -> str:
    """The best value, the curve of the best so far, and a table of the best trials; of several objectives their front."""
    said = escape(leading_text(metric, front, several))
    of = f" of {budget}" if budget is not None else ""
    head = f"<p><b>{escape(name)}</b>: {said}, {len(trials)}{of} trials</p>"
    if several:
        return f"<div>{head}{_front_html(front) if front else trials_html(trials, metric)}</div>"
    ranked = sorted(filter(_counts, trials), key=lambda trial: (trial.value or 0.0) * (1 if direction == "minimize" else -1))
    return (f"<div>{head}{curve_svg(metric, direction, trials)}"
            f"{trials_html(ranked[:_MOST_ROWS] or trials, metric)}</div>")


def leading_text(metric: str, front: Sequence["Best"], several: bool) -> str:
    """The best trial in words, or how many trials form the front of several objectives."""
    if not front:
        return "no value yet"
    if several:
        return f"Pareto front of {len(front)} trial{'' if len(front) == 1 else 's'}"
    return f"best {metric} {number_text(front[0].value)} (trial {front[0].number})"


def _front_html(front: Sequence["Best"]) -> str:
    """A table of the front, of which the metrics are the objectives and what else was reported."""
    params = list(dict.fromkeys(name for trial in front for name in trial.params))
    metrics = list(dict.fromkeys(name for trial in front for name in trial.values))
    rows = "".join(_row("td", [trial.number, trial.state, *(trial.values.get(name, "") for name in metrics),
                               *(trial.params.get(name, "") for name in params)]) for trial in front)
    return f"<table><thead>{_row('th', ['trial', 'state', *metrics, *params])}</thead><tbody>{rows}</tbody></table>"


def trials_html(trials: Sequence["TrialRecord"], metric: str) -> str:
    """A table of trials; of many, of the first and the last ones."""
    params = list(dict.fromkeys(name for trial in trials for name in trial.params))
    shown: List[Optional["TrialRecord"]] = list(trials)
    if len(shown) > 6 * _MOST_ROWS:
        shown[3 * _MOST_ROWS:-3 * _MOST_ROWS] = [None]
    rows = "".join(_row("td", [trial.number, trial.state, _value(trial), trial.steps,
                               *(trial.params.get(name, "") for name in params)]) if trial else
                   _row("td", ["..."] * (4 + len(params))) for trial in shown)
    head = _row("th", ["trial", "state", metric, "steps", *params])
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def number_text(value: Any) -> str:
    """A number with four digits; anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def curve_svg(metric: str, direction: str, trials: Sequence["TrialRecord"]) -> str:
    """Each trial's value as a point, and the best so far as a line. Values worse than the median lie at the border."""
    points = [(trial.number, trial.value or 0.0) for trial in filter(_counts, trials)]
    if len(points) < 2:
        return ""
    better = min if direction == "minimize" else max
    in_order = sorted((value for _, value in points), reverse=direction != "minimize")
    best, worst = in_order[0], in_order[len(in_order) // 2]
    span = abs(worst - best) or 1.0
    last = max(number for number, _ in points)

    def place(number: int, value: float) -> Tuple[float, float]:
        worse = min(1.0, abs(value - best) / span)
        down = 1 - worse if direction == "minimize" else worse
        return (_LEFT + (number - 1) / max(1, last - 1) * (_WIDTH - _LEFT - 10),
                _TOP + down * (_HEIGHT - _TOP - _BOTTOM))

    so_far, path = points[0][1], ""
    for number, value in points:
        x, y_before = place(number, so_far)
        so_far = better(so_far, value)
        path += f"{'L' if path else 'M'}{x:.1f},{y_before:.1f}L{x:.1f},{place(number, so_far)[1]:.1f}"
    path += f"L{place(last, so_far)[0]:.1f},{place(last, so_far)[1]:.1f}"
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="currentColor" opacity="0.45"/>'
                   for x, y in (place(*point) for point in points))
    cut = in_order[-1] != worst
    limit = f"{('≥ ' if direction == 'minimize' else '≤ ') if cut else ''}{number_text(worst)}"
    top, bottom = (limit, number_text(best)) if direction == "minimize" else (number_text(best), limit)
    text = (f'<text x="{_LEFT - 6}" y="{_TOP + 8}" text-anchor="end">{top}</text>'
            f'<text x="{_LEFT - 6}" y="{_HEIGHT - _BOTTOM}" text-anchor="end">{bottom}</text>'
            f'<text x="{_LEFT}" y="{_HEIGHT - 4}">trial 1</text>'
            f'<text x="{_WIDTH - 10}" y="{_HEIGHT - 4}" text-anchor="end">{last}</text>')
    title = f"{metric} of {len(points)} trials; the best so far as a line, at last {number_text(best)}"
    return (f'<svg width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" font-size="11" '
            f'style="max-width:100%" fill="currentColor"><title>{escape(title)}</title>{dots}'
            f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="1.5"/>{text}</svg>')


def _counts(trial: "TrialRecord") -> bool:
    return trial.state not in ("failed", "diverged") and trial.value is not None and math.isfinite(trial.value)


def _row(tag: str, cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(number_text(cell))}</{tag}>" for cell in cells) + "</tr>"


def _value(trial: "TrialRecord") -> Any:
    return "" if trial.value is None else trial.value
