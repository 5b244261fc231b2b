"""Agents that join a study from elsewhere: `hpo run --listen` and `hpo agent --join`."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import unittest

from cluster_test import ClusterCase
from cutting_proxy import CuttingProxy
from harness import HPO, wait_for
from slurm_case import SlurmCase


class JoinCase(ClusterCase):
    LONG = 4000

    def listen(self, *more, **kinds):
        """Starts the study, and returns once agents can join it."""
        child = self.start("run", "study.yaml", *(more or ("--on", "join")), "--listen", "127.0.0.1", **kinds)
        wait_for(lambda: self.join_file().exists() or child.poll() is not None)
        return child

    def join_file(self):
        return self.folder / "runs/several/join.json"

    def join(self, file=None, environment=None):
        return self.start("agent", "--join", file or self.join_file(), environment=environment)

    def log(self):
        return (self.folder / "runs/several/hpo.log").read_text()

    def at_work(self, host=None):
        return [trial for trial in self.trials_so_far("several")
                if trial["state"] == "running" and trial["steps"] > 0 and host in (None, trial["host"])]

    def ended(self, child, status=0):
        out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, status, out + err)
        return out + err

    def address(self):
        file = json.loads(self.join_file().read_text())
        return file["addresses"][0], file["port"]


class Joining(JoinCase):
    seconds = 30

    def test_hosts_join_at_any_time_and_give_the_values_of_one_machine(self):
        self.write(trials=8, epochs=200)
        child = self.listen(environment={"SLURMD_NODENAME": "here"})
        self.assertEqual(self.join_file().stat().st_mode & 0o777, 0o600)
        lock = self.folder / "runs/several/lock"
        wait_for(lambda: lock.exists() and json.loads(lock.read_text() or "{}").get("socket"))
        waits = f"for the agents of hosts that join (hpo agent --join {self.join_file()})"
        wait_for(lambda: json.loads(self.hpo("top", "several", "--json"))["waits"] == waits)
        self.assertIn(waits, re.sub(r"\s+", " ", self.hpo("show", "several")))
        self.assert_mentions(self.hpo("devices"), "several waits: ", waits)
        first = self.join(environment={"SLURMD_NODENAME": "one"})
        wait_for(lambda: self.at_work("one"))
        second = self.join(environment={"SLURMD_NODENAME": "two"})
        told = self.ended(child)
        self.assertRegex(told, r"listens at port \d+; on this host alone: hpo agent --join .*/runs/several/join.json\n")
        self.assert_mentions(told, "two", "joined")
        self.assert_mentions(self.ended(first), "several", "ended", "trial", "budget")
        self.ended(second)
        several = self.assert_all_complete(8)
        self.assertIn("two", {trial["host"] for trial in several})
        self.assertFalse(self.join_file().exists())
        self.assert_nobody_left()
        self.write(name="one", trials=8, epochs=200)
        self.hpo("run", "study.yaml", "--on", "local")
        self.assertEqual([trial["value"] for trial in self.trials("one")], [trial["value"] for trial in several])

    def test_this_machine_takes_part_unless_on_says_otherwise(self):
        self.write(trials=2)
        child = self.start("run", "study.yaml", "--listen")
        self.ended(child)
        self.assertEqual({trial["host"] for trial in self.assert_all_complete(2)}, {"local"})

    def test_one_that_leaves_gives_its_trials_back_and_may_come_again(self):
        self.write(trials=4, epochs=self.LONG)
        child = self.listen()
        agents = [self.join(environment={"SLURMD_NODENAME": "node"}) for _ in range(2)]
        wait_for(lambda: self.at_work("node") and self.at_work("node-2"))
        agents[0].send_signal(signal.SIGINT)
        self.assert_mentions(self.ended(agents[0]), "several", "leaves", "elsewhere")
        wait_for(lambda: re.search(r"node(-2)? has left: its agent ended: its host asked it to end", self.log()))
        left = re.search(r"(node(-2)?) has left", self.log()).group(1)
        self.join(environment={"SLURMD_NODENAME": "node"})
        wait_for(lambda: f"{left} has joined again" in self.log() and self.at_work(left))
        self.hpo("stop", "several")
        self.ended(child)
        for agent in (agents[1], self.children[-1]):
            self.assert_mentions(self.ended(agent), "several", "interrupted", "hpo stop", "hpo run", "hpo agent --join ")
        self.assertEqual({trial["failures"] for trial in self.trials("several")}, {0})
        self.assert_nobody_left()

    def test_killed_agents_cost_no_trial_and_a_killed_orchestrator_leaves_nobody(self):
        self.write(trials=4, epochs=self.LONG)
        child = self.listen()
        agent = self.join(environment={"SLURMD_NODENAME": "node"})
        wait_for(lambda: self.at_work("node"))
        inner = int(pathlib.Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()[0])
        os.kill(inner, signal.SIGKILL)
        self.assert_mentions(self.ended(agent, 1), "agent", "SIGKILL")
        wait_for(lambda: "node has left: its agent ended" in self.log())
        agent = self.join(environment={"SLURMD_NODENAME": "node"})
        wait_for(lambda: self.at_work("node"))
        self.assertEqual({trial["failures"] for trial in self.trials_so_far("several")}, {0})
        child.kill()
        self.assert_mentions(self.ended(agent, 1), "several", "gone", "nobody")
        self.assert_nobody_left(within=20)

    def test_an_agent_may_start_before_the_orchestrator(self):
        self.write(trials=2)
        agent = self.join(self.join_file())
        self.assert_mentions(agent.stderr.readline(), "no such file", "hpo run STUDY --listen", "30.0 s")
        child = self.listen()
        self.ended(child)
        self.assert_mentions(self.ended(agent), "several", "ended")

    def test_another_program_at_one_of_several_addresses_ends_no_wait(self):
        self.write(trials=1)
        with socket.create_server(("127.0.0.2", 0)) as other:
            port = other.getsockname()[1]
            self.join_file().parent.mkdir(parents=True)
            self.join_file().touch(0o600)
            known = {"study": "several", "version": self.hpo("--version").split()[-1], "addresses": ["127.0.0.2", "127.0.0.1"],
                     "port": port, "key": "0" * 64}
            self.join_file().write_text(json.dumps(known))
            agent = self.join()
            for _ in range(2):  # it comes again
                near, _ = other.accept()
                near.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                near.close()
            self.join_file().write_text(json.dumps({**known, "addresses": ["127.0.0.2"]}))
            near, _ = other.accept()
            near.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            near.close()
            self.assert_mentions(self.ended(agent, 2), "several", "cannot")

    def test_a_join_file_that_nobody_writes_is_missed_at_once(self):
        agent = self.join("typo.json")
        self.assert_mentions(self.ended(agent, 2), "typo.json", "no such file", "hpo run STUDY --listen", "runs/STUDY/join.json", "--wait 5m")

    def test_a_copy_of_the_join_file_is_waited_for_where_the_user_asks(self):
        self.write(trials=1)
        agent = self.start("agent", "--join", "copy.json", "--wait", "10m")
        self.assert_mentions(agent.stderr.readline(), "copy.json", "no such file")
        child = self.listen()
        shutil.copy(self.join_file(), self.folder / "copy.new")
        (self.folder / "copy.new").rename(self.folder / "copy.json")
        self.ended(child)
        self.assert_mentions(self.ended(agent), "several", "ended")

    def frozen_after_the_session(self):
        """An agent whose session was stopped while its child stood still, and the child's process number."""
        self.write(trials=4, epochs=self.LONG)
        child = self.listen()
        agent = self.join()
        wait_for(self.at_work)
        inner = int(pathlib.Path(f"/proc/{agent.pid}/task/{agent.pid}/children").read_text().split()[0])
        os.kill(inner, signal.SIGSTOP)
        self.hpo("stop", "several")
        self.ended(child)
        return agent, inner

    def test_an_agent_that_ends_after_the_session_was_no_failure(self):
        agent, inner = self.frozen_after_the_session()
        os.kill(inner, signal.SIGCONT)
        self.assert_mentions(self.ended(agent), "several", "interrupted", "hpo stop", "hpo run", "hpo agent --join ")
        self.assert_nobody_left()

    def test_an_agent_that_hangs_after_the_session_is_killed(self):
        agent, _ = self.frozen_after_the_session()
        told = self.ended(agent, 1)
        self.assert_mentions(told, "not ended", "10.0 s", "killed")
        self.assert_mentions(told, "agent", "SIGKILL")
        self.assert_nobody_left(within=20)

    def test_when_the_last_host_has_left_viewers_say_how_one_joins(self):
        self.write(trials=2, epochs=self.LONG)
        child = self.listen()
        agent = self.join()
        wait_for(self.at_work)
        agent.send_signal(signal.SIGINT)
        self.ended(agent)
        says = f"no host is there; one joins by hpo agent --join {self.join_file()}"
        wait_for(lambda: json.loads(self.hpo("top", "several", "--json"))["waits"] == says)
        shown = re.sub(r"\s+", " ", self.hpo("show", "several"))
        self.assertIn(says, shown)
        self.assert_mentions(shown, "Host ", "left", "ended", "asked")
        child.send_signal(signal.SIGINT)
        self.ended(child, 130)

    def test_a_study_that_is_over_needs_no_host_and_its_time_limits_the_wait_for_one(self):
        self.write(trials=1)
        self.hpo("run", "study.yaml", "--on", "join", "--time", "1s", status=1)
        self.assert_mentions(self.error, "time", "budget", "waited", "agents", "join")
        self.hpo("run", "study.yaml")
        self.assert_mentions(self.hpo("run", "study.yaml", "--on", "join"), "trial", "budget")

    def test_a_study_whose_space_is_exhausted_needs_no_host(self):
        for sampler, reason in (("random", "every configuration of the space was tried"),
                                ("grid", "every point of the grid was tried")):
            with self.subTest(sampler):
                self.write(name=sampler, trials=10)
                file = self.folder / "study.yaml"
                text = re.sub(r"space:\n(  .*\n)+", "space: {lr: {type: categorical, choices: [0.01, 0.02]}}\n", file.read_text())
                file.write_text(text.replace("{type: random}", f"{{type: {sampler}}}"))
                self.assertIn(reason, self.hpo("run", "study.yaml"))
                self.assertIn(reason, self.hpo("run", "study.yaml", "--on", "join", timeout=60))
                self.assertEqual(len(self.trials(sampler)), 2)

    def test_broken_connections_lose_nothing(self):
        self.write(trials=6, epochs=300)
        child = self.listen()
        proxy = CuttingProxy(self.address(), cuts=12, after=20_000)
        file = json.loads(self.join_file().read_text())
        other = self.folder / "through-proxy.json"
        other.touch(0o600)
        other.write_text(json.dumps({**file, "port": proxy.port}))
        agent = self.join(other)
        self.ended(child)
        told = self.ended(agent)
        proxy.close()
        self.assertGreaterEqual(proxy.made, 13)
        self.assertGreaterEqual(told.count("connected again"), 12)
        self.assertEqual({trial["attempt"] for trial in self.assert_all_complete(6)}, {1})
        self.assert_nobody_left()


