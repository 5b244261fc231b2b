"""Whole studies on OpenCL, with PoCL's CPU device, and the errors if a backend is not available."""
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import unittest

from harness import BUILD, SOURCE, WORKER, Case, synthetic, wait_for

DEBUG = SOURCE / "studies" / "debug.yaml"
ONE_AT_A_TIME = ["--jobs", "1", "--quiet"]  # so that proposals do not depend on which trial ends first
# No rule pauses a trial, so that the kill meets one between two steps.
UNSTOPPED = ["--set", "stopping=[]", "--set", "budget.trials=3", "--set", "budget.epochs=6", "--set", "worker.data.samples=4096"]
ONE_EPOCH = ["--set", "budget.epochs=1"]
MIB = 1 << 20


class Backend(Case):
    seconds = 45

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
        self.assert_mentions(self.error, "no GPU", "study")
        self.hpo("run", DEBUG, "--backend", "opencl", status=1, environment=no_devices)
        self.assert_mentions(self.error, "no OpenCL", "device", "study")
        self.assertEqual(self.trials_so_far("debug"), [])
        self.hpo("run", DEBUG, "--backend", "tpu", status=2)
        self.assertIn("--backend tpu", self.error)
        self.hpo("run", DEBUG, "--quiet", environment=no_devices)  # auto falls back to the CPU


class Calibrated(Case):
    """Calibrations that are invented."""

    def identity(self, backend, known=""):
        """Returns the identity of a device, which the worker prints before it measures anything."""
        command = [WORKER, "--backend", backend, "--calibrate", known, "--quick"]
        with subprocess.Popen(command, env={**os.environ, **self.environment, "HPO_ENDPOINT": "none"}, stdout=subprocess.PIPE, text=True) as worker:
            first = worker.stdout.readline()
            worker.kill()
        return json.loads(first)["identity"]

    def calibrate(self, device, number, rate, machine=None, large=None, launch=0, identity="invented"):
        """Writes what `hpo bench devices` would keep of a device, whose products have one rate, or another one if they are large."""
        name = re.sub("[^a-zA-Z0-9]", "_", socket.gethostname()), re.sub("[^a-zA-Z0-9]", "_", device), re.sub("[^a-zA-Z0-9]", "_", number)
        folder = self.folder / "cache" / "hpo" / "calibration"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [{"machine": machine or f"{socket.gethostname()}, {self.machine}"}, {"measured": "device", "identity": identity}]
        if launch:
            lines.append({"measured": "launch", "seconds": launch, "least": launch, "most": launch})
        for size in (64, 1024):
            seconds = 2 * size**3 / (large if large and size > 64 else rate)
            lines.append({"measured": "product", "precision": "float32", "rows": size, "inputs": size, "outputs": size, "replicas": 1,
                          "flops": 2 * size**3, "bytes": 12 * size**2, "seconds": seconds, "least": seconds, "most": seconds})
        (folder / ("-".join(name) + ".jsonl")).write_text("".join(json.dumps(line) + "\n" for line in lines))


class Chosen(Calibrated):
    """backend: auto between the CPU and a GPU (of the mock driver)."""

    def setUp(self):
        super().setUp()
        script = self.folder / "nvml"
        script.write_text("device GPU-1111 8GiB Imaginary\n")
        self.environment = {"XDG_CACHE_HOME": str(self.folder / "cache"), "FAKE_NVML": str(script), "OCL_ICD_VENDORS": str(self.folder / "none"),
                            "HPO_NVML_LIBRARY": str(BUILD / "tests" / "support" / "libfake-nvml.so"),
                            "LD_LIBRARY_PATH": str(BUILD / "tests" / "support" / "fake_cuda")}
        self.machine = json.loads(self.hpo("devices", "--json", environment=self.environment))["host"]["cpu"]

    def test_another_driver_changes_the_identity_of_a_device(self):
        def identity(driver):
            (self.folder / "nvml").write_text(f"device GPU-1111 8GiB Imaginary\n{driver}\n")
            return self.identity("cuda")
        known = identity("driver 580.65.06")
        self.assertIn("; driver 580.65.06; ", known)
        self.assertEqual(identity("driver 590.10"), known.replace("580.65.06", "590.10"))
        self.assertEqual(self.identity("cuda", known.replace("580.65.06", "590.10")), known.replace("580.65.06", "590.10"))

    def check(self):
        """Returns whether the study would run on the GPU."""
        out = self.hpo("check", self.study(synthetic(trials=2, epochs=1, samples=512)), environment=self.environment)
        return "\n  GPU-1111" in out

    def test_it_is_said_what_is_not_measured(self):
        message = "all trials compute on the GPU, since {}: after hpo bench devices, each trial gets the one on which"
        self.assertTrue(self.check())
        self.assertIn(message.format("neither the CPU nor the GPU has been measured"), self.error)
        self.calibrate("cpu", self.machine, 1e11)
        self.assertTrue(self.check())
        self.assertIn(message.format("only the CPU has been measured"), self.error)
        self.calibrate("cuda 0", "GPU-1111", 1e9, machine="another, computer")
        self.assertTrue(self.check())
        self.assertIn(message.format("only the CPU has been measured"), self.error)
        self.calibrate("cuda 0", "GPU-1111", 1e9)
        self.assertTrue(self.check())
        self.assertIn(message.format("the GPU, its driver, its libraries or hpo have changed since it was measured"), self.error)


