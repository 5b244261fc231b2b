"""hpo note, hpo tag and hpo mv, seen from outside."""
import json

from harness import Case, wait_for

STUDY = """
study: one
seed: 1
objective: {metric: loss, direction: minimize}
worker: {command: [/bin/sh, -c, 'echo "loss=$1"; LOOP', sh, "{x}"]}
space: {x: {type: float, low: 1, high: 2}}
budget: {trials: 3, epochs: 1}
sampler: {type: random}
stopping: []
resources: {parallel: 1}
"""


class Notes(Case):
    def run_study(self):
        self.hpo("run", self.study(STUDY.replace("LOOP", ":")))

    def test_what_is_written_about_a_study_or_a_trial_is_shown(self):
        self.run_study()
        self.hpo("note", "one", "new", "data,\nfrom <b>May</b>")
        self.hpo("note", "one", "2", "best start")
        self.hpo("note", "one/2", "second thought")
        self.hpo("tag", "one", "baseline", "may", "may")
        self.hpo("tag", "one", "2", "keep")
        shown = self.hpo("show", "one")
        self.assertIn("Tags          baseline, may\n", shown)
        self.assertIn("  new data, from <b>May</b>\n", shown)
        shown = self.hpo("show", "one/2")
        self.assertRegex(shown, r"(?m)^tags +keep$")
        self.assertRegex(shown, r"(?s)best start.*second thought")
        self.assertNotIn("keep", self.hpo("show", "one/1"))
        self.assertRegex(self.hpo("ls"), r"(?m)^STUDY .* TAGS .*\n.*baseline, may")
        self.assertRegex(self.hpo("ls", "one"), r"(?m)^TRIAL .* TAGS .*\n(.*\n)? +2 .* keep ")
        self.assertIn("second thought", self.hpo("note", "one", "2"))
        listed = json.loads(self.hpo("ls", "--json"))["studies"][0]
        self.assertEqual(["baseline", "may"], listed["tags"])
        self.assertEqual("new data,\nfrom <b>May</b>", listed["notes"][0]["text"])
        trials = json.loads(self.hpo("ls", "one", "--json"))["trials"]
        self.assertEqual([[], ["keep"], []], [trial["tags"] for trial in trials])
        self.assertEqual(["keep"], json.loads(self.hpo("show", "one/2", "--json"))["tags"])

    def test_tags_and_notes_are_removed_when_asked(self):
        self.run_study()
        self.hpo("tag", "one", "a", "b")
        self.hpo("tag", "one", "a", "--remove")
        self.hpo("note", "one", "text")
        self.assertRegex(self.hpo("tag", "one"), r"^Tags          b\nNote  ")
        self.hpo("note", "one", "--clear")
        self.assertEqual("Tags          b\n", self.hpo("note", "one"))

    def test_the_length_of_a_tag_counts_characters_not_bytes(self):
        self.run_study()
        self.hpo("tag", "one", "é" * 64)
        self.assertEqual(["é" * 64], json.loads(self.hpo("ls", "--json"))["studies"][0]["tags"])

    def test_a_study_has_at_most_32_tags(self):
        self.run_study()
        self.hpo("tag", "one", *(f"t{i}" for i in range(32)))
        self.hpo("tag", "one", "t7")
        self.hpo("tag", "one", "more", status=1)
        self.assertIn("at most 32 tags", self.error)
        self.hpo("tag", "one", "t0", "--remove")
        self.hpo("tag", "one", "more")
        self.assertEqual(32, len(json.loads(self.hpo("ls", "--json"))["studies"][0]["tags"]))

    def test_what_is_no_tag_or_no_trial_is_refused(self):
        self.run_study()
        self.hpo("tag", status=2)
        self.assert_mentions(self.error, "tag", "WHAT: ", "STUDY/TRIAL")
        self.hpo("schema", "one", status=2)
        self.assert_mentions(self.error, "schema", "too many", "'one'")
        self.hpo("tag", "one", "--remove", status=2)
        self.hpo("note", "one", " ", status=2)
        self.hpo("mv", "one", "7", status=2)
        self.assert_mentions(self.error, "taken", "number")
        self.hpo("tag", "one", "é" * 65, status=2)
        self.hpo("tag", "one", "a,b", status=2)
        self.assertIn("'a,b' is no tag", self.error)
        self.hpo("note", "one", "9", "text", status=1)
        self.assertIn("9", self.error)
        self.hpo("note", "one", "x" * 10_001, status=2)
        self.assertIn("at most 10000 bytes", self.error)
        self.assertFalse((self.folder / "runs" / "one" / "notes.json").exists())
        (self.folder / "runs" / "one" / "notes.json").write_text("{")
        self.hpo("note", "one", "text", status=1)
        self.assert_mentions(self.error, "notes", "damaged")
        self.assertEqual("{", (self.folder / "runs" / "one" / "notes.json").read_text())


class Move(Case):
    def test_a_moved_study_keeps_everything_and_resumes(self):
        file = self.study(STUDY.replace("LOOP", ":"))
        self.hpo("run", file)
        self.hpo("note", "one", "text")
        before = self.trials("one")
        self.assertEqual("runs/one is now runs/two\n", self.hpo("mv", "one", "two"))
        self.assertEqual(before, self.trials("two"))
        self.assertIn("text", self.hpo("show", "two"))
        self.assertRegex(self.hpo("ls"), r"(?m)^two ")
        self.assertFalse((self.folder / "runs" / "one").exists())
        self.hpo("run", "two", "--trials", "4")
        self.assertEqual(4, len(self.trials("two")))

    def test_a_new_name_makes_no_study_the_most_recent_one(self):
        text = STUDY.replace("LOOP", ":")
        self.hpo("run", self.study(text))
        self.hpo("run", self.study(text.replace("study: one", "study: later")))
        self.hpo("mv", "one", "first")
        self.assertIn("later: ", self.hpo("plot"))
        self.assertEqual(["later", "first"], [study["study"] for study in json.loads(self.hpo("ls", "--json"))["studies"]])

    def test_nothing_is_overwritten_and_no_name_leaves_the_folder(self):
        self.hpo("run", self.study(STUDY.replace("LOOP", ":")))
        (self.folder / "runs" / "two").mkdir()
        for name, status, said in (("two", 1, "exists already"), ("../x", 2, "is no name of a study"), (".x", 2, "no name")):
            self.hpo("mv", "one", name, status=status)
            self.assertIn(said, self.error)
        self.assertEqual(3, len(self.trials("one")))

    def test_a_running_study_stays(self):
        process = self.start("run", self.study(STUDY.replace("LOOP", "sleep 1000")))
        wait_for(lambda: self.trials_so_far("one"))
        self.hpo("mv", "one", "two", status=1)
        self.assertIn("one", self.error)
        self.hpo("note", "one", "while it runs")
        self.assertIn("while it runs", self.hpo("note", "one"))
        process.terminate()
        process.wait()
        self.assertFalse((self.folder / "runs" / "two").exists())


if __name__ == "__main__":
    import unittest
    unittest.main(verbosity=2)
