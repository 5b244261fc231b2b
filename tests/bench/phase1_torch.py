"""A process of the searches with torch of tests/bench/phase1.

    phase1_torch.py hyperband|random|first-3 JOURNAL LIMIT SEED PROCESS PRECISION
    phase1_torch.py speed PRECISION    # prints the updates a second of a typical trial

Trains trials of the space of studies/phase1.yaml until 64 trials have begun in both processes together, or LIMIT seconds
are over, and prints a line of JSON an epoch: the time and the validation accuracy. The two processes share an Optuna
study in the file JOURNAL. first-3 takes the accuracies after one epoch from there. PRECISION is float32, or bfloat16 for
torch's autocast.
"""

import gzip
import json
import math
import sys
import time

import numpy
import optuna
import torch

DATA = "/usr/share/datasets/fashion-mnist/"
EPOCHS, TRIALS = 20, 64
BEGUN = time.time()


def images_and_labels():
    with gzip.open(DATA + "train-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 784)
    with gzip.open(DATA + "train-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return torch.from_numpy(images.astype(numpy.float32)), torch.from_numpy(labels.astype(numpy.int64))


def configuration(trial):
    config = {
        "batch_size": trial.suggest_int("batch_size", 256, 4096, log=True),
        "lr": trial.suggest_float("lr", 3e-4, 3e-2, log=True),
        "warmup": trial.suggest_float("warmup", 0, 3),
        "weight_decay": trial.suggest_float("weight_decay", 1e-3, 3e-1, log=True),
        "dropout": trial.suggest_float("dropout", 0.05, 0.5),
        "label_smoothing": trial.suggest_float("label_smoothing", 0, 0.15),
        "width": trial.suggest_int("width", 320, 512, step=64),
        "depth": trial.suggest_int("depth", 2, 3),
        "activation": trial.suggest_categorical("activation", ["relu", "gelu"]),
        "optimizer": trial.suggest_categorical("optimizer", ["adamw", "sgd"]),
    }
    if config["optimizer"] == "sgd":
        config["momentum"] = trial.suggest_float("momentum", 0.8, 0.99)
    return config


class Training:
    def __init__(self, config, images, labels, training, validation, narrow):
        self.narrow = narrow
        self.config, self.images, self.labels = config, images, labels
        self.training, self.validation = training, validation
        widths = [784] + [config["width"]] * config["depth"] + [10]
        layers = []
        for inputs, outputs in zip(widths, widths[1:]):
            linear = torch.nn.Linear(inputs, outputs)
            last = outputs == 10
            bound = math.sqrt((1 if last else 6) / inputs)
            torch.nn.init.uniform_(linear.weight, -bound, bound)
            torch.nn.init.zeros_(linear.bias)
            layers.append(linear)
            if not last:
                layers.append(torch.nn.ReLU(inplace=True) if config["activation"] == "relu" else torch.nn.GELU())
                layers.append(torch.nn.Dropout(config["dropout"]))
        self.model = torch.nn.Sequential(*layers)
        groups = [{"params": [p for p in self.model.parameters() if p.dim() == 2], "weight_decay": config["weight_decay"]},
                  {"params": [p for p in self.model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
        if config["optimizer"] == "adamw":
            self.optimizer = torch.optim.AdamW(groups, lr=config["lr"], foreach=True)
        else:
            self.optimizer = torch.optim.SGD(groups, lr=config["lr"], momentum=config["momentum"], foreach=True)
        self.criterion = torch.nn.CrossEntropyLoss(label_smoothing=config["label_smoothing"])
        self.steps = len(training) // config["batch_size"]
        self.step = 0

    def epoch(self):
        """Trains an epoch with warmup and a cosine schedule over all epochs. Returns the validation accuracy."""
        batch, total = self.config["batch_size"], EPOCHS * self.steps
        warmup = self.config["warmup"] * self.steps
        self.model.train()
        order = self.training[torch.randperm(len(self.training))]
        for i in range(self.steps):
            share = (self.step + 1) / warmup if self.step < warmup else 0.5 * (
                1 + math.cos(math.pi * (self.step - warmup) / (total - warmup)))
            for group in self.optimizer.param_groups:
                group["lr"] = self.config["lr"] * share
            rows = order[i * batch : (i + 1) * batch]
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.narrow):
                predicted = self.model(self.images.index_select(0, rows))
            loss = self.criterion(predicted.float(), self.labels.index_select(0, rows))
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            self.step += 1
        self.model.eval()
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.narrow):
            predicted = self.model(self.images[self.validation]).argmax(1)
        return (predicted == self.labels[self.validation]).float().mean().item()


def speed(precision):
    """Returns the updates a second of a trial in the middle of the space, by CPU time."""
    torch.set_num_threads(1)
    config = {"batch_size": 1024, "lr": 3e-3, "warmup": 1, "weight_decay": 0.02, "dropout": 0.3, "label_smoothing": 0.1,
              "width": 448, "depth": 3, "activation": "relu", "optimizer": "adamw"}
    count = 10 * config["batch_size"]
    images, labels = torch.rand(count, 784), torch.randint(0, 10, (count,))
    run = Training(config, images, labels, torch.arange(count), torch.arange(10), precision == "bfloat16")
    run.epoch()
    begun = time.process_time()
    run.epoch()
    return run.steps / (time.process_time() - begun)


def main():
    if sys.argv[1] == "speed":
        return print(speed(sys.argv[2]))
    player, journal, limit = sys.argv[1], sys.argv[2], float(sys.argv[3])
    seed, process, narrow = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6] == "bfloat16"
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    torch.set_num_threads(1)
    images, labels = images_and_labels()
    order = torch.from_numpy(numpy.random.RandomState(seed).permutation(len(images)))
    training, validation = order[6000:], order[:6000]
    deviation, mean = torch.std_mean(images[training])
    images = (images - mean) / deviation
    sampler_seed = 1000 * seed + process
    study = optuna.create_study(
        study_name="phase1", direction="maximize", load_if_exists=True,
        storage=optuna.storages.JournalStorage(optuna.storages.JournalFileStorage(journal)),
        sampler=optuna.samplers.TPESampler(seed=sampler_seed, constant_liar=True) if player == "hyperband"
        else optuna.samplers.RandomSampler(seed=sampler_seed),
        pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=EPOCHS) if player == "hyperband"
        else optuna.pruners.NopPruner())

    def report(accuracy):
        print(json.dumps({"time": time.time(), "accuracy": accuracy}), flush=True)

    def over():
        return time.time() - BEGUN > limit

    while not over():
        trial = study.ask()
        if trial.number >= TRIALS:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            break
        torch.manual_seed(trial.number)
        config = configuration(trial)
        run = Training(config, images, labels, training, validation, narrow)
        best, state = 0.0, optuna.trial.TrialState.COMPLETE
        for epoch in range(1, 1 + (1 if player == "first-3" else EPOCHS)):
            accuracy = run.epoch()
            best = max(best, accuracy)
            report(accuracy)
            trial.report(accuracy, epoch)
            if over():
                break
            if epoch < EPOCHS and trial.should_prune():
                state = optuna.trial.TrialState.PRUNED
                break
        study.tell(trial, best if state == optuna.trial.TrialState.COMPLETE else None, state)
    if player != "first-3" or over():
        return
    while study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.RUNNING,)):  # the other process's last trial
        time.sleep(0.2)
    ended = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    chosen = sorted(ended, key=lambda trial: -trial.value)[:3]
    for place, trial in enumerate(chosen):
        try:  # each is trained by the process that is free first
            open(f"{journal}.{place}", "x").close()
        except FileExistsError:
            continue
        torch.manual_seed(trial.number)
        run = Training(configuration(optuna.trial.FixedTrial(trial.params)), images, labels, training, validation, narrow)
        for _ in range(EPOCHS):
            report(run.epoch())
            if over():
                return


main()
