// The common properties of all formats: samples that stay in their files equal those that loading gives, and folds have
// the classes in equal proportions.
#include <gmock/gmock.h>
#include <png.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/dataset.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

class Formats : public ::testing::Test {
   protected:
    std::string write(const std::string& name, const std::string& bytes) const {
        const auto path = std::filesystem::path(folder_.path()) / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    template <class T>
    std::string npy(const std::string& name, const std::string& type, const std::string& shape,
                    const std::vector<T>& numbers) const {
        std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
        std::string bytes = "\x93NUMPY\x01";
        bytes += {'\0', static_cast<char>(header.size()), '\0'};
        bytes += header;
        bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
        return write(name, bytes);
    }
    [[nodiscard]] DataConfig config(const std::string& format, const std::string& path) const {
        DataConfig config;
        config.format = format;
        config.path = (std::filesystem::path(folder_.path()) / path).string();
        return config;
    }

    /// A grey image of 3 x 2 pixels.
    void png(const std::string& name, int grey) const {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        image.width = 3;
        image.height = 2;
        image.format = PNG_FORMAT_GRAY;
        const std::vector<png_byte> pixels(6, static_cast<png_byte>(grey));
        const std::string file = write(name, "");
        ASSERT_NE(png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr), 0);
    }
    /// Compares the samples of load_data with those of the reader, from the last sample to the first.
    static void expect_same(const DataConfig& config) {
        const auto shape = describe_data(config);
        ASSERT_TRUE(shape) << shape.error().message;
        EXPECT_EQ(shape->not_in_files, "");
        const auto row = static_cast<std::size_t>(shape->row_bytes());
        const auto target = static_cast<std::size_t>(4 * shape->target_columns());
        std::vector<std::byte> features[2], targets[2];
        const auto facts = load_data(config, 3, [&](const SampleBatch& batch) {
            const auto part = static_cast<std::size_t>(batch.part);
            features[part].insert(features[part].end(), batch.features.begin(), batch.features.end());
            targets[part].insert(targets[part].end(), batch.targets.begin(), batch.targets.end());
        });
        ASSERT_TRUE(facts) << facts.error().message;
        const auto reader = open_samples(config, 3);
        ASSERT_TRUE(reader) << reader.error().message;
        for (const auto& [part, count] : {std::pair(Part::train, shape->train), std::pair(Part::test, shape->test)}) {
            const auto p = static_cast<std::size_t>(part);
            ASSERT_EQ(features[p].size(), static_cast<std::size_t>(count) * row);
            for (auto i = static_cast<std::size_t>(count); i-- > 0;) {
                std::vector<std::byte> its(row), of(target);
                (*reader)->read(part, static_cast<std::int64_t>(i), its, of);
                EXPECT_EQ(std::memcmp(its.data(), &features[p][i * row], row), 0) << i;
                EXPECT_EQ(std::memcmp(of.data(), &targets[p][i * target], target), 0) << i;
            }
        }
    }

    const testing::TemporaryFolder folder_;
};

TEST_F(Formats, ReadersGiveTokensAndTexts) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += static_cast<char>('a' + i * i % 17);
    write("text", text);
    write("tokens/train.bin", text);
    write("tokens/val.bin", text.substr(100));
    for (DataConfig one : {config("text", "text"), config("tokens", "tokens")}) {
        one.window = 9;
        one.stride = 7;
        expect_same(one);
    }
}

TEST_F(Formats, ReadersGiveWindowsOfASeries) {
    std::string rows = "a,b,c\n";
    for (int i = 0; i < 90; ++i)
        rows +=
            std::to_string(i * i % 31) + "," + (i < 3 ? "" : std::to_string(i)) + "," + std::to_string(i % 7) + "\n";
    write("series.csv", rows);
    DataConfig one = config("series", "series.csv");
    one.target = "c,a";
    one.window = 6;
    one.horizon = 2;
    expect_same(one);
}

TEST_F(Formats, ReadersGiveRowsOfArrays) {
    std::vector<float> table;
    std::vector<double> numbers;
    std::vector<std::uint8_t> pixels;
    std::vector<std::int64_t> labels;
    for (int i = 0; i < 40; ++i) {
        for (int j = 0; j < 3; ++j) table.push_back(static_cast<float>(i * j % 11));
        for (int j = 0; j < 8; ++j) pixels.push_back(static_cast<std::uint8_t>(i * 8 + j));
        numbers.push_back(0.5 * i * i);
        labels.push_back(i % 3 - 1);
    }
    npy("table/x.npy", "<f4", "(40, 3)", table);
    npy("table/y.npy", "<f8", "(40,)", numbers);
    npy("images/x.npy", "|u1", "(40, 2, 4)", pixels);
    npy("images/y.npy", "<i8", "(40,)", labels);
    npy("apart/x_train.npy", "<f4", "(40, 3)", table);
    npy("apart/y_train.npy", "<i8", "(40,)", labels);
    npy("apart/x_test.npy", "<f4", "(40, 3)", table);
    npy("apart/y_test.npy", "<i8", "(40,)", labels);
    for (const char* path : {"table", "images", "apart"}) expect_same(config("npy", path));
    DataConfig fold = config("npy", "table");
    fold.folds = 4;
    fold.fold = 2;
    expect_same(fold);
}

TEST_F(Formats, ReadersGiveImagesOfAFolder) {
    for (int i = 0; i < 12; ++i) png((i % 2 == 0 ? "images/a/" : "images/b/") + std::to_string(i) + ".png", 20 * i);
    expect_same(config("images", "images"));
    const auto reader = open_samples(config("images", "images"), 3);
    std::filesystem::remove_all(std::filesystem::path(folder_.path()) / "images");
    std::vector<std::byte> features(6), target(4);
    try {
        (*reader)->read(Part::train, 0, features, target);
        ADD_FAILURE() << "a file that is gone was read";
    } catch (const std::runtime_error& error) {
        EXPECT_THAT(error.what(), HasSubstr(".png"));
    }
}

