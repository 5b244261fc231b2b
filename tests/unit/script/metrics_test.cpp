#include "orchestrator/script/syntax/steps.hpp"

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

TEST(Output, TuneMetricLinesAreJsonWithPythonsSpellingOfNanAndInfinity) {
    EXPECT_THAT(read("[tune-metric]: {\"epoch\": 1, \"loss\": 0.3, \"name\": \"x\", \"done\": true}"),
                ElementsAre(Pair("epoch", 1), Pair("loss", 0.3)));
    const Metrics metrics = read("INFO [tune-metric]: {\"a\": NaN, \"b\": Infinity, \"c\": -Infinity, \"d\": 1}");
    EXPECT_TRUE(std::isnan(metrics.at("a")));
    EXPECT_EQ(metrics.at("b"), HUGE_VAL);
    EXPECT_EQ(metrics.at("c"), -HUGE_VAL);
    EXPECT_EQ(metrics.at("d"), 1);
    EXPECT_THAT(read("[tune-metric]: {\"loss\": "), IsEmpty());
}

TEST(Output, NamesWithColonsLinesOfNamesAndNumbersAndJsonAreMetrics) {
    EXPECT_THAT(read("val_loss: 0.5"), ElementsAre(Pair("val_loss", 0.5)));
    EXPECT_THAT(read("val_loss:9.3e-05"), ElementsAre(Pair("val_loss", 9.3e-05)));
    EXPECT_THAT(read("epoch 3 loss 0.5"), ElementsAre(Pair("epoch", 3), Pair("loss", 0.5)));
    EXPECT_THAT(read("{\"val_loss\": 0.5, \"step\": 3}"), ElementsAre(Pair("step", 3), Pair("val_loss", 0.5)));
    EXPECT_THAT(read("{'eval_loss': 0.5, 'epoch': 1}"), ElementsAre(Pair("epoch", 1), Pair("eval_loss", 0.5)));
    EXPECT_THAT(read("  5/5 - loss: 0.25 - acc: 90.5%"), ElementsAre(Pair("acc", 90.5), Pair("loss", 0.25)));
    EXPECT_TRUE(std::isnan(read("loss: nan").at("loss")));
    EXPECT_TRUE(std::isnan(read("epoch 3 loss nan").at("loss")));
}

TEST(Output, TheLossOfATrainingOrTestSetKeepsItsPrefix) {
    EXPECT_THAT(read("step 250: train loss 2.5, val loss 2.75"),
                ElementsAre(Pair("step", 250), Pair("train_loss", 2.5), Pair("val_loss", 2.75)));
    EXPECT_THAT(read("Test set: Average loss: 0.25, Accuracy: 9897/10000 (99%)"),
                ElementsAre(Pair("Average_loss", 0.25)));
    EXPECT_THAT(read("Train Epoch: 1 [0/60000 (0%)]\tLoss: 2.5"),
                ElementsAre(Pair("Loss", 2.5), Pair("Train_Epoch", 1)));
}

TEST(Output, ProseAndThingsThatOnlyStartLikeNumbersAreNotMetrics) {
    for (const char* line :
         {"Loaded 60000 samples in 3 files", "device cuda:0", "http://localhost:8080", "train.py:33", "time: 12:30:05",
          "took: 3s", "version: 1.2.3", "size: 1,234", "done: 3/10", "{broken: ", ":"})
        EXPECT_THAT(read(line), IsEmpty()) << line;
}

/// Returns the warning about a line that the pattern reads in part. Expects no metric, and the warning only once.
std::string warning(const std::string& line, const std::string& pattern) {
    auto reader = make_output_reader({pattern});
    Metrics metrics;
    (*reader)->read(line, metrics);
    EXPECT_THAT(metrics, IsEmpty()) << line;
    const std::string text = (*reader)->warning();
    (*reader)->read(line, metrics);
    EXPECT_EQ((*reader)->warning(), "") << "the warning is given once";
    return text;
}

