"""Judges one attack on hpo by its effects, as they were seen from outside. Pure: no process, file or clock."""
import dataclasses
from typing import Dict, List, Optional, Tuple

End = Tuple[str, Optional[float]]  # a trial's state and value

SURVIVED = "survived"
REASON = "ended with a reason"
WAITED = "waited with a reason"
HELD = (SURVIVED, REASON, WAITED)

LOST = "lost"  # a reported end is not shown by a viewer, or changed afterwards
REPEATED = "repeated"  # a trial whose end was reported was trained again
WRONG = "wrong value"
GAP = "a gap in a curve"
CHARGED = "charged"  # a trial failed, although only hpo was attacked
CRASHED = "crashed"
SILENT = "no reason"
HUNG = "hung"
LEFT = "left a process"
STUCK = "does not resume"
BROKEN = (LOST, REPEATED, WRONG, GAP, CRASHED, HUNG, LEFT, STUCK, CHARGED, SILENT)


@dataclasses.dataclass
class Seen:
    """The observations of one attacked run and of the run that resumes it."""
    exit: Optional[int] = None  # of the attacked run; None: it did not end by itself
    output: str = ""  # standard output and standard error of the attacked run
    waits: str = ""  # its answer to SIGQUIT, if it did not end
    left: List[int] = dataclasses.field(default_factory=list)  # processes after its end
    lost: str = ""  # the viewer's disagreement with a reported end
    reported: Dict[int, End] = dataclasses.field(default_factory=dict)  # the ends reported by the attacked run
    trained_after: List[int] = dataclasses.field(default_factory=list)  # trials trained after their end was reported
    resumed: Optional[int] = 0  # exit status of the run that resumes; None: it did not end
    gaps: List[int] = dataclasses.field(default_factory=list)  # complete trials of whose curves steps are missing
    final: Dict[int, End] = dataclasses.field(default_factory=dict)  # the ends in the list of trials, at last
    expected: Dict[int, float] = dataclasses.field(default_factory=dict)  # the value of each trial that was trained
    trials: int = 0  # the budget
    lasting: bool = False  # the attack went on until the run's end: trials may fail of it


def verdict(seen: Seen) -> Tuple[str, str]:
    """Returns the verdict, one of HELD or BROKEN, and the detail that explains it."""
    if seen.lost:
        return LOST, seen.lost
    for trial, end in seen.reported.items():
        if seen.final and seen.final.get(trial) != end:
            return LOST, f"trial {trial} was reported as {end} and is {seen.final.get(trial)} at last"
    if seen.trained_after:
        return REPEATED, f"trials {seen.trained_after}"
    for trial, (state, value) in {**seen.reported, **seen.final}.items():
        if state == "complete" and trial in seen.expected and value != seen.expected[trial]:
            return WRONG, f"trial {trial} has {value}, not {seen.expected[trial]}"
    if seen.gaps:
        return GAP, f"trials {seen.gaps}"
    if seen.exit is not None and (seen.exit < 0 or seen.exit >= 128) or "terminate called" in seen.output:
        return CRASHED, f"exit status {seen.exit}: {last_line(seen.output)}"
    if seen.exit is None and not seen.waits.strip():
        return HUNG, last_line(seen.output)
    if seen.left:
        return LEFT, f"processes {seen.left}"
    if seen.resumed != 0:
        return STUCK, f"the next run: exit status {seen.resumed}"
    if len(seen.final) < seen.trials:
        return STUCK, f"{len(seen.final)} of {seen.trials} trials after the next run"
    failed = [trial for trial, (state, _) in seen.final.items() if state != "complete"]
    if failed and not seen.lasting:
        return CHARGED, f"trials {failed} are {seen.final[failed[0]][0]}"
    if seen.exit is None:
        return WAITED, last_line(seen.waits)
    if seen.exit == 0:
        return SURVIVED, ""
    if not seen.output.strip():
        return SILENT, f"exit status {seen.exit} without a word"
    return REASON, last_line(seen.output)


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("{")]
    return lines[-1][:160] if lines else ""
