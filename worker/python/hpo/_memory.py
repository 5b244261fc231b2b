"""The peak memory of a trial."""

from __future__ import annotations

import resource
import sys


class Peak:
    """The peak memory of this process since the present trial began, in bytes."""

    def __init__(self) -> None:
        self._trials = 0
        self._key = "VmHWM:"

    def begin(self) -> None:
        self._trials += 1
        if self._trials == 1:
            return
        self._key = "VmHWM:"
        try:
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            self._key = "VmRSS:"  # the present use, where the kernel does not allow a reset

    def bytes(self) -> int:
        try:
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith(self._key))
        except (OSError, StopIteration):
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


peak = Peak()


def peak_device_bytes() -> int:
    """Device memory that PyTorch has reserved at most, in bytes; 0 without it. hpo measures other libraries itself."""
    torch = sys.modules.get("torch")
    try:
        if torch is None or not torch.cuda.is_initialized():
            return 0
        return int(sum(torch.cuda.max_memory_reserved(device) for device in range(torch.cuda.device_count())))
    except Exception:
        return 0
