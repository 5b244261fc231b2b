#!/usr/bin/python3
"""Records studies for a minute or two in total, and compares the predicted time left with the truth.

    tests/bench/time_left.py [--all]     # --all prints each moment and not only the sums

Needs the release build with bench_time_left. Scripts sleep instead of computing, so that other work on the machine does
not count; studies/debug.yaml computes.
"""
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HPO_BUILD", ROOT / "build/release"))

SCRIPT = """
import math, random, sys, time
import hpo
keeps = sys.argv[1] == "keeps"
for trial in hpo.trials(checkpoint=keeps):
    lr, momentum = trial.params["lr"], trial.params["momentum"]
    if trial.resumed:
        trial.resume_from(int(trial.checkpoint.read_text()))
    for epoch in trial.epochs():
        luck = random.Random(lr * epoch)
        time.sleep(0.02 + 0.08 * momentum + 0.02 * luck.random())
        trial.report(val_loss=0.2 * (math.log10(lr) + 1.5) ** 2 + 0.3 * momentum + 1.5 * math.exp(-epoch / 4)
                     + 0.02 * luck.random())
        if keeps:
            trial.checkpoint.write_text(str(epoch))
"""
STUDY = """
study: {name}
objective: {{metric: val_loss, direction: minimize}}
space:
  lr:       {{type: float, low: 1.0e-3, high: 1.0, log: true}}
  momentum: {{type: float, low: 0.0, high: 0.99}}
worker: {{command: [python3, {script}, {keeps}]}}
budget: {{trials: {trials}, epochs: 20}}
stopping: {rules}
sampler: {{type: {sampler}}}
"""


RULES = {
    "asha": "[{rule: divergence}, {rule: plateau, patience: 3}, {rule: asha, grace: 1, factor: 3}]",
    "auto": "auto",
}


def record(folder, study, *options):
    subprocess.run([BUILD / "bin/hpo", "run", study, "-q", *options], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    subprocess.run(["cmake", "--build", BUILD, "--target", "bench_time_left", "hpo"], check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        script = folder / "train.py"
        script.write_text(SCRIPT)
        for trials, sampler, keeps, rules in itertools.product((40, 64), ("tpe", "gp"), ("keeps", "anew"), RULES):
            study = folder / f"{rules}-{keeps}-{sampler}-{trials}.yaml"
            study.write_text(STUDY.format(name=study.stem, script=script, keeps=keeps, trials=trials, sampler=sampler,
                                          rules=RULES[rules]))
            record(folder, study)
        record(folder, ROOT / "studies/debug.yaml", "--trials", "64")
        output = subprocess.run([BUILD / "tests/bench/bench_time_left", *sorted(folder.glob("runs/*/study.db"))],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in output.splitlines():
        if "--all" in sys.argv or line[:1].isalnum():
            print(line)


if __name__ == "__main__":
    main()
