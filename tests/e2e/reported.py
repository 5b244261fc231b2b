"""The oracle of tests of faults: everything that a run has ever reported on standard output is in every viewer."""
import csv
import io
import json


def reported(output):
    """Returns the ends of trials in the output of `hpo run --json`, by number: (state, value). Later ones win."""
    ends = {}
    for line in output.splitlines():
        event = json.loads(line)
        if event["event"] == "finished":
            ends[event["trial"]] = (event["state"], event["value"])
    return ends


def _numbers(text):
    """The first number of each line that begins with one, with the line's words."""
    rows = {}
    for line in text.splitlines():
        words = line.split()
        if words and words[0].isdigit():
            rows[int(words[0])] = words
    return rows


def assert_seen(case, study, ends, direction="minimize", show_each=False):
    """Fails unless every viewer shows these ends. `study` is a study's name."""
    listed = {t["trial"]: (t["state"], t["value"]) for t in json.loads(case.hpo("ls", study, "--json"))["trials"]}
    for trial, end in ends.items():
        case.assertEqual(listed.get(trial), end, f"hpo ls --json, trial {trial}")
    tables = {"ls": _numbers(case.hpo("ls", study)),
              "top": _numbers(case.hpo("top", "--once", study, environment={"LINES": str(2 * len(listed) + 20)}))}
    for viewer, rows in tables.items():
        for trial, (state, _) in ends.items():
            case.assertIn(trial, rows, f"hpo {viewer}")
            case.assertEqual(rows[trial][1], state, f"hpo {viewer}, trial {trial}")
    rows = {int(row["trial"]): row for row in csv.DictReader(io.StringIO(case.hpo("export", study, "--to", "csv", "-")))}
    for trial, (state, value) in ends.items():
        case.assertEqual(rows[trial]["state"], state, f"hpo export, trial {trial}")
        case.assertEqual(float(rows[trial]["value"]) if rows[trial]["value"] else None, value, f"hpo export, trial {trial}")
    studies = {s["study"]: s for s in json.loads(case.hpo("ls", "--json"))["studies"]}
    case.assertGreaterEqual(studies[study]["ended"], len(ends), "hpo ls --json of all studies")
    valued = {trial: value for trial, (state, value) in ends.items() if value is not None and state in ("complete", "stopped")}
    if valued:
        least = (min if direction == "minimize" else max)(valued.values())
        shown = {"best": json.loads(case.hpo("best", study, "--format", "json"))["value"], "ls": studies[study]["best"]["value"]}
        for viewer, value in shown.items():
            case.assertTrue(value <= least if direction == "minimize" else value >= least, f"hpo {viewer} shows {value}, not {least}")
    for trial in ends if show_each else list(ends)[-1:]:
        case.assertEqual(json.loads(case.hpo("show", f"{study}/{trial}", "--json"))["state"], ends[trial][0], "hpo show")
