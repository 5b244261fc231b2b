"""Whole studies on OpenCL, with the CPU that PoCL offers, and what is said where a backend cannot be had."""
import json
import sqlite3
import unittest

from harness import SOURCE, Case, wait_for

DEBUG = SOURCE / "studies" / "debug.yaml"
ONE = ["--jobs", "1", "--quiet"]  # one after the other: proposals do not depend on who is first
MIB = 1 << 20


class Backend(Case):
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
        self.hpo("run", DEBUG, "--backend", "cpu", *ONE)
        cpu = self.ended()
        best_on_cpu = self.hpo("best", "debug")
        self.hpo("run", DEBUG, "--backend", "opencl", "--fresh", *ONE)
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
        # The 12 trials need 1.2 to 3 MiB each: two of the largest do not fit, one does.
        self.hpo("run", DEBUG, "--backend", "opencl", "--jobs", "2", "--set", "resources.gpu_memory=3500KiB", "--quiet")
        self.assertEqual(len(self.ended()), 12)
        self.assertLessEqual(max(body["device_bytes"] for _, _, body in self.launches()), 3.5 * MIB)
        # What none of it has room for is trained in smaller micro-batches of the same batch.
        self.hpo("run", DEBUG, "--backend", "opencl", "--fresh", "--set", "resources.gpu_memory=1800KiB", "--quiet")
        self.assertEqual(len(self.ended()), 12)
        self.assertTrue(any(body.get("micro_batches", 0) > 1 for _, _, body in self.launches()))

    def test_killed_and_run_again_it_ends_as_without_the_kill(self):
        self.hpo("run", DEBUG, "--backend", "opencl", *ONE)
        whole = {number: (trial["state"], trial["steps"], trial["values"]) for number, trial in self.ended().items()}
        child = self.start("run", DEBUG, "--backend", "opencl", "--fresh", *ONE)
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("debug")) > 8 or child.poll() is not None)
        child.kill()
        child.wait()
        self.assert_nobody_left()
        self.hpo("run", DEBUG, "--backend", "opencl", *ONE)
        self.assertEqual(whole, {number: (trial["state"], trial["steps"], trial["values"]) for number, trial in self.ended().items()})

    def test_a_backend_that_cannot_be_had_is_an_error_that_says_so_before_anything_runs(self):
        nothing = {"HPO_NVML_LIBRARY": "/none.so", "HPO_OPENCL_LIBRARY": "/none.so"}
        self.hpo("run", DEBUG, "--backend", "cuda", status=1, environment=nothing)
        self.assertIn("there is no GPU that this study may use", self.error)
        self.hpo("run", DEBUG, "--backend", "opencl", status=1, environment=nothing)
        self.assertIn("there is no OpenCL device that this study may use", self.error)
        self.assertEqual(self.trials_so_far("debug"), [])
        self.hpo("run", DEBUG, "--backend", "tpu", status=2)
        self.assertIn("--backend tpu", self.error)
        self.hpo("run", DEBUG, "--quiet", environment=nothing)  # auto: the CPU


if __name__ == "__main__":
    unittest.main()
