// Fuzzes the reader of NPY headers. An accepted header must be consistent: written again, it must be read as the same,
// and a truncated one must be an error.
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/require.hpp"
#include "worker/data/npy.hpp"

namespace {

using namespace hpo;

Result<NpyHeader> parse(const std::string& text) { return parse_npy(std::as_bytes(std::span(text))); }

std::string written(const NpyHeader& header) {
    const char kind = header.type == NpyType::boolean ? 'b' : npy_name(header.type)[0];
    const std::string dictionary = "{'descr': '<" + std::string(1, kind) + std::to_string(bytes_of(header.type)) +
                                   "', 'fortran_order': False, 'shape': " + shape_text(header.shape) + ", }\n";
    std::string text("\x93NUMPY\x02\x00", 8);
    for (int shift = 0; shift < 32; shift += 8) text += static_cast<char>(dictionary.size() >> shift & 0xFF);
    return text + dictionary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    const auto header = parse(text);
    if (!header) {
        require(header.error().message.starts_with("byte "));
        return 0;
    }
    require(!header->shape.empty() && header->data_bytes() > 0);
    require(static_cast<std::size_t>(header->data_offset) <= size);
    require(!parse(text.substr(0, static_cast<std::size_t>(header->data_offset) - 1)));
    auto again = parse(written(*header));
    require(static_cast<bool>(again));
    again->data_offset = header->data_offset;
    require(*again == *header);
    return 0;
}
