#include "orchestrator/scheduling/out_of_memory.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "hpo/units.hpp"
#include "orchestrator/scheduling/footprints.hpp"

namespace hpo {
namespace {

/// The amounts of the memory that ran out.
struct Amounts {
    double booked = 0;
    double used = 0;
    double room = 0;
    double others = 0;
};

Amounts amounts_of(const MemoryDeath& death) {
    const Footprint used = with_measurement_error(death.used);
    const auto of = [&](const Footprint& f) {
        return double(std::max<std::int64_t>(death.on_device ? f.device_bytes : f.host_bytes, 0));
    };
    return {of(death.booked), of(used), of(death.room), of(death.others)};
}

/// Twice at most a trial is tried beside others before it gets all there is.
constexpr std::int64_t tries_beside_others = 2;
/// What other programs may use of an empty machine: a desktop's share.
constexpr double tolerated = 0.1;
constexpr std::int64_t deaths_at_most = 40;

}  // namespace

Result<NextTry> after_out_of_memory(const MemoryDeath& death) {
    const auto [booked, used, room, others] = amounts_of(death);
    const double available = std::max(room - others, 0.0);
    const double more = room / 16;  // less is no other launch
    // A trial on a device that has the device to itself may have had neighbours in the host's memory.
    const bool had_its_pool = death.alone && (death.on_device || death.booked.device_bytes <= 0);
    const double grown = std::max({booked * (death.deaths == 1 ? 1.5 : 2), booked + more, used});

    NextTry next{death.booked, death.alone, death.micro_batches, {}};
    // Of the other kind, what was seen, as far as there is room for it.
    const auto at_least = [](std::int64_t& bytes, std::int64_t seen, std::int64_t most) {
        bytes = std::max(bytes, std::min(seen, most));
    };
    at_least(next.booking.host_bytes, with_measurement_error(death.used).host_bytes, death.room.host_bytes);
    at_least(next.booking.device_bytes, with_measurement_error(death.used).device_bytes, death.room.device_bytes);
    const auto book = [&](double bytes, bool alone) {
        (death.on_device ? next.booking.device_bytes : next.booking.host_bytes) = static_cast<std::int64_t>(bytes);
        next.alone = alone;
        next.how = (alone ? "alone, with " : "with ") + bytes_text(bytes) +
                   (death.on_device ? " of device memory booked" : " of memory booked");
        return next;
    };

    const bool room_beside = booked > 0 && grown <= available;
    if (!had_its_pool && death.deaths <= tries_beside_others && room_beside) return book(grown, false);
    const bool had_all = had_its_pool || booked + more > available;
    if (!had_all) return book(available, true);
    const bool smaller = death.more_micro_batches && *death.more_micro_batches > death.micro_batches;
    if (smaller && available >= booked / 2) {
        // It needs less now: what was booked, or as much of it as there is, is enough.
        book(std::min(std::max(booked, used), available), true);
        next.micro_batches = *death.more_micro_batches;
        next.how = "in " + std::to_string(next.micro_batches) + " micro-batches of an update, " + next.how;
        return next;
    }
    if (others <= tolerated * room) {
        if (booked + more <= available) return book(available, true);
    } else if (death.deaths < deaths_at_most) {
        book(std::max(booked, (1 - tolerated) * room), true);
        next.how += ", once other programs leave as much";
        return next;
    }

    std::string text = "ran out of " + std::string(death.on_device ? "device memory" : "memory") + ' ' +
                       std::to_string(death.deaths) + (death.deaths == 1 ? " time" : " times") + ", at last " +
                       (had_its_pool ? "alone, " : "") + "with " + bytes_text(booked) + " booked of the " +
                       bytes_text(room) + " that an empty " + (death.on_device ? "device" : "machine") + " gives";
    if (others > 0) text += " (other programs use " + bytes_text(others) + ")";
    if (death.micro_batches > 1)
        text += ", in " + std::to_string(death.micro_batches) + " micro-batches of an update, which cannot be smaller";
    return Error{text};
}

std::optional<OutOfMemoryWords> out_of_memory_words(std::string_view last_words, bool on_device) {
    // In lower case. Most of a device's errors hold the first one of either.
    constexpr std::string_view of_device[] = {"out of memory",      "out_of_memory",      "resource_exhausted",
                                              "resourceexhausted",  "memoryallocation",   "alloc_failed",
                                              "allocation_failure", "cl_out_of_resources"};
    // A process that loads data and is killed: by the kernel, for want of memory.
    constexpr std::string_view of_host[] = {"memoryerror",
                                            "std::bad_alloc",
                                            "cannot allocate memory",
                                            "can't allocate memory",
                                            "is killed by signal: killed",
                                            "insufficient shared memory"};
    constexpr std::string_view of_either[] = {"out of memory", "oom when allocating"};
    constexpr std::string_view on_the_host = "device:cpu";  // TensorFlow says where
    constexpr std::size_t longest = 300;

    while (!last_words.empty()) {
        const auto before = last_words.find_last_of('\n');
        const std::string_view line = before == std::string_view::npos ? last_words : last_words.substr(before + 1);
        std::string lower(line);
        std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
        const auto says = [&](std::string_view words) { return lower.find(words) != std::string::npos; };
        // The device's words first: "OutOfMemoryError" ends like the host's.
        const auto any_of = [&](const auto& words) { return std::any_of(std::begin(words), std::end(words), says); };
        const bool device = on_device && (any_of(of_device) || any_of(of_either)) && !says(on_the_host);
        const bool host = any_of(of_host) || any_of(of_either);
        if (device || host) return OutOfMemoryWords{device, std::string(line.substr(0, longest))};
        last_words = before == std::string_view::npos ? std::string_view() : last_words.substr(0, before);
    }
    return std::nullopt;
}

std::optional<std::int64_t> next_accumulation(std::int64_t batch_size, std::int64_t accumulation) {
    if (accumulation < 1 || batch_size <= accumulation) return std::nullopt;
    return accumulation <= batch_size / 2 ? 2 * accumulation : batch_size;
}

}  // namespace hpo
