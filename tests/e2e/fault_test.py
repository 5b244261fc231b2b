"""Provoked faults: kills at random instants, misbehaving workers, full disks, damaged databases. The number in a test's name is the row of
docs/guarantees.md that it checks. tests/unit/engine and tests/contract/execution prove the effect of each fault on a trial. These tests show once
that the whole program has it. Seeds are fixed. HPO_KILLS sets the number of kills per test (default 20; 200 is thorough)."""
import fcntl
import json
import os
import pathlib
import random
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from harness import FAKE, FAKE_DISK, HPO, Case, processes_of, wait_for
from reported import assert_seen, reported

KILLS = int(os.environ.get("HPO_KILLS", "20"))


def fake_study(script="", name="fake", trials=4, epochs=5, parallel=2, more="", retries=2, timeout="60s", space=""):
    params = f", params: {{fake: \"{script}\"}}" if script else ""
    return f"""\
study: {name}
objective: {{metric: val_loss, direction: minimize}}
space:
  x: {{type: float, low: 0.0, high: 1.0}}
{space}
worker: {{command: ["{FAKE}"]{params}}}
budget: {{trials: {trials}, epochs: {epochs}}}
sampler: {{type: random}}
resources: {{parallel: {parallel}, retries: {retries}, progress_timeout: {timeout}, grace: 1s}}
{more}
"""


def pause(seconds):
    """Waits for a random instant at which to kill. It does not wait for an event."""
    select.select([], [], [], seconds)


def finished(trials):
    return {t["trial"]: t for t in trials if t["state"] in ("complete", "stopped", "diverged", "failed")}


