"""hpo serve: its answers to a browser, a program and an attacker."""
import contextlib
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import textwrap
import unittest
import urllib.parse

from harness import DEADLINE, SOURCE, Case, synthetic, wait_for

PYTHON = sys.executable

SCRIPT = """\
study: {name}
objective: {{metric: loss, direction: minimize}}
space:
  lr: {{type: float, low: 0.1, high: 1.0}}
  tag: {{type: categorical, choices: ["<script>alert(1)</script>", "&amp;"]}}
worker: {{command: [{python}, {program}, "{{trial}}", "{{lr}}"]}}
budget: {{trials: {trials}, epochs: 4}}
sampler: {{type: random}}
resources: {{parallel: 2, retries: 0, trial: {{memory: 32MiB}}}}
"""

HOLD = """
    import os, sys
    trial = sys.argv[1]
    print("step 1 loss=1", flush=True)
    open("hold").close()
    print("step 2 loss=0.5", flush=True)
    """


def parsed_metrics(text):
    """Reads the text format of Prometheus as strictly as its parser, and returns the samples by name and labels."""
    samples, helped, typed, family = {}, set(), {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if found := re.fullmatch(r"# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (\S.*)", line):
            family = found[1]
            assert family not in helped, f"{family} comes twice"
            helped.add(family)
        elif found := re.fullmatch(r"# TYPE (\S+) (counter|gauge)", line):
            assert found[1] == family
            typed[family] = found[2]
            assert (found[2] == "counter") == family.endswith("_total"), line
        else:
            found = re.fullmatch(r'([a-zA-Z_:]\w*)\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)*)\} (NaN|[+-]Inf|-?\d[\d.e+-]*)', line)
            assert found, line
            assert found[1] == family and family in typed, line
            labels = tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', found[2]))
            assert (found[1], labels) not in samples, f"{line} comes twice"
            samples[found[1], labels] = float(found[3])
    return samples


class Events:
    """A listener of server-sent events."""

    def __init__(self, served, path, headers=None):
        self.connection = served.connection()
        self.connection.request("GET", path, headers=headers or {})
        self.response = self.connection.getresponse()

    def next(self):
        """Returns the kind and the data of the next event; nothing at their end."""
        kind = data = None
        while line := self.response.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "event":
                kind = value
            elif name == "data":
                data = value
            elif line == "\n" and kind:
                return kind, data
        return None

    def close(self):
        self.connection.close()


class Served:
    """A running hpo serve."""

    def __init__(self, case, *arguments, **options):
        self.child = case.start("serve", "--port", "0", *arguments, **options)
        self.line = self.child.stdout.readline()
        if not self.line:
            case.fail(self.child.communicate()[1])
        self.url = urllib.parse.urlsplit(self.line.split()[0])
        self.tls = None

    def connection(self):
        if self.tls:
            return http.client.HTTPSConnection(self.url.hostname, self.url.port, timeout=DEADLINE, context=self.tls)
        return http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=DEADLINE)

    def ask(self, path, method="GET", headers=None, body=None):
        """Returns the status, the headers and the text of the answer. Asks again after a machine that stood still."""
        for attempt in range(3):
            connection = self.connection()
            try:
                connection.request(method, path, headers=headers or {}, body=body)
                response = connection.getresponse()
                return response.status, response.headers, response.read().decode()
            except (ConnectionError, http.client.HTTPException):
                if attempt == 2:
                    raise
            finally:
                connection.close()

    def json(self, path):
        status, _, text = self.ask(path)
        assert status == 200, f"{path}: {status} {text}"
        return json.loads(text)

    def socket(self):
        return socket.create_connection((self.url.hostname, self.url.port), timeout=DEADLINE)


class ServeCase(Case):
    def script(self, program, trials=1, name="scripts"):
        (self.folder / f"{name}.py").write_text(textwrap.dedent(program))
        return self.study(SCRIPT.format(python=PYTHON, program=f"{name}.py", trials=trials, name=name), f"{name}.yaml")

    def pages(self, served, study):
        """Returns the document of the live page and that of hpo report."""
        report = self.hpo("report", study, "-o", "-")
        documents = [served.json(f"/api/studies/{study}/page"), json.loads(re.search(r'id="study">(.*?)</script>', report, re.S)[1])]
        for each in documents:
            del each["answer"]["written"]
        return documents

    def held(self, trials=1):
        """Starts a study whose trials wait at their first step. Returns its process and what ends the wait."""
        os.mkfifo(self.folder / "hold")
        running = self.start("run", self.script(HOLD, trials))
        wait_for(lambda: len([trial for trial in self.trials_so_far("scripts") if trial["steps"] == 1]) == min(trials, 2))
        return running, lambda: open(self.folder / "hold", "w").close()


