"""hpo best --repeat, which trains the best configuration again with new seeds."""
import json
import signal
import subprocess

from harness import HPO, Case, synthetic, wait_for

SCRIPT = """\
study: noisy
objective: {metric: loss, direction: minimize}
space:
  x: {type: float, low: 0, high: 1}
worker: {command: [bash, -c, "echo loss=$(( 10#$(printf %.0f {x}e3) * 1000 + {seed} % 1000 ))"]}
budget: {trials: 24, epochs: 1}
sampler: {type: random}
resources: {trial: {memory: 10MiB}}
"""


class Repeat(Case):
    def test_native_trials_are_repeated_also_after_an_interruption(self):
        self.hpo("run", self.study(synthetic()), "-q")
        child = subprocess.Popen([HPO, "best", "small", "--repeat", "3", "--top", "2"], cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.children.append(child)
        wait_for(lambda: any(trial["steps"] for trial in self.trials_so_far("small-repeat")))
        child.send_signal(signal.SIGINT)
        child.communicate()
        out = self.hpo("best", "small", "--repeat", "3", "--top", "2")
        self.assert_mentions(out, "small: ", "best", "mean", "val_loss", "fresh", "seeds")
        again = json.loads(self.hpo("best", "small", "--repeat", "3", "--top", "2", "--json"))
        self.assertEqual(set(again), {"schema", "study", "repeats", "metric", "best"})
        self.assertEqual(again["repeats"], "small-repeat")
        self.assertEqual([len(one["values"]) for one in again["best"]], [3, 3])
        for one in again["best"]:
            self.assertEqual(set(one), {"trial", "params", "was", "mean", "deviation", "values", "failed", "tied"})
            self.assertEqual(len(set(one["values"])), 3, "each seed gives another value")
            self.assertAlmostEqual(one["mean"], sum(one["values"]) / 3)
        self.assertLessEqual(again["best"][0]["mean"], again["best"][1]["mean"])
        self.assertEqual(len(self.trials("small-repeat")), 6)
        self.assertEqual(len(self.trials("small")), 6, "the study itself is as it was")
        more = json.loads(self.hpo("best", "small", "--repeat", "4", "--top", "2", "--json"))
        self.assertEqual([len(one["values"]) for one in more["best"]], [4, 4])

    def test_a_script_is_repeated(self):
        self.hpo("run", self.study(SCRIPT))
        ranked = json.loads(self.hpo("best", "noisy", "--repeat", "2", "--top", "3", "--json"))["best"]
        self.assertEqual([len(one["values"]) for one in ranked], [2, 2, 2])
        self.assertEqual(len({value % 1000 for one in ranked for value in one["values"]}), 6)

    def test_a_model_of_all_trainings_chooses_what_is_kept_and_trained_again(self):
        self.hpo("run", self.study(SCRIPT))
        best = json.loads(self.hpo("best", "noisy", "--by", "model", "--format", "json"))
        self.assertEqual(set(best["expected"]), {"value", "deviation", "chance"})
        self.assertGreater(best["expected"]["deviation"], 0)
        self.assertNotIn("expected", json.loads(self.hpo("best", "noisy", "--format", "json")))
        self.assertIn(f"trial {best['trial']}", self.hpo("best", "noisy", "--by", "model"))
        rows = self.hpo("best", "noisy", "--by", "model", "--format", "table", "--top", "4").splitlines()
        self.assertEqual([row.split()[0] for row in rows[1:3]], ["TRIAL", str(best["trial"])])
        self.assertEqual(len(rows), 7)
        ranked = json.loads(self.hpo("best", "noisy", "--repeat", "2", "--top", "2", "--by", "model", "--json"))["best"]
        self.assertEqual({str(one["trial"]) for one in ranked}, {row.split()[0] for row in rows[2:4]})
        self.hpo("best", "noisy/3", "--by", "model", status=2)
        self.assertIn("--by model", self.error)

    def test_a_model_needs_trials_enough(self):
        self.hpo("run", self.study(SCRIPT.replace("trials: 24", "trials: 9")))
        self.hpo("best", "noisy", "--by", "model", status=1)
        self.assert_mentions(self.error, "9 trials", "loss", "10")

    def test_a_script_that_ignores_the_seed_is_said_to(self):
        self.hpo("run", self.study(SCRIPT.replace("+ {seed} % 1000", "")))
        out = self.hpo("best", "noisy", "--repeat", "2", "--top", "2")
        self.assert_mentions(out, "not depend", "seed", "(HPO_SEED; trial.seed", "repeats")
        self.assertNotIn("from seed to seed", self.hpo("importance", "noisy"))

    def test_studies_that_cannot_be_repeated_are_refused_with_the_reason(self):
        self.study("study: asked\nobjective: {metric: loss, direction: minimize}\nspace:\n  x: {type: float, low: 0, high: 1}\n")
        subprocess.run([HPO, "ask-tell", "study.yaml"], cwd=self.folder, text=True, capture_output=True, check=True,
                       input='{"ask": 1}\n{"tell": {"trial": 1, "values": {"loss": 1}}}\n')
        self.hpo("best", "asked", "--repeat", "2", status=1)
        self.assertIn("has no worker", self.error)


if __name__ == "__main__":
    import unittest

    unittest.main()
