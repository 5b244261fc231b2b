"""The start command's first step: installing packages, or saying which are missing where that cannot be done."""
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import SOURCE

INSTALL = SOURCE / ".ci" / "install-packages"
PACKAGES = SOURCE / ".ci" / "packages"


class Packages(unittest.TestCase):
    def run_with(self, commands, packages=PACKAGES, **environment):
        """Runs it with nothing but `commands` and the bare necessities on PATH."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ["sh", "cat", "sed", "tr", "id", "mktemp", "rm", "tail", "env", *commands]:
                os.symlink(shutil.which(name), os.path.join(folder, name))
            return subprocess.run(["sh", str(INSTALL), str(packages)], capture_output=True, text=True,
                                  env={"PATH": folder, **environment})

    def test_without_apt_it_lists_the_packages_and_stops(self):
        done = self.run_with([])
        self.assertEqual(done.returncode, 1)
        for package in ("cmake", "libboost1.81-dev", "libopenblas-dev"):
            self.assertIn(package, done.stderr)

    def test_without_apt_who_has_them_all_may_go_on(self):
        self.assertEqual(self.run_with([], HPO_SKIP_PACKAGES="1").returncode, 0)

    def test_with_nothing_missing_it_is_silent(self):
        if not shutil.which("apt-get"):
            self.skipTest("not a Debian system")
        done = subprocess.run([str(INSTALL), str(PACKAGES)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
