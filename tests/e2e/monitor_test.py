"""hpo monitor: samples, summary and verdict, with a fake management library and with programs of its own."""
import csv
import json
import os
import signal
import socket
import subprocess
import sys
import unittest

from harness import BUILD, DEADLINE, HPO, Case, wait_for

LIBRARY = str(BUILD / "tests" / "support" / "libfake-nvml.so")
QUICK = ("--interval", "0.1", "--for", "0.8s")


class Monitor(Case):
    def setUp(self):
        super().setUp()
        self.environment = {"HPO_NVML_LIBRARY": ""}

    def gpu(self, text):
        (self.folder / "script").write_text("device GPU-1111 8GiB Imaginary\n" + text)
        self.environment = {"HPO_NVML_LIBRARY": LIBRARY, "FAKE_NVML": str(self.folder / "script")}

    def monitor(self, *arguments, **more):
        return self.hpo("monitor", *arguments, environment=self.environment, **more)

    def channels(self, answer):
        return {(channel["source"], channel["quantity"]): channel for channel in json.loads(answer)["channels"]}

    def test_the_summary_of_the_host_has_a_row_for_each_quantity_and_a_verdict(self):
        out = self.monitor(*QUICK)
        self.assertRegex(out, r"(?m)^SOURCE +QUANTITY +AVERAGE +LEAST")
        self.assertRegex(out, r"(?m)^Host +utilization .* \d+ %")
        self.assertRegex(out, r"(?m)^Host +memory used .* [GM]iB")
        self.assertRegex(out.splitlines()[-1], r"^  [A-Z].*\.$")
        self.assertEqual(self.error, "")

    def test_impossible_power_is_left_out_and_idle_utilization_is_contradicted(self):
        self.gpu("activity 0 utilization 0\nactivity 0 power_limit 140\nactivity 0 power 590\nactivity 0 memory_utilization 40\n")
        answer = self.monitor("--json", *QUICK)
        power = self.channels(answer)["gpu 0", "power"]
        self.assertEqual((power["samples"], power["average"]), (0, None))
        self.assertGreater(power["impossible"], 4)
        verdict = "\n".join(json.loads(answer)["verdict"])
        self.assertRegex(verdict, r"GPU 0: \d+ of \d+ readings of power are impossible \(590 W\)")
        self.assert_mentions(verdict, "utilization", "0 %", "contradicted", "memory", "40 %")

    def test_each_value_is_a_row_of_the_csv_file_which_is_never_overwritten(self):
        self.gpu("activity 0 utilization 25\nactivity 0 temperature 61\n")
        self.monitor("--csv", "load.csv", *QUICK)
        with open(self.folder / "load.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["value"] for row in rows if (row["source"], row["quantity"]) == ("gpu 0", "temperature")}, {"61"})
        self.assertEqual({row["unit"] for row in rows if row["quantity"] == "utilization"}, {"%"})
        before = (self.folder / "load.csv").read_bytes()
        self.monitor("--csv", "load.csv", *QUICK, status=1)
        self.assertIn("load.csv: File exists", self.error)
        self.assertEqual((self.folder / "load.csv").read_bytes(), before)

    def test_of_a_program_that_ends_before_the_first_sample_it_says_so(self):
        self.hpo("monitor", "--", "sh", "-c", "exit 3", status=3)
        self.assert_mentions(self.error, "no sample", "--interval 0.1")
        self.assertNotIn("AVERAGE", self.error)

    def test_a_program_keeps_its_output_and_its_status_and_its_cores_are_measured(self):
        script = "import time\nend = time.monotonic() + 2.5\nwhile time.monotonic() < end: pass\nprint('trained')\nraise SystemExit(7)"
        out = self.monitor("--interval", "0.1", "--", "/usr/bin/python3", "-c", script, status=7)
        self.assertEqual(out, "trained\n")
        self.assertRegex(self.error, r"(?m)^Program +CPU cores used +[01]\.\d")

    def test_ctrl_c_ends_with_the_summary(self):
        child = subprocess.Popen([HPO, "monitor", "--interval", "0.1"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        first = child.stdout.readline()
        child.send_signal(signal.SIGINT)
        rest = child.stdout.read()
        self.assertEqual(child.wait(), 0)
        self.assertIn("utilization", first)
        self.assertIn("QUANTITY", rest)

    def test_an_ignored_ctrl_c_ends_it_and_stays_ignored_in_its_program(self):
        def in_the_background():  # of a shell without job control
            signal.signal(signal.SIGINT, signal.SIG_IGN)

        child = self.start("monitor", "--interval", "0.1", preexec_fn=in_the_background)
        child.stdout.readline()
        child.send_signal(signal.SIGINT)
        self.assertIn("QUANTITY", child.communicate(timeout=DEADLINE)[0])
        self.assertEqual(child.returncode, 0)
        script = "import signal; print(*(signal.getsignal(each).name for each in (signal.SIGINT, signal.SIGTERM)))"
        child = self.start("monitor", "--", "/usr/bin/python3", "-c", script, preexec_fn=in_the_background)
        self.assertEqual(child.communicate(timeout=DEADLINE)[0], "SIG_IGN SIG_DFL\n")

    def test_a_signal_that_ends_it_is_passed_to_the_program(self):
        child = subprocess.Popen([HPO, "monitor", "--json", "--", "sh", "-c", "echo begun; exec sleep 1000"], cwd=self.folder,
                                 stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        self.assertEqual(child.stdout.readline(), "begun\n")
        child.send_signal(signal.SIGTERM)
        answer = json.loads(child.stdout.read())
        self.assertEqual((child.wait(), answer["status"]), (143, 143))

    def test_the_training_speed_of_a_running_study_is_sampled(self):
        (self.folder / "train.py").write_text(
            "import time\nimport hpo\ntrial = hpo.trial(lr=0.1)\nfor epoch in trial.epochs():\n    time.sleep(0.02)\n"
            "    trial.step(4)\n    trial.report(epoch, loss=1 / epoch)\n")
        study = self.start("run", str(self.study(
            "study: quick\nobjective: {metric: loss, direction: minimize}\nspace: {lr: {type: float, low: 0.1, high: 1}}\n"
            "worker: {command: [/usr/bin/python3, train.py]}\nbudget: {trials: 1, epochs: 100000}\nstopping: []\n")))
        wait_for(lambda: any(trial["steps"] for trial in self.trials_so_far("quick")))
        speed = self.channels(self.monitor("--json", *QUICK))["study quick", "speed"]
        # A session samples once a second; 0.02 s is the least time of a step.
        wait_for(lambda: any(trial["steps"] >= 110 for trial in self.trials_so_far("quick")))
        study.send_signal(signal.SIGINT)
        study.communicate()
        self.assertGreater(speed["average"], 1)
        self.assertEqual(speed["unit"], "it/s")
        # Samples taken meanwhile are stored with the study.
        kept = self.channels(self.monitor("--study", "quick", "--json"))
        self.assertGreater(kept["host", "utilization"]["samples"], 0)
        self.assertNotIn(("study quick", "speed"), kept)

    def test_the_helper_for_devices_dies_with_its_parent_also_where_its_socket_stays_open(self):
        parent = "import subprocess, sys; subprocess.Popen([sys.argv[1], '__devices', 'nvml'], stdin=0).wait()"
        own, its = socket.socketpair()
        with own, its:
            own.settimeout(DEADLINE)
            process = subprocess.Popen([sys.executable, "-c", parent, HPO], cwd=self.folder, stdin=its,
                                       env={**os.environ, **self.environment})
            self.children.append(process)
            its.close()
            own.send(b"?")
            self.assertIn(b"problem", own.recv(1 << 16))
            process.kill()
            self.assertEqual(own.recv(1), b"")

    def test_what_cannot_be_run_or_read_is_refused_in_words(self):
        self.monitor("--for", "5", status=2)
        self.assert_mentions(self.error, "--for 5: ", "90s, 5m")
        self.monitor("--study", "none", status=1)
        self.assertIn("no study 'none'", self.error)
        self.monitor("--interval", "0", status=2)
        self.assertEqual(self.monitor("--", "no-such-program", status=127), "")
        self.assertIn("no-such-program: No such file or directory", self.error)


if __name__ == "__main__":
    unittest.main()
