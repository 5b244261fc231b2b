"""hpo run --notify: a command is told of new bests, of trouble and of the end, and can neither slow nor fail the study."""
import json
import os
import unittest

from harness import Case, synthetic

# Appends a line with the event, its text and the facts of standard input.
TELL = r"""{ printf '%s|%s|' "$HPO_NOTIFY_EVENT" "$HPO_NOTIFY_TEXT"; cat; } >> told"""


def is_alive(pid):
    """True if the process runs; a process that waits for init to reap it does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Notify(Case):
    seconds = 16

    def told(self):
        return [line.split("|", 2) for line in (self.folder / "told").read_text().splitlines()]

    def test_the_command_gets_each_fact_in_variables_and_as_json(self):
        self.hpo("run", self.study(synthetic(trials=3, epochs=2)), "--notify", TELL)
        told = self.told()
        event, text, facts = told[-1]
        facts = json.loads(facts)
        self.assertEqual(event, "ended")
        self.assertEqual((facts["event"], facts["study"], facts["text"], facts["begun"], facts["ended"]), ("ended", "small", text, 3, 3))
        best = min(self.trials("small"), key=lambda trial: trial["value"])
        self.assertEqual((facts["best"]["trial"], facts["best"]["value"]), (best["trial"], best["value"]))
        self.assertEqual(facts["folder"], str(self.folder / "runs" / "small"))
        self.assertIn(f"(trial {best['trial']})", text)
        self.assertLessEqual({event for event, _, _ in told}, {"best", "trouble", "ended"})

    def test_a_new_best_is_told_while_the_study_runs(self):
        """The only trial goes on once it was told of."""
        os.mkfifo(self.folder / "go")
        script = self.folder / "train.sh"
        script.write_text("echo loss=1\nread line < go\necho loss=0.5\n")
        self.hpo("run", self.study(f"study: waits\nobjective: {{metric: loss, direction: minimize}}\n"
                                   f"space: {{lr: {{type: float, low: 0, high: 1}}}}\n"
                                   f"worker: {{command: [bash, {script}, \"{{lr}}\"], cwd: {self.folder}}}\n"
                                   "budget: {trials: 1}\n"), "--notify", TELL + "; [ -e first ] || { touch first; echo > go; }")
        told = [(event, json.loads(facts)) for event, _, facts in self.told()]
        self.assertEqual(told[0][0], "best")
        self.assertEqual((told[0][1]["best"]["trial"], told[0][1]["metric"]), (1, "loss"))

    def test_trouble_is_told(self):
        self.hpo("run", self.study("study: fails\nobjective: {metric: loss, direction: minimize}\n"
                                   "space: {lr: {type: float, low: 0, high: 1}}\n"
                                   'worker: {command: [sh, -c, "exit 3", "{lr}"]}\nbudget: {trials: 1}\nresources: {retries: 0}\n'),
                 "--notify", TELL, status=1)
        events = [event for event, _, _ in self.told()]
        self.assertIn("trouble", events)
        self.assertEqual(events[-1], "ended")
        self.assertIn("3", next(text for event, text, _ in self.told() if event == "trouble"))

    def test_a_command_that_hangs_or_fails_changes_nothing_and_is_ended(self):
        study = self.study(synthetic(trials=3, epochs=2))
        self.hpo("run", study, "--notify", "echo $$ >> pids; sleep 1000 & echo $! >> pids; wait")
        self.assertEqual({trial["state"] for trial in self.trials("small")}, {"complete"})
        for pid in (self.folder / "pids").read_text().split():
            self.assertFalse(is_alive(pid), "its processes have ended")
        self.assertIn("failed: ended after 10 s\n", self.log())
        self.hpo("run", study, "--notify", "echo so sorry >&2; exit 7", "--trials", "4")
        self.assertNotIn("sorry", self.error)
        self.assertIn("so sorry\n", (self.folder / "runs" / "small" / "notify.log").read_text())
        self.hpo("run", study, "--notify", "/no/such/program", "--trials", "5")
        self.assertRegex(self.log(), r"not found\nhpo: \S+Z: the command for 'ended' failed: exit status 127\n$")

    def log(self):
        return (self.folder / "runs/small/notify.log").read_text()

    def test_failures_are_in_the_log_and_in_one_warning(self):
        study = self.study(synthetic(trials=1, epochs=1))
        self.hpo("run", study, "--notify", "[ $HPO_NOTIFY_EVENT != ended ] || { printf so; exit 3; }")
        self.assertRegex(self.log(), r"^so\nhpo: \d{4}-\S+Z: the command for 'ended' failed: exit status 3\n$")
        self.assert_mentions(self.error, "warning: ", "--notify", "once", "runs/small/notify.log")
        self.hpo("run", study, "--trials", "2", "--notify", "[ $HPO_NOTIFY_EVENT != ended ] || kill -9 $$")
        self.assert_mentions(self.log(), "failed", "Killed")
        self.hpo("run", study, "--trials", "3", "--notify", "true")
        self.assertNotIn("--notify", self.error)

    def test_the_log_has_the_beginning_of_a_long_output(self):
        self.hpo("run", self.study(synthetic(trials=1, epochs=1)), "--notify",
                 "[ $HPO_NOTIFY_EVENT != ended ] || { yes | head -c 5000000; touch over; }")
        self.assertTrue((self.folder / "over").exists(), "the command could print all of it")
        self.assertEqual(self.log(), "y\n" * 32768 + "hpo: the output is cut here, after 64 KiB\n")

    def test_a_study_that_cannot_begin_tells_nothing(self):
        self.hpo("run", "nowhere.yaml", "--notify", TELL, status=1)
        self.assertFalse((self.folder / "told").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
