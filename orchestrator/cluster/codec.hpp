// Messages (messages.hpp) as frames (stream.hpp) and back. Messages of workers are passed as their lines; the rest is
// JSON. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/result.hpp"
#include "orchestrator/cluster/messages.hpp"

namespace hpo::cluster {

std::string encode(const ToAgent& message);
std::string encode(const FromAgent& message);

/// Return the message of a frame. Fail for bytes that encode() does not write.
Result<ToAgent> decode_to_agent(std::uint8_t kind, std::string_view payload);
Result<FromAgent> decode_from_agent(std::uint8_t kind, std::string_view payload);

}  // namespace hpo::cluster
