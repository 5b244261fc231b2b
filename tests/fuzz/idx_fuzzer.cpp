// Fuzzes the reader of IDX files, plain and compressed. The items must add up to the shape of the header.
#include <algorithm>
#include <cstdint>

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/require.hpp"
#include "worker/data/idx.hpp"

using namespace hpo;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const fuzz::MemoryFile file({data, size});
    const auto shape = read_idx_shape(file.path());
    if (!shape) {
        require(shape.error().message.starts_with(file.path().string() + ": "));
        return 0;
    }
    require(!shape->empty() && shape->size() <= 4 && *std::min_element(shape->begin(), shape->end()) > 0);
    std::int64_t items = 0;
    const auto read = read_idx(file.path(), [&](std::int64_t first, std::span<const std::uint8_t> bytes) {
        require(first == items && !bytes.empty());
        require(static_cast<std::int64_t>(bytes.size()) % item_bytes(*shape) == 0);
        items += static_cast<std::int64_t>(bytes.size()) / item_bytes(*shape);
    });
    require(read ? *read == *shape && items == (*shape)[0] : items <= (*shape)[0]);
    return 0;
}
