// The values of one column in one row group, page by page.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/parquet/decoders.hpp"
#include "worker/data/parquet/hybrid.hpp"
#include "worker/data/parquet/input.hpp"
#include "worker/data/parquet/metadata.hpp"
#include "worker/data/parquet/schema.hpp"

namespace hpo::parquet {

class ChunkReader {
   public:
    /// `rows` of the row group. The file's pages end before `end`.
    static Result<std::unique_ptr<ChunkReader>> open(const Input& input, const ColumnChunk& chunk, const Column& column,
                                                     std::int64_t rows, std::int64_t end);

    /// Rows that one call of read() may give: at least 1, unless all were read. May load the next page.
    Result<std::int64_t> available();
    /// Reads the next rows, at most available(): `present` tells which rows have a value, `values` has the values.
    /// Texts are valid until available() is called.
    Result<void> read(std::int64_t count, std::vector<bool>& present, Values& values);
    /// Bytes of memory that it holds.
    [[nodiscard]] std::int64_t bytes() const;

   private:
    ChunkReader(const Input& input, const ColumnChunk& chunk, const Column& column, std::int64_t rows,
                std::int64_t begin, std::int64_t end)
        : window_(input, begin, end), codec_(chunk.codec), column_(column), rows_left_(rows) {}

    Result<void> next_page();
    Result<void> read_dictionary(const PageHeader& header, std::span<const std::byte> stored);
    Result<void> begin_page(const PageHeader& header, std::span<const std::byte> stored);

    InputWindow window_;
    std::int64_t codec_;
    const Column& column_;
    std::int64_t rows_left_;
    std::int64_t page_left_ = 0;
    std::vector<std::byte> page_, level_page_, dictionary_page_;
    std::unique_ptr<Values> dictionary_;
    std::unique_ptr<HybridReader> levels_;  ///< null: every row has a value
    std::unique_ptr<Decoder> decoder_;
    std::vector<std::uint32_t> found_levels_;
};

}  // namespace hpo::parquet
