"""hpo harms nothing of the user's: files of trials, studies of refused commands, outputs, moved folders, closed descriptors, paths that are not UTF-8."""
import json
import os
import pathlib
import resource
import subprocess
import sys
import unittest

from harness import DEADLINE, HPO, Case, synthetic, wait_for

SCRIPT = """\
study: script
objective: {{metric: loss, direction: minimize}}
space:
  x: {{type: float, low: 0.0, high: 1.0}}
worker:
  command: [bash, train.sh, "{{x}}", "{{folder}}", "{{trial}}"]
budget: {{trials: {trials}, epochs: 1}}
sampler: {{type: random}}
resources: {{parallel: 2, retries: 0, trial: {{memory: 16MiB}}}}
{more}
"""


def contents(folder):
    """Returns the files below a folder with their contents. It leaves out files without content of their own: the lock, and
    SQLite's shared memory and empty log, which SQLite creates again."""
    def has_no_content(path):
        return path.name in ("lock", "study.db-shm") or path.name == "study.db-wal" and path.stat().st_size == 0

    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(pathlib.Path(folder).rglob("*")) if not has_no_content(path)}


class Folders(Case):
    def script(self, trials=12, more=""):
        (self.folder / "train.sh").write_text(
            'echo model > "$2/model.pt"\n'
            'if [ "$3" = 5 ]; then echo why > "$2/debug.txt"; exit 3; fi\n'
            'echo "loss=$1"\n')
        return self.study(SCRIPT.format(trials=trials, more=more))

    def test_files_of_scripts_are_kept_unless_keep_removes_them(self):
        self.hpo("run", self.script())
        folders = self.folder / "runs" / "script" / "checkpoints"
        self.assertEqual(len(list(folders.glob("*/model.pt"))), 12)
        self.assertEqual((folders / "trial-0005" / "debug.txt").read_text(), "why\n")
        self.assertIn("checkpoints/trial-0005", self.hpo("show", "script", 5))
        study = self.script(trials=13, more="keep: {folders: best 2}")
        self.assert_mentions(self.hpo("check", study), "best 2", "folders")
        self.hpo("run", study)
        best = sorted((trial["params"]["x"], trial["trial"]) for trial in self.trials("script") if trial["state"] == "complete")
        self.assertEqual(sorted(path.name for path in folders.iterdir()),
                         sorted(f"trial-{number:04}" for _, number in best[:2]))
        self.assertNotIn("checkpoints/trial-0005", self.hpo("show", "script", 5))

    def test_the_best_five_checkpoints_of_native_trials_are_kept_over_two_sessions(self):
        study = self.study(synthetic(trials=8, epochs=4, more="stopping: [{rule: asha, grace: 1, factor: 2}]"))
        for trials in (8, 16):
            self.hpo("run", study, "--trials", trials)
            left = [path.name for path in (self.folder / "runs/small/checkpoints").rglob("*") if path.is_file()]
            self.assertEqual(left, ["best.ckpt"] * 5)


