"""hpo report: the page and its contents."""
import base64
import hashlib
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import textwrap
import unittest

from harness import SOURCE, Case, synthetic, wait_for

PYTHON = sys.executable
TYPES = {"f64": "d", "f32": "f", "u32": "I", "u16": "H", "u8": "B"}


def unpacked(column):
    """Returns the numbers of a packed column, or its texts."""
    data = base64.b64decode(column["data"])
    code = TYPES[column["type"]]
    numbers = list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)) * column.get("times", 1)
    return [column["texts"][i] for i in numbers] if "texts" in column else numbers


class Elements(html.parser.HTMLParser):
    """Collects the elements of a page, as a browser sees them."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.tags, self.attributes, self.inside = [], [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.inside = tag == "script"
        if self.inside:
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data


def study_in(page):
    (found,) = [text for attributes, text in Elements(page).scripts if attributes.get("id") == "study"]
    return json.loads(found)


SCRIPT = """\
study: scripts
objective: {{metric: loss, direction: minimize}}
space:
  lr: {{type: float, low: 0.1, high: 1.0}}
  tag: {{type: categorical, choices: ["<script>alert(1)</script>", "&amp;"]}}
worker: {{command: [{python}, train.py, "{{trial}}", "{{lr}}"]}}
budget: {{trials: {trials}, epochs: 4}}
sampler: {{type: random}}
resources: {{parallel: 2, retries: 0, trial: {{memory: 32MiB}}}}
"""


class Report(Case):
    def script_study(self, program, trials=4):
        (self.folder / "train.py").write_text(textwrap.dedent(program))
        return self.study(SCRIPT.format(python=PYTHON, trials=trials))

    def page(self, study, *more, **options):
        self.hpo("report", study, "-o", "page.html", "--force", *more, **options)
        return (self.folder / "page.html").read_text()

    def test_it_shows_what_other_commands_print(self):
        self.hpo("run", self.study(synthetic(trials=20, epochs=5, more="stopping: [{rule: asha, grace: 1, factor: 3}]")))
        found = study_in(self.page("small"))
        trials = self.trials("small")
        self.assertEqual(found["study"], json.loads(self.hpo("ls", "--json"))["studies"][0])
        self.assertEqual(found["importance"], json.loads(self.hpo("importance", "small", "--json")))
        self.assertEqual(found["source"], (self.folder / "runs/small/study.yaml").read_text())
        self.assertEqual(found["answer"]["configuration"]["yaml"], self.hpo("best", "small"))
        columns = found["trials"]
        self.assertEqual(unpacked(columns["value"]), [trial["value"] for trial in trials])
        self.assertEqual(unpacked(columns["state"]), [trial["state"] for trial in trials])
        self.assertEqual(unpacked(columns["params"]["lr"]), [trial["params"]["lr"] for trial in trials])
        self.assertEqual(unpacked(columns["metrics"]["val_loss"]), [trial["values"]["val_loss"] for trial in trials])
        curves = {name: unpacked(column) for name, column in found["curves"].items() if name != "of"}
        begin = 0
        for number, end in zip(curves["trial"], curves["end"]):
            whole = json.loads(self.hpo("show", f"small/{number}", "--json"))["curve"]
            self.assertEqual(curves["step"][begin:end], [step["step"] for step in whole])
            for shown, step in zip(curves["value"][begin:end], whole):
                self.assertAlmostEqual(shown, step["metrics"]["val_loss"], delta=1e-6 * abs(shown))
            begin = end
        attempts = found["attempts"]
        self.assertEqual(len(unpacked(attempts["trial"])), sum(trial["attempt"] for trial in trials))
        for start, end in zip(unpacked(attempts["begin"]), unpacked(attempts["until"])):
            self.assertLessEqual(start, end)

    def test_the_page_asks_no_network_and_runs_one_script(self):
        self.hpo("run", self.study(synthetic(trials=2)))
        page = self.page("small")
        elements = Elements(page)
        for name, value in elements.attributes:
            self.assertNotIn(name, ("src", "srcset", "action", "ping"), value)
            if name == "href":
                self.assertRegex(value, "^(data:,|#)")
        (policy,) = re.findall('Content-Security-Policy" content="([^"]*)"', page)
        (script,) = [text for attributes, text in elements.scripts if not attributes]
        self.assertIn(f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'", policy)
        self.assertTrue(policy.startswith("default-src 'none'"), policy)
        self.assertNotIn("unsafe", policy)

    def test_markup_stays_text_and_failures_show_the_end_of_their_log(self):
        self.hpo("run", self.script_study("""
            import sys
            print("\\n".join(f"line {i}" for i in range(500)))
            print("</script><img src=x onerror=alert(1)>")
            sys.exit("<b>no data</b>")
            """, trials=2), status=1)
        page = self.page("scripts")
        self.assertNotIn("img", Elements(page).tags)
        found = study_in(page)
        self.assertEqual(found["study"]["best"], None)
        self.assertEqual(found["space"][1]["choices"], ["<script>alert(1)</script>", "&amp;"])
        self.assertEqual([failure["trial"] for failure in found["failures"]], [2, 1])
        log = found["failures"][0]["log"]
        self.assertIn("</script><img src=x onerror=alert(1)>", log)
        self.assertIn("<b>no data</b>", log)
        self.assertLess(len(log.splitlines()), 31)

    def test_values_that_are_no_numbers(self):
        self.hpo("run", self.script_study("""
            import sys
            trial = int(sys.argv[1])
            for step in range(1, 5):
                loss = [float("nan"), float("inf"), -float("inf"), 1.0][trial % 4]
                print(f"step {step} loss={loss}", flush=True)
            """))
        found = study_in(self.page("scripts"))
        self.assertEqual(found["study"]["best"], {"trial": 3, "value": 1.0})
        self.assertEqual([value for value in unpacked(found["trials"]["value"]) if value == value], [1.0])

    @unittest.skipIf(shutil.which("git") is None, "needs git")
    def test_the_commit_and_changed_files(self):
        def git(*arguments):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=self.folder, check=True, capture_output=True)

        program = """
            import sys
            print("step 1 loss=1", flush=True)
            """
        study = self.script_study(program, trials=1)
        self.hpo("run", study)
        self.assertIsNone(study_in(self.page("scripts"))["git"])
        git("init", "-q", "-b", "trunk")
        git("add", "train.py")
        git("commit", "-q", "-m", "first")
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.folder, capture_output=True, text=True).stdout.strip()
        self.assertEqual(study_in(self.page("scripts"))["git"], {"commit": commit, "branch": "trunk", "changed": ""})
        (self.folder / "train.py").write_text("changed")
        found = study_in(self.page("scripts"))
        self.assertEqual((found["git"]["changed"], [session["git"] for session in found["sessions"]]), (" M train.py", [None]))
        # A session keeps the state that it began with.
        self.hpo("run", study, "--trials", "2")
        git("commit", "-q", "-a", "-m", "second")
        found = study_in(self.page("scripts"))
        self.assertEqual([session["git"] for session in found["sessions"]], [None, {"commit": commit, "branch": "trunk", "changed": " M train.py"}])
        self.assertNotEqual(found["git"]["commit"], commit)

    def test_a_study_without_trials_and_one_that_was_not_started(self):
        self.study(SCRIPT.format(python=PYTHON, trials=1).replace("worker:", "# worker:").replace("resources:", "# resources:"), "asked.yaml")
        self.hpo("ask-tell", "asked.yaml")
        found = study_in(self.page("scripts"))
        self.assertEqual((found["trials"]["count"], found["study"]["best"]), (0, None))
        self.hpo("report", self.study(synthetic(name="later"), "later.yaml"), status=1)
        self.assert_mentions(self.error, "study later", "not been run")

    def test_a_study_that_runs(self):
        os.mkfifo(self.folder / "hold")
        study = self.script_study("""
            print("step 1 loss=1", flush=True)
            open("hold").close()
            """, trials=1)
        running = self.start("run", study)
        wait_for(lambda: [trial for trial in self.trials_so_far("scripts") if trial["steps"] == 1])
        found = study_in(self.page("scripts"))
        self.assert_mentions(self.error, "1 trial", "scripts", "page.html", "continues")
        self.assertEqual((found["study"]["running"], found["answer"]["end"]), (True, "running"))
        self.assertEqual(found["attempts"]["end"]["texts"], ["running"])
        open(self.folder / "hold", "w").close()
        running.communicate()
        self.assertEqual(study_in(self.page("scripts"))["attempts"]["end"]["texts"], ["complete"])

    def test_one_trial_and_the_default_name(self):
        self.hpo("run", self.study(synthetic(trials=1)))
        self.hpo("report")
        self.assert_mentions(self.error, "1 trial", "small", "small.html")
        self.assertEqual(study_in((self.folder / "small.html").read_text())["trials"]["count"], 1)
        self.assertEqual(study_in(self.hpo("report", "small", "-o", "-"))["trials"]["count"], 1)

    def test_it_does_no_harm(self):
        self.hpo("run", self.study(synthetic(trials=1)))
        mine = self.folder / "mine.html"
        mine.write_text("mine")
        self.hpo("report", "small", "-o", "mine.html", status=1)
        self.assert_mentions(self.error, "mine.html: ", "exists", "--force")
        self.assertEqual(mine.read_text(), "mine")
        self.hpo("report", "small", "-o", "mine.html", "--force")
        self.assertEqual([path.read_text() for path in self.folder.glob("mine.html.old-*")], ["mine"])
        self.hpo("report", "small", "-o", "absent/page.html", status=1)
        self.assertIn("No such file or directory", self.error)
        self.hpo("report", "small", "-o", "runs", status=1)
        self.assertIn("is a folder; name a file", self.error)
        self.hpo("report", "smal", status=1)
        self.assert_mentions(self.error, "'small'")
        self.assertEqual(list(self.folder.glob(".*.new-*")), [])

    def test_a_folder_in_which_nobody_can_write(self):
        self.hpo("run", self.study(synthetic(trials=1)))
        self.hpo("report", "small", "-o", "/sys/page.html", status=1)
        self.assertRegex(self.error, "/sys.*: (Permission denied|Read-only file system)")


class Asset(unittest.TestCase):
    def test_the_page_is_made_from_the_sources_beside_it(self):
        """Made again by: npm ci && npm run build, in orchestrator/page."""
        folder = SOURCE / "orchestrator/page"
        digest = hashlib.sha256()
        for name in sorted(["build.mjs", "package-lock.json", "tsconfig.json", *(f"src/{path.name}" for path in (folder / "src").iterdir())]):
            digest.update(f"{name}\n".encode() + (folder / name).read_bytes())
        for page in ("page.html", "live.html"):
            self.assertIn(f"sources: {digest.hexdigest()}\n", (folder / "dist" / page).read_text())


if __name__ == "__main__":
    unittest.main()
