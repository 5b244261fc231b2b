"""The first step of the start command: it makes packages available without removing any, or lists the missing ones."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from harness import SOURCE

INSTALL = SOURCE / ".ci" / "install-packages"
PACKAGES = SOURCE / ".ci" / "packages"


class Packages(unittest.TestCase):
    def run_with(self, commands, packages=PACKAGES, **environment):
        """Runs the step with only `commands` and the most basic programs on PATH."""
        with tempfile.TemporaryDirectory() as folder:
            for name in ["sh", "cat", "sed", "tr", "id", "mktemp", "rm", "tail", "env", "readlink", "dirname", *commands]:
                os.symlink(shutil.which(name), os.path.join(folder, name))
            return subprocess.run(["sh", str(INSTALL), str(packages)], capture_output=True, text=True,
                                  env={"PATH": folder, **environment})

    def test_without_apt_it_lists_the_packages_and_stops(self):
        done = self.run_with([])
        self.assertEqual(done.returncode, 1)
        for package in ("cmake", "libboost1.81-dev", "libopenblas-dev"):
            self.assertIn(package, done.stderr)

    def test_without_apt_it_succeeds_if_no_package_is_missing(self):
        self.assertEqual(self.run_with([], HPO_SKIP_PACKAGES="1").returncode, 0)

    def test_it_is_silent_if_no_package_is_missing(self):
        if not shutil.which("apt-get"):
            self.skipTest("not a Debian system")
        done = subprocess.run([str(INSTALL), str(PACKAGES)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


# The apt-get of a machine on which installing libboost1.81-dev would remove python3-scipy. It appends its arguments to $LOG.
APT = """#!/bin/sh
simulated= mode= removes= allowed=yes packages=
for word in "$@"; do
    case $word in
        -s) simulated=yes ;;
        --no-remove) allowed= ;;
        install | download | update) mode=$word ;;
        -* | *=*) ;;
        *) packages="$packages $word"; [ "$word" != libboost1.81-dev ] || removes=python3-scipy ;;
    esac
done
[ -n "$simulated" ] || echo "$mode$packages" >>"$LOG"
case $mode in
    install)
        if [ -n "$removes" ]; then
            [ -n "$allowed" ] || { echo "E: Packages need to be removed but remove is disabled." >&2; exit 100; }
            echo "Remv $removes [1.10.1-2]"
            [ -n "$simulated" ] || echo "removed $removes" >>"$LOG"
        fi
        for package in $packages; do echo "Inst $package (1.0 Debian:12 [amd64])"; done
        echo "Inst libc6 [2.36-9] (2.36-10 Debian:12 [amd64])" ;;
    download)
        for package in $packages; do
            mkdir -p "$package/DEBIAN" "$package/usr/include/$package"
            printf 'Package: %s\\nVersion: 1.0\\nArchitecture: all\\nMaintainer: a <a@b.c>\\nDescription: a\\n' "$package" >"$package/DEBIAN/control"
            dpkg-deb --build "$package" "$package.deb" >/dev/null
            rm -rf "$package"
        done ;;
