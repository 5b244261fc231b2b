"""Models that hpo-worker saves, evaluated with numpy only, by the format that safetensors.hpp documents."""
import csv
import gzip
import json
import math
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import unittest

import numpy

from harness import DEADLINE, WORKER

FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def train(params, steps, save, metric="val_accuracy"):
    """Trains one trial in a worker by the orchestrator's side of the protocol. Returns its `finished` message."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(folder + "/socket")
        listener.listen(1)
        listener.settimeout(DEADLINE)
        worker = subprocess.Popen([WORKER], env=dict(os.environ, HPO_ENDPOINT=folder + "/socket", HPO_TOKEN=""),
                                  stdout=subprocess.DEVNULL)
        try:
            connection, _ = listener.accept()
            connection.settimeout(DEADLINE)
            with connection, connection.makefile("rw", encoding="utf-8") as stream:

                def say(**message):
                    stream.write(json.dumps(message) + "\n")
                    stream.flush()

                say(type="welcome", version=1, alive_every=5)
                say(type="run", trial=1, attempt=1, params=params, steps=steps, seed=7, data_seed=1,
                    objective={"metric": metric, "direction": "maximize", "at": "best"},
                    folder="", resume=False, test=True, save=str(save))
                for line in stream:
                    message = json.loads(line)
                    if message["type"] == "report":
                        say(type="decision", trial=1, attempt=1, step=message["step"], action="continue")
                    if message["type"] == "finished":
                        say(type="shutdown")
                        return message
        finally:
            worker.kill()
            worker.wait()
    raise AssertionError("the worker hung up")


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__")
    tensors = {
        name: numpy.frombuffer(data[8 + length :][slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
    }
    return metadata, tensors


def batch_norm(x, tensors, name):
    """The last dimension of x by its running statistics."""
    mean, variance = tensors[f"{name}.norm.running_mean"], tensors[f"{name}.norm.running_var"]
    return (x - mean) / numpy.sqrt(variance + 1e-5) * tensors[f"{name}.norm.weight"] + tensors[f"{name}.norm.bias"]


def logits(tensors, values):
    """Computes the model's output as its file describes it."""
    x = (values.astype(numpy.float32) - tensors["input.mean"]) / tensors["input.deviation"]
    layers = sum(name.startswith("layers.") and name.endswith(".weight") and ".norm." not in name for name in tensors)
    for i in range(layers):
        x = x @ tensors[f"layers.{i}.weight"].T + tensors.get(f"layers.{i}.bias", 0)
        if f"layers.{i}.norm.running_mean" in tensors:
            x = batch_norm(x, tensors, f"layers.{i}")
        elif f"layers.{i}.norm.weight" in tensors:
            x = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)
            x = x * tensors[f"layers.{i}.norm.weight"] + tensors[f"layers.{i}.norm.bias"]
        if i < layers - 1:
            x = numpy.maximum(x, 0)
    return x


def convolution(x, weight, stride=1):
    """Channels last, as the file has the weights: [out, height, width, in]."""
    half = weight.shape[1] // 2
    padded = numpy.pad(x, ((0, 0), (half, half), (half, half), (0, 0)))
    windows = numpy.lib.stride_tricks.sliding_window_view(padded, weight.shape[1:3], axis=(1, 2))
    return numpy.einsum("nyxcij,oijc->nyxo", windows[:, ::stride, ::stride], weight, optimize=True)


