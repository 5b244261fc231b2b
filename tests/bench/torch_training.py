"""The common part of the torch sides of the benchmarks of CNNs, tables and recurrent networks: the loop and the output.

A side is called with float32|bfloat16 loop|foreach [SIZE] BATCH EPOCHS REPEAT SEED. No data loader: the samples lie in
memory, and a batch is one index_select of a permutation. loop and foreach are the two forms of AdamW that torch has on a
CPU; bfloat16 is torch's autocast. Prints "ready", waits for a line on stdin, trains, prints one JSON line.
"""

import json
import sys
import time

import torch


class Side:
    def __init__(self):
        self.narrow = {"float32": False, "bfloat16": True}[sys.argv[1]]
        self.foreach = {"loop": False, "foreach": True}[sys.argv[2]]
        *self.sizes, self.batch, self.epochs, self.repeat, self.seed = (int(word) for word in sys.argv[3:])
        torch.set_num_threads(1)
        torch.manual_seed(2 * self.repeat + self.seed)

    def autocast(self):
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.narrow)

    def optimizer(self, model, lr):
        """Returns AdamW, which decays matrices and kernels by 0.01 and no other parameters."""
        groups = [([p for p in model.parameters() if p.dim() > 1], 0.01), ([p for p in model.parameters() if p.dim() < 2], 0.0)]
        return torch.optim.AdamW(
            [{"params": params, "weight_decay": decay} for params, decay in groups], lr=lr, foreach=self.foreach
        )

    def fastest(self, choices, run):
        """Returns the name of the choice with the shortest run(choice), which is given twice, the first to warm up."""
        times = {}
        for name, choice in choices.items():
            for _ in range(2):
                begin = time.perf_counter()
                run(choice)
                times[name] = time.perf_counter() - begin
        return min(times, key=times.get)

    def train(self, words, training, optimizer, loss_of, validate):
        """Trains on the samples with the indices `training`.

        loss_of(rows) is the loss of the samples with these indices. validate() returns the validation's loss and
        accuracy (or 0), and is not timed.
        """
        print("ready torch", torch.__version__, "foreach" if self.foreach else "loop", words, flush=True)
        sys.stdin.readline()
        iterations = len(training) // self.batch
        begin, begun = time.perf_counter(), time.process_time()
        for _ in range(self.epochs):
            order = training[torch.randperm(len(training))]
            losses = torch.zeros(iterations)
            for i in range(iterations):
                loss = loss_of(order[i * self.batch : (i + 1) * self.batch])
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                losses[i] = loss.detach()
        seconds, processor = time.perf_counter() - begin, time.process_time() - begun
        with torch.no_grad():
            validation_loss, validation_accuracy = validate()
        result = {
            "iterations_per_second": iterations * self.epochs / seconds,
            "per_processor_second": iterations * self.epochs / processor,
            "iterations": iterations * self.epochs,
            "loss": losses.mean().item(),
            "validation_loss": float(validation_loss),
            "validation_accuracy": float(validation_accuracy),
        }
        print(json.dumps(result))
