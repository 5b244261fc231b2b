// Which waiting trials to launch now, and on which device. Pure: no I/O, no clock; the same input gives the same
// answer.
#pragma once

#include <algorithm>
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

/// What a machine has, read live. Bytes.
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
    bool alone = false;       ///< nothing else starts beside it while this is set: see Waiting::alone
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

/// A trial that waits; in the order in which trials should start.
struct Waiting {
    std::int64_t trial = 0;
    Footprint footprint;     ///< predicted, margin included
    bool on_device = false;  ///< needs an accelerator, any
    /// Its footprint is a guess: it starts only where nothing else runs, and keeps others away. On an accelerator that
    /// means this device: several may hold one such trial each. On the host, and on a unified device, whose pool the
    /// host's memory is, it means the whole machine, since whatever runs draws on that.
    bool alone = false;
    Footprint colocated;           ///< what it takes in a worker that runs already and trains others of its fusion key
    std::vector<int> joinable_on;  ///< devices where such a one has a free slot
    std::size_t devices = 1;       ///< accelerators that it needs at once, its device bytes on each
};

struct Admission {
    struct Launch {
        std::int64_t trial = 0;
        int device = host_only;
        bool joins = false;       ///< in a worker that is there
        std::vector<int> more{};  ///< further devices, none of them twice
    };
    struct Reason {
        std::int64_t trial = 0;
        std::string text;  ///< with the numbers
    };
    std::vector<Launch> launch;  ///< in this order
    std::vector<Reason> never;   ///< too large for every empty device, or for the empty host: they fail, loudly
    /// The first trial that fits the empty machine but cannot start however many of the running ones end: other
    /// programs use too much, or the devices that it fits are set aside. It waits. The text names the cause, with
    /// numbers.
    std::optional<Reason> kept_out;
};

/// Launches in order while cores, memory and devices last and fewer than `parallel` run, in all and on each device. On
/// an accelerator a trial needs its device bytes there, and its host bytes and cores on the host; elsewhere both kinds
/// of bytes lie in the host's memory. Of the devices that it fits it gets the one with the fewest trials, then the one
/// with the most room: devices fill evenly, since each next trial on a busy device adds less to the throughput.
///
/// A trial that needs several devices gets them at once, by the same order, or waits: never fewer, never one twice.
///
/// A trial that fits co-located with its fusion key starts there, by the same order of devices, unless there is a
/// device that nobody uses yet.
///
/// The first trial that does not fit keeps a reservation on the device where it can start soonest: where the fewest of
/// the running ones, the oldest first, must have ended. Later trials go before it only into what it leaves over then
/// (backfill: Lifka, "The ANL/IBM SP scheduling system", 1995, without run times). So it starts at the latest when
/// those have ended, whatever came after it, and does not starve; nor does one that must run alone.
///
/// `running` stands in the order of launch; a trial launched a moment ago counts. A trial that is kept out keeps no
/// other from starting. Without `running` and `kept_out`, something is launched whenever something waits, or all of it
/// fails.
Admission admit(const Machine& machine, std::span<const Reservation> running, std::span<const Waiting> waiting,
                std::optional<std::int64_t> parallel);

}  // namespace hpo
