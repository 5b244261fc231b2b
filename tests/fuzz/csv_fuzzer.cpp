// Fuzzes the CSV reader. Its memory must stay bounded, and the records or the error must not depend on how the bytes
// are split into pieces. Records that are written again, in quotes, must be read unchanged.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/require.hpp"
#include "worker/data/csv.hpp"

namespace {

using namespace hpo;

struct Outcome {
    std::vector<std::vector<std::string>> records;
    std::string error;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome read(std::string_view text, std::size_t piece) {
    Outcome result;
    std::int64_t last = 0;
    CsvReader reader([&](std::int64_t line, std::span<const std::string_view> fields) -> Result<void> {
        require(line > last && !fields.empty());
        last = line;
        result.records.emplace_back(fields.begin(), fields.end());
        return {};
    });
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size())))
        if (const auto fed = reader.feed(text.substr(0, piece)); !fed) {
            result.error = fed.error().message;
            return result;
        }
    if (const auto finished = reader.finish(); !finished) result.error = finished.error().message;
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const Outcome whole = read(text, size + 1);
    require(whole == read(text, 1));
    require(whole == read(text, 7));
    std::string written;
    for (const auto& record : whole.records) {
        for (std::size_t i = 0; i < record.size(); ++i) {
            written += i > 0 ? ",\"" : "\"";
            for (const char c : record[i]) written += c == '"' ? "\"\"" : std::string(1, c);
            written += '"';
        }
        written += "\r\n";
    }
    const Outcome again = read(written, written.size() + 1);
    require(again.error.empty() && again.records == whole.records);
    return 0;
}
