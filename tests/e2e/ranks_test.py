"""Trials that several processes train together (resources.trial.processes)."""
import importlib.util
import json
import signal
import textwrap
import unittest

from harness import Case, processes_of, wait_for
from script_test import PYTHON, script_study

# Ranks that add up a number over TCP, as a data-parallel program does with its gradients.
ALL_REDUCE = """
    import json, os, socket, sys, time
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if rank == 0:
        listener = socket.create_server(address)
        peers = [listener.accept()[0].makefile("rw") for _ in range(size - 1)]
    else:
        while True:
            try:
                peer = socket.create_connection(address).makefile("rw")
                break
            except ConnectionRefusedError:
                time.sleep(0.01)

    def total(number):
        if rank > 0:
            print(number, file=peer, flush=True)
            line = peer.readline()
            if not line:
                raise ConnectionError("rank 0 is gone")
            return float(line)
        lines = [other.readline() for other in peers]
        if not all(lines):
            raise ConnectionError("a rank is gone")
        whole = number + sum(map(float, lines))
        for other in peers:
            print(whole, file=other, flush=True)
        return whole
    """


class Ranks(Case):
    def search(self, body, processes=3, status=0, more="", on="local", **changes):
        (self.folder / "train.py").write_text(textwrap.dedent(ALL_REDUCE) + textwrap.dedent(body))
        text = script_study([PYTHON, "train.py", "{lr}"], **{"trials": 2, "parallel": 1, **changes})
        text = text.replace("trial: {memory: 64MiB}", f"trial: {{memory: 64MiB, cores: 0.1, processes: {processes}}}")
        self.out = self.hpo("run", self.study(text + more), "--on", on, status=status)
        return self.trials(changes.get("name", "script"))

    def log_of(self, trial):
        return (self.folder / f"runs/script/logs/trial-{trial:04}.log").read_text()

    def test_the_ranks_of_a_trial_compute_together(self):
        trials = self.search("""
            assert os.environ["LOCAL_RANK"] == os.environ["RANK"] and os.environ["LOCAL_WORLD_SIZE"] == "3"
            for epoch in range(1, 6):
                print(f"epoch {epoch} val_loss={total(rank + epoch)}", flush=True)
            """, parallel=2)
        self.assertEqual([(t["state"], t["steps"], t["value"]) for t in trials], [("complete", 5, 6.0)] * 2)
        self.assert_mentions(self.hpo("show", "script", "1"), "3 processes", "RANK")
        self.assert_nobody_left()

    def test_a_trial_is_no_task_of_the_launcher_that_started_hpo(self):
        # As by srun hpo agent or mpirun hpo agent. The client would take a trial of rank 1 for one that follows rank 0.
        (self.folder / "train.py").write_text(textwrap.dedent("""
            import os, hpo
            trial = hpo.trial(lr=0.1)
            trial.report(1, val_loss=sum(name.startswith(("SLURM_", "OMPI_", "PMIX_")) for name in os.environ))
            """))
        study = self.study(script_study([PYTHON, "train.py", "{lr}"], trials=2))
        launched = {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2",
                    "PMIX_RANK": "1", "SLURM_JOB_ID_OF_TEST": "kept"}
        self.hpo("run", study, environment=launched)
        self.assertEqual([(t["state"], t["value"]) for t in self.trials("script")], [("complete", 1)] * 2)

    def test_the_first_rank_that_fails_ends_the_others_and_is_named(self):
        trials = self.search("""
            print(f"val_loss={total(1)}", flush=True)
            if rank == 2:
                raise ValueError("no more data")
            if rank == 1:
                time.sleep(1000)
            total(1)
            """, trials=1, status=1)
        self.assertEqual(trials[0]["state"], "failed")
        self.assert_mentions(trials[0]["reason"], "rank 2", "status 1", "ValueError: no more data")
        self.assert_nobody_left()

    def test_a_rank_that_fails_among_floods_shows_its_own_traceback(self):
        trials = self.search("""
            print(f"val_loss={total(1)}", flush=True)
            if rank == 3:
                for line in range(2000):
                    print("before", line, file=sys.stderr)
                raise ValueError("no more data in shard 3")
            while True:
                print("x" * 200, flush=True)
                print("ConnectionError: all of it", flush=True)
            """, processes=8, trials=1, status=1)
        self.assertEqual((trials[0]["state"], trials[0]["steps"]), ("failed", 1))
        self.assertTrue(trials[0]["reason"].startswith("rank 3 exited with status 1: ValueError: no more data in shard 3"),
                        trials[0]["reason"])
        self.assertIn("train.py", trials[0]["reason"])
        self.assert_nobody_left()

    def test_memory_that_another_rank_lacked_is_the_reason_where_rank_0_ended_first(self):
        trials = self.search("""
            if rank == 1 and not os.path.exists("full"):
                open("full", "w").close()
                try:
                    raise MemoryError("Unable to allocate 9 GiB")
                except MemoryError:
                    import traceback
                    traceback.print_exc()
                peer.close()  # while this process still tidies up
                time.sleep(1000)
            for epoch in range(1, 6):
                print(f"epoch {epoch} val_loss={total(1)}", flush=True)
            """, trials=1)
        self.assertEqual([(t["state"], t["steps"]) for t in trials], [("complete", 5)])
        self.assert_mentions(self.hpo("show", "script", "1"), "2, 1", "out", "memory")
        self.assertIn("[rank1]: MemoryError: Unable to allocate 9 GiB", self.log_of(1))

    def test_lines_of_other_ranks_are_no_part_of_rank_0_s(self):
        trials = self.search("""
            for epoch in range(1, 6):
                sys.stdout.write(f"\\repoch {epoch} ")  # the rest of its line comes later
                sys.stdout.flush()
                total(0)
                if rank > 0:
                    print(f"val_loss=0.{rank}\\nepoch {epoch + 1} val_loss=0.01\\n100% 5/5", flush=True)
                total(0)
                if rank == 0:
                    print(f"val_loss={10 - epoch}", flush=True)
            """, trials=1)
        self.assertEqual([(t["state"], t["steps"], t["value"]) for t in trials], [("complete", 5, 5.0)])
        self.assertEqual([step["metrics"] for step in json.loads(self.hpo("show", "script", "1", "--json"))["curve"]],
                         [{"epoch": epoch, "val_loss": 10.0 - epoch} for epoch in range(1, 6)])
        log = self.log_of(1)
        self.assertRegex(log, r"(?m)^\[rank1\]: .*val_loss=0.1$")
        self.assertRegex(log, r"(?m)^\[rank2\]: .*val_loss=0.2$")

    def test_an_objective_that_another_rank_prints_is_not_found(self):
        trials = self.search("""
            if rank == 2:
                print("val_loss=1", flush=True)
            """, trials=1, status=1)
        self.assert_mentions(trials[0]["reason"], "never", "rank 0", "alone")

    def test_a_rank_that_is_killed_costs_the_attempt(self):
        trials = self.search("""
            for epoch in range(1, 6):
                if rank == 1 and epoch == 3 and not os.path.exists("died"):
                    open("died", "w").close()
                    os.kill(os.getpid(), 9)
                print(f"epoch {epoch} val_loss={total(epoch)}", flush=True)
            """, trials=1, retries=1)
        self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in trials], [("complete", 5, 2)])
        self.assert_nobody_left()

    def test_a_signal_that_ends_the_launcher_costs_the_attempt(self):
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            with self.subTest(name):
                (self.folder / "died").unlink(missing_ok=True)
                trials = self.search(f"""
                    import signal
                    for epoch in range(1, 6):
                        print(f"epoch {{epoch}} val_loss={{total(epoch)}}", flush=True)
                        if epoch == 3 and not os.path.exists("died"):
                            total(0)
                            if rank == 0:
                                open("died", "w").close()
                                os.kill(os.getppid(), signal.{name})  # hpo ranks
                            signal.pause()
                    """, trials=1, retries=1, name=name)
                self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in trials], [("complete", 5, 2)])
                self.assert_nobody_left()

    def test_the_client_reports_in_rank_0_and_resumes(self):
        trials = self.search("""
            import hpo
            trial = hpo.trial(checkpoint=True)
            if trial.resumed and rank == 0:
                trial.resume_from(int(trial.checkpoint.read_text()))
            begin = int(total(trial._step))
            for epoch in range(begin + 1, 6):
                value = total(epoch)
                trial.report(epoch, val_loss=value)
                if rank == 0:
                    trial.checkpoint.write_text(str(epoch))
                    if epoch == 3 and begin == 0:
                        os.kill(os.getpid(), 9)
            """, trials=1, retries=1)
        self.assertEqual([(t["state"], t["steps"], t["attempt"], t["value"]) for t in trials], [("complete", 5, 2, 3.0)])

    def test_several_hosts_each_run_whole_trials_and_a_killed_rank_costs_no_step(self):
        trials = self.search("""
            import hpo
            trial = hpo.trial(checkpoint=True)
            if trial.resumed and rank == 0:
                trial.resume_from(int(trial.checkpoint.read_text()))
            begin = int(total(trial._step))
            print("begins at", begin, flush=True)
            for epoch in range(begin + 1, 6):
                if rank == 2 and epoch == 4 and begin == 0:
                    os.kill(os.getpid(), 9)
                value = total(epoch)
                trial.report(epoch, val_loss=value)
                if rank == 0:
                    trial.checkpoint.write_text(str(epoch))
                total(0)
            """, on="local:3", trials=3, parallel=3, retries=1)
        self.assertEqual([(t["state"], t["steps"], t["attempt"], t["value"]) for t in trials], [("complete", 5, 2, 3.0)] * 3)
        self.assertEqual({t["host"] for t in trials}, {"local-1", "local-2", "local-3"})
        for trial in trials:
            log = self.log_of(trial["trial"])
            self.assert_mentions(log, "rank 2", "SIGKILL", "other", "ended")
            self.assertIn("begins at 3", log)
        self.assert_nobody_left()

    def test_rank_0_that_fails_for_a_killed_rank_does_not_end_the_trial(self):
        trials = self.search("""
            import hpo
            trial = hpo.trial()
            for epoch in range(1, 6):
                if rank == 1 and epoch == 3 and not os.path.exists("died"):
                    open("died", "w").close()
                    os.kill(os.getpid(), 9)
                trial.report(epoch, val_loss=total(epoch))
            """, trials=1, retries=1)
        self.assertEqual([(t["state"], t["steps"], t["attempt"]) for t in trials], [("complete", 5, 2)])

    def test_the_client_s_exception_is_the_reason_where_rank_0_failed_first(self):
        trials = self.search("""
            import hpo, signal
            trial = hpo.trial()
            trial.report(1, val_loss=total(1))
            if rank == 0:
                raise ValueError("no more data")
            signal.pause()  # until the launcher ends it; a rank that notices the end of rank 0 may be dead before it
            """, trials=1, status=1)
        self.assertEqual((trials[0]["state"], trials[0]["steps"]), ("failed", 1))
        self.assertRegex(trials[0]["reason"], "ValueError: no more data")

    def test_nothing_is_left_when_hpo_is_killed_and_the_study_goes_on(self):
        (self.folder / "train.py").write_text(textwrap.dedent(ALL_REDUCE) + textwrap.dedent("""
            for epoch in range(1, 6):
                print(f"epoch {epoch} val_loss={total(epoch)}", flush=True)
                if epoch == 3 and not os.path.exists("go"):
                    open(f"waits-{os.getpid()}", "w").close()
                    time.sleep(1000)
            """))
        text = script_study([PYTHON, "train.py", "{lr}"], trials=1, parallel=1)
        study = self.study(text.replace("trial: {memory: 64MiB}", "trial: {memory: 64MiB, cores: 0.1, processes: 3}"))
        for number, status in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
            session = self.start("run", study)
            wait_for(lambda: len(list(self.folder.glob("waits-*"))) == 3)
            self.assertGreater(len(processes_of(self.folder)), 4)
            session.send_signal(number)
            session.communicate()
            self.assertEqual(session.returncode, status)
            wait_for(lambda: not processes_of(self.folder))
            for mark in self.folder.glob("waits-*"):
                mark.unlink()
        (self.folder / "go").write_text("")
        self.hpo("run", study)
        self.assertEqual([(t["state"], t["steps"]) for t in self.trials("script")], [("complete", 5)])

    def test_a_program_that_never_gets_its_parameters_fails(self):
        (self.folder / "train.py").write_text("for _ in range(5): print('val_loss=1', flush=True)\n")
        text = script_study([PYTHON, "train.py"], trials=2, parallel=1)
        text = text.replace("trial: {", "trial: {cores: 0.1, processes: 2, ")
        self.assert_mentions(self.hpo("check", self.study(text)), "hpo", "Python: import hpo")
        self.hpo("run", self.study(text), status=1)
        for trial in self.trials("script"):
            self.assertEqual(trial["state"], "failed")
            self.assertIn("no argument of worker.command has a placeholder", trial["reason"])
        self.assertIn("HPO_PARAM_A_B", self.refusal_of(text.replace(
            "  lr: {type: float, low: 0.01, high: 0.4}",
            "  a-b: {type: float, low: 0, high: 1}\n  a.b: {type: float, low: 0, high: 1}"), 1))

    def test_the_client_reads_the_parameters_of_a_command_without_placeholders(self):
        (self.folder / "train.py").write_text(textwrap.dedent(ALL_REDUCE) + textwrap.dedent("""
            import hpo
            trial = hpo.trial(lr=0.0)
            for epoch in range(1, 6):
                trial.report(epoch, val_loss=total(trial.params["lr"]))
            """))
        text = script_study([PYTHON, "train.py"], trials=1, parallel=1)
        self.hpo("run", self.study(text.replace("trial: {", "trial: {cores: 0.1, processes: 2, ")))
        trial = self.trials("script")[0]
        self.assertEqual((trial["state"], trial["steps"]), ("complete", 5))
        self.assertAlmostEqual(trial["value"], 2 * trial["params"]["lr"])

    def test_processes_that_one_of_several_hosts_cannot_hold_are_refused_with_the_cure(self):
        (self.folder / "train.py").write_text("")
        text = script_study([PYTHON, "train.py", "{lr}"], trials=1)
        self.hpo("run", self.study(text.replace("trial: {", "trial: {cores: 1000, processes: 2, ")), "--on", "local:2", status=1)
        self.assert_mentions(self.trials("script")[0]["reason"], "2000", "cores", "host", "2 processes", "resources.trial.processes",
                             "srun", "worker.command")

    def refusal_of(self, text, status):
        self.hpo("check", self.study(text), status=status)
        return self.error

    def test_what_cannot_be_is_refused_with_the_cure(self):
        (self.folder / "train.py").write_text("")

        def with_trial(trial, worker=""):
            text = script_study([PYTHON, "train.py", "{lr}"], worker=worker)
            return text.replace("trial: {memory: 64MiB}", f"trial: {{memory: 64MiB, {trial}}}")

        self.assertRegex(self.refusal_of(with_trial("processes: 0"), 1), "'resources.trial.processes'.*1 to 64")
        self.assertRegex(self.refusal_of(with_trial("processes: 1000"), 1), "'resources.trial.processes'.*1 to 64")
        self.assert_mentions(self.refusal_of(with_trial("processes: 2, cores: 1000"), 1), "2000 cores", "one host: ", "resources.trial.processes")
        self.assert_mentions(self.refusal_of(with_trial("processes: 2, gpus: 2"), 1), "2 devices", "at once")
        self.assert_mentions(self.refusal_of(with_trial("processes: 2", "  preload: json\n"), 1), "exclude")
        self.assert_mentions(self.refusal_of(with_trial("processes: 2", "  environment: {MASTER_PORT: 29500}\n"), 1), "MASTER_PORT", "each")
        asked = "study: n\nobjective: {metric: y, direction: minimize}\nspace: {lr: {type: float, low: 0.01, high: 0.1}}\n"
        self.assertRegex(self.refusal_of(asked + "resources: {trial: {processes: 2}}\n", 1),
                         "'resources.trial.processes' needs 'worker.command'")
        native = "study: n\nspace: {lr: {type: float, low: 0.01, high: 0.1}}\nworker: {data: {format: synthetic}}\n"
        self.assert_mentions(self.refusal_of(native + "resources: {trial: {processes: 2, gpus: 2}}\n", 1), "'resources.trial.gpus'", "scripts")


