"""Trials of the searches with torch of tests/bench/seeds_case.

    seeds_case_torch.py default|tuned TRIAL,... EPOCHS SUBSET SEED

Draws the configuration of each trial, trains it, and prints a line of JSON an epoch: the time and the validation accuracy.
default: samples from a DataLoader, torch's own number of threads and form of AdamW. tuned: one thread, samples in one
tensor, and AdamW over all tensors at once. SUBSET: so many training images alone; 0: all.
"""
import gzip
import json
import math
import sys
import time

import numpy
import torch

DATA = "/usr/share/datasets/fashion-mnist/"
BATCH = 32


def images_and_labels(subset, seed):
    with gzip.open(DATA + "train-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 784)
    with gzip.open(DATA + "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    order = numpy.random.RandomState(seed).permutation(len(images))[: subset or None]
    return torch.from_numpy(images[order].astype(numpy.float32)), torch.from_numpy(labels[order].astype(numpy.int64))


def train(trial, seed, tuned, epochs, images, labels):
    random = numpy.random.RandomState(1000 * seed + trial)
    lr = math.exp(random.uniform(math.log(3e-4), math.log(3e-3)))
    weight_decay = math.exp(random.uniform(math.log(1e-3), math.log(0.3)))
    dropout = random.uniform(0.05, 0.5)
    torch.manual_seed(1000 * seed + trial)
    held_back = len(images) // 10
    layers = []
    for inputs, outputs in ((784, 448), (448, 448)):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU(inplace=True), torch.nn.Dropout(dropout)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(448, 10))
    groups = [{"params": [p for p in model.parameters() if p.dim() == 2], "weight_decay": weight_decay},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=lr, foreach=True) if tuned else torch.optim.AdamW(groups, lr=lr)
    criterion = torch.nn.CrossEntropyLoss()
    training = (images[held_back:], labels[held_back:])
    loader = None if tuned else torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*training), BATCH, shuffle=True,
                                                            drop_last=True)
    steps = len(training[0]) // BATCH
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * steps)

    def batches():
        if loader:
            yield from loader
            return
        order = torch.randperm(len(training[0]))
        for i in range(steps):
            rows = order[i * BATCH : (i + 1) * BATCH]
            yield training[0].index_select(0, rows), training[1].index_select(0, rows)

    for _ in range(epochs):
        model.train()
        for inputs, targets in batches():
            loss = criterion(model(inputs), targets)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(images[:held_back]).argmax(1) == labels[:held_back]).float().mean().item()
        print(json.dumps({"time": time.time(), "accuracy": accuracy}), flush=True)


def main():
    tuned = sys.argv[1] == "tuned"
    trials = [int(trial) for trial in sys.argv[2].split(",")]
    epochs, subset, seed = map(int, sys.argv[3:])
    if tuned:
        torch.set_num_threads(1)
    images, labels = images_and_labels(subset, seed)
    deviation, mean = torch.std_mean(images[len(images) // 10 :])
    images = (images - mean) / deviation
    for trial in trials:
        train(trial, seed, tuned, epochs, images, labels)


main()
