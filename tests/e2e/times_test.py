"""tests/times.py lists the tests that passed at their second try."""
import json
import subprocess
import sys
import unittest

from harness import SOURCE, Case

LOG = """    Start 1: unit.flaky
1/4 Test #1: unit.flaky .......................***Failed    0.04 sec
    Start 1: unit.flaky
    Test #1: unit.flaky .......................   Passed    0.02 sec
2/4 Test #12: unit.good .......................   Passed    0.02 sec
3/4 Test  #3: unit.bad ........................***Exception: SegFault  0.01 sec
    Test  #3: unit.bad ........................***Failed    0.00 sec
4/4 Test  #2: e2e.slow.Slow ...................***Timeout   1.00 sec
    Test  #2: e2e.slow.Slow ...................   Passed    0.01 sec
"""


class Times(Case):
    def test_a_test_that_passed_at_its_second_try_is_listed_with_the_end_of_the_first(self):
        times = self.folder / "times"
        times.mkdir()
        (times / "phases").write_text("tests release 1.0 9.0 0m0s 0m0s 0m1s 0m1s\n")
        (self.folder / "release" / "times").mkdir(parents=True)
        (self.folder / "release" / "times" / "ctest.log").write_text(LOG)
        printed = subprocess.run([sys.executable, SOURCE / "tests" / "times.py", times], capture_output=True, text=True, check=True).stdout
        listed = [line.split(":")[1:3] for line in printed.splitlines() if line.startswith("needed a second try")]
        self.assertEqual(listed, [[" unit.flaky (release)", " Failed; build/release/Testing/Temporary/LastTest.log has its output"],
                                  [" e2e.slow.Slow (release)", " Timeout; build/release/Testing/Temporary/LastTest.log has its output"]])
        self.assertEqual(json.loads((self.folder / "times.json").read_text())["second_tries"],
                         {"release": {"unit.flaky": "Failed", "e2e.slow.Slow": "Timeout"}})


if __name__ == "__main__":
    unittest.main(verbosity=2)
