// Which waiting trials to launch now, and on which device. Pure: no I/O, no clock; the same input gives the same
// answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpo/footprint.hpp"

namespace hpo {

/// A device with memory of its own (a GPU), as read a moment ago. Bytes.
struct Accelerator {
    std::string id;                        ///< UUID
    std::int64_t memory = 0;               ///< capacity
    std::int64_t reserve = 0;              ///< left free on purpose
    std::int64_t others = 0;               ///< used by anything that is not booked here
    std::optional<std::int64_t> parallel;  ///< trials at once; absent: as many as fit
    bool usable = true;                    ///< false: lost, or set aside after a fault; its trials keep their bookings
    bool unified = false;                  ///< its memory is the host's: one pool
};

/// What a machine has, read live. Bytes.
struct Machine {
    double cores = 1;                 ///< this process may use
    std::int64_t memory = 0;          ///< capacity of the host
    std::int64_t memory_reserve = 0;  ///< left free on purpose
    std::int64_t memory_others = 0;   ///< used by anything that is not booked here
    std::vector<Accelerator> accelerators;
};

inline constexpr int host_only = -1;  ///< instead of an accelerator's index

/// A trial that holds its footprint: it runs, or its worker is about to run it.
struct Booking {
    std::int64_t trial = 0;
    Footprint footprint;
    int device = host_only;  ///< index in Machine::accelerators
    bool alone = false;      ///< nothing else starts beside it on its device (host_only: on the host) while this is set
};

/// A trial that waits; in the order in which trials should start.
struct Waiting {
    std::int64_t trial = 0;
    Footprint footprint;     ///< predicted, margin included
    bool on_device = false;  ///< needs an accelerator, any
    bool alone = false;      ///< its footprint is a guess: starts only where nothing else runs, and keeps others away
};

struct Admission {
    struct Launch {
        std::int64_t trial = 0;
        int device = host_only;
    };
    struct Reason {
        std::int64_t trial = 0;
        std::string text;  ///< with the numbers
    };
    std::vector<Launch> launch;  ///< in this order
    std::vector<Reason> never;   ///< too large for every empty device, or for the empty host: they fail, loudly
    /// The first trial that fits an empty machine, but not beside what other programs use now: it waits.
    std::optional<Reason> kept_out;
};

/// Launches in order while cores, memory and devices last and fewer than `parallel` run. The first trial that does not
/// fit keeps a reservation on the device where it can start soonest: later, smaller ones go before it only into what it
/// leaves over once enough of the running ones, the oldest first, have ended (backfill: Lifka, "The ANL/IBM SP
/// scheduling system", 1995, without run times), so that it does not starve.
///
/// `running` stands in the order of launch; a trial launched a moment ago counts. A trial that fits the machine but for
/// what other programs use waits, and does not keep others from starting.
Admission admit(const Machine& machine, std::span<const Booking> running, std::span<const Waiting> waiting,
                std::optional<std::int64_t> parallel);

}  // namespace hpo
