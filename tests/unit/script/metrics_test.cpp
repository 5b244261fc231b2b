#include "orchestrator/script/syntax/metrics.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/support/mentions.hpp"

namespace hpo::script {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Metrics metrics_of(const Reading& reading) {
    Metrics metrics;
    for (const NamedNumber& one : reading.metrics) metrics.emplace(one.name, one.number);
    return metrics;
}

Metrics metrics_in(const std::string& line, const std::vector<std::string>& patterns = {}) {
    auto reader = make_output_reader(patterns);
    EXPECT_TRUE(reader) << reader.error().message;
    Reading reading;
    if (reader) (*reader)->read(line, reading);
    return metrics_of(reading);
}

TEST(Output, NamesAndNumbersAreMetrics) {
    EXPECT_THAT(metrics_in("epoch 3: loss=0.3, val/acc = 9.1e-1; lr=+1 x=-2"),
                ElementsAre(Pair("epoch", 3), Pair("loss", 0.3), Pair("lr", 1), Pair("val/acc", 0.91), Pair("x", -2)));
    EXPECT_THAT(metrics_in("acc=93%"), ElementsAre(Pair("acc", 93)));
    EXPECT_THAT(metrics_in("time=3s name=resnet id=0x10 =5 a==1 3x=1 --"), IsEmpty());
    EXPECT_TRUE(std::isnan(metrics_in("loss=nan").at("loss")));
    EXPECT_TRUE(std::isinf(metrics_in("loss=-inf").at("loss")));
}

TEST(Output, TuneMetricLinesAreJsonWithPythonsSpellingOfNanAndInfinity) {
    EXPECT_THAT(metrics_in("[tune-metric]: {\"epoch\": 1, \"loss\": 0.3, \"name\": \"x\", \"done\": true}"),
                ElementsAre(Pair("epoch", 1), Pair("loss", 0.3)));
    const Metrics metrics = metrics_in("INFO [tune-metric]: {\"a\": NaN, \"b\": Infinity, \"c\": -Infinity, \"d\": 1}");
    EXPECT_TRUE(std::isnan(metrics.at("a")));
    EXPECT_EQ(metrics.at("b"), HUGE_VAL);
    EXPECT_EQ(metrics.at("c"), -HUGE_VAL);
    EXPECT_EQ(metrics.at("d"), 1);
    EXPECT_THAT(metrics_in("[tune-metric]: {\"loss\": "), IsEmpty());
}

TEST(Output, NamesWithColonsLinesOfNamesAndNumbersAndJsonAreMetrics) {
    EXPECT_THAT(metrics_in("val_loss: 0.5"), ElementsAre(Pair("val_loss", 0.5)));
    EXPECT_THAT(metrics_in("val_loss:9.3e-05"), ElementsAre(Pair("val_loss", 9.3e-05)));
    EXPECT_THAT(metrics_in("epoch 3 loss 0.5"), ElementsAre(Pair("epoch", 3), Pair("loss", 0.5)));
    EXPECT_THAT(metrics_in("{\"val_loss\": 0.5, \"step\": 3}"), ElementsAre(Pair("step", 3), Pair("val_loss", 0.5)));
    EXPECT_THAT(metrics_in("{'eval_loss': 0.5, 'epoch': 1}"), ElementsAre(Pair("epoch", 1), Pair("eval_loss", 0.5)));
    EXPECT_THAT(metrics_in("  5/5 - loss: 0.25 - acc: 90.5%"), ElementsAre(Pair("acc", 90.5), Pair("loss", 0.25)));
    EXPECT_TRUE(std::isnan(metrics_in("loss: nan").at("loss")));
    EXPECT_TRUE(std::isnan(metrics_in("epoch 3 loss nan").at("loss")));
}

TEST(Output, TheLossOfATrainingOrTestSetKeepsItsPrefix) {
    EXPECT_THAT(metrics_in("step 250: train loss 2.5, val loss 2.75"),
                ElementsAre(Pair("step", 250), Pair("train_loss", 2.5), Pair("val_loss", 2.75)));
    EXPECT_THAT(metrics_in("Test set: Average loss: 0.25, Accuracy: 9897/10000 (99%)"),
                ElementsAre(Pair("Test_Accuracy", 99), Pair("Test_Average_loss", 0.25)));
    EXPECT_THAT(metrics_in("Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.5"),
                ElementsAre(Pair("Epoch", 1), Pair("Train_Loss", 2.5)));
}

TEST(Output, ProseAndThingsThatOnlyStartLikeNumbersAreNotMetrics) {
    for (const char* line :
         {"Loaded 60000 samples in 3 files", "device cuda:0", "http://localhost:8080", "train.py:33", "time: 12:30:05",
          "took: 3s", "version: 1.2.3", "size: 1,234", "done: 3/10", "{broken: ", ":"})
        EXPECT_THAT(metrics_in(line), IsEmpty()) << line;
}

/// Returns the warning about a line that the pattern reads in part. Expects no metric, and the warning only once.
std::string warning(const std::string& line, const std::string& pattern) {
    auto reader = make_output_reader({pattern});
    Reading reading;
    (*reader)->read(line, reading);
    EXPECT_THAT(reading.metrics, IsEmpty()) << line;
    const std::string text = (*reader)->warning();
    (*reader)->read(line, reading);
    EXPECT_EQ((*reader)->warning(), "") << "the warning is given once";
    return text;
}

TEST(Output, ANumberThatAPatternReadsInPartIsDroppedWithOneWarningAndACure) {
    const std::string careless = "val_loss: (?<val_loss>[0-9.]+)";
    const std::string message = warning("epoch 3 val_loss: 9.3e-05 ok", careless);
    EXPECT_THAT(message, HasSubstr("reads '9.3' of '9.3e-05'"));
    EXPECT_THAT(message, HasSubstr("\"val_loss: (?<val_loss>{number})\""));
    EXPECT_THAT(message, Mentions("3 val_loss: 9.3e-05"));
    EXPECT_THAT(warning("val_loss: nan", careless), Mentions("match", "'nan'"));
    EXPECT_THAT(warning("val_loss: -0.5", careless), Mentions("'-0.5'"));
    EXPECT_THAT(warning("val_loss: 0.5.", careless), Mentions("'0.5.'"));
    EXPECT_THAT(metrics_in("val_loss: 0.5", {careless}), ElementsAre(Pair("val_loss", 0.5)));
    // A match that starts within a number is dropped as well. The last match of a line counts.
    const std::string loose = "(?<val_loss>[0-9.]+)";
    EXPECT_THAT(metrics_in("val_loss: 6.2e-03", {loose}), IsEmpty());
    EXPECT_THAT(warning("val_loss: -0.5", loose), HasSubstr("reads '0.5' of '-0.5'"));
    EXPECT_THAT(metrics_in("3-0.5", {loose}), ElementsAre(Pair("val_loss", 0.5)));
    EXPECT_THAT(metrics_in("12 345 of 0.25", {loose}), ElementsAre(Pair("val_loss", 0.25)));
    EXPECT_THAT(pattern_warning(careless), Mentions("9.3e-05, nan, -0.5"));
    EXPECT_EQ(pattern_warning("val_loss: (?<val_loss>{number})"), "");
    EXPECT_EQ(pattern_warning("val_loss: (?<val_loss>\\S+)"), "");
}

TEST(Output, ThePlaceholderNumberReadsEveryNumber) {
    const std::vector<std::string> patterns{"loss (?P<loss>{number})", "([a-z]+): ({number})s"};
    for (const auto& [text, number] :
         {std::pair{"9.3e-05", 9.3e-05}, std::pair{"-1.5", -1.5}, std::pair{"+2", 2.0}, std::pair{".5", 0.5},
          std::pair{"1E3", 1000.0}, std::pair{"-Infinity", -HUGE_VAL}})
        EXPECT_THAT(metrics_in("the loss " + std::string(text) + ", then", patterns), ElementsAre(Pair("loss", number)))
            << text;
    EXPECT_TRUE(std::isnan(metrics_in("loss NaN", patterns).at("loss")));
    EXPECT_THAT(metrics_in("time: 3.5s", patterns), ElementsAre(Pair("time", 3.5)));
    EXPECT_THAT(problem_of_pattern("loss {nmber}(?<loss>.)"), HasSubstr("'{nmber}'"));
    EXPECT_EQ(problem_of_pattern("a{2} \\{x} (?<loss>{number})"), "");
}

TEST(Output, GivesIsTrueIfAPatternCanYieldTheMetric) {
    EXPECT_TRUE(captures({}, "loss"));
    EXPECT_TRUE(captures({"x (?<acc>.)", "y (?P<loss>.)"}, "loss"));
    EXPECT_TRUE(captures({R"((\w+)=(\S+))"}, "loss"));
    EXPECT_FALSE(captures({"x (?<acc>.)", "y (?<val_loss>.)"}, "loss"));
}

TEST(Output, PatternsHaveNamedGroupsOrAGroupForTheNameAndOneForTheNumber) {
    EXPECT_THAT(metrics_in("loss: 0.5 - val_loss: 0.25", {R"(\bloss: (?<loss>\S+))", R"(val_loss: (?P<val_loss>\S+))"}),
                ElementsAre(Pair("loss", 0.5), Pair("val_loss", 0.25)));
    EXPECT_THAT(metrics_in("a: 1 - b: 2 - c: x", {R"((\w+): (\S+))"}), ElementsAre(Pair("a", 1), Pair("b", 2)));
}

TEST(Output, AnInvalidPatternIsRefused) {
    EXPECT_THAT(problem_of_pattern("(?<loss>"), HasSubstr("regular"));
    EXPECT_THAT(problem_of_pattern("loss: .*"), HasSubstr("needs a group"));
    EXPECT_THAT(problem_of_pattern(std::string(2000, 'a')), HasSubstr("1000 bytes"));
    EXPECT_FALSE(make_output_reader({"("}));
}

TEST(Output, AnExpensivePatternEndsInBoundedTime) {
    EXPECT_THAT(metrics_in(std::string(3000, 'a') + "!", {"(a*)*(a*)*b(?<x>1)"}), IsEmpty());
}

}  // namespace
}  // namespace hpo::script
