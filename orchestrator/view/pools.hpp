// Draws the memory that trials share: a line for the host and one for each device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// The host or a device, as the running session has published it. Sizes are in bytes.
struct Pool {
    std::string name;  ///< "host", "gpu 0"
    std::int64_t capacity = 0;
    std::int64_t others = 0;           ///< used by other programs
    std::int64_t reserved = 0;         ///< reserved for trials
    std::optional<std::int64_t> used;  ///< used by trials; absent if not measured
    std::int64_t trials = 0;
    bool usable = true;                   ///< false if the device is lost or excluded
    std::string state = {}, reason = {};  ///< of a host among several, as DeviceReservation has them
};

/// Returns "up", "silent for 12 s" or "set aside: its agent died".
std::string state_text(const std::string& state, const std::string& reason);

/// Adds lines such as "host   ████▓▓░░····  3.1 of 7.8 GiB reserved, 2.0 used, 1.1 by others, 2 trials". The bar shows
/// the memory that trials use, the rest of their reservations, the use of others, and the free memory. Adds at most
/// `rows` lines. If there are more devices, they are summed up in one line.
void add_pools(Canvas& canvas, std::span<const Pool> pools, int rows, const Screen& screen);

/// Returns the number of rows that pools may take on this screen: a quarter of it, at most five.
int rows_for_pools(const Screen& screen);

}  // namespace hpo::view
