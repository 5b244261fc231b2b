"""Runs whole studies under ThreadSanitizer: hpo, its adapters of scripts, its workers and agents that join, interrupted by signals and resumed, while hpo
serve answers browsers and hpo top draws. Each report of the sanitizer counts, whichever process made it.

Needs a build of its own: cmake --preset tsan && cmake --build --preset tsan --target hpo hpo-worker"""
import json
import os
import pathlib
import pty
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request

from cutting_proxy import CuttingProxy

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("HPO_TSAN_BUILD", SOURCE / "build" / "tsan"), "bin")
SUPPRESSED = pathlib.Path(__file__).with_name("threads.supp")
COUNTED = ["studies", "sessions", "trials", "interrupted", "agents", "pages", "reports", "failed"]
AGENTS = {"scripts": (), "networks": (), "asked": (), "joined": ("one", "two", "three")}
PATIENCE = 120  # seconds for the end of a session after a signal

HEAD = """\
study: watched
objective: {metric: loss, direction: minimize}
space:
  x: {type: float, low: 0.0, high: 1.0}
  lr: {type: float, low: 1.0e-4, high: 1.0e-1, log: true}
"""
SCRIPTS = HEAD + """\
worker: {command: [/bin/dash, -c, 'for epoch in 1 2 3 4; do echo "epoch $epoch loss=$1"; sleep 0.1; done', sh, "{x}", "{lr}"]}
budget: {trials: 64, epochs: 4}
resources: {parallel: 4, grace: 1s, trial: {cores: 0.1, memory: 16MiB}}
"""
NETWORKS = HEAD.replace("  x: {type: float, low: 0.0, high: 1.0}\n", "  batch_size: {type: int, low: 64, high: 512, log: true}\n").replace("metric: loss", "metric: val_loss") + """\
worker:
  data: {format: synthetic, samples: 4096, features: 16, classes: 4}
  model: {type: mlp, hidden: [32]}
budget: {trials: 32, epochs: 6}
resources: {parallel: 2, grace: 1s}
"""
ASKED = HEAD + """\
budget: {trials: 200, epochs: 2}
"""
PLAYER = """\
import json, sys, time
def ask(line):
    print(json.dumps(line), flush=True)
    answer = sys.stdin.readline()
    return json.loads(answer) if answer else sys.exit()
while True:
    got = ask({'ask': 2})
    time.sleep(0.02)
    if got.get('done'): break
    for t in got.get('trials', []):
        for step in (1, 2):
            ask({'report': {'trial': t['trial'], 'step': step, 'values': {'loss': t['params']['x'] / step}}})
        ask({'tell': {'trial': t['trial'], 'values': {'loss': t['params']['x'] / 2}}})
"""
JOINED = SCRIPTS.replace("sleep 0.1", "sleep 0.3")
STUDIES = {"scripts": SCRIPTS, "networks": NETWORKS, "asked": ASKED, "joined": JOINED}


def problem():
    """Returns why the part cannot be run; empty: it can."""
    missing = [name for name in ("hpo", "hpo-worker") if not (BIN / name).exists()]
    return f"{BIN / missing[0]} is missing: {__doc__.splitlines()[-1].removeprefix('Needs a build of its own: ')}" if missing else ""


def watch(minutes, seed, most, stopped):
    """Runs studies of each kind in turn until the time is over, `stopped` is set, or this number is reached. Returns the rows of the table."""
    rows = {kind: {"threads": kind, **dict.fromkeys(COUNTED, 0)} for kind in STUDIES}
    dice, end, done, told = random.Random(f"threads {seed}"), time.monotonic() + 60 * minutes, 0, set()
    while time.monotonic() < end and not stopped.is_set() and (most is None or done < most):
        for kind in STUDIES:
            if not stopped.is_set() and (most is None or done < most):
                with tempfile.TemporaryDirectory(prefix="hpo-threads-") as folder:
                    _Study(kind, pathlib.Path(folder), dice, rows[kind], told).play()
                done += 1
    return list(rows.values())


