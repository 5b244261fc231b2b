"""The torch baseline of tests/bench/gpu: K equal trials on one device, in each way that torch offers.

    baseline_torch.py cuda|cpu BATCHES HIDDEN SECONDS COUNTS PREPARES

First it prepares (compiles) every form for every batch and K, as long as PREPARES seconds last. Then, for each line on its standard input, it measures each
of them for SECONDS: a line of JSON with the trials' iterations a second, all K together, and at the end of a round a line
{"round": N}. So a caller can take turns with other programs on the device. Samples lie on the device, each trial draws
batches of its own; AdamW, cross-entropy, ReLU, dropout 0.1, float32 products (no tf32), as hpo's. Forms: eager with the fused
optimizer; CUDA graphs of a whole update (torch.cuda.make_graphed_callables' way by hand); torch.compile with CUDA graphs
(mode reduce-overhead); an ensemble by torch.func (vmap over stacked parameters, AdamW in place by hand), compiled where it can be.
"""
import json
import sys
import time

import torch

device = torch.device(sys.argv[1])
BATCHES = [int(word) for word in sys.argv[2].split(",")]
HIDDEN = [int(word) for word in sys.argv[3].split(",")]
SECONDS = float(sys.argv[4])
COUNTS = [int(word) for word in sys.argv[5].split(",")]
UNTIL = time.monotonic() + float(sys.argv[6])
SAMPLES, FEATURES, CLASSES, LR, DECAY, DROPOUT = 16384, 784, 10, 1e-3, 1e-2, 0.1
ON_GPU = device.type == "cuda"
VERSIONS = f"torch {torch.__version__}" + (f", CUDA {torch.version.cuda}" if ON_GPU else "")

torch.manual_seed(1)
images = torch.randn(SAMPLES, FEATURES, device=device)
labels = torch.randint(0, CLASSES, (SAMPLES,), device=device)


class PlainDropout(torch.nn.Dropout):
    """Dropout of operations that vmap takes everywhere. torch's own is fused on a GPU; on a CPU, vmap may refuse its randomness."""

    def forward(self, x):
        return x * (torch.rand_like(x) >= self.p) / (1 - self.p)


def network(dropout=torch.nn.Dropout):
    layers, widths = [], [FEATURES, *HIDDEN]
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU(), dropout(DROPOUT)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(widths[-1], CLASSES)).to(device)


def wait():
    if ON_GPU:
        torch.cuda.synchronize()


def warmed(update, warm=3):
    """Returns `update`, executed a few times."""
    for _ in range(warm):
        update()
    wait()
    return update


def rate_of(update):
    """Returns the updates per second."""
    update()
    wait()
    count, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < SECONDS:
        for _ in range(10 if ON_GPU else 1):
            update()
            count += 1
        wait()
    return count / (time.perf_counter() - begun)


FORMS = []  # what, batch, K, an update of all K trials


def attempt(what, batch, replicas, work, then):
    try:
        then(work())
    except Exception as error:
        words = f"{type(error).__name__}: {error}".splitlines()[0]
        print(json.dumps({"what": what, "batch": batch, "K": replicas, "error": words}), flush=True)
        if ON_GPU:
            torch.cuda.empty_cache()


def prepare(what, batch, replicas, work):
    def in_time():
        if time.monotonic() > UNTIL:
            raise TimeoutError(f"not prepared within {sys.argv[6]} s")
        return work()

    attempt(what, batch, replicas, in_time, lambda update: FORMS.append((what, batch, replicas, update)))


def measure():
    for what, batch, replicas, update in FORMS:
        attempt(what, batch, replicas, lambda: replicas * rate_of(update), lambda rate: print(json.dumps(
            {"what": what, "batch": batch, "K": replicas, "rate": rate, "versions": VERSIONS}), flush=True))


def optimizer_of(model, **more):
    options = {"fused": True} if ON_GPU else {"foreach": True}
    return torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=DECAY, **options, **more)


def step_of(model, criterion, rows):
    return criterion(model(images.index_select(0, rows)), labels.index_select(0, rows))


