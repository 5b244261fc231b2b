// Describes a trial's place at a rung. All rules with rungs use this text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace hpo {

/// Returns a text such as "the best 6 are promoted", "promotion quota full" or "none is promoted before 3
/// trials arrive".
/// `number` is the trial's place, counted from 1. `quota` is the number of trials that the rung promotes, one in
/// `factor`. `past` is true when the study has ended.
inline std::string promotion_text(std::size_t number, std::size_t quota, std::size_t factor, bool past) {
    const std::size_t places = past ? std::max<std::size_t>(quota, 1) : quota;
    if (places == 0) return "none is promoted before " + std::to_string(factor) + " trials arrive";
    const std::string best = places == 1 ? "the best one" : "the best " + std::to_string(places);
    if (number > places)
        return best + (places == 1 ? (past ? " was" : " is") : (past ? " were" : " are")) + " promoted";
    return past ? "among " + best + " when the study ended" : "promotion quota full";
}

}  // namespace hpo
