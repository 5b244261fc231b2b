"""Fuzzes every parser (tests/fuzz), each for its share of the time, and prints the number of inputs."""
import pathlib
import re
import subprocess
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PARSERS = sorted(path.name[:-len("_fuzzer.cpp")] for path in (SOURCE / "tests/fuzz").glob("*_fuzzer.cpp"))
SHARES = {"protocol": 24, "study": 8}  # parsers of input from other machines and people; all others have 1
MOST_FAILURES = 3  # of one parser, which then leaves the rest of its time


def fuzz(minutes, stopped):
    """Fuzzes until the time is over or `stopped` is set. Returns the rows of the table."""
    rows = []
    for name in PARSERS:
        if stopped.is_set():
            break
        rows.append(_fuzz_one(name, 60 * minutes * SHARES.get(name, 1) / sum(SHARES.get(one, 1) for one in PARSERS), stopped))
    return rows


def _fuzz_one(name, seconds, stopped):
    built = subprocess.run(["tests/fuzz/run", "0", name], cwd=SOURCE, capture_output=True, text=True)
    if built.returncode != 0:
        return {"parser": name, "not run": f"it cannot be built: {(built.stderr + built.stdout).strip().splitlines()[0]}"}
    row = {"parser": name, "inputs": 0, "inputs/s": 0, "coverage": 0, "features": 0, "failed": 0}
    began = time.monotonic()
    while (left := seconds - (time.monotonic() - began)) >= 1 and row["failed"] < MOST_FAILURES and not stopped.is_set():
        text = subprocess.run(["tests/fuzz/run", str(int(left)), name], cwd=SOURCE, capture_output=True, text=True, errors="replace").stderr
        row["inputs"] += max([int(count) for count in re.findall(r"number_of_executed_units: (\d+)", text)], default=0)
        for coverage, features in re.findall(r"cov: (\d+) ft: (\d+)", text)[-1:]:
            row["coverage"], row["features"] = int(coverage), int(features)
        for found in re.findall(r"Test unit written to (\S+)", text):
            row["failed"] += 1
            print(f"bytes {name} | {found}", flush=True)
    row["inputs/s"] = round(row["inputs"] / max(1, time.monotonic() - began))
    return row


def table(rows):
    """Returns the lines of the table."""
    heads = ["parser", "inputs", "inputs/s", "coverage", "features", "failed"]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        if "not run" in row:
            lines.append(f"| {row['parser']} | not run: {row['not run']} |" + " |" * (len(heads) - 2))
        else:
            lines.append("| " + " | ".join(f"{row[head]:,}" if head != "parser" else row[head] for head in heads) + " |")
    lines.append(f"| all | {sum(row.get('inputs', 0) for row in rows):,} | | | | {sum(row.get('failed', 0) for row in rows):,} |")
    return lines
