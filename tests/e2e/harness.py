"""The base of the end-to-end tests: a folder for each test, the built programs, and functions that inspect processes and studies from outside.

Each class runs in a process of its own, and classes run in parallel. They do not see each other's sessions, since each process has a session
registry of its own ($XDG_RUNTIME_DIR). A class that needs the machine to itself has a line `alone = "WHY"` (classes.cmake.in)."""
import contextlib
import json
import os
import pathlib
import re
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HPO_BUILD", SOURCE / "build" / "release"))
HPO = str(BUILD / "bin" / "hpo")
WORKER = str(BUILD / "bin" / "hpo-worker")
FAKE_DISK = str(BUILD / "tests" / "support" / "libfake-disk.so")
FAKE = str(BUILD / "tests" / "support" / "fake-worker")
DEADLINE = float(os.environ.get("HPO_TEST_DEADLINE", "60"))  # the limit of one wait for an event, in seconds
TIMES = os.environ.get("HPO_TIMES")  # a file to which each test appends its name and seconds

_runtime = tempfile.TemporaryDirectory(prefix="hpo-run-")
os.environ["XDG_RUNTIME_DIR"] = _runtime.name


def _own_cache():
    """Hides hpo's stored facts about this machine, but not the cached kernels of OpenCL, which take long to compile."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    with contextlib.suppress(OSError):
        (cache / "pocl").mkdir(parents=True, exist_ok=True)
    own = pathlib.Path(_runtime.name, "cache")
    own.mkdir()
    for entry in cache.iterdir() if cache.is_dir() else []:
        if entry.name != "hpo":
            (own / entry.name).symlink_to(entry)
    return str(own)


os.environ["XDG_CACHE_HOME"] = _own_cache()
os.environ["HPO_TUNING"] = "off"  # the mock driver computes slowly, and times on it say nothing


def processes_of(folder):
    """Returns the pids of processes that belong to a study below `folder`, by the device and inode in their HPO_TAG."""
    marks = set()
    for path in pathlib.Path(folder).glob("runs/*"):
        info = path.stat()
        marks.add(f"hpo-{info.st_dev}-{info.st_ino}")
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            environment = pathlib.Path("/proc", entry, "environ").read_bytes()
            state = pathlib.Path("/proc", entry, "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if state in "ZX":
            continue
        for item in environment.split(b"\0"):
            if item.startswith(b"HPO_TAG=") and item[8:].decode().split(":")[0].split("@")[0] in marks:
                found.append(int(entry))
    return found


def wait_for(condition, deadline=DEADLINE, message="nothing happened before the deadline"):
    """Polls `condition()` until it is true and returns its value. Fails after `deadline` seconds."""
    end = time.monotonic() + deadline
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(message)
        select.select([], [], [], 0.005)


def names_part(line, part):
    """True if the line has the part. A number at an end of the part is a whole one in the line: 15, 52, 0.5, 5,000, -5 and 1e5 have no 5."""
    before = r"(?<![0-9])(?<![0-9][.,])(?<![0-9]e)(?<![0-9]e[+-])(?<!(?<![A-Za-z0-9])[-])" if part[:1].isdigit() else ""
    after = r"(?![0-9])(?![.,][0-9])(?!e[+-]?[0-9])" if part[-1:].isdigit() else ""
    return re.search(before + re.escape(part) + after, line) is not None


class Case(unittest.TestCase):
    """A test case that runs in an empty folder and ends all processes of its studies."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="hpo-e2e-")
        self.folder = pathlib.Path(self._folder.name)
        self.children = []
        self._began = time.monotonic()

    def tearDown(self):
        if TIMES:
            os.makedirs(os.path.dirname(TIMES), exist_ok=True)
            with open(TIMES, "a") as times:
                times.write(f"{self._testMethodName} {time.monotonic() - self._began:.2f}\n")
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for stream in (child.stdout, child.stderr):
                if stream:
                    stream.close()
        for pid in processes_of(self.folder):
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                os.kill(pid, signal.SIGKILL)
        self._folder.cleanup()

    def hpo(self, *arguments, status=0, timeout=DEADLINE * 2, environment=None, stdin=subprocess.DEVNULL):
        """Runs hpo to its end and returns its standard output; `.error` holds stderr."""
        done = subprocess.run([HPO, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, stdin=stdin,
                              timeout=timeout, env={**os.environ, **(environment or {})})
        self.assertEqual(done.returncode, status, f"hpo {' '.join(map(str, arguments))}\n{done.stdout}\n{done.stderr}")
        self.error = done.stderr
        return done.stdout

    def assert_mentions(self, text, *parts):
        """Fails unless one line of `text` names all parts, in any order: numbers, keys, places, commands, single words (tests/pins_test.py)."""
        if not any(all(names_part(line, part) for part in parts) for line in text.splitlines()):
            self.fail(f"no line names {', '.join(map(repr, parts))}:\n{text}")

    def start(self, *arguments, environment=None, **more):
        child = subprocess.Popen([HPO, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                                 env={**os.environ, **(environment or {})}, **more)
        self.children.append(child)
        return child

    def study(self, text, name="study.yaml"):
        path = self.folder / name
        path.write_text(text)
        return path

    def trials(self, study):
        return json.loads(self.hpo("ls", study, "--json"))["trials"]

    def trials_so_far(self, study):
        """Returns the trials of a study that may not have started yet."""
        done = subprocess.run([HPO, "ls", study, "--json"], cwd=self.folder, capture_output=True, text=True)
        return json.loads(done.stdout)["trials"] if done.returncode == 0 else []

    def database(self, study):
        return self.folder / "runs" / study / "study.db"

    def assert_sound(self, study):
        connection = sqlite3.connect(f"file:{self.database(study)}?mode=ro", uri=True)
        try:
            self.assertEqual(connection.execute("pragma integrity_check").fetchall(), [("ok",)])
        finally:
            connection.close()

    def assert_nobody_left(self, within=2.0):
        try:
            wait_for(lambda: not processes_of(self.folder), within)
        except AssertionError:
            left = processes_of(self.folder)
            names = subprocess.run(["ps", "-o", "pid,ppid,stat,args", "-p", ",".join(map(str, left))], capture_output=True, text=True)
            self.assertEqual(left, [], f"still there after {within} s:\n{names.stdout}")


SYNTHETIC = """\
study: {name}
seed: {seed}
objective: {{metric: val_loss, direction: minimize}}
space:
  lr: {{type: float, low: 1.0e-4, high: 1.0e-1, log: true}}
  weight_decay: {{type: float, low: 1.0e-4, high: 1.0e-1, log: true}}
worker:
  task: classification
  data: {{format: synthetic, samples: {samples}, features: 16, classes: 3}}
  model: {{type: mlp, hidden: [16]}}
  training: {{batch_size: 256}}
budget: {{trials: {trials}, epochs: {epochs}}}
sampler: {{type: random}}
resources: {{parallel: {parallel}}}
{more}
"""


def synthetic(name="small", seed=1, samples=2048, trials=6, epochs=5, parallel=2, more=""):
    return SYNTHETIC.format(**locals())


if __name__ == "__main__":
    sys.exit("run tests/run, or ctest in the build folder")
