"""Attacks studies on several hosts: kills agents, their connections and nodes of Slurm, and stops agents for a time. Judges by the oracle of the
issue: every trial is finished once and without blame, no curve has a gap, each value is that of an undisturbed run, and no process is left."""
import json
import os
import pathlib
import random
import signal
import sqlite3
import time

import cluster_test
from cluster_test import children_of
from harness import synthetic, wait_for

TRIALS, LEAST_EPOCHS, MOST_EPOCHS = 6, 600, 6000
EPOCHS_A_SECOND = 25  # of a site's time: then a study lasts about as long, and all its attacks meet the same one
LONG = 60  # seconds that every second agent is stopped, longer than hosts are waited for
AWAY = 3, 12  # seconds after which a node that was killed comes back
MOST_RUNS = 60  # of one study: hosts that die twice are set aside, and a run ends with its last host
LONGEST_RUN = 600  # seconds without the end of a trial, after which a run counts as one that hangs


class Site:
    """A study on agents of this machine. `links`: the program that agents are reached by."""
    name, on, links = "local:3", "local:3", None
    kinds = ("agents killed", "agents stopped")
    case = cluster_test.Agents

    def begin(self, case):
        """Starts the run, and returns the process whose end is its end."""
        return case.start("run", "study.yaml", "--on", self.on, environment=getattr(case, "environment", None))

    def over(self, run):
        return run.poll() is not None

    def close(self, run):
        run.communicate()

    def kill_node(self, case, dice, whole):
        """Kills a node, or its daemon alone, and returns True; False: none is there."""
        return False

    def bring_back(self, case, at_once=False):
        """Starts nodes that have been away for long enough."""


class Ssh(Site):
    name, on, links = "ssh", "ssh:one,two", b"ssh"
    kinds = (*Site.kinds, "links killed")
    case = cluster_test.Ssh


class Slurm(Site):
    """A job of three nodes, which Slurm queues again when it loses the node of its script."""
    name, links = "slurm", b"srun"
    kinds = (*Ssh.kinds, "nodes killed", "daemons killed")
    case = cluster_test.Slurm

    def __init__(self):
        self._away = {}  # nodes, and when they come back
        self._asked = 0

    def begin(self, case):
        (case.folder / "out").unlink(missing_ok=True)
        case.submit(options=("--requeue", "--open-mode=append"))
        return case

    def over(self, case):
        out = case.folder / "out"
        if out.exists() and "ended with" in out.read_text():
            return True
        if time.monotonic() - self._asked < 2:
            return False
        self._asked = time.monotonic()
        return not case.slurm("squeue", "-h")  # Slurm has given the job up

    def close(self, case):
        self.bring_back(case, at_once=True)
        wait_for(lambda: not case.slurm("squeue", "-h"), message="the job does not end")

    def kill_node(self, case, dice, whole):
        there = [node for node in ("node1", "node2", "node3") if node not in self._away]
        if not there:
            return False
        node = dice.choice(there)
        daemon = next(child.pid for child in case.children if child.args[:3] == ["slurmd", "-N", node] and child.poll() is None)
        victims = [daemon]
        if whole:  # with its steps and all that they have started: nobody there can act on the end of another
            steps = _steps_of(node, case.environment["SLURM_CONF"])
            victims += steps
            for pid in steps:
                _signal(pid, signal.SIGSTOP)
            for pid in victims[1:]:
                for below in _children(pid):
                    _signal(below, signal.SIGSTOP)
                    victims.append(below)
            for pid in victims[1:]:  # what was started before its parent was stopped
                victims += [below for below in _children(pid) if below not in victims]
        for pid in victims:
            _signal(pid, signal.SIGKILL)
        self._away[node] = time.monotonic() + dice.uniform(*AWAY)
        return True

    def bring_back(self, case, at_once=False):
        for node in [node for node, when in self._away.items() if at_once or when <= time.monotonic()]:
            del self._away[node]
            case.begin_daemon("slurmd", "-N", node)


SITES = (Site(), Ssh(), Slurm())
KINDS = Slurm.kinds


def attack(minutes, seed, most, stopped):
    """Returns the rows of the table, one for each site. Each site has an equal part of the minutes, and at most `most` attacks."""
    rows = []
    for site in SITES:
        reason = getattr(site.case, "__unittest_skip_why__", None)
        if reason:
            print(f"hosts {site.name} | not run: {reason}", flush=True)
        elif not stopped.is_set():
            rows.append(_attack_site(site, 60 * minutes / len(SITES), random.Random(f"{site.name} {seed}"), most, stopped))
    return rows


def table(rows):
    """Returns the lines of the table."""
    heads = ["hosts", "studies", "runs", *KINDS, "requeued", "failed"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(str(row[head]) for head in heads) + " |" for row in rows]


