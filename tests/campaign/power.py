"""A loss of power: of the changes that record-writes recorded, those before an instant that a file system may have kept. Pure except for reading a
recording, and writing what was kept to a folder.

Kept is all that was synchronised. Of the rest of a file, each block of 4096 bytes may be there or not, some torn at 512 bytes, and the file may be
longer than its data, with zeros. Of the names, a prefix of the changes may be there, as with a journal, or any part in which each change has those
before it on which it depends. The synchronisation of a file keeps its name, too, as on ext4, xfs and btrfs. See Pillai et al., "All File Systems Are
Not Created Equal" (OSDI 2014), and Mohan et al., "Finding Crash-Consistency Bugs with Bounded Black-Box Crash Testing" (OSDI 2018)."""
import contextlib
import dataclasses
import os
import pathlib
import random
import tempfile
from typing import Dict, List, NamedTuple, Tuple

from attacks import Loss
from calls import FAIL_CALL

RECORD_WRITES = str(pathlib.Path(FAIL_CALL).with_name("record-writes"))
BLOCK, SECTOR = 4096, 512


class Change(NamedTuple):
    """A line of a recording. `end`: it had happened by then; `paths`: the names that it changes."""
    begin: int
    end: int
    kind: str
    inode: int = 0
    paths: Tuple[str, ...] = ()
    offset: int = 0  # of a write, in the file; the size of a resize
    data: bytes = b""
    mode: int = 0


class Kept(NamedTuple):
    """A file or folder after the loss."""
    is_folder: bool
    mode: int
    data: bytes = b""


def read(log: pathlib.Path) -> "Recording":
    content = pathlib.Path(f"{log}.bytes").read_bytes()
    changes = []
    for line in log.read_text().splitlines():
        begin, end, kind, *fields = line.split("\t")
        at = Change(int(begin), int(end), kind)
        if kind == "write":
            inode, offset, length, start = map(int, fields)
            change = at._replace(inode=inode, offset=offset, data=content[start:start + length])
        elif kind == "resize":
            change = at._replace(inode=int(fields[0]), offset=int(fields[1]))
        elif kind == "sync":
            change = at._replace(inode=int(fields[0]))
        elif kind in ("create", "mkdir"):
            change = at._replace(paths=(fields[0],), inode=int(fields[1]), mode=int(fields[2], 8))
        elif kind in ("rename", "link"):
            change = at._replace(paths=(fields[0], fields[1]), inode=int(fields[2]))
        elif kind == "remove":
            change = at._replace(paths=(fields[0],), inode=int(fields[1]))
        elif kind == "print":
            length, start = map(int, fields)
            change = at._replace(data=content[start:start + length])
        else:
            raise ValueError(f"{log}: {line}")
        changes.append(change)
    return Recording(changes)


class Recording:
    def __init__(self, changes: List[Change]):
        self.changes = changes

    def instant(self, dice: random.Random) -> int:
        """Returns an instant before, during or after a change: half of them those of any file, which in its turn is chosen among all files."""
        near = self.changes
        if dice.random() < 0.5:
            inode = dice.choice(sorted({change.inode for change in near}))
            near = [change for change in near if change.inode == inode]
        change = dice.choice(near)
        return dice.choice([change.begin, change.begin + 1, change.end + 1])

    def printed(self, cut: int) -> str:
        """Returns the whole lines that may have been read before the instant."""
        text = b"".join(change.data for change in self.changes if change.kind == "print" and change.begin < cut)
        return text[:text.rfind(b"\n") + 1].decode()

    def after_loss(self, cut: int, dice: random.Random) -> Dict[str, Kept]:
        """Returns the files and folders below the folder after the loss, by path, folders before their contents."""
        begun = [change for change in self.changes if change.begin < cut]
        synchronised: Dict[int, int] = {}  # the begin of the last synchronisation that has ended, by inode
        for change in begun:
            if change.kind == "sync" and change.end < cut:
                for inode in [change.inode] if change.inode else {one.inode for one in begun}:
                    synchronised[inode] = max(change.begin, synchronised.get(inode, 0))
        named = _names([change for change in begun if change.paths], synchronised, dice)
        kept = {}
        for path, (inode, is_folder, mode) in sorted(named.items()):
            data = [] if is_folder else [change for change in begun if change.inode == inode and change.kind in ("write", "resize")]
            kept[path] = Kept(is_folder, mode, _content(data, synchronised.get(inode, 0), dice))
        return kept


