// The metadata of a Parquet file and its pages (github.com/apache/parquet-format, parquet.thrift), as far as a
// reader of flat tables needs it. Numbers are as the file gives them: nothing but their type has been checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hpo/result.hpp"

namespace hpo::parquet {

enum class Physical : std::uint8_t { boolean, int32, int64, int96, float32, float64, bytes, fixed };

/// The fields of the union LogicalType, by their numbers in it.
enum class Logical : std::uint8_t {
    none = 0,
    string = 1,
    map = 2,
    list = 3,
    enumeration = 4,
    decimal = 5,
    date = 6,
    time = 7,
    timestamp = 8,
    integer = 10,
    unknown = 11,
    json = 12,
    bson = 13,
    uuid = 14,
    float16 = 15,
    interval = 100,  ///< in the older ConvertedType only
    other = 101,
};

struct SchemaElement {
    std::string name;
    std::optional<Physical> type;  ///< none: a group
    std::int64_t length = 0;       ///< of Physical::fixed, in bytes
    std::int64_t repetition = 0;   ///< 0: required, 1: optional, 2: repeated
    std::int64_t children = 0;     ///< number of children, which follow
    Logical logical = Logical::none;
    bool is_signed = true;   ///< of integers
    std::int64_t scale = 0;  ///< of decimals
};

struct ColumnChunk {
    bool encrypted = false;
    bool elsewhere = false;  ///< in another file
    std::int64_t type = -1;
    std::int64_t codec = 0;
    std::int64_t values = 0;
    std::int64_t data_offset = 0;
    std::int64_t dictionary_offset = 0;  ///< 0: none
};

struct RowGroup {
    std::vector<ColumnChunk> chunks;  ///< one for each leaf of the schema
    std::int64_t rows = 0;
};

struct FileMetadata {
    std::vector<SchemaElement> schema;  ///< depth first; the first one is the root
    std::vector<RowGroup> groups;
    std::int64_t rows = 0;
    bool encrypted = false;
};

/// Refuses damaged metadata.
Result<FileMetadata> parse_metadata(std::span<const std::byte> footer);

enum class PageKind : std::uint8_t { data, index, dictionary, data_v2, other };

/// The numbers of the encodings.
enum class Encoding : std::uint8_t {
    plain = 0,
    plain_dictionary = 2,
    rle = 3,
    bit_packed = 4,
    delta_binary_packed = 5,
    delta_length_byte_array = 6,
    delta_byte_array = 7,
    rle_dictionary = 8,
    byte_stream_split = 9,
};

struct PageHeader {
    PageKind kind = PageKind::other;
    std::int64_t bytes = 0;  ///< decompressed
    std::int64_t compressed_bytes = 0;
    std::optional<std::uint32_t> crc;
    std::int64_t values = 0;
    std::int64_t encoding = 0;
    std::int64_t level_encoding = 3;    ///< of a page of the first version
    std::int64_t definition_bytes = 0;  ///< of the second version, as the two below
    std::int64_t repetition_bytes = 0;
    bool compressed = true;
};

/// The header at the beginning of the bytes, and its size; none: the bytes end before the header does.
Result<std::optional<std::pair<PageHeader, std::size_t>>> parse_page_header(std::span<const std::byte> bytes);

}  // namespace hpo::parquet
