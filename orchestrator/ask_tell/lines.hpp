// The protocol of `hpo ask-tell` (docs/ask_tell.md). Each request and each answer is one line of JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orchestrator/ask_tell/session.hpp"

namespace hpo::ask_tell {

/// The maximum length of an input line in bytes, including its newline.
inline constexpr std::size_t longest_line = std::size_t{1} << 20;

/// Returns the answer to a line, including its newline. `number` is the line's number, counted from 1. An invalid
/// request gets an error as its answer, and the session continues.
std::string answer(Session& session, std::string_view line, std::int64_t number);

/// Returns the line {"error": message, "line": number}, including its newline.
std::string error_line(const std::string& message, std::int64_t number);

}  // namespace hpo::ask_tell
