#include "worker/data/npy.hpp"

#include <gmock/gmock.h>
#include <zip.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/arrays.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

template <class T>
std::string descr_of() {
    const char kind = std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u';
    return std::string(sizeof(T) == 1 ? "|" : "<") + kind + std::to_string(sizeof(T));
}

/// A file as NumPy writes it.
std::string npy_bytes(const std::string& dictionary, const std::string& numbers = "") {
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(dictionary.size() & 0xFF);
    text += static_cast<char>(dictionary.size() >> 8);
    return text + dictionary + numbers;
}

template <class T>
std::string npy(const std::vector<std::int64_t>& shape, const std::vector<T>& values) {
    std::string numbers(values.size() * sizeof(T), '\0');
    std::memcpy(numbers.data(), values.data(), numbers.size());
    return npy_bytes(
        "{'descr': '" + descr_of<T>() + "', 'fortran_order': False, 'shape': " + shape_text(shape) + ", }\n", numbers);
}

std::string header_error(const std::string& file) {
    const auto header = parse_npy(std::as_bytes(std::span(file)));
    return header ? "" : header.error().message;
}

TEST(NpyHeaders, SayTypeShapeAndWhereTheNumbersBegin) {
    const std::string file = npy<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    const auto header = parse_npy(std::as_bytes(std::span(file)));
    ASSERT_TRUE(header) << header.error().message;
    EXPECT_EQ(header->type, NpyType::f32);
    EXPECT_THAT(header->shape, ElementsAre(2, 3));
    EXPECT_EQ(header->data_offset + header->data_bytes(), static_cast<std::int64_t>(file.size()));
    EXPECT_EQ(shape_text(header->shape), "(2, 3)");
    EXPECT_EQ(shape_text(std::vector<std::int64_t>{7}), "(7,)");
}

TEST(NpyHeaders, ErrorsTellTheByteAndTheCure) {
    const auto with = [](const std::string& descr, const std::string& rest) {
        return header_error(npy_bytes("{'descr': " + descr + ", " + rest + "}\n"));
    };
    const std::string rest = "'fortran_order': False, 'shape': (2,)";
    EXPECT_EQ(with("'<f4'", rest), "");
    EXPECT_THAT(with("'>f4'", rest), Mentions("big-endian numbers ('>f4')", ".astype('<f4')"));
    EXPECT_THAT(with("'<U5'", rest), Mentions("('<U5')", "numpy.unique(array"));
    EXPECT_THAT(with("'|O'", rest), Mentions("byte 20", "'", "O'"));
    EXPECT_THAT(with("'<c8'", rest), Mentions("float32 and float64"));
    EXPECT_THAT(with("[('a', '<f4')]", rest), HasSubstr("records"));
    EXPECT_THAT(with("'<f4'", "'fortran_order': True, 'shape': (2,)"),
                HasSubstr("in Fortran order: save numpy.ascontiguousarray(array)"));
    EXPECT_THAT(with("'<f4'", "'fortran_order': False, 'shape': ()"), HasSubstr("single"));
    EXPECT_THAT(with("'<f4'", "'fortran_order': False, 'shape': (0, 3)"), HasSubstr("empty"));
    EXPECT_THAT(with("'<f4'", "'fortran_order': False, 'shape': (-1,)"), HasSubstr("whole"));
    EXPECT_THAT(with("'<f4'", "'fortran_order': False, 'shape': (9999999999, 9999999999)"),
                Mentions("cannot", "right"));
    EXPECT_THAT(with("'<f4'", "'fortran_order': False"), Mentions("descr", "fortran_order", "shape"));
    EXPECT_THAT(with("'<f4'", "'other': 1"), Mentions("unknown", "'other'"));
    EXPECT_THAT(header_error("PK\x03\x04 this is a ZIP archive"), Mentions("byte 0:", "NPY", "not", "wrong"));
    EXPECT_THAT(header_error("\x93NUM"), Mentions("byte 4:", "before", "header", "truncated"));
    std::string file = npy<float>({2}, {1, 2});
    EXPECT_THAT(header_error(file.substr(0, 30)), Mentions("byte 30:", "within", "header", "truncated"));
    file[6] = 9;
    EXPECT_THAT(header_error(file), Mentions("byte 6:", "NPY", "version 9", "not"));
}

