// Settings that depend on the device: how far trials are padded so that they share a worker, the temporary memory of an
// operation, and the rows that keep the device busy. A worker on a GPU measures them once for each device, before its
// first trial, and keeps them in a file, so that all workers lay trials out alike, also in later sessions. They follow
// from the measured times alone. If the time for measuring was too short, as on a device whose libraries are loaded for
// the first time, the next session measures again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "hpo/clock.hpp"
#include "worker/backends/backend.hpp"
#include "worker/models/padding.hpp"

namespace hpo {

struct Tuning {
    BucketBounds buckets;
    std::int64_t part_bytes = 0;  ///< see Device::part_bytes; 0: that of the device
    /// Largest batch in samples that is faster with weights updated in the backward pass
    /// (GroupPlan::updates_in_backward), which moves fewer bytes but multiplies without a library. 0: none.
    std::int64_t backward_updates = 0;
    /// Rows at which a matrix product reaches half of its full speed; 0: not measured.
    std::int64_t rows_at_half_speed = 0;
    friend bool operator==(const Tuning&, const Tuning&) = default;
};

/// Seconds on a device; nothing where its memory or the time for measuring does not suffice.
struct TuningTimes {
    /// Time of an update of several trials with this batch size and these hidden widths, side by side.
    std::function<std::optional<double>(std::int64_t batch, std::int64_t width)> update;
    /// Time of an update as above with the usual widths, whose weights are updated in the backward pass.
    std::function<std::optional<double>(std::int64_t batch)> update_in_backward;
    /// Time of a convolution that works on parts of `bytes` bytes.
    std::function<std::optional<double>(std::int64_t part_bytes)> convolution;
    /// Time of a matrix product with `rows` rows.
    std::function<std::optional<double>(std::int64_t rows)> product = [](std::int64_t) { return std::nullopt; };
    /// Returns true if a time is missing because the time for measuring was over.
    std::function<bool()> cut_off = [] { return false; };
};

struct FoundTuning {
    Tuning tuning;
    bool complete = true;       ///< false: the time for measuring was over before all was measured
    std::int64_t measured = 0;  ///< number of measured times
    bool again = false;         ///< true if the next session measures again, since this one is not complete
    friend bool operator==(const FoundTuning&, const FoundTuning&) = default;
};

/// Chooses the settings by the times. Padding below `least` costs at most a seventh more time. Padding to powers of two
/// below `coarse`, the next one, costs at most half as much again. Settings that cannot be measured keep their
/// defaults.
FoundTuning find_tuning(const TuningTimes& times);

/// Returns functions that time short trainings, convolutions and products on synthetic data, within a few seconds from
/// this call on. Both references outlive the result.
TuningTimes times_on(Device& device, const Clock& clock);

/// The number of sessions that measure a device until one of them has measured everything. After that the session that
/// has measured most counts: the device is too slow to gain anything.
inline constexpr std::size_t most_tuning_attempts = 3;

/// Returns the tuning that `folder` has for a device with this identity. If it has no complete one, calls `find` and
/// stores the result, while other processes that ask for the same device wait. An incomplete tuning is valid for the
/// session that found it, all of whose workers must agree; `session` tells sessions apart (empty: this process alone).
/// If the result cannot be stored, returns the default Tuning.
FoundTuning kept_tuning(const std::filesystem::path& folder, const std::string& identity, const std::string& session,
                        const std::function<FoundTuning()>& find);

/// "batches are padded to at least 16, ...", for a log.
std::string to_text(const FoundTuning& found);

}  // namespace hpo
