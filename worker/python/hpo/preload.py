"""The preloaded interpreter: imports the modules that a study names once, and forks each trial's script within
milliseconds.

hpo alone starts it, for a study with `worker: {preload: [torch]}`. Its standard input is a socket of packets to the
supervisor of its worker:

    standby PID            process PID waits to become the next trial; from now on it is the supervisor's child
    running PID            the process has received its order and runs it
    unfit REASON           this interpreter must not be forked, and each trial must start an interpreter of its own

An order is the message by which a supervisor starts any worker (frames.hpp). It contains the whole environment, and the
descriptor of the trial's output comes with it. A trial finds the same arguments, sys.path, __main__, working folder,
environment, descriptors, process group, exit status and random numbers as in an interpreter of its own. There are three
differences: imported modules stay imported, the order of sets of texts (PYTHONHASHSEED) is the same for all trials of
the interpreter, and ps shows this file.

A script that does not use the client waits as the child of a process that becomes hpo's adapter.
"""

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import sys
import time
import traceback
import types
from importlib.machinery import BuiltinImporter, SourceFileLoader

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_NAME = 15  # PR_SET_NAME
_MOST_BYTES = 1 << 20
_LEAVES_ROOM = 0.1  # seconds in which a trial that has just begun has the processor for itself
_MOST_DEATHS = 3  # of processes that waited, in a row
_TORCH_SEED = 67280421310721  # of an interpreter that has just imported torch
_DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/accel")

_libc = ctypes.CDLL(None, use_errno=True)
_own = sys.modules["__main__"]  # this reference keeps the module alive when the script takes its place in sys.modules
_torch_threads = None


class Unfit(Exception):
    """This interpreter must not be forked. The message is the reason."""


class Order:
    """A supervisor's Start message (frames.hpp), whose fields end with a NUL."""

    def __init__(self, packed):
        fields = iter([os.fsdecode(field) for field in packed.split(b"\0")[:-1]])

        def listed():
            return [next(fields) for _ in range(int(next(fields)))]

        self.folder = next(fields)
        self.cpus = [int(cpu) for cpu in listed()]
        self.preload = listed()
        self.command = listed()
        self.environment = dict(field.split("=", 1) for field in fields if "=" in field)


def main():
    """Returns in each process that becomes a trial: its order, and the number of the interpreter's own arguments."""
    task = json.loads(sys.argv[1])
    if sys.platform == "linux":
        _libc.prctl(_NAME, b"hpo-preload", 0, 0, 0)
    supervisor = socket.socket(fileno=os.dup(0))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        if sys.platform == "darwin":
            raise Unfit("macOS ends processes that were forked after a library of Apple has started")
        _stand_where_the_script_will(task["command"])
        _load(task["modules"])
        gc.collect()
        gc.freeze()  # no later collection touches these objects, so that trials share their pages
        return _serve(supervisor, task["adapter"]), task["interpreter"]
    except Unfit as reason:
        _flush()
        supervisor.send(f"unfit {reason}"[:1000].encode())
        os._exit(0)


# ---- Before the first trial.


def _stand_where_the_script_will(command):
    """Sets sys.argv and sys.path as the interpreter does before it reads the script."""
    sys.argv = command[:1]
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        first = os.path.join(os.getcwd(), command[0]) if _has_main(command[0]) else None
    else:
        sys.path.pop(0)  # this file's own folder
        first = {"-m": os.getcwd(), "-c": ""}.get(command[0], os.path.dirname(os.path.realpath(command[0])))
        if _has_main(command[0]):
            first = os.path.join(os.getcwd(), command[0])
    if first is not None:
        sys.path.insert(0, first)


def _has_main(path):
    """True if the path is a folder or an archive whose __main__ is the script."""
    return pkgutil.get_importer(path) is not None


