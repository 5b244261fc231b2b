"""Trials with one fusion key, trained side by side in one worker: on PoCL's CPU device, and on the CPU if the study asks for it.

Fused trials need not be alike: here their batch sizes, widths, activations and optimizers differ."""
import json
import shutil
import sqlite3
import unittest

from harness import SOURCE, Case, wait_for

DEBUG = SOURCE / "studies" / "debug.yaml"

STUDY = """
study: fused
seed: 3
objective: {metric: val_accuracy}
space:
  batch_size:   {type: int, low: 257, high: 512, log: true}
  width:        {type: int, low: 16, high: 100}
  activation:   {type: categorical, choices: [relu, gelu, silu]}
  optimizer:    {type: categorical, choices: [adamw, sgd]}
  lr:           {type: float, low: 1.0e-4, high: 1.0, log: true}
  weight_decay: {type: float, low: 1.0e-3, high: 1.0e-1, log: true}
  dropout:      {type: float, low: 0.0, high: 0.6}
worker:
  data: {format: synthetic, samples: 800, features: 16, classes: 6, noise: 2.0}
  model: {type: mlp, depth: 2, norm: layer}
  training: {schedule: one-cycle, label_smoothing: 0.05}
budget: {trials: 8, epochs: 5}
sampler: {type: random}
stopping: [{rule: divergence}, {rule: plateau, patience: 2}]
"""