BOTH = """\
study: both
objective: {metric: val_loss, direction: minimize}
space: {width: {type: categorical, choices: [8, 256]}, weight_decay: {type: float, low: 1e-4, high: 1e-2}}
worker:
  task: classification
  data: {format: synthetic, samples: 2048, features: 64, classes: 4}
  model: {type: mlp, depth: 2}
  training: {batch_size: 256, lr: 1e-3}
budget: {trials: 6, epochs: 2}
sampler: {type: random}
stopping: []
"""


class Both(Calibrated):
    """backend: auto on the CPU and on PoCL's device, which is said to be a GPU."""

    def setUp(self):
        super().setUp()
        self.environment = {"XDG_CACHE_HOME": str(self.folder / "cache"), "HPO_NVML_LIBRARY": "", "FAKE_OPENCL_GPU": "1",
                            "HPO_OPENCL_LIBRARY": str(BUILD / "tests" / "support" / "fake_opencl" / "libOpenCL.so.1"),
                            "OCL_ICD_VENDORS": "/etc/OpenCL/vendors/pocl.icd", "POCL_DEVICES": "basic"}
        (self.folder / "cache").mkdir()
        (self.folder / "cache" / "pocl").symlink_to(pathlib.Path(os.environ["XDG_CACHE_HOME"], "pocl").resolve())
        found = json.loads(self.hpo("devices", "--json", environment=self.environment))
        self.machine, self.device = found["host"]["cpu"], found["devices"][0]["uuid"]

    def test_small_trials_train_on_the_cpu_and_large_ones_on_the_gpu_on_one_study(self):
        self.calibrate("cpu", self.machine, 1e9, large=1e7, identity=self.identity("cpu"))
        self.calibrate("opencl 0", self.device, 1e11, launch=1e-3, identity=self.identity("opencl"))
        study = self.study(BOTH)
        told = self.hpo("check", study, environment=self.environment)
        self.assert_mentions(told, "backend", "of 6", "faster", "cpu", "opencl 0")
        self.hpo("run", study, "--quiet", environment=self.environment, timeout=240)
        log = (self.folder / "runs" / "both" / "hpo.log").read_text()
        on = {8: [], 256: []}
        for trial in self.trials("both"):
            self.assertEqual(trial["state"], "complete", log)
            on[trial["params"]["width"]].append(trial["device"])
        self.assertEqual(set(on[8]), {None}, log)
        self.assertEqual(on[256][0], self.device, "what is measured then may correct the choice for later ones: " + log)
        self.assertRegex(log, r"on cpu \d .*, predicted .* \S+ \S+ on cpu, in .* on opencl 0")
        self.assertRegex(log, r"on gpu 0 .*, predicted .* on opencl 0, in .* on cpu")
        number = next(trial["trial"] for trial in self.trials("both") if trial["device"])
        shown = json.loads(self.hpo("show", "both", str(number), "--json"))["predicted_step"]
        self.assertEqual(shown["device"], "opencl 0")
        self.assertGreater(shown["measured"], 0)
        self.assertRegex(self.hpo("show", "both", str(number)), r"(?m)^chosen +predicted .*\d")


if __name__ == "__main__":
    unittest.main()
