"""The Python client and its stand-ins for wandb and nni, against an orchestrator that this file simulates. hpo does not run."""
import errno
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest
from unittest import mock

CLIENT = pathlib.Path(__file__).resolve().parents[2] / "worker" / "python"


class SimulatedOrchestrator(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="hpo-client-")
        self.folder = pathlib.Path(self._folder.name)
        self.token = 2 * self.folder.name  # half of it is the address at which ranks meet, which is this test's own

    def tearDown(self):
        self._folder.cleanup()

    def play(self, script, runs=1, steps=100, status=0, resumed=None, on_last_step="answer", stop_at=None, **variables):
        """Runs a script with `runs` trials and answers each report with "continue", or "stop" at step `stop_at`;
        `on_last_step` may be "ignore" or "hang up" instead. Returns the client's messages."""
        (self.folder / "train.py").write_text(textwrap.dedent(script))
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.settimeout(60)
        (self.folder / "socket").unlink(missing_ok=True)
        listener.bind(str(self.folder / "socket"))
        listener.listen(1)
        worker = subprocess.Popen([sys.executable, str(self.folder / "train.py")], stderr=subprocess.PIPE, text=True,
                                  stdin=subprocess.DEVNULL, cwd=self.folder,
                                  env={**os.environ, "HPO_ENDPOINT": str(self.folder / "socket"), "HPO_TOKEN": self.token,
                                       "PYTHONPATH": str(CLIENT), **variables})
        messages = []
        with listener, listener.accept()[0] as connection:
            connection.settimeout(60)

            def say(**message):
                try:
                    connection.sendall(json.dumps(message).encode() + b"\n")
                except OSError:
                    pass  # the client has ended

            def hand_out(trial):
                run = {"type": "run", "trial": trial, "attempt": 1, "params": {"lr": 0.5}, "steps": steps, "seed": 1,
                       "data_seed": 1, "objective": {"metric": "loss", "direction": "minimize", "at": "best"},
                       "folder": str(self.folder / f"trial-{trial}"), "resume": bool(resumed), "test": False, "save": ""}
                if resumed:
                    run.update(attempt=2, done=resumed)
                    (self.folder / f"trial-{trial}").mkdir()
                    (self.folder / f"trial-{trial}" / "last.ckpt").write_text("")
                say(**run)

            given = 0
            for message in self.lines_of(connection):
                messages.append(message)
                is_last = message["type"] == "report" and message["step"] == steps
                if is_last and on_last_step == "hang up":
                    connection.shutdown(socket.SHUT_RDWR)
                elif message["type"] == "report" and not (is_last and on_last_step == "ignore"):
                    say(type="decision", trial=message["trial"], attempt=message["attempt"], step=message["step"],
                        action="stop" if message["step"] == stop_at else "continue")
                if message["type"] == "hello":
                    say(type="welcome", version=2, alive_every=5)
                if message["type"] == "hello" or (message["type"] == "finished" and not message.get("last")):
                    given += 1
                    hand_out(given) if given <= runs else say(type="shutdown")
        error = worker.communicate(timeout=60)[1]
        self.assertEqual(worker.returncode, status, error)
        self.error = error
        return messages

    @staticmethod
    def lines_of(connection):
        try:
            for line in connection.makefile("rb"):
                yield json.loads(line)
        except ConnectionResetError:
            pass  # the client ended without reading the last message

    @staticmethod
    def of(messages, kind):
        return [message for message in messages if message["type"] == kind]


