"""Attacks on a run as a whole. Each has `prefix()`, a command that hpo is started by, `act(run)`, which is called after the start with the run
(subjects.Attack), and `lasting`: whether trials may fail of it."""
import contextlib
import os
import signal
import time
from typing import List, NamedTuple


class Kill(NamedTuple):
    """SIGKILL for one process of a role, some seconds after the start."""
    role: str
    after: float
    lasting = False

    def __str__(self):
        return f"{self.role}: SIGKILL after {self.after:.3f} s"

    def prefix(self) -> List[str]:
        return []

    def act(self, run):
        time.sleep(self.after)
        for pid in run.victims(self.role)[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Suspend(NamedTuple):
    """The processes of all roles stand still for a while, as on a laptop whose lid is closed."""
    roles: tuple
    after: float
    seconds: float
    lasting = False

    def __str__(self):
        return f"all processes: SIGSTOP after {self.after:.3f} s, for {self.seconds:.3f} s"

    def prefix(self) -> List[str]:
        return []

    def act(self, run):
        time.sleep(self.after)
        stopped = [pid for role in self.roles for pid in run.victims(role)]
        for sent in (signal.SIGSTOP, signal.SIGCONT):
            for pid in stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, sent)
            if sent == signal.SIGSTOP:
                time.sleep(self.seconds)


class Limit(NamedTuple):
    """A limit of the system (setrlimit(2)) for hpo and all its processes, by its name for prlimit(1)."""
    name: str
    most: int
    lasting = True

    def __str__(self):
        return f"prlimit --{self.name}={self.most}"

    def prefix(self) -> List[str]:
        return ["prlimit", f"--{self.name}={self.most}"]

    def act(self, run):
        pass


class Edit(NamedTuple):
    """The study file is cut to half of its length after the run has read it."""
    after: float
    lasting = False

    def __str__(self):
        return f"study.yaml is cut after {self.after:.3f} s"

    def prefix(self) -> List[str]:
        return []

    def act(self, run):
        time.sleep(self.after)
        path = run.folder / "study.yaml"
        whole = path.read_text()
        path.write_text(whole[:len(whole) // 2])
        run.addCleanup(path.write_text, whole)


# Without files at all no reason can be told, and with less of a stack no C++ program gets to its main().
LIMITS = {"nofile": (8, 16, 20, 24, 32, 48, 64), "fsize": (4096, 16384, 65536, 262144, 1 << 20),
          "as": (20 << 20, 40 << 20, 80 << 20, 160 << 20, 320 << 20, 640 << 20), "stack": (256 << 10, 1 << 20)}
