"""Attacks on a run as a whole."""
import contextlib
import dataclasses
import os
import pathlib
import signal
import time
from typing import Dict, List, Tuple

from verdict import End


class Attack:
    """What is done to a run. `lasting`: it goes on until the run's end, so that trials may fail of it."""
    lasting = False

    def prefix(self) -> List[str]:
        """Returns the command that hpo is started by."""
        return []

    def act(self, run):
        """Is called after the start, with the run (subjects.Run)."""

    def evidence(self) -> str:
        """Returns the place where the attack can be looked at, for the end of a sentence."""
        return ""


class Loss(Attack):
    """The power fails at an instant of a run that was recorded. `of`: the run, in words; `reported`: the ends by then; `expected`: the value of each
    trial of the run."""
    of: str
    reported: Dict[int, End]
    expected: Dict[int, float]

    def restored(self, place: pathlib.Path):
        """Returns a context in which the folder of all studies is as after the loss."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Kill(Attack):
    """SIGKILL for one process of a role, some seconds after the start."""
    role: str
    after: float

    def __str__(self):
        return f"{self.role}: SIGKILL after {self.after:.3f} s"

    def act(self, run):
        time.sleep(self.after)
        _send(signal.SIGKILL, run.victims(self.role)[:1])


@dataclasses.dataclass(frozen=True)
class Suspend(Attack):
    """The processes of all roles stand still for a while, as on a laptop whose lid is closed."""
    roles: Tuple[str, ...]
    after: float
    seconds: float

    def __str__(self):
        return f"all processes: SIGSTOP after {self.after:.3f} s, for {self.seconds:.3f} s"

    def act(self, run):
        time.sleep(self.after)
        stopped = [pid for role in self.roles for pid in run.victims(role)]
        _send(signal.SIGSTOP, stopped)
        time.sleep(self.seconds)
        _send(signal.SIGCONT, stopped)


@dataclasses.dataclass(frozen=True)
class Edit(Attack):
    """The study file is cut to half of its length after the run has read it."""
    after: float

    def __str__(self):
        return f"study.yaml is cut after {self.after:.3f} s"

    def act(self, run):
        time.sleep(self.after)
        path = run.folder / "study.yaml"
        whole = path.read_text()
        path.write_text(whole[:len(whole) // 2])
        run.addCleanup(path.write_text, whole)


@dataclasses.dataclass(frozen=True)
class Limit(Attack):
    """A limit of the system (setrlimit(2)) for hpo and all its processes, by its name for prlimit(1)."""
    name: str
    most: int
    lasting = True

    def __str__(self):
        return f"prlimit --{self.name}={self.most}"

    def prefix(self):
        return ["prlimit", f"--{self.name}={self.most}"]


def _send(number, pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


# Without files at all no reason can be told, and with less of a stack no C++ program gets to its main().
LIMITS = {"nofile": (8, 16, 20, 24, 32, 48, 64), "fsize": (4096, 16384, 65536, 262144, 1 << 20),
          "as": (20 << 20, 40 << 20, 80 << 20, 160 << 20, 320 << 20, 640 << 20), "stack": (256 << 10, 1 << 20)}