class LastSteps(SimulatedOrchestrator):
    def test_the_next_trial_begins_without_the_decision_on_the_last_step(self):
        messages = self.play("""
            import hpo
            for trial in hpo.trials():
                for epoch in trial.epochs():
                    trial.report(epoch, loss=1)
                assert trial.should_stop()
            """, runs=2, steps=2, on_last_step="ignore")
        self.assertEqual([(message["type"], message["trial"]) for message in messages[1:]],
                         [(kind, trial) for trial in (1, 2) for kind in ("started", "report", "report", "finished")])
        self.assertEqual({message["outcome"] for message in self.of(messages, "finished")}, {"complete"})

    def test_a_late_decision_is_not_taken_for_one_on_the_next_trial(self):
        messages = self.play("""
            import hpo
            for trial in hpo.trials():
                trial.report(loss=trial.number)
            """, runs=20, steps=1)
        self.assertEqual([message["trial"] for message in self.of(messages, "finished")], list(range(1, 21)))
        self.assertEqual([message["from_step"] for message in self.of(messages, "started")], [0] * 20)

    def test_a_trial_with_a_checkpoint_waits_so_that_it_is_not_ahead_of_what_is_stored(self):
        script = """
            import pathlib
            import hpo
            for trial in hpo.trials(checkpoint=True):
                trial.report(1, loss=1)
                pathlib.Path("answered").touch()
            """
        self.play(script, steps=1)
        self.assertTrue((self.folder / "answered").exists())
        (self.folder / "answered").unlink()
        self.play(script, steps=1, on_last_step="hang up", status=1)
        self.assertIn("ConnectionError", self.error)
        self.assertFalse((self.folder / "answered").exists())

    def test_a_trial_says_whether_it_writes_checkpoints_and_from_which_step_it_goes_on(self):
        # hpo does not know it where an adapter has started the script.
        script = """
            import hpo
            trial = hpo.trial(checkpoint=CHECKPOINT)
            if trial.resumed:
                trial.resume_from(5)
            trial.report(10, loss=1)  # it reports every fifth step
            """
        for checkpoint, resumed in ((False, None), (True, None), (True, {"step": 5})):
            started = self.of(self.play(script.replace("CHECKPOINT", str(checkpoint)), resumed=resumed), "started")
            self.assertEqual([message.get("checkpoints") for message in started], [True if checkpoint else None])
            self.assertEqual([message["from_step"] for message in started], [5 if resumed else 9])


class Folders(SimulatedOrchestrator):
    def test_a_trial_folder_is_made_when_the_script_asks_for_it_and_not_before(self):
        finished = self.of(self.play("""
            import hpo
            for trial in hpo.trials():
                trial.report(1, loss=1)
                if trial.number == 2:
                    (trial.folder / "plot.txt").write_text("")
                if trial.number == 3:
                    trial.checkpoint.write_text("")
            """, runs=3), "finished")
        self.assertEqual(sorted(str(path.relative_to(self.folder)) for path in self.folder.glob("trial-*/*")),
                         ["trial-2/plot.txt", "trial-3/last.ckpt"])
        self.assertFalse((self.folder / "trial-1").exists())
        self.assertEqual([message.get("checkpoint") for message in finished],
                         [None, None, str(self.folder / "trial-3/last.ckpt")])


class Ends(SimulatedOrchestrator):
    def test_an_uncaught_exception_fails_the_trial_with_its_text_and_place_and_announces_the_end_of_the_process(self):
        messages = self.play("""
            import hpo
            def train(trial):
                trial.report(1, loss=1)
                raise RuntimeError("Error(s) in loading state_dict:\\n\\tMissing key(s)\\n\\tsize mismatch")
            for trial in hpo.trials():
                train(trial)
            """, runs=3, status=1)
        [last] = self.of(messages, "finished")
        self.assertEqual((last["trial"], last["outcome"], last["last"]), (1, "failed", True))
        lines = last["message"].splitlines()
        self.assertEqual(lines[:3], ["RuntimeError: Error(s) in loading state_dict:", "\tMissing key(s)", "\tsize mismatch"])
        self.assertIn("train.py\", line 5, in train", last["message"])
        self.assertIn("Traceback", self.error)

    def test_an_exception_that_leaves_a_with_block_and_the_process_is_reported_alike(self):
        messages = self.play("""
            import hpo
            for trial in hpo.trials():
                with trial:
                    raise KeyError("x")
            """, runs=3, status=1)
        self.assertEqual([(m["trial"], m["outcome"], m.get("last")) for m in self.of(messages, "finished")],
                         [(1, "failed", True)])

    def test_an_exception_that_the_script_handles_fails_its_trial_only(self):
        messages = self.play("""
            import hpo
            for trial in hpo.trials():
                try:
                    with trial:
                        trial.report(1, loss=1)
                        if trial.number == 1:
                            raise KeyError("x")
                except KeyError:
                    pass
            """, runs=2)
        self.assertEqual([(m["trial"], m["outcome"], m.get("last")) for m in self.of(messages, "finished")],
                         [(1, "failed", None), (2, "complete", None)])

    def test_a_script_that_gives_its_trial_up_has_stopped_it_and_has_not_failed(self):
        leaves_block, leaves_script = ("with trial:", 0), ("if trial:", 1)
        for block, status in (leaves_block, leaves_script):
            messages = self.play(f"""
                import hpo
                for trial in hpo.trials():
                    {block}
                        for epoch in trial.epochs():
                            trial.report(epoch, loss=1)
                            if epoch == 2:
                                raise hpo.Pruned
                """, status=status)
            [end] = self.of(messages, "finished")
            self.assertEqual((end["outcome"], end["message"], end.get("last", False)),
                             ("stopped", "raised hpo.Pruned after step 2", status == 1))
            self.assertNotIn("Traceback", self.error)

    def test_a_long_error_is_truncated_and_a_syntax_error_starts_with_its_type(self):
        messages = self.play("""
            import hpo
            for trial in hpo.trials():
                with trial:
                    try:
                        exec("a b")
                    except SyntaxError as error:
                        raise error
            """, status=1)
        self.assertTrue(self.of(messages, "finished")[0]["message"].startswith("SyntaxError: "), messages)

    def test_final_numbers_reach_hpo(self):
        messages = self.play("""
            import hpo
            trial = hpo.trial()
            trial.report(1, loss=1)
            trial.finish(test_acc=0.9, test_loss=float("nan"))
            """)
        self.assertEqual(self.of(messages, "finished")[0]["values"], {"test_acc": 0.9, "test_loss": "nan"})
        self.assertGreater(self.of(messages, "finished")[0]["peak_bytes"], 1 << 20)