class Arrays : public ::testing::Test {
   protected:
    [[nodiscard]] std::string write(const std::string& name, const std::string& bytes) const {
        const auto path = std::filesystem::path(folder_.path()) / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    /// Writes an NPZ archive, compressed. Each archive has a name of its own, since the reader keeps the last file's
    /// contents.
    [[nodiscard]] DataConfig archive(const std::vector<std::pair<std::string, std::string>>& arrays) {
        DataConfig config;
        config.format = "npy";
        config.path = std::filesystem::path(folder_.path()) / (std::to_string(++archives_) + ".npz");
        int code = 0;
        zip_t* zip = zip_open(config.path.c_str(), ZIP_CREATE, &code);
        for (const auto& [name, bytes] : arrays)
            zip_file_add(zip, (name + ".npy").c_str(), zip_source_buffer(zip, bytes.data(), bytes.size(), 0), 0);
        EXPECT_EQ(zip_close(zip), 0);
        return config;
    }
    [[nodiscard]] static std::string error(const DataConfig& config) {
        const auto shape = describe_data(config);
        if (!shape) return shape.error().message;
        const auto loaded = load_data(config, 1, [](const SampleBatch&) {});
        return loaded ? "" : loaded.error().message;
    }

    const testing::TemporaryFolder folder_;
    int archives_ = 0;
};

struct LoadedArrays {
    std::vector<std::vector<float>> features[2], targets[2];  ///< by Part
    std::vector<std::int32_t> classes[2];
    std::vector<std::byte> bytes[2];  ///< of features
    DataFacts facts;
};

LoadedArrays load_arrays(const DataConfig& config) {
    LoadedArrays loaded;
    const auto facts = load_data(config, 1, [&](const SampleBatch& batch) {
        const auto part = static_cast<std::size_t>(batch.part);
        EXPECT_EQ(batch.first, static_cast<std::int64_t>(loaded.features[part].size()));
        loaded.bytes[part].insert(loaded.bytes[part].end(), batch.features.begin(), batch.features.end());
        for (const auto& [bytes, to] :
             {std::pair(batch.features, &loaded.features[part]), std::pair(batch.targets, &loaded.targets[part])}) {
            const std::size_t width = bytes.size() / static_cast<std::size_t>(batch.count);
            for (std::size_t i = 0; i < static_cast<std::size_t>(batch.count); ++i) {
                std::vector<float>& values = to->emplace_back(width / 4);
                std::memcpy(values.data(), &bytes[i * width], values.size() * 4);
            }
        }
        for (std::size_t i = 0; i < batch.targets.size(); i += 4) {
            std::int32_t label = 0;
            std::memcpy(&label, &batch.targets[i], 4);
            loaded.classes[part].push_back(label);
        }
    });
    if (!facts) throw std::runtime_error(facts.error().message);
    loaded.facts = *facts;
    return loaded;
}

template <class T>
std::vector<T> counting(std::size_t count, double factor = 1) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(factor * static_cast<double>(i));
    return values;
}

TEST_F(Arrays, ImagesAndLabelsOfAnArchiveAreFoundByTheNamesThatKerasUses) {
    const DataConfig config = archive({{"x_train", npy<std::uint8_t>({6, 2, 3}, counting<std::uint8_t>(36))},
                                       {"y_train", npy<std::uint8_t>({6}, {3, 5, 3, 5, 9, 9})},
                                       {"x_test", npy<std::uint8_t>({2, 2, 3}, counting<std::uint8_t>(12))},
                                       {"y_test", npy<std::uint8_t>({2}, {5, 9})}});
    const auto shape = describe_data(config);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->train, 6);
    EXPECT_EQ(shape->test, 2);
    EXPECT_EQ(shape->sample, SampleShape(ImageShape{2, 3, 1}));
    EXPECT_TRUE(shape->pixels);
    EXPECT_FALSE(shape->standardised);
    EXPECT_EQ(shape->outputs, 3);
    const LoadedArrays loaded = load_arrays(config);
    ASSERT_EQ(loaded.bytes[0].size(), 36u);
    EXPECT_EQ(loaded.bytes[0][35], std::byte{35});
    EXPECT_THAT(loaded.classes[0], ElementsAre(0, 1, 0, 1, 2, 2));
    EXPECT_THAT(loaded.classes[1], ElementsAre(1, 2));
    EXPECT_THAT(*explain_data(config),
                ElementsAre("features: x_train (6, 2, 3) uint8, which are images of 2 x 3",
                            MentionsInOrder("5 samples", "1 validate", "proportions", "2 test: x_test (2, 2, 3) uint8"),
                            "target: y_train (6,) uint8, 3 classes: 3 (2, 33.3 %), 5 (2, 33.3 %), 9 (2, 33.3 %)"));
}

