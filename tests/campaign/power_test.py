"""Tests the states of files after a loss of power, and the recording of changes. A model that keeps too much would hide a failure of hpo."""
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import power
from power import Change, Recording


def left(changes, cut=1000):
    """Returns the files after many losses at the same instant: for each loss a map from paths to contents."""
    recording = Recording(changes)
    return [{path: kept.data for path, kept in recording.after_loss(cut, random.Random(seed)).items()} for seed in range(300)]


class Contents(unittest.TestCase):
    MADE = [Change(1, 2, "create", 1, ("file",)), Change(3, 4, "write", 1, offset=0, data=b"a" * 4096), Change(5, 6, "sync", 1)]

    def test_what_was_synchronised_is_always_there(self):
        self.assertTrue(all(one == {"file": b"a" * 4096} for one in left(self.MADE)))

    def test_a_synchronisation_that_has_not_ended_keeps_nothing(self):
        self.assertIn({}, left(self.MADE, cut=6))
        self.assertIn({"file": b""}, left(self.MADE, cut=6))

    def test_a_write_during_a_synchronisation_may_be_lost(self):
        found = left([*self.MADE, Change(10, 20, "sync", 1), Change(11, 12, "write", 1, offset=0, data=b"b" * 4096)])
        self.assertEqual({one["file"][:1] for one in found}, {b"a", b"b"})

    def test_blocks_are_written_in_any_order_and_torn(self):
        found = {one["file"] for one in left([*self.MADE, Change(7, 8, "write", 1, offset=0, data=b"b" * 8192)])}
        self.assertTrue({b"a" * 4096, b"b" * 8192, b"a" * 4096 + b"b" * 4096, b"a" * 4096 + bytes(4096)} <= found)
        self.assertTrue(any(b"b" * 512 + b"a" * 512 in one for one in found))

    def test_a_file_that_is_cut_may_have_its_old_end(self):
        found = {one["file"] for one in left([*self.MADE, Change(7, 8, "resize", 1, offset=0)])}
        self.assertEqual(found, {b"", b"a" * 4096})


class Names(unittest.TestCase):
    REPLACED = [Change(1, 2, "mkdir", 1, (".",)), Change(3, 4, "create", 2, ("old",)), Change(5, 6, "create", 3, ("new",)),
                Change(7, 8, "write", 3, offset=0, data=b"new"), Change(9, 10, "sync", 2), Change(11, 12, "sync", 3),
                Change(13, 14, "rename", 3, ("new", "old"))]

    def test_a_file_is_replaced_as_a_whole(self):
        kept = [{".": b"", "old": b"", "new": b"new"}, {".": b"", "old": b"new"}]
        found = left(self.REPLACED)
        self.assertTrue(all(one in found for one in kept))
        self.assertTrue(all(one in kept for one in found))

    def test_the_synchronisation_of_a_folder_keeps_its_names(self):
        self.assertTrue(all(one == {".": b"", "old": b"new"} for one in left([*self.REPLACED, Change(15, 16, "sync", 1)])))

    def test_nothing_is_in_a_folder_that_is_not_there(self):
        for one in left([Change(1, 2, "mkdir", 1, ("a",)), Change(3, 4, "create", 2, ("a/b",)), Change(5, 6, "create", 3, ("c",))]):
            self.assertTrue("a" in one or "a/b" not in one)

    def test_printed_lines_count_from_their_beginning(self):
        recording = Recording([Change(5, 9, "print", data=b"one\n"), Change(11, 12, "print", data=b"two\nthr")])
        self.assertEqual([recording.printed(cut) for cut in (5, 6, 12)], ["", "one\n", "one\ntwo\n"])


class Record(unittest.TestCase):
    def test_of_a_program_has_all_that_it_did(self):
        program = ("import os, subprocess\n"
                   "os.makedirs('runs/a/b')\n"
                   "with open('runs/a/log', 'a') as file: file.write('1'); file.flush(); subprocess.run(['/bin/sh', '-c', 'echo 2'], stdout=file)\n"
                   "with open('runs/a/log', 'a') as file: file.write('3\\n')\n"
                   "with open('runs/a/new', 'w') as file: file.write('x' * 5000); file.truncate(4500)\n"
                   "os.rename('runs/a/new', 'runs/a/b/old'); os.link('runs/a/b/old', 'runs/a/second')\n"
                   "with open('runs/a/gone', 'w') as file: os.remove('runs/a/gone'); file.write('unseen')\n"
                   "file = os.open('runs/a/sparse', os.O_RDWR | os.O_CREAT, 0o600)\n"
                   "os.pwrite(file, b'end', 9000); os.writev(file, [b'be', b'gin']); os.chdir('runs'); os.mkdir('c'); os.rmdir('c')\n"
                   "print('done')\n")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            done = subprocess.run([power.RECORD_WRITES, "runs", "record", sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE)
            self.assertEqual((done.returncode, done.stdout), (0, b"done\n"))
            recording = power.read(folder / "record")
            last = max(change.end for change in recording.changes) + 1
            self.assertEqual(recording.printed(last), "done\n")
            kept = Recording([*recording.changes, Change(last, last, "sync")]).after_loss(last + 1, random.Random(1))
            there = {"."} | {str(path.relative_to(folder / "runs")) for path in (folder / "runs").rglob("*")}
            self.assertEqual(set(kept), there)
            for path, one in kept.items():
                real = folder / "runs" / path
                self.assertEqual((one.is_folder, one.mode), (real.is_dir(), real.stat().st_mode & 0o7777), path)
                self.assertEqual(one.data, b"" if one.is_folder else real.read_bytes(), path)

    def test_of_killed_processes_has_the_writes_that_the_kill_met(self):
        program = ("import os, signal\n"
                   "os.mkdir('runs'); file = os.open('runs/file', os.O_RDWR | os.O_CREAT, 0o600)\n"
                   "for child in range(40):\n"
                   "    begun, begins = os.pipe(); pid = os.fork()\n"
                   "    if pid == 0:\n"
                   "        for i in range(6000):\n"
                   "            os.pwrite(file, b'%8d%8d' % (child, i), 100000 * child + 16 * i)\n"
                   "            if i == child: os.write(begins, b'!')\n"
                   "        signal.pause()\n"
                   "    os.read(begun, 1); os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)\n"
                   "os.fsync(file)\n")
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            subprocess.run([power.RECORD_WRITES, "runs", "record", sys.executable, "-c", program], cwd=folder, check=True)
            recording = power.read(folder / "record")
            last = max(change.end for change in recording.changes) + 1
            self.assertEqual(recording.after_loss(last, random.Random(1))["file"].data, (folder / "runs/file").read_bytes())


if __name__ == "__main__":
    unittest.main()
