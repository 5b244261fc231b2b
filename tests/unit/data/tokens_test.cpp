#include "worker/data/tokens.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"
#include "worker/data/mapped_file.hpp"
#include "worker/data/split.hpp"

namespace hpo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Tokens : public ::testing::Test {
   protected:
    DataConfig config(const std::string& format, const std::string& bytes, std::int64_t window) {
        DataConfig config;
        config.format = format;
        config.path = write(std::to_string(++files_), bytes);
        config.window = window;
        return config;
    }
    std::string write(const std::string& name, const std::string& bytes) const {
        const auto path = std::filesystem::path(folder_.path()) / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    static std::string words(const std::vector<std::uint16_t>& tokens) {
        std::string bytes;
        for (const std::uint16_t token : tokens)
            bytes += {static_cast<char>(token & 0xFF), static_cast<char>(token >> 8)};
        return bytes;
    }
    static std::vector<std::uint16_t> numbered(std::uint16_t count) {
        std::vector<std::uint16_t> tokens(count);
        for (std::uint16_t i = 0; i < count; ++i) tokens[i] = i;
        return tokens;
    }
    static std::string header(std::uint32_t magic, std::uint32_t version, std::uint32_t count) {
        std::string bytes(1024, '\0');
        const std::uint32_t numbers[] = {magic, version, count};
        std::memcpy(bytes.data(), numbers, sizeof numbers);
        return bytes;
    }
    [[nodiscard]] static std::string error(const DataConfig& config) {
        const auto shape = describe_data(config);
        return shape ? "" : shape.error().message;
    }

    const testing::TemporaryFolder folder_;
    int files_ = 0;
};

struct LoadedTokens {
    std::vector<std::vector<std::int32_t>> inputs[2], targets[2];  ///< by Part
    DataFacts facts;
};

LoadedTokens load_windows_of_tokens(const DataConfig& config) {
    LoadedTokens loaded;
    const auto facts = load_data(config, 1, [&](const SampleBatch& batch) {
        const auto part = static_cast<std::size_t>(batch.part);
        EXPECT_EQ(batch.first, static_cast<std::int64_t>(loaded.inputs[part].size()));
        const auto window = static_cast<std::size_t>(config.window);
        EXPECT_EQ(batch.features.size(), static_cast<std::size_t>(batch.count) * window * 4);
        EXPECT_EQ(batch.targets.size(), batch.features.size());
        for (std::size_t i = 0; i < static_cast<std::size_t>(batch.count); ++i) {
            std::vector<float> inputs(window);
            std::memcpy(inputs.data(), &batch.features[i * window * 4], window * 4);
            loaded.inputs[part].emplace_back(inputs.begin(), inputs.end());
            std::memcpy(loaded.targets[part].emplace_back(window).data(), &batch.targets[i * window * 4], window * 4);
        }
    });
    if (!facts) throw std::runtime_error(facts.error().message);
    loaded.facts = *facts;
    return loaded;
}

TEST_F(Tokens, ATextIsItsDifferentBytesAndTheTargetIsTheNextOne) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += "cab\n";
    const DataConfig data = config("text", text, 4);
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->sample, SampleShape(TokenShape{4, 4}));
    EXPECT_EQ(shape->outputs, 4);
    EXPECT_TRUE(shape->target_per_step);
    EXPECT_TRUE(shape->standardised);
    EXPECT_EQ(shape->task, Task::classification);
    const LoadedTokens loaded = load_windows_of_tokens(data);
    // 80 bytes are 19 windows with a byte after them; the first one begins so that the last one ends with the text.
    EXPECT_THAT(loaded.inputs[0][0], ElementsAre(0, 3, 1, 2));
    EXPECT_THAT(loaded.targets[0][0], ElementsAre(3, 1, 2, 0));
    EXPECT_EQ(nlohmann::json::parse(loaded.facts.encoding)["bytes"], (std::vector<int>{'\n', 'a', 'b', 'c'}));
    EXPECT_THAT(*explain_data(data), ElementsAre(MentionsInOrder("80 bytes", "4 different", "has 4", "4 later"),
                                                 MentionsInOrder("13 windows", "validate (2)", "test (2)", "1 window"),
                                                 Mentions("target: ", "next", "byte")));
}

TEST_F(Tokens, NoTokenOfOnePartIsInAnother) {
    for (const std::int64_t stride : {0, 1, 3, 25}) {
        DataConfig data = config("tokens", words(numbered(500)), 10);
        data.stride = stride;
        SCOPED_TRACE(stride);
        const LoadedTokens loaded = load_windows_of_tokens(data);
        const auto shape = describe_data(data);
        const auto sizes = split_sizes(data, shape->train);
        const auto split = split_data(data, *shape, *sizes, 1);
        ASSERT_TRUE(split);
        std::int32_t last_trained = 0, first_validated = 500, last_validated = 0, first_tested = 500;
        for (const std::int32_t i : split->train)
            last_trained = std::max(last_trained, loaded.targets[0][static_cast<std::size_t>(i)].back());
        for (const std::int32_t i : split->validation) {
            first_validated = std::min(first_validated, loaded.inputs[0][static_cast<std::size_t>(i)].front());
            last_validated = std::max(last_validated, loaded.targets[0][static_cast<std::size_t>(i)].back());
        }
        for (const auto& inputs : loaded.inputs[1]) first_tested = std::min(first_tested, inputs.front());
        EXPECT_LT(last_trained, first_validated);
        EXPECT_LT(last_validated, first_tested);
        EXPECT_EQ(loaded.targets[1].back().back(), 499);
        EXPECT_EQ(shape->outputs, 500);
    }
}

