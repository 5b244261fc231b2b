#!/usr/bin/python3
"""Compares tpe's suggestions with Optuna's (Debian: python3-optuna): milliseconds, and median regret over 21 seeds.

    cmake --build --preset release --target bench_tpe && tests/bench/tpe.py

Both sides in one run, in turn; five repeats of the times, medians with the spread. About ten minutes, nearly all of
them Optuna's.
"""

import json
import math
import os
import statistics
import subprocess
import time

import numpy
import optuna

NATIVE = os.path.join(os.path.dirname(__file__), "../../build/release/tests/bench/bench_tpe")
SIZES = (1000, 3000, 10000)
A = numpy.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]])
P = 1e-4 * numpy.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                        [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]])
WEIGHT = numpy.array([1, 1.2, 3, 3.2])


def sphere(x):
    return float(((x - 0.2 - 0.13 * numpy.arange(5)) ** 2).sum())


def ackley(x):
    d = 10 * (x - 0.3 - 0.1 * numpy.arange(5))
    return 20 + math.e - 20 * math.exp(-0.2 * math.sqrt((d * d).mean())) - math.exp(numpy.cos(2 * math.pi * d).mean())


def branin(u):
    x, y = 15 * u[0] - 5, 15 * u[1]
    t = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return t * t + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.397887


def hartmann(x):
    return float(3.32237 - (WEIGHT * numpy.exp(-(A * (x - P) ** 2).sum(1))).sum())


PROBLEMS = {"sphere": (sphere, 5), "ackley": (ackley, 5), "branin": (branin, 2), "hartmann": (hartmann, 6)}


def point(trial, dimensions):
    return numpy.array([trial.suggest_float(f"x{i}", 0, 1) for i in range(dimensions)])


def native(*arguments):
    return json.loads(subprocess.run([NATIVE, *arguments], check=True, capture_output=True).stdout)


def optuna_times():
    """Returns the median time of three suggestions at each size."""
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    uniform = numpy.random.default_rng(1)
    space = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(5)}
    found = {}
    for number in range(1, SIZES[-1] + 1):
        x = uniform.random(5)
        study.add_trial(optuna.trial.create_trial(
            params={f"x{i}": float(x[i]) for i in range(5)}, distributions=space, value=sphere(x)))
        if number in SIZES:
            took = []
            for _ in range(3):
                begin = time.perf_counter()
                point(study.ask(), 5)
                took.append(1e3 * (time.perf_counter() - begin))
            found[str(number)] = statistics.median(took)
    return found


def optuna_regret(trials, multivariate):
    found = {}
    for name, (function, dimensions) in PROBLEMS.items():
        best = []
        for seed in range(1, 22):
            study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, multivariate=multivariate))
            study.optimize(lambda trial: function(point(trial, dimensions)), n_trials=trials)
            best.append(study.best_value)
        found[name] = statistics.median(best)
    return found


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    import warnings
    warnings.simplefilter("ignore")
    ours, theirs = [], []
    for _ in range(5):
        ours.append(native("time"))
        theirs.append(optuna_times())
    print(f"suggestion in ms, five dimensions       hpo tpe              Optuna {optuna.__version__} TPE")
    for size in map(str, SIZES):
        row = []
        for side in (ours, theirs):
            values = sorted(one[size] for one in side)
            row.append(f"{values[2]:8.3f} ({values[0]:.3f} to {values[-1]:.3f})")
        print(f"  after {size:>6} trials  {row[0]:>30}  {row[1]:>34}")
    for trials in (64, 200):
        sides = [native("regret", str(trials)), optuna_regret(trials, False), optuna_regret(trials, True)]
        print(f"median regret, {trials} trials    hpo tpe   Optuna   Optuna multivariate")
        for name in PROBLEMS:
            print(f"  {name:<22}" + "".join(f"{side[name]:>10.4f}" for side in sides))


if __name__ == "__main__":
    main()
