"""The Python client as a program and a notebook use it: hpo.Study without a file, one Trial, results, installation, types."""
import importlib.util
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import textwrap
import unittest
import xml.etree.ElementTree

from harness import BUILD, DEADLINE, HPO, SOURCE, Case

CLIENT = SOURCE / "worker" / "python"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def has(*modules):
    return all(importlib.util.find_spec(module) for module in modules)


class Python(Case):
    def python(self, script, status=0, **environment):
        """Runs a script. A variable that is None is absent."""
        (self.folder / "search.py").write_text(textwrap.dedent(script))
        variables = {**os.environ, "PYTHONPATH": str(CLIENT), "HPO_PROGRAM": HPO, **environment}
        done = subprocess.run([sys.executable, "search.py"], cwd=self.folder, capture_output=True, text=True,
                              timeout=DEADLINE * 2, stdin=subprocess.DEVNULL,
                              env={name: value for name, value in variables.items() if value is not None})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.error = done.stderr
        return done.stdout


class Studies(Python):
    def test_a_study_is_described_in_python_stored_and_resumed(self):
        out = self.python("""
            import hpo
            space = {"lr": hpo.Float(1e-4, 1e-1, log=True), "width": hpo.Int(16, 64, step=16),
                     "act": ["grüße \\U0001f600: '\\"", None, [1, 2], True, 1.5]}
            def train(trial):
                assert isinstance(trial, hpo.Trial) and trial.steps == 3 and trial.metric == "loss"
                assert trial.params.width % 16 == 0 and trial.params.act in ("grüße \\U0001f600: '\\"", None, [1, 2], True, 1.5)
                for epoch in trial.epochs(10):
                    trial.report(epoch, loss=trial.params.lr + 1 / epoch)
            for total in (4, 6):
                with hpo.Study("early", space=space, objective="loss", epochs=3, trials=total, seed=3, sampler="random",
                               stopping=[]) as study:
                    study.optimize(train)
                    assert study.done == "trial budget reached", study.done
                    assert [trial.number for trial in study.trials] == list(range(1, total + 1))
                    assert study.best.value == min(trial.value for trial in study.trials)
                    assert {trial.state for trial in study.trials} == {"complete"}
            print(study)
            """)
        self.assertIn("<study early: minimize loss>", out)
        self.assertEqual(len(self.trials("early")), 6)

    def test_a_study_without_a_name_leaves_nothing_behind(self):
        self.python("""
            import hpo
            study = hpo.Study(space={"x": [1, 2, 3]}, objective="loss")
            study.optimize(lambda trial: trial.params.x, 5)
            assert study.best.params == {"x": 1}
            assert [trial.number for trial in study.trials] == [1, 2, 3, 4, 5] or study.done, study.trials
            """)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["search.py"])

    def test_trials_that_the_budget_does_not_allow_are_said(self):
        self.python("""
            import hpo
            with hpo.Study("over", space={"x": hpo.Float(0, 1)}, objective="loss", trials=4) as study:
                study.optimize(lambda trial: trial.params.x, 3)
                study.optimize(lambda trial: trial.params.x, 5)
                study.optimize(lambda trial: trial.params.x)
                assert len(study.trials) == 4
            """)
        self.assertRegex(self.error, r"\Ahpo: .* 1 .* 5 .*trials=8.*\n\Z")

    def test_a_study_that_only_returns_values_has_one_step_a_trial(self):
        self.python("""
            import hpo
            with hpo.Study("values", space={"x": hpo.Float(0, 1)}, objective="loss", trials=2) as study:
                study.optimize(lambda trial: trial.params.x)
                assert [(trial.state, trial.steps, trial.best_step) for trial in study.trials] == [("complete", 1, 1)] * 2
                assert study.best.step == 1
            """)

    def test_keys_override_those_of_a_file(self):
        self.study("study: filed\nobjective: {metric: loss, direction: minimize}\nspace: {x: {type: float, low: 0, high: 1}}\n")
        self.python("""
            import hpo
            with hpo.Study("study.yaml", trials=3, epochs=7, sampler="random", stopping=[]) as study:
                assert (study.budget, study.steps) == (3, 7)
                study.optimize(lambda trial: trial.params.x)
                assert len(study.trials) == 3
            space = {"o": ["x", "y"], "m": hpo.Float(0, 1, when={"o": ["x"]}), "n": hpo.Int(1, 2), "z": hpo.Categorical(range(3))}
            for time in (30, "1h30m"):
                study = hpo.Study("all", space=space, objective="accuracy", direction="maximize", at="last", trials=9, epochs=7,
                                  time=time, patience=5, seed=2, repeats=2, sampler={"type": "tpe"}, stopping="auto",
                                  where="n * z < 4", constraints=[{"metric": "size", "max": 6}], start=[{"o": "y"}],
                                  set=["budget.epochs=8"])
                assert (study.metric, study.direction, study.budget, study.steps, study.seed) == ("accuracy", "maximize", 9, 8, 2)
                assert study.ask().params.o == "y"
            """)

    def test_wrong_arguments_raise_and_name_the_cure(self):
        for arguments, message in {
            "'a', space={'x': hpo.Float(0, 1, prior=7)}, objective='loss'": r"StudyError: 'space.x.prior' .*\n$",
            "'a b', space={'x': hpo.Float(0, 1)}, objective='loss'": r"StudyError: 'study' must be .*, found a b\n$",
            "'a', space={'x': hpo.Float(0, 1)}, objective='F1'": r"StudyError: direction= is missing: minimize or maximize F1\n$",
            "'a', space={'x': [1]}, objective='loss', trials=0": r"StudyError: trials= must be a whole number from 1",
            "'a', space={'x': 3}, objective='loss'": r"TypeError: parameter 'x' is of type int; it must be hpo.Float",
            "'a', space={'x': 'relu'}, objective='loss'": r"TypeError: parameter 'x' is of type str",
            "'a', space=[1], objective='loss'": r"TypeError: space= is a mapping",
            "'a', space={'x': [1, object()]}, objective='loss'": r"TypeError: <object.*cannot hold",
            "'a', space={'x': [1, float('nan')]}, objective='loss'": r"ValueError",
            "'a', space={'x': [1]}, objective=lambda trial: 1": r"TypeError: objective= is the name of a metric",
            "": r"TypeError: hpo.Study\(\) needs a study file, the name",
        }.items():
            with self.subTest(arguments):
                self.python(f"import hpo\nhpo.Study({arguments})", status=1)
                self.assertRegex(self.error, message)
                self.assertNotIn("/tmp/hpo-study", self.error)

    def test_a_function_defines_a_space_with_its_conditions(self):
        out = self.python("""
            import hpo, json
            from hpo._space import space_of

            def space(s):
                s.float("lr", 1e-4, 1e-1, log=True)
                if s.categorical("optimizer", ["adam", "sgd", "rmsprop"]) != "adam":
                    s.float("momentum", 0, 1)
                    if s.categorical("nesterov", [True, False]) and s.categorical("decay", ["a", "b"]) == "b":
                        s.int("depth", 1, 3)
            print(json.dumps({name: parameter.get("when") for name, parameter in space_of(space).items()}))
            with hpo.Study(space=space, objective="loss") as study:
                for trial in study.ask(30):
                    assert ("momentum" in trial.params) == (trial.params.optimizer != "adam")
                    assert ("depth" in trial.params) == (trial.params.get("decay") == "b")

            def two(s):
                if s.categorical("a", [1, 2]) == 1 or s.categorical("b", [1, 2]) == 1:
                    s.float("x", 0, 1)
            def on_number(s):
                if s.float("x", 0, 1) > 0.5:
                    s.float("y", 0, 1)
            def endless(s):
                for i in range(20):
                    s.categorical(f"c{i}", [1, 2])
            def differs(s):
                s.float("x", 0, s.categorical("a", [1, 2]))
            def twice(s):
                s.float("x", 0, 1)
                s.int("x", 0, 1)
            for wrong in (two, on_number, endless, differs, twice, lambda s: None):
                try:
                    hpo.Study(space=wrong, objective="loss")
                    print("no error")
                except (ValueError, TypeError) as error:
                    print(error)
            """).splitlines()
        self.assertEqual(json.loads(out[0]), {"lr": None, "optimizer": None, "momentum": {"optimizer": ["sgd", "rmsprop"]},
                                              "nesterov": {"optimizer": ["sgd", "rmsprop"]},
                                              "decay": {"optimizer": ["sgd", "rmsprop"], "nesterov": [True]},
                                              "depth": {"optimizer": ["sgd", "rmsprop"], "nesterov": [True], "decay": ["b"]}})
        for line, message in zip(out[1:], ("'x' depends on several choices", "not on a number", "more than 10000", "'x' has two",
                                           "'x' is defined twice", "names no parameter"), strict=True):
            self.assertIn(message, line)


