// The two messages that every step sends, faster than the codec of all messages (hpo/wire.hpp), which stays the
// measure: what is said here is what it says.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hpo/messages.hpp"

namespace hpo::wire {

/// A report in the form in which workers write it: plain ASCII without escapes, known keys, a number each. Nothing:
/// another message or another form of it, which decode_worker() is to read.
std::optional<from_worker::Reported> quick_report(std::string_view line);

/// As encode().
std::string quick_encode(const to_worker::Decision& decision);

}  // namespace hpo::wire