TEST(Output, ANumberThatAPatternReadsInPartIsDroppedWithOneWarningAndACure) {
    const std::string careless = "val_loss: (?<val_loss>[0-9.]+)";
    const std::string message = warning("epoch 3 val_loss: 9.3e-05 ok", careless);
    EXPECT_THAT(message, HasSubstr("reads '9.3' of '9.3e-05'"));
    EXPECT_THAT(message, HasSubstr("\"val_loss: (?<val_loss>{number})\""));
    EXPECT_THAT(message, HasSubstr("The line: epoch 3 val_loss: 9.3e-05 ok"));
    EXPECT_THAT(warning("val_loss: nan", careless), HasSubstr("does not match 'nan'"));
    EXPECT_THAT(warning("val_loss: -0.5", careless), HasSubstr("does not match '-0.5'"));
    EXPECT_THAT(warning("val_loss: 0.5.", careless), HasSubstr("'0.5.', which is not a number"));
    EXPECT_THAT(read("val_loss: 0.5", {careless}), ElementsAre(Pair("val_loss", 0.5)));
    // A match that starts within a number is dropped as well. The last match of a line counts.
    const std::string loose = "(?<val_loss>[0-9.]+)";
    EXPECT_THAT(read("val_loss: 6.2e-03", {loose}), IsEmpty());
    EXPECT_THAT(warning("val_loss: -0.5", loose), HasSubstr("reads '0.5' of '-0.5'"));
    EXPECT_THAT(read("3-0.5", {loose}), ElementsAre(Pair("val_loss", 0.5)));
    EXPECT_THAT(read("12 345 of 0.25", {loose}), ElementsAre(Pair("val_loss", 0.25)));
    EXPECT_THAT(pattern_warning(careless), HasSubstr("does not read 9.3e-05, nan, -0.5"));
    EXPECT_EQ(pattern_warning("val_loss: (?<val_loss>{number})"), "");
    EXPECT_EQ(pattern_warning("val_loss: (?<val_loss>\\S+)"), "");
}

TEST(Output, ThePlaceholderNumberReadsEveryNumber) {
    const std::vector<std::string> patterns{"loss (?P<loss>{number})", "([a-z]+): ({number})s"};
    for (const auto& [text, number] :
         {std::pair{"9.3e-05", 9.3e-05}, std::pair{"-1.5", -1.5}, std::pair{"+2", 2.0}, std::pair{".5", 0.5},
          std::pair{"1E3", 1000.0}, std::pair{"-Infinity", -HUGE_VAL}})
        EXPECT_THAT(read("the loss " + std::string(text) + ", then", patterns), ElementsAre(Pair("loss", number)))
            << text;
    EXPECT_TRUE(std::isnan(read("loss NaN", patterns).at("loss")));
    EXPECT_THAT(read("time: 3.5s", patterns), ElementsAre(Pair("time", 3.5)));
    EXPECT_THAT(problem_of_pattern("loss {nmber}(?<loss>.)"), HasSubstr("'{nmber}', which has no meaning"));
    EXPECT_EQ(problem_of_pattern("a{2} \\{x} (?<loss>{number})"), "");
}

TEST(Output, GivesIsTrueIfAPatternCanYieldTheMetric) {
    EXPECT_TRUE(captures({}, "loss"));
    EXPECT_TRUE(captures({"x (?<acc>.)", "y (?P<loss>.)"}, "loss"));
    EXPECT_TRUE(captures({R"((\w+)=(\S+))"}, "loss"));
    EXPECT_FALSE(captures({"x (?<acc>.)", "y (?<val_loss>.)"}, "loss"));
}

TEST(Output, PatternsHaveNamedGroupsOrAGroupForTheNameAndOneForTheNumber) {
    EXPECT_THAT(read("loss: 0.5 - val_loss: 0.25", {R"(\bloss: (?<loss>\S+))", R"(val_loss: (?P<val_loss>\S+))"}),
                ElementsAre(Pair("loss", 0.5), Pair("val_loss", 0.25)));
    EXPECT_THAT(read("a: 1 - b: 2 - c: x", {R"((\w+): (\S+))"}), ElementsAre(Pair("a", 1), Pair("b", 2)));
}

