"""The progress of optimize(): a line that changes in a notebook or on a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from html import escape
from typing import TYPE_CHECKING, Any, Optional

from ._html import leading_text

if TYPE_CHECKING:
    from .study import AskedTrial, Study

_BETWEEN = 0.1  # seconds between two states of a line that changes


class Progress:
    """Shows nothing; those that show something derive from it."""

    def __init__(self, study: "Study", n: Optional[int]) -> None:
        self._study = study
        self._n = n
        self._began = time.monotonic()
        self._drawn = float("-inf")
        self._state = ""
        self._place = ""
        self._newest = 0  # the number of the newest trial

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: Any) -> None:
        if self._state:
            self._last(self._state)

    def began(self, number: int, begun: int) -> None:
        """A trial begins, the `begun`th of this call."""
        self._newest = max(self._newest, number)  # paused ones come back
        done, of = (begun, self._n) if self._n is not None else (self._newest, self._study.budget)
        self._place = f"{done} of {of} trials"

    def ended(self, trial: "AskedTrial") -> None:
        """A trial has ended, or is paused."""

    def _update(self) -> str:
        study = self._study
        said = leading_text(study.metric, *study._leading())
        seconds = int(time.monotonic() - self._began)
        self._state = f"{study.name}  {self._place}  {said}  {seconds // 60}:{seconds % 60:02}"
        return self._state

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._drawn < _BETWEEN:
            return False
        self._drawn = now
        return True

    def _last(self, state: str) -> None:
        """Shows the last state, which stays."""


class _Lines(Progress):
    def ended(self, trial: "AskedTrial") -> None:
        print(f"trial {trial.number}: {self._update()}", file=sys.stderr, flush=True)


class _Terminal(Progress):
    def ended(self, trial: "AskedTrial") -> None:
        state = self._update()
        if self._is_due():
            self._write(state)

    def _write(self, state: str, end: str = "") -> None:
        columns = shutil.get_terminal_size().columns
        print("\r\x1b[K" + state[: columns - 1], end=end, file=sys.stderr, flush=True)

    def _last(self, state: str) -> None:
        self._write(state, "\n")


class _Notebook(Progress):
    _handle: Any = None

    def ended(self, trial: "AskedTrial") -> None:
        state = self._update()
        if self._is_due():
            self._show(state)

    def _show(self, state: str) -> None:
        from IPython.display import display

        if self._handle is None:
            self._handle = display(_Line(state), display_id=True)
        elif self._handle is not None:
            self._handle.update(_Line(state))

    def _last(self, state: str) -> None:
        self._show(state)


class _Line:
    """A line of text, for a notebook."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f'<pre style="margin:0">{escape(self._text)}</pre>'


def progress_of(study: "Study", n: Optional[int], wanted: Optional[bool]) -> Progress:
    """The display of progress; `wanted` None: only where it can change in place."""
    kind = Progress if wanted is False else _Notebook if _in_notebook() else \
        _Terminal if sys.stderr is not None and sys.stderr.isatty() else _Lines if wanted else Progress
    return kind(study, n)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None