def _attack_site(site, seconds, dice, most, stopped):
    row = {"hosts": site.name, "studies": 0, "runs": 0, **dict.fromkeys(KINDS, 0), "requeued": 0, "failed": 0}
    epochs = int(min(MOST_EPOCHS, max(LEAST_EPOCHS, EPOCHS_A_SECOND * seconds)))
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stopped.is_set() and _attacks(row) < most:
        case = site.case()
        case.setUp()
        try:
            _attack_study(site, case, epochs, row, dice, most, stopped)
        except AssertionError as broken:
            row["failed"] += 1
            print(f"hosts {site.name} | {broken}", flush=True)
            log = case.folder / "runs/several/hpo.log"
            if log.exists():
                print("".join(log.read_text().splitlines(keepends=True)[-40:]), flush=True)
        finally:
            row["studies"] += 1
            for pid in _agents(case):
                _signal(pid, signal.SIGCONT)
            site.bring_back(case, at_once=True)
            case.tearDown()
            case.doCleanups()
    return row


def _attacks(row):
    return sum(row[kind] for kind in KINDS)


def _agents(case):
    """Returns the agents that run in the study's folder, wherever their parents are."""
    return [pid for pid in _processes() if _is_agent(pathlib.Path("/proc", str(pid)), case.folder)]


def _is_agent(process, folder):
    try:
        return (process / "cmdline").read_bytes().split(b"\0")[1:2] == [b"__agent"] and (process / "cwd").samefile(folder)
    except OSError:
        return False


def _processes():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _children(parent):
    return [pid for pid in _processes() if _parent(pid) == parent]


def _parent(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def _steps_of(node, conf):
    """Returns the processes of Slurm that run the steps of jobs on a node of the cluster with this configuration."""
    found = set()
    for pid in _processes():
        try:
            parent = _parent(pid)
            if not pathlib.Path(f"/proc/{parent}/cmdline").read_bytes().startswith(b"slurmstepd: "):
                continue
            own = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            around = pathlib.Path(f"/proc/{parent}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"SLURMD_NODENAME=" + node.encode() in own and b"SLURM_CONF=" + conf.encode() in around:
            found.add(parent)
    return sorted(found)


def _holder(case):
    """Returns the process that runs the study; 0: there is none, or it does not say yet."""
    try:
        return json.loads((case.folder / "runs/several/lock").read_text())["pid"]
    except (OSError, ValueError):
        return 0


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _attack_study(site, case, epochs, row, dice, most, stopped):
    case.study(synthetic(name="several", trials=TRIALS, epochs=epochs, parallel=4))
    stops, resumes = 0, []  # of stopped agents: when, and which
    for _ in range(MOST_RUNS):
        run = site.begin(case)
        row["runs"] += 1
        next_at = time.monotonic() + dice.uniform(1, 6)
        last, seen_at, looks_at = "", time.monotonic(), 0
        while not site.over(run):
            time.sleep(0.05)
            now = time.monotonic()
            for one in [one for one in resumes if one[0] <= now]:
                resumes.remove(one)
                _signal(one[1], signal.SIGCONT)
            site.bring_back(case)
            if now >= looks_at:
                looks_at, steps = now + 10, str([trial["steps"] for trial in case.trials_so_far("several")])
                last, seen_at = steps, now if steps != last else seen_at
                if now - seen_at > LONGEST_RUN:
                    raise AssertionError(f"no trial has got further for {LONGEST_RUN} s: {steps}")
            if now < next_at or _attacks(row) >= most or stopped.is_set():
                continue
            next_at = now + dice.uniform(1, 6)
            kind = dice.choice(site.kinds)
            if kind in ("nodes killed", "daemons killed"):
                row[kind] += site.kill_node(case, dice, kind == "nodes killed")
                continue
            victims = children_of(_holder(case), site.links) if kind == "links killed" else _agents(case)
            if not victims:
                continue
            victim = dice.choice(victims)
            _signal(victim, signal.SIGSTOP if kind == "agents stopped" else signal.SIGKILL)
            row[kind] += 1
            if kind == "agents stopped":
                resumes.append((now + (dice.uniform(0, 10) if stops % 2 else LONG), victim))
                stops += 1
        site.close(run)
        trials = case.trials_so_far("several")
        if len(trials) == TRIALS and all(trial["state"] == "complete" for trial in trials):
            break
    for _, pid in resumes:
        _signal(pid, signal.SIGCONT)
    trials = case.assert_all_complete(TRIALS)
    _assert_ended_once(case)
    row["requeued"] += sum(trial["attempt"] - 1 for trial in trials)
    case.assert_nobody_left(within=60)
    wait_for(lambda: not _agents(case), message="an agent is left")
    _assert_undisturbed(case, epochs, trials)


def _assert_ended_once(case):
    with sqlite3.connect(f"file:{case.database('several')}?mode=ro", uri=True) as database:
        ends = database.execute("select trial, count(*) from event where kind = 8 group by trial").fetchall()
    case.assertEqual(ends, [(trial, 1) for trial in range(1, TRIALS + 1)], "ends of trials")


def _assert_undisturbed(case, epochs, trials):
    """The values are those of a run without agents."""
    case.study(synthetic(name="undisturbed", trials=TRIALS, epochs=epochs, parallel=4), "undisturbed.yaml")
    case.hpo("run", "undisturbed.yaml", "--on", "local", timeout=600)
    case.assertEqual([trial["value"] for trial in case.trials("undisturbed")], [trial["value"] for trial in trials])
