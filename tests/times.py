"""times.py FOLDER: prints the times of the phases and tests of a tests/run as a table by kind, and the tests that passed at their second try. It
writes these and the time of each test to FOLDER.json.

FOLDER/phases has a line "KIND SUITE BEGAN ENDED" for each phase, followed by the output of the shell's `times` before and after it. The builds next
to FOLDER have SUITE/times with ctest.xml (an entry per program or class), ctest.log (what ctest printed), GoogleTest's NAME.json and the end-to-end tests' NAME.txt (an entry per test)."""
import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree

SLOWEST = 8


def entries(build):
    """Returns the name and the seconds of each entry of ctest."""
    report = build / "times" / "ctest.xml"
    if not report.exists():
        return []
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    return [(case.get("name"), float(case.get("time") or 0)) for case in cases if case.get("status") != "disabled"]


def second_tries(build):
    """Returns the name of each entry that passed at its second try, and how the first one ended, in ctest's word."""
    log = build / "times" / "ctest.log"
    first, passed = {}, []
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        if match := re.match(r" *(?:\d+/\d+ )?Test +#\d+: (\S+) \.* *(\*\*\*)?([A-Za-z ]*[A-Za-z])", line):
            name, failed, end = match.groups()
            if failed:
                first.setdefault(name, end)
            elif name in first:
                passed.append((name, first[name]))
    return passed


def single_tests(build, name):
    """Returns the name and the seconds of each test within an entry."""
    google, python = build / "times" / f"{name}.json", build / "times" / f"{name}.txt"
    if google.exists():
        suites = json.loads(google.read_text()).get("testsuites", [])
        return [(f"{suite['name']}.{test['name']}", float(test["time"].rstrip("s"))) for suite in suites for test in suite["testsuite"]
                if test.get("status") == "RUN"]
    if python.exists():
        lines = (line.split() for line in python.read_text().splitlines())
        return [(test, float(seconds)) for test, seconds in lines]
    return []


def duration(text):
    """Converts a time such as "1m2.5s" to seconds."""
    minutes, seconds = text.rstrip("s").split("m")
    return 60 * float(minutes) + float(seconds)


def main(folder):
    try:
        phases = [line.split() for line in (folder / "phases").read_text().splitlines()]
    except OSError:
        return
    rows, kept, slowest = [], {"phases": [], "tests": {}, "second_tries": {}}, []
    for kind, suite, began, ended, *cpu in sorted(phases, key=lambda phase: float(phase[2])):
        seconds = float(ended) - float(began)
        busy = sum(map(duration, cpu[2:])) - sum(map(duration, cpu[:2]))
        kept["phases"].append({"kind": kind, "suite": suite, "seconds": round(seconds, 1), "cpu_seconds": round(busy, 1)})
        rows.append((kind, suite, seconds, f"{busy:.0f} s of CPU time"))
        if kind != "tests":
            continue
        build = folder.parent / suite
        kept["second_tries"][suite] = dict(second_tries(build))
        spent, count = collections.Counter(), collections.Counter()
        for name, took in entries(build):
            tests = single_tests(build, name)
            spent[name.split(".")[0]] += took
            count[name.split(".")[0]] += len(tests) or 1
            kept["tests"].setdefault(suite, {})[name] = {"seconds": round(took, 2), "tests": dict(tests)}
            slowest.append((took, f"{name} ({suite})"))
        for part, took in spent.most_common():
            rows.append(("", f"  {part}", took, f"{count[part]} tests"))
    total = max(float(phase[3]) for phase in phases) - min(float(phase[2]) for phase in phases)
    kept["seconds"] = round(total, 1)
    pathlib.Path(f"{folder}.json").write_text(json.dumps(kept, indent=1) + "\n")
    print(f"\n{'':<11}{'':<14}{'seconds':>8}")
    for kind, suite, seconds, note in rows:
        print(f"{kind:<11}{suite:<14}{seconds:>8.1f}  {note}".rstrip())
    print(f"{'all':<25}{total:>8.1f}\n(by kind: the sum over tests, also of those that ran in parallel; each test is in build/times.json)")
    if slowest:
        print("slowest: " + ", ".join(f"{name} {took:.0f} s" for took, name in sorted(slowest, reverse=True)[:SLOWEST]))
    for suite, tries in kept["second_tries"].items():
        for name, end in tries.items():
            print(f"needed a second try: {name} ({suite}): {end}; build/{suite}/Testing/Temporary/LastTest.log has its output")


main(pathlib.Path(sys.argv[1]))
