"""The programs under attack, as a user runs them, and one attack on one of them."""
import functools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Dict, List

import calls
import disks
import power
from attacks import Kill, Loss
from harness import HPO, Case, processes_of, wait_for
from reported import assert_seen, reported
from verdict import Seen

TRIALS = 6
PATIENCE = 30  # seconds within which an attacked run ends, or waits with a reason
SOON = 22  # seconds after which one that is attacked until its end is asked already; viewers wait for locks for 20

SCRIPTS = """\
study: attacked
objective: {{metric: loss, direction: minimize}}
space:
  x: {{type: float, low: 0.0, high: 1.0}}
worker: {{command: [/bin/dash, -c, 'echo "$2" >>trained; echo "loss=$1"', sh, "{{x}}", "{{trial}}", "{{params_file}}"]}}
budget: {{trials: {trials}, epochs: 1}}
sampler: {{type: random}}
stopping: []
resources: {{parallel: 2, grace: 1s}}
"""

NATIVE = """\
study: attacked
objective: {{metric: val_loss, direction: minimize}}
space:
  lr: {{type: float, low: 1.0e-4, high: 1.0e-1, log: true}}
worker:
  data: {{format: synthetic, samples: 512, features: 4, classes: 2}}
  model: {{type: mlp, hidden: [4]}}
  training: {{batch_size: 256}}
budget: {{trials: {trials}, epochs: 2}}
sampler: {{type: random}}
stopping: []
resources: {{parallel: 2, grace: 1s}}
"""

ASKED = """\
study: attacked
objective: {{metric: loss, direction: minimize}}
space:
  x: {{type: float, low: 0.0, high: 1.0}}
budget: {{trials: {trials}, epochs: 1}}
sampler: {{type: random}}
stopping: []
"""


class Run(Case):
    """A folder with a study, whose runs may be attacked."""

    def __init__(self, subject, trials=TRIALS):
        super().__init__()
        self.subject, self.trials = subject, trials

    def setUp(self):
        super().setUp()
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(self.folder / "r"), "XDG_CACHE_HOME": str(self.folder / "c")}
        (self.folder / "r").mkdir(mode=0o700)
        self.study(self.subject.text.format(trials=self.trials))
        self.subject.prepare(self)

    def popen(self, prefix, arguments, name, **more):
        """Starts hpo with its output in files of this name."""
        with open(self.folder / f"{name}.out", "w") as out, open(self.folder / f"{name}.err", "w") as err:
            child = subprocess.Popen([*prefix, HPO, *arguments], cwd=self.folder, stdout=more.pop("stdout", out), stderr=err,
                                     env=self.environment, **{"stdin": subprocess.DEVNULL, **more})
        self.children.append(child)
        return child

    def hpo(self, *arguments, environment=None, **more):
        return super().hpo(*arguments, environment={**self.environment, **(environment or {})}, **more)

    def text(self, name):
        return (self.folder / name).read_text(errors="replace")

    def listed(self):
        done = subprocess.run([HPO, "ls", "attacked", "--json"], cwd=self.folder, capture_output=True, text=True, env=self.environment)
        return json.loads(done.stdout)["trials"] if done.returncode == 0 else []

    def gaps(self):
        """Returns the complete trials of whose curves steps are missing."""
        trials = [json.loads(line) for line in self.hpo("export", "attacked", "--to", "jsonl", "-").splitlines()]
        return [t["trial"] for t in trials if t["state"] == "complete" and [point["step"] for point in t["curve"]] != list(range(1, t["steps"] + 1))]

    def trained(self):
        """Returns the numbers of the trials that were trained, in order, with repetitions, if the subject tells them."""
        path = self.folder / "trained"
        return [int(line) for line in path.read_text().splitlines() if line.isdigit()] if path.exists() else []

    def victims(self, role):
        """Returns the processes of the attacked run whose command line has this word."""
        found = []
        for pid in processes_of(self.folder) + [child.pid for child in self.children if child.poll() is None]:
            try:
                words = pathlib.Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.decode(errors="replace").rsplit("/", 1)[-1] == role for word in words):
                found.append(pid)
        return found

    def own_child(self, child):
        """Returns the process of hpo itself: the child of fail-call, or the one that was started."""
        try:
            below = pathlib.Path("/proc", str(child.pid), "task", str(child.pid), "children").read_text().split()
            traced = pathlib.Path("/proc", str(child.pid), "comm").read_text().strip() == "fail-call"
        except OSError:
            return child.pid
        return int(below[0]) if traced and below else child.pid

    def end_of(self, child, seen):
        """Waits for the end of an attacked run. One that waits too long is asked for its reason, and interrupted."""
        try:
            seen.exit = child.wait(SOON if seen.lasting else PATIENCE)
            return
        except subprocess.TimeoutExpired:
            before = len(self.text("run.err"))
        for sent, patience in ((signal.SIGQUIT, 3), (signal.SIGINT, 10), (signal.SIGINT, 10)):
            try:
                os.kill(self.own_child(child), sent)
            except ProcessLookupError:  # it has ended by itself meanwhile
                seen.exit = child.wait()
                return
            try:
                child.wait(patience)
                return
            except subprocess.TimeoutExpired:
                if sent == signal.SIGQUIT:
                    seen.waits = self.text("run.err")[before:]
        seen.waits = ""
        child.kill()
        child.wait()


