// The protocol of `hpo ask-tell` (docs/ask_tell.md): a line of JSON in, one out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orchestrator/ask_tell/session.hpp"

namespace hpo::ask_tell {

/// Longest line of input, in bytes, its newline included.
inline constexpr std::size_t longest_line = std::size_t{1} << 20;

/// The answer to line `number` (from 1), its newline included. Whatever the line holds, the session goes on: what is
/// wrong is said in the answer.
std::string answer(Session& session, std::string_view line, std::int64_t number);

/// {"error": message, "line": number}
std::string error_line(const std::string& message, std::int64_t number);

}  // namespace hpo::ask_tell
