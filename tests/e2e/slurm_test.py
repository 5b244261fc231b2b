"""hpo run --on slurm: a study in jobs that hpo submits to a real Slurm, one after another."""
import json
import os
import re
import shutil
import signal
import sqlite3
import unittest

from harness import synthetic, wait_for
from slurm_case import SlurmCase
from terminal_test import Screen

LONG = 4000  # epochs: longer than any of these tests takes


def signals(pid, kind):
    """Returns a set of signals of a process, such as SigCgt, those that it catches."""
    with open(f"/proc/{pid}/status") as status:
        sets = dict(line.split(maxsplit=1) for line in status if line.startswith("Sig"))
    return {number for number in signal.Signals if int(sets[kind + ":"], 16) >> (number - 1) & 1}


class JobsCase(SlurmCase):
    def write(self, name="queued", trials=6, epochs=5, parallel=2, slurm="cpus: 2"):
        text = synthetic(name=name, trials=trials, epochs=epochs, parallel=parallel)
        return self.study(text.replace("resources: {", f"resources: {{slurm: {{{slurm}}}, "))

    def jobs(self, states="all"):
        """Returns the ids of this study's jobs, also of those that have ended."""
        lines = self.slurm("squeue", "-h", "-a", "-t", states, "-o", "%i %j").splitlines()
        return [line.split()[0] for line in lines if line.split()[1].startswith("hpo-queued-")]

    def state(self, job):
        return self.slurm("squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()

    def follow(self, *more, environment=None):
        return self.start("run", "study.yaml", "--on", "slurm", *more, environment={**self.environment, **(environment or {})})

    def program(self, name, text):
        """Makes a script that takes the place of a command. Returns the environment in which it does."""
        script = self.folder / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text("#!/bin/sh\n" + text)
        script.chmod(0o755)
        return {"PATH": f"{script.parent}:{os.environ['PATH']}"}

    def begin(self):
        """Starts the study, and returns the follower and the job once a trial has reported."""
        child = self.follow()
        self.until_it_trains()
        return child, self.jobs("running")[0]

    def until_it_trains(self):
        wait_for(lambda: any(trial["state"] == "running" and trial["steps"] > 0 for trial in self.trials_so_far("queued")))

    def log(self):
        return (self.folder / "runs/queued/slurm.log").read_text()

    def assert_as_on_one_machine(self, number):
        trials = self.trials("queued")
        self.assertEqual([(trial["state"], trial["failures"]) for trial in trials], [("complete", 0)] * number)
        for trial in trials:  # no gap in a curve
            steps = [point["step"] for point in json.loads(self.hpo("show", "queued", trial["trial"], "--json"))["curve"]]
            self.assertEqual(steps, list(range(1, trial["steps"] + 1)))
        self.hpo("run", "study.yaml", "--set", "study=one", "--on", "local")
        self.assertEqual([trial["value"] for trial in self.trials("one")], [trial["value"] for trial in trials])


class Jobs(JobsCase):
    seconds = 15

    def test_a_study_is_submitted_and_followed_to_its_end(self):
        self.write(trials=6, slurm="nodes: 3, partition: main, time: 10m, extra: [--comment=two words]")
        script = self.hpo("run", "study.yaml", "--on", "slurm", "--dry-run")
        self.assertIn("#SBATCH --partition=main\n#SBATCH --nodes=3\n", script)
        self.assertFalse((self.folder / "runs").exists())
        out = self.hpo("run", "study.yaml", "--on", "slurm", environment=self.environment)
        self.assertEqual((self.folder / "runs/queued/slurm.sh").read_text(), script)
        self.assertRegex(self.error, r"hpo: job \d+ is submitted; it goes on without this terminal, and writes to .*/runs/queued/slurm.log\n")
        self.assertIn("best val_loss", out)
        self.assertEqual(len(re.findall(r"^trial +\d+  val_loss \S+ +complete", out, re.M)), 6)
        self.assertTrue({trial["host"] for trial in self.trials("queued")} <= {"node1", "node2", "node3"})
        self.assert_as_on_one_machine(6)
        self.hpo("run", "study.yaml", "--on", "slurm", environment=self.environment)  # it is finished
        self.assertEqual(len(self.jobs()), 1)
        self.hpo("run", "study.yaml", "--on", "slurm", "--trials", "8", environment=self.environment)
        self.assertEqual([trial["state"] for trial in self.trials("queued")], ["complete"] * 8)

    def test_ctrl_c_asks(self):
        self.write(epochs=LONG)
        screen = Screen(self.folder, "run", "study.yaml", "--on", "slurm", environment=self.environment)
        wait_for(lambda: screen.read() or any(trial["steps"] for trial in self.trials_so_far("queued")))
        job = self.jobs()[0]
        screen.press("\x03")
        screen.until("or cancel it (c, Enter)? ")
        screen.press("\x03")
        self.assertEqual(screen.wait(), 130)
        self.assert_mentions(screen.text, f"scancel {job}", "end")
        self.assertEqual(self.state(job), "RUNNING")
        # Of this job squeue never says anything.
        hangs = self.program("squeue", f'case "$*" in *" -j "*) exec sleep 3600;; esac\n{shutil.which("squeue")} "$@"; touch found\n')
        screen = Screen(self.folder, "run", "study.yaml", "--on", "slurm", environment={**self.environment, **hangs, "HPO_SLURM_TIMEOUT": "1h"})
        screen.press("\x13")  # the terminal stops: the line about the job cannot be written before the next key
        wait_for((self.folder / "found").exists)
        screen.press("\x03")
        screen.until("or cancel it (c, Enter)? ")
        self.assertIn("following it", screen.text)
        screen.press("c\r")
        wait_for(lambda: screen.read() or self.state(job) == "CANCELLED")
        screen.press("\x03")  # it does not wait for squeue
        self.assertEqual(screen.wait(), 130)
        self.assertEqual(self.jobs(), [job])
        self.assert_nobody_left(within=30)


class NextJob(JobsCase):
    seconds = 25

    def test_it_goes_on_in_the_next_job_without_anybody(self):
        """The signal is the one that Slurm sends before the time limit."""
        self.write(epochs=400)
        child, job = self.begin()
        child.send_signal(signal.SIGTERM)
        _, error = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 143)
        self.assert_mentions(error, f"job {job}", "hpo run study.yaml --on slurm", f"scancel {job}")
        self.slurm("scancel", "--signal=USR1", "--batch", job)
        wait_for(lambda: "the time limit of the job is near" in self.log())
        wait_for(lambda: self.state(job) == "PENDING")
        again = self.follow()  # finds the job
        out, error = again.communicate(timeout=120)
        self.assertEqual(again.returncode, 0, out + error + self.log())
        self.assert_mentions(error, f"job {job}", "queue", "already: ", "following")
        self.assertRegex(error, rf"job {job} runs .*node")
        self.assertEqual(self.jobs(), [job])
        self.assertTrue(any(trial["attempt"] > 1 for trial in self.trials("queued")))
        self.assert_as_on_one_machine(6)


