// Counts with their nouns, for people.
#pragma once

#include <cstdint>
#include <string>

namespace hpo {

/// Returns "1 study", "0 studies", "3 studies".
inline std::string counted(std::int64_t number, const std::string& one, const std::string& many) {
    return std::to_string(number) + ' ' + (number == 1 ? one : many);
}

/// Returns "1 step", "0 steps", "3 steps".
inline std::string counted(std::int64_t number, const std::string& noun) { return counted(number, noun, noun + 's'); }

}  // namespace hpo
