"""tests/bench/gpu first-contact: the first steps on a new kind of GPU, in order, each with a time limit.

If a step fails, crashes or hangs, its output is stored and the next step begins: first-contact.json and
first-contact.md (a table), a log of each step, all in --out (default build/first-contact), rewritten after each step. Ctrl-C
ends the step that runs, and so does its limit.
"""
import ctypes
import json
import os
import pathlib
import platform
import shutil
import signal
import subprocess
import sys
import time

TOOLS = {"compute-sanitizer": ["/usr/local/cuda/bin"], "ncu": ["/usr/local/cuda/bin"], "nvidia-smi": []}
# Every kernel, with shapes that leave parts of groups idle, without the tests that fill the device or copy megabytes.
WATCHED = "-Copies.*:Device.*"

# Makes a study end in less than a minute on PoCL, also beside other programs: narrow layers, and no measurement of precisions.
SMALL = ["--trials", "2"] + [word for key in ("budget.epochs=1", "space.batch_size.high=512", "worker.data.subset=2000", "space.width.low=64",
                                              "space.width.high=128", "worker.training.precision=float32") for word in ("--set", key)]
SMALL_WORDS = "no GPU of {backend} is here: small sizes, whose figures say that everything works, not how fast a GPU is"


def tool(name):
    found = shutil.which(name)
    return found or next((f"{folder}/{name}" for folder in TOOLS[name] if os.access(f"{folder}/{name}", os.X_OK)), None)


class Step:
    def __init__(self, name, limit, command=None, missing="", **environment):
        self.name, self.limit, self.command, self.missing, self.environment = name, limit, command, missing, environment


def has_gpu(build, backend):
    """Returns whether hpo lists a device of this backend that is no CPU. CUDA needs no listed device: its steps report the missing parts."""
    if backend == "cuda":
        return True
    try:
        text = subprocess.run([str(build / "bin/hpo"), "devices", "--json"], capture_output=True, text=True, timeout=60).stdout
        return any(one["kind"] == backend and not one["cpu"] and not one["lost"] for one in json.loads(text)["devices"])
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return True  # the step `devices` reports the problem


def steps(root, build, bench, backend, small, out):
    """Returns the steps in order: those that the others depend on come first."""
    tests = build / "tests/test_contract_backends"
    part = [sys.executable, str(bench), "--no-build", "--own-products", "--backend", backend, *(["--small"] if small else [])]

    def of_bench(name, limit, *parts):
        return Step(name, limit, [*part, "--out", str(out / name), "--only", ",".join(parts)])

    def watched(name, kind):
        sanitizer = tool("compute-sanitizer")
        command = [sanitizer, "--tool", kind, "--error-exitcode", "9", str(tests)]
        absent = "" if sanitizer else "there is no compute-sanitizer"
        return Step(name, 210, command, absent, HPO_TEST_BACKEND="cuda", GTEST_FILTER=WATCHED)

    on_cuda = backend == "cuda"
    profiler = tool("ncu")
    replicas = str(build / "tests/bench/bench_replicas")
    all_steps = [
        Step("versions", 60, [sys.executable, __file__, "versions", str(build)]),
        Step("devices", 60, [str(build / "bin/hpo"), "devices", "--json"]),
        Step("doctor", 60, [str(build / "bin/hpo"), "doctor"], HPO_RUNS=str(out / "runs")),
        Step("operations", 300, [str(tests)], HPO_TEST_BACKEND=backend),
        watched("memcheck", "memcheck") if on_cuda else None,
        watched("racecheck", "racecheck") if on_cuda else None,
        of_bench("one-trial", 180, "start", "golden"),
        Step("side-by-side", 180, [replicas, backend, "256", "512,256,128" if not small else "64", "2", "bucket", "1",
                                    "32" if not small else "2"]),
        of_bench("plan", 180, "plan"),
        of_bench("replicas", 600, "replicas"),
        Step("phase1", 150, [str(build / "bin/hpo"), "run", str(root / "studies/phase1.yaml"), "--backend", backend, "--fresh",
                             "--set", "budget.time=60s", *(SMALL if small else [])],
             HPO_RUNS=str(out / "runs")),
        Step("profile", 180, [str(profiler), "--clock-control", "none", "--launch-skip", "200", "--launch-count", "60", "--set", "basic", replicas,
                              "cuda", "256", "512,256,128", "1", "bucket", "1"],
             "" if profiler else "there is no ncu", HPO_TUNING="off") if on_cuda else None,
    ]
    return [step for step in all_steps if step]