class Subject:
    """A way of running hpo. `roles`: words of the command lines of its processes; `lives`: it may be killed at an instant; `recorded`: the trials of
    a run in which the power fails."""
    name: str
    text: str
    roles: List[str]
    lives = True
    recorded = 2 * TRIALS

    def prepare(self, run: Run):
        """Makes the files that exist before the attack."""

    def start(self, run: Run, prefix: List[str], name: str):
        return run.popen(prefix, ["run", "study.yaml", "--json"], name)

    def ends(self, run: Run, name: str):
        """Returns the ends that this run has reported."""
        return _ends(run.text(f"{name}.out"))

    def told(self, run: Run, printed: str):
        """Returns the ends that a recorded run has reported with the lines that it had printed."""
        return reported(printed)

    @functools.lru_cache(maxsize=None)
    def reference(self):
        """Returns the value of each trial, and the seconds of a run, without an attack."""
        run = Run(self)
        run.setUp()
        try:
            began = time.monotonic()
            status = self.start(run, [], "run").wait()
            if status != 0:
                raise RuntimeError(f"{self.name}: exit status {status} without an attack:\n{run.text('run.err')}")
            return {t["trial"]: t["value"] for t in run.listed()}, time.monotonic() - began
        finally:
            run.tearDown()

    def seconds(self):
        return self.reference()[1]


class Scripts(Subject):
    name, text, roles = "scripts", SCRIPTS, ["run", "__supervisor", "__script"]


class Native(Subject):
    name, text, roles = "native", NATIVE, ["run", "__supervisor", "hpo-worker"]


