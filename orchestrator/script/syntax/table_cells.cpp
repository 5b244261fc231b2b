#include "orchestrator/script/syntax/table_cells.hpp"

#include <algorithm>
#include <iterator>

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

bool has_letter(string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return (is_letter(c) && c != '_') || static_cast<unsigned char>(c) >= 0x80; });
}

std::optional<double> number_in(string_view cell) {
    if (cell.starts_with('[') && cell.ends_with(']') && cell.find_first_of(".e") != string_view::npos)
        cell = trim(cell.substr(1, cell.size() - 2));                          // "[0.5]", but not the index "[1]"
    while (cell.ends_with('*')) cell = trim(cell.substr(0, cell.size() - 1));  // marks the best
    while (cell.starts_with('*')) cell = trim(cell.substr(1));
    auto number = leading_number(cell);
    if (!number) return {};
    const string_view rest = trim(cell.substr(number->second));
    const bool deviation = rest.starts_with("+-") || rest.starts_with("+/-") || rest.starts_with('(');
    return rest.empty() || rest == "%" || deviation ? std::optional(number->first) : std::nullopt;
}

bool is_clock(string_view cell) {
    if (cell.starts_with('(') && cell.ends_with(')')) cell = cell.substr(1, cell.size() - 2);
    return cell.find(':') != string_view::npos && cell.find_first_not_of("0123456789:.") == string_view::npos;
}

bool is_unread(string_view cell) {
    while (!cell.empty() && string_view("([<>~+-.").find(cell.front()) != string_view::npos) cell.remove_prefix(1);
    return !cell.empty() && is_digit(cell.front());
}

bool is_mark(string_view cell) {
    static constexpr string_view marks[] = {"*", "**", "<", "<-", "+", "best", "(best)", "BEST"};
    return std::find(std::begin(marks), std::end(marks), cell) != std::end(marks);
}

string name_in(string_view cell) {
    if (cell.size() > max_name_bytes) return {};
    const auto count = [&](char c) { return std::count(cell.begin(), cell.end(), c); };
    if (cell.ends_with("()")) cell.remove_suffix(2);  // "Accuracy()" of MLJ
    if (cell.ends_with('(')) cell.remove_suffix(1);
    if (count('(') > count(')')) cell = cell.substr(cell.find('(') + 1);
    while (count(')') > count('(') || cell.ends_with(':')) cell.remove_suffix(1);
    if (cell.starts_with('.')) cell.remove_prefix(1);  // ".metric" of R
    return name_of(cell);
}

bool says_nothing(string_view cell) {
    static constexpr string_view words[] = {"No log", "N/A", "n/a", "NA", "None", "null", "--"};
    return std::find(std::begin(words), std::end(words), cell) != std::end(words);
}

bool ends_with_number(string_view cell) { return number_in(cell.substr(cell.find_last_of(' ') + 1)).has_value(); }

bool is_type(string_view cell) {
    static constexpr string_view types[] = {"i8",  "i16", "i32", "i64",  "u8",   "u16", "u32",  "u64",
                                            "f32", "f64", "str", "cat",  "bool", "int", "date", "chr",
                                            "dbl", "lgl", "fct", "list", "num",  "logi"};
    if (cell.starts_with('<') && cell.ends_with('>')) cell = cell.substr(1, cell.size() - 2);
    return std::find(std::begin(types), std::end(types), cell) != std::end(types);
}

bool is_statistic(string_view name) {
    static constexpr string_view statistics[] = {"avg", "mean", "std", "min", "max", "median"};
    return std::find(std::begin(statistics), std::end(statistics), lower_case(name)) != std::end(statistics);
}

}  // namespace hpo::script
