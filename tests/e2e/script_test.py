"""Training scripts of users: with the Python client, unchanged, and in other languages."""
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import unittest
import unittest.mock

from harness import BUILD, SOURCE, Case, wait_for

CLIENT = SOURCE / "worker" / "python"
PYTHON = sys.executable


def script_study(command, name="script", trials=4, epochs=5, parallel=2, worker="", more="", retries=0, timeout="20s",
                 space="  lr: {type: float, low: 0.01, high: 0.4}"):
    quoted = ", ".join('"' + str(word).replace("\\", "\\\\").replace('"', '\\"') + '"' for word in command)
    return f"""\
study: {name}
objective: {{metric: val_loss, direction: minimize}}
space:
{space}
worker:
  command: [{quoted}]
{worker}
budget: {{trials: {trials}, epochs: {epochs}}}
sampler: {{type: random}}
resources: {{parallel: {parallel}, retries: {retries}, progress_timeout: {timeout}, grace: 1s, trial: {{memory: 64MiB}}}}
{more}
"""


class Script(Case):
    def script(self, text, name="train.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def run_script(self, text, status=0, **more):
        path = self.script(text)
        command = more.pop("command", [PYTHON, str(path)])
        self.out = self.hpo("run", self.study(script_study(command, **more)), status=status)
        self.messages = self.error
        return self.trials("script")


class Client(Script):
    seconds = 30

    def test_each_trial_of_a_script_with_the_client_runs_in_a_process_of_its_own(self):
        trials = self.run_script("""
            import os
            import hpo
            trial = hpo.trial(lr=0.1, momentum=0.9)
            print("process", os.getpid())
            for epoch in trial.epochs():
                for _ in range(10):
                    sum(range(200_000))  # long enough to be timed on any machine
                    trial.step()
                trial.report(epoch, val_loss=trial.params.lr / epoch, momentum=trial.params["momentum"])
            """)
        self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in trials], [("complete", 5, 1)] * 4)
        for trial in trials:
            self.assertAlmostEqual(trial["values"]["val_loss"], trial["params"]["lr"] / 5)
        self.assertIn("it/s", self.hpo("show", "script", 1))
        pids = {self.hpo("logs", f"script/{t['trial']}").split("process")[1].split()[0] for t in trials}
        self.assertEqual(len(pids), 4)
        self.assertNotIn("status", self.out + self.error)
        self.assert_nobody_left()

    def test_a_script_with_a_loop_trains_its_trials_in_one_process(self):
        trials = self.run_script("""
            import os
            import hpo
            for trial in hpo.trials(lr=0.1):
                print("process", os.getpid())
                for epoch in trial.epochs():
                    trial.report(epoch, val_loss=trial.params.lr)
            """, parallel=1)
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        lines = "".join(self.hpo("logs", f"script/{t['trial']}") for t in trials).splitlines()
        self.assertEqual((len(lines), len(set(lines))), (4, 1), lines)

    def test_a_rule_ends_a_script_early_and_a_script_with_fewer_steps_is_complete(self):
        trials = self.run_script("""
            import hpo
            with hpo.trial(lr=0.1) as trial:
                for step in range(1, 1000):
                    trial.report(step, val_loss=trial.params.lr)
                    if trial.should_stop():
                        break
            """, epochs=50, more="stopping: [{rule: plateau, patience: 2, grace: 1}]")
        self.assertEqual({t["state"] for t in trials}, {"stopped"})
        self.assertLess(max(t["steps"] for t in trials), 10)
        self.hpo("run", self.study(script_study([PYTHON, str(self.script("""
            import hpo
            trial = hpo.trial()
            trial.report(1, val_loss=1)
            trial.report(2, val_loss=2)
            """))], name="short")))
        self.assertEqual({(t["state"], t["steps"]) for t in self.trials("short")}, {("complete", 2)})

    def test_a_paused_trial_resumes_from_its_checkpoint(self):
        trials = self.run_script("""
            import hpo
            trial = hpo.trial(checkpoint=True)
            if trial.resumed:
                trial.resume_from(int(trial.checkpoint.read_text()))
                print("resumed after", trial.checkpoint.read_text())
            for epoch in trial.epochs():
                print("trains", epoch)
                trial.report(epoch, val_loss=trial.params.lr / epoch)
                trial.checkpoint.write_text(str(epoch))
            """, trials=9, epochs=9, parallel=1, more="stopping: [{rule: asha, grace: 1, factor: 3}]")
        logs = {t["trial"]: self.hpo("logs", f"script/{t['trial']}") for t in trials}
        self.assertTrue(any("resumed after" in log for log in logs.values()))
        for trial in trials:
            log = logs[trial["trial"]]
            self.assertEqual([log.count(f"trains {epoch}") for epoch in range(1, trial["steps"] + 1)], [1] * trial["steps"], log)

    def test_a_checkpoint_ahead_of_the_stored_steps_is_put_aside_and_the_trial_begins_anew(self):
        text = """
            import os
            import hpo
            trial = hpo.trial(checkpoint=True)
            if trial.resumed:
                {resume}
            for epoch in trial.epochs():
                print("trains", epoch)
                trial.report(epoch, val_loss=1 / epoch)
                if epoch == 2 and not (trial.folder / "killed").exists():
                    trial.checkpoint.write_text("5")  # as after a loss of power, which took the reports of these steps
                    (trial.folder / "killed").touch()
                    os.kill(os.getpid(), 9)
            """
        why = "its checkpoint is of step 5, but the last stored step is 2, as after a loss of power: it is kept as last.ckpt.ahead"
        trials = self.run_script(text.format(resume="trial.resume_from(int(trial.checkpoint.read_text()))"), trials=1, retries=2)
        self.assertEqual([(t["state"], t["steps"], t["attempt"], t["value"]) for t in trials], [("complete", 5, 3, 0.2)])
        trained = [line for line in self.hpo("logs", "script/1").splitlines() if line.startswith("trains")]
        self.assertEqual(trained, [f"trains {epoch}" for epoch in (1, 2, 1, 2, 3, 4, 5)])
        self.assertIn(why, self.messages + self.out)
        self.assertEqual((self.folder / "runs/script/checkpoints/trial-0001/last.ckpt.ahead").read_text(), "5")
        # A client that does not compare: no further step is reported, so that the trial is not complete.
        self.run_script(text.format(resume="trial._step = 5"), name="other", trials=1, retries=2, status=1)
        [trial] = self.trials("other")
        self.assertEqual((trial["state"], trial["steps"], trial["attempt"]), ("failed", 2, 3))
        self.assert_mentions(trial["reason"], "step 5", "none", "2", "stored step")

    def test_an_exception_in_a_loop_fails_one_trial_and_final_numbers_are_shown(self):
        trials = self.run_script("""
            import hpo
            for trial in hpo.trials():
                trial.report(1, val_loss=1)
                if trial.number == 1:
                    raise ValueError("no such layer:\\n  7")
                trial.finish(test_acc=0.75)
            """, trials=3, parallel=1)
        self.assertEqual([(t["state"], t["attempt"]) for t in trials], [("failed", 1)] + [("complete", 1)] * 2)
        self.assertTrue(trials[0]["reason"].startswith("ValueError: no such layer:\n  7\n"), trials[0]["reason"])
        self.assertIn("no such layer", self.hpo("logs", "script/1"))
        self.assertNotIn("no such layer", self.hpo("logs", "script/2"))
        self.assertEqual([t["closing"] for t in trials], [{}, {"test_acc": 0.75}, {"test_acc": 0.75}])
        self.assertRegex(self.hpo("show", "script", 2), r"final metrics +test_acc 0.75")
        self.assertIn("closing.test_acc", self.hpo("export", "script", "--to", "csv", "-"))

    def test_an_exception_fails_the_trial_with_its_last_line_and_is_not_retried(self):
        trials = self.run_script("""
            import hpo
            trial = hpo.trial()
            trial.report(1, val_loss=1)
            raise ValueError("no such layer: 7")
            """, trials=2, retries=2, status=1)
        self.assertEqual({(t["state"], t["attempt"]) for t in trials}, {("failed", 1)})
        self.assertIn("ValueError: no such layer: 7", trials[0]["reason"])

    def test_out_of_memory_is_retried_with_a_larger_reservation(self):
        trials = self.run_script("""
            import hpo
            class OutOfMemoryError(RuntimeError):
                pass
            trial = hpo.trial()
            marker = trial.folder / "marker"
            if not marker.exists():
                marker.write_text("")
                raise OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=1)
            """, trials=1)
        self.assertEqual([(t["state"], t["attempt"]) for t in trials], [("complete", 2)])

    def test_a_message_of_memory_from_the_client_comes_with_what_its_process_took(self):
        trials = self.run_script("""
            import hpo
            trial = hpo.trial()
            marker = trial.folder / "marker"
            if not marker.exists():
                marker.write_text("")
                raise MemoryError
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=1)
            """, trials=1)
        self.assertEqual([(t["state"], t["attempt"]) for t in trials], [("complete", 2)])
        log = (self.folder / "runs" / "script" / "hpo.log").read_text()
        self.assertRegex(log, r"queued again (alone, )?with [0-9.]+ MiB of memory reserved")

    def test_a_loss_that_is_not_finite_is_a_diverged_trial(self):
        trials = self.run_script("""
            import hpo
            trial = hpo.trial()
            trial.report(1, val_loss=float("nan"))
            assert trial.should_stop()
            """, trials=1, status=1)
        self.assertEqual([t["state"] for t in trials], ["diverged"])

    def test_work_after_the_last_report_is_waited_for(self):
        self.run_script("""
            import time
            import hpo
            trial = hpo.trial()
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=1)
            trial.finish(test_loss=0.25)
            time.sleep(0.3)
            open(f"model-{trial.number}", "w").write("kept")
            """, trials=3)
        self.assertEqual(len(list(self.folder.glob("model-*"))), 3)

    def test_a_hanging_script_is_ended_even_though_its_client_is_alive(self):
        trials = self.run_script("""
            import threading
            import hpo
            trial = hpo.trial()
            trial.report(1, val_loss=1)
            threading.Event().wait()
            """, trials=1, timeout="7s", status=1)
        self.assertEqual(trials[0]["state"], "failed")
        self.assert_mentions(trials[0]["reason"], "silent", "7 s")

    def test_ctrl_c_leaves_no_process_and_the_next_run_resumes(self):
        script = self.script("""
            import multiprocessing, os, time
            import hpo
            trial = hpo.trial()
            multiprocessing.Process(target=time.sleep, args=(1000,), daemon=True).start()
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
            for epoch in trial.epochs():
                time.sleep(0.02)
                trial.report(epoch, val_loss=1)
            os._exit(0)
            """)
        study = self.study(script_study([PYTHON, str(script)], trials=8))
        child = self.start("run", study)
        wait_for(lambda: any(t["steps"] for t in self.trials_so_far("script")))
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(20), 130)
        self.assert_nobody_left()
        self.hpo("run", study)
        self.assertEqual([t["state"] for t in self.trials("script")], ["complete"] * 8)
        self.assert_nobody_left()

    def test_a_script_killed_by_a_signal_is_retried(self):
        trials = self.run_script("""
            import os, signal
            import hpo
            trial = hpo.trial()
            marker = trial.folder / "marker"
            trial.report(1, val_loss=1)
            if not marker.exists():
                marker.write_text("")
                os.kill(os.getpid(), signal.SIGKILL)
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=1)
            """, trials=2, retries=1)
        self.assertEqual({(t["state"], t["attempt"]) for t in trials}, {("complete", 2)})

    def alone(self, text):
        environment = {**os.environ, "PYTHONPATH": str(CLIENT), "PYTHONDONTWRITEBYTECODE": "1"}
        for name in ("HPO_ENDPOINT", "HPO_TOKEN"):
            environment.pop(name, None)
        done = subprocess.run([PYTHON, self.script(text)], cwd=self.folder, env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_same_script_runs_alone_with_its_defaults(self):
        out = self.alone("""
            import argparse
            import hpo
            trial = hpo.trial(argparse.Namespace(lr=0.5), width=3)
            for epoch in trial.epochs(2):
                trial.report(epoch, loss=trial.params.lr * trial.params["width"])
            assert not trial.should_stop() and trial.checkpoint is None and trial.number == 0
            """)
        self.assertEqual(out, "step 1: loss=1.5\nstep 2: loss=1.5\n")

    def test_the_peak_of_a_trial_excludes_earlier_trials_of_its_process(self):
        first, second = map(int, self.alone("""
            from hpo._memory import peak
            peak.begin()
            held = bytearray(100 << 20)
            held[::4096] = b"x" * len(held[::4096])
            first = peak.bytes()
            del held
            peak.begin()
            print(first, peak.bytes())
            """).split())
        self.assertGreater(first, 100 << 20)
        self.assertLess(second, first - (80 << 20))

    def test_callbacks_for_keras_and_lightning_answer_every_hook_and_report_epochs_from_1(self):
        out = self.alone("""
            import types
            import hpo
            trial = hpo.trial()
            keras = hpo.KerasCallback(trial)
            keras.set_params({}); keras.set_model(types.SimpleNamespace(stop_training=False))
            keras.on_train_begin(); keras.on_epoch_begin(0); keras.on_train_batch_end(0, {})
            keras.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.25})
            trainer = types.SimpleNamespace(current_epoch=1, callback_metrics={"val/loss": 2}, sanity_checking=False)
            lightning = hpo.LightningCallback()
            lightning.setup(trainer, None, stage="fit"); lightning.on_fit_start(trainer, None)
            lightning.on_validation_end(trainer, None)
            """)
        self.assertEqual(out, "step 1: loss=0.5 val_loss=0.25\nstep 2: val/loss=2.0\n")


TRAIN = """
    import argparse, sys, time
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float)
    parser.add_argument("--epochs", type=int, default=5)
    arguments = parser.parse_args()
    for epoch in range(arguments.epochs):
        print(f"epoch {epoch}: loss={arguments.lr}")
        print(f"val_loss={arguments.lr / (epoch + 1)}")
    """


class Unchanged(Script):
    seconds = 25

    def run_unchanged(self, text, *arguments, status=0, **more):
        return self.run_script(text, status, command=[PYTHON, str(self.folder / "train.py"), *arguments], **more)

    def test_row_46_a_script_that_cannot_be_started_for_a_while_is_named_and_waited_for(self):
        program = self.folder / "train"
        program.write_text("#!/bin/dash\necho val_loss=$1\n")
        program.chmod(0o755)
        study = self.study(script_study([program, "{lr}"], trials=1, epochs=1))
        with open(program, "a"):  # as while it is being written
            child = self.start("run", study, "--quiet")
            log = self.folder / "runs/script/hpo.log"
            wait_for(lambda: log.exists() and "Text file busy: it is tried again for 10 minutes" in log.read_text())
        self.assertEqual(child.wait(60), 0)
        self.assertEqual([t["state"] for t in self.trials("script")], ["complete"])

    def test_a_script_with_arguments_and_prints_runs_unchanged(self):
        trials = self.run_unchanged(TRAIN, "--lr", "{lr}")
        self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in trials], [("complete", 5, 1)] * 4)
        for trial in trials:
            self.assertAlmostEqual(trial["values"]["val_loss"], trial["params"]["lr"] / 5)
        self.assertIn("epoch 4: loss=", self.hpo("logs", "script/1"))
        self.assertIn("--lr", self.hpo("best", "script"))
        self.assert_nobody_left()

    def test_a_parameter_named_seed_replaces_the_trials_seed(self):
        trials = self.run_unchanged("""
            import os, sys
            assert sys.argv[1] == os.environ["HPO_SEED"] == os.environ["HPO_PARAM_SEED"]
            print("val_loss=" + sys.argv[1])
            """, "{seed}", epochs=1, space="  seed: {type: int, low: 1, high: 1000}")
        self.assertEqual([t["values"]["val_loss"] for t in trials], [t["params"]["seed"] for t in trials])

    def test_values_are_arguments_and_never_a_shells_text(self):
        trials = self.run_unchanged("""
            import json, os, sys
            print("argument", json.dumps(sys.argv[1:]))
            print("variable", json.dumps(os.environ["HPO_PARAM_NAME"]))
            print("file", json.dumps(json.load(open(sys.argv[2]))["name"]))
            print("val_loss=1")
            """, "{name}", "{params_file}", trials=1,
            space='  name: {type: categorical, choices: [";$(touch x) `touch x`\\n-rf *"]}')
        name = ";$(touch x) `touch x`\n-rf *"
        self.assertEqual(trials[0]["params"]["name"], name)
        log = dict(line.split(" ", 1) for line in self.hpo("logs", "script/1").splitlines() if " " in line)
        self.assertEqual(json.loads(log["argument"])[0], name)
        self.assertEqual(json.loads(log["variable"]), name)
        self.assertEqual(json.loads(log["file"]), name)
        self.assertFalse((self.folder / "x").exists())

    def test_flags_lists_null_and_files_reach_a_script_with_its_own_folder_from_any_current_folder(self):
        project = self.folder / "project"
        project.mkdir()
        (project / "train.py").write_text(textwrap.dedent("""
            import json, os, sys
            print("saw", json.dumps({"arguments": sys.argv[1:], "config": json.load(open("config.json")),
                                     "params": json.load(open(sys.argv[-1])), "cwd": os.getcwd()}))
            print("val_loss=1")
            """))
        (project / "template.json").write_text('{"width": {model.hidden}, "name": "n {name}", "clip": {clip}}')
        (project / "s.yaml").write_text(textwrap.dedent("""
            study: script
            objective: {metric: val_loss, direction: minimize}
            space:
              tied: {type: categorical, choices: [true, false]}
              model.hidden: {type: categorical, choices: [[64, 64], [32]]}
              clip: {type: categorical, choices: [null, 0.5]}
            worker:
              command: [python3, train.py, "{flag:tied:--tied}", [-o, "clip={clip}"], "{params:all.json}"]
              cwd: "{folder}"
              files: {config.json: template.json}
              params: {name: 'a "b"'}
            budget: {trials: 6, epochs: 1}
            sampler: {type: random}
            resources: {parallel: 2, trial: {memory: 64MiB}}
            """))
        checked = self.hpo("check", project / "s.yaml")
        self.assert_mentions(checked, "relative", str(project))
        self.hpo("run", project / "s.yaml")
        self.hpo("run", "script", "--trials", "8")  # resumes by its name, wherever its file is, until all configurations are tried
        trials = self.trials("script")
        self.assertEqual(len(trials), 8)
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        values_tried = set()
        for trial in trials:
            params = trial["params"]
            log = dict(line.split(" ", 1) for line in self.hpo("logs", f"script/{trial['trial']}").splitlines() if " " in line)
            observed = json.loads(log["saw"])
            expected = (["--tied"] if params["tied"] else []) + (["-o", "clip=0.5"] if params["clip"] else [])
            self.assertEqual(observed["arguments"], expected + [observed["cwd"] + "/all.json"])
            self.assertEqual(observed["config"], {"width": params["model.hidden"], "name": 'n a "b"', "clip": params["clip"]})
            self.assertEqual(observed["params"], {"tied": params["tied"], "model": {"hidden": params["model.hidden"]}, "clip": params["clip"], "name": 'a "b"'})
            values_tried.update([params["tied"], params["clip"], str(params["model.hidden"])])
        self.assertEqual(values_tried, {True, False, None, 0.5, "[64, 64]", "[32]"}, "every choice was tried")
        self.assertIn('"[64, 64]"', self.hpo("export", "script", "--to", "csv", "-"))

    def test_metrics_are_read_by_patterns(self):
        trials = self.run_unchanged("""
            for i in range(5):
                print(f"{i}/5 - loss: 0.5 - val_loss: {1 / (i + 1)}")
            """, worker=r'  metrics: {stdout: ["val_loss: (?P<val_loss>\\S+)"]}')
        self.assertEqual({(t["state"], t["steps"], t["values"]["val_loss"]) for t in trials}, {("complete", 5, 0.2)})

    def test_metrics_are_read_from_a_file_that_grows(self):
        for name, lines in (("csv", "'val_loss,loss', '1,2', '0.5,1'"), ("jsonl", "'{\"val_loss\": 1}', '{\"val_loss\": 0.5}'")):
            path = self.script(f"""
                import sys
                with open(sys.argv[1] + "/metrics", "w") as file:
                    for line in [{lines}]:
                        print(line, file=file, flush=True)
                """)
            self.hpo("run", self.study(script_study([PYTHON, str(path), "{folder}"], name=name,
                                                    worker='  metrics: {file: "{folder}/metrics"}')))
            self.assertEqual({(t["state"], t["steps"], t["values"]["val_loss"]) for t in self.trials(name)}, {("complete", 2, 0.5)})

    def test_a_rule_and_the_end_of_the_budget_stop_a_script_by_term_and_then_by_kill(self):
        text = """
            import signal, time
            signal.signal(signal.SIGTERM, {handler})
            while True:
                print("val_loss=1", flush=True)
                time.sleep(0.01)
            """
        for handler in ("signal.SIG_DFL", "signal.SIG_IGN"):
            command = [PYTHON, str(self.script(text.format(handler=handler))), "{lr}"]
            for name, epochs, more, end in (("stopped", 500, "stopping: [{rule: plateau, patience: 2, grace: 1}]", "stopped"),
                                            ("short", 2, "", "complete")):
                name += handler[-3:]
                self.hpo("run", self.study(script_study(command, name=name, trials=2, epochs=epochs, more=more)))
                self.assertEqual({(t["state"], t["steps"] < 10) for t in self.trials(name)}, {(end, True)})
                self.assert_nobody_left()

    def test_its_environment_is_tuned_given_by_the_study_or_left_alone_and_is_shown(self):
        text = """
            import json, os
            names = ("OMP_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_", "PYTHONUNBUFFERED", "SECRET")
            print("saw", json.dumps([os.environ.get(name) for name in names]))
            print("val_loss=1")
            """
        shell = unittest.mock.patch.dict(os.environ, {"MALLOC_TRIM_THRESHOLD_": "12345"})
        shell.start()
        self.addCleanup(shell.stop)
        for name in ("OMP_NUM_THREADS", "PYTHONUNBUFFERED", "SECRET"):
            os.environ.pop(name, None)
        cores = len(os.sched_getaffinity(0))
        for name, key, expected in (("tuned", "{}", [str(max(1, cores // 2)), "4000000000", "1", None]),
                                ("own", "{OMP_NUM_THREADS: 7, SECRET: hidden, MALLOC_TRIM_THRESHOLD_: null}", ["7", "12345", "1", "hidden"]),
                                ("none", "'off'", [None, "12345", None, None])):
            self.script(text)
            self.hpo("run", self.study(script_study([PYTHON, "train.py"], name=name, trials=1, worker=f"  metrics: {{}}\n  environment: {key}\n")))
            log = next(line for line in self.hpo("logs", f"{name}/1").splitlines() if line.startswith("saw "))
            self.assertEqual(json.loads(log[4:]), expected)
            shown = self.hpo("show", name, 1)
            self.assertEqual("MALLOC_MMAP_THRESHOLD_" in shown, name != "none")
            self.assertEqual("environment" in shown, name != "none")
            self.assertEqual("by the study: MALLOC_TRIM_THRESHOLD_ (as hpo's), OMP_NUM_THREADS, SECRET" in shown, name == "own")
            self.assertNotIn("hidden", shown)

    def test_python_writes_whole_lines_so_that_its_processes_do_not_tear_them(self):
        site = self.folder / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text("import sys; sys.found_own = True")
        trials = self.run_unchanged("""
            import sitecustomize, sys
            whole = [stream.line_buffering and not stream.write_through for stream in (sys.stdout, sys.stderr)]
            print(f"whole={sum(whole)} own={int(sys.found_own)} seen={int(any(path.endswith('/lines') for path in sys.path))}")
            print("val_loss=1")
            """, trials=1, worker=f"  metrics: {{}}\n  environment: {{PYTHONPATH: {site}}}")
        self.assertEqual(trials[0]["values"], {"whole": 2, "own": 1, "seen": 0, "val_loss": 1})

    def test_its_failure_is_reported_with_its_last_output(self):
        trials = self.run_unchanged("print('val_loss=1'); raise ValueError('no such layer')", trials=1, status=1, worker="  metrics: {}", retries=2)
        self.assertEqual((trials[0]["state"], trials[0]["attempt"]), ("failed", 1))
        self.assertIn("status 1: ValueError: no such layer", trials[0]["reason"])

    def test_a_script_that_never_prints_the_objective_fails_with_that_reason(self):
        trials = self.run_unchanged("print('loss=1')", trials=1, status=1, worker="  metrics: {}")
        self.assert_mentions(trials[0]["reason"], "'val_loss'", "never", ", but loss")
        self.run_unchanged("print('begins'); print('validation: the loss has fallen below 0.25'); print('ends 1')", trials=1, status=1,
                           worker="  metrics: {}", name="near")
        self.assert_mentions(self.trials("near")[0]["reason"], "; the nearest line: validation: the loss has fallen below 0.25; ", "printed")

    def test_trials_that_never_began_are_not_counted_and_a_search_that_failed_is_called_failed(self):
        self.script("print('other: 1')")
        study = self.study(script_study([PYTHON, "train.py", "{lr}"], trials=8, parallel=1))
        out = self.hpo("run", study, status=1)
        self.assert_mentions(out, "from 1 trial", "script")
        [listed] = json.loads(self.hpo("ls", "--json"))["studies"]
        self.assertEqual((listed["state"], listed["begun"], listed["ended"]), ("failed", 1, 0))
        self.script("print('val_loss: 1')")
        self.assert_mentions(self.hpo("run", study), "Resuming", "1 of 8", "0")

    def test_a_script_has_changed_if_its_bytes_have_and_not_if_it_was_touched(self):
        path = self.script("print('val_loss: 1')")
        study = script_study([PYTHON, "train.py", "{lr}"], trials=2)
        self.hpo("run", self.study(study))
        os.utime(path, (2e9, 2e9))
        self.hpo("run", self.study(study), "--trials", 3)
        self.assertEqual(self.error, "")
        self.script("print('val_loss: 2')")
        os.utime(path, (0, 0))
        self.hpo("run", self.study(study), "--trials", 4)
        self.assert_mentions(self.error, "train.py", "changed", "--fresh")

    def test_the_peak_of_a_script_that_ends_at_once_is_known(self):
        trials = self.run_script("x = bytearray(200 << 20); print('val_loss: 1')", command=[PYTHON, "train.py", "{lr}"], trials=1)
        self.assertGreater(trials[0]["peak"]["host_bytes"], 200 << 20)

    def test_a_time_alone_ends_a_study(self):
        self.script("print('val_loss: 1')")
        study = script_study([PYTHON, "train.py", "{lr}"]).replace("trials: 4, ", "time: 2s, ")
        out = self.hpo("check", "--untimed", self.study(study))
        self.assert_mentions(out, "budget", "2.0", "5")
        self.hpo("run", self.study(study))
        self.assertNotIn("warning", self.error)
        [listed] = json.loads(self.hpo("ls", "--json"))["studies"]
        self.assertEqual((listed["state"], listed["budget"]["trials"]), ("finished", None))
        self.assertNotIn("/", self.hpo("ls").splitlines()[1].split()[2])
        self.assertNotIn("trials", (self.folder / "runs/script/study.yaml").read_text())

    def test_out_of_memory_is_recognised_in_the_output(self):
        trials = self.run_unchanged("""
            import os, sys
            marker = sys.argv[1] + "/marker"
            if not os.path.exists(marker):
                open(marker, "w").close()
                sys.exit("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB")
            print("val_loss=1")
            """, "{folder}", trials=1)
        self.assertEqual([(t["state"], t["attempt"]) for t in trials], [("complete", 2)])

    def test_one_message_of_memory_reserves_what_the_script_takes_and_not_the_machine(self):
        trials = self.run_unchanged("""
            import os, sys
            marker = sys.argv[1] + "/marker"
            if not os.path.exists(marker):
                open(marker, "w").close()
                raise MemoryError
            print("val_loss=1")
            """, "{folder}", trials=2)
        self.assertEqual([(t["state"], t["attempt"]) for t in trials], [("complete", 2)] * 2)
        self.assert_mentions(self.messages, "trial 1: MemoryError; ", "again", "alone", "MiB")
        self.assertNotIn("GiB of memory reserved", self.messages)

    def test_a_number_that_a_pattern_reads_in_part_is_dropped_with_a_warning(self):
        trials = self.run_unchanged("print('val_loss: 0.5'); print('val_loss: 9.3e-05'); print('val_loss: 0.25')", trials=1,
                                    worker='  metrics: {stdout: ["val_loss: (?<val_loss>[0-9.]+)"]}')
        self.assertEqual([(t["steps"], t["values"]["val_loss"]) for t in trials], [(2, 0.25)])
        self.assert_mentions(self.messages, "'9.3'", "'9.3e-05'", "not used", "{number}")
        self.assert_mentions(self.hpo("check", self.folder / "study.yaml"), "not read", "9.3e-05, nan, -0.5; {number}")

    def test_a_script_that_reports_iterations_is_distinguished_from_one_that_reports_epochs(self):
        text = "for i in range(20): print(f'loss={i}'); print(f'val_loss={20 - i}')"
        trials = self.run_unchanged(text, trials=2, worker="  metrics: {}")
        self.assertEqual({(t["state"], t["steps"]) for t in trials}, {("complete", 5)})
        notice = "ended with its 5 reports of val_loss (budget.epochs), and it had more to report: if it reports each iteration, worker: {step: 100}"
        self.assertEqual([notice in t["reason"] for t in trials], [True, True], trials[0]["reason"])
        self.assertEqual(self.messages.count(notice), 1)
        self.assert_mentions(self.messages, "2 complete", "remark")
        trials = self.run_unchanged(text, trials=2, worker="  metrics: {}\n  step: 4", name="stepped")
        trials = self.trials("stepped")
        self.assertEqual([(t["state"], t["steps"], t["reason"], t["values"]) for t in trials],
                         [("complete", 5, None, {"loss": 19, "val_loss": 1})] * 2)
        self.assertNotIn("had more", self.messages)
        self.assert_mentions(self.hpo("check", self.folder / "study.yaml"), "step", "4 reports", "val_loss", "(worker.step)")

    def test_a_script_gets_to_its_end_after_its_last_step_and_without_a_budget_of_steps(self):
        text = """
            import pathlib, sys
            for i in range(int(sys.argv[2])):
                print(f'val_loss={1 / (i + 1)}')
            print('val_loss=0.875 test_loss=0.75')
            sys.stdout.flush()
            pathlib.Path(sys.argv[3] + "/model").write_text(sys.argv[1])
            """
        trials = self.run_unchanged(text, "{lr}", "5", "{folder}", trials=2)
        self.assertEqual([(t["state"], t["steps"], t["reason"], t["closing"]) for t in trials],
                         [("complete", 5, None, {"val_loss": 0.875, "test_loss": 0.75})] * 2)
        command = [PYTHON, self.folder / "train.py", "{lr}", "24", "{folder}"]
        study = self.study(script_study(command, name="open", trials=2).replace(", epochs: 5", ""))
        self.assert_mentions(self.hpo("check", study), "2 trials", "program", "ends")
        self.hpo("run", study)
        self.assertEqual([(t["state"], t["steps"], t["reason"]) for t in self.trials("open")], [("complete", 25, None)] * 2)
        for name in ("script", "open"):
            self.assertEqual(len(list(self.folder.glob(f"runs/{name}/checkpoints/*/model"))), 2)
        self.assertRegex(self.hpo("ls", "open"), r"complete +25 ")
        self.assertRegex(self.hpo("show", "open", 1), r"val_loss +0.041\d+ at step 24\n")
        budgets = {study["study"]: study["budget"]["epochs"] for study in json.loads(self.hpo("ls", "--json"))["studies"]}
        self.assertEqual(budgets, {"script": 5, "open": None})

    def test_a_trial_whose_last_value_is_of_one_of_several_folds_fails_with_the_cure(self):
        text = "for fold in range(3): print(f'fold {fold}: val_loss = {fold / 4}')"
        trials = self.run_unchanged(text + "\nprint('mean val_loss = 0.25')", "{lr}", status=1, trials=20)
        self.assertEqual({t["state"] for t in trials if t["steps"]}, {"failed"})
        self.assert_mentions(self.messages, "fold", "objective.metric", "mean")
        study = self.study(script_study([PYTHON, self.folder / "train.py", "{lr}"], name="mean", trials=2).replace("val_loss,", "mean_val_loss,"))
        self.hpo("run", study)
        self.assertEqual([(t["state"], t["values"]["mean_val_loss"]) for t in self.trials("mean")], [("complete", 0.25)] * 2)

    def test_a_bar_that_may_count_epochs_is_told_where_no_budget_states_their_number(self):
        text = "print(*[' %d/3 [val_loss=%g]' % (i, 1 - i / 10) for i in range(1, 4)], sep='\\r')"
        study = self.study(script_study([PYTHON, "-c", text, "{lr}"], name="bar", trials=1).replace(", epochs: 5", ""))
        self.hpo("run", study)
        self.assertIn("budget.epochs", self.error)
        self.assertEqual([(t["steps"], t["values"]["val_loss"]) for t in self.trials("bar")], [(1, 0.7)])

    def test_the_output_of_a_c_program_is_read_without_delay(self):
        gate = self.folder / "gate"
        os.mkfifo(gate)
        printer = BUILD / "tests" / "support" / "quiet-printer"
        self.assertTrue(printer.exists(), f"{printer} is missing: build the target quiet-printer")  # else the gate is never opened
        child = self.start("run", self.study(script_study([printer, gate, "{lr}"], trials=1)))
        with open(gate, "wb", buffering=0) as opened:
            for step in (1, 2, 3):
                wait_for(lambda: [t["steps"] for t in self.trials_so_far("script")] == [step])
                opened.write(b"x")
            self.assertEqual(child.wait(60), 0)
        self.assertEqual([(t["state"], t["steps"]) for t in self.trials("script")], [("complete", 3)])
        log = self.hpo("logs", "script/1")
        self.assertIn("errors on a terminal: 0, controlling: 0, TERM dumb, NO_COLOR 1\n", log)
        self.assertIn("val_loss=0.333\tof step 3\n", log)
        self.assert_nobody_left()
        self.assertIn("(worker.terminal)", self.hpo("check", self.folder / "study.yaml"))

    def test_a_script_gets_a_terminal_only_on_request(self):
        self.script("import os; print('is', os.isatty(1), os.isatty(2), os.environ.get('TERM')); print('val_loss=1')")
        for use, expected in (("auto", "is False False none"), ("on", "is True False dumb"), ("off", "is False False none")):
            self.hpo("run", self.study(script_study([PYTHON, "train.py"], name=use, trials=1, worker=f"  metrics: {{}}\n  terminal: {use}")),
                     environment={"TERM": "none"})
            self.assertIn(expected + "\n", self.hpo("logs", f"{use}/1"))

    def test_seeds_are_within_the_range_of_numpy(self):
        trials = self.run_unchanged("""
            import os, sys
            assert int(sys.argv[1]) == int(os.environ["HPO_SEED"]) < 2**31 and sys.argv[2] == "5", sys.argv
            print("val_loss=1")
            """, "{seed}", "{data_seed}", more=f"seed: {2**31 + 5}")
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        trials = self.run_script("""
            import hpo
            trial = hpo.trial()
            trial.report(1, val_loss=float(trial.seed < 2**31 and trial.data_seed == 5))
            """, name="client", more=f"seed: {2**31 + 5}")
        self.assertEqual({t["values"]["val_loss"] for t in self.trials("client")}, {1})

    def test_commands_and_metrics_that_cannot_work_are_refused_before_the_run(self):
        self.script("print('val_loss=1')")
        for command, worker, message in (
                (["python3", "trian.py"], "", "there is no file trian.py in .*; did you mean 'train.py'[?]"),
                (["./tran.py", "{lr}"], "", "there is no program ./tran.py; did you mean 'train.py'[?]"),
                (["./train.py", "{lr}"], "", r"the program ./train.py cannot be executed \(chmod \+x\?\)"),
                (["no-such-program", "{lr}"], "", r"there is no program no-such-program on the path \(\$PATH\)"),
                (["python3", "train.py"], '  metrics: {stdout: ["loss: (?<loss>{number})"]}',
                 r"study.yaml:7:21: no pattern captures the objective, val_loss: add a group of that name, such as \(\?<val_loss>{number}\)")):
            study = self.study(script_study(command, worker=worker))
            for word in ("check", "run"):
                self.hpo(word, study, status=1)
                self.assertRegex(self.error, message)
                self.assertIn("study.yaml:", self.error)
        self.hpo("check", self.study(script_study(["python3", "train.py", "{seed}", "{lr:--lr}"]), "flag.yaml"), status=1)
        self.assert_mentions(self.error, "flag", "{flag:lr:--lr}")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_direction_against_the_name_of_its_metric_is_warned_of_on_lines_of_their_own(self):
        text = script_study(["/bin/echo", "val_loss={lr}"], trials=1, epochs=1).replace("minimize", "maximize")
        self.assertRegex(self.hpo("check", self.study(text)), r"\A.*study\.yaml:2:42: .*'val_loss'.*\n.*\n.* \^~*\nstudy ")
        self.hpo("run", "study.yaml", "--quiet")
        self.assertRegex(self.error, r"'val_loss'.*\n.*\n.* \^~*\n")

    def test_a_file_of_the_folder_is_not_taken_for_the_one_that_is_written_for_each_trial(self):
        self.script("""
            import json, sys
            print("val_loss:", json.load(open(sys.argv[1] if len(sys.argv) > 1 else "config.json"))["lr"])
            """)
        self.script('{"lr": {lr}}', "template.json")
        self.script('{"lr": 0.5}', "config.json")
        files = "  files: {config.json: template.json}"

        def study(*arguments, more=""):
            return self.study(script_study([PYTHON, "train.py", *arguments], worker=files + more, trials=1, epochs=1))

        for arguments in (["config.json"], ["./config.json", "--name={lr}"], ["--config=config.json", "--out={folder}"]):
            for word in ("check", "run"):
                self.hpo(word, study(*arguments), status=1)
                self.assert_mentions(self.error, "study.yaml:6:12: ", "config.json")
                self.assert_mentions(self.error, "{folder}/config.json", 'cwd: "{folder}"')
        self.assert_mentions(self.hpo("check", study("--out={folder}")), "warning: ", "script")
        self.hpo("run", study("{folder}/config.json"))
        self.assertNotIn("warning", self.error)
        self.assertLess(self.trials("script")[0]["values"]["val_loss"], 0.5)
        self.assertNotIn("warning", self.hpo("check", study("config.json", more='\n  cwd: "{folder}"')))

    def test_values_are_filled_in_variables_of_the_environment_that_the_study_sets(self):
        self.run_script("""
            import os
            print(os.environ["TEXT"], os.environ["FIXED"])
            print("val_loss:", float(os.environ["RATE"]) - float(os.environ["HPO_PARAM_LR"]))
            """, worker='  environment: {RATE: "{lr}", TEXT: "in {folder} of {trial}, {{lr}}", FIXED: 7}', trials=1, epochs=1)
        self.assertEqual(self.trials("script")[0]["values"]["val_loss"], 0)
        self.assertRegex(self.hpo("logs", "script/1"), r"in /.* of 1, [{]lr[}] 7")

    def test_a_program_without_the_protocol_and_without_placeholders_fails_with_the_cure(self):
        self.script("print('val_loss=1')")
        self.hpo("run", self.study(script_study(["python3", "train.py"])), status=1)
        self.assertIn("'metrics: {}' below 'worker'", self.error)

    def test_a_signal_is_retried_and_a_program_that_cannot_be_executed_ends_the_study_with_the_reason(self):
        trials = self.run_unchanged("import os; print('val_loss=1', flush=True); os.kill(os.getpid(), 11)", trials=1, status=1,
                                    worker="  metrics: {}", retries=1)
        self.assertEqual((trials[0]["state"], trials[0]["attempt"]), ("failed", 2))
        self.assertIn("SIGSEGV", trials[0]["reason"])
        program = self.script("#!/no/such/interpreter\n", "program")
        program.chmod(0o755)
        self.hpo("run", self.study(script_study([program, "{lr}"], name="missing")), status=1)
        self.assert_mentions(self.error, "program", "/no/such/interpreter", "not there")

    def test_a_silent_script_is_ended_after_the_progress_timeout(self):
        trials = self.run_unchanged("import time; print('val_loss=1', flush=True); time.sleep(1000)", trials=1, status=1,
                                    worker="  metrics: {}", timeout="1s")
        self.assert_mentions(trials[0]["reason"], "silent", "1 s")
        self.assert_nobody_left()

    def test_row_50_a_quiet_script_is_not_ended_while_its_processes_compute(self):
        trials = self.run_unchanged("""
            import os, time
            if os.fork() == 0:
                if os.fork() == 0:  # detached, since its parent ends at once
                    os.setsid()
                    while time.process_time() < 3.5:
                        pass
                    open("computed", "w").close()
                os._exit(0)
            while not os.path.exists("computed"):
                time.sleep(0.02)
            print("val_loss=1")
            """, trials=1, worker="  metrics: {}", timeout="3s")
        self.assertEqual([(t["state"], t["reason"]) for t in trials], [("complete", None)])
        self.assert_mentions(self.hpo("check", self.folder / "study.yaml"), "3.0 s", "(resources.progress_timeout)")

    def test_a_flood_of_output_and_grandchildren_that_hold_the_output_do_no_harm(self):
        trials = self.run_unchanged("""
            import os, sys, time
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
            sys.stdout.write("x" * 5_000_000 + "\\n")
            sys.stdout.buffer.write(bytes(range(256)) * 100 + b"\\n")
            for i in range(100000):
                print("loss=1")
            for i in range(5):
                print("val_loss=1")
            """, worker="  metrics: {}", trials=2)
        self.assertEqual({(t["state"], t["steps"]) for t in trials}, {("complete", 5)})
        self.assert_nobody_left()

    def test_ctrl_c_and_a_kill_of_hpo_leave_no_process_and_the_next_run_resumes(self):
        path = self.script("""
            import subprocess, time
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            for i in range(5):
                time.sleep(0.03)
                print("val_loss=1", flush=True)
            """)
        study = self.study(script_study([PYTHON, str(path)], trials=12, worker="  metrics: {}"))
        for end, status in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
            child = self.start("run", study)
            wait_for(lambda: any(t["state"] == "running" and t["steps"] for t in self.trials_so_far("script")))
            child.send_signal(end)
            self.assertEqual(child.wait(20), status)
            self.assert_nobody_left()
        self.hpo("run", study)
        self.assertEqual([(t["state"], t["steps"]) for t in self.trials("script")], [("complete", 5)] * 12)
        self.assert_nobody_left()

    def test_a_script_with_the_client_can_run_as_an_unchanged_one(self):
        trials = self.run_unchanged("""
            import sys
            import hpo
            trial = hpo.trial(lr=float(sys.argv[1]))
            for epoch in trial.epochs(5):
                trial.report(epoch, val_loss=trial.params.lr)
            """, "{lr}")
        self.assertEqual({(t["state"], t["steps"]) for t in trials}, {("complete", 5)})


class ClientAnywhere(Script):
    """A script with the client in a study whose output hpo would otherwise read."""

    SCRIPT = """
            import hpo
            trial = hpo.trial(lr=7)
            print("val_loss=99")
            for epoch in trial.epochs(100):
                print("epoch", epoch, "val_loss=99", flush=True)
                trial.report(epoch, val_loss=trial.params.lr + epoch)
            trial.finish(test=trial.params.lr)
            """
    MODES = {"argument": (["--out={folder}"], ""), "cwd": ([], '  cwd: "{folder}"\n'), "metrics": ([], "  metrics: {}\n"),
             "files": ([], "  files: {config.yaml: template.yaml}\n"), "environment": ([], '  environment: {RATE: "{lr}"}\n'),
             "preload": (["{lr}"], "  preload: [json]\n"), "terminal": (["{lr}"], "  terminal: on\n"),
             "pattern": ([], "  metrics: {stdout: ['nothing (?<val_loss>{number})']}\n"),
             "file": ([], '  metrics: {file: "{folder}/no.csv"}\n')}

    def modes(self, script, more=""):
        self.script(script)
        (self.folder / "template.yaml").write_text("lr: {lr}\n")
        for name, (arguments, worker) in self.MODES.items():
            self.hpo("run", self.study(script_study([PYTHON, "train.py", *arguments], name, trials=2, worker=worker, more=more)))
            yield name, self.trials(name)

    def test_it_trains_the_trials_values_and_reports_them_in_every_mode(self):
        for name, trials in self.modes(self.SCRIPT):
            for trial in trials:
                lr = trial["params"]["lr"]
                self.assertEqual((trial["state"], trial["steps"], trial["closing"]), ("complete", 5, {"test": lr}), name)
                self.assertEqual(trial["values"], {"val_loss": lr + 1}, name)

    def test_rules_stop_it_and_an_exception_is_its_reason(self):
        self.script("""
            import hpo
            trial = hpo.trial()
            for epoch in trial.epochs(100):
                trial.report(epoch, val_loss=trial.number + epoch)
            print("stopped after", epoch)
            """)
        study = script_study([PYTHON, "train.py", "{lr}"], trials=3, parallel=1, more="stopping: [{rule: median, grace: 1, min_trials: 1}]")
        self.hpo("run", self.study(study))
        trials = self.trials("script")
        self.assertEqual([(t["state"], t["steps"]) for t in trials], [("complete", 5)] + [("stopped", trials[1]["steps"])] * 2)
        self.assertIn(f"stopped after {trials[1]['steps']}", self.hpo("logs", "script/2"))
        self.script("import hpo; trial = hpo.trial(); trial.report(1, val_loss=1); raise KeyError('no such key')")
        self.hpo("run", self.study(script_study([PYTHON, "train.py", "{lr}"], "raises", trials=2)), status=1)
        self.assertEqual({t["reason"].splitlines()[0] for t in self.trials("raises")}, {"KeyError: 'no such key'"})

    def test_it_resumes_from_its_checkpoint_after_a_kill(self):
        self.script("""
            import os
            import hpo
            trial = hpo.trial(checkpoint=True)
            if trial.resumed:
                trial.resume_from(int(trial.checkpoint.read_text()))
            for epoch in trial.epochs():
                print("trains", epoch)
                trial.report(epoch, val_loss=epoch)
                trial.checkpoint.write_text(str(epoch))
                if epoch == 2 and not trial.resumed:
                    os.kill(os.getpid(), 9)
            """)
        self.hpo("run", self.study(script_study([PYTHON, "train.py", "--out={folder}"], trials=1, retries=1)))
        self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in self.trials("script")], [("complete", 5, 2)])
        trained = [line for line in self.hpo("logs", "script/1").splitlines() if line.startswith("trains")]
        self.assertEqual(trained, [f"trains {epoch}" for epoch in (1, 2, 3, 4, 5)])

    def test_it_may_take_its_values_from_the_client_and_print_its_metrics(self):
        for worker in ("", "  metrics: {stdout: ['loss (?<val_loss>{number})']}\n"):
            name = f"printed{len(worker)}"
            self.script("""
            import hpo
            with hpo.trial(lr=7) as trial:
                for epoch in range(5):
                    print(f"val_loss={trial.params.lr + epoch} loss {trial.params.lr + epoch}", flush=True)
                trial.finish(test=2)
            """)
            self.hpo("run", self.study(script_study([PYTHON, "train.py", "{lr}"], name, trials=2, worker=worker)))
            for trial in self.trials(name):
                self.assertEqual((trial["steps"], trial["values"]["val_loss"]), (5, trial["params"]["lr"]), name)
                self.assertEqual(trial["closing"]["test"], 2)

    def test_metrics_read_where_the_study_says_count_if_they_come_before_a_report(self):
        gate = self.folder / "gate"
        os.mkfifo(gate)
        self.script("""
            import hpo
            trial = hpo.trial()
            print("loss 1", flush=True)
            open("gate").read()
            for epoch in (1, 2):
                trial.report(epoch, val_loss=0)
                assert not trial.should_stop()
            print("loss 2", flush=True)
            """)
        worker = "  metrics: {stdout: 'loss (?<val_loss>{number})'}\n"
        child = self.start("run", self.study(script_study([PYTHON, "train.py"], trials=1, worker=worker)))
        wait_for(lambda: [t["steps"] for t in self.trials_so_far("script")] == [1])
        gate.write_text("")
        self.assertEqual(child.wait(60), 0)
        [trial] = self.trials("script")
        self.assertEqual((trial["state"], trial["steps"], trial["values"]["val_loss"]), ("complete", 2, 1))
        self.assertEqual(self.hpo("logs", "script/1").count("reports is not used"), 1)

    def test_ranks_get_the_values_with_a_launcher_and_without(self):
        self.script("""
            import os, subprocess, sys
            import hpo
            rank = os.environ.get("LOCAL_RANK", "0")
            trial = hpo.trial(lr=7)
            children = [subprocess.Popen([sys.executable, *sys.argv], env={**os.environ, "LOCAL_RANK": "1"})] if rank == "0" else []
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=trial.params.lr)
            print(f"rank {rank} lr {trial.params.lr} epoch {epoch}\\n", end="", flush=True)  # at once: two processes have one log
            for child in children:
                assert child.wait() == 0
            """)
        for name, arguments in (("read", ["{lr}"]), ("own", [])):
            self.hpo("run", self.study(script_study([PYTHON, "train.py", *arguments], name, trials=2)))
            for trial in self.trials(name):
                lr = trial["params"]["lr"]
                self.assertEqual(trial["values"]["val_loss"], lr)
                self.assertEqual(sorted(self.hpo("logs", f"{name}/{trial['trial']}").splitlines()),
                                 [f"rank {rank} lr {lr} epoch 5" for rank in (0, 1)])

    def test_a_launcher_may_notice_the_end_of_rank_0_late(self):
        self.script("""
            import os, select, subprocess, sys
            if "RANK" not in os.environ:
                status = subprocess.call([sys.executable, __file__], env={**os.environ, "RANK": "0"})
                select.select([], [], [], 4)  # as torchrun, which looks at its ranks every few seconds
                sys.exit(status)
            import hpo
            trial = hpo.trial(lr=7)
            trial.report(1, val_loss=trial.params.lr)
            """)
        self.hpo("run", self.study(script_study([PYTHON, "train.py"], trials=1)))
        [trial] = self.trials("script")
        self.assertEqual((trial["state"], trial["steps"], trial["attempt"]), ("complete", 1, 1))

    def test_a_cleared_environment_and_a_missing_objective_end_the_study_with_the_reason(self):
        self.script(self.SCRIPT)
        for name, arguments in (("read", ["{lr}"]), ("own", [])):
            command = ["env", "-i", f"PYTHONPATH={CLIENT}", PYTHON, "train.py", *arguments]
            self.hpo("run", self.study(script_study(command, name)), status=1)
            self.assert_mentions(self.error, "RuntimeError: hpo.trial(): ", "script")
        self.script(self.SCRIPT.replace("val_loss", "loss"))
        for name, arguments in (("read2", ["{lr}"]), ("own2", [])):
            self.hpo("run", self.study(script_study([PYTHON, "train.py", *arguments], name, trials=40, parallel=1)), status=1)
            self.assert_mentions(self.error, "never", "objective", "'val_loss'", ", but loss, test")
            self.assertEqual(len(self.trials(name)), 1)


class Trust(Script):
    def test_row_13_a_script_inherits_no_descriptors_and_row_33_its_socket_is_private(self):
        text = """
            import os, stat, sys
            print("has", sorted(os.listdir("/proc/self/fd"), key=int), flush=True)
            """
        client = text + """
            folder = os.path.dirname(os.environ["HPO_ENDPOINT"])
            about = [oct(stat.S_IMODE(os.stat(folder).st_mode)), os.stat(folder).st_uid == os.getuid()]
            import hpo
            trial = hpo.trial()
            print("folder", about, "inherits", [name for name in ("HPO_ENDPOINT", "HPO_TOKEN") if name in os.environ])
            print("has", sorted(os.listdir("/proc/self/fd"), key=int))
            trial.report(1, val_loss=1)
            """
        self.run_script(client, trials=1, parallel=1)
        log = self.hpo("logs", "script/1")
        self.assertIn("folder ['0o700', True] inherits []", log)
        self.assertRegex(log, r"has \['0', '1', '2', '3', '4', '\d'\]")  # its listener and its connection, and the folder that it lists
        self.script(textwrap.dedent(text) + "print('val_loss=1')")
        self.hpo("run", self.study(script_study([PYTHON, "train.py"], name="unchanged", trials=1, worker="  metrics: {}")))
        self.assertIn("has ['0', '1', '2', '3']", self.hpo("logs", "unchanged/1"))

    def test_row_17_messages_of_an_older_attempt_are_not_used(self):
        trials = self.run_script("""
            import json, os
            import hpo
            trial = hpo.trial()
            if trial._id["attempt"] == 1:
                trial.report(1, val_loss=0.5)
                os.kill(os.getpid(), 9)
            late = {"type": "report", "trial": trial.number, "attempt": 1, "step": 2, "metrics": {"val_loss": 0.001}}
            trial._link.send(late)
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=1)
            """, trials=2, retries=1)
        self.assertEqual({(t["state"], t["attempt"], t["values"]["val_loss"]) for t in trials}, {("complete", 2, 1)})

    def test_row_32_secrets_of_the_environment_reach_the_script_and_are_stored_nowhere(self):
        secret = "s3cr3t-of-the-shell"
        self.script("""
            import os
            assert os.environ["API_KEY"] == "s3cr3t-" + "of-the-shell"
            print("val_loss=1")
            """)
        for preload in ("", "  preload: [json]\n"):
            name = "kept" + preload[2:9]
            self.hpo("run", self.study(script_study([PYTHON, "train.py"], name=name, trials=2, worker="  metrics: {}\n" + preload)),
                     environment={"API_KEY": secret})
            for file in (self.folder / "runs").rglob("*"):
                if file.is_file():
                    self.assertNotIn(secret.encode(), file.read_bytes(), file)


class Installed(Script):
    @unittest.skipIf(subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True).returncode, "no pip")
    def test_the_client_is_installed_by_pip_from_the_tree_without_a_network(self):
        shutil.copytree(CLIENT, self.folder / "tree")
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation", "--no-deps",
                        "--disable-pip-version-check", "--root-user-action=ignore", "--target", self.folder / "site", self.folder / "tree"],
                       check=True, capture_output=True, timeout=120)
        script = self.script("""
            import hpo
            assert hpo.__file__.endswith("site/hpo/__init__.py"), hpo.__file__
            trial = hpo.trial(lr=0.5)
            trial.report(1, loss=trial.params.lr)
            """)
        done = subprocess.run([PYTHON, script], env={**os.environ, "PYTHONPATH": str(self.folder / "site")}, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (0, "step 1: loss=0.5\n"), done.stderr)
        self.assertTrue((self.folder / "site/hpo/py.typed").exists())


