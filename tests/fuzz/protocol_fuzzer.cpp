// Fuzzes the protocol. Chunks of odd sizes are split into lines and decoded as messages of either side. A message that
// was accepted must be encoded as a line that is decoded to the same message. The faster codec of reports must agree.
// No line may be longer than the limit.
#include <cstdint>

#include "hpo/lines.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/quick_wire.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

template <class Decode>
void round_trip(std::string_view line, Decode&& decode) {
    const auto message = decode(line);
    if (!message) {
        require(!message.error().message.empty() && message.error().message.size() < 1024);
        return;
    }
    std::string encoded = wire::encode(*message);
    require(encoded.find('\n') == encoded.size() - 1);
    encoded.pop_back();
    const auto again = decode(encoded);
    require(again.ok());
    require(wire::encode(*again) == encoded + '\n');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::size_t limit = size % 2 == 0 ? max_line_bytes : 256;
    LineSplitter lines(limit);
    const auto take = [&](std::string_view line) {
        require(line.size() < limit && line.find('\n') == std::string_view::npos);
        round_trip(line, wire::decode_worker);
        round_trip(line, wire::decode_orchestrator);
        if (const auto quick = wire::quick_report(line)) {
            const auto message = wire::decode_worker(line);
            require(message.ok() && wire::encode(WorkerMessage(*quick)) == wire::encode(*message));
        }
    };
    std::size_t chunk = 1;
    while (!bytes.empty()) {
        lines.feed(bytes.substr(0, chunk), take);
        bytes.remove_prefix(std::min(chunk, bytes.size()));
        chunk = chunk * 7 % 1021 + 1;
        require(lines.rest().size() <= limit);
    }
    take(lines.rest());
    return 0;
}
