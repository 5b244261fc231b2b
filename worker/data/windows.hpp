// Divides windows over rows in the order of time, or over the tokens of a text, into parts: by position, with each row
// in one part at most.
#pragma once

#include <cstdint>
#include <string>

#include "hpo/result.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {

struct WindowQuestion {
    std::int64_t rows = 0;
    std::int64_t window = 0, horizon = 1, stride = 1;
    bool tests_apart = false;      ///< the rows to test on are others than these
    const char* unit = "rows";     ///< for messages
    const char* whole = "series";  ///< the word for the whole of the rows
};

/// The positions of the windows of each part. Windows are numbered from the first one.
struct WindowLayout {
    std::int64_t rows_of_one = 0;  ///< window and horizon
    std::int64_t stride = 1;
    std::int64_t first_row = 0;  ///< of window 0
    std::int64_t gap = 0;        ///< windows that are left out between two parts
    std::int64_t train = 0;      ///< windows of the training part; `validation` of them, the last ones, validate
    std::int64_t validation = 0;
    std::int64_t test = 0;

    /// The first row of sample `index` of a part.
    [[nodiscard]] std::int64_t row_of(Part part, std::int64_t index) const {
        const std::int64_t before = part == Part::test ? train + 2 * gap : index >= train - validation ? gap : 0;
        return first_row + (before + index) * stride;
    }
};

/// Divides the windows by config.test, config.validation and config.subset. The error, about data.window, tells the
/// number of missing rows.
Result<WindowLayout> lay_out_windows(const DataConfig& config, const WindowQuestion& question);

/// "70 windows train, later ones validate (8) and test (8); ...".
std::string parts_text(const WindowLayout& layout, const SplitSizes& sizes, const WindowQuestion& question);

}  // namespace hpo