class Fused(Case):
    seconds = 50

    def setUp(self):
        super().setUp()
        self.study(STUDY, "fused.yaml")

    def run_to_end(self, *arguments, **more):
        self.hpo("run", "fused.yaml", "--quiet", *arguments, **more)
        return self.curves()

    def curves(self):
        trials = self.trials("fused")
        self.assertTrue(all(trial["state"] in ("complete", "stopped", "diverged") for trial in trials), trials)
        return {trial["trial"]: (trial["params"], trial["state"], trial["steps"], trial["values"]) for trial in trials}

    def launches(self, name="fused"):
        connection = sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True)
        try:
            rows = connection.execute("select trial, body from event where kind = 4 order by sequence").fetchall()
        finally:
            connection.close()
        return [(trial, json.loads(body)) for trial, body in rows]

    def test_fused_trials_end_like_trials_alone(self):
        for backend in ("cpu", "opencl"):
            with self.subTest(backend=backend):
                unpadded = self.run_to_end("--backend", backend, "--fresh", "--set", "resources.slots=1", "--jobs", "2")
                alone = self.run_to_end("--backend", backend, "--fresh", "--set", "resources.slots=5", "--jobs", "1")
                fused = self.run_to_end("--backend", backend, "--fresh", "--set", "resources.slots=5", "--jobs", "5")
                self.assertEqual(alone, fused)  # to the bit
                self.assertEqual(len(fused), 8)
                self.assertIn("stopped", {state for _, state, _, _ in fused.values()})
                for trial, (params, _, steps, values) in unpadded.items():
                    self.assertEqual(params, fused[trial][0])
                    # With too high learning rates training is chaotic, so the order of a sum soon shows.
                    if steps == fused[trial][2] and values.get("val_accuracy", 0) > 0.8:
                        self.assertAlmostEqual(values["val_accuracy"], fused[trial][3]["val_accuracy"], delta=0.02)
                # Trials that join a worker reserve only their own part, without a core.
                joined = [body for _, body in self.launches() if body["cores"] == 0]
                self.assertGreater(len(joined), 3)
        log = (self.folder / "runs/fused/logs/trial-0004.log").read_text()
        self.assertEqual(log.count("trial 4, attempt 1:"), 1)
        self.assertEqual({line.split()[0] for line in log.splitlines()}, {"trial", "step"}, log)

    def test_fused_trials_share_the_memory_limit_of_the_device(self):
        short = ["--set", "budget.epochs=1"]
        self.run_to_end("--backend", "opencl", "--set", "resources.slots=4", "--jobs", "4", *short)
        bytes_of = [body["device_bytes"] for _, body in self.launches()]
        first, joined = bytes_of[0], bytes_of[1]
        limit = first + 2 * joined + joined // 2  # room for three at once
        self.run_to_end("--backend", "opencl", "--fresh", "--set", "resources.slots=4", "--jobs", "4", "--set", "resources.gpu_reserve=0%",
                    *short, "--set", f"resources.gpu_memory={limit // 1024 + 1}KiB")
        self.assertEqual(sorted(set(body["device_bytes"] for _, body in self.launches())), [joined, first])

    def test_the_debug_study_fused_in_little_memory_and_killed_finds_what_the_cpu_finds(self):
        # Proposals and stops must not depend on the order in which trials report.
        same = ["--set", "sampler.type=sobol", "--set", "stopping=[{rule: divergence}, {rule: plateau, patience: 2}]", "--set", "budget.epochs=6", "--set", "budget.trials=12",
                "--set", "worker.data.samples=2000", "--quiet"]
        self.hpo("run", DEBUG, "--backend", "cpu", *same)
        on_cpu = {trial["trial"]: trial for trial in self.trials("debug")}
        fused = ["--backend", "opencl", *same, "--set", "resources.slots=8", "--jobs", "8", "--set", "resources.gpu_reserve=0%",
                 "--set", "resources.gpu_memory=12MiB"]
        self.study(DEBUG.read_text().replace("study: debug", "study: little"), "little.yaml")
        child = self.start("run", "little.yaml", *fused)
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("little")) > 12 or child.poll() is not None)
        child.kill()
        child.wait()
        self.assert_nobody_left()
        self.hpo("run", "little.yaml", *fused)
        self.assert_sound("little")
        trials = {trial["trial"]: trial for trial in self.trials("little")}
        self.assertEqual(trials.keys(), on_cpu.keys())
        best = max(trials.values(), key=lambda trial: trial["values"].get("val_accuracy", 0))
        best_on_cpu = max(on_cpu.values(), key=lambda trial: trial["values"].get("val_accuracy", 0))
        for number, trial in trials.items():
            self.assertEqual(trial["params"], on_cpu[number]["params"])
            # With too high learning rates training is chaotic, so the order of a sum soon shows.
            if (value := on_cpu[number]["values"].get("val_accuracy", 0)) > 0.8:
                self.assertAlmostEqual(trial["values"]["val_accuracy"], value, delta=0.01)
        self.assertAlmostEqual(best["values"]["val_accuracy"], best_on_cpu["values"]["val_accuracy"], delta=0.005)
        self.assertAlmostEqual(on_cpu[best["trial"]]["values"]["val_accuracy"], best_on_cpu["values"]["val_accuracy"], delta=0.005)
        self.assertIn("stopped", {trial["state"] for trial in trials.values()})
        launches = self.launches("little")
        self.assertGreater(len({body["device_bytes"] for _, body in launches}), 2)  # two fusion keys, with first and joining trials
        self.assertLessEqual(max(body["device_bytes"] for _, body in launches), 12 << 20)

    def test_a_study_that_is_killed_and_resumed_ends_like_an_uninterrupted_one(self):
        arguments = ["--backend", "opencl", "--set", "resources.slots=4", "--jobs", "4", "--set", "budget.epochs=4"]
        uninterrupted = self.run_to_end(*arguments)
        shutil.rmtree(self.folder / "runs")  # with --fresh, the steps of the first run would be counted
        child = self.start("run", "fused.yaml", "--quiet", *arguments)
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("fused")) > 8 or child.poll() is not None)
        child.kill()
        child.wait()
        self.assert_nobody_left()
        self.assertEqual(self.run_to_end(*arguments), uninterrupted)
        self.assert_sound("fused")

    def test_a_trial_that_the_user_stops_leaves_and_the_others_continue(self):
        long = ["--backend", "cpu", "--set", "resources.slots=4", "--jobs", "4", "--set", "budget.epochs=100000", "--set", "stopping=[]"]
        child = self.start("run", "fused.yaml", "--quiet", "--fresh", *long)
        wait_for(lambda: sum(trial["state"] == "running" and trial["steps"] > 0 for trial in self.trials_so_far("fused")) == 4)
        self.hpo("stop", "fused/2")
        wait_for(lambda: sum(trial["state"] == "running" and trial["steps"] > 0 for trial in self.trials_so_far("fused")) == 4)
        states = {trial["trial"]: trial["state"] for trial in self.trials_so_far("fused")}
        self.assertEqual([states[number] for number in (1, 2, 3, 4, 5)], ["running", "stopped", "running", "running", "running"])
        self.hpo("stop", "fused")
        child.wait()
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
