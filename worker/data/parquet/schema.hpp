// The columns of a Parquet file, as a table has them.
#pragma once

#include <string>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/parquet/decoders.hpp"
#include "worker/data/parquet/metadata.hpp"

namespace hpo::parquet {

/// The meaning of a value.
enum class Meaning : std::uint8_t {
    boolean,
    signed_integer,
    unsigned_integer,
    number,
    half,
    decimal,
    text,
    date,
    time
};

struct Column {
    std::string name;
    std::size_t leaf = 0;  ///< index of its chunks; the first one of a nested column
    PhysicalType physical;
    Meaning meaning = Meaning::text;
    bool optional = false;     ///< a value may be absent
    int scale = 0;             ///< of decimals: digits behind the point
    std::string unreadable{};  ///< why its values cannot be read, such as "is nested"; empty: they can

    /// Numbers and booleans, which become features as they are.
    [[nodiscard]] bool is_number() const { return meaning <= Meaning::decimal; }
};

/// One for each child of the root.
Result<std::vector<Column>> columns_of(const std::vector<SchemaElement>& schema);

}  // namespace hpo::parquet
