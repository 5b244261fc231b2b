"""Trials that are forked from an interpreter with the study's modules (worker.preload). They behave as in interpreters of their own."""
import json
import os
import random
import re
import select
import signal
import textwrap
import unittest

from harness import Case, processes_of, wait_for
from script_test import PYTHON, script_study

NOT_USED = "worker.preload is not used, each trial starts its own interpreter: "

SLOW = """
    import atexit, os
    with open("imported", "a") as file:
        print(os.getpid(), file=file)
    atexit.register(lambda: print("the end of", os.getpid(), flush=True))
    """

LOOK = """
    import ctypes, json, os, random, signal, sys, threading
    import slow
    def look():
        main = sys.modules["__main__"]
        libc = ctypes.CDLL(None)
        death = ctypes.c_int()
        libc.prctl(2, ctypes.byref(death), 0, 0, 0)
        return {
            "argv": sys.argv, "orig_argv": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
            "main": {name: str(value).split(" at ")[0] for name, value in vars(main).items() if name.startswith("__")},
            "is main": __name__ == "__main__" and main.look is look,
            "folder": os.getcwd(), "group": os.getpgid(0) == os.getpid(), "parent dies": death.value,
            "descriptors": sorted(os.listdir("/proc/self/fd")), "input": sys.stdin.read(),
            "signals": {n: str(signal.getsignal(n)).split(" at ")[0] for n in range(1, 32)},
            "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
            "threads": [thread.name for thread in threading.enumerate()],
            "name": open("/proc/self/comm").read(),
            "cpus": sorted(os.sched_getaffinity(0)),
            "environment": {n: v for n, v in os.environ.items() if n not in ("HPO_TOKEN", "HPO_ENDPOINT", "HPO_TAG")},
            "children": open(f"/proc/self/task/{os.getpid()}/children").read(),
        }
    seen = look()
    """

REPORT = """
    import hpo
    trial = hpo.trial()
    print("saw", json.dumps(seen))
    print("drew", random.random())
    for epoch in trial.epochs():
        trial.report(epoch, val_loss=1)
    """

PRINT = """
    print("saw", json.dumps(seen))
    print("drew", random.random())
    for epoch in range(5):
        print("val_loss=1", flush=True)
    """


