"""Searches the problems of real_problems.py: the part `real` of tests/bench/search."""
import json
import os
import pathlib
import statistics
import subprocess
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"  # the processes share the machine

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KNOWN = HERE / "real.json"  # {problem: [least loss that any search has found, median of random points]}
CHECKPOINTS = [15, 30, 60]
LEAST = 1e-3  # regrets below count as this one, since the true minimum is unknown


class Losses:
    """The losses of a problem, which are kept below build/ since equal parameters have equal losses."""

    def __init__(self, name, kind="", **variant):
        import real_problems

        self.space, self.function = real_problems.PROBLEMS[name]
        self.variants, self.variant = real_problems.variant, {"rows": 0, "folds": 1, "other": False} | variant
        self.file = ROOT / "build/bench_real" / f"{name}{kind}.jsonl"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.known = dict(json.loads(line) for line in self.file.read_text().splitlines()) if self.file.exists() else {}

    def __call__(self, params):
        key = json.dumps(params, sort_keys=True)
        if key not in self.known:
            self.variants.update(self.variant)
            self.known[key] = self.function(dict(params))
            with self.file.open("a") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def own(bench, sampler, losses, seed):
    """The losses of a search by a sampler of hpo."""
    child = subprocess.Popen([bench, "ask", sampler, str(CHECKPOINTS[-1]), str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdin.write(json.dumps(losses.space) + "\n")
    child.stdin.flush()
    found = []
    while line := child.stdout.readline():
        found.append(losses(json.loads(line)))
        child.stdin.write(repr(found[-1]) + "\n")
        child.stdin.flush()
    child.stdin.close()
    if child.wait() or not found:
        sys.exit(f"{sampler}: bench_samplers failed")
    return found


def params_from_optuna(trial, space):
    """The parameters that a trial of Optuna suggests."""
    params = {}
    for name, d in space.items():
        if not all(params.get(other) in values for other, values in d.get("when", {}).items()):
            continue
        if d["type"] == "categorical":
            params[name] = trial.suggest_categorical(name, d["choices"])
        else:
            suggest = {"int": trial.suggest_int, "float": trial.suggest_float}[d["type"]]
            params[name] = suggest(name, d["low"], d["high"], log=d["log"])
    return params


def of_optuna(sampler, losses, seed):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = optuna.samplers
    made = {"optuna tpe": lambda: samplers.TPESampler(seed=seed), "optuna gp": lambda: samplers.GPSampler(seed=seed),
            "optuna random": lambda: samplers.RandomSampler(seed=seed)}[sampler]()

    study = optuna.create_study(sampler=made)
    study.optimize(lambda trial: losses(params_from_optuna(trial, losses.space)), n_trials=CHECKPOINTS[-1])
    return [trial.value for trial in study.trials]


def search(job):
    """{sampler: losses of each seed} of a problem."""
    problem, samplers, seeds, bench = job
    losses = Losses(problem)
    made = {}
    for sampler in samplers:
        run = (lambda seed: of_optuna(sampler, losses, seed)) if sampler.startswith("optuna ") else (lambda seed: own(bench, sampler, losses, seed))
        made[sampler] = [run(seed) for seed in range(1, seeds + 1)]
    return made


def samplers_of_optuna():
    try:
        import optuna
    except ImportError:
        return None, []
    return optuna.__version__, ["optuna tpe", "optuna random"] + (["optuna gp"] if hasattr(optuna.samplers, "GPSampler") else [])


def regrets(found, known):
    """{sampler: {problem: {trials: median regret}}}; the regret is the distance to the least known loss, over that of a
    median random point misses."""
    made = {}
    for problem, by_sampler in found.items():
        least, median = known[problem]
        for sampler, runs in by_sampler.items():
            made.setdefault(sampler, {})[problem] = {
                str(n): statistics.median(max(LEAST, (min(run[:n]) - least) / (median - least)) for run in runs) for n in CHECKPOINTS
            }
    return made


def repeated(runs):
    """Share of the losses after half of the trials that equal an earlier one."""
    half = CHECKPOINTS[-1] // 2
    return statistics.fmean(run[i] in run[:i] for run in runs for i in range(half, len(run)))
