// Draws a plain table. Columns are as wide as their widest cell. The last one is cut at the screen's edge.
#pragma once

#include <string>
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

    explicit Table(std::vector<Column> head) : columns_(std::move(head)) {}

    /// Adds a row with a cell for each column. Cells must be printable.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Returns all rows, each with a newline. The screen's height is ignored.
    [[nodiscard]] std::string draw(Screen screen) const;

   private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace hpo::view
