"""The environment in which torch is fastest on this machine, with one thread a process, as the baseline of benches."""
import functools
import os
import subprocess

PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's torch
CORES = ("", "Haswell", "SkylakeX", "Cooperlake", "Zen")
PRODUCT = """
import time, numpy
a, b = (numpy.random.rand(1024, 1024).astype(numpy.float32) for _ in range(2))
right = numpy.abs(a[:2] @ b - (a[:2].astype(float) @ b.astype(float))).max() < 0.01
seconds = []
for _ in range(6):
    begun = time.process_time()
    a @ b
    seconds.append(time.process_time() - begun)
print(min(seconds) if right else "inf")
"""


@functools.cache
def blas_core():
    """Returns the OPENBLAS_CORETYPE of the fastest matrix product, or "" for OpenBLAS's own choice.

    OpenBLAS takes CPUs that it does not know for much older ones: 23 instead of 128 GFLOP/s were seen.
    """
    seconds = {}
    for core in CORES:
        done = subprocess.run([PYTHON, "-c", PRODUCT], capture_output=True, text=True, env=environment(core))
        if done.returncode == 0:  # a kernel that the CPU does not have ends with an illegal instruction
            seconds[core] = float(done.stdout)
    return min(seconds, key=lambda core: (seconds[core] * (0.95 if core == "" else 1)))


def untuned():
    """Returns the variables of this process without those of BLAS and OpenMP."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("OPENBLAS_", "OMP_"))}


def environment(core=None):
    """Returns the variables of a tuned process; `core` is the OPENBLAS_CORETYPE, by default blas_core()."""
    core = blas_core() if core is None else core
    tuned = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_TRIM_THRESHOLD_": "4000000000",
             "MALLOC_MMAP_THRESHOLD_": "4000000000"}
    return untuned() | tuned | ({"OPENBLAS_CORETYPE": core} if core else {})
