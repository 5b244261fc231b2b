// Reads tables from Parquet files (parquet.apache.org/docs/file-format), row by row. Columns with one value for each
// row are read, in each encoding that the format has for them but BIT_PACKED, from pages of both versions, compressed
// by SNAPPY, GZIP, ZSTD, LZ4_RAW or not at all. A size that the file claims is believed only as far as its bytes bear
// it out, so that a damaged file is an error and takes no more memory than a whole one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/cell.hpp"
#include "worker/data/parquet/input.hpp"
#include "worker/data/parquet/metadata.hpp"
#include "worker/data/parquet/schema.hpp"

namespace hpo::parquet {

/// `row` counts from 1. An error ends the reading.
using Row = std::function<Result<void>(std::int64_t row, std::span<const Cell> cells)>;

class File {
   public:
    /// Reads the footer. Errors do not name the file, which the caller knows.
    static Result<File> open(Input input);

    [[nodiscard]] const std::vector<Column>& columns() const { return columns_; }
    /// Reads all rows, with the wanted parts of each column; for an unreadable column Wanted::nothing is required.
    /// Errors that are not those of `visit` name row group and column.
    Result<void> each_row(std::span<const Wanted> wanted, const Row& visit);
    /// The most memory that each_row() has taken so far.
    [[nodiscard]] std::int64_t peak_bytes() const { return peak_bytes_; }

   private:
    Result<void> read_group(std::size_t group, std::span<const Wanted> wanted, std::int64_t first_row,
                            const Row& visit);

    Input input_;
    std::int64_t pages_end_ = 0;  ///< offset
    FileMetadata metadata_;
    std::vector<Column> columns_;
    std::int64_t peak_bytes_ = 0;
};

}  // namespace hpo::parquet