class Examples(Script):
    def ready(self, name):
        for folder in ("studies", "worker"):
            os.symlink(SOURCE / folder, self.folder / folder)
        self.hpo("run", f"studies/{name}.yaml")
        trials = self.trials(name)
        self.assertEqual(len(trials), 12)
        self.assertNotIn("failed", {t["state"] for t in trials})
        self.assertLess(min(t["values"]["val_loss"] for t in trials if "val_loss" in t["values"]), 0.1)
        self.assert_nobody_left()

    def test_the_ready_study_of_a_script_with_the_client_runs(self):
        self.ready("script-client")

    def test_the_ready_study_of_an_unchanged_script_runs(self):
        self.ready("script-unchanged")

    @unittest.skipUnless(shutil.which("nc"), "no nc for Unix sockets")
    def test_the_ready_study_of_a_worker_in_bash_runs(self):
        self.ready("script-bash")

    def other_language(self, command):
        self.hpo("run", self.study(script_study(command)))
        self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in self.trials("script")], [("complete", 5, 1)] * 4)
        self.hpo("run", self.study(script_study(command, name="stopped", epochs=50,
                                                more="stopping: [{rule: plateau, patience: 2, min_delta: 1, grace: 1}]")))
        self.assertEqual({t["state"] for t in self.trials("stopped")}, {"stopped"})
        self.assertNotIn("ignored", self.error)
        self.assert_nobody_left()

    @unittest.skipUnless(shutil.which("cc"), "no C compiler")
    def test_the_worker_in_c_runs(self):
        client = self.folder / "client"
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", client, SOURCE / "worker/examples/client.c"], check=True)
        self.other_language([client])

    @unittest.skipUnless(shutil.which("nc"), "no nc for Unix sockets")
    def test_the_worker_in_bash_runs(self):
        self.other_language([SOURCE / "worker/examples/client.sh"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
