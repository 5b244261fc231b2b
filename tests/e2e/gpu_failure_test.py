"""Whole studies on OpenCL devices that fail while they run: the trial is retried, the others continue, no process is left."""
import collections
import json
import sqlite3
import unittest

from harness import BUILD, Case, synthetic

FAILING = BUILD / "tests" / "support" / "fake_opencl" / "libOpenCL.so.1"  # tests/support/FAKES.md
TRIALS = 4
NO_MORE = "it is not used any more in this run"


class FailingDevices(Case):
    def run_failing(self, script, *arguments, devices="basic", parallel=1, status=0):
        """Runs a study on PoCL, whose devices fail as the lines of `script` demand (tests/support/FAKES.md)."""
        self.script = self.folder / "script"
        self.script.write_text(script + "\n")
        study = self.study(synthetic(samples=8192, trials=TRIALS, epochs=3, parallel=parallel))
        self.hpo("run", study, "--backend", "opencl", "--quiet", *arguments, status=status, timeout=240, environment={
            "HPO_OPENCL_LIBRARY": str(FAILING), "FAKE_OPENCL": str(self.script), "POCL_DEVICES": devices,
            "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd"})
        self.assert_nobody_left()
        self.assert_sound("small")
        self.log = (self.folder / "runs" / "small" / "hpo.log").read_text()

    def completed(self):
        """Expects all trials to be complete. Returns their parameters, steps and values."""
        trials = self.trials("small")
        self.assertEqual([trial["state"] for trial in trials], ["complete"] * TRIALS, self.log)
        return [(trial["params"], trial["steps"], trial["values"]) for trial in trials]

    def launches(self):
        connection = sqlite3.connect(f"file:{self.database('small')}?mode=ro", uri=True)
        try:
            rows = connection.execute("select trial, body from event where kind = 4 order by sequence").fetchall()
        finally:
            connection.close()
        return [(trial, json.loads(body)["where"]) for trial, body in rows]


class Retried(FailingDevices):
    seconds = 30

    def test_a_device_that_fails_once_costs_a_retry_and_changes_no_result(self):
        self.run_failing("")
        without_failure = self.completed()
        self.run_failing("clEnqueueNDRangeKernel -5 after 3000 once", "--fresh")
        self.assertEqual(self.completed(), without_failure)
        self.assertEqual(len(self.launches()), TRIALS + 1)
        self.assertIn("OpenCL error -5 (CL_OUT_OF_RESOURCES)", self.log)
        self.assert_mentions(self.log, "again", "(1 of 2)")

    def test_a_worker_with_a_hanging_driver_is_ended_and_its_trial_retried(self):
        self.run_failing("clEnqueueReadBuffer hang after 12 once", "--set", "resources.progress_timeout=5s")
        self.completed()
        self.assert_mentions(self.log, "silent", "5 s")
        self.assertEqual(len(self.launches()), TRIALS + 1)

    def test_memory_refused_during_training_fails_no_trial(self):
        self.run_failing("clCreateBuffer -4 after 9 once\nclEnqueueNDRangeKernel -4 after 2500 once")
        self.completed()
        self.assertIn("CL_MEM_OBJECT_ALLOCATION_FAILURE", self.log)


class GivenUp(FailingDevices):
    seconds = 30

    def test_a_device_that_keeps_failing_is_given_up_and_the_other_takes_over(self):
        self.run_failing("clEnqueueNDRangeKernel -36 after 500 device 0", parallel=2, devices="basic pthread")
        self.completed()
        last = dict(self.launches())
        self.assertEqual(set(last.values()), {"gpu 1"})
        self.assertIn("OpenCL error -36 (CL_INVALID_COMMAND_QUEUE)", self.log)

    def test_a_device_that_cannot_be_opened_is_not_used(self):
        # The trials are long enough for the second worker to open its device before they end.
        self.run_failing("clBuildProgram -11 device 1", "--set", "budget.epochs=20", parallel=2, devices="basic pthread")
        self.completed()
        self.assertEqual({where for _, where in self.launches()}, {"gpu 0"})
        self.assert_mentions(self.log, "kernels: OpenCL error -11 (CL_BUILD_PROGRAM_FAILURE)")

    def test_the_only_device_fails_for_good_and_the_cpu_resumes_the_study(self):
        self.run_failing("clEnqueueNDRangeKernel -5 after 500", status=1)
        self.assert_mentions(self.log, "no device")
        self.assert_mentions(self.log, "hpo run --backend cpu", "without")
        self.assertIn(NO_MORE, self.log)
        states = collections.Counter(trial["state"] for trial in self.trials("small"))
        self.assertLessEqual(states["failed"], 1, states)
        self.assertEqual(states["running"], 0)
        self.hpo("run", self.folder / "study.yaml", "--backend", "cpu", "--quiet")
        states = collections.Counter(trial["state"] for trial in self.trials("small"))
        self.assertGreaterEqual(states["complete"], TRIALS - 1, states)


if __name__ == "__main__":
    unittest.main()
