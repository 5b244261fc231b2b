// A machine, and what trials hold of it. Bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hpo/footprint.hpp"

namespace hpo {

/// A device with memory of its own (a GPU), as read a moment ago.
struct Accelerator {
    std::string id;                        ///< UUID
    std::int64_t memory = 0;               ///< capacity, or the user's limit if that is less
    std::int64_t reserve = 0;              ///< left free on purpose
    std::int64_t others = 0;               ///< used by anything that is not reserved here
    std::optional<std::int64_t> parallel;  ///< trials at once; absent: as many as fit
    bool usable = true;    ///< false: lost, or set aside after a fault; its trials keep their reservations
    bool unified = false;  ///< its memory is the host's: device bytes count here and there
    /// Free at this moment; absent: what the reservations leave. Less than they leave where trials took more
    /// than they reserved: nothing is launched into what is not free.
    std::optional<std::int64_t> free;
};

/// What a machine has, read live.
struct Machine {
    double cores = 1;                         ///< this process may use
    std::int64_t memory = 0;                  ///< capacity of the host, or the user's limit if that is less
    std::int64_t memory_reserve = 0;          ///< left free on purpose
    std::int64_t memory_others = 0;           ///< used by anything that is not reserved here
    std::optional<std::int64_t> memory_free;  ///< as Accelerator::free
    std::vector<Accelerator> accelerators;
};

inline constexpr int host_only = -1;  ///< instead of an accelerator's index

/// A trial that holds its footprint: it runs, or its worker is about to run it.
struct Reservation {
    std::int64_t trial = 0;
    Footprint footprint;
    int device = host_only;   ///< index in Machine::accelerators
    bool alone = false;       ///< nothing else starts beside it while this is set: see TrialNeeds::alone
    std::vector<int> more{};  ///< further devices; on each it holds the device bytes

    friend bool operator==(const Reservation&, const Reservation&) = default;
};

/// Whether a trial on `device` and `more` computes on `asked`.
inline bool computes_on(int asked, int device, const std::vector<int>& more) {
    return asked == device || std::find(more.begin(), more.end(), asked) != more.end();
}

/// All devices of a reservation; host_only alone where it is on the host.
inline std::vector<int> devices_of(const Reservation& reservation) {
    std::vector<int> devices{reservation.device};
    devices.insert(devices.end(), reservation.more.begin(), reservation.more.end());
    return devices;
}

}  // namespace hpo