def _load(modules):
    os.environ["HPO_PRELOADING"] = "1"
    try:
        import hpo  # noqa: F401: most scripts want it
    except ImportError:
        pass
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException as error:
            traceback.print_exc()
            last = traceback.format_exception_only(type(error), error)[-1].strip()
            raise Unfit(f"'{module}' cannot be imported: {last}") from None
        _keep_torch_to_one_thread()
        _refuse_what_no_fork_keeps(module)
    del os.environ["HPO_PRELOADING"]


def _keep_torch_to_one_thread():
    """Makes torch prepare data in this thread, since the threads of its pool would not exist in a fork."""
    global _torch_threads
    torch = sys.modules.get("torch")
    if _torch_threads is None and hasattr(torch, "set_num_threads"):
        _torch_threads = torch.get_num_threads()
        torch.set_num_threads(1)


def _refuse_what_no_fork_keeps(module):
    """Raises Unfit if the module has started threads or opened a device, which a fork would lose. Libraries that handle
    forks (OpenBLAS) end their threads before one, so that only the threads left after a test fork count."""
    _flush()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    for _ in range(100):
        threads = len(os.listdir("/proc/self/task")) - 1
        if threads == 0:
            break
        time.sleep(0.001)
    if threads:
        raise Unfit(f"'{module}' left {threads} thread{'s' * (threads > 1)} running, which a fork would be without")
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except OSError:
            continue
        if target.startswith(_DEVICES):
            raise Unfit(f"'{module}' uses a device already ({target}), which no fork could use then")
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_initialized():
        raise Unfit(f"'{module}' uses CUDA already, which no fork could use then")
    mps = getattr(getattr(sys.modules.get("torch"), "backends", None), "mps", None)
    metal = getattr(sys.modules.get("mlx.core"), "metal", None)
    if any(one is not None and one.is_available() for one in (mps, metal)):
        raise Unfit(f"'{module}' trains on Apple's GPU (Metal), which no fork can use")


# ---- The server: one process always waits to become a trial.


def _serve(supervisor, behind_adapter):
    parent = os.getppid()
    deaths = 0
    while deaths < _MOST_DEATHS:
        _flush()
        taken, takes = os.pipe()
        try:
            child = os.fork()
        except OSError as error:
            raise Unfit(f"it cannot be forked: {error.strerror}") from None
        if child == 0:
            os.close(taken)
            _leave_for(parent, supervisor)
            return _wait(supervisor, takes, behind_adapter)
        os.close(takes)
        if os.waitpid(child, 0)[1] != 0:
            raise Unfit("it cannot be forked twice")
        deaths = 0 if os.read(taken, 1) else deaths + 1
        os.close(taken)
        select.select([supervisor], [], [], _LEAVES_ROOM)
    raise Unfit(f"{deaths} processes in a row that waited to be trials have died")


def _leave_for(parent, supervisor):
    """Forks and ends the parent at once, so that the supervisor adopts the trial, as it is the parent of any worker."""
    gate, opens = os.pipe()  # closed when the parent ends
    between = os.getpid()
    try:
        child = os.fork()
    except OSError:
        os._exit(1)
    if child != 0:
        os.setpgid(child, child)
        supervisor.send(f"standby {child}".encode())
        os._exit(0)
    os.close(opens)
    os.read(gate, 1)
    os.close(gate)
    while os.getppid() == between:
        time.sleep(0.0001)
    _die_with(parent)


def _die_with(parent):
    _libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # the parent died before the line above
        os._exit(0)


def _wait(supervisor, takes, behind_adapter):
    script = _fork_script(supervisor, takes) if behind_adapter else None
    if isinstance(script, Order):
        return script
    packed, descriptors, _, _ = socket.recv_fds(supervisor, _MOST_BYTES, 1)
    if not packed or not descriptors:
        os._exit(0)  # the supervisor is gone
    supervisor.send(f"running {os.getpid()}".encode())
    os.write(takes, b"t")
    os.close(takes)
    supervisor.close()
    _print_to(descriptors[0])
    order = Order(packed)
    if script is not None:
        _become_adapter(order, *script)
    return order


