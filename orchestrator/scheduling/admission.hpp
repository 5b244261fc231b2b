// Decides which waiting trials fit a machine, when, and on which of its devices. Pure: no I/O, no clock; the same input
// gives the same answer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/scheduling/free_resources.hpp"
#include "orchestrator/scheduling/machine.hpp"

namespace hpo {

/// The resources that a trial needs, as its worker has answered or as they were predicted.
struct TrialNeeds {
    std::int64_t trial = 0;
    Footprint footprint;      ///< margin included
    std::size_t devices = 0;  ///< accelerators at once, its device bytes on each; 0: computes on the host
    /// True if the footprint is a guess: the trial starts only where nothing else runs, and keeps others away. On an
    /// accelerator this holds for the device: several may hold one such trial each. On the host, and on a unified
    /// device, whose pool the host's memory is, it holds for the whole machine, since all trials draw on it.
    bool alone = false;
    Footprint colocated{0, 0, 0};  ///< in a worker that runs already and trains others of its fusion key
    std::string fusion_key{};      ///< empty: joins no other trials
    bool own_worker = false;       ///< shares a worker with no other trial

    friend bool operator==(const TrialNeeds&, const TrialNeeds&) = default;
};

/// Admits trials in order while cores, memory and devices last and fewer than `parallel` run, in all and on each
/// device. On an accelerator a trial needs its device bytes there, and its host bytes and cores on the host; elsewhere
/// both kinds of bytes lie in the host's memory. Of the devices that it fits, it gets the one with the fewest trials,
/// then the one with the most room: devices fill evenly, since each further trial on a busy device adds less to the
/// throughput. A trial without a device gets the host with the fewest trials, then the one with the most memory. A
/// place with an idle worker and no more trials goes before more room, since a start of a worker takes longer than a
/// short trial.
///
/// A trial that needs several devices gets them at once, on one host, by the same order, or waits: never fewer, never
/// one twice.
///
/// A trial that fits co-located with its fusion key starts there, by the same order of devices, unless there is an
/// unused device.
///
/// The first trial that does not fit keeps a reservation on the device where it can start soonest: where the fewest
/// running trials, the oldest first, must have ended. Later trials start before it only in the resources that it leaves
/// over (backfill: Lifka, "The ANL/IBM SP scheduling system", 1995, without run times). So it starts at the latest when
/// those trials have ended, in spite of later trials, and does not starve; nor does a trial that must run alone.
///
/// A trial that is kept out by other programs does not delay other trials. While no trial runs and none is kept out, a
/// waiting trial is admitted, unless all waiting trials can never fit.
///
/// The state is kept from one decision to the next, and only changes are told, so that a decision costs about the same
/// with ten devices and with ten thousand.
class Admission {
   public:
    struct Launch {
        std::int64_t trial = 0;
        int device = host_only;   ///< or a host
        bool joins = false;       ///< in a running worker
        std::vector<int> more{};  ///< further devices, none of them twice
    };
    struct Reason {
        std::int64_t trial = 0;
        std::string text;  ///< with the numbers
    };

    /// The machine must outlive this object.
    Admission(const Machine& machine, std::optional<std::int64_t> parallel);

    /// Adds a trial that runs, or whose worker is about to run it. `order` is the unique number of its launch.
    void hold(std::int64_t order, const Reservation& reservation);
    void release(std::int64_t order);

    /// Marks a place as having an idle worker or not, for one device or none, where a further worker may train.
    void set_idle(int place, bool idle);

    /// Takes in a new reading of a host and its accelerators. Returns false if more has changed than the used and free
    /// memory and the usability: then this object must be replaced.
    bool host_changed(int host);
    /// Returns which answers of fit_of() may have changed since the last call: none, those beside other programs, or
    /// also those for the empty machine.
    enum class Change { nothing, beside_others, all };
    Change take_change() { return std::exchange(change_, Change::nothing); }
    /// The answer whether a trial could start once all running trials have ended: yes, not beside other programs (they
    /// use too much, or the devices that it fits are set aside), or never, not even on the empty machine.
    enum class Fit { never, kept_out, yes };
    [[nodiscard]] Fit fit_of(const TrialNeeds& trial) const;

    /// Considers the next waiting trial, in their order. `joinable_on`: devices with a free slot beside trials of its
    /// fusion key. Returns its launch if it can start; its resources then count as taken until forget(). A trial that
    /// is kept out by other programs may still join a running one.
    std::optional<Launch> consider(const TrialNeeds& trial, Fit fit, Where joinable_on = {});
    /// Takes back all launches since the last call.
    void forget();

    /// Return the reason, with its numbers.
    [[nodiscard]] std::string too_large(const TrialNeeds& trial) const;
    [[nodiscard]] std::string kept_out(const TrialNeeds& trial) const;

   private:
    struct Held {
        Demand demand;
        Devices devices;
    };
    static Held held_by(const Reservation& reservation);
    void take(const Held& held, int sign);
    void settle(int place);
    void change(FreeResources& resources, const Held& held, int sign);
    Launch launch(const TrialNeeds& trial, Held held, bool joins);
    [[nodiscard]] std::optional<int> device_to_join(const TrialNeeds& trial, const Demand& apart,
                                                    Where joinable_on) const;
    [[nodiscard]] int with_idle_worker(const Demand& demand, int best) const;
    [[nodiscard]] const FreeResources* spare() const { return reserved_ ? &later_ : nullptr; }
    void reserve(const TrialNeeds& trial, const Demand& demand);
    [[nodiscard]] std::string too_few(const TrialNeeds& trial, const Demand& demand, const FreeResources& resources,
                                      const Devices& devices, const char* which) const;

    const Machine& machine_;
    FreeResources empty_;                ///< without other programs and trials
    FreeResources total_;                ///< without trials
    FreeResources free_;                 ///< now
    FreeResources later_;                ///< total_ less running trials and the reservation
    std::map<std::int64_t, Held> held_;  ///< oldest first
    std::set<int> idle_;                 ///< places with an idle worker
    Change change_ = Change::nothing;    ///< since take_change()

    // Since the last forget().
    struct Taken {
        FreeResources* resources = nullptr;
        Held held;
        int sign = 1;
    };
    std::vector<Taken> changes_;
    std::vector<Held> launched_;
    bool reserved_ = false;
};

}  // namespace hpo
