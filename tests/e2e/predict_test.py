"""hpo predict: the score of its predictions is the test score of training, for every kind of data, and bad input is refused."""
import contextlib
import csv
import gzip
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess

import numpy

from harness import WORKER, Case, wait_for
from init_test import png
from saved_model_test import FASHION, train


class Predict(Case):
    def test_hpo_train_tells_the_score_of_a_constant_prediction(self):
        self.table(400)
        self.study("""
study: t
worker: {data: {format: csv, path: table.csv, target: y}, model: {type: mlp, hidden: [8]}}
budget: {epochs: 1, trials: 1}
""")
        self.assertRegex(self.hpo("train", "study.yaml"),
                         r"test_accuracy .*\nalways predicting the majority class would score accuracy 0\.\d+\nweights in")

    def test_hpo_train_writes_a_model_card_and_replaces_none(self):
        self.table(400)
        self.study("""
study: t
worker: {data: {format: csv, path: table.csv, target: y}, model: {type: mlp, hidden: [8]}}
budget: {epochs: 1, trials: 1}
""")
        said = self.hpo("train", "study.yaml", "--card", "card.md")
        card = (self.folder / "card.md").read_text()
        accuracy = re.search(r"test_accuracy ([0-9.]+)", said).group(1)
        constant = re.search(r"would score accuracy ([0-9.]+)", said).group(1)
        self.assertIn(f"| test_accuracy | {accuracy} | {constant} |", card)
        self.assertIn("hpo predict model.safetensors DATA", card)
        self.assertIn("model: {type: mlp, hidden: [8]}", card)
        self.hpo("train", "study.yaml", "-o", "other.safetensors", "--card", "card.md", status=1)
        self.assertIn("--card card.md: ", self.error)
        self.assertFalse((self.folder / "other.safetensors").exists(), "nothing was trained for nothing")
        self.hpo("train", "study.yaml", "-o", "other.safetensors", "--card", "card.md", "--force")
        self.assertEqual(len(list(self.folder.glob("card.md.old-*"))), 1)

    def test_hpo_train_refuses_one_file_for_weights_and_card(self):
        self.table(400)
        self.study("""
study: t
worker: {data: {format: csv, path: table.csv, target: y, validation: {folds: 5}}, model: {type: mlp, hidden: [8]}}
budget: {epochs: 1, trials: 1}
""")
        (self.folder / "there").symlink_to(".")
        for card in ("./m.st", "there/m.st", str(self.folder / "m.st")):
            for force in ([], ["--force"]):
                self.hpo("train", "study.yaml", "-o", "m.st", "--card", card, *force, status=2)
                self.assert_mentions(self.error, "-o", "--card", "both", f"{card}: ")
        self.assertFalse((self.folder / "m.st").exists(), "nothing was trained")
        self.hpo("train", "study.yaml", "-o", "m.st", "--card", "card.md")
        card = (self.folder / "card.md").read_text()
        self.assertNotIn("folds", card)
        self.assertIn("validation: 0.2}", card)
        scores = card.split("## Scores")[1]
        self.assertNotIn("val_", scores[:scores.index("| on the validation part |")])
        self.assertNotIn("test_", scores[scores.index("| on the validation part |"):])

    def trained(self, steps=4, metric="val_accuracy", **params):
        """Trains a model and returns its test score."""
        self.model = self.folder / "model.safetensors"
        finished = train(({} if "type" in params else {"hidden": [24]}) | {"lr": 0.01, "batch_size": 32} | params, steps, self.model, metric)
        self.assertEqual(finished["outcome"], "complete", finished)
        self.values = finished["values"]
        return {name.removeprefix("test_"): value for name, value in finished["values"].items() if name.startswith("test_")}

    def predict(self, data, *more):
        """Predicts and returns the rows."""
        text = self.hpo("predict", self.model, data, *more)
        return list(csv.DictReader(text.splitlines()))

    def score(self, data):
        out = self.folder / "predictions.csv"
        return json.loads(self.hpo("predict", self.model, data, "-o", out, "--force", "--json"))

    def assert_scores(self, score, expected, *names):
        for name in names:
            self.assertAlmostEqual(score["score"][name], expected[name], delta=1e-3 * max(1, abs(expected[name])), msg=name)

    def table(self, rows, name="table.csv", head="a,b,kind,y", first=0):
        lines = [head]
        for i in range(first, first + rows):
            drawn = random.Random(i)
            a, b, kind = drawn.uniform(0, 9), drawn.uniform(-5, 5), drawn.choice(["up", "down", "left, or right"])
            fields = {"a": f"{a:.3f}", "b": "NA" if i % 17 == 3 else f"{b:.3f}", "kind": f'"{kind}"', "unused": "x",
                      "y": "yes" if a + (4 if kind == "up" else 0) > 6 else 'no "at all"',
                      "z": f"{100 + 10 * a - b * b:.3f}", "w": f"{b / 100:.5f}",
                      "low": str(int(a < 4)), "high": str(int(a + b > 7))}
            fields["y"] = '"' + fields["y"].replace('"', '""') + '"'
            lines.append(",".join(fields[column] for column in head.split(",")))
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n")
        return path

    def test_classes_of_a_table(self):
        expected = self.trained(format="csv", path=str(self.table(1000)), target="y", split="time", test=0.2)
        held_out = self.table(200, "new.csv", "unused,kind,y,b,a", first=800)  # columns in another order, and one more
        score = self.score(held_out)
        self.assertEqual((score["rows"], score["scored"], score["warnings"]), (200, 200, []))
        self.assert_scores(score, expected, "accuracy", "loss")
        self.assertGreater(expected["accuracy"], 0.85)
        answers = [row["y"] for row in csv.DictReader(held_out.read_text().splitlines())]
        commonest = max(set(answers), key=answers.count)
        self.assertAlmostEqual(self.values["baseline_accuracy"], answers.count(commonest) / 200)
        rows = self.predict(self.table(3, "unknown.csv", "a,b,kind", first=3))
        self.assertEqual(["row", "prediction", "probability", 'p(no "at all")', "p(yes)"], list(rows[0]))
        self.assertEqual(["1", "2", "3"], [row["row"] for row in rows])
        for row in rows:
            self.assertAlmostEqual(float(row["p(yes)"]) + float(row['p(no "at all")']), 1, places=5)
            self.assertEqual(row["probability"], row[f"p({row['prediction']})"])
        self.assertNotIn("target", self.error)

    def test_the_programs_of_the_manual_predict_alike(self):
        self.table(50, "new.csv", "a,b,kind", first=3000)
        manual = (pathlib.Path(__file__).parents[2] / "docs" / "predict.md").read_text()
        perceptron, trees = re.findall(r"```python\n(.*?)```", manual, re.DOTALL)
        for program, params in ((perceptron, {}), (perceptron[:perceptron.index("layers =")] + trees, {"type": "trees"})):
            self.trained(format="csv", path=str(self.table(1000)), target="y", **params)
            printed = subprocess.run(["/usr/bin/python3", "-c", program], cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(printed.stderr, "")
            self.assertEqual(printed.stdout.splitlines(), [row["prediction"] for row in self.predict("new.csv")])
            self.assertEqual(2, len(set(printed.stdout.splitlines())))

    def test_boosted_trees_of_a_table(self):
        for metric, targets, names in (("val_loss", "y", ("accuracy", "loss")), ("val_r2", "z,w", ("mse", "mae", "r2")),
                                       ("val_loss", "low,high", ("accuracy", "loss"))):
            head = f"a,b,kind,{targets}"
            expected = self.trained(metric=metric, type="trees", format="csv", path=str(self.table(1000, head=head)),
                                    target=targets, split="time", test=0.2)
            self.assert_scores(self.score(self.table(200, "new.csv", head, first=800)), expected, *names)
            if metric == "val_loss":
                self.assertGreater(expected["accuracy"], self.values["baseline_accuracy"])

    def test_a_search_over_trees_and_networks_trains_its_best(self):
        self.table(600)
        self.study("""
study: both
objective: {metric: val_loss, direction: minimize}
space:
  type: {type: categorical, choices: [trees, mlp]}
  eta: {type: float, low: 0.05, high: 0.3, log: true, when: {type: [trees]}}
  lr: {type: float, low: 1.0e-3, high: 1.0e-2, log: true, when: {type: [mlp]}}
worker:
  data: {format: csv, path: table.csv, target: y}
  model: {hidden: [8]}
start: [{type: trees, eta: 0.2}, {type: mlp, lr: 0.005}]
budget: {epochs: 3, trials: 6}
""")
        checked = self.hpo("check", "study.yaml")
        self.assertRegex(checked, r"trial +\d+ parameters\n +30 rounds of boosted trees\n")
        self.hpo("run", "study.yaml")
        trials = self.trials("both")
        self.assertEqual({trial["params"]["type"] for trial in trials}, {"trees", "mlp"})
        for trial in trials:
            self.assertEqual(set(trial["params"]), {"type", "eta" if trial["params"]["type"] == "trees" else "lr"})
        self.assertEqual(min(trials, key=lambda trial: trial["value"])["params"]["type"], "trees")
        trained = json.loads(self.hpo("best", "both", "--format", "json"))["worker"]
        self.assertIn("max_depth", trained)
        self.assertEqual({"lr", "optimizer", "beta1", "ghost_batch", "hidden"} & set(trained), set(), "keys of networks")
        (self.folder / "best.yaml").write_text(self.hpo("best", "both"))
        self.hpo("train", "best.yaml", "-o", "model.safetensors")
        self.assertIn("accuracy", self.hpo("predict", "model.safetensors", "table.csv", "-o", "p.csv", "--json"))

    def test_numbers_of_a_table(self):
        expected = self.trained(metric="val_r2", format="csv", path=str(self.table(1000, head="a,b,kind,z")), target="z",
                                split="time", test=0.2)
        held_out = self.table(200, "new.csv", "a,b,kind,z", first=800)
        self.assert_scores(self.score(held_out), expected, "mse", "mae", "r2")
        self.assertAlmostEqual(1 - expected["mse"] / self.values["baseline_mse"], expected["r2"], delta=0.02)
        self.hpo("predict", self.model, held_out, "-o", "p.csv")
        self.assert_mentions(self.error, "200", "p.csv; mae", "mse", "r2 0.", "on")

    def test_several_targets_in_their_own_units(self):
        expected = self.trained(metric="val_r2", format="csv", path=str(self.table(1000, head="a,b,kind,z,w")), target="z,w",
                                split="time", test=0.2)
        self.assert_scores(self.score(self.table(200, "new.csv", "a,b,kind,z,w", first=800)), expected, "mse", "mae", "r2")
        rows = self.predict(self.table(50, "new.csv", "a,b,kind", first=2000))
        self.assertEqual(["row", "z", "w"], list(rows[0]))
        self.assertGreater(min(float(row["z"]) for row in rows), 50)
        self.assertLess(max(abs(float(row["w"])) for row in rows), 1)

    def test_labels_of_a_table(self):
        expected = self.trained(metric="val_loss", format="csv", path=str(self.table(1000, head="a,b,kind,low,high")),
                                target="low,high", split="time", test=0.2)
        self.assert_scores(self.score(self.table(200, "new.csv", "a,b,kind,low,high", first=800)), expected, "accuracy", "loss")
        plain = (self.folder / "new.csv").read_text()
        as_words = re.sub(r",([01]),([01])$", lambda match: f",{bool(int(match[1]))},{match[2]}", plain, flags=re.MULTILINE)
        (self.folder / "words.csv").write_text(as_words)
        self.assertIn("True", as_words)
        self.assertEqual(self.score(self.folder / "words.csv"), self.score(self.folder / "new.csv"))
        (self.folder / "two.csv").write_text(re.sub(r",1$", ",2", plain, count=1, flags=re.MULTILINE))
        self.assertEqual(199, self.score(self.folder / "two.csv")["scored"])
        self.hpo("predict", self.model, self.folder / "two.csv")
        self.assert_mentions(self.error, "1 target", "no label", "0 or 1", '"2": ', "not scored")
        rows = self.predict(self.table(9, "new.csv", "a,b,kind", first=900))
        self.assertEqual(["row", "low", "p(low)", "high", "p(high)"], list(rows[0]))
        self.assertTrue(all((row["low"] == "1") == (float(row["p(low)"]) > 0.5) for row in rows))

    def test_arrays(self):
        drawn = numpy.random.default_rng(1)
        x = drawn.normal(3, 2, (800, 6))
        y = (x[:, 0] > x[:, 1]).astype(int) + 5  # classes 5 and 6
        numpy.savez(self.folder / "data.npz", x_train=x, y_train=y, x_test=x[:100], y_test=y[:100])
        expected = self.trained(format="npy", path=str(self.folder / "data.npz"))
        self.assert_scores(self.score(self.folder / "data.npz"), expected, "accuracy", "loss")
        rows = self.predict(self.folder / "data.npz")
        self.assertAlmostEqual(numpy.mean([row["prediction"] == str(label) for row, label in zip(rows, y)]),
                               expected["accuracy"], delta=0.011)
        labels = y[:100].astype(float)
        labels[7] = numpy.nan
        numpy.savez(self.folder / "gap.npz", features=x[:100], targets=labels)
        self.assertEqual(99, self.score(self.folder / "gap.npz")["scored"])
        numpy.savez(self.folder / "untested.npz", x_train=x, y_train=y, x_test=x[:9])
        self.assertEqual(9, self.score(self.folder / "untested.npz")["rows"])
        numpy.save(self.folder / "new.npy", x[:100].astype("float32"))
        alike = self.predict(self.folder / "new.npy")
        self.assertEqual([row["prediction"] for row in rows], [row["prediction"] for row in alike])

    def test_a_folder_of_images(self):
        for level, name in ((30, "dark"), (200, "light")):
            for i in range(30):
                for part in ("train", "test"):
                    folder = self.folder / "images" / part / name
                    folder.mkdir(parents=True, exist_ok=True)
                    (folder / f"{i}.png").write_bytes(png(level + (7 * i) % 50))
        expected = self.trained(format="images", path=str(self.folder / "images"), type="cnn", channels=4, stages=1, groups=2,
                                steps=3, batch_size=8)
        self.assert_scores(self.score(self.folder / "images" / "test"), expected, "accuracy", "loss")
        rows = self.predict(self.folder / "images" / "test")
        self.assertEqual("dark/0.png", rows[0]["file"])
        (one,) = self.predict(self.folder / "images" / "test" / "light" / "3.png")
        self.assertEqual("light", one["prediction"])
        (self.folder / "large.png").write_bytes(png(30, 9))
        self.hpo("predict", self.model, "large.png", status=1)
        self.assert_mentions(self.error, "hpo: large.png: ", "9 x 9, ", "8 x 8")

    def test_an_idx_file(self):
        expected = self.trained(format="idx", path="fashion-mnist", subset=3000, batch_size=128, steps=1)
        rows = self.predict(FASHION / "t10k-images-idx3-ubyte.gz")
        labels = gzip.open(FASHION / "t10k-labels-idx1-ubyte.gz").read()[8:]
        accuracy = sum(row["prediction"] == str(label) for row, label in zip(rows, labels)) / len(labels)
        self.assertAlmostEqual(accuracy, expected["accuracy"], delta=5e-4)

    def test_forecasts_of_a_series(self):
        values = [f"{40 + 9 * math.sin(i / 5):.4f},{i % 7}" for i in range(700)]
        (self.folder / "series.csv").write_text("y,day\n" + "\n".join(values) + "\n")
        expected = self.trained(metric="val_r2", format="series", path=str(self.folder / "series.csv"), target="y", window=10,
                                horizon=2, type="gru", width=16, depth=1, steps=6)
        tested = round((700 - 12 + 1 - 2 * 11) * 0.1)  # between two parts, 11 windows are left out
        (self.folder / "last.csv").write_text("day,y\n" + "\n".join(",".join(reversed(line.split(",")))
                                                                   for line in values[-tested - 11:]) + "\n")
        rows = self.predict(self.folder / "last.csv")
        self.assertEqual(["after_row", "y+1", "y+2"], list(rows[0]))
        self.assertEqual(len(rows), tested + 2)  # the last two forecast rows that are not there yet
        wanted = [float(line.split(",")[0]) for line in values[-tested - 11:]]
        squares = [(float(row[f"y+{ahead}"]) - wanted[int(row["after_row"]) - 1 + ahead]) ** 2
                   for row in rows[:tested] for ahead in (1, 2)]
        self.assertAlmostEqual(sum(squares) / len(squares) / expected["mse"], 1, delta=5e-3)

    def test_the_next_byte_of_a_text(self):
        (self.folder / "text.txt").write_text("the cat sat on the mat and " * 80)  # 27 bytes: at every place of a window
        self.trained(format="text", path=str(self.folder / "text.txt"), window=16, type="transformer", width=16, heads=2,
                     depth=1, lr=0.01, batch_size=16, steps=30)
        (self.folder / "new.txt").write_text("the cat sat on the mat an")
        rows = self.predict(self.folder / "new.txt")
        self.assertEqual([str(i) for i in range(1, 26)], [row["position"] for row in rows])
        self.assert_mentions(self.error, "24", "whose")
        right = sum(row["prediction"] == after for row, after in zip(rows, "he cat sat on the mat an"))
        self.assertGreater(right, 18)
        (self.folder / "new.txt").write_text("the cät sat on the mat")
        self.hpo("predict", self.model, "new.txt", status=1)
        self.assert_mentions(self.error, "new.txt: position 6: ", "byte", "not have: 195")

    def test_values_that_training_did_not_have(self):
        self.trained(format="csv", path=str(self.table(300)), target="y")
        new = self.folder / "new.csv"
        new.write_text("a,b,kind\nNA,1,up\n2,,sideways\n")
        self.predict(new)
        self.assert_mentions(self.error, "a: 1 missing", "training", "none")
        new.write_text("a,b,kind\n1,1,up\nmuch,1,up\n")
        self.assertEqual("", self.hpo("predict", self.model, new, status=1))
        self.assertIn('new.csv: line 3, column a: "much" is no number', self.error)
        new.write_text("a,kind\n1,up\n")
        self.hpo("predict", self.model, new, "-o", "p.csv", status=1)
        self.assert_mentions(self.error, "new.csv: ", "lacks", ": b")
        self.assertFalse((self.folder / "p.csv").exists())
        (self.folder / "p.csv").write_text("mine")
        new.write_text("a,b,kind\n1,1,up\n")
        self.hpo("predict", self.model, new, "-o", "p.csv", status=1)
        self.assertEqual("mine", (self.folder / "p.csv").read_text())

    def test_targets_that_are_no_class_are_told(self):
        lines = ["a,y"] + [f"{i % 10},{int(i % 10 > 4) + 1}" for i in range(300)]
        (self.folder / "t.csv").write_text("\n".join(lines) + "\n")
        self.trained(format="csv", path=str(self.folder / "t.csv"), target="y", steps=8)
        (self.folder / "new.csv").write_text("a,y\n1,1.0\n2,1\n9,2.0\n9,\n9,3\n9,up\n")
        score = self.score(self.folder / "new.csv")
        self.assertEqual((6, 3, 1.0), (score["rows"], score["scored"], score["score"]["accuracy"]))
        self.assertEqual(['2 targets are no class of the model, such as "3": their rows are not scored'], score["warnings"])

    def test_an_interrupted_prediction_leaves_nothing(self):
        self.trained(format="csv", path=str(self.table(300)), target="y", steps=1)
        (self.folder / "big.csv").write_text("a,b,kind\n" + "1,1,up\n" * 3_000_000)

        def workers():
            running = []
            for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):  # it has ended
                    words = path.read_bytes().split(b"\0")
                    running += [path] if b"--predict" in words and str(self.model).encode() in words else []
            return running

        process = self.start("predict", self.model, "big.csv", "-o", "p.csv")
        wait_for(workers)
        process.kill()
        process.wait()
        wait_for(lambda: not workers())
        self.assertEqual({"big.csv", "model.safetensors", "table.csv"}, {path.name for path in self.folder.iterdir()})

    def test_a_worker_whose_hpo_has_ended_predicts_for_nobody(self):
        self.trained(format="csv", path=str(self.table(300)), target="y", steps=1)
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as pipe:
            done = subprocess.run([WORKER, "--predict", self.model, "--data", self.table(9, "new.csv"),
                                   "--output", self.folder / "p.csv"], stdout=pipe, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertFalse((self.folder / "p.csv").exists())

    def test_files_that_are_no_model(self):
        self.trained(format="csv", path=str(self.table(300)), target="y", steps=1)
        whole, data = self.model.read_bytes(), self.table(2, "new.csv")
        (length,) = struct.unpack("<Q", whole[:8])
        header = json.loads(whole[8:8 + length])

        def refused(content, reason):
            (self.folder / "broken").write_bytes(content)
            self.assertEqual("", self.hpo("predict", "broken", data, status=1))
            self.assertIn("hpo: broken: " + reason, self.error)

        def changed(**entries):
            text = json.dumps(header | {"__metadata__": header["__metadata__"] | entries}).encode()
            return struct.pack("<Q", len(text)) + text + whole[8 + length:]

        refused(b"", "no safetensors file: shorter than 8 bytes")
        refused(whole[:length - 3], "no safetensors file, or truncated")
        refused(whole[:-4], "tensor input.deviation: outside of the file, which may be truncated")
        refused(changed(format="pt"), "no model that hpo train has written")
        refused(changed(input="{}"), "input: ")
        refused(changed(task="ranking"), "the task ranking is unknown")
        refused(changed(classes="3"), "encoding: another number of classes")
        refused(changed(configuration='{"type": "mlp", "hidden": [25]}'), "the tensor layers.0.weight has another shape")
        del header["__metadata__"]["input"]
        refused(changed(), "from an earlier version of hpo")


if __name__ == "__main__":
    import unittest
    unittest.main(verbosity=2)