class Trials(Python):
    def test_one_function_trains_alone_in_a_study_and_under_hpo(self):
        (self.folder / "train.py").write_text(textwrap.dedent("""
            import hpo

            def train(trial):
                trial.log("begins")
                for epoch in trial.epochs(3):
                    trial.step(5)
                    assert trial.report(epoch, loss=trial.params.lr / epoch) in ("continue", "stop")
                trial.finish(test=1)

            if __name__ == "__main__":
                train(hpo.trial(lr=0.5))
            """))
        out = self.python("""
            import hpo, train
            train.train(hpo.trial(lr=0.5))
            with hpo.Study("one", space={"lr": hpo.Float(0, 1)}, objective="loss", epochs=4, stopping=[]) as study:
                study.optimize(train.train, 2)
                assert [(trial.state, trial.steps, trial.closing) for trial in study.trials] == [("complete", 4, {"test": 1})] * 2
            """)
        self.assertEqual(out.count("step 3: "), 1, out)
        self.assertEqual(out.count("begins"), 3)
        self.hpo("run", self.study("study: run\nobjective: {metric: loss, direction: minimize}\nspace: {lr: {type: float, low: 0, high: 1}}\n"
                                   "worker: {command: [%s, train.py]}\nbudget: {trials: 2, epochs: 4}\nstopping: []\n"
                                   "resources: {trial: {memory: 50MiB}}\n" % sys.executable))
        self.assertEqual([(t["state"], t["steps"], t["closing"]) for t in self.trials("run")], [("complete", 4, {"test": 1})] * 2)

    def test_a_step_that_cannot_count_is_warned_of_in_a_study_and_under_hpo(self):
        (self.folder / "train.py").write_text(textwrap.dedent("""
            import hpo
            def train(trial):
                for epoch in trial.epochs(3):
                    assert trial.report(epoch, loss=1 / epoch) == "continue"
                    trial.report(epoch, other=2)
                    trial.report(1, loss=0)
                trial.report(9, loss=-1)
            if __name__ == "__main__":
                train(hpo.trial(lr=0.5))
            """))
        self.python("""
            import hpo, train
            with hpo.Study("one", space={"lr": hpo.Float(0, 1)}, objective="loss", epochs=3, trials=2, stopping=[]) as study:
                study.optimize(train.train)
                trial = study.ask()
                assert trial is None, trial
            with hpo.Study("two", space={"lr": hpo.Float(0, 1)}, objective="loss", epochs=3, trials=2, stopping=[]) as study:
                trial = study.ask()
                trial.report(4, loss=0)
                trial.report(2, loss=3)
                trial = study.ask()
                trial.report(2, loss=3)
                trial.report(1, loss=0)
            """)
        again = "again, which is not used: report all metrics of a step together\n"
        back, over = "reports step 1 after step 2, which is not used\n", "has ended; what is reported now is not used: return once trial.should_stop()\n"
        self.assertEqual(self.error, "".join(f"hpo: trial {n} reports step 1 {again}hpo: trial {n} {back}hpo: trial {n} {over}" for n in (1, 2)) +
                                     "hpo: trial 1 reports step 4, which is not used: the study has 3 (epochs=)\n"
                                     "hpo: trial 2 reports step 1 after step 2, which is not used\n")
        self.hpo("run", self.study("study: run\nobjective: {metric: loss, direction: minimize}\nspace: {lr: {type: float, low: 0, high: 1}}\n"
                                   "worker: {command: [%s, train.py]}\nbudget: {trials: 1, epochs: 3}\nstopping: []\n"
                                   "resources: {trial: {memory: 50MiB}}\n" % sys.executable))
        self.assert_mentions(self.error, "step 1", "reported again", "a step")
        for study in ("one", "run"):
            for trial in self.trials(study):
                self.assertEqual((trial["state"], trial["steps"], trial["value"]), ("complete", 3, 1 / 3))

    def test_a_paused_trial_begins_again_unless_it_says_where_it_is(self):
        self.python("""
            import hpo
            calls = {}  # of each trial: what it had reported before each call, and its steps
            def train(trial):
                steps = []
                calls.setdefault(trial.number, []).append((trial.reported, steps))
                if trial.number % 2:
                    trial.resume_from(trial.reported)
                for epoch in trial.epochs():
                    steps.append(epoch)
                    trial.report(epoch, trial.params.x + 1 / epoch)
                assert trial.should_stop()
            with hpo.Study("paused", space={"x": hpo.Float(0, 1)}, objective="loss", trials=18, epochs=9,
                           stopping=[{"rule": "asha", "grace": 1, "factor": 3}]) as study:
                study.optimize(train)
                assert study.done, "the study is not over"
            again = {number: told[1:] for number, told in calls.items() if len(told) > 1}
            assert {number % 2 for number in again} == {0, 1}, calls
            for number, told in again.items():
                for reported, steps in told:
                    assert reported in (1, 3) and steps[0] == (reported + 1 if number % 2 else 1), (number, told)
            assert any(told[-1][1][-1] == 9 for told in again.values()), calls
            """)

    def test_a_trial_does_not_go_on_after_steps_that_the_study_has_not_stored(self):
        self.python("""
            import hpo
            study = hpo.Study(space={"x": hpo.Float(0, 1)}, objective="loss", trials=2, epochs=5)
            try:
                study.optimize(lambda trial: trial.resume_from(3))
            except ValueError as error:
                assert str(error) == "trial 1: resume_from(3), but no step is stored: begin at step 1", error
            else:
                raise AssertionError("went on")
            """)

    def test_a_trial_that_was_interrupted_begins_again_with_the_next_call(self):
        self.python("""
            import hpo
            calls = []
            def train(trial):
                calls.append(trial.number)
                for epoch in trial.epochs():
                    trial.report(epoch, loss=1 / epoch)
                    if epoch == 2 and calls == [1, 2]:
                        raise KeyboardInterrupt
            with hpo.Study("broken-off", space={"x": hpo.Float(0, 1)}, objective="loss", trials=3, epochs=4, stopping=[]) as study:
                try:
                    study.optimize(train)
                    raise SystemExit("not interrupted")
                except KeyboardInterrupt:
                    pass
                study.optimize(train)
                assert calls == [1, 2, 2, 3], calls
                assert [trial.steps for trial in study.trials] == [4, 4, 4]
            """)

    def test_a_step_during_whose_report_the_user_interrupts_is_known_when_the_trial_begins_again(self):
        self.python("""
            import hpo
            calls = []
            def train(trial):
                calls.append(trial.number)
                for epoch in (1, 3, 4):
                    trial.report(epoch, loss=1 / epoch, other=float("nan"))
            with hpo.Study("broken-off", space={"x": hpo.Float(0, 1)}, objective="loss", trials=1, epochs=4, stopping=[]) as study:
                answer_of = hpo.study.waited
                def first(answer):
                    if len(calls) == 1 and first.reports == 1:
                        first.reports += 1
                        raise KeyboardInterrupt
                    first.reports += len(calls) == 1
                    return answer_of(answer)
                first.reports = 0
                hpo.study.waited = first
                try:
                    study.optimize(train)
                    raise SystemExit("not interrupted")
                except KeyboardInterrupt:
                    pass
                study.optimize(train)
                assert calls == [1, 1], calls
                assert [(trial.state, trial.steps) for trial in study.trials] == [("complete", 4)]
            """)
        self.assertEqual(self.error, "")

    def test_a_step_that_went_back_costs_none_of_the_steps_after_it(self):
        (self.folder / "train.py").write_text(textwrap.dedent("""
            import hpo
            def train(trial):
                for _ in range(3):
                    trial.report(loss=1)
                trial.report(2, loss=-1)
                trial.report(loss=0.5)
                trial.report(3, loss=-1)
                trial.report(4, loss=-1)
                trial.report(loss=0.25)
            if __name__ == "__main__":
                train(hpo.trial(lr=0.5))
            """))
        self.python("""
            import hpo, train
            with hpo.Study("one", space={"lr": hpo.Float(0, 1)}, objective="loss", epochs=5, trials=1, stopping=[]) as study:
                study.optimize(train.train)
            """)
        self.assertEqual(self.error, "hpo: trial 1 reports step 2 after step 3, which is not used\n"
                                     "hpo: trial 1 reports step 4 again, which is not used: report all metrics of a step together\n")
        self.hpo("run", self.study("study: run\nobjective: {metric: loss, direction: minimize}\nspace: {lr: {type: float, low: 0, high: 1}}\n"
                                   "worker: {command: [%s, train.py]}\nbudget: {trials: 1, epochs: 5}\nstopping: []\n"
                                   "resources: {trial: {memory: 50MiB}}\n" % sys.executable))
        for study in ("one", "run"):
            self.assertEqual([(t["state"], t["steps"], t["value"]) for t in self.trials(study)], [("complete", 5, 0.25)], study)

    def test_a_step_that_a_trial_had_left_out_is_named(self):
        self.python("""
            import hpo
            calls = []
            def train(trial):
                calls.append(trial.number)
                for epoch in (1, 3) if len(calls) == 1 else (1, 2, 3, 4):
                    trial.report(epoch, loss=1 / epoch)
                if len(calls) == 1:
                    raise KeyboardInterrupt
            with hpo.Study("gap", space={"x": hpo.Float(0, 1)}, objective="loss", trials=1, epochs=4, stopping=[]) as study:
                for _ in range(2):
                    try:
                        study.optimize(train)
                    except KeyboardInterrupt:
                        pass
            """)
        self.assertEqual(self.error, "hpo: trial 1 began again after an interruption and reports step 2, which it had left "
                                     "out: it is not used\n")

    def test_a_report_that_is_not_used_is_never_dropped_in_silence(self):
        self.python("""
            import hpo, itertools
            losses = itertools.count()
            def train(trial):
                trial.report(1, loss=next(losses))
                raise KeyboardInterrupt
            with hpo.Study("used", space={"x": hpo.Float(0, 1)}, objective="loss", epochs=4, stopping=[]) as study:
                trial = study.ask()
                trial.report(1, loss=1)
                try:
                    study.report(trial, 1, accuracy=0.5)
                    raise SystemExit("no error")
                except hpo.StudyError as error:
                    assert str(error) == ("step 1 of trial 1 is not after step 1, the last one that it has reported: report "
                                          "all metrics of a step together"), error
                for wrong, kind in ((lambda: study.tell("1"), TypeError), (lambda: study.tell(trial, state="pruned"), ValueError),
                                    (lambda: trial.report(2, **{"x" * 2000000: 1.0}), hpo.StudyError)):
                    try:
                        wrong()
                        raise SystemExit("no error")
                    except kind:
                        pass
                for step in (2, 3, 4):
                    trial.report(step, loss=float("nan"))
                for _ in range(2):
                    try:
                        study.optimize(train)
                    except KeyboardInterrupt:
                        pass
            """)
        self.assertEqual(self.error, "hpo: trial 1 was stopped; what is reported now is not used: return once "
                                     "trial.should_stop()\n"
                                     "hpo: trial 2 began again after an interruption and reports other numbers for step 1; "
                                     "those reported first are kept\n")

    def test_a_trial_whose_result_is_no_value_fails_and_the_next_one_begins(self):
        self.python("""
            import hpo
            with hpo.Study("wrong", space={"x": hpo.Float(0, 1)}, objective="loss", trials=3, stopping=[]) as study:
                for result, kind, message in (((1, 2), TypeError, "by their names"), (None, hpo.StudyError, "no value")):
                    try:
                        study.optimize(lambda trial: result, 1)
                        raise SystemExit("no error")
                    except kind as error:
                        assert message in str(error), error
                study.optimize(lambda trial: 1.0)
                assert [trial.state for trial in study.trials] == ["failed", "failed", "complete"], study.trials
                assert "must be one number" in study.trials[0].reason
            """)

    def test_a_trial_pruned_before_its_first_report_ends_no_search(self):
        self.python("""
            import hpo
            def train(trial):
                if trial.number == 2:
                    raise hpo.Pruned
                return trial.params["x"]
            with hpo.Study("pruned", space={"x": hpo.Float(0, 1)}, objective="loss", trials=3) as study:
                study.optimize(train)
                assert [trial.state for trial in study.trials] == ["complete", "failed", "complete"], study.trials
                assert "pruned before its first report" in study.trials[1].reason
        """)

    def test_a_trial_that_prunes_itself_keeps_what_it_reported(self):
        self.python("""
            import hpo
            def train(trial):
                for epoch in trial.epochs():
                    trial.report(epoch, loss=1 / epoch)
                    if epoch == 2:
                        raise hpo.Pruned
            with hpo.Study("by_itself", space={"x": hpo.Float(0, 1)}, objective="loss", trials=1, epochs=5) as study:
                study.optimize(train)
                trial = study.trials[0]
                assert (trial.state, trial.steps, trial.value) == ("stopped", 2, 0.5), (trial, trial.reason)
                assert trial.rule == "script" and "hpo.Pruned" in trial.reason and "step 2" in trial.reason, trial
                assert study.best.value == 0.5
        """)

    def test_a_trial_that_prunes_itself_without_the_objective_fails_and_after_its_last_step_is_complete(self):
        self.python("""
            import hpo
            def train(trial):
                for epoch in trial.epochs():
                    trial.report(epoch, **({"other": 1} if trial.number == 1 else {"loss": 1}))
                raise hpo.Pruned
            with hpo.Study("ends", space={"x": hpo.Float(0, 1)}, objective="loss", trials=2, epochs=2) as study:
                trial = study.ask()
                trial.report(1, other=1)
                with trial:
                    raise hpo.Pruned
                study.optimize(train)
                assert [trial.state for trial in study.trials] == ["failed", "complete"], study.trials
                assert "step 1" in study.trials[0].reason and "loss" in study.trials[0].reason
        """)

    def test_a_block_ends_its_trial_and_steps_count_from_0_or_1(self):
        self.python("""
            import hpo, pickle
            with hpo.Study("blocks", space={"x": hpo.Float(0, 1)}, objective="loss", epochs=2, stopping=[]) as study:
                first = study.ask(3)
                assert len({trial.seed for trial in first}) == 3 and all(0 < trial.seed < 2**31 for trial in first)
                with first[0] as trial:
                    trial.report(0, loss=1)
                    assert trial.report(1, 0.5) == "continue" and trial.should_stop()
                with first[1] as trial:
                    trial.report(loss=0.3)
                    raise hpo.Pruned
                try:
                    with first[2]:
                        raise ValueError("no such layer")
                except ValueError:
                    pass
                with study.ask() as trial:
                    trial.finish(loss=2)
                states = [(trial.state, trial.steps, trial.value) for trial in study.trials]
                assert states == [("complete", 2, 0.5), ("stopped", 1, 0.3), ("failed", 0, None), ("complete", 1, 2)], states
                assert "no such layer" in study.trials[2].reason
                try:
                    pickle.dumps(trial)
                except TypeError as error:
                    assert "trial.params" in str(error)
            """)


