"""The JSON Schema that `hpo schema` prints agrees with hpo's reader: ready studies are valid, wrong examples are not."""
import json
import re
import subprocess
import unicodedata
import unittest

import jsonschema
import yaml

from harness import HPO, SOURCE, Case

STUDIES = sorted((SOURCE / "studies").glob("*.yaml"))

SCRIPT = """
study: s
objective: {metric: loss, direction: minimize}
space: {lr: {type: float, low: 0.1, high: 1}}
worker: {command: [python3, train.py, "--lr={lr}"]}
"""
NATIVE = """
study: s
space: {lr: {type: float, low: 0.1, high: 1}}
worker:
  data: {format: synthetic}
  model: {type: mlp}
"""

RIGHT = {
    "a script": SCRIPT,
    "a native study": NATIVE,
    "a study without a worker": "study: s\nspace: {any: {type: int, low: 1, high: 3}}\nobjective: {metric: x, direction: maximize}\n",
    "several objectives": SCRIPT.replace("{metric: loss, direction: minimize}",
                                         "[{metric: loss, direction: minimize, at: last}, {metric: size, direction: minimize}]"),
    "constraints": SCRIPT + "constraints: [{metric: params, max: 1.0e+6}]\n",
    "an end that depends": SCRIPT.replace("high: 1}", "high: 1}, b: {type: float, low: 0, high: lr / 2}"),
    "a condition": SCRIPT.replace("high: 1}", "high: 1}, o: {type: categorical, choices: [1, null, [2, 3]]}, b: {type: float, low: 0, "
                                              "high: 1, when: {o: [1]}}"),
    "where": SCRIPT + "where: [lr < 0.5, lr * 2 > 0.3]\n",
    "durations": SCRIPT + "budget: {trials: 3, time: 1h30m}\nresources: {progress_timeout: 90s, grace: 0.5s}\n",
    "sizes and shares": SCRIPT + "resources: {memory: 8GiB, gpu_reserve: 5%, trial: {memory: 512MiB, cores: 0.5}}\n",
    "a share as a number": SCRIPT + "resources: {gpu_reserve: 0.05, parallel: auto, devices: [0, GPU-8f6c]}\n",
    "rules": SCRIPT + "stopping: [{rule: plateau, patience: 3}, {rule: asha, grace: 1}]\n",
    "no rules": SCRIPT + "stopping: []\nstart: [{lr: 0.2}]\nwarm_start: other\nkeep: {checkpoints: best 3, folders: none}\n",
    "a sampler's options": SCRIPT + "sampler: {type: tpe, gamma: 0.2}\n",
    "an optional argument": SCRIPT.replace('"--lr={lr}"', '[--lr, "{lr}"]'),
    "a script's keys": SCRIPT.rstrip()[:-1] + ", metrics: {stdout: \"x (?<loss>{number})\"}, step: 2, preload: [torch], environment: {A: 1, "
                       "B: null}, params: {deep: true}}\n",
    "a file with a digit first": SCRIPT.rstrip()[:-1] + ", files: {2d.yaml: {text: \"lr: {lr}\"}}}\n",
    "folds": NATIVE.replace("synthetic}", "synthetic, validation: {folds: 5}}"),
    "columns": NATIVE.replace("{format: synthetic}", "{format: csv, path: data.csv, target: [a, b], ignore: c, validation: 0.2}"),
    "widths": NATIVE.replace("type: mlp", "type: mlp, hidden: [64, 32]"),
}

WRONG = {
    "no name": NATIVE.replace("study: s\n", ""),
    "a name with a blank": NATIVE.replace("study: s", "study: my study"),
    "an unknown key": NATIVE + "trials: 3\n",
    "an unknown key in a section": NATIVE + "budget: {trails: 3}\n",
    "an unknown key of the worker": NATIVE.replace("model:", "modle:"),
    "a key in the wrong section": NATIVE.replace("type: mlp", "type: mlp, lr: 0.1"),
    "a number that is too large": NATIVE.replace("type: mlp", "type: mlp, dropout: 2"),
    "a fraction of a whole": NATIVE.replace("type: mlp", "type: mlp, depth: 2.5"),
    "a text for a number": NATIVE.replace("type: mlp", "type: mlp, depth: deep"),
    "an unknown choice": NATIVE.replace("type: mlp", "type: perceptron"),
    "a missing column": NATIVE.replace("{format: synthetic}", "{format: csv, path: data.csv}"),
    "data of no place": NATIVE.replace("format: synthetic", "validation: 0.1"),
    "an unknown parameter of the native worker": NATIVE.replace("{lr:", "{learning_rate:"),
    "data that vary": NATIVE.replace("{lr: {type: float, low: 0.1, high: 1}}", "{samples: {type: int, low: 100, high: 200}}"),
    "a parameter of no type": SCRIPT.replace("type: float, ", ""),
    "a range without an end": SCRIPT.replace(", high: 1}", "}"),
    "a category with a range": SCRIPT.replace("type: float", "type: categorical, choices: [1]"),
    "a number with choices": SCRIPT.replace("high: 1}", "high: 1, choices: [1]}"),
    "a parameter with a digit first": RIGHT["a study without a worker"].replace("any", "9any"),
    "a parameter with a mark first": RIGHT["a study without a worker"].replace("any", '"\\u0301any"'),
    "a file with an umlaut": SCRIPT.rstrip()[:-1] + ", files: {größe.yaml: {text: \"lr: {lr}\"}}}\n",
    "an unknown type": SCRIPT.replace("float", "uniform"),
    "a word that is no flag": SCRIPT.replace("high: 1}", "high: 1, log: often}"),
    "a command that is a text": SCRIPT.replace('[python3, train.py, "--lr={lr}"]', "python3 train.py"),
    "a model for a script": SCRIPT.rstrip()[:-1] + ", model: {type: mlp}}\n",
    "an unknown direction": SCRIPT.replace("minimize", "min"),
    "an unknown sampler": SCRIPT + "sampler: {type: bayes}\n",
    "a sampler that is a word": SCRIPT + "sampler: tpe\n",
    "an option of another sampler": SCRIPT + "sampler: {type: random, gamma: 0.2}\n",
    "an option out of range": SCRIPT + "sampler: {type: tpe, gamma: 0.9}\n",
    "an unknown rule": SCRIPT + "stopping: [{rule: median2}]\n",
    "a rule that is a word": SCRIPT + "stopping: [plateau]\n",
    "an option of another rule": SCRIPT + "stopping: [{rule: divergence, min_delta: 3}]\n",
    "stopping that is a word": SCRIPT + "stopping: asha\n",
    "a duration without a unit": SCRIPT + "budget: {time: 30}\n",
    "a duration of an unknown unit": SCRIPT + "budget: {time: 30min}\n",
    "a size without a unit": SCRIPT + "resources: {memory: 800}\n",
    "no trials": SCRIPT + "budget: {trials: 0}\n",
    "an unknown backend": SCRIPT + "resources: {backend: rocm}\n",
    "a constraint without a bound": SCRIPT + "constraints: [{metric: params}]\n",
    "what to keep of none": SCRIPT + "keep: {checkpoints: best 0}\n",
    "a start that is a map": SCRIPT + "start: {lr: 0.2}\n",
    "a share above all": SCRIPT + "resources: {gpu_reserve: 2}\n",
}


