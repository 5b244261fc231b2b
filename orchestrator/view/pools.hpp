// Memory that trials share, while they run: a line for the host and one for each device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

/// The host, or a device, as the running session tells of it. Bytes.
struct Pool {
    std::string name;  ///< "host", "gpu 0"
    std::int64_t capacity = 0;
    std::int64_t others = 0;           ///< used by other programs
    std::int64_t reserved = 0;         ///< by trials
    std::optional<std::int64_t> used;  ///< by trials; absent: not measured
    std::int64_t trials = 0;
    bool usable = true;  ///< false: lost, or set aside
};

/// "host   ████▓▓░░····  3.1 of 7.8 GiB reserved, 2.0 used, 1.1 by others, 2 trials": what trials use, what is reserved
/// beyond that, what others use, what is left. At most `rows` lines; devices that have no line of their own share one.
void add_pools(Canvas& canvas, std::span<const Pool> pools, int rows, const Screen& screen);

/// The rows that pools may take of a screen of this height: a quarter, and at most five.
int rows_for_pools(const Screen& screen);

}  // namespace hpo::view
