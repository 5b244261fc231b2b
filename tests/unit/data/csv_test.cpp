#include "worker/data/csv.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <fstream>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Record = std::vector<std::string>;

struct Records {
    std::vector<Record> records;
    std::vector<std::int64_t> lines;
    std::string error;
};

/// Reads the text in pieces of `piece` bytes.
Records records_of(const std::string& text, std::size_t piece = 1'000'000, CsvDialect dialect = {}) {
    Records read;
    CsvReader reader(
        [&](std::int64_t line, std::span<const std::string_view> fields) -> Result<void> {
            read.lines.push_back(line);
            read.records.emplace_back(fields.begin(), fields.end());
            return {};
        },
        dialect);
    for (std::size_t at = 0; at < text.size(); at += piece)
        if (const auto fed = reader.feed(std::string_view(text).substr(at, piece)); !fed) {
            read.error = fed.error().message;
            return read;
        }
    if (const auto finished = reader.finish(); !finished) read.error = finished.error().message;
    return read;
}

TEST(Csv, ReadsOtherDelimitersAndSkipsComments) {
    for (const std::size_t piece : {1U, 2U, 1000U}) {
        const Records semicolons =
            records_of("# x;y\na;\"b;c\"\n#\n1,5;\"#\"\n", piece, {.delimiter = ';', .comment = '#'});
        EXPECT_EQ(semicolons.error, "");
        EXPECT_EQ(semicolons.records, (std::vector<Record>{{"a", "b;c"}, {"1,5", "#"}}));
        EXPECT_EQ(semicolons.lines, (std::vector<std::int64_t>{2, 4}));
        const Records blanks = records_of("  a \t b\n\n 1  \"2 3\" \r\n4 \"\"", piece, {.delimiter = ' '});
        EXPECT_EQ(blanks.error, "");
        EXPECT_EQ(blanks.records, (std::vector<Record>{{"a", "b"}, {"1", "2 3"}, {"4", ""}}));
    }
    EXPECT_EQ(records_of("#a,b\n").records, (std::vector<Record>{{"#a", "b"}}));
}

TEST(Csv, ReadsFieldsQuotesAndBothEndsOfLines) {
    const std::string text =
        "\xEF\xBB\xBF"
        "a,b,c\r\n1,\"x, \"\"y\"\"\nz\",\n\n  2 ,\"\",3";
    for (const std::size_t piece : {1U, 2U, 3U, 5U, 1000U}) {
        const Records read = records_of(text, piece);
        EXPECT_EQ(read.error, "") << piece;
        EXPECT_THAT(read.records,
                    ElementsAre(Record{"a", "b", "c"}, Record{"1", "x, \"y\"\nz", ""}, Record{"  2 ", "", "3"}))
            << piece;
        EXPECT_THAT(read.lines, ElementsAre(1, 2, 5)) << piece;
    }
}

TEST(Csv, TheBeginningOfAByteOrderMarkIsText) {
    EXPECT_THAT(records_of("\xEF\xBB,b\n", 1).records, ElementsAre(Record{"\xEF\xBB", "b"}));
    EXPECT_THAT(records_of("\xEF").records, ElementsAre(Record{"\xEF"}));
}

TEST(Csv, ErrorsTellLineAndColumn) {
    EXPECT_THAT(records_of("a,b\n1,x\"y\"\n").error, HasSubstr("line 2, column 2: a quote"));
    EXPECT_THAT(records_of("a,b\n\"x\"y,1\n").error, Mentions("line 2, column 1", "quote"));
    EXPECT_THAT(records_of("a,b\n1,\"x\n2,\"y\"\n").error, Mentions("line 3, column 2", "doubled", "line 2"));
    EXPECT_THAT(records_of("a\n1,\"x\ny\n").error, HasSubstr("line 4, column 2: a quote"));
    EXPECT_THAT(records_of("a\rb\n").error, Mentions("line 1, column 1", "carriage"));
    EXPECT_THAT(records_of(std::string("a\n1,\0\n", 6)).error, Mentions("line 2, column 2", "zero"));
}

TEST(Csv, AMillionColumnsAndAnEndlessRecordEndInBoundedMemory) {
    EXPECT_THAT(records_of(std::string(1'000'000, ',')).error, Mentions("line 1:", "more than 65536 columns"));
    EXPECT_THAT(records_of("\"" + std::string(20'000'000, 'x'), 1 << 16).error, Mentions("16 MiB", "closed"));
}

TEST(Csv, AnErrorOfTheRecordEndsTheReading) {
    int seen = 0;
    CsvReader reader([&](std::int64_t, auto) -> Result<void> {
        if (++seen == 2) return Error{"enough"};
        return {};
    });
    EXPECT_EQ(reader.feed("a\nb\nc\n").error().message, "enough");
    EXPECT_EQ(seen, 2);
}

TEST(Csv, FilesMayBeCompressedAndDamagedOnesAreNamed) {
    const testing::TemporaryFolder folder;
    const auto file = std::filesystem::path(folder.path()) / "t.csv.gz";
    std::string text = "a,b\n";
    for (int i = 0; i < 5000; ++i) text += std::to_string(i * i % 9973) + "," + std::to_string(i) + "\n";
    gzFile out = gzopen(file.c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
    int count = 0;
    const auto counted = [&](std::int64_t, auto) -> Result<void> { return ++count, Result<void>(); };
    ASSERT_TRUE(read_csv(file, counted));
    EXPECT_EQ(count, 5001);
    std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
    const auto half = read_csv(file, counted);
    ASSERT_FALSE(half);
    EXPECT_THAT(half.error().message, HasSubstr("t.csv.gz: damaged"));
    EXPECT_THAT(read_csv(folder.path(), counted).error().message, HasSubstr("not a file"));
    const auto parquet = std::filesystem::path(folder.path()) / "t.parquet";
    std::ofstream(parquet, std::ios::binary) << "PAR1\x15\x04PAR1";
    EXPECT_THAT(read_csv(parquet, counted).error().message, HasSubstr("data.format: parquet"));
}

}  // namespace
}  // namespace hpo
