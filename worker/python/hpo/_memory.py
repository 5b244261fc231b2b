"""The peak memory of a trial."""

from __future__ import annotations

import os
import resource
import sys
from typing import Any, Callable, Optional


class Peak:
    """The peak memory of this process since the present trial began, in bytes.

    The files stay open, which makes short trials a tenth of a millisecond shorter."""

    def __init__(self) -> None:
        self._trials = 0
        self._key = b"VmHWM:"
        self._status: Optional[int] = None
        self._reset: Optional[int] = None

    def begin(self) -> None:
        self._trials += 1
        if self._trials == 1:
            return
        self._key = b"VmHWM:"
        try:
            if self._reset is None:
                self._reset = os.open("/proc/self/clear_refs", os.O_WRONLY)
            os.write(self._reset, b"5")
        except OSError:
            self._key = b"VmRSS:"  # the present use, where the kernel does not allow a reset

    def bytes(self) -> int:
        try:
            if self._status is None:
                self._status = os.open("/proc/self/status", os.O_RDONLY)
            status = os.pread(self._status, 65536, 0)
            begin = status.index(self._key) + len(self._key)
            return int(status[begin : status.index(b"kB", begin)]) * 1024
        except (OSError, ValueError):
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


peak = Peak()


def _of_cuda() -> int:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return 0
    return int(sum(torch.cuda.max_memory_reserved(device) for device in range(torch.cuda.device_count())))


def _of_mps() -> int:
    """What PyTorch holds of Apple's GPU now: it keeps no peak. Its buffers alone where the driver's number is missing."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.backends.mps.is_available():
        return 0
    held = getattr(torch.mps, "driver_allocated_memory", None) or torch.mps.current_allocated_memory
    return int(held())


def _mlx(name: str) -> Callable[[], Any]:
    """The function of mlx.core, or of mlx.core.metal, where it was before MLX 0.22."""
    core = sys.modules["mlx.core"]
    function: Callable[[], Any] = getattr(core, name, None) or getattr(core.metal, name)
    return function


class DevicePeak:
    """The peak of the device memory of this process since the present trial began, in bytes."""

    def __init__(self) -> None:
        self._seen = 0  # the most that PyTorch on Apple's GPU held at a call of bytes()

    def begin(self) -> None:
        self._seen = 0
        if "mlx.core" in sys.modules:
            try:
                _mlx("reset_peak_memory")()
            except Exception:  # an MLX without it: its peak is that of all trials of this process
                pass

    def bytes(self) -> int:
        """PyTorch's and MLX's; 0 without them. hpo measures other libraries itself, where the driver tells."""
        of_cuda = _number(_of_cuda)
        self._seen = max(self._seen, _number(_of_mps))
        of_mlx = _number(_mlx("get_peak_memory")) if "mlx.core" in sys.modules else 0
        return of_cuda + self._seen + of_mlx


def _number(ask: Callable[[], Any]) -> int:
    try:
        return int(ask())
    except Exception:
        return 0


device_peak = DevicePeak()
