// Fuzzes the reader of PNG and JPEG files. The pixels must stay within their buffer, and an image must be read the same
// twice. The checksums of PNG chunks are made right, since libpng would refuse all inputs by them.
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/require.hpp"
#include "worker/data/image_file.hpp"

namespace {

using namespace hpo;

constexpr std::int64_t most_bytes = 1 << 20;  // a few bytes may stand for millions of pixels

std::uint32_t word(const std::vector<std::uint8_t>& bytes, std::size_t at) {
    return std::uint32_t{bytes[at]} << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
}

/// Corrects the checksums of chunks: each has a length, a type, data, and the checksum of type and data.
void correct_png(std::vector<std::uint8_t>& bytes) {
    constexpr std::size_t signature = 8, around = 12;
    if (bytes.size() < signature || bytes[0] != 0x89) return;
    for (std::size_t at = signature; at + around <= bytes.size();) {
        const std::size_t length = word(bytes, at);
        if (length > bytes.size() - at - around) return;
        const std::uint64_t sum = crc32_z(0, bytes.data() + at + 4, length + 4);
        for (std::size_t i = 0; i < 4; ++i) bytes[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
        at += around + length;
    }
}

/// The pixels; none: the image is refused.
std::vector<std::byte> read(const std::filesystem::path& file, const ImageShape& shape) {
    std::vector<std::byte> pixels(static_cast<std::size_t>(shape.height * shape.width * shape.channels));
    const auto done = read_image(file, shape, pixels);
    if (done) return pixels;
    require(done.error().message.starts_with(file.string() + ": "));
    return {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::uint8_t> bytes(data, data + size);
    correct_png(bytes);
    const fuzz::MemoryFile file(bytes);
    const auto shape = read_image_shape(file.path());
    if (!shape) {
        require(shape.error().message.starts_with(file.path().string() + ": "));
        return 0;
    }
    require(shape->height > 0 && shape->width > 0 && (shape->channels == 1 || shape->channels == 3));
    if (shape->height * shape->width * 3 > most_bytes) return 0;
    const auto pixels = read(file.path(), *shape);
    require(pixels == read(file.path(), *shape));
    require(read(file.path(), {shape->height + 1, shape->width, shape->channels}).empty());
    if (shape->channels == 3) return 0;
    const auto colours = read(file.path(), {shape->height, shape->width, 3});
    require(colours.size() == 3 * pixels.size());
    for (std::size_t i = 0; i < colours.size(); ++i) require(colours[i] == pixels[i / 3]);
    return 0;
}
