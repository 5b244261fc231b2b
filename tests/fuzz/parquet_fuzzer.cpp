// Fuzzes the reader of Parquet files. Its memory must stay bounded, and each column by itself must have the values that
// it has beside the others.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/fuzz/require.hpp"
#include "worker/data/parquet/file.hpp"

namespace {

using namespace hpo;

constexpr std::size_t most_rows = 2000;  // a few bytes may stand for billions

parquet::Input input_of(std::span<const std::byte> bytes) {
    return {static_cast<std::int64_t>(bytes.size()), [bytes](std::int64_t offset, std::span<std::byte> to) {
                require(offset >= 0 && static_cast<std::size_t>(offset) + to.size() <= bytes.size());
                if (!to.empty()) std::memcpy(to.data(), bytes.data() + offset, to.size());
                return Result<void>();
            }};
}

/// The cells of each column as texts, as far as they can be read.
std::vector<std::string> read(parquet::File& file, const std::vector<Wanted>& wanted, bool& whole) {
    std::vector<std::string> columns(wanted.size());
    std::size_t rows = 0;
    const auto done = file.each_row(wanted, [&](std::int64_t row, std::span<const Cell> cells) -> Result<void> {
        require(row == static_cast<std::int64_t>(++rows) && cells.size() == wanted.size());
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (wanted[i] == Wanted::nothing) continue;
            require(!cells[i].missing || !cells[i].number);
            columns[i] += std::string(cells[i].text) + (cells[i].missing ? "?\n" : "\n");
        }
        return rows < most_rows ? Result<void>() : Error{"enough"};
    });
    whole = done || done.error().message == "enough";
    require(whole || done.error().message.starts_with("row group "));
    require(rows <= most_rows && file.peak_bytes() >= 0);
    return columns;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto file = parquet::File::open(input_of(std::as_bytes(std::span(data, size))));
    if (!file) {
        require(!file.error().message.empty());
        return 0;
    }
    std::vector<Wanted> wanted;
    for (const parquet::Column& column : file->columns())
        wanted.push_back(column.unreadable.empty() ? Wanted::text : Wanted::nothing);
    bool whole = false;
    const std::vector<std::string> together = read(*file, wanted, whole);
    // The column that ends the reading of all columns is unknown.
    constexpr std::size_t most_columns = 16;
    for (std::size_t i = 0; whole && i < wanted.size() && i < most_columns; ++i) {
        std::vector<Wanted> one(wanted.size(), Wanted::nothing);
        one[i] = wanted[i];
        const std::string alone = read(*file, one, whole)[i];
        require(whole && alone == together[i]);
    }
    return 0;
}
