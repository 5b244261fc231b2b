"""The Debian package: installed, upgraded and removed in a folder of its own. Studies stay as they are."""
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import BUILD, Case


def contents(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*"))
            if path.is_file()}


@unittest.skipUnless(shutil.which("cpack") and shutil.which("dpkg-shlibdeps"), "cmake or dpkg-dev is not installed")
@unittest.skipUnless(os.geteuid() == 0, "dpkg installs as root alone")
class Package(Case):
    seconds = 25

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls._made = tempfile.TemporaryDirectory(prefix="hpo-deb-")
        cls.made = {}
        for version in ("0.1.9", "0.2.1"):
            out = pathlib.Path(cls._made.name, version)
            subprocess.run(["cpack", "-G", "DEB", "-B", out, "--config", BUILD / "CPackConfig.cmake", "-D", f"CPACK_PACKAGE_VERSION={version}",
                            "-D", "CPACK_STRIP_FILES=OFF", "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none"],
                           check=True, capture_output=True, cwd=BUILD, timeout=300)
            cls.made[version], = out.glob("*.deb")

    @classmethod
    def tearDownClass(cls):
        cls._made.cleanup()

    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        for folder in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "home/user"):
            (self.root / folder).mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()
        self.home = self.root / "home/user"

    def dpkg(self, *arguments):
        """What the package depends on is on this machine, and not in the folder."""
        done = subprocess.run(["dpkg", f"--root={self.root}", "--force-depends", "--force-script-chrootless", *map(str, arguments)],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def installed(self, *arguments):
        done = subprocess.run([self.root / "usr/bin/hpo", *map(str, arguments)], cwd=self.home, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_an_upgrade_and_a_removal_leave_studies_as_they_are(self):
        self.dpkg("-i", self.made["0.1.9"])
        study = self.root / "usr/share/doc/hpo/studies/debug.yaml"
        shutil.copy(study, self.home / "mine.yaml")
        self.installed("run", "mine.yaml", "--trials", "2", "--set", "budget.epochs=2")
        (self.root / "usr/share/hpo/python/hpo/__pycache__").mkdir(exist_ok=True)
        (self.root / "usr/share/hpo/python/hpo/__pycache__/trial.pyc").write_text("by Python")
        before = contents(self.home)
        self.assertIn("runs/debug/study.db", before)

        self.dpkg("-i", self.made["0.2.1"])
        self.assertIn("Version: 0.2.1\n", self.dpkg("-s", "hpo"))
        self.assertEqual(contents(self.home), before)
        self.assertIn("debug", self.installed("ls"))
        self.installed("run", "mine.yaml", "--trials", "3", "--set", "budget.epochs=2")
        self.assertEqual(len(self.installed("export", "debug", "--to", "jsonl", "-").splitlines()), 3)

        before = contents(self.home)
        self.dpkg("-r", "hpo")
        self.assertEqual(contents(self.home), before)
        self.assertEqual([str(path) for path in (self.root / "usr").rglob("*") if path.is_file()], [], "nothing else is left")
        self.dpkg("-P", "hpo")
        self.assertEqual(contents(self.home), before)

    def test_two_versions_are_never_installed_at_once(self):
        self.dpkg("-i", self.made["0.1.9"])
        for program in ("hpo", "hpo-worker"):
            self.assertNotIn(b"/build/packages/", (self.root / "usr/bin" / program).read_bytes(), "no path of the build")
        first = contents(self.root / "usr")
        self.dpkg("-i", self.made["0.2.1"])
        self.assertEqual(set(contents(self.root / "usr")), set(first))


if __name__ == "__main__":
    unittest.main(verbosity=2)