def image_norm(x, tensors, name, groups):
    if f"{name}.norm.running_mean" in tensors:
        return batch_norm(x, tensors, name)
    split = x.reshape(x.shape[0], -1, groups, x.shape[3] // groups)
    mean, variance = split.mean((1, 3), keepdims=True), split.var((1, 3), keepdims=True)
    x = ((split - mean) / numpy.sqrt(variance + 1e-5)).reshape(x.shape)
    return x * tensors[f"{name}.norm.weight"] + tensors[f"{name}.norm.bias"]


def halved(x):
    """The maxima of windows of 2 x 2 pixels."""
    x = numpy.pad(x, ((0, 0), (0, x.shape[1] % 2), (0, x.shape[2] % 2), (0, 0)), constant_values=-numpy.inf)
    return x.reshape(x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2, x.shape[3]).max((2, 4))


def convolution_logits(tensors, images, groups, pooled=False):
    """The convolution network as its file describes it, with relu."""
    x = (images.astype(numpy.float32) - tensors["input.mean"]) / tensors["input.deviation"]
    x = numpy.maximum(image_norm(convolution(x, tensors["stem.weight"]), tensors, "stem", groups), 0)
    for block in sorted({name[:-len(".first.weight")] for name in tensors if name.endswith(".first.weight")}):
        shortcut = tensors.get(f"{block}.shortcut.weight")
        if shortcut is not None and pooled:
            x = halved(x)
        stride = 1 if shortcut is None or pooled else 2
        y = convolution(x, tensors[f"{block}.first.weight"], stride)
        y = numpy.maximum(image_norm(y, tensors, f"{block}.first", groups), 0)
        y = image_norm(convolution(y, tensors[f"{block}.second.weight"]), tensors, f"{block}.second", groups)
        x = numpy.maximum(y + (x if shortcut is None else convolution(x, shortcut, stride)), 0)
    return x.mean((1, 2)) @ tensors["head.weight"].T + tensors["head.bias"]


def philox_words(seed, purpose, iteration, blocks):
    """The first two words of each block (Salmon et al. 2011), as include/hpo/random.hpp draws them."""
    counter = [blocks.astype(numpy.uint64), numpy.uint64(0), numpy.uint64(iteration), numpy.uint64(purpose)]
    low, key = numpy.uint64(0xFFFFFFFF), [seed, 0]
    for _ in range(10):
        a, b = numpy.uint64(0xD2511F53) * counter[0], numpy.uint64(0xCD9E8D57) * counter[2]
        k = [numpy.uint64(number & 0xFFFFFFFF) for number in key]
        high = [number >> numpy.uint64(32) for number in (a, b)]
        counter = [high[1] ^ counter[1] ^ k[0], b & low, high[0] ^ counter[3] ^ k[1], a & low]
        key = [key[0] + 0x9E3779B9, key[1] + 0xBB67AE85]
    return counter[0], counter[1]


def synthetic_tokens(samples, steps, vocabulary, seed):
    """The test samples [samples, steps + 1] that synthetic.cpp describes: the last steps are the targets."""
    follows = list(range(vocabulary))
    for i in range(vocabulary - 1, 0, -1):
        j = int(philox_words(seed, 7, 0, numpy.array([i]))[0][0]) % (i + 1)
        follows[i], follows[j] = follows[j], follows[i]
    words = philox_words(seed, 7, 6, numpy.arange(samples * (steps + 1)))
    free, drawn = [word.reshape(samples, steps + 1) for word in words]
    tokens = (free % numpy.uint64(vocabulary)).astype(int)
    for step in range(2, steps + 1):
        follow = numpy.array(follows)[tokens[:, step - 2]]
        tokens[:, step] = numpy.where(drawn[:, step] % numpy.uint64(8) == 0, tokens[:, step], follow)
    return tokens


def silu(x):
    return x / (1 + numpy.exp(-x))


def gelu(x):
    return x * 0.5 * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))


def turned(x):
    """Rotary positions: x [samples, steps, heads, width]."""
    half = x.shape[3] // 2
    angle = numpy.arange(x.shape[1])[:, None] * 10000.0 ** (-numpy.arange(half) / half)
    cosine, sine = numpy.cos(angle)[:, None], numpy.sin(angle)[:, None]
    a, b = x[..., :half], x[..., half:]
    return numpy.concatenate([a * cosine - b * sine, a * sine + b * cosine], 3)


