"""hpo plot, seen from outside."""
import struct
import xml.etree.ElementTree as xml

from harness import Case

STUDY = """
study: one
seed: 1
objective: {metric: loss, direction: minimize}
worker: {command: [/bin/sh, -c, 'LOOP', sh, "{x}", "{kind}"]}
space: {x: {type: float, low: 1, high: 2}, kind: {type: categorical, choices: [a, "<b>bold</b>"]}}
budget: {trials: 3, epochs: 3}
sampler: {type: random}
stopping: []
resources: {parallel: 1}
"""
KINDS = ("history", "curves", "slice", "parallel", "timeline")


class Plot(Case):
    def run_study(self, loop='for i in 1 2 3; do echo "loss=$1$i"; done', status=0, **changed):
        text = STUDY.replace("LOOP", loop)
        for old, new in changed.items():
            text = text.replace(old, new)
        self.hpo("run", self.study(text), status=status)

    def test_each_kind_in_the_terminal_and_as_a_file(self):
        self.run_study()
        for kind in KINDS:
            shown = self.hpo("plot", "one", kind)
            self.assertTrue(shown.startswith("one: "), shown)
            self.assertLessEqual(max(map(len, shown.splitlines())), 80)
            self.hpo("plot", "one", kind, "-o", kind + ".svg")
            root = xml.parse(self.folder / f"{kind}.svg").getroot()  # well-formed for any names
            self.assertEqual("{http://www.w3.org/2000/svg}svg", root.tag)
            self.hpo("plot", "one", kind, "-o", kind + ".png")
            picture = (self.folder / f"{kind}.png").read_bytes()
            self.assertEqual(b"\x89PNG\r\n\x1a\n", picture[:8])
            width, height = struct.unpack(">II", picture[16:24])
            self.assertEqual((2 * int(root.get("width")), int(2 * float(root.get("height")))), (width, height))
        self.assertEqual(self.hpo("plot", "one", "history"), self.hpo("plot"))
        self.assertEqual(self.hpo("plot", "one", "curves"), self.hpo("plot", "curves"))
        self.assertIn("&lt;b&gt;bold", self.hpo("plot", "one", "slice", "-o", "-"))

    def test_what_cannot_be_plotted_is_said(self):
        self.run_study()
        self.hpo("plot", "one", "curve", status=2)
        self.assertIn("no plot 'curve'; did you mean 'curves'?", self.error)
        self.hpo("plot", "one", "xyz", status=2)
        self.assertIn("no plot 'xyz'; known: history, curves, importance,", self.error)
        self.hpo("plot", "one", "front", status=1)
        self.assert_mentions(self.error, "one objective: ", "hpo plot one history")
        self.hpo("plot", "one", "importance", status=1)
        self.assert_mentions(self.error, "nothing", "plot")
        self.hpo("plot", "one", "-o", "one.pdf", status=2)
        self.assert_mentions(self.error, ".svg", ".png")
        self.assertFalse((self.folder / "one.pdf").exists())

    def test_an_existing_file_stays(self):
        self.run_study()
        (self.folder / "one.svg").write_text("mine")
        self.hpo("plot", "one", "-o", "one.svg", status=1)
        self.assertIn("--force", self.error)
        self.assertEqual("mine", (self.folder / "one.svg").read_text())
        self.hpo("plot", "one", "-o", "one.svg", "--force")
        self.assert_mentions(self.error, "earlier", "moved")

    def test_a_study_of_failures_has_a_timeline_alone(self):
        self.run_study(loop="exit 3", status=1)
        self.assert_mentions(self.hpo("plot", "one", "timeline"), "failed, diverged", "interrupted")
        self.hpo("plot", "one", status=1)
        self.assert_mentions(self.error, "nothing", "plot: no trial", "one", "loss")

    def test_a_study_of_one_step_marks_its_best(self):
        self.run_study(loop='echo "loss=$1"', **{"epochs: 3": "epochs: 1"})
        shown = self.hpo("plot", "one", "curves")
        self.assertEqual(["1"], shown.splitlines()[-3].split(), shown)
        self.assert_mentions(shown, "◆", "best", "trial")
        self.assertRegex(self.hpo(), "hpo best one +the best configuration\n")
        self.assertIn("mark star best", self.hpo("plot", "one", "curves", "-o", "-"))

    def test_failed_trials_with_steps_have_no_best(self):
        self.run_study(loop='echo "loss=$1"; exit 3', status=1, **{"resources: {": "resources: {retries: 0, "})
        self.assertNotIn("hpo best", self.hpo())
        for kind in "history", "parallel":
            self.assertNotIn("best", self.hpo("plot", "one", kind))


if __name__ == "__main__":
    import unittest
    unittest.main(verbosity=2)
