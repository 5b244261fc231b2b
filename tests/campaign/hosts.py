"""Attacks studies on several hosts: kills agents and their connections, and stops agents for a time. Judges by the oracle of the issue: every
trial is finished once and without blame, no curve has a gap, each value is that of an undisturbed run, and no process is left."""
import json
import os
import pathlib
import random
import signal
import time

import cluster_test
from cluster_test import children_of
from harness import synthetic, wait_for

TRIALS, EPOCHS = 6, 600
LONG = 60  # seconds that the first agent of each round is stopped, longer than hosts are waited for
MOST_RUNS = 30  # of one study: hosts that die twice are set aside, and a run ends with its last host


class Site:
    """A study on agents of this machine. `links`: the program that agents are reached by."""
    name, on, links = "local:3", "local:3", None
    case = cluster_test.Agents

    def begin(self, case):
        """Starts the run, and returns the process whose end is its end."""
        return case.start("run", "study.yaml", "--on", self.on, environment=getattr(case, "environment", None))

    def over(self, run):
        return run.poll() is not None

    def close(self, run):
        run.communicate()


class Ssh(Site):
    name, on, links = "ssh", "ssh:one,two", b"ssh"
    case = cluster_test.Ssh


class Slurm(Site):
    name, links = "slurm", b"srun"
    case = cluster_test.Slurm

    def begin(self, case):
        (case.folder / "out").unlink(missing_ok=True)
        case.submit()
        return case

    def over(self, case):
        return (case.folder / "out").exists() and "ended with" in (case.folder / "out").read_text()

    def close(self, case):
        wait_for(lambda: not case.slurm("squeue", "-h"))


SITES = (Site(), Ssh(), Slurm())


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
    heads = ["hosts", "studies", "runs", "agents killed", "links killed", "agents stopped", "requeued", "failed"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(str(row[head]) for head in heads) + " |" for row in rows]


def _attack_site(site, seconds, dice, most, stopped):
    row = {"hosts": site.name, "studies": 0, "runs": 0, "agents killed": 0, "links killed": 0, "agents stopped": 0, "requeued": 0, "failed": 0}
    end = time.monotonic() + seconds
    while time.monotonic() < end and not stopped.is_set() and _attacks(row) < most:
        case = site.case()
        case.setUp()
        try:
            _attack_study(site, case, row, dice, most, stopped)
        except AssertionError as broken:
            row["failed"] += 1
            print(f"hosts {site.name} | {broken}", flush=True)
        finally:
            row["studies"] += 1
            for pid in _agents(case):
                _signal(pid, signal.SIGCONT)
            case.tearDown()
            case.doCleanups()
    return row


def _attacks(row):
    return row["agents killed"] + row["links killed"] + row["agents stopped"]


def _agents(case):
    """Returns the agents that run in the study's folder, wherever their parents are."""
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and _is_agent(pathlib.Path("/proc", entry), case.folder)]


def _is_agent(process, folder):
    try:
        return b"\0__agent" in (process / "cmdline").read_bytes() and (process / "cwd").samefile(folder)
    except OSError:
        return False


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


def _attack_study(site, case, row, dice, most, stopped):
    case.study(synthetic(name="several", trials=TRIALS, epochs=EPOCHS, parallel=4))
    is_first, resumes = True, []  # of stopped agents: when, and which
    for _ in range(MOST_RUNS):
        run = site.begin(case)
        row["runs"] += 1
        next_at = time.monotonic() + dice.uniform(1, 6)
        while not site.over(run):
            time.sleep(0.05)
            now = time.monotonic()
            for one in [one for one in resumes if one[0] <= now]:
                resumes.remove(one)
                _signal(one[1], signal.SIGCONT)
            if now < next_at or _attacks(row) >= most or stopped.is_set():
                continue
            next_at = now + dice.uniform(1, 6)
            kind = dice.choice(["agents killed", "agents stopped"] + ["links killed"] * bool(site.links))
            victims = _agents(case)
            if kind == "links killed":
                victims = children_of(_holder(case), site.links)
            if not victims:
                continue
            victim = dice.choice(victims)
            _signal(victim, signal.SIGSTOP if kind == "agents stopped" else signal.SIGKILL)
            row[kind] += 1
            if kind == "agents stopped":
                resumes.append((now + (LONG if is_first else dice.uniform(0, 10)), victim))
                is_first = False
        site.close(run)
        trials = case.trials_so_far("several")
        if len(trials) == TRIALS and all(trial["state"] == "complete" for trial in trials):
            break
    for _, pid in resumes:
        _signal(pid, signal.SIGCONT)
    trials = case.assert_all_complete(TRIALS)
    row["requeued"] += sum(trial["attempt"] - 1 for trial in trials)
    case.assert_nobody_left(within=60)
    wait_for(lambda: not _agents(case), message="an agent is left")
    _assert_undisturbed(case, trials)


def _assert_undisturbed(case, trials):
    """The values are those of a run without agents."""
    case.study(synthetic(name="undisturbed", trials=TRIALS, epochs=EPOCHS, parallel=4), "undisturbed.yaml")
    case.hpo("run", "undisturbed.yaml", "--on", "local")
    case.assertEqual([trial["value"] for trial in case.trials("undisturbed")], [trial["value"] for trial in trials])
