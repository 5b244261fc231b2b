"""hpo doctor: its findings without a GPU, with the simulated CUDA driver, and with something missing."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from harness import BUILD, DEADLINE, SOURCE, Case, wait_for

FAKES = BUILD / "tests/support/fake_cuda"


class Doctor(Case):
    def setUp(self):
        super().setUp()
        self.environment = {"XDG_RUNTIME_DIR": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache"),
                            "OCL_ICD_VENDORS": str(self.folder / "none"), "HPO_NVML_LIBRARY": ""}

    def doctor(self, *arguments, status=0):
        return self.hpo("doctor", *arguments, status=status, environment=self.environment)

    def findings(self, status=0):
        """Returns the findings by subject."""
        return {finding["subject"]: finding for finding in json.loads(self.doctor("--json", status=status))["findings"]}

    def missing(self, subject):
        whole = json.loads(self.doctor("--json"))
        return whole, next(finding for finding in whole["findings"] if finding["subject"] == subject)

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has an NVIDIA driver")
    def test_without_a_gpu_it_trains_on_the_cpu_and_nothing_is_changed(self):
        before = self.files()
        text = self.doctor()
        self.assertEqual(self.files(), before)
        self.assertRegex(text, r"(?m)^well +worker +.*hpo-worker 0\.\d+\.\d+ trains$")
        self.assertRegex(text, r"(?m)^well +CPU backend +cpu, .*OpenBLAS \w+$")
        self.assertRegex(text, r"(?m)^absent +GPUs +there is no GPU here")
        self.assertRegex(text, r"(?m)^well +studies +.*/runs: writable, with locks, .* free; no study yet$")
        self.assertRegex(text, r"(?m)^missing +calibration +not measured: cpu\n.*\n +cure: hpo bench devices$")
        self.assertTrue(text.endswith("hpo can train here, on the CPU.\n"), text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(self.error, "")

    def test_a_missing_cublas_is_told_with_what_follows_and_the_cure(self):
        (self.folder / "script").write_text("device GPU-1111 8GiB Imaginary\n")
        links = self.folder / "libraries"
        links.mkdir()
        for file in FAKES.glob("lib*.so*"):
            (links / file.name).symlink_to(file)
        self.environment |= {"HPO_NVML_LIBRARY": str(BUILD / "tests/support/libfake-nvml.so"), "FAKE_NVML": str(self.folder / "script"),
                             "LD_LIBRARY_PATH": str(links)}
        whole = json.loads(self.doctor("--json"))
        self.assertEqual((whole["can_train"], whole["devices"]), (True, ["cpu", "cuda 0"]))
        found = {finding["subject"]: finding for finding in whole["findings"]}
        for subject in ("CUDA driver", "NVRTC", "NVRTC builtins", "cuBLAS", "GPU 0"):
            self.assertEqual(found[subject]["state"], "well", found[subject])
        self.assertIn("8.000 GiB free", found["GPU 0"]["text"])
        page = (SOURCE / "docs/json.md").read_text().split("- `hpo doctor --json`:")[1].split("\n- ")[0]
        self.assertEqual(set(whole) | set(found["cuBLAS"]), set(re.findall(r"`(\w+)`", page)))
        # A library that lacks everything that is called stands for one that is absent, which this machine may have elsewhere.
        (links / "libcublas.so.13").unlink()
        (links / "libcublas.so.13").symlink_to(FAKES / "libnvrtc.so.13")
        whole, missing = self.missing("cuBLAS")
        self.assertEqual((whole["can_train"], whole["devices"], missing["state"]), (True, ["cpu", "cuda 0"], "missing"))
        self.assert_mentions(missing["text"], "cuBLAS", "older", "11")
        self.assert_mentions(missing["follows"], "native", "multiplies", "slower")
        self.assertTrue(missing["cure"].startswith("python3 -m pip install nvidia-cublas, "), missing)
        (links / "libnvrtc-builtins.so.13.990").unlink()
        whole, missing = self.missing("NVRTC builtins")
        self.assertEqual((whole["can_train"], whole["devices"], missing["state"]), (True, ["cpu"], "missing"))
        self.assert_mentions(missing["follows"], "native", "cannot", "CUDA")

    def test_measurements_of_another_gpu_are_none_of_this_one(self):
        (self.folder / "script").write_text("device GPU-1111 8GiB Imaginary\n")
        self.environment |= {"HPO_NVML_LIBRARY": str(BUILD / "tests/support/libfake-nvml.so"), "FAKE_NVML": str(self.folder / "script"),
                             "LD_LIBRARY_PATH": str(FAKES)}
        host = json.loads(self.hpo("devices", "--json", environment=self.environment))["host"]
        product = {"measured": "product", "precision": "float32", "rows": 7, "inputs": 7, "outputs": 7, "replicas": 1, "flops": 700,
                   "bytes": 10, "seconds": 1e-6, "least": 1e-6, "most": 1e-6}
        kept = [{"machine": f"{host['name']}, {host['cpu']}"}, {"measured": "device", "identity": "i", "name": "kept"}, product]
        folder = self.folder / "cache/hpo/calibration"
        folder.mkdir(parents=True)
        for identifier, measured in [("GPU-2222", ""), ("GPU-1111", "cuda 0")]:
            name = "-".join("".join(c if c.isalnum() and c.isascii() else "_" for c in part[:80]) for part in (host["name"], "cuda 0", identifier))
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
            found = [finding["text"] for finding in json.loads(self.doctor("--json"))["findings"] if finding["subject"] == "calibration"]
            unmeasured = "cpu" if measured else "cpu, cuda 0"
            self.assertIn(f"not measured: {unmeasured}", found)
            self.assertEqual(any(text == "measured: cuda 0" for text in found), bool(measured), found)

    def test_where_nothing_can_be_stored_or_the_worker_is_missing_the_status_is_1(self):
        (self.folder / "file").write_text("")
        self.environment["HPO_RUNS"] = str(self.folder / "file")
        found = self.findings(status=1)
        self.assertEqual(found["studies"]["state"], "wrong")
        self.assert_mentions(found["studies"]["cure"], "HPO_RUNS", "local", "write")
        del self.environment["HPO_RUNS"]
        alone = self.folder / "bin"
        alone.mkdir()
        (alone / "hpo").write_bytes((BUILD / "bin/hpo").read_bytes())
        (alone / "hpo").chmod(0o755)
        done = subprocess.run([alone / "hpo", "doctor"], cwd=self.folder, capture_output=True, text=True, env=os.environ | self.environment)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^wrong +worker +.*/bin/hpo-worker: ")
        self.assert_mentions(done.stdout, "hpo", "cannot", "train")

    def test_data_that_a_ready_study_needs_is_told(self):
        (self.folder / "studies").mkdir()
        text = (SOURCE / "studies/cnn.yaml").read_text()
        self.study(text.replace("path: fashion-mnist", "path: nowhere"), "studies/cnn.yaml")
        self.study("study: [", "studies/broken.yaml")
        data = self.findings()["data"]
        self.assertEqual((data["state"], data["cure"]), ("missing", "apt install dataset-nowhere"))
        self.assertIn("studies/cnn.yaml: data.path: no folder nowhere", data["text"])

    def test_the_self_test_keeps_each_promise_and_leaves_nothing(self):
        seen = {promise["text"]: promise for promise in json.loads(self.hpo("doctor", "--self-test", "--json", environment=self.environment))["promises"]}
        self.assertEqual(len(seen), 7)
        self.assertEqual([promise for promise in seen.values() if not promise["kept"]], [])
        self.assert_mentions(seen["killed (SIGKILL), hpo leaves no process behind"]["seen"], "also", "detached")
        self.assertEqual(list(self.folder.glob(".hpo-self-test-*")), [])

    def test_a_broken_promise_is_told_and_its_folder_is_kept(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
            whole = json.loads(self.hpo("doctor", "--self-test", "--json", status=1, environment=self.environment | {"HPO_RUNS": memory}))
            self.assertEqual([promise["text"] for promise in whole["promises"] if not promise["kept"]], ["studies lie on a disk, not in memory"])
            self.assertTrue((pathlib.Path(whole["folder"]) / "killed-1.out").is_file())
            self.assertEqual(str(pathlib.Path(whole["folder"]).parent), memory)
        page = (SOURCE / "docs/json.md").read_text().split("- `hpo doctor --self-test --json`:")[1].split("\n- ")[0]
        self.assertEqual(set(whole) | set(whole["promises"][0]), set(re.findall(r"`(\w+)`", page)))

    def test_an_interrupted_self_test_leaves_no_process_and_no_folder(self):
        test = self.start("doctor", "--self-test", environment=self.environment)
        wait_for(lambda: list(self.folder.glob(".hpo-self-test-*/pids")))
        test.send_signal(signal.SIGINT)
        self.assertEqual(test.wait(DEADLINE), 130)
        self.assertEqual(list(self.folder.glob(".hpo-self-test-*")), [])
        folder = str(self.folder).encode()
        below = [pid for pid in pathlib.Path("/proc").glob("[0-9]*") if self.works_below(pid, folder)]
        self.assertEqual(below, [])

    @staticmethod
    def works_below(pid, folder):
        try:
            return os.readlink(pid / "cwd").encode().startswith(folder)
        except OSError:
            return False

    def test_help_has_examples(self):
        self.assertIn("hpo doctor --json", self.hpo("doctor", "--help"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
