#include "orchestrator/script/syntax/steps.hpp"

#include <gmock/gmock.h>

#include <random>

#include "orchestrator/script/syntax/metric_names.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::script {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

StepReader reader_for(const StepNeeds& needs) { return {*make_output_reader({}), needs}; }
StepReader steps() { return reader_for({.objective = "val"}); }

/// Returns the values of the objective in all steps of an output.
std::vector<double> values(const StepNeeds& needs, const std::string& output) {
    StepReader reader = reader_for(needs);
    reader.feed(output);
    reader.finish();
    std::vector<double> found;
    while (const auto step = reader.take()) found.push_back(step->metrics.at(needs.objective));
    return found;
}

TEST(Steps, AStepHoldsTheMetricsBeforeItsObjectiveAndTheNewOnesAfterIt) {
    StepReader reader = steps();
    reader.feed("loss=1\nloss=2 lr=3\nval=4\n");
    EXPECT_FALSE(reader.take()) << "further metrics may follow";
    reader.feed("recall=9\nloss=5\rloss=6 val");
    EXPECT_FALSE(reader.take()) << "the line has not ended";
    reader.feed("=7");
    reader.finish();
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("loss", 2), Pair("lr", 3), Pair("recall", 9), Pair("val", 4)));
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("loss", 6), Pair("val", 7)));
    EXPECT_FALSE(reader.take());
}

TEST(Steps, MetricsAfterTheObjectiveBelongToItsStepUpToTheEnd) {
    StepReader reader = reader_for({.objective = "val_loss", .others = {"recall"}});
    for (int epoch = 1; epoch <= 4; ++epoch)
        reader.feed("epoch: " + std::to_string(epoch) + "\nval_loss: 0.5\nrecall: " + std::to_string(epoch) + "\n");
    EXPECT_EQ(reader.waiting(), 4u) << "after the first step it is known what follows the objective";
    for (int epoch = 1; epoch <= 4; ++epoch)
        EXPECT_THAT(reader.take()->metrics,
                    ElementsAre(Pair("epoch", epoch), Pair("recall", epoch), Pair("val_loss", 0.5)));
}

TEST(Steps, SeveralObjectivesInAnyOrderAreOfOneStep) {
    for (const char* output : {"RMSE: 1\nR2: 2\nRMSE: 3\nR2: 4\n", "R2: 2\nRMSE: 1\nR2: 4\nRMSE: 3\n"}) {
        StepReader reader = reader_for({.objective = "RMSE", .others = {"R2"}});
        reader.feed(output);
        reader.finish();
        EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("R2", 2), Pair("RMSE", 1)));
        EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("R2", 4), Pair("RMSE", 3)));
        EXPECT_FALSE(reader.take());
    }
}

TEST(Steps, OfSeveralRanksAreThoseOfRank0InWhicheverOrderTheyPrint) {
    const std::string zero1 = "[rank0]: epoch 1 val 5\n", one1 = "[rank1]: epoch 1 val 7\n";
    const std::string zero2 = "[rank0]: epoch 2 val 4\n", one2 = "[rank1]: epoch 2 val 1\n";
    for (const std::string& output : {zero1 + one1 + zero2 + one2, one1 + zero1 + one2 + zero2,
                                      one1 + zero1 + zero2 + one2, zero1 + one1 + one2 + zero2})
        EXPECT_THAT(values({.objective = "val"}, output), ElementsAre(5, 4)) << output;
    EXPECT_THAT(values({.objective = "val"}, "[rank0]: lr 1\n" + one1 + "[rank0]: lr 2\n" + one2), ElementsAre(7, 1))
        << "only the last rank prints the objective";
}

TEST(Steps, TheNextEpochBeginsAStepAlsoIfItsMetricsAreNew) {
    StepReader reader = steps();
    reader.feed("Epoch 1/3\nval=1\nEpoch 2/3\nextra=5\nval=2\nEpoch 3/3\n");
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("val", 1)));
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("extra", 5), Pair("val", 2)));
}

