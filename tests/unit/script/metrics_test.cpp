#include "orchestrator/script/metrics.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace hpo::script {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Metrics read(const std::string& line, const std::vector<std::string>& patterns = {}) {
    auto reader = make_output_reader(patterns);
    EXPECT_TRUE(reader) << reader.error().message;
    Metrics metrics;
    if (reader) (*reader)->read(line, metrics);
    return metrics;
}

TEST(Output, NamesAndNumbersAreMetrics) {
    EXPECT_THAT(read("epoch 3: loss=0.3, val/acc = 9.1e-1; lr=+1 x=-2"),
                ElementsAre(Pair("loss", 0.3), Pair("lr", 1), Pair("val/acc", 0.91), Pair("x", -2)));
    EXPECT_THAT(read("acc=93%"), ElementsAre(Pair("acc", 93)));
    EXPECT_THAT(read("time=3s name=resnet id=0x10 =5 a==1 3x=1 --"), IsEmpty());
    EXPECT_TRUE(std::isnan(read("loss=nan").at("loss")));
    EXPECT_TRUE(std::isinf(read("loss=-inf").at("loss")));
}

TEST(Output, TuneMetricLinesAreJsonAlsoAsPythonWritesNumbersThatAreNotFinite) {
    EXPECT_THAT(read("[tune-metric]: {\"epoch\": 1, \"loss\": 0.3, \"name\": \"x\", \"done\": true}"),
                ElementsAre(Pair("epoch", 1), Pair("loss", 0.3)));
    const Metrics metrics = read("INFO [tune-metric]: {\"a\": NaN, \"b\": Infinity, \"c\": -Infinity, \"d\": 1}");
    EXPECT_TRUE(std::isnan(metrics.at("a")));
    EXPECT_EQ(metrics.at("b"), HUGE_VAL);
    EXPECT_EQ(metrics.at("c"), -HUGE_VAL);
    EXPECT_EQ(metrics.at("d"), 1);
    EXPECT_THAT(read("[tune-metric]: {\"loss\": "), IsEmpty());
}

TEST(Output, PatternsNameTheirGroupsOrReadNameAndNumber) {
    EXPECT_THAT(read("loss: 0.5 - val_loss: 0.25", {R"(\bloss: (?<loss>\S+))", R"(val_loss: (?P<val_loss>\S+))"}),
                ElementsAre(Pair("loss", 0.5), Pair("val_loss", 0.25)));
    EXPECT_THAT(read("a: 1 - b: 2 - c: x", {R"((\w+): (\S+))"}), ElementsAre(Pair("a", 1), Pair("b", 2)));
}

TEST(Output, ABrokenPatternIsNamed) {
    EXPECT_THAT(problem_of_pattern("(?<loss>"), HasSubstr("no regular expression"));
    EXPECT_THAT(problem_of_pattern("loss: .*"), HasSubstr("needs a group"));
    EXPECT_THAT(problem_of_pattern(std::string(2000, 'a')), HasSubstr("1000 bytes"));
    EXPECT_FALSE(make_output_reader({"("}));
}

TEST(Output, ACostlyPatternEndsInBoundedTime) {
    EXPECT_THAT(read(std::string(10000, 'a') + "!", {"(a*)*(a*)*b(?<x>1)"}), IsEmpty());
}

TEST(File, RowsOfCsvAndLinesOfJson) {
    auto reader = make_file_reader();
    Metrics metrics;
    reader->read("epoch,\"loss\",val_loss\r", metrics);
    EXPECT_THAT(metrics, IsEmpty());
    reader->read("1,0.5,\r", metrics);
    EXPECT_THAT(metrics, ElementsAre(Pair("epoch", 1), Pair("loss", 0.5)));
    reader->read("1,,0.25,9\r", metrics);
    EXPECT_THAT(metrics, ElementsAre(Pair("epoch", 1), Pair("loss", 0.5), Pair("val_loss", 0.25)));
    reader->read("{\"val_loss\": 0.125}", metrics);
    EXPECT_EQ(metrics.at("val_loss"), 0.125);
}

StepReader steps() { return {*make_output_reader({}), "val"}; }

TEST(Steps, TheObjectiveEndsAStepAndWhatCameBeforeBelongsToIt) {
    StepReader reader = steps();
    reader.feed("loss=1\nloss=2 lr=3\nval=4\nloss=5\rloss=6 val");
    EXPECT_EQ(reader.waiting(), 1u);
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("loss", 2), Pair("lr", 3), Pair("val", 4)));
    EXPECT_FALSE(reader.take());
    reader.feed("=7");
    reader.finish();
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("loss", 6), Pair("val", 7)));
    reader.feed("loss=8\n");
    EXPECT_EQ(reader.seen(), "loss");
}

TEST(Steps, WhateverTheBytesMemoryIsBounded) {
    StepReader reader = steps();
    std::mt19937 random(1);
    std::string bytes;
    for (int i = 0; i < 300000; ++i) bytes += static_cast<char>(random() % 256);
    reader.feed(bytes);
    reader.feed(std::string(10 * most_line_bytes, '='));
    reader.feed("\n");
    for (int i = 0; i < 1000; ++i) reader.feed("m" + std::to_string(i) + "=1\n");
    reader.feed("val=1\n");
    Metrics last;
    while (auto step = reader.take()) last = *step;
    EXPECT_LE(last.size(), most_metrics + 1);
    EXPECT_EQ(last.at("val"), 1) << "the objective is never one too many";
}

}  // namespace
}  // namespace hpo::script
