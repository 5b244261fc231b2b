#!/usr/bin/python3
"""Records the learning curves that tests/bench/bench_curves plays: random configurations, each trained to its end.

    tests/bench/record_curves.py [NAME ...]     # some minutes each on one core; default: all of STUDIES

Writes tests/bench/curves_data/NAME.json.gz, a list of {"hp": {...}, "valid": {"loss": [one number a step]}} in the
format of the recorded tasks of TaskSet (Metz et al. 2020). Needs the release build and dataset-fashion-mnist.
"""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HPO_BUILD", ROOT / "build/release"))

SMALL_MNIST = """
  task: classification
  data: {format: idx, path: fashion-mnist, subset: 3000, validation: 0.4}
"""
MLP_SPACE = """
  batch_size:      {type: int, low: 16, high: 512, log: true}
  lr:              {type: float, low: 1.0e-5, high: 1.0e-1, log: true}
  weight_decay:    {type: float, low: 1.0e-4, high: 1.0, log: true}
  dropout:         {type: float, low: 0.0, high: 0.7}
  width:           {type: int, low: 16, high: 128, log: true}
  depth:           {type: int, low: 1, high: 4}
"""
STUDIES = {
    # The learning rate falls to zero: a large one looks bad until late.
    "mlp-cosine": (400, 40, MLP_SPACE, SMALL_MNIST + "  model: {type: mlp, norm: layer}\n  training: {schedule: cosine}"),
    # Early ranks tell, except that fast learners overfit.
    "mlp-constant": (400, 40, MLP_SPACE, SMALL_MNIST + "  model: {type: mlp}\n  training: {schedule: constant, optimizer: sgd}"),
    # Regression on a table with an unstable, large learning rate in the first third.
    "table-one-cycle": (600, 60, """
  batch_size:   {type: int, low: 16, high: 512, log: true}
  lr:           {type: float, low: 1.0e-5, high: 3.0e-1, log: true}
  weight_decay: {type: float, low: 1.0e-4, high: 1.0, log: true}
  width:        {type: int, low: 8, high: 128, log: true}
  depth:        {type: int, low: 1, high: 4}
""", """
  task: regression
  data: {format: csv, path: %s, target: rent, ignore: flat}
  model: {type: mlp, norm: layer}
  training: {schedule: one-cycle, clip: 1.0}""" % (ROOT / "studies/data/rents.csv")),
    "cnn": (200, 25, """
  batch_size:   {type: int, low: 16, high: 256, log: true}
  lr:           {type: float, low: 1.0e-5, high: 1.0e-1, log: true}
  weight_decay: {type: float, low: 1.0e-4, high: 1.0, log: true}
  dropout:      {type: float, low: 0.0, high: 0.6}
""", SMALL_MNIST.replace("3000", "1000") + "  model: {type: cnn, channels: 8}\n  training: {schedule: cosine}"),
}
STUDY = """
study: {name}
objective: {{metric: {metric}, direction: minimize}}
space:{space}
worker:{worker}
budget: {{trials: {trials}, epochs: {epochs}}}
sampler: {{type: random}}
stopping: []
policy: {{min_batch_size: 1, regularization: "off"}}
resources: {{parallel: {parallel}, backend: cpu}}
"""


def record(name):
    trials, epochs, space, worker = STUDIES[name]
    metric = "val_mse" if "regression" in worker else "val_loss"
    with tempfile.TemporaryDirectory() as folder:
        study = pathlib.Path(folder, "study.yaml")
        study.write_text(STUDY.format(name=name, metric=metric, space=space, worker=worker, trials=trials, epochs=epochs,
                                      parallel=os.environ.get("HPO_RECORD_PARALLEL", "auto")))
        subprocess.run([BUILD / "bin/hpo", "run", study, "-q"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        lines = subprocess.run([BUILD / "bin/hpo", "export", name, "--to", "jsonl", "-"], cwd=folder, check=True,
                               capture_output=True, text=True).stdout.splitlines()
    rows = []
    for line in lines:
        trial = json.loads(line)
        losses = [step["metrics"].get(metric) for step in trial["curve"]]
        losses = [round(loss, 6) if isinstance(loss, float) else float("nan") for loss in losses]
        losses += [float("nan")] * (epochs - len(losses))
        rows.append({"hp": {key: float(value) for key, value in trial["params"].items()}, "valid": {"loss": losses}})
    out = ROOT / f"tests/bench/curves_data/{name}.json.gz"
    with open(out, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(json.dumps(rows, separators=(",", ":")).encode())
    print(f"{out}: {len(rows)} trials of {epochs} steps")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or STUDIES:
        record(chosen)