class Values(SimulatedOrchestrator):
    def test_a_metric_that_is_none_is_left_out_and_scalars_of_libraries_are_numbers(self):
        report = self.of(self.play("""
            import hpo
            class Tensor:
                def __float__(self):
                    return 2.5
            hpo.trial().report(1, {"a": None, "b": Tensor(), "c": True}, loss=float("inf"), acc=None)
            """), "report")[0]
        self.assertEqual(report["metrics"], {"b": 2.5, "c": 1.0, "loss": "inf"})

    def test_a_metric_that_is_no_number_raises_and_is_named(self):
        for value in ("[1, 2]", "'high'", "{'a': 1}"):
            self.play(f"import hpo; hpo.trial().report(1, loss={value})", status=1)
            self.assertRegex(self.error, r"TypeError: metric 'loss' must be one number, or None .*it is a (list|str|dict)")

    def test_steps_may_count_from_0_unless_the_trial_may_resume(self):
        messages = self.play("""
            import hpo
            trial = hpo.trial()
            for epoch in range(10):
                trial.report(epoch, loss=1)
                if trial.should_stop():
                    break
            """, steps=3)
        self.assertEqual([report["step"] for report in self.of(messages, "report")], [1, 2, 3])
        self.play("import hpo; hpo.trial(checkpoint=True).report(0, loss=1)", status=1)
        self.assertRegex(self.error, r"ValueError: .*\bresume\b")
        self.play("import hpo; hpo.trial().report(-1, loss=1)", status=1)
        self.assertRegex(self.error, r"ValueError: .*\bstep -1\b")

    def test_what_is_reported_after_the_end_is_not_dropped_in_silence(self):
        messages = self.play("import hpo; trial = hpo.trial(); trial.finish(loss=1); trial.report(1, loss=2); trial.report(2, loss=2)")
        self.assertEqual(self.of(messages, "report"), [])
        self.assertEqual(self.error, "hpo: trial 1 has ended; what is reported now is not used\n")

    def test_defaults_of_several_calls_are_one_trials_and_a_second_trial_is_none(self):
        self.play("""
            import hpo
            trial = hpo.trial(lr=0.1, a=1)
            assert hpo.trial(lr=0.2, b=2) is trial and trial.params == {"lr": 0.5, "a": 1, "b": 2}
            trial.finish(loss=1)
            assert hpo.trial() is trial
            """)


