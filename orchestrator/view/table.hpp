// A plain table: columns as wide as their widest cell, the last one cut at the screen's edge.
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

    /// One cell a column. Cells are printable already.
    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// All rows, each with its newline; the screen's height does not count.
    [[nodiscard]] std::string draw(Screen screen) const;

   private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

}  // namespace hpo::view
