"""hpo compare and hpo rm, seen from outside."""
import json
import os
import pty
import signal
import subprocess

from harness import HPO, Case, wait_for

STUDY = """
study: {name}
seed: {seed}
objective: {{metric: loss, direction: minimize}}
worker: {{command: [/bin/sh, -c, 'echo "loss=$1"; {more}', sh, "{{x}}", "{{kind}}"]}}
space: {{x: {{type: float, low: 1, high: 2}}, kind: {{type: categorical, choices: [a]}}}}
budget: {{trials: 3, epochs: 1}}
sampler: {{type: random}}
stopping: []
resources: {{parallel: 1}}
"""


class Compare(Case):
    def test_trials_of_one_study_and_the_best_of_several(self):
        for name, seed in (("one", 1), ("two", 2)):
            self.hpo("run", self.study(STUDY.format(name=name, seed=seed, more=":"), name + ".yaml"))
        values = {number: trial["value"] for number, trial in enumerate(self.trials("one"), 1)}
        best = min(values, key=values.get)
        shown = self.hpo("compare", "one/1", "one/2", "two")
        self.assertRegex(shown.splitlines()[0], r"^\s+one/1\s+one/2\s+two/\d$")
        self.assertRegex(shown, r"(?m)^loss\s+1\.\d+\s+1\.\d+\s+1\.\d+$")
        self.assertRegex(shown, r"(?m)^x\s+1\.\d+\s+1\.\d+\s+1\.\d+$")
        self.assert_mentions(shown, "same", ": kind a")
        told = json.loads(self.hpo("compare", "one", "two", "--json"))
        self.assertEqual(f"one/{best}", told["trials"][0]["trial"])
        self.assertAlmostEqual(values[best], told["trials"][0]["value"])
        self.assertEqual(["x"], told["differing"])

    def test_one_trial_or_an_unknown_one_is_refused(self):
        self.hpo("run", self.study(STUDY.format(name="one", seed=1, more=":")))
        self.hpo("compare", "one", status=2)
        self.assert_mentions(self.error, "two", "hpo compare one one/2", "hpo ls one")
        self.hpo("compare", "one/1", "one/9", status=1)
        self.assertIn("9", self.error)
        self.hpo("compare", "one/1", "other", status=1)
        self.assertIn("no study 'other'", self.error)


class Remove(Case):
    def run_study(self, name="one"):
        self.hpo("run", self.study(STUDY.format(name=name, seed=1, more=":")))

    def folders(self):
        return sorted(path.name for path in (self.folder / "runs").iterdir() if path.is_dir())

    def test_only_what_is_named_goes_and_only_if_asked(self):
        self.run_study("one"), self.run_study("two"), self.run_study("three")
        self.hpo("rm", "one", status=2)
        self.assert_mentions(self.error, "nothing", "removed", "--yes")
        self.hpo("rm", "one", "other", "--yes", status=1)
        self.assertEqual(["one", "three", "two"], self.folders())  # none of several, if one is not there
        self.hpo("rm", status=2)
        told = self.hpo("rm", "one", "three", "runs/one", "--yes")
        self.assertIn("removed runs/one\nremoved runs/three\n", told)
        self.assertEqual(["two"], self.folders())
        self.assertEqual(3, len(self.trials("two")))

    def answered(self, answer):
        master, slave = pty.openpty()
        try:
            with subprocess.Popen([HPO, "rm", "one"], cwd=self.folder, stdin=slave, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.STDOUT) as process:
                os.write(master, answer.encode())
                return process.communicate(timeout=60)[0]
        finally:
            os.close(master), os.close(slave)

    def test_a_terminal_is_asked(self):
        self.run_study()
        self.assertRegex(self.answered("\n"), r"runs/one: \d+ files, .*\nRemove it, with all its results\? \[y/N\] hpo: nothing was removed")
        self.assertEqual(["one"], self.folders())
        self.assertIn("removed runs/one", self.answered("y\n"))
        self.assertEqual([], self.folders())

    def test_a_running_study_and_a_link_are_refused(self):
        process = self.start("run", self.study(STUDY.format(name="one", seed=1, more="sleep 600")))
        wait_for(lambda: self.trials_so_far("one"), deadline=30)
        self.hpo("rm", "one", "--yes", status=1)
        self.assertIn(str(process.pid), self.error)
        process.send_signal(signal.SIGTERM)
        process.wait()
        (self.folder / "runs" / "link").symlink_to("one")
        self.hpo("rm", "link", "--yes", status=1)
        self.assert_mentions(self.error, "runs/link", "link")
        (self.folder / "runs" / "link").unlink()
        self.hpo("rm", "one", "--yes")
        self.assertEqual([], self.folders())


if __name__ == "__main__":
    import unittest
    unittest.main(verbosity=2)