class Preload(Case):
    def setUp(self):
        super().setUp()
        self.script(SLOW, "slow.py")

    def script(self, text, name="train.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def search(self, text, modules="slow", arguments=(), name="script", status=0, options=(), worker="", **more):
        self.script(text)
        command = [PYTHON, *options, *(arguments or ["train.py"])]
        worker = (f"  preload: [{modules}]\n" if modules else "") + worker
        self.out = self.hpo("run", self.study(script_study(command, name=name, worker=worker, **more)), status=status)
        self.messages = self.error
        return self.trials(name)

    def word(self, study, trial, word):
        lines = [line for line in self.hpo("logs", f"{study}/{trial}").splitlines() if line.startswith(word + " ")]
        self.assertEqual(len(lines), 1, self.hpo("logs", f"{study}/{trial}"))
        return lines[0][len(word) + 1:]

    def interpreters(self):
        return (self.folder / "imported").read_text().split()


class AsItsOwn(Preload):
    seconds = 20
    maxDiff = None

    def both(self, text, trials=4, suffix="", **more):
        """Runs a script in forked trials and in interpreters of their own. Expects the same observations, and returns them."""
        observations = []
        for name, modules in ((f"forked{suffix}", "slow"), (f"fresh{suffix}", "")):
            all_ = self.search(text, modules, name=name, trials=trials, **more)
            self.assertNotIn(NOT_USED, self.messages)
            self.assertEqual([(t["state"], t["attempt"]) for t in all_], [("complete", 1)] * trials)
            observations.append([json.loads(self.word(name, t["trial"], "saw")) for t in all_])
            self.assert_nobody_left()
        forked, fresh = observations
        self.assertEqual(forked, fresh)
        return fresh

    def test_a_script_with_the_client_sees_the_same_as_in_an_interpreter_of_its_own(self):
        self.both(textwrap.dedent(LOOK) + textwrap.dedent(REPORT), parallel=1, arguments=["./train.py", "-x", "a b", "ü"])
        self.assertEqual(len(self.interpreters()), 1 + 4)
        drawn = {self.word("forked", n, "drew") for n in range(1, 5)}
        self.assertEqual(len(drawn), 4)

    def test_an_unchanged_script_sees_the_same(self):
        # The seed and the learning rate differ from trial to trial, and are the same in both studies.
        self.both(textwrap.dedent(LOOK) + textwrap.dedent(PRINT), parallel=1, arguments=["train.py", "--lr", "{lr}", "{trial}"])
        self.assertEqual(len(self.interpreters()), 1 + 4)
        self.assertEqual(len({self.word("forked", n, "drew") for n in range(1, 5)}), 4)

    def test_a_module_a_text_a_folder_and_an_interpreter_with_options_see_the_same(self):
        text = textwrap.dedent(LOOK) + textwrap.dedent(REPORT)
        self.both(text, trials=1, suffix="m", arguments=["-m", "train", "x"])
        self.both(text, trials=1, suffix="c", arguments=["-c", "exec(open('train.py').read(), globals())", "x"])
        self.both(text, trials=1, suffix="o", options=["-u", "-W", "ignore", "-Xutf8", "-OO"])
        (self.folder / "package").mkdir()
        self.script(text, "package/__main__.py")
        self.script(SLOW, "package/slow.py")
        self.both(text, trials=1, arguments=["package"])

    def test_a_script_ends_like_in_an_interpreter_of_its_own(self):
        ends = {
            "exit": "sys.exit(3)", "words": "sys.exit('no such layer')", "error": "f = lambda: 1 / 0\nf()",
            "syntax": "exec('1 +')", "interrupt": "raise KeyboardInterrupt", "segfault": "import ctypes; ctypes.string_at(0)",
            "killed": "os.kill(os.getpid(), 9)", "well": "pass", "hard": "os._exit(4)", "thread": """
import threading
threading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()""",
        }
        for name, end in ends.items():
            text = f"import os, sys, time\nimport hpo, slow\nhpo.trial().report(1, val_loss=1)\nsys.stdout.write('unended')\n{end}\n"
            results = []
            for modules in ("slow", ""):
                trials = self.search(text, modules, name=name + modules, trials=1, status=int(name not in ("well", "thread")))
                log = self.hpo("logs", f"{name}{modules}/1")
                results.append((trials[0]["state"], self.without_pids(trials[0]["reason"] or ""), self.without_pids(log)))
            self.assertEqual(results[0], results[1], name)
            self.assert_nobody_left()

    def without_pids(self, text):
        return "\n".join(re.sub("the end of [0-9]+", "the end", line) for line in text.replace("unendedthe end of", "unended\nthe end of").splitlines())

    def test_a_missing_module_is_reported_like_by_the_interpreter(self):
        results = []
        for name, modules in (("forked", "json"), ("fresh", "")):
            self.search("", modules, arguments=["-m", "nosuch"], name=name, trials=1, status=1)
            results.append(self.messages.replace(name, ""))
        self.assertIn("No module named nosuch", results[0])
        self.assertEqual(results[0], results[1])

    def test_exit_handlers_of_modules_run_in_the_trial(self):
        trials = self.search("import hpo, os, slow\nhpo.trial().report(1, val_loss=1)\nprint('is', os.getpid())", trials=3)
        for trial in trials:
            self.assertEqual(self.word("script", trial["trial"], "the end of"), self.word("script", trial["trial"], "is"))

    def test_each_trial_has_its_own_random_numbers_of_numpy(self):
        self.script("import numpy\nnumpy.random.seed(1)", "draws.py")
        trials = self.search("""
            import hpo, numpy
            hpo.trial().report(1, val_loss=1)
            print("drew", numpy.random.random())
            """, "draws", trials=4)
        self.assertEqual(len({self.word("script", t["trial"], "drew") for t in trials}), 4)


class Fallback(Preload):
    CLIENT = "import hpo\nfor epoch in (trial := hpo.trial()).epochs(): trial.report(epoch, val_loss=1)"

    def falls_back(self, why, modules, text=None, **more):
        trials = self.search(text or self.CLIENT, modules, **{"trials": 3, **more})
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        self.assertEqual(self.messages.count(NOT_USED), 1, self.messages)
        self.assertIn(NOT_USED + why, self.messages)
        self.assert_nobody_left()
        return trials

    def test_a_failing_import_is_reported_once_and_trials_start_without_forking(self):
        self.falls_back("'nosuch' cannot be imported: ModuleNotFoundError: No module named 'nosuch'", "slow, nosuch")
        self.script("raise SystemExit(5)", "leaves.py")
        self.falls_back("'leaves' cannot be imported: SystemExit: 5", "leaves", name="leaves")
        self.script("import os; os._exit(7)", "exits.py")
        self.falls_back("it exited with status 7", "exits", name="exits")
        self.script("import os; os.kill(os.getpid(), 11)", "crashes.py")
        self.falls_back("it died of signal 11", "crashes", name="crashes")

    def test_threads_that_a_fork_would_lose_prevent_forking(self):
        self.script("import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()", "pool.py")
        self.falls_back("'pool' left 1 thread running", "slow, pool")
        self.falls_back("'pool' left 1 thread running", "pool", name="unchanged", text="for i in range(5): print('val_loss=1')", worker="  metrics: {}")

    def test_a_device_context_prevents_forking(self):
        self.script("class cuda:\n    is_initialized = lambda: True\ndef get_num_threads(): return 1\ndef set_num_threads(n): pass", "torch.py")
        self.falls_back("'torch' uses CUDA already", "torch")

    def test_a_gpu_of_apple_prevents_forking(self):
        self.script("class backends:\n    class mps:\n        is_available = lambda: True\n"
                    "def get_num_threads(): return 1\ndef set_num_threads(n): pass", "torch.py")
        self.falls_back("'torch' trains on Apple's GPU (Metal), which no fork can use", "torch")
        (self.folder / "mlx").mkdir()
        self.script("", "mlx/__init__.py")
        self.script("class metal:\n    is_available = lambda: True", "mlx/core.py")
        self.falls_back("'mlx.core' trains on Apple's GPU (Metal), which no fork can use", "mlx.core", name="mlx")

    def test_a_hanging_import_costs_one_progress_timeout(self):
        self.script("import time; time.sleep(1000)", "hangs.py")
        self.falls_back("its imports had not ended", "hangs", trials=2, parallel=1, timeout="2s")

    def test_an_interpreter_that_dies_costs_no_trial(self):
        # Every trial runs. The first one kills the interpreter that it was forked from.
        trials = self.falls_back("it died of signal 9", "slow", parallel=1, text="""
            import os, signal
            import hpo
            trial = hpo.trial()
            for process in filter(str.isdigit, os.listdir("/proc")):
                try:
                    ours = os.environ["HPO_TAG"] in open(f"/proc/{process}/environ").read()
                    if ours and open(f"/proc/{process}/comm").read() == "hpo-preload\\n":
                        os.kill(int(process), signal.SIGKILL)
                except OSError:
                    pass
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=1)
            """)
        self.assertEqual({t["attempt"] for t in trials}, {1})

    def test_a_module_that_acts_as_the_trial_is_reported(self):
        self.script("import hpo; hpo.trial()", "train2.py")
        self.falls_back("'train2' cannot be imported: RuntimeError: worker.preload is for modules that a script imports", "train2")


class Keeps(Preload):
    """The guarantees of the supervisor hold for forked trials, too."""

    seconds = 25

    LEAVES = """
        import os, subprocess, time
        import slow
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(1000)
            os._exit(0)
        """

    def test_a_trial_leaves_no_process_to_the_next_and_each_worker_keeps_one_interpreter(self):
        trials = self.search(self.LEAVES + """
        import hpo
        trial = hpo.trial()
        others = []
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.environ["HPO_TAG"] in open(f"/proc/{process}/environ").read():
                    others.append(open(f"/proc/{process}/comm").read().strip())
            except OSError:
                pass
        print("others", others.count("sleep") > 1, "descriptors", len(os.listdir("/proc/self/fd")))
        for epoch in trial.epochs():
            trial.report(epoch, val_loss=1)
        os._exit(0)
        """, trials=40, parallel=2)
        self.assertEqual({t["state"] for t in trials}, {"complete"})
        self.assertEqual(len(self.interpreters()), 2)
        self.assertEqual({self.word("script", t["trial"], "others") for t in trials}, {"False descriptors 6"})
        self.assert_nobody_left()

    def test_kills_at_random_instants_leave_no_process_and_the_next_run_resumes(self):
        dice = random.Random(1)
        self.script(textwrap.dedent(self.LEAVES) + textwrap.dedent("""
            import hpo
            trial = hpo.trial()
            for epoch in trial.epochs():
                time.sleep(0.02)
                trial.report(epoch, val_loss=1)
            os._exit(0)
            """))
        study = self.study(script_study([PYTHON, "train.py"], trials=60, worker="  preload: [slow]"))
        for round_ in range(12):
            child = self.start("run", study)
            if round_ % 3:
                wait_for(lambda: processes_of(self.folder))
            select.select([], [], [], dice.uniform(0, 0.5))
            end = (signal.SIGINT, signal.SIGKILL)[round_ % 2]
            child.send_signal(end)
            self.assertIn(child.wait(20), (130, -2, -9, 0))
            self.assert_nobody_left()
        self.hpo("run", study)
        self.assertEqual([(t["state"], t["steps"]) for t in self.trials("script")], [("complete", 5)] * 60)
        self.assert_nobody_left()

    def test_a_hanging_or_dying_trial_is_retried_and_the_next_one_is_forked(self):
        text = """
            import os, signal, threading
            import hpo, slow
            trial = hpo.trial()
            marker = trial.folder / "marker"
            trial.report(1, val_loss=1)
            if not marker.exists():
                marker.write_text("")
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                threading.Event().wait() if trial.number % 2 else os.kill(os.getpid(), signal.SIGSEGV)
            for epoch in trial.epochs():
                trial.report(epoch, val_loss=1)
            """
        trials = self.search(text, trials=2, retries=1, parallel=1, timeout="7s")
        self.assertEqual({(t["state"], t["attempt"]) for t in trials}, {("complete", 2)})
        self.assertEqual(len(self.interpreters()), 1)
        self.assertIn("SIGSEGV", self.messages)
        self.assert_nobody_left()

    def test_after_a_rule_stops_an_unchanged_script_the_next_is_forked_from_the_same_interpreter(self):
        trials = self.search("""
            import signal, sys, time
            import slow
            signal.signal(signal.SIGTERM, signal.SIG_IGN if int(sys.argv[1]) % 2 else signal.SIG_DFL)
            while True:
                print("val_loss=1", flush=True)
                time.sleep(0.01)
            """, arguments=["train.py", "{trial}"], trials=4, parallel=1, epochs=500, more="stopping: [{rule: plateau, patience: 2, grace: 1}]")
        self.assertEqual({t["state"] for t in trials}, {"stopped"})
        self.assertEqual(len(self.interpreters()), 1)
        self.assert_nobody_left()


class Study(Preload):
    def test_check_lists_the_imports_and_refuses_commands_other_than_python(self):
        for script in ("train.py", "train.sh", "x.py"):
            (self.folder / script).touch()
        study = self.study(script_study([PYTHON, "train.py"], worker="  preload: [slow, json.decoder]"))
        self.assert_mentions(self.hpo("check", study), "slow, json.decoder: ", "once", "worker")
        for command, modules in ((["train.sh"], "json"), ([PYTHON, "{lr}.py"], "json"), ([PYTHON, "train.py"], "not-a-module"), ([PYTHON, "-i", "x.py"], "json")):
            self.hpo("check", self.study(script_study(command, worker=f"  preload: [{modules}]")), status=1)
            self.assertIn("study.yaml:7:", self.error)


if __name__ == "__main__":
    unittest.main(verbosity=2)
