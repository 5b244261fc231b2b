"""hpo init: a first study for data or a script, which hpo check accepts and hpo run searches."""
import random
import struct
import zipfile
import zlib

from harness import Case


def png(level, size=8):
    """Returns a grey image of one level."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    rows = b"".join(b"\0" + bytes([level]) * size for _ in range(size))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def npy(kind, shape, values):
    """Returns the bytes of an NPY file."""
    head = str({"descr": f"<{kind}4", "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}{kind}", *values)


SCRIPT = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--batch-size", type=int, default=32)
parser.add_argument("--epochs", type=int, default=3)
arguments = parser.parse_args()
for epoch in range(arguments.epochs):
    print(f"epoch {epoch} val_loss: {(arguments.lr - 0.2) ** 2 + 1 / (epoch + 1)}", flush=True)
"""


class Init(Case):
    def table(self, name="people.csv", rows=400, head="id,joined,ended,age,city,refund,left"):
        drawn = random.Random(1)
        lines = [head]
        for i in range(rows):
            age, city = drawn.randint(18, 90), drawn.choice(["Ulm", "Bern", "Graz"])
            left = "yes" if age + 20 * (city == "Ulm") + drawn.gauss(0, 10) > 60 else "no"
            refund = int(left == "yes" and drawn.random() < 0.99)
            lines.append(f"{i},2024-{i % 12 + 1:02d}-03,03.04.2023,{age if i % 50 else ''},{city},{refund},{left}")
        (self.folder / name).write_text("\n".join(lines) + "\n")

    def test_a_table_becomes_a_study_that_beats_the_majority_class(self):
        self.table()
        found = self.hpo("init", "people.csv")
        self.assertIn("people.csv: 400 rows, 7 columns", found)
        self.assert_mentions(found, "target", "left (a guess; --target", "2 classes")
        self.assertIn("numbers   age (8 missing), refund", found)
        self.assert_mentions(found, "out  id (", "joined (dates), ended (dates)")
        self.assertIn("wrote study.yaml, which hpo check accepts", found)
        self.assert_mentions(self.error, "refund", "alone", "two", "ROC")
        self.assertRegex(self.error, r"ROC .*\b0\.99")
        self.assert_mentions(self.error, "dates", "out (joined, ended)")
        text = (self.folder / "study.yaml").read_text()
        self.assert_mentions(text, "# warning: refund", "alone")
        self.hpo("run", "study.yaml", "--trials", "2", "--set", "budget.epochs=15", "--set", "worker.data.ignore=[id, joined, ended]")
        best = max(trial["value"] for trial in self.trials("people") if trial["value"] is not None)
        self.assertGreater(best, 0.9)

    def test_of_a_script_in_another_language_it_says_how_its_study_is_written(self):
        (self.folder / "x.sh").write_text("echo loss=$1\n")
        for more in ((), ("--format", "script")):
            self.hpo("init", "x.sh", *more, status=1)
            self.assert_mentions(self.error, "x.sh", "Python", 'worker: {command: [sh, x.sh, "--lr={lr}"]}')
            self.assertFalse((self.folder / "study.yaml").exists())

    def test_an_existing_file_is_kept(self):
        self.table()
        (self.folder / "study.yaml").write_text("mine")
        self.hpo("init", "people.csv", status=1)
        self.assert_mentions(self.error, "study.yaml: ", "exists")
        self.assertEqual((self.folder / "study.yaml").read_text(), "mine")
        self.hpo("init", "people.csv", "--force")
        self.assert_mentions(self.error, "earlier", "moved")
        self.assertIn("mine", [path.read_text() for path in self.folder.iterdir()])

    def test_another_target_makes_a_regression(self):
        self.table()
        self.hpo("init", "people.csv", "--target", "age", status=1)
        self.assert_mentions(self.error, "target", "age", "missing", "8 rows")
        (self.folder / "b.csv").write_text("a,b\n" + "".join(f"{i % 37 / 7},{i % 61 / 3}\n" for i in range(300)))
        self.assertIn("target    a: numbers", self.hpo("init", "b.csv", "--target", "a", "-o", "b.yaml"))
        self.hpo("init", "b.csv", "--target", "c", "-o", "c.yaml", status=1)
        self.assert_mentions(self.error, "no column", '"c"; ', "a, b")
        self.assertFalse((self.folder / "c.yaml").exists())

    def test_several_targets_are_predicted_together(self):
        drawn = random.Random(1)
        rows = [(drawn.uniform(-1, 1), drawn.uniform(-1, 1)) for _ in range(400)]
        (self.folder / "two.csv").write_text("a,b,spam,toxic,high,wide\n" + "".join(
            f"{a:.4f},{b:.4f},{int(a > 0)},{int(b > 0.3)},{a + b:.4f},{a - b:.4f}\n" for a, b in rows))
        for targets, task, found, ignored, metric, good in (
                ("spam,toxic", "multi-label", "targets   2 labels: spam ", "high, wide", "val_accuracy", 0.9),
                ("high, wide", "regression", "targets   high, wide: numbers", "spam, toxic", "val_r2", 0.8)):
            with self.subTest(targets):
                self.assertIn(found, self.hpo("init", "two.csv", "--target", targets, "-o", f"{task}.yaml"))
                self.assertIn(f"task: {task}\n", (self.folder / f"{task}.yaml").read_text())
                self.hpo("run", f"{task}.yaml", "--trials", "2", "--fresh", "--set", f"study={task}", "--set", "budget.epochs=15",
                         "--set", f"worker.data.ignore=[{ignored}]")
                self.assertGreater(max(trial["values"][metric] for trial in self.trials(task)), good)
        self.hpo("init", "two.csv", "--target", "high,deep", "-o", "x.yaml", status=1)
        self.assertIn('has no column "deep"', self.error)
        self.hpo("init", "two.csv", "--target", "high,high", "-o", "x.yaml", status=1)
        self.assert_mentions(self.error, '--target: "high"', "twice")

    def test_an_array_and_the_file_of_its_targets(self):
        (self.folder / "x.npy").write_bytes(npy("f", (90, 2), [i % 7 / 7 for i in range(180)]))
        (self.folder / "y.npy").write_bytes(npy("i", (90,), [i % 3 for i in range(90)]))
        self.hpo("init", "x.npy", status=1)
        self.assert_mentions(self.error, "NPY", "targets; --target")
        self.hpo("init", "x.npy", "--target", "z.npy", status=1)
        self.assertIn("--target: no file z.npy", self.error)
        (self.folder / "link.npy").symlink_to("x.npy")
        for same in ("x.npy", "./x.npy", "link.npy"):
            self.hpo("init", "x.npy", "--target", same, status=1)
            self.assert_mentions(self.error, f"--target: {same}", "features", "predicted")
        self.assertFalse((self.folder / "study.yaml").exists())
        self.assertIn("target    3 classes", self.hpo("init", "x.npy", "--target", "y.npy"))
        self.assertIn("labels: y.npy", (self.folder / "study.yaml").read_text())

    def test_an_archive_and_its_array_of_targets(self):
        with zipfile.ZipFile(self.folder / "a.npz", "w") as archive:
            archive.writestr("x.npy", npy("f", (90, 2), [i % 7 / 7 for i in range(180)]))
            archive.writestr("y.npy", npy("i", (90,), [i % 3 for i in range(90)]))
            archive.writestr("z.npy", npy("f", (90,), [i % 7 for i in range(90)]))
        with zipfile.ZipFile(self.folder / "b.npz", "w") as archive:
            archive.writestr("rain.npy", npy("f", (90, 2), [i % 7 / 7 for i in range(180)]))
            archive.writestr("flood.npy", npy("f", (90,), [i % 7 for i in range(90)]))
        self.assertIn("target    3 classes", self.hpo("init", "a.npz", "--target", "y"))
        self.assertNotIn("labels", (self.folder / "study.yaml").read_text())
        self.hpo("init", "b.npz", "-o", "no.yaml", status=1)
        self.assert_mentions(self.error, "b.npz", "features", "targets? --target")
        self.assertIn("target    1 number", self.hpo("init", "b.npz", "--target", "flood", "--force"))
        self.assertIn("inputs: rain, labels: flood", (self.folder / "study.yaml").read_text())
        self.hpo("run", "study.yaml", "--trials", "1", "--set", "budget.epochs=1")
        for target, problem in (("w", 'a.npz has no array "w"; it has x, y, z'), ("z", "which array of a.npz has the features of")):
            self.hpo("init", "a.npz", "--target", target, "-o", "no.yaml", status=1)
            self.assertIn("--target: " + problem, self.error)
            self.assertFalse((self.folder / "no.yaml").exists())

    def test_names_beyond_ascii_become_parameters(self):
        (self.folder / "train.py").write_text(SCRIPT.replace("--batch-size\", type=int", "--größe-lr\", type=float").replace("arguments.lr", "arguments.größe_lr / 100"))
        self.hpo("init", "train.py")
        self.hpo("run", "study.yaml", "--trials", "3", "--set", 'where=["größe_lr > 9", "lr ** 2 <= größe_lr"]')
        best = self.trials("train")[0]
        self.assertEqual({"lr", "größe_lr"}, set(best["params"]))
        self.assertAlmostEqual(best["value"], (best["params"]["größe_lr"] / 100 - 0.2) ** 2 + 1 / 3, 6)

    def test_broken_tables_are_refused_in_words_and_write_nothing(self):
        for content, problem in ((b"", "is empty"), (b"a\n1\n2\n1\n", "no column but the target is left"),
                                 (b"a,b\n1,2\n", "has 1 row: at least 3 are needed"), (b"a,b\n1,\0\n2,3\n", "a zero byte"),
                                 (b"a;b\n1;2\n3;4\n", "separated by commas"), (b"a,b\n1,2\n3\n", "line 3"),
                                 (b"\xff\xfea\0,\0b\0\n\0", "zero byte"), (b"a,b\n", "has 0 rows: at least 3 are needed"),
                                 (b"a,b\n1,2\n2,2\n3,2\n", "the target b is the same in all rows")):
            (self.folder / "bad.csv").write_bytes(content)
            self.hpo("init", "bad.csv", status=1)
            self.assertIn(problem, self.error)
            self.assertFalse((self.folder / "study.yaml").exists())

    def test_a_folder_of_images_gets_a_convolution_network(self):
        for kind in range(2):
            (self.folder / "photos" / f"kind{kind}").mkdir(parents=True)
            for i in range(40):
                (self.folder / "photos" / f"kind{kind}" / f"{i}.png").write_bytes(png(60 + 100 * kind + i))
        found = self.hpo("init", "photos/")
        self.assert_mentions(found, "8 x 8")
        self.assertIn("type: cnn", (self.folder / "study.yaml").read_text())

    def test_a_target_of_data_that_names_its_own_is_refused(self):
        (self.folder / "book.txt").write_text("All happy families are alike. " * 200)
        (self.folder / "train.py").write_text(SCRIPT)
        for data, kind in (("book.txt", "text"), ("train.py", "script")):
            self.hpo("init", data, "--target", "x", status=1)
            self.assert_mentions(self.error, "--target", "tables", "NumPy", "not for", kind)
            self.assertFalse((self.folder / "study.yaml").exists())

    def test_a_series_and_a_text_have_windows(self):
        (self.folder / "load.csv").write_text("when,load\n" + "".join(f"2024-01-{i % 28 + 1:02d},{i % 24 + i % 7 / 10}\n" for i in range(600)))
        self.hpo("init", "load.csv", "--format", "series", "-o", "series.yaml")
        self.assertIn("window: 15", (self.folder / "series.yaml").read_text())
        (self.folder / "book.txt").write_text("All happy families are alike. " * 200)
        self.hpo("init", "book.txt", "-o", "book.yaml")
        self.assertIn("type: transformer", (self.folder / "book.yaml").read_text())

    def test_a_scripts_flags_become_the_space(self):
        (self.folder / "train.py").write_text(SCRIPT)
        self.hpo("init", "train.py")
        self.hpo("run", "study.yaml", "--trials", "3")
        self.assertEqual({"lr", "batch_size"}, set(self.trials("train")[0]["params"]))

    def test_data_in_place_of_a_study_are_named_with_the_cure(self):
        self.table()
        for command in ("run", "check"):
            self.hpo(command, "people.csv", status=1)
            self.assert_mentions(self.error, "hpo init people.csv", "study")


if __name__ == "__main__":
    import unittest
    unittest.main()
