#include "worker/data/parquet/metadata.hpp"

#include "worker/data/parquet/thrift.hpp"

namespace hpo::parquet {
namespace {

constexpr std::size_t most_elements = 200'000;

/// Types of files from before LogicalType.
void read_converted(std::int64_t converted, SchemaElement& element) {
    switch (converted) {
        case 0:
            element.logical = Logical::string;
            return;
        case 1:
        case 2:
            element.logical = Logical::map;
            return;
        case 3:
            element.logical = Logical::list;
            return;
        case 4:
            element.logical = Logical::enumeration;
            return;
        case 5:
            element.logical = Logical::decimal;
            return;
        case 6:
            element.logical = Logical::date;
            return;
        case 7:
        case 8:
            element.logical = Logical::time;
            return;
        case 9:
        case 10:
            element.logical = Logical::timestamp;
            return;
        case 19:
            element.logical = Logical::json;
            return;
        case 20:
            element.logical = Logical::bson;
            return;
        case 21:
            element.logical = Logical::interval;
            return;
        default:
            break;
    }
    // UINT_8 to UINT_64, then INT_8 to INT_64.
    element.logical = converted >= 11 && converted <= 18 ? Logical::integer : Logical::other;
    element.is_signed = converted > 14;
}

void read_logical(ThriftReader& reader, ThriftType type, SchemaElement& element) {
    reader.structure(type, [&](std::int64_t id, ThriftType its) {
        const bool known = (id >= 1 && id <= 8) || (id >= 10 && id <= 15);
        element.logical = known ? static_cast<Logical>(id) : Logical::other;
        reader.structure(its, [&](std::int64_t part, ThriftType of_part) {
            if (element.logical == Logical::decimal && part == 1)
                element.scale = reader.integer(of_part);
            else if (element.logical == Logical::integer && part == 2)
                element.is_signed = reader.boolean(of_part);
            else
                reader.skip(of_part);
        });
    });
}

SchemaElement read_element(ThriftReader& reader, ThriftType type) {
    SchemaElement element;
    std::int64_t physical = -1;
    std::optional<std::int64_t> converted;
    reader.structure(type, [&](std::int64_t id, ThriftType its) {
        switch (id) {
            case 1:
                physical = reader.integer(its);
                break;
            case 2:
                element.length = reader.integer(its);
                break;
            case 3:
                element.repetition = reader.integer(its);
                break;
            case 4:
                element.name = reader.binary(its);
                break;
            case 5:
                element.children = reader.integer(its);
                break;
            case 6:
                converted = reader.integer(its);
                break;
            case 7:
                element.scale = reader.integer(its);
                break;
            case 10:
                read_logical(reader, its, element);
                break;
            default:
                reader.skip(its);
        }
    });
    if (converted && element.logical == Logical::none) read_converted(*converted, element);
    if (physical > 7) reader.fail();
    // A group may have no children at all, but says so.
    if (physical >= 0 && element.children == 0) element.type = static_cast<Physical>(physical);
    if (element.children < 0) reader.fail();
    return element;
}

ColumnChunk read_chunk(ThriftReader& reader, ThriftType type) {
    ColumnChunk chunk;
    reader.structure(type, [&](std::int64_t id, ThriftType its) {
        if (id == 1) {
            chunk.elsewhere = !reader.binary(its).empty();
        } else if (id == 3) {
            reader.structure(its, [&](std::int64_t part, ThriftType of_part) {
                switch (part) {
                    case 1:
                        chunk.type = reader.integer(of_part);
                        break;
                    case 4:
                        chunk.codec = reader.integer(of_part);
                        break;
                    case 5:
                        chunk.values = reader.integer(of_part);
                        break;
                    case 9:
                        chunk.data_offset = reader.integer(of_part);
                        break;
                    case 11:
                        chunk.dictionary_offset = reader.integer(of_part);
                        break;
                    default:
                        reader.skip(of_part);
                }
            });
        } else {
            chunk.encrypted = chunk.encrypted || id == 8;
            reader.skip(its);
        }
    });
    return chunk;
}

void read_data_page(ThriftReader& reader, ThriftType type, PageHeader& header) {
    reader.structure(type, [&](std::int64_t id, ThriftType its) {
        switch (id) {
            case 1:
                header.values = reader.integer(its);
                break;
            case 2:
                header.encoding = reader.integer(its);
                break;
            case 3:
                header.level_encoding = reader.integer(its);
                break;
            default:
                reader.skip(its);
        }
    });
}

void read_dictionary_page(ThriftReader& reader, ThriftType type, PageHeader& header) {
    reader.structure(type, [&](std::int64_t id, ThriftType its) {
        if (id == 1)
            header.values = reader.integer(its);
        else if (id == 2)
            header.encoding = reader.integer(its);
        else
            reader.skip(its);
    });
}

void read_data_page_v2(ThriftReader& reader, ThriftType type, PageHeader& header) {
    reader.structure(type, [&](std::int64_t id, ThriftType its) {
        switch (id) {
            case 1:
                header.values = reader.integer(its);
                break;
            case 4:
                header.encoding = reader.integer(its);
                break;
            case 5:
                header.definition_bytes = reader.integer(its);
                break;
            case 6:
                header.repetition_bytes = reader.integer(its);
                break;
            case 7:
                header.compressed = reader.boolean(its);
                break;
            default:
                reader.skip(its);
        }
    });
}

}  // namespace

Result<FileMetadata> parse_metadata(std::span<const std::byte> footer) {
    FileMetadata file;
    ThriftReader reader(footer);
    std::size_t leaves = 0;
    const char* what = "damaged: its footer cannot be read";
    reader.structure(ThriftType::structure, [&](std::int64_t id, ThriftType type) {
        if (id == 2) {
            reader.list(type, [&](ThriftType its) {
                file.schema.push_back(read_element(reader, its));
                if (file.schema.back().type) ++leaves;
                if (file.schema.size() > most_elements) reader.fail();
            });
        } else if (id == 3) {
            file.rows = reader.integer(type);
        } else if (id == 4) {
            reader.list(type, [&](ThriftType its) {
                RowGroup& group = file.groups.emplace_back();
                reader.structure(its, [&](std::int64_t part, ThriftType of_part) {
                    if (part == 1)
                        reader.list(of_part, [&](ThriftType of_chunk) {
                            group.chunks.push_back(read_chunk(reader, of_chunk));
                            if (group.chunks.size() > leaves) reader.fail();
                        });
                    else if (part == 3)
                        group.rows = reader.integer(of_part);
                    else
                        reader.skip(of_part);
                });
                if (!reader.failed() && group.chunks.size() != leaves) {
                    what = "damaged: a row group has not as many columns as the schema";
                    reader.fail();
                }
            });
        } else {
            file.encrypted = file.encrypted || id == 8;
            reader.skip(type);
        }
    });
    if (reader.failed()) return Error{what};
    return file;
}

Result<std::optional<std::pair<PageHeader, std::size_t>>> parse_page_header(std::span<const std::byte> bytes) {
    using Found = std::optional<std::pair<PageHeader, std::size_t>>;
    PageHeader header;
    ThriftReader reader(bytes);
    std::int64_t kind = -1;
    reader.structure(ThriftType::structure, [&](std::int64_t id, ThriftType type) {
        switch (id) {
            case 1:
                kind = reader.integer(type);
                break;
            case 2:
                header.bytes = reader.integer(type);
                break;
            case 3:
                header.compressed_bytes = reader.integer(type);
                break;
            case 4:
                header.crc = static_cast<std::uint32_t>(reader.integer(type));
                break;
            case 5:
                read_data_page(reader, type, header);
                break;
            case 7:
                read_dictionary_page(reader, type, header);
                break;
            case 8:
                read_data_page_v2(reader, type, header);
                break;
            default:
                reader.skip(type);
        }
    });
    if (reader.truncated()) return Found();
    if (reader.failed() || kind < 0) return Error{"damaged: the header of a page cannot be read"};
    if (header.bytes < 0 || header.compressed_bytes < 0 || header.values < 0 || header.definition_bytes < 0 ||
        header.repetition_bytes < 0)
        return Error{"damaged: a page has a negative size"};
    if (kind <= 3) header.kind = static_cast<PageKind>(kind);
    return Found(std::pair(header, reader.position()));
}

}  // namespace hpo::parquet