class Asked(Subject):
    """A program that asks for trials and tells their values. An end counts as reported once it is answered."""
    name, text, roles = "asked", ASKED, ["ask-tell"]
    recorded = 500  # enough steps that SQLite brings the write-ahead log into the database meanwhile

    def start(self, run, prefix, name):
        player = ("import json, sys\n"
                  "def ask(line):\n"
                  "    print(json.dumps(line), flush=True)\n"
                  "    answer = sys.stdin.readline()\n"
                  "    return json.loads(answer) if answer else sys.exit()\n"
                  f"told = open({str(run.folder / f'{name}.out')!r}, 'w', buffering=1)\n"
                  "while True:\n"
                  "    got = ask({'ask': 1})\n"
                  "    if got.get('done'): break\n"
                  "    for t in got.get('trials', []):\n"
                  "        loss = t['params']['x']\n"
                  "        if ask({'tell': {'trial': t['trial'], 'values': {'loss': loss}}}).get('ok'):\n"
                  "            print(json.dumps({'event': 'finished', 'trial': t['trial'], 'state': 'complete', 'value': loss}), file=told)\n")
        program = run.popen(prefix, ["ask-tell", "study.yaml"], name, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        run.children.append(subprocess.Popen(["/usr/bin/python3", "-c", player], stdin=program.stdout, stdout=program.stdin,
                                                stderr=subprocess.DEVNULL, cwd=run.folder))
        program.stdin.close()
        program.stdout.close()
        program.stdin = program.stdout = None
        return program

    def told(self, run, printed):
        answered = sum('"ok"' in line for line in printed.splitlines())
        return reported("".join(run.text("run.out").splitlines(keepends=True)[:answered]))


class Viewer(Subject):
    """A command that reads a finished study. It prints the same as without an attack, or ends with a reason."""
    text, lives = SCRIPTS, False

    def __init__(self, *command):
        self.name, self.command, self.roles = f"viewer-{command[0]}", list(command), [command[0]]

    def prepare(self, run):
        finished = _finished_study()
        shutil.copytree(finished / "runs", run.folder / "runs")

    def start(self, run, prefix, name):
        return run.popen(prefix, self.command, name)

    def ends(self, run, name):
        return {}


@functools.lru_cache(maxsize=None)
def _finished_study():
    """Returns a folder with a study that has ended, which stays until the process ends."""
    run = Run(Scripts())
    run.setUp()
    if Scripts().start(run, [], "run").wait() != 0:
        raise RuntimeError(run.text("run.err"))
    folder = pathlib.Path(_kept.name)
    shutil.copytree(run.folder / "runs", folder / "runs")
    run.tearDown()
    return folder


_kept = tempfile.TemporaryDirectory(prefix="hpo-campaign-")

ALL = [Scripts(), Native(), Asked(), Viewer("ls", "attacked", "--json"), Viewer("best", "attacked"),
       Viewer("export", "attacked", "--to", "csv", "-"), Viewer("show", "attacked/1", "--json")]


def counts(subject, role) -> Dict[str, int]:
    """Returns how often the processes of this role make each call in a run without an attack."""
    run = Run(subject)
    run.setUp()
    try:
        path = run.folder / "counts"
        if subject.start(run, [calls.FAIL_CALL, role, "--count", str(path)], "run").wait() != 0:
            raise RuntimeError(f"{subject.name}, traced:\n{run.text('run.err')}")
        return calls.counts(path)
    finally:
        run.tearDown()


@functools.lru_cache(maxsize=None)
def printed(subject):
    """Returns the standard output of a viewer without an attack."""
    run = Run(subject)
    run.setUp()
    try:
        subject.start(run, [], "run").wait()
        return run.text("run.out").replace(str(run.folder), "")
    finally:
        run.tearDown()


# The shell waits for the process that it kills: until then the lock is held.
SESSIONS = {"one session": '"$@"', "two sessions": '"$@" --set budget.trials=5; "$@"', "a kill": '"$@" & sleep 0.6; kill -KILL $!; wait $!; "$@"'}


def _shell(sessions):
    return ["sh", "-c", SESSIONS[sessions], "sh"] if sessions != "one session" else []


def _ends(printed):
    """Returns the ends in the whole lines of an output."""
    return reported(printed[:printed.rfind("\n") + 1])


def losses(subject, sessions, number, dice):
    """Records a run of the subject. Returns losses of power in it, this many, at random instants."""
    run = Run(subject, trials=subject.recorded)
    run.setUp()
    try:
        log = run.folder / "record"
        if subject.start(run, [power.RECORD_WRITES, "runs", str(log), *_shell(sessions)], "run").wait() != 0:
            raise RuntimeError(f"{subject.name}, recorded:\n{run.text('run.err')}")
        recording = power.read(log)
        expected = {t["trial"]: t["value"] for t in run.listed()}
        told = lambda printed: subject.told(run, printed)
        return [power.FileLoss(sessions, cut, dice.getrandbits(32), told(recording.printed(cut)), expected, recording)
                for cut in [recording.instant(dice) for _ in range(number)]]
    finally:
        run.tearDown()


def disk_losses(subject, sessions, kind, number, dice):
    """As losses(), of a run on a new file system of this kind."""
    run = Run(subject, trials=subject.recorded)
    run.setUp()
    try:
        (run.folder / "runs").mkdir()
        seen = [(0, "")]  # instants, and the text printed by then
        with disks.recorded_disk(kind, run.folder / "runs", run.folder):
            began = time.monotonic_ns()
            child = subject.start(run, _shell(sessions), "run")
            while child.poll() is None:
                time.sleep(0.001)
                printed = run.text("run.out")
                if printed != seen[-1][1]:
                    seen.append((time.monotonic_ns(), printed))
            if child.returncode != 0:
                raise RuntimeError(f"{subject.name} on {kind}:\n{run.text('run.err')}")
            expected = {t["trial"]: t["value"] for t in run.listed()}
        record = disks.Record(run.folder)
        first = next(i for i, entry in enumerate(record.entries) if entry[0] > began)
        losses = []
        for cut in [dice.randint(first, len(record.entries)) for _ in range(number)]:
            printed = [text for instant, text in seen if instant <= record.entries[cut - 1][0]][-1]
            losses.append(disks.DiskLoss(sessions, cut, dice.getrandbits(32), _ends(printed), expected, record, kind))
        return losses
    finally:
        run.tearDown()


def attacked(subject, attack, keep=False) -> Seen:
    """Makes one attack on a run of the subject, in a folder of its own, and resumes the run."""
    run = Run(subject, trials=subject.recorded if isinstance(attack, Loss) else TRIALS)
    run.setUp()
    try:
        if isinstance(attack, Loss):
            return _after_loss(subject, run, attack)
        if isinstance(subject, Viewer):
            return _attacked_viewer(subject, run, attack)
        return _attacked_run(subject, run, attack)
    finally:
        attack.undo(run)
        if keep:
            kept = tempfile.mkdtemp(prefix="hpo-attack-")
            shutil.copytree(run.folder, kept, dirs_exist_ok=True, symlinks=True)
            print(f"kept: {kept}")
        run.tearDown()


def _attacked_run(subject, run, attack):
    seen = Seen(trials=TRIALS, expected=subject.reference()[0])
    seen.lasting = attack.lasting
    attack.prepare(run)
    child = subject.start(run, attack.prefix(), "run")
    attack.act(run)
    run.end_of(child, seen)
    if seen.exit == -signal.SIGKILL and isinstance(attack, Kill):
        seen.exit = 0  # as it was asked to
    run.doCleanups()
    seen.output = run.text("run.err") + run.text("run.out")
    try:
        wait_for(lambda: not processes_of(run.folder), 5)
    except AssertionError:
        seen.left = processes_of(run.folder)
    seen.reported = subject.ends(run, "run")
    _see_and_resume(subject, run, seen)
    return seen


def _after_loss(subject, run, loss):
    seen = Seen(trials=run.trials, expected=loss.expected, reported=loss.reported, exit=0)
    try:
        with loss.restored(run.folder / "runs"):
            _see_and_resume(subject, run, seen)
            wait_for(lambda: not processes_of(run.folder))
            if list(run.folder.glob("runs/*/*.damaged")):
                seen.lost = seen.lost or "hpo names results as missing, although no byte was damaged"
    except disks.Refused as refused:
        seen.lost = f"the file system does not recover: {refused}"
    return seen


def _see_and_resume(subject, run, seen):
    """Looks for the reported ends in all viewers, and lets the next run complete the study."""
    if seen.reported:
        try:
            assert_seen(run, "attacked", seen.reported)
        except AssertionError as error:
            seen.lost = str(error)[:400]
    before = len(run.trained())
    try:
        seen.resumed = subject.start(run, [], "again").wait(60)
    except subprocess.TimeoutExpired:
        seen.resumed = None
    if seen.resumed != 0:
        seen.output += run.text("again.err")
    else:
        seen.gaps = run.gaps()
    again = run.trained()[before:]
    seen.trained_after = sorted(set(again) & set(seen.reported))
    seen.final = {t["trial"]: (t["state"], t["value"]) for t in run.listed() if t["state"] in ("complete", "stopped", "diverged", "failed")}


def _attacked_viewer(subject, run, attack):
    seen = Seen(lasting=attack.lasting)
    child = subject.start(run, attack.prefix(), "run")
    run.end_of(child, seen)
    seen.output = run.text("run.err")
    out = run.text("run.out").replace(str(run.folder), "")
    if seen.exit == 0 and out != printed(subject):
        seen.lost = f"other output, exit status 0: {seen.output} {out[:200]}"
    listed = {t["trial"]: (t["state"], t["value"]) for t in run.listed()}
    if len(listed) != TRIALS or any(state != "complete" for state, _ in listed.values()):
        seen.lost = f"the study was changed: {listed}"
    return seen