class Schema(Case):
    def setUp(self):
        super().setUp()
        self.schema = json.loads(self.hpo("schema"))
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.validator = jsonschema.Draft7Validator(self.schema)

    def problems(self, text):
        return [error.message for error in self.validator.iter_errors(yaml.safe_load(text))]

    def test_the_committed_schema_is_what_the_program_prints(self):
        self.assertEqual((SOURCE / "studies" / "study.schema.json").read_text(), self.hpo("schema"))

    def test_names_have_the_letters_and_digits_of_all_scripts_and_nothing_unseen(self):
        pattern = re.compile(next(iter(self.schema["properties"]["space"]["patternProperties"])))
        unseen = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810), *range(0xFE00, 0xFE10)}
        # The letters of hpo are those of Unicode 14. A Python of another version is asked about characters of Unicode 3.2 alone.
        known = unicodedata if unicodedata.unidata_version == "14.0.0" else unicodedata.ucd_3_2_0
        for code in range(0x80, 0x10000):
            if known.category(chr(code)) != "Cn":  # no character yet
                category = unicodedata.category(chr(code))
                letter = (category[0] in "LM" or category == "Nd") and code not in unseen
                self.assertEqual(bool(pattern.search("a" + chr(code))), letter, hex(code))
                self.assertEqual(bool(pattern.search(chr(code))), letter and not 0x300 <= code < 0x370, hex(code))
        for character in map(chr, range(0x80)):
            letter = character.isalpha() or character == "_"
            self.assertEqual(bool(pattern.search(character)), letter, character)
            self.assertEqual(bool(pattern.search(f"a{character}b")), letter or character in "0123456789.-", character)
        self.assertFalse(pattern.search("\U0001F600"))

    def test_each_ready_study_is_valid_and_names_the_schema(self):
        self.assertGreater(len(STUDIES), 10)
        for study in STUDIES:
            self.assertEqual(self.problems(study.read_text()), [], study)
            self.assertEqual(study.read_text().splitlines()[0], "# yaml-language-server: $schema=study.schema.json", study)

    def test_right_examples_are_valid_for_both(self):
        (self.folder / "data.csv").write_text("a,b,c,d\n" + "".join(f"{i % 7}.5,{i % 3},x,{i % 5}\n" for i in range(400)))
        (self.folder / "train.py").write_text("print('loss: 1')\n")
        for name, text in RIGHT.items():
            with self.subTest(name):
                self.assertEqual(self.problems(text), [])
                self.study(text, "study.yaml")
                done = subprocess.run([HPO, "check", "study.yaml"], cwd=self.folder, capture_output=True, text=True)
                self.assertNotRegex(done.stderr, r"study\.yaml:\d+:.*error")  # devices and studies that it names are not here

    def test_wrong_examples_are_errors_for_both(self):
        for name, text in WRONG.items():
            with self.subTest(name):
                self.assertNotEqual(self.problems(text), [])
                self.hpo("check", self.study(text), status=1)

    def test_each_key_that_hpo_lists_is_in_the_schema(self):
        text = json.dumps(self.schema)
        for key in json.loads(self.hpo("keys", "--json"))["keys"]:
            self.assertTrue(json.dumps(key["meaning"]) in text, key["key"])

    def test_the_best_configuration_is_a_valid_study(self):
        self.hpo("run", SOURCE / "studies" / "debug.yaml", "--trials", "2", "--set", "budget.epochs=1")
        self.assertEqual(self.problems(self.hpo("best", "debug")), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