class Ranks(SimulatedOrchestrator):
    LAUNCHER = """
            import os, subprocess, sys
            if "{name}" not in os.environ:
                reads, writes = os.pipe()
                ranks = [subprocess.Popen([sys.executable, __file__, str(reads), str(writes)], pass_fds=(reads, writes),
                                          env={{**os.environ, "{name}": str(rank)}}) for rank in (2, 1, 0)]
                sys.exit(max(rank.wait() for rank in ranks))
            import hpo
            rank = int(os.environ["{name}"])

            def meet():
                if rank:
                    os.write(int(sys.argv[2]), b"x")
                else:
                    while len(os.read(int(sys.argv[1]), 1)) and not met.append(1) and len(met) < 2:
                        pass
            met = []
            """

    def launched(self, name, script, **more):
        """Plays a launcher that sets variable `name` in three processes of a script, the first of them rank 2. They have
        `rank`, and meet(), with which rank 0 waits for the others."""
        return self.play(self.LAUNCHER.format(name=name) + script, **more)

    def seen(self):
        return {path.name: path.read_text().splitlines() for path in self.folder.glob("rank-*")}

    def test_all_ranks_of_a_launcher_get_the_values_and_stop_at_the_same_step(self):
        for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"):
            messages = self.launched(name, """
            trial = hpo.trial(lr=0.1)
            meet()
            with open(f"rank-{rank}", "w") as file:
                for epoch in trial.epochs():
                    trial.report(epoch, loss=rank)
                    print(trial.number, trial.params.lr, epoch, trial.should_stop(), file=file)
            """, stop_at=3)
            steps = ["1 0.5 1 False", "1 0.5 2 False", "1 0.5 3 True"]
            self.assertEqual(self.seen(), {f"rank-{rank}": steps for rank in range(3)}, name)
            self.assertEqual([(m["step"], m["metrics"]["loss"]) for m in self.of(messages, "report")], [(1, 0), (2, 0), (3, 0)])

    def test_ranks_stop_together_where_only_rank_0_reports_or_a_loop_asks_should_stop(self):
        for loop in ("trial.epochs()", "range(1, 100)"):
            messages = self.launched("RANK", f"""
            trial = hpo.trial()
            meet()
            for epoch in {loop}:
                if rank == 0:
                    trial.report(epoch, loss=1)
                open(f"rank-{{rank}}", "a").write(f"{{epoch}}\\n")
                if "range" in "{loop}" and trial.should_stop():
                    break
            """, stop_at=5)
            self.assertEqual(self.seen(), {f"rank-{rank}": ["1", "2", "3", "4", "5"] for rank in range(3)}, loop)
            self.assertEqual(len(self.of(messages, "report")), 5)
            for file in self.folder.glob("rank-*"):
                file.unlink()

    def test_ranks_train_several_trials_one_after_the_other(self):
        messages = self.launched("RANK", """
            for trial in hpo.trials():
                if trial.number == 1:
                    meet()
                for epoch in trial.epochs():
                    trial.report(epoch, loss=1)
                open(f"rank-{rank}", "a").write(f"{trial.number}\\n")
            """, runs=3, steps=2)
        self.assertEqual(self.seen(), {f"rank-{rank}": ["1", "2", "3"] for rank in range(3)})
        self.assertEqual(len(self.of(messages, "finished")), 3)

    def test_a_rank_that_the_script_starts_itself_gets_the_trial(self):
        messages = self.play("""
            import os, subprocess, sys
            import hpo
            trial = hpo.trial(lr=0.1)
            child = None if "LOCAL_RANK" in os.environ else subprocess.Popen([sys.executable, __file__], env={**os.environ, "LOCAL_RANK": "1"})
            for epoch in trial.epochs():
                trial.report(epoch, loss=1)
            open("rank-1" if child is None else "rank-0", "w").write(f"{trial.params.lr} {epoch}")
            assert child is None or child.wait() == 0
            """, steps=4)
        self.assertEqual(self.seen(), {"rank-0": ["0.5 4"], "rank-1": ["0.5 4"]})
        self.assertEqual(len(self.of(messages, "report")), 4)

    def test_processes_of_multiprocessing_get_the_trial_and_what_one_reports_reaches_hpo(self):
        for method in ("spawn", "fork"):
            for where in ("parent", "children"):
                messages = self.play(f"""
            import multiprocessing
            import hpo

            def train(rank, trial):
                trial = trial or hpo.trial(lr=0.1)
                if rank == 0:
                    for epoch in (1, 2):
                        trial.report(epoch, loss=trial.params.lr)
                        assert not trial.should_stop()
                    trial.report(3, loss=7)
                    assert trial.should_stop()
                    trial.log("done")
                    trial.finish(test=2)
                open(f"rank-{{rank}}", "w").write(f"{{trial.params.lr}}")

            if __name__ == "__main__":
                trial = hpo.trial(lr=0.1) if "{where}" == "parent" else None
                processes = [multiprocessing.get_context("{method}").Process(target=train, args=(rank, trial)) for rank in (1, 0)]
                for process in processes:
                    process.start()
                    if trial is None:
                        process.join()
                for process in processes:
                    process.join()
                    assert process.exitcode == 0
            """ if where == "parent" else f"""
            import multiprocessing
            import hpo

            def train(barrier, rank):
                trial = hpo.trial(lr=0.1)
                barrier.wait()
                if rank == 0:
                    trial.report(1, loss=trial.params.lr)
                    trial.report(2, loss=trial.params.lr)
                    trial.report(3, loss=7)
                    trial.log("done")
                    trial.finish(test=2)
                barrier.wait()
                open(f"rank-{{rank}}", "w").write(f"{{trial.params.lr}}")

            if __name__ == "__main__":
                context = multiprocessing.get_context("{method}")
                barrier = context.Barrier(2)
                processes = [context.Process(target=train, args=(barrier, rank)) for rank in (1, 0)]
                for process in processes:
                    process.start()
                for process in processes:
                    process.join()
                    assert process.exitcode == 0
            """, stop_at=3)
                self.assertEqual(self.seen(), {"rank-0": ["0.5"], "rank-1": ["0.5"]}, (method, where))
                self.assertEqual([m["metrics"]["loss"] for m in self.of(messages, "report")], [0.5, 0.5, 7])
                self.assertEqual([m["text"] for m in self.of(messages, "log")], ["done"])
                self.assertEqual([m["values"] for m in self.of(messages, "finished")], [{"test": 2}])

    def test_ranks_that_are_functions_of_multiprocessing_stop_together(self):
        for method in ("spawn", "fork"):
            messages = self.play(f"""
            import multiprocessing, os
            import hpo

            def train(rank, trial):
                os.environ["RANK"] = str(rank)
                for epoch in trial.epochs():
                    if rank == 0:
                        trial.report(epoch, loss=1)
                    assert trial.should_stop() == (epoch == 3)
                open(f"rank-{{rank}}", "w").write(str(epoch))

            if __name__ == "__main__":
                trial = hpo.trial()
                processes = [multiprocessing.get_context("{method}").Process(target=train, args=(rank, trial)) for rank in (1, 0)]
                for process in processes:
                    process.start()
                for process in processes:
                    process.join()
                    assert process.exitcode == 0
            """, stop_at=3)
            self.assertEqual(self.seen(), {"rank-0": ["3"], "rank-1": ["3"]}, method)
            self.assertEqual(len(self.of(messages, "report")), 3)

    def test_a_second_process_without_a_rank_raises_once_the_first_has_ended(self):
        self.play("""
            import subprocess, sys
            text = "import hpo; trial = hpo.trial(lr=0.1); trial.report(1, loss=trial.params.lr)"
            for _ in range(2):
                status = subprocess.call([sys.executable, "-c", text])
            sys.exit(status)
            """, status=1)
        self.assertIn("ConnectionError", self.error)

    def test_a_cleared_environment_below_hpo_raises_and_does_not_train_defaults(self):
        script = "import hpo; print(hpo.trial(lr=0.1).params)"
        python = [sys.executable, "-c", script]
        for tag, status in (({"HPO_TAG": "hpo-1-2:0"}, 1), ({}, 0)):
            done = subprocess.run(["sh", "-c", 'env -i PYTHONPATH="$PYTHONPATH" "$@"; exit $?', "sh", *python], capture_output=True,
                                  text=True, env={**os.environ, **tag, "PYTHONPATH": str(CLIENT)})
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stdout, "{'lr': 0.1}\n")


