// Texts for the engine's reasons.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "hpo/signal_name.hpp"
#include "hpo/text.hpp"

namespace hpo {

/// Takes the place of a rule's name for trials that their own program has given up.
inline constexpr const char* by_script = "script";

/// "\n  " before each line of a log's tail; empty for an empty one.
inline std::string quoted(const std::string& tail) {
    std::string text;
    for (std::size_t at = 0; at < tail.size();) {
        const auto end = std::min(tail.find('\n', at), tail.size());
        text += "\n  | " + tail.substr(at, end - at);
        at = end + 1;
    }
    return text;
}

/// Returns the text by which trials of one cause are recognised: the first and the last line of the reason, without
/// numbers (of a path, an address, a parameter).
inline std::string kind_of_failure(const std::string& reason) {
    const auto first = std::min(reason.find('\n'), reason.size());
    const auto last = reason.rfind('\n');
    std::string kind;
    for (const char c : reason.substr(0, first) + (last == std::string::npos ? "" : reason.substr(last))) {
        const bool digit = c >= '0' && c <= '9';
        if (!digit || !kind.ends_with('#')) kind += digit ? '#' : c;
    }
    return kind;
}

}  // namespace hpo