TEST_F(Formats, ReadersGiveUnpackedIdxFilesAndSaysHowToUnpackOthers) {
    const auto idx = [](const std::vector<std::uint8_t>& shape, const std::vector<std::uint8_t>& bytes) {
        std::string file{'\0', '\0', '\x08', static_cast<char>(shape.size())};
        for (const std::uint8_t one : shape) file += {'\0', '\0', '\0', static_cast<char>(one)};
        return file + std::string(bytes.begin(), bytes.end());
    };
    const std::string images = idx({5, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
    const std::string labels = idx({5}, {0, 1, 2, 1, 0});
    for (const char* prefix : {"train", "t10k"}) {
        write("idx/" + std::string(prefix) + "-images-idx3-ubyte", images);
        write("idx/" + std::string(prefix) + "-labels-idx1-ubyte", labels);
    }
    expect_same(config("idx", "idx"));
    const auto folder = std::filesystem::path(folder_.path()) / "idx";
    std::filesystem::rename(folder / "t10k-images-idx3-ubyte", folder / "t10k-images-idx3-ubyte.gz");
    EXPECT_THAT(describe_data(config("idx", "idx"))->not_in_files, Mentions("t10k-images-idx3-ubyte.gz", "compressed"));
}

TEST_F(Formats, ReadersAreNotForTablesOfTextNorForArchives) {
    std::string rows = "a,b\n";
    for (int i = 0; i < 30; ++i) rows += std::to_string(i) + "," + std::to_string(i % 2) + "\n";
    write("t.csv", rows);
    DataConfig table = config("csv", "t.csv");
    table.target = "b";
    EXPECT_THAT(describe_data(table)->not_in_files, HasSubstr("format: npy"));
    EXPECT_FALSE(open_samples(table, 3));
    DataConfig made;
    made.format = "synthetic";
    EXPECT_NE(describe_data(made)->not_in_files, "");
}

TEST_F(Formats, FoldsHaveTheClassesInEqualProportionsAndEachSampleValidatesOnce) {
    std::string rows = "a,b\n";
    std::vector<float> table;
    std::vector<std::int64_t> numbers;
    std::string images{'\0', '\0', '\x08', '\x03', 0, 0, 0, 60, 0, 0, 0, 1, 0, 0, 0, 1};
    std::string labels{'\0', '\0', '\x08', '\x01', 0, 0, 0, 60};
    for (int i = 0; i < 60; ++i) {
        const int label = i < 12 ? 1 : 0;  // a fifth
        rows += std::to_string(i * i % 7) + "," + std::to_string(label) + "\n";
        table.push_back(static_cast<float>(i));
        numbers.push_back(label);
        images += static_cast<char>(i);
        labels += static_cast<char>(label);
        png((label == 1 ? "images/train/a/" : "images/train/b/") + std::to_string(i) + ".png", i);
        if (i % 10 == 0) png((label == 1 ? "images/test/a/" : "images/test/b/") + std::to_string(i) + ".png", i);
    }
    for (const char* prefix : {"train", "t10k"}) {
        write("idx/" + std::string(prefix) + "-images-idx3-ubyte", images);
        write("idx/" + std::string(prefix) + "-labels-idx1-ubyte", labels);
    }
    write("t.csv", rows);
    npy("npy/x.npy", "<f4", "(60,)", table);
    npy("npy/y.npy", "<i8", "(60,)", numbers);
    std::vector<DataConfig> configs{config("csv", "t.csv"), config("npy", "npy"), config("images", "images"),
                                    config("idx", "idx"), config("synthetic", "")};
    configs[0].target = "b";
    configs[4].samples = 60;
    configs[4].classes = 5;
    for (DataConfig one : configs) {
        one.folds = 3;
        const auto shape = describe_data(one);
        ASSERT_TRUE(shape) << one.format << ": " << shape.error().message;
        const auto sizes = split_sizes(one, *shape);
        std::vector<std::int32_t> classes;  // of the training part
        ASSERT_TRUE(load_data(one, 3, [&](const SampleBatch& batch) {
            const auto* its = reinterpret_cast<const std::int32_t*>(batch.targets.data());
            if (batch.part == Part::train) classes.insert(classes.end(), its, its + batch.count);
        }));
        const auto rare = static_cast<double>(std::count(classes.begin(), classes.end(), 1));
        std::vector<std::int32_t> validated;
        for (one.fold = 0; one.fold < 3; ++one.fold) {
            const auto split = split_data(one, *shape, *sizes, 3);
            ASSERT_TRUE(split) << one.format;
            validated.insert(validated.end(), split->validation.begin(), split->validation.end());
            const auto its = std::count_if(split->validation.begin(), split->validation.end(), [&](std::int32_t row) {
                return classes[static_cast<std::size_t>(row)] == 1;
            });
            EXPECT_NEAR(static_cast<double>(its), rare / 3, 0.7) << one.format << " " << one.fold;
        }
        std::sort(validated.begin(), validated.end());
        EXPECT_EQ(std::unique(validated.begin(), validated.end()), validated.end()) << one.format;
    }
    DataConfig many = configs[3];
    many.folds = 13;
    EXPECT_THAT(describe_data(many).error().message, HasSubstr("class 1 has 12 samples"));
    EXPECT_THAT(*explain_data(configs[3]), ::testing::Contains("target: 2 classes: 0 (48, 80 %), 1 (12, 20 %)"));
}

}  // namespace
}  // namespace hpo
