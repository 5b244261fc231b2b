// Asks sysctlbyname(); the answer is absent where it does not know the name.
#pragma once

#include <sys/sysctl.h>

#include <cstdint>
#include <optional>
#include <string>

namespace hpo::darwin {

/// A whole number of 32 or 64 bits.
inline std::optional<std::int64_t> number_of(const std::string& name) {
    std::int64_t wide = 0;
    std::size_t size = sizeof wide;
    if (::sysctlbyname(name.c_str(), &wide, &size, nullptr, 0) != 0) return std::nullopt;
    if (size == sizeof wide) return wide;
    std::int32_t narrow = 0;
    size = sizeof narrow;
    if (::sysctlbyname(name.c_str(), &narrow, &size, nullptr, 0) != 0 || size != sizeof narrow) return std::nullopt;
    return narrow;
}

inline std::string text_of(const std::string& name) {
    char text[256] = {};
    std::size_t size = sizeof text - 1;
    return ::sysctlbyname(name.c_str(), text, &size, nullptr, 0) == 0 ? text : "";
}

}  // namespace hpo::darwin