TEST(Steps, AreReadyAtOnceWhenTheirUsualMetricsAreThereAndTheFirstAfterAPause) {
    StepReader reader = steps();
    reader.feed("val=1\n", 0, 30);
    EXPECT_EQ(reader.waiting(), 0u);
    EXPECT_EQ(reader.waits_until(), 33) << "a tenth of the time of the step";
    reader.wait_over(32.9);
    EXPECT_EQ(reader.waiting(), 0u);
    reader.wait_over(33);
    EXPECT_EQ(reader.take()->at, 30) << "the time of the report does not depend on the pause";
    EXPECT_FALSE(reader.waits_until());
    reader.feed("val=2\n", 0, 60);
    EXPECT_EQ(reader.waiting(), 1u) << "nothing followed the objective of the first step";
}

TEST(Steps, WaitForNeededMetricsHoweverLongTheyTake) {
    StepReader reader = reader_for({.objective = "val", .others = {"recall"}});
    reader.feed("val=1\n", 0, 1);
    EXPECT_FALSE(reader.waits_until());
    reader.feed("recall=2\n", 0, 100);
    EXPECT_TRUE(reader.waits_until());
    reader.feed("val=3\n", 0, 101);
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("recall", 2), Pair("val", 1)));
    EXPECT_FALSE(reader.take());
    reader.feed("recall=4\n", 0, 200);
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("recall", 4), Pair("val", 3)));
}

TEST(Steps, ALateMetricIsNotTakenForTheNextStepAndIsWaitedForFromThenOn) {
    StepReader reader = steps();
    reader.feed("val=1\n", 0, 1);
    reader.wait_over(2);
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("val", 1)));
    reader.feed("recall=5\n", 0, 3);
    EXPECT_THAT(reader.closing(), ElementsAre(Pair("recall", 5)));
    reader.feed("val=2\n", 0, 4);
    EXPECT_EQ(reader.waiting(), 0u);
    reader.feed("recall=6\n", 0, 9);
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("recall", 6), Pair("val", 2)));
}

TEST(Steps, WhatFollowsTheLastStepIsClosing) {
    StepReader reader = steps();
    reader.feed("val=1\nval=2\ntest_acc=0.5\n");
    reader.finish();
    EXPECT_EQ(reader.waiting(), 2u);
    EXPECT_THAT(reader.closing(), ElementsAre(Pair("test_acc", 0.5)));
}

TEST(Steps, SeveralReportsMakeAStepWithTheValuesOfTheLast) {
    StepReader reader = reader_for({.objective = "val", .reports = 3});
    for (int i = 1; i <= 7; ++i) reader.feed("loss=" + std::to_string(i) + " val=" + std::to_string(10 * i) + "\n");
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("loss", 3), Pair("val", 30)));
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("loss", 6), Pair("val", 60)));
    reader.finish();
    EXPECT_FALSE(reader.take()) << "an incomplete step is dropped";
    EXPECT_THAT(values({.objective = "val", .reports = 100}, "val=1\nval=2"), ElementsAre(2))
        << "unless it is the only one";
}

TEST(Steps, LinesOfTwoStreamsAreNotMixed) {
    StepReader reader = steps();
    reader.feed("va", 0);
    reader.feed("warning: x\nval=", 1);
    reader.feed("l=1\n", 0);
    reader.feed("2");
    reader.feed("3", 1);
    reader.finish();
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("val", 1)));
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("val", 3)));
}

