"""The number of trials at once, found by their throughput, with real processes. A core of the machine is a byte in a pipe
here: a thread that computes takes one of two bytes and puts it back. So the tests do not depend on what else the machine does."""
import json
import os
import re
import shutil
import textwrap
import unittest

from harness import Case

SCRIPT = """\
import os, sys, threading, time
kind, cores = sys.argv[1], os.open("cores", os.O_RDWR)

def busy():
    core = os.read(cores, 1)
    time.sleep(0.1)
    os.write(cores, core)

for step in range(1, 17):
    if kind == "one thread":
        busy()
    elif kind == "two threads":
        other = threading.Thread(target=busy)
        other.start()
        busy()
        other.join()
    else:
        time.sleep(0.1)
    print(f"step {step} loss {1 / step}", flush=True)
"""


class Searching(Case):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        (self.folder / "train.py").write_text(SCRIPT)
        os.mkfifo(self.folder / "cores")
        cores = os.open(self.folder / "cores", os.O_RDWR)
        self.addCleanup(os.close, cores)
        os.write(cores, b"12")

    def study_of(self, kind, trials=14):
        return self.study(textwrap.dedent(f"""\
            study: many
            objective: {{metric: loss, direction: minimize}}
            space: {{x: {{type: float, low: 0.0, high: 1.0}}}}
            worker: {{command: [python3, train.py, "{kind}", "{{x}}"]}}
            budget: {{trials: {trials}, epochs: 16}}
            sampler: {{type: random}}
            stopping: []
            resources: {{backend: cpu, trial: {{memory: 32MiB}}}}
            """))

    def settles(self, kind, on, trials=14):
        """Runs a study, and checks that it settles on a number that `on` accepts and says so. A machine that is held up for a second
        misleads a session, but not three in a row."""
        numbers = []
        for _ in range(3):
            shutil.rmtree(self.cache, ignore_errors=True)
            shutil.rmtree(self.folder / "runs", ignore_errors=True)
            out = self.hpo("run", self.study_of(kind, trials), environment={"XDG_CACHE_HOME": str(self.cache)})
            found = re.search(r"^At once +(\d+), by their throughput: ([^\n]*(?:\n {14}[^\n]*)*)", out, re.M)
            self.assertTrue(found, out)
            text = " ".join(found[2].split())
            self.assertIn(f"trials at once: {found[1]}, by their throughput: {text}", self.log())
            self.assertEqual(self.kept()["workers"]["number"], int(found[1]))
            if on(int(found[1])):
                return
            numbers.append((int(found[1]), text))
        self.fail(f"settled on {numbers}")

    def log(self):
        return (self.folder / "runs" / "many" / "hpo.log").read_text()

    def kept(self):
        files = list((self.cache / "hpo" / "concurrency").iterdir())
        self.assertEqual(len(files), 1)
        return json.loads(files[0].read_text())


class OneThread(Searching):
    def test_two_cores_take_two_trials_of_one_thread(self):
        self.settles("one thread", lambda number: number == 2)


class TwoThreads(Searching):
    def test_two_cores_take_one_trial_of_two_threads_and_the_next_session_begins_with_one(self):
        self.settles("two threads", lambda number: number == 1)
        self.hpo("run", self.study_of("two threads", 16), environment={"XDG_CACHE_HOME": str(self.cache)})
        second = self.log().split("session started")[2]
        begun = [float(time) for time in re.findall(r":(\d\d\.\d{3}) info trial 1[56]: started", second)]
        self.assertGreater((begun[1] - begun[0]) % 60, 0.5, "the second one starts once the first has been measured")


class Waiting(Searching):
    def test_trials_that_wait_run_more_at_once_than_there_are_cores(self):
        self.settles("waits", lambda number: number > 2)


if __name__ == "__main__":
    unittest.main()
