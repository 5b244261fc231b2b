#include "worker/data/csv_columns.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "hpo/from_chars.hpp"
#include "hpo/nearest.hpp"
#include "worker/data/csv.hpp"
#include "worker/data/data_text.hpp"

namespace hpo {

std::string_view trimmed_field(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<double> number_of(std::string_view field) {
    std::string_view text = trimmed_field(field);
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    double number = 0;
    const auto read = from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || read.ptr != text.data() + text.size()) return std::nullopt;
    // A number too large for a double is no finite one; one too small is 0.
    if (read.ec == std::errc::result_out_of_range)
        return text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos ? 0.0 : HUGE_VAL;
    if (read.ec != std::errc{} || std::isnan(number)) return std::nullopt;
    return number;
}

bool is_missing(std::string_view field) {
    constexpr std::string_view texts[] = {"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?"};
    return std::find(std::begin(texts), std::end(texts), trimmed_field(field)) != std::end(texts);
}

std::string missing_target(std::string_view field) {
    return "the target is missing (" + quoted_name(field) + "): fill it in, or leave the row out";
}

std::string unrepeated_classes(std::size_t classes, std::int64_t rows, std::string_view first, bool are_numbers) {
    constexpr std::int64_t least_rows_to_repeat = 20;
    if (static_cast<std::int64_t>(classes) < rows || rows < least_rows_to_repeat) return "";
    return "has another value in each row, such as " + quoted_name(first) +
           " in the first: no class can be learned from one row" +
           (are_numbers ? "; for numbers, task: regression" : "");
}

std::string wrong_encoding(std::string_view text) {
    return quoted_name(text) + " is not UTF-8: convert the file (from Latin-1: iconv -f LATIN1 -t UTF-8)";
}

Result<void> check_data_file(const std::filesystem::path& file) {
    std::error_code missing;
    if (std::filesystem::exists(file, missing)) return {};
    return Error{"data.path: no file " + file.string() +
                 (file.is_absolute() ? "" : " in " + std::filesystem::current_path(missing).string())};
}

Result<std::vector<std::string>> header_names(std::span<const std::string_view> fields) {
    std::vector<std::string> names;
    std::map<std::string_view, std::size_t> seen;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const std::string_view name = trimmed_field(fields[i]);
        const std::string at = "column " + std::to_string(i + 1) + ": ";
        if (name.empty())
            return Error{at + "a column without a name: " +
                         (i == 0                   ? "name it, or leave it out (pandas: to_csv(index=False))"
                          : i + 1 == fields.size() ? "name it, or end lines without a comma"
                                                   : "name it")};
        if (!is_utf8(name)) return Error{at + "the name " + wrong_encoding(name)};
        const auto [before, is_new] = seen.emplace(name, i);
        if (!is_new)
            return Error{at + "a second column is called " + quoted_name(name) + ", as column " +
                         std::to_string(before->second + 1) + " is: rename one of them"};
        names.emplace_back(name);
    }
    return names;
}

Result<std::size_t> column_named(std::span<const std::string> names, const std::string& name, const char* key,
                                 const std::filesystem::path& file) {
    constexpr std::size_t most = 12;
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) return i;
        if (i < most) text += (i > 0 ? ", " : "") + shown_name(names[i]);
    }
    if (names.size() > most) text += ", ...";
    const auto meant = nearest(name, {names.begin(), names.end()});
    if (!meant.empty()) text += "; did you mean " + quoted_name(meant) + "?";
    return Error{std::string(key) + ": " + file.string() + " has no column " + quoted_name(name) + "; it has " + text};
}

Result<std::vector<std::size_t>> columns_listed(std::span<const std::string> names, const std::string& list,
                                                const char* key, const std::filesystem::path& file) {
    const auto listed = csv_fields(list);
    if (!listed) return Error{std::string(key) + ": " + listed.error().message};
    std::vector<std::size_t> columns;
    for (const std::string& item : *listed) {
        const std::string name(trimmed_field(item));
        const auto column = column_named(names, name, key, file);
        if (!column) return column.error();
        if (std::find(columns.begin(), columns.end(), *column) != columns.end())
            return Error{std::string(key) + ": " + quoted_name(name) + " is named twice"};
        columns.push_back(*column);
    }
    return columns;
}

Result<std::vector<std::size_t>> target_columns(std::span<const std::string> names, const std::string& target,
                                                const char* key, const std::filesystem::path& file) {
    // A name with commas needs no quotes if it is the only one.
    if (const auto only = std::find(names.begin(), names.end(), target); only != names.end())
        return std::vector{static_cast<std::size_t>(only - names.begin())};
    auto columns = columns_listed(names, target, key, file);
    if (columns && columns->empty()) return Error{std::string(key) + ": names no column"};
    return columns;
}

Error data_file_error(const std::filesystem::path& file, const Error& error) {
    const std::string& message = error.message;
    if (message.starts_with("data.")) return error;
    if (message.starts_with(file.string() + ": data.")) return {message.substr(file.string().size() + 2)};
    return {"data.path: " + message};
}

}  // namespace hpo
