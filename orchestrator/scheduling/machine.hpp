// A machine, and the resources that trials hold. Bytes.
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
    bool unified = false;  ///< its memory is its host's: device bytes count here and there
    /// Free at this moment; absent: the rest beside reservations. Less than that rest where trials took more
    /// than they reserved: nothing is launched into memory that is not free.
    std::optional<std::int64_t> free;
    int host = 0;  ///< index in Machine::hosts
};

/// The hosts on which a study's trials run, with their accelerators, read live.
struct Machine {
    struct Host {
        double cores = 1;                  ///< cores that trials may use
        std::int64_t memory = 0;           ///< capacity, or the user's limit if that is less
        std::int64_t reserve = 0;          ///< left free on purpose
        std::int64_t others = 0;           ///< used by programs without a reservation here
        std::optional<std::int64_t> free;  ///< as Accelerator::free
        bool usable = true;                ///< false: not reachable at the moment; nothing starts there
        bool gone = false;                 ///< not usable, and set aside for the rest of the session
    };
    std::vector<Host> hosts{Host{}};
    std::vector<Accelerator> accelerators;  ///< of all hosts
};

/// Cores of all hosts.
inline double cores_of(const Machine& machine) {
    double cores = 0;
    for (const Machine::Host& host : machine.hosts) cores += host.cores;
    return cores;
}

/// A place where trials compute is an int: the index of an accelerator, or a negative number for the cores of a host.
constexpr int on_host(int host) { return -1 - host; }
constexpr bool is_host(int place) { return place < 0; }
inline constexpr int host_only = on_host(0);  ///< the first host, which is the only one where a session has one

/// Index of the place's host; an accelerator that the machine does not have counts as one of the first host.
inline int host_of(const Machine& machine, int place) {
    if (is_host(place)) return on_host(place);
    const auto index = static_cast<std::size_t>(place);
    return index < machine.accelerators.size() ? machine.accelerators[index].host : 0;
}

/// A trial that holds its footprint: it runs, or its worker is about to run it.
struct Reservation {
    std::int64_t trial = 0;
    Footprint footprint;
    int device = host_only;   ///< an accelerator, or a host
    bool alone = false;       ///< nothing else starts beside it while this is set: see TrialNeeds::alone
    std::vector<int> more{};  ///< further devices of the same host; on each it holds the device bytes

    friend bool operator==(const Reservation&, const Reservation&) = default;
};

/// Returns true if a trial on `device` and `more` computes on `asked`.
inline bool computes_on(int asked, int device, const std::vector<int>& more) {
    return asked == device || std::find(more.begin(), more.end(), asked) != more.end();
}

/// All devices of a reservation; the host alone where it computes there.
inline std::vector<int> devices_of(const Reservation& reservation) {
    std::vector<int> devices{reservation.device};
    devices.insert(devices.end(), reservation.more.begin(), reservation.more.end());
    return devices;
}

}  // namespace hpo
