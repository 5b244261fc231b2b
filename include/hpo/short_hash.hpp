// Hashes of texts for names of files and identities that have to stay the same from one version to the next. They are
// no protection against somebody who wants two texts to have one hash.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace hpo {

/// Returns the FNV-1a hash of a text.
inline std::uint64_t fnv_hash(std::string_view text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return hash;
}

/// Returns the FNV-1a hash of a text as 16 hexadecimal digits.
inline std::string short_hash(std::string_view text) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(fnv_hash(text)));
    return digits;
}

}  // namespace hpo
