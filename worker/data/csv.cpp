#include "worker/data/csv.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace hpo {
namespace {

constexpr std::size_t most_fields = 65'536;
constexpr std::size_t most_record_bytes = std::size_t{16} << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

Error CsvReader::error(const std::string& what) const {
    return {"line " + std::to_string(line_) + ", column " + std::to_string(ends_.size() + 1) + ": " + what};
}

Result<void> CsvReader::feed(std::string_view text) {
    while (!begun_ && !text.empty()) {
        if (text.front() != byte_order_mark[mark_]) {
            begun_ = true;
            // What looked like the beginning of a mark was text.
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
            while (at < text.size() && std::strchr(",\"\r\n", text[at]) == nullptr) ++at;
        else if (state_ == State::quoted)
            while (at < text.size() && text[at] != '"' && text[at] != '\n' && text[at] != '\0') ++at;
        text_.append(text.substr(from, at - from));
        if (text_.size() > most_record_bytes) return error("the record is longer than 16 MiB: is a quote not closed?");
        if (at == text.size()) break;
        if (auto taken = take(text[at]); !taken) return taken;
    }
    return {};
}

Result<void> CsvReader::take(char c) {
    if (c == '\0') return error("a zero byte: this is no text in UTF-8 (convert UTF-16: iconv -f UTF-16 -t UTF-8)");
    switch (state_) {
        case State::field_start:
        case State::bare:
            if (c == ',') return end_field();
            if (c == '\n') return end_record();
            if (c == '\r') {
                state_ = State::carriage_return;
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
            if (c == ',') return end_field();
            if (c == '\n') return end_record();
            if (c != '\r')
                return error("text after a closing quote: quotes inside of a field must be doubled" +
                             (quote_line_ < line_ ? "; or the quote that opens in line " + std::to_string(quote_line_) +
                                                        " is not closed there"
                                                  : ""));
            state_ = State::carriage_return;
            return {};
        case State::carriage_return:
            if (c == '\n') return end_record();
            return error("a carriage return without a line feed: put the field in quotes, or end lines with LF");
    }
    return {};
}

Result<void> CsvReader::end_field() {
    ends_.push_back(text_.size());
    state_ = State::field_start;
    if (ends_.size() > most_fields)
        return Error{"line " + std::to_string(line_) + ": more than " + std::to_string(most_fields) + " columns"};
    return {};
}

Result<void> CsvReader::end_record() {
    if (auto ended = end_field(); !ended) return ended;
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

Result<void> CsvReader::finish() {
    if (state_ == State::quoted)
        return error("a quote that is not closed; it opens in line " + std::to_string(quote_line_));
    if (!begun_)
        for (std::size_t i = 0; i < mark_; ++i)
            if (auto taken = take(byte_order_mark[i]); !taken) return taken;
    // A last line without an end.
    if (state_ == State::field_start && ends_.empty()) return {};
    return end_record();
}

Result<void> read_csv(const std::filesystem::path& file, const CsvRecord& record) {
    const auto broken = [&](const std::string& what) { return Error{file.string() + ": " + what}; };
    std::error_code unknown;
    if (std::filesystem::exists(file, unknown) && !std::filesystem::is_regular_file(file, unknown))
        return broken("not a file");  // a pipe would block
    errno = 0;
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> handle(gzopen(file.c_str(), "rb"), gzclose_r);
    if (!handle) return broken(errno != 0 ? std::strerror(errno) : "cannot be opened");
    CsvReader reader(record);
    std::vector<char> piece(std::size_t{1} << 18);
    bool is_first = true;
    for (;;) {
        const int got = gzread(handle.get(), piece.data(), static_cast<unsigned>(piece.size()));
        if (got > 0) {
            if (std::exchange(is_first, false) && std::string_view(piece.data(), 4) == "PAR1")
                return broken("is a Parquet file: data.format: parquet reads it");
            if (auto fed = reader.feed({piece.data(), static_cast<std::size_t>(got)}); !fed)
                return broken(fed.error().message);
            continue;
        }
        int status = Z_OK;
        const std::string why = gzerror(handle.get(), &status);
        if (status == Z_ERRNO) return broken(std::strerror(errno));
        if (got < 0 || status == Z_BUF_ERROR) {
            // zlib begins with the name of the file.
            const std::string prefix = file.string() + ": ";
            return broken("damaged or truncated (" + (why.starts_with(prefix) ? why.substr(prefix.size()) : why) + ")");
        }
        break;
    }
    if (auto finished = reader.finish(); !finished) return broken(finished.error().message);
    return {};
}

Result<std::vector<std::string>> csv_fields(std::string_view line) {
    std::vector<std::string> names;
    CsvReader reader([&](std::int64_t, std::span<const std::string_view> fields) -> Result<void> {
        names.insert(names.end(), fields.begin(), fields.end());
        return {};
    });
    if (auto fed = reader.feed(line); !fed) return fed.error();
    if (auto finished = reader.finish(); !finished) return finished.error();
    return names;
}

}  // namespace hpo