def eager(batch):
    model, criterion = network(), torch.nn.CrossEntropyLoss()
    optimizer = optimizer_of(model)

    def update():
        loss = step_of(model, criterion, torch.randint(0, SAMPLES, (batch,), device=device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return warmed(update)


def graphed(batch):
    """Captures the update of one trial as a CUDA graph."""
    model, criterion = network(), torch.nn.CrossEntropyLoss()
    optimizer = optimizer_of(model, capturable=True)
    rows = torch.zeros(batch, dtype=torch.long, device=device)

    def work():
        rows.random_(0, SAMPLES)
        optimizer.zero_grad(set_to_none=True)
        step_of(model, criterion, rows).backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(5):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return warmed(graph.replay)


def compiled(batch):
    model, criterion = network(), torch.nn.CrossEntropyLoss()
    optimizer = optimizer_of(model)
    forward = torch.compile(lambda rows: step_of(model, criterion, rows), mode="reduce-overhead" if ON_GPU else "default")

    def update():
        loss = forward(torch.randint(0, SAMPLES, (batch,), device=device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return warmed(update, 8)


def ensemble(batch, replicas, compile_it, dropout=torch.nn.Dropout):
    """Trains all K trials at once: vmap over stacked parameters, with AdamW in place on the stacks."""
    from torch.func import functional_call, grad, stack_module_state, vmap

    models = [network(dropout) for _ in range(replicas)]
    weights, buffers = stack_module_state(models)
    template = models[0]
    weights = {name: value.detach().clone() for name, value in weights.items()}
    first = {name: torch.zeros_like(value) for name, value in weights.items()}
    second = {name: torch.zeros_like(value) for name, value in weights.items()}
    rates = torch.full((replicas,), LR, device=device)  # one for each trial
    count = torch.zeros((), device=device)

    def loss_of(values, x, y):
        return torch.nn.functional.cross_entropy(functional_call(template, (values, {}), (x,)), y)

    gradient_of = vmap(grad(loss_of), in_dims=(0, 0, 0), randomness="different")

    def samples(rows):
        flat = rows.reshape(-1)
        return images.index_select(0, flat).view(replicas, batch, FEATURES), labels.index_select(0, flat).view(replicas, batch)

    def work(rows):
        gradients = gradient_of(weights, *samples(rows))
        count.add_(1)
        correction1, correction2 = 1 - 0.9**count, 1 - 0.999**count
        for name, g in gradients.items():
            shape = (replicas,) + (1,) * (g.dim() - 1)
            lr = rates.view(shape)
            first[name].mul_(0.9).add_(g, alpha=0.1)
            second[name].mul_(0.999).addcmul_(g, g, value=0.001)
            weights[name].mul_(1 - lr * DECAY)
            weights[name].sub_(lr * (first[name] / correction1) / ((second[name] / correction2).sqrt() + 1e-8))

    update = torch.compile(work) if compile_it else work
    with torch.no_grad():
        rows = torch.zeros(replicas, batch, dtype=torch.long, device=device)
        try:
            gradient_of(weights, *samples(rows))
        except RuntimeError as error:
            if dropout is PlainDropout or "randomness" not in str(error):
                raise
            return ensemble(batch, replicas, compile_it, PlainDropout)
        if not ON_GPU:
            return warmed(torch.no_grad()(lambda: update(rows.random_(0, SAMPLES))))
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(5):
                update(rows.random_(0, SAMPLES))
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            rows.random_(0, SAMPLES)
            update(rows)
        return warmed(graph.replay)


def main():
    can_compile = hasattr(torch, "compile")
    has_functions = hasattr(torch, "func")
    if not ON_GPU:
        torch.set_num_threads(1)
    for batch in BATCHES:  # forms that compile come last
        prepare("torch, eager", batch, 1, lambda: eager(batch))
        if ON_GPU:
            prepare("torch, CUDA graph", batch, 1, lambda: graphed(batch))
    ensembles = [replicas for replicas in COUNTS if replicas > 1 and has_functions]
    name = "torch.func" + (", CUDA graph" if ON_GPU else "")
    for batch in BATCHES:
        for replicas in ensembles:
            prepare(name, batch, replicas, lambda: ensemble(batch, replicas, False))
    for batch in BATCHES if can_compile else []:
        for replicas in ensembles:
            prepare(name + ", compiled", batch, replicas, lambda: ensemble(batch, replicas, True))
        prepare("torch.compile", batch, 1, lambda: compiled(batch))
    if not has_functions:
        print(json.dumps({"what": "torch.func", "batch": BATCHES[0], "K": COUNTS[-1], "error": f"{VERSIONS} has none"}), flush=True)
    print(json.dumps({"round": 0}), flush=True)
    for number, _ in enumerate(sys.stdin, 1):
        measure()
        print(json.dumps({"round": number}), flush=True)


main()