def table(rows):
    """Returns the lines of the table."""
    heads = list(rows[0])
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)] + ["| " + " | ".join(str(row[head]) for head in heads) + " |" for row in rows]


class _Study:
    def __init__(self, kind, folder, dice, row, told):
        self.kind, self.folder, self.dice, self.row, self.told = kind, folder, dice, row, told
        (folder / "study.yaml").write_text(STUDIES[kind])
        for name in ("r", "c", "reports"):
            (folder / name).mkdir(mode=0o700)
        options = [f"log_path={folder / 'reports' / 'report'}", "exitcode=0", "history_size=4", "second_deadlock_stack=1"]
        if SUPPRESSED.exists():
            options.append(f"suppressions={SUPPRESSED}")
        self.environment = {**os.environ, "TSAN_OPTIONS": ":".join(options), "XDG_RUNTIME_DIR": str(folder / "r"), "XDG_CACHE_HOME": str(folder / "c"),
                            "TERM": "xterm"}

    def play(self):
        """Two sessions end by a signal at a random instant, the third by itself; then every viewer reads the study."""
        self.row["studies"] += 1
        server, address = self._serve()
        over = threading.Event()
        browser = threading.Thread(target=self._browse, args=(address, over))
        browser.start()
        screen, viewer = None, None
        try:
            for sent in (signal.SIGINT, signal.SIGTERM, None):
                child = self._session(waits_for_agents=sent == signal.SIGINT)
                agents = [threading.Thread(target=self._agents, args=(child, name, random.Random(self.dice.random()))) for name in AGENTS[self.kind]]
                for each in agents:
                    each.start()
                if viewer is None and self._wait(lambda: (self.folder / "runs/watched/study.db").exists(), child):
                    screen, viewer = self._top()
                if sent is not None:
                    time.sleep(self.dice.uniform(0.2, 2.5) * (4 if agents else 1))
                    for each in (signal.SIGQUIT, sent):
                        if child.poll() is None:
                            child.send_signal(each)
                            self.row["interrupted"] += each == sent
                            time.sleep(0.2)
                try:
                    status = child.wait(PATIENCE if sent is not None else 5 * PATIENCE)
                except subprocess.TimeoutExpired:
                    child.kill()
                    status = child.wait()
                if status not in (0, 130, 143, -signal.SIGQUIT):  # the last: before it could answer
                    self._fail(f"hpo ended with {status}: {(self.folder / 'errors').read_text(errors='replace')[-400:]}")
                for each in agents:
                    each.join()
            for command in (["ls"], ["ls", "watched"], ["top", "watched", "--once"], ["show", "watched"], ["show", "watched/1"], ["importance", "watched"],
                            ["best", "watched"], ["report", "watched"]):
                if self._hpo(command).returncode != 0:
                    self._fail(f"hpo {' '.join(command)} failed")
            listed = self._hpo(["ls", "watched", "--json"])
            if listed.returncode == 0:
                self.row["trials"] += sum(trial["state"] in ("complete", "stopped") for trial in json.loads(listed.stdout)["trials"])
        finally:
            over.set()
            browser.join()
            if viewer:
                viewer.kill()
                viewer.wait()
                os.close(screen)
            server.send_signal(signal.SIGINT)
            try:
                server.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                server.kill()
                self._fail("hpo serve does not end")
        self._count_reports()

    def _session(self, waits_for_agents):
        """Starts a session. One of a study that listens may compute on the hosts of agents alone."""
        self.row["sessions"] += 1
        command = ["ask-tell"] if self.kind == "asked" else ["run"]
        if self.kind == "joined":
            command += ["--listen", "127.0.0.1", *(["--on", "join"] if waits_for_agents else [])]
        with open(self.folder / "output", "w") as out, open(self.folder / "errors", "w") as errors:
            if self.kind != "asked":
                return subprocess.Popen([BIN / "hpo", *command, "study.yaml", "--json"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                                        env=self.environment)
            program = subprocess.Popen([BIN / "hpo", *command, "study.yaml"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                       env=self.environment)
            subprocess.Popen(["/usr/bin/python3", "-c", PLAYER], stdin=program.stdout, stdout=program.stdin, stderr=errors)
            program.stdin.close()
            program.stdout.close()
            program.stdin = program.stdout = None
            return program

    def _agents(self, session, name, dice):
        """Lets one agent after the other join: some over connections that are cut again and again; some leave, some are killed, some stay to the end."""
        file = self.folder / "runs/watched/join.json"
        while session.poll() is None:
            try:
                found = json.loads(file.read_text())
            except (OSError, ValueError):
                time.sleep(0.05)  # it does not listen yet, or no longer
                continue
            own, proxy = self.folder / f"{name}.json", None
            if dice.random() < 0.5:
                proxy = CuttingProxy((found["addresses"][0], found["port"]), cuts=8, after=4000)
                found["port"] = proxy.port
            with open(own, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as written:
                json.dump(found, written)
            agent = subprocess.Popen([BIN / "hpo", "agent", "--join", own], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, env={**self.environment, "SLURMD_NODENAME": name})
            self.row["agents"] += 1
            end = time.monotonic() + dice.uniform(0.5, 8)
            while time.monotonic() < end and agent.poll() is None and session.poll() is None:
                time.sleep(0.05)
            if session.poll() is None and agent.poll() is None:
                agent.send_signal(dice.choice((signal.SIGINT, signal.SIGTERM, signal.SIGKILL)))
            try:
                agent.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                agent.kill()
                self._fail(f"agent {name} does not end")
            if proxy:
                proxy.close()

    def _serve(self):
        server = subprocess.Popen([BIN / "hpo", "serve", "--port", "0"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.DEVNULL, env=self.environment)
        line = server.stdout.readline()
        server.stdout.close()
        return server, re.search(r"http://127\.0\.0\.1:\d+", line).group()

    def _browse(self, address, over):
        """Reads pages as several browsers do, and events as they come."""
        def read(path, seconds):
            try:
                with urllib.request.urlopen(address + path, timeout=seconds) as answer:
                    while answer.read(65536) and not over.is_set():
                        pass
                self.row["pages"] += 1
            except (OSError, urllib.error.URLError):
                pass  # there is no study yet, or the events have paused

        while not over.is_set():
            paths = ["/", "/study/watched", "/api/studies", "/api/studies/watched", "/api/studies/watched/trials", "/api/studies/watched/trials/1",
                     "/api/studies/watched/page", "/metrics", "/api/events", "/api/studies/watched/events"]
            readers = [threading.Thread(target=read, args=(path, 2)) for path in paths]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            over.wait(0.1)

    def _top(self):
        screen, terminal = pty.openpty()
        viewer = subprocess.Popen([BIN / "hpo", "top", "watched"], cwd=self.folder, stdin=terminal, stdout=terminal, stderr=terminal, env=self.environment)
        os.close(terminal)

        def read():
            try:
                while os.read(screen, 65536):
                    pass
            except OSError:  # the terminal was closed
                pass

        threading.Thread(target=read, daemon=True).start()
        return screen, viewer

    def _hpo(self, command):
        return subprocess.run([BIN / "hpo", *command], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=self.environment)

    @staticmethod
    def _wait(condition, child):
        end = time.monotonic() + PATIENCE
        while not condition() and child.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        return condition()

    def _fail(self, message):
        self.row["failed"] += 1
        print(f"threads {self.kind} | {message}", flush=True)

    def _count_reports(self):
        """Counts the reports, and prints the first of each kind."""
        for path in sorted((self.folder / "reports").iterdir()):
            for report in re.split(r"(?m)^=+$", path.read_text(errors="replace")):
                if "ThreadSanitizer" not in report or report.strip().startswith("ThreadSanitizer: reported"):
                    continue
                self.row["reports"] += 1
                summary = (re.findall(r"(?m)^SUMMARY: .*", report) or [report.strip()[:200]])[-1]
                if summary not in self.told:
                    self.told.add(summary)
                    print(f"threads {self.kind} | {report.strip()}", flush=True)