TEST(Objective, IsTheFirstOfItsNameInALineAndNeverTheBestOrAnotherData) {
    const StepNeeds val_loss{.objective = "val_loss"}, loss{.objective = "loss"};
    EXPECT_THAT(values(val_loss, "val_loss: 0.5 (best val_loss: 0.4)\nval_loss: 0.6 (best val_loss: 0.4)\n"),
                ElementsAre(0.5, 0.6));
    EXPECT_THAT(values(val_loss, "val loss = 0.5\nVal Loss: 0.25\nvalidation-loss -> 1\nloss/val=2\n"),
                ElementsAre(0.5));
    EXPECT_THAT(values(val_loss, "Validation loss: 0.5\n"), ElementsAre(0.5));
    EXPECT_THAT(values(val_loss, "Val Loss: 0.5\nVal Loss: 0.25\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(values(loss, "  train loss = 0.5\n  val loss = 0.25\n"), IsEmpty());
    EXPECT_THAT(values(loss, "best loss: 0.5\ncurrent loss: 0.25\nmy loss 3\n"), IsEmpty());
    EXPECT_THAT(values({.objective = "val_acc"}, "train Loss: .5 Acc: .9\nval Loss: .6 Acc: .7\n"), ElementsAre(0.7));
    EXPECT_THAT(values({.objective = "val_accuracy"}, "Val Acc: 0.7\n"), ElementsAre(0.7));
    EXPECT_THAT(values({.objective = "F1"}, "F1 score: 0.25"), ElementsAre(0.25));
    EXPECT_THAT(values({.objective = "RMSE"}, "RMSE (val): 0.25"), ElementsAre(0.25));
    EXPECT_THAT(values({.objective = "Average_loss"}, "Test set: Average loss: 0.25, Accuracy: 9/10 (90%)"),
                ElementsAre(0.25));
    EXPECT_THAT(values({.objective = "val_loss"}, "{\"val\": {\"loss\": \"0.25\"}}"), ElementsAre(0.25));
    EXPECT_THAT(values({.objective = "ep_rew_mean"}, "| rollout/ | |\n|    ep_rew_mean | 22.5 |\n"), ElementsAre(22.5));
    EXPECT_THAT(values({.objective = "损失"}, "第1轮 损失：0.25"), ElementsAre(0.25));
}

TEST(Objective, BelowTwoLabelsIsThatOfTheValidationDataWithAWarning) {
    StepReader reader = reader_for({.objective = "Acc"});
    for (const char* epoch : {"0.7", "0.8"})
        reader.feed("train Loss: .5 Acc: .9\nval Loss: .6 Acc: " + std::string(epoch) + "\n");
    reader.finish();
    EXPECT_THAT(reader.take()->metrics,
                ElementsAre(Pair("Acc", 0.7), Pair("train_Acc", 0.9), Pair("train_Loss", 0.5), Pair("val_Loss", 0.6)));
    EXPECT_EQ(reader.take()->metrics.at("Acc"), 0.8);
    EXPECT_FALSE(reader.take());
    EXPECT_THAT(reader.warning(), Mentions("'Acc'", "train_Acc and val_Acc: val_Acc"));
    EXPECT_EQ(reader.warning(), "");
}

TEST(Objective, BelowTwoLabelsInOneLineIsWarnedOfWithBothNames) {
    StepReader reader = reader_for({.objective = "auc"});
    reader.feed("[10]\ttraining's auc: 0.9\tvalid_1's auc: 0.81\n");
    reader.finish();
    EXPECT_EQ(reader.take()->metrics.at("auc"), 0.81);
    EXPECT_THAT(reader.warning(), Mentions("training_auc", "valid_1_auc is"));
}

TEST(Objective, BelowTheLabelOfTrainingDataIsNotTakenAfterAPauseOnly) {
    StepReader reader = reader_for({.objective = "Acc"});
    reader.feed("train Loss: .5 Acc: .9\n", 0, 1);
    EXPECT_FALSE(reader.waits_until());
}

TEST(Objective, KeepsToOneNameWhenABetterOneComesLater) {
    StepReader reader = reader_for({.objective = "val_loss"});
    reader.feed("Val Loss: 1\nVal Loss: 2\nval_loss: 7\nVal Loss: 3\n");
    reader.finish();
    std::vector<double> found;
    while (const auto step = reader.take()) found.push_back(step->metrics.at("val_loss"));
    EXPECT_THAT(found, ElementsAre(1, 2, 3));
    EXPECT_THAT(reader.warning(), Mentions("'val_loss'", "printed"));
}

TEST(Objective, ThatIsSpelledInTwoWaysIsToldAlsoIfOneIsTheStudys) {
    StepReader reader = reader_for({.objective = "F1_score"});
    reader.feed("F1 score: 1\nF1-score: 2\nF1-score: 3\n");
    reader.finish();
    EXPECT_THAT(reader.warning(), Mentions("'F1_score'", "F1-score"));
}

TEST(Bars, OverBatchesCountAtTheirEnd) {
    std::string output;
    for (int epoch = 0; epoch < 4; ++epoch) {
        for (int batch = 0; batch <= 3; ++batch)
            output += "\rEpoch " + std::to_string(epoch) + ":  50%|##  | " + std::to_string(batch) +
                      "/3 [00:01<00:01, 9.1it/s" + (epoch > 0 ? ", val_loss=0." + std::to_string(epoch) : "") + "]";
        output += "\n";
    }
    EXPECT_THAT(values({.objective = "val_loss", .epochs = 4}, output), ElementsAre(0.1, 0.2, 0.3));
}

TEST(Bars, OverEpochsCountOncePerEpochAlsoIfTheValueIsTheSame) {
    std::string output;
    const auto draw = [&](int done, int value) {
        output += "\r " + std::to_string(10 * done) + "%|#         | " + std::to_string(done) +
                  "/10 [00:00<00:01,  6.5it/s" + (value > 0 ? ", val_loss=" + std::to_string(value) : "") + "]";
    };
    draw(0, 0);
    std::vector<double> expected;
    for (int epoch = 0; epoch < 10; ++epoch) {
        const int value = 1 + epoch / 2;
        draw(epoch, value);
        draw(epoch + 1, value);
        expected.push_back(value);
    }
    EXPECT_EQ(values({.objective = "val_loss", .epochs = 10}, output + "\nsaved the model\n"), expected);
    EXPECT_EQ(values({.objective = "val_loss", .epochs = 10}, output), expected) << "without a newline";
}

TEST(Bars, OverEpochsWhoseValuesComeOnceAnEpochHasEndedCountOncePerEpoch) {
    for (const bool twice : {false, true}) {  // drawn with the value before as well: update(), then set_postfix()
        std::string output = "\r  0%|    | 0/4 [00:00<?, ?it/s]", before;
        int done = 0;
        for (const std::string value : {"0.9", "0.8", "0.8", "0.7"}) {
            const std::string bar = "\r 25%|#   | " + std::to_string(++done) + "/4 [00:01<00:03, 1.00s/it";
            if (twice) output += bar + before + "]";
            before = ", loss=" + value;
            output += bar + before + "]";
        }
        EXPECT_THAT(values({.objective = "loss", .epochs = 4}, output + "\n"), ElementsAre(0.9, 0.8, 0.8, 0.7))
            << twice;
    }
}

TEST(Bars, OverEpochsWithAnotherMetricFromTheStartCountOncePerEpoch) {
    std::string output = "\r  0%|    | 0/3 [00:00<?, ?it/s, lr=0.1]";
    int done = 0;
    for (const std::string value : {"0.9", "0.8", "0.7"})
        output += "\r 33%|#   | " + std::to_string(++done) + "/3 [00:01<00:02, 1.00it/s, lr=0.1, loss=" + value + "]";
    EXPECT_THAT(values({.objective = "loss", .epochs = 3}, output + "\n"), ElementsAre(0.9, 0.8, 0.7));
}

TEST(Bars, OfLightningCountWhenTheEpochInTheirTextAdvances) {
    std::string output = "\rEpoch 0:   0%|          | 0/2 [00:00<?, ?it/s]";
    for (int epoch = 0; epoch < 3; ++epoch) {
        const std::string before = epoch > 0 ? ", val_loss=" + std::to_string(epoch) : "";
        output +=
            "\rEpoch " + std::to_string(epoch) + ":  50%|#####     | 1/2 [00:00<00:00, 9it/s, v_num=0" + before + "]";
        output += "\rEpoch " + std::to_string(epoch) +
                  ": 100%|##########| 2/2 [00:00<00:00, 9it/s, v_num=0, val_loss=" + std::to_string(epoch + 1) + "]";
    }
    EXPECT_THAT(values({.objective = "val_loss", .epochs = 3}, output + "\n"), ElementsAre(1, 2, 3));
}

TEST(Bars, OfKerasCountAtTheNewline) {
    std::string output;
    for (int epoch = 1; epoch <= 2; ++epoch)
        output += "Epoch " + std::to_string(epoch) +
                  "/2\n 1/10 [==>...] - ETA: 1s - loss: 0.6\b\b\b\b\b\b\b 5/10 [=====>] - ETA: 0s - loss: 0.55\b\b\b"
                  "10/10 [====] - 1s 3ms/step - loss: 0.5 - val_loss: 0.25\n";
    EXPECT_THAT(values({.objective = "val_loss", .epochs = 2}, output), ElementsAre(0.25, 0.25));
    EXPECT_THAT(values({.objective = "loss", .epochs = 2}, output), ElementsAre(0.5, 0.5));
}

TEST(Bars, InTwoRowsAndWrittenOverByTextCountOncePerEpoch) {
    std::string output;
    for (int epoch = 0; epoch < 3; ++epoch) {
        const std::string outer = "\rEpoch " + std::to_string(epoch) +
                                  ": 10%|#  | 1/3 [00:01<00:01, val_loss=" + std::to_string(epoch + 1) + "]";
        output += outer;
        for (int batch = 0; batch < 3; ++batch)
            output += "\n\rbatches: 33%|###  | " + std::to_string(batch) + "/3 [00:01<00:01]\x1b[A";
        output += "\r                                                        \rlearning rate lowered\n" + outer;
    }
    EXPECT_THAT(values({.objective = "val_loss", .epochs = 3}, output + "\n\n"), ElementsAre(1, 2, 3));
}

TEST(Bars, PrintedByHandWithoutNewlinesCountOncePerEpoch) {
    EXPECT_THAT(values({.objective = "loss"}, "\repoch 1 loss 3\repoch 1 loss 2\repoch 2 loss 1\repoch 3 loss 1"),
                ElementsAre(2, 1, 1));
    EXPECT_THAT(values({.objective = "loss"}, "loss=3\rloss=2\rloss=1\n"), ElementsAre(1)) << "the last state counts";
}

TEST(Steps, ColoursAndTitlesAreRemovedAndCrlfEndsALine) {
    EXPECT_THAT(
        values(
            {.objective = "val_loss"},
            "val_loss: \x1b[32m0.25\x1b[0m\r\n\x1b]0;title 1\a\x1b[1mval_loss\x1b[0m: \x1b[1;31m0.5\x1b[0m\x1b[K\r\n"),
        ElementsAre(0.25, 0.5));
}

TEST(Steps, DoNotDependOnHowTheOutputIsSplit) {
    const std::string output =
        "Epoch 1\r\nval=\x1b[1m1\x1b[0m\r\nrecall=2\r\n\repoch 2: 1/3 val=3\repoch 3 val=4\r\n\x1b[2Aval=5\n";
    const auto read = [&](std::size_t piece) {
        StepReader reader = steps();
        for (std::size_t at = 0; at < output.size(); at += piece)
            reader.feed(std::string_view(output).substr(at, piece));
        reader.finish();
        std::vector<Metrics> found;
        while (auto step = reader.take()) found.push_back(step->metrics);
        return found;
    };
    const auto whole = read(output.size());
    EXPECT_GE(whole.size(), 3u);
    for (std::size_t piece = 1; piece < 9; ++piece) EXPECT_EQ(read(piece), whole) << piece;
}

TEST(Steps, TheLineMostLikeTheObjectiveIsKeptForTheErrorMessage) {
    StepReader reader = reader_for({.objective = "val_loss"});
    reader.feed("loading 3 files of data\nValidation: Loss ~ 0.5 now\ntraining with a loss of 3 is ok\n");
    EXPECT_EQ(reader.nearest(), "Validation: Loss ~ 0.5 now");
    reader.feed("Val-Loss is 3 here\nand then\n");
    EXPECT_EQ(reader.nearest(), "Val-Loss is 3 here");
}

TEST(Steps, AThousandMetricsInALineNeverLeaveOutTheNeededOnes) {
    std::string plain, json = "{";
    for (int i = 0; i < 1000; ++i) {
        plain += "some_metric_with_a_long_name_" + std::to_string(i) + "=0.123456 ";
        json += "\"some_metric_with_a_long_name_" + std::to_string(i) + "\": 0.123456, ";
    }
    for (const std::string& line :
         {plain + "val_loss=0.5 recall=0.25", json + "\"val_loss\": 0.5, \"recall\": 0.25}"}) {
        StepReader reader = reader_for({.objective = "val_loss", .others = {"recall"}});
        reader.feed(line + "\n");
        reader.finish();
        const auto step = reader.take();
        ASSERT_TRUE(step);
        EXPECT_EQ(step->metrics.at("val_loss"), 0.5);
        EXPECT_EQ(step->metrics.at("recall"), 0.25);
        EXPECT_LE(step->metrics.size(), max_metrics);
    }
}

TEST(Steps, TellOnceWhatIsNotKept) {
    std::string many = "loss=1";
    for (int i = 0; i < 300; ++i) many += " m" + std::to_string(i) + "=1";
    StepReader reader = reader_for({.objective = "loss"});
    reader.feed(many + "\n" + many + "\n");
    EXPECT_EQ(reader.warning(),
              "of more than 255 metrics of a step the first are kept, and 'm254' is not: print fewer");
    EXPECT_EQ(reader.warning(), "");
    reader.feed(std::string(max_text_line, 'x') + " loss=1\nloss=2\n");
    EXPECT_EQ(reader.warning(),
              "a line of its output has more than 128 KiB and is not read: print metrics on shorter lines");
    EXPECT_EQ(reader.warning(), "");
}

TEST(Steps, TellThatALineHasTooManyNames) {
    std::string many;
    for (int i = 0; i < 4100; ++i) many += "a" + std::to_string(i) + "=1 ";
    StepReader reader = reader_for({.objective = "loss"});
    reader.feed(many + "loss=1\n");
    reader.finish();
    EXPECT_THAT(reader.warning(), ::testing::HasSubstr("'a4096'"));
}

TEST(Steps, TellOnceThatANameIsTooLong) {
    const std::string name = "validation_" + std::string(60, 'x') + "_loss";
    for (const std::string& line : {name + ": 0.5\n", "{\"" + name + "\": 0.5}\n", "best " + name + " = 0.5\n"}) {
        StepReader reader = steps();
        reader.feed(line + line + "val=1\n");
        reader.finish();
        EXPECT_THAT(reader.warning(), Mentions("64", name)) << line;
        EXPECT_EQ(reader.warning(), "") << line;
    }
    StepReader prose = steps();
    prose.feed("The number of samples that were left out of the training data since they were empty: 5\nval=1\n");
    EXPECT_EQ(prose.warning(), "");
}

TEST(Steps, SettingsPrintedAtTheBeginAreNoMetrics) {
    StepReader reader = steps();
    reader.feed("lr = 0.1\nbatch size: 32, hidden units: 8\nval=1 lr=0.1\n");
    reader.finish();
    EXPECT_THAT(reader.take()->metrics, ElementsAre(Pair("lr", 0.1), Pair("val", 1)));
    StepReader wanted = reader_for({.objective = "lr"});
    wanted.feed("lr = 0.1\n");
    wanted.finish();
    EXPECT_TRUE(wanted.take()) << "it is the objective";
    StepReader scheduled = steps();
    scheduled.feed("epoch 1\nlr = 0.1\nval=1\n");
    scheduled.finish();
    EXPECT_THAT(scheduled.take()->metrics, ElementsAre(Pair("epoch", 1), Pair("lr", 0.1), Pair("val", 1)));
}

TEST(Objective, MayHaveTheNamesThatLibrariesPrint) {
    for (const char* name : {"Acc@1", "mAP@0.5:0.95", "metrics/mAP50-95(B)", "R^2", "损失", "Точность", "val_loss"})
        EXPECT_TRUE(is_metric_name(name)) << name;
    for (const char* name : {"", "val loss", "1st", "a,b", "a=b", "a\"b", "{x}", "a\nb"})
        EXPECT_FALSE(is_metric_name(name)) << name;
    EXPECT_THAT(values({.objective = "Acc@1"}, "Test:  Acc@1 93.25 Acc@5 99.1"), ElementsAre(93.25));
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
    reader.finish();
    Metrics last;
    while (auto step = reader.take()) last = step->metrics;
    EXPECT_LE(last.size(), max_metrics);
    EXPECT_EQ(last.at("val"), 1) << "the objective is kept even above the limit of metrics";
}

}  // namespace
}  // namespace hpo::script
