// Draws a plain table. Columns are as wide as their widest cell. The last one is cut at the screen's edge.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orchestrator/view/canvas.hpp"

namespace hpo::view {

class Table {
   public:
    enum class Align { left, right };
    struct Column {
        std::string title;
        Align align = Align::left;
    };

    explicit Table(std::vector<Column> head);

    /// Adds a row with a cell for each column. Cells must be printable.
    void add(const std::vector<std::string>& cells);
    [[nodiscard]] bool empty() const { return ends_.empty(); }
    /// Returns all rows, each with a newline. The screen's height is ignored.
    [[nodiscard]] std::string draw(Screen screen) const;

   private:
    [[nodiscard]] std::string_view cell(std::size_t row, std::size_t column) const;

    std::vector<Column> columns_;
    std::vector<int> widths_;  ///< of the widest cell of each column
    // There may be 100,000 rows, of which a string for each cell would take three times the memory.
    std::string text_;               ///< all cells, one after the other, by row
    std::vector<std::size_t> ends_;  ///< of each cell in the text
};

}  // namespace hpo::view
