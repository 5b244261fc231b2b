#include "orchestrator/scheduling/plan.hpp"

#include <algorithm>
#include <limits>

#include "hpo/units.hpp"

namespace hpo {
namespace {

/// An amount of everything that trials share. A new kind of resource is a member here and its use in these three
/// functions. Doubles: whole numbers of bytes up to 2^53 are exact, and no sum overflows.
struct Amount {
    double cores = 0;
    double bytes = 0;
    double slots = 0;

    void add(const Amount& other, double sign = 1) {
        cores += sign * other.cores;
        bytes += sign * other.bytes;
        slots += sign * other.slots;
    }
    [[nodiscard]] bool fits(const Amount& room) const {
        constexpr double rounding = 1e-9;  // of sums of fractional cores
        return cores <= room.cores + rounding && bytes <= room.bytes && slots <= room.slots;
    }
};

/// One pool: what a trial calls device memory lies in the host's.
Amount need(const Footprint& footprint) {
    const auto bytes = [](std::int64_t count) { return static_cast<double>(std::max<std::int64_t>(count, 0)); };
    return {std::max(footprint.cores, 0.0), bytes(footprint.host_bytes) + bytes(footprint.device_bytes), 1};
}

std::string number_of_cores(double cores) { return short_number(cores) + (cores == 1 ? " core" : " cores"); }

std::string too_large(const Machine& machine, const Amount& needed, const Amount& room, bool others_count) {
    if (!(needed.cores <= room.cores + 1e-9))
        return "needs " + number_of_cores(needed.cores) + ", this machine gives " + number_of_cores(room.cores);
    std::string reason = "needs " + bytes_text(needed.bytes) + " of memory, but the empty machine gives " +
                         bytes_text(std::max(room.bytes, 0.0)) + " (" + bytes_text(double(machine.memory)) + " less " +
                         bytes_text(double(machine.memory_reserve)) + " kept free";
    if (others_count) reason += " and " + bytes_text(double(machine.memory_others)) + " used by other programs";
    return reason + ")";
}

}  // namespace

Admission admit(const Machine& machine, std::span<const Booking> running, std::span<const Waiting> waiting,
                std::optional<std::int64_t> parallel) {
    const double slots =
        parallel ? static_cast<double>(std::max<std::int64_t>(*parallel, 1)) : std::numeric_limits<double>::infinity();
    const Amount empty{machine.cores, double(machine.memory) - double(machine.memory_reserve), slots};
    Amount total = empty;
    total.bytes -= double(machine.memory_others);
    Amount free = total;
    std::vector<Amount> held;  // oldest first
    for (const Booking& booking : running) {
        held.push_back(need(booking.footprint));
        free.add(held.back(), -1);
    }

    Admission admission;
    std::optional<Amount> spare;       // what the reservation leaves over; absent: none made yet
    const Waiting* blocked = nullptr;  // the first that other programs keep out
    for (const Waiting& trial : waiting) {
        const Amount needed = need(trial.footprint);
        if (!needed.fits(empty)) {
            admission.never.push_back({trial.trial, too_large(machine, needed, empty, false)});
        } else if (!needed.fits(total)) {
            if (!blocked) blocked = &trial;
        } else if (needed.fits(free) && (!spare || needed.fits(*spare))) {
            admission.launch.push_back({trial.trial, host_only});
            held.push_back(needed);
            free.add(needed, -1);
            if (spare) spare->add(needed, -1);
        } else if (!spare) {
            // It starts at the latest when the oldest of the running ones, as many as it needs, have ended: what goes
            // before it must leave room beside those that are then still there.
            spare = free;
            for (auto oldest = held.begin(); oldest != held.end() && !needed.fits(*spare); ++oldest)
                spare->add(*oldest);
            spare->add(needed, -1);
        }
    }
    if (blocked)
        admission.kept_out = {blocked->trial, too_large(machine, need(blocked->footprint), total, true)};
    return admission;
}

}  // namespace hpo
