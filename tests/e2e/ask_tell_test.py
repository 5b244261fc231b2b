"""hpo ask-tell: the session in its documentation, sessions that are killed, and the Python client that uses it."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap

from harness import BUILD, DEADLINE, FAKE_DISK, HPO, SOURCE, Case

STUDY = """\
study: requests
objective: {metric: loss, direction: minimize}
space:
  x: {type: float, low: 0, high: 1}
sampler: {type: random}
budget: {trials: 50, epochs: 9}
"""


class AskTell(Case):
    def talk(self, *lines, arguments=(), status=0, text=STUDY, environment=None):
        """Runs a session on these lines, each an object or a text, and returns its answers."""
        text_sent = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        self.study(text)
        done = subprocess.run([HPO, "ask-tell", "study.yaml", *arguments], cwd=self.folder, input=text_sent,
                              capture_output=True, text=True, timeout=DEADLINE * 2, env={**os.environ, **(environment or {})})
        self.error = done.stderr
        self.assertEqual(done.returncode, status, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_the_documented_session_gives_the_documented_answers(self):
        page = (SOURCE / "docs" / "ask_tell.md").read_text()
        study = re.search(r"```yaml\n(.*?)```", page, re.S)[1]
        session = re.search(r"```text\n(.*?)```", page, re.S)[1].splitlines()
        requests = [line[2:] for line in session if line.startswith("> ")]
        answers = [json.loads(line[2:]) for line in session if line.startswith("< ")]
        self.assertGreater(len(requests), 8)
        answers_received = self.talk(*requests, text=study)
        self.assertEqual(len(answers_received), len(answers))
        for answer, documented in zip(answers_received, answers):
            for key in ("reason", "version"):  # the text is up to the rules
                self.assertEqual([answer.pop(key, None) is None], [documented.pop(key, None) is None])
            self.assertEqual(answer, documented)
        self.assertIn('{"ask": 2}', self.hpo("ask-tell", "--help"))

    def test_without_a_key_trials_stop_early_and_a_study_keeps_the_rules_that_it_began_with(self):
        curve = [{"ask": 3}] + [{"report": {"trial": trial, "step": step, "values": {"loss": trial + 1 / step}}}
                                for step in range(1, 4) for trial in (1, 2, 3)]
        self.assertIn("pause", [answer.get("decision") for answer in self.talk(*curve, arguments=["--no-store"])])
        self.assert_mentions(self.hpo("check", "study.yaml"), "default", "stopping: []")
        few = STUDY.replace("trials: 50", "trials: 10")
        self.assertEqual({answer["decision"] for answer in self.talk(*curve, text=few)[1:]}, {"continue"})
        more = [{"report": {"trial": trial, "step": step, "values": {"loss": trial + 1 / step}}}
                for step in range(4, 8) for trial in (1, 2, 3)]
        self.assertEqual({answer["decision"] for answer in self.talk({"ask": 3}, *more, text=STUDY)[1:]}, {"continue"})
        self.assertNotIn("stopping", (self.folder / "runs/requests/study.yaml").read_text())

    def test_a_study_resumes_after_kills_at_any_instant_and_is_shown_like_any_other(self):
        self.study(STUDY)
        tells = 0
        for _ in range(6):
            child = subprocess.Popen([HPO, "ask-tell", "study.yaml"], cwd=self.folder, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
            self.children.append(child)
            pending = []
            for line in range(7 + tells % 3):  # each session is killed at another line
                request = {"tell": {"trial": pending.pop(), "values": {"loss": 0.5}}} if line % 3 == 2 else {"ask": 1}
                child.stdin.write(json.dumps(request) + "\n")
                child.stdin.flush()
                answer = json.loads(child.stdout.readline())
                self.assertNotIn("error", answer)
                if "trials" in answer:
                    pending.append(answer["trials"][0]["trial"])
                else:
                    tells += 1
            child.stdin.write('{"ask": 1}\n{"tell": {"trial": %d, "values": {"loss": 0.1}}}\n' % pending[-1])
            child.stdin.flush()
            child.kill()
            child.wait()
            child.stdin.close()
        self.assert_sound("requests")
        trials = self.trials("requests")
        self.assertGreaterEqual(sum(trial["state"] == "complete" for trial in trials), tells)
        left = [trial["trial"] for trial in trials if trial["state"] == "queued"]
        again = self.talk({"ask": len(left)})[0]["trials"]
        self.assertEqual([trial["trial"] for trial in again], left)
        self.assertIn("x:", self.hpo("best", "requests"))
        self.assertIn("x=", self.hpo("ls", "requests"))
        shown = self.hpo("show", "requests")
        self.assertRegex(shown, r"(?s)requests: best loss .*TRIAL +loss +STEP.*requests: what loss depends on")
        self.hpo("show", "requests", "--json", status=2)
        self.hpo("run", "study.yaml", status=1)
        self.assert_mentions(self.error, "'worker'", "missing")
        self.assertIn("hpo ask-tell", self.error)
        self.assertIn("trained by another program", self.hpo("check", "study.yaml"))

    def test_the_end_of_a_trial_is_confirmed_only_once_it_is_on_the_disk(self):
        ends = [{"ask": 1}, {"tell": {"trial": 1, "values": {"loss": 0.5}}}]
        failing = {"LD_PRELOAD": FAKE_DISK, "HPO_FAKE_DISK": "1"}
        self.assertEqual([a for a in self.talk(*ends, status=1, environment=failing) if "ok" in a], [])
        self.assert_mentions(self.error, "study.db-wal: ", "cannot be brought", "disk")

    def test_many_lines_at_once_overlong_lines_and_a_missing_store(self):
        lines = [{"ask": 1} if n % 2 == 0 else {"tell": {"trial": n // 2 + 1, "values": {"loss": 1 / (n + 1)}}}
                 for n in range(20_000)]
        answers = self.talk("x" * 3_000_000, *lines, {"best": 1}, "", arguments=["--no-store", "--set", "budget.trials=20000"])
        self.assertEqual(answers[0]["line"], 1)
        self.assertIn("1048576 bytes", answers[0]["error"])
        self.assertEqual(len(answers), 20_003)
        self.assertEqual([answer for answer in answers[1:-1] if "error" in answer], [])
        self.assertEqual(answers[-2]["trial"], 10_000)
        self.assertEqual(answers[-1], {"error": "an empty line", "line": 20_003})
        self.assertFalse((self.folder / "runs").exists())

    def test_one_session_at_a_time_and_signals_keep_open_trials(self):
        self.study(STUDY)
        child = subprocess.Popen([HPO, "ask-tell", "study.yaml"], cwd=self.folder, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.children.append(child)
        child.stdin.write('{"ask": 1}\n{"report": {"trial": 1, "step": 4, "values": {"loss": 0.5}}}\n')
        child.stdin.flush()
        first = json.loads(child.stdout.readline())["trials"][0]
        child.stdout.readline()
        self.assertEqual(self.talk({"ask": 1}, status=1), [])
        self.assertIn(f"process {child.pid}", self.error)
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(timeout=DEADLINE), 143)
        child.stdin.close()
        self.assertEqual(self.talk({"ask": 1})[0]["trials"], [{**first, "resume_from": 4}])


class PythonStudy(Case):
    def python(self, script, status=0):
        self.study(STUDY + "stopping: [{rule: asha, grace: 1, factor: 3}]\n")
        (self.folder / "search.py").write_text(textwrap.dedent(script))
        done = subprocess.run([sys.executable, "search.py"], cwd=self.folder, capture_output=True, text=True,
                              timeout=DEADLINE * 2, stdin=subprocess.DEVNULL,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "worker" / "python"), "HPO_PROGRAM": HPO})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_optimize_ask_tell_and_their_errors(self):
        done = self.python("""
            import hpo, os, signal

            def loss(trial):
                for epoch in trial.epochs():
                    trial.report(epoch, abs(trial.params.x - 0.3) + 1 / epoch)
                    if trial.should_stop():
                        raise hpo.Pruned()
                return abs(trial.params["x"] - 0.3)

            with hpo.Study("study.yaml") as study:
                assert study.best is None
                assert repr(study) == "<study requests: minimize loss>", study
                study.optimize(loss, 20)
                assert study.best.values["loss"] < 0.2, study.best
                assert study.best.state == "complete", study.best
                number = study.best.number
                trial = study.ask()
                study.report(trial, 1, {"loss": float("nan"), "other": 2})
                assert trial.should_stop() and trial.rule == "diverged", trial.decision
                for wrong in (lambda: study.tell(trial, 1.0), lambda: study.tell(999, 1.0), lambda: study.ask(0)):
                    try:
                        wrong()
                        raise SystemExit("no error was raised")
                    except hpo.StudyError as error:
                        print(error)

                def broken(trial):
                    raise ValueError("no such layer")

                study.optimize(broken, 1, catch=(ValueError,))
                try:
                    study.optimize(broken, 1)
                except ValueError:
                    print("raised")
            with hpo.Study("study.yaml") as study:
                assert study.best.number == number
                os.kill(study._session.child.pid, signal.SIGKILL)
                try:
                    study.ask()
                except hpo.StudyError as error:
                    print(error)
            """)
        self.assertRegex(done.stdout, r"(?s)has ended already: diverged.*there is no trial 999.*from 1 on.*raised.*"
                                      r"killed by signal 9")
        failed = [trial for trial in self.trials("requests") if trial["state"] == "failed"]
        self.assertEqual({trial["reason"] for trial in failed}, {"ValueError: no such layer"})

    def test_hpo_stop_ends_a_trial_and_then_the_study(self):
        done = self.python("""
            import hpo, os, subprocess

            def stop(what):
                subprocess.run([os.environ["HPO_PROGRAM"], "stop", what], check=True)

            def loss(trial):
                for step in trial.epochs():
                    if trial.number == 2 and step == 3:
                        stop("searched/2")
                    trial.report(step, loss=trial.params.x / step)
                if trial.number == 3:
                    stop("searched/3")
                if trial.number == 4:
                    stop("searched")
                return trial.params.x / 9

            with hpo.Study("searched", space={"x": hpo.Float(0, 1)}, objective="loss", trials=9, epochs=9,
                           sampler="random", stopping=[]) as study:
                study.optimize(loss)
                print([(trial.number, trial.state) for trial in study.trials])
            """)
        self.assertEqual("[(1, 'complete'), (2, 'stopped'), (3, 'complete'), (4, 'complete')]", done.stdout.splitlines()[-1])
        trial = self.trials("searched")[1]
        self.assertEqual(("user", 3), (trial["rule"], trial["steps"]))
        self.hpo("stop", "searched", status=1)
        self.assertTrue(self.error.endswith("is not running: there is nothing to stop\n"), self.error)
        (self.folder / "runs/searched/slurm.sh").touch()
        self.hpo("stop", "searched", status=1)
        self.assertRegex(self.error, r"is cancelled by scancel --name=hpo-searched-[0-9a-f]{8}\n")
        self.assertIn("stopped by the user", self.hpo("top", "searched", "--once"))
        self.assertRegex(self.hpo("ls"), r"searched +interrupted +4/")

    def test_a_socket_that_nobody_reads_or_that_floods_does_no_harm(self):
        self.study(STUDY)
        child = subprocess.Popen([HPO, "ask-tell", "study.yaml"], cwd=self.folder, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.children.append(child)

        def ask(line):
            child.stdin.write(line + "\n")
            child.stdin.flush()
            return json.loads(child.stdout.readline())

        ask('{"ask": 1}')
        path = json.loads((self.folder / "runs/requests/lock").read_text())["socket"]
        clients = [socket.socket(socket.AF_UNIX) for _ in range(40)]
        for client in clients:
            client.connect(path)
            client.settimeout(DEADLINE)
        clients[-1].sendall(b'{"op": "status"}\n{"op": "stop", "trial": 7}\nnonsense\n')
        answers = b""
        while answers.count(b"\n") < 3:
            answers += clients[-1].recv(4096)
        first, second, third = map(json.loads, answers.splitlines())
        self.assertEqual(("requests", child.pid, 1), (first["study"], first["pid"], first["running"]))
        self.assertEqual([False, False], [second["ok"], third["ok"]])
        clients[-2].sendall(b"x" * 20_000)  # longer than a request may be
        with contextlib.suppress(ConnectionResetError):
            self.assertEqual(b"", clients[-2].recv(1))
        self.assertEqual("continue", ask('{"report": {"trial": 1, "step": 1, "values": {"loss": 1}}}')["decision"])
        for client in clients:
            client.close()
        child.stdin.close()
        self.assertEqual(0, child.wait(timeout=DEADLINE))
        self.assertFalse(os.path.exists(path))

    def test_an_interrupted_ask_loses_no_trial_and_mixes_up_no_answers(self):
        """Ctrl-C comes while the answer is awaited: the stand-in for hpo answers only once the program has noticed."""
        (self.folder / "slow").write_text(textwrap.dedent("""\
            #!/usr/bin/env python3
            import ctypes, os, signal, subprocess, sys
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: none stays behind where the test fails
            hpo = subprocess.Popen([os.environ["REAL"], *sys.argv[1:]], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
            asks = 0
            for line in sys.stdin:
                hpo.stdin.write(line)
                hpo.stdin.flush()
                answer = hpo.stdout.readline()
                asks += "ask" in line
                if "ask" in line and asks == 2:
                    os.kill(os.getppid(), signal.SIGINT)
                    open("noticed").read()
                print(answer, end="", flush=True)
            """))
        (self.folder / "slow").chmod(0o755)
        os.mkfifo(self.folder / "noticed")
        # Also where the signal does not wake the thread that waits, as when it comes just before that sleeps.
        for wakes in (True, False):
            self.interrupt(wakes)
            shutil.rmtree(self.folder / "runs")

    def interrupt(self, wakes):
        self.python(f"""
            import hpo, os, signal
            os.environ["REAL"] = os.environ["HPO_PROGRAM"]
            with hpo.Study("study.yaml", program="./slow") as study:
                first = study.ask()
                if not {wakes}:
                    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
                try:
                    study.ask(3)
                    raise SystemExit("not interrupted")
                except KeyboardInterrupt:
                    open("noticed", "w").close()
                study.tell(first, 1.0)
                assert [trial.number for trial in study.ask(2)] == [2, 3]
                assert [trial.number for trial in study.ask(2)] == [4, 5]
                assert study.best.number == 1
            """)

    def test_a_forked_process_that_lives_on_does_not_keep_the_study_open(self):
        """As the workers of a data loader do. The process ends once the test has read that the study was closed."""
        self.python("""
            import hpo, os

            class One:  # as NumPy's integers are
                def __index__(self):
                    return 1

            reading, writing = os.pipe()
            with hpo.Study("study.yaml") as study:
                trial = study.ask()
                child = os.fork()
                if child == 0:
                    os.close(writing)
                    try:
                        study.ask()
                        os._exit(1)
                    except hpo.StudyError:
                        study.close()
                    os.read(reading, 1)  # until the parent has ended or says so
                    os._exit(0)
                study.report(trial, One(), 0.4)
            os.write(writing, b".")
            assert os.waitpid(child, 0)[1] == 0
            """)

    def test_a_study_that_cannot_start_gives_the_reason(self):
        done = self.python("import hpo\nhpo.Study('missing.yaml', store=False)", status=1)
        self.assertIn("missing.yaml", done.stderr)
        self.assertIn("StudyError", done.stderr)


if __name__ == "__main__":
    import unittest

    unittest.main()