TEST(Output, AnInvalidPatternIsRefused) {
    EXPECT_THAT(problem_of_pattern("(?<loss>"), HasSubstr("not a regular expression"));
    EXPECT_THAT(problem_of_pattern("loss: .*"), HasSubstr("needs a group"));
    EXPECT_THAT(problem_of_pattern(std::string(2000, 'a')), HasSubstr("1000 bytes"));
    EXPECT_FALSE(make_output_reader({"("}));
}

TEST(Output, AnExpensivePatternEndsInBoundedTime) {
    EXPECT_THAT(read(std::string(10000, 'a') + "!", {"(a*)*(a*)*b(?<x>1)"}), IsEmpty());
}

StepReader steps() { return {*make_output_reader({}), "val"}; }

TEST(Steps, TheObjectiveEndsAStepThatHoldsTheMetricsBeforeIt) {
    StepReader reader = steps();
    reader.feed("loss=1\nloss=2 lr=3\nval=4\nloss=5\rloss=6 val");
    EXPECT_EQ(reader.waiting(), 1u);
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("loss", 2), Pair("lr", 3), Pair("val", 4)));
    EXPECT_FALSE(reader.take());
    reader.feed("=7");
    reader.finish();
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("loss", 6), Pair("val", 7)));
    reader.feed("loss=8\n");
    EXPECT_THAT(reader.seen(), ElementsAre(Pair("loss", 8)));
}

TEST(Steps, SeveralReportsMakeAStepWithTheValuesOfTheLast) {
    StepReader reader(*make_output_reader({}), "val", 3);
    for (int i = 1; i <= 7; ++i) reader.feed("loss=" + std::to_string(i) + " val=" + std::to_string(10 * i) + "\n");
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("loss", 3), Pair("val", 30)));
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("loss", 6), Pair("val", 60)));
    reader.finish();
    EXPECT_FALSE(reader.take()) << "an incomplete step is dropped";
    StepReader few(*make_output_reader({}), "val", 100);
    few.feed("val=1\nval=2");
    few.finish();
    EXPECT_THAT(*few.take(), ElementsAre(Pair("val", 2))) << "unless it is the only one";
}

TEST(Steps, LinesOfTwoStreamsAreNotMixed) {
    StepReader reader = steps();
    reader.feed("va", 0);
    reader.feed("warning: x\nval=", 1);
    reader.feed("l=1\n", 0);
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("val", 1)));
    reader.feed("2");
    reader.feed("3", 1);
    reader.finish();
    EXPECT_THAT(*reader.take(), ElementsAre(Pair("val", 3)));
}

TEST(Steps, TheLineMostLikeTheObjectiveIsKeptForTheErrorMessage) {
    StepReader reader(*make_output_reader({}), "val_loss");
    reader.feed("loading 3 files of data\nValidation: Loss -> 0.5 now\ntraining with a loss of 3 is ok\n");
    EXPECT_EQ(reader.nearest(), "Validation: Loss -> 0.5 now");
    reader.feed("Val-Loss is 3 here\nand then\n");
    EXPECT_EQ(reader.nearest(), "Val-Loss is 3 here");
}

TEST(Steps, MemoryIsBoundedForArbitraryBytes) {
    StepReader reader = steps();
    std::mt19937 random(1);
    std::string bytes;
    for (int i = 0; i < 300000; ++i) bytes += static_cast<char>(random() % 256);
    reader.feed(bytes);
    reader.feed(std::string(10 * max_text_line, '='));
    reader.feed("\n");
    for (int i = 0; i < 1000; ++i) reader.feed("m" + std::to_string(i) + "=1\n");
    reader.feed("val=1\n");
    Metrics last;
    while (auto step = reader.take()) last = *step;
    EXPECT_LE(last.size(), max_metrics + 1);
    EXPECT_EQ(last.at("val"), 1) << "the objective is kept even above the limit of metrics";
}

}  // namespace
}  // namespace hpo::script
