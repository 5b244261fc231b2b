"""Exports of studies to other programs, and conversions of other programs' studies."""
import csv
import io
import json
import math
import os
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import textwrap
import unittest
import warnings
import zlib

import optuna
import yaml
from optuna.trial import TrialState

from harness import HPO, Case, wait_for

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.simplefilter("ignore")
PYTHON = sys.executable

# Trial 3 fails, trial 4 diverges, and trials 5 and 6 do not improve. If HOLD names a pipe, trials from 7 on wait until it is opened for writing.
TRAIN = """
    import os, sys
    trial, steps, lr = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    print(" ".join(sys.argv[4:]))
    for step in range(1, steps + 1):
        if trial == 3 and step == 2:
            sys.exit("no such file: data.bin")
        loss = float("nan") if trial == 4 and step == 2 else 1.0 if trial in (5, 6) else lr - step / 100
        print(f"step {step} train_loss={loss / 2!r} val_loss={loss!r}", flush=True)
        if step == 2 and trial >= 7 and "HOLD" in os.environ:
            open(os.environ["HOLD"]).close()
    """

STUDY = """\
study: mixed
seed: 5
objective: {{metric: val_loss, direction: minimize}}
space:
  lr: {{type: float, low: 0.01, high: 0.4, log: true}}
  width: {{type: int, low: 16, high: 64, step: 16}}
  depth: {{type: int, low: 1, high: 100, log: true}}
  drop: {{type: float, low: 0.0, high: 0.5, step: 0.1}}
  optimizer: {{type: categorical, choices: [adamw, "sgd, slow", 3, 2.5, true]}}
  momentum: {{type: float, low: 0.8, high: 0.99, when: {{optimizer: ["sgd, slow"]}}}}
worker:
  command: [{python}, train.py, "{{trial}}", "{{steps}}", "{{lr}}", "--optimizer={{optimizer}}", "--momentum={{momentum}}"]
budget: {{trials: {trials}, epochs: {epochs}}}
sampler: {{type: random}}
stopping: [{{rule: divergence}}, {{rule: plateau, patience: 3}}]
resources: {{parallel: {parallel}, retries: 0, trial: {{memory: 32MiB}}}}
"""

STATES = {"queued": TrialState.WAITING, "running": TrialState.RUNNING, "paused": TrialState.PRUNED, "stopped": TrialState.PRUNED,
          "complete": TrialState.COMPLETE, "diverged": TrialState.FAIL, "failed": TrialState.FAIL}


def number(value):
    """Parses a number of hpo's JSON, in which nan and infinities are strings."""
    return float(value) if isinstance(value, str) else value


class Exchange(Case):
    def mixed(self, trials=10, parallel=2, epochs=6):
        (self.folder / "train.py").write_text(textwrap.dedent(TRAIN))
        return self.study(STUDY.format(python=PYTHON, trials=trials, parallel=parallel, epochs=epochs))

    def run_mixed(self, **more):
        self.hpo("run", self.mixed(**more))
        return self.trials("mixed")

    def start_held(self, **more):
        os.mkfifo(self.folder / "hold")
        return self.start("run", self.mixed(**more), environment={"HOLD": str(self.folder / "hold")})

    def held(self):
        """Returns the trials that wait for the pipe after their second step."""
        return [t for t in self.trials_so_far("mixed") if t["trial"] >= 7 and t["state"] == "running" and t["steps"] == 2]

    def exported(self, to, name, *more, **options):
        self.hpo("export", "mixed", "--to", to, name, *more, **options)
        return self.folder / name

    def whole_trials(self):
        return [json.loads(line) for line in self.hpo("export", "mixed", "--to", "jsonl", "-").splitlines()]


