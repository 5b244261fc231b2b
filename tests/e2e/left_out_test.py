"""The tests that tests/arm64/run leaves out are named in tests/arm64/left_out, which a renamed test would escape unnoticed."""
import fnmatch
import pathlib
import re
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
TEST = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)")


class LeftOut(unittest.TestCase):
    def test_each_pattern_matches_a_test(self):
        known = {".".join(named) for file in TESTS.rglob("*.cpp") for named in TEST.findall(file.read_text())}
        lines = (TESTS / "arm64/left_out").read_text().splitlines()
        patterns = [line.split()[0] for line in lines if line and not line.startswith("#")]
        of_tests = [pattern for pattern in patterns if not re.match(r"(unit|contract|campaign)[.]", pattern)]
        self.assertGreater(len(of_tests), 10)
        for pattern in of_tests:
            without_parameter = re.sub(r"^\w+/|/\w+$", "", pattern)
            if pattern != "Backends/*/opencl":  # all tests that have this parameter
                self.assertTrue(fnmatch.filter(known, without_parameter), pattern)


if __name__ == "__main__":
    unittest.main()
