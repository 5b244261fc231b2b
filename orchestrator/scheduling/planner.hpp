// Admission (plan.hpp) in steps: keeps what runs from one decision to the next and is told only what has changed. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/scheduling/plan.hpp"
#include "orchestrator/scheduling/room.hpp"

namespace hpo {

class Planner {
   public:
    /// The machine must outlive this object.
    Planner(const Machine& machine, std::optional<std::int64_t> parallel);

    /// Adds a trial that runs, or whose worker is about to run it. `order` is the unique number of its launch.
    void hold(std::int64_t order, const Reservation& reservation);
    void release(std::int64_t order);

    /// Must be called before trials are considered. Returns true if the results of prospect() may have changed: the
    /// machine reports what is free at this moment, and a trial was held or released.
    bool refresh();
    /// Whether a waiting trial can start once all running trials have ended: never, not beside other programs, or yes.
    enum class Prospect { never, kept_out, fits };
    [[nodiscard]] Prospect prospect(const Waiting& trial) const;

    /// Considers the next waiting trial, in their order. Returns its launch if it can start; its resources then count
    /// as taken until forget(). A trial that is kept out by other programs may still join a running one.
    std::optional<Admission::Launch> consider(const Waiting& trial, Prospect prospect);
    /// Takes back all launches since the last call.
    void forget();

    /// Return the reason, with its numbers.
    [[nodiscard]] std::string too_large(const Waiting& trial) const;
    [[nodiscard]] std::string kept_out(const Waiting& trial) const;

   private:
    struct Held {
        Demand demand;
        Devices devices;
    };
    static Held held_by(const Reservation& reservation);
    void rebuild();
    void change(Room& room, const Held& held, int sign);
    Admission::Launch launch(const Waiting& trial, Held held, bool joins);
    [[nodiscard]] std::optional<int> device_to_join(const Waiting& trial, const Demand& apart) const;
    [[nodiscard]] const Room* spare() const { return reserved_ ? &later_ : nullptr; }
    void reserve(const Waiting& trial, const Demand& demand);
    [[nodiscard]] std::string too_few(const Waiting& trial, const Demand& demand, const Room& room,
                                      const Devices& where, const char* which) const;

    const Machine& machine_;
    bool live_ = false;                  ///< the machine says what is free at this moment
    Room empty_;                         ///< without other programs and trials
    Room beside_others_;                 ///< without trials, whatever is free at this moment
    Room total_;                         ///< without trials
    Room free_;                          ///< now
    Room later_;                         ///< total_ without what runs; with a reservation: what that leaves over
    std::map<std::int64_t, Held> held_;  ///< oldest first
    bool outdated_ = false;              ///< of a live machine, the last three rooms

    // Since the last forget().
    struct Change {
        Room* room = nullptr;
        Held held;
        int sign = 1;
    };
    std::vector<Change> changes_;
    std::vector<Held> launched_;
    bool reserved_ = false;
};

}  // namespace hpo
