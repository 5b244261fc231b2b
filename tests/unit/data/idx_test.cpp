#include "worker/data/idx.hpp"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/dataset.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

Bytes idx(std::vector<std::uint32_t> shape, const Bytes& items) {
    Bytes file{0, 0, 8, static_cast<std::uint8_t>(shape.size())};
    for (const std::uint32_t length : shape)
        for (const int shift : {24, 16, 8, 0}) file.push_back(static_cast<std::uint8_t>(length >> shift));
    file.insert(file.end(), items.begin(), items.end());
    return file;
}

class IdxFiles : public ::testing::Test {
   protected:
    fs::path plain(const std::string& name, const Bytes& bytes) const {
        std::ofstream(folder_ / name, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return folder_ / name;
    }
    fs::path gzip(const std::string& name, const Bytes& bytes) const {
        const fs::path file = folder_ / name;
        gzFile out = gzopen(file.c_str(), "wb");
        gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size()));
        gzclose(out);
        return file;
    }
    void data_set(std::uint32_t images, std::uint32_t labels) const {
        plain("train-images-idx3-ubyte", idx({images, 2, 3}, Bytes(images * 6, 7)));
        gzip("train-labels-idx1-ubyte.gz", idx({labels}, Bytes(labels, 2)));
        gzip("t10k-images-idx3-ubyte.gz", idx({2, 2, 3}, Bytes(12, 9)));
        plain("t10k-labels-idx1-ubyte", idx({2}, {0, 4}));
    }
    [[nodiscard]] DataConfig config() const {
        DataConfig config;
        config.path = folder_.string();
        return config;
    }

    const hpo::testing::TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
};

struct Read {
    Bytes bytes;
    std::vector<std::int64_t> firsts;
    std::string error;
    IdxShape shape;
};
Read read(const fs::path& file) {
    Read got;
    const auto shape = read_idx(file, [&](std::int64_t first, std::span<const std::uint8_t> bytes) {
        got.firsts.push_back(first);
        got.bytes.insert(got.bytes.end(), bytes.begin(), bytes.end());
    });
    if (shape)
        got.shape = *shape;
    else
        got.error = shape.error().message;
    return got;
}

TEST_F(IdxFiles, PlainAndGzipGiveTheSameBytes) {
    const Bytes items{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 250};
    const Read one = read(plain("a", idx({2, 2, 3}, items)));
    const Read other = read(gzip("a.gz", idx({2, 2, 3}, items)));
    EXPECT_EQ(one.error, "");
    EXPECT_THAT(one.shape, ElementsAre(2, 2, 3));
    EXPECT_EQ(one.bytes, items);
    EXPECT_EQ(other.bytes, items);
    EXPECT_THAT(*read_idx_shape(folder_ / "a.gz"), ElementsAre(2, 2, 3));
}

TEST_F(IdxFiles, LargeFilesComeInPartsOfWholeItems) {
    const Read got = read(plain("a", idx({100, 100, 100}, Bytes(1'000'000, 3))));
    EXPECT_EQ(got.bytes.size(), 1'000'000U);
    EXPECT_THAT(got.firsts, ElementsAre(0, 26, 52, 78));
}

TEST_F(IdxFiles, ATruncatedFileIsAnErrorThatNamesIt) {
    Bytes file = idx({4, 2, 2}, Bytes(16, 1));
    file.pop_back();
    EXPECT_THAT(read(plain("short", file)).error, ::testing::AllOf(HasSubstr("short"), HasSubstr("truncated")));
    EXPECT_THAT(read(gzip("short.gz", file)).error, HasSubstr("truncated"));
    EXPECT_THAT(read(plain("empty", {})).error, HasSubstr("truncated"));
    EXPECT_THAT(read(plain("header", {0, 0, 8, 3, 0, 0})).error, HasSubstr("truncated"));
}

