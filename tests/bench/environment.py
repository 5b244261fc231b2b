#!/usr/bin/python3
"""The gain from hpo's environment for scripts: two unmodified PyTorch scripts side by side, batch 32.

    tests/bench/environment.py [--repeats 5] [--seconds 4] [--hpo build/release/bin/hpo]

The same script (784-512-256-128-10, Adam, real images) runs twice at once: started by hand with nothing set, as a study
of hpo of two trials, and by hand with everything tuned (one thread, pinned, allocator thresholds), which is the limit.
Interleaved (A B C A B C ...); iterations a second of each process, medians with the spread.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile

from tuned import environment as tuned_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
SET_BY_HPO = re.compile("_NUM_THREADS$|_MAXIMUM_THREADS$|_INTRAOP_THREADS$|^MALLOC_|^OPENBLAS_CORETYPE$|^PYTHONUNBUFFERED$")

SCRIPT = """
import gzip, sys, time
import torch
from torch import nn
torch.manual_seed(1)
folder = "/usr/share/datasets/fashion-mnist/train-"
images = torch.frombuffer(bytearray(gzip.open(folder + "images-idx3-ubyte.gz").read(16 + 16384 * 784)), dtype=torch.uint8)[16:].view(-1, 784).float() / 255
labels = torch.frombuffer(bytearray(gzip.open(folder + "labels-idx1-ubyte.gz").read(8 + 16384)), dtype=torch.uint8)[8:].long()
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
seconds = float(sys.argv[1])
begin, counted, since = time.time(), 0, None
while since is None or time.time() - since < seconds:
    batch = torch.randint(len(images), (32,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
    loss.backward()
    optimizer.step()
    if since is None and time.time() - begin > 1:
        since, counted = time.time(), 0
    counted += 1
print(f"loss={loss.item()}")
print(f"its={counted / (time.time() - since)}", flush=True)
"""


def clean():
    return {name: value for name, value in os.environ.items() if not SET_BY_HPO.search(name)}


def by_hand(folder, seconds, tuned):
    """Runs both scripts at once and returns the iterations per second of each."""
    environment = clean()
    cores = sorted(os.sched_getaffinity(0))
    if tuned:
        environment |= tuned_environment()
    pins = [["taskset", "-c", str(cores[n % len(cores)])] if tuned else [] for n in range(2)]
    # Each has a session of its own, like hpo's workers, since the kernel divides the cores of a loaded machine among sessions.
    both = [subprocess.Popen([*pin, sys.executable, folder / "train.py", str(seconds)], env=environment, stdout=subprocess.PIPE, text=True,
                             start_new_session=True) for pin in pins]
    return [float(re.search("its=(.*)", child.communicate()[0])[1]) for child in both]


def by_hpo(hpo, folder, seconds, number):
    name = f"s{number}"
    (folder / f"{name}.yaml").write_text(
        f"study: {name}\nobjective: {{metric: its, direction: maximize}}\nspace: {{x: {{type: float, low: 0, high: 1}}}}\n"
        f"worker: {{command: [{sys.executable}, train.py, \"{seconds}\"], metrics: {{}}}}\nbudget: {{trials: 2, epochs: 1}}\n"
        "sampler: {type: random}\nresources: {parallel: 2, backend: cpu, trial: {memory: 64MiB}}\n")
    subprocess.run([hpo, "run", f"{name}.yaml", "--quiet"], cwd=folder, check=True, capture_output=True, env=clean())
    trials = json.loads(subprocess.run([hpo, "ls", name, "--json"], cwd=folder, check=True, capture_output=True, text=True).stdout)["trials"]
    return [trial["values"]["its"] for trial in trials]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--seconds", type=float, default=4)
    arguments.add_argument("--hpo", type=pathlib.Path, default=ROOT / "build/release/bin/hpo")
    given = arguments.parse_args()
    import torch
    print(f"python {platform.python_version()}, torch {torch.__version__}, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}, "
          f"{given.repeats} repeats, iterations a second of each of two processes\n")
    measured = {"started by default": [], "by hpo": [], "tuned by hand": []}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "train.py").write_text(SCRIPT)
        for repeat in range(given.repeats):
            measured["started by default"].append(statistics.mean(by_hand(folder, given.seconds, False)))
            measured["by hpo"].append(statistics.mean(by_hpo(given.hpo, folder, given.seconds, repeat)))
            measured["tuned by hand"].append(statistics.mean(by_hand(folder, given.seconds, True)))
    base = measured["started by default"]
    for name, rates in measured.items():
        ratios = [rate / other for rate, other in zip(rates, base)]
        print(f"{name:20}{statistics.median(rates):8.1f} ({min(rates):.1f} to {max(rates):.1f})   "
              f"{statistics.median(ratios):5.2f} times the default ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
