// Makes secret tokens, by which connecting processes are recognised.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace hpo {

/// Returns 128 random bits as 32 hexadecimal digits. Throws std::runtime_error if the kernel has none.
inline std::string random_token() {
    unsigned char bytes[16];
    if (::getentropy(bytes, sizeof bytes) != 0) throw std::runtime_error("getentropy failed");
    std::string token;
    for (const unsigned char byte : bytes)
        for (const int digit : {byte >> 4, byte & 15}) token += "0123456789abcdef"[digit];
    return token;
}

}  // namespace hpo
