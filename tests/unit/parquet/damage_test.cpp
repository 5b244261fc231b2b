// Damaged files are errors, and nothing worse.
#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <random>

#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"
#include "worker/data/parquet/file.hpp"

namespace hpo::parquet {
namespace {

std::string fixture(const std::string& name) {
    std::ifstream file(testing::source_folder() + "/tests/unit/data/parquet/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

Input input_of(const std::string& bytes) {
    return {static_cast<std::int64_t>(bytes.size()), [&bytes](std::int64_t offset, std::span<std::byte> to) {
                EXPECT_LE(static_cast<std::size_t>(offset) + to.size(), bytes.size());
                std::memcpy(to.data(), bytes.data() + offset, to.size());
                return Result<void>();
            }};
}

/// Reads all that can be read of the columns; the error, or nothing.
std::string reading(const std::string& bytes, std::int64_t* rows = nullptr) {
    auto file = File::open(input_of(bytes));
    if (!file) return file.error().message;
    std::vector<Wanted> wanted;
    for (const Column& column : file->columns())
        wanted.push_back(column.unreadable.empty() ? Wanted::text : Wanted::nothing);
    std::int64_t count = 0;
    const auto read = file->each_row(wanted, [&](std::int64_t row, std::span<const Cell> cells) -> Result<void> {
        EXPECT_EQ(row, ++count);
        EXPECT_EQ(cells.size(), wanted.size());
        return count < 1000 ? Result<void>() : Error{"enough"};
    });
    if (rows != nullptr) *rows = count;
    return read ? "" : read.error().message;
}

TEST(Damage, FilesThatEndEarlyAreErrors) {
    for (const char* const name : {"arrow-v1.parquet", "arrow-v2.parquet", "duckdb-v2.parquet"}) {
        const std::string whole = fixture(name);
        std::int64_t rows = 0;
        ASSERT_EQ(reading(whole, &rows), "");
        ASSERT_EQ(rows, 200);
        for (std::size_t size = 0; size < whole.size(); size += 37)
            EXPECT_NE(reading(whole.substr(0, size)), "") << size;
    }
    EXPECT_EQ(reading(""), "is no Parquet file: it has 0 bytes");
    EXPECT_THAT(reading("PAR1PAR1PAR1"), Mentions("damaged: ", "footer", "827474256 bytes", "longer"));
}

// Damaged files are read up to their end only (input_of), rows come in order with a cell per column (reading), and the
// sanitizers find nothing, for noticed and unnoticed changes.
TEST(Damage, ChangedBytesAreErrorsOrOtherValuesOfWholeRows) {
    std::mt19937 random(1);
    int errors = 0, values = 0;
    for (const char* const name :
         {"arrow-v1.parquet", "arrow-v2.parquet", "arrow-pandas.parquet", "duckdb-v1-gzip.parquet",
          "duckdb-v1-zstd.parquet", "duckdb-v2.parquet", "hyparquet.parquet", "decimals.parquet", "refused.parquet"}) {
        const std::string whole = fixture(name);
        for (int i = 0; i < 400; ++i) {
            std::string damaged = whole;
            for (int change = 0; change <= i % 3; ++change)
                damaged[random() % whole.size()] = static_cast<char>(random());
            ++(reading(damaged).empty() ? values : errors);
        }
    }
    EXPECT_GT(errors, 100);
    EXPECT_GT(values, 100);
}

TEST(Damage, ErrorsTellRowGroupAndColumn) {
    std::string bytes = fixture("duckdb-v1-snappy.parquet");
    std::fill(bytes.begin() + 4, bytes.begin() + 10, '\xFF');  // of the header of a page
    EXPECT_THAT(reading(bytes), Mentions("row", "group 1, column 1 (whole): damaged:"));
}

}  // namespace
}  // namespace hpo::parquet
