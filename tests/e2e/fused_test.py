"""Trials of one shape in one worker, side by side: on the CPU that PoCL offers, and on the CPU where the study asks for it.

Those of one shape need not be alike: batch size, widths, activation and optimizer differ here."""
import json
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
  data: {format: synthetic, samples: 2500, features: 16, classes: 6, noise: 2.0}
  model: {type: mlp, depth: 2, norm: layer}
  training: {schedule: one-cycle, label_smoothing: 0.05}
budget: {trials: 10, epochs: 6}
sampler: {type: random}
stopping: [{rule: divergence}, {rule: plateau, patience: 3}]
"""


class Fused(Case):
    first = True

    def setUp(self):
        super().setUp()
        self.study(STUDY, "fused.yaml")

    def run_it(self, *arguments, **more):
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

    def test_trials_side_by_side_end_as_each_does_alone(self):
        for backend in ("cpu", "opencl"):
            with self.subTest(backend=backend):
                unpadded = self.run_it("--backend", backend, "--fresh", "--set", "resources.slots=1", "--jobs", "2")
                alone = self.run_it("--backend", backend, "--fresh", "--set", "resources.slots=5", "--jobs", "1")
                fused = self.run_it("--backend", backend, "--fresh", "--set", "resources.slots=5", "--jobs", "5")
                self.assertEqual(alone, fused)  # to the bit
                self.assertEqual(len(fused), 10)
                self.assertIn("stopped", {state for _, state, _, _ in fused.values()})
                for trial, (params, _, steps, values) in unpadded.items():
                    self.assertEqual(params, fused[trial][0])
                    # With learning rates that are too high, training is chaotic: the order of a sum is soon seen.
                    if steps == fused[trial][2] and values.get("val_accuracy", 0) > 0.8:
                        self.assertAlmostEqual(values["val_accuracy"], fused[trial][3]["val_accuracy"], delta=0.02)
                # Some bear a worker, those beside them their own part alone.
                beside = [body for _, body in self.launches() if body["cores"] == 0]
                self.assertGreater(len(beside), 3)
        log = (self.folder / "runs/fused/logs/trial-0004.log").read_text()
        self.assertEqual(log.count("trial 4, attempt 1:"), 1)
        self.assertEqual({line.split()[0] for line in log.splitlines()}, {"trial", "step"}, log)

    def test_they_share_what_the_device_gives(self):
        short = ["--set", "budget.epochs=2"]
        self.run_it("--backend", "opencl", "--set", "resources.slots=8", "--jobs", "8", *short)
        bytes_of = [body["device_bytes"] for _, body in self.launches()]
        first, beside = bytes_of[0], bytes_of[1]
        limit = first + 2 * beside + beside // 2  # three at once
        self.run_it("--backend", "opencl", "--fresh", "--set", "resources.slots=8", "--jobs", "8", "--set", "resources.gpu_reserve=0%",
                    *short, "--set", f"resources.gpu_memory={limit // 1024 + 1}KiB")
        self.assertEqual(sorted(set(body["device_bytes"] for _, body in self.launches())), [beside, first])

    def test_the_first_study_fused_in_little_memory_and_killed_finds_what_the_cpu_finds(self):
        # What is proposed and stopped must not depend on who is first.
        same = ["--set", "sampler.type=sobol", "--set", "stopping=[{rule: divergence}, {rule: plateau, patience: 2}]", "--set", "budget.epochs=8", "--set", "budget.trials=16",
                "--set", "worker.data.samples=3000", "--quiet"]
        self.hpo("run", DEBUG, "--backend", "cpu", *same)
        on_cpu = {trial["trial"]: trial for trial in self.trials("debug")}
        fused = ["--backend", "opencl", *same, "--set", "resources.slots=8", "--jobs", "8", "--set", "resources.gpu_reserve=0%",
                 "--set", "resources.gpu_memory=12MiB"]
        self.study(DEBUG.read_text().replace("study: debug", "study: little"), "little.yaml")
        child = self.start("run", "little.yaml", *fused)
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("little")) > 20 or child.poll() is not None)
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
            # With learning rates that are too high, training is chaotic: the order of a sum is soon seen.
            if (value := on_cpu[number]["values"].get("val_accuracy", 0)) > 0.8:
                self.assertAlmostEqual(trial["values"]["val_accuracy"], value, delta=0.01)
        self.assertAlmostEqual(best["values"]["val_accuracy"], best_on_cpu["values"]["val_accuracy"], delta=0.005)
        self.assertAlmostEqual(on_cpu[best["trial"]]["values"]["val_accuracy"], best_on_cpu["values"]["val_accuracy"], delta=0.005)
        self.assertIn("stopped", {trial["state"] for trial in trials.values()})
        launches = self.launches("little")
        self.assertGreater(len({body["device_bytes"] for _, body in launches}), 2)  # two shapes, first ones and others
        self.assertLessEqual(max(body["device_bytes"] for _, body in launches), 12 << 20)

    def test_killed_and_run_again_it_ends_as_without_the_kill(self):
        arguments = ["--backend", "opencl", "--set", "resources.slots=4", "--jobs", "4", "--set", "budget.epochs=4"]
        whole = self.run_it(*arguments)
        child = self.start("run", "fused.yaml", "--quiet", "--fresh", *arguments)
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("fused")) > 20 or child.poll() is not None)
        child.kill()
        child.wait()
        self.assert_nobody_left()
        self.assertEqual(self.run_it(*arguments), whole)
        self.assert_sound("fused")

    def test_one_that_a_user_stops_leaves_and_the_others_train_on(self):
        whole = self.run_it("--backend", "cpu", "--set", "resources.slots=1")
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
        self.assertEqual(len(whole), 10)


if __name__ == "__main__":
    unittest.main()
