"""Several objectives and constraints, from the study file to the export."""
import csv
import json
import sqlite3
import unittest

from harness import Case

STUDY = """\
study: front
objective: [{metric: loss, direction: minimize}, {metric: speed, direction: maximize}]
constraints: [{metric: size, max: 60}]
space:
  x: {type: int, low: 0, high: 100}
worker: {command: [bash, -c, "echo loss=$(( (100 - {x}) * (100 - {x}) )) speed=$(( 100 - {x} / 2 )) size={x}"]}
budget: {trials: 12, epochs: 1}
sampler: {type: random}
stopping: auto
resources: {trial: {memory: 10MiB}}
"""


class Several(Case):
    def test_a_front_within_constraints_is_found_shown_written_and_exported(self):
        file = self.study(STUDY)
        checked = self.hpo("check", file)
        self.assert_mentions(checked, "minimize", "loss", "maximize", "speed", "Pareto")
        self.assertIn("size at most 60", checked)
        self.assert_mentions(checked, "no rule", "compares")
        ended = self.hpo("run", file)
        trials = {trial["trial"]: trial for trial in self.trials("front")}
        within = {number for number, trial in trials.items() if trial["params"]["x"] <= 60}
        self.assertTrue(0 < len(within) < 12)
        front = {number for number in within if not any(
            trials[other]["values"]["loss"] <= trials[number]["values"]["loss"]
            and trials[other]["values"]["speed"] >= trials[number]["values"]["speed"]
            and trials[other]["values"] != trials[number]["values"] for other in within)}
        self.assert_mentions(ended, "Pareto", "loss", "speed: ", f"{len(front)} of {len(within)} trials", "hypervolume")
        self.assert_mentions(ended, f"{12 - len(within)} of 12 trials", "constraints")
        self.assertEqual("", self.hpo("best", "front", status=1))  # it would become best.yaml
        self.assert_mentions(self.error, "none", f"{len(front)} trials", "best", "hpo best front/")
        table = self.hpo("best", "front", "--format", "table")
        self.assertEqual({int(row.split()[0]) for row in table.splitlines()[2:2 + len(front)]}, front)
        best = json.loads(self.hpo("best", "front", "--format", "json"))
        self.assertEqual({one["trial"] for one in best["front"]}, front)
        self.assertEqual([goal["metric"] for goal in best["objectives"]], ["loss", "speed"])
        one = best["front"][0]
        self.assertIn(f"params: {{x: {one['params']['x']}}}", self.hpo("best", f"front/{one['trial']}"))
        listed = json.loads(self.hpo("ls", "--json"))["studies"][0]
        self.assertEqual({each["trial"] for each in listed["front"]}, front)
        self.assertIn(f"front of {len(front)}", self.hpo("ls"))
        overview = self.hpo()
        self.assertIn(f"front of {len(front)}  loss, speed", overview)
        self.assertIn("hpo best front --format table", overview)
        self.assertNotIn("best.yaml", overview)
        outside = min(set(trials) - within)
        self.assertIn(f"size {trials[outside]['params']['x']}.00 is above 60.00", self.hpo("show", "front", str(outside)))
        self.hpo("export", "front", "--to", "csv", "trials.csv")
        with open(self.folder / "trials.csv", newline="") as rows:
            self.assertEqual({float(row["values.speed"]) for row in csv.DictReader(rows)},
                             {trial["values"]["speed"] for trial in trials.values()})
        self.hpo("export", "front", "--to", "optuna", "front.db")
        database = sqlite3.connect(self.folder / "front.db")
        self.assertEqual(database.execute("SELECT objective, direction FROM study_directions ORDER BY objective").fetchall(),
                         [(0, "MINIMIZE"), (1, "MAXIMIZE")])
        self.assertEqual(database.execute("SELECT count(*) FROM trial_values").fetchone(), (24,))
        self.hpo("run", file, "--set", "constraints=[{metric: size, max: 50}]", status=1)
        self.assertIn("constraints.size.max: 60.0 -> 50.0", self.error)

    def test_a_script_that_omits_a_metric_is_told_which(self):
        self.hpo("run", self.study(STUDY.replace(" size={x}", "")), status=1)
        self.assert_mentions(self.error + self.hpo("ls", "front"), "loss", "no size", "constraint")


if __name__ == "__main__":
    unittest.main()