class Again(Python):
    def test_a_study_that_is_opened_again_in_the_process_goes_on_there(self):
        self.python("""
            import hpo
            def cell():
                return hpo.Study("cell", space={"x": hpo.Float(0, 1)}, objective="loss")
            first = cell()
            trial = first.ask()
            second = cell()
            assert second.ask().number == trial.number
            for _ in range(2):
                try:
                    first.ask()
                    raise SystemExit("no error")
                except hpo.StudyError as error:
                    assert "opened again in this process" in str(error), error
                first.close()
            second.tell(trial.number, 1.0)
            second.close()
            second.close()
            """)

    def test_another_process_is_refused(self):
        self.python("""
            import hpo, subprocess, sys
            text = 'hpo.Study("held", space={"x": hpo.Float(0, 1)}, objective="loss")'
            with eval(text):
                done = subprocess.run([sys.executable, "-c", "import hpo\\n" + text], capture_output=True, text=True)
            assert done.returncode == 1 and "StudyError" in done.stderr and "process " in done.stderr, done.stderr
            """)

    def test_a_study_whose_end_the_user_interrupts_is_free_for_another_process(self):
        self.python("""
            import hpo, hpo._session, subprocess, sys
            def interrupted(answer):
                raise KeyboardInterrupt
            text = 'hpo.Study("left", space={"x": hpo.Float(0, 1)}, objective="loss")'
            try:
                with eval(text) as study:
                    hpo._session.waited = interrupted
                raise SystemExit("not interrupted")
            except KeyboardInterrupt:
                pass
            subprocess.run([sys.executable, "-c", "import hpo\\n" + text], check=True)
            """)

    def test_the_best_is_not_called_known_where_hpo_was_killed_before_the_end(self):
        for name, rest in (("'killed', ", "the study is closed; open it again: hpo.Study\\('killed'\\)\n"), ("", ".*nothing of it is known")):
            self.python(f"""
                import hpo, os, signal
                with hpo.Study({name}space={{"x": [3]}}, objective="loss") as study:
                    os.kill(study._session.child.pid, signal.SIGKILL)
                study.best
                """, status=1)
            self.assertRegex(self.error, "StudyError: " + rest)

    def test_what_hpo_warns_of_is_shown_and_a_wider_space_is_said(self):
        self.python("""
            import hpo
            for high in (1, 2, 2):
                with hpo.Study("wide", space={"x": hpo.Float(0, high)}, objective="loss") as study:
                    study.optimize(lambda trial: trial.params.x, 1)
            try:
                hpo.Study("wide", space={"x": hpo.Float(1, 2)}, objective="loss")
                raise SystemExit("no error")
            except hpo.StudyError as error:
                assert "space.x.low: 0.0 -> 1.0" in str(error) and "Give the study another name" in str(error), error
            """)
        self.assertEqual(self.error, "hpo: study wide goes on in a wider space than that of its trials so far: "
                                     "space.x.high: 1.0 -> 2.0\n")


