#include "worker/data/parquet/codecs.hpp"

#include <lz4.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

namespace hpo::parquet {
namespace {

using Bytes = std::span<const std::byte>;
using Page = std::vector<std::byte>;

constexpr std::size_t first_piece = std::size_t{1} << 20;  // of memory, before anything is known to be there

const char* chars(Bytes bytes) { return reinterpret_cast<const char*>(bytes.data()); }
char* chars(Page& page) { return reinterpret_cast<char*>(page.data()); }

Error damaged(const char* codec) { return {std::string("damaged: a page cannot be decompressed (") + codec + ")"}; }

Result<Page> unsnappy(Bytes bytes, std::size_t size) {
    constexpr std::size_t most_ratio = 64;  // three bytes copy 64 at most
    std::size_t told = 0;
    if (size / most_ratio > bytes.size() ||
        snappy_uncompressed_length(chars(bytes), bytes.size(), &told) != SNAPPY_OK || told != size)
        return damaged("SNAPPY");
    Page page(size);
    if (snappy_uncompress(chars(bytes), bytes.size(), chars(page), &told) != SNAPPY_OK || told != size)
        return damaged("SNAPPY");
    return page;
}

Result<Page> unlz4(Bytes bytes, std::size_t size) {
    constexpr std::size_t most_ratio = 256;  // a byte lengthens a copy by 255 at most
    if (size / most_ratio > bytes.size()) return damaged("LZ4_RAW");
    Page page(size);
    const int got =
        LZ4_decompress_safe(chars(bytes), chars(page), static_cast<int>(bytes.size()), static_cast<int>(size));
    if (got < 0 || static_cast<std::size_t>(got) != size) return damaged("LZ4_RAW");
    return page;
}

/// Decompresses by pieces: piece(at) fills the page from there on and returns the new end, or nothing where the bytes
/// are damaged.
template <class F>
Result<Page> by_pieces(std::size_t size, const char* codec, F&& piece) {
    Page page(std::min(size, first_piece));
    for (std::size_t at = 0; at < size;) {
        if (at == page.size()) page.resize(std::min(size, 2 * page.size()));
        const std::size_t end = piece(page, at);
        if (end <= at) return damaged(codec);
        at = end;
    }
    return page;
}

Result<Page> ungzip(Bytes bytes, std::size_t size) {
    z_stream stream{};
    constexpr int any_header = 32 + MAX_WBITS;
    if (inflateInit2(&stream, any_header) != Z_OK) return damaged("GZIP");
    const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    return by_pieces(size, "GZIP", [&](Page& page, std::size_t at) {
        stream.next_out = reinterpret_cast<Bytef*>(page.data() + at);
        stream.avail_out = static_cast<uInt>(page.size() - at);
        int status = inflate(&stream, Z_NO_FLUSH);
        // A page may have several members, one behind the other.
        if (status == Z_STREAM_END && stream.avail_in > 0) status = inflateReset(&stream);
        return status == Z_OK || status == Z_STREAM_END ? page.size() - stream.avail_out : 0;
    });
}

Result<Page> unzstd(Bytes bytes, std::size_t size) {
    const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
    if (!stream) return damaged("ZSTD");
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    return by_pieces(size, "ZSTD", [&](Page& page, std::size_t at) {
        ZSTD_outBuffer out{page.data(), page.size(), at};
        const std::size_t status = ZSTD_decompressStream(stream.get(), &out, &in);
        return ZSTD_isError(status) != 0 ? 0 : out.pos;
    });
}

}  // namespace

Result<void> check_page_size(std::int64_t bytes) {
    constexpr std::int64_t most_page_bytes = std::int64_t{1} << 30;
    if (bytes <= most_page_bytes) return {};
    return Error{"a page of " + std::to_string(bytes) +
                 " bytes, where at most 1 GiB is possible: write the file with smaller pages or row groups"};
}

Result<std::vector<std::byte>> decompress(std::int64_t codec, std::span<const std::byte> bytes, std::size_t size) {
    for (const std::size_t one : {size, bytes.size()})
        if (auto checked = check_page_size(static_cast<std::int64_t>(one)); !checked) return checked.error();
    if (size == 0) return Page();
    switch (codec) {
        case uncompressed:
            if (bytes.size() != size) return Error{"damaged: a page has two sizes"};
            return Page(bytes.begin(), bytes.end());
        case 1:
            return unsnappy(bytes, size);
        case 2:
            return ungzip(bytes, size);
        case 6:
            return unzstd(bytes, size);
        case 7:
            return unlz4(bytes, size);
        default:
            break;
    }
    const char* const name = codec == 3   ? "LZO"
                             : codec == 4 ? "BROTLI"
                             : codec == 5 ? "LZ4 in Hadoop's frames"
                                          : nullptr;
    return Error{"compressed by " + (name ? std::string(name) : "an unknown codec (" + std::to_string(codec) + ")") +
                 ", which is not read: write the file with SNAPPY, GZIP, ZSTD, LZ4_RAW or without compression"};
}

}  // namespace hpo::parquet
