// A checked study. orchestrator/study reads it from a YAML file and documents the keys and their defaults.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/space.hpp"

namespace hpo {

enum class Direction { minimize, maximize };

/// A metric of a study with several objectives, beside the first.
struct Goal {
    std::string metric;
    Direction direction = Direction::minimize;
};

/// Bounds that a metric must keep, both inclusive; one of them at least.
struct Constraint {
    std::string metric;
    std::optional<double> min, max;
};

/// The order of trials. A trial's value is `metric` at its best step, or at its last; further metrics and those of
/// constraints count as of the same step (standing.hpp).
struct Objective {
    enum class At { best, last };
    std::string metric = "val_accuracy";
    Direction direction = Direction::maximize;
    At at = At::best;
    std::vector<Goal> further = {};  ///< objectives beside the first: no trial is best, a front of them is
    std::vector<Constraint> constraints = {};

    /// Returns true if the metric alone ranks the trials.
    [[nodiscard]] bool simple() const { return further.empty() && constraints.empty(); }
};

/// Returns true if `a` is better than `b`.
inline bool better(Direction direction, double a, double b) { return direction == Direction::minimize ? a < b : a > b; }

/// A sampler or a stopping rule with its options, which have been checked against the part's table.
struct PartSpec {
    std::string type;
    Params options;
    friend bool operator==(const PartSpec&, const PartSpec&) = default;
};

struct Budget {
    static constexpr std::int64_t most_epochs = 1'000'000;
    std::int64_t trials = 64;
    std::int64_t epochs = 20;              ///< maximum number of steps of a trial
    bool open = false;                     ///< true if scripts end by themselves; `epochs` is then most_epochs
    std::optional<double> seconds;         ///< duration of the study over all its sessions
    std::optional<std::int64_t> patience;  ///< trials without an improvement after which the study ends
};

struct Policy {
    /// Smaller batches are refused. Absent: `auto`, the batch size of auto_batch_size (batch_size.hpp); 256 for a
    /// script, whose data are unknown.
    std::optional<std::int64_t> min_batch_size;
    bool scaled = true;  ///< `regularization: scaled|off`; true if priors depend on the batch size
};

/// The footprint that the study declares for a script's trials. Memory that is not declared is learned.
struct DeclaredFootprint {
    std::optional<std::int64_t> host_bytes;
    std::optional<std::int64_t> device_bytes;  ///< on each of its devices
    std::optional<double> cores;               ///< of each process; default: 1
    std::optional<std::int64_t> gpus;          ///< default: one for each process
    std::int64_t processes = 1;                ///< ranks of one trial, all on one host