def _names(changes: List[Change], synchronised: Dict[int, int], dice: random.Random):
    """Returns inode, whether it is a folder, and mode, by path, after a legal part of the changes of names."""
    folders: Dict[str, int] = {}
    forced = [False] * len(changes)
    for i, change in enumerate(changes):
        if change.kind == "mkdir":
            folders[change.paths[0]] = change.inode
        around = [folders.get(_parent(path), 0) for path in change.paths] + ([] if change.kind == "remove" else [change.inode])
        forced[i] = any(change.end < synchronised.get(inode, 0) for inode in around)
    needed = [[j for j in range(i) if _depends(changes[i], changes[j])] for i in range(len(changes))]
    for i in reversed(range(len(changes))):
        for j in needed[i] if forced[i] else []:
            forced[j] = True
    if dice.random() < 0.5:  # a journal
        least = max((i + 1 for i in range(len(changes)) if forced[i]), default=0)
        there = [i < most for most in [dice.choice([least, len(changes), dice.randint(least, len(changes))])] for i in range(len(changes))]
    else:
        there = []
        chance = dice.choice([0.2, 0.5, 0.8])
        for i in range(len(changes)):
            there.append(forced[i] or (all(there[j] for j in needed[i]) and dice.random() < chance))
    named: Dict[str, Tuple[int, bool, int]] = {}
    for change in (change for change, is_there in zip(changes, there) if is_there):
        if change.kind in ("create", "mkdir"):
            named[change.paths[0]] = (change.inode, change.kind == "mkdir", change.mode)
        elif change.kind == "remove":
            del named[change.paths[0]]
        elif change.kind == "link":
            named[change.paths[1]] = named[change.paths[0]]
        else:
            source, target = change.paths
            for path in [path for path in named if path == source or path.startswith(source + "/")]:
                named[target + path[len(source):]] = named.pop(path)
    return named


def _parent(path: str) -> str:
    return os.path.dirname(path) or "."


def _depends(later: Change, earlier: Change) -> bool:
    """Returns whether the later change needs the earlier one, or follows it in the same name."""
    return any(a == b or b == "." or a.startswith(b + "/") or b.startswith(a + "/") for a in later.paths for b in earlier.paths)


def _content(changes: List[Change], synchronised: int, dice: random.Random) -> bytes:
    """Returns the contents of a file after some of the changes since its last synchronisation."""
    data, longest = bytearray(), 0
    chance, tears = dice.choice([0, 0.2, 0.5, 0.8, 1]), dice.random() < 0.3
    for change in changes:
        durable = change.end < synchronised
        if change.kind == "resize":
            longest = change.offset
            if durable or dice.random() < chance:
                del data[change.offset:]
                data.extend(bytes(change.offset - len(data)))
            continue
        longest = max(longest, change.offset + len(change.data))
        for begin, end in [(change.offset, change.offset + len(change.data))] if durable else _kept_parts(change, chance, tears, dice):
            data.extend(bytes(max(0, end - len(data))))
            data[begin:end] = change.data[begin - change.offset:end - change.offset]
    if dice.random() < 0.25:
        data.extend(bytes(max(0, longest - len(data))))
    return bytes(data)


def _kept_parts(change: Change, chance: float, tears: bool, dice: random.Random):
    """Returns begins and ends, in the file, of the parts of a write that were kept."""
    end = change.offset + len(change.data)
    for block in range(change.offset // BLOCK * BLOCK, end, BLOCK):
        if dice.random() >= chance:
            continue
        torn = tears and dice.random() < 0.5
        for sector in range(block, block + BLOCK, SECTOR if torn else BLOCK):
            begin, stop = max(sector, change.offset), min(sector + (SECTOR if torn else BLOCK), end)
            if begin < stop and (not torn or dice.random() < 0.5):
                yield begin, stop


@dataclasses.dataclass(frozen=True, eq=False)
class FileLoss(Loss):
    recording: Recording

    def __str__(self):
        return f"{self.of}: power fails at instant {self.cut}, seed {self.seed}"

    @contextlib.contextmanager
    def restored(self, place):
        self._restore(place)
        yield

    def _restore(self, folder: pathlib.Path):
        for path, kept in self.recording.after_loss(self.cut, random.Random(self.seed)).items():
            if kept.is_folder:
                (folder / path).mkdir(parents=True, exist_ok=True)
            else:
                (folder / path).write_bytes(kept.data)
            (folder / path).chmod(kept.mode)

    def evidence(self) -> str:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hpo-loss-"))
        self._restore(folder)
        return f" ({folder})"
