// Predicts how many trials of a study run side by side. Uses the same placement as `hpo run`. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/footprint.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

struct PackingQuestion {
    struct Trial {
        Footprint footprint;
        std::string fusion_key;        ///< trials with an equal key may share a worker; empty: needs its own worker
        Footprint colocated{0, 0, 0};  ///< extra resources in a worker that already trains trials with this key
        bool on_host = false;          ///< needs no accelerator although other trials do
    };
    Machine machine;                       ///< its current state, with none of the study's trials running
    std::vector<Trial> trials;             ///< in starting order; the list is repeated up to `budget_trials`
    bool on_device = false;                ///< true if every trial needs an accelerator
    std::int64_t workers = 1;              ///< maximum number of workers at once
    std::int64_t slots = 1;                ///< trials with one fusion key that a worker trains side by side
    bool slots_by_default = false;         ///< true if the worker has more, which are used if they are found to pay
    std::optional<std::int64_t> parallel;  ///< maximum number of trials at once; absent: as many as fit
    bool parallel_by_default = false;      ///< true if hpo chose `parallel` and the study does not set it
    std::size_t devices = 1;               ///< accelerators that each trial needs at once
    std::int64_t budget_trials = 1;        ///< number of trials in the study
};

struct Packing {
    /// The memory of the host or of one accelerator, in bytes.
    struct Pool {
        std::string id;  ///< of the accelerator; empty for the host
        std::int64_t capacity = 0;
        std::int64_t reserve = 0;    ///< kept free
        std::int64_t others = 0;     ///< used by other programs
        std::int64_t available = 0;  ///< capacity - reserve - others, at least 0
        std::int64_t trials = 0;     ///< running at once in this pool
        std::int64_t reserved = 0;   ///< by these trials
    };
    std::int64_t at_once = 0;  ///< trials that run side by side
    std::int64_t workers = 0;  ///< workers that train them; fewer than at_once if trials share a worker
    std::string limit;         ///< the limits that keep the next trial from starting: "cores", "host memory", ...
    std::vector<Pool> pools;   ///< the host, then each accelerator
    std::string kept_out;      ///< why a trial waits for other programs, with the numbers; empty if none waits
};

/// Starts trials until the next one does not fit, and finds the limit that it met. Returns at_once = 0 if there are no
/// trials.
Packing pack(const PackingQuestion& question);

/// Returns the reason, with the numbers, why a trial of this footprint cannot run even on the empty host or on empty
/// devices. Returns nothing if it fits.
std::optional<std::string> never_fits(const Machine& machine, const Footprint& footprint, bool on_device,
                                      std::size_t devices = 1);

}  // namespace hpo
