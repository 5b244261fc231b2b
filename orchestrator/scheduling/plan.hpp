// Which waiting trials to launch now. Pure: no I/O, no clock; the same input gives the same answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/footprint.hpp"

namespace hpo {

/// What a machine has, read live. Bytes.
struct Machine {
    double cores = 1;                 ///< this process may use
    std::int64_t memory = 0;          ///< capacity of the host
    std::int64_t memory_reserve = 0;  ///< left free on purpose
    std::int64_t memory_others = 0;   ///< used by anything that is not booked here
};

/// A trial that holds its footprint: it runs, or its worker is about to run it.
struct Booking {
    std::int64_t trial = 0;
    Footprint footprint;
};

/// A trial that waits, its footprint predicted; in the order in which trials should start.
using Waiting = Booking;

struct Admission {
    std::vector<std::int64_t> launch;  ///< in this order
    struct Refusal {
        std::int64_t trial = 0;
        std::string reason;  ///< with the numbers
    };
    std::vector<Refusal> never;  ///< too large for the empty machine: they fail, loudly
};

/// Launches in order while cores and memory last and fewer than `parallel` run. The first trial that does not fit keeps
/// a reservation: later, smaller ones go before it only into what it leaves over once enough of the running ones, the
/// oldest first, have ended (backfill: Lifka, "The ANL/IBM SP scheduling system", 1995, without run times), so that it
/// does not starve.
///
/// `running` stands in the order of launch; a trial launched a moment ago counts. A trial that fits the machine but for
/// what other programs use waits while anything runs; when nothing runs and nothing can start, the first of those fails
/// too, so that something always happens.
Admission admit(const Machine& machine, std::span<const Booking> running, std::span<const Waiting> waiting,
                std::optional<std::int64_t> parallel);

}  // namespace hpo