class WithoutConnection(unittest.TestCase):
    def test_a_script_that_runs_alone_has_its_defaults(self):
        script = "import hpo; t = hpo.trial(x=0.1, y=2); t.report(1, loss=t.params.x); print(t.number, t.seed, t.params)"
        clean = {name: value for name, value in os.environ.items() if not name.startswith("HPO_")}
        output = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True,
                                env={**clean, "PYTHONPATH": str(CLIENT)}).stdout
        self.assertEqual(output, "step 1: loss=0.1\n0 1 {'x': 0.1, 'y': 2}\n")


class Messages(unittest.TestCase):
    def setUp(self):
        sys.path.insert(0, str(CLIENT))
        self.addCleanup(sys.path.remove, str(CLIENT))
        from hpo import _connection
        self.module = _connection
        ours, self.theirs = socket.socketpair()
        self.link = _connection.Connection.__new__(_connection.Connection)
        self.link._lock, self.link._socket = threading.Lock(), ours
        self.addCleanup(ours.close)
        self.addCleanup(self.theirs.close)

    def test_what_the_kernel_refuses_for_a_moment_is_sent_again_once(self):
        refusals = [errno.ENOBUFS, None, errno.ENOMEM, errno.EAGAIN]
        ours = self.link._socket

        class Refusing:
            def send(self, data):
                refusal = refusals.pop(0) if refusals else None
                if refusal:
                    raise OSError(refusal, os.strerror(refusal))
                return ours.send(data[:5])

        self.link._socket = Refusing()
        with mock.patch.object(self.module, "_PAUSE", 0):
            self.link.send({"type": "alive"}, {"a": 2})
        self.assertEqual(self.theirs.recv(100), b'{"type":"alive"}\n{"a":2}\n')
        self.assertEqual(refusals, [])

    def test_a_refusal_that_lasts_and_any_other_error_are_raised(self):
        for code, allowed in ((errno.ENOBUFS, 0.0), (errno.EPIPE, 60.0)):
            self.link._socket = mock.Mock()
            self.link._socket.send.side_effect = OSError(code, "refused")
            with mock.patch.object(self.module, "_RETRIED_FOR", allowed), self.assertRaises(OSError) as raised:
                self.link.send({"a": 1})
            self.assertEqual(raised.exception.errno, code)

    def test_a_message_that_hpo_would_not_read_raises_and_names_its_size_or_metric(self):
        with self.assertRaisesRegex(ValueError, "bytes is too large.*9000 metrics, from 'm0' to 'm999'"):
            self.link.send({"type": "report", "metrics": {f"m{i}": 1.5 for i in range(9000)}})
        with self.assertRaisesRegex(ValueError, "the name of metric 'xxx.*has 70000 characters"):
            self.link.send({"type": "report", "metrics": {"x" * 70000: 1}})


