#pragma once

#include <string>

#include "os/process.hpp"

namespace hpo {

/// "SIGSEGV"; "signal 35" where the system has no name for it.
inline std::string signal_name(int number) {
    const char* name = os::signal_abbreviation(number);
    return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace hpo
