"""hpo simulate and hpo advise: predictions and advice from studies that have run."""
import json
import re
import subprocess
import unittest

from harness import WORKER, Case

TINY = """\
study: tiny
objective: {metric: val_accuracy, direction: maximize}
space:
  lr: {type: float, low: 1.0e-4, high: 1.0e-2, log: true}   # as papers say
worker:
  data: {format: synthetic, samples: 20000, features: 64}
  model: {type: mlp, width: 64, depth: 2}
  training: {batch_size: 4}   # too small
policy: {min_batch_size: 1}
budget: {trials: 4, epochs: 3}
sampler: {type: random}
stopping: []
resources: {backend: cpu}
"""

SCRIPT = """\
study: {name}
objective: {{metric: val_loss, direction: minimize}}
space:
  x: {{type: float, low: 0.0, high: 1.0}}
worker:
  command: [python3, train.py, "{{x}}"]
  metrics: {{}}
  {more}
budget: {{trials: 2, epochs: 9}}
sampler: {{type: random}}
stopping: []
resources: {{parallel: {parallel}, trial: {{memory: 50MiB}}}}
"""

LOADER = """
import time
for step in range(1, 10):
    time.sleep(0.45)  # the loader
    sum(range(100000))
    print("val_loss:", 1 / step, flush=True)
"""

THREADS = """
import os, subprocess, sys, time
count = int(os.environ["OMP_NUM_THREADS"])
others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count - 1)]
end = time.monotonic() + 4
while time.monotonic() < end:
    sum(range(100000))
for other in others:
    other.kill()
for step in range(1, 10):
    print("val_loss:", 1 / step, flush=True)
"""


class Simulated(Case):
    def setUp(self):
        super().setUp()
        self.study(TINY)
        self.hpo("run", "study.yaml", "--quiet")

    def test_a_study_is_predicted_where_it_ran_and_elsewhere(self):
        here = json.loads(self.hpo("simulate", "tiny", "--json"))
        self.assertEqual(here["trials"], 4)
        self.assertEqual(here["steps"], [12, 12, 12])
        self.assertLess(here["seconds"][0], 1.2 * here["measured_seconds"])
        self.assertGreater(here["seconds"][2], 0.5 * here["measured_seconds"])
        fewer = json.loads(self.hpo("simulate", "tiny", "--devices", "1xcpu", "--json"))
        more = json.loads(self.hpo("simulate", "tiny", "--devices", "4xcpu", "--price", "36", "--json"))
        self.assertEqual((fewer["at_once"], more["at_once"]), (1, 4))
        self.assertGreater(fewer["seconds"][1], more["seconds"][1], "four trials one after the other take longer than side by side")
        self.assertAlmostEqual(more["cost"][1], more["seconds"][1] / 100)
        text = self.hpo("simulate", "study.yaml", "--devices", "8xH200")
        self.assertRegex(text, r"(?m)^wall time   \S")
        self.assertRegex(text, r"H200: not measured\. .*data sheet")
        self.assertRegex(self.hpo("check", "study.yaml", "--devices", "4xcpu"), r"(?m)^study +tiny on 4 CPU cores$")

    def test_what_is_not_known_is_said(self):
        self.hpo("simulate", "tiny", "--devices", "8xH2000", status=2)
        self.assert_mentions(self.error, "no device", "'H2000'", "known")
        self.hpo("simulate", "tiny", "--devices", "0xH200", status=2)
        self.hpo("simulate", "tiny", "--devices", "", status=2)
        self.assertIn("--devices names no device", self.error)
        (self.folder / "other.yaml").write_text(TINY.replace("study: tiny", "study: other"))
        self.hpo("simulate", "other.yaml", status=1)
        self.assert_mentions(self.error, "nothing", "other", ": run ")
        self.assertIn("(--from)", self.error)
        self.assertRegex(self.hpo("check", "other.yaml", "--devices", "4xcpu", status=1), r"(?m)^study +other: ")
        self.assertIn("hpo simulate other.yaml --from STUDY", self.error)
        self.assertEqual(json.loads(self.hpo("simulate", "other.yaml", "--from", "tiny", "--json"))["trials"], 4)
        (self.folder / "cluster.yaml").write_text("devices: [{name: Mine, count: 2}]\n")
        self.hpo("simulate", "tiny", "--devices", "cluster.yaml", status=1)
        self.assertRegex(self.error, r"cluster\.yaml:1:\d+: 'devices\.memory' .*missing")


