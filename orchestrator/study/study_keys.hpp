// The keys of a study file that `hpo keys` and docs/studies.md list, except those of the native worker
// (worker_keys.hpp) and the options of samplers and rules (their registries). NAME stands for a name that the study
// chooses.
#pragma once

#include <array>
#include <string_view>

namespace hpo::study {

struct StudyKey {
    std::string_view path;      ///< dotted, as in the file
    std::string_view fallback;  ///< default as written in YAML; if empty, see `meaning`
    std::string_view meaning;   ///< one line
};

// clang-format off
inline constexpr std::array study_keys{
    StudyKey{"study", "", "name of the study and of its folder: letters, digits, . _ -"},
    StudyKey{"seed", "1", "seed of the proposals and of every trial"},
    StudyKey{"repeats", "1", "seeds that a configuration is trained with at most, each a trial: those that may be the best get further ones, and count by their mean"},
    StudyKey{"objective.metric", "val_accuracy", "metric that ranks trials; regression: val_r2, multi-label and a table without a task: val_loss, a script: required"},
    StudyKey{"objective.direction", "", "minimize or maximize; known for the native worker's metrics"},
    StudyKey{"objective.at", "best", "step that gives a trial's value: best or last"},
    StudyKey{"objective", "", "several: a list such as [{metric: val_loss, direction: minimize}, {metric: latency, direction: minimize}]; trials then form a Pareto front"},
    StudyKey{"constraints", "[]", "bounds that the best must keep, such as [{metric: params, max: 1e6}]; max, min or both, inclusive"},
    StudyKey{"space.NAME.type", "", "float, int or categorical"},
    StudyKey{"space.NAME.low", "", "least value; included; a number, {parameter: NAME}, or an expression such as width / 2"},
    StudyKey{"space.NAME.high", "", "greatest value; included; as low"},
    StudyKey{"space.NAME.log", "false", "sample evenly over magnitudes"},
    StudyKey{"space.NAME.step", "", "distance between two values, from low on"},
    StudyKey{"space.NAME.choices", "", "values of a categorical parameter; lists and null are values too"},
    StudyKey{"space.NAME.role", "", "how the value scales with the batch size: batch_size, learning_rate, regularizer or none; default: by name"},
    StudyKey{"space.NAME.prior", "", "value that is expected to be good: it is tried first, and the search begins around it"},
    StudyKey{"space.NAME.spread", "0.1", "how far from prior good values may lie: a standard deviation, as a share of the range (on the logarithm's scale with log)"},
    StudyKey{"space.NAME.when", "", "condition: the parameter exists only if another parameter has one of these values"},
    StudyKey{"where", "[]", "conditions on parameters that every configuration keeps, one or a list: layers * width <= 4096"},
    StudyKey{"worker.command", "", "program and arguments of a script, with placeholders such as {lr}"},
    StudyKey{"worker.metrics.stdout", "", "regular expressions that find metrics in what the script prints"},
    StudyKey{"worker.metrics.file", "", "CSV or JSON Lines file that the script appends metrics to"},
    StudyKey{"worker.step", "1", "reports of the objective that make one step"},
    StudyKey{"worker.terminal", "auto", "give the script a pseudo-terminal, so that its output is not buffered: auto, on, off"},
    StudyKey{"worker.shim", "", "make the script import a stand-in for wandb or nni"},
    StudyKey{"worker.preload", "", "Python modules to import once per worker, from which trials are forked"},
    StudyKey{"worker.environment", "", "environment variables of the script; off: set only those for the GPU"},
    StudyKey{"worker.params", "", "fixed parameters of a script"},
    StudyKey{"worker.files.NAME", "", "file in each trial's folder, written from a template"},
    StudyKey{"worker.cwd", "", "working folder of a trial, such as {folder}; default: home"},
    StudyKey{"worker.home", "", "folder that relative paths start from, relative to the study file"},
    StudyKey{"budget.trials", "64", "number of trials in the study"},
    StudyKey{"budget.epochs", "20", "maximum number of steps of a trial; default for a script that is not told {steps}: it runs to its end"},
    StudyKey{"budget.time", "", "duration of the study over all its sessions, such as 30m"},
    StudyKey{"budget.patience", "", "end the study after this many trials without an improvement"},
    StudyKey{"start", "[]", "configurations to try first, such as [{lr: 0.001, width: 256}]; parameters that are left out are sampled"},
    StudyKey{"warm_start", "[]", "studies whose ended trials the sampler learns from: names, or folders"},
    StudyKey{"sampler.type", "auto", "name of the sampler"},
    StudyKey{"stopping", "", "auto (extrapolation, and divergence for the native worker), a list of rules such as [{rule: asha, grace: 1}], or [] for none; default: auto for at least 32 trials of 6 steps, but [] for a grid and for a script without budget.epochs"},
    StudyKey{"policy.min_batch_size", "auto", "smaller batch sizes are refused; auto: the largest power of two from 16 to 256 with which an epoch has at least 100 updates, or 16 where there is none; of a script, 256"},
    StudyKey{"policy.regularization", "scaled", "scaled: stronger regularization is sampled for larger batches; off: it does not depend on the batch size"},
    StudyKey{"resources.parallel", "auto", "trials at once: auto, a number, or a list with one number per device"},
    StudyKey{"resources.backend", "auto", "auto, cpu, cuda; opencl for the native worker"},
    StudyKey{"resources.devices", "auto", "UUIDs or numbers of `hpo devices`"},
    StudyKey{"resources.memory", "auto", "host memory for all trials together, such as 8GiB"},
    StudyKey{"resources.gpu_memory", "auto", "memory to use on each device, one size or a list"},
    StudyKey{"resources.gpu_reserve", "10%", "share of each device's memory to keep free"},
    StudyKey{"resources.slots", "auto", "native worker: trials with one fusion key that a worker trains side by side"},
    StudyKey{"resources.trial.memory", "", "scripts: host memory that a trial needs; default: learned"},
    StudyKey{"resources.trial.gpu_memory", "", "scripts: memory that a trial needs on each GPU; default: learned"},
    StudyKey{"resources.trial.cores", "1", "scripts: CPU cores of a trial"},
    StudyKey{"resources.trial.gpus", "1", "scripts: GPUs of a trial"},
    StudyKey{"resources.progress_timeout", "10m", "end a worker that makes no progress for longer"},
    StudyKey{"resources.grace", "5s", "time from SIGTERM to SIGKILL"},
    StudyKey{"resources.retries", "2", "further attempts after a worker died"},
    StudyKey{"keep.checkpoints", "best 5", "checkpoints of ended trials to keep: all, none or best N; scripts: all"},
    StudyKey{"keep.folders", "all", "folders of ended trials to keep: all, none or best N"},
};
// clang-format on

}  // namespace hpo::study