class Kills(Case):
    alone = "requires that all processes are gone after 2 s"

    def kill_repeatedly(self, victim_of):
        """Kills at random instants until the study has ended. No finished trial may be lost, changed or repeated."""
        name, trials = "fake", 8 * KILLS  # more than have ended at the last kill
        study = self.study(fake_study("each=0.004;daemon=1@1;children=1@2", trials=trials, epochs=3))
        dice = random.Random(name)
        known = {}
        for _ in range(KILLS):
            child = self.start("run", study)
            before = len(known)
            # Mostly while trials run, and sometimes while hpo starts.
            if dice.random() < 0.8:
                wait_for(lambda: processes_of(self.folder) or child.poll() is not None)
            pause(dice.uniform(0, 0.12))
            victim = victim_of(child)
            if victim:
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            if victim != child.pid and child.poll() is None:
                pause(dice.uniform(0, 0.1))
                child.kill()
            child.wait(10)
            self.assert_nobody_left(2.0)
            now = finished(self.trials_so_far(name))
            for number, trial in known.items():
                self.assertEqual(now.get(number), trial, f"trial {number} had finished and has changed")
            self.assertGreaterEqual(len(now), before)
            known = now
            self.children.remove(child)
            child.stdout.close()
            child.stderr.close()
            if len(known) >= trials:
                break
        self.assert_sound(name)
        self.hpo("run", study, timeout=300)
        end = finished(self.trials(name))
        self.assertEqual(len(end), trials)
        for number, trial in known.items():
            self.assertEqual(end[number], trial)
        self.assert_nobody_left()
        with sqlite3.connect(f"file:{self.database(name)}?mode=ro", uri=True) as database:
            twice = database.execute("select trial, count(*) from event where kind = 8 group by trial having count(*) > 1").fetchall()
        self.assertEqual(twice, [], "trials finished twice")

    def test_row_1_the_orchestrator_is_killed_at_random_instants_of_a_running_study(self):
        self.kill_repeatedly(lambda child: child.pid)

    def curves(self, name):
        """Returns each trial's parameters, values and the metrics of all its steps, so that a lost step shows even if it was not the best."""
        details = [json.loads(self.hpo("show", name, trial["trial"], "--json")) for trial in self.trials(name)]
        return {trial["trial"]: (trial["params"], trial["values"], [(step["step"], step["metrics"]) for step in trial["curve"]]) for trial in details}

    def test_row_1_killed_with_native_workers_and_resumed_curves_equal_those_of_an_uninterrupted_study(self):
        from harness import synthetic
        text = synthetic(trials=12, epochs=6, samples=20000)
        self.hpo("run", self.study(text))
        uninterrupted = self.curves("small")
        self.hpo("ls")
        study = self.study(text.replace("study: small", "study: killed"))
        dice = random.Random(7)
        for _ in range(max(3, KILLS // 5)):
            child = self.start("run", study)
            wait_for(lambda: processes_of(self.folder) or child.poll() is not None)
            pause(dice.uniform(0, 0.4))
            child.kill()
            child.wait(10)
            self.assert_nobody_left(2.0)
        self.hpo("run", study)
        self.assertEqual(self.curves("killed"), uninterrupted)

    def test_row_8_a_supervisor_killed_at_random_instants_leaves_no_process(self):
        def supervisor(child):
            supervisors_found = []
            for pid in processes_of(self.folder):
                try:
                    if b"__supervisor" in pathlib.Path("/proc", str(pid), "cmdline").read_bytes():
                        supervisors_found.append(pid)
                except OSError:
                    pass
            return random.Random(len(supervisors_found)).choice(supervisors_found) if supervisors_found else None

        self.kill_repeatedly(supervisor)

    def test_row_1_a_killed_supervisor_ends_its_worker_and_the_study_continues(self):
        child = self.start("run", self.study(fake_study("each=0.01;daemon=1@1", trials=60, epochs=4, retries=50)))
        dice = random.Random(3)
        reported = 0
        for _ in range(20):
            # Three failed launches in a row end a study, so each kill waits until a worker has reported since the last one.
            wait_for(lambda: self.steps_so_far("fake") > reported or child.poll() is not None)
            reported = self.steps_so_far("fake")
            supervisors = wait_for(lambda: child.poll() is not None or
                               [p for p in processes_of(self.folder) if b"__supervisor" in self.cmdline(p)])
            if supervisors is True:
                break
            os.kill(dice.choice(supervisors), signal.SIGKILL)
            pause(dice.uniform(0, 0.05))
        self.assertEqual(child.wait(60), 0, child.stderr.read())
        self.assertEqual(len(finished(self.trials("fake"))), 60)
        self.assert_nobody_left()

    def steps_so_far(self, study):
        return sum(trial["steps"] for trial in self.trials_so_far(study))

    @staticmethod
    def cmdline(pid):
        try:
            return pathlib.Path("/proc", str(pid), "cmdline").read_bytes()
        except OSError:
            return b""


class Endings(Case):
    alone = "requires ends within 1 s"

    def running(self, script="each=0.05", hangup=signal.SIG_DFL, environment=None, trials=500, **more):
        child = self.start("run", self.study(fake_study(script, trials=trials, **more)), environment=environment,
                           preexec_fn=lambda: signal.signal(signal.SIGHUP, hangup))
        wait_for(lambda: any(t["steps"] for t in self.trials_so_far("fake")))
        return child

    def test_row_2_one_sigint_ends_the_workers_stores_everything_and_exits_with_130(self):
        child = self.running()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(10), 130)
        self.assert_nobody_left()
        self.assertNotIn("running", {t["state"] for t in self.trials("fake")})

    def test_row_3_a_second_sigint_kills_within_a_second(self):
        child = self.running("each=0.05;ignore-term@1", more="", retries=0)
        child.send_signal(signal.SIGINT)
        pause(0.05)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(5), 130)
        self.assertLess(time.monotonic() - began, 1.0)
        self.assert_nobody_left()

    def test_row_4_a_closed_terminal_ends_the_study_like_sigterm(self):
        child = self.running()
        child.send_signal(signal.SIGHUP)
        self.assertEqual(child.wait(10), 143)
        self.assert_nobody_left()

    def test_row_44_under_nohup_a_study_survives_its_terminal_and_its_runtime_folder(self):
        runtime = self.folder / "runtime"
        runtime.mkdir(0o700)
        child = self.running("each=0.2", hangup=signal.SIG_IGN, environment={"XDG_RUNTIME_DIR": str(runtime)}, trials=6)
        wait_for(lambda: list(runtime.glob("hpo-*/control")))
        shutil.rmtree(runtime)
        child.send_signal(signal.SIGHUP)
        wait_for(lambda: child.poll() is not None or subprocess.run(
            [HPO, "stop", "fake/6"], cwd=self.folder, capture_output=True).returncode == 0)
        self.assertEqual(child.wait(60), 0, child.stderr.read())
        self.assertEqual([t["state"] for t in self.trials("fake")], 5 * ["complete"] + ["stopped"])
        self.assert_nobody_left()

    def test_row_4_a_closed_pipe_ends_the_study_without_a_crash(self):
        child = self.running()
        child.stdout.close()
        child.stdout = None
        self.assertEqual(child.wait(30), 143)
        self.assert_nobody_left()

    def test_row_45_two_signals_end_it_even_if_its_supervisors_are_stopped(self):
        child = self.running()
        for pid in processes_of(self.folder):
            if b"__supervisor" in Kills.cmdline(pid):
                os.kill(pid, signal.SIGSTOP)
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGTERM)  # two pending signals of one number would count as one
        self.assertIn(child.wait(60), (130, 143))  # depends on which of the two was delivered first
        self.assert_nobody_left(60)

    def test_row_45_a_full_pipe_does_not_delay_an_interrupt(self):
        child = self.start("run", self.study(fake_study("each=0.002", trials=500)), "--json")
        fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, 4096)
        blocked = re.compile("^(1|7) ")  # in write or poll
        wait_for(lambda: blocked.match(pathlib.Path(f"/proc/{child.pid}/syscall").read_text()))
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(60), 130)
        self.assert_nobody_left(60)

    def test_row_7_a_worker_that_ignores_term_is_killed_after_the_grace_period(self):
        child = self.running("each=0.02;ignore-term@1")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(10), 143)
        self.assert_nobody_left()