class Refused(Case):
    def test_a_refused_run_leaves_the_study_unchanged(self):
        study = self.study(synthetic(trials=2, epochs=1))
        nowhere = ["--set", "resources.devices=[GPU-nowhere]"]
        self.hpo("run", study, *nowhere, status=1)
        self.assertFalse((self.folder / "runs").exists(), "of a new study nothing stays")
        self.hpo("run", study)
        before = contents(self.folder / "runs")
        for options in (nowhere, ["--set", "space.lr.high=0.05"], ["--set", "objective.metric=val_accuracy"],
                        [*nowhere, "--fresh"]):
            self.hpo("run", study, "--trials", 3, *options, status=1)
            self.assertEqual(contents(self.folder / "runs"), before, options)
        self.assertNotIn("nowhere", self.hpo("best", "small"))

    def test_a_fresh_start_that_fails_halfway_restores_the_earlier_study(self):
        study = self.study(synthetic(trials=1, epochs=1))
        self.hpo("run", study)
        before = contents(self.folder / "runs")
        done = subprocess.run([HPO, "run", study, "--fresh"], cwd=self.folder, capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(contents(self.folder / "runs"), before, done.stderr)


class Outputs(Case):
    def test_no_command_overwrites_a_file_and_force_sets_it_aside(self):
        self.hpo("run", self.study(synthetic(trials=1, epochs=1)))
        best = self.study(self.hpo("best", "small"), "best.yaml")
        sweep = self.study("method: random\nmetric: {name: loss, goal: minimize}\n"
                           "parameters: {lr: {min: 0.1, max: 0.2}}\nprogram: train.py\n", "sweep.yaml")
        out = self.folder / "out"
        for command in (["train", best, "-o", out], ["convert", sweep, "-o", out],
                        ["export", "small", "--to", "csv", out]):
            for path in self.folder.glob("out*"):
                path.unlink()
            out.write_text("precious")
            self.hpo(*command, status=1)
            self.assert_mentions(self.error, "already", "exists")
            self.assertEqual(out.read_text(), "precious", command)
            self.hpo(*command, "--force")
            aside, = self.folder.glob("out.old-*")
            self.assertEqual(aside.read_text(), "precious")
            self.assertIn(str(aside), self.error)
            self.assertNotEqual(out.read_bytes(), b"precious")

    def test_training_removes_only_its_own_files_next_to_the_weights(self):
        self.hpo("run", self.study(synthetic(trials=1, epochs=1)))
        best = self.study(self.hpo("best", "small"), "best.yaml")
        parts = self.folder / "model.safetensors.parts"
        parts.mkdir()
        (parts / "notes.txt").write_text("mine")
        self.hpo("train", best)
        self.assertEqual([path.name for path in parts.iterdir()], ["notes.txt"])


class Moved(Case):
    LONG = synthetic(trials=1000, epochs=1000, samples=20000)

    def begin(self):
        child = self.start("run", self.study(self.LONG))
        wait_for(lambda: self.trials_so_far("small"))
        return child

    def test_row_49_a_folder_removed_during_the_run_ends_it_with_an_error(self):
        child = self.begin()
        # A worker may create a file meanwhile.
        wait_for(lambda: subprocess.run(["rm", "-rf", self.folder / "runs"], check=False).returncode == 0)
        out, error = child.communicate(timeout=DEADLINE)
        self.assertEqual(child.returncode, 1, out + error)
        self.assert_mentions(error, "moved", "removed", "ran")
        self.assertNotIn("small: best ", out)

    def test_row_49_a_folder_moved_during_the_run_ends_it_and_stays_intact(self):
        first = self.begin()
        (self.folder / "runs" / "small").rename(self.folder / "moved")
        second = self.start("run", self.study(self.LONG))
        _, error = first.communicate(timeout=DEADLINE)
        self.assertEqual(first.returncode, 1, error)
        self.assert_mentions(error, "moved", "removed", "ran")
        wait_for(lambda: self.trials_so_far("small"))
        second.terminate()
        _, error = second.communicate(timeout=DEADLINE)
        self.assertEqual(second.returncode, 143, error)
        self.assert_sound("small")
        (self.folder / "runs" / "small").rename(self.folder / "second")
        (self.folder / "moved").rename(self.folder / "runs" / "small")
        self.assert_sound("small")
        self.assertTrue(self.trials("small"))


class Surroundings(Case):
    def test_closed_standard_descriptors_harm_no_file(self):
        study = self.study(synthetic(trials=2, epochs=1))
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            subprocess.run(["bash", "-c", f'exec "$0" "$@" {closed}', HPO, "run", study, "--fresh"], cwd=self.folder,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE, check=True)
            runs = self.folder / "runs" / "small"
            self.assertEqual(set(json.loads((runs / "lock").read_text())), {"pid", "host", "socket"})
            self.assertEqual((runs / "study.yaml").read_text(), study.read_text())
            self.assert_sound("small")
            self.assertEqual({trial["state"] for trial in self.trials("small")}, {"complete"})

    def test_a_folder_that_is_not_utf_8_is_refused_before_anything_is_created(self):
        odd = os.fsencode(self.folder) + b"/\xff"
        os.mkdir(odd)
        study = self.study(synthetic(trials=1, epochs=1))
        for command in (["run", study], ["train", self.study(self.best(), "best.yaml")]):
            done = subprocess.run([HPO, *command], cwd=odd, capture_output=True, text=True, timeout=DEADLINE)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("not UTF-8", done.stderr)
            self.assertEqual(os.listdir(odd), [])
        done = subprocess.run([HPO, "run", study], cwd=odd, capture_output=True, text=True, timeout=DEADLINE,
                              env={**os.environ, "HPO_RUNS": str(self.folder / "elsewhere")})
        self.assertEqual(done.returncode, 0, done.stderr)

    def best(self):
        self.hpo("run", self.study(synthetic(name="other", trials=1, epochs=1), "other.yaml"))
        return self.hpo("best", "other")

    def test_escape_codes_of_a_script_reach_neither_the_terminal_nor_the_log(self):
        (self.folder / "train.py").write_text(
            "import hpo\n"
            "trial = hpo.trial()\n"
            "trial.log('\\033[31mlog')\n"
            "trial.report(1, loss=trial.params.x)\n"
            "raise ValueError('\\033[31mred')\n")
        study = self.study(SCRIPT.format(trials=2, more="").replace(
            'command: [bash, train.sh, "{x}", "{folder}", "{trial}"]', f"command: [{sys.executable}, train.py]").replace("epochs: 1", "epochs: 2"))
        child = self.start("run", study)
        shown = "".join(child.communicate(timeout=DEADLINE))
        for command in (["show", "script", "1"], ["ls", "script"], ["ls", "script", "--json"], ["top", "script", "--once"]):
            shown += subprocess.run([HPO, *command], cwd=self.folder, capture_output=True, text=True).stdout
        shown += (self.folder / "runs" / "script" / "hpo.log").read_text()
        self.assertIn("\\x1b[31mred", shown)
        self.assertIn("\\x1b[31mlog", shown)
        self.assertNotIn("\033", shown)

    def test_escape_codes_of_a_folders_name_do_not_reach_the_terminal(self):
        odd = self.folder / "\033[31mred"
        odd.mkdir()
        (odd / "train.sh").write_text("echo loss=1\n")
        (odd / "study.yaml").write_text(SCRIPT.format(trials=1, more=""))
        shown = ""
        for command in (["check", "study.yaml"], ["check", odd / "missing.yaml"], ["run", "study.yaml"], ["run", odd / "study.yaml"],
                        ["run", odd / "missing.yaml"], ["ls"], ["ls", "script"], ["show", "script", "1"], ["show", "script"],
                        ["top", "script", "--once"], ["stop", "script"], ["logs", "none"], ["doctor"]):
            done = subprocess.run([HPO, *command], cwd=odd, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE,
                                  env={**os.environ, "HPO_RUNS": str(odd / "runs")})
            self.assertNotIn("\033", done.stdout + done.stderr, command)
            shown += done.stdout
        self.assertIn("\\x1b[31mred", shown)

    def test_named_pipes_and_linked_logs_in_a_studys_folder_are_refused_and_never_waited_for(self):
        (self.folder / "train.sh").write_text("echo loss=1\n")
        study = self.study(SCRIPT.format(trials=1, more=""))
        self.hpo("run", study)
        self.hpo("run", self.study(SCRIPT.format(trials=1, more="").replace("study: script", "study: other"), "other.yaml"))
        folder = self.folder / "runs" / "script"
        for name in ("study.db", "study.yaml", "hpo.log", "lock"):
            (folder / name).rename(folder / "aside")
            os.mkfifo(folder / name)
            self.assertIn("other", self.hpo("ls"))
            self.hpo("run", study, status=1)
            self.assert_mentions(self.error, f"{name}: ", "pipe", "not a", "regular", ": remove")
            (folder / "aside").rename(folder / name)
        (log,) = (folder / "logs").iterdir()
        log.unlink()
        for pipe in (log, folder / "notes.json"):
            os.mkfifo(pipe)
        for command in (["ls"], ["ls", "script"], ["show", "script"], ["top", "script", "--once"], ["report", "script", "-o", "page.html"], ["logs", "script/1"],
                        ["tag", "script", "good"]):
            done = subprocess.run([HPO, *command], cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE)
            if done.returncode != 0:
                self.assertIn(f"{'notes.json' if command[0] != 'logs' else log.name}: is a named pipe", done.stderr, command)
        for pipe in (log, folder / "notes.json"):
            pipe.unlink()
        precious = self.folder / "precious"
        precious.write_text("mine")
        (folder / "hpo.log").unlink()
        (folder / "hpo.log").symlink_to(precious)
        self.hpo("run", study, status=1)
        self.assert_mentions(self.error, "hpo.log: ", "symbolic")
        self.assertEqual(precious.read_text(), "mine")


if __name__ == "__main__":
    unittest.main(verbosity=2)
