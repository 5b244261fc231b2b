"""The documents are correct: their commands run, their studies are valid, their links exist, and their tables of keys are complete."""
import json
import os
import re
import subprocess
import unittest

from harness import BUILD, SOURCE, Case

README = (SOURCE / "README.md").read_text()
STUDIES = (SOURCE / "docs" / "studies.md").read_text()
SPACE = (SOURCE / "docs" / "space.md").read_text()
PAGES = [SOURCE / "README.md", SOURCE / "CONTRIBUTING.md", SOURCE / "CHANGELOG.md", SOURCE / "SECURITY.md", *sorted((SOURCE / "docs").glob("*.md"))]


class Readme(Case):
    def test_its_commands_run_in_their_order(self):
        block = re.search(r"<!-- tested[^\n]*\n```console\n(.*?)```", README, re.S).group(1)
        commands = [line[2:].split("   ")[0] for line in block.splitlines() if line.startswith("$ ")]
        self.assertGreater(len(commands), 5)
        os.symlink(SOURCE / "studies", self.folder / "studies")
        path = f"{BUILD / 'bin'}:{os.environ['PATH']}"
        for command in commands:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, env={**os.environ, "PATH": path},
                                  capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}\n{done.stderr}")
        self.assertIn("worker:", (self.folder / "best.yaml").read_text())
        self.assertGreater((self.folder / "model.safetensors").stat().st_size, 1000)
        self.assertEqual(len(self.trials("debug")), 16)

    def test_the_study_of_the_manual_is_valid(self):
        self.hpo("check", self.study(re.search(r"```yaml\n(.*?)```", STUDIES, re.S).group(1)))

    def test_check_says_of_the_conditions_of_the_manual_what_it_shows(self):
        section = SPACE[SPACE.index("## Conditions between parameters"):]
        study, shown = re.search(r"```yaml\n(.*?)```.*?```\n(.*?)```", section, re.S).groups()
        self.assertIn(shown, self.hpo("check", self.study(study)))

    def test_the_error_message_of_the_manual_is_printed(self):
        block = re.search(r"the location and the cure:\n\n```\n(.*?)```", STUDIES, re.S).group(1).strip()
        study = (SOURCE / "studies" / "phase1.yaml").read_text().replace("weight_decay:    {", "weigth_decay:    {")
        (self.folder / "studies").mkdir()
        self.study(study, "studies/mine.yaml")
        self.hpo("check", "studies/mine.yaml", status=1)
        for line in block.splitlines():
            self.assertIn(line.strip(), self.error)

    def test_the_tables_of_keys_match_the_program(self):
        tables = re.compile(r"<!-- hpo keys: ([^\n]*) -->\n(.*?)<!-- end -->", re.S)
        printed = dict(tables.findall(self.hpo("keys", "--markdown")))
        self.assertGreaterEqual(len(printed), 4)
        shown = [table for page in PAGES for table in tables.findall(page.read_text())]
        self.assertEqual(dict(shown), printed)
        self.assertEqual(len(shown), len(printed))

    def test_meanings_of_keys_have_at_most_110_characters(self):
        for key in json.loads(self.hpo("keys", "--json"))["keys"]:
            self.assertLessEqual(len(key["meaning"]), 110, key["key"])


def anchors(page):
    """The fragments by which links reach the headings of a page."""
    headings = re.findall(r"^#+ (.*)", page.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Pages(Case):
    def test_link_targets_exist(self):
        for page in PAGES:
            for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page}: {target}")
                if anchor and page.name != "CHANGELOG.md":  # the changelog keeps links to pages as they were
                    self.assertIn(anchor, anchors(page.parent / target if target else page), f"{page}: {target}#{anchor}")

    def test_lines_are_at_most_120_characters_except_in_tables_and_quotes(self):
        for page in PAGES:
            text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.S | re.M)
            for line in text.splitlines():
                self.assertTrue(len(line) <= 120 or line.startswith(("|", "    ")), f"{page}: {line}")

    def test_the_glossary_is_alphabetical_and_each_entry_has_a_definition(self):
        entries = re.findall(r"^- \*\*(.+?)\*\*: \S", (SOURCE / "docs" / "glossary.md").read_text(), re.M)
        self.assertGreater(len(entries), 20)
        self.assertEqual(entries, sorted(entries, key=str.lower))

    def test_mentioned_paths_exist(self):
        first = "|".join(re.escape(path.name) for path in SOURCE.iterdir() if path.is_dir() and path.name not in ("build", "runs"))
        for page in PAGES:
            for named in re.findall(rf"`((?:{first})/[\w./*-]*)`", page.read_text()):
                if "NAME" in named or "PART" in named:
                    continue
                self.assertTrue(list(SOURCE.glob(named.rstrip("/"))), f"{page}: {named}")


class Citation(Case):
    def test_it_names_the_latest_version_and_its_date(self):
        citation = (SOURCE / "CITATION.cff").read_text()
        version, date = re.search(r"^## ([0-9.]+) - ([0-9-]+)$", (SOURCE / "CHANGELOG.md").read_text(), re.M).groups()
        self.assertIn(f"\nversion: {version}\n", citation)
        self.assertIn(f"\ndate-released: {date}\n", citation)


class ReadyStudies(Case):
    seconds = 60

    def test_each_is_valid_on_this_machine(self):
        for name in ("worker", "studies"):  # their paths are relative to the project's folder
            (self.folder / name).symlink_to(SOURCE / name)
        for study in sorted((SOURCE / "studies").glob("*.yaml")):
            out = self.hpo("check", study)
            self.assertIn("at once", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