class Serve(ServeCase):
    def test_the_api_returns_what_commands_print(self):
        self.hpo("run", self.study(synthetic(trials=4)))
        if shutil.which("git"):
            for command in ("init -q -b trunk", "add study.yaml", "-c user.name=a -c user.email=a@b commit -q -m first"):
                subprocess.run(["git", *command.split()], cwd=self.folder, check=True, capture_output=True)
        served = Served(self)
        self.assert_mentions(served.line, "runs/", "studies", "Ctrl-C")
        listed = json.loads(self.hpo("ls", "--json"))
        self.assertEqual(served.json("/api/studies"), listed)
        self.assertEqual(served.json("/api/studies/small"), {"schema": 2, **listed["studies"][0]})
        self.assertEqual(served.json("/api/studies/small/trials"), json.loads(self.hpo("ls", "small", "--json")))
        self.assertEqual(served.json("/api/studies/small/trials/3"), json.loads(self.hpo("show", "small/3", "--json")))
        live, report = self.pages(served, "small")
        self.assertEqual(live, report)
        self.assertEqual(live["git"] is not None, shutil.which("git") is not None)

    def test_the_page_has_its_script_beside_it_and_a_policy_that_allows_no_other(self):
        served = Served(self)
        for path in ("/", "/study/anything", "/compare?with=a"):
            status, headers, text = served.ask(path)
            self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            self.assertIn('<script src="/live.js" defer></script>', text)
            self.assertNotRegex(text, r"<script>|<style>|https?://[^ ]*\.js|\son\w+=")
        for path, kind in (("/live.js", "text/javascript"), ("/live.css", "text/css")):
            status, headers, text = served.ask(path)
            self.assertEqual((status, headers["Content-Type"]), (200, f"{kind}; charset=utf-8"))
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(text, (SOURCE / "orchestrator/page/dist" / path[1:]).read_text())
        self.assertTrue(headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'"))
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual(headers["Referrer-Policy"], "no-referrer")

    def test_a_client_that_has_the_newest_version_gets_no_text(self):
        self.hpo("run", self.study(synthetic(trials=2)))
        served = Served(self)
        _, headers, text = served.ask("/api/studies/small/page")
        self.assertGreater(len(text), 1000)
        status, _, text = served.ask("/api/studies/small/page", headers={"If-None-Match": headers["ETag"]})
        self.assertEqual((status, text), (304, ""))

    def test_events_tell_of_each_change(self):
        running, go_on = self.held()
        served = Served(self)
        events = Events(served, "/api/studies/scripts/events")
        listed = Events(served, "/api/events")
        self.assertEqual(events.response.headers["Content-Type"], "text/event-stream")
        first, first_of_list = events.next(), listed.next()
        self.assertEqual((first[0], first_of_list[0]), ("changed", "changed"))
        self.assertTrue(served.json("/api/studies/scripts")["running"])
        self.assertEqual(served.json("/api/studies/scripts/page")["attempts"]["end"]["texts"], ["running"])
        go_on()
        running.communicate()
        self.assertNotEqual(events.next(), first)
        self.assertNotEqual(listed.next(), first_of_list)
        wait_for(lambda: not served.json("/api/studies/scripts")["running"])
        live, report = self.pages(served, "scripts")  # the former had read a part of the study before
        self.assertEqual(live["study"]["states"]["complete"], 1)
        self.assertEqual(live, report)
        events.close(), listed.close()

    def test_a_study_that_is_removed_and_one_that_begins(self):
        self.hpo("run", self.study(synthetic(trials=2)))
        served = Served(self)
        served.json("/api/studies/small/page")
        events = Events(served, "/api/studies/small/events")
        self.assertEqual(events.next()[0], "changed")
        shutil.rmtree(self.folder / "runs/small")
        self.assertEqual(events.next(), ("gone", ""))
        self.assertIsNone(events.next())
        events.close()
        self.assertEqual(served.ask("/api/studies/small/page")[0], 404)
        self.hpo("run", self.study(synthetic(trials=3)))
        wait_for(lambda: [each["begun"] for each in served.json("/api/studies")["studies"]] == [3])
        self.assertEqual(served.json("/api/studies/small/page")["trials"]["count"], 3)

    def test_a_study_that_begins_again_under_its_name(self):
        self.hpo("run", self.study(synthetic(trials=2)))
        served = Served(self, "small")
        self.assertEqual(served.json("/api/studies/small/page")["trials"]["count"], 2)
        self.hpo("run", self.study(synthetic(trials=3)), "--fresh")
        wait_for(lambda: served.json("/api/studies/small/page")["trials"]["count"] == 3)

    def test_chosen_studies_alone_are_served(self):
        for name in ("a", "b", "c"):
            self.hpo("run", self.study(synthetic(name=name, trials=1)))
        served = Served(self, "b", "runs/c")
        self.assertIn("shows 2 studies", served.line)
        self.assertEqual({each["study"] for each in served.json("/api/studies")["studies"]}, {"b", "c"})
        self.assertEqual(served.ask("/api/studies/a")[0], 404)
        self.hpo("serve", "d", status=1)
        self.assertIn("no study", self.error)

    def test_no_studies_none_with_trials_and_all_failed(self):
        served = Served(self)  # there is no folder runs
        self.assertEqual(served.json("/api/studies")["studies"], [])
        self.study(SCRIPT.format(python=PYTHON, program="-", trials=1, name="asked").replace("worker:", "# worker:").replace("resources:", "# resources:"))
        self.hpo("ask-tell", "study.yaml")
        self.hpo("run", self.script("""
            import sys
            print("</script><img src=x onerror=alert(1)>")
            sys.exit("<b>no data</b>")
            """, trials=6), status=1)  # ends after three that fail alike, before its budget
        wait_for(lambda: len(served.json("/api/studies")["studies"]) == 2)
        self.assertEqual({each["study"]: each["state"] for each in served.json("/api/studies")["studies"]},
                         {"asked": "interrupted", "scripts": "failed"})
        self.assertEqual(served.json("/api/studies/asked/page")["trials"]["count"], 0)
        _, headers, text = served.ask("/api/studies/scripts/page")
        self.assertEqual(headers["Content-Type"], "application/json")
        found = json.loads(text)
        self.assertEqual(found["space"][1]["choices"], ["<script>alert(1)</script>", "&amp;"])
        self.assertIn("<img src=x", found["failures"][0]["log"])
        (self.folder / "runs/broken").mkdir()
        (self.folder / "runs/broken/study.db").write_text("no database")
        wait_for(lambda: "error" in {key for each in served.json("/api/studies")["studies"] for key in each})
        self.assertEqual(served.ask("/api/studies/broken/page")[0], 404)

    def test_it_ends_at_once_also_with_listeners_and_half_requests(self):
        self.hpo("run", self.study(synthetic(trials=1)))
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 143)):
            served = Served(self)
            events = Events(served, "/api/studies/small/events")
            events.next()
            half = served.socket()
            half.sendall(b"GET / HTTP/1.1\r\nHost: loc")
            served.child.send_signal(number)
            self.assertEqual(served.child.wait(DEADLINE), status)
            self.assertEqual(served.child.stderr.read(), "")
            half.close(), events.close()

    def test_it_ends_also_where_the_signal_was_ignored_at_its_start(self):
        for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 143)):
            served = Served(self, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
            served.child.send_signal(number)
            self.assertEqual(served.child.wait(DEADLINE), status)

    def test_a_port_in_use_and_wrong_arguments(self):
        served = Served(self)
        self.hpo("serve", "--port", served.url.port, status=1)
        self.assert_mentions(self.error, f"--port {served.url.port}: ", "--port 0")
        self.hpo("serve", "--port", "65536", status=2)
        (self.folder / "token").write_text("correct-horse-battery")
        (self.folder / "token").chmod(0o600)
        self.hpo("serve", "--host", "192.0.2.1", "--token-file", "token", "--insecure", status=1)
        self.assert_mentions(self.error, "--host 192.0.2.1 --port 7878: ", "no such")
        self.hpo("serve", "--host", "192.0.2.1", "--token-file", "x", "--insecure", status=2)
        self.assertIn("--token-file x: cannot be read", self.error)

    def test_who_came_by_ssh_is_told_how_to_forward_the_port(self):
        served = Served(self, environment={"SSH_CONNECTION": "10.0.0.2 50000 10.0.0.1 2222", "USER": "me"})
        port = served.url.port
        self.assertIn(f"ssh -N -L {port}:127.0.0.1:{port} -p 2222 me@10.0.0.1", served.child.stdout.readline())

    def test_metrics_are_those_of_prometheus(self):
        self.hpo("run", self.study(synthetic(trials=3)))
        served = Served(self)
        status, headers, text = served.ask("/metrics")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        samples = parsed_metrics(text)
        (listed,) = json.loads(self.hpo("ls", "--json"))["studies"]
        study = (("study", "small"),)
        self.assertEqual(samples["hpo_study_running", study], 0)
        self.assertEqual(samples["hpo_study_budget_trials", study], 3)
        self.assertEqual(samples["hpo_study_best_value", study + (("metric", "val_loss"),)], listed["best"]["value"])
        self.assertEqual(samples["hpo_study_steps_total", study], sum(each["steps_trained"] for each in self.trials("small")))
        for state, count in listed["states"].items():
            self.assertEqual(samples["hpo_study_trials", study + (("state", state),)], count)


class Harm(ServeCase):
    """Attacks."""

    def test_foreign_names_origins_methods_and_bodies_are_refused(self):
        served = Served(self)
        for headers, expected in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403)):
            self.assertEqual(served.ask("/api/studies", headers=headers)[0], expected, headers)
        self.assertEqual(served.ask("/api/studies", "POST")[0], 405)
        self.assertEqual(served.ask("/api/studies", "DELETE")[0], 405)
        self.assertEqual(served.ask("/api/login", "POST", body="x" * 100)[0], 413)
        for path in ("/api/studies/../../etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/runs/small/study.db", "/api/studies/%00"):
            self.assertEqual(served.ask(path)[0], 404, path)
        self.hpo("run", self.study(synthetic(trials=1)))
        named = Served(self, "--name", "evil.example", "small")
        self.assertEqual(named.ask("/api/studies", headers={"Host": "evil.example"})[0], 200)

    def test_requests_without_end_are_cut_off_and_take_no_memory(self):
        served = Served(self)
        for head in (b"GET /", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"GET / HTTP/1.1\r\nHost: localhost\r\n"):
            with served.socket() as endless, contextlib.suppress(ConnectionError):
                endless.sendall(head)
                for _ in range(1000):  # 64 MB, of which 16 kB are read
                    endless.sendall(b"a: b\r\n" * 10000 if head.endswith(b"\n") else b"a" * 65536)
                self.fail("nobody cut it off")
        self.assertEqual(served.json("/api/studies")["studies"], [])
        self.assertLess(memory_of(served.child.pid), 60e6)

    def test_two_hundred_viewers_half_requests_and_slow_readers(self):
        files = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, files)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, files[1]), files[1]))
        running, go_on = self.held()
        served = Served(self)
        slow = [served.socket() for _ in range(20)]
        for each in slow:
            each.sendall(b"GET /live.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
        half = [served.socket() for _ in range(20)]
        for each in half:
            each.sendall(b"GET /api/studies HTTP/1.1\r\nHost: loc")
        viewers = [Events(served, "/api/studies/scripts/events") for _ in range(200)]
        for viewer in viewers:
            kind, version = viewer.next()
            self.assertEqual(kind, "changed")
            self.assertTrue(version.endswith("-running"), version)
        go_on()
        running.communicate()
        self.assertEqual(running.returncode, 0)
        ends = set()
        for viewer in viewers:  # viewers may still be told of changes before the end
            while (version := viewer.next()[1]).endswith("-running"):
                pass
            ends.add(version)
        self.assertEqual(len(ends), 1, ends)
        self.assertEqual(len({served.ask("/api/studies/scripts/page")[2] for _ in range(20)}), 1)
        self.assertLess(memory_of(served.child.pid), 150e6)
        many = [Events(served, "/api/studies/scripts/events") for _ in range(41)]
        self.assertEqual([each.response.status for each in many[-1:]], [503])
        self.assertEqual(served.json("/api/studies/scripts")["states"]["complete"], 1)
        for each in (*viewers, *many, *slow, *half):
            each.close()


def memory_of(pid):
    """The largest memory that a process has had, in bytes."""
    with open(f"/proc/{pid}/status") as status:
        return 1024 * int(re.search(r"VmHWM:\s+(\d+)", status.read())[1])


class Control(ServeCase):
    def test_without_allowance_nothing_is_stopped(self):
        running, go_on = self.held()
        served = Served(self)
        session = served.json("/api/session")
        self.assertFalse(session["control"])
        self.assertEqual(served.ask("/api/studies/scripts/stop", "POST", {"X-CSRF-Token": session["csrf"]})[0], 403)
        go_on()
        running.communicate()
        self.assertEqual([trial["state"] for trial in self.trials("scripts")], ["complete"])

    def test_a_trial_and_then_the_study_are_stopped(self):
        running, _ = self.held(trials=3)
        served = Served(self, "--allow-control")
        path = "/api/studies/scripts"
        self.assertEqual(served.ask(f"{path}/trials/1/stop", "POST")[0], 403)
        self.assertEqual(served.ask(f"{path}/trials/1/stop", "POST", {"X-CSRF-Token": "guess"})[0], 403)
        token = {"X-CSRF-Token": served.json("/api/session")["csrf"]}
        self.assertEqual(served.ask(f"{path}/trials/1/stop", "GET", token)[0], 405)
        self.assertEqual(served.ask(f"{path}/trials/1/stop", "POST", {**token, "Origin": "http://evil.example"})[0], 403)
        self.assertEqual(served.ask(f"{path}/trials/1/stop", "POST", token)[0], 200)
        wait_for(lambda: served.json(f"{path}/trials/1")["state"] == "stopped")
        self.assertEqual(served.json(f"{path}/trials/1")["rule"], "user")
        self.assertEqual(served.ask(f"{path}/trials/99/stop", "POST", token)[0], 404)
        self.assertEqual(served.ask(f"{path}/stop", "POST", token)[0], 200)
        running.communicate()
        status, _, text = served.ask(f"{path}/stop", "POST", token)
        self.assertEqual((status, text), (409, "study scripts is not running: there is nothing to stop\n"))

    def test_notes_and_tags_are_written_and_seen_by_all_viewers(self):
        running, go_on = self.held()
        served = Served(self, "--allow-control")
        path = "/api/studies/scripts"
        token = {"X-CSRF-Token": served.json("/api/session")["csrf"]}
        before = served.json(path)
        note = "with <b>the data</b>\nof May, \u00e4"
        self.assertEqual(403, served.ask(f"{path}/notes", "POST", body=note)[0])
        self.assertEqual(405, served.ask(f"{path}/notes", "GET", token)[0])
        self.assertEqual([], before["notes"])
        for address, text, status in ((f"{path}/notes", note, 200), (f"{path}/trials/1/notes", "odd", 200),
                                      (f"{path}/tags", "baseline may", 200), (f"{path}/trials/1/tags", "keep odd", 200),
                                      (f"{path}/trials/1/tags", "-odd", 200), (f"{path}/trials/9/tags", "keep", 404), (f"{path}/trials/0/tags", "keep", 404),
                                      (f"{path}/tags", "a,b", 409), (f"{path}/notes", "", 409),
                                      (f"{path}/notes", "x" * 10_001, 409), (f"{path}/notes", "x" * 20_000, 413),
                                      ("/api/studies/none/notes", "x", 404), (f"{path}/note", "x", 404)):
            answer = served.ask(address, "POST", token, text.encode())
            self.assertEqual(status, answer[0], (address, answer[2]))
            self.assertIn("Content-Security-Policy", answer[1])
            self.assertTrue(answer[2].endswith("\n"))
        form = {**token, "Content-Type": "application/x-www-form-urlencoded"}
        self.assertEqual(413, served.ask(f"{path}/notes", "POST", form, "x" * 9_000)[0])
        self.assertEqual(405, served.ask(f"{path}/notes", "PUT", token, "x")[0])
        with served.socket() as client:  # a request without a length has no body, and is answered at once
            host = f"{served.url.hostname}:{served.url.port}"
            client.sendall(f"POST {path}/notes HTTP/1.1\r\nHost: {host}\r\nX-CSRF-Token: {token['X-CSRF-Token']}\r\n\r\n".encode())
            self.assertIn(b"409", client.recv(4096))
        study, trial = served.json(path), served.json(f"{path}/trials/1")
        self.assertEqual((["baseline", "may"], [note]), (study["tags"], [each["text"] for each in study["notes"]]))
        self.assertEqual((["keep"], ["odd"]), (trial["tags"], [each["text"] for each in trial["notes"]]))
        page = served.json(f"{path}/page")
        self.assertEqual((study["tags"], {"1": {key: trial[key] for key in ("tags", "notes")}}), (page["study"]["tags"], page["remarks"]))
        self.assertRegex(self.hpo("show", "scripts/1"), r"tags +keep\nnotes +\d{4}-\d\d-\d\d  odd\n")
        go_on()
        running.communicate()

    def test_without_allowance_no_note_is_written(self):
        running, go_on = self.held()
        served = Served(self)
        token = {"X-CSRF-Token": served.json("/api/session")["csrf"]}
        self.assertEqual(403, served.ask("/api/studies/scripts/notes", "POST", token, "x")[0])
        go_on()
        running.communicate()
        self.assertEqual([], served.json("/api/studies/scripts")["notes"])


class Token(ServeCase):
    def token_file(self, mode=0o600):
        path = self.folder / "token"
        path.write_text("correct-horse-battery\n")
        path.chmod(mode)
        return "token"

    def test_only_who_has_the_token_sees_studies(self):
        self.hpo("run", self.study(synthetic(trials=1)))
        served = Served(self, "--token-file", self.token_file())
        self.assertEqual(served.ask("/")[0], 200)
        for path in ("/api/studies", "/api/studies/small/page", "/api/events", "/metrics", "/api/session", "/api/studies/small/trials/1"):
            self.assertEqual(served.ask(path)[0], 401, path)
        self.assertEqual(served.ask("/api/login", "POST", {"Authorization": "Bearer correct-horse-batterx"})[0], 401)
        right = {"Authorization": "Bearer correct-horse-battery"}
        self.assertEqual(served.ask("/metrics", headers=right)[0], 200)
        status, headers, _ = served.ask("/api/login", "POST", right)
        self.assertEqual(status, 200)
        cookie = headers["Set-Cookie"]
        self.assertRegex(cookie, "; Path=/; HttpOnly; SameSite=Strict$")
        cookie = {"Cookie": cookie.split(";")[0]}
        self.assertEqual(served.ask("/api/studies/small/page", headers=cookie)[0], 200)
        events = Events(served, "/api/studies/small/events", cookie)
        self.assertEqual(events.next()[0], "changed")
        events.close()

    def test_the_token_is_nobody_elses(self):
        self.hpo("serve", "--token-file", self.token_file(0o644), status=2)
        self.assert_mentions(self.error, "token: ", "others", "chmod 600")

    def test_others_reach_it_with_a_token_and_encrypted_alone(self):
        token = self.token_file()
        self.hpo("serve", "--host", "0.0.0.0", status=2)
        self.assert_mentions(self.error, "--token-file FILE", "secret")
        self.hpo("serve", "--host", "0.0.0.0", "--token-file", token, status=2)
        self.assertIn("--tls-cert FILE and --tls-key FILE encrypt", self.error)
        served = Served(self, "--host", "0.0.0.0", "--token-file", token, "--insecure")
        self.assertIn(f"http://{socket.gethostname()}:", served.line)
        served.url = urllib.parse.urlsplit(f"http://127.0.0.1:{served.url.port}")
        self.assertEqual(served.ask("/metrics")[0], 401)

    @unittest.skipIf(shutil.which("openssl") is None, "needs openssl")
    def test_tls(self):
        subprocess.run("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1".split(),
                       cwd=self.folder, check=True, capture_output=True)
        self.hpo("run", self.study(synthetic(trials=1)))
        self.hpo("serve", "--tls-cert", "cert.pem", status=2)
        self.hpo("serve", "--tls-cert", "key.pem", "--tls-key", "key.pem", status=1)
        self.assertIn("--tls-cert key.pem: no certificate in PEM", self.error)
        self.hpo("serve", "--tls-cert", "absent", "--tls-key", "key.pem", status=1)
        self.assertIn("No such file", self.error)
        served = Served(self, "--tls-cert", "cert.pem", "--tls-key", "key.pem", "--token-file", self.token_file())
        self.assertTrue(served.line.startswith("https://127.0.0.1:"))
        with served.socket() as plain, contextlib.suppress(ConnectionError):  # without TLS
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertNotIn(b"200", plain.recv(100))
        served.tls = ssl.create_default_context(cafile=str(self.folder / "cert.pem"))
        status, headers, _ = served.ask("/api/login", "POST", {"Authorization": "Bearer correct-horse-battery"})
        self.assertEqual(status, 200)
        self.assertRegex(headers["Set-Cookie"], "; SameSite=Strict; Secure$")
        cookie = {"Cookie": headers["Set-Cookie"].split(";")[0]}
        self.assertEqual(served.ask("/api/studies", headers=cookie)[0], 200)
        events = Events(served, "/api/studies/small/events", cookie)
        self.assertEqual(events.next()[0], "changed")
        served.child.send_signal(signal.SIGINT)
        self.assertEqual(served.child.wait(DEADLINE), 0)
        events.close()


if __name__ == "__main__":
    unittest.main()
