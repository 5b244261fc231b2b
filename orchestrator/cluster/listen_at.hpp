// The address at which a study listens for agents that join it, as `hpo run --listen` names it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "hpo/result.hpp"

namespace hpo::cluster {

struct ListenAt {
    std::string address = "0.0.0.0";  ///< numeric, of version 4 or 6; by default all of version 4
    std::uint16_t port = 0;           ///< 0: a free one
    friend bool operator==(const ListenAt&, const ListenAt&) = default;
};

/// Reads `ADDRESS:PORT`, `ADDRESS`, `PORT`, `:PORT` or nothing; an address of version 6 stands in brackets before a
/// port. Fails for others, with the cure.
Result<ListenAt> parse_listen(std::string_view text);

}  // namespace hpo::cluster