class Rates(SimulatedOrchestrator):
    BUSY = """
            import time
            def work(seconds):
                end = time.perf_counter() + seconds
                while time.perf_counter() < end:
                    pass
            import hpo
            trial = hpo.trial()
            """

    def test_the_rate_of_a_loop_is_measured_from_its_first_iteration(self):
        messages = self.play(self.BUSY + """
            for step in (1, 2):
                for _ in range(5):
                    work(0.01)
                    trial.step()
                trial.report(step, loss=1)
            """)
        for report in self.of(messages, "report"):
            self.assertLess(report["it_s"], 101)
            self.assertGreater(report["it_s"], 0)
        self.assertEqual([r["iteration"] for r in self.of(messages, "report")], [5, 10])

    def test_a_burst_of_reports_has_no_rate(self):
        messages = self.play(self.BUSY + """
            work(0.05)
            for step in range(1, 20):
                trial.report(step, loss=1, iterations=100)
            """)
        self.assertEqual([r["step"] for r in self.of(messages, "report") if r.get("it_s", 0) > 50_000], [])
        self.assertEqual(self.of(messages, "report")[-1]["iteration"], 1900)
        self.assertNotIn("it_s", self.of(messages, "report")[0])

    def test_a_resumed_trial_continues_its_count_of_iterations(self):
        script = """
            import hpo
            trial = hpo.trial(checkpoint=True)
            assert trial.resumed
            trial.resume_from({})
            for step in trial.epochs():
                trial.step(10)
                trial.report(step, loss=1)
                break
            """
        done = {"step": 3, "seconds": 1000.0, "iteration": 30}
        report = self.of(self.play(script.format(3), resumed=done), "report")[0]
        self.assertEqual((report["step"], report["iteration"]), (4, 40))
        self.assertGreater(report["seconds"], 1000)
        self.tearDown()
        self.setUp()
        report = self.of(self.play(script.format(2), resumed=done), "report")[0]
        self.assertNotIn("iteration", report)  # the count after step 2 is unknown
        self.assertGreater(report["seconds"], 1000)


    def test_a_checkpoint_ahead_of_the_stored_steps_is_set_aside_and_the_attempt_ends(self):
        script = """
            import hpo
            with hpo.trial(checkpoint=True) as trial:
                assert trial.resumed
                try:
                    trial.resume_from({})
                    for step in trial.epochs():
                        trial.report(step, loss=1)
                except Exception as error:
                    print("caught", error)
            """
        for stored, words in ((2, "the last stored step is 2"), (0, "no step is stored")):
            for ahead in (stored + 2, 5):
                with self.subTest(stored=stored, ahead=ahead):
                    messages = self.play(script.format(ahead), steps=5, resumed={"step": stored, "stride": 1}, status=1)
                    text = (f"its checkpoint is of step {ahead}, but {words}, as after a loss of power: it is kept as last.ckpt.ahead, "
                            "and the trial begins anew")
                    self.assertEqual(messages[1:], [{"type": "finished", "trial": 1, "attempt": 2, "outcome": "lost", "message": text,
                                                     "last": True}])
                    self.assertEqual(self.error, f"hpo: trial 1: {text}\n")
                    self.assertEqual([file.name for file in (self.folder / "trial-1").iterdir()], ["last.ckpt.ahead"])
                    self.tearDown()
                    self.setUp()

    def test_a_checkpoint_that_cannot_be_set_aside_is_told_to_the_script(self):
        self.play("""
            import hpo
            trial = hpo.trial(checkpoint=True)
            trial.checkpoint.unlink()  # the script has a file of its own
            try:
                trial.resume_from(5)
            except ValueError as error:
                assert "trial-1/last.ckpt, so that hpo cannot put it aside: resume nothing and begin at step 1" in str(error), error
                trial.report(1, loss=1)
                raise SystemExit(0)
            """, steps=9, resumed={"step": 2, "stride": 1})

    def test_a_folder_of_checkpoints_replaces_the_one_that_was_set_aside_before(self):
        messages = self.play("""
            import hpo
            trial = hpo.trial(checkpoint=True)
            trial.checkpoint.unlink()
            for name in ("last.ckpt", "last.ckpt.ahead"):
                (trial.folder / name).mkdir()
                (trial.folder / name / f"of-{name}").touch()
            trial.resume_from(5)
            """, steps=9, resumed={"step": 2, "stride": 1}, status=1)
        self.assertEqual(messages[-1]["outcome"], "lost")
        self.assertTrue((self.folder / "trial-1/last.ckpt.ahead/of-last.ckpt").exists())
        self.assertFalse((self.folder / "trial-1/last.ckpt").exists())

    def test_a_process_without_the_connection_has_the_checkpoint_set_aside(self):
        messages = self.play("""
            import os
            import hpo
            trial = hpo.trial(checkpoint=True)
            child = os.fork()
            if child == 0:
                trial.resume_from(5)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
            assert not trial.checkpoint.exists()
            trial.resume_from(5)
            """, steps=9, resumed={"step": 2, "stride": 1}, status=1)
        self.assertEqual([message["outcome"] for message in self.of(messages, "finished")], ["lost"])
        self.assertEqual([file.name for file in (self.folder / "trial-1").iterdir()], ["last.ckpt.ahead"])

    def test_a_checkpoint_that_lacks_no_report_or_that_of_its_own_step_is_used(self):
        script = """
            import hpo
            trial = hpo.trial(checkpoint=True)
            trial.resume_from({})
            for step in trial.epochs():
                if step % 5 == 0:
                    trial.report(step, loss=1)
            """
        for done, ahead, used in (({"step": 5, "stride": 5}, 7, True),  # each step is saved, and each fifth one reported
                                  ({"step": 5, "stride": 5}, 10, True),  # saved before the report
                                  ({"step": 5, "stride": 5}, 11, False),
                                  ({"step": 15, "stride": 5}, 20, False),  # the last step: its value would be missing
                                  ({"step": 3, "stride": 1}, 4, True),
                                  ({"step": 0, "stride": 5}, 4, True),
                                  ({"step": 0}, 7, True)):  # no trial has reported yet
            with self.subTest(done=done, ahead=ahead):
                messages = self.play(script.format(ahead), steps=20, resumed=done, status=0 if used else 1)
                wanted = [step for step in range(ahead + 1, 21) if step % 5 == 0] if used else []
                self.assertEqual([report["step"] for report in self.of(messages, "report")], wanted)
                self.assertEqual([end["outcome"] for end in self.of(messages, "finished")], [] if used else ["lost"])
                self.tearDown()
                self.setUp()


