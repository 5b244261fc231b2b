// The hardware of a simulation: a host, and groups of equal devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

struct Span {
    double low = 0, high = 0;  ///< low <= high

    /// Returns the number at `share` (0 to 1) of the way from low to high, evenly over magnitudes.
    [[nodiscard]] double at(double share) const;
    [[nodiscard]] bool exact() const { return low == high; }
};

/// A kind of device by its data sheet. Rates are peaks of dense arithmetic.
struct DeviceModel {
    std::string_view name;     ///< as in `8xH200`
    double memory = 0;         ///< bytes
    double float32_flops = 0;  ///< per second, without tensor cores
    double half_flops = 0;     ///< per second, bfloat16 (before Ampere: float16) on tensor cores
    double bandwidth = 0;      ///< bytes per second
};

/// Returns the model with this name in any case, or nullptr if it is not known.
const DeviceModel* find_device_model(std::string_view name);
/// Returns the names of all models, separated by commas.
std::string known_device_models();

/// Equal devices.
struct DeviceGroup {
    std::string name;
    std::int64_t count = 1;
    std::int64_t memory = 0;              ///< bytes
    const DeviceModel* model = nullptr;   ///< nullptr: its name is not known
    std::optional<Span> speed;            ///< of one trial alone, relative to where the study was measured
    std::vector<double> throughput{1};    ///< total speed of 1, 2, ... trials, relative to one; the last holds on
    std::optional<std::int64_t> at_once;  ///< most trials on each; absent: as many as fit
    std::optional<double> price;          ///< of one device and hour
};

struct Hardware {
    double cores = 1;
    bool cores_given = false;            ///< false: as many as its devices need
    std::optional<std::int64_t> memory;  ///< of the host; absent: as much as needed
    std::optional<Span> speed;           ///< of a core, relative to the machine where the study was measured
    std::optional<double> price;         ///< of the host and an hour
    std::vector<DeviceGroup> groups;     ///< empty: trials compute on the host's cores
    std::string name;                    ///< for users: "8 H200", "4 CPU cores"

    [[nodiscard]] std::int64_t devices() const;
    /// Returns the price of an hour of all, or nothing if there is none.
    [[nodiscard]] std::optional<double> price_per_hour() const;
};

/// The largest simulated machine.
inline constexpr std::int64_t most_simulated_devices = 10'000;

/// Parses "8xH200", "4xcpu" (cores), or several with commas between them. Fails with the known names if a name is not
/// known, and if a count is not from 1 to `most_simulated_devices`.
Result<Hardware> parse_hardware(std::string_view text);

}  // namespace hpo
