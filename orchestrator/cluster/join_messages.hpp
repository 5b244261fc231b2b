// The protocol by which an agent that joins a study connects, and connects again: frames (stream.hpp) that carry the
// bytes of the agent's standard input and output over a connection that may break. docs/cluster.md describes them for
// users. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/event.hpp"
#include "hpo/result.hpp"

namespace hpo::cluster {

/// The kinds of these frames.
enum class JoinKind : std::uint8_t {
    join = 1,  ///< the agent's first frame: Join
    welcome,   ///< the answer: Welcome
    refused,   ///< why this end ends the connection for good, as text
    data,      ///< the next bytes of the stream
    confirm,   ///< eight bytes: how many bytes of the stream have arrived in all
    end,       ///< no data follows; from the orchestrator with a Farewell
};

struct Join {
    std::string session;         ///< the Welcome's; empty: a new agent
    std::string host;            ///< name of the agent's host; a new agent alone
    std::uint64_t received = 0;  ///< bytes of the orchestrator's stream
    friend bool operator==(const Join&, const Join&) = default;
};
struct Welcome {
    std::string session;         ///< by which the agent is known when it connects again
    std::uint64_t received = 0;  ///< bytes of the agent's stream
    friend bool operator==(const Welcome&, const Welcome&) = default;
};

/// The message to an agent at the end of the session that it had joined.
struct Farewell {
    SessionEnd end = SessionEnd::none;  ///< none: the orchestrator has given this agent up
    std::string reason;
    friend bool operator==(const Farewell&, const Farewell&) = default;
};

std::string encode(const Join& join);
std::string encode(const Welcome& welcome);
std::string encode(const Farewell& farewell);
std::string encode_confirm(std::uint64_t received);

/// Return the message of a payload. Fail for bytes that encode() does not write.
Result<Join> decode_join(std::string_view payload);
Result<Welcome> decode_welcome(std::string_view payload);
Result<Farewell> decode_farewell(std::string_view payload);
Result<std::uint64_t> decode_confirm(std::string_view payload);

}  // namespace hpo::cluster
