#include "worker/data/parquet/pages.hpp"

#include <zlib.h>

#include <algorithm>
#include <string>

#include "worker/data/parquet/codecs.hpp"

namespace hpo::parquet {
namespace {

constexpr std::size_t first_header_bytes = 256;
constexpr std::size_t most_header_bytes = std::size_t{16} << 20;
constexpr std::int64_t most_dictionary_values = std::int64_t{1} << 24;

/// Refuses a page, before it is decompressed, that has more bytes than its values can have in any encoding.
Result<void> check_page(const PageHeader& header, const PhysicalType& type) {
    constexpr std::int64_t besides = 8;       // the level or the length of each
    constexpr std::int64_t blocks = 1 << 16;  // of differences, which are padded
    const std::size_t size = type.type == Physical::bytes ? most_text_bytes : std::max<std::size_t>(type.size(), 4);
    if (header.bytes <= header.values * (static_cast<std::int64_t>(size) + besides) + blocks) return {};
    return Error{"a page of " + std::to_string(header.bytes) + " bytes for " + std::to_string(header.values) +
                 " values: damaged, or texts that are too long for the names of levels"};
}

}  // namespace

Result<std::unique_ptr<ChunkReader>> ChunkReader::open(const Input& input, const ColumnChunk& chunk,
                                                       const Column& column, std::int64_t rows, std::int64_t end) {
    if (chunk.encrypted) return Error{"is encrypted: write the file without encryption"};
    if (chunk.elsewhere) return Error{"lies in another file: write the table as one file"};
    if (chunk.type != static_cast<std::int64_t>(column.physical.type))
        return Error{"damaged: its type differs from that of the schema"};
    if (chunk.values != rows)
        return Error{"damaged: it has " + std::to_string(chunk.values) + " values, where the row group has " +
                     std::to_string(rows) + " rows"};
    // Some writers give 0, or a later offset, where there is no dictionary.
    const bool has_dictionary = chunk.dictionary_offset > 0 && chunk.dictionary_offset < chunk.data_offset;
    const std::int64_t begin = has_dictionary ? chunk.dictionary_offset : chunk.data_offset;
    if (begin < 4 || begin > end) return Error{"damaged: its pages lie outside of the file"};
    return std::unique_ptr<ChunkReader>(new ChunkReader(input, chunk, column, rows, begin, end));
}

std::int64_t ChunkReader::bytes() const {
    const std::size_t dictionary =
        dictionary_ ? dictionary_->bits.capacity() * 8 + dictionary_->bytes.capacity() * sizeof(std::string_view) : 0;
    return static_cast<std::int64_t>(2 * page_.capacity() + dictionary_page_.capacity() + dictionary);
}

Result<std::int64_t> ChunkReader::available() {
    while (page_left_ == 0 && rows_left_ > 0)
        if (auto next = next_page(); !next) return next.error();
    return page_left_;
}

Result<void> ChunkReader::next_page() {
    std::optional<std::pair<PageHeader, std::size_t>> header;
    for (std::size_t least = first_header_bytes; !header; least *= 8) {
        const auto bytes = window_.peek(least);
        if (!bytes) return bytes.error();
        if (bytes->empty())
            return Error{"damaged: its pages end " + std::to_string(rows_left_) + " rows before the row group does"};
        auto parsed = parse_page_header(*bytes);
        if (!parsed) return parsed.error();
        header = *parsed;
        if (!header && (bytes->size() < least || least > most_header_bytes))
            return Error{"damaged: the header of a page cannot be read"};
    }
    const PageHeader& its = header->first;
    window_.skip(header->second);
    if (its.compressed_bytes > window_.left()) return Error{"damaged: a page is longer than the file"};
    if (auto checked = check_page_size(its.compressed_bytes); !checked) return checked;
    const auto stored_bytes = static_cast<std::size_t>(its.compressed_bytes);
    const auto peeked = window_.peek(stored_bytes);
    if (!peeked) return peeked.error();
    const auto stored = peeked->first(stored_bytes);
    window_.skip(stored_bytes);
    if (its.crc &&
        *its.crc != ::crc32(0, reinterpret_cast<const Bytef*>(stored.data()), static_cast<uInt>(stored.size())))
        return Error{"damaged: the checksum of a page is wrong"};
    if (its.kind == PageKind::dictionary) return read_dictionary(its, stored);
    if (its.kind == PageKind::data || its.kind == PageKind::data_v2) return begin_page(its, stored);
    return {};
}

Result<void> ChunkReader::read_dictionary(const PageHeader& header, std::span<const std::byte> stored) {
    if (dictionary_) return Error{"damaged: a second dictionary"};
    if (header.encoding != static_cast<std::int64_t>(Encoding::plain) &&
        header.encoding != static_cast<std::int64_t>(Encoding::plain_dictionary))
        return Error{"a dictionary in encoding " + std::to_string(header.encoding) + ", which is not read"};
    // A value takes a byte at least, or where lengths differ four for its length.
    if (column_.physical.type == Physical::boolean || header.values > header.bytes)
        return Error{"damaged: a dictionary with more values than bytes"};
    if (header.values > most_dictionary_values)
        return Error{"a dictionary of " + std::to_string(header.values) + " values, where at most " +
                     std::to_string(most_dictionary_values) + " are possible: write the column without a dictionary"};
    if (auto checked = check_page(header, column_.physical); !checked) return checked;
    auto page = decompress(codec_, stored, static_cast<std::size_t>(header.bytes));
    if (!page) return page.error();
    dictionary_page_ = *std::move(page);
    const auto decoder =
        make_decoder(column_.physical, static_cast<std::int64_t>(Encoding::plain), dictionary_page_, nullptr);
    if (!decoder) return decoder.error();
    dictionary_ = std::make_unique<Values>();
    return (*decoder)->read(static_cast<std::size_t>(header.values), *dictionary_);
}

Result<void> ChunkReader::begin_page(const PageHeader& header, std::span<const std::byte> stored) {
    if (header.values > rows_left_) return Error{"damaged: its pages have more values than the row group has rows"};
    if (auto checked = check_page(header, column_.physical); !checked) return checked;
    decoder_.reset();  // the decoder may refer to the previous page
    levels_.reset();
    std::span<const std::byte> levels, values;
    const bool is_second = header.kind == PageKind::data_v2;
    const auto levels_before = static_cast<std::size_t>(header.repetition_bytes);
    const std::size_t level_bytes = levels_before + static_cast<std::size_t>(header.definition_bytes);
    if (is_second) {
        // The levels are not compressed, and both sizes count them.
        if (level_bytes > stored.size() || level_bytes > static_cast<std::size_t>(header.bytes))
            return Error{"damaged: the levels of a page are longer than it"};
        auto page = decompress(header.compressed ? codec_ : uncompressed, stored.subspan(level_bytes),
                               static_cast<std::size_t>(header.bytes) - level_bytes);
        if (!page) return page.error();
        page_ = *std::move(page);
        values = page_;
        const auto its_levels = stored.subspan(levels_before, level_bytes - levels_before);
        level_page_.assign(its_levels.begin(), its_levels.end());
        levels = level_page_;
    } else {
        auto page = decompress(codec_, stored, static_cast<std::size_t>(header.bytes));
        if (!page) return page.error();
        page_ = *std::move(page);
        values = page_;
        if (column_.optional) {
            if (header.level_encoding != static_cast<std::int64_t>(Encoding::rle))
                return Error{"levels in encoding " + std::to_string(header.level_encoding) +
                             ", which is not read: write the file by a newer program"};
            std::size_t size = 0;
            for (std::size_t i = 0; i < 4 && values.size() >= 4; ++i)
                size |= static_cast<std::size_t>(values[i]) << (8 * i);
            if (values.size() < 4 || values.size() - 4 < size)
                return Error{"damaged: the levels of a page are longer than it"};
            levels = values.subspan(4, size);
            values = values.subspan(4 + size);
        }
    }
    if (column_.optional) levels_ = std::make_unique<HybridReader>(levels, 1);
    // A page of absent values may have no bytes for values.
    if (header.values > 0 && !(values.empty() && column_.optional)) {
        auto decoder = make_decoder(column_.physical, header.encoding, values, dictionary_.get());
        if (!decoder) return decoder.error();
        decoder_ = *std::move(decoder);
    }
    page_left_ = header.values;
    return {};
}

Result<void> ChunkReader::read(std::int64_t count, std::vector<bool>& present, Values& values) {
    const auto rows = static_cast<std::size_t>(count);
    present.assign(rows, true);
    std::size_t with_value = rows;
    if (levels_) {
        found_levels_.resize(rows);
        if (!levels_->read(found_levels_)) return Error{"damaged: the levels of a page end before its values do"};
        for (std::size_t i = 0; i < rows; ++i) present[i] = found_levels_[i] != 0;
        with_value = static_cast<std::size_t>(std::count(present.begin(), present.end(), true));
    }
    values.clear();
    page_left_ -= count;
    rows_left_ -= count;
    if (with_value > 0) {
        if (!decoder_) return Error{"damaged: a page ends before its values do"};
        if (auto read = decoder_->read(with_value, values); !read) return read;
    }
    // Levels that say of too few rows that they have a value give the values to other rows.
    if (page_left_ == 0 && decoder_ && !decoder_->at_end())
        return Error{"damaged: a page has more values than its levels or its header say"};
    return {};
}

}  // namespace hpo::parquet
