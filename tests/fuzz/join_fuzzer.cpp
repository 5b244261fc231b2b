// Fuzzes the messages between an agent that joins and its orchestrator, and the join file. An accepted text must be
// written as a text that is read as the same.
#include <cstdint>
#include <string_view>

#include "orchestrator/cluster/join_file.hpp"
#include "orchestrator/cluster/join_messages.hpp"
#include "orchestrator/cluster/listen_at.hpp"
#include "tests/fuzz/require.hpp"

using namespace hpo;
using namespace hpo::cluster;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto join = decode_join(bytes)) {
        const auto again = decode_join(encode(*join));  // escapes may make it longer than a payload may be
        require(!again || *again == *join);
    }
    if (const auto welcome = decode_welcome(bytes)) {
        const auto again = decode_welcome(encode(*welcome));
        require(!again || *again == *welcome);
    }
    if (const auto received = decode_confirm(bytes)) require(encode_confirm(*received) == bytes);
    if (const auto file = parse_join_file(bytes)) {
        const auto again = parse_join_file(text_of(*file));
        require(!again || *again == *file);
        require(key_bytes(file->key).size() == 32);
    }
    (void)parse_listen(bytes);
    return 0;
}
