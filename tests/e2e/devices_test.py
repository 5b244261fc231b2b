"""hpo devices, with and without a (fake, misbehaving) management library, and with other sessions in the registry."""
import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import unittest

from harness import BUILD, Case, wait_for

LIBRARY = str(BUILD / "tests" / "support" / "libfake-nvml.so")
GIB = 1 << 30


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Devices(Case):
    alone = "compares with the free memory of this machine"

    def setUp(self):
        super().setUp()
        self.environment = {"XDG_RUNTIME_DIR": str(self.folder), "OCL_ICD_VENDORS": str(self.folder / "none"), "HPO_NVML_LIBRARY": ""}

    def script(self, text):
        (self.folder / "script").write_text(text)
        self.environment |= {"HPO_NVML_LIBRARY": LIBRARY, "FAKE_NVML": str(self.folder / "script")}

    def devices(self, *arguments):
        return self.hpo("devices", *arguments, environment=self.environment)

    def as_json(self):
        return json.loads(self.devices("--json"))

    @contextlib.contextmanager
    def session(self, reserved):
        """Publishes reservations like a running session: a locked file and a file with the reservations."""
        registry = self.folder / "hpo"
        registry.mkdir(mode=0o700, exist_ok=True)
        with open(registry / f"{os.getpid()}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            devices = [{"device": device, "booked": amount, "capacity": 0, "reserve": 0, "others": 0, "used": amount // 2,
                        "cores": 1.5, "trials": 2} for device, amount in reserved.items()]
            (registry / f"{os.getpid()}.json").write_text(json.dumps({"study": "phase1", "pid": os.getpid(), "devices": devices}))
            yield

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "this machine has an NVIDIA driver")
    def test_without_a_gpu_only_the_host_is_listed_and_nothing_is_warned_of(self):
        table = self.devices()
        self.assertEqual(self.error, "")
        self.assertEqual([line.split()[0] for line in table.splitlines()], ["DEVICE", "host", "No"])
        listed = self.as_json()
        self.assertEqual((listed["devices"], listed["problem"]), ([], None))
        host = listed["host"]
        self.assertGreater(host["memory"], host["free"])
        self.assertGreaterEqual(host["cores"], 1)
        self.assertEqual((host["reserved"], host["studies"]), (0, []))

    def test_each_gpu_is_a_row_with_its_number_uuid_and_memory(self):
        self.script("device GPU-1111 8GiB Imaginary 9000\ndevice GPU-2222 24GiB Imaginary 9900\nprocess GPU-2222 4242 6GiB\n")
        row = next(line for line in self.devices().splitlines() if line.startswith("1"))
        self.assertRegex(row, r"^1 +Imaginary 9900 +- +24.00 GiB +18.00 GiB +6.000 GiB +0 B +- +GPU-2222$")
        second = self.as_json()["devices"][1]
        self.assertEqual((second["number"], second["uuid"], second["kind"], second["free"], second["others"]),
                         (1, "GPU-2222", "cuda", 18 * GIB, 6 * GIB))

    def test_reservations_of_running_studies_are_shown_and_their_use_is_not_counted_as_others(self):
        worker = subprocess.Popen(["sleep", "1000"])  # a child of this process, which stands for a session
        self.children.append(worker)
        self.script(f"device GPU-1111 8GiB Imaginary\nprocess GPU-1111 {worker.pid} 3GiB\nprocess GPU-1111 4242 1GiB\n")
        with self.session(reserved={"GPU-1111": 4 * GIB, "host": GIB}):
            listed = self.as_json()
            table = self.devices()
        device = listed["devices"][0]
        self.assertEqual((device["reserved"], device["free"], device["others"]), (4 * GIB, 4 * GIB, GIB))
        self.assertEqual(device["studies"],
                         [{"study": "phase1", "pid": os.getpid(), "trials": 2, "reserved": 4 * GIB, "used": 2 * GIB}])
        self.assertEqual((listed["host"]["reserved"], listed["host"]["cores_reserved"]), (GIB, 1.5))
        self.assertEqual(table.count("phase1"), 2)
        self.assertEqual(self.as_json()["devices"][0]["reserved"], 0, "the session is over")

    def test_if_the_driver_hides_processes_the_figures_of_the_sessions_count(self):
        self.script("device GPU-1111 8GiB Imaginary\nprocess GPU-1111 4242 5GiB\nhidden\n")
        with self.session(reserved={"GPU-1111": 4 * GIB}):
            self.assertEqual(self.as_json()["devices"][0]["others"], 3 * GIB)

    def test_a_lost_device_is_listed_with_the_reason(self):
        self.script("device GPU-1111 8GiB Imaginary\nfail 999 nvmlDeviceGetMemoryInfo\n")
        self.assert_mentions(self.devices(), "GPU 0 (Imaginary, GPU-1111)", "cannot be used: ", "driver")
        self.assertIn("code 999", self.as_json()["devices"][0]["lost"])

    def test_a_missing_failing_or_crashing_library_is_reported_in_a_line_with_the_cure(self):
        for script, words in [("fail 9", "modprobe nvidia"), ("crash", "library has crashed (signal 6"), (None, "correct HPO_NVML_LIBRARY")]:
            if script:
                self.script(script + "\n")
            else:
                self.environment["HPO_NVML_LIBRARY"] = str(self.folder / "libnone.so")
            self.assertTrue(self.devices().startswith("DEVICE"))
            self.assertIn(words, self.error)
            self.assertEqual(self.error.count("\n"), 1)
            self.assertIn(words, self.as_json()["problem"])

    def test_missing_cuda_libraries_are_reported_if_there_is_a_gpu(self):
        self.script("device GPU-1111 8GiB Imaginary")
        fakes = BUILD / "tests" / "support" / "fake_cuda"
        self.environment["LD_LIBRARY_PATH"] = str(fakes)
        self.assertEqual(self.as_json()["libraries"], {"cuda": {"path": str(fakes / "libcuda.so.1"), "version": "13.99"},
                                                       "nvrtc": {"path": str(fakes / "libnvrtc.so.13")},
                                                       "cublas": {"path": str(fakes / "libcublas.so.13")}})
        self.assertNotIn("slower", self.devices())
        self.environment["LD_LIBRARY_PATH"] = ""
        if (listed := self.as_json()["libraries"])["cublas"].get("path"):
            self.skipTest(f"this machine has {listed['cublas']['path']}")
        self.assert_mentions(listed["cublas"]["problem"], "not listed: ", "CUDA toolkit")
        self.assert_mentions(self.devices(), "multiplies", "slower: libcublas", "CUDA")

    def test_a_hanging_library_is_given_up_and_the_host_is_shown(self):
        self.script("hang\n")
        self.environment["HPO_GPU_WAIT"] = "2"
        self.assertIn("\nhost ", self.devices())
        self.assert_mentions(self.error, "waiting", "NVIDIA", "2.0 s")
        self.assertIn("has not answered within 2.0 s", self.error)

    def test_a_hanging_helper_dies_with_its_parent(self):
        self.script("hang\n")
        child = self.start("devices", environment=self.environment)
        starts = self.folder / "script.starts"
        helper = int(wait_for(lambda: starts.exists() and starts.read_text()))
        self.assertTrue(is_alive(helper))
        child.send_signal(signal.SIGKILL)
        child.wait()
        wait_for(lambda: not is_alive(helper), message="the helper is_alive on")

    def test_escape_codes_in_device_names_are_not_printed(self):
        self.script("device GPU-\x1b[2J 8GiB \x1b]0;evil\x07\n")
        self.assertNotIn("\x1b", self.devices())

    def test_help_has_examples(self):
        self.assertIn("hpo devices --json", self.hpo("devices", "--help"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
