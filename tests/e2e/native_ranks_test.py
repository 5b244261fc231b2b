"""Native trials that several processes train together (resources.trial.processes)."""
import json
import os
import pathlib
import re
import signal
import unittest

from harness import Case, processes_of, synthetic, wait_for


def native(processes, name="ranks", trials=2, epochs=4, batch_size=64, model="{type: mlp, hidden: [16]}", **more):
    text = synthetic(name, trials=trials, epochs=epochs, parallel=1, **more)
    text = text.replace("batch_size: 256", f"batch_size: {batch_size}").replace("{type: mlp, hidden: [16]}", model)
    text = text.replace("sampler:", "policy: {min_batch_size: 1}\nsampler:")
    # Four processes share the two cores of a small machine.
    return text.replace("{parallel: 1}", f"{{parallel: 1, trial: {{processes: {processes}, cores: 0.25}}}}")


def slow(processes, name, trials=1, epochs=30):
    """A study whose steps take some hundredths of a second, so that it can be met in the middle."""
    return native(processes, name, trials, epochs, model="{type: mlp, hidden: [256]}", samples=20000)


def arguments_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


class NativeRanks(Case):
    seconds = 18

    def curves(self, name):
        return [json.loads(self.hpo("show", name, str(t["trial"]), "--json"))["curve"] for t in self.trials(name)]

    def ranks(self):
        """Returns the pids of rank 0 and of the others."""
        lead, others = [], []
        for pid in processes_of(self.folder):
            arguments = arguments_of(pid)
            if "--follow" in arguments:
                others.append(pid)
            elif arguments and arguments[0].endswith("hpo-worker"):
                lead.append(pid)
        return lead, others

    def test_one_two_and_four_processes_find_the_same_losses(self):
        for model in ("{type: mlp, hidden: [16]}", "{type: mlp, hidden: [32, 32], norm: batch, ghost_batch: 16}"):
            curves = {}
            for processes in (1, 2, 4):
                name = f"of{processes}"
                text = native(processes, name, model=model)
                self.hpo("run", self.study(text if processes > 1 else text.replace(", cores: 0.25", "")), "--fresh")
                curves[processes] = self.curves(name)
                self.assert_nobody_left()
            for processes in (2, 4):
                for one, other in zip(curves[1], curves[processes], strict=True):
                    for step, its in zip(one, other, strict=True):
                        for metric in ("loss", "val_loss"):
                            self.assertAlmostEqual(step["metrics"][metric], its["metrics"][metric], delta=1e-5)
                        self.assertNotIn("communication", step)
                        self.assertTrue(0 < its["communication"] <= 1, its)
        self.assertRegex(self.hpo("show", "of4", "1"), r"communication +\d+ % of the training time")
        self.assertNotIn("communication", self.hpo("show", "of1", "1"))

    def test_trials_of_many_tiny_updates_follow_each_other_in_one_worker(self):
        # Windows of tiny models grow while rank 0 trains, and its trainer serves the next trial, too.
        values = {}
        for processes in (1, 2):
            text = native(processes, f"tiny{processes}", trials=5, epochs=2, batch_size=16, samples=6000,
                          model="{type: mlp, hidden: [4]}")
            self.hpo("run", self.study(text if processes > 1 else text.replace(", cores: 0.25", "")))
            trials = self.trials(f"tiny{processes}")
            self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in trials], [("complete", 2, 1)] * 5)
            values[processes] = [t["value"] for t in trials]
        for one, other in zip(values[1], values[2], strict=True):
            self.assertAlmostEqual(one, other, delta=1e-5)

    def test_whoever_is_killed_the_trial_goes_on_from_its_checkpoint(self):
        self.hpo("run", self.study(slow(2, "calm")))
        expected = [step["metrics"] for step in self.curves("calm")[0]]
        for victim in ("rank 1", "rank 0", "supervisor", "hpo"):
            with self.subTest(victim):
                name = victim.replace(" ", "-")
                study = self.study(slow(2, name))
                session = self.start("run", study)
                wait_for(lambda: any(t["steps"] >= 3 for t in self.trials_so_far(name)))
                lead, others = self.ranks()
                self.assertEqual((len(lead), len(others)), (1, 1))
                parent = int(pathlib.Path(f"/proc/{lead[0]}/stat").read_text().rsplit(")", 1)[1].split()[1])
                os.kill({"rank 0": lead[0], "rank 1": others[0], "supervisor": parent,
                         "hpo": session.pid}[victim], signal.SIGKILL)
                out, error = session.communicate()
                if victim == "hpo":
                    wait_for(lambda: not processes_of(self.folder))
                    self.hpo("run", study)
                else:
                    self.assertEqual(session.returncode, 0, out + error)
                trial = self.trials(name)[0]
                self.assertEqual((trial["state"], trial["steps"], trial["attempt"]), ("complete", 30, 2))
                self.assertEqual([step["metrics"] for step in self.curves(name)[0]], expected)
                log = (self.folder / f"runs/{name}/logs/trial-0001.log").read_text()
                self.assertIn("resumes after step", log)
                if victim == "rank 1":
                    self.assert_mentions(log, victim, "killed", "signal 9")
                self.assert_nobody_left()
                self.assert_sound(name)

    def test_each_process_runs_on_cores_of_its_own(self):
        session = self.start("run", self.study(slow(2, "bound")))
        wait_for(lambda: any(t["steps"] >= 2 for t in self.trials_so_far("bound")))
        lead, others = self.ranks()
        own, its = (os.sched_getaffinity(pid) for pid in lead + others)  # of the threads that compute
        session.send_signal(signal.SIGINT)
        session.communicate()
        if len(os.sched_getaffinity(0)) > 1:
            self.assertEqual((len(own), own & its), (len(its), set()))
        else:
            self.assertEqual(own, its)

    def test_a_stopped_search_leaves_nobody_and_goes_on(self):
        study = self.study(slow(2, "ranks", trials=2))
        session = self.start("run", study)
        wait_for(lambda: any(t["steps"] >= 2 for t in self.trials_so_far("ranks")))
        session.send_signal(signal.SIGINT)
        session.communicate()
        self.assertEqual(session.returncode, 130)
        self.assert_nobody_left()
        self.hpo("run", study)
        self.assertEqual([(t["state"], t["steps"]) for t in self.trials("ranks")], [("complete", 30)] * 2)
        self.assert_nobody_left()

    def test_hosts_each_run_whole_trials(self):
        study = self.study(native(2, trials=2).replace("parallel: 1", "parallel: 2"))
        self.hpo("run", study, "--on", "local:2")
        trials = self.trials("ranks")
        self.assertEqual([(t["state"], t["steps"]) for t in trials], [("complete", 4)] * 2)
        self.assertTrue(all(step["communication"] > 0 for curve in self.curves("ranks") for step in curve))
        self.assert_nobody_left()

    def test_the_plan_counts_all_processes(self):
        def needed(processes):
            out = self.hpo("check", self.study(native(processes, f"plan{processes}")))
            return float(re.search(r"([\d.]+) MiB of memory, data included", out)[1]), out
        one, _ = needed(2)
        two, out = needed(4)
        self.assertTrue(1.7 < two / one < 2.1, (one, two))
        self.assertIn("4 processes", out)

    def test_what_cannot_be_divided_is_refused_before_anything_starts(self):
        for changes, text in (
                ({"batch_size": 9}, "a 'batch_size' of 9 cannot be divided among the 4 processes of "
                                    "'resources.trial.processes': use a multiple of 4"),
                ({"model": "{type: trees}"}, "trees grow in one process: remove 'resources.trial.processes'")):
            study = self.study(native(4, **changes))
            for command in ("check", "run"):
                self.hpo(command, study, status=1)
                self.assertIn(text, self.error)
                self.assertRegex(self.error, r"study\.yaml:\d+:\d+: ")
        self.assertFalse((self.folder / "runs").exists())
        for resources, text in (
                ("trial: {processes: 2}, backend: cuda", "train on the CPU, and 'resources.backend' is cuda"),
                ("trial: {processes: 2}, slots: 2", "'resources.trial.processes' and 'resources.slots' exclude"),
                ("trial: {processes: 2, memory: 1GiB}", "'resources.trial.memory' is for scripts"),
                ("trial: {cores: 2}", "'resources.trial.cores' of the native worker is for"),
                ("trial: {processes: 1, cores: 2}", "'resources.trial.cores' of the native worker is for")):
            self.hpo("check", self.study(synthetic().replace("parallel: 2", resources)), status=1)
            self.assertIn(text, self.error)
        text = native(60).replace("training: {batch_size: 64}", "training: {}")
        self.hpo("check", self.study(text), status=1)
        line, column = next((number, line.index("60") + 1) for number, line in enumerate(text.splitlines(), 1)
                            if "processes: 60" in line)
        self.assert_mentions(self.error,
                             f"study.yaml:{line}:{column}: ", "256 samples", "not", "60 processes", "'worker.training.batch_size'", "multiple", "240")


if __name__ == "__main__":
    unittest.main()
