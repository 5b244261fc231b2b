// Fuzzes the stream between an orchestrator and its agents. Frames must not depend on how the bytes are split into
// pieces, and a message that is accepted must be written as one that is read as the same.
#include <algorithm>
#include <cstdint>
#include <string>

#include "orchestrator/cluster/codec.hpp"
#include "orchestrator/cluster/stream.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;
using namespace hpo::cluster;

std::string frames_of(std::string_view bytes, std::size_t piece) {
    StreamReader reader;
    std::string found;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        const bool valid = reader.feed(bytes.substr(0, piece), [&](std::uint8_t kind, std::string_view payload) {
            found += frame(kind, payload);
        });
        if (!valid) return found + "invalid";
    }
    return found;
}

template <class Message>
void check_message(Result<Message> (*decode)(std::uint8_t, std::string_view), std::uint8_t kind,
                   std::string_view payload) {
    const auto message = decode(kind, payload);
    if (!message) return;
    const std::string written = encode(*message);
    const auto again = decode(static_cast<std::uint8_t>(written.at(4)), std::string_view(written).substr(5));
    require(again && encode(*again) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string whole = frames_of(bytes, size + 1);
    require(whole == frames_of(bytes, 3));
    if (bytes.empty()) return 0;
    check_message(decode_to_agent, data[0], bytes.substr(1));
    check_message(decode_from_agent, data[0], bytes.substr(1));
    return 0;
}
