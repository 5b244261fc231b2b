"""hpo bench: measurements of the CPU, and what is kept of them."""
import json
import os
import re
import subprocess
import sys
import unittest

from harness import BUILD, SOURCE, WORKER, Case


class Bench(Case):
    def setUp(self):
        super().setUp()
        self.environment = {"XDG_CACHE_HOME": str(self.folder / "cache"), "HPO_NVML_LIBRARY": ""}

    def bench(self, *arguments, **more):
        return self.hpo("bench", *arguments, environment=self.environment, **more)

    def test_the_cpu_is_measured_and_a_quick_measurement_is_not_kept(self):
        answer = json.loads(self.bench("devices", "--backend", "cpu", "--quick", "--json"))
        [device] = answer["devices"]
        self.assertEqual(device["device"], "cpu")
        self.assertGreater(device["memory_rate"], 1e8)
        float32 = [product for product in device["products"] if product["precision"] == "float32"]
        self.assertGreater(len(float32), 3)
        for product in float32:
            self.assertGreater(product["flops"] / product["time"]["seconds"], 1e8)
        self.assertFalse((self.folder / "cache/hpo/calibration").exists())

    def test_what_was_kept_is_shown_as_long_as_the_device_is_the_same(self):
        first = subprocess.run([WORKER, "--calibrate", "", "--quick"], capture_output=True, text=True, check=True).stdout
        identity = json.loads(first.splitlines()[0])["identity"]
        host = json.loads(self.hpo("devices", "--json", environment=self.environment))["host"]
        marked = {"measured": "product", "precision": "float32", "rows": 7, "inputs": 7, "outputs": 7, "replicas": 1, "flops": 700,
                  "bytes": 10, "seconds": 1e-6, "least": 1e-6, "most": 1e-6}
        folder = self.folder / "cache/hpo/calibration"
        folder.mkdir(parents=True)
        name = "-".join("".join(c if c.isalnum() and c.isascii() else "_" for c in part[:80]) for part in (host["name"], "cpu", host["cpu"]))
        lines = [{"machine": f"{host['name']}, {host['cpu']}"}, {"measured": "device", "identity": identity, "name": "kept"}, marked]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        out = self.bench("devices", "--backend", "cpu")
        self.assertRegex(out, r"(?m)^7 x 7 x 7 +0.70 GFLOP/s$")
        self.assertEqual(self.error, "")

    STUDY = """\
study: timed
objective: {metric: val_accuracy}
space:
  lr: {type: float, low: 1.0e-3, high: 1.0e-2, log: true}
worker:
  data: {format: synthetic, samples: 600, features: 8}
  model: {type: mlp, width: 16}
  training: {batch_size: 256}
budget: {trials: 2, epochs: 2}
"""

    def test_the_time_of_each_operation_of_training_is_shown(self):
        study = self.study(self.STUDY)
        out = self.bench("training", study, "--updates", "4")
        self.assertRegex(out, r"(?m)^linear +256 x 8 x 16 +1 .* GFLOP/s +-$")
        self.assertRegex(out, r"(?m)^An update takes ")
        answer = json.loads(self.bench("training", study, "--updates", "4", "--json", "--set", "worker.training.optimizer=sgd",
                                       "--set", "policy.min_batch_size=32", "--set", "worker.training.batch_size=32"))
        page = (SOURCE / "docs/json.md").read_text().split("`hpo bench training --json`")[1].split("\n- ")[0].split("\n\n")[0]
        keys = set(answer) | set(answer["operations"][0])
        self.assertEqual(keys, set(re.findall(r"`(\w+)`", page)))
        self.assertEqual((answer["study"], answer["backend"], answer["batch_size"], answer["updates"]), ("timed", "cpu", 32, 4))
        self.assertIn("sgd", {one["operation"] for one in answer["operations"]})
        self.assertFalse((self.folder / "runs").exists(), "nothing is stored")

    def test_training_that_cannot_be_timed_is_refused_in_words(self):
        self.bench("training", status=2)
        self.assertIn("the study is missing", self.error)
        study = self.study(self.STUDY)
        self.bench("training", study, "--set", "worker.data.samples=100", status=1)
        self.assertIn("timed was not timed: training.batch_size: 256 is more than", self.error)
        self.bench("devices", study, status=2)
        self.assertIn("hpo bench training STUDY", self.error)
        self.bench("training", study, "--backend", "cuda", status=1)
        self.assertIn("there is no cuda device here", self.error)

    def test_a_backend_without_devices_is_told(self):
        self.bench("devices", "--backend", "cuda", status=1)
        self.assertIn("there is no cuda device here; `hpo devices` lists them", self.error)
        self.bench("nothing", status=2)


class OfGpus(Case):
    def test_a_cuda_device_without_cublas_is_refused_with_the_reason(self):
        fakes = self.folder / "without-cublas"
        fakes.mkdir()
        for file in (BUILD / "tests/support/fake_cuda").glob("lib*.so*"):
            if "cublas" not in file.name:
                (fakes / file.name).symlink_to(file)
        environment = os.environ | {"LD_LIBRARY_PATH": str(fakes), "XDG_CACHE_HOME": str(self.folder / "cache")}
        command = [sys.executable, SOURCE / "tests/bench/gpu", "--no-build", "--backend", "cuda", "--out", self.folder]
        refused = subprocess.run(command, capture_output=True, text=True, env=environment)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn("multiplies by hpo's own kernels, several times slower than cuBLAS: ", refused.stderr)


if __name__ == "__main__":
    unittest.main()