class StandIns(SimulatedOrchestrator):
    def shim(self, name, script, params, status=0):
        (self.folder / "train.py").write_text(textwrap.dedent(script))
        reports = self.folder / "reports.jsonl"
        done = subprocess.run([sys.executable, str(self.folder / "train.py")], capture_output=True, text=True, timeout=60,
                              cwd=self.folder, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PYTHONPATH": f"{CLIENT}/shims/{name}:{CLIENT}", "HPO_TRIAL": "3",
                                   "HPO_PARAMS": json.dumps(params), "HPO_REPORTS": str(reports)})
        self.assertEqual(done.returncode, status, done.stderr)
        self.error = done.stderr
        return [json.loads(line) for line in reports.read_text().splitlines()]

    def test_wandb_config_prefers_the_trials_parameters_to_the_scripts(self):
        self.shim("wandb", """
            import argparse, copy, wandb
            assert wandb.run is None
            own = argparse.Namespace(lr=0.5, momentum=0.9, head={"width": 1, "act": "relu"}, seed=1)
            with wandb.init(project="p", config=own) as run:
                config = wandb.config
                assert run is wandb.run and run.config is config and run.name
                assert config.lr == config["lr"] == config.get("lr", 1) == 0.25
                assert (config.momentum, config.get("nothing", 7), config.seed) == (0.9, 7, 3)
                assert config.head == {"width": 4, "act": "relu"} and config["head.width"] == 4
                assert config["a b"] is True and config.layers == [64, 32] and config.none is None
                assert dict(config)["lr"] == 0.25 and "lr" in config and "nothing" not in config
                assert copy.deepcopy(config).lr == 0.25
                config.lr = 3
                config.update({"epochs": 3}, allow_val_change=True)
                assert (config.lr, config.epochs) == (0.25, 3)
                try:
                    config.nothing
                except AttributeError as error:
                    assert "momentum" in str(error)
                run.log({"x": 1})
            assert wandb.run is None
            """, {"lr": 0.25, "head.width": 4, "seed_": 3, "a_b": "True", "layers": "[64, 32]", "none": "null"})
        self.assertEqual(self.error.count("config.lr stays 0.25"), 1)

    def test_wandb_config_prefers_the_trials_parameters_also_where_the_script_names_them_by_their_paths(self):
        self.shim("wandb", """
            import wandb
            config = wandb.init(config={"model.dim": 1, "opt": {"sgd.lr": 1, "b": 2}, "model.other": 5}).config
            assert config["model.dim"] == dict(config)["model.dim"] == config.model["dim"] == 4
            assert config["opt"]["sgd.lr"] == config["opt.sgd.lr"] == 0.5 and config["opt.b"] == 2
            assert config["model.other"] == 5 and "model.none" not in config and "opt.b.c" not in config
            config.update({"model.dim": 3})
            config["opt.sgd.lr"] = 7
            config.setdefaults({"model.dim": 2})
            assert config["model.dim"] == 4 and config["opt.sgd.lr"] == 0.5
            wandb.log({"x": 1})
            """, {"model.dim": 4, "opt.sgd.lr": 0.5})
        self.assertIn("config.model.dim stays 4", self.error)

    def test_metrics_logged_to_wandb_are_reported_and_other_data_is_ignored_with_one_notice(self):
        lines = self.shim("wandb", """
            import wandb
            from wandb.sdk.lib import RunDisabled
            from wandb.keras import WandbCallback
            run = wandb.init()
            assert isinstance(run, (wandb.sdk.wandb_run.Run, RunDisabled))
            class Scalar:
                def __float__(self):
                    return 2.5
            for step in range(2):
                wandb.log({"Val Loss": step, "train": {"loss": Scalar()}, "text": "a", "image": wandb.Image(1)}, step=step)
                run.log({"Val Loss": 9}, step=step)
            wandb.log({"a": 1}, commit=False)
            wandb.log({"b": float("nan")})
            for _ in range(2):
                wandb.watch(None, log="all")
                artifact = wandb.Artifact("m", type="model")
                artifact.add_file("x")
                run.log_artifact(artifact)
                wandb.save("model.pt")
            wandb.alert(title="a", level=wandb.AlertLevel.INFO)
            assert run.resumed is False and run.starting_step == 0
            assert isinstance(run.get_url(), str) and isinstance(run.project_name(), str)
            WandbCallback().on_epoch_end(0, {"loss": 4})
            try:
                raise ValueError
            except wandb.errors.CommError:
                pass
            except ValueError:
                pass
            run.summary["best"] = 0.5
            wandb.run.summary.update({"Val Loss": 7})
            wandb.finish()
            wandb.agent(wandb.sweep({}), function=lambda: wandb.init() and wandb.log({"z": True}))
            """, {})
        self.assertEqual(lines, [{"Val_Loss": 0, "train.loss": 2.5}, {"Val_Loss": 1, "train.loss": 2.5},
                                 {"a": 1, "b": "nan"}, {"loss": 4}, {"best": 0.5}, {"z": 1}])
        self.assertEqual(self.error.count("wandb.watch is ignored"), 1)
        self.assertEqual(self.error.count("run.log_artifact is ignored"), 1)

    def test_nni_returns_nested_parameters_and_reports_results(self):
        lines = self.shim("nni", """
            import argparse, os, nni
            from nni.trial import report_final_result
            from nni.utils import merge_parameter
            assert os.path.samefile(os.environ["NNI_OUTPUT_DIR"], ".") and os.environ["NNI_TRIAL_SEQ_ID"] == "2"
            params = nni.get_next_parameter()
            assert params == {"lr": 0.25, "model": {"_name": "LeNet", "k": 3}}, params
            own = merge_parameter(argparse.Namespace(lr=1.0, model=None, other=1), params)
            assert own.lr == 0.25 and own.other == 1
            try:
                merge_parameter({"x": 1}, params)
                raise SystemExit("not reached")
            except ValueError:
                pass
            assert (nni.get_trial_id(), nni.get_sequence_id(), nni.get_current_parameter("lr")) == ("trial-3", 2, 0.25)
            nni.report_intermediate_result(0.5)
            nni.report_intermediate_result({"default": 0.6, "loss": 1})
            report_final_result(0.7)
            """, {"lr": 0.25, "model": "LeNet", "model.k": 3})
        self.assertEqual(lines, [{"default": 0.5}, {"default": 0.6, "loss": 1}, {"default": 0.7}])


if __name__ == "__main__":
    unittest.main(verbosity=2)
