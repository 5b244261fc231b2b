// The values of a column as numbers and texts.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"
#include "worker/data/cell.hpp"
#include "worker/data/parquet/decoders.hpp"
#include "worker/data/parquet/schema.hpp"

namespace hpo::parquet {

/// The cells of rows that follow each other. A number is the one that its shortest decimal text names, so that a table
/// is the same as one in a CSV file: a float32 of 0.1 is 0.1, and no 0.100000001490116. An absent value and NaN are
/// missing.
class Cells {
   public:
    /// Replaces the cells. Texts that are no numbers are views into the values.
    Result<void> assign(const Column& column, Wanted wanted, const std::vector<bool>& present, const Values& values);
    [[nodiscard]] const std::vector<Cell>& cells() const { return cells_; }

   private:
    static constexpr std::size_t most_number_text = 64;
    using Text = std::array<char, most_number_text>;

    std::vector<Cell> cells_;
    std::vector<Text> texts_;  ///< of numbers
};

}  // namespace hpo::parquet
