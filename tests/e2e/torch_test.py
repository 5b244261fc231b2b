"""Training scripts with PyTorch: the ready studies, data loaders that survive a kill, and memory that runs out. Needs Debian's python3-torch."""
import importlib.util
import os
import signal
import textwrap
import unittest

from harness import SOURCE, Case, processes_of, wait_for
from script_test import PYTHON, script_study

PRELOAD = "  preload: [torch, torch.utils.data]\n"

LOADER = """
    import os, signal, sys, time
    import torch
    from torch.utils.data import DataLoader

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 4096
        def __getitem__(self, index):
            return torch.tensor([float(index)])

    def stubborn(worker):
        # A loader that is stuck in a read: it notices neither TERM nor the end of its parent.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        torch.utils.data.get_worker_info().dataset.__class__.__getitem__ = {stuck}

    loader = DataLoader(Data(), 256, num_workers=2, persistent_workers=True, worker_init_fn=stubborn)
    """
WELL = "lambda data, index: torch.tensor([float(index)])"
STUCK = "lambda data, index: time.sleep(1000) if index > 2048 else torch.tensor([float(index)])"
SLOW = "lambda data, index: (time.sleep(0.0002), torch.tensor([float(index)]))[1]"


@unittest.skipUnless(importlib.util.find_spec("torch"), "python3-torch is not installed")
class Torch(Case):
    def search(self, text, command=(), worker=PRELOAD, status=0, **more):
        (self.folder / "train.py").write_text(text)
        study = self.study(script_study([PYTHON, "train.py", *command], worker=worker, **more))
        self.hpo("run", study, status=status)
        self.messages = self.error
        return self.trials("script")

    def script(self, body, stuck=WELL):
        return textwrap.dedent(LOADER).replace("{stuck}", stuck) + textwrap.dedent(body)


class Ready(Torch):
    seconds = 18

    def ready(self, name):
        for folder in ("studies", "worker"):
            os.symlink(SOURCE / folder, self.folder / folder)
        programs = self.folder / "programs"
        programs.mkdir()
        os.symlink(PYTHON, programs / "python3")  # the interpreter that has torch, even if another is first on PATH
        self.hpo("run", f"studies/{name}.yaml", environment={"PATH": f"{programs}:{os.environ['PATH']}"})
        self.assertNotIn("worker.preload is not used", self.error)
        trials = self.trials(name)
        self.assertNotIn("failed", {t["state"] for t in trials})
        self.assertGreater(max(t["values"].get("val_accuracy", 0) for t in trials), 0.8)
        self.assert_nobody_left()
        return trials

    def test_the_ready_study_with_the_client_resumes_from_its_checkpoints(self):
        trials = self.ready("torch-client")
        self.assertEqual(len(trials), 8)
        self.assertGreater(max(t["attempt"] for t in trials), 1)

    def test_the_ready_study_of_an_unchanged_script_runs(self):
        self.assertEqual({t["state"] for t in self.ready("torch-unchanged")} - {"complete", "stopped"}, set())


