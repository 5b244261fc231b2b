"""Tests the verdicts of the campaign on given observations. A verdict that is too kind would hide a failure of hpo."""
import dataclasses
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import calls
from verdict import (BROKEN, CHARGED, CRASHED, GAP, HELD, HUNG, LEFT, LOST, REASON, REPEATED, SILENT, STUCK, SURVIVED, WAITED, WRONG,
                     Seen, verdict)

DONE = {1: ("complete", 0.5), 2: ("complete", 0.25)}
SOUND = Seen(exit=0, reported=DONE, final=DONE, expected={1: 0.5, 2: 0.25}, trials=2)


class Verdicts(unittest.TestCase):
    def judged(self, word, **changes):
        found, detail = verdict(dataclasses.replace(SOUND, **changes))
        self.assertEqual(found, word, detail)
        self.assertEqual((found in HELD) + (found in BROKEN), 1)

    def test_of_runs_that_held(self):
        self.judged(SURVIVED)
        self.judged(REASON, exit=1, output="hpo: the disk is full\n")
        self.judged(WAITED, exit=None, waits="hpo waits for a lock\n")
        self.judged(REASON, exit=1, output="x\n", lasting=True, final={1: ("complete", 0.5), 2: ("failed", None)}, reported={1: DONE[1]})

    def test_of_runs_that_did_not(self):
        self.judged(LOST, lost="hpo ls: trial 2")
        self.judged(LOST, final={1: DONE[1], 2: ("queued", None)})
        self.judged(LOST, final={1: DONE[1]})
        self.judged(REPEATED, trained_after=[1])
        self.judged(WRONG, final={1: DONE[1], 2: ("complete", 0.75)}, reported={})
        self.judged(GAP, gaps=[2])
        self.judged(CRASHED, exit=134)
        self.judged(CRASHED, exit=-11)
        self.judged(CRASHED, exit=1, output="terminate called without an active exception")
        self.judged(HUNG, exit=None)
        self.judged(LEFT, left=[4711])
        self.judged(STUCK, resumed=1)
        self.judged(STUCK, resumed=None)
        self.judged(STUCK, trials=3)
        self.judged(CHARGED, final={1: DONE[1], 2: ("failed", None)}, reported={})
        self.judged(SILENT, exit=1, output="")

    def test_a_loss_is_told_before_all_else(self):
        self.judged(LOST, lost="hpo best", exit=134, left=[1], resumed=1)


class Attacks(unittest.TestCase):
    def test_a_call_is_read_as_it_is_printed(self):
        for call in (calls.Call("run", "openat", "EMFILE", 20), calls.Call("__script", "fork", "EAGAIN", 3, lasting=True)):
            self.assertEqual(calls.read(str(call)), call)
        for text in ("", "run: openat", "run: openat 0 EMFILE", "run: opneat 1 EMFILE", "run: openat 1 EFOO"):
            self.assertRaisesRegex(ValueError, "it has the form", calls.read, text)

    def test_each_error_has_a_number(self):
        for call, errors in calls.ERRORS.items():
            if call not in calls.numbers():
                continue  # this processor has no such call, as ARM64 has no open()
            for error in errors:
                number, value = calls.Call("run", call, error, 1).prefix()[2:4]
                self.assertEqual((int(number), int(value) > 0), (calls.numbers()[call], True), f"{call} {error}")


if __name__ == "__main__":
    unittest.main()