class Optuna(Exchange):
    def load(self, file):
        return optuna.load_study(study_name="mixed", storage=f"sqlite:///{file}")

    def assert_alike(self, study, trials):
        """Expects each trial in Optuna to equal the one that hpo shows."""
        self.assertEqual(len(study.trials), len(trials))
        best = min((t for t in trials if t["value"] is not None and t["state"] in ("complete", "stopped")),
                   key=lambda t: t["value"], default={"trial": 0})["trial"]
        for ours, theirs in zip(trials, study.trials):
            state = TrialState.COMPLETE if ours["trial"] == best else STATES[ours["state"]]
            self.assertEqual(theirs.state, state, ours)
            self.assertEqual(theirs.number, ours["trial"] - 1)
            self.assertEqual(theirs.params, ours["params"])
            self.assertEqual({name: type(value) for name, value in theirs.params.items()},
                             {name: type(value) for name, value in ours["params"].items()})
            has_value = state in (TrialState.COMPLETE, TrialState.PRUNED) and ours["value"] is not None
            self.assertEqual(theirs.values, [ours["value"]] if has_value else None)
            curve = {} if state == TrialState.WAITING else {
                report["step"]: number(report["metrics"]["val_loss"]) for report in ours["curve"]}
            self.assertEqual(repr(theirs.intermediate_values), repr(curve))
            for name in ("trial", "state", "seed", "steps", "attempt"):
                self.assertEqual(theirs.user_attrs[name], ours[name])
            for name in ("reason", "rule", "best_step"):
                self.assertEqual(theirs.user_attrs.get(name), ours[name])
            self.assertEqual(theirs.datetime_start is None, state == TrialState.WAITING)
            self.assertEqual(theirs.datetime_complete is not None, state.is_finished())

    def test_a_finished_study_is_the_same_in_optuna_value_by_value(self):
        listed = self.run_mixed()
        self.assertEqual([t["state"] for t in listed][2:6], ["failed", "diverged", "stopped", "stopped"])
        whole = self.whole_trials()
        for trial in listed:
            self.assertEqual((trial.pop("tags"), trial.pop("notes")), ([], []))
        self.assertEqual([{name: t[name] for name in listed[0]} for t in whole], listed)
        study = self.load(self.exported("optuna", "out.db"))
        self.assert_alike(study, whole)
        self.assertEqual(study.direction, optuna.study.StudyDirection.MINIMIZE)
        self.assertEqual(study.user_attrs["metric"], "val_loss")
        best = json.loads(self.hpo("best", "mixed", "--format", "json"))
        self.assertEqual((study.best_trial.number + 1, study.best_value), (best["trial"], best["value"]))
        self.assertEqual(study.trials[2].user_attrs["reason"], listed[2]["reason"])
        self.assertTrue(math.isnan(study.trials[3].intermediate_values[2]))
        with_momentum = [t for t in study.trials if "momentum" in t.params]
        self.assertTrue(0 < len(with_momentum) < 10)
        self.assertEqual({t.params["optimizer"] for t in with_momentum}, {"sgd, slow"})

    def test_the_distributions_match_the_space(self):
        self.run_mixed(trials=4)
        found = {}
        for trial in self.load(self.exported("optuna", "out.db")).trials:
            found.update(trial.distributions)
        found.pop("momentum", None)
        self.assertEqual(found, {
            "lr": optuna.distributions.FloatDistribution(0.01, 0.4, log=True),
            "width": optuna.distributions.IntDistribution(16, 64, step=16),
            "depth": optuna.distributions.IntDistribution(1, 100, log=True),
            "drop": optuna.distributions.FloatDistribution(0.0, 0.5, step=0.1),
            "optimizer": optuna.distributions.CategoricalDistribution(["adamw", "sgd, slow", 3, 2.5, True]),
        })

    def test_optuna_resumes_an_exported_study(self):
        self.run_mixed()
        file = self.exported("optuna", "out.db")
        study = self.load(file)
        study.sampler = optuna.samplers.TPESampler(n_startup_trials=1, seed=1)
        trial = study.ask()
        self.assertEqual(trial.number, 10)
        self.assertTrue(0.01 <= trial.suggest_float("lr", 0.01, 0.4, log=True) <= 0.4)
        trial.report(0.5, 1)
        study.tell(trial, 0.5)
        study.optimize(lambda t: t.suggest_float("lr", 0.01, 0.4, log=True) - 1, n_trials=2)
        again = self.load(file)
        self.assertEqual(len(again.trials), 13)
        self.assertGreaterEqual(again.best_trial.number, 11)
        self.assertLess(again.best_value, 0)

    def test_the_database_has_the_layout_that_optuna_creates(self):
        self.run_mixed(trials=2)
        file = self.exported("optuna", "out.db")
        made = self.folder / "made.db"
        optuna.create_study(storage=f"sqlite:///{made}")

        def layout(path):
            connection = sqlite3.connect(path)
            tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
            columns = {table: [row[1:4] for row in connection.execute(f"pragma table_info({table})")] for table in tables}
            fixed = {table: connection.execute(f"select * from {table}").fetchall() for table in ("version_info", "alembic_version")}
            self.assertEqual(connection.execute("pragma integrity_check").fetchall(), [("ok",)])
            self.assertEqual(connection.execute("pragma foreign_key_check").fetchall(), [])
            connection.close()
            return columns, fixed

        self.assertEqual(layout(file), layout(made))

    def test_a_running_study_is_exported_in_its_current_state(self):
        child = self.start_held(trials=9, parallel=2)
        held = wait_for(self.held)
        study = self.load(self.exported("optuna", "during.db"))
        self.assertIn("which continues", self.error)
        states = {t.state for t in study.trials}
        self.assertIn(TrialState.RUNNING, states)
        running = study.trials[held[0]["trial"] - 1]
        self.assertEqual(running.state, TrialState.RUNNING)
        self.assertEqual(sorted(running.intermediate_values), [1, 2])
        self.assertIsNone(running.datetime_complete)
        opened = os.open(self.folder / "hold", os.O_RDWR)  # does not wait for a reader
        self.addCleanup(os.close, opened)
        self.assertEqual(child.wait(60), 0, child.stderr.read())
        self.assertEqual(len(self.trials("mixed")), 9)

    def test_unfinished_trials_of_a_killed_study_are_enqueued_in_optuna(self):
        child = self.start_held(trials=9)
        wait_for(lambda: len(self.held()) == 2)
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.assert_nobody_left(within=10)
        whole = self.whole_trials()
        left = [t for t in whole if t["state"] == "queued"]
        self.assertEqual(len(left), 2)
        study = self.load(self.exported("optuna", "out.db"))
        self.assert_alike(study, whole)
        trial = study.ask()
        self.assertEqual(trial.number, left[0]["trial"] - 1)
        self.assertEqual(trial.suggest_float("lr", 0.01, 0.4, log=True), left[0]["params"]["lr"])
        trial.report(0.25, 1)
        study.tell(trial, 0.25)


