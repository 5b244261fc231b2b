"""Plays schedules of the engine (tests/schedules), as many as the time allows, and prints what happened in them."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import time

PROGRAM = pathlib.Path(os.environ.get("HPO_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build/release"), "tests/schedules/schedules")
BLOCK = 1000  # schedules of one process
COUNTED = ["schedules", "sessions", "events", "trials", "kills", "power cuts", "failed writes", "interrupts", "broke a promise"]


def play(minutes, seed, jobs, most, stopped):
    """Plays until the time is over, `stopped` is set, or this number is reached. Returns the row of the table."""
    row = dict.fromkeys(COUNTED, 0)
    end = time.monotonic() + 60 * minutes
    seeds = iter(range((seed - 1) * 10**9 + 1, seed * 10**9, BLOCK))

    def play_until_the_end():
        while time.monotonic() < end and not stopped.is_set() and (most is None or row["schedules"] < most):
            text = subprocess.run([PROGRAM, "--seeds", str(BLOCK), "--from", str(next(seeds))], capture_output=True, text=True).stdout
            *broken, summary = text.splitlines()
            for line in broken:
                print(f"schedules | {line}", flush=True)
            for name in COUNTED:
                row[name] += int(re.search(rf"(\d+) {name}", summary).group(1))

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in [pool.submit(play_until_the_end) for _ in range(jobs)]:
            done.result()
    return row


def table(row):
    """Returns the lines of the table."""
    return ["| " + " | ".join(COUNTED) + " |", "|" + "---|" * len(COUNTED), "| " + " | ".join(f"{row[name]:,}" for name in COUNTED) + " |"]
