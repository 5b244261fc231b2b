"""Attacks on a run as a whole."""
import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from typing import Dict, List, Tuple

from verdict import End


class Attack:
    """An attack on a run. `lasting`: it goes on until the run's end, so that trials may fail because of it."""
    lasting = False

    def prefix(self) -> List[str]:
        """Returns the command that hpo is started by."""
        return []

    def problem(self) -> str:
        """Returns why the attack cannot be made on this machine, or nothing."""
        return ""

    def prepare(self, run):
        """Is called before the start, with the run (subjects.Run)."""

    def act(self, run):
        """Is called after the start."""

    def undo(self, run):
        """Is called when the run and its successor have ended."""

    def evidence(self) -> str:
        """Returns the place where the attack can be looked at, for the end of a sentence."""
        return ""


@dataclasses.dataclass(frozen=True, eq=False)
class Loss(Attack):
    """The power fails at an instant of a run that was recorded. `of`: the run, in words; `cut`: the instant, as the recording counts; `seed`: of the
    choice among all that may be kept; `reported`: the ends by then; `expected`: the value of each trial of the run."""
    of: str
    cut: int
    seed: int
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


@dataclasses.dataclass(frozen=True)
class FullDisk(Attack):
    """The studies lie on a file system of this size, which has room again before the next run."""
    size: int
    lasting = True

    def __str__(self):
        return f"a file system of {self.size >> 10} KiB"

    def problem(self):
        return "" if os.geteuid() == 0 else "only root may mount a file system"

    def prepare(self, run):
        place = run.folder / "runs"
        place.mkdir()
        self.mount(place, run.folder / "image")
        run.addCleanup(self.lift, place)

    def mount(self, place, image):
        _must("mount", "-t", "tmpfs", "-o", f"size={self.size}", "tmpfs", place)

    def lift(self, place):
        _must("mount", "-o", "remount,size=64m", place)

    def undo(self, run):
        subprocess.run(["umount", "--lazy", run.folder / "runs"], capture_output=True)


@dataclasses.dataclass(frozen=True)
class Sandbox(Attack):
    """Calls that a container's default profile refuses (sandbox.cpp)."""

    def __str__(self):
        return "the calls of a container"

    def problem(self):
        return "" if subprocess.run([*self.prefix(), "true"], capture_output=True).returncode == 0 else "calls cannot be filtered"

    def prefix(self):
        return [str(_tool("sandbox"))]


@dataclasses.dataclass(frozen=True)
class OtherClock(Attack):
    """The monotonic clock of the run is this number of seconds ahead of its successor's and its viewers'."""
    ahead: int

    def __str__(self):
        return f"a monotonic clock {self.ahead} s ahead"

    def problem(self):
        return "" if subprocess.run(["unshare", "--time", "true"], capture_output=True).returncode == 0 else "no time namespace can be made"

    def prefix(self):
        return ["unshare", "--time", "--monotonic", str(self.ahead), "--boottime", str(self.ahead)]


@dataclasses.dataclass(frozen=True)
class JumpingClock(Attack):
    """The wall clock of all processes is set forward or back while they run, once (jump_clock.cpp). The times of files are not."""
    after: float
    ahead: int

    def __str__(self):
        return f"the wall clock is set by {self.ahead} s after {self.after:.3f} s"

    def prefix(self):
        return ["env", f"LD_PRELOAD={_tool('libjump-clock.so')}", f"CAMPAIGN_JUMP={time.monotonic_ns() + int(self.after * 1e9)} {self.ahead}"]


@dataclasses.dataclass(frozen=True)
class Delays(Attack):
    """All threads are delayed at random at locks, reads and writes (delays.cpp)."""
    seed: int

    def __str__(self):
        return f"random delays of threads, seed {self.seed}"

    def prefix(self):
        return ["env", f"LD_PRELOAD={_tool('libdelays.so')}", f"CAMPAIGN_DELAYS={self.seed}"]


@dataclasses.dataclass(frozen=True)
class ControlGroup(Attack):
    """A control group of version 1 or 2 with this limit for hpo and all its processes."""
    controller: str
    limit: Dict[int, str]
    most: int
    lasting = True

    def __str__(self):
        return f"a control group with {self.limit[2]}={self.most}"

    def __hash__(self):
        return hash(str(self))

    def _parent(self):
        """Returns the version of the groups and the folder where one can be made, or nothing."""
        for version, folder in ((1, pathlib.Path("/sys/fs/cgroup", self.controller)), (2, pathlib.Path("/sys/fs/cgroup"))):
            with contextlib.suppress(OSError):
                probe = folder / f"hpo-probe-{os.getpid()}"
                probe.mkdir()
                found = (probe / self.limit[version]).exists()
                probe.rmdir()
                if found:
                    return version, folder
        return None

    def problem(self):
        return "" if self._parent() else f"no control group with {self.limit[2]} can be made"

    def _group(self, run):
        return self._parent()[1] / f"hpo-{run.folder.name}"

    def prepare(self, run):
        group = self._group(run)
        group.mkdir()
        (group / self.limit[self._parent()[0]]).write_text(str(self.most))
        run.environment["CAMPAIGN_GROUP"] = str(group)

    def prefix(self):
        return ["sh", "-c", 'echo $$ >"$CAMPAIGN_GROUP/cgroup.procs" && exec "$@"', "sh"]

    def undo(self, run):
        self._group(run).rmdir()


@dataclasses.dataclass(frozen=True)
class OtherUser(Attack):
    """Another user, who may read the folder, tries to run, stop, resume and watch the study meanwhile."""

    def __str__(self):
        return "another user"

    def _tries(self, folder, *arguments):
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "-u", "XDG_RUNTIME_DIR", "-u", "XDG_CACHE_HOME", "timeout", "10"]
        return subprocess.run([*other, str(_tool("../../bin/hpo")), *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True).returncode

    def problem(self):
        return "" if os.geteuid() == 0 and self._tries("/", "--version") == 0 else "no other user can run this hpo"

    def act(self, run):
        run.folder.chmod(0o755)
        for arguments in (["ls"], ["ls", "attacked"], ["top", "--once", "attacked"], ["run", "study.yaml"], ["stop", "attacked"],
                          ["best", "attacked"], ["export", "attacked", "--to", "csv", "-"]):
            self._tries(run.folder, *arguments)


def _tool(name):
    return pathlib.Path(os.environ.get("HPO_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"), "tests/campaign", name)


def _must(*command):
    subprocess.run(command, check=True, capture_output=True)


def _send(number, pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


# Without files at all no reason can be told, and with less of a stack no C++ program gets to its main().
LIMITS = {"nofile": (8, 16, 20, 24, 32, 48, 64), "fsize": (4096, 16384, 65536, 262144, 1 << 20),
          "as": (20 << 20, 40 << 20, 80 << 20, 160 << 20, 320 << 20, 640 << 20), "stack": (256 << 10, 1 << 20)}
SURROUNDINGS = [FullDisk(size << 10) for size in (16, 64, 96, 128, 160, 192, 256, 320, 512, 1024)] + [Sandbox(), OtherUser()]
JUMPS = (-10**8, -3600, -2, 2, 3600, 10**8)  # seconds
SURROUNDINGS += [OtherClock(ahead) for ahead in (100, 10**6, 10**9)]
SURROUNDINGS += [ControlGroup("pids", {1: "pids.max", 2: "pids.max"}, most) for most in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)]
SURROUNDINGS += [ControlGroup("memory", {1: "memory.limit_in_bytes", 2: "memory.max"}, most << 20) for most in (16, 32, 64, 128)]  # with less, the kernel kills hpo itself