class Import(Exchange):
    def test_a_study_of_optuna_is_the_same_in_hpo_and_its_database_unchanged(self):
        file = self.folder / "optuna.db"
        study = optuna.create_study(study_name="my study", storage=f"sqlite:///{file}", direction="maximize", sampler=optuna.samplers.RandomSampler(seed=1))

        def train(trial):
            rate = trial.suggest_float("rate", 0.01, 1, log=True)
            trial.suggest_int("width", 16, 64, step=16)
            if trial.suggest_categorical("kind", ["a", None, True]) == "a":
                trial.suggest_float("share", 0, 0.5, step=0.1)
            trial.set_user_attr("host", "here")
            for step in range(3):
                trial.report(rate * (step + 1), step)
                if trial.number % 7 == 6 and step == 1:
                    raise optuna.TrialPruned()
            if trial.number % 5 == 4:
                raise ValueError("no data")
            return rate * 3

        study.optimize(train, n_trials=20, catch=(ValueError,))
        study.enqueue_trial({"rate": 0.1})
        before = file.read_bytes()
        told = self.hpo("import", file)
        for parts in (("20 ", "'my study'", "my-study"), ("share", "kind = a"), ("1 trial ", "left out"), ("20 ", "user attributes"), ("warm_start: [my-study]",)):
            self.assert_mentions(told, *parts)
        self.assertEqual(file.read_bytes(), before)
        trials = self.trials("my-study")
        self.assertEqual(len(trials), 20)
        for one, other in zip(study.trials, trials):
            self.assertEqual(other["params"], one.params, other)
            self.assertEqual(other["state"], {TrialState.COMPLETE: "complete", TrialState.PRUNED: "stopped", TrialState.FAIL: "failed"}[one.state])
            whole = json.loads(self.hpo("show", f"my-study/{other['trial']}", "--json"))
            self.assertEqual([(r["step"] - 1, r["metrics"]["value"]) for r in whole["curve"]], list(one.intermediate_values.items()))
            if one.value is not None:
                self.assertEqual(other["value"], one.value)
        self.hpo("import", file, status=1)
        self.assertIn("--name", self.error)
        self.hpo("import", file, "--name", "again")
        self.hpo("import", file, "--study", "yours", status=1)
        self.assertIn("my study", self.error)

        for command in (("convert", file), ("check", file), ("run", file)):
            self.hpo(*command, status=1)
            self.assert_mentions(self.error, "optuna.db", "hpo import")

        # Others learn from it, and it goes on.
        (self.folder / "t.py").touch()
        learning = self.study("study: next\nobjective: {metric: loss, direction: minimize}\nspace:\n  rate: {type: float, low: 0.01, high: 1, log: true}\n"
                                "  width: {type: int, low: 16, high: 64, step: 16}\nworker: {command: [python3, t.py, '{rate}', '{width}']}\nwarm_start: [my-study]\n")
        self.assert_mentions(self.hpo("check", learning), "my-study", "20 trials", "rate, width")
        self.hpo("check", learning, "--set", "warm_start=[optuna.db]", status=1)
        self.assert_mentions(self.error, "warm_start", "hpo import optuna.db")
        asked = subprocess.run([HPO, "ask-tell", "my-study", "--set", "budget.trials=21"], input='{"ask": 1}\n', capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(json.loads(asked.stdout)["trials"][0]["trial"], 21, asked.stderr)


class Tables(Exchange):
    def test_csv_equals_the_output_of_ls_cell_by_cell(self):
        listed = self.run_mixed()
        text = self.hpo("export", "mixed", "--to", "csv", "-")
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
        self.assertEqual(len(rows), len(listed))
        for row, trial in zip(rows, listed):
            self.assertEqual((row["trial"], row["state"], row["steps"]), (str(trial["trial"]), trial["state"], str(trial["steps"])))
            self.assertEqual(row["reason"], trial["reason"] or "")
            for name in ("lr", "width", "depth", "drop", "momentum"):
                cell = row["params." + name]
                self.assertEqual(float(cell) if cell else None, trial["params"].get(name))
            self.assertEqual(row["params.optimizer"].lower(), str(trial["params"]["optimizer"]).lower())
            for name, value in trial["values"].items():
                self.assertEqual(repr(float(row["values." + name])), repr(float(number(value))))
        self.assertEqual(self.exported("csv", "out.csv").read_bytes().decode(), text.replace("\n", "\r\n"))
        self.assertEqual(self.exported("jsonl", "out.jsonl").read_text(), self.hpo("export", "mixed", "--to", "jsonl", "-"))

    def test_an_existing_output_is_refused_and_set_aside_with_force(self):
        self.run_mixed(trials=2)
        for to in ("csv", "jsonl", "optuna"):
            (self.folder / to).write_text("precious")
            self.exported(to, to, status=1)
            self.assertIn(f"hpo: {to}: already exists; choose another name, or add --force", self.error)
            self.assertEqual((self.folder / to).read_text(), "precious")
            self.exported(to, to, "--force")
            self.assertNotEqual((self.folder / to).read_bytes(), b"precious")
            [aside] = self.folder.glob(to + ".old-*")
            self.assertIn(aside.name, self.error)
            self.assertEqual(aside.read_text(), "precious")
        (self.folder / "logs").mkdir()
        (self.folder / "logs" / "mine").write_text("precious")
        self.exported("tensorboard", "logs", status=1)
        self.exported("tensorboard", "logs", "--force")
        [aside] = self.folder.glob("logs.old-*")
        self.assertEqual((aside / "mine").read_text(), "precious")

    def test_a_full_disk_leaves_no_partial_output(self):
        self.run_mixed(trials=2, epochs=1000)

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (35_000, 35_000))  # SQLite's shared memory needs 32 KiB to read a study

        before = sorted(os.listdir(self.folder))
        for to in ("jsonl", "optuna", "tensorboard"):
            done = subprocess.run([HPO, "export", "mixed", "--to", to, "out"], cwd=self.folder, capture_output=True, text=True,
                                  preexec_fn=small_files)
            self.assertEqual(done.returncode, 1, to + done.stderr)
            self.assertRegex(done.stderr, r"^hpo: out(/\S+)?: .*(limit|full|I/O|cannot)")
            self.assertEqual(sorted(os.listdir(self.folder)), before)
        with open("/dev/full", "w") as full:
            done = subprocess.run([HPO, "export", "mixed", "--to", "csv", "-"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left on device", done.stderr)

    def test_invalid_arguments_are_usage_errors(self):
        self.run_mixed(trials=1)
        self.hpo("export", "mixed", "--to", "excel", "out", status=2)
        self.hpo("export", "mixed", "--to", "optuna", "-", status=2)
        self.assert_mentions(self.error, "csv", "jsonl", "- (standard")
        self.hpo("export", "mixed", "out.csv", status=2)
        self.hpo("export", "mixd", "--to", "csv", "-", status=1)
        self.assert_mentions(self.error, "'mixed'")
        self.hpo("export", "mixed", "--to", "csv", "no/such/folder/out.csv", status=1)
        self.assertIn("No such file or directory", self.error)


# A reader of TensorBoard's files, written by their specifications: TFRecord frames, CRC-32C, protocol buffers.
CRC = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    CRC.append(byte)


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """Decodes a protocol buffer into a map from field numbers to lists of values."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif key & 7 == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            assert key & 7 == 2, key
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        found.setdefault(key >> 3, []).append(value)
    return found


def events_of(folder):
    [file] = folder.glob("events.out.tfevents.*")
    data, at, events = file.read_bytes(), 0, []
    while at < len(data):
        [size, sum_of_size] = struct.unpack_from("<QI", data, at)
        assert sum_of_size == masked_crc(data[at:at + 8])
        record = data[at + 12:at + 12 + size]
        assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc(record)
        events.append(fields(record))
        at += 16 + size
    assert events[0][3] == [b"brain.Event:2"]
    return events[1:]


def values_of(event):
    for summary in event.get(5, []):
        for value in fields(summary)[1]:
            yield fields(value)


def hparams_of(value):
    plugin = fields(fields(value[9][0])[1][0])
    assert plugin[1] == [b"hparams"] and fields(value[8][0])[1] == [1]
    return fields(plugin[2][0])


class TensorBoard(Exchange):
    def test_every_step_of_every_trial_is_read_back_with_valid_checksums(self):
        self.run_mixed()
        folder = self.exported("tensorboard", "logs")
        whole = self.whole_trials()
        self.assertEqual(sorted(p.name for p in folder.glob("trial-*")), [f"trial-{t['trial']:04}" for t in whole])
        for trial in whole:
            read = {}
            times = []
            for event in events_of(folder / f"trial-{trial['trial']:04}"):
                times.append(event[1][0])
                for value in values_of(event):
                    if 2 in value:
                        read.setdefault(event[2][0], {})[value[1][0].decode()] = value[2][0]
            expected = {report["step"]: {name: struct.unpack("<f", struct.pack("<f", number(value)))[0]
                                         for name, value in report["metrics"].items()} for report in trial["curve"]}
            mine = {step: {name: value for name, value in values.items() if not name.startswith("hpo/")} for step, values in read.items()}
            self.assertEqual(repr(sorted(mine.items())), repr(sorted(expected.items())))
            self.assertEqual(times, sorted(times))

    def test_the_table_of_trials_has_parameters_metrics_and_outcomes(self):
        trials = self.run_mixed()
        folder = self.exported("tensorboard", "logs")
        [event] = events_of(folder)
        [value] = values_of(event)
        self.assertEqual(value[1], [b"_hparams_/experiment"])
        experiment = fields(hparams_of(value)[2][0])
        names = [fields(info)[1][0].decode() for info in experiment[4]]
        self.assertEqual(names, ["lr", "width", "depth", "drop", "optimizer", "momentum"])
        self.assertEqual([fields(info)[4][0] for info in experiment[4]], [3, 3, 3, 3, 1, 3])
        self.assertEqual([fields(fields(info)[1][0])[2][0] for info in experiment[5]], [b"val_loss", b"step", b"train_loss"])
        for trial in trials:
            found = {v[1][0]: hparams_of(v) for e in events_of(folder / f"trial-{trial['trial']:04}") for v in values_of(e) if 9 in v}
            params = {}
            for entry in fields(found[b"_hparams_/session_start_info"][3][0])[1]:
                entry = fields(entry)
                held = fields(entry[2][0])
                params[entry[1][0].decode()] = held[2][0] if 2 in held else held[3][0].decode()
            self.assertEqual(params, {name: str(value).lower() if name == "optimizer" else float(value)
                                      for name, value in trial["params"].items()})
            status = fields(found[b"_hparams_/session_end_info"][4][0])[1][0]
            self.assertEqual(status, 2 if trial["state"] in ("failed", "diverged") else 1)


class NotStarted(Case):
    def test_trials_that_have_not_started_are_left_out_and_counted(self):
        """Once `ready` is there, one launch trains a trial; the others exit before they say hello."""
        script = self.folder / "train.py"
        script.write_text("import os, sys\nif not os.path.exists(sys.argv[1]):\n    sys.exit(3)\nos.remove(sys.argv[1])\n"
                          "import hpo\nhpo.trial().report(1, loss=1e-9)\n")
        self.study(f"""
study: small
objective: {{metric: loss, direction: minimize}}
space: {{lr: {{type: float, low: 0.1, high: 1}}}}
worker: {{command: [{PYTHON}, {script}, {self.folder / "ready"}]}}
budget: {{trials: 2, epochs: 1}}
resources: {{retries: 0, parallel: 1}}
""")
        self.hpo("run", "study.yaml", status=1)
        for to, what in (("mlflow", "started"), ("tensorboard", "started"), ("wandb", "ended")):
            self.hpo("export", "small", "--to", to, to, status=1)
            self.assertIn(f"no trial of small has {what}, so there is nothing to write for {to}: go on with hpo run small", self.error)
            self.assertFalse((self.folder / to).exists())
        (self.folder / "ready").touch()
        self.hpo("run", "study.yaml", status=1)
        self.hpo("export", "small", "--to", "mlflow", "out")
        self.assert_mentions(self.error, "1 trial", "small", "out; 1", "not started")
        [value] = self.folder.glob("out/*/*/tags/hpo.value")
        self.assertEqual(float(value.read_text()), 1e-9)
        self.hpo("export", "small", "--to", "wandb", "offline")
        self.assert_mentions(self.error, "1 trial", "small", "offline; 1", "not ended")
        self.hpo("export", "small", "--to", "csv", "all.csv")
        self.assert_mentions(self.error, "2 trials", "small", "all.csv")


class MLflow(Exchange):
    def test_every_step_of_every_trial_is_read_back_as_mlflow_reads_it(self):
        """By the layout of mlflow/store/tracking/file_store.py."""
        self.run_mixed()
        root = self.exported("mlflow", "mlruns")
        [experiment] = root.iterdir()
        meta = yaml.safe_load((experiment / "meta.yaml").read_text())
        self.assertEqual((meta["name"], meta["experiment_id"], meta["lifecycle_stage"]), ("mixed", experiment.name, "active"))
        runs = {}
        for run in (path for path in experiment.iterdir() if path.is_dir()):
            info = yaml.safe_load((run / "meta.yaml").read_text())
            self.assertEqual((info["run_id"], info["experiment_id"]), (run.name, experiment.name))
            self.assertRegex(run.name, "^[a-f0-9]{32}$")
            runs[int((run / "tags/hpo.trial").read_text())] = run, info
        whole = self.whole_trials()
        self.assertEqual(sorted(runs), [trial["trial"] for trial in whole])
        for trial in whole:
            run, info = runs[trial["trial"]]
            self.assertEqual(info["status"], 4 if trial["state"] in ("failed", "diverged") else 3)
            self.assertEqual({file.name for file in (run / "params").iterdir()}, set(trial["params"]))
            read = {}
            for file in (run / "metrics").iterdir():
                for line in file.read_text().splitlines():
                    time, value, step = line.split(" ")
                    self.assertGreaterEqual(int(time), info["start_time"])
                    read.setdefault(int(step), {})[file.name] = float(value)
            expected = {report["step"]: {name: number(value) for name, value in report["metrics"].items()} for report in trial["curve"]}
            self.assertEqual({step: sorted(map(repr, values.items())) for step, values in read.items()},
                             {step: sorted(map(repr, ((name, float(value)) for name, value in values.items())))
                              for step, values in expected.items()})


def log_of(file):
    """Yields the records of a run of W&B, by leveldb's doc/log_format.md and the header and checksums of wandb/sdk/internal/datastore.py."""
    log = file.read_bytes()
    assert struct.unpack_from("<4sHB", log) == (b":W&B", 0xBEE1, 0), log[:7]
    at, record = 7, b""
    while at < len(log):
        left = 32768 - at % 32768
        if left < 7:
            assert not any(log[at:at + left])
            at += left
            continue
        checksum, size, part = struct.unpack_from("<IHB", log, at)
        data = log[at + 7:at + 7 + size]
        assert zlib.crc32(log[at + 6:at + 7 + size]) == checksum and size + 7 <= left
        at += 7 + size
        record += data
        if part in (1, 4):
            yield record
            record = b""
    assert record == b""


def fields_of(message):
    """Yields the numbers and values of a message's fields, by protobuf.dev/programming-guides/encoding."""
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    at = 0
    while at < len(message):
        key = varint()
        assert key & 7 in (0, 2), key
        value = varint()
        if key & 7 == 2:
            value, at = message[at:at + value], at + value
        yield key >> 3, value


def items_of(message, field=1):
    items = (dict(fields_of(value)) for number, value in fields_of(message) if number == field)
    return {item[1].decode(): json.loads(item[16]) for item in items}


class Wandb(Exchange):
    def test_every_step_of_every_trial_is_read_back_from_the_offline_runs(self):
        self.run_mixed()
        runs = {}
        for folder in self.exported("wandb", "offline").iterdir():
            self.assertRegex(folder.name, r"^offline-run-\d{8}_\d{6}-[0-9a-f]{12}$")
            records = [dict(fields_of(record)) for record in log_of(folder / f"run-{folder.name.split('-')[3]}.wandb")]
            self.assertEqual([record[1] for record in records], list(range(1, len(records) + 1)))
            run = next(dict(fields_of(record[17])) for record in records if 17 in record)
            self.assertEqual((run[1].decode(), run[3].decode()), (folder.name.split("-")[3], "mixed"))
            summary = next(items_of(record[3]) for record in records if 3 in record)
            steps = [items_of(record[2]) for record in records if 2 in record]
            code = next(dict(fields_of(record[18]))[1] for record in records if 18 in record)
            runs[summary["hpo/trial"]] = items_of(run[4]), steps, summary, code
        whole = self.whole_trials()
        self.assertEqual(sorted(runs), [trial["trial"] for trial in whole])
        for trial in whole:
            config, steps, summary, code = runs[trial["trial"]]
            self.assertEqual(config, trial["params"])
            self.assertEqual(code, 1 if trial["state"] in ("failed", "diverged") else 0)
            self.assertEqual(summary["hpo/state"], trial["state"])
            self.assertEqual([step["_step"] for step in steps], [report["step"] for report in trial["curve"]])
            for step, report in zip(steps, trial["curve"]):
                read = {name: repr(float(value)) for name, value in step.items() if not name.startswith("_")}
                self.assertEqual(read, {name: repr(float(number(value))) for name, value in report["metrics"].items()})


SWEEP = """\
program: train.py
method: bayes
metric: {name: val_loss, goal: minimize}
run_cap: 5
early_terminate: {type: hyperband, min_iter: 3}
parameters:
  lr: {distribution: log_uniform_values, min: 0.01, max: 0.5}
  layers: {values: [[8, 8], [16]]}
  optimizer: {values: [adam, sgd], probabilities: [0.9, 0.1]}
  nesterov: {values: [true, false]}
  epochs: {value: 4}
command: ["${env}", "${interpreter}", "${program}", "${args_no_boolean_flags}"]
"""

WITH_ARGUMENTS = """
    import argparse, ast
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float)
    parser.add_argument("--layers", type=ast.literal_eval)
    parser.add_argument("--optimizer", choices=["adam", "sgd"])
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--nesterov", action="store_true")
    args = parser.parse_args()
    print(args)
    import wandb
    with wandb.init(config={"lr": 9, "momentum": 0.5}) as run:
        config = wandb.config
        assert (config.lr, config.momentum, config.layers, config.epochs) == (args.lr, 0.5, args.layers, 4), config
        for epoch in range(config.epochs):
            wandb.log({"val_loss": config.lr / (epoch + 1) + sum(config.layers), "picture": wandb.Image(None)})
    """

SPACE = """\
{
\t"lr": {"_type": "loguniform", "_value": [0.01, 0.5]},
\t"model": {"_type": "choice", "_value": [{"_name": "conv", "kernel": {"_type": "randint", "_value": [1, 5]}}, {"_name": "linear"}]}
}
"""

EXPERIMENT = """\
experimentName: example
searchSpaceFile: space.json
trialCommand: {python} train.py
trialConcurrency: 2
maxTrialNumber: 6
tuner: {{name: Random, classArgs: {{optimize_mode: minimize}}}}
assessor: {{name: Medianstop, classArgs: {{start_step: 20}}}}
"""

WITH_NNI = """
    import nni
    params = nni.get_next_parameter()
    for epoch in range(3):
        nni.report_intermediate_result({"default": params["lr"] - epoch, "x": 1})
    model = params["model"]
    nni.report_final_result(params["lr"] + (model["kernel"] if isinstance(model, dict) else 0))
    """


class Convert(Exchange):
    def write(self, text, name):
        (self.folder / name).write_text(textwrap.dedent(text))

    def test_a_wandb_sweep_runs_the_unchanged_script(self):
        self.write(SWEEP, "sweep.yaml")
        self.write(WITH_ARGUMENTS, "train.py")
        self.hpo("convert", "sweep.yaml", "-o", "study.yaml")
        self.assertRegex(self.error, r"(?m)^sweep\.yaml:9: choices are equally likely here")
        self.assert_mentions(self.error, "study.yaml", "written", "hpo check study.yaml")
        self.assertIn("asha", self.hpo("check", "study.yaml"))
        self.hpo("run", "study.yaml")
        trials = self.trials("sweep")
        self.assertEqual(len(trials), 5)
        self.assertLessEqual({t["state"] for t in trials}, {"complete", "stopped"})
        self.assertIn(4, {t["steps"] for t in trials})
        for trial in trials:
            log = self.hpo("logs", f"sweep/{trial['trial']}")
            params = trial["params"]
            self.assertIn(f"lr={params['lr']}, layers={params['layers']}, optimizer='{params['optimizer']}'", log)
            self.assertIn(f"nesterov={params['nesterov']})", log)

    def test_a_configuration_of_hydras_sweeper_runs_the_script_with_its_overrides(self):
        self.write("""
            defaults:
              - override hydra/sweeper: optuna
            hydra:
              sweeper:
                direction: [minimize, maximize]
                n_trials: 4
                params:
                  opt.lr: tag(log, interval(0.001, 0.1))
                  +layers: choice([8, 8], [16], null)
                  name: choice('a b', plain)
            """, "config.yaml")
        self.write("""
            import sys
            given = dict(word.split("=", 1) for word in sys.argv[1:])
            print(sorted(given.items()))
            print(f"result_1={given['opt.lr']} result_2={len(given['+layers'])}")
            """, "train.py")
        self.hpo("convert", "config.yaml", "-o", "study.yaml")
        self.assert_mentions(self.error, "result_1, result_2", "returns")
        self.hpo("check", "study.yaml")
        self.hpo("run", "study.yaml")
        trials = self.trials("config")
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        for trial in trials:
            params = trial["params"]
            self.assertAlmostEqual(trial["values"]["result_1"], params["opt.lr"], 5)
            log = self.hpo("logs", f"config/{trial['trial']}")
            self.assertIn(str(("+layers", params["layers"])), log)
            self.assertIn(str(("name", params["name"])), log)
            self.assertIn("('hydra.run.dir', '/", log)

    def test_an_nni_experiment_runs_and_its_results_are_read(self):
        self.write(EXPERIMENT.format(python=PYTHON), "config.yml")
        self.write(SPACE, "space.json")
        self.write(WITH_NNI, "train.py")
        study = self.hpo("convert", "config.yml")
        self.assert_mentions(self.error, "config.yml:3: shim: nni")
        self.hpo("check", self.study(study))
        self.hpo("run", "study.yaml")
        trials = self.trials("example")
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        for trial in trials:
            params = trial["params"]
            self.assertEqual(trial["steps"], 4)
            self.assertAlmostEqual(trial["values"]["default"], params["lr"] + params.get("model.kernel", 0))
            self.assertEqual("model.kernel" in params, params["model"] == "conv")

    def test_exit_codes_and_error_places_are_like_those_of_other_commands(self):
        self.write(SWEEP.replace("min: 0.01", "min: 1"), "sweep.yaml")
        self.hpo("convert", "sweep.yaml", status=1)
        self.assert_mentions(self.error, "sweep.yaml:7:3: 'lr': ", "minimum (1)", "above", "maximum (0.5)")
        self.write(SWEEP, "sweep.yaml")
        self.hpo("convert", "sweep.yaml", "--from", "nni", status=1)
        self.hpo("convert", "sweep.yaml", "--from", "ray", status=2)
        self.hpo("convert", "no.yaml", status=1)
        self.assertIn("no.yaml: No such file or directory", self.error)
        self.write("precious", "study.yaml")
        self.hpo("convert", "sweep.yaml", "-o", "study.yaml", status=1)
        self.assertEqual((self.folder / "study.yaml").read_text(), "precious")
        self.hpo("convert", "sweep.yaml", "-o", "study.yaml", "--force")
        [aside] = self.folder.glob("study.yaml.old-*")
        self.assertEqual(aside.read_text(), "precious")


if __name__ == "__main__":
    unittest.main(verbosity=2)
