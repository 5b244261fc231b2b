#pragma once

#include <string>

namespace hpo {

/// Quotes `text` as one word of a POSIX shell. A word that needs no quotes is returned unchanged.
inline std::string shell_word(const std::string& text) {
    const bool bare = !text.empty() && text.find_first_not_of(
                                           "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                           "0123456789._-+=/:,@%") == std::string::npos;
    if (bare) return text;
    std::string word = "'";
    for (char c : text) c == '\'' ? word += "'\\''" : word += c;
    return word + "'";
}

}  // namespace hpo