class Questions(Case):
    """SIGQUIT asks for the reason why a session waits."""

    def run_asked(self, *arguments, ignored=()):
        """Starts `hpo run` with stderr in a file. Shells without job control start what runs in the background with signals ignored."""
        self.said = self.folder / "said"
        with open(self.said, "w") as said:
            child = subprocess.Popen([HPO, "run", *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=said,
                                     preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored])
        self.children.append(child)
        return child

    def ask_until(self, child, answer):
        def answered():
            self.assertIsNone(child.poll(), self.said.read_text())
            child.send_signal(signal.SIGQUIT)
            return answer in self.said.read_text()
        wait_for(answered, message=answer)

    def test_row_68_sigquit_tells_what_the_loop_waits_for_and_it_goes_on(self):
        child = self.run_asked(self.study(fake_study("each=0.05", trials=500)))
        wait_for(lambda: any(t["steps"] for t in self.trials_so_far("fake")))
        self.ask_until(child, " runs for ")
        said = self.said.read_text()
        self.assertRegex(said, rf"hpo: study fake, process {child.pid}, waits for:\n  worker 0 \(process [0-9]+\): trial ")
        self.assertRegex(said, r"\n  (the study's database is up to date|events wait to be written|[0-9]+ (results?|messages?) )")
        self.assertIn("\n  threads: hpo runs", said)
        before = len(finished(self.trials_so_far("fake")))
        wait_for(lambda: len(finished(self.trials_so_far("fake"))) > before)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(10), 130)

    def test_row_68_a_run_that_waits_for_a_lock_says_so_and_heeds_an_interrupt_that_it_was_started_to_ignore(self):
        study = self.study(fake_study(trials=1))
        self.hpo("run", study)
        locked = sqlite3.connect(self.database("fake"), isolation_level=None)
        self.addCleanup(locked.close)
        locked.execute("PRAGMA locking_mode = EXCLUSIVE")
        locked.execute("BEGIN EXCLUSIVE")
        locked.execute("UPDATE study SET value = value")
        child = self.run_asked(study, "--trials", "500", ignored=(signal.SIGINT, signal.SIGQUIT))
        self.ask_until(child, "hpo: waits for a lock on the study's database that another process holds, for ")
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(10), -signal.SIGINT)
        self.assert_nobody_left()


    def test_row_68_a_session_of_ask_tell_says_that_it_waits_for_requests(self):
        self.said = self.folder / "said"
        with open(self.said, "w") as said:
            child = subprocess.Popen([HPO, "ask-tell", str(self.study(fake_study()))], cwd=self.folder, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=said, text=True,
                                     preexec_fn=lambda: signal.signal(signal.SIGQUIT, signal.SIG_IGN))
        self.children.append(child)
        self.addCleanup(child.stdin.close)
        self.ask_until(child, "hpo: waits for requests on standard input, for ")
        child.stdin.write('{"ask": 1}\n')
        child.stdin.flush()
        self.assertIn('"trial":1', child.stdout.readline())


