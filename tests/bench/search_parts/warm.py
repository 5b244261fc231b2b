"""Searches the problems of real_problems.py after an earlier study of the same model: the part `warm` of tests/bench/search.

The earlier study ran `auto` for EARLIER trials on other rows and folds of the same data (`same`), on another set of data
(`other`), or on the same data with its losses turned round, so that its best is the worst (`opposite`).
"""
import json
import subprocess

from real import KNOWN, LEAST, Losses

EARLIER, TRIALS = 40, 30
CHECKPOINTS = [1, 3, 5, 10, 15, 30]
KINDS = {"same": {"rows": 1, "folds": 2}, "other": {"rows": 1, "folds": 2, "other": True}, "opposite": {"rows": 1, "folds": 2}}


def trials_of(bench, losses, trials, seed, earlier=None, turn=1):
    """[(parameters, loss), ...] of a search by `auto`, which learns from the trials of an earlier study, if given."""
    arguments = [bench, "ask" if earlier is None else "ask-warm", "auto", str(trials), str(seed)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        say = lambda line: print(line, file=child.stdin, flush=True)
        say(json.dumps(losses.space))
        if earlier is not None:
            say(json.dumps([earlier]))
        made = []
        while line := child.stdout.readline():
            params = json.loads(line)
            made.append((params, losses(params)))
            say(repr(turn * made[-1][1]))
        child.stdin.close()
    return made


def search(job):
    """{kind of the earlier study: losses of each seed} of a problem; "none": without one."""
    problem, seeds, bench = job
    losses = Losses(problem)
    found = {"none": [[loss for _, loss in trials_of(bench, losses, TRIALS, seed)] for seed in range(1, seeds + 1)]}
    for kind in KINDS:
        source = Losses(problem, "-other" if KINDS[kind].get("other") else "-same", **KINDS[kind])
        turn = -1 if kind == "opposite" else 1
        found[kind] = []
        for seed in range(1, seeds + 1):
            earlier = [(params, turn * loss) for params, loss in trials_of(bench, source, EARLIER, 1000 + seed, turn=turn)]
            found[kind].append([loss for _, loss in trials_of(bench, losses, TRIALS, seed, earlier)])
    return found


def regret(known, run, trials):
    least, median = known
    return max(LEAST, (min(run[:trials]) - least) / (median - least))
