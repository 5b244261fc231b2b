#!/usr/bin/python3
"""The torch side of the benchmark of convolution networks (see torch_training.py): the network of studies/cnn.yaml.

A residual network with group norm on 6,400 images of Fashion-MNIST, a tenth of them for validation. The memory format,
channels first or last, is the faster one here, measured before the start.
"""

import math

import torch
from mlp_torch import images_and_labels
from torch.nn import functional
from torch_training import Side

CHANNELS, STAGES, GROUPS, SAMPLES = 16, 3, 8, 6400


def convolution(inputs, outputs, kernel, stride):
    made = torch.nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    bound = math.sqrt(6 / (inputs * kernel * kernel))  # the initial weights of hpo's CNN
    torch.nn.init.uniform_(made.weight, -bound, bound)
    return made


class Block(torch.nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, 3, 1)
        self.norms = torch.nn.ModuleList([torch.nn.GroupNorm(GROUPS, outputs), torch.nn.GroupNorm(GROUPS, outputs)])
        self.shortcut = convolution(inputs, outputs, 1, stride) if stride > 1 else torch.nn.Identity()

    def forward(self, x):
        y = functional.relu_(self.norms[0](self.first(x)))
        return functional.relu_(self.norms[1](self.second(y)).add_(self.shortcut(x)))


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.norm = convolution(1, CHANNELS, 3, 1), torch.nn.GroupNorm(GROUPS, CHANNELS)
        self.blocks = torch.nn.Sequential(
            *[Block(CHANNELS << max(0, stage - 1), CHANNELS << stage, 2 if stage else 1) for stage in range(STAGES)]
        )
        self.head = torch.nn.Linear(CHANNELS << (STAGES - 1), 10)
        bound = 1 / math.sqrt(self.head.in_features)
        torch.nn.init.uniform_(self.head.weight, -bound, bound)
        torch.nn.init.zeros_(self.head.bias)

    def forward(self, x):
        x = self.blocks(functional.relu_(self.norm(self.stem(x))))
        return self.head(x.mean((2, 3)))


def main():
    side = Side()
    images, labels = images_and_labels()
    order = torch.randperm(len(images))[:SAMPLES]
    training, validation = order[SAMPLES // 10 :], order[: SAMPLES // 10]
    deviation, mean = torch.std_mean(images[training])
    images = ((images - mean) / deviation).view(-1, 1, 28, 28)
    model = Network()

    def loss_of(rows):
        with side.autocast():
            logits = model(images.index_select(0, rows))
        return functional.cross_entropy(logits.float(), labels.index_select(0, rows))

    def try_format(memory_format):
        model.to(memory_format=memory_format)
        loss_of(training[: side.batch]).backward()

    formats = {"channels first": torch.contiguous_format, "channels last": torch.channels_last}
    chosen = side.fastest(formats, try_format)
    model.zero_grad(set_to_none=True)
    model.to(memory_format=formats[chosen])

    def validate():
        logits = torch.cat([model(images.index_select(0, rows)) for rows in validation.split(128)])
        wanted = labels[validation]
        return functional.cross_entropy(logits, wanted), (logits.argmax(1) == wanted).float().mean()

    side.train(chosen, training, side.optimizer(model, 0.004), loss_of, validate)


if __name__ == "__main__":
    main()
