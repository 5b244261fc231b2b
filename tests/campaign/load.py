"""Loads hpo for a time: 200 scripts at once with 100 viewers, and a program that asks for trials as fast as it is answered. Watches memory,
descriptors and threads of hpo, and judges by the oracle: everything that was reported is listed. Then a day of 100 trials a second, compressed: the
engine, its ledger and its rules are the real ones; workers, disk and clock are those of hpo simulate. The record of a trial stays in memory as long
as the process, so the memory may grow by its bytes and by nothing else."""
import json
import os
import pathlib
import pty
import signal
import subprocess
import tempfile
import threading
import time

import subjects
from harness import HPO, wait_for

AT_ONCE, VIEWERS = 200, 100
SCRIPTS = subjects.SCRIPTS.replace("'echo \"$2\" >>trained; ", "'sleep 10; ").replace("parallel: 2,", f"parallel: {AT_ONCE}, trial: {{{{memory: 1MiB, cores: 0.01}}}},")
TRIALS = 10**6  # more than there is time for


DAY = 86_400  # seconds, of 100 trials each
SIMULATED = """\
study: day
objective: {metric: loss, direction: minimize}
space: {x: {type: float, low: 0.0, high: 1.0}, y: {type: float, low: 0.0, high: 1.0}}
worker: {command: [python3, train.py]}
budget: {trials: TRIALS, epochs: 3}
sampler: {type: random}
stopping: []
"""
MACHINE = """\
host: {cores: 760}
devices: [{name: A, count: 760, memory: 80GB, at_once: 1}]
trials: {step: [1s, 4s], start: 1s, gpu_memory: [4GB, 40GB], curve: {from: 0.9, to: [0.1, 0.3], noise: 0.003}}
"""  # 100 trials a second


class Loaded(subjects.Scripts):
    name, text = "scripts", SCRIPTS


class Asking(subjects.Asked):
    name = "asked"


def load(minutes, stopped):
    """Returns the rows of the table: each load has half of the time."""
    return [_load(subject, viewers, 30 * minutes, stopped) for subject, viewers in ((Loaded(), VIEWERS), (Asking(), 0))]