class Loaders(Torch):
    seconds = 29

    CLIENT = """
        import hpo
        trial = hpo.trial()
        for epoch in trial.epochs():
            total = sum(batch.sum().item() for batch in loader)
            trial.report(epoch, val_loss=total)
        """
    PRINTS = """
        for epoch in range(5):
            print("val_loss=%g" % sum(batch.sum().item() for batch in loader), flush=True)
        """

    def test_loaders_that_survive_their_script_are_killed(self):
        for name, body, worker in (("client", self.CLIENT, ""), ("forked", self.CLIENT, PRELOAD),
                                   ("prints", self.PRINTS, "  metrics: {}\n"), ("both", self.PRINTS, "  metrics: {}\n" + PRELOAD)):
            (self.folder / "train.py").write_text(self.script(body + "\n        os._exit(0)\n"))
            self.hpo("run", self.study(script_study([PYTHON, "train.py"], name=name, worker=worker, trials=2)))
            self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in self.trials(name)], [("complete", 5, 1)] * 2)
            self.assert_nobody_left()

    def test_a_script_that_waits_for_stuck_loaders_is_ended_with_them(self):
        trials = self.search(self.script(self.PRINTS, STUCK), worker="  metrics: {}\n" + PRELOAD, trials=1, timeout="3s", status=1)
        self.assert_mentions(trials[0]["reason"], "silent", "3 s")
        self.assert_nobody_left()

    def test_a_killed_script_with_loaders_is_retried(self):
        trials = self.search(self.script("""
            import hpo
            trial = hpo.trial()
            for epoch in trial.epochs():
                for batch in loader:
                    if epoch == 2 and not (trial.folder / "died").exists():
                        (trial.folder / "died").write_text("")
                        os.kill(os.getpid(), signal.SIGKILL)
                trial.report(epoch, val_loss=1)
            os._exit(0)
            """), trials=2, retries=1)
        self.assertEqual({(t["state"], t["steps"], t["attempt"]) for t in trials}, {("complete", 5, 2)})
        self.assert_nobody_left()

    def test_killing_hpo_leaves_no_script_or_loader_and_the_next_run_resumes(self):
        (self.folder / "train.py").write_text(self.script(self.CLIENT + "\n        os._exit(0)\n", SLOW))
        study = self.study(script_study([PYTHON, "train.py"], trials=3, worker=PRELOAD))
        child = self.start("run", study)
        # Two supervisors, two interpreters, two trials with two loaders each, and more.
        wait_for(lambda: len(processes_of(self.folder)) >= 10 and any(t["steps"] for t in self.trials_so_far("script")), 60)
        child.kill()
        self.assertEqual(child.wait(20), -9)
        self.assert_nobody_left()
        self.hpo("run", study)
        self.assertEqual([(t["state"], t["steps"]) for t in self.trials("script")], [("complete", 5)] * 3)
        self.assert_nobody_left()


class OutOfMemory(Torch):
    seconds = 12

    BODY = """
        import hpo, torch
        trial = hpo.trial(batch_size=256, micro_batch=True)
        parts = trial.params.get("accumulation", 1)
        # The memory of one micro-batch. It exceeds that of any machine until the micro-batch is an eighth of the batch.
        one = torch.empty(trial.params.batch_size // parts * (1 << 38 if parts < 8 else 1))
        print("trained in", parts)
        for epoch in trial.epochs():
            trial.report(epoch, val_loss=1)
        """

    def test_a_batch_that_does_not_fit_is_trained_in_smaller_micro_batches(self):
        trials = self.search(textwrap.dedent(self.BODY), trials=1, parallel=1, worker="  params: {batch_size: 256}\n" + PRELOAD)
        self.assertEqual(trials[0]["state"], "complete", trials[0]["reason"])
        self.assert_mentions(self.hpo("logs", "script/1"), "trained", "8")
        self.assert_mentions(self.messages, "allocate", "memory")
        self.assert_mentions(self.hpo("show", "script", 1), "8", "per update")

    def test_an_unchanged_script_that_takes_the_number_of_micro_batches_is_given_more(self):
        body = textwrap.dedent(self.BODY).replace("trial = hpo.trial(batch_size=256, micro_batch=True)", "import sys").replace(
            'trial.params.get("accumulation", 1)', "int(sys.argv[1])").replace("trial.params.batch_size", "256").replace(
            "trial.epochs()", "range(5)").replace("trial.report(epoch, val_loss=1)", 'print("val_loss=1")')
        trials = self.search(body, ["{accumulation}"], trials=1, parallel=1, worker="  params: {batch_size: 256, accumulation: 1}\n" + PRELOAD)
        self.assertEqual(trials[0]["state"], "complete", trials[0]["reason"])
        self.assert_mentions(self.hpo("logs", "script/1"), "trained", "8")


if __name__ == "__main__":
    unittest.main(verbosity=2)