def transformer_logits(tensors, tokens, heads, kv_heads):
    """The causal transformer as its file describes it."""

    def norm(x, name):
        if f"{name}.bias" not in tensors:
            return x / numpy.sqrt((x**2).mean(2, keepdims=True) + 1e-5) * tensors[f"{name}.weight"]
        normed = (x - x.mean(2, keepdims=True)) / numpy.sqrt(x.var(2, keepdims=True) + 1e-5)
        return normed * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    learned = "positions.weight" in tensors
    x = tensors["tokens.weight"][tokens] + (tensors["positions.weight"] if learned else 0)
    samples, steps, width = x.shape
    later = numpy.triu(numpy.full((steps, steps), -numpy.inf), 1)
    for block in range(sum(name.endswith(".mixing.weight") for name in tensors)):
        block = f"blocks.{block}"
        projections = norm(x, f"{block}.attention_norm") @ tensors[f"{block}.projections.weight"].T
        parts = projections.reshape(samples, steps, heads + 2 * kv_heads, width // heads)
        q, k, v = parts[:, :, :heads], parts[:, :, heads:-kv_heads], parts[:, :, -kv_heads:]
        if not learned:
            q, k = turned(q), turned(k)
        k, v = (numpy.repeat(part, heads // kv_heads, 2) for part in (k, v))
        scores = numpy.einsum("sqhi,skhi->shqk", q, k) / math.sqrt(width // heads) + later
        weights = numpy.exp(scores - scores.max(3, keepdims=True))
        attended = numpy.einsum("shqk,skhi->sqhi", weights / weights.sum(3, keepdims=True), v)
        x = x + attended.reshape(x.shape) @ tensors[f"{block}.mixing.weight"].T
        up = norm(x, f"{block}.perceptron_norm") @ tensors[f"{block}.up.weight"].T
        gated = up.shape[2] == 2 * tensors[f"{block}.down.weight"].shape[1]
        a, b = numpy.split(up, 2, 2) if gated else (up, None)
        x = x + (silu(a) * b if gated else gelu(up)) @ tensors[f"{block}.down.weight"].T
    x = norm(x, "norm")
    if "head.weight" in tensors:
        return x @ tensors["head.weight"].T + tensors["head.bias"]
    return x @ tensors["tokens.weight"].T


def encoded(encoding, row):
    """Encodes a row of the table as the model's input."""
    missing = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")
    features = []
    for column in encoding["columns"]:
        value = row[column["name"]]
        if column["kind"] == "number":
            absent = value in missing
            number = column["median"] if absent else float(value)
            features.append((number - column["mean"]) / column["deviation"])
            features += [float(absent)] if "median" in column else []
        else:
            levels = column["levels"] + ["other"]
            value = "" if value in missing else value
            at = column["levels"].index(value) if value in column["levels"] else len(column["levels"])
            features += [float(i == at) for i in range(len(levels))]
    return features


def embedded(tensors, encoding, features):
    """Replaces the levels of each categorical column by a row of its table."""
    parts, first, embeddings = [], 0, 0
    for column in encoding["columns"]:
        if column["kind"] == "number":
            width = 2 if "median" in column else 1
            parts.append(features[:, first : first + width])
        else:
            width = len(column["levels"]) + 1
            table = tensors[f"embeddings.{embeddings}.weight"]
            parts.append(table[features[:, first : first + width].argmax(1)])
            embeddings += 1
        first += width
    return numpy.concatenate(parts, 1)


class SavedTableModel(unittest.TestCase):
    def rows(self, file):
        """Returns the last 100 rows, which are the test set of a split by time."""
        with open(file, newline="", encoding="utf-8") as text:
            return list(csv.DictReader(text))[-100:]

    def write(self, file, target):
        with open(file, "w", encoding="utf-8") as text:
            text.write('a,"b, c",d,y\n')
            for i in range(1000):
                a, b, d = i * 37 % 101 / 10, i * 53 % 97 / 20, ("up", "down", "left")[i % 3]
                text.write(f"{a},{'NA' if i % 13 == 5 else b},{'rare' if i == 990 else d},{target(a, b, d)}\n")

    def test_numpy_reproduces_the_test_metrics_of_regression(self):
        with tempfile.TemporaryDirectory() as folder:
            table, file = pathlib.Path(folder, "table.csv"), pathlib.Path(folder, "model.safetensors")
            self.write(table, lambda a, b, d: 1000 + 40 * numpy.sin(a) + 25 * b + (60 if d == "up" else 0))
            params = {"format": "csv", "path": str(table), "target": "y", "split": "time", "hidden": [48, 32],
                      "lr": 0.01, "batch_size": 64}
            values = train(params, 8, file, "val_r2")["values"]
            metadata, tensors = read_safetensors(file)
            encoding, rows = json.loads(metadata["encoding"]), self.rows(table)
            self.assertEqual((metadata["task"], metadata["outputs"]), ("regression", "1"))
            scaled = logits(tensors, numpy.array([encoded(encoding, row) for row in rows]))[:, 0]
            predicted = scaled * encoding["target"]["deviation"] + encoding["target"]["mean"]
            wanted = numpy.array([float(row["y"]) for row in rows])
            mse = ((predicted - wanted) ** 2).mean()
            self.assertAlmostEqual(mse / values["test_mse"], 1, delta=1e-3)
            self.assertAlmostEqual(abs(predicted - wanted).mean() / values["test_mae"], 1, delta=1e-3)
            self.assertAlmostEqual(1 - mse / wanted.var(), values["test_r2"], delta=1e-3)
            self.assertGreater(values["test_r2"], 0.8)

    def test_numpy_reproduces_the_test_metrics_of_embeddings(self):
        with tempfile.TemporaryDirectory() as folder:
            table, file = pathlib.Path(folder, "table.csv"), pathlib.Path(folder, "model.safetensors")
            self.write(table, lambda a, b, d: 1000 + 40 * numpy.sin(a) + 25 * b + (60 if d == "up" else 0))
            params = {"format": "csv", "path": str(table), "target": "y", "split": "time", "hidden": [48, 32],
                      "categorical": "a", "embedding_width": 6, "lr": 0.01, "batch_size": 64}
            values = train(params, 8, file, "val_r2")["values"]
            metadata, tensors = read_safetensors(file)
            self.assertEqual(tensors["embeddings.1.weight"].shape, (4, 2))  # up, down, left and others
            encoding, rows = json.loads(metadata["encoding"]), self.rows(table)
            features = embedded(tensors, encoding, numpy.array([encoded(encoding, row) for row in rows]))
            self.assertEqual(features.shape[1], tensors["layers.0.weight"].shape[1])
            predicted = logits(tensors, features)[:, 0] * encoding["target"]["deviation"] + encoding["target"]["mean"]
            mse = ((predicted - numpy.array([float(row["y"]) for row in rows])) ** 2).mean()
            self.assertAlmostEqual(mse / values["test_mse"], 1, delta=1e-3)
            self.assertGreater(values["test_r2"], 0.8)

    def test_numpy_reproduces_the_test_metrics_of_windows_over_a_series(self):
        with tempfile.TemporaryDirectory() as folder:
            series, file = pathlib.Path(folder, "series.csv"), pathlib.Path(folder, "model.safetensors")
            rows = numpy.array([[40 + 9 * numpy.sin(i / 5), i % 7] for i in range(700)])
            series.write_text("y,day\n" + "".join(f"{y!r},{day}\n" for y, day in rows))
            params = {"format": "series", "path": str(series), "target": "y", "window": 10, "horizon": 2,
                      "hidden": [32], "lr": 0.01, "batch_size": 64}
            values = train(params, 8, file, "val_r2")["values"]
            metadata, tensors = read_safetensors(file)
            encoding = json.loads(metadata["encoding"])
            mean, deviation = (numpy.array([column[key] for column in encoding["columns"]])
                               for key in ("mean", "deviation"))
            windows = numpy.lib.stride_tricks.sliding_window_view(rows, 12, axis=0).transpose(0, 2, 1)
            tested = windows[-round((len(windows) - 22) * 0.1):]  # at both borders 11 windows are left out
            scaled = logits(tensors, ((tested[:, :10] - mean) / deviation).reshape(len(tested), -1))
            target = encoding["targets"][0]
            predicted, wanted = scaled * target["deviation"] + target["mean"], tested[:, 10:, 0]
            mse = ((predicted - wanted) ** 2).mean()
            self.assertAlmostEqual(mse / values["test_mse"], 1, delta=1e-3)
            self.assertAlmostEqual(abs(predicted - wanted).mean() / values["test_mae"], 1, delta=1e-3)
            self.assertAlmostEqual(1 - mse / wanted.var(0).mean(), values["test_r2"], delta=1e-3)
            self.assertGreater(values["test_r2"], 0.8)

    def test_numpy_reproduces_the_test_metrics_of_its_own_arrays(self):
        with tempfile.TemporaryDirectory() as folder:
            archive, file = pathlib.Path(folder, "arrays.npz"), pathlib.Path(folder, "model.safetensors")
            x = numpy.random.default_rng(1).normal([50, 3], [8, 1], (1200, 2))
            y = numpy.stack([200 + 20 * numpy.sin(x[:, 1]) + x[:, 0], x[:, 0] * 3], axis=1)
            numpy.savez_compressed(archive, x_train=x[:1000], y_train=y[:1000], x_test=x[1000:], y_test=y[1000:])
            params = {"format": "npy", "path": str(archive), "hidden": [32], "lr": 0.01, "batch_size": 64}
            values = train(params, 8, file, "val_r2")["values"]
            metadata, tensors = read_safetensors(file)
            encoding = json.loads(metadata["encoding"])
            inputs, targets = ([numpy.array([column[key] for column in encoding[name]]) for key in ("mean", "deviation")]
                               for name in ("columns", "targets"))
            predicted = logits(tensors, (x[1000:] - inputs[0]) / inputs[1])
            wanted = (y[1000:] - targets[0]) / targets[1]
            mse = ((predicted - wanted) ** 2).mean()  # of two targets, standardized
            self.assertAlmostEqual(mse / values["test_mse"], 1, delta=1e-3)
            self.assertAlmostEqual(1 - mse / wanted.var(0).mean(), values["test_r2"], delta=1e-3)
            self.assertGreater(values["test_r2"], 0.9)

    def test_averaged_weights_are_those_that_are_tested_and_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            table, file = pathlib.Path(folder, "table.csv"), pathlib.Path(folder, "model.safetensors")
            self.write(table, lambda a, b, d: 1000 + 40 * numpy.sin(a) + 25 * b + (60 if d == "up" else 0))
            params = {"format": "csv", "path": str(table), "target": "y", "split": "time", "hidden": [48, 32],
                      "lr": 0.003, "batch_size": 64, "optimizer": "lion", "ema": 0.97, "schedule": "wsd"}
            values = train(params, 8, file, "val_r2")["values"]
            metadata, tensors = read_safetensors(file)
            encoding, rows = json.loads(metadata["encoding"]), self.rows(table)
            scaled = logits(tensors, numpy.array([encoded(encoding, row) for row in rows]))[:, 0]
            predicted = scaled * encoding["target"]["deviation"] + encoding["target"]["mean"]
            mse = ((predicted - numpy.array([float(row["y"]) for row in rows])) ** 2).mean()
            self.assertAlmostEqual(mse / values["test_mse"], 1, delta=1e-3)
            self.assertGreater(values["test_r2"], 0.5)

    def test_numpy_reproduces_the_test_metrics_of_labels(self):
        with tempfile.TemporaryDirectory() as folder:
            table, file = pathlib.Path(folder, "table.csv"), pathlib.Path(folder, "model.safetensors")
            self.write(table, lambda a, b, d: f"{int(a > 7)},{int(d == 'up')}")
            table.write_text(table.read_text().replace("d,y\n", "d,high,up\n", 1))
            params = {"format": "csv", "path": str(table), "target": "high,up", "split": "time", "hidden": [32],
                      "lr": 0.01, "batch_size": 64, "class_metrics": True, "class_weights": "balanced"}
            values = train(params, 6, file, "val_f1")["values"]
            metadata, tensors = read_safetensors(file)
            self.assertEqual((metadata["task"], metadata["outputs"]), ("multi-label", "2"))
            encoding, rows = json.loads(metadata["encoding"]), self.rows(table)
            names = [target["name"] for target in encoding["targets"]]
            self.assertEqual(names, ["high", "up"])
            scores = logits(tensors, numpy.array([encoded(encoding, row) for row in rows]))
            wanted = numpy.array([[int(row[name]) for name in names] for row in rows])
            right = (scores > 0) == wanted
            self.assertAlmostEqual(right.mean(), values["test_accuracy"], delta=0.006)
            self.assertAlmostEqual(right.all(1).mean(), values["test_exact_match"], delta=0.011)
            loss = numpy.logaddexp(0, scores) - wanted * scores
            self.assertAlmostEqual(loss.mean() / values["test_loss"], 1, delta=1e-3)
            self.assertGreater(values["test_accuracy"], 0.9)

    def test_numpy_reproduces_the_test_accuracy_of_classes(self):
        with tempfile.TemporaryDirectory() as folder:
            table, file = pathlib.Path(folder, "table.csv"), pathlib.Path(folder, "model.safetensors")
            self.write(table, lambda a, b, d: "high" if a + b > 8 else "middle" if d == "up" else "low")
            params = {"format": "csv", "path": str(table), "target": "y", "split": "time", "hidden": [32],
                      "lr": 0.01, "batch_size": 64, "class_metrics": True}
            values = train(params, 6, file)["values"]
            metadata, tensors = read_safetensors(file)
            encoding, rows = json.loads(metadata["encoding"]), self.rows(table)
            self.assertEqual(encoding["target"]["classes"], ["high", "low", "middle"])
            best = logits(tensors, numpy.array([encoded(encoding, row) for row in rows])).argmax(1)
            right = [encoding["target"]["classes"][i] == row["y"] for i, row in zip(best, rows)]
            self.assertAlmostEqual(sum(right) / len(right), values["test_accuracy"], delta=0.011)
            self.assertGreater(values["test_accuracy"], 0.85)
            names = numpy.array(encoding["target"]["classes"])
            predicted, wanted = names[best], numpy.array([row["y"] for row in rows])
            f1 = [2 * ((predicted == name) & (wanted == name)).sum() / ((predicted == name).sum() + (wanted == name).sum())
                  for name in names]
            self.assertAlmostEqual(numpy.mean(f1), values["test_f1"], delta=0.02)
            self.assertEqual(values["test_top5"], 1)  # of three classes
            scores = numpy.exp(logits(tensors, numpy.array([encoded(encoding, row) for row in rows])))
            scores /= scores.sum(1, keepdims=True)
            pairs = [scores[wanted == name, i][:, None] - scores[wanted != name, i] for i, name in enumerate(names)]
            auc = [(pair > 0).mean() + (pair == 0).mean() / 2 for pair in pairs]
            self.assertAlmostEqual(numpy.mean(auc), values["test_auc"], delta=1e-3)


def recurrent_outputs(tensors, x):
    """The recurrent network as its file describes it: x [samples, steps, numbers]; the head at each step."""

    def sigmoid(y):
        return 1 / (1 + numpy.exp(-y))

    for layer in range(sum(name.endswith(".recurrent.weight") for name in tensors)):
        name = f"layers.{layer}"
        inputs = x @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]
        recurrent = tensors[f"{name}.recurrent.weight"].T
        state = cell = numpy.zeros((x.shape[0], recurrent.shape[0]))
        states = []
        for step in range(x.shape[1]):
            if f"{name}.recurrent.bias" in tensors:  # GRU
                r, z, n = numpy.split(inputs[:, step], 3, 1)
                of_r, of_z, of_n = numpy.split(state @ recurrent + tensors[f"{name}.recurrent.bias"], 3, 1)
                z = sigmoid(z + of_z)
                state = (1 - z) * numpy.tanh(n + sigmoid(r + of_r) * of_n) + z * state
            else:
                i, f, g, o = numpy.split(inputs[:, step] + state @ recurrent, 4, 1)
                cell = sigmoid(f) * cell + sigmoid(i) * numpy.tanh(g)
                state = sigmoid(o) * numpy.tanh(cell)
            states.append(state)
        x = numpy.stack(states, 1)
    return x @ tensors["head.weight"].T + tensors["head.bias"]


class SavedRecurrentNetwork(unittest.TestCase):
    def test_numpy_reproduces_the_test_accuracy_of_next_tokens(self):
        for kind in ("gru", "lstm"):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "model.safetensors")
                params = {"format": "synthetic", "samples": 800, "steps": 12, "vocabulary": 6, "type": kind,
                          "width": 32, "depth": 2, "dropout": 0.1, "lr": 0.01, "batch_size": 32}
                finished = train(params, 8, file)
                self.assertEqual(finished["outcome"], "complete", finished)
                tensors = read_safetensors(file)[1]
                tokens = synthetic_tokens(200, 12, 6, 1)
                best = recurrent_outputs(tensors, tensors["tokens.weight"][tokens[:, :-1]]).argmax(2)
                accuracy = float((best == tokens[:, 1:]).mean())
                self.assertGreater(accuracy, 0.5)
                self.assertAlmostEqual(accuracy, finished["values"]["test_accuracy"], delta=0.001)

    def test_numpy_reproduces_the_test_metrics_of_windows_over_a_series(self):
        with tempfile.TemporaryDirectory() as folder:
            series, file = pathlib.Path(folder, "series.csv"), pathlib.Path(folder, "model.safetensors")
            rows = numpy.array([[40 + 9 * numpy.sin(i / 5), i % 7] for i in range(700)])
            series.write_text("y,day\n" + "".join(f"{y!r},{day}\n" for y, day in rows))
            params = {"format": "series", "path": str(series), "target": "y", "window": 10, "type": "gru",
                      "width": 24, "depth": 1, "lr": 0.01, "batch_size": 64}
            values = train(params, 8, file, "val_r2")["values"]
            metadata, tensors = read_safetensors(file)
            encoding = json.loads(metadata["encoding"])
            mean, deviation = (numpy.array([column[key] for column in encoding["columns"]])
                               for key in ("mean", "deviation"))
            windows = numpy.lib.stride_tricks.sliding_window_view(rows, 11, axis=0).transpose(0, 2, 1)
            tested = windows[-round((len(windows) - 20) * 0.1):]  # at both borders 10 windows are left out
            scaled = recurrent_outputs(tensors, (tested[:, :10] - mean) / deviation)[:, -1, 0]
            target = encoding["targets"][0]
            mse = ((scaled * target["deviation"] + target["mean"] - tested[:, 10, 0]) ** 2).mean()
            self.assertAlmostEqual(mse / values["test_mse"], 1, delta=2e-3)
            self.assertGreater(values["test_r2"], 0.5)


class SavedTransformer(unittest.TestCase):
    def test_numpy_reproduces_the_test_accuracy_of_next_tokens(self):
        modern = {"norm": "rms", "activation": "swiglu", "positions": "rotary", "tied_embeddings": True, "kv_heads": 2}
        for kind in ({}, modern):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "model.safetensors")
                params = {"format": "synthetic", "samples": 800, "steps": 12, "vocabulary": 6, "type": "transformer",
                          "width": 32, "heads": 4, "mlp_ratio": 2, "dropout": 0.1, "lr": 0.005, "batch_size": 32}
                params |= kind
                finished = train(params, 8, file)
                self.assertEqual(finished["outcome"], "complete", finished)
                tensors = read_safetensors(file)[1]
                tokens = synthetic_tokens(200, 12, 6, 1)
                best = transformer_logits(tensors, tokens[:, :-1], 4, kind.get("kv_heads", 4)).argmax(2)
                accuracy = float((best == tokens[:, 1:]).mean())
                self.assertGreater(accuracy, 0.6)
                self.assertAlmostEqual(accuracy, finished["values"]["test_accuracy"], delta=0.001)


@unittest.skipUnless(FASHION.exists(), "apt install dataset-fashion-mnist")
class SavedModel(unittest.TestCase):
    seconds = 20

    def test_numpy_reproduces_the_test_accuracy(self):
        images = numpy.frombuffer(gzip.open(FASHION / "t10k-images-idx3-ubyte.gz").read()[16:], "u1").reshape(-1, 784)
        labels = numpy.frombuffer(gzip.open(FASHION / "t10k-labels-idx1-ubyte.gz").read()[8:], "u1")
        for norm in ("none", "layer", "batch"):
            with self.subTest(norm=norm), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "model.safetensors")
                params = {"format": "idx", "path": "fashion-mnist", "subset": 12000, "hidden": [96, 48], "norm": norm,
                          "dropout": 0.1, "lr": 0.003, "batch_size": 128}
                finished = train(params, 2, file)
                self.assertEqual(finished["outcome"], "complete")
                metadata, tensors = read_safetensors(file)
                self.assertEqual(json.loads(metadata["configuration"])["hidden"], [96, 48])
                accuracy = float((logits(tensors, images).argmax(1) == labels).mean())
                self.assertGreater(accuracy, 0.8)
                # Rounding may change one or two ties among the 10,000 samples.
                self.assertAlmostEqual(accuracy, finished["values"]["test_accuracy"], delta=0.0003)

    def test_numpy_alone_reproduces_a_convolution_network(self):
        data = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        test = 2000  # of 10,000 images: numpy takes seconds for a thousand
        for part, count in (("train", 4000), ("t10k", test)):
            for name, item in (("images-idx3", 784), ("labels-idx1", 1)):
                content = gzip.open(FASHION / f"{part}-{name}-ubyte.gz").read()
                head = 4 * (1 + int(name[-1]))
                (data / f"{part}-{name}-ubyte").write_bytes(
                    content[:4] + count.to_bytes(4, "big") + content[8:head] + content[head:head + count * item])
        images = numpy.frombuffer((data / "t10k-images-idx3-ubyte").read_bytes()[16:], "u1")
        labels = numpy.frombuffer((data / "t10k-labels-idx1-ubyte").read_bytes()[8:], "u1")
        for norm, downsampling in (("group", "stride"), ("batch", "max")):
            with self.subTest(norm=norm, by=downsampling), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "model.safetensors")
                params = {"format": "idx", "path": str(data), "type": "cnn", "norm": norm,
                          "downsampling": downsampling, "channels": 8, "stages": 2, "groups": 2, "dropout": 0.1, "lr": 0.01, "batch_size": 32}
                finished = train(params, 1, file)
                self.assertEqual(finished["outcome"], "complete", finished)
                metadata, tensors = read_safetensors(file)
                self.assertEqual(json.loads(metadata["configuration"])["downsampling"], downsampling)
                parts = numpy.split(images.reshape(-1, 28, 28, 1), 10)
                best = numpy.concatenate([convolution_logits(tensors, part, 2, downsampling == "max").argmax(1) for part in parts])
                accuracy = float((best == labels).mean())
                self.assertGreater(accuracy, 0.3)  # of ten classes, after 112 updates
                self.assertAlmostEqual(accuracy, finished["values"]["test_accuracy"], delta=1.1 / test)  # one tie


if __name__ == "__main__":
    unittest.main(verbosity=2)