class Spaces(Python):
    def test_what_is_no_space_is_refused_where_it_is_written(self):
        for wrong, message in (("hpo.Float(1, 0)", "high of hpo.Float is 0, which is below low, 1"),
                               ("hpo.Int(3, 2)", "high of hpo.Int is 2, which is below low, 3"),
                               ("hpo.Float(0, float('nan'))", "high of hpo.Float is nan, which is no finite number"),
                               ("hpo.Int(None, 2)", "low of hpo.Int is None, which is no finite number"),
                               ("hpo.Float(0, 1, log=True)", "low of hpo.Float is 0; with log=True it must be above 0"),
                               ("hpo.Study(space={}, objective='loss')", "space= has no parameter: give it names with")):
            self.python(f"import hpo; {wrong}", status=1)
            self.assertIn("ValueError: " + message, self.error)
        self.python("import hpo; hpo.Float('width / 2', 3); hpo.Int(2, 2)")


class Results(Python):
    STUDY = """
            import hpo
            study = hpo.Study("results", space={"lr": hpo.Float(0, 1), "act": ["relu", "<script>alert(1)</script>"]},
                              objective="loss", trials=12, stopping=[])
            def train(trial):
                trial.report(1, loss=trial.params.lr, other=2)
                if trial.number == 3:
                    raise ValueError("<b>")
            study.optimize(train, catch=(ValueError,))
            """

    def test_the_best_is_known_after_the_study_was_closed(self):
        for name, rest in (("'closed', ", "open it again: hpo.Study\\('closed'\\)"), ("", "read `trials` before it is closed")):
            out = self.python(f"""\
                import hpo
                with hpo.Study({name}space={{"x": [3]}}, objective="loss", trials=1) as study:
                    study.optimize(lambda trial: trial.params.x)
                print(study.best.value, [best.number for best in study.front])
                try:
                    study.trials
                except hpo.StudyError as error:
                    print(error)
                """)
            self.assertRegex(out, "^3.0 \\[1\\]\nthe study is closed.*" + rest)

    def test_a_table_for_pandas(self):
        script = self.STUDY + """
            frame = study.to_pandas()
            assert list(frame.columns) == ["state", "value", "best_step", "steps", "params.act", "params.lr", "values.loss",
                                           "values.other", "rule", "reason", "started", "ended"], list(frame.columns)
            assert list(frame.index) == list(range(1, 13)) and frame.index.name == "trial"
            assert frame["value"].dtype == float and frame["started"].dtype.kind == "M", frame.dtypes
            assert frame.loc[3, "state"] == "failed" and frame["value"].idxmin() == study.best.number
            assert len(hpo.Study(space={"x": [1]}, objective="loss").to_pandas()) == 0
            """
        if has("pandas"):
            self.python(script)
        (self.folder / "pandas.py").write_text("raise ImportError('none here')")
        self.python(self.STUDY + "\n            assert study.best and study.trials")  # imported nowhere else
        self.python(self.STUDY + "\n            study.to_pandas()", status=1)
        self.assert_mentions(self.error, "ImportError: to_pandas()", "pandas", "not", "pip install pandas")

    def test_html_is_escaped_and_well_formed(self):
        out = self.python(self.STUDY + """
            for shown in (study, study.trials, hpo.Study(space={"x": [1]}, objective="loss")):
                print(shown._repr_html_())
            study.close()
            assert study._repr_html_() is None
            """)
        self.assertNotIn("<script>", out)
        self.assertIn("&lt;script&gt;", out)
        whole, table, empty = (xml.etree.ElementTree.fromstring(line) for line in out.splitlines())
        self.assertIn("best loss", "".join(whole.itertext()))
        self.assertEqual(len(whole.findall(".//circle")), 11)
        self.assertEqual(len(whole.findall(".//tbody/tr")), 10)
        self.assertRegex(whole.findall(".//text")[0].text, r"^≥ 0\.\d+$")
        self.assertEqual(len(table.findall(".//tbody/tr")), 12)
        self.assertIn("no value yet", "".join(empty.itertext()))

    def test_several_objectives_are_names_or_mappings(self):
        out = self.python("""
            import hpo
            space = {"x": hpo.Float(0, 1)}
            study = hpo.Study("names", space=space, objective=["loss", "size"], direction="minimize", at="last", trials=3)
            study.optimize(lambda trial: {"loss": trial.number, "size": 3 - trial.number})
            print(len(study.front))
            mixed = hpo.Study("mixed", space=space, objective=("val_loss", {"metric": "f1", "direction": "maximize"}))
            print(mixed.metric, mixed.direction)
            listed = hpo.Study("listed", space=space, objective=["loss", "f1"], direction=["minimize", "maximize"])
            listed.optimize(lambda trial: {"loss": trial.number, "f1": trial.number}, 3)
            assert len(listed.front) == 3, listed.front
            try:
                hpo.Study("short", space=space, objective=["loss", "f1"], direction=["minimize"])
            except ValueError as error:
                assert "has 1 and objective= 2" in str(error), error
            else:
                assert False
            """)
        self.assertEqual(out.splitlines(), ["3", "val_loss minimize"])
        self.assertIn('"at": "last"', (self.folder / "runs/names/study.yaml").read_text())
        self.python("import hpo; hpo.Study(space={'x': hpo.Float(0, 1)}, objective=['a', 'b'])", status=1)
        self.assertIn("direction", self.error)
        self.python("import hpo; hpo.Study(space={'x': hpo.Float(0, 1)}, objective=['a', 3])", status=1)
        self.assert_mentions(self.error, "TypeError: objective=", "3", "int: ", "metric")

    def test_a_tuple_of_two_numbers_is_neither_a_range_nor_choices(self):
        for given, cure in (("(0.0, 1.0)", "hpo.Float(0.0, 1.0) for the range, or the list [0.0, 1.0] for two choices"),
                            ("(1, 5)", "hpo.Int(1, 5) for the range, or the list [1, 5] for two choices")):
            self.python(f"import hpo; hpo.Study(space={{'x': {given}}}, objective='val_loss')", status=1)
            self.assert_mentions(self.error, f"TypeError: parameter 'x' is the tuple {given}: write ", cure)
        self.python("import hpo; hpo.Study(space={'x': [0, 1], 'y': ('a', 'b'), 'z': (1, 2, 3)}, objective='val_loss')")

    def test_of_several_objectives_no_trial_is_the_best(self):
        out = self.python("""
            import hpo
            goals = [{"metric": "loss", "direction": "minimize"}, {"metric": "size", "direction": "minimize"}]
            study = hpo.Study("two", space={"x": hpo.Float(0, 1)}, objective=goals, trials=3, stopping=[])
            assert study.front == [] and "no value yet" in study._repr_html_()
            study.optimize(lambda trial: {"loss": trial.number, "size": 3 - trial.number}, progress=True)
            assert [trial.number for trial in study.front] == [1, 2, 3]
            print(study._repr_html_())
            try:
                print(study.best)
            except hpo.StudyError as error:
                print(error)
            """)
        html, refusal = out.splitlines()
        self.assert_mentions(refusal, "several objectives", "no trial", "best: study.front")
        shown = xml.etree.ElementTree.fromstring(html)
        self.assert_mentions("".join(shown.itertext()), "Pareto", "3 trials")
        self.assertIn("size", [cell.text for cell in shown.findall(".//th")])
        self.assertEqual(len(shown.findall(".//tbody/tr")), 3)
        self.assertRegex(self.error, r"trial 3: two  3 of 3 trials  Pareto front of 3 trials  \d+:\d\d")

    def test_progress_is_shown_on_a_terminal_or_when_asked(self):
        script = self.STUDY.replace("optimize(train,", "optimize(train, progress=PROGRESS,")
        for progress, lines in (("None", 0), ("False", 0), ("True", 12)):
            self.python(script.replace("PROGRESS", progress))
            self.assertEqual(len(self.error.splitlines()), lines, self.error)
            shutil.rmtree(self.folder / "runs")
        self.python(script.replace("PROGRESS", "True"))
        self.assertRegex(self.error, r"trial 12: results  12 of 12 trials  best loss [\d.e-]+ \(trial \d+\)  \d+:\d\d")
        shutil.rmtree(self.folder / "runs")
        ours, theirs = pty.openpty()
        (self.folder / "search.py").write_text(textwrap.dedent(script.replace("PROGRESS", "None")))
        subprocess.run([sys.executable, "search.py"], cwd=self.folder, stderr=theirs, check=True, timeout=DEADLINE * 2,
                       env={**os.environ, "PYTHONPATH": str(CLIENT), "HPO_PROGRAM": HPO, "COLUMNS": "60"})
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:
            pass  # all was read
        os.close(ours)
        last = shown.decode().split("\r\x1b[K")[-1]
        self.assertRegex(last, r"^results  12 of 12 trials  best loss")
        self.assertLess(len(last.rstrip()), 60)
        self.assertTrue(last.endswith("\r\n"))