TEST_F(Arrays, ColumnsThatAreTheSameOrGiveTheTargetAwayAreWarnedOf) {
    std::vector<float> features;
    std::vector<std::int64_t> targets;
    for (int i = 0; i < 40; ++i) {
        targets.push_back(i == 20 ? 2 : i * 7 % 5 % 2);
        for (const float number : {float(i * i % 13), 4.0F, float(targets.back()), 3 - 2 * float(targets.back())})
            features.push_back(number);
    }
    const DataConfig config = archive({{"x", npy<float>({40, 4}, features)}, {"y", npy<std::int64_t>({40}, targets)}});
    const auto lines = explain_data(config);
    ASSERT_TRUE(lines) << lines.error().message;
    ASSERT_EQ(lines->size(), 7U);
    EXPECT_THAT(std::vector<std::string>(lines->begin() + 3, lines->end()),
                ElementsAre(MentionsInOrder("warning: column 1", "same", "every"),
                            MentionsInOrder("warning: column 2", "equals", "target", "leak?"),
                            MentionsInOrder("warning: ", "target", "follows", "column 3", "alone", "leak?"),
                            MentionsInOrder("warning: ", "fewer than 3", "2 (1)")));
}

TEST_F(Arrays, ColumnsThatEqualOneOfSeveralTargetsAreWarnedOf) {
    std::vector<float> features, numbers;
    std::vector<std::uint8_t> labels;
    for (int i = 0; i < 40; ++i) {
        for (const int number : {i * i % 13, i % 2, i * 7 % 5}) features.push_back(static_cast<float>(number));
        for (const int number : {i * 7 % 5, i * i % 11}) numbers.push_back(static_cast<float>(number));
        for (const int label : {i % 3 == 0, i % 2 == 1}) labels.push_back(static_cast<std::uint8_t>(label));
    }
    DataConfig config = archive({{"x", npy<float>({40, 3}, features)}, {"y", npy<float>({40, 2}, numbers)}});
    EXPECT_THAT(explain_data(config)->back(), MentionsInOrder("warning: column 2", "equals", "target", "leak?"));
    config = archive({{"x", npy<float>({40, 3}, features)}, {"y", npy<std::uint8_t>({40, 2}, labels)}});
    config.task = Task::multi_label;
    EXPECT_THAT(explain_data(config)->back(), MentionsInOrder("warning: column 1", "equals", "target", "leak?"));
}

TEST_F(Arrays, ClassesThatNoSampleTrainsAreTold) {
    const auto by_time = [this](const std::function<std::int64_t(int)>& class_of) {
        std::vector<std::int64_t> targets;
        for (int i = 0; i < 40; ++i) targets.push_back(class_of(i));
        DataConfig config =
            archive({{"x", npy<float>({40, 1}, counting<float>(40))}, {"y", npy<std::int64_t>({40}, targets)}});
        config.split = SplitKind::time;
        const auto lines = explain_data(config);
        return lines ? lines->back() : lines.error().message;
    };
    EXPECT_THAT(by_time([](int i) { return i >= 35 ? 7 : i % 2; }), Mentions("7", "class", "no"));
    EXPECT_THAT(by_time([](int i) { return i >= 35 ? 7 : 2; }),
                ::testing::AllOf(StartsWith("data.split: "), Mentions("32 samples", "\"2\"")));
}

TEST_F(Arrays, ColumnsAndTargetsAreStandardisedByTheTrainingRowsAlone) {
    // 40 rows; in order, the last 4 test and the 4 before them validate. These are wild.
    auto features = counting<double>(80, 0.5), targets = counting<double>(40, 3);
    for (std::size_t row = 32; row < 40; ++row) features[2 * row] = targets[row] = 1e12;
    DataConfig config = archive({{"X", npy<double>({40, 2}, features)}, {"y", npy<double>({40, 1}, targets)}});
    config.split = SplitKind::time;
    const auto shape = describe_data(config);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->task, Task::regression);
    EXPECT_EQ(shape->test, 4);
    const LoadedArrays loaded = load_arrays(config);
    double sum[3] = {}, squares[3] = {};
    for (std::size_t row = 0; row < 32; ++row) {
        const double values[] = {loaded.features[0][row][0], loaded.features[0][row][1], loaded.targets[0][row][0]};
        for (std::size_t i = 0; i < 3; ++i) sum[i] += values[i], squares[i] += values[i] * values[i];
    }
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(sum[i] / 32, 0, 1e-6);
        EXPECT_NEAR(squares[i] / 32, 1, 1e-5);
    }
    EXPECT_DOUBLE_EQ(loaded.facts.target_mean, 46.5);
    EXPECT_DOUBLE_EQ(nlohmann::json::parse(loaded.facts.encoding)["columns"][1]["mean"].get<double>(), 16);
}

