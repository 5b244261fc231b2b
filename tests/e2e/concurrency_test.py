"""The number of trials at once, found by their throughput, with real processes. On a loaded machine a measurement may be wrong, so
that only facts that always hold are asserted here. The right number is proved with simulated machines, in
tests/unit/scheduling/concurrency_search_test.cpp."""
import json
import os
import re
import textwrap
import unittest

from harness import Case

# Trials wait in each step, and go on until the session has settled on another number than the first, or for 60 steps next to
# another trial: long enough to be measured however long a process takes to start.
SCRIPT = """\
import os, time

mine = os.path.join("running", str(os.getpid()))
step = together = 0
while True:
    step += 1
    time.sleep(0.06)
    print(f"step {step} loss {1 / step}", flush=True)
    open(mine, "w").close()
    together += len(os.listdir("running")) > 1
    if together >= 60 or "by their throughput" in open("runs/many/hpo.log").read():
        break
os.remove(mine)
"""


class Throughput(Case):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        (self.folder / "train.py").write_text(SCRIPT)
        (self.folder / "running").mkdir()

    def on_one_core(self, *arguments):
        """Runs hpo on one core, so that the search begins with one trial on each machine."""
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})
        try:
            return self.hpo(*arguments, environment={"XDG_CACHE_HOME": str(self.cache)})
        finally:
            os.sched_setaffinity(0, cores)

    def test_a_session_measures_more_trials_than_cores_says_and_keeps_what_it_found_and_the_next_one_begins_with_it(self):
        study = self.study(textwrap.dedent("""\
            study: many
            objective: {metric: loss, direction: minimize}
            space: {x: {type: float, low: 0.0, high: 1.0}}
            worker: {command: [python3, train.py, "{x}"]}
            budget: {trials: 8, epochs: 1000}
            sampler: {type: random}
            stopping: []
            resources: {backend: cpu, trial: {memory: 32MiB}}
            """))
        self.assertRegex(self.on_one_core("check", study), r"by their throughput: begins +with 1\b")
        out = self.on_one_core("run", study)
        found = re.search(r"^At once +(\d+), by their throughput: ([^\n]*(?:\n {14}[^\n]*)*)", out, re.M)
        self.assertTrue(found, out)
        text = " ".join(found[2].split())
        self.assertRegex(text, r"^2 at once: \d+\.\d\d times the work of one$")
        self.assertIn(found[1], ("1", "2"), "at most a quarter of the budget")
        log = (self.folder / "runs" / "many" / "hpo.log").read_text()
        self.assert_mentions(log, "at once: ", found[1], "throughput: ", text)
        files = list((self.cache / "hpo" / "concurrency").iterdir())
        self.assertEqual(len(files), 1)
        self.assertEqual(json.loads(files[0].read_text())["workers"]["number"], int(found[1]))
        again = " ".join(self.on_one_core("check", study).split())
        self.assert_mentions(again, "throughput: ", found[1], "earlier")


if __name__ == "__main__":
    unittest.main()
