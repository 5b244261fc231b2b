"""Trains a small network on Fashion-MNIST with PyTorch, under hpo: with loaders of data that are processes, a checkpoint
to go on from, and smaller micro-batches of the same batch where memory is short. Runs alone too."""
import gzip
import math
import pathlib

import hpo
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

trial = hpo.trial(lr=2e-3, batch_size=256, width=128, dropout=0.2, checkpoint=True, micro_batch=True)
params = trial.params
torch.manual_seed(trial.seed % 2**32)
torch.set_flush_denormal(True)


def images_and_labels(name, most):
    """Of the IDX files of Debian's dataset-fashion-mnist."""
    folder = pathlib.Path("/usr/share/datasets/fashion-mnist")
    with gzip.open(folder / f"{name}-images-idx3-ubyte.gz") as file:
        images = torch.frombuffer(bytearray(file.read(16 + most * 784)), dtype=torch.uint8)[16:].view(-1, 784)
    with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz") as file:
        labels = torch.frombuffer(bytearray(file.read(8 + most)), dtype=torch.uint8)[8:]
    return TensorDataset(images.float() / 255, labels.long())


train = DataLoader(images_and_labels("train", 8192), params.batch_size, shuffle=True, num_workers=1)
validation = DataLoader(images_and_labels("t10k", 2048), 1024)
model = nn.Sequential(nn.Linear(784, params.width), nn.ReLU(), nn.Dropout(params.dropout), nn.Linear(params.width, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=params.lr)
criterion = nn.CrossEntropyLoss(reduction="sum")
micro_batch = math.ceil(params.batch_size / params.get("accumulation", 1))   # hpo sets it when memory is short

if trial.resumed:
    state = torch.load(trial.checkpoint)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    trial.resume_from(state["epoch"])

for epoch in trial.epochs(5):
    model.train()
    for images, labels in train:
        optimizer.zero_grad()
        for x, y in zip(images.split(micro_batch), labels.split(micro_batch)):
            (criterion(model(x), y) / len(images)).backward()    # gradients add up to those of the whole batch
        optimizer.step()
        trial.step()
    model.eval()
    with torch.no_grad():
        outputs = [(model(x), y) for x, y in validation]
    count = sum(len(y) for _, y in outputs)
    trial.report(epoch, val_loss=sum(criterion(out, y) for out, y in outputs) / count,
                 val_accuracy=sum((out.argmax(1) == y).sum() for out, y in outputs) / count)
    if trial.checkpoint:
        whole = trial.checkpoint.with_suffix(".new")             # whole or not there, whenever the machine fails
        torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, whole)
        whole.rename(trial.checkpoint)
