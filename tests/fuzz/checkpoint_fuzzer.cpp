// Fuzzes the reader of checkpoints. An accepted file must be written again as the same file. The checksum is made right
// in inputs of even size, since all others are refused by it.
#include <zlib.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/require.hpp"
#include "worker/training/checkpoint.hpp"

namespace {

using namespace hpo;

constexpr std::uint64_t binding = 0x6761666564636261;  // "abcdefag", so that a text may have it

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t header = 32, sum = 4;
    std::vector<std::uint8_t> bytes(data, data + size);
    if (size % 2 == 0 && size >= header + sum) {
        const auto right = static_cast<std::uint32_t>(crc32_z(0, bytes.data(), size - sum));
        std::memcpy(bytes.data() + size - sum, &right, sum);
    }
    const fuzz::MemoryFile file(bytes);
    const std::size_t payload = size < header + sum ? 0 : size - header - sum;
    std::vector<std::byte> first(payload / 3), second(payload - first.size());
    const std::array<std::span<std::byte>, 2> parts{first, second};
    const auto step = read_checkpoint(file.path(), binding, parts);
    if (!step) {
        require(step.error().message.starts_with(file.path().string() + ": "));
        return 0;
    }
    const auto copy =
        std::filesystem::temp_directory_path() / ("fuzz-checkpoint-" + std::to_string(static_cast<int>(::getpid())));
    const std::array<std::span<const std::byte>, 2> read{first, second};
    require(static_cast<bool>(write_checkpoint(copy, binding, *step, read)));
    std::ifstream stream(copy, std::ios::binary);
    const std::vector<char> again((std::istreambuf_iterator<char>(stream)), {});
    std::filesystem::remove(copy);
    require(again.size() == size && std::memcmp(again.data(), bytes.data(), size) == 0);
    return 0;
}