esac
"""
SCIPY_MACHINE = {
    "apt-get": APT,
    "dpkg-query": "#!/bin/sh\nexit 1\n",  # nothing is installed yet
    "id": "#!/bin/sh\necho ${TEST_UID:-0}\n",
    "sudo": "#!/bin/sh\n[ -n \"${TEST_SUDO:-}\" ] || exit 1\n[ $1 != -n ] || shift\nexec \"$@\"\n",
}


class NothingIsRemoved(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in SCIPY_MACHINE.items():
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        (self.folder / "list").write_text("cmake\nlibboost1.81-dev  # a comment\nzlib1g-dev\n")
        (self.folder / "log").touch()

    def install(self, **environment):
        done = subprocess.run(["sh", str(INSTALL), str(self.folder / "list")], capture_output=True, text=True, cwd=self.folder,
                              env={"PATH": f"{self.folder}:/usr/bin:/bin", "LOG": str(self.folder / "log"),
                                   "HPO_PACKAGES": str(self.folder / "packages"),
                                   "HPO_SYSTEM_HEADERS": str(self.folder / "include"), **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stderr

    def requests(self):
        return (self.folder / "log").read_text().splitlines()

    def test_packages_that_would_remove_others_are_unpacked_into_the_folder_and_the_rest_installed(self):
        output = self.install()
        self.assertEqual(self.requests(), ["install cmake zlib1g-dev", "download libboost1.81-dev"])
        self.assertRegex(output, r"would\b.*remove\b.*packages: libboost1\.81-dev")
        self.assertTrue((self.folder / "packages/root/usr/include/libboost1.81-dev").is_dir())

    def test_without_root_all_are_unpacked_into_the_folder(self):
        output = self.install(TEST_UID="1000")
        self.assertEqual(self.requests(), ["download cmake libboost1.81-dev zlib1g-dev"])
        self.assertRegex(output, r"root\b.*sudo\b.*password")
        self.assertEqual(self.install(TEST_UID="1000"), "")  # no package is missing any more

    def test_sudo_is_used_if_it_needs_no_password(self):
        self.install(TEST_UID="1000", TEST_SUDO="1")
        self.assertEqual(self.requests(), ["install cmake zlib1g-dev", "download libboost1.81-dev"])

    def test_a_package_that_keeps_others_out_is_unpacked_into_the_folder_even_if_it_could_be_installed(self):
        (self.folder / "list").write_text("cmake\nunpack:libyaml-cpp-dev  # a comment\nzlib1g-dev\n")
        output = self.install()
        self.assertEqual(self.requests(), ["install cmake zlib1g-dev", "download libyaml-cpp-dev"])
        self.assertRegex(output, r"would\b.*keep\b.*: libyaml-cpp-dev")
        (self.folder / "log").write_text("")
        self.install(TEST_UID="1000")
        self.assertEqual(self.requests(), ["download cmake zlib1g-dev"])  # an unpacked package is not missing any more

    def test_a_package_that_an_earlier_version_installed_is_used_and_left_alone(self):
        (self.folder / "list").write_text("unpack:libboost1.81-dev\n")
        (self.folder / "dpkg-query").write_text("#!/bin/sh\necho installed\n")
        self.assertEqual(self.install(), "")
        self.assertEqual(self.requests(), [])

    def test_headers_of_boost_that_are_as_new_are_used_and_older_ones_are_not(self):
        (self.folder / "list").write_text("unpack:libboost1.81-dev\n")
        headers = self.folder / "include" / "boost"
        headers.mkdir(parents=True)
        (headers / "version.hpp").write_text("#define BOOST_VERSION 108300\n")
        self.assertEqual(self.install(), "")
        (headers / "version.hpp").write_text("#define BOOST_VERSION 107400\n")
        self.assertIn("libboost1.81-dev", self.install())
        self.assertEqual(self.requests(), ["download libboost1.81-dev"])

    def test_hpo_never_installs_boost(self):
        # libboost1.81-dev conflicts with libboost1.74-dev, on which python3-scipy and python3-sklearn depend.
        self.assertIn("unpack:libboost1.81-dev", PACKAGES.read_text().split())

    def test_a_shell_that_reads_the_environment_finds_the_folder_first(self):
        self.install()
        done = subprocess.run(["sh", "-euc", ". packages/environment; echo $CMAKE_PREFIX_PATH; echo $LDFLAGS"], cwd=self.folder,
                              env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
        root = str(self.folder.resolve() / "packages/root/usr")
        self.assertEqual(done.stdout.splitlines()[0], root, done.stderr)
        # The path is padded, so that its length does not depend on the folder.
        paths = [option.removeprefix("-Wl,-rpath,") for option in done.stdout.split() if option.startswith("-Wl,-rpath,")]
        self.assertIn(root + "/lib", {os.path.normpath(path)[:len(root + "/lib")] for path in paths})


if __name__ == "__main__":
    unittest.main(verbosity=2)
