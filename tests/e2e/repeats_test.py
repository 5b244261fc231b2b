"""Configurations that a search trains with several seeds (`repeats`)."""
import csv
import io
import json
import signal
import statistics
import subprocess

from harness import HPO, Case, synthetic, wait_for

SCRIPT = """\
study: noisy
seed: 4
repeats: 4
objective: {metric: loss, direction: minimize}
space:
  x: {type: float, low: 0, high: 1}
worker: {command: [bash, -c, "echo loss=$(( 10#$(printf %.0f {x}e3) + {seed} % 100 ))"]}
budget: {trials: 24, epochs: 1}
sampler: {type: random}
stopping: []
resources: {trial: {memory: 10MiB}, parallel: 1}
"""


class Repeats(Case):
    def check_means(self, study):
        """Checks the means against the trainings. Returns the trials by the first trial of their configuration."""
        trials = self.trials(study)
        groups = {}
        for trial in trials:
            groups.setdefault(trial.get("repeat_of", trial["trial"]), []).append(trial)
        for number, seeds in groups.items():
            first = seeds[0]
            self.assertEqual(first["trial"], number)
            values = [trial["value"] for trial in seeds if trial["state"] == "complete"]
            self.assertTrue(all(trial["params"] == first["params"] for trial in seeds))
            if len(values) < 2:
                self.assertNotIn("mean", first)
                continue
            self.assertEqual(first["seeds"], len(values))
            self.assertAlmostEqual(first["mean"], statistics.mean(values))
            self.assertAlmostEqual(first["deviation"], statistics.stdev(values))
        return groups

    def best_mean(self, groups):
        return min(seeds[0].get("mean", seeds[0]["value"]) for seeds in groups.values() if seeds[0]["value"] is not None)

    def test_a_script_is_ranked_by_the_mean_of_its_seeds(self):
        self.hpo("run", self.study(SCRIPT))
        groups = self.check_means("noisy")
        counts = [len(seeds) for seeds in groups.values()]
        self.assertEqual(sum(counts), 24, "each training is a trial of the budget")
        self.assertLessEqual(max(counts), 4)
        self.assertGreater(max(counts), 1)
        self.assertGreaterEqual(len(counts), 16)
        self.assertTrue(any(first["deviation"] > 0 for first, *more in groups.values() if more), "the seeds differ")
        best = json.loads(self.hpo("best", "noisy", "--format", "json"))
        self.assertAlmostEqual(best["value"], self.best_mean(groups))
        number, count = best["trial"], best["seeds"]
        self.assertRegex(self.hpo("best", "noisy"), rf"trial {number}, loss [0-9.]+, mean of {count} seeds, \+- ")
        self.assertNotIn("repeats", self.hpo("best", "noisy"))
        ls = self.hpo("ls", "noisy")
        self.assertIn("SEEDS", ls)
        self.assertIn(f"of trial {number}", ls)
        self.assertIn(f"mean of {count} seeds", self.hpo("show", f"noisy/{number}"))
        again = groups[number][1]["trial"]
        self.assertIn(f"another seed of trial {number}", self.hpo("show", f"noisy/{again}"))
        self.assertIn("from seed to seed", self.hpo("importance", "noisy"))
        rows = list(csv.DictReader(io.StringIO(self.hpo("export", "noisy", "-", "--to", "csv"))))
        row = rows[again - 1]
        self.assertEqual((row["repeat_of"], row["mean"]), (str(number), ""))
        self.assertAlmostEqual(float(rows[number - 1]["mean"]), best["value"])

    def test_an_interrupted_search_goes_on_with_the_same_configurations(self):
        study = self.study(synthetic(trials=12, epochs=3, parallel=1, more="repeats: 3"))
        self.hpo("run", study, "-q")
        whole = [(trial["params"], trial["value"], trial.get("repeat_of")) for trial in self.trials("small")]
        self.assertTrue(any(repeat_of for _, _, repeat_of in whole))
        study.write_text(study.read_text().replace("study: small", "study: killed"))
        for count in (3, 6, 9):
            child = self.start("run", study, "-q")
            wait_for(lambda: len(self.trials_so_far("killed")) >= count)
            child.send_signal(signal.SIGKILL)
            child.wait()
        self.hpo("run", study, "-q")
        self.assertEqual([(trial["params"], trial["value"], trial.get("repeat_of")) for trial in self.trials("killed")],
                         whole)
        self.check_means("killed")
        self.assert_sound("killed")

    def test_seeds_that_fail_are_no_part_of_the_mean(self):
        text = SCRIPT.replace("echo loss", "[ $(( {seed} % 3 )) -gt 0 ] || exit 3; echo loss")
        self.hpo("run", self.study(text.replace("memory: 10MiB}", "memory: 10MiB}, retries: 0")), "-q")
        groups = self.check_means("noisy")
        states = [trial["state"] for seeds in groups.values() for trial in seeds[1:]]
        self.assertIn("failed", states)
        self.assertIn("complete", states)

    def test_a_grid_gets_its_seeds_after_its_points(self):
        text = SCRIPT.replace("type: float, low: 0, high: 1", "type: categorical, choices: [0.9, 0.01, 0.02]")
        self.hpo("run", self.study(text.replace("type: random", "type: grid")), "-q")
        counts = {seeds[0]["params"]["x"]: len(seeds) for seeds in self.check_means("noisy").values()}
        self.assertEqual(counts[0.9], 1, "it cannot be the best")
        self.assertEqual(max(counts.values()), 4)

    def test_programs_that_ask_are_given_the_seed(self):
        self.study("study: asked\nrepeats: 2\nobjective: {metric: loss, direction: minimize}\n"
                   "space: {x: {type: float, low: 0, high: 1}}\nbudget: {trials: 4}\n")
        lines = ""
        for trial, loss in enumerate((0.5, 0.9, 0.7, 0.9), 1):
            lines += '{"ask": 1}\n{"tell": {"trial": %d, "values": {"loss": %s}}}\n' % (trial, loss)
        done = subprocess.run([HPO, "ask-tell", "study.yaml"], cwd=self.folder, text=True, capture_output=True,
                              check=True, input=lines + '{"best": 1}\n')
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        given = [answer["trials"][0] for answer in answers if "trials" in answer]
        self.assertEqual([trial.get("repeat_of") for trial in given], [None, None, 1, None])
        self.assertEqual(len({trial["seed"] for trial in given}), 4)
        self.assertEqual(given[2]["params"], given[0]["params"])
        best = answers[-1]
        self.assertEqual((best["trial"], best["seeds"]), (1, 2))
        self.assertAlmostEqual(best["values"]["loss"], 0.6)


if __name__ == "__main__":
    import unittest

    unittest.main()
