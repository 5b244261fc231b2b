"""Finds hpo, the program that this client searches with."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import urllib.parse
from importlib import metadata
from typing import Iterator, Optional

PACKAGE = "hpo-client"


class ProgramNotFound(Exception):
    """hpo is nowhere. The message has the cure."""


def program(given: Optional[str] = None) -> str:
    """The path of hpo: `given`, else $HPO_PROGRAM, else the one beside this client, else the one on the PATH, else the
    one in the checkout that this client was installed from. Raises ProgramNotFound."""
    for name, source in ((given, "program="), (os.environ.get("HPO_PROGRAM"), "HPO_PROGRAM")):
        if name:
            found = shutil.which(name)
            if found is None:
                raise ProgramNotFound(f"{source} names {name}, which is no program that can be run")
            return found
    beside = next(filter(_runs, _beside(pathlib.Path(__file__).resolve())), None)
    found = str(beside) if beside else shutil.which("hpo")
    found = found or next((str(path) for path in map(_in_checkout, _origins()) if path and _runs(path)), None)
    if found is None:
        raise ProgramNotFound("the program hpo was not found on the PATH. Install its Debian package, or unpack its archive"
                              " and put its bin on the PATH, or build it in a checkout (./hpo --version) and put the"
                              " checkout on the PATH. Or name the program by HPO_PROGRAM=/path/to/hpo or"
                              " hpo.Study(..., program=\"/path/to/hpo\")")
    return found


def client_of(found: str) -> str:
    """How the client that comes with a program is used."""
    installed = pathlib.Path(found).resolve().parent.parent / "share" / "hpo" / "python"
    if (installed / "hpo" / "__init__.py").exists():
        return f"PYTHONPATH={installed}"
    return "pip install worker/python in its checkout"


def _runs(path: pathlib.Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _beside(here: pathlib.Path) -> Iterator[pathlib.Path]:
    """hpo's path if this client is not installed by pip: this file is share/hpo/python/hpo/_program.py beside bin, or
    worker/python/hpo/_program.py of a checkout."""
    for root in here.parents[4:5]:
        if here.parents[1] == root / "share" / "hpo" / "python":
            yield root / "bin" / "hpo"
    for root in here.parents[3:4]:
        found = _in_checkout(root)
        if found:
            yield found


def _in_checkout(root: pathlib.Path) -> Optional[pathlib.Path]:
    is_checkout = (root / "CMakeLists.txt").exists() and (root / "worker" / "python" / "hpo" / "_program.py").exists()
    return root / "hpo" if is_checkout else None


def _origins() -> Iterator[pathlib.Path]:
    """The folders above the one, or the wheel, that pip has installed this client from."""
    try:
        text = metadata.distribution(PACKAGE).read_text("direct_url.json")
        url = urllib.parse.urlsplit(json.loads(text)["url"] if text else "")
    except (metadata.PackageNotFoundError, ValueError, KeyError):
        return
    if url.scheme == "file":
        yield from pathlib.Path(urllib.parse.unquote(url.path)).parents
