#include "orchestrator/view/table.hpp"

#include <algorithm>
#include <limits>

namespace hpo::view {

Table::Table(std::vector<Column> head) : columns_(std::move(head)) {
    for (const Column& column : columns_) widths_.push_back(columns(column.title));
}

void Table::add(const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        widths_[i] = std::max(widths_[i], columns(cells[i]));
        text_ += cells[i];
        ends_.push_back(text_.size());
    }
}

std::string_view Table::cell(std::size_t row, std::size_t column) const {
    const std::size_t at = row * columns_.size() + column, begin = at == 0 ? 0 : ends_[at - 1];
    return std::string_view(text_).substr(begin, ends_[at] - begin);
}

std::string Table::draw(Screen screen) const {
    screen.height = std::numeric_limits<int>::max();
    Canvas canvas(screen);
    Line head;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (i > 0) head.add("  ");
        const std::string& title = columns_[i].title;
        if (columns_[i].align == Align::right)
            head.add(pad_left(title, widths_[i], screen), Style::dim);
        else
            head.add(i + 1 == columns_.size() ? title : pad_right(title, widths_[i], screen), Style::dim);
    }
    canvas.add(head);
    std::string line;
    for (std::size_t row = 0; row < ends_.size() / columns_.size(); ++row) {  // each in one piece
        line.clear();
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            if (i > 0) line += "  ";
            const std::string_view shown = cell(row, i);
            const auto blanks = static_cast<std::size_t>(widths_[i] - columns(shown));
            if (columns_[i].align == Align::right)
                line.append(blanks, ' ').append(shown);
            else
                line.append(shown).append(i + 1 == columns_.size() ? 0 : blanks, ' ');
        }
        canvas.add(line);
    }
    return canvas.text();
}

}  // namespace hpo::view