class Programs(Python):
    SCRIPT = 'import hpo\nwith hpo.Study(space={"x": [1]}, objective="loss") as study:\n    print(study._program)'

    def test_hpo_is_found_by_the_variable_and_on_the_path_and_its_absence_has_a_cure(self):
        shutil.copytree(CLIENT / "hpo", self.folder / "elsewhere" / "hpo", ignore=shutil.ignore_patterns("__pycache__"))
        elsewhere = {"PYTHONPATH": str(self.folder / "elsewhere")}
        self.assertEqual(self.python(self.SCRIPT, **elsewhere).strip(), HPO)
        path = f"{BUILD / 'bin'}:/usr/bin:/bin"
        self.assertEqual(self.python(self.SCRIPT, HPO_PROGRAM=None, PATH=path, **elsewhere).strip(), HPO)
        self.python(self.SCRIPT, status=1, HPO_PROGRAM=None, PATH="/usr/bin:/bin", **elsewhere)
        self.assertRegex(self.error, r"StudyError: the program hpo was not found on the PATH\. Install .* build .*HPO_PROGRAM=")
        self.python(self.SCRIPT, status=1, HPO_PROGRAM="/nowhere/hpo")
        self.assert_mentions(self.error, "StudyError: HPO_PROGRAM", "/nowhere/hpo", "no program")
        installed = self.folder / "share" / "hpo" / "python"
        shutil.copytree(CLIENT / "hpo", installed / "hpo", ignore=shutil.ignore_patterns("__pycache__"))
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "hpo").symlink_to(HPO)
        out = self.python(self.SCRIPT, HPO_PROGRAM=None, PATH="/usr/bin:/bin", PYTHONPATH=str(installed))
        self.assertEqual(out.strip(), str(self.folder.resolve() / "bin" / "hpo"))

    def test_what_hpo_says_while_it_is_being_built_is_shown_at_once(self):
        slow = self.folder / "slow"
        slow.write_text("#!/bin/sh\necho 'hpo: building' >&2\nfor i in $(seq 600); do [ -e go ] && exec \"$HPO\" \"$@\"; sleep 0.1; done\n"
                        "echo 'hpo: nobody saw it' >&2; exit 1\n")
        slow.chmod(0o755)
        (self.folder / "search.py").write_text(self.SCRIPT)
        environment = {**os.environ, "PYTHONPATH": str(CLIENT), "HPO_PROGRAM": str(slow), "HPO": HPO}
        with subprocess.Popen([sys.executable, "search.py"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=environment) as search:
            self.assertEqual(search.stderr.readline(), "hpo: building\n")
            (self.folder / "go").touch()
            self.assertEqual(search.communicate(timeout=DEADLINE), (f"{slow}\n", ""))

    def test_an_end_is_explained_by_what_hpo_said_while_it_started_only_until_it_has_answered(self):
        early = self.folder / "early"
        early.write_text("#!/bin/sh\necho 'hpo: building' >&2\n[ -z \"$SIGNAL\" ] || kill -$SIGNAL $$\nexec \"$HPO\" \"$@\"\n")
        early.chmod(0o755)
        script = """
            import hpo, os, signal
            study = hpo.Study(space={"x": [1]}, objective="loss")
            os.kill(study._session.child.pid, signal.SIGKILL)
            study.ask()
            """
        self.python(script, status=1, HPO_PROGRAM=str(early), HPO=HPO)
        self.assertEqual(self.error.splitlines()[0], "hpo: building")
        self.assertTrue(self.error.endswith("hpo.StudyError: hpo ask-tell was killed by signal 9\n"), self.error)
        self.python(script, status=1, HPO_PROGRAM=str(early), HPO=HPO, SIGNAL="KILL")
        self.assertTrue(self.error.endswith("StudyError: hpo ask-tell was killed by signal 9; its last message: building\n"), self.error)

    def test_a_reason_that_was_shown_while_hpo_started_is_also_raised(self):
        fails = self.folder / "fails"
        fails.write_text("#!/bin/sh\necho 'hpo: no compiler' >&2\nfor i in $(seq 600); do [ -e go ] && exit 1; sleep 0.1; done\n")
        fails.chmod(0o755)
        (self.folder / "search.py").write_text(self.SCRIPT)
        environment = {**os.environ, "PYTHONPATH": str(CLIENT), "HPO_PROGRAM": str(fails)}
        with subprocess.Popen([sys.executable, "search.py"], cwd=self.folder, stderr=subprocess.PIPE, text=True, env=environment) as search:
            self.assertEqual(search.stderr.readline(), "hpo: no compiler\n")
            (self.folder / "go").touch()
            self.assertTrue(search.communicate(timeout=DEADLINE)[1].endswith("StudyError: no compiler\n"))

    def test_versions_agree_and_another_one_is_refused(self):
        own = self.python("import hpo; print(hpo.__version__)").strip()
        self.assertIn(own, self.hpo("--version"))
        major, minor = map(int, own.split(".")[:2])
        for version, refused in ((f"{major}.{minor}.99", False), (f"{major}.{minor + 1}.0", True), (f"{major + 1}.{minor}.0", True),
                                 (f"{major}.{minor - 1}.9", True)):
            self.python(f"import hpo; hpo.__version__ = '{version}'\n{self.SCRIPT}", status=refused)
            if refused:
                self.assertRegex(self.error, rf"StudyError: this client is of version {version}, and .*/hpo of version .*PYTHONPATH=.*share/hpo/python")

    @unittest.skipUnless(has("setuptools", "wheel", "pip"), "no pip")
    def test_a_wheel_is_made_and_runs_a_script_alone_and_a_study(self):
        tree = self.folder / "tree" / "worker" / "python"
        shutil.copytree(CLIENT, tree, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        (self.folder / "tree" / "CMakeLists.txt").touch()
        (self.folder / "tree" / "hpo").symlink_to(HPO)
        subprocess.run([*PIP, "wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "-w", "wheels", tree], check=True,
                       cwd=self.folder, capture_output=True, timeout=DEADLINE * 4)
        [wheel] = (self.folder / "wheels").iterdir()
        self.assertRegex(wheel.name, r"hpo_client-[\d.]+-py3-none-any\.whl")
        for source, site in ((wheel, "from-wheel"), (tree, "from-tree")):
            subprocess.run([*PIP, "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps", "--root-user-action=ignore",
                            "--target", self.folder / site, source], check=True, capture_output=True, timeout=DEADLINE * 4)
            self.assertTrue((self.folder / site / "hpo" / "py.typed").exists())
            self.assertFalse((self.folder / site / "lines").exists())
            environment = {"HPO_PROGRAM": None, "PYTHONPATH": str(self.folder / site), "PATH": "/usr/bin:/bin"}
            out = self.python("import hpo; trial = hpo.trial(lr=0.5)\nfor epoch in trial.epochs(2):\n    trial.report(epoch, loss=1)",
                              **environment)
            self.assertEqual(out, "step 1: loss=1.0\nstep 2: loss=1.0\n")
        # A client that was installed from a checkout finds the hpo of that checkout.
        self.assertEqual(self.python(self.SCRIPT, **environment).strip(), str(self.folder.resolve() / "tree" / "hpo"))


class Surface(Python):
    def test_dir_lists_what_there_is_and_everything_has_a_docstring_and_annotations(self):
        out = self.python("""
            import hpo, inspect
            assert set(hpo.__all__) <= set(dir(hpo)) and "os" not in dir(hpo)
            for name in hpo.__all__:
                what = getattr(hpo, name)
                assert inspect.getdoc(what), name
                public = [(name, what)] if inspect.isfunction(what) else [
                    (f"{name}.{n}", m) for n, m in vars(what).items() if not n.startswith("_") and n not in ("rule", "reason")]
                for path, member in public:
                    function = member.fget if isinstance(member, property) else member
                    if not inspect.isfunction(function):
                        continue
                    assert inspect.getdoc(member) or path.startswith(("Keras", "Lightning")), path
                    missing = [p.name for p in inspect.signature(function).parameters.values()
                               if p.annotation is p.empty and p.name != "self"]
                    assert not missing and inspect.signature(function).return_annotation is not inspect.Signature.empty, (path, missing)
            try:
                hpo.Sudy
            except AttributeError as error:
                print(error)
            """)
        self.assertEqual(out, "module 'hpo' has no attribute 'Sudy'\n")

    @unittest.skipUnless(has("mypy"), "no mypy")
    def test_types_are_strict(self):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder / "cache", "--config-file", CLIENT / "pyproject.toml", CLIENT / "hpo"],
                              capture_output=True, text=True, cwd=CLIENT)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (self.folder / "user.py").write_text("import hpo\nwith hpo.Study('s.yaml') as study:\n    trial = study.ask()\n    reveal_type(trial)\n"
                                             "    reveal_type(study.ask(2))\n    reveal_type(hpo.trial().report(1, loss=2))\n")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder / "cache", "user.py"], capture_output=True, text=True,
                              cwd=self.folder, env={**os.environ, "MYPYPATH": str(CLIENT)})
        self.assertEqual(re.findall(r'Revealed type is "(.*)"', done.stdout),
                         ["Union[hpo._asked_trial.AskedTrial, None]", "builtins.list[hpo._asked_trial.AskedTrial]", "builtins.str"])


