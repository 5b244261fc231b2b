"""Studies on several hosts: agents on this machine, through ssh, and in an allocation of Slurm."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import textwrap
import unittest

from harness import FAKE_DISK, HPO, Case, synthetic, wait_for
from slurm_case import SlurmCase


def agents_below(pid):
    """Returns the pids of the agents that a process has started, itself or through others, in their order."""
    found = []
    for entry in sorted((int(entry) for entry in os.listdir("/proc") if entry.isdigit())):
        try:
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
            status = pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[1:2] == [b"__agent"] and status[0] not in "ZX" and int(status[1]) == pid:
            found.append(entry)
    return found


def children_of(pid, name):
    """Returns the children of a process that run a program of that name."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            status = pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)
        except OSError:
            continue
        if entry.isdigit() and status[0].split("(", 1)[1].encode() == name and int(status[1].split()[1]) == pid:
            found.append(int(entry))
    return sorted(found)


def write_program_of_another_processor(path):
    """Writes an ELF file that no kernel here takes: that of hpo, with a number of a machine which does not exist."""
    head = bytearray(pathlib.Path(HPO).read_bytes()[:4096])
    head[18:20] = struct.pack("<H", 0x7777)
    path.write_bytes(head)
    path.chmod(0o755)


class ClusterCase(Case):
    def write(self, name="several", trials=8, epochs=5, parallel=4, more="", resources="", **changes):
        text = synthetic(name=name, trials=trials, epochs=epochs, parallel=parallel, more=more, **changes)
        self.study(text.replace("resources: {", "resources: {" + resources + ", ") if resources else text)

    def begin(self, *more, environment=None):
        """Starts the study, and returns once two trials have reported on two hosts."""
        child = self.start("run", "study.yaml", *(more or ("--on", "local:2")), environment=environment)
        wait_for(lambda: len({trial["host"] for trial in self.trials_so_far("several")
                              if trial["state"] == "running" and trial["steps"] > 0}) == 2)
        return child

    def assert_all_complete(self, number):
        trials = self.trials("several")
        self.assertEqual([trial["state"] for trial in trials], ["complete"] * number)
        self.assertEqual([trial["failures"] for trial in trials], [0] * number)
        for trial in trials:  # no gap in a curve
            steps = [point["step"] for point in json.loads(self.hpo("show", "several", trial["trial"], "--json"))["curve"]]
            self.assertEqual(steps, list(range(1, trial["steps"] + 1)))
        return trials