# ---- Behind an adapter, which speaks the protocol: the script waits as its child.


def _fork_script(supervisor, takes):
    """Forks the script's process. Returns there the order, once the adapter has sent it through a pipe; and in the
    adapter's process the script's PID and the ends of the two pipes."""
    orders_read, orders_write = os.pipe()
    output, prints = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child != 0:
        os.close(orders_read)
        os.close(prints)
        return child, orders_write, output
    os.setpgid(0, 0)
    _die_with(parent)
    for descriptor in (orders_write, output, takes):
        os.close(descriptor)
    supervisor.close()
    _print_to(prints)
    with open(orders_read, "rb") as pipe:
        size = pipe.read(4)
        packed = pipe.read(struct.unpack("=I", size)[0]) if len(size) == 4 else b""
    if not packed:
        os._exit(0)
    return Order(packed)


def _become_adapter(order, child, orders_write, output):
    _enter(order)
    os.environ["HPO_PREPARED"] = f"{child} {orders_write} {output}"
    for descriptor in (orders_write, output):
        os.set_inheritable(descriptor, True)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(order.command[0], order.command, os.environ)
    except OSError as error:
        print(f"cannot start {order.command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127)


# ---- A trial.


def _print_to(descriptor):
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)


def _flush():
    sys.stdout.flush()
    sys.stderr.flush()


def _enter(order):
    for name in set(os.environ) - set(order.environment):
        del os.environ[name]
    os.environ.update(order.environment)
    if order.cpus:
        try:
            os.sched_setaffinity(0, order.cpus)
        except OSError:
            pass  # the affinity is only a hint
    if order.folder:
        os.chdir(order.folder)


def _as_after_import():
    """Seeds random numbers as a new interpreter would, and gives torch the trial's number of threads. Python reseeds
    `random` itself."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if hasattr(numpy, "random"):
        numpy.random.seed()
    if hasattr(torch, "default_generator"):
        torch.default_generator.manual_seed(_TORCH_SEED)
    if _torch_threads is not None:
        threads = os.environ.get("OMP_NUM_THREADS", "")
        torch.set_num_threads(int(threads) if threads.isdecimal() and int(threads) > 0 else _torch_threads)


def run(order, interpreter):
    """Runs the script and ends as it does: with its exception or its exit status."""
    _enter(order)
    _libc.prctl(_NAME, os.path.basename(order.command[0]).encode(), 0, 0, 0)
    _as_after_import()
    sys.orig_argv = list(order.command)
    script = types.ModuleType("__main__")
    script.__dict__.update(__builtins__=sys.modules["builtins"], __annotations__={})
    sys.modules["__main__"] = script
    try:
        _run_as_main(order.command[interpreter:], script.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        error.__traceback__ = trace
        sys.excepthook(type(error), error, trace)
        sys.excepthook = lambda *_: None  # it is printed already; the interpreter ends with status 1
        raise


def _run_as_main(arguments, names):
    kind = arguments[0]
    if kind == "-m":
        sys.argv = ["-m", *arguments[2:]]
        runpy._run_module_as_main(arguments[1])
    elif kind == "-c":
        sys.argv = ["-c", *arguments[2:]]
        names["__loader__"] = BuiltinImporter
        exec(compile(arguments[1] + "\n", "<string>", "exec", dont_inherit=True), names)
    elif _has_main(kind):
        sys.argv = arguments
        runpy._run_module_as_main("__main__", False)
    else:
        sys.argv = arguments
        path = os.path.join(os.getcwd(), kind)
        try:
            with open(path, "rb") as file:
                source = file.read()
        except OSError as error:
            print(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}", file=sys.stderr)
            sys.exit(2)
        names.update(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
        exec(compile(source, path, "exec", dont_inherit=True), names)


if __name__ == "__main__":
    run(*main())