TEST_F(Tokens, FilesOfLlmCHaveAHeader) {
    const DataConfig plain = config("tokens", words(numbered(90)), 8);
    const DataConfig with_header = config("tokens", header(20240520, 1, 90) + words(numbered(90)), 8);
    EXPECT_EQ(*describe_data(with_header), *describe_data(plain));
    EXPECT_EQ(load_windows_of_tokens(with_header).inputs[0], load_windows_of_tokens(plain).inputs[0]);
    EXPECT_THAT(error(config("tokens", header(20240520, 1, 91) + words(numbered(90)), 8)), Mentions("byte 8", "91"));
    EXPECT_THAT(error(config("tokens", header(20240520, 3, 90) + words(numbered(90)), 8)),
                HasSubstr("byte 4: version 3"));
    EXPECT_THAT(error(config("tokens", header(20240801, 7, 90) + words(numbered(90)), 8)),
                Mentions("tokens", "32 bits"));
}

TEST_F(Tokens, ATokenOutsideTheVocabularyIsRefusedAlsoIfTheFileGotItLater) {
    const DataConfig data = config("tokens", words(numbered(90)), 8);
    const auto samples = open_samples(data, 1);
    ASSERT_TRUE(samples) << samples.error().message;
    std::vector<float> features(8);
    std::vector<std::int32_t> targets(8);
    const auto read = [&] {
        (*samples)->read(Part::train, 0, std::as_writable_bytes(std::span(features)),
                         std::as_writable_bytes(std::span(targets)));
    };
    read();
    std::fstream(data.path, std::ios::binary | std::ios::in | std::ios::out) << std::string(180, '\xFF');
    EXPECT_THROW(read(), UnreadableFile);
}

TEST_F(Tokens, ValBinOfAFolderTests) {
    DataConfig data = config("tokens", "", 5);
    data.path = std::filesystem::path(write("set/train.bin", words(numbered(100)))).parent_path();
    EXPECT_THAT(error(data), HasSubstr("val.bin"));
    const std::string validation = write("set/val.bin", words(numbered(4)));
    EXPECT_THAT(error(data), Mentions("window", "after", "6 tokens", validation, "only 4"));
    write("set/val.bin", words({7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 120}));
    const auto shape = describe_data(data);
    ASSERT_TRUE(shape) << shape.error().message;
    EXPECT_EQ(shape->outputs, 121);
    EXPECT_EQ(shape->test, 2);
    EXPECT_EQ(shape->train, 18);  // one of 19 is left out between training and validation
    const LoadedTokens loaded = load_windows_of_tokens(data);
    EXPECT_THAT(loaded.inputs[1][1], ElementsAre(7, 7, 7, 7, 7));
    EXPECT_EQ(loaded.targets[0].back().back(), 99);
}

TEST_F(Tokens, ErrorsNameTheFileAndThePosition) {
    DataConfig data = config("tokens", words(numbered(100)), 5);
    data.vocabulary = 100;
    EXPECT_EQ(error(data), "");
    data.vocabulary = 60;
    EXPECT_EQ(error(data), "data.vocabulary: " + data.path +
                               " has the token 60 at position 60 (byte 120), and a vocabulary of 60 ends at 59");
    data.window = 100;
    data.vocabulary = 0;
    EXPECT_THAT(error(data), MentionsInOrder("data.window: ", "100 tokens", "1", "101 tokens", "100"));
    EXPECT_THAT(error(config("tokens", words(numbered(100)) + "x", 5)), Mentions("201 bytes"));
    EXPECT_THAT(error(config("tokens", "", 5)), HasSubstr("empty"));
    std::vector<std::uint16_t> halves(200);
    for (std::size_t i = 0; i < halves.size(); i += 2) halves[i] = static_cast<std::uint16_t>(i % 14);
    EXPECT_THAT(error(config("tokens", words(halves), 5)), Mentions("32 bits"));
    EXPECT_THAT(error(config("tokens", words(std::vector<std::uint16_t>(200, 7)), 5)), Mentions("tokens", "same"));
    EXPECT_THAT(error(config("text", std::string(100, 'a'), 5)), Mentions("tokens", "same"));
    EXPECT_THAT(error(config("text", "\x1f\x8b gzip", 2)), Mentions("gzip", "unpack"));
    data.task = Task::regression;
    EXPECT_THAT(error(data), ::testing::AllOf(StartsWith("task: "), HasSubstr("class")));
    data.task.reset();
    data.path = folder_.path();
    data.format = "text";
    EXPECT_THAT(error(data), HasSubstr(": not a file"));
}

}  // namespace
}  // namespace hpo
