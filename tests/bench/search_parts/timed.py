"""Searches the problems of real_problems.py with trials of different lengths: the part `time` of tests/bench/search.

The time of a trial is drawn, not measured, so that the figures are the same on every machine: a product of powers of two
parameters, which may have either sign, with a noise of 6 %.
"""
import hashlib
import json
import math
import random
import statistics
import subprocess

from real import KNOWN, LEAST, Losses, samplers_of_optuna, params_from_optuna

RATIO = 30  # of the longest trial to the shortest
MEAN_TRIALS = 25  # mean trials that fit the budget
SHARES = [0.1, 0.25, 0.5, 1]
AWARE, UNAWARE = "auto, budget.time", "auto"


def coordinate(dimension, value):
    if dimension["type"] == "categorical":
        return (dimension["choices"].index(value) + 0.5) / len(dimension["choices"])
    low, high = dimension["low"], dimension["high"]
    return math.log(value / low) / math.log(high / low) if dimension["log"] else (value - low) / (high - low)


def times_of(problem, space):
    """A function that returns the time of a trial by its parameters, and its mean over the space."""
    draw = random.Random(problem)
    named = draw.sample([name for name, d in space.items() if "when" not in d], 2)
    share = draw.uniform(0.4, 1)
    powers = {named[0]: share * draw.choice([-1, 1]), named[1]: (1 - share) * draw.choice([-1, 1])}

    def time_of(params):
        digest = hashlib.md5(json.dumps(params, sort_keys=True).encode()).digest()
        noise = (int.from_bytes(digest[:4], "big") / 2**32 - 0.5) * 0.2
        return math.exp(math.log(RATIO) * sum(p * (coordinate(space[n], params[n]) - 0.5) for n, p in powers.items()) + noise)

    over = [math.exp(math.log(RATIO) * sum(p * (draw.random() - 0.5) for p in powers.values())) for _ in range(5000)]
    return time_of, statistics.fmean(over)


def own(bench, losses, time_of, budget, seed, aware):
    """[(share of the budget that has passed, loss), ...] of a search by the sampler `auto`."""
    arguments = [bench, "ask", "auto", "100000", str(seed), *([repr(budget)] if aware else [])]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        say = lambda line: print(line, file=child.stdin, flush=True)
        say(json.dumps(losses.space))
        made, passed = [], 0.0
        while line := child.stdout.readline():
            params = json.loads(line)
            passed += time_of(params)
            if passed > budget:
                break
            made.append((passed / budget, losses(params)))
            say(f"{made[-1][1]!r} {time_of(params)!r}")
        child.kill()
    return made


def of_optuna(losses, time_of, budget, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    made, passed = [], 0.0
    while True:
        trial = study.ask()
        params = params_from_optuna(trial, losses.space)
        passed += time_of(params)
        if passed > budget:
            return made
        made.append((passed / budget, losses(params)))
        study.tell(trial, made[-1][1])


def search(job):
    """{player: runs of each seed} of a problem."""
    problem, seeds, bench = job
    losses = Losses(problem)
    time_of, mean = times_of(problem, losses.space)
    budget = MEAN_TRIALS * mean
    made = {AWARE: [own(bench, losses, time_of, budget, seed, True) for seed in range(1, seeds + 1)],
            UNAWARE: [own(bench, losses, time_of, budget, seed, False) for seed in range(1, seeds + 1)]}
    if samplers_of_optuna()[0]:
        made["optuna tpe"] = [of_optuna(losses, time_of, budget, seed) for seed in range(1, seeds + 1)]
    return made


def regret(known, run, share):
    """A search without a result has that of a median random point."""
    least, median = known
    return max(LEAST, (min([median, *(loss for passed, loss in run if passed <= share)]) - least) / (median - least))


def target(found):
    """The median loss of the searches that do not know of the time, after half of it."""
    return statistics.median(min((loss for passed, loss in run if passed <= 0.5), default=math.inf) for run in found[UNAWARE])


def time_until(run, loss):
    return next((passed for passed, found in run if found <= loss), 1.0)
