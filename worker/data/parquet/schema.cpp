#include "worker/data/parquet/schema.hpp"

namespace hpo::parquet {
namespace {

constexpr std::int64_t most_fixed_bytes = 1 << 16;
constexpr std::int64_t most_decimal_bytes = 16;
constexpr std::int64_t most_scale = 38;

/// The element after a whole subtree; counts its leaves. 0: the schema ends too early.
std::size_t after_subtree(const std::vector<SchemaElement>& schema, std::size_t at, std::size_t& leaves) {
    for (std::int64_t open = 1; open > 0; --open, ++at) {
        if (at >= schema.size()) return 0;
        if (schema[at].type) ++leaves;
        // No file has more children than elements, so that the sum cannot overflow.
        if (schema[at].children > static_cast<std::int64_t>(schema.size())) return 0;
        open += schema[at].children;
    }
    return at;
}

void set_meaning(const SchemaElement& element, Column& column) {
    const Physical type = *element.type;
    const bool is_integer = type == Physical::int32 || type == Physical::int64;
    const auto is_fixed = [&](std::int64_t length) { return type == Physical::fixed && element.length == length; };
    switch (element.logical) {
        case Logical::decimal:
            column.meaning = Meaning::decimal;
            column.scale = static_cast<int>(element.scale);
            if (element.scale < 0 || element.scale > most_scale ||
                (type == Physical::fixed && element.length > most_decimal_bytes) ||
                !(is_integer || column.physical.is_bytes()))
                column.unreadable = "holds decimals of more than 38 digits";
            return;
        case Logical::date:
        case Logical::time:
        case Logical::timestamp:
            column.meaning = element.logical == Logical::date ? Meaning::date : Meaning::time;
            if (!is_integer) column.unreadable = "is damaged: times need whole numbers";
            return;
        case Logical::float16:
            column.meaning = Meaning::half;
            if (!is_fixed(2)) column.unreadable = "is damaged: numbers of 16 bits need two bytes";
            return;
        case Logical::interval:
        case Logical::bson:
        case Logical::uuid:
            column.unreadable = "holds binary data";
            return;
        default:
            break;
    }
    if (element.logical == Logical::integer && is_integer)
        column.meaning = element.is_signed ? Meaning::signed_integer : Meaning::unsigned_integer;
    else if (is_integer)
        column.meaning = Meaning::signed_integer;
    else if (type == Physical::boolean)
        column.meaning = Meaning::boolean;
    else if (type == Physical::float32 || type == Physical::float64)
        column.meaning = Meaning::number;
    else if (type == Physical::int96)
        column.unreadable = "holds times of 96 bits (INT96)";
}

Column column_of(const SchemaElement& element, std::size_t leaf) {
    Column column{.name = element.name, .leaf = leaf, .optional = element.repetition == 1};
    if (!element.type) {
        column.unreadable = element.logical == Logical::list  ? "holds lists"
                            : element.logical == Logical::map ? "holds maps"
                                                              : "is nested";
        return column;
    }
    column.physical = {*element.type, static_cast<std::size_t>(element.length)};
    if (element.repetition == 2)
        column.unreadable = "holds lists";
    else if (*element.type == Physical::fixed && (element.length <= 0 || element.length > most_fixed_bytes))
        column.unreadable = "holds values of " + std::to_string(element.length) + " bytes";
    else
        set_meaning(element, column);
    return column;
}

}  // namespace

Result<std::vector<Column>> columns_of(const std::vector<SchemaElement>& schema) {
    const Error damaged{"damaged: its schema is no tree"};
    if (schema.empty() || schema.front().type) return damaged;
    std::vector<Column> columns;
    std::size_t at = 1, leaves = 0;
    for (std::int64_t child = 0; child < schema.front().children; ++child) {
        const std::size_t leaf = leaves;
        const std::size_t next = after_subtree(schema, at, leaves);
        if (next == 0) return damaged;
        columns.push_back(column_of(schema[at], leaf));
        at = next;
    }
    if (at != schema.size()) return damaged;
    return columns;
}

}  // namespace hpo::parquet