class Notebook(Python):
    def run_cells(self, *cells):
        """Runs a notebook with these cells without a browser, and returns the outputs of each."""
        (self.folder / "cells.json").write_text(json.dumps([textwrap.dedent(cell) for cell in cells]))
        return json.loads(self.python("""
            import asyncio, json, logging
            from jupyter_client.manager import AsyncKernelManager
            import nbclient, nbformat
            cells = [nbformat.v4.new_code_cell(cell) for cell in json.load(open("cells.json"))]
            notebook = nbformat.v4.new_notebook(cells=cells)
            kernels = AsyncKernelManager(kernel_name="python3", transport="ipc")
            nbclient.NotebookClient(notebook, km=kernels, timeout=TIMEOUT).execute(cwd=".")
            print(json.dumps([cell.outputs for cell in cells]))
            """.replace("TIMEOUT", str(int(DEADLINE * 2))), JUPYTER_RUNTIME_DIR=str(self.folder / "jupyter"),
                                      IPYTHONDIR=str(self.folder / "ipython")))

    @unittest.skipUnless(has("nbclient", "ipykernel"), "no nbclient or no ipykernel")
    def test_a_notebook_searches_shows_its_results_and_runs_a_cell_twice(self):
        search = """
            study = hpo.Study("nb", space={"lr": hpo.Float(0, 1), "act": ["<i>"]}, objective="loss", trials=8, epochs=5, stopping=[])
            study.optimize(train, 3)
            """
        cells = self.run_cells("""
            import hpo
            def train(trial):
                for epoch in trial.epochs(10):
                    trial.report(epoch, loss=trial.params.lr + 1 / epoch)
            """, search, search, "study", "study.trials", """
            def stopped(trial):
                trial.report(1, loss=trial.params.lr + 1)
                raise KeyboardInterrupt
            try:
                study.optimize(stopped, 1)
            except KeyboardInterrupt:
                pass
            study.optimize(train, progress=False)
            print([trial.number for trial in study.trials], study.done)
            study.close()
            study
            """)
        self.assertEqual(cells[0], [])
        for cell, trial in ((cells[1], 3), (cells[2], 6)):
            [progress] = cell  # one output, which has changed in place
            self.assertRegex(progress["data"]["text/html"], r"nb  3 of 3 trials  best loss")
        self.assertIn("<svg", cells[3][0]["data"]["text/html"])
        self.assertIn("6 of 8 trials", cells[3][0]["data"]["text/html"])
        self.assertNotIn("<i>", cells[3][0]["data"]["text/html"])
        self.assertIn("<table", cells[4][0]["data"]["text/html"])
        self.assertEqual(cells[5][0]["text"], f"{list(range(1, 9))} trial budget reached\n")
        self.assertEqual(cells[5][1]["data"], {"text/plain": "<study nb: minimize loss>"})


class Document(Python):
    def test_its_examples_run_in_their_order(self):
        blocks = re.findall(r"```python\n(.*?)```", (SOURCE / "docs" / "python.md").read_text(), re.S)
        self.assertGreater(len(blocks), 5)
        out = self.python("\n".join(blocks))
        self.assertIn("Best(number=", out)
        self.assertIn("step 20: ", out)
        self.assertEqual(len(self.trials("widths")), 45)


if __name__ == "__main__":
    unittest.main(verbosity=2)