class Agents(ClusterCase):
    seconds = 25
    LONG = 4000  # epochs: longer than any of these tests takes

    def test_trials_run_on_both_and_give_the_values_of_one_machine(self):
        self.write()
        self.hpo("run", "study.yaml", "--on", "local:2")
        several = self.assert_all_complete(8)
        self.assertEqual({trial["host"] for trial in several}, {"local-1", "local-2"})
        self.assertIn(several[0]["host"], self.hpo("show", "several", 1))
        self.assertRegex(self.hpo("show", "several"), r"\nHosts +local-\d \(\d trials?\), local-\d \(\d\)\n")
        self.write(name="one")
        self.hpo("run", "study.yaml", "--on", "local")
        one = self.trials("one")
        self.assertEqual([trial["value"] for trial in one], [trial["value"] for trial in several])
        self.assertEqual({trial["host"] for trial in one}, {None})
        self.assert_nobody_left()
        self.assertNotIn("\nMachine", self.hpo("show", "several"))  # its readings are of the orchestrator's host alone

    def test_a_killed_agent_costs_no_trial(self):
        self.write(trials=6, epochs=400)
        child = self.begin()
        os.kill(agents_below(child.pid)[0], signal.SIGKILL)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out + err)
        self.assert_mentions(out + err, "died", "signal 9; ", "again")
        trials = self.assert_all_complete(6)
        self.assertTrue(any(trial["attempt"] > 1 for trial in trials))
        self.assert_nobody_left()

    def test_a_host_whose_agent_dies_twice_is_set_aside(self):
        self.write(trials=6, epochs=self.LONG)
        child = self.begin()
        first = agents_below(child.pid)[0]
        os.kill(first, signal.SIGKILL)
        again = wait_for(lambda: [pid for pid in agents_below(child.pid)[1:] if len(agents_below(child.pid)) == 2])[0]
        os.kill(again, signal.SIGKILL)
        log = self.folder / "runs/several/hpo.log"
        wait_for(lambda: re.search(r"aside: .* died .*signal 9\b", log.read_text()))
        self.assertEqual(len(agents_below(child.pid)), 1)
        os.kill(agents_below(child.pid)[0], signal.SIGKILL)
        wait_for(lambda: len(agents_below(child.pid)) == 1)
        os.kill(agents_below(child.pid)[0], signal.SIGKILL)
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1)
        self.assertEqual(len(re.findall(r"died .*signal 9; .*again\b", out + err)), 2)
        self.assertEqual(len(re.findall(r"aside: .* died .*signal 9\b", out + err)), 1)  # the last one ends the session
        self.assertRegex(err, r"hpo: no host .*left: local-1: .*died .*signal 9; local-2: .*died .*signal 9\n$")
        self.assertEqual(len(re.findall(r"\bno host .*left", out + err)), 1)
        self.assertRegex(out, r"(?m)^  .*search .*failed: ")
        self.assertRegex(self.hpo("ls"), "several +interrupted")
        self.assert_nobody_left()

    def test_trials_of_a_script_wait_for_a_host_that_is_set_aside(self):
        self.study("""\
study: several
objective: {metric: loss, direction: minimize}
space: {x: {type: float, low: 0.0, high: 1.0}}
worker: {command: [/bin/sh, -c, 'test -e go || read never < wait; echo "loss=$1"', sh, "{x}"]}
budget: {trials: 3, epochs: 1}
sampler: {type: random}
stopping: []
resources: {parallel: 2}
""")
        os.mkfifo(self.folder / "wait")
        child = self.start("run", "study.yaml", "--on", "local:1")
        for _ in range(2):
            wait_for(lambda: any(trial["state"] == "running" for trial in self.trials_so_far("several")))
            agent = wait_for(lambda: agents_below(child.pid))[0]
            os.kill(agent, signal.SIGKILL)
            wait_for(lambda: agent not in agents_below(child.pid))
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1, out + err)
        self.assert_mentions(err, "no host", "left: local-1: ", "died", "signal 9")
        self.assertEqual({trial["state"] for trial in self.trials("several")}, {"queued"})
        self.assert_nobody_left()
        (self.folder / "go").touch()
        self.hpo("run", "study.yaml", "--on", "local:1")
        self.assertEqual([trial["state"] for trial in self.trials("several")], ["complete"] * 3)

    def test_an_agent_that_is_stopped_is_shown_and_not_waited_for_at_the_end(self):
        self.write(trials=4, epochs=self.LONG)
        child = self.begin()
        os.kill(agents_below(child.pid)[0], signal.SIGSTOP)
        wait_for(lambda: "silent" in self.hpo("top", "several", "--once"))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, out + err)
        self.assertNotRegex((self.folder / "runs/several/hpo.log").read_text(), r"silent .*30 s\b")
        self.assert_nobody_left(within=20)
        self.assertEqual({trial["failures"] for trial in self.trials("several")}, {0})

    def test_interrupted_it_leaves_nobody_and_resumes(self):
        for end, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            with self.subTest(end.name):
                self.write(trials=4, epochs=self.LONG)
                child = self.begin()
                agents = agents_below(child.pid)
                child.send_signal(end)
                child.communicate(timeout=60)
                self.assertEqual(child.returncode, status)
                self.assert_nobody_left(within=20)
                wait_for(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in agents))
        self.write(trials=4, epochs=self.LONG)
        shutil.rmtree(self.folder / "runs")
        self.begin()
        self.hpo("stop", "several")
        self.assertEqual(self.children[-1].wait(60), 0)
        self.assert_nobody_left()

    def test_stop_ends_one_trial(self):
        self.write(trials=4, epochs=self.LONG)
        child = self.begin()
        self.hpo("stop", "several/1")
        wait_for(lambda: self.trials_so_far("several")[0]["state"] == "stopped")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        self.assert_nobody_left()

    def test_top_shows_the_hosts(self):
        self.write(trials=4, epochs=self.LONG)
        child = self.begin()
        top = self.hpo("top", "several", "--once")
        self.assertIn("local-1", top)
        self.assertIn("local-2", top)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)

    def test_two_studies_share_their_hosts(self):
        for name in ("first", "second"):
            self.study(synthetic(name=name, trials=4, epochs=self.LONG, parallel=2), f"{name}.yaml")
        children = [self.start("run", f"{name}.yaml", "--on", "local:2") for name in ("first", "second")]
        def at_work():
            return [[trial for trial in self.trials_so_far(name) if trial["state"] == "running" and trial["steps"] > 0]
                    for name in ("first", "second")]
        wait_for(lambda: all(at_work()))
        # Each agent registers what its study holds.
        wait_for(lambda: {study for study in ("first", "second") if study in self.hpo("devices").splitlines()[1]} == {"first", "second"})
        self.hpo("stop", "first")
        self.assertEqual(children[0].wait(60), 0)
        steps = sum(trial["steps"] for trial in at_work()[1])
        wait_for(lambda: sum(trial["steps"] for trial in at_work()[1]) > steps)
        self.hpo("stop", "second")
        self.assertEqual(children[1].wait(60), 0)
        trials = self.trials("first") + self.trials("second")
        self.assertEqual({trial["failures"] for trial in trials}, {0})
        self.assertEqual(max(trial["attempt"] for trial in trials), 1)
        self.assert_nobody_left()

    @unittest.skipUnless(os.geteuid() == 0, "only root may run as another user")
    def test_two_users_share_a_host(self):
        """Both have their sockets and the registry of their sessions in /tmp."""
        self.folder.chmod(0o755)
        users = {0: self.folder / "root", 65534: self.folder / "nobody"}
        environment = {"XDG_RUNTIME_DIR": "", "XDG_CACHE_HOME": "cache", "HOME": "/nonexistent"}
        children = []
        for user, folder in users.items():
            folder.mkdir()
            (folder / "study.yaml").write_text(synthetic(name="several", trials=4, epochs=200))
            os.chown(folder, user, user)
            children.append(subprocess.Popen([HPO, "run", "study.yaml", "--on", "local:2"], cwd=folder, user=user, group=user, extra_groups=[],
                                             env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
        self.children += children
        for child in children:
            out, _ = child.communicate(timeout=120)
            self.assertEqual(child.returncode, 0, out)
        values = []
        for folder in users.values():
            trials = json.loads(subprocess.run([HPO, "ls", "several", "--json"], cwd=folder, capture_output=True).stdout)["trials"]
            self.assertEqual([(trial["state"], trial["failures"], trial["attempt"]) for trial in trials], [("complete", 0, 1)] * 4)
            values.append([trial["value"] for trial in trials])
        self.assertEqual(*values)

    @unittest.skipUnless(os.geteuid() == 0, "only root may run as another user, and on a host of another name")
    def test_who_cannot_stop_a_study_is_told_who_can(self):
        self.folder.chmod(0o755)
        self.write(trials=2, epochs=self.LONG)
        child = self.start("run", "study.yaml", "--on", "local")
        wait_for(lambda: any(trial["steps"] > 0 for trial in self.trials_so_far("several")))
        other = subprocess.run([HPO, "stop", "several"], cwd=self.folder, user=65534, group=65534, extra_groups=[], capture_output=True, text=True)
        self.assertEqual(other.returncode, 1, other.stdout)
        self.assert_mentions(other.stderr, "several", "root")
        (self.folder / "runs/several/slurm.sh").touch()  # as if a job ran it
        place = json.loads((self.folder / "runs/several/lock").read_text())["socket"]
        far = subprocess.run(["unshare", "--uts", "sh", "-c", f"hostname far; mv {place} gone; {HPO} stop several/1; mv gone "
                              f"{place}"], cwd=self.folder, capture_output=True, text=True)
        self.assert_mentions(far.stderr, socket.gethostname(), "hpo stop several/1", "srun")
        self.hpo("stop", "several")
        self.assertEqual(child.wait(60), 0)

    def test_scripts_run_in_their_folder(self):
        (self.folder / "train.py").write_text("import sys\nprint('loss:', float(sys.argv[1].split('=')[1]) ** 2)\n")
        self.study("""\
study: several
objective: {metric: loss, direction: minimize}
space: {x: {type: float, low: -1.0, high: 1.0}}
worker: {command: [python3, train.py, "--x={x}"]}
budget: {trials: 6, epochs: 1}
sampler: {type: random}
resources: {parallel: 2}
""")
        self.hpo("run", "study.yaml", "--on", "local:2")
        trials = self.trials("several")
        self.assertEqual([trial["state"] for trial in trials], ["complete"] * 6)
        self.assertEqual({trial["host"] for trial in trials}, {"local-1", "local-2"})
        self.assertIn("loss:", self.hpo("logs", "several/1"))


class FalseSsh(ClusterCase):
    """`ssh` is a script that runs the command here, or fails like a broken host."""

    seconds = 25

    def ssh(self, text):
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        script = folder / "ssh"
        script.write_text("#!/bin/bash\nhost=${@:(-2):1} command=${@: -1}\n" + text)
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        return {"PATH": f"{folder}:{os.environ['PATH']}"}

    def test_a_greeting_does_not_matter(self):
        self.write()
        self.hpo("run", "study.yaml", "--on", "ssh:a,me@b", environment=self.ssh('echo "Welcome to $host"; exec sh -c "$command"'))
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(8)}, {"a", "me@b"})

    def test_the_study_names_its_hosts_and_on_wins(self):
        self.write(resources="hosts: [a, me@b]")
        ssh = self.ssh('exec sh -c "$command"')
        self.assertRegex(self.hpo("check", "study.yaml"), "hosts +a, me@b; ")
        self.hpo("check", "study.yaml", "--set", "resources.devices=[0, 1]", "--set", "resources.parallel=[1, 2]", status=2)
        self.assert_mentions(self.error, "resources.parallel: ", "list", "each", "one")
        self.hpo("run", "study.yaml", environment=ssh)
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(8)}, {"a", "me@b"})
        self.hpo("run", "study.yaml", "--fresh", "--on", "ssh:c", environment=ssh)
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(8)}, {"c"})
        self.hpo("run", "study.yaml", "--fresh", "--on", "local")
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(8)}, {None})
        self.hpo("run", "study.yaml", "--fresh", "--set", "resources.hosts=[d]", environment=ssh)
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(8)}, {"d"})

    def test_an_unreachable_host_is_set_aside_and_none_is_an_error(self):
        self.write()
        ssh = self.ssh('[ "$host" = good ] && exec sh -c "$command"\necho "ssh: connect to host $host: Connection refused" >&2; exit 255')
        self.hpo("run", "study.yaml", "--on", "ssh:good,bad", environment=ssh)
        self.assert_mentions(self.error, "bad", "aside: ssh: connect to host bad: Connection refused; ", "sshd")
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(8)}, {"good"})
        self.write(name="other")
        self.hpo("run", "study.yaml", "--on", "ssh:bad", environment=ssh, status=2)
        self.assert_mentions(self.error, "no host", "left: bad: ssh: connect to host bad: Connection refused; ", "sshd")
        self.assertFalse((self.folder / "runs/other").exists())

    def test_a_host_that_could_not_be_reached_for_a_time_joins_again(self):
        self.write(trials=2, epochs=50 * Agents.LONG, parallel=2)  # longer than the host is away
        ssh = self.ssh('[ "$host" = far ] && test -e away && { echo "ssh: connect to host far: No route to host" >&2; exit 255; }\n'
                       'exec sh -c "$command"')
        child = self.begin("--on", "ssh:far,near", environment=ssh)
        (self.folder / "away").touch()
        os.kill(agents_below(child.pid)[0], signal.SIGKILL)
        log = self.folder / "runs/several/hpo.log"
        wait_for(lambda: re.search(r"far .*aside: .*\bagain in 10 s", log.read_text()))
        wait_for(lambda: self.states().get("far", ("", ""))[0] == "set aside")
        (self.folder / "away").unlink()
        wait_for(lambda: re.search(r"far .*joined again\n", log.read_text()))
        wait_for(lambda: self.states()["far"] == ("up", None))
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, out + err)
        self.assertEqual({trial["failures"] for trial in self.trials("several")}, {0})
        self.assert_nobody_left(within=20)

    def test_an_agent_that_was_left_before_it_began_ends_nobody(self):
        """It was stopped before it read its first message, and given up; by then a successor has workers."""
        self.write(trials=1)
        self.hpo("run", "study.yaml", "--on", "ssh:a", environment=self.ssh(f'tee {self.folder}/orders | sh -c "$command"'))
        orders = (self.folder / "orders").read_bytes()[:65536]  # as much as a pipe holds
        [tag] = set(re.findall(rb'"tag":"([^"]+)"', orders))
        for left in (True, False):
            worker = subprocess.Popen(["sleep", "600"], env={**os.environ, "HPO_TAG": tag.decode() + ":1:1"})
            self.children.append(worker)
            end, begin = os.pipe()
            os.write(begin, orders)
            if left:
                os.close(begin)
            agent = subprocess.Popen([HPO, "__agent"], stdin=end, stdout=subprocess.DEVNULL, cwd=self.folder)
            self.children.append(agent)
            os.close(end)
            if left:
                self.assertEqual(agent.wait(60), 0)
                self.assertIsNone(worker.poll())
                worker.kill()
            else:
                self.assertEqual(worker.wait(60), -signal.SIGKILL)  # what a dead agent has left
                os.close(begin)

    def states(self):
        return {pool["name"]: (pool["state"], pool["reason"])
                for pool in json.loads(self.hpo("top", "several", "--json"))["memory"]}

    def test_it_begins_while_a_host_is_awaited_which_joins_later(self):
        self.write(trials=6, epochs=Agents.LONG)
        ssh = self.ssh('[ "$host" = late ] && until test -e go; do sleep 0.1; done\nexec sh -c "$command"')
        child = self.start("run", "study.yaml", "--on", "ssh:good,late", environment=ssh)
        wait_for(lambda: any(trial["steps"] > 0 for trial in self.trials_so_far("several")))
        wait_for(lambda: self.states().get("late") == ("awaited", "its agent has not answered yet"))
        self.assertEqual(self.states()["good"], ("up", None))
        self.assert_mentions(self.hpo("top", "several", "--once"), "awaited: ", "agent", "not answered")
        self.assert_mentions(self.hpo("devices"), "several", "late: awaited: ", "agent", "not answered")
        self.assert_mentions(self.hpo("show", "several"), "late", "awaited: ", "agent", "not answered")
        self.assertIn(("late", "awaited"), {(host["host"], host["state"]) for host in json.loads(self.hpo("devices", "--json"))["hosts"]})
        (self.folder / "go").touch()
        wait_for(lambda: any(trial["host"] == "late" and trial["steps"] > 0 for trial in self.trials_so_far("several")))
        self.assertEqual(self.states()["late"], ("up", None))
        log = (self.folder / "runs/several/hpo.log").read_text()
        self.assertRegex(log, r"on cpu \d on late")
        self.hpo("stop", "several")
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, out + err)
        self.assert_mentions(err, "begins", "without", "late")
        self.assertRegex(err, r"\nlate .*joined\n")
        self.assert_mentions((self.folder / "runs/several/hpo.log").read_text(), "late", "joined")
        self.assert_nobody_left(within=20)

    def test_a_host_is_awaited_when_the_study_is_stopped(self):
        self.write(trials=4, epochs=Agents.LONG)
        ssh = self.ssh('[ "$host" = mute ] && exec sleep 600\nexec sh -c "$command"')
        child = self.start("run", "study.yaml", "--on", "ssh:good,mute", environment=ssh)
        wait_for(lambda: any(trial["steps"] > 0 for trial in self.trials_so_far("several")))
        mute = children_of(child.pid, b"sleep")
        self.assertEqual(len(mute), 1)
        self.hpo("stop", "several")
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 0, out + err)
        self.assert_nobody_left(within=20)
        wait_for(lambda: not pathlib.Path(f"/proc/{mute[0]}").exists())

    def test_interrupted_while_a_host_is_silent_it_leaves_nobody(self):
        self.write()
        child = self.start("run", "study.yaml", "--on", "ssh:mute", environment=self.ssh("exec sleep 600"))
        ssh = wait_for(lambda: children_of(child.pid, b"sleep"))[0]
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 130, out + err)
        self.assert_mentions(err, "interrupted", "waited", "mute")
        self.assertFalse(pathlib.Path(f"/proc/{ssh}").exists())
        self.assertFalse((self.folder / "runs/several").exists())

    def test_a_study_that_waits_for_its_hosts_is_shown_and_stopped(self):
        self.write()
        child = self.start("run", "study.yaml", "--on", "ssh:mute,deaf", environment=self.ssh("exec sleep 600"))
        lock = self.folder / "runs/several/lock"
        wait_for(lambda: lock.exists() and json.loads(lock.read_text() or "{}").get("socket"))
        wait_for(lambda: self.states() == {name: ("awaited", "its agent has not answered yet") for name in ("mute", "deaf")})
        self.assertEqual(json.loads(self.hpo("top", "several", "--json"))["waits"], "for the agents of mute, deaf")
        self.assert_mentions(self.hpo("top", "several", "--once"), "waiting: ", "agents", "mute, deaf")
        self.assertRegex(self.hpo("ls"), "several +running +0/8")
        self.assert_mentions(self.hpo("show", "several"), "mute", "awaited: ", "agent", "not answered")
        self.hpo("stop", "several/1", status=1)
        self.assert_mentions(self.error, "no trial", "waits", "hosts")
        self.hpo("stop", "several")
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1, out + err)
        self.assert_mentions(err, "stopped", "hpo stop", "waited", "mute, deaf")
        self.assertFalse((self.folder / "runs/several").exists())

    def two_kinds_of_cpus(self, epochs):
        """Returns an ssh with the hosts `narrow` and `wide`, and the value of the study's trial on either alone: `precision: auto` took bfloat16 on
        one host, and takes float32 on the other, as far as these hosts have kept."""
        def precise(name):
            return synthetic(name=name, trials=1, epochs=epochs, parallel=1).replace("batch_size: 256", "batch_size: 256, precision: auto")
        self.study(precise("alone"), "alone.yaml")
        kept = {host: self.folder / f"cache-{host}/hpo" for host in ("narrow", "wide")}
        def ran_with(host):
            return {"XDG_CACHE_HOME": str(kept[host].parent)}
        kept["narrow"].mkdir(parents=True)
        self.hpo("run", "alone.yaml", environment=ran_with("narrow"))
        choices = list(kept["narrow"].glob("**/precision-*"))
        if not choices:
            self.skipTest("this CPU computes in float32 alone")
        shutil.copytree(kept["narrow"], kept["wide"])
        for host, precision in (("narrow", "bfloat16"), ("wide", "float32")):
            for choice in kept[host].glob("**/precision-*"):
                choice.write_text(precision + choice.read_text()[len(choice.read_text().split()[0]):])
        values = {}
        for host in kept:
            self.hpo("run", "alone.yaml", "--fresh", environment=ran_with(host))
            values[host] = self.trials("alone")[0]["value"]
        self.assertNotEqual(values["narrow"], values["wide"])
        self.study(precise("several"))
        return self.ssh('XDG_CACHE_HOME=$PWD/cache-$host exec sh -c "$command"'), values

    def has_checkpoint(self):
        return list(self.folder.glob("runs/several/checkpoints/*/last.ckpt"))

    def test_a_trial_keeps_its_precision_on_another_kind_of_cpu(self):
        ssh, values = self.two_kinds_of_cpus(epochs=1000)
        for _ in range(20):  # until the trial is interrupted before its end, with a checkpoint to go on from
            shutil.rmtree(self.folder / "runs/several", ignore_errors=True)  # whose steps would be taken for those of the next try
            child = self.start("run", "study.yaml", "--on", "ssh:narrow", environment=ssh)
            wait_for(lambda: any(trial["steps"] > 0 for trial in self.trials_so_far("several")))
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)
            if self.trials("several")[0]["state"] != "complete" and self.has_checkpoint():
                break
        self.hpo("run", "study.yaml", "--on", "ssh:wide", environment=ssh)
        trial = self.assert_all_complete(1)[0]
        self.assertEqual((trial["host"], trial["attempt"], trial["value"]), ("wide", 2, values["narrow"]))
        log = (self.folder / "runs/several/hpo.log").read_text()
        self.assert_mentions(log, "trial 1: ", "again", "cpu 0", "wide")
        self.assertRegex(log, "trial 1: resumed after [0-9]+ epochs?")

    def test_a_trial_goes_over_to_another_kind_of_cpu_in_one_session_and_keeps_its_steps(self):
        ssh, values = self.two_kinds_of_cpus(epochs=1000)
        for _ in range(20):  # until the agent dies before the trial's end
            shutil.rmtree(self.folder / "runs/several", ignore_errors=True)
            child = self.start("run", "study.yaml", "--on", "ssh:narrow,wide", environment=ssh)
            wait_for(lambda: child.poll() is not None or (any(trial["steps"] > 20 for trial in self.trials_so_far("several")) and self.has_checkpoint()))
            begun = self.trials("several")[0]["host"]
            for agent in agents_below(child.pid):
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    if f"cache-{begun}\0".encode() in pathlib.Path(f"/proc/{agent}/environ").read_bytes():
                        os.kill(agent, signal.SIGKILL)
            out, err = child.communicate(timeout=120)
            self.assertEqual(child.returncode, 0, out + err)
            [trial] = self.assert_all_complete(1)
            if trial["attempt"] > 1:
                break
        other = {"narrow": "wide", "wide": "narrow"}[begun]
        self.assertEqual((trial["host"], trial["attempt"], trial["value"]), (other, 2, values[begun]))
        [repeated] = re.findall("trial 1: resumed after ([0-9]+) epochs?", (self.folder / "runs/several/hpo.log").read_text())
        self.assertGreater(int(repeated), 0)

    SCRIPT = """\
study: several
objective: {{metric: loss, direction: minimize}}
space: {{x: {{type: float, low: 0.0, high: 1.0}}}}
worker: {{command: {command}}}
budget: {{trials: 6, epochs: 1}}
sampler: {{type: random}}
stopping: []
"""

    def bare_host(self, *programs):
        """An ssh whose host `bare` has these programs alone."""
        folder = self.folder / "programs"
        folder.mkdir()
        for program in programs:
            (folder / program).symlink_to(shutil.which(program))
        return self.ssh(f'[ "$host" = bare ] && export PATH={folder}\nexec /bin/sh -c "$command"')

    def test_a_host_without_the_program_is_set_aside_and_costs_no_trial(self):
        (self.folder / "train.py").write_text("import sys\nprint('loss:', sys.argv[1])\n")
        self.study(self.SCRIPT.format(command='[python3, train.py, "{x}"]'))
        ssh = self.bare_host("sh")
        self.hpo("run", "study.yaml", "--on", "ssh:good,bare", environment=ssh)
        says = ("no program", "python3", "$PATH", "mend", "leave")
        self.assert_mentions(self.error, "bare", "aside: ", *says)
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(6)}, {"good"})
        self.hpo("run", "study.yaml", "--fresh", "--on", "ssh:bare", environment=ssh, status=2)
        self.assert_mentions(self.error, "no host", "left: bare: ", *says)
        self.assertEqual(len(self.trials("several")), 6)  # the earlier study is back

    def test_a_script_names_a_missing_interpreter_and_nothing_starts(self):
        script = self.folder / "train"
        script.write_text("#!/usr/bin/env python-of-another-host\n")
        script.chmod(0o755)
        self.study(self.SCRIPT.format(command='[./train, "{x}"]'))
        self.hpo("run", "study.yaml", "--on", "ssh:a,b", environment=self.ssh('exec sh -c "$command"'), status=2)
        self.assert_mentions(self.error, "names", "python-of-another-host", "not there")
        self.assertFalse((self.folder / "runs/several").exists())

    def test_data_that_are_missing_on_all_hosts_start_nothing(self):
        self.study(synthetic(name="several").replace("format: synthetic, samples: 2048, features: 16, classes: 3",
                                                     "format: csv, path: /no/such/table.csv, target: y"))
        self.hpo("run", "study.yaml", "--on", "local:2", status=2)
        self.assert_mentions(self.error, "local-1: ", "no data", "/no/such/table.csv; mend")
        self.assertFalse((self.folder / "runs/several").exists())

    def test_a_script_that_vanishes_leaves_trials_queued(self):
        os.mkfifo(self.folder / "wait")
        text = 'echo "loss=$1"; read never < wait; exit 1\n'
        (self.folder / "train.sh").write_text(text)
        self.study(self.SCRIPT.format(command='[sh, train.sh, "{x}"]'))
        child = self.start("run", "study.yaml", "-j", "2", "--on", "local:1")
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("several")) == 2)
        (self.folder / "train.sh").unlink()
        with open(self.folder / "wait", "w"):
            pass  # the scripts read the end
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 1, out + err)
        self.assert_mentions(err, "no host", "left: local-1: ", "no file", f"train.sh in {self.folder}")
        self.assertEqual({trial["failures"] for trial in self.trials("several")}, {0})
        self.assert_nobody_left()
        (self.folder / "train.sh").write_text('echo "loss=$1"\n')
        self.hpo("run", "study.yaml", "--on", "local:1")
        self.assert_all_complete(6)

    def test_workers_that_end_before_their_hello_are_the_fault_of_their_host(self):
        self.study(self.SCRIPT.format(command="[sh, speak.sh]"))
        (self.folder / "speak.sh").write_text('echo "libcuda.so is not there" >&2; exit 3\n')
        self.hpo("run", "study.yaml", "--on", "local:2", status=2)
        self.assertRegex(self.error, r"local-[12] .*aside: no worker .*: libcuda\.so is not there")
        self.assert_mentions(self.error, "no host", "left: local-1: no worker", ": libcuda.so is not there; local-2: ")
        self.assertEqual({(trial["state"], trial["failures"]) for trial in self.trials("several")}, {("queued", 0)})

    def test_relative_paths_start_from_the_folder_of_the_run(self):
        (self.folder / "train.sh").write_text('echo "loss=$1"\n')
        self.study("""\
study: several
objective: {metric: loss, direction: minimize}
space: {x: {type: float, low: 0.0, high: 1.0}}
worker: {command: [/bin/sh, train.sh, "{x}"]}
budget: {trials: 2, epochs: 1}
sampler: {type: random}
""")
        self.hpo("run", "study.yaml", "--on", "ssh:a", environment=self.ssh('cd /; exec sh -c "$command"'))
        self.assertEqual([trial["state"] for trial in self.trials("several")], ["complete"] * 2)

    def test_another_version_is_refused_in_one_sentence(self):
        self.write()
        opening = b"\x01hpo agent\x02" + struct.pack("<II", 1, 5) + b"9.9.9"
        (self.folder / "opening").write_bytes(opening)
        self.hpo("run", "study.yaml", "--on", "ssh:a", environment=self.ssh(f"cat {self.folder}/opening; exec sleep 60"), status=2)
        self.assert_mentions(self.error, "no host", "left: a: ", "hpo 9.9.9, ", "same", "all")

    def other_path(self, path):
        """An ssh whose hosts have hpo under another path than this one."""
        return self.ssh(f'here={HPO} there={path}; exec sh -c "${{command//"$here"/$there}}"')

    def test_a_host_with_another_instruction_set_is_refused_in_one_sentence(self):
        self.write()
        (self.folder / "path").mkdir()
        hpo = self.folder / "path/hpo"
        write_program_of_another_processor(hpo)
        self.hpo("run", "study.yaml", "--on", "ssh:a", environment=self.other_path(hpo), status=2)
        self.assertEqual(len(self.error.splitlines()), 1, self.error)
        self.assert_mentions(self.error, "no host", "left: a: ", "processor", str(hpo), "install", "PATH")
        self.assertFalse((self.folder / "runs").exists())
        self.write(name="other")
        ssh = self.ssh(f'here={HPO} there={hpo}; [ $host = a ] && command=${{command//"$here"/$there}}; exec sh -c "$command"')
        self.hpo("run", "study.yaml", "--on", "ssh:a,b", environment=ssh)
        self.assertEqual(len(re.findall(r"^warning: a ", self.error, re.M)), 1, self.error)
        self.assertEqual({(trial["host"], trial["state"]) for trial in self.trials("other")}, {("b", "complete")})

    def test_where_the_same_path_cannot_run_the_one_on_the_path_is_used(self):
        self.write()
        (self.folder / "path").mkdir()
        (self.folder / "path/hpo").symlink_to(HPO)
        other = self.folder / "other"
        ssh = self.other_path(other) | {"PATH": f"{self.folder}/bin:{self.folder}/path:{os.environ['PATH']}"}
        self.hpo("run", "study.yaml", "--on", "ssh:a", environment=ssh)
        write_program_of_another_processor(other)
        self.hpo("run", "study.yaml", "--fresh", "--on", "ssh:a", environment=ssh)
        self.assert_all_complete(8)

    def test_a_host_without_hpo_is_refused_in_one_sentence(self):
        self.write()
        self.hpo("run", "study.yaml", "--on", "ssh:a", environment=self.other_path(self.folder / "none"), status=2)
        self.assertEqual(len(self.error.splitlines()), 1, self.error)
        self.assert_mentions(self.error, "no host", "left: a: ", f"{self.folder}/none: ", "install")

    def test_a_host_without_the_folder_is_refused(self):
        self.write()
        # A namespace of its own hides the study's folder.
        hidden = f'exec unshare -rm sh -c "mount -t tmpfs none {self.folder} && $command"'
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
            self.skipTest("namespaces are not allowed here")
        self.hpo("run", "study.yaml", "--on", "ssh:a", environment=self.ssh(hidden), status=2)
        self.assertIn(f"the study's folder {self.folder}/runs/several is not there", self.error)

    def test_wrong_hosts_are_refused_before_anything_starts(self):
        self.write()
        for on, says in (("ssh:-oProxyCommand=x", "is no name of a host"), ("ssh:a,a", "named twice"), ("local:0", "from 1 to"),
                         ("k8s:x", "ssh:HOST,HOST")):
            self.hpo("run", "study.yaml", "--on", on, status=2)
            self.assertIn(says, self.error)
        self.assertFalse((self.folder / "runs").exists())

