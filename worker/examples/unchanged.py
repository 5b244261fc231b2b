"""Fits a line to points by gradient descent; knows nothing of hpo. Takes arguments, prints its measurements."""
import argparse
import random

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--momentum", type=float, default=0.0)
parser.add_argument("--epochs", type=int, default=20)
arguments = parser.parse_args()

points = random.Random(1)
data = [(x, 3 * x + 1 + points.gauss(0, 0.1)) for x in (points.uniform(-1, 1) for _ in range(256))]
train, validation = data[:192], data[192:]
slope = offset = slope_speed = offset_speed = 0.0


def loss(samples):
    return sum((slope * x + offset - y) ** 2 for x, y in samples) / len(samples)


for epoch in range(arguments.epochs):
    for begin in range(0, len(train), 64):
        batch = train[begin:begin + 64]
        errors = [(slope * x + offset - y, x) for x, y in batch]
        slope_speed = arguments.momentum * slope_speed + sum(2 * e * x for e, x in errors) / len(batch)
        offset_speed = arguments.momentum * offset_speed + sum(2 * e for e, _ in errors) / len(batch)
        slope -= arguments.lr * slope_speed
        offset -= arguments.lr * offset_speed
    print(f"epoch {epoch + 1}: loss={loss(train):.6g} val_loss={loss(validation):.6g}", flush=True)
