// Tables in Parquet files of other writers (parquet/README.md) are the tables of the CSV files beside them.
#include <gmock/gmock.h>

#include <fstream>

#include "tests/support/mentions.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/series.hpp"
#include "worker/data/table.hpp"
#include "worker/data/table_source.hpp"

namespace hpo {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string parquet_folder = testing::source_folder() + "/tests/unit/data/parquet/";

DataConfig table_in(const std::string& file, const std::string& target = "y") {
    DataConfig config;
    config.format = file.ends_with(".csv") ? "csv" : "parquet";
    config.path = file.starts_with("/") ? file : parquet_folder + file;
    config.target = target;
    return config;
}

std::string refusal_of(const DataConfig& config) {
    const auto shape = describe_data(config);
    return shape ? "" : shape.error().message;
}

/// Everything that a trial gets of the data.
struct Contents {
    DataShape shape;
    std::vector<std::byte> bytes;
    DataFacts facts;
    std::vector<std::string> explained;
};

Contents contents_of(const DataConfig& config) {
    Contents contents;
    const auto shape = describe_data(config);
    if (!shape) throw std::runtime_error(shape.error().message);
    contents.shape = *shape;
    // These members depend on the pages of the file, and on its format.
    contents.shape.loading_bytes = 0;
    contents.shape.not_in_files.clear();
    std::vector<std::byte> parts[2];
    const auto facts = load_data(config, 1, [&](const SampleBatch& batch) {
        auto& part = parts[static_cast<std::size_t>(batch.part)];
        part.insert(part.end(), batch.features.begin(), batch.features.end());
        part.insert(part.end(), batch.targets.begin(), batch.targets.end());
    });
    if (!facts) throw std::runtime_error(facts.error().message);
    contents.facts = *facts;
    for (const auto& part : parts) contents.bytes.insert(contents.bytes.end(), part.begin(), part.end());
    contents.explained = *explain_data(config);
    return contents;
}

void expect_same(const DataConfig& config, const DataConfig& other) {
    const Contents found = contents_of(config), wanted = contents_of(other);
    EXPECT_EQ(found.shape, wanted.shape);
    EXPECT_TRUE(found.bytes == wanted.bytes);
    EXPECT_EQ(found.facts.encoding, wanted.facts.encoding);
    EXPECT_EQ(found.facts.target_mean, wanted.facts.target_mean);
    EXPECT_EQ(found.explained, wanted.explained);
}

class ParquetTables : public ::testing::TestWithParam<const char*> {};

TEST_P(ParquetTables, AreToTheBitTheTableInCsv) {
    expect_same(table_in(GetParam()), table_in("mixed.csv"));
    DataConfig classes = table_in(GetParam(), "town"), same = table_in("mixed.csv", "town");
    for (DataConfig* config : {&classes, &same}) {
        config->target = "flag";
        config->categorical = "small,whole";
        config->group = "code";
    }
    expect_same(classes, same);
}

INSTANTIATE_TEST_SUITE_P(OfOtherWriters, ParquetTables,
                         ::testing::Values("duckdb-v1-uncompressed.parquet", "duckdb-v1-snappy.parquet",
                                           "duckdb-v1-gzip.parquet", "duckdb-v1-zstd.parquet",
                                           "duckdb-v1-lz4_raw.parquet", "duckdb-v2.parquet", "arrow-v1.parquet",
                                           "arrow-v2.parquet", "hyparquet.parquet"));

TEST(Parquet, DecimalsAreTheNumbersThatTheirTextsName) {
    expect_same(table_in("decimals.parquet"), table_in("decimals.csv"));
}

TEST(Parquet, SeveralTargetsAndLabelsAreReadAsInCsv) {
    for (const char* const target : {"y,real", "flag"}) {
        DataConfig config = table_in("arrow-v1.parquet", target), same = table_in("mixed.csv", target);
        if (config.target == "flag") config.task = same.task = Task::multi_label;
        if (config.target == "y,real") config.target = same.target = "y,single";
        expect_same(config, same);
    }
}

TEST(Parquet, TheIndexOfPandasIsLeftOutUnlessItIsNamed) {
    DataConfig config = table_in("arrow-pandas.parquet");
    const auto lines = explain_data(config);
    ASSERT_TRUE(lines) << lines.error().message;
    EXPECT_THAT(*lines, Contains(MentionsInOrder("out: ", "__index_level_0__", "pandas")));
    EXPECT_THAT(*lines, Contains(StartsWith("categories: town (5 levels, ")));
    EXPECT_EQ(describe_data(config)->features(), describe_data(table_in("mixed.csv"))->features());
    config.target = "__index_level_0__";
    EXPECT_EQ(describe_data(config)->features(), describe_data(table_in("mixed.csv"))->features() + 1);
}

TEST(Parquet, TextsAreCategoriesThoughTheirTextsAreNumbers) {
    // The contents of a dictionary of texts or of a plain column have the declared type: a code of digits is no number.
    const auto source = open_table(parquet_folder + "arrow-v1.parquet", "parquet");
    ASSERT_TRUE(source);
    std::vector<Wanted> wanted((*source)->columns().size(), Wanted::text);
    auto read = (*source)->each_row(wanted, [&](std::int64_t row, std::span<const Cell> cells) -> Result<void> {
        EXPECT_FALSE(cells[7].number);
        EXPECT_TRUE(cells[0].number);
        EXPECT_EQ(cells[6].missing, cells[6].text == "NA" || cells[6].text == "null") << row;
        return {};
    });
    EXPECT_TRUE(read);
}

TEST(Parquet, ColumnsThatNoTableHasAreNamedWithTheCure) {
    DataConfig config = table_in("refused.parquet");
    EXPECT_THAT(refusal_of(config), HasSubstr("data.path: "));
    EXPECT_THAT(refusal_of(config), Mentions("refused.parquet: column 2", "dates", "data.ignore"));
    config.ignore = "day";
    EXPECT_THAT(refusal_of(config), Mentions("column 3", "times"));
    config.ignore = "day,moment";
    EXPECT_THAT(refusal_of(config), Mentions("column 4", "lists"));
    config.ignore = "day,moment,list";
    EXPECT_THAT(refusal_of(config), Mentions("column 5", "nested"));
    config.ignore = "day,moment,list,struct";
    EXPECT_THAT(refusal_of(config), Mentions("column 6", "binary"));
    config.ignore = "day,moment,list,struct,id";
    EXPECT_EQ(refusal_of(config), "");
    // A date may divide the rows.
    config.ignore = "moment,list,struct,id";
    config.group = "day";
    EXPECT_THAT(*explain_data(config), Contains(Mentions("(20)")));
}

TEST(Parquet, ErrorsTellFileAndPlaceAndTheCure) {
    EXPECT_THAT(refusal_of(table_in("duckdb-v1-brotli.parquet")),
                Mentions("duckdb-v1-brotli.parquet", "1, column 1", "BROTLI", "SNAPPY, GZIP, ZSTD, LZ4_RAW"));
    EXPECT_THAT(refusal_of(table_in("encrypted.parquet")), HasSubstr("encrypted"));
    EXPECT_THAT(refusal_of(table_in("arrow-empty.parquet")), Mentions("0 rows", "at least 3"));
    EXPECT_THAT(refusal_of(table_in("arrow-v1.parquet", "Y")),
                Mentions("\"Y\"", "whole, large, small, single, real, flag, town, code, half, y", "\"y\""));
    DataConfig missing = table_in("arrow-v1.parquet", "small");
    EXPECT_THAT(refusal_of(missing), Mentions("arrow-v1.parquet: row 4, column 3", "target"));
    missing.target = "real";
    EXPECT_THAT(refusal_of(missing), Mentions("row 8, column 5", "target"));
    DataConfig wrong = table_in("mixed.csv");
    wrong.format = "parquet";
    EXPECT_THAT(refusal_of(wrong), Mentions("mixed.csv", "PAR1; CSV is data.format"));
    wrong = table_in("arrow-v1.parquet");
    wrong.format = "csv";
    EXPECT_THAT(refusal_of(wrong), HasSubstr("data.format: parquet"));
    const testing::TemporaryFolder folder;
    const std::string cut = folder / "cut.parquet";
    std::filesystem::copy_file(parquet_folder + "arrow-v1.parquet", cut);
    std::filesystem::resize_file(cut, 8000);
    EXPECT_THAT(refusal_of(table_in(cut)), HasSubstr("cut.parquet: damaged"));
    EXPECT_THAT(refusal_of(table_in(parquet_folder)), HasSubstr("not a file"));
}

TEST(Parquet, ASeriesMayBeAParquetFile) {
    DataConfig config = table_in("hyparquet.parquet"), same = table_in("mixed.csv");
    for (DataConfig* one : {&config, &same}) {
        one->format = "series";
        one->window = 8;
        one->ignore = "town,code";
    }
    expect_same(config, same);
    for (DataConfig* one : {&config, &same}) {
        one->task = Task::classification;
        one->target = "code";
        one->ignore = "town";
    }
    expect_same(config, same);
    config.ignore = "";
    EXPECT_THAT(refusal_of(config), Mentions("hyparquet.parquet: row 1, column 7 (town): \"Athens\""));
    config.path = parquet_folder + "refused.parquet";
    config.target = "y";
    EXPECT_THAT(refusal_of(config), Mentions("column 2", "dates"));
}

}  // namespace
}  // namespace hpo