class NetworkFolder(ClusterCase):
    """The folder of studies lies on NFS, as far as hpo can tell. There the holder alone opens the database."""

    def setUp(self):
        super().setUp()
        os.environ.update(LD_PRELOAD=FAKE_DISK, HPO_FAKE_NETWORK="runs")

    def tearDown(self):
        del os.environ["LD_PRELOAD"], os.environ["HPO_FAKE_NETWORK"]
        super().tearDown()

    def test_a_study_runs_there_is_read_meanwhile_and_resumes(self):
        self.write(trials=4, epochs=400)
        child = self.begin()
        self.assertFalse(self.database("several").with_name("study.db-shm").exists())
        self.assertIn("running", self.hpo("ls", "several"))
        self.assertIn("local-", self.hpo("show", "several", 1))
        self.hpo("run", "study.yaml", status=1)
        self.assert_mentions(self.error, "already", "run", "process")
        child.kill()
        child.communicate(timeout=60)
        self.assert_nobody_left(within=20)
        self.hpo("run", "study.yaml", "--on", "local:2")
        self.assert_all_complete(4)
        self.assertFalse(self.database("several").with_name("study.db-shm").exists())
        self.assertIn("4 complete", self.hpo("ls", "several"))
        del os.environ["LD_PRELOAD"]
        self.assert_sound("several")
        self.assertIn("4 complete", self.hpo("ls", "several"))
        os.environ["LD_PRELOAD"] = FAKE_DISK

    def test_a_damaged_database_is_refused_and_unchanged(self):
        self.write(trials=2)
        self.hpo("run", "study.yaml")
        database = self.database("several")
        damaged = database.read_bytes()[:4096]
        database.write_bytes(damaged)
        self.hpo("run", "study.yaml", status=1)
        self.assert_mentions(self.error, "runs/several/study.db: ", "truncated")
        self.assertEqual(database.read_bytes(), damaged)


SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


@unittest.skipUnless(os.path.exists(SSHD) and shutil.which("ssh"), "there is no OpenSSH")
class Ssh(ClusterCase):
    """A real sshd on loopback, with keys of the test."""

    def setUp(self):
        super().setUp()
        home = self.folder / "ssh"
        home.mkdir(mode=0o700)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / key], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        (home / "authorized").write_text((home / "user.pub").read_text())
        (home / "sshd_config").write_text(f"""\
Port {port}
ListenAddress 127.0.0.1
HostKey {home}/host
AuthorizedKeysFile {home}/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
""")
        (home / "ssh_config").write_text(f"""\
Host one two
  HostName 127.0.0.1
  Port {port}
  IdentityFile {home}/user
  IdentitiesOnly yes
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
  LogLevel ERROR
""")
        os.makedirs("/run/sshd", exist_ok=True)
        with open(home / "log", "w") as log:
            self.sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", home / "sshd_config"], stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=log, start_new_session=True)
        self.children.append(self.sshd)
        # ssh as it is, with the configuration of the test.
        folder = self.folder / "bin"
        folder.mkdir()
        script = folder / "ssh"
        script.write_text(f"#!/bin/sh\nexec {shutil.which('ssh')} -F {home}/ssh_config \"$@\"\n")
        script.chmod(0o700)
        self.environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
        wait_for(lambda: subprocess.run([script, "-o", "BatchMode=yes", "one", "true"], capture_output=True).returncode == 0,
                 message=(home / "log").read_text())

    def test_trials_run_on_all_hosts(self):
        self.write()
        self.hpo("run", "study.yaml", "--on", "ssh:one,two", environment=self.environment)
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(8)}, {"one", "two"})
        self.assert_nobody_left()

    def test_a_killed_ssh_costs_no_trial_and_leaves_nobody(self):
        self.write(trials=6, epochs=400)
        child = self.begin("--on", "ssh:one,two", environment=self.environment)
        os.kill(children_of(child.pid, b"ssh")[0], signal.SIGKILL)
        out, err = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 0, out + err)
        self.assert_all_complete(6)
        self.assert_nobody_left()

    def test_an_agent_that_wakes_up_late_leaves_the_workers_of_the_next_one_alone(self):
        self.write(trials=2, epochs=Agents.LONG, parallel=2)
        child = self.start("run", "study.yaml", "--on", "ssh:one", environment=self.environment)
        def running(attempt):
            trials = [trial for trial in self.trials_so_far("several") if trial["attempt"] == attempt]
            return len(trials) == 2 and all(trial["state"] == "running" and trial["steps"] > 0 for trial in trials)
        wait_for(lambda: running(1))
        [agent] = self.agents()
        os.kill(agent, signal.SIGSTOP)
        wait_for(lambda: "silent" in self.hpo("top", "several", "--once"))  # by then it has messages to read
        os.kill(children_of(child.pid, b"ssh")[0], signal.SIGKILL)
        wait_for(lambda: running(2))
        os.kill(agent, signal.SIGCONT)
        wait_for(lambda: agent not in self.agents())
        # A worker that was killed is started again before its steps go on.
        before = {trial["trial"]: trial["steps"] for trial in self.trials("several")}
        wait_for(lambda: all(trial["steps"] > before[trial["trial"]] + 100 for trial in self.trials("several")))
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        self.assertEqual([(trial["attempt"], trial["failures"]) for trial in self.trials("several")], [(2, 0)] * 2)
        self.assert_nobody_left(within=20)

    def agents(self):
        """Returns the agents that sshd has started."""
        found = []
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError):
                    words = pathlib.Path("/proc", entry, "cmdline").read_bytes().split(b"\0")
                    if words[1:2] == [b"__agent"] and pathlib.Path("/proc", entry, "cwd").samefile(self.folder):
                        found.append(int(entry))
        return found

    def test_a_killed_orchestrator_leaves_nobody(self):
        self.write(trials=4, epochs=Agents.LONG)
        child = self.begin("--on", "ssh:one,two", environment=self.environment)
        child.kill()
        child.communicate(timeout=60)
        self.assert_nobody_left(within=20)

