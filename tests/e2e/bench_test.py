"""hpo bench: measurements of the CPU, and their storage."""
import argparse
import contextlib
import functools
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import unittest
from unittest import mock

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
        self.assertNotIn("processes", self.error)
        self.bench("training", study, "--updates", "4", "--set", "resources.trial.processes=2")
        self.assert_mentions(self.error, "One process", "resources.trial.processes (2)", "not")

    def test_training_that_cannot_be_timed_is_refused_in_words(self):
        self.bench("training", status=2)
        self.assert_mentions(self.error, "study", "missing")
        study = self.study(self.STUDY)
        self.bench("training", study, "--set", "worker.data.samples=100", status=1)
        self.assert_mentions(self.error, "timed", "training.batch_size: 256 is more than")
        self.bench("devices", study, status=2)
        self.assertIn("hpo bench training STUDY", self.error)
        self.bench("training", study, "--backend", "cuda", status=1)
        self.assert_mentions(self.error, "no cuda device")

    def test_an_option_that_has_no_effect_is_refused_with_the_cure(self):
        study = self.study(self.STUDY)
        for arguments, words in [(("training", study, "--quick"), "training: --quick has no effect here: leave it out; --updates N"),
                                 (("training", study, "--again"), "training: --again has no effect here: leave it out"),
                                 (("devices", "--updates", "20"), "devices: --updates has no effect here: leave it out; --quick")]:
            self.bench(*arguments, status=2)
            self.assertIn("hpo bench " + words, self.error)

    def test_a_gpu_that_cannot_be_used_is_named_with_the_reason(self):
        (self.folder / "script").write_text("device GPU-1111 8GiB Imaginary\nfail 999 nvmlDeviceGetMemoryInfo\n")
        self.environment |= {"HPO_NVML_LIBRARY": str(BUILD / "tests/support/libfake-nvml.so"), "FAKE_NVML": str(self.folder / "script")}
        why = "GPU 0 (Imaginary, GPU-1111) cannot be used: the driver reports: Fake Error (code 999)"
        self.bench("devices", "--backend", "cuda", status=1)
        self.assert_mentions(self.error, "no cuda device", why)
        self.bench("training", self.study(self.STUDY), "--backend", "cuda", status=1)
        self.assertIn(why, self.error)
        self.assertIn("cpu", self.bench("devices", "--quick", status=1))
        self.assertIn(why, self.error)

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
        self.assert_mentions(refused.stderr, "cuBLAS", "several times")