@unittest.skipUnless(importlib.util.find_spec("torch"), "python3-torch is not installed")
class RanksWithTorch(Case):
    seconds = 20

    def test_data_parallel_training_has_the_losses_of_one_process(self):
        (self.folder / "train.py").write_text(textwrap.dedent("""
            import sys, torch
            import torch.distributed as dist
            from torch.nn.parallel import DistributedDataParallel
            torch.set_num_threads(1)
            torch.manual_seed(1)
            dist.init_process_group("gloo")
            rank, size = dist.get_rank(), dist.get_world_size()
            x = torch.randn(256, 8, generator=torch.Generator().manual_seed(3))
            y = x.sum(1, keepdim=True)
            x, y = x[rank::size], y[rank::size]
            model = DistributedDataParallel(torch.nn.Linear(8, 1))
            optimizer = torch.optim.SGD(model.parameters(), 0.05)
            for epoch in range(1, 6):
                loss = torch.nn.functional.mse_loss(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                whole = loss.detach().clone()
                dist.all_reduce(whole)
                if rank == 0:
                    print(f"epoch {epoch} val_loss={whole.item() / size:.7f}", flush=True)
            """))
        values = {}
        for processes in (1, 2, 4):
            name = f"ranks{processes}"
            text = script_study([PYTHON, "train.py", "{lr}"], name=name, trials=1, parallel=1, timeout="60s")
            if processes == 1:
                text = text.replace("worker:\n", "worker:\n  environment: {RANK: 0, WORLD_SIZE: 1, MASTER_ADDR: 127.0.0.1, MASTER_PORT: 0}\n")
            text = text.replace("trial: {", f"trial: {{cores: 0.1, processes: {processes}, ")
            self.hpo("run", self.study(text))
            trial = self.trials(name)[0]
            self.assertEqual((trial["state"], trial["steps"]), ("complete", 5))
            values[processes] = trial["value"]
        self.assertAlmostEqual(values[1], values[2], delta=1e-5)
        self.assertAlmostEqual(values[1], values[4], delta=1e-5)


if __name__ == "__main__":
    unittest.main()
