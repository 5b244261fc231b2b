#!/usr/bin/python3
"""The torch side of the benchmark of recurrent networks (see torch_training.py), with a SIZE: the width of the states.

Two layers of GRU over 60 tokens, each of which predicts the next one. The tokens are those of transformer_torch.py.
"""

import math

import torch
from torch.nn import functional
from torch_training import Side
from transformer_torch import SAMPLES, VOCABULARY, sequences

DEPTH = 2


class Network(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, width)
        self.gru = torch.nn.GRU(width, width, DEPTH, batch_first=True)
        self.head = torch.nn.Linear(width, VOCABULARY)
        torch.nn.init.uniform_(self.tokens.weight, -math.sqrt(3), math.sqrt(3))  # as hpo's
        for parameter in [*self.gru.parameters(), *self.head.parameters()]:
            bound = 1 / math.sqrt(width) if parameter.dim() > 1 else 0
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, tokens):
        return self.head(self.gru(self.tokens(tokens))[0])


def main():
    side = Side()
    generator = torch.Generator().manual_seed(1)
    tokens = sequences(SAMPLES, torch.randperm(VOCABULARY, generator=generator), generator)
    order = torch.arange(SAMPLES)
    training, validation = order[SAMPLES // 10 :], order[: SAMPLES // 10]
    model = Network(side.sizes[0])

    def loss_of(rows):
        chosen = tokens.index_select(0, rows)
        with side.autocast():
            logits = model(chosen[:, :-1])
        return functional.cross_entropy(logits.float().reshape(-1, VOCABULARY), chosen[:, 1:].reshape(-1))

    def validate():
        logits = torch.cat([model(tokens[rows, :-1]) for rows in validation.split(128)])
        wanted = tokens[validation, 1:]
        loss = functional.cross_entropy(logits.view(-1, VOCABULARY), wanted.reshape(-1))
        return loss, (logits.argmax(2) == wanted).float().mean()

    side.train("", training, side.optimizer(model, 0.002), loss_of, validate)


if __name__ == "__main__":
    main()