class Rival(JobsCase):
    seconds = 25

    def test_a_rival_costs_at_most_one_step(self):
        self.write(epochs=400, slurm="partition: low, cpus: 2, nodes: 3", parallel=3)
        child, job = self.begin()
        rival = self.slurm("sbatch", "--parsable", "-p", "main", "-N3", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 1").strip()
        wait_for(lambda: self.state(rival) == "RUNNING")
        out, error = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out + error + self.log())
        self.assertEqual(self.jobs(), [job])
        trials = self.trials("queued")
        self.assertTrue(any(trial["attempt"] > 1 for trial in trials))
        for trial in trials:
            reported = self.reported(trial["trial"])
            self.assertLessEqual(reported - trial["steps"], trial["attempt"] - 1)
        self.assert_as_on_one_machine(6)

    def reported(self, trial):
        """Returns the number of steps that a trial has reported, with those that it has repeated."""

        connection = sqlite3.connect(f"file:{self.database('queued')}?mode=ro", uri=True)
        try:
            return connection.execute("select count(*) from step where trial = ?", (trial,)).fetchone()[0]
        finally:
            connection.close()


class LostNode(JobsCase):
    seconds = 20

    def test_a_job_that_begins_again_waits_for_hpo_on_the_lost_node(self):
        """slurmd crashes, so that Slurm gives up the node; hpo lives on there."""
        self.write(epochs=LONG, trials=500)
        child, job = self.begin()
        node = self.slurm("squeue", "-h", "-j", job, "-o", "%N").strip()
        held = json.loads((self.folder / "runs/queued/lock").read_text())["pid"]
        next(one for one in self.children if one.args[:3] == ["slurmd", "-N", node]).kill()
        self.slurm("scontrol", "update", f"nodename={node}", "state=down", "reason=crashed")
        waits = f"warning: study queued is still being run by process {held} on "
        wait_for(lambda: waits in self.log())
        os.kill(held, signal.SIGKILL)
        wait_for(lambda: json.loads((self.folder / "runs/queued/lock").read_text() or '{"pid": 0}')["pid"] not in (0, held))
        self.until_it_trains()
        self.slurm("scancel", job)
        out, error = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 143, out + error + self.log())
        self.assertIn(waits, error)
        self.assertEqual(self.jobs(), [job])


