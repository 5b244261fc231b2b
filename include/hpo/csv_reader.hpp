// Splits CSV into records as RFC 4180 defines it: records end with CRLF or LF, fields are separated by commas, and a
// field with commas, quotes or ends of lines in it stands in double quotes, with each quote inside doubled. It is
// stricter than most readers, whose guesses can be wrong without notice: a quote in the middle of a bare field, or text
// after a closing quote, is an error. A byte order mark is skipped, and so are empty lines.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/result.hpp"

namespace hpo {

/// One record. `line` is the line that it begins in, from 1. An error ends the reading.
using CsvRecord = std::function<Result<void>(std::int64_t line, std::span<const std::string_view> fields)>;

struct CsvDialect {
    char delimiter = ',';  ///< a blank stands for any number of blanks and tabs, also around the record
    char comment = '\0';   ///< lines that begin with it are skipped; 0 for none
};

/// Takes the text in pieces of any size. Its memory is bounded: a record has at most 65,536 fields and 16 MiB. Errors
/// tell line and column (the number of the field, from 1).
class CsvReader {
   public:
    explicit CsvReader(CsvRecord record, CsvDialect dialect = {})
        : record_(std::move(record)),
          dialect_(dialect),
          ends_of_bare_{dialect.delimiter, '"', '\r', '\n', '\t', '\0'} {}

    Result<void> feed(std::string_view text);
    /// Ends the last record. Call it after the last piece.
    Result<void> finish();

   private:
    static constexpr std::size_t most_fields = 65'536;
    static constexpr std::size_t most_record_bytes = std::size_t{16} << 20;
    static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

    enum class State : std::uint8_t { field_start, bare, quoted, quote_in_quoted, carriage_return, comment };

    Result<void> take(char c);
    Result<void> end_field();
    Result<void> end_record();
    [[nodiscard]] bool separates(char c) const {
        return c == dialect_.delimiter || (c == '\t' && dialect_.delimiter == ' ');
    }
    [[nodiscard]] Error error(const std::string& what) const {
        return {"line " + std::to_string(line_) + ", column " + std::to_string(ends_.size() + 1) + ": " + what};
    }

    CsvRecord record_;
    CsvDialect dialect_;
    std::string ends_of_bare_;  ///< characters that may end a field without quotes
    State state_ = State::field_start;
    std::string text_;               ///< the texts of this record's fields, one after the other
    std::vector<std::size_t> ends_;  ///< the ends of the complete fields in text_
    std::vector<std::string_view> fields_;
    bool any_quoted_ = false;  ///< true if this record has a quoted field, which an empty line has not
    std::int64_t line_ = 1;    ///< the line being read, from 1
    std::int64_t record_line_ = 1;
    std::int64_t quote_line_ = 1;  ///< the line on which the last quoted field began
    std::size_t mark_ = 0;         ///< bytes of a byte order mark seen so far
    bool begun_ = false;
};

inline Result<void> CsvReader::feed(std::string_view text) {
    while (!begun_ && !text.empty()) {
        if (text.front() != byte_order_mark[mark_]) {
            begun_ = true;
            // The bytes taken for the beginning of a byte order mark were text.
            for (std::size_t i = 0; i < mark_; ++i)
                if (auto taken = take(byte_order_mark[i]); !taken) return taken;
            break;
        }
        text.remove_prefix(1);
        begun_ = ++mark_ == byte_order_mark.size();
    }
    for (std::size_t at = 0; at < text.size(); ++at) {
        // Most bytes are of the inside of a field.
        const std::size_t from = at;
        if (state_ == State::bare)
            at = std::min(text.find_first_of(ends_of_bare_, at), text.size());
        else if (state_ == State::quoted)
            while (at < text.size() && text[at] != '"' && text[at] != '\n' && text[at] != '\0') ++at;
        text_.append(text.substr(from, at - from));
        if (text_.size() > most_record_bytes) return error("the record is longer than 16 MiB: is a quote not closed?");
        if (at == text.size()) break;
        if (auto taken = take(text[at]); !taken) return taken;
    }
    return {};
}

inline Result<void> CsvReader::take(char c) {
    if (c == '\0') return error("a zero byte: this is no text in UTF-8 (convert UTF-16: iconv -f UTF-16 -t UTF-8)");
    switch (state_) {
        case State::field_start:
        case State::bare:
            if (separates(c)) {
                const bool between_fields = dialect_.delimiter == ' ' && state_ == State::field_start;
                return between_fields ? Result<void>() : end_field();
            }
            if (c == '\n') return end_record();
            if (c == '\r') {
                state_ = State::carriage_return;
            } else if (c == dialect_.comment && c != '\0' && ends_.empty() && text_.empty()) {
                state_ = State::comment;
            } else if (c != '"') {
                state_ = State::bare;
                text_ += c;
            } else if (state_ == State::field_start) {
                state_ = State::quoted;
                any_quoted_ = true;
                quote_line_ = line_;
            } else {
                return error(
                    "a quote in a field that does not begin with one: put the field in quotes, and double those "
                    "inside");
            }
            return {};
        case State::quoted:
            if (c == '"') {
                state_ = State::quote_in_quoted;
            } else {
                text_ += c;
                if (c == '\n') ++line_;
            }
            return {};
        case State::quote_in_quoted:
            if (c == '"') {
                state_ = State::quoted;
                text_ += c;
                return {};
            }
            if (separates(c)) return end_field();
            if (c == '\n') return end_record();
            if (c != '\r')
                return error("text after a closing quote: quotes inside of a field must be doubled" +
                             (quote_line_ < line_ ? "; or the quote that opens in line " + std::to_string(quote_line_) +
                                                        " is not closed there"
                                                  : ""));
            state_ = State::carriage_return;
            return {};
        case State::comment:
            if (c == '\n') {
                state_ = State::field_start;
                record_line_ = ++line_;
            }
            return {};
        case State::carriage_return:
            if (c == '\n') return end_record();
            return error("a carriage return without a line feed: put the field in quotes, or end lines with LF");
    }
    return {};
}

inline Result<void> CsvReader::end_field() {
    ends_.push_back(text_.size());
    state_ = State::field_start;
    if (ends_.size() > most_fields)
        return Error{"line " + std::to_string(line_) + ": more than " + std::to_string(most_fields) + " columns"};
    return {};
}

inline Result<void> CsvReader::end_record() {
    // Blanks at the end of a line separate nothing.
    const bool ended_by_blanks =
        dialect_.delimiter == ' ' && state_ != State::quote_in_quoted && !ends_.empty() && ends_.back() == text_.size();
    if (!ended_by_blanks)
        if (auto ended = end_field(); !ended) return ended;
    state_ = State::field_start;
    const bool empty = ends_.size() == 1 && text_.empty() && !any_quoted_;
    Result<void> taken;
    if (!empty) {
        fields_.clear();
        std::size_t from = 0;
        for (const std::size_t end : ends_) {
            fields_.push_back(std::string_view(text_).substr(from, end - from));
            from = end;
        }
        taken = record_(record_line_, fields_);
    }
    text_.clear();
    ends_.clear();
    any_quoted_ = false;
    record_line_ = ++line_;
    return taken;
}

inline Result<void> CsvReader::finish() {
    if (state_ == State::quoted)
        return error("a quote that is not closed; it opens in line " + std::to_string(quote_line_));
    if (!begun_)
        for (std::size_t i = 0; i < mark_; ++i)
            if (auto taken = take(byte_order_mark[i]); !taken) return taken;
    // A last line without an end.
    if ((state_ == State::field_start && ends_.empty()) || state_ == State::comment) return {};
    return end_record();
}

}  // namespace hpo
