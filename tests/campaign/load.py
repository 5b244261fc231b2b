"""Loads hpo for a time: 200 scripts at once with 100 viewers, and a program that asks for trials as fast as it is answered. Watches memory,
descriptors and threads of hpo, and judges by the oracle: everything that was reported is listed."""
import os
import pathlib
import pty
import signal
import subprocess
import threading
import time

import subjects
from harness import HPO, wait_for

AT_ONCE, VIEWERS = 200, 100
SCRIPTS = subjects.SCRIPTS.replace("'echo \"$2\" >>trained; ", "'sleep 10; ").replace("parallel: 2,", f"parallel: {AT_ONCE}, trial: {{{{memory: 1MiB, cores: 0.01}}}},")
TRIALS = 10**6  # more than there is time for


class Loaded(subjects.Scripts):
    name, text = "scripts", SCRIPTS


class Asking(subjects.Asked):
    name = "asked"


def load(minutes, stopped):
    """Returns the rows of the table: each load has half of the time."""
    return [_load(subject, viewers, 30 * minutes, stopped) for subject, viewers in ((Loaded(), VIEWERS), (Asking(), 0))]


def table(rows):
    """Returns the lines of the table."""
    heads = ["load", "trials", "trials/s", "most at once", "viewers", "MB, early and late", "descriptors", "threads", "lost"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(str(row[head]) for head in heads) + " |" for row in rows]


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


def _held(pid):
    """Returns the megabytes, descriptors and threads that the process holds, or nothing if it has ended."""
    try:
        status = pathlib.Path("/proc", str(pid), "status").read_text()
        field = lambda name: int(next(line for line in status.splitlines() if line.startswith(name)).split()[1])
        return round(field("VmRSS:") / 1000), len(os.listdir(f"/proc/{pid}/fd")), field("Threads:")
    except (OSError, StopIteration):
        return None
