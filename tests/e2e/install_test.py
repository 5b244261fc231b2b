"""The files of cmake --install, which work without the source."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import unittest

from harness import BUILD, SOURCE, Case


class Install(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import tempfile
        cls._prefix = tempfile.TemporaryDirectory(prefix="hpo-prefix-")
        cls.prefix = pathlib.Path(cls._prefix.name)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", cls.prefix], check=True, capture_output=True, timeout=300)
        cls.doc = cls.prefix / "share/doc/hpo"

    @classmethod
    def tearDownClass(cls):
        subprocess.run(["chmod", "-R", "u+w", cls.prefix], check=True)
        cls._prefix.cleanup()

    def installed(self, *arguments):
        done = subprocess.run([self.prefix / "bin/hpo", *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              timeout=300, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_pages_completions_documents_studies_and_the_client_are_there(self):
        for name in ("share/man/man1/hpo.1.gz", "share/man/man1/hpo-run.1.gz", "share/man/man1/hpo-worker.1.gz",
                     "share/bash-completion/completions/hpo",
                     "share/zsh/site-functions/_hpo", "share/fish/vendor_completions.d/hpo.fish", "share/doc/hpo/LICENSE",
                     "share/doc/hpo/README.md", "share/doc/hpo/docs/studies.md", "share/doc/hpo/studies/study.schema.json",
                     "share/doc/hpo/worker/examples/client.sh", "share/hpo/python/hpo/__init__.py", "share/hpo/python/hpo/py.typed"):
            self.assertTrue((self.prefix / name).is_file(), name)
        self.assertTrue(os.access(self.doc / "worker/examples/client.sh", os.X_OK))
        self.assertEqual([path for path in self.prefix.rglob("*") if path.name == "__pycache__"], [])
        completion = (self.prefix / "share/bash-completion/completions/hpo").read_text()
        self.assertEqual(completion, self.hpo("completion", "bash"))

    @unittest.skipUnless(shutil.which("man"), "no man")
    def test_the_man_pages_are_without_warnings(self):
        pages = sorted((self.prefix / "share/man/man1").iterdir())
        self.assertGreater(len(pages), 25)
        for page in pages:
            shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, timeout=60,
                                   env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80", "MANPAGER": "cat"})
            self.assertEqual((shown.returncode, shown.stderr), (0, ""), page)
            self.assertIn("SYNOPSIS", shown.stdout)

    def test_ready_studies_run_from_a_folder_that_cannot_be_written(self):
        """Their data and scripts are found beside them, and runs/ lies where the user is."""
        subprocess.run(["chmod", "-R", "a-w", self.prefix], check=True)
        before = sorted(self.prefix.rglob("*"))
        self.installed("run", self.doc / "studies/debug.yaml", "--trials", "2", "--set", "budget.epochs=1")
        self.installed("run", self.doc / "studies/script-client.yaml", "--trials", "2", "--set", "budget.epochs=2")
        for name in ("table", "series", "script-unchanged", "script-bash"):
            self.installed("check", self.doc / "studies" / f"{name}.yaml")
        self.assertEqual(sorted(self.prefix.rglob("*")), before)
        self.assertTrue((self.folder / "runs/debug/study.db").exists())


class Versions(Case):
    def test_a_worker_of_another_version_is_refused_with_both_versions(self):
        own = self.hpo("--version").split()[1]
        other = own[:-1] + ("8" if own.endswith("9") else "9")
        programs = self.folder / "mixed/bin"
        programs.mkdir(parents=True)
        shutil.copy(BUILD / "bin/hpo", programs)
        (programs / "hpo-worker").write_bytes((BUILD / "bin/hpo-worker").read_bytes().replace(own.encode(), other.encode()))
        (programs / "hpo-worker").chmod(0o755)
        done = subprocess.run([programs / "hpo", "run", SOURCE / "studies/debug.yaml", "--trials", "1"], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"hpo-worker is of version {other}, and hpo of version {own}", done.stderr)


class Release(Case):
    def test_notes_are_of_the_version_and_checksums_of_the_files(self):
        """Of a build with small programs, since packing the real ones takes minutes."""
        fake = self.folder / "build"
        (fake / "bin").mkdir(parents=True)
        shutil.copy2("/bin/true", fake / "bin/hpo")
        shutil.copy2(shutil.which("openssl"), fake / "bin/hpo-worker")  # it has libraries
        (fake / "cmake_install.cmake").write_text(
            f'file(INSTALL DESTINATION "${{CMAKE_INSTALL_PREFIX}}/bin" TYPE EXECUTABLE FILES "{fake}/bin/hpo" "{fake}/bin/hpo-worker")\n')
        if not shutil.which("patchelf"):
            self.skipTest("patchelf is not installed")
        sums = []
        for out in ("one", "two"):
            subprocess.run([SOURCE / ".ci/release", self.folder / out, "--build", fake, "--only", "archive"], check=True,
                           capture_output=True, timeout=120, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
            sums.append((self.folder / out / "SHA256SUMS").read_text())
        self.assertEqual(sums[0], sums[1], "the same bytes")
        for line in sums[0].splitlines():
            digest, name = line.split("  ")
            self.assertEqual(hashlib.sha256((self.folder / "one" / name).read_bytes()).hexdigest(), digest)
        self.assertIn(f"# hpo {self.hpo('--version').split()[1]}\n", (self.folder / "one/NOTES.md").read_text())
        archive = next((self.folder / "one").glob("hpo-*.tar.gz"))
        subprocess.run(["tar", "-xzf", archive, "-C", self.folder], check=True)
        tree = self.folder / archive.name.removesuffix(".tar.gz")
        subprocess.run([tree / "bin/hpo"], check=True)
        loaded = subprocess.run(["ldd", tree / "bin/hpo-worker"], check=True, capture_output=True, text=True).stdout
        self.assertRegex(loaded, r"libcrypto\S+ => \S+/bin/\.\./lib/hpo/libcrypto")
        sbom = json.loads((tree / "share/doc/hpo/libraries/hpo.spdx.json").read_text())
        self.assertIn("libssl3", [package["name"] for package in sbom["packages"]])
        self.assertTrue((tree / "share/doc/hpo/libraries/libssl3.copyright").exists())

    def test_a_build_that_is_not_there_is_named_with_the_cure(self):
        done = subprocess.run([SOURCE / ".ci/release", self.folder / "out", "--build", self.folder], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("build it first", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
