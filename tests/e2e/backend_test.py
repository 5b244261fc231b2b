"""Whole studies on OpenCL, with PoCL's CPU device, and the errors if a backend is not available."""
import json
import shutil
import sqlite3
import unittest

from harness import SOURCE, Case, wait_for

DEBUG = SOURCE / "studies" / "debug.yaml"
ONE_AT_A_TIME = ["--jobs", "1", "--quiet"]  # so that proposals do not depend on which trial ends first
# No rule pauses a trial, so that the kill meets one between two steps.
UNSTOPPED = ["--set", "stopping=[]", "--set", "budget.trials=3", "--set", "budget.epochs=6", "--set", "worker.data.samples=4096"]
ONE_EPOCH = ["--set", "budget.epochs=1"]
MIB = 1 << 20


class Backend(Case):
    seconds = 20

    def launches(self, name="debug"):
        connection = sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True)
        try:
            rows = connection.execute("select trial, attempt, body from event where kind = 4 order by sequence").fetchall()
        finally:
            connection.close()
        return [(trial, attempt, json.loads(body)) for trial, attempt, body in rows]

    def ended(self, name="debug"):
        trials = self.trials(name)
        self.assertTrue(all(trial["state"] in ("complete", "stopped", "diverged") for trial in trials), trials)
        return {trial["trial"]: trial for trial in trials}

    def test_opencl_finds_what_the_cpu_finds(self):
        self.hpo("run", DEBUG, "--backend", "cpu", *ONE_AT_A_TIME)
        cpu = self.ended()
        best_on_cpu = self.hpo("best", "debug")
        self.hpo("run", DEBUG, "--backend", "opencl", "--fresh", *ONE_AT_A_TIME)
        opencl = self.ended()
        self.assertEqual(cpu.keys(), opencl.keys())
        for number, trial in cpu.items():
            other = opencl[number]
            self.assertEqual(trial["params"], other["params"])
            self.assertEqual((trial["state"], trial["steps"]), (other["state"], other["steps"]))
            for metric, value in trial["values"].items():
                self.assertAlmostEqual(value, other["values"][metric], delta=2e-3, msg=f"trial {number}, {metric}")
        self.assertEqual([line for line in self.hpo("best", "debug").splitlines() if "backend" not in line],
                         [line for line in best_on_cpu.splitlines() if "backend" not in line])
        self.assertTrue(all(body["where"] == "gpu 0" and body["device_bytes"] > 0 for _, _, body in self.launches()))

    def test_trials_are_packed_within_the_devices_memory(self):
        # The 12 trials need 1.2 to 3 MiB each. One of the largest fits, and two do not.
        self.hpo("run", DEBUG, "--backend", "opencl", "--jobs", "2", "--set", "resources.gpu_memory=3500KiB", *ONE_EPOCH, "--quiet")
        self.assertEqual(len(self.ended()), 12)
        self.assertLessEqual(max(body["device_bytes"] for _, _, body in self.launches()), 3.5 * MIB)
        # A trial that does not fit by itself is trained in smaller micro-batches of the same batch.
        self.hpo("run", DEBUG, "--backend", "opencl", "--fresh", "--set", "resources.gpu_memory=1800KiB", *ONE_EPOCH, "--quiet")
        self.assertEqual(len(self.ended()), 12)
        self.assertTrue(any(body.get("micro_batches", 0) > 1 for _, _, body in self.launches()))

    def test_a_study_that_is_killed_and_resumed_ends_like_an_uninterrupted_one(self):
        self.hpo("run", DEBUG, "--backend", "opencl", *UNSTOPPED, *ONE_AT_A_TIME)
        uninterrupted = {number: (trial["state"], trial["steps"], trial["values"]) for number, trial in self.ended().items()}
        shutil.rmtree(self.folder / "runs")  # with --fresh, the steps of the first run would be counted
        child = self.start("run", DEBUG, "--backend", "opencl", *UNSTOPPED, *ONE_AT_A_TIME)
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("debug")) > 3 or child.poll() is not None)
        child.kill()
        child.wait()
        self.assert_nobody_left()
        self.hpo("run", DEBUG, "--backend", "opencl", *UNSTOPPED, *ONE_AT_A_TIME)
        self.assertEqual(uninterrupted, {number: (trial["state"], trial["steps"], trial["values"]) for number, trial in self.ended().items()})

    def test_an_unavailable_backend_is_an_error_before_any_trial(self):
        no_devices = {"HPO_NVML_LIBRARY": "/none.so", "HPO_OPENCL_LIBRARY": "/none.so"}
        self.hpo("run", DEBUG, "--backend", "cuda", status=1, environment=no_devices)
        self.assertIn("there is no GPU that this study may use", self.error)
        self.hpo("run", DEBUG, "--backend", "opencl", status=1, environment=no_devices)
        self.assertIn("there is no OpenCL device that this study may use", self.error)
        self.assertEqual(self.trials_so_far("debug"), [])
        self.hpo("run", DEBUG, "--backend", "tpu", status=2)
        self.assertIn("--backend tpu", self.error)
        self.hpo("run", DEBUG, "--quiet", environment=no_devices)  # auto falls back to the CPU


if __name__ == "__main__":
    unittest.main()