def end_all_of(process):
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
            process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass


def run(step, out):
    """Runs a step and returns its outcome. Kills all processes that it started."""
    log = out / f"{step.name}.log"
    if step.missing:
        return {"step": step.name, "result": "left out", "why": step.missing, "seconds": 0}
    begun = time.monotonic()
    with open(log, "wb") as words:
        try:
            process = subprocess.Popen(step.command, stdout=words, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                       env=os.environ | step.environment, start_new_session=True)
        except OSError as error:
            return {"step": step.name, "result": "not started", "why": str(error), "seconds": 0, "command": step.command}
        why, status = "", None
        try:
            status = process.wait(step.limit)
        except subprocess.TimeoutExpired:
            why = f"took longer than {step.limit} s"
        except KeyboardInterrupt:
            why = "interrupted"
        finally:  # also if this script is terminated
            end_all_of(process)
    text = log.read_text(errors="replace")
    result = "well" if status == 0 else "cut off" if why else "failed"
    if status not in (0, None):
        why = f"signal {-status}" if status < 0 else f"status {status}"
    return {"step": step.name, "result": result, "why": why, "seconds": round(time.monotonic() - begun, 1), "command": step.command,
            "environment": step.environment, "last words": text.strip().splitlines()[-12:], "log": log.name}


def write(out, begun, seen, remark):
    """Writes the file whole or not at all, since the machine may be taken away at any moment."""
    table = ([remark, ""] if remark else []) + ["| step | result | seconds | last words |", "|---|---|---|---|"]
    for one in seen:
        last = (one.get("last words") or [""])[-1].replace("|", "/")[:160]
        table.append(f"| {one['step']} | {one['result']}{': ' + one['why'] if one.get('why') else ''} | {one['seconds']} | {last} |")
    for name, text in (("first-contact.json", json.dumps({"begun": begun, "remark": remark, "steps": seen}, indent=1)), ("first-contact.md", "\n".join(table))):
        beside = out / (name + ".tmp")
        beside.write_text(text + "\n")
        beside.replace(out / name)


def first_contact(root, build, bench, options):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    out = options.out or root / "build" / "first-contact"
    out.mkdir(parents=True, exist_ok=True)
    begun, seen = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), []
    backend = "cuda" if options.backend == "auto" else options.backend
    wanted = options.only.split(",") if options.only else None
    small = options.small or not has_gpu(build, backend)
    remark = SMALL_WORDS.format(backend=backend) if small and not options.small else "small sizes" if small else ""
    if remark:
        print(remark)
    plan = [step for step in steps(root, build, bench, backend, small, out) if not wanted or step.name in wanted]
    for step in plan:
        print(f"{step.name} (at most {step.limit} s) ...", end=" ", flush=True)
        seen.append(run(step, out))
        print(f"{seen[-1]['result']} {seen[-1].get('why', '')} {seen[-1]['seconds']} s", flush=True)
        write(out, begun, seen, remark)
    print(f"written down in {out}: first-contact.md, first-contact.json, a log of each step")
    return 1 if any(one["result"] in ("failed", "cut off", "not started") for one in seen) else 0


def versions(build):
    """Describes the loader and the libraries for the log."""
    print("machine:", platform.platform())
    gnu = ctypes.CDLL("libc.so.6").gnu_get_libc_version
    gnu.restype = ctypes.c_char_p
    print("glibc:", gnu().decode())
    for file in ("/etc/os-release", "/proc/driver/nvidia/version"):
        if os.path.exists(file):
            print(f"{file}:", pathlib.Path(file).read_text().strip().replace("\n", " / "))
    commands = [[str(build / "bin/hpo"), "--version"], [str(build / "bin/hpo-worker"), "--libraries"], ["ldd", str(build / "bin/hpo-worker")],
                ["nvidia-smi"], ["nvcc", "--version"], ["compute-sanitizer", "--version"], ["ncu", "--version"], ["clinfo", "-l"]]
    commands += [["python3", "-c", f"import {name}; print({name}.__version__, {name}.__file__)"] for name in ("torch", "jax")]
    for command in commands:
        print("$", *command, flush=True)
        try:
            subprocess.run([tool(command[0]) or command[0] if command[0] in TOOLS else command[0], *command[1:]], stderr=subprocess.STDOUT,
                           timeout=20)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(" ", error, flush=True)


if __name__ == "__main__":
    versions(pathlib.Path(sys.argv[2]))