class Workers(Case):

    def run_fake(self, script, status=0, **more):
        more = {"trials": 2, "parallel": 1, **more}
        self.out = self.hpo("run", self.study(fake_study(script, **more)), status=status)
        return self.trials("fake")

    def test_rows_5_15_16_17_a_misbehaving_worker_ends_its_own_trial_only(self):
        ways = {"say=goodbye@2;die=SIGSEGV@2": ("failed", "SIGSEGV"), "nan@3": ("diverged", "step 3"),
                "step=-1@2;step=2@4;step=huge@3": ("complete", ""), "old@2;stranger@3;late": ("complete", "")}
        choices = ", ".join(f'"{way}"' for way in ways)
        trials = self.run_fake("", trials=12, parallel=3, retries=1, space=f"  fake: {{type: categorical, choices: [{choices}]}}")
        self.assertEqual({trial["params"]["fake"] for trial in trials}, set(ways))
        for trial in trials:
            way = trial["params"]["fake"]
            state, reason = ways[way]
            self.assertEqual(trial["state"], state, trial)
            self.assertIn(reason, trial["reason"] or "")
            self.assertEqual(trial["attempt"], 2 if state == "failed" else 1, trial)
            if state == "complete":
                self.assertEqual(trial["steps"], 5)
            if "goodbye" in way:
                self.assertIn("goodbye", trial["reason"])
        self.assert_nobody_left()

    def test_row_8_detached_grandchildren_die_with_the_trials_worker(self):
        self.run_fake("children=3@2;daemon=3@3;chain@2")
        self.assert_nobody_left()

    def test_row_12_a_worker_that_cannot_be_started_ends_the_study_with_the_reason_and_fails_no_trial(self):
        program = self.folder / "program"  # it exists, but it cannot be executed
        program.write_text(f"#!{self.folder}\n")  # as an interpreter, a folder
        program.chmod(0o755)
        self.hpo("run", self.study(fake_study().replace(FAKE, str(program))), status=1)
        self.assertIn("Permission denied", self.error)
        self.assertIn(str(program), self.error)
        self.assertEqual(finished(self.trials("fake")), {})

    def test_row_13_descriptors_stay_flat_over_many_trials(self):
        # The last count comes long before the end, when descriptors are closed.
        child = self.start("run", self.study(fake_study("", trials=1200, epochs=2)), "--quiet")
        counts = []
        for ended in (30, 250, 500):
            wait_for(lambda: child.poll() is not None or len(finished(self.trials_so_far("fake"))) >= ended, 300)
            if child.poll() is None:
                counts.append(len(os.listdir(f"/proc/{child.pid}/fd")))
        self.assertEqual(child.wait(300), 0)
        self.assertLessEqual(max(counts) - min(counts), 3, counts)

    def test_row_14_invalid_lines_are_counted_and_later_ones_are_read(self):
        trials = self.run_fake("halfline@1;longline=100000000@2;binary=100000@3;badutf8@4;nested=30000@4")
        self.assertEqual([t["state"] for t in trials], ["complete", "complete"])
        self.assertEqual([t["steps"] for t in trials], [5, 5])
        log = (self.folder / "runs" / "fake" / "hpo.log").read_text(errors="strict")
        self.assertIn("ignored", log)

    def test_row_14_escape_codes_reach_no_screen(self):
        self.run_fake("escapes@2;die=SIGABRT@3", status=1)
        for out in (self.hpo("ls", "fake"), self.hpo("top", "fake", "--once"), self.hpo("show", "fake", "1"), self.out):
            self.assertNotIn("\x1b", out)

    def test_row_19_a_flood_on_stdout_is_drained_and_the_log_is_capped(self):
        self.run_fake("spew=50000000@2", trials=1)
        self.assertLess((self.folder / "runs/fake/logs/trial-0001.log").stat().st_size, 5 << 20)


