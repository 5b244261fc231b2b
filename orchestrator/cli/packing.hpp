// How a study's trials would fill a machine, by the planner itself: what `hpo check` shows before anything runs. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/footprint.hpp"
#include "orchestrator/scheduling/plan.hpp"

namespace hpo {

struct PackingQuestion {
    struct Trial {
        Footprint footprint;
        std::string fusion_key;        ///< of trials that may share a worker; empty: it shares none
        Footprint colocated{0, 0, 0};  ///< what it takes in a worker that trains others of its fusion key already
    };
    Machine machine;                       ///< as it is now, nothing of ours running
    std::vector<Trial> trials;             ///< in the order in which they would start; repeated as often as needed
    bool on_device = false;                ///< each needs an accelerator
    std::int64_t workers = 1;              ///< at once, at most
    std::int64_t slots = 1;                ///< trials of one shape that each trains side by side
    std::optional<std::int64_t> parallel;  ///< trials at once; absent: as many as fit
    bool parallel_by_default = false;      ///< the study does not say it
    std::size_t devices = 1;               ///< of which each trial needs so many at once
    std::int64_t most = 1;                 ///< trials of the study
};

struct Packing {
    /// Memory that trials share: the host's, or an accelerator's. Bytes.
    struct Pool {
        std::string id;  ///< of the accelerator; empty: the host
        std::int64_t capacity = 0;
        std::int64_t reserve = 0;
        std::int64_t others = 0;
        std::int64_t available = 0;  ///< what these leave
        std::int64_t trials = 0;     ///< at once
        std::int64_t reserved = 0;   ///< by them
    };
    std::int64_t at_once = 0;
    std::int64_t workers = 0;  ///< that train them: fewer where some share one
    std::string limit;         ///< what keeps the next one from starting: "cores", "host memory", ...
    std::vector<Pool> pools;   ///< the host, then each accelerator
    std::string kept_out;      ///< why the first trial that other programs keep out waits; empty: none does
};

Packing pack(const PackingQuestion& question);

/// Why such a trial fits no empty device, or not the empty host, with the numbers; nothing: it fits.
std::optional<std::string> never_fits(const Machine& machine, const Footprint& footprint, bool on_device,
                                      std::size_t devices = 1);

}  // namespace hpo
