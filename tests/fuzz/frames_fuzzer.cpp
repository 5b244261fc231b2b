// Fuzzes the frames between hpo and its supervisors. The frames must not depend on how the bytes are split into pieces,
// and a start that is accepted must be packed as one that is read as the same.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "orchestrator/execution/frames.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

std::string supervisor_frames(std::string_view bytes, std::size_t piece) {
    supervisor::FrameReader reader;
    std::string found;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        const bool valid = reader.feed(bytes.substr(0, piece), [&](std::uint32_t kind, std::string_view payload) {
            found += supervisor::frame(kind, payload);
        });
        if (!valid) return found + "invalid";
    }
    return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    const std::string whole = supervisor_frames(bytes, size + 1);
    require(whole == supervisor_frames(bytes, 3));
    require(whole.ends_with("invalid") || bytes.starts_with(whole));
    try {
        const std::string packed = supervisor::pack(supervisor::unpack_start(bytes));
        require(supervisor::pack(supervisor::unpack_start(packed)) == packed);
    } catch (const std::out_of_range&) {
    } catch (const std::invalid_argument&) {
    }
    return 0;
}
