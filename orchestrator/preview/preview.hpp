// A preview of a study on this machine: its search, the needs of its trials, and how many run at once.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/devices/monitor.hpp"
#include "orchestrator/engine/workers.hpp"
#include "orchestrator/preview/backends.hpp"
#include "orchestrator/preview/packing.hpp"
#include "orchestrator/preview/samples.hpp"
#include "orchestrator/scheduling/footprints.hpp"

namespace hpo {

/// The search of a study, on any machine.
struct SearchPreview {
    struct Rule {
        std::string type;
        std::string plan;  ///< when it compares which trials, as text; empty: it has no plan
    };
    std::vector<std::string> priors;  ///< descriptions of the studies of a warm start
    std::string offer;                ///< of `warm_start: auto` where there is no warm start; empty: none
    double allowed = 1;               ///< share of the space, 0 to 1
    std::string about_allowed;        ///< empty if all of the space is allowed
    std::string sampler;              ///< its description
    std::vector<Rule> rules;          ///< of stopping
};

/// Networks among the samples of a native worker.
struct NetworkPreview {
    std::int64_t samples = 0;
    SampleRange parameters;
    SampleRange epoch_updates, trial_updates;  ///< by the optimizer
    std::int64_t few_updates = 0;              ///< samples with fewer than enough_updates_in_all (batch_size.hpp)
    std::int64_t default_batch = 0;            ///< batch size that the worker chooses; 0: the study states it
};

/// The trials of a study with a native worker, which has planned samples.
struct NativePreview {
    std::vector<std::string> data;  ///< description of a trial's data, one line each
    Samples samples;
    SampleRange host_bytes, device_bytes;    ///< of the samples; device_bytes are 0 without a device
    std::optional<NetworkPreview> networks;  ///< of the samples that are networks; absent: none is
    std::optional<SampleRange> rounds;       ///< of boosting in a trial, of the samples that are trees
    BackendForecast backends;
    std::int64_t side_by_side = 1;       ///< trials that were timed at once
    std::optional<double> step_seconds;  ///< of the typical sample, measured; absent: it was not timed
    Packing packing;
    std::int64_t typical_at_once = 0, largest_at_once = 0;  ///< copies of one sample that fit at once
};

/// The trials of a study that runs a script.
struct ScriptPreview {
    std::string home;                           ///< folder that relative paths start from
    std::string program;                        ///< path of a program that is found by $PATH; empty for another
    std::vector<std::string> unused;            ///< parameters that no placeholder contains and no file of the script
    std::vector<std::string> shadowed;          ///< warnings of shadowed_files()
    std::vector<std::string> pattern_warnings;  ///< about worker.metrics
    bool terminal = false;                      ///< true if it prints to a terminal of its own
    Prediction needs;                           ///< of one trial; no cores where their number is searched
    Packing packing;                            ///< without trials while their needs are to be learned
};

/// The search for the number of trials at once by their throughput.
struct ConcurrencyPreview {
    std::int64_t start = 1, most = 1;
    bool remembered = false;  ///< true if an earlier session found `start`
};

/// The cores of native trials on the CPU.
struct CoresPreview {
    std::int64_t each = 1;     ///< cores that a trial computes on
    std::int64_t workers = 1;  ///< groups of cores
};

struct MachinePreview {
    Host host;
    std::int64_t memory_free = 0;  ///< bytes of the host
    bool on_device = false;        ///< true if trials compute on an accelerator
    std::variant<NativePreview, ScriptPreview> trials;
    std::string
        fewer_than_asked;  ///< why the cores keep trials from running `resources.parallel` at once; may be empty
    std::optional<ConcurrencyPreview> concurrency;  ///< absent: the number of trials at once is not searched
    std::optional<CoresPreview> cores;              ///< absent: trials compute on a device, or on any core

    /// True if the needs of a trial are neither declared nor planned: the first one runs alone.
    [[nodiscard]] bool learned() const {
        const auto* script = std::get_if<ScriptPreview>(&trials);
        return script != nullptr && script->needs.alone;
    }
    [[nodiscard]] const Packing& packing() const {
        return std::visit([](const auto& one) -> const Packing& { return one.packing; }, trials);
    }
    [[nodiscard]] std::int64_t at_once() const { return learned() ? 1 : packing().at_once; }
};

struct Preview {
    SearchPreview search;
    std::optional<MachinePreview> machine;  ///< absent: another program trains the trials
};

/// Starts a native worker to plan samples, and trains a few steps of the typical one if it is to be timed; runs no
/// script. `tell` is called with notices about devices. Throws Refusal or Fatal if the study cannot run as configured.
Preview preview(const CheckedStudy& checked, const Programs& programs,
                const std::function<void(const DeviceNotice&)>& tell, bool timed = true);

/// The object of `hpo check --json`.
nlohmann::ordered_json to_json(const Study& study, const Preview& preview);

}  // namespace hpo
