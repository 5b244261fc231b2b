"""Trains a small network on Fashion-MNIST with PyTorch; knows nothing of hpo. Takes arguments, prints measurements."""
import argparse
import gzip
import pathlib

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--batch-size", type=int, default=256)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--workers", type=int, default=1, help="processes that load data")
arguments = parser.parse_args()
torch.manual_seed(arguments.seed % 2**32)


def images_and_labels(name, most):
    folder = pathlib.Path("/usr/share/datasets/fashion-mnist")
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz") as file:
        images = torch.frombuffer(bytearray(file.read(16 + most * 784)), dtype=torch.uint8)[16:].view(-1, 784)
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz") as file:
        labels = torch.frombuffer(bytearray(file.read(8 + most)), dtype=torch.uint8)[8:]
    return TensorDataset(images.float() / 255, labels.long())


train = DataLoader(images_and_labels("train", 8192), arguments.batch_size, shuffle=True, num_workers=arguments.workers)
validation = DataLoader(images_and_labels("t10k", 2048), 1024)
model = nn.Sequential(nn.Linear(784, arguments.width), nn.ReLU(), nn.Linear(arguments.width, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.lr)
criterion = nn.CrossEntropyLoss()

for epoch in range(arguments.epochs):
    model.train()
    for images, labels in train:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        outputs = [(model(x), y) for x, y in validation]
    losses = [float(criterion(out, y)) for out, y in outputs]
    right = sum(int((out.argmax(1) == y).sum()) for out, y in outputs)
    print(f"epoch {epoch + 1}: val_loss={sum(losses) / len(losses):.4f} val_accuracy={right / len(validation.dataset):.4f}", flush=True)
