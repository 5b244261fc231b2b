"""The failure of a script, as an outcome and a message."""

from __future__ import annotations

import atexit
import sys
import traceback
from typing import TYPE_CHECKING, Any, Tuple

if TYPE_CHECKING:
    from ._connection import Connection

MAX_LINES = 12  # of an exception's message


def report_uncaught_exceptions(link: Connection) -> None:
    """Reports an exception that ends the process, and a failure that a `with` block has noted and nothing followed.
    Pruned ends the trial, and is no failure. The message says that the process ends, so that hpo gives it no further
    trial and its traceback stays in this log."""
    from ._trial import Pruned  # which imports this module

    before = sys.excepthook

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        if isinstance(error, Pruned) and link.current is not None:
            return link.current._prune(last=True)
        try:
            before(kind, error, trace)
        finally:
            if link.current is not None and isinstance(error, Exception):
                link.current._failure = failure_of(error)
                link.current._report_failure(last=True)

    def at_exit() -> None:
        if link.current is not None:
            link.current._report_failure(last=True)

    sys.excepthook = hook
    atexit.register(at_exit)


def failure_of(error: BaseException) -> Tuple[str, str]:
    """The outcome, and a message: the lines of the exception, then the last frames of its traceback."""
    lines = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    if isinstance(error, SyntaxError):  # its type comes after its position
        lines = lines[-1:] + lines[:-1]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES - 2:-1] = ["..."]
    lines += "".join(traceback.format_list(traceback.extract_tb(error.__traceback__)[-3:])).rstrip().splitlines()
    text = "\n".join(line[:500] for line in lines)[:4000]
    return "out_of_memory" if is_out_of_memory(error) else "failed", text or type(error).__name__


def is_out_of_memory(error: BaseException) -> bool:
    """MemoryError, and what PyTorch, JAX and TensorFlow raise on a full device."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "ResourceExhaustedError"):
        return True
    signs = ("out of memory", "RESOURCE_EXHAUSTED", "CUBLAS_STATUS_ALLOC_FAILED", "can't allocate memory")
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)
