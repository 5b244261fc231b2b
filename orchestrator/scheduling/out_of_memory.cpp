#include "orchestrator/scheduling/out_of_memory.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "hpo/text.hpp"
#include "orchestrator/scheduling/footprints.hpp"

namespace hpo {
namespace {

/// The amounts of the memory that ran out.
struct Amounts {
    double reserved = 0;
    double peak = 0;  ///< as measured
    double used = 0;  ///< the peak and its error
    double capacity = 0;
    double others = 0;
};

Amounts amounts_of(const MemoryDeath& death) {
    const Footprint used = with_measurement_error(death.used);
    const auto of = [&](const Footprint& f) {
        return double(std::max<std::int64_t>(death.on_device ? f.device_bytes : f.host_bytes, 0));
    };
    return {of(death.reserved), of(death.used), of(used), of(death.capacity), of(death.others)};
}

/// Twice at most a trial is tried with others before it gets all there is.
constexpr std::int64_t tries_beside_others = 2;
/// Times its measured peak, a trial is reserved at most after it said that memory ran out.
constexpr double most_of_peak = 4;
/// The share of an empty machine that other programs may use: a desktop's.
constexpr double tolerated = 0.1;
constexpr double most_of_capacity = 0.5;
constexpr std::int64_t deaths_at_most = 40;

}  // namespace

Result<NextTry> after_out_of_memory(const MemoryDeath& death) {
    const auto [reserved, peak, used, capacity, others] = amounts_of(death);
    const double available = std::max(capacity - others, 0.0);
    const double worthwhile = peak > 0 ? std::max(most_of_peak * peak, used) : capacity;
    const double all = std::min(available, std::max(reserved, worthwhile));
    const double more = peak > 0 ? std::min(capacity / 16, used / 2) : capacity / 16;  // less is no other launch
    // A trial on a device that has the device to itself may have had neighbours in the host's memory.
    const bool had_its_pool = death.alone && (death.on_device || death.reserved.device_bytes <= 0);
    const double wanted = std::max({reserved * (death.deaths == 1 ? 1.5 : 2), reserved + more, used});
    const double grown = std::min(wanted, std::max(worthwhile, reserved));

    NextTry next{death.reserved, death.alone, death.micro_batches, {}};
    // The other kind of memory gets its measured peak, as far as there is room.
    const auto at_least = [](std::int64_t& bytes, std::int64_t seen, std::int64_t most) {
        bytes = std::max(bytes, std::min(seen, most));
    };
    at_least(next.reservation.host_bytes, with_measurement_error(death.used).host_bytes, death.capacity.host_bytes);
    at_least(next.reservation.device_bytes, with_measurement_error(death.used).device_bytes,
             death.capacity.device_bytes);
    const auto reserve = [&](double bytes, bool alone) {
        (death.on_device ? next.reservation.device_bytes : next.reservation.host_bytes) =
            static_cast<std::int64_t>(bytes);
        next.alone = alone;
        next.how = (alone ? "alone, with " : "with ") + bytes_text(bytes) +
                   (death.on_device ? " of device memory reserved" : " of memory reserved");
        return next;
    };

    const bool capacity_shared = reserved > 0 && grown >= reserved + more && grown <= available;
    if (!had_its_pool && death.deaths <= tries_beside_others && capacity_shared) return reserve(grown, false);
    const bool had_all = had_its_pool || reserved + more > available;
    if (!had_all) return reserve(all, true);
    const bool smaller = death.more_micro_batches && *death.more_micro_batches > death.micro_batches;
    if (smaller && available >= reserved / 2) {
        // With smaller micro-batches the trial needs less: its reservation, or all available memory if that is less, is
        // enough.
        reserve(std::min(std::max(reserved, used), available), true);
        next.micro_batches = *death.more_micro_batches;
        next.how = (death.may_recompute ? "in the memory of " : "in ") + std::to_string(next.micro_batches) +
                   " micro-batches of an update, " + next.how;
        return next;
    }
    const bool may_go_on = !death.waited && death.deaths < deaths_at_most;
    if (may_go_on && reserved + more <= all) return reserve(all, true);
    // A process on the host that took little does not miss memory of others, unless they take most. On a device,
    // trials often take nearly all that they need in one step, between two readings.
    const bool took_little = !death.on_device && peak > 0 && worthwhile <= available;
    if (may_go_on && others > (took_little ? most_of_capacity : tolerated) * capacity) {
        // All that the peak makes worthwhile first: one message is no reason to wait for the whole machine.
        const bool had_worthwhile = reserved + more > worthwhile;
        const double most = (1 - tolerated) * capacity;
        reserve(std::max(reserved, death.on_device || had_worthwhile ? most : std::min(worthwhile, most)), true);
        next.how += ", once other programs leave as much";
        return next;
    }

    std::string text = "ran out of " + std::string(death.on_device ? "device memory" : "memory") + ' ' +
                       counted(death.deaths, "time") + ", at last " + (had_its_pool ? "alone, " : "") + "with " +
                       bytes_text(reserved) + " reserved of the " + bytes_text(capacity) + " that an empty " +
                       (death.on_device ? "device" : "machine") + " gives";
    if (others > 0)
        text += " (other programs use " + bytes_text(others) +
                (death.waited ? ", and freed too little in " + duration_text(longest_wait_for_others) : "") + ")";
    if (peak > 0) text += "; it was seen to take " + bytes_text(peak);
    if (death.micro_batches > 1)
        text += ", in " + std::to_string(death.micro_batches) + " micro-batches of an update, which cannot be smaller";
    return Error{text};
}

std::optional<OutOfMemoryLine> find_out_of_memory(std::string_view last_output, bool on_device) {
    // In lower case. Most of a device's errors hold the first one of either.
    constexpr std::string_view of_device[] = {"out of memory",
                                              "out_of_memory",
                                              "resource_exhausted",
                                              "resourceexhausted",
                                              "memoryallocation",
                                              "alloc_failed",
                                              "allocation_failure",
                                              "cl_out_of_resources",
                                              "insufficient memory (00000008",
                                              "[malloc_or_wait] unable to allocate"};
    // A process that loads data and is killed: by the kernel, for want of memory.
    constexpr std::string_view of_host[] = {"memoryerror",
                                            "std::bad_alloc",
                                            "cannot allocate memory",
                                            "can't allocate memory",
                                            "cannot allocate vector of size",
                                            "memory allocation of ",
                                            "is killed by signal: killed",
                                            "insufficient shared memory"};
    constexpr std::string_view of_either[] = {"out of memory", "oom when allocating"};
    constexpr std::string_view on_the_host = "device:cpu";  // TensorFlow says where
    constexpr std::size_t longest = 300;

    while (!last_output.empty()) {
        const auto before = last_output.find_last_of('\n');
        const std::string_view line = before == std::string_view::npos ? last_output : last_output.substr(before + 1);
        std::string lower(line);
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
        const auto says = [&](std::string_view text) { return lower.find(text) != std::string::npos; };
        // The device's messages first: "OutOfMemoryError" ends like the host's.
        const auto any_of = [&](const auto& text) { return std::any_of(std::begin(text), std::end(text), says); };
        const bool device = on_device && (any_of(of_device) || any_of(of_either)) && !says(on_the_host);
        const bool host = any_of(of_host) || any_of(of_either);
        if (device || host) return OutOfMemoryLine{device, std::string(line.substr(0, longest))};
        last_output = before == std::string_view::npos ? std::string_view() : last_output.substr(0, before);
    }
    return std::nullopt;
}

std::optional<std::int64_t> next_accumulation(std::int64_t batch_size, std::int64_t accumulation) {
    if (accumulation < 1 || batch_size <= accumulation) return std::nullopt;
    return accumulation <= batch_size / 2 ? 2 * accumulation : batch_size;
}

}  // namespace hpo
