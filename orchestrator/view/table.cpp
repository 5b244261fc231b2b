#include "orchestrator/view/table.hpp"

#include <algorithm>
#include <limits>

namespace hpo::view {

std::string Table::draw(Screen screen) const {
    screen.height = std::numeric_limits<int>::max();
    std::vector<int> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        widths.push_back(columns(columns_[i].title));
        for (const auto& row : rows_) widths.back() = std::max(widths.back(), columns(row[i]));
    }
    Canvas canvas(screen);
    const auto add = [&](const auto& cell, Style style) {
        Line line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (i > 0) line.add("  ");
            const bool last = i + 1 == columns_.size();
            if (columns_[i].align == Align::right)
                line.add(pad_left(cell(i), widths[i], screen), style);
            else
                line.add(last ? cell(i) : pad_right(cell(i), widths[i], screen), style);
        }
        canvas.add(line);
    };
    add([&](std::size_t i) -> const std::string& { return columns_[i].title; }, Style::dim);
    for (const auto& row : rows_) {  // in one piece, as there may be 100,000
        std::string line;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (i > 0) line += "  ";
            const auto blanks = static_cast<std::size_t>(widths[i] - columns(row[i]));
            if (columns_[i].align == Align::right)
                line.append(blanks, ' ').append(row[i]);
            else
                line.append(row[i]).append(i + 1 == columns_.size() ? 0 : blanks, ' ');
        }
        canvas.add(line);
    }
    return canvas.text();
}

}  // namespace hpo::view
