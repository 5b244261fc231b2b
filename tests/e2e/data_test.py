"""Samples that stay in their files: a trial takes less memory than they are, and its numbers are the same."""
import array
import json

from harness import Case

SAMPLES, FEATURES = 20_000, 800  # 64 MB as float32
STUDY = """\
study: {place}
seed: 1
space:
  lr: {{type: float, low: 1.0e-3, high: 1.0e-2, log: true}}
worker:
  data: {{format: npy, path: arrays, placement: {place}, loader_threads: {threads}}}
  model: {{type: mlp, hidden: [8]}}
  training: {{batch_size: 512}}
budget: {{trials: 1, epochs: 2}}
resources: {{parallel: 1, backend: cpu}}
"""


TABLE_STUDY = """\
study: changing
objective: {metric: val_loss, direction: minimize}
space: {lr: {type: float, low: 1.0e-3, high: 1.0e-2, log: true}}
worker:
  data: {format: csv, path: table.csv, target: y}
  model: {type: mlp, hidden: [8]}
  training: {batch_size: 256}
budget: {trials: 1, epochs: 2}
resources: {parallel: 1, backend: cpu}
"""


class ChangedData(Case):
    def write(self, shift):
        rows = [f"{i % 31},{i % 17},{(i * 7 + shift) % 23 / 10}" for i in range(600)]
        (self.folder / "table.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n")

    def test_a_study_that_goes_on_with_other_data_says_so_and_one_with_the_same_does_not(self):
        self.write(0)
        name = self.study(TABLE_STUDY)
        for trials, shift, warned in ((1, 0, False), (2, 0, False), (4, 5, True), (5, 0, False)):
            self.write(shift)
            self.hpo("run", name, "--trials", str(trials))
            (self.assertIn if warned else self.assertNotIn)("since trial 1, ", self.error, trials)


class Files(Case):
    def setUp(self):
        super().setUp()
        folder = self.folder / "arrays"
        folder.mkdir()
        row = array.array("f", [((i * i) % 61 - 30) / 10 for i in range(2 * FEATURES)])
        with open(folder / "x.npy", "wb") as file:
            file.write(self.header("<f4", f"({SAMPLES}, {FEATURES})"))
            for i in range(SAMPLES):
                file.write(row[i % FEATURES:i % FEATURES + FEATURES].tobytes())
        with open(folder / "y.npy", "wb") as file:
            file.write(self.header("<i8", f"({SAMPLES},)"))
            file.write(array.array("q", [i % FEATURES % 2 for i in range(SAMPLES)]).tobytes())

    @staticmethod
    def header(kind, shape):
        text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text

    def test_are_named_as_the_cure_where_data_exceed_the_memory(self):
        name = self.study(STUDY.format(place="device", threads="auto"))
        self.hpo("check", name, "--set", "resources.memory=80MiB", status=1)
        self.assert_mentions(self.error, "worker.data.placement: files", "stay")
        self.hpo("check", name, "--set", "resources.memory=80MiB", "--set", "worker.data.placement=files")

    def test_hpo_train_keeps_to_the_memory_too(self):
        space = STUDY[STUDY.index("space:"):STUDY.index("worker:")]
        name = self.study(STUDY.replace(space, "").format(place="device", threads="auto"))
        self.hpo("train", name, "--set", "resources.memory=80MiB", status=1)
        self.assert_mentions(self.error, "resources.memory", "limit")
        # A whole batch does not fit.
        self.hpo("train", name, "--set", "resources.memory=120MiB", "--set", "worker.training.batch_size=16000")
        self.assertRegex(self.error, r"each batch is trained in \d+ micro-batches: as it is it needs")

    def test_take_no_memory_and_change_no_number(self):
        trials = {}
        for place, threads in (("files", 2), ("device", "auto")):
            name = self.study(STUDY.format(place=place, threads=threads))
            checked = self.hpo("check", name)
            self.assertEqual("stay in their files" in checked, place == "files", checked)
            self.hpo("run", name, "-q")
            trials[place] = json.loads(self.hpo("show", f"{place}/1", "--json"))
        of_samples = 4 * SAMPLES * FEATURES
        for measure in ("reserved", "peak"):
            took = {place: trial[measure]["host_bytes"] for place, trial in trials.items()}
            self.assertLess(took["files"], took["device"] - of_samples / 2, measure)
        self.assertLess(trials["files"]["peak"]["host_bytes"], of_samples)
        self.assertEqual(trials["files"]["curve"][-1]["metrics"], trials["device"]["curve"][-1]["metrics"])
        self.assert_mentions(self.hpo("logs", "files/1"), "loading: 2 threads", "4 batches", "configured")


if __name__ == "__main__":
    import unittest
    unittest.main()
