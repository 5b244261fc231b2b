#!/usr/bin/python3
"""The torch side of the benchmark of small tables (see torch_training.py), with a SIZE: the width of the hidden layers.

10,000 rows of 20 columns, a tenth of them for validation; the target is a number. Two hidden layers with layer norm and
ReLU, as in studies/table.yaml. The model is run as it is, or traced by TorchScript, whichever is faster here, measured
before the start.
"""

import math

import torch
from torch.nn import functional
from torch_training import Side

ROWS, COLUMNS, WAVES, NOISE = 10000, 20, 4, 0.3


def table():
    """Rows as worker/data/synthetic.cpp makes them: a sum of sines along random directions, and noise."""
    generator = torch.Generator().manual_seed(1)
    directions = torch.randn(COLUMNS, WAVES, generator=generator) / math.sqrt(COLUMNS)
    rows = torch.randn(ROWS, COLUMNS, generator=generator)
    target = (rows @ directions).sin().sum(1, keepdim=True) * math.sqrt(2 / (1 - math.exp(-2)) / WAVES)
    return rows, target + NOISE * torch.randn(ROWS, 1, generator=generator)


def network(width):
    layers = []
    for inputs, outputs in ((COLUMNS, width), (width, width), (width, 1)):
        linear = torch.nn.Linear(inputs, outputs)
        bound = math.sqrt((6 if outputs > 1 else 1) / inputs)  # the initial weights of hpo's MLP
        torch.nn.init.uniform_(linear.weight, -bound, bound)
        torch.nn.init.zeros_(linear.bias)
        layers += [linear, torch.nn.LayerNorm(outputs), torch.nn.ReLU(inplace=True)] if outputs > 1 else [linear]
    return torch.nn.Sequential(*layers)


def main():
    side = Side()
    rows, targets = table()
    order = torch.randperm(ROWS)
    training, validation = order[ROWS // 10 :], order[: ROWS // 10]
    deviation, mean = torch.std_mean(rows[training], 0)
    rows = (rows - mean) / deviation
    model = network(side.sizes[0])
    optimizer = side.optimizer(model, 0.003)
    run = model

    def loss_of(chosen):
        with side.autocast():
            predicted = run(rows.index_select(0, chosen))
        return functional.mse_loss(predicted.float(), targets.index_select(0, chosen))

    def try_form(form):
        nonlocal run
        run = form
        for _ in range(100):
            loss_of(training[: side.batch]).backward()

    forms = {"as it is": model}
    if not side.narrow:  # traces do not follow autocast
        forms["traced"] = torch.jit.trace(model, rows[: side.batch])
    chosen = side.fastest(forms, try_form)
    run = forms[chosen]
    model.zero_grad(set_to_none=True)
    side.train(
        chosen, training, optimizer, loss_of, lambda: (functional.mse_loss(model(rows[validation]), targets[validation]), 0)
    )


if __name__ == "__main__":
    main()
