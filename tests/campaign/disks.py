"""Losses of power below real file systems. A file system in an image is mounted through a file that records its writes and flushes (block_file.py).
After the loss all that was written before the last flush is there, and any blocks of what came after it. The file system itself then recovers."""
import contextlib
import ctypes
import dataclasses
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import List, Tuple

import block_file
from attacks import FullDisk, Loss

BLOCK = 4096
MIB = 1 << 20
SIZES = {"ext4": 64 * MIB, "xfs": 300 * MIB, "btrfs": 128 * MIB}  # of xfs and btrfs the least that their tools make
MAKE = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"], "btrfs": ["mkfs.btrfs", "-q", "-f"]}
mounting = threading.Lock()  # two images of one file system are never mounted at once: btrfs would take them for one


def problem(kind: str) -> str:
    """Returns the reason why this file system cannot be tried here; empty: it can."""
    if os.geteuid() != 0:
        return "mounting needs root"
    if not os.path.exists("/dev/fuse") or not os.path.exists("/dev/loop-control"):
        return "there is no /dev/fuse or no loop device"
    if not shutil.which(MAKE[kind][0]):
        return f"{MAKE[kind][0]} is missing"
    with open("/proc/filesystems") as file:
        return "" if kind in file.read().split() else f"the kernel has no {kind}"


class Refused(Exception):
    """This machine does not let a disk be made, or mounted."""


def own_mounts():
    """Makes later mounts of this process invisible to all others: they end with it. Is called before there are threads."""
    new_mounts, private = 0x20000, 1 << 18 | 1 << 14
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(new_mounts) == 0:
        libc.mount(b"none", b"/", None, private, None)


def command(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout.strip()


@contextlib.contextmanager
def recorded_disk(kind: str, place: pathlib.Path, work: pathlib.Path):
    """Mounts a new file system at `place`, whose writes are recorded. Afterwards `work` has its first content, base, and the record, log."""
    image, served = work / "image", work / "served"
    with open(image, "wb") as file:
        file.truncate(SIZES[kind])
    command(*MAKE[kind], image)
    command("cp", "--sparse=always", image, work / "base")
    served.mkdir()
    server = subprocess.Popen([sys.executable, block_file.__file__, str(served), str(image), str(work / "log")], stdout=subprocess.PIPE, text=True)
    try:
        if server.stdout.readline() != "mounted\n":
            raise Refused("no file system can be served (block_file.py)")
        device = command("losetup", "--find", "--show", served / "disk")
        try:
            command("mount", "-t", kind, device, place)
            try:
                yield
            finally:
                command("umount", place)
        finally:
            command("losetup", "--detach", device)
            _settle(device)
    finally:
        if server.poll() is None:
            command("umount", served)
        server.wait()
        server.stdout.close()


def _settle(device):
    """Waits until the loop device, whose end the kernel delays, has let go of its file."""
    for _ in range(1000):
        if not command("losetup", "--noheadings", "--output", "BACK-FILE", "--list", "--all").count("served/disk"):
            return
        threading.Event().wait(0.01)
    raise Refused(f"{device} is in use")


@dataclasses.dataclass(frozen=True)
class Quota(FullDisk):
    """The studies lie on a file system with a quota of this size, which is lifted before the next run."""

    def __str__(self):
        return f"a quota of {self.size >> 10} KiB"

    def problem(self):
        return problem("btrfs")  # other file systems do not apply their quotas to root

    def mount(self, place, image):
        with open(image, "wb") as file:
            file.truncate(SIZES["btrfs"])
        command(*MAKE["btrfs"], image)
        command("mount", "-o", "loop", image, place)
        command("btrfs", "quota", "enable", place)
        command("btrfs", "qgroup", "limit", self.size, place)

    def lift(self, place):
        command("btrfs", "qgroup", "limit", "none", place)


class Record:
    """Writes and flushes in their order: nanoseconds, offset (-1: a flush), and bytes."""

    def __init__(self, work: pathlib.Path):
        self._work = tempfile.TemporaryDirectory(prefix="hpo-disk-")  # until no loss needs it
        self.base = pathlib.Path(self._work.name, "base")
        shutil.move(work / "base", self.base)
        content = (work / "log").read_bytes()
        self.entries: List[Tuple[int, int, bytes]] = []
        at = 0
        while at < len(content):
            instant, offset, length = block_file.ENTRY.unpack_from(content, at)
            at += block_file.ENTRY.size
            self.entries.append((instant, offset, content[at:at + length]))
            at += length

    def restore(self, cut: int, dice: random.Random, image: pathlib.Path):
        """Writes the disk after a loss of power before the entry `cut`."""
        command("cp", "--sparse=always", self.base, image)
        flushed = max((i for i in range(cut) if self.entries[i][1] < 0), default=0)
        chance = dice.choice([0, 0.2, 0.5, 0.8, 1])
        with open(image, "r+b") as file:
            for i, (_, offset, data) in enumerate(self.entries[:cut]):
                for begin in range(0, len(data), BLOCK):
                    if i < flushed or dice.random() < chance:
                        file.seek(offset + begin)
                        file.write(data[begin:begin + BLOCK])


@dataclasses.dataclass(frozen=True, eq=False)
class DiskLoss(Loss):
    record: Record
    kind: str  # the file system

    def __str__(self):
        return f"{self.kind}, {self.of}: power fails before entry {self.cut} of the disk, seed {self.seed}"

    @contextlib.contextmanager
    def restored(self, place):
        place.mkdir(exist_ok=True)
        with mounting, tempfile.NamedTemporaryFile(prefix="hpo-image-") as image:
            self.record.restore(self.cut, random.Random(self.seed), pathlib.Path(image.name))
            command("mount", "-t", self.kind, "-o", "loop", image.name, place)
            try:
                yield
            finally:
                command("umount", place)

    def evidence(self) -> str:
        handle, image = tempfile.mkstemp(prefix="hpo-image-")
        os.close(handle)
        self.record.restore(self.cut, random.Random(self.seed), pathlib.Path(image))
        return f" ({image})"
