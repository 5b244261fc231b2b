#include "worker/data/idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>

namespace hpo {
namespace {

constexpr std::int64_t max_bytes = std::int64_t{1} << 36;  // 64 GiB: the largest claim of a header
constexpr std::int64_t max_item_bytes = std::int64_t{1} << 24;
constexpr std::int64_t chunk = std::int64_t{1} << 18;

struct GzClose {
    void operator()(gzFile file) const { gzclose_r(file); }
};
using GzFile = std::unique_ptr<gzFile_s, GzClose>;

Error broken(const std::filesystem::path& file, const std::string& what) { return {file.string() + ": " + what}; }

/// zlib's gzip reader passes plain files through unchanged.
Result<GzFile> open(const std::filesystem::path& file) {
    std::error_code unknown;
    if (std::filesystem::exists(file, unknown) && !std::filesystem::is_regular_file(file, unknown))
        return broken(file, "not a file");  // a pipe would block
    errno = 0;
    GzFile handle(gzopen(file.c_str(), "rb"));
    if (!handle) return broken(file, errno != 0 ? std::strerror(errno) : "cannot be opened");
    gzbuffer(handle.get(), 1 << 17);
    return handle;
}

std::string error_text(gzFile handle) {
    int status = Z_OK;
    return gzerror(handle, &status);
}

Result<void> read_exactly(gzFile handle, const std::filesystem::path& file, std::span<std::uint8_t> to) {
    const int got = gzread(handle, to.data(), static_cast<unsigned>(to.size()));
    if (got == static_cast<std::int64_t>(to.size())) return {};
    int status = Z_OK;
    gzerror(handle, &status);
    if (status == Z_ERRNO) return broken(file, std::strerror(errno));
    if (status == Z_OK || status == Z_BUF_ERROR || status == Z_STREAM_END)
        return broken(file, "truncated: it ends before the size in its header");
    return broken(file, "damaged (" + error_text(handle) + ")");
}

Result<IdxShape> read_shape(gzFile handle, const std::filesystem::path& file) {
    std::array<std::uint8_t, 4> magic{};
    if (auto read = read_exactly(handle, file, magic); !read) return read.error();
    if (magic[0] != 0 || magic[1] != 0) return broken(file, "not an IDX file (wrong magic number)");
    if (magic[2] != 0x08) return broken(file, "an IDX file of another type than unsigned byte");
    if (magic[3] < 1 || magic[3] > 4)
        return broken(file, "an IDX file with " + std::to_string(magic[3]) + " dimensions; 1 to 4 can be read");
    IdxShape shape;
    std::int64_t total = 1;
    for (int i = 0; i < magic[3]; ++i) {
        std::array<std::uint8_t, 4> b{};
        if (auto read = read_exactly(handle, file, b); !read) return read.error();
        const std::int64_t length = (std::int64_t{b[0]} << 24) | (b[1] << 16) | (b[2] << 8) | b[3];
        if (length == 0 || length > max_bytes / total) return broken(file, "the size in its header cannot be right");
        total *= length;
        shape.push_back(length);
    }
    return shape;
}

}  // namespace

std::int64_t item_bytes(const IdxShape& shape) {
    return std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>());
}

Result<IdxShape> read_idx_shape(const std::filesystem::path& file) {
    const auto handle = open(file);
    if (!handle) return handle.error();
    return read_shape(handle->get(), file);
}

Result<IdxShape> read_idx(const std::filesystem::path& file, const IdxItems& items) {
    const auto handle = open(file);
    if (!handle) return handle.error();
    auto shape = read_shape(handle->get(), file);
    if (!shape) return shape.error();
    const std::int64_t size = item_bytes(*shape);
    const std::int64_t at_once = std::clamp<std::int64_t>(chunk / size, 1, (*shape)[0]);
    if (size > max_item_bytes) return broken(file, "items of more than 16 MiB");
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(at_once * size));
    for (std::int64_t first = 0; first < (*shape)[0]; first += at_once) {
        const std::span part(bytes.data(), static_cast<std::size_t>(std::min(at_once, (*shape)[0] - first) * size));
        if (auto read = read_exactly(handle->get(), file, part); !read) return read.error();
        items(first, part);
    }
    // Reading on to the end makes zlib compare the checksum.
    std::uint8_t extra = 0;
    const int more = gzread(handle->get(), &extra, 1);
    if (more > 0) return broken(file, "longer than the size in its header");
    if (more < 0) return broken(file, "damaged (" + error_text(handle->get()) + ")");
    return shape;
}

}  // namespace hpo
