"""Ends Slurm's controller for some minutes while a study runs on three nodes, kills an agent meanwhile, and measures how long the loop of hpo did
not look for events. Judges that each other trial goes on, that none is charged, and that nothing but a want of cores ever holds the loop up."""
import json
import os
import signal
import time

import cluster_test
from harness import BUILD, wait_for

LONG = 10  # milliseconds: the longest time that the loop may be blocked by anything but a want of cores (loop_pauses.cpp)
STEP = 0.2  # seconds of each
HEADS = ["controller", "minutes away", "steps meanwhile", "fewest of a trial", "requeued", "charged", "pauses", "longest ms", "blocked ms", "failed"]
STUDY = """\
study: several
objective: {metric: loss, direction: minimize}
space: {x: {type: float, low: 0.0, high: 1.0}}
worker: {command: [/bin/sh, -c, 'for epoch in $(seq 100000); do echo "epoch $epoch loss=$1"; sleep 0.2; done', sh, "{x}"]}
budget: {trials: 6, epochs: 100000}
sampler: {type: random}
stopping: []
resources: {parallel: 6}
"""


def attack(minutes, stopped):
    """Returns the rows of the table: one without an attack, and one without the controller for these minutes."""
    reason = getattr(cluster_test.Slurm, "__unittest_skip_why__", None)
    if reason:
        print(f"controller | not run: {reason}", flush=True)
        return []
    return [_run(name, 60 * seconds, stopped) for name, seconds in (("there", min(1, minutes)), ("away", minutes)) if not stopped.is_set()]


def table(rows):
    """Returns the lines of the table."""
    lines = ["| " + " | ".join(HEADS) + " |", "|" + "---|" * len(HEADS)]
    return lines + ["| " + " | ".join(str(row[head]) for head in HEADS) + " |" for row in rows]


def _run(name, seconds, stopped):
    row = {**dict.fromkeys(HEADS, 0), "controller": name, "minutes away": f"{seconds / 60:.1f}" if name == "away" else "-"}
    case = cluster_test.Slurm()
    case.setUp()
    try:
        _watch(case, name == "away", seconds, row, stopped)
    except AssertionError as broken:
        row["failed"] += 1
        print(f"controller {name} | {broken}", flush=True)
    finally:
        case.tearDown()
        case.doCleanups()
    return row


def _watch(case, away, seconds, row, stopped):
    case.study(STUDY)
    pauses = case.folder / "pauses"
    case.submit(before=f"LD_PRELOAD={BUILD}/tests/campaign/libloop-pauses.so HPO_LOOP_PAUSES={pauses}")
    wait_for(lambda: sum(trial["steps"] > 0 for trial in case.trials_so_far("several")) == 6)
    if away:
        case.controller.terminate()
        case.controller.wait(60)
    before = {trial["trial"]: trial["steps"] for trial in case.trials_so_far("several")}
    begun, killed = time.monotonic(), not away
    while time.monotonic() - begun < seconds and not stopped.is_set():
        time.sleep(0.5)
        if not killed and time.monotonic() - begun > seconds / 2:  # so that hpo asks for a step that Slurm cannot give
            killed = True
            holder = json.loads((case.folder / "runs/several/lock").read_text())["pid"]
            os.kill(cluster_test.children_of(holder, b"srun")[-1], signal.SIGKILL)
    took = time.monotonic() - begun
    trials = case.trials_so_far("several")
    went_on = {trial["trial"]: trial["steps"] - before[trial["trial"]] for trial in trials if (trial["state"], trial["attempt"]) == ("running", 1)}
    row.update({"steps meanwhile": sum(went_on.values()), "fewest of a trial": min(went_on.values(), default=0),
                "requeued": len(trials) - len(went_on), "charged": sum(trial["failures"] for trial in trials)})
    if away:
        case.controller = case.begin_daemon("slurmctld")
    case.hpo("stop", "several")
    wait_for(pauses.exists, message="hpo has not ended")
    seen = [pause for pause in (tuple(map(float, line.split())) for line in pauses.read_text().splitlines()) if begun <= pause[0] <= begun + took]
    blocked = max(seen, key=lambda pause: pause[2])
    row.update({"pauses": len(seen), "longest ms": max(pause[1] for pause in seen), "blocked ms": blocked[2]})
    case.assert_nobody_left(within=60)
    case.assertEqual(row["charged"], 0, "trials were charged")
    case.assertLessEqual(row["blocked ms"], LONG, f"the loop was blocked {blocked[0] - begun:.1f} s after the controller had gone")
    case.assertGreater(row["fewest of a trial"], took / STEP / 3, "trials did not go on")
    case.assertEqual(row["requeued"], 2 if away else 0, "trials were queued again, besides those of the agent that was killed")
