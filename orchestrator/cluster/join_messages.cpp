#include "orchestrator/cluster/join_messages.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hpo/wire.hpp"
#include "orchestrator/cluster/stream.hpp"

namespace hpo::cluster {

namespace {

constexpr std::size_t most_join_payload = 4096;

std::string text_of_join(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::uint64_t to_count(const nlohmann::json& json) {
    const std::int64_t count = wire::to_int(json);
    if (count < 0) throw wire::Malformed("not a count");
    return static_cast<std::uint64_t>(count);
}

template <class F>
auto read_join(std::string_view payload, F&& read) -> Result<decltype(read(nlohmann::json()))> {
    if (payload.size() > most_join_payload) return Error{"too long"};
    try {
        return read(nlohmann::json::parse(payload));
    } catch (const wire::Malformed& wrong) {
        return Error{wrong.what()};
    } catch (const nlohmann::json::exception& wrong) {
        return Error{wrong.what()};
    }
}

}  // namespace

std::string encode(const Join& join) {
    return text_of_join({{"session", join.session}, {"host", join.host}, {"received", join.received}});
}
std::string encode(const Welcome& welcome) {
    return text_of_join({{"session", welcome.session}, {"received", welcome.received}});
}
std::string encode(const Farewell& farewell) {
    // Escaping may make the reason several times as long.
    for (std::size_t most = most_join_payload;; most /= 2) {
        std::string text = text_of_join({{"end", to_text(farewell.end)}, {"reason", farewell.reason.substr(0, most)}});
        if (text.size() <= most_join_payload) return text;
    }
}
std::string encode_confirm(std::uint64_t received) {
    std::string bytes;
    put_u32(bytes, static_cast<std::uint32_t>(received));
    put_u32(bytes, static_cast<std::uint32_t>(received >> 32));
    return bytes;
}

Result<Join> decode_join(std::string_view payload) {
    return read_join(payload, [](const nlohmann::json& json) {
        return Join{wire::to_string(wire::member(json, "session")), wire::to_string(wire::member(json, "host")),
                    to_count(wire::member(json, "received"))};
    });
}
Result<Welcome> decode_welcome(std::string_view payload) {
    return read_join(payload, [](const nlohmann::json& json) {
        return Welcome{wire::to_string(wire::member(json, "session")), to_count(wire::member(json, "received"))};
    });
}
Result<Farewell> decode_farewell(std::string_view payload) {
    return read_join(payload, [](const nlohmann::json& json) {
        const std::string end = wire::to_string(wire::member(json, "end"));
        const auto found = std::find(session_end_names.begin(), session_end_names.end(), end);
        if (found == session_end_names.end()) throw wire::Malformed("no end of a session");
        return Farewell{static_cast<SessionEnd>(found - session_end_names.begin()),
                        wire::to_string(wire::member(json, "reason"))};
    });
}
Result<std::uint64_t> decode_confirm(std::string_view payload) {
    if (payload.size() != 8) return Error{"not eight bytes"};
    return std::uint64_t{get_u32(payload)} | std::uint64_t{get_u32(payload.substr(4))} << 32;
}

}  // namespace hpo::cluster
