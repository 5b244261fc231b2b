"""A model that hpo-worker saves, computed once more with numpy alone: the format and its meaning are what safetensors.hpp says."""
import gzip
import json
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


def train(params, steps, save):
    """Speaks the orchestrator's side of the protocol for one trial; returns its `finished` message."""
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
                    objective={"metric": "val_accuracy", "direction": "maximize", "at": "best"},
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


def logits(tensors, values):
    """The model as its file describes it."""
    x = (values.astype(numpy.float32) - tensors["input.mean"]) / tensors["input.deviation"]
    layers = sum(name.startswith("layers.") and name.endswith(".weight") and ".norm." not in name for name in tensors)
    for i in range(layers):
        x = x @ tensors[f"layers.{i}.weight"].T + tensors[f"layers.{i}.bias"]
        if f"layers.{i}.norm.weight" in tensors:
            x = (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)
            x = x * tensors[f"layers.{i}.norm.weight"] + tensors[f"layers.{i}.norm.bias"]
        if i < layers - 1:
            x = numpy.maximum(x, 0)
    return x


@unittest.skipUnless(FASHION.exists(), "apt install dataset-fashion-mnist")
class SavedModel(unittest.TestCase):
    def test_numpy_alone_reproduces_the_test_accuracy(self):
        images = numpy.frombuffer(gzip.open(FASHION / "t10k-images-idx3-ubyte.gz").read()[16:], "u1").reshape(-1, 784)
        labels = numpy.frombuffer(gzip.open(FASHION / "t10k-labels-idx1-ubyte.gz").read()[8:], "u1")
        for norm in ("none", "layer"):
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
                # Rounding may turn a tie or two among the 10,000.
                self.assertAlmostEqual(accuracy, finished["values"]["test_accuracy"], delta=0.0003)


if __name__ == "__main__":
    unittest.main(verbosity=2)
