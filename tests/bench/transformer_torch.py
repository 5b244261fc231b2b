"""The baseline of the transformer benchmark: the same training in torch, tuned (see run for the environment).

    transformer_torch.py float32|bfloat16 loop|foreach WIDTH BATCH EPOCHS REPEAT SEED

A causal transformer over 60 tokens: pre-norm, learned positions, exact GELU, four blocks without biases, a head with
one. No data loader: tokens lie in memory, a batch is one index_select. Attention is torch's own function for it, or
explicit products with a mask, whichever is faster here (measured before the start). Prints "ready", waits for a line on
stdin, trains, prints one JSON line.
"""

import json
import math
import sys
import time

import torch
from torch.nn import functional

STEPS, VOCABULARY, DEPTH = 60, 96, 4


def sequences(count, follows, generator):
    """Tokens as worker/data/synthetic.cpp makes them: the token two steps back tells the next, but for one of eight."""
    tokens = torch.randint(VOCABULARY, (count, STEPS + 1), generator=generator)
    free = torch.randint(8, (count, STEPS + 1), generator=generator) == 0
    for step in range(2, STEPS + 1):
        tokens[:, step] = torch.where(free[:, step], tokens[:, step], follows[tokens[:, step - 2]])
    return tokens


def explicit_attention(q, k, v, mask):
    scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=1 / math.sqrt(q.shape[2]))
    return torch.softmax(scores, 2) @ v


def own_attention(q, k, v, mask):
    return functional._scaled_dot_product_attention(q, k, v, is_causal=True)[0]


class Block(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)])
        sizes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
        self.linears = torch.nn.ModuleList([torch.nn.Linear(i, o, bias=False) for i, o in sizes])
        for number, linear in enumerate(self.linears):
            bound = math.sqrt(3 / linear.in_features) / (math.sqrt(2 * DEPTH) if number % 2 else 1)
            torch.nn.init.uniform_(linear.weight, -bound, bound)

    def forward(self, x, attend, mask):
        batch, steps, width = x.shape
        parts = self.linears[0](self.norms[0](x)).view(batch, steps, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).reshape(3, batch * self.heads, steps, width // self.heads)
        attended = attend(q, k, v, mask).view(batch, self.heads, steps, width // self.heads)
        x = x + self.linears[1](attended.transpose(1, 2).reshape(batch, steps, width))
        return x + self.linears[3](functional.gelu(self.linears[2](self.norms[1](x))))


class Transformer(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokens = torch.nn.Embedding(VOCABULARY, width)
        self.positions = torch.nn.Parameter(torch.empty(STEPS, width))
        self.blocks = torch.nn.ModuleList([Block(width, width // 64 if width > 256 else 4) for _ in range(DEPTH)])
        self.norm = torch.nn.LayerNorm(width)
        self.head = torch.nn.Linear(width, VOCABULARY)
        for table in (self.tokens.weight, self.positions):
            torch.nn.init.uniform_(table, -0.02 * math.sqrt(3), 0.02 * math.sqrt(3))
        torch.nn.init.uniform_(self.head.weight, -1 / math.sqrt(width), 1 / math.sqrt(width))
        torch.nn.init.zeros_(self.head.bias)
        self.mask = torch.full((STEPS, STEPS), -math.inf).triu(1)
        self.attend = explicit_attention

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        for block in self.blocks:
            x = block(x, self.attend, self.mask.to(x.dtype))
        return self.head(self.norm(x))


def fastest_attention(model, tokens, narrow):
    times = {}
    for attend in (explicit_attention, own_attention):
        model.attend = attend
        for _ in range(2):
            begin = time.perf_counter()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                model(tokens).float().sum().backward()
            times[attend] = time.perf_counter() - begin
    model.zero_grad(set_to_none=True)
    return min(times, key=times.get)


def main():
    narrow = {"float32": False, "bfloat16": True}[sys.argv[1]]
    foreach = {"loop": False, "foreach": True}[sys.argv[2]]
    width, batch, epochs, repeat, seed = (int(word) for word in sys.argv[3:])
    torch.set_num_threads(1)
    torch.manual_seed(2 * repeat + seed)
    generator = torch.Generator().manual_seed(1)
    follows = torch.randperm(VOCABULARY, generator=generator)
    samples = 8192 if width < 512 else 640  # as training.cpp
    tokens = sequences(samples, follows, generator)
    training, validation = tokens[samples // 10 :], tokens[: samples // 10]
    model = Transformer(width)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() == 1]
    rate = 0.0003 if width > 256 else 0.001  # as training.cpp
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}], lr=rate, foreach=foreach
    )
    model.attend = fastest_attention(model, training[:batch, :-1], narrow)

    print("ready torch", torch.__version__, model.attend.__name__, flush=True)
    sys.stdin.readline()
    iterations = len(training) // batch
    begin, begun = time.perf_counter(), time.process_time()
    for _ in range(epochs):
        order = torch.randperm(len(training))
        losses = torch.zeros(iterations)
        for i in range(iterations):
            rows = training.index_select(0, order[i * batch : (i + 1) * batch])
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=narrow):
                logits = model(rows[:, :-1])
            loss = functional.cross_entropy(logits.float().view(-1, VOCABULARY), rows[:, 1:].reshape(-1))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses[i] = loss.detach()
    seconds, processor = time.perf_counter() - begin, time.process_time() - begun
    with torch.no_grad():
        logits = torch.cat([model(rows[:, :-1]) for rows in validation.split(128)])
        wanted = validation[:, 1:]
        print(
            json.dumps(
                {
                    "iterations_per_second": iterations * epochs / seconds,
                    "per_processor_second": iterations * epochs / processor,
                    "iterations": iterations * epochs,
                    "loss": losses.mean().item(),
                    "validation_loss": functional.cross_entropy(logits.view(-1, VOCABULARY), wanted.reshape(-1)).item(),
                    "validation_accuracy": (logits.argmax(2) == wanted).float().mean().item(),
                }
            )
        )


if __name__ == "__main__":
    main()