def bench_gpu():
    """Returns tests/bench/gpu as a module."""
    loader = importlib.machinery.SourceFileLoader("bench_gpu", str(SOURCE / "tests/bench/gpu"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    with mock.patch.object(sys, "dont_write_bytecode", True):
        loader.exec_module(module)
    return module


class PartsOfGpuBench(Case):
    """Its parts, with invented ones on no device."""

    HANGS = ["sh", "-c", "tail -f /dev/null & echo $!; wait"]

    def setUp(self):
        super().setUp()
        self.bench = bench_gpu()
        self.options = argparse.Namespace(small=True, only="", skip="", again=False, no_build=True, out=self.folder, python="", backend="auto")

    def run_parts(self, **parts):
        """Runs the benchmark with parts in the place of its own. Returns its status and figures.json."""
        invented = type("Invented", (self.bench.Bench,), parts)
        with mock.patch.multiple(self.bench, Bench=invented, PARTS=dict.fromkeys(parts, 60) | {"hangs": 1},
                                 choose=lambda options: ("opencl", "imaginary"), text_of=lambda file: ""):
            self.options.only = ",".join(parts)
            with contextlib.redirect_stdout(io.StringIO()):
                status = self.bench.bench_all(self.options)
        return status, json.loads((self.folder / "figures.json").read_text())["parts"]

    def test_a_part_that_hangs_is_ended_with_its_processes_and_what_it_measured_is_kept(self):
        def hangs(bench):
            child = subprocess.Popen(self.HANGS, stdout=subprocess.PIPE, text=True)
            yield "process", int(child.stdout.readline()), "", ""
            child.wait()

        def follows(bench):
            yield "what", 2.5, "it/s", "three times"

        status, found = self.run_parts(hangs=hangs, follows=follows)
        self.assertEqual(status, 1)
        self.assertEqual(found["hangs"]["failed"], "ended after its 1 s")
        self.assert_ended(found["hangs"]["rows"][0]["figure"])
        self.assertEqual(found["follows"]["rows"], [{"what": "what", "figure": 2.5, "unit": "it/s", "remark": "three times"}])
        self.assertIn("| follows | what | 2.5 | it/s | three times |", (self.folder / "table.md").read_text())

    def assert_ended(self, pid):
        with contextlib.suppress(FileNotFoundError):  # a process of which only its exit status is left has ended too
            self.assertRegex(pathlib.Path(f"/proc/{pid}/stat").read_text(), r"\) [ZX] ")

    def test_the_same_command_runs_only_the_parts_that_failed(self):
        def part(name, figure):
            def measure(bench):
                with open(self.folder / name, "a") as ran:
                    ran.write("ran ")
                if figure is None:
                    raise bench_failed("no device")
                yield name, figure, "", ""
            return measure
        bench_failed = self.bench.Failed
        self.assertEqual(self.run_parts(good=part("good", 1), bad=part("bad", None))[0], 1)
        status, found = self.run_parts(good=part("good", 1), bad=part("bad", 2))
        self.assertEqual((status, found["good"]["failed"], found["bad"]["rows"][0]["figure"]), (0, "", 2))
        self.assertEqual(((self.folder / "good").read_text(), (self.folder / "bad").read_text()), ("ran ", "ran ran "))

    def test_registers_of_the_kernels_are_told_or_why_they_cannot_be(self):
        bench = self.bench.Bench(self.options, self.folder)
        lines = [{"kernel": "good", "registers": 32, "shared_bytes": 1024, "spilled_bytes": 0},
                 {"kernel": "bad", "registers": 255, "shared_bytes": 0, "spilled_bytes": 8}]
        with mock.patch.object(self.bench, "output", lambda *_: "".join(json.dumps(line) + "\n" for line in lines)):
            good, bad = bench.kernels()
        self.assertEqual(good, ("good", 32, "registers", "1024 bytes of shared memory a work-group, none spilled"))
        self.assertIn("8 bytes SPILLED", bad[3])
        # A compiler that says nothing of the kernels, as this invented one, is told, and is a failure only for CUDA.
        with mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": str(BUILD / "tests/support/fake_cuda")}):
            (row,) = bench.kernels()
            self.assertRegex(row[3], "^left out: .*CUDA's compiler 13.990 says nothing of the kernels' registers")
            bench.backend = "cuda"
            with self.assertRaises(self.bench.Failed):
                list(bench.kernels())

    def test_rounds_end_while_there_is_time_to_tell_what_was_measured(self):
        now = [0.0]
        with mock.patch.object(self.bench.time, "monotonic", lambda: now[0]):
            def counted(until, most):
                now[0], numbers = 0.0, []
                for number in self.bench.rounds(until, most):
                    now[0] += 10
                    numbers.append(number)
                return numbers
            self.assertEqual(counted(100, 5), [1, 2, 3, 4, 5])
            self.assertEqual(counted(35, 5), [1, 2, 3])
            self.assertEqual(counted(1, 5), [1])  # one in any case

    def test_first_contact_goes_on_after_whatever_a_step_does_and_writes_it_down(self):
        contact = self.bench.first_contact
        (self.folder / "silent").write_text("")
        steps = [contact.Step("well", 60, ["echo", "words"]), contact.Step("fails", 60, ["sh", "-c", "echo why; exit 3"]),
                 contact.Step("crashes", 60, ["sh", "-c", "kill -6 $$"]), contact.Step("hangs", 1, self.HANGS),
                 contact.Step("absent", 60, [str(self.folder / "none")]), contact.Step("silent", 60, [str(self.folder / "silent")]),
                 contact.Step("no-tool", 60, ["true"], "there is no ncu")]
        with mock.patch.object(contact, "steps", lambda *_: steps), contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(contact.first_contact(SOURCE, BUILD, SOURCE / "tests/bench/gpu", self.options), 1)
        seen = json.loads((self.folder / "first-contact.json").read_text())["steps"]
        self.assertEqual([(one["step"], one["result"]) for one in seen], [
            ("well", "well"), ("fails", "failed"), ("crashes", "failed"), ("hangs", "cut off"), ("absent", "not started"),
            ("silent", "not started"), ("no-tool", "left out")])
        self.assertEqual([seen[1]["why"], seen[1]["last words"], seen[2]["why"]], ["status 3", ["why"], "signal 6"])
        self.assert_ended(int(seen[3]["last words"][0]))
        table = (self.folder / "first-contact.md").read_text()
        self.assertIn("| fails | failed: status 3 |", table)
        self.assertIn("| no-tool | left out: there is no ncu |", table)

    def test_first_contact_without_a_gpu_takes_small_sizes_and_says_so(self):
        contact, given = self.bench.first_contact, []
        listed = [{"kind": "opencl", "cpu": True, "lost": None}]
        (self.folder / "bin").mkdir()
        (self.folder / "bin/hpo").write_text(f"#!/bin/sh\necho '{json.dumps({'devices': listed})}'\n")
        (self.folder / "bin/hpo").chmod(0o755)
        self.options.small, self.options.backend = False, "opencl"

        def remembered(root, build, bench, backend, small, out):
            given.append(small)
            return [contact.Step("well", 60, ["true"])]

        with mock.patch.object(contact, "steps", remembered), contextlib.redirect_stdout(io.StringIO()) as printed:
            contact.first_contact(SOURCE, self.folder, SOURCE / "tests/bench/gpu", self.options)
            listed[0]["cpu"] = False
            (self.folder / "bin/hpo").write_text(f"#!/bin/sh\necho '{json.dumps({'devices': listed})}'\n")
            self.assert_mentions((self.folder / "first-contact.md").read_text(), "opencl", "small sizes")
            contact.first_contact(SOURCE, self.folder, SOURCE / "tests/bench/gpu", self.options)
        self.assertEqual(given, [True, False])
        self.assertEqual(printed.getvalue().count("no GPU of opencl is here"), 1)
        self.assertEqual(json.loads((self.folder / "first-contact.json").read_text())["remark"], "")

    def test_the_steps_of_first_contact_leave_their_parts_time_to_end(self):
        contact = self.bench.first_contact
        for small in (True, False):
            for step in contact.steps(SOURCE, BUILD, SOURCE / "tests/bench/gpu", "opencl", small, self.folder):
                self.assertLessEqual(step.limit, 600)
                if step.name == "replicas":
                    self.assertGreaterEqual(step.limit, self.bench.PARTS["replicas"] + 60)

    def test_a_pack_starts_from_an_empty_environment_and_refuses_what_an_older_system_cannot_start(self):
        pack, build, target = self.bench.pack, self.folder / "build", self.folder / "pack"
        for name in ("bin/hpo", "bin/hpo-worker", "tests/test_contract_backends", "tests/bench/bench_replicas"):
            (build / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(BUILD / "bin/hpo" if name == "bin/hpo" else "/bin/true", build / name)
        (self.folder / "data").mkdir()
        (self.folder / "data/labels").write_text("few")
        with mock.patch.object(pack, "DATA", self.folder / "data"), contextlib.redirect_stdout(io.StringIO()):
            with mock.patch.object(pack, "NEWEST_GLIBC", (2, 3)), self.assertRaisesRegex(SystemExit, "would not start with glibc"):
                pack.pack(SOURCE, build, target, SOURCE / "tests/bench/gpu_parts")
            quickly = functools.partial(tarfile.open, preset=0)
            with mock.patch.object(pack, "NEWEST_GLIBC", (2, 99)), mock.patch.object(pack.tarfile, "open", quickly):
                pack.pack(SOURCE, build, target, SOURCE / "tests/bench/gpu_parts")
        libraries = json.loads((target / "pack.json").read_text())["libraries"]
        self.assertTrue(any(name.startswith("libsqlite3.so") for name in libraries), libraries)
        self.assertFalse([name for name in libraries if name.startswith(("libc.", "libm.", "libstdc++", "ld-linux"))])
        self.assertEqual((target / "data/fashion-mnist/labels").read_text(), "few")
        target = target.rename(self.folder / "elsewhere")
        for command in (["./hpo", "--version"], [sys.executable, "tests/bench/gpu", "--help"]):
            run = subprocess.run(["env", "-i", "PATH=/usr/bin:/bin", *command], cwd=target, capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        loaded = subprocess.run(["env", "-i", f"LD_LIBRARY_PATH={target}/lib", "/usr/bin/ldd", target / "build/release/bin/hpo"],
                                capture_output=True, text=True, check=True).stdout
        self.assertIn(f"{target}/lib/libsqlite3.so", loaded)

    def test_built_on_debian_12_every_program_of_the_pack_starts_with_glibc_2_34(self):
        if os.confstr("CS_GNU_LIBC_VERSION") != "glibc 2.36":
            self.skipTest("this is not Debian 12")
        programs = [BUILD / name for name in ("bin/hpo", "bin/hpo-worker", "tests/test_contract_backends", "tests/bench/bench_replicas")]
        self.bench.pack.refuse_what_is_too_new([file for file in programs if file.exists()])


class Baselines(Case):
    @unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not installed (python3-torch)")
    def test_the_torch_baseline_prepares_and_measures_when_it_is_asked_to(self):
        command = [sys.executable, SOURCE / "tests/bench/gpu_parts/baseline_torch.py", "cpu", "16", "8", "0.01", "1,2", "100"]
        done = subprocess.run(list(map(str, command)), input="measure\nmeasure\n", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row["round"] for row in rows if "round" in row], [0, 1, 2])
        rates = [row for row in rows if row.get("what") == "torch, eager"]
        self.assertEqual([(row["batch"], row["K"], row["rate"] > 0) for row in rates], [(16, 1, True)] * 2)
        others = [row for row in rows if row.get("what", "").startswith("torch.func") and row["K"] == 2]
        self.assertTrue(others, rows)  # a rate, or the reason: torch 1.13 has no torch.func
        for row in others:
            self.assertTrue("rate" in row or "error" in row, row)


if __name__ == "__main__":
    unittest.main()
