"""Lets Python write whole lines at once. The interpreter imports it at its start, from a folder that hpo adds to PYTHONPATH.

PYTHONUNBUFFERED, which shows each line without delay, writes the text and the end of a line separately, so that the
lines of several processes are torn. A script finds neither the folder in sys.path nor this module: a sitecustomize of
its own takes its place.
"""

import os
import sys


def _write_whole_lines():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.reconfigure(line_buffering=True, write_through=False)
        except Exception:  # no stream, or another kind: it stays as it is
            pass


def _give_place():
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    folder = os.path.dirname(os.path.realpath(__file__))
    sys.path[:] = [path for path in sys.path if not path or os.path.realpath(path) != folder]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_write_whole_lines()
_give_place()
