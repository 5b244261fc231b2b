#!/usr/bin/python3
"""The time until a Python script's trial starts: forked from a preloaded interpreter, and in an interpreter of its own.

    tests/bench/preload.py [--repeats 21] [--module torch] [--hpo build/release/bin/hpo]

Two figures, both interleaved (A B A B ...), medians with the spread:
  - from the order to the script's first line, against `python3 -c "import torch"` up to its next line;
  - a trial of one step in a study, end to end, with and without worker.preload (one trial at a time).
"""
import argparse
import ctypes
import json
import os
import pathlib
import platform
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
THREADS = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
LINE = b"here\n"


class Supervisor:
    """The supervisor's side of worker/python/hpo/preload.py."""

    def __init__(self, module, environment):
        self.environment = environment
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: trials become this process's children
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        task = {"modules": [module], "command": ["-c"], "interpreter": 1, "adapter": False}
        self.server = subprocess.Popen([sys.executable, ROOT / "worker/python/hpo/preload.py", json.dumps(task)],
                                       stdin=theirs, env=environment)
        theirs.close()
        self.await_word("standby")

    def await_word(self, word):
        while not (received := self.socket.recv(4096).decode()).startswith(word):
            if not received or received.startswith("unfit"):
                sys.exit(f"the preloaded interpreter is of no use here: {received}")
        return received

    def trial(self, script):
        read, write = os.pipe()
        fields = ["", "0", "0", "3", sys.executable, "-c", script, *(f"{n}={v}" for n, v in self.environment.items())]
        begin = time.perf_counter()
        socket.send_fds(self.socket, ["".join(f + "\0" for f in fields).encode()], [write])
        os.close(write)
        taken = until_line(read, begin)
        os.close(read)
        os.waitpid(int(self.await_word("running").split()[1]), 0)
        self.await_word("standby")  # the next trial finds a process on standby, unless it follows within 0.1 s
        return taken

    def close(self):
        self.server.kill()
        self.server.wait()


def until_line(descriptor, begin):
    received = b""
    while not received.endswith(LINE):
        select.select([descriptor], [], [], 60)
        more = os.read(descriptor, 4096)
        if not more:
            sys.exit(f"the script received only {received!r}")
        received += more
    return time.perf_counter() - begin


def fresh(module, environment):
    begin = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", f"import {module}; print('here', flush=True)"], stdout=subprocess.PIPE, env=environment)
    taken = until_line(child.stdout.fileno(), begin)
    child.wait()
    return taken


def study(hpo, folder, module, preload, trials, number):
    (folder / "train.py").write_text(f"import {module}, hpo\nhpo.trial().report(1, loss=1)\n")
    name = f"s{number}"
    (folder / f"{name}.yaml").write_text(
        f"study: {name}\nobjective: {{metric: loss, direction: minimize}}\nspace: {{lr: {{type: float, low: 0, high: 1}}}}\n"
        f"worker: {{command: [{sys.executable}, train.py], preload: [{preload}]}}\nbudget: {{trials: {trials}, epochs: 1}}\n"
        "sampler: {type: random}\nresources: {parallel: 1, trial: {memory: 64MiB}}\n")
    begin = time.perf_counter()
    subprocess.run([hpo, "run", f"{name}.yaml", "--quiet"], cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - begin


def row(name, ours, theirs, unit):
    ratios = [b / a for a, b in zip(ours, theirs)]
    scale = 1000 if unit == "ms" else 1
    text = [f"{scale * statistics.median(x):8.2f} ({scale * min(x):.2f} to {scale * max(x):.2f})" for x in (ours, theirs)]
    print(f"{name:34}  {text[0]:30}{text[1]:32}{statistics.median(ratios):6.1f} ({min(ratios):.1f} to {max(ratios):.1f})")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeats", type=int, default=21)
    arguments.add_argument("--module", default="torch")
    arguments.add_argument("--hpo", type=pathlib.Path, default=ROOT / "build/release/bin/hpo")
    given = arguments.parse_args()
    environment = {**os.environ, **THREADS}
    environment.pop("OPENBLAS_CORETYPE", None)
    module = __import__(given.module)
    print(f"python {platform.python_version()}, {given.module} {getattr(module, '__version__', '')}, {os.cpu_count()} cores, "
          f"load {os.getloadavg()[0]:.1f}, {given.repeats} repeats, milliseconds; ratio: median of pairs (least to greatest)\n")
    print(f"{'':34}  {'forked':30}{'interpreter of its own':32}ratio")

    supervisor = Supervisor(given.module, environment)
    forks, starts = [], []
    for _ in range(given.repeats):
        forks.append(supervisor.trial("print('here', flush=True)"))
        starts.append(fresh(given.module, environment))
    supervisor.close()
    row("start to the script's first line", forks, starts, "ms")

    # The difference between a long and a short study excludes the time of the study itself and of the first import.
    ours, theirs = [], []
    few, many = 2, 12
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(max(5, given.repeats // 4)):
            for preload, times in ((given.module, ours), ("", theirs)):
                seconds = [study(given.hpo, pathlib.Path(folder), given.module, preload, trials, f"{repeat}-{preload}-{trials}") for trials in (few, many)]
                times.append((seconds[1] - seconds[0]) / (many - few))
    row("a trial of one step, end to end", ours, theirs, "ms")


if __name__ == "__main__":
    main()