TEST_F(Arrays, SequencesAndChannelsHaveTheirShapes) {
    const auto sample = [&](const std::string& features, std::int64_t rows) {
        const auto shape = describe_data(archive(
            {{"x", features}, {"y", npy<float>({rows, 2}, counting<float>(static_cast<std::size_t>(2 * rows)))}}));
        EXPECT_TRUE(shape) << shape.error().message;
        EXPECT_EQ(shape->outputs, 2);
        return shape->sample;
    };
    EXPECT_EQ(sample(npy<float>({4, 5, 2}, counting<float>(40)), 4), SampleShape(SequenceShape{5, 2}));
    EXPECT_EQ(sample(npy<float>({4, 3, 2, 3}, counting<float>(72)), 4), SampleShape(ImageShape{3, 2, 3}));
    EXPECT_EQ(sample(npy<std::int16_t>({4}, {1, 2, 3, 4}), 4), SampleShape(VectorShape{1}));
}

TEST_F(Arrays, SequencesMayHaveSeveralLabels) {
    std::vector<std::int64_t> labels(36);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = i % 3 == 0 || i % 5 == 0 ? 1 : 0;
    const auto of = [&](const std::vector<std::int64_t>& values) {
        DataConfig config = archive({{"x", npy<float>({12, 4, 2}, counting<float>(96))}, {"y", npy({12, 3}, values)}});
        config.task = Task::multi_label;
        return config;
    };
    const DataConfig config = of(labels);
    const auto shape = describe_data(config);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->sample, SampleShape(SequenceShape{4, 2}));
    EXPECT_EQ(shape->outputs, 3);
    EXPECT_EQ(shape->target_columns(), 3);
    EXPECT_THAT(explain_data(config)->back(), HasSubstr("3 labels: 0 (12, 100 %), 1 (2, 16.7 %), 2 (3, 25 %)"));
    const LoadedArrays loaded = load_arrays(config);
    double sum = 0;
    for (const auto& part : loaded.targets)
        for (const auto& row : part) {
            EXPECT_EQ(row[0], 1);
            sum += row[1] + row[2];
        }
    EXPECT_EQ(sum, 5);
    labels[7] = 2;
    EXPECT_THAT(error(of(labels)), Mentions("[2, 1] is 2:", "task: multi-label"));
    DataConfig none = of(labels);
    none.task.reset();
    EXPECT_THAT(error(none), HasSubstr("task: multi-label"));
}

TEST_F(Arrays, FilesOfAFolderOrTwoFilesAreReadAsWell) {
    const std::string x = npy<float>({20, 2}, counting<float>(40)),
                      y = npy<std::int64_t>(
                          {20}, std::vector<std::int64_t>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1});
    DataConfig config;
    config.format = "npy";
    config.path = std::filesystem::path(write("set/x.npy", x)).parent_path();
    EXPECT_THAT(error(config), HasSubstr("arrays"));
    EXPECT_THAT(error(config), Mentions("data.inputs", "data.labels"));
    const std::string labels = write("set/y.npy", y);
    EXPECT_EQ(error(config), "");
    config.path += "/x.npy";
    EXPECT_THAT(error(config), StartsWith("data.labels: needed, as "));
    config.labels = labels;
    EXPECT_EQ(error(config), "");
    EXPECT_EQ(describe_data(config)->outputs, 2);
    config.labels = "no-such.npy";
    EXPECT_EQ(error(config), "data.labels: no file no-such.npy");
}

TEST_F(Arrays, NamesThatAreGivenCountOrTheErrorListsThoseThereAre) {
    const std::string x = npy<float>({20, 2}, counting<float>(40)), y = npy<float>({20}, counting<float>(20));
    DataConfig config = archive({{"a", x}, {"b", y}});
    EXPECT_THAT(error(config), HasSubstr("a, b"));
    config.inputs = "a";
    EXPECT_THAT(error(config), ::testing::AllOf(StartsWith("data.labels: "), HasSubstr("needed")));
    config.labels = "c";
    EXPECT_THAT(error(config), Mentions("array", "\"c\""));
    config.labels = "b";
    EXPECT_EQ(error(config), "");
}

