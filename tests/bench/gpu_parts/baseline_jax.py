"""The JAX baseline of tests/bench/gpu: K equal trials, with vmap over trials and jit over 32 updates in a lax.scan.

    baseline_jax.py cuda|cpu BATCHES HIDDEN SECONDS COUNTS PREPARES

First it compiles for every batch and K, as long as PREPARES seconds last. Then, for each line on its standard input, it measures each of them for SECONDS: a
line of JSON with the trials' iterations a second, all K together, and at the end of a round a line {"round": N}. Samples lie on the device, each trial draws batches of its
own; AdamW with a learning rate per trial, cross-entropy, ReLU, dropout 0.1, float32 products (highest precision, no tf32);
weights and moments are donated, so that they are updated in place.
"""
import functools
import json
import os
import sys
import time

if sys.argv[1] == "cpu":
    os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp

BATCHES = [int(word) for word in sys.argv[2].split(",")]
HIDDEN = [int(word) for word in sys.argv[3].split(",")]
SECONDS = float(sys.argv[4])
COUNTS = [int(word) for word in sys.argv[5].split(",")]
UNTIL = time.monotonic() + float(sys.argv[6])
SAMPLES, FEATURES, CLASSES, LR, DECAY, DROPOUT, SCAN = 16384, 784, 10, 1e-3, 1e-2, 0.1, 32
jax.config.update("jax_default_matmul_precision", "highest")
VERSIONS = f"JAX {jax.__version__} on {jax.devices()[0].platform}"

images = jax.random.normal(jax.random.PRNGKey(1), (SAMPLES, FEATURES))
labels = jax.random.randint(jax.random.PRNGKey(2), (SAMPLES,), 0, CLASSES)


def begin(key):
    widths, layers = [FEATURES, *HIDDEN, CLASSES], []
    for inputs, outputs in zip(widths, widths[1:]):
        key, own = jax.random.split(key)
        layers.append((jax.random.uniform(own, (inputs, outputs), minval=-1, maxval=1) * (6 / inputs) ** 0.5, jnp.zeros(outputs)))
    return layers


def loss_of(weights, x, y, key):
    for number, (weight, bias) in enumerate(weights):
        x = x @ weight + bias
        if number + 1 < len(weights):
            key, own = jax.random.split(key)
            x = jax.nn.relu(x) * jax.random.bernoulli(own, 1 - DROPOUT, x.shape) / (1 - DROPOUT)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], 1))


def update_of(batch):
    def update(state, _):
        weights, first, second, count, key, lr = state
        key, rows_key, drop_key = jax.random.split(key, 3)
        rows = jax.random.randint(rows_key, (batch,), 0, SAMPLES)
        loss, gradient = jax.value_and_grad(loss_of)(weights, images[rows], labels[rows], drop_key)
        count = count + 1
        mapped = jax.tree_util.tree_map
        first = mapped(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
        second = mapped(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradient)
        weights = mapped(lambda w, m, v: w * (1 - lr * DECAY) - lr * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.999**count)) + 1e-8),
                         weights, first, second)
        return (weights, first, second, count, key, lr), loss

    return update


def prepared(batch, replicas):
    """Returns a function that gives the trials' iterations a second."""
    if time.monotonic() > UNTIL:
        raise TimeoutError(f"not prepared within {sys.argv[6]} s")

    def many(state):
        return jax.lax.scan(update_of(batch), state, None, length=SCAN)

    step = functools.partial(jax.jit, donate_argnums=0)(jax.vmap(many))
    keys = jax.random.split(jax.random.PRNGKey(3), replicas)
    weights = jax.vmap(begin)(keys)
    zeros = jax.tree_util.tree_map(jnp.zeros_like, weights)
    again = jax.tree_util.tree_map(jnp.zeros_like, weights)
    state = (weights, zeros, again, jnp.zeros(replicas), jnp.array(keys), jnp.full(replicas, LR))
    state, loss = step(state)
    loss.block_until_ready()

    def rate():
        nonlocal state
        state, loss = step(state)
        loss.block_until_ready()
        count, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < SECONDS:
            state, loss = step(state)
            loss.block_until_ready()
            count += SCAN * replicas
        return count / (time.perf_counter() - begun)

    return rate


def attempt(row, work):
    try:
        return work()
    except Exception as error:
        print(json.dumps(row | {"error": f"{type(error).__name__}: {error}".splitlines()[0]}), flush=True)


rows = [{"what": "JAX, vmap and jit", "batch": batch, "K": replicas} for batch in BATCHES for replicas in COUNTS]
forms = [(row, attempt(row, lambda: prepared(row["batch"], row["K"]))) for row in rows]
print(json.dumps({"round": 0}), flush=True)
for number, _ in enumerate(sys.stdin, 1):
    for row, rate in forms:
        if rate and (figure := attempt(row, rate)):
            print(json.dumps(row | {"rate": figure, "versions": VERSIONS}), flush=True)
    print(json.dumps({"round": number}), flush=True)