class Sandboxes(Case):
    def test_row_48_without_proc_hpo_refuses_to_start_with_one_message(self):
        study = self.study(fake_study("each=0.01", trials=1))
        root = [] if os.geteuid() == 0 else ["--map-root-user"]
        done = subprocess.run(["unshare", "--mount", *root, "sh", "-c",
                               'mount -t tmpfs none /proc || exit 77; exec "$0" run "$1"', HPO, str(study)],
                              cwd=self.folder, capture_output=True, text=True, timeout=60)
        if done.returncode == 77 or done.stderr.startswith("unshare:"):
            self.skipTest("no mount namespace here")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^hpo: /proc is not there \(.*mount -t proc proc /proc\n$")
        self.assertFalse((self.folder / "runs").exists())


class Storage(Case):
    def test_row_20_a_full_disk_ends_the_run_cleanly_and_the_next_one_resumes(self):
        study = self.study(fake_study("each=0.001", trials=3000, epochs=5))

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

        child = self.start("run", study, preexec_fn=small_files)
        out, error = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 1, error)
        self.assertRegex(error, "(?i)(full|disk|I/O|cannot be written)")
        self.assertNotIn(" in 0 ms", out)
        self.assertNotIn(" running", out)
        self.assert_nobody_left()
        self.assert_sound("fake")
        before = finished(self.trials("fake"))
        self.assertTrue(0 < len(before) < 3000)
        self.hpo("run", study, "--trials", len(before) + 10)
        after = finished(self.trials("fake"))
        for number, trial in before.items():
            self.assertEqual(after[number], trial)

    def test_row_20_an_output_that_cannot_be_written_ends_the_run_with_a_reason(self):
        study = self.study(fake_study("each=0.02", trials=40, epochs=1))
        with open("/dev/full", "w") as full:
            child = subprocess.Popen([HPO, "run", study], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True)
            self.children.append(child)
            _, error = child.communicate(timeout=120)
        self.assertEqual((1, "hpo: cannot write to standard output: No space left on device\n"), (child.returncode, error))
        self.assert_nobody_left()
        self.assertIn("session ended: cannot write to standard output: No space left", (self.folder / "runs/fake/hpo.log").read_text())
        self.hpo("run", study, "--quiet")

    def test_row_20_a_memory_file_that_cannot_be_written_ends_the_run_with_a_reason(self):
        study = self.study(fake_study("each=0.02", trials=40, epochs=1))
        child = self.start("run", study, "--json")
        output = next(line for line in child.stdout if '"event":"finished"' in line)
        child.send_signal(signal.SIGBUS)  # as the kernel does
        rest, error = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 1, error)
        self.assert_mentions(error, "(study.db-shm)", "cannot be read")
        self.assert_nobody_left()
        ends = reported(output + rest[:rest.rfind("\n") + 1])
        self.hpo("run", study, "--quiet")
        assert_seen(self, "fake", ends)
        self.assertEqual(len(finished(self.trials("fake"))), 40)

    def test_row_55_everything_ever_reported_is_in_every_viewer_after_a_write_that_failed(self):
        for failing in (150, 190, 230):
            with self.subTest(write=failing):
                name = f"w{failing}"
                study = self.study(fake_study("each=0.02", name=name, trials=60, epochs=1), f"{name}.yaml")
                child = self.start("run", study, "--json", environment={"LD_PRELOAD": FAKE_DISK, "HPO_FAKE_WRITE": str(failing)})
                output, error = child.communicate(timeout=120)
                self.assertEqual(child.returncode, 1, error)
                self.assert_mentions(error, "disk", "full")
                ends = reported(output)
                self.assertTrue(0 < len(ends) < 60, len(ends))
                assert_seen(self, name, ends)
                ends.update(reported(self.hpo("run", study, "--json")))
                self.assertEqual(len(ends), 60)
                assert_seen(self, name, ends)

    def test_row_55_a_damaged_summary_is_read_from_the_events_and_made_anew(self):
        study = self.study(fake_study("each=0.001", trials=20, epochs=2))
        ends = reported(self.hpo("run", study, "--json"))
        for damage in ("UPDATE summary SET body = CAST(x'00' || substr(body, 2) AS BLOB) WHERE trial = 7", "DELETE FROM summary WHERE trial > 3"):
            connection = sqlite3.connect(self.database("fake"))
            connection.execute(damage)
            connection.commit()
            connection.close()
            assert_seen(self, "fake", ends)
            ends.update(reported(self.hpo("run", study, "--json", "--trials", len(ends) + 4)))
            assert_seen(self, "fake", ends)

    def test_row_55_results_behind_a_damaged_byte_of_the_log_are_named_by_the_next_run(self):
        study = self.study(fake_study("each=0.001", trials=5000, epochs=1))
        child = self.start("run", study, "--json")
        output = "".join(child.stdout.readline() for _ in range(400))
        child.kill()
        output += child.stdout.read()  # communicate() would skip what readline() has buffered
        child.wait()
        ends = reported(output[:output.rindex("\n") + 1])
        assert_seen(self, "fake", ends)
        log = self.database("fake").with_name("study.db-wal")
        damaged = bytearray(log.read_bytes())
        damaged[len(damaged) // 2] ^= 4
        log.write_bytes(damaged)
        lost = set(ends) - set(finished(self.trials("fake")))
        self.assertTrue(lost)
        self.assert_mentions(self.error, "results", "missing")
        for viewer in ([], ["ls"], ["ls", "--json"], ["ls", "fake"], ["best", "fake"], ["show", "fake"], ["show", "fake/1"], ["top", "--once", "fake"],
                       ["importance", "fake"], ["advise", "fake"], ["export", "fake", "--to", "csv", "-"], ["export", "fake", "--to", "jsonl", "-"],
                       ["report", "fake", "-o", "page.html"], ["compare", "fake/1", "fake/2"], ["plot", "fake", "history"], ["logs", "fake/1"]):
            with self.subTest(viewer=viewer):
                self.hpo(*viewer)
                self.assertEqual(self.error.count("results that were reported are missing"), 1, self.error)
        self.assertIn("results that were reported are missing", json.loads(self.hpo("ls", "--json"))["studies"][0]["missing_results"])
        self.hpo("run", study, "--trials", len(ends) + 20)
        first = min(lost)
        self.assertIn(f"trial {first} (complete, ", self.error)
        self.assertTrue(log.with_name("study.db-wal.damaged").exists())
        self.hpo("ls", "fake")
        self.assertNotIn("missing", self.error)
        self.assertIsNone(json.loads(self.hpo("ls", "--json"))["studies"][0]["missing_results"])

    def test_row_54_the_end_of_a_trial_has_no_effect_before_it_is_on_the_disk(self):
        # The disk stores the new study and fails from then on.
        study = self.study(fake_study("each=0.001", trials=4, parallel=1, more="keep: {folders: none}"))
        failing = {"LD_PRELOAD": FAKE_DISK, "HPO_FAKE_DISK": "1"}
        events = [json.loads(line) for line in self.hpo("run", study, "--json", status=1, environment=failing).splitlines()]
        self.assert_mentions(self.error, "study.db-wal: ", "cannot be brought", "disk")
        self.assertEqual({line["event"] for line in events}, {"launched", "reported", "ended"})
        ended = finished(self.trials("fake"))
        self.assertIn(1, ended)  # it was written, but not synchronised
        self.assertTrue((self.folder / "runs/fake/checkpoints/trial-0001/last.ckpt").exists())
        self.assertNotIn("complete", (self.folder / "runs/fake/hpo.log").read_text())
        self.hpo("run", study)
        after = finished(self.trials("fake"))
        self.assertEqual(len(after), 4)
        self.assertEqual(after[1], ended[1])

    def test_row_23_of_several_runs_at_once_one_succeeds_and_the_others_name_it(self):
        study = self.study(fake_study("each=0.05", trials=20))
        runs = [self.start("run", study) for _ in range(8)]
        wait_for(lambda: sum(r.poll() is not None for r in runs) == 7)
        holder = next(r for r in runs if r.poll() is None)
        for run in runs:
            if run is not holder:
                self.assertEqual(run.returncode, 1)
                self.assertIn(f"process {holder.pid}", run.stderr.read())
        self.assertEqual(holder.wait(60), 0)
        self.assertEqual(len(finished(self.trials("fake"))), 20)

    def test_row_24_a_viewer_with_a_read_lock_does_not_block_the_study(self):
        child = self.start("run", self.study(fake_study("each=0.005", trials=60)))
        wait_for(lambda: self.trials_so_far("fake"))
        viewer = sqlite3.connect(f"file:{self.database('fake')}?mode=ro", uri=True, isolation_level=None)
        viewer.execute("begin")
        viewer.execute("select count(*) from event").fetchone()
        self.assertEqual(child.wait(60), 0, child.stderr.read())
        viewer.close()
        self.assertEqual(len(finished(self.trials("fake"))), 60)

    def test_row_26_a_damaged_database_is_refused_and_left_unchanged(self):
        study = self.study(fake_study())
        self.hpo("run", study)
        path = self.database("fake")
        whole = path.read_bytes()
        for damaged in (whole[: len(whole) // 2], b"", b"no database at all" * 100, whole[:4096] + os.urandom(len(whole) - 4096)):
            for extra in path.parent.glob("study.db-*"):
                extra.unlink()
            path.write_bytes(damaged)
            self.hpo("run", study, status=1)
            self.assertIn("study.db", self.error)
            self.assertEqual(path.read_bytes(), damaged)

    def test_row_22_a_folder_that_cannot_be_created_is_an_error_before_any_launch(self):
        (self.folder / "runs").write_text("")
        self.hpo("run", self.study(fake_study()), status=1)
        self.assertIn("runs", self.error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