TEST_F(IdxFiles, AGzipFileCutShortIsTruncated) {
    Bytes items(10'000);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = static_cast<std::uint8_t>(i * i * 31 >> 3);
    const auto file = gzip("cut.gz", idx({100, 10, 10}, items));
    fs::resize_file(file, fs::file_size(file) / 2);
    EXPECT_THAT(read(file).error, HasSubstr("truncated"));
}

TEST_F(IdxFiles, AFlippedBitInAGzipFileIsFound) {
    const auto file = gzip("bad.gz", idx({1, 1000}, Bytes(1000, 1)));
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(fs::file_size(file)) - 6);  // in the checksum
    stream.put('\x5a');
    stream.close();
    EXPECT_THAT(read(file).error, HasSubstr("damaged"));
}

TEST_F(IdxFiles, TooLongOrForeignFilesAreErrors) {
    EXPECT_THAT(read(plain("long", idx({2, 2}, Bytes(5, 1)))).error, HasSubstr("longer"));
    EXPECT_THAT(read(plain("text", {'h', 'e', 'l', 'l', 'o'})).error, HasSubstr("IDX"));
    EXPECT_THAT(read(plain("floats", {0, 0, 0x0D, 1, 0, 0, 0, 1, 0, 0, 0, 0})).error, HasSubstr("type"));
    EXPECT_THAT(read(plain("zero", idx({0, 4}, {}))).error, Mentions("cannot", "right"));
    EXPECT_THAT(read(plain("huge", idx({0xffffffff, 0xffffffff, 0xffffffff}, {}))).error, Mentions("cannot", "right"));
    EXPECT_THAT(read(folder_ / "none").error, HasSubstr("No such file"));
}

TEST_F(IdxFiles, AFolderIsDescribedByHeadersAndLabels) {
    data_set(5, 5);
    const auto shape = describe_data(config());
    ASSERT_TRUE(shape) << shape.error().message;
    DataShape expected{5, 2, ImageShape{2, 3, 1}, Task::classification, 5, true};
    expected.not_in_files = shape->not_in_files;  // its files are compressed
    EXPECT_EQ(*shape, expected);
}

TEST_F(IdxFiles, ANameIsLookedUpInTheFolderOfDataSetsThatTheEnvironmentNames) {
    data_set(5, 5);
    DataConfig named = config();
    named.path = fs::path(folder_).filename();
    ::setenv("HPO_DATASETS", fs::path(folder_).parent_path().c_str(), 1);
    const auto shape = describe_data(named);
    ::unsetenv("HPO_DATASETS");
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_FALSE(describe_data(named));
}

TEST_F(IdxFiles, AFolderIsLoadedRowByRow) {
    data_set(5, 5);
    std::vector<int> labels;
    std::size_t bytes = 0;
    const auto loaded = load_data(config(), 0, [&](const SampleBatch& batch) {
        bytes += batch.features.size();
        const auto* of_rows = reinterpret_cast<const std::int32_t*>(batch.targets.data());
        labels.insert(labels.end(), of_rows, of_rows + batch.count);
    });
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(bytes, 7U * 6U);
    EXPECT_THAT(labels, ElementsAre(2, 2, 2, 2, 2, 0, 4));
}

TEST_F(IdxFiles, ImagesAndLabelsMustAgree) {
    data_set(5, 4);
    const auto shape = describe_data(config());
    ASSERT_FALSE(shape);
    EXPECT_THAT(shape.error().message, Mentions("4 labels", "5 images"));
}

TEST_F(IdxFiles, AMissingFileIsNamed) {
    data_set(5, 5);
    fs::remove(folder_ / "t10k-labels-idx1-ubyte");
    EXPECT_THAT(describe_data(config()).error().message, Mentions("t10k-labels-idx1-ubyte[.gz]", "missing"));
}

TEST(IdxFolder, AMissingDataSetComesWithItsCure) {
    DataConfig config;
    config.path = "no-such-set";
    EXPECT_THAT(describe_data(config).error().message, HasSubstr("dataset-no-such-set"));
    config.path = "/no/such/folder";
    EXPECT_THAT(describe_data(config).error().message, Mentions("folder", "/no/such/folder"));
    config.path = "";
    EXPECT_THAT(describe_data(config).error().message, HasSubstr("data.path"));
}

}  // namespace
}  // namespace hpo
