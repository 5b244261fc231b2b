"""A study from one YAML file to the best configuration, with real native workers."""
import json
import os
import re
import shlex
import signal
import struct
import unittest
from pathlib import Path

from harness import Case, synthetic, wait_for


class Study(Case):
    seconds = 22

    def test_a_study_runs_to_its_end_and_prints_the_best_configuration(self):
        out = self.hpo("run", self.study(synthetic()))
        self.assertEqual([path.name for path in (self.folder / "runs/small").glob("study.db*")], ["study.db"])
        trials = self.trials("small")
        self.assertEqual([t["trial"] for t in trials], [1, 2, 3, 4, 5, 6])
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        self.assertEqual({t["steps"] for t in trials}, {5})
        self.assertEqual({t["attempt"] for t in trials}, {1})
        best = min(trials, key=lambda t: t["values"]["val_loss"])
        self.assertIn("val_loss", out)
        exported = json.loads(self.hpo("best", "small", "--format", "json"))
        self.assertIn(str(best["params"]["lr"]), json.dumps(exported))
        self.assert_nobody_left()
        self.assert_sound("small")

    def test_the_peak_of_a_trial_excludes_larger_earlier_trials_of_its_worker(self):
        text = synthetic(trials=8, epochs=2, parallel=1).replace("space:", "space:\n  width: {type: categorical, choices: [16, 2048]}")
        self.hpo("run", self.study(text.replace("hidden: [16]", "depth: 2")), "-q")
        trials = [json.loads(line) for line in self.hpo("export", "small", "--to", "jsonl", "-").splitlines()]
        peaks = [(t["params"]["width"], t["peak"]["host_bytes"]) for t in trials]
        self.assertIn((2048, 16), [(a[0], b[0]) for a, b in zip(peaks, peaks[1:])])
        self.assertLess(max(peak for width, peak in peaks if width == 16), min(peak for width, peak in peaks if width == 2048) / 2)

    def test_running_a_finished_study_again_repeats_nothing(self):
        study = self.study(synthetic(trials=3))
        self.hpo("run", study)
        before = self.trials("small")
        self.hpo("run", study)
        self.assertEqual(self.trials("small"), before)

    def test_a_larger_budget_resumes_the_study(self):
        study = self.study(synthetic(trials=2))
        self.hpo("run", study)
        before = self.trials("small")
        self.hpo("run", study, "--trials", 4)
        after = self.trials("small")
        self.assertEqual(after[:2], before)
        self.assertEqual(len(after), 4)

    def test_a_study_keeps_its_rules_when_its_budget_grows_and_a_fresh_one_has_those_of_the_default(self):
        study = self.study(synthetic(trials=2, epochs=6, samples=512))
        stored = self.folder / "runs/small/study.yaml"
        self.hpo("run", study)
        self.hpo("run", study, "--trials", 32, "--set", "budget.time=1s")
        self.assertIn("stopping: []", stored.read_text())
        self.hpo("run", study, "--trials", 32, "--set", "budget.time=1s", "--fresh")
        self.assertIn("stopping: auto", stored.read_text())

    def test_the_same_seed_gives_the_same_curves_to_the_bit_with_one_slot(self):
        study = self.study(synthetic(parallel=1, trials=3))
        self.hpo("run", study)
        first = self.trials("small")
        self.hpo("run", study, "--fresh")
        again = self.trials("small")
        self.assertEqual([(t["params"], t["values"]) for t in first], [(t["params"], t["values"]) for t in again])

    def test_a_trials_curve_does_not_depend_on_other_running_trials(self):
        self.hpo("run", self.study(synthetic(parallel=1, trials=4)))
        alone = self.trials("small")
        self.hpo("run", self.study(synthetic(parallel=2, trials=4)), "--fresh")
        beside = self.trials("small")
        self.assertEqual([(t["params"], t["values"]) for t in alone], [(t["params"], t["values"]) for t in beside])

    def test_a_changed_space_is_refused_with_the_difference_and_changes_nothing(self):
        self.hpo("run", self.study(synthetic(trials=2)))
        before = self.trials("small")
        changed = synthetic(trials=2).replace("1.0e-1, log: true", "0.5e-1, log: true", 1)
        self.hpo("run", self.study(changed), status=1)
        self.assertIn("space.lr.high", self.error)
        self.assertIn("0.05", self.error)
        self.assert_mentions(self.error, "another name", "--fresh", "warm_start: [small]")
        self.assertEqual(self.trials("small"), before)

    def test_a_study_goes_on_with_another_sampler_other_rules_and_wider_ranges(self):
        self.hpo("run", self.study(synthetic(trials=6)))
        before = self.trials("small")
        wider = synthetic(trials=24, more="stopping: [{rule: asha, grace: 1}]").replace("1.0e-1, log: true", "1.0, log: true", 1)
        self.hpo("run", self.study(wider.replace("{type: random}", "{type: tpe}")))
        self.assert_mentions(self.error, "study small", "wider", "space.lr.high: 0.1 -> 1.0")
        self.hpo("run", "study.yaml")
        self.assertNotIn("wider", self.error)
        trials = self.trials("small")
        self.assertEqual(trials[:6], before)
        self.assertEqual(len(trials), 24)
        self.assertGreater(max(t["params"]["lr"] for t in trials[6:]), 0.1)
        self.assertIn("stopped", {t["state"] for t in trials[6:]})

    def test_a_script_that_has_changed_since_the_last_trial_is_named(self):
        script = self.folder / "script.py"
        script.write_text("print('loss', 1)")
        text = ("study: small\nworker: {command: [python3, script.py, '{x}']}\nobjective: {metric: loss, direction: minimize}\n"
                "space: {x: {type: float, low: 0, high: 1}}\nbudget: {trials: 1}\nresources: {trial: {memory: 64MiB}}\n")
        self.hpo("run", self.study(text))
        self.hpo("run", self.study(text), "--trials", 2)
        self.assertEqual(self.error, "")
        script.write_text("print('loss', 2)")
        self.hpo("run", self.study(text), "--trials", 3)
        self.assert_mentions(self.error, "script.py", "changed", "--fresh")
        self.assertEqual(len(self.trials("small")), 3)

    def test_settings_that_no_trial_of_a_complete_study_ran_with_are_not_stored(self):
        script = "for epoch in 1, 2, 3: print('epoch', epoch, 'loss', 4 - epoch)"
        text = ("study: small\nworker: {command: [python3, script.py, '{x}']}\nobjective: {metric: loss, direction: minimize}\n"
                "space: {x: {type: float, low: 0, high: 1}}\nbudget: {trials: 2, epochs: 3}\nresources: {trial: {memory: 64MiB}}\n")
        (self.folder / "script.py").write_text(script)
        self.hpo("run", self.study(text))
        stored = (self.folder / "runs/small/study.yaml").read_bytes()
        for old, new, change in (("high: 1", "high: 2", "space.x.high: 1.0 -> 2.0"), ("epochs: 3", "epochs: 9", "budget.epochs: 3 -> 9")):
            out = self.hpo("run", self.study(text.replace(old, new)))
            self.assert_mentions(self.error, "nothing", "small", "--trials 4", change)
            self.assertNotIn("wider", self.error)
            self.assertIn(" 3/3 ", out)
            self.assertEqual((self.folder / "runs/small/study.yaml").read_bytes(), stored)
            self.hpo("run", self.study(text))
            self.assertEqual(self.error, "")
        self.hpo("run", self.study(text.replace("high: 1", "high: 2")), "--trials", 4)
        self.assert_mentions(self.error, "wider", "space.x.high: 1.0 -> 2.0")
        self.assertEqual(len(self.trials("small")), 4)
        self.hpo("run", self.study(text), status=1)
        self.assertIn("space.x.high: 2.0 -> 1.0", self.error)

    def test_more_epochs_are_refused_if_the_learning_rate_schedule_spans_them(self):
        self.hpo("run", self.study(synthetic(trials=2)))
        before = self.trials("small")
        self.hpo("run", self.study(synthetic(trials=3, epochs=8)), status=1)
        self.assert_mentions(self.error, "budget.epochs: 5 -> 8", "schedule")
        self.assertEqual(self.trials("small"), before)

    def test_ctrl_c_stores_everything_and_the_next_run_resumes(self):
        study = self.study(synthetic(trials=40, epochs=20, samples=20000))
        child = self.start("run", study)
        wait_for(lambda: sum(t["state"] == "complete" for t in self.trials_so_far("small")) >= 2)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(20), 130, child.stderr.read())
        self.assert_nobody_left()
        before = [t for t in self.trials("small") if t["state"] == "complete"]
        self.assertGreaterEqual(len(before), 2)
        self.assertLess(len(before), 40)
        self.hpo("run", study, "--trials", len(before) + 4)
        after = {t["trial"]: t for t in self.trials("small")}
        for trial in before:
            self.assertEqual(after[trial["trial"]], trial)

    def test_sigterm_ends_with_143(self):
        child = self.start("run", self.study(synthetic(trials=400, epochs=20)))
        wait_for(lambda: self.trials_so_far("small"))
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(20), 143)
        self.assert_nobody_left()

    def test_a_fresh_start_that_fails_leaves_the_earlier_study_in_place(self):
        study = self.study(synthetic(trials=2))
        self.hpo("run", study)
        before = self.trials("small")
        self.hpo("run", study, "--fresh", "--backend", "opencl", "--set", "resources.devices=[GPU-nowhere]", status=1)
        self.assertIn("GPU-nowhere", self.error)
        self.assertEqual(self.trials("small"), before)
        self.assertFalse((self.folder / "runs" / ".old").exists())
        self.hpo("run", study, "--fresh")
        self.assertTrue((self.folder / "runs" / ".old").exists())

    def test_a_second_run_of_a_running_study_is_refused_with_the_pid_of_the_first(self):
        study = self.study(synthetic(trials=400, epochs=20))
        child = self.start("run", study)
        wait_for(lambda: self.trials_so_far("small"))
        self.hpo("run", study, status=1)
        self.assertIn(str(child.pid), self.error)

    def test_hpo_stop_ends_a_trial_and_then_the_study(self):
        study = self.study(synthetic(trials=400, epochs=1000, samples=20000))
        child = self.start("run", study)
        wait_for(lambda: any(t["steps"] > 0 for t in self.trials_so_far("small")))
        self.hpo("stop", "1")
        self.assertEqual((self.trials("small")[0]["state"]), "stopped")
        self.hpo("stop", "small")
        self.assertEqual(child.wait(20), 0)
        self.assert_nobody_left()

    def test_an_invalid_study_names_file_line_and_column_and_launches_nothing(self):
        study = self.study(synthetic().replace("weight_decay:", "weigth_decay:"))
        self.hpo("run", study, status=1)
        self.assertRegex(self.error, r"study\.yaml:6:3: .*weigth_decay.*weight_decay")
        self.assertFalse((self.folder / "runs").exists())

    def test_conditions_that_no_configuration_fulfils_are_refused_at_their_place_in_the_file(self):
        study = self.study("study: none\nobjective: {metric: loss, direction: minimize}\nspace: {x: {type: float, low: 0, high: 1}}\n"
                           "where: x > 2\nworker: {command: ['true', '{x}']}\n")
        for command in ("check", "run"):
            self.hpo(command, study, status=1)
            self.assertRegex(self.error, r'^\S*study\.yaml:4:8: .*"x > 2".* 0 %')
        self.assertFalse((self.folder / "runs").exists())
        self.hpo("check", study, "--set", "where=x > 0.5")

    def test_check_refuses_a_batch_larger_than_the_data_at_its_place_in_the_file(self):
        study = self.study(synthetic().replace("batch_size: 256}", "schedule: cosine}").replace("space:\n", "space:\n  batch_size: {type: int, low: 256, high: 1844}\n"))
        self.hpo("check", study, status=1)
        self.assertRegex(self.error, r"^\S*study\.yaml:\d+:\d+: .*batch_size: 1844 is more than the 1843 samples")
        self.assertIn("high: 1844}\n      |", self.error)
        self.hpo("check", study, "--set", "space.batch_size.high=1843")

    def test_check_reports_errors_in_the_data(self):
        images = b"\x00\x00\x08\x03" + struct.pack(">3i", 600, 4, 4) + bytes(600 * 16)
        labels = b"\x00\x00\x08\x01" + struct.pack(">i", 600) + bytes(i % 3 for i in range(600))
        data = self.folder / "data"
        data.mkdir()
        for part in ("train", "t10k"):
            (data / f"{part}-images-idx3-ubyte").write_bytes(images)
            (data / f"{part}-labels-idx1-ubyte").write_bytes(labels)
        study = self.study(f"study: idx\nworker:\n  task: image-classification\n  data: {{format: idx, path: {data}}}\n  model: {{type: mlp, hidden: [8]}}\n  training: {{batch_size: 256}}\nbudget: {{trials: 1, epochs: 2}}\n")
        self.assertIn("measured now", self.hpo("check", study))
        self.assertNotIn("measured now", self.hpo("check", "--untimed", study))
        self.assertIsNone(json.loads(self.hpo("check", "--untimed", "--json", study))["seconds_per_step"])
        (data / "train-images-idx3-ubyte").write_bytes(images[:5000])
        self.hpo("check", study, status=1)
        self.assertIn("train-images-idx3-ubyte: truncated", self.error)

    def test_check_describes_a_table_or_reports_the_place_of_its_error(self):
        table = self.folder / "table.csv"
        rows = [f"{i},{i % 7},{('up', 'down')[i % 2]},{i * 0.5}" for i in range(400)]
        table.write_text("\n".join(["id,n,c,y", *rows]) + "\n")
        study = self.study(f"study: table\nworker:\n  task: regression\n  data:\n    format: csv\n    path: {table}\n    target: y\n    ignore: id\n  model: {{type: mlp, hidden: [8]}}\nbudget: {{trials: 2, epochs: 2}}\n")
        description = self.hpo("check", study)
        for line in ("maximize val_r2", "400 rows, 4 columns, which become 4 features", "324 rows train, 36 validate, 40 test: at random",
                     "target: y, numbers from 0 to 199.5", "numbers: n", "categories: c (2 levels)", "left out: id"):
            self.assertIn(line, description)
        self.assertEqual(json.loads(self.hpo("check", study, "--json"))["data"][0], "400 rows, 4 columns, which become 4 features")
        rows[7] += ",1"
        table.write_text("\n".join(["id,n,c,y", *rows]) + "\n")
        self.hpo("check", study, status=1)
        self.assert_mentions(self.error, "study.yaml:6:", "data.path: ", "table.csv: line 9: 5 columns", "4")

    def test_check_tells_how_the_windows_of_a_series_lie_or_that_it_is_too_short(self):
        series = self.folder / "series.csv"
        series.write_text("y\n" + "".join(f"{i % 24}\n" for i in range(600)))
        study = self.study(f"study: series\nworker:\n  data:\n    format: series\n    path: {series}\n    target: y\n    window: 48\n  model: {{type: mlp, hidden: [8]}}\nbudget: {{trials: 2, epochs: 2}}\n")
        description = self.hpo("check", study)
        for line in ("maximize val_r2", "600 rows in the order of time; a window has 48 rows x 1 feature",
                     "369 windows train, later ones validate (41) and test (46)"):
            self.assertIn(line, description)
        series.write_text("y\n" + "1\n" * 40)
        self.hpo("check", study, status=1)
        self.assert_mentions(self.error, "study.yaml:7:", "data.window: ", "49 rows", "only 40")

    def test_the_printed_resume_command_resumes_the_study(self):
        study = self.study(synthetic(trials=40, samples=20000))
        child = self.start("run", study, "--seed", 9, "--set", "budget.epochs=20", "--set", "sampler.type=sobol",
                           "--set", "stopping=[]")
        wait_for(lambda: self.trials_so_far("small"))
        child.send_signal(signal.SIGINT)
        out, error = child.communicate(timeout=20)
        self.assertEqual(child.returncode, 130, error)
        command = shlex.split(next(line for line in out.splitlines() if line.startswith("Resume ")))[1:]
        self.assertEqual(command[:3], ["hpo", "run", str(study)])
        begun = len(self.trials("small"))
        self.hpo(*command[1:], "--trials", begun)
        self.assertEqual({t["steps"] for t in self.trials("small")}, {20})

    def test_a_study_whose_time_is_over_has_finished_and_is_resumed_with_more_time(self):
        study = self.study(synthetic(trials=1))
        self.hpo("run", study)
        out = self.hpo("run", study, "--trials", 100000, "--time", "1s")
        self.assertRegex(out, r"Resume +hpo run \S+ --trials 100000 --time 2s\n")
        self.assertEqual([each["state"] for each in json.loads(self.hpo("ls", "--json"))["studies"]], ["finished"])
        self.assertNotRegex(self.hpo(), r"hpo run \S+ +go")

    def test_an_interrupted_hpo_train_resumes_and_ends_with_the_same_weights(self):
        self.hpo("run", self.study(synthetic(trials=1, epochs=2, samples=20000)))
        best = self.study(self.hpo("best", "small"), "best.yaml")
        train = ["train", best, "--set", "budget.epochs=60", "-o"]
        whole = self.hpo(*train, "whole.safetensors").splitlines()
        child = self.start(*train, "cut.safetensors")
        wait_for(lambda: (self.folder / "cut.safetensors.parts" / "last.ckpt").exists())
        child.kill()
        child.wait()
        self.assert_nobody_left()
        self.assertFalse((self.folder / "cut.safetensors").exists())
        rest = self.hpo(*train, "cut.safetensors").splitlines()
        self.assertRegex(rest[0], r"^resumed after step \d+, where it was interrupted$")
        self.assertLess(len(rest) - 1, len(whole))
        self.assertEqual(*[(self.folder / f"{name}.safetensors").read_bytes() for name in ("cut", "whole")])
        self.assertFalse((self.folder / "cut.safetensors.parts").exists())

    def test_folds_report_standard_errors_and_make_no_model_to_save(self):
        rows = "".join(f"{i * 37 % 101 / 10},{i * 53 % 97 / 20},p{i % 9},{'yes' if i * 37 % 101 > 50 else 'no'}\n"
                       for i in range(600))
        (self.folder / "table.csv").write_text("a,b,who,y\n" + rows)
        text = """study: small
space: {lr: {type: float, low: 1.0e-3, high: 3.0e-2, log: true}}
worker:
  data: {format: csv, path: table.csv, target: y, validation: {folds: 4, group: who}}
  model: {hidden: [16]}
budget: {trials: 7, epochs: 3}
sampler: {type: gp, startup: 3}
"""
        study = self.study(text)
        self.assert_mentions(self.hpo("check", study), "4 folds: ", "134 rows", "401 train, 66 test: ", "who (9)")
        self.assertIn("  val_loss_se ", self.hpo("run", study))
        for line in self.hpo("export", "small", "--to", "jsonl", "-").splitlines():
            for step in json.loads(line)["curve"]:
                self.assertGreater(step["metrics"]["val_loss_se"], 0)
        self.study(self.hpo("best", "small"), "best.yaml")
        self.hpo("train", "best.yaml", "-o", "model.safetensors")
        self.assert_mentions(self.error, "4 folds", "models")
        self.assertIn("(data.validation: 0.2500)", self.error)
        self.assertTrue((self.folder / "model.safetensors").exists())

    def test_small_batches_are_refused_unless_the_study_allows_them(self):
        small = synthetic(trials=1).replace("batch_size: 256", "batch_size: 8")
        for command in ("run", "check"):
            self.hpo(command, self.study(small), status=1)
            self.assert_mentions(self.error, "training.batch_size: 8", "policy.min_batch_size (")
        self.assertFalse((self.folder / "runs").exists())
        self.hpo("run", self.study(small + "policy: {min_batch_size: 8}\n"))

    def test_the_default_batch_follows_the_number_of_samples(self):
        few = synthetic(trials=1).replace("training: {batch_size: 256}", "training: {schedule: cosine}")
        check = self.hpo("check", self.study(few))
        self.assertRegex(check, r"updates +\d+ an epoch in batches of \d+ \(by default, for \d+ samples\); \d+ in a trial")
        self.hpo("run", self.study(few))

    def test_check_warns_of_too_few_updates(self):
        study = self.study("study: few\nworker:\n  data: {format: synthetic, samples: 1620}\n  training: {batch_size: 256}\nbudget: {epochs: 20}\n")
        self.assert_mentions(self.hpo("check", study), "warning: 1 of 1", "500 updates")

    @unittest.skipIf(os.geteuid() == 0 and not os.path.exists("/usr/bin/setpriv"), "needs an ordinary user")
    def test_a_folder_that_cannot_be_written_is_an_error_before_any_launch(self):
        study = self.study(synthetic())
        (self.folder / "runs").write_text("a file where the folder should be")
        self.hpo("run", study, status=1)
        self.assertIn("runs", self.error)

    def test_json_lines_are_json_and_end_with_the_best(self):
        out = self.hpo("run", self.study(synthetic(trials=2)), "--json")
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertIn("best", lines[-1])

    def test_the_json_of_all_commands_has_the_keys_of_its_documentation(self):
        page = (Path(__file__).resolve().parents[2] / "docs/json.md").read_text()

        def table(title):
            section = page.split(f"## {title}\n")[1].split("\n## ")[0]
            rows = [line for line in section.splitlines() if line.startswith("|")][2:]
            return {key for row in rows for key in re.findall(r"`(\w+)`", row.split("|")[1])}

        trial_keys, study_keys = table("Trial"), table("Study")
        events = [json.loads(line) for line in self.hpo("run", self.study(synthetic(trials=2)), "--json").splitlines()]
        for event in events:
            self.assertEqual((event["schema"], event["study"]), (2, "small"))
            self.assertRegex(event["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        common = {"schema", "event", "study", "time"}
        reported = [event for event in events if event["event"] == "reported"]
        of_events = trial_keys - {"tags", "notes"}
        self.assertEqual(set(reported[0]), common | of_events | {"report"})
        self.assertEqual([e["report"]["step"] for e in reported if e["trial"] == 1], [1, 2, 3, 4, 5], "each step's own values")
        self.assertEqual(set(events[-1]), common | {"outcome", "reason", "seconds", "begun", "ended", "best"})
        self.assertEqual(events[-1]["outcome"], "finished")
        self.assertEqual(set(events[-1]["best"]), of_events)

        def output(*arguments):
            value = json.loads(self.hpo(*arguments))
            self.assertEqual(value.pop("schema"), 2, arguments)
            return value

        self.assertEqual(set(output("ls", "--json")["studies"][0]), study_keys)
        listed = output("ls", "small", "--json")
        self.assertEqual((set(listed), set(listed["trials"][0])), ({"study", "trials"}, trial_keys))
        shown = output("show", "small", "1", "--json")
        self.assertEqual(set(shown), trial_keys | {"study", "seed", "curve", "predicted_step"})
        self.assertEqual(len(shown["curve"]), 5)
        top = output("top", "small", "--once", "--json")
        self.assertEqual(set(top), study_keys | {"trials", "waits", "memory"})
        self.assertEqual(set(top["trials"][0]), trial_keys | {"predicted_end"})
        self.assertEqual(set(output("best", "small", "--format", "json")), {"study", "trial", "metric", "value", "step", "params", "worker"})
        self.assertEqual(set(output("devices", "--json")), {"host", "hosts", "devices", "libraries", "problem"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
