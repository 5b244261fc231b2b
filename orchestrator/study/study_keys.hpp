// The keys of a study file that `hpo keys` and docs/studies.md list, except those of the native worker
// (worker_keys.hpp) and the options of samplers and rules (their registries). NAME stands for a name that the study
// chooses.
#pragma once

#include <array>
#include <string_view>

namespace hpo::study {

struct StudyKey {
    std::string_view path;      ///< dotted, as in the file
    std::string_view form;      ///< forms of its value for an editor (schema.hpp)
    std::string_view fallback;  ///< default as written in YAML; if empty, see `meaning`
    std::string_view meaning;   ///< one line
};

// clang-format off
inline constexpr std::array study_keys{
    StudyKey{"study", "<name>", "", "name of the study and of its folder: letters, digits, . _ -"},
    StudyKey{"seed", "<integer 0 9007199254740992>", "1", "seed of the proposals and of every trial"},
    StudyKey{"repeats", "<integer 1 100>", "1", "largest number of seeds per configuration; candidates for the best get further seeds and rank by the mean"},
    StudyKey{"objective.metric", "<text>", "val_accuracy", "metric that ranks trials; a script must state it; default for regression val_r2, multi-label val_loss"},
    StudyKey{"objective.direction", "minimize|maximize", "", "minimize or maximize; required unless the metric is one of the native worker's"},
    StudyKey{"objective.at", "best|last", "best", "step whose value counts for the trial: best or last"},
    StudyKey{"objective", "[<same>]", "", "several: [{metric: loss, direction: minimize}, {metric: params, direction: minimize}]; see Pareto front"},
    StudyKey{"constraints", "[<constraint>]|<null>", "[]", "bounds that the best trial must keep, such as [{metric: params, max: 1e6}]; min, max or both, inclusive"},
    StudyKey{"space.NAME.type", "float|int|categorical", "", "float, int or categorical"},
    StudyKey{"space.NAME.low", "<number>|<text>|<map>", "", "smallest value, included: a number, {parameter: NAME}, or an expression such as width / 2"},
    StudyKey{"space.NAME.high", "<number>|<text>|<map>", "", "largest value, included; as low"},
    StudyKey{"space.NAME.log", "<flag>", "false", "sample evenly over magnitudes"},
    StudyKey{"space.NAME.step", "<number 0>", "", "distance between neighbouring values, counted from low"},
    StudyKey{"space.NAME.choices", "[<value>]", "", "values of a categorical parameter; lists and null are values too"},
    StudyKey{"space.NAME.role", "batch_size|learning_rate|regularizer|none", "", "effect of the batch size: batch_size, learning_rate, regularizer or none; default: by name"},
    StudyKey{"space.NAME.prior", "<value>", "", "value expected to be good: it is tried first, and the search starts around it"},
    StudyKey{"space.NAME.spread", "<number 0.01 1>", "0.1", "standard deviation of good values around prior, as a share of the range (of its logarithm with log)"},
    StudyKey{"space.NAME.when", "<map>", "", "condition: the parameter exists only if another parameter has one of these values"},
    StudyKey{"where", "<text>|[<text>]|<null>", "[]", "conditions that every configuration must keep, one or a list: layers * width <= 4096"},
    StudyKey{"worker.command", "[<text>|[<text>]]", "", "program and arguments of a script, with placeholders such as {lr}"},
    StudyKey{"worker.metrics.stdout", "<text>|[<text>]|<null>", "", "regular expressions that find metrics in the script's output"},
    StudyKey{"worker.metrics.file", "<text>|<null>", "", "CSV or JSON Lines file to which the script appends metrics"},
    StudyKey{"worker.step", "<integer 1 1e6>", "1", "reports of the objective that make one step"},
    StudyKey{"worker.terminal", "auto|on|off", "auto", "give the script a pseudo-terminal, so that its output is not buffered: auto, on, off"},
    StudyKey{"worker.shim", "wandb|nni|<null>", "", "make the script import a stand-in for wandb or nni"},
    StudyKey{"worker.preload", "<text>|[<text>]|<null>", "", "Python modules that a worker imports once; trials are forked from that process"},
    StudyKey{"worker.environment", "off|<map>|<null>", "", "environment variables of the script; off: set the GPU's variables only"},
    StudyKey{"worker.params", "<map>|<null>", "", "fixed parameters of a script"},
    StudyKey{"worker.files.NAME", "<text>|<map>", "", "file in each trial's folder, written from a template"},
    StudyKey{"worker.cwd", "<text>|<null>", "", "working folder of a trial, such as {folder}; default: home"},
    StudyKey{"worker.home", "<text>|<null>", "", "folder of relative paths, itself relative to the study file"},
    StudyKey{"budget.trials", "<integer 1 1e6>", "64", "number of trials in the study; with time alone: as many as it allows"},
    StudyKey{"budget.epochs", "<integer 1 1e6>", "20", "largest number of steps of a trial; default for a script without {steps}: until it ends"},
    StudyKey{"budget.time", "<duration>", "", "duration of the study over all its sessions, such as 30m"},
    StudyKey{"budget.patience", "<integer 1 1e6>", "", "end the study after this many trials without an improvement"},
    StudyKey{"start", "[<map>]|<null>", "[]", "configurations to try first, such as [{lr: 0.001, width: 256}]; missing parameters are sampled"},
    StudyKey{"warm_start", "<text>|[<text>]|<null>", "[]", "studies whose trials the sampler learns from: names, or folders; auto: up to three that are like this one"},
    StudyKey{"sampler.type", "", "auto", "name of the sampler"},
    StudyKey{"stopping", "auto|[<rule>]|<null>", "", "auto, a list such as [{rule: asha, grace: 1}], or [] for none; default: auto for 32 trials of 6 steps or more"},
    StudyKey{"policy.min_batch_size", "auto|<integer 1 1e6>", "auto", "smallest batch size; auto: the largest power of two from 16 to 256 with 100 updates an epoch; script: 256"},
    StudyKey{"policy.regularization", "scaled|off", "scaled", "scaled: sample stronger regularization for larger batches; off: independent of the batch size"},
    StudyKey{"resources.parallel", "auto|<integer 1 1024>|[<integer 1 1024>]", "auto", "trials at once: auto, a number, or a list with one number per device"},
    StudyKey{"resources.backend", "auto|cpu|cuda|opencl", "auto", "auto, cpu, cuda; opencl for the native worker"},
    StudyKey{"resources.devices", "auto|[<text>]", "auto", "UUIDs, or numbers as in `hpo devices`"},
    StudyKey{"resources.hosts", "[<text>]", "[]", "hosts to run on, as ssh takes them: [gpu1, me@gpu2]; `hpo run --on` wins over it"},
    StudyKey{"resources.slurm.partition", "<text>", "", "`hpo run --on slurm`: partition of its jobs; default: Slurm's"},
    StudyKey{"resources.slurm.nodes", "<integer 1 4096>", "1", "nodes of a job"},
    StudyKey{"resources.slurm.time", "<duration>", "", "time limit of one job, such as 2h; the study goes on in the next; default: the partition's"},
    StudyKey{"resources.slurm.account", "<text>", "", "account that is charged; default: Slurm's"},
    StudyKey{"resources.slurm.qos", "<text>", "", "quality of service; default: Slurm's"},
    StudyKey{"resources.slurm.gpus", "<integer 0 64>", "", "GPUs of each node; default: all of a whole node, none where cpus is given"},
    StudyKey{"resources.slurm.cpus", "<integer 1 4096>", "", "cores of each node, which other jobs may then share; default: whole nodes"},
    StudyKey{"resources.slurm.memory", "<size>", "", "memory of each node; default: all of a whole node, the partition's where cpus is given"},
    StudyKey{"resources.slurm.extra", "[<text>]", "[]", "further options of sbatch, such as [--constraint=a100, --mail-type=END]"},
    StudyKey{"resources.memory", "auto|<size>", "auto", "host memory for all trials together, such as 8GiB"},
    StudyKey{"resources.gpu_memory", "auto|<size>|[<size>]", "auto", "memory to use on each device: one size, or a list"},
    StudyKey{"resources.gpu_reserve", "<number 0 0.9>|<percent>", "10%", "share of each device's memory to keep free"},
    StudyKey{"resources.slots", "auto|<integer 1 256>", "auto", "native worker: trials with the same fusion key that a GPU worker trains side by side"},
    StudyKey{"resources.trial.memory", "<size>", "", "scripts: host memory that a trial needs; default: learned"},
    StudyKey{"resources.trial.gpu_memory", "<size>", "", "scripts: memory that a trial needs on each GPU; default: learned"},
    StudyKey{"resources.trial.cores", "<number 0.01 1024>", "1", "CPU cores of each process of a trial; native: with processes alone"},
    StudyKey{"resources.trial.gpus", "<integer 1 64>", "", "scripts: GPUs of a trial; default: one for each process"},
    StudyKey{"resources.trial.processes", "<integer 1 64>", "1", "processes that train a trial together on one host; scripts: with RANK and WORLD_SIZE; native: on the CPU"},
    StudyKey{"resources.progress_timeout", "<duration>", "10m", "time without progress after which a worker is ended"},
    StudyKey{"resources.grace", "<duration>", "5s", "time from SIGTERM to SIGKILL"},
    StudyKey{"resources.retries", "<integer 0 100>", "2", "further attempts after a worker died"},
    StudyKey{"keep.checkpoints", "all|none|<best>", "best 5", "checkpoints of ended trials to keep: all, none or best N; scripts: all"},
    StudyKey{"keep.folders", "all|none|<best>", "all", "folders of ended trials to keep: all, none or best N"},
};
// clang-format on

}  // namespace hpo::study
