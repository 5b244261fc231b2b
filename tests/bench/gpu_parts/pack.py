"""tests/bench/gpu pack: a folder with everything that the benchmark needs on another machine.

The machine needs x86-64 Linux with glibc 2.34 or newer, libstdc++ of GCC 12 or newer, Python 3.9 or newer, and the needs of a GPU: its
driver, and for CUDA NVRTC and cuBLAS (a toolkit, or the wheels of torch or JAX). No package registry, no compiler.

Programs and libraries lie compressed in programs.tar.xz; the first `tests/bench/gpu` there unpacks them.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

MOST_BYTES = 56_000_000
NEWEST_GLIBC = (2, 34)
# Libraries of the system, which are not packed: the machine's drivers need its own C library.
NOT_TAKEN = re.compile(r"(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)[.-]")
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def libraries_of(program):
    """Returns the shared libraries that a program loads, from name to file, without those of the system."""
    found = {}
    for line in subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if "not found" in line:
            sys.exit(f"tests/bench/gpu pack: {program} needs {words[0]}, which is not installed here")
        if len(words) >= 3 and words[1] == "=>" and not NOT_TAKEN.match(words[0]):
            found[words[0]] = pathlib.Path(words[2]).resolve()
    return found


def glibc_of(file):
    """Returns the newest version of the C library that a program requires."""
    text = subprocess.run(["objdump", "-T", str(file)], capture_output=True, text=True, check=True).stdout
    return max((tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_(\d+\.\d+)", text)), default=(2, 2))


def refuse_what_is_too_new(files):
    late = {file.name: glibc_of(file) for file in files if glibc_of(file) > NEWEST_GLIBC}
    if late:
        words = ", ".join(f"{name} (glibc {major}.{minor})" for name, (major, minor) in sorted(late.items()))
        sys.exit(f"tests/bench/gpu pack: these would not start with glibc 2.34: {words}; build on an older system")


def stripped(file, folder):
    copy = folder / file.name
    shutil.copy2(file, copy)
    subprocess.run(["strip", "--strip-unneeded", str(copy)], check=True)
    return copy


def pack(root, build, target, parts):
    """Creates and fills `target`, which must not exist. `parts` is the folder of the benchmark's own files."""
    if target.exists():
        sys.exit(f"tests/bench/gpu pack: {target} is there already; name another folder, or remove it")
    programs = {"bin/hpo": build / "bin/hpo", "bin/hpo-worker": build / "bin/hpo-worker", "tests/test_contract_backends":
                build / "tests/test_contract_backends", "tests/bench/bench_replicas": build / "tests/bench/bench_replicas"}
    missing = [str(file) for file in programs.values() if not file.exists()]
    if missing:
        sys.exit("tests/bench/gpu pack: not built: " + ", ".join(missing))
    libraries = {}
    for file in programs.values():
        libraries |= libraries_of(file)
    refuse_what_is_too_new([*programs.values(), *libraries.values()])
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="hpo-pack-") as folder, tarfile.open(target / "programs.tar.xz", "w:xz") as archive:
        for name, file in programs.items():
            archive.add(stripped(file, pathlib.Path(folder)), "build/release/" + name)
        for name, file in libraries.items():
            archive.add(file, "lib/" + name)
        archive.add(root / "worker/python", "build/release/share/hpo/python", filter=without_caches)
    for name in ("tests/bench/gpu", "studies", "include/hpo/worker_keys.hpp", "docs/gpu.md", "LICENSE"):
        source, to = root / name, target / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, to) if source.is_dir() else shutil.copy2(source, to)
    shutil.copytree(parts, target / "tests/bench/gpu_parts", ignore=shutil.ignore_patterns("__pycache__"))
    if DATA.is_dir():
        shutil.copytree(DATA, target / "data/fashion-mnist")
    (target / "pack.json").write_text(json.dumps({"revision": revision(root), "libraries": sorted(libraries)}, indent=2) + "\n")
    (target / "hpo").write_text(WRAPPER)
    (target / "hpo").chmod(0o755)
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{target}: {size / 1e6:.1f} MB; there: tests/bench/gpu first-contact")
    if size > MOST_BYTES:
        sys.exit(f"tests/bench/gpu pack: that is more than the {MOST_BYTES / 1e6:.0f} MB it is to have")


WRAPPER = """#!/bin/sh
# Runs the hpo of this pack with the libraries of this pack.
here=$(cd "$(dirname "$0")" && pwd) || exit 1
[ -d "$here/lib" ] || tar -C "$here" -xJf "$here/programs.tar.xz" || exit 1
export HPO_DATASETS="${HPO_DATASETS:-$here/data}"
LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/build/release/bin/hpo" "$@"
"""


def revision(root):
    """Returns the revision that was built, or from which the pack was made."""
    if (root / "pack.json").exists():
        return json.loads((root / "pack.json").read_text())["revision"]
    return subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()


def without_caches(member):
    return None if "__pycache__" in member.name else member


def unpack(root):
    """In a pack, puts programs and libraries in their places and sets up their environment. Outside a pack, does nothing."""
    if not (root / "pack.json").exists():
        return
    if not (root / "lib").is_dir():
        with tempfile.TemporaryDirectory(dir=root) as folder:
            with tarfile.open(root / "programs.tar.xz") as archive:
                archive.extractall(folder)
            (pathlib.Path(folder) / "build").rename(root / "build")
            (pathlib.Path(folder) / "lib").rename(root / "lib")  # last, since it marks the pack as complete
    others = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = str(root / "lib") + (f":{others}" if others else "")
    if (root / "data").is_dir():
        os.environ.setdefault("HPO_DATASETS", str(root / "data"))
