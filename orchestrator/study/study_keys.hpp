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
    StudyKey{"repeats", "1", "seeds per configuration, at most; the candidates for the best get further ones and rank by their mean"},
    StudyKey{"objective.metric", "val_accuracy", "metric that ranks trials; a script must state it; default for regression val_r2, multi-label val_loss"},
    StudyKey{"objective.direction", "", "minimize or maximize; required unless the metric is one of the native worker's"},
    StudyKey{"objective.at", "best", "step whose value counts for the trial: best or last"},
    StudyKey{"objective", "", "several: [{metric: loss, direction: minimize}, {metric: params, direction: minimize}]; see Pareto front"},
    StudyKey{"constraints", "[]", "bounds that the best trial must keep, such as [{metric: params, max: 1e6}]; min, max or both, inclusive"},
    StudyKey{"space.NAME.type", "", "float, int or categorical"},
    StudyKey{"space.NAME.low", "", "least value, included: a number, {parameter: NAME}, or an expression such as width / 2"},
    StudyKey{"space.NAME.high", "", "greatest value, included; as low"},
    StudyKey{"space.NAME.log", "false", "sample evenly over magnitudes"},
    StudyKey{"space.NAME.step", "", "distance between neighbouring values, counted from low"},
    StudyKey{"space.NAME.choices", "", "values of a categorical parameter; lists and null are values too"},
    StudyKey{"space.NAME.role", "", "effect of the batch size: batch_size, learning_rate, regularizer or none; default: by name"},
    StudyKey{"space.NAME.prior", "", "value that you expect to be good: it is tried first, and the search starts around it"},
    StudyKey{"space.NAME.spread", "0.1", "standard deviation of good values around prior, as a share of the range (of its logarithm with log)"},
    StudyKey{"space.NAME.when", "", "condition: the parameter exists only if another parameter has one of these values"},
    StudyKey{"where", "[]", "conditions that every configuration must keep, one or a list: layers * width <= 4096"},
    StudyKey{"worker.command", "", "program and arguments of a script, with placeholders such as {lr}"},
    StudyKey{"worker.metrics.stdout", "", "regular expressions that find metrics in the script's output"},
    StudyKey{"worker.metrics.file", "", "CSV or JSON Lines file to which the script appends metrics"},
    StudyKey{"worker.step", "1", "reports of the objective that make one step"},
    StudyKey{"worker.terminal", "auto", "give the script a pseudo-terminal, so that its output is not buffered: auto, on, off"},
    StudyKey{"worker.shim", "", "make the script import a stand-in for wandb or nni"},
    StudyKey{"worker.preload", "", "Python modules that a worker imports once; trials are forked from that process"},
    StudyKey{"worker.environment", "", "environment variables of the script; off: set the GPU's variables only"},
    StudyKey{"worker.params", "", "fixed parameters of a script"},
    StudyKey{"worker.files.NAME", "", "file in each trial's folder, written from a template"},
    StudyKey{"worker.cwd", "", "working folder of a trial, such as {folder}; default: home"},
    StudyKey{"worker.home", "", "folder of relative paths, itself relative to the study file"},
    StudyKey{"budget.trials", "64", "number of trials in the study"},
    StudyKey{"budget.epochs", "20", "most steps of a trial; a script that is not given {steps} runs to its end by default"},
    StudyKey{"budget.time", "", "duration of the study over all its sessions, such as 30m"},
    StudyKey{"budget.patience", "", "end the study after this many trials without an improvement"},
    StudyKey{"start", "[]", "configurations to try first, such as [{lr: 0.001, width: 256}]; missing parameters are sampled"},
    StudyKey{"warm_start", "[]", "studies whose ended trials the sampler learns from: names, or folders"},
    StudyKey{"sampler.type", "auto", "name of the sampler"},
    StudyKey{"stopping", "", "auto, a list such as [{rule: asha, grace: 1}], or [] for none; default: auto for 32 trials of 6 steps or more"},
    StudyKey{"policy.min_batch_size", "auto", "least batch size; auto: the largest power of two from 16 to 256 with 100 updates an epoch; script: 256"},
    StudyKey{"policy.regularization", "scaled", "scaled: sample stronger regularization for larger batches; off: independent of the batch size"},
    StudyKey{"resources.parallel", "auto", "trials at once: auto, a number, or a list with one number per device"},
    StudyKey{"resources.backend", "auto", "auto, cpu, cuda; opencl for the native worker"},
    StudyKey{"resources.devices", "auto", "UUIDs, or numbers as in `hpo devices`"},
    StudyKey{"resources.memory", "auto", "host memory for all trials together, such as 8GiB"},
    StudyKey{"resources.gpu_memory", "auto", "memory to use on each device: one size, or a list"},
    StudyKey{"resources.gpu_reserve", "10%", "share of each device's memory to keep free"},
    StudyKey{"resources.slots", "auto", "native worker: trials with the same fusion key that a GPU worker trains side by side"},
    StudyKey{"resources.trial.memory", "", "scripts: host memory that a trial needs; default: learned"},
    StudyKey{"resources.trial.gpu_memory", "", "scripts: memory that a trial needs on each GPU; default: learned"},
    StudyKey{"resources.trial.cores", "1", "scripts: CPU cores of a trial"},
    StudyKey{"resources.trial.gpus", "1", "scripts: GPUs of a trial"},
    StudyKey{"resources.progress_timeout", "10m", "time without progress after which a worker is ended"},
    StudyKey{"resources.grace", "5s", "time from SIGTERM to SIGKILL"},
    StudyKey{"resources.retries", "2", "further attempts after a worker died"},
    StudyKey{"keep.checkpoints", "best 5", "checkpoints of ended trials to keep: all, none or best N; scripts: all"},
    StudyKey{"keep.folders", "all", "folders of ended trials to keep: all, none or best N"},
};
// clang-format on

}  // namespace hpo::study
