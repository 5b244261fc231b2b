"""Scripts on the GPU of a Mac, which a recorded list of accelerators and modules that stand for PyTorch and MLX stand for here. The
memory of this machine stands for that of the Mac."""
import json
import os
import textwrap
import unittest

from harness import Case
from script_test import PYTHON, script_study

GIB = 1 << 30
RECORDED = """<?xml version="1.0"?><plist version="1.0"><array><dict>
<key>IOClass</key><string>AGXAcceleratorG13X</string><key>model</key><string>Apple M1 Pro</string>
<key>PerformanceStatistics</key><dict><key>Device Utilization %</key><integer>37</integer>
<key>In use system memory</key><integer>4096</integer></dict></dict></array></plist>"""
TORCH = """
class backends:
    class mps:
        is_available = lambda: True
class cuda:
    is_initialized = lambda: False
class mps:
    held = 0
    driver_allocated_memory = lambda: mps.held
    current_allocated_memory = lambda: mps.held // 2
def get_num_threads(): return 1
def set_num_threads(number): pass
"""
LIMITS = ("PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_MPS_LOW_WATERMARK_RATIO")


class Metal(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "ioreg.plist").write_text(RECORDED)
        self.environment = {"HPO_IOREG": str(self.folder / "ioreg.plist"), "HPO_NVML_LIBRARY": ""}

    def search(self, text, trial="", resources="", worker="", name="script", status=0, **more):
        """`trial` and `resources`: what is added to the study's resources."""
        (self.folder / "train.py").write_text(textwrap.dedent(text))
        study = script_study([PYTHON, "train.py"], name=name, worker=worker, **more)
        study = study.replace("trial: {memory: 64MiB}", f"trial: {{memory: 64MiB{trial}}}{resources}")
        self.hpo("run", self.study(study), environment=self.environment, status=status)
        return self.trials(name)

    def module(self, text, *place):
        path = self.folder.joinpath(*place)
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))

    def lines(self, number, word, study="script"):
        return [line.split()[1:] for line in self.hpo("logs", f"{study}/{number}").splitlines() if line.startswith(word + " ")]

    def curve(self, number):
        whole = (json.loads(line) for line in self.hpo("export", "script", "--to", "jsonl", "-").splitlines())
        return next(trial["curve"] for trial in whole if trial["trial"] == number)

    def ceiling(self):
        return json.loads(self.hpo("devices", "--json", environment=self.environment))["devices"][0]["memory"]

    def test_it_is_listed_with_the_part_of_the_memory_that_it_may_use(self):
        listed = json.loads(self.hpo("devices", "--json", environment=self.environment))
        device = listed["devices"][0]
        self.assertEqual((device["kind"], device["uuid"], device["unified"]), ("metal", "MTL-AGXAcceleratorG13X", True))
        share = device["memory"] / (os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        self.assertTrue(0.5 < share < 0.8, share)
        self.assertIn("Apple M1 Pro", self.hpo("devices", environment=self.environment))

    def test_pytorch_is_held_to_what_the_trial_declares_and_its_memory_is_seen(self):
        self.module(TORCH, "torch.py")
        ceiling = self.ceiling()
        trials = self.search(f"""
            import hpo, os, torch
            trial = hpo.trial()
            print("limits", *(os.environ.get(name, "none") for name in {LIMITS}), flush=True)
            for epoch in trial.epochs():
                torch.mps.held = {{1: 300 << 20, 2: 700 << 20}}.get(epoch, 100 << 20)
                trial.report(epoch, val_loss=epoch)
            """, trial=", gpu_memory: 1GiB", epochs=3, trials=2, parallel=1)
        self.assertEqual({trial["state"] for trial in trials}, {"complete"})
        for trial in trials:
            self.assertEqual(trial["peak"]["device_bytes"], 700 << 20)
            of_steps = [step["peak_device_bytes"] >> 20 for step in self.curve(trial["trial"])]
            self.assertEqual(of_steps, [300, 700, 700], "the most so far")
            self.assertGreaterEqual(trial["reserved"]["device_bytes"], GIB)
            (high, low), = self.lines(trial["trial"], "limits")
            self.assertAlmostEqual(float(high), GIB / ceiling, delta=0.0001)
            self.assertGreaterEqual(float(high) * ceiling, GIB)
            self.assertLess(float(low), float(high))

    def test_without_a_reservation_pytorch_keeps_its_own_limits(self):
        self.search(f"""
            import hpo, os
            with hpo.trial() as trial:
                print("limits", *(os.environ.get(name, "none") for name in {LIMITS}), flush=True)
                trial.report(1, val_loss=1)
            """, epochs=1, trials=1)
        self.assertEqual(self.lines(1, "limits"), [["none", "none"]])

    def test_limits_of_the_user_and_of_the_study_stay(self):
        text = f"""
            import hpo, os
            with hpo.trial() as trial:
                print("limits", *(os.environ.get(name, "none") for name in {LIMITS}), flush=True)
                trial.report(1, val_loss=1)
            """
        self.search(text, name="own", worker=f"  environment: {{{LIMITS[0]}: '0.0', {LIMITS[1]}: '0.0'}}\n", trial=", gpu_memory: 1GiB",
                    epochs=1, trials=1)
        self.assertEqual(self.lines(1, "limits", "own"), [["0.0", "0.0"]])
        self.environment[LIMITS[0]] = "0.5"
        self.search(text, name="inherited", trial=", gpu_memory: 1GiB", epochs=1, trials=1)
        self.assertEqual(self.lines(1, "limits", "inherited"), [["0.5", "none"]])

    def test_trials_share_the_one_gpu_as_their_memory_allows(self):
        trials = self.search("""
            import hpo, os, time
            trial = hpo.trial()
            print("trains", time.time(), flush=True)
            os.mkdir(f"here-{trial.number}")
            for epoch in trial.epochs():
                if trial.number <= 2:  # the first two must be there at once
                    until = time.time() + 60
                    while not all(os.path.isdir(f"here-{number}") for number in (1, 2)) and time.time() < until:
                        time.sleep(0.01)
                trial.report(epoch, val_loss=epoch)
            print("ends", time.time(), flush=True)
            """, trial=", gpu_memory: 1GiB, cores: 0.25", resources=", gpu_memory: 2.5GiB", epochs=1, trials=6, parallel=4, timeout="100s")
        self.assertEqual({trial["state"] for trial in trials}, {"complete"})
        times = [(float(self.lines(n, "trains")[0][0]), float(self.lines(n, "ends")[0][0])) for n in range(1, 7)]
        most = max(sum(begin <= at <= end for begin, end in times) for at, _ in times)
        self.assertEqual(most, 2, times)

    def test_peaks_of_mlx_are_of_each_trial_by_itself(self):
        self.module("", "mlx", "__init__.py")
        self.module("""
            peak = 900 << 20
            def get_peak_memory(): return peak
            def reset_peak_memory():
                global peak
                peak = 0
            """, "mlx", "core.py")
        trials = self.search("""
            import hpo, mlx.core
            for trial in hpo.trials():
                mlx.core.peak += 200 << 20
                trial.report(1, val_loss=1)
            """, epochs=1, trials=2, parallel=1)
        self.assertEqual({trial["peak"]["device_bytes"] for trial in trials}, {200 << 20})

    def test_an_older_mlx_is_asked_too(self):
        self.module("", "mlx", "__init__.py")
        self.module("""
            class metal:
                peak = 0
                get_peak_memory = lambda: metal.peak
                is_available = lambda: True
            """, "mlx", "core.py")
        trials = self.search("""
            import hpo, mlx.core
            mlx.core.metal.peak = 123 << 20
            with hpo.trial() as trial:
                trial.report(1, val_loss=1)
            """, epochs=1, trials=1)
        self.assertEqual(trials[0]["peak"]["device_bytes"], 123 << 20)

    def test_out_of_memory_of_metal_is_told_from_other_failures(self):
        self.module(TORCH, "torch.py")
        trial, = self.search("""
            import hpo, torch
            trial = hpo.trial()
            raise RuntimeError("MPS backend out of memory (MPS allocated: 1.09 GB, other allocations: 384.00 KB, max allowed: "
                               "1.10 GB). Tried to allocate 256.00 MB on private pool.")
            """, trial=", gpu_memory: 1GiB", resources=", gpu_memory: 1GiB", epochs=1, trials=1, status=1)
        self.assertEqual(trial["state"], "failed")
        self.assert_mentions(self.hpo("show", "script/1"), "out", "device memory")

    def test_hpos_own_models_do_not_take_it(self):
        own = "study: own\nobjective: {metric: val_accuracy}\nspace:\n  lr: {type: float, low: 0.001, high: 0.1}\nworker:\n" \
              "  data: {format: synthetic, samples: 512, features: 4, classes: 2}\n  model: {type: mlp}\nbudget: {trials: 1, epochs: 1}\n"
        self.hpo("run", self.study(own), environment=self.environment)
        self.assertEqual([trial["state"] for trial in self.trials("own")], ["complete"])
        self.hpo("run", self.study(own + "resources: {devices: [0]}\n"), "--fresh", environment=self.environment, status=1)
        self.assert_mentions(self.error, "only", "scripts")


if __name__ == "__main__":
    unittest.main(verbosity=2)