class FalseSlurm(JobsCase):
    """sbatch is a script before the real one."""
    seconds = 20

    def sbatch(self, text):
        real = shutil.which("sbatch")
        return self.program("sbatch", f'case $1 in --parsable) ;; *) exec {real} "$@";; esac\nreal() {{ {real} "$@"; }}\n{text}')

    def test_a_lost_reply_submits_one_job(self):
        once = 'test -e tried && exec {0} "$@"\ntouch tried\n'.format(shutil.which("sbatch"))
        timed_out = 'echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1\n'
        cases = {"hangs after Slurm has the job": 'real "$@" >/dev/null; exec sleep 600\n',
                 "loses its reply": 'real "$@" >/dev/null\n',
                 "says that it timed out": 'real "$@" >/dev/null; ' + timed_out,
                 "times out before": once + timed_out}
        for name, text in cases.items():
            with self.subTest(name):
                (self.folder / "tried").unlink(missing_ok=True)
                before = len(self.jobs())
                self.write(trials=1)
                child = self.follow("--fresh", environment={**self.sbatch(text), "HPO_SLURM_TIMEOUT": "2s"})
                out, error = child.communicate(timeout=120)
                self.assertEqual(child.returncode, 0, out + error)
                self.assertRegex(error, "looking .*hpo-queued-")
                self.assertEqual(len(self.jobs()), before + 1)


