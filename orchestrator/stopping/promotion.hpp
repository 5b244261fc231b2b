// What a rung says of a trial's place in it, in the words that every rule with rungs uses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace hpo {

/// "the best 6 are promoted", "promotion quota full", "promotes once 3 trials arrive"; `past`: the study has ended.
/// `number`: the trial's place, from 1; `quota`: how many the rung promotes; `factor`: one in so many.
inline std::string promotion_text(std::size_t number, std::size_t quota, std::size_t factor, bool past) {
    const std::size_t places = past ? std::max<std::size_t>(quota, 1) : quota;
    if (places == 0) return "promotes once " + std::to_string(factor) + " trials arrive";
    const std::string best = places == 1 ? "the best one" : "the best " + std::to_string(places);
    if (number > places)
        return best + (places == 1 ? (past ? " was" : " is") : (past ? " were" : " are")) + " promoted";
    return past ? "among " + best + " when the study ended" : "promotion quota full";
}

}  // namespace hpo