class Slurm(SlurmCase, ClusterCase):
    def submit(self, arguments="", options=(), before=""):
        job = self.folder / "job.sh"
        job.write_text(f"#!/bin/sh\n{before} {HPO} run study.yaml {arguments}\necho ended with $?\n")
        return self.slurm("sbatch", "--parsable", "--no-kill", "-N3", "--exclusive", "-o", "out", *options, job).strip()

    def ended(self):
        return wait_for(lambda: (self.folder / "out").exists() and "ended with" in (text := (self.folder / "out").read_text()) and text)

    def test_all_nodes_of_an_allocation_are_used(self):
        self.write(parallel=6, trials=12)
        self.submit()
        self.assert_mentions(self.ended(), "ended", "0")
        trials = self.assert_all_complete(12)
        self.assertEqual({trial["host"] for trial in trials}, {"node1", "node2", "node3"})
        self.submit("--fresh --on local")
        wait_for(lambda: (found := self.trials_so_far("several")) and len(found) == 12 and {trial["host"] for trial in found} == {None})
        self.assert_nobody_left(within=20)

    def test_nodes_with_another_instruction_set_are_refused_in_one_sentence_each(self):
        self.write()
        hpo = self.folder / "other"
        write_program_of_another_processor(hpo)
        (self.folder / "bin").mkdir()
        srun = self.folder / "bin/srun"
        srun.write_text(f'#!/bin/bash\nhere={HPO} there={hpo}\nexec {shutil.which("srun")} "${{@//"$here"/$there}}"\n')
        srun.chmod(0o755)
        self.submit(before=f"PATH={self.folder}/bin:$PATH")
        said = self.ended()
        self.assertEqual(said.split()[-1], "2", said)
        for node in ("node1", "node2", "node3"):
            self.assertEqual(len(re.findall(rf"\b{node}\b[^;]*processor", said.splitlines()[-2])), 1, said)
            self.assert_mentions(said, "no host", f"{node}: ", str(hpo), "install", "PATH")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_command_spans_the_nodes_and_leaves_nobody(self):
        """Ranks that srun starts, on plain sockets: rank 0 adds up what the others send."""
        (self.folder / "train.py").write_text(textwrap.dedent("""
            import os, socket, sys
            rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
            place = f"\\0{os.environ['SLURM_JOB_ID']}.{os.environ['SLURM_STEP_ID']}"  # all nodes are on this machine
            if rank == 0:
                server = socket.socket(socket.AF_UNIX)
                server.bind(place)
                server.listen(8)
                others = [server.accept()[0].makefile("r") for _ in range(size - 1)]
                for step in range(1, 6):
                    print("loss:", sum(float(other.readline()) for other in others), flush=True)
                if float(sys.argv[2]):
                    others[0].readline()  # for ever
            else:
                link = socket.socket(socket.AF_UNIX)
                while link.connect_ex(place):
                    pass
                link.sendall(5 * f"{sys.argv[1]}\\n".encode())
                link.recv(1)
            """))
        def study(trials, waits):
            return self.study(textwrap.dedent(f"""\
                study: several
                objective: {{metric: loss, direction: minimize}}
                space: {{x: {{type: float, low: 0.0, high: 1.0}}}}
                worker: {{command: [srun, --overlap, -N3, --ntasks-per-node=1, --kill-on-bad-exit, {sys.executable}, train.py, "{{x}}", "{waits}"]}}
                budget: {{trials: {trials}}}
                sampler: {{type: random}}
                resources: {{parallel: 1}}
                """))
        study(2, 0)
        self.submit()
        self.assertEqual(self.ended().split()[-1], "0")
        for trial in self.assert_all_complete(2):
            self.assertAlmostEqual(trial["value"], 2 * trial["params"]["x"])
        (self.folder / "out").unlink()
        study(3, 1)
        self.submit("--fresh")
        wait_for(lambda: any(trial["state"] == "running" and trial["steps"] == 5 for trial in self.trials_so_far("several")))
        os.kill(json.loads((self.folder / "runs/several/lock").read_text())["pid"], signal.SIGKILL)
        self.assertEqual(self.ended().split()[-1], "137")
        self.assert_nobody_left(within=20)

    def test_a_controller_that_is_away_is_not_missed(self):
        self.write(parallel=6, trials=6, epochs=20 * Agents.LONG)
        job = self.submit()
        def steps():
            return {trial["trial"]: trial["steps"] for trial in self.trials_so_far("several")}
        wait_for(lambda: len({trial["host"] for trial in self.trials_so_far("several") if trial["steps"] > 0}) == 3)
        self.controller.terminate()
        self.controller.wait(60)
        before = steps()
        wait_for(lambda: all(now > before.get(trial, 0) + 100 for trial, now in steps().items()))
        self.controller = self.begin_daemon("slurmctld")
        wait_for(lambda: self.slurm("sinfo", "-h", "-t", "alloc", "-o", "%D").strip() == "3")
        self.assertEqual({(trial["attempt"], trial["failures"]) for trial in self.trials_so_far("several")}, {(1, 0)})
        self.assertNotIn("agent", (self.folder / "runs/several/hpo.log").read_text())
        self.slurm("scancel", job)
        self.assert_nobody_left(within=30)

    def test_a_killed_srun_costs_no_trial_and_scancel_leaves_nobody(self):
        self.write(parallel=6, trials=6, epochs=Agents.LONG)
        job = self.submit()
        wait_for(lambda: len({trial["host"] for trial in self.trials_so_far("several") if trial["steps"] > 0}) == 3)
        holder = json.loads((self.folder / "runs/several/lock").read_text())["pid"]
        victim = children_of(holder, b"srun")[0]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: any(trial["attempt"] > 1 and trial["state"] == "running" for trial in self.trials_so_far("several")))
        self.assertEqual({trial["failures"] for trial in self.trials_so_far("several")}, {0})
        self.slurm("scancel", job)
        self.assert_nobody_left(within=30)


if __name__ == "__main__":
    unittest.main()