class Refused(JobsCase):
    seconds = 15

    def test_what_cannot_start_is_told_in_a_sentence(self):
        cases = {"partition: nosuch": "resources.slurm.partition: Slurm has no partition nosuch; it has main, low and short",
                 "partition: short, time: 5m": "resources.slurm.time: 5m 00s is above the limit of partition short, 1m 00s: ask for less",
                 "gpus: 9": "resources.slurm: partition main cannot give what nodes, cpus, gpus and memory ask for",
                 "nodes: 9": "resources.slurm: partition main cannot give what nodes, cpus, gpus and memory ask for",
                 "extra: [--constraint=x]": "resources.slurm.extra: no node has what --constraint asks for"}
        for slurm, says in cases.items():
            with self.subTest(slurm):
                self.write(slurm=slurm)
                self.hpo("run", "study.yaml", "--on", "slurm", environment=self.environment, status=2)
                self.assertIn(f"hpo: {says}", self.error)
                self.assertEqual(self.error.count("\n"), 1)
        self.write()
        self.controller.terminate()
        self.controller.wait(60)
        child = self.follow(environment={"HPO_SLURM_TIMEOUT": "1s"})
        _, error = child.communicate(timeout=60)
        self.assertEqual((child.returncode, error.count("\n")), (2, 1), error)
        self.assertIn("hpo: Slurm does not answer (squeue", error)
        self.controller = self.begin_daemon("slurmctld")
        self.assertFalse((self.folder / "runs").exists())
        wait_for(lambda: self.slurm("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "3")
        self.assertEqual(self.jobs("pending,running"), [])

    def test_a_job_that_fails_tells_why(self):
        self.study("""\
study: queued
objective: {metric: loss, direction: minimize}
space: {x: {type: float, low: 0.0, high: 1.0}}
worker: {command: [/bin/sh, train.sh, "{x}"]}
budget: {trials: 2, epochs: 1}
resources: {slurm: {cpus: 1}}
""")
        child = self.follow()
        out, error = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1, out + error)
        self.assertRegex(error, r"hpo: job \d+ failed: .*train.sh")


class NoSlurm(JobsCase):
    def setUp(self):
        super(SlurmCase, self).setUp()

    def tearDown(self):
        super(SlurmCase, self).tearDown()

    def test_without_its_commands_it_says_so(self):
        self.write()
        self.hpo("run", "study.yaml", "--on", "slurm", environment={"PATH": "/nowhere"}, status=2)
        self.assert_mentions(self.error, "no squeue", "PATH: ", "login")
        self.hpo("run", "study.yaml", "--dry-run", status=2)
        self.assert_mentions(self.error, "hpo: --dry-run", "--on slurm")
        self.assertFalse((self.folder / "runs").exists())

    def false_slurm(self, state, log=""):
        """Returns the environment of a Slurm that takes job 12, and says that it is in this state. The job leaves this text in its log."""
        (self.folder / "of-job-12").write_text(log)
        self.program("sinfo", "")
        self.program("squeue", f"test -e submitted && echo '12|{state}|||node1|None'; exit 0\n")
        return self.program("sbatch", "test $1 = --parsable || exit 0\ntouch submitted; cat of-job-12 >> runs/queued/slurm.log; echo 12\n")

    def test_a_job_that_fails_has_an_end_in_json_and_its_reason_from_hpo(self):
        log = "job 11 begins on node1\nhpo: another\njob 12 begins on node1\nwarning: little space is left\nhpo: the disk is full\nbest  0.3\n"
        self.write()
        for begun in (False, True):
            if begun:
                self.hpo("run", "study.yaml", "--on", "local", "--trials", "1")
                (self.folder / "submitted").unlink()
            (self.folder / "runs/queued/slurm.log").unlink(missing_ok=True)
            child = self.start("run", "study.yaml", "--on", "slurm", "--json", environment=self.false_slurm("FAILED", log))
            out, error = child.communicate(timeout=60)
            why = f"job 12 failed: the disk is full ({self.folder}/runs/queued/slurm.log)"
            self.assertEqual((child.returncode, error.splitlines()[-1]), (1, f"hpo: {why}"))
            self.assertIn("\nwarning: little space is left\n", error)
            end = json.loads(out.splitlines()[-1])
            self.assertEqual((end["event"], end["outcome"], end["reason"], end["begun"]), ("ended", "failed", why, int(begun)))

    def test_a_signal_ends_hpo_while_slurm_does_not_answer(self):
        self.write()
        environment = self.program("squeue", "touch asked; exec sleep 600\n")
        child = self.start("run", "study.yaml", "--on", "slurm", environment=environment)
        wait_for((self.folder / "asked").exists)
        child.send_signal(signal.SIGTERM)
        _, error = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 143, error)
        self.assertRegex(error, "^hpo: Slurm has not confirmed the job, and may have it: hpo run study.yaml --on slurm follows it, "
                                "and scancel --name=hpo-queued-[0-9a-f]{8} ends it\n$")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_study_with_a_job_is_not_removed_or_renamed(self):
        self.write()
        self.hpo("run", "study.yaml", "--on", "local", "--trials", "1")
        (self.folder / "runs/queued/slurm.sh").touch()
        (self.folder / "submitted").touch()
        environment = self.false_slurm("PENDING")
        for command in (["rm", "queued", "--yes"], ["mv", "queued", "other"]):
            self.hpo(*command, environment=environment, status=1)
            self.assertRegex(self.error, "^hpo: study queued has a job in Slurm's queue, 12: cancel it first \\(scancel --name=hpo-queued-[0-9a-f]{8}\\)\n$")
        (self.folder / "submitted").unlink()
        self.hpo("mv", "queued", "other", environment=environment)
        self.hpo("rm", "other", "--yes", environment=environment)

    def test_a_pipe_is_no_study_file_for_a_job(self):
        self.write()
        for more in ([], ["--dry-run"]):
            with open(self.folder / "study.yaml") as study:
                self.hpo("run", "/dev/stdin", "--on", "slurm", *more, stdin=study, status=2)
            self.assert_mentions(self.error, "hpo: /dev/stdin: ", "job", "node: ", "file, ")

    def test_a_study_that_waits_for_its_job_is_told_apart_from_none(self):
        self.write()
        (self.folder / "runs/queued").mkdir(parents=True)
        (self.folder / "runs/queued/slurm.sh").touch()
        self.hpo("show", "queued", status=1)
        self.assert_mentions(self.error, "hpo: study queued", "not begun: ", "submitted", "hpo run FILE --on slurm")
        self.assertRegex(self.hpo("ls"), r"(?m)^queued +submitted +- +- +- +- +runs/queued$")
        self.assertEqual(json.loads(self.hpo("ls", "--json"))["studies"][0]["study"], "queued")
        (self.folder / "submitted").touch()
        environment = self.false_slurm("PENDING")
        for command, says in ((["rm", "queued", "--yes"], "has a job in Slurm's queue, 12: cancel it first (scancel --name=hpo-queued-"),
                              (["mv", "queued", "other"], "has a job in Slurm's queue, 12: cancel it first (scancel --name=hpo-queued-"),
                              (["stop", "queued"], "is not running: there is nothing to stop; its job of Slurm, if there is one, is cancelled by scancel --name=hpo-queued-")):
            self.hpo(*command, environment=environment, status=1)
            self.assertIn("hpo: study queued " + says, self.error)
        (self.folder / "submitted").unlink()
        self.hpo("mv", "queued", "other", environment=environment, status=1)
        self.assert_mentions(self.error, "hpo: study queued", "not begun")
        self.hpo("rm", "queued", "--yes", environment=environment)
        self.assertFalse((self.folder / "runs/queued").exists())

    def test_a_signal_before_the_session_begins_is_not_lost(self):
        """Slurm may send it at any time after the start of a short job. Two jobs without progress are enough."""
        self.write(epochs=LONG)
        environment = {"SLURM_JOB_ID": "7", **self.program("scontrol", 'echo "$@" >> asked\n')}
        for status, says in ((0, "the time limit of the job is near: asking Slurm to queue job 7 again\n"),
                             (1, "hpo: Slurm ended two jobs in a row in which no trial got further: raise resources.slurm.time")):
            child = self.start("run", "study.yaml", "--on", "local", environment=environment,
                               preexec_fn=lambda: signal.signal(signal.SIGUSR1, signal.SIG_IGN))
            wait_for(lambda: signal.SIGUSR1 in signals(child.pid, "SigCgt"))
            child.send_signal(signal.SIGUSR1)
            out, error = child.communicate(timeout=60)
            self.assertEqual(child.returncode, status, out + error)
            self.assertIn(says, error)
        self.assertEqual((self.folder / "asked").read_text(), "requeue 7\n")

    def test_a_job_whose_hosts_do_not_answer_before_its_limit_is_queued_again(self):
        self.write()
        self.program("ssh", "exec sleep 600\n")
        environment = {"SLURM_JOB_ID": "7", **self.program("scontrol", 'echo "$@" >> asked\n')}
        lock = self.folder / "runs/queued/lock"
        for status, says in ((0, "the time limit of the job is near: asking Slurm to queue job 7 again\n"),
                             (1, "hpo: Slurm ended two jobs in a row in which no trial got further")):
            child = self.start("run", "study.yaml", "--on", "ssh:mute", environment=environment)
            wait_for(lambda: lock.exists() and json.loads(lock.read_text() or "{}").get("pid") == child.pid and "socket" in lock.read_text())
            child.send_signal(signal.SIGUSR1)
            out, error = child.communicate(timeout=60)
            self.assertEqual(child.returncode, status, out + error)
            self.assertIn(says, error)
        self.assertEqual((self.folder / "asked").read_text(), "requeue 7\n")


if __name__ == "__main__":
    unittest.main()
