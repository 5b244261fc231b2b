"""System calls, the errors that each may give, and the choice of those that an attack lets fail."""
import dataclasses
import errno
import functools
import os
import pathlib
import re
import random
import subprocess
from typing import Dict, Iterator, List

from attacks import Attack

FAIL_CALL = str(pathlib.Path(os.environ.get("HPO_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"), "tests/campaign/fail-call"))

# By the manual pages (section 2) of Linux 6.1. EINTR is left out where the kernel restarts the call for hpo's handlers.
_DESCRIPTOR = "EMFILE ENFILE ENOMEM"
_SPACE = "ENOSPC EIO EDQUOT"
ERRORS: Dict[str, List[str]] = {call: errors.split() for calls, errors in (
    ("openat open", _DESCRIPTOR + " ENOSPC EROFS EINTR"),
    ("read pread64 readv", "EIO EINTR"),
    ("write pwrite64 writev fallocate ftruncate", _SPACE),
    ("fsync fdatasync", "EIO ENOSPC"),
    ("fcntl", "EAGAIN ENOLCK EDEADLK"),
    ("flock", "ENOLCK EINTR"),
    ("close", "EIO EINTR"),
    ("socket socketpair pipe2 eventfd2 epoll_create1 timerfd_create signalfd4 memfd_create inotify_init1 pidfd_open dup dup2 dup3", _DESCRIPTOR),
    ("epoll_ctl", "ENOMEM ENOSPC"),
    ("epoll_wait epoll_pwait clock_nanosleep nanosleep", "EINTR"),
    ("poll ppoll", "EINTR ENOMEM"),
    ("sendmsg sendto", "ENOBUFS ENOMEM EAGAIN ECONNRESET EPIPE"),
    ("recvmsg recvfrom", "ENOMEM ECONNRESET EINTR EAGAIN"),
    ("connect", "ECONNREFUSED EAGAIN EINTR"),
    ("accept accept4", _DESCRIPTOR + " ECONNABORTED"),
    ("bind listen", "EADDRINUSE ENOMEM"),
    ("clone clone3 fork vfork", "EAGAIN ENOMEM"),
    ("execve", "EAGAIN ENOMEM ETXTBSY EMFILE"),
    ("wait4 waitid", "EINTR"),
    ("mmap munmap mprotect mremap", "ENOMEM"),
    ("mkdir mkdirat rename renameat renameat2 link linkat symlink symlinkat", _SPACE + " EACCES EROFS"),
    ("unlink unlinkat rmdir", "EIO ENOMEM EROFS EBUSY"),
    ("stat lstat fstat newfstatat statx access faccessat faccessat2 getdents64 statfs fstatfs readlink readlinkat", "ENOMEM"),
    ("fchmod chmod fchmodat fchown utimensat", "EPERM EROFS"),
    ("kill tgkill pidfd_send_signal", "EPERM ESRCH"),
    ("sched_setaffinity sched_getaffinity prlimit64 setsid setpgid prctl", "EPERM EINVAL"),
    ("getcwd", "ENOENT ENOMEM"),
    ("ioctl", "EINTR ENOTTY"),
) for call in calls.split()}


@functools.lru_cache(maxsize=None)
def numbers() -> Dict[str, int]:
    """Returns the numbers of the system calls by their names, from the headers of this machine's compiler."""
    done = subprocess.run(["cc", "-E", "-dM", "-include", "sys/syscall.h", "-x", "c", "/dev/null"], capture_output=True,
                          text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].startswith("__NR_") and words[2].isdigit():
            found[words[1][len("__NR_"):]] = int(words[2])
    return found


@dataclasses.dataclass(frozen=True)
class Call(Attack):
    """One call that fails: the `nth` of the role, from 1; `lasting`: all from it on."""
    role: str
    call: str
    error: str
    nth: int
    lasting: bool = False

    def __str__(self):
        return f"{self.role}: {self.call} {self.nth}{'+' if self.lasting else ''} {self.error}"

    def prefix(self):
        return [FAIL_CALL, self.role, str(numbers()[self.call]), str(getattr(errno, self.error)), f"{self.nth}{'+' if self.lasting else ''}"]


def read(text: str) -> Call:
    """Returns the call that was printed as `text`. Raises ValueError if it is none."""
    found = re.fullmatch(r"(\S+): (\w+) ([1-9][0-9]*)(\+?) (\w+)", text)
    if not found or found[2] not in ERRORS or found[5] not in ERRORS[found[2]]:
        raise ValueError(f"no attack '{text}': it has the form 'run: openat 2 EMFILE', or 'run: openat 2+ EMFILE' for all calls from the 2nd on")
    return Call(found[1], found[2], found[5], int(found[3]), bool(found[4]))


def counts(path: pathlib.Path) -> Dict[str, int]:
    """Reads how often each call was made, as fail-call --count writes it."""
    names = {number: name for name, number in numbers().items()}
    pairs = (line.split() for line in path.read_text().splitlines())
    return {names[int(number)]: int(count) for number, count in pairs if int(number) in names}


def attacks(role: str, made: Dict[str, int], dice: random.Random, times=(1, 2, 5, 20)) -> Iterator[Call]:
    """Returns every call that was made, with every error that it may give, at these times and two random ones."""
    for call, count in sorted(made.items()):
        chosen = {*times, dice.randint(1, count), dice.randint(1, count)}
        for error in ERRORS.get(call, []):
            if (role, call, error) == ("__script", "read", "EIO"):
                continue  # this is how a pseudo-terminal tells that its program has ended
            if (role, call) == ("__supervisor", "write"):
                continue  # it writes to pipes alone, which know no disk
            for nth in sorted(time for time in chosen if time <= count):
                yield Call(role, call, error, nth)
            # A call that is interrupted without end makes no progress by its nature, without write() no reason can be told,
            # and a poll() that lacks memory is waited for for a minute.
            if error != "EINTR" and call not in ("write", "writev", "poll", "ppoll"):
                yield Call(role, call, error, dice.randint(1, count), lasting=True)
