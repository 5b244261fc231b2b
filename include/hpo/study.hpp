// A checked study: what one YAML file means. Made by orchestrator/study, where the keys and their defaults are
// documented.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// What makes one trial better than another. A trial's value is `metric` at its best step, or at its last; further
/// metrics and those of constraints count as of the same step (standing.hpp).
struct Objective {
    enum class At { best, last };
    std::string metric = "val_accuracy";
    Direction direction = Direction::maximize;
    At at = At::best;
    std::vector<Goal> further = {};  ///< objectives beside the first: no trial is best, a front of them is
    std::vector<Constraint> constraints = {};

    /// Whether the metric alone ranks the trials.
    [[nodiscard]] bool simple() const { return further.empty() && constraints.empty(); }
};

/// Whether `a` is better than `b` for the direction.
inline bool better(Direction direction, double a, double b) { return direction == Direction::minimize ? a < b : a > b; }

/// `name: value` pairs of one sampler or rule, checked by the part that owns them.
struct PartSpec {
    std::string type;
    Params options;
};

struct Budget {
    std::int64_t trials = 64;
    std::int64_t epochs = 20;              ///< steps a trial may take
    std::optional<double> seconds;         ///< of the study, added up over resumes
    std::optional<std::int64_t> patience;  ///< trials without a better best
};

struct Policy {
    std::int64_t min_batch_size = 256;
    bool scaled = true;  ///< `regularization: scaled|off`: priors depend on the batch size
};

/// What a script's trials are said to need. Absent: learned.
struct DeclaredFootprint {
    std::optional<std::int64_t> host_bytes;
    std::optional<std::int64_t> device_bytes;
    std::optional<double> cores;  ///< absent: 1
    std::int64_t gpus = 1;        ///< devices that one trial computes on; `device_bytes` are each one's
};

struct Resources {
    std::optional<std::int64_t> parallel;  ///< trials at once, in all; absent: as many as fit
    std::vector<std::int64_t>
        parallel_each;                   ///< `parallel: [4, 2]`: at once on each of `devices`; empty: as many as fit
    std::string backend = "auto";        ///< auto, cpu, cuda; of the native worker also opencl
    std::vector<std::string> devices;    ///< UUIDs, or numbers of `hpo devices`; empty: all
    std::optional<std::int64_t> memory;  ///< host bytes `hpo` may reserve; absent: what is available, less a margin
    /// Bytes `hpo` may reserve on each of `devices`; a single number: on every one; empty: all, less `gpu_reserve`.
    std::vector<std::int64_t> gpu_memory;
    double gpu_reserve = 0.10;          ///< fraction of a device
    std::optional<std::int64_t> slots;  ///< native: concurrent trials of a worker, with one fusion key; absent: many
                                        ///< on a GPU, one on a CPU
    DeclaredFootprint trial;            ///< scripts
    double progress_timeout = 600;      ///< seconds of silence after which a worker is stopped
    double grace = 5;                   ///< seconds from TERM to KILL
    std::int64_t retries = 2;           ///< further attempts after a worker died
};

/// What stays on disk of trials that have ended: of so many, the best first; absent: of all.
struct Keep {
    /// Of the native worker's trials: their best step's weights; the file to go on from goes with their end. Of a
    /// script's, where the default is all: the client's `last.ckpt`.
    std::optional<std::int64_t> checkpoints = 5;
    /// Whole folders, with all that a script has put there.
    std::optional<std::int64_t> folders;
};

/// Whether an unchanged script prints to a terminal of its own.
enum class TerminalUse { automatic, on, off };

/// How the metrics of an unchanged script are read.
struct MetricsSource {
    std::vector<std::string> patterns;  ///< of its output; empty: the known forms (orchestrator/script/metrics.hpp)
    std::string file;                   ///< CSV or JSON Lines, with placeholders; empty: its output
    std::int64_t reports = 1;           ///< of the objective that make a step (`worker.step`)
    TerminalUse terminal = TerminalUse::automatic;  ///< automatic: if its program is compiled, which keeps output back
};

/// The packages that have a stand-in (worker/python/shims).
inline constexpr std::array<std::string_view, 2> shims{"wandb", "nni"};

/// Variables of the environment of a script.
struct WorkerEnvironment {
    bool tuned = true;  ///< cores and variables that hpo sets by itself; false: none but which GPU it sees
    /// Replaces these or adds to them; without a value: as in the environment of `hpo`.
    std::map<std::string, std::optional<std::string>> own;
};

/// A configuration file that is written for each trial.
struct TrialFile {
    std::string source;  ///< the template's path as the study names it; empty: its text stands in the study
    std::string text;    ///< with placeholders
};

struct Study {
    std::string name;
    std::uint64_t seed = 1;
    Objective objective;
    Space space;
    Params worker;                     ///< native: fixed leaf keys (worker_keys.hpp), path-less
    std::vector<std::string> command;  ///< a script's command; empty: the native worker
    /// Stretches [first, last) of `command` that are left out as a whole when a name in them has no value.
    std::vector<std::pair<std::size_t, std::size_t>> optional_arguments;
    std::string home;  ///< absolute folder that a script's relative paths are taken from; empty: the current one
    std::string cwd;   ///< where a script runs, with placeholders; empty: `home`
    std::map<std::string, TrialFile> files;  ///< by name in the trial's folder
    /// An unchanged script (its command has placeholders, or it says where metrics are): `hpo` speaks the protocol for
    /// it. Absent: the command speaks it.
    std::optional<MetricsSource> metrics;
    /// Modules that an interpreter of Python imports once, and that trials are forked from; empty: each starts its own.
    std::vector<std::string> preload;
    /// The package whose place a stand-in takes, so that a script that asks it for parameters and reports to it runs as
    /// it is: one of `shims`; empty: none.
    std::string shim;
    WorkerEnvironment environment;
    Budget budget;
    /// Configurations that are tried first, in this order; what one of them leaves out is drawn. Within the space.
    std::vector<Params> start;
    /// Studies whose trials the sampler learns from: names, or folders.
    std::vector<std::string> warm_start;
    PartSpec sampler{"auto", {}};
    std::vector<PartSpec> stopping;
    Policy policy;
    Resources resources;
    std::string source;  ///< the YAML text it was read from
    Keep keep;
};

}  // namespace hpo
