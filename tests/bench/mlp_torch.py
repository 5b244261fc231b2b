"""The baseline of the MLP benchmark: the same training in torch, tuned (see run for the environment).

    mlp_torch.py float32|bfloat16 loop|foreach BATCH EPOCHS REPEAT SEED

No data loader: the samples lie in memory as normalised float32, a batch is one index_select. Prints "ready", waits for
a line on stdin, trains, prints one JSON line. loop and foreach are the two forms of AdamW that torch has on a CPU;
bfloat16 is torch's autocast.
"""

import gzip
import json
import math
import sys
import time

import numpy
import torch

DATA = "/usr/share/datasets/fashion-mnist/"


def images_and_labels():
    with gzip.open(DATA + "train-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 784)
    with gzip.open(DATA + "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return torch.from_numpy(images.astype(numpy.float32)), torch.from_numpy(labels.astype(numpy.int64))


def network():
    widths = [784, 512, 256, 128, 10]
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        linear = torch.nn.Linear(inputs, outputs)
        last = outputs == widths[-1]
        bound = math.sqrt((1 if last else 6) / inputs)  # the initial weights of hpo's MLP
        torch.nn.init.uniform_(linear.weight, -bound, bound)
        torch.nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, torch.nn.ReLU(inplace=True)]
    return torch.nn.Sequential(*layers)


def main():
    narrow = {"float32": False, "bfloat16": True}[sys.argv[1]]
    foreach = {"loop": False, "foreach": True}[sys.argv[2]]
    batch, epochs, repeat, seed = (int(word) for word in sys.argv[3:])
    torch.set_num_threads(1)
    torch.manual_seed(2 * repeat + seed)
    images, labels = images_and_labels()
    order = torch.randperm(len(images))
    training, validation = order[6000:], order[:6000]
    deviation, mean = torch.std_mean(images[training])
    images = (images - mean) / deviation
    model = network()
    weights = [p for p in model.parameters() if p.dim() == 2]
    biases = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": weights, "weight_decay": 0.01}, {"params": biases, "weight_decay": 0.0}], lr=0.001, foreach=foreach
    )
    criterion = torch.nn.CrossEntropyLoss()

    print("ready torch", torch.__version__, "foreach" if foreach else "loop", flush=True)
    sys.stdin.readline()
    iterations = len(training) // batch
    begin, begun = time.perf_counter(), time.process_time()
    for _ in range(epochs):
        order = training[torch.randperm(len(training))]
        losses = torch.zeros(iterations)
        for i in range(iterations):
            rows = order[i * batch : (i + 1) * batch]
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                logits = model(images.index_select(0, rows))
            loss = criterion(logits.float(), labels.index_select(0, rows))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses[i] = loss.detach()
    seconds, processor = time.perf_counter() - begin, time.process_time() - begun
    with torch.no_grad():
        logits = model(images[validation])
        print(
            json.dumps(
                {
                    "iterations_per_second": iterations * epochs / seconds,
                    "per_processor_second": iterations * epochs / processor,
                    "iterations": iterations * epochs,
                    "loss": losses.mean().item(),
                    "validation_loss": criterion(logits, labels[validation]).item(),
                    "validation_accuracy": (logits.argmax(1) == labels[validation]).float().mean().item(),
                }
            )
        )


if __name__ == "__main__":
    main()
