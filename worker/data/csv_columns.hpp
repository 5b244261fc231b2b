// Parts that the readers of tables and of series share: the names of columns, and the values of fields of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

/// Returns the text without blanks around it.
std::string_view trimmed_field(std::string_view text);
/// Reads a number that is the whole field, without the blanks around it: 1, -0.5, 1e-3, +2. Not finite: inf.
std::optional<double> number_of(std::string_view field);
/// Returns true if the field is empty or one of NA, N/A, NaN, nan, null, NULL, None and ?.
bool is_missing(std::string_view field);

/// Returns the problem of a missing target, and the cure: the end of an error message.
std::string missing_target(std::string_view field);

/// Returns the problem of a target without two rows of the same class, and the cure: the end of an error message,
/// or an empty text where classes repeat, or where the rows are too few to say. `first`: the class of the first row.
std::string unrepeated_classes(std::size_t classes, std::int64_t rows, std::string_view first, bool are_numbers);

/// Returns the problem of a text that is not UTF-8, and the cure: the end of an error message.
std::string wrong_encoding(std::string_view text);

/// "data.path: no file ..." unless there is one.
Result<void> check_data_file(const std::filesystem::path& file);

/// The names of columns, without blanks around them. An error begins with "column 2": one without a name, two of one
/// name.
Result<std::vector<std::string>> header_names(std::span<const std::string_view> fields);
/// The index of a column. The error begins with `key`, names `file` and tells which columns there are,
/// and which one may be meant.
Result<std::size_t> column_named(std::span<const std::string> names, const std::string& name, const char* key,
                                 const std::filesystem::path& file);
/// Returns the indices of the columns in a list such as "a,b". Errors begin with `key`; a name given twice is one.
Result<std::vector<std::size_t>> columns_listed(std::span<const std::string> names, const std::string& list,
                                                const char* key, const std::filesystem::path& file);
/// Returns the indices of the columns to predict: of the one with this very name, else of those in a list, at least
/// one. Errors begin with `key`.
Result<std::vector<std::size_t>> target_columns(std::span<const std::string> names, const std::string& target,
                                                const char* key, const std::filesystem::path& file);
/// Returns an error of reading `file` in the form for users: an error about a key begins with that key, others with
/// data.path.
Error data_file_error(const std::filesystem::path& file, const Error& error);

}  // namespace hpo
