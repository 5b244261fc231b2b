"""Fits a line to points by gradient descent, with the client: the least that a script for hpo needs. Runs alone too."""
import random

import hpo

trial = hpo.trial(lr=0.1, momentum=0.0)
points = random.Random(trial.data_seed)
data = [(x, 3 * x + 1 + points.gauss(0, 0.1)) for x in (points.uniform(-1, 1) for _ in range(256))]
train, validation = data[:192], data[192:]
slope = offset = slope_speed = offset_speed = 0.0


def loss(samples):
    return sum((slope * x + offset - y) ** 2 for x, y in samples) / len(samples)


for epoch in trial.epochs(20):
    for begin in range(0, len(train), 64):
        batch = train[begin:begin + 64]
        errors = [(slope * x + offset - y, x) for x, y in batch]
        slope_speed = trial.params.momentum * slope_speed + sum(2 * e * x for e, x in errors) / len(batch)
        offset_speed = trial.params.momentum * offset_speed + sum(2 * e for e, _ in errors) / len(batch)
        slope -= trial.params.lr * slope_speed
        offset -= trial.params.lr * offset_speed
        trial.step()
    trial.report(epoch, loss=loss(train), val_loss=loss(validation))