def day(minutes, stopped):
    """Simulates a day, or the longest 1/2, 1/4, ... of it for which the time suffices, and half and a quarter of that. Returns the rows of the
    table, of which each has the bytes by which a trial more made the memory grow, and the rest of the memory."""
    with tempfile.TemporaryDirectory(prefix="hpo-day-") as name:
        folder = pathlib.Path(name)
        began = time.monotonic()
        measured = [_simulated(folder, DAY // 512, stopped)]
        speed = measured[0]["trials"] / (time.monotonic() - began)
        seconds = DAY
        while 1.75 * 100 * seconds / speed > 60 * minutes and seconds > DAY // 64:
            seconds //= 2
        for part in (seconds // 4, seconds // 2, seconds):
            if not stopped.is_set():
                measured.append(_simulated(folder, part, stopped))
    rows = []
    for before, row in zip(measured, measured[1:]):
        each = (row["peak"] - before["peak"]) / (row["trials"] - before["trials"])
        rows.append({"simulated": f"{row['seconds'] / 3600:.2f} h", "trials": row["trials"], "trials/s": round(row["trials"] / row["seconds"], 1),
                     "took": f"{row['took']:.0f} s", "MB": round(row["peak"] / 1e6), "bytes a trial": round(each),
                     "MB besides": round((row["peak"] - each * row["trials"]) / 1e6), "descriptors": row["descriptors"], "threads": row["threads"]})
    return rows


def grows(rows):
    """Returns whether the memory, descriptors or threads of the longest simulation grew by more than the trials explain."""
    if len(rows) < 2:
        return False
    before, last = rows[-2:]
    return last["bytes a trial"] > 1.25 * before["bytes a trial"] + 50 or last["descriptors"] > before["descriptors"] or last["threads"] > before["threads"]


def table(rows):
    """Returns the lines of the table."""
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(str(row[head]) for head in heads) + " |" for row in rows]


def _simulated(folder, seconds, stopped):
    """Simulates `seconds` seconds. Returns the trials, the simulated time, the time, and the most memory, descriptors and threads."""
    (folder / "day.yaml").write_text(SIMULATED.replace("TRIALS", str(100 * seconds)))
    (folder / "machine.yaml").write_text(MACHINE)
    began = time.monotonic()
    with open(folder / "output", "w+") as output:
        child = subprocess.Popen([HPO, "simulate", "day.yaml", "--devices", "machine.yaml", "--simulations", "1", "--json"], cwd=folder, stdout=output)
        most = (0, 0, 0)
        while child.poll() is None:
            # Not the resource usage of the child, whose peak begins with the memory of this process.
            if held := _held(child.pid, "VmHWM:"):
                most = tuple(map(max, most, held))
            if stopped.is_set():
                child.kill()
            time.sleep(0.2)
        took = time.monotonic() - began
        output.seek(0)
        told = output.read()
    if child.returncode != 0:
        raise RuntimeError(f"hpo simulate ended with {child.returncode}: {told}")
    told = json.loads(told)
    return {"trials": told["trials"], "seconds": told["seconds"][0], "took": took, "peak": 10**6 * most[0], "descriptors": most[1], "threads": most[2]}


def _load(subject, viewers, seconds, stopped):
    run = subjects.Run(subject, trials=TRIALS)
    run.setUp()
    screens = []
    try:
        child = subject.start(run, [], "run")
        began = time.monotonic()
        wait_for(run.listed)
        screens = [_viewer(run) for _ in range(viewers)]
        samples, at_once = [], 0
        while time.monotonic() - began < seconds and child.poll() is None and not stopped.is_set():
            time.sleep(0.5)
            if held := _held(child.pid):
                samples.append((time.monotonic() - began, held))
            at_once = max(at_once, len(run.victims("sleep")))
        took = time.monotonic() - began
        alive = sum(viewer.poll() is None for viewer, _ in screens)
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        child.wait(subjects.PATIENCE)
        reported = subject.ends(run, "run")
        listed = {t["trial"]: (t["state"], t["value"]) for t in run.listed()}
        lost = [trial for trial, end in reported.items() if listed.get(trial) != end]
        early = next(held for at, held in samples if at >= min(5, took / 4))
        late = samples[-1][1]
        for trial in lost[:3]:
            print(f"load {subject.name} | trial {trial} was reported as {reported[trial]} and is {listed.get(trial)}", flush=True)
        return {"load": subject.name, "trials": len(reported), "trials/s": round(len(reported) / took, 1), "most at once": at_once or "-", "viewers": alive,
                "MB, early and late": f"{early[0]}, {late[0]}", "descriptors": f"{early[1]}, {late[1]}", "threads": f"{early[2]}, {late[2]}",
                "lost": len(lost)}
    finally:
        for viewer, screen in screens:
            viewer.kill()
            viewer.wait()
            os.close(screen)
        run.tearDown()


def _viewer(run):
    """Starts hpo top on a terminal of its own, which is read. Returns its process and the terminal."""
    screen, terminal = pty.openpty()
    viewer = subprocess.Popen([HPO, "top", "attacked"], cwd=run.folder, stdin=terminal, stdout=terminal, stderr=terminal, env={**run.environment, "TERM": "xterm"})
    os.close(terminal)

    def read():
        try:
            while os.read(screen, 65536):
                pass
        except OSError:  # the terminal was closed
            pass

    threading.Thread(target=read, daemon=True).start()
    return viewer, screen


def _held(pid, memory="VmRSS:"):
    """Returns the megabytes, descriptors and threads that the process holds, or nothing if it has ended."""
    try:
        status = pathlib.Path("/proc", str(pid), "status").read_text()
        field = lambda name: int(next(line for line in status.splitlines() if line.startswith(name)).split()[1])
        return round(1.024 * field(memory) / 1000), len(os.listdir(f"/proc/{pid}/fd")), field("Threads:")
    except (OSError, StopIteration):
        return None
