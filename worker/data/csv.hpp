// Reads CSV as RFC 4180 defines it: records end with CRLF or LF, fields are separated by commas, and a field with
// commas, quotes or ends of lines in it stands in double quotes, with each quote inside doubled. Stricter than most
// readers, since what they guess is wrong in silence: a quote in the middle of a bare field, or text after a closing
// quote, is an error. A byte order mark is skipped, and so are empty lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

/// One record. `line` is the line that it begins in, from 1. An error ends the reading.
using CsvRecord = std::function<Result<void>(std::int64_t line, std::span<const std::string_view> fields)>;

/// Takes the text in pieces of any size. Its memory is bounded: a record has at most 65,536 fields and 16 MiB. Errors
/// tell line and column (the number of the field, from 1).
class CsvReader {
   public:
    explicit CsvReader(CsvRecord record) : record_(std::move(record)) {}

    Result<void> feed(std::string_view text);
    /// Must follow the last piece: ends the last record.
    Result<void> finish();

   private:
    enum class State : std::uint8_t { field_start, bare, quoted, quote_in_quoted, carriage_return };

    Result<void> take(char c);
    Result<void> end_field();
    Result<void> end_record();
    [[nodiscard]] Error error(const std::string& what) const;

    CsvRecord record_;
    State state_ = State::field_start;
    std::string text_;               ///< of the fields of this record, one after the other
    std::vector<std::size_t> ends_;  ///< in text_, of the fields that are complete
    std::vector<std::string_view> fields_;
    bool any_quoted_ = false;  ///< in this record: an empty line has none
    std::int64_t line_ = 1;    ///< that is read
    std::int64_t record_line_ = 1;
    std::int64_t quote_line_ = 1;  ///< where the last quoted field began
    std::size_t mark_ = 0;         ///< bytes of a byte order mark that have been seen
    bool begun_ = false;
};

/// A whole file, plain or gzip. Errors name the file.
Result<void> read_csv(const std::filesystem::path& file, const CsvRecord& record);

/// The fields of one line, such as a list of names; an empty text has none.
Result<std::vector<std::string>> csv_fields(std::string_view line);

}  // namespace hpo