TEST_F(Arrays, ErrorsNameTheFileTheArrayAndThePlace) {
    const std::string x = npy<float>({6, 2}, counting<float>(12)), y = npy<std::int32_t>({6}, {0, 1, 0, 1, 0, 1});
    const auto of = [&](const std::string& features, const std::string& targets) {
        return error(archive({{"x", features}, {"y", targets}}));
    };
    EXPECT_EQ(of(x, y), "");
    EXPECT_THAT(of(x, npy<std::int32_t>({5}, {0, 1, 0, 1, 0})), HasSubstr("x.npy has 6 samples (shape (6, 2)), and "));
    EXPECT_THAT(of(x.substr(0, x.size() - 3), y), Mentions(".npz: x.npy", "byte 115"));
    EXPECT_THAT(of(x + "tail", y), Mentions("x.npy", "(6, 2)"));
    EXPECT_THAT(of(x, y + "tail"), Mentions("y.npy", "(6,)"));
    auto broken = counting<float>(12);
    broken[7] = NAN;
    EXPECT_THAT(of(npy<float>({6, 2}, broken), y), Mentions("x.npy: [3, 1]", "nan"));
    EXPECT_THAT(of(npy<float>({6, 1, 2}, broken), y), Mentions("x.npy: [3, 0, 1]", "nan"));
    EXPECT_THAT(of(x, npy<float>({6}, {1, 2, 3, INFINITY, 5, 6})), Mentions("y.npy: [3]"));
    EXPECT_THAT(of(x, npy<float>({6}, {4, 4, 4, 4, 4, 4})), HasSubstr("nothing"));
    EXPECT_THAT(of(x, npy<double>({6}, {1, 2, 1e300, 4, 5, 6})), Mentions("y.npy: [2] is 1e+300", "1e100"));
    EXPECT_THAT(of(npy<double>({6}, {1, 2, 1e300, 4, 5, 6}), y), Mentions("x.npy: [2] is 1e+300", "1e+100"));
    EXPECT_THAT(of(x, npy<std::int32_t>({6}, {4, 4, 4, 4, 4, 4})), Mentions("4", "nothing"));
    EXPECT_THAT(of(x, npy<std::int32_t>({6, 2}, std::vector<std::int32_t>(12))),
                HasSubstr("for one-hot targets, save array.argmax(1)"));
    EXPECT_THAT(of(npy<float>({6, 3, 8, 9}, counting<float>(1296)), y), HasSubstr("save array.transpose(0, 2, 3, 1)"));
    EXPECT_THAT(of(npy<float>({2, 2}, counting<float>(4)), npy<std::int32_t>({2}, {0, 1})), Mentions("at least 3"));
    EXPECT_THAT(error(archive({{"x_train", x}, {"y_train", y}, {"x_test", x}})), Mentions("x_test", "y_test"));
    EXPECT_THAT(
        error(archive(
            {{"x_train", x}, {"y_train", y}, {"x_test", npy<double>({6, 2}, counting<double>(12))}, {"y_test", y}})),
        Mentions("float64", "(6, 2)"));
    EXPECT_THAT(
        error(archive(
            {{"x_train", x}, {"y_train", y}, {"x_test", x}, {"y_test", npy<std::int32_t>({6}, {0, 1, 7, 0, 0, 0})}})),
        Mentions("y_test.npy: [2]", "class 7"));
    DataConfig fractions = archive({{"x", x}, {"y", npy<float>({6}, {1, 2, 1.5, 1, 2, 1})}});
    fractions.task = Task::classification;
    EXPECT_THAT(error(fractions), HasSubstr("y.npy: [2] is 1.5"));
    fractions.path = write("text.npz", "this is no archive");
    EXPECT_THAT(error(fractions), Mentions("text.npz", "NPZ"));
}

TEST_F(Arrays, TwoArraysOfOneNameAreAnError) {
    const DataConfig given = archive({{"x", npy<float>({2}, {1, 2})}, {"y", npy<float>({2}, {1, 2})}, {"z", "later"}});
    std::ifstream stream(given.path, std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    for (std::size_t at = 0; (at = bytes.find("z.npy")) != std::string::npos;) bytes.replace(at, 1, "x");
    DataConfig changed = given;
    changed.path = write("twice.npz", bytes);
    EXPECT_THAT(error(changed), Mentions("two", "x"));
}

TEST_F(Arrays, ADamagedArchiveIsAnError) {
    const DataConfig config = archive(
        {{"x", npy<float>({100, 2}, counting<float>(200, 1.7))}, {"y", npy<float>({100}, counting<float>(100))}});
    std::fstream file(config.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(200);
    file.put('\x55').put('\xAA');
    file.close();
    EXPECT_THAT(error(config), HasSubstr("x.npy: "));
}

}  // namespace
}  // namespace hpo