    /// Cores of a trial, those of all its processes.
    [[nodiscard]] double all_cores() const { return cores.value_or(1) * static_cast<double>(processes); }
    /// Devices on which one trial computes, where the study uses devices.
    [[nodiscard]] std::int64_t devices() const { return gpus.value_or(processes); }
};

/// The jobs of Slurm that `hpo run --on slurm` submits. An absent value is left to Slurm, unless the field says
/// otherwise.
struct SlurmJob {
    std::string partition, account, qos;  ///< empty: Slurm's default
    std::int64_t nodes = 1;
    std::optional<double> time;        ///< seconds of one allocation; absent: the partition's default
    std::optional<std::int64_t> gpus;  ///< of each node; absent: all where `cpus` is, else none
    std::optional<std::int64_t> cpus;  ///< of each node; absent: whole nodes
    std::optional<std::int64_t>
        memory;                      ///< bytes of each node; absent: all where `cpus` is, else the partition's default
    std::vector<std::string> extra;  ///< further options of sbatch
};

struct Resources {
    std::optional<std::int64_t> parallel;  ///< maximum number of trials at once; absent: as many as fit
    /// The maximum number of trials at once on each of `devices` (`parallel: [4, 2]`). Empty: as many as fit.
    std::vector<std::int64_t> parallel_each;
    std::string backend = "auto";        ///< auto, cpu or cuda; for the native worker also opencl
    std::vector<std::string> devices;    ///< UUIDs, or numbers of `hpo devices`; empty: all
    std::vector<std::string> hosts;      ///< of its trials, as ssh takes them; empty: this machine, or its allocation
    SlurmJob slurm;                      ///< read by `hpo run --on slurm` alone
    std::optional<std::int64_t> memory;  ///< host bytes to reserve at most; absent: the available bytes less a margin
    /// Bytes to reserve at most on each of `devices`, or a single number for all of them. Empty: all but `gpu_reserve`.
    std::vector<std::int64_t> gpu_memory;
    double gpu_reserve = 0.10;  ///< fraction of each device's memory that is kept free
    /// The number of trials with one fusion key that a native worker trains side by side. Absent: many on a GPU, one on
    /// a CPU.
    std::optional<std::int64_t> slots;
    DeclaredFootprint trial;        ///< for scripts
    double progress_timeout = 600;  ///< seconds without progress after which a worker is stopped
    double grace = 5;               ///< seconds from SIGTERM to SIGKILL
    std::int64_t retries = 2;       ///< further attempts after a worker has died
};

/// The files of ended trials that are kept: those of the best trials up to this number, or of all if it is absent.
struct Keep {
    /// Checkpoints. For the native worker these are the weights of the best step; the checkpoint of the last step is
    /// removed at the trial's end. For a script, where the default is all, it is the client's `last.ckpt`.
    std::optional<std::int64_t> checkpoints = 5;
    /// Whole folders, with all files that a script has written there.
    std::optional<std::int64_t> folders;
};

/// Selects whether an unchanged script prints to a terminal of its own.
enum class TerminalUse { automatic, on, off };

/// The source of an unchanged script's metrics.
struct MetricsSource {
    /// Regular expressions for its output. Empty: the known forms (orchestrator/script/syntax/metrics.hpp).
    std::vector<std::string> patterns;
    std::string file;          ///< path of a CSV or JSON Lines file, with placeholders; empty: its output
    std::int64_t reports = 1;  ///< reports of the objective that make one step (`worker.step`)
    /// `automatic` uses a terminal if the program is compiled, since it would buffer its output otherwise.
    TerminalUse terminal = TerminalUse::automatic;
};

/// The packages that have a stand-in (worker/python/shims).
inline constexpr std::array<std::string_view, 2> shims{"wandb", "nni"};

/// The environment of a script.
struct WorkerEnvironment {
    bool tuned = true;  ///< false if hpo sets only the variables that select the GPU, and pins no cores
    /// Variables that replace those of hpo or are added to them. A variable without a value keeps that of hpo's
    /// environment.
    std::map<std::string, std::optional<std::string>> own;
};

/// A configuration file that is written for each trial.
struct TrialFile {
    std::string source;  ///< the template's path in the study; empty if the study contains its text
    std::string text;    ///< the template, with placeholders
};

/// The native worker, hpo-worker. `Study::fixed` holds its leaf keys (worker_keys.hpp).
struct NativeWorker {};

/// A script, or any other program of the user's.
struct ScriptWorker {
    std::vector<std::string> command;  ///< the program and its arguments, with placeholders
    /// Ranges [first, last) of `command` that are left out as a whole if a placeholder in them has no value.
    std::vector<std::pair<std::size_t, std::size_t>> optional_arguments = {};
    std::string home = {};  ///< absolute folder that relative paths start from; empty: the current folder
    std::string cwd = {};   ///< folder in which the script runs, with placeholders; empty: `home`
    std::map<std::string, TrialFile> files = {};  ///< by name in the trial's folder
    /// Present for an unchanged script, for which `hpo` speaks the protocol. Absent if the command speaks it itself.
    std::optional<MetricsSource> metrics = {};
    /// Python modules that an interpreter imports once, and from which trials are forked. Empty: each trial starts its
    /// own interpreter.
    std::vector<std::string> preload = {};
    /// The package that a stand-in replaces, one of `shims`, or empty. A script that gets its parameters from that
    /// package and reports to it needs no change.
    std::string shim = {};
    WorkerEnvironment environment = {};
};

/// No worker: the program that asks for trials trains them (hpo ask-tell).
struct NoWorker {};

using StudyWorker = std::variant<NoWorker, NativeWorker, ScriptWorker>;

struct Study {
    std::string name;
    std::uint64_t seed = 1;
    std::int64_t repeats = 1;  ///< the most seeds that a configuration is trained with
    Objective objective;
    Space space;
    std::vector<std::string> where = {};  ///< conditions on parameters that every configuration keeps
    StudyWorker worker;                   ///< trains the trials
    Params fixed;                         ///< parameters that the section `worker` fixes
    Budget budget;
    /// Configurations that are tried first, in this order. They lie within the space; absent parameters are sampled.
    std::vector<Params> start;
    /// Names or folders of studies whose trials the sampler learns from.
    std::vector<std::string> warm_start;
    bool warm_start_auto = false;  ///< `warm_start: auto`: from earlier studies of the same worker, if there are any
    PartSpec sampler{"auto", {}};
    std::vector<PartSpec> stopping;
    /// Present if the text has no key `stopping`: the rules that a new study then has. A stored text without the key is
    /// that of a study without rules.
    std::optional<std::vector<PartSpec>> default_stopping;
    Policy policy;
    Resources resources;
    std::string source;  ///< the YAML text of the study
    Keep keep;

    /// Returns the script that trains the trials, or nullptr if none does.
    [[nodiscard]] const ScriptWorker* script() const { return std::get_if<ScriptWorker>(&worker); }
    [[nodiscard]] ScriptWorker* script() { return std::get_if<ScriptWorker>(&worker); }
    [[nodiscard]] bool native() const { return std::holds_alternative<NativeWorker>(worker); }
    /// Returns true if the sampler learns from other studies.
    [[nodiscard]] bool learns_from_others() const { return warm_start_auto || !warm_start.empty(); }
    [[nodiscard]] bool has_worker() const { return !std::holds_alternative<NoWorker>(worker); }
};

}  // namespace hpo