class Refused(JoinCase):
    """Connections without the key of the study, and agents of another kind."""

    def setUp(self):
        super().setUp()
        self.write(trials=4, epochs=self.LONG)
        self.child = self.listen()
        self.agent = self.join(environment={"SLURMD_NODENAME": "node"})
        wait_for(lambda: self.at_work("node"))

    def unaffected(self):
        """Checks that steps go on in the first attempts, and ends the study."""
        steps = sum(trial["steps"] for trial in self.trials_so_far("several"))
        wait_for(lambda: sum(trial["steps"] for trial in self.trials_so_far("several")) > steps)
        memory = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{self.child.pid}/status").read_text()).group(1))
        self.assertLess(memory, 200 * 1024)
        self.hpo("stop", "several")
        self.ended(self.child)
        self.ended(self.agent)
        trials = self.trials("several")
        self.assertEqual(({trial["failures"] for trial in trials}, max(trial["attempt"] for trial in trials)), ({0}, 1))
        self.assertGreaterEqual(self.log().count("refused a connection"), 1)  # and one a minute
        self.assert_nobody_left()

    def test_a_wrong_key_is_refused_on_both_sides(self):
        other = self.folder / "wrong.json"
        other.touch(0o600)
        other.write_text(json.dumps({**json.loads(self.join_file().read_text()), "key": "00" * 32}))
        told = r"port \d+: the server there refuses the key of the join file; if the file is of an earlier session, join.json in"
        self.assertRegex(self.ended(self.join(other), 2), told)
        other.write_text(json.dumps({**json.loads(other.read_text()), "addresses": ["127.0.0.2", "127.0.0.1"]}))
        agent = self.start("agent", "--join", other, "--wait", "10m")  # nobody listens at the first address
        self.assertRegex(self.ended(agent, 2), told)
        wait_for(lambda: re.search("it does not have the study's key$", self.log(), re.M))
        key = json.loads(self.join_file().read_text())["key"]
        self.assertNotIn(key, self.log())
        self.assertNotIn(key.encode(), b"".join(path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                                                if path.exists()))
        self.unaffected()

    def test_garbage_is_refused_at_once_and_takes_no_memory(self):
        with socket.create_connection(self.address()) as other:
            with self.assertRaises(OSError):  # the connection is closed after the first bytes
                for _ in range(100):
                    other.sendall(os.urandom(1 << 20))
        wait_for(lambda: re.search(r"refused a connection from 127.0.0.1:\d+: it (is no agent of hpo: it does not speak TLS 1.3|does not have the study's key)$", self.log(), re.M))
        self.unaffected()

    def test_other_programs_that_speak_tls_are_called_so(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with socket.create_connection(self.address()) as plain, self.assertRaises(ssl.SSLError):
            context.wrap_socket(plain)
        wait_for(lambda: re.search("it is no agent of hpo: it speaks TLS and shows no key$", self.log(), re.M))
        with socket.create_server(("127.0.0.1", 0)) as other:
            file = self.folder / "other.json"
            file.touch(0o600)
            file.write_text(json.dumps({**json.loads(self.join_file().read_text()), "port": other.getsockname()[1]}))
            agent = self.join(file)
            near, _ = other.accept()
            with near, self.assertRaises(ssl.SSLError):  # without a certificate it speaks no TLS 1.3
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_socket(near, server_side=True)
            self.assert_mentions(self.ended(agent, 2), "program", "not speak", "TLS 1.3")
        self.unaffected()

    def test_a_thousand_half_open_connections_keep_nobody_out(self):
        others = [socket.create_connection(self.address()) for _ in range(900)]
        late = self.join(environment={"SLURMD_NODENAME": "late"})
        wait_for(lambda: "late has joined" in self.log())
        late.send_signal(signal.SIGTERM)
        self.ended(late, 143)
        for other in others:
            other.close()
        self.unaffected()

    def test_a_recorded_stream_is_refused(self):
        recorded = []
        class Recorder(CuttingProxy):
            @staticmethod
            def carry(source, sink, left):
                if sink.getpeername() == target:
                    source = Tee(source)
                CuttingProxy.carry(source, sink, left)
        class Tee:
            def __init__(self, one):
                self.one = one
            def recv(self, size):
                data = self.one.recv(size)
                recorded.append(data)
                return data
            def shutdown(self, how):
                self.one.shutdown(how)
        target = self.address()
        proxy = Recorder(target, cuts=0, after=0)
        other = self.folder / "recorded.json"
        other.touch(0o600)
        other.write_text(json.dumps({**json.loads(self.join_file().read_text()), "port": proxy.port}))
        agent = self.join(other, environment={"SLURMD_NODENAME": "recorded"})
        wait_for(lambda: "recorded has joined" in self.log())
        agent.send_signal(signal.SIGTERM)
        self.ended(agent, 143)
        proxy.close()
        with socket.create_connection(target) as again:
            again.settimeout(30)
            try:
                again.sendall(b"".join(recorded))
                while again.recv(4096):
                    pass
            except OSError:
                pass
        wait_for(lambda: "refused a connection" in self.log())
        self.assertEqual(self.log().count("recorded has joined"), 1)
        self.unaffected()


class Words(JoinCase):
    def test_what_cannot_join_is_told_in_one_sentence(self):
        self.hpo("agent", status=2)
        self.assert_mentions(self.error, "agent", "needs", "--join")
        self.hpo("agent", "--join", "x", "--wait", "soon", status=2)
        self.assert_mentions(self.error, "--wait soon", "30s", "10m", "0s")
        self.hpo("agent", "--join", "x", "--wait", "99999999999h", status=2)
        self.assert_mentions(self.error, "--wait 99999999999h", "more than", "year")
        self.hpo("agent", "--join", "no/such/file", status=2)
        self.assert_mentions(self.error, "no/such/file", "no such file", "hpo run STUDY --listen", "runs/STUDY/join.json")
        self.write()
        self.hpo("run", "study.yaml", "--listen", "nowhere", status=2)
        self.assert_mentions(self.error, "--listen nowhere", "address")
        self.hpo("run", "--listen", "study.yaml", "--trials", "2", status=2)
        self.assert_mentions(self.error, "--listen study.yaml", "address")
        self.assert_mentions(self.error, "before", "hpo run study.yaml --listen")
        for empty in (["--listen", ""], ["--listen="]):
            self.hpo("run", "study.yaml", *empty, status=2)
            self.assert_mentions(self.error, "--listen ''", "empty", "leave")
        self.hpo("run", "--trials=", "study.yaml", status=2)
        self.assert_mentions(self.error, "--trials", "missing")
        self.hpo("run", "study.yaml", "--on", "slurm", "--listen", status=2)
        self.assert_mentions(self.error, "hpo run", "within", "job")
        self.assertFalse((self.folder / "runs").exists())
        child = self.listen()
        shutil.copy(self.join_file(), self.folder / "copy.json")
        (self.folder / "copy.json").chmod(0o644)
        self.hpo("agent", "--join", "copy.json", status=2)
        self.assert_mentions(self.error, "other", "users", "can", "read", "key")
        (self.folder / "copy.json").chmod(0o600)
        child.send_signal(signal.SIGINT)
        self.assert_mentions(self.ended(child, 130), "interrupted", "waited", "agents", "join")
        self.assertFalse((self.folder / "runs/several").exists())
        self.hpo("agent", "--join", "copy.json", "--wait", "0s", status=2)
        self.assert_mentions(self.error, "127.0.0.1 port ", "nobody", "over", "hpo run several --listen")

    def test_an_agent_that_is_ended_before_it_joined_says_so_by_its_status(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.write()
            child = self.listen()
            file = self.folder / "silent.json"
            file.touch(0o600)
            file.write_text(json.dumps({**json.loads(self.join_file().read_text()), "port": silent.getsockname()[1]}))
            agent = self.join(file)
            near, _ = silent.accept()
            agent.send_signal(signal.SIGTERM)
            self.ended(agent, 143)
            near.close()
            child.send_signal(signal.SIGINT)
            self.ended(child, 130)
        self.assert_mentions(self.hpo("agent", "--help"), "143", "terminated", "before", "joined")

    def test_a_host_without_the_folder_is_refused_there_and_here(self):
        self.write()
        child = self.listen()
        hidden = f"cp {self.join_file()} /dev/shm/hpo-join-{os.getpid()}.json && mount -t tmpfs none {self.folder} && {HPO} agent --join /dev/shm/hpo-join-{os.getpid()}.json"
        if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0:
            self.skipTest("namespaces are not allowed here")
        try:
            agent = subprocess.run(["unshare", "-rm", "sh", "-c", hidden], cwd=self.folder, capture_output=True, text=True, timeout=60)
        finally:
            pathlib.Path(f"/dev/shm/hpo-join-{os.getpid()}.json").unlink(missing_ok=True)
        says = f"the study's folder {self.folder}/runs/several is not there: all hosts must see it under the same path"
        self.assertEqual(agent.returncode, 1)
        self.assertIn(says, agent.stderr)
        wait_for(lambda: says in self.log())
        child.send_signal(signal.SIGINT)
        self.ended(child, 130)


class Pilots(SlurmCase, JoinCase):
    def test_jobs_of_one_node_each_join_one_study(self):
        self.write(trials=8, epochs=200)
        child = self.listen()
        for _ in range(3):
            self.slurm("sbatch", "-N1", "--exclusive", "--output=slurm-%j.out", "--wrap", f"exec {HPO} agent --join {self.join_file()}")
        told = self.ended(child)
        wait_for(lambda: not self.slurm("squeue", "-h"))
        trials = self.assert_all_complete(8)
        self.assertLessEqual({trial["host"] for trial in trials}, {"node1", "node2", "node3"})
        self.assertGreater(len({trial["host"] for trial in trials}), 1, told)
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