class Advised(Case):
    seconds = 22

    def setUp(self):
        super().setUp()
        self.environment = {"XDG_CACHE_HOME": str(self.folder / "cache"), "HPO_NVML_LIBRARY": ""}

    def advise(self, *arguments):
        return json.loads(self.hpo("advise", *arguments, "--json", environment=self.environment))

    def log_of(self, study):
        return (self.folder / "runs" / study / "hpo.log").read_text()

    def kinds(self, advice):
        return {change["kind"]: change for change in advice["changes"]}

    def calibrate(self, **rates):
        """Keeps measurements of devices, in float32 and bfloat16 operations per second."""
        first = subprocess.run([WORKER, "--calibrate", "", "--quick"], capture_output=True, text=True, check=True).stdout
        identity = json.loads(first.splitlines()[0])["identity"]
        host = json.loads(self.hpo("devices", "--json", environment=self.environment))["host"]
        folder = self.folder / "cache/hpo/calibration"
        folder.mkdir(parents=True)
        for device, (float32, bfloat16) in rates.items():
            lines = [{"machine": f"{host['name']}, {host['cpu']}"}, {"measured": "device", "identity": identity, "name": device},
                     {"measured": "launch", "seconds": 1e-8, "least": 1e-8, "most": 1e-8},
                     {"measured": "memory", "bytes": 1e10, "seconds": 1}]
            for precision, rate in (("float32", float32), ("bfloat16", bfloat16)):
                for size in (16, 128, 1024):
                    seconds = 2 * size ** 3 / rate
                    lines.append({"measured": "product", "precision": precision, "rows": size, "inputs": size, "outputs": size,
                                  "replicas": 1, "flops": 2 * size ** 3, "bytes": 12 * size ** 2, "seconds": seconds,
                                  "least": seconds, "most": seconds})
            name = "-".join(re.sub("[^a-zA-Z0-9]", "_", part[:80]) for part in (host["name"], device, host["cpu"]))
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def test_a_tiny_batch_is_found_by_measurement_and_changed_in_a_copy_of_the_study(self):
        self.study(TINY)
        self.hpo("run", "study.yaml", "--quiet")
        advice = self.advise("tiny", "--measure", "--apply", "faster.yaml")
        self.assertEqual(advice["bound"], "launch-bound")
        change = self.kinds(advice)["batch"]
        self.assertGreater(change["gain"], 1.5)
        self.assertEqual(change["basis"], "measured now")
        batch = int(change["keys"]["worker.training.batch_size"])
        self.assertGreaterEqual(batch, 16)
        self.assertEqual((self.folder / "faster.yaml").read_text(),
                         TINY.replace("study: tiny", "study: tiny-faster").replace("batch_size: 4", f"batch_size: {batch}"))
        self.hpo("advise", "tiny", "--measure", "--apply", "faster.yaml", status=2, environment=self.environment)
        self.assert_mentions(self.error, "exists", "not replaced")
        self.hpo("run", "faster.yaml", "--quiet")

    def test_changes_of_the_space_are_written_in_place_and_comments_stay(self):
        study = TINY.replace("  training: {batch_size: 4}   # too small\n", "")
        study = study.replace("# as papers say\n", "# as papers say\n  batch_size:   # two sizes\n    type: categorical\n"
                              "    choices: [4, 8]   # of a laptop\n")
        self.study(study)
        self.hpo("run", "study.yaml", "--quiet")
        self.advise("tiny", "--measure", "--apply", "faster.yaml")
        text = (self.folder / "faster.yaml").read_text()
        first = int(re.search(r"choices: \[(\d+), \d+\]   # of a laptop", text)[1])
        self.assertGreaterEqual(first, 16)
        for comment in ("# as papers say", "# two sizes"):
            self.assertIn(comment, text)
        self.assertRegex(self.hpo("check", "faster.yaml"), r"(?m)^study +tiny-faster: ")

    def test_a_trial_shows_its_predicted_and_its_measured_step_and_earlier_trials_correct_it(self):
        self.calibrate(cpu=(5e9, 5e9))
        self.study(TINY.replace("resources: {backend: cpu}", "resources: {backend: cpu, parallel: 1}"))
        self.hpo("run", "study.yaml", "--quiet", environment=self.environment)
        nowhere = {"XDG_CACHE_HOME": "/none", "PATH": "/none"}  # the study's database has it all
        first, last = [json.loads(self.hpo("show", "tiny", trial, "--json", environment=nowhere))["predicted_step"] for trial in ("1", "4")]
        self.assertEqual((first["factor"], first["factor_trials"], last["factor_trials"]), (1, 0, 3))
        self.assertGreater(last["measured"], 0)
        self.assertNotEqual(last["factor"], 1)
        self.assertAlmostEqual(last["seconds"], first["seconds"] * last["factor"], msg="all trials have the same shape")
        self.assertRegex(self.hpo("show", "tiny", "4"),
                         r"a step +\S+ \S+ measured, \S+ \S+ predicted \(hpo bench devices: cpu,\s+times \S+ by 3 earlier\s+trials\)")
        self.hpo("run", "study.yaml", "--quiet", "--fresh", environment=nowhere)
        self.assertIsNone(json.loads(self.hpo("show", "tiny", "4", "--json"))["predicted_step"])

    def test_a_session_refuses_measurements_of_an_older_library_in_words(self):
        self.calibrate(cpu=(5e9, 5e9))
        file, = (self.folder / "cache/hpo/calibration").iterdir()
        file.write_text(re.sub(r'"identity": "[^"]*"', '"identity": "an older library"', file.read_text()))
        self.study(TINY)
        self.hpo("run", "study.yaml", environment=self.environment)
        self.assert_mentions(re.sub(r"\s+", " ", self.log_of("tiny")), "cpu", "not used: ", "device, ", "driver, ", "libraries", "changed")
        self.assertIsNone(json.loads(self.hpo("show", "tiny", "1", "--json"))["predicted_step"])

    def test_measurements_of_another_machine_or_library_are_refused_in_words(self):
        self.calibrate(cpu=(1e9, 1e9))
        file, = (self.folder / "cache/hpo/calibration").iterdir()
        right = file.read_text()
        file.write_text(re.sub(r'"identity": "[^"]*"', '"identity": "an older library"', right))
        self.study(TINY)
        self.hpo("run", "study.yaml", "--quiet")
        told = "\n".join(self.advise("tiny")["not_known"])
        self.assert_mentions(told, "cpu", "missing", ": hpo bench devices")
        self.assert_mentions(told, "libraries", "processor", "changed")
        file.write_text(right.replace('"machine": "', '"machine": "another '))
        self.assert_mentions("\n".join(self.advise("tiny")["not_known"]), "another", "machine, ", "damaged")
        file.write_text(right)
        self.assertNotIn("not used", "\n".join(self.advise("tiny")["not_known"]))

    def test_the_largest_batch_is_exact_and_what_was_not_measured_is_said(self):
        self.study(TINY.replace("samples: 20000", "samples: 100").replace("batch_size: 4}", "batch_size: 64, precision: auto}"))
        self.hpo("run", "study.yaml", "--quiet")
        advice = self.advise("tiny", "--measure")
        self.assert_mentions("\n".join(advice["not_known"]), "--measure", "nothing", "compare")
        self.assertNotEqual(advice["largest_batch"] % 64, 0)

    def test_the_wrong_backend_is_found_by_the_calibrations(self):
        self.calibrate(cpu=(2e8, 4e9), opencl_0=(1e12, 1e12))
        self.study(TINY.replace("batch_size: 4}", "batch_size: 256}"))
        self.hpo("run", "study.yaml", "--quiet")
        advice = self.advise("tiny")
        kinds = self.kinds(advice)
        self.assertEqual(advice["bound"], "compute-bound")
        self.assertEqual(kinds["backend"]["keys"], {"resources.backend": "opencl"})
        self.assertEqual(kinds["backend"]["basis"], "predicted from the calibration")
        self.assert_mentions("\n".join(advice["evidence"]), "faster", "predicts: ", "measure", "again")

    def test_a_slow_loader_is_found(self):
        (self.folder / "train.py").write_text(LOADER)
        self.study(SCRIPT.format(name="loader", parallel=2, more=""))
        self.hpo("run", "study.yaml", "--quiet")
        advice = self.advise("loader")
        self.assertEqual(advice["bound"], "data-bound")
        self.assertGreater(self.kinds(advice)["parallel"]["gain"], 1.5)
        self.assert_mentions("\n".join(advice["evidence"]), "used 0.", "trial")

    def test_too_many_threads_are_found(self):
        (self.folder / "train.py").write_text(THREADS)
        cores = json.loads(self.hpo("devices", "--json"))["host"]["cores"]
        self.study(SCRIPT.format(name="threads", parallel=2, more=f"environment: {{OMP_NUM_THREADS: {int(2 * cores)}}}"))
        self.hpo("run", "study.yaml", "--quiet")
        advice = self.advise("threads")
        self.assertEqual(advice["bound"], "CPU-bound", advice["evidence"])
        keys = {}
        for change in advice["changes"]:
            keys.update(change["keys"])
        self.assertEqual(keys, {"worker.environment.OMP_NUM_THREADS": str(max(1, int(cores / 2)))})


if __name__ == "__main__":
    unittest.main()
