// Outputs in which the objective is printed more often than it is reported: quotations, averages so far, several
// processes and splits.
#include "orchestrator/script/syntax/reports.hpp"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "orchestrator/script/syntax/steps.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::script {
namespace {

struct Found {
    std::vector<double> values;
    std::string warning;
    std::string refusal{};
};

Found read_output(const std::string& objective, const std::string& output,
                  const std::vector<std::string>& patterns = {}, bool killed = false, std::int64_t trial_epochs = 0) {
    StepReader reader(*make_output_reader(patterns, trial_epochs),
                      {.objective = objective, .epochs = trial_epochs, .by_patterns = !patterns.empty()});
    for (std::size_t begin = 0; begin < output.size();) {
        const auto end = std::min(output.find('\n', begin), output.size() - 1) + 1;
        reader.feed(output.substr(begin, end - begin), 0, static_cast<double>(begin));
        reader.wait_over(static_cast<double>(begin) + 1000);  // every line is followed by a long pause
        begin = end;
    }
    reader.finish(killed);
    Found found;
    while (const auto step = reader.take()) found.values.push_back(step->metrics.at(objective));
    for (std::string text; !(text = reader.warning()).empty();) found.warning += text;
    found.refusal = reader.refusal();
    return found;
}

const std::vector<double> wanted{0.9, 0.7, 0.8};

/// Returns three epochs: `before`, then `epoch` with # as its number, $ as the wanted value, & as the best so far.
std::string epochs(const std::string& epoch, const std::string& before = {}, const std::string& after = {}) {
    std::string all = before;
    const std::vector<std::string> values{"0.9", "0.7", "0.8"}, bests{"0.9", "0.7", "0.7"};
    for (std::size_t i = 0; i < values.size(); ++i)
        for (const char c : epoch)
            all += c == '#' ? std::to_string(i + 1) : c == '$' ? values[i] : c == '&' ? bests[i] : std::string(1, c);
    return all + after;
}

TEST(Reports, AQuotationBeforeTheFirstOneIsNoStep) {
    for (const std::string before :
         {"Loaded weights from init.pt (epoch 12, val_loss: 0.5)\n", "Target: val_loss=0.5\n",
          "Namespace(lr=0.1, val_loss=5.0)\n", "Before training: val_loss=2.5\n", "sanity check: val_loss=9.9\n"})
        EXPECT_EQ(read_output("val_loss", epochs("epoch # val_loss: $\n", before)).values, wanted) << before;
}

TEST(Reports, AQuotationOfANewBestIsNoStep) {
    for (const std::string epoch :
         {"epoch # val_loss: $\nNew best! val_loss: &\n", "New best! val_loss: &\nepoch # val_loss: $\n",
          "epoch # val_loss: $\nSaved checkpoint (val_loss &)\n",
          "epoch # val_loss: $\nBest so far: epoch 1 val_loss &\n"})
        EXPECT_EQ(read_output("val_loss", epochs(epoch)).values, wanted) << epoch;
}

TEST(Reports, TheBestAtTheEndIsNoStep) {
    for (const std::string after :
         {"Best: val_loss=0.7\n", "Best model: epoch 2, val_loss 0.7\n", "{'val_loss': 0.7, 'best_epoch': 2}\n",
          "wandb: val_loss 0.8\n", "Restored the weights of epoch 2: val_loss 0.7\n"})
        EXPECT_EQ(read_output("val_loss", epochs("epoch # val_loss: $\n", {}, after)).values, wanted) << after;
}

TEST(Reports, AnotherValueAtTheEndIsNoStepAndTold) {
    const Found found =
        read_output("accuracy", epochs("epoch # accuracy: $\n", {}, "Evaluating on the test set...\naccuracy: 0.75\n"));
    EXPECT_EQ(found.values, wanted);
    EXPECT_THAT(found.warning, ::testing::HasSubstr("accuracy: 0.75"));
}

TEST(Reports, TheSameByALoggerAndByPrintIsOneStep) {
    EXPECT_EQ(
        read_output("val_loss", epochs("2024-01-01 10:00:00 INFO epoch # val_loss: $\nepoch # val_loss: $\n")).values,
        wanted);
    EXPECT_EQ(read_output("val_loss", epochs("| epoch | val_loss |\n| # | $ |\nEpoch # done, val_loss=$\n")).values,
              wanted);
}

TEST(Reports, AStatusBeforeTheValueOfAnEpochIsNoQuotation) {
    const std::vector<double> all{0.5, 0.5, 0.75, 0.5};
    EXPECT_EQ(read_output("acc",
                          "epoch 1 | improved | acc: 0.5\nepoch 2 | no gain | acc: 0.5\n"
                          "epoch 3 | improved | acc: 0.75\nepoch 4 | no gain | acc: 0.5\n")
                  .values,
              all);
    EXPECT_EQ(read_output("acc",
                          "{\"event\": \"gain\", \"acc\": 0.5}\n{\"event\": \"loss\", \"acc\": 0.25}\n"
                          "{\"event\": \"gain\", \"acc\": 0.75}\n{\"event\": \"loss\", \"acc\": 0.5}\n")
                  .values,
              (std::vector{0.5, 0.25, 0.75, 0.5}));
}

TEST(Reports, QuotationsCountWhereNothingElseReports) {
    EXPECT_EQ(read_output("val_loss", epochs("best model so far: val_loss $\n")).values, wanted);
    EXPECT_EQ(read_output("val_loss", "Best: val_loss=0.7\n").values, std::vector{0.7});
}

TEST(Reports, OfAnAverageSoFarTheLastOfEachEpochCounts) {
    const std::string epoch =
        "Test: [1/2] Loss 0.3 (0.3) Acc@1 75.0 (99.0)\nTest: [2/2] Loss 0.3 (0.3) Acc@1 80.0 ($)\n";
    EXPECT_EQ(read_output("Acc@1", epochs(epoch)).values, wanted);
    EXPECT_EQ(
        read_output("Acc@1", epochs("Epoch: [#][1/2] Acc@1 50.0 (47.0)\n" + epoch + " * Acc@1 $ Acc@5 95.0\n")).values,
        wanted)
        << "the summary of an epoch reports it";
}

TEST(Reports, BracketsWithoutProgressMayHoldADeviation) {
    EXPECT_EQ(read_output("acc", epochs("acc $ (0.1)\n")).values, wanted);
    EXPECT_EQ(read_output("acc", epochs("acc 0.1 (avg: $)\n")).values, wanted);
}

TEST(Reports, ASplitInAFieldIsALabel) {
    for (const std::string epoch :
         {"{\"epoch\": #, \"phase\": \"train\", \"loss\": 1.5}\n{\"epoch\": #, \"phase\": \"val\", \"loss\": $}\n",
          "phase=train epoch=# loss=1.5\nphase=val epoch=# loss=$\n",
          "Epoch # Split: train, loss: 1.5\nEpoch # Split: valid, loss: $\n"}) {
        const Found found = read_output("loss", epochs(epoch));
        EXPECT_EQ(found.values, wanted) << epoch;
        EXPECT_FALSE(found.warning.empty()) << epoch;
        EXPECT_EQ(read_output("val_loss", epochs(epoch)).values, wanted) << epoch;
    }
}

TEST(Reports, AHeadingEndsWithTheNextLineOfTheKindBefore) {
    EXPECT_EQ(read_output("val_loss", epochs("iter # loss 1.5\n=== Validation ===\nloss $\n")).values, wanted);
}

TEST(Reports, OfOtherProcessesAreNoSteps) {
    for (const std::string epoch :
         {"rank=0 epoch=# loss=$\nrank=1 epoch=# loss=9.5\n", "[GPU1] epoch # loss 9.5\n[GPU0] epoch # loss $\n",
          "Rank 1: epoch # loss 9.5\nRank 0: epoch # loss $\n",
          "[rank: 1] epoch # loss 9.5\n[rank: 0] epoch # loss $\n",
          "{\"rank\": 1, \"epoch\": #, \"loss\": 9.5}\n{\"rank\": 0, \"epoch\": #, \"loss\": $}\n"})
        EXPECT_EQ(read_output("loss", epochs(epoch)).values, wanted) << epoch;
    EXPECT_THAT(read_output("loss", epochs("node01: epoch # loss $\nnode02: epoch # loss 9.5\n")).warning,
                ::testing::HasSubstr("several"));
}

TEST(Reports, ALineWithTheObjectiveTwiceIsTold) {
    for (const std::string epoch : {"epoch # [best: loss=&] loss=$\n", "epoch # loss: $ 0.1 0.2\n",
                                    "epoch # f1, loss: $, 0.1, 0.2\n", "loss: # h 2 min\n"})
        EXPECT_THAT(read_output("loss", epochs(epoch)).warning, ::testing::HasSubstr("first")) << epoch;
}

TEST(Reports, AnotherUnitIsToldAndNotRead) {
    for (const auto& [output, value] :
         std::vector<std::pair<std::string, double>>{{"reward: 950\nreward: 1.2 K\n", 950},
                                                     {"time_used: 950 ms\ntime_used: 1.2 s\n", 950},
                                                     {"acc: 95%\nacc: 1.0\n", 95}}) {
        const Found found = read_output(output.substr(0, output.find(':')), output);
        EXPECT_EQ(found.values, std::vector{value}) << output;
        EXPECT_THAT(found.warning, ::testing::HasSubstr("unit")) << output;
    }
}

TEST(Reports, AnUnreadableNumberIsTold) {
    for (const std::string line : {"loss: <0.001", "loss: 1.2k", "loss: 0.9 -> 0.7", "loss: 3/4x"})
        EXPECT_THAT(read_output("loss", "loss: 0.5\n" + line + "\n").warning, ::testing::HasSubstr(line));
    EXPECT_THAT(read_output("reward", "step 1 reward 950\nstep 2 reward 1.2k\n").warning,
                ::testing::HasSubstr("reward 1.2k"));
    for (const std::string line : {"loss is falling", "loss 3/10: done", "saved the best loss", "loss",
                                   "Saving model with loss 0.9 to best.pt", "loss 0.9 is better than 0.95"})
        EXPECT_EQ(read_output("loss", "loss 0.5\n" + line + "\n").warning, "") << line;
}

TEST(Reports, ABarBehindTheNameOfAColumnIsNoUnreadableNumber) {
    for (const std::string bar :
         {"100%|####| 4/4 [00:01<00:00]", " 50%|##  | 2/4", "100% 4/4 [00:01<00:00,  3.8it/s]"}) {
        const std::string table = "  Class   R  mAP@.5  mAP@.5:.95: " + bar + "\n    all 0.5    0.25        0.125\n";
        const Found found = read_output("mAP@.5:.95", table + table);
        EXPECT_EQ(found.values, (std::vector{0.125, 0.125})) << bar;
        EXPECT_EQ(found.warning, "") << bar;
    }
    EXPECT_THAT(read_output("loss", "loss: 0.5\nloss: 12%x\n").warning, ::testing::HasSubstr("loss: 12%x"));
}

TEST(Reports, ALineThatALoggerPrintsTwiceAtOneTimeIsOneStep) {
    const auto values = [](const std::string& first, const std::string& second, const std::string& third) {
        return read_output("mAP", first + "\n" + second + "\n" + third + "\n").values;
    };
    const std::string line = "2019-07-13 07:28:46,538 INFO: mAP: 60.5%",
                      later = "2019-07-13 07:29:46,538 INFO: mAP: 60.5%";
    EXPECT_EQ(values(line, line, later), (std::vector{60.5, 60.5}));
    // What waits as a quotation, too, and no lines whose time is rounded to seconds.
    EXPECT_EQ(values("07:28:46.538 baseline: mAP: 0.5", "07:28:46.538 baseline: mAP: 0.5", ""), std::vector{0.5});
    EXPECT_EQ(values("07:28:46 mAP: 0.5", "07:28:46 mAP: 0.5", "07:28:47 mAP: 0.5"), (std::vector{0.5, 0.5, 0.5}));
}

TEST(Reports, AValueAgainWithMoreDigitsIsNoOther) {
    const auto warning = [](const std::string& first, const std::string& again) {
        return read_output("val_acc", "Epoch 0: [val_acc=" + first + "]Epoch 0: 'val_acc' reached " + again + "\n")
            .warning;
    };
    EXPECT_EQ(warning("0.639", "0.63918 (best 0.63918)"), "");
    for (const std::string other : {"0.63978", "0.64"}) EXPECT_NE(warning("0.639", other), "") << other;
    EXPECT_NE(warning("0.7", "0.68"), "");
}

TEST(Reports, ADeviationIsNoSecondNumber) {
    for (const std::string deviation : {"+-0.004", " +-0.004", " +- 0.004", " +/- 0.004"}) {
        const Found found = read_output("acc", "[test][20]acc: 0.75" + deviation + "\n");
        EXPECT_EQ(found.values, std::vector{0.75}) << deviation;
        EXPECT_EQ(found.warning, "") << deviation;
    }
}

TEST(Reports, NumbersAreReadAsTheyWereMeant) {
    const auto last = [](const std::string& number) {
        const Found found = read_output("loss", "loss: 0.5\nloss: " + number + "\n");
        return found.values.size() < 2 ? -1 : found.values.back();
    };
    EXPECT_EQ(last("1,020.25"), 1020.25);
    EXPECT_EQ(last("1,234,567.00"), 1234567);
    EXPECT_EQ(last("1'234.5"), 1234.5);
    EXPECT_EQ(last("1_234.5"), 1234.5);
    EXPECT_EQ(last("9.1D-01"), 0.91);
    for (const char* infinite : {"1e400", "1.#INF", "tensor(inf)", "float(inf)"})
        EXPECT_EQ(last(infinite), INFINITY) << infinite;
    for (const char* nan : {"-1.#IND", "1.#QNAN", "tensor(nan)", "np.float32(nan)"})
        EXPECT_TRUE(std::isnan(last(nan))) << nan;
    for (const char* part : {"9.1*10^-4", "9.1 e-4", "1 234.5", "1,234"}) EXPECT_EQ(last(part), -1) << part;
    EXPECT_TRUE(std::isnan(read_output("loss", "loss 0.5\nloss tensor(nan)\n").values.back()));
}

TEST(Reports, APatternReadsNoPartOfANumber) {
    for (const char* part :
         {"1,020.25", "1 500.75", "0,91", "9.1D-01", "9.1x10^-4", "1_234.5", "1'234.5", "1:02:03", "0x10"}) {
        const Found found = read_output("r", std::string("r: ") + part + "\n", {"r: (?<r>{number})"});
        EXPECT_TRUE(found.values.empty()) << part;
        EXPECT_THAT(found.warning, ::testing::HasSubstr("used")) << part;
    }
    EXPECT_EQ(read_output("r", "r: 950ms\nr: 1.2s\nr: 940ms\n", {"r: (?<r>{number})"}).values,
              (std::vector{950.0, 940.0}));
    EXPECT_EQ(read_output("r", "r: 3/4\n", {"r: (?<r>{number})/4"}).values, std::vector{3.0});
}

TEST(Reports, OfSeveralFoldsAreToldWithTheirFirstLines) {
    for (const std::string fold :
         {"fold # acc $\n", "Fold #/3: acc = $\n", "===== Fold # =====\nacc: $\n", "{\"fold\": #, \"acc\": $}\n"}) {
        const Found found = read_output("acc", epochs(fold, {}, "mean acc 0.8\n"));
        EXPECT_EQ(found.values, wanted) << fold;
        EXPECT_THAT(found.warning, ::testing::HasSubstr("folds")) << fold;
        EXPECT_EQ(read_output("mean_acc", epochs(fold, {}, "mean acc 0.8\n")).warning, "") << fold;
    }
    // Steps of an epoch may be several.
    EXPECT_THAT(read_output("acc", epochs("[fold=#] epoch 1 acc $\n")).warning, ::testing::HasSubstr("worker.step"));
    EXPECT_EQ(read_output("mean_acc", epochs("fold # acc 0.5, mean_acc $\n")).warning, "");
    for (const std::string one : {"fold 2 epoch # acc $\n", "10-fold, epoch # acc $\n"})
        EXPECT_EQ(read_output("acc", epochs(one)).warning, "") << one;
    EXPECT_EQ(read_output("acc", epochs("manifold # acc $\n")).warning.find("folds"), std::string::npos);
}

TEST(Reports, ThatAreObjectsWithoutAnyKnownWordAreNoSettings) {
    EXPECT_EQ(read_output("FID", epochs("{\"pass\": #, \"FID\": $}\n")).warning, "");
}

TEST(Reports, OfSeveralModelsAreTold) {
    const std::string models =
        "Fitting model: LightGBM ...\n\t0.84\t = Validation score   (accuracy)\n"
        "Fitting model: CatBoost ...\n\t0.85\t = Validation score   (accuracy)\n";
    EXPECT_THAT(read_output("Validation_score", models).warning, ::testing::HasSubstr("models"));
    EXPECT_THAT(read_output("acc", "Training SVC...\nacc: 0.9\nTraining RandomForest...\nacc: 0.8\n").warning,
                ::testing::HasSubstr("models"));
    for (const std::string line :
         {"Fitting model: CatBoost\n", "Training started\n", "Training Epoch #\n",
          "Training model on #/3 of the data\n", "Evaluating model: runs/#.pt\n", "Saving model: m#x\n"})
        EXPECT_EQ(read_output("acc", epochs(line + "acc: $\n")).warning, "") << line;
}

TEST(Reports, TheBestThatALineAnnouncesIsNoStep) {
    const std::string lightgbm = "Did not meet early stopping. Best iteration is:\n[3]\tvalid_0's auc: 0.8\n";
    EXPECT_EQ(read_output("auc", epochs("[#]\tvalid_0's auc: $\n", {}, lightgbm)).values, wanted);
    EXPECT_EQ(read_output("auc", epochs("auc: $\n", {}, "Best model:\nauc: 0.95\n")).values, wanted);
    EXPECT_EQ(read_output("auc", "Best model:\nauc: 0.95\n").values, std::vector{0.95});
    EXPECT_EQ(read_output("auc", epochs("Best so far:\nauc: $\n")).values, wanted);
}

TEST(Reports, OfMegatronAreThoseOfTheValidation) {
    const std::string train = "iteration 100/ 500 | lm loss: 1.0E+01 |\n";
    const std::string valid = "validation loss at iteration # | lm loss value: $ | lm loss PPL: 3.1 |\n";
    EXPECT_EQ(read_output("lm_loss_value", epochs(train + valid)).values, wanted);
}

TEST(Reports, AnAreaOfCocoWithoutObjectsIsTold) {
    const std::string line = " Average Precision  (AP) @[ IoU=0.50:0.95 | area= small | maxDets=100 ] = -1.000\n";
    const Found found = read_output("AP@0.50:0.95_small", line);
    EXPECT_TRUE(found.values.empty());
    EXPECT_THAT(found.warning, ::testing::HasSubstr("no number"));
}

TEST(Reports, ALineThatIsRepeatedWithItsNumberIsNoStep) {
    EXPECT_EQ(read_output("auc", epochs("[#]\tvalid_0's auc: $\n", {}, "Best iteration is:\n[2]\tvalid_0's auc: 0.7\n"))
                  .values,
              wanted);
    EXPECT_EQ(read_output("loss", "loss: 0.5\nloss: 0.5\nloss: 0.7\nloss: 0.5\n").values.size(), 4u)
        << "without a number each line is a report";
}

TEST(Reports, ALineOfANewEpochMayBeAsAnEarlierOne) {
    const std::string bar = "29/29 [====] - 0s 2ms/step - loss: 0.5 - val_loss: ";
    const std::string same = "Epoch 1/3\n" + bar + "0.9\nEpoch 2/3\n" + bar + "0.7\nEpoch 3/3\n" + bar + "0.9\n";
    EXPECT_THAT(read_output("val_loss", same).values, ::testing::ElementsAre(0.9, 0.7, 0.9));
}

TEST(Reports, ATestAfterAllEpochsIsToldAlsoWhereItsValueOccurred) {
    const std::string all = epochs("Epoch #/3, acc: $, f1: 0.4#\n", {}, "Saved as a.model\nacc: 0.7, f1: 0.1\n");
    EXPECT_THAT(read_output("acc", all).warning, ::testing::HasSubstr("acc: 0.7, f1: 0.1"));
    const std::string best = epochs("Epoch #/3, acc: $, f1: 0.4#\n", {}, "Best:\nacc: 0.7, f1: 0.42\n");
    EXPECT_EQ(read_output("acc", best).warning, "") << "it repeats the second epoch";
}

TEST(Reports, OfSeveralLabelsInFrontAreTold) {
    const Found found = read_output("F1", "B: precision: 0.5, F1: 0.1\nE: precision: 0.7, F1: 0.7\n");
    EXPECT_THAT(found.warning, ::testing::HasSubstr("('B' and 'E')"));
    EXPECT_EQ(read_output("loss", "INFO: loss: 0.5\nWARNING: loss: 0.4\n").warning, "");
    EXPECT_THAT(read_output("WER", "for #1\nWER: 59\nfor #2\nWER: 58\n").warning, ::testing::HasSubstr("'for #1'"));
}

TEST(Reports, ASummaryOfTheSameEpochInAnotherNotationIsNoStep) {
    EXPECT_EQ(read_output("eval_loss", epochs("{'eval_loss': $, 'epoch': #}\n", {},
                                              "***** eval metrics *****\n  epoch = 3\n  eval_loss = 0.7\n"))
                  .values,
              wanted);
}

TEST(Reports, ABarThatMayCountEpochsIsTold) {
    const Found found =
        read_output("val_loss",
                    " 33%|###   | 1/3 [val_loss=0.9]\r 66%|###   | 2/3 [val_loss=0.7]\r100%|###   | 3/3 "
                    "[val_loss=0.8]\n");
    EXPECT_EQ(found.values, std::vector{0.8});
    EXPECT_THAT(found.warning, ::testing::HasSubstr("budget.epochs"));
}

TEST(Reports, OfOneStepByTwoLoggersAreOneStep) {
    const std::string line = "step #: val_loss = $\n";
    EXPECT_EQ(read_output("val_loss", epochs("INFO:tensorflow:" + line + "INFO:tensorflow:" + line)).values, wanted);
    EXPECT_EQ(read_output("val_loss", epochs(line + "I0423 05:08:06 tf_logging.py:115] " + line)).values, wanted);
}

TEST(Reports, OfTheSameEpochsInTwoStreamsAreThoseOfTheFirst) {
    const std::string line = "epoch # val_loss: $\n";
    EXPECT_EQ(read_output("val_loss", epochs("2024-01-01 INFO " + line) + epochs(line)).values, wanted);
    EXPECT_EQ(read_output("val_loss", epochs(line) + "epoch 1 val_loss: 0.6\n").values.size(), 4);
    EXPECT_EQ(read_output("val_loss", epochs("10:00 " + line) + epochs("11:00 " + line)).values.size(),
              6);  // two folds
}

TEST(Reports, OfABarThatIsPrintedAnewTheFullOneCounts) {
    const std::string bars = "Epoch #/3\nstep 5/9 [====>....] - loss: 0.99\nstep 9/9 [=========] - loss: $\n";
    EXPECT_EQ(read_output("loss", epochs(bars)).values, wanted);
}

TEST(Reports, ANumberThatAKilledProgramHasNotFinishedIsNone) {
    for (const std::string torn : {"0.", "0.6", "6", "7.7e-0", "7.7e-"}) {
        const std::string output = epochs("epoch # val_loss: $\n", {}, "epoch 4 val_loss: " + torn);
        EXPECT_EQ(read_output("val_loss", output, {}, true).values, wanted) << torn;
    }
    const std::string all = epochs("epoch # val_loss: $\n", {}, "epoch 4 val_loss: 0.6. ");
    EXPECT_EQ(read_output("val_loss", all, {}, true).values.size(), 4);
}

TEST(Reports, TheLastNumberOfAProgramThatEndsByItselfIsComplete) {
    EXPECT_EQ(read_output("acc", "Epoch 1. acc: 0.9.\nEpoch 2. acc: 0.7.\nEpoch 3. acc: 0.8.").values, wanted);
    EXPECT_EQ(read_output("acc", "acc: 2.\nacc: 1.").values, (std::vector<double>{2, 1}));
}

TEST(Reports, OfTheSameStepsInAnotherEpochAreFurtherOnes) {
    const std::string same =
        "Epoch 1:\niter 500, loss 0.6931\nEpoch 2:\niter 500, loss 0.6931\nEpoch 3:\niter 500, loss 0.4\n";
    EXPECT_EQ(read_output("loss", same).values.size(), 3);
    const std::string small = "Epoch 1\nstep 100 mse 3e-7\nEpoch 2\nstep 100 mse 2e-7\nEpoch 3\nstep 100 mse 1e-7\n";
    EXPECT_EQ(read_output("mse", small).values.size(), 3);
}

TEST(Reports, OfProcessesWhoseNumbersEndAlikeAreEachCounted) {
    const std::string one = "1: epoch 1 acc: 0.5\n1: epoch 2 acc: 0.6\n",
                      other = "11: epoch 1 acc: 0.5\n11: epoch 2 acc: 0.6\n";
    EXPECT_EQ(read_output("acc", one + other).values.size(), 4);
    EXPECT_EQ(read_output("acc", "epoch nan acc: 0.5\nepoch 1 acc: 0.6\n").values.size(), 2);
}

TEST(Reports, AnObjectiveThatIsPrintedOfValidationDataAsWellIsTold) {
    const std::string losses = "epoch # loss 0.5 ppl 2\n| valid | epoch # | loss $ | ppl 3\n";
    EXPECT_NE(read_output("loss", epochs(losses)).warning.find("loss and valid_loss: loss is used"), std::string::npos);
    EXPECT_NE(read_output("acc", epochs("Epoch[#] acc=0.5\nEpoch[#] Validation-acc=$\n")).warning, "");
    EXPECT_EQ(read_output("loss", epochs("epoch #: loss=$ val_loss=0.5\n")).warning, "");
}

TEST(Reports, ANumberThatMayBeMeantInAnotherWayIsTold) {
    for (const std::string line :
         {"iter #: loss: 0.5 (0.6)", "iter #: loss: (0.5)", "iter #: loss: 1 in 1000",
          "iter #: correct: 9 out of 10, loss: 9 out of 10", "iter #: loss: 0.5 / 0.7", "iter #: loss: 0.9+0.1",
          "iter #: loss (x1e-3): $", "iter #: loss (\u00d710^-3) $", "iter # loss [1e-3] = $",
          "iter #: loss (x1000): $", "loss (min): 0.5, loss (now): 0.6", "iter # loss 0.5 0.6", "loss    144    96 %"})
        EXPECT_NE(read_output("loss", epochs(line + "\n")).warning, "") << line;
    EXPECT_EQ(read_output("loss", epochs("iter #: loss: 0.5 (5%)\n")).warning, "");
    EXPECT_EQ(read_output("loss", epochs("loss [1e-3]: $\n")).values, wanted);
    EXPECT_EQ(read_output("acc", epochs("loss (x1e-3): 5, acc: $\n")).warning, "");
    EXPECT_EQ(read_output("loss", epochs("iter # loss $ 300 img/s 2.5 ms\n")).warning, "");
    EXPECT_EQ(read_output("loss", epochs("iter # loss (x2): $\n", "loss: 1.5\n")).warning, "");
}

TEST(Reports, ANumberInBracketsBesideNoBatchesIsNoAverage) {
    for (const std::string before : {"Epoch #/3 ", "Epoch: [#/3] ", "Epoch: [#/3] acc: 0.6 (0.5) ",
                                     "Fold #/3: ", "Fold: #/3 ", "Episode #/3 ", "[#/3] ", "[#/3 epochs] ", "#/3 "})
        for (const std::string sign : {": ", " "})
            for (const std::string bracket : {"0.02", "-0.02"})
                for (const std::int64_t trial_epochs : {0, 3}) {
                    const std::string line = before + "val_acc" + sign + "$ (" + bracket + ")\n";
                    const Found found = read_output("val_acc", epochs(line), {}, false, trial_epochs);
                    EXPECT_EQ(found.values, wanted) << line << trial_epochs;
                    EXPECT_NE(found.warning, "") << line << trial_epochs;
                }
}

TEST(Reports, ANumberInBracketsBesideBatchesIsAnAverage) {
    for (const std::string before : {"Epoch: [#][10/50] ", "Epoch: [#/3][3/3] ", "Epoch #/3 [10/50] ",
                                     "Fold 1 [10/50] ", "Train: # [10/50] ", "Iter [10/50] ", "Epoch: [#] [3/3] "})
        EXPECT_EQ(read_output("val_acc", epochs(before + "val_acc: 0.6 ($)\n")).values, wanted) << before;
    EXPECT_EQ(read_output("val_acc", epochs("[10/50] val_acc: 0.6 ($)\n"), {}, false, 3).values, wanted);
    EXPECT_EQ(read_output("val_acc", epochs("Epoch #/3 [1/2] val_acc 0.1 (0.2)\nEpoch #/3 [2/2] val_acc 0.1 ($)\n"), {},
                          false, 3)
                  .values,
              wanted);
}

TEST(Reports, ANumberInBracketsBehindTwoRatiosIsAnAverage) {
    const std::string batches =
        "Train:    1/3 ( 33%) [   0/323 (  0%)]  Loss: 516.5 (517.)\nTrain:    1/3 ( 33%) [ 322/323 (100%)]  Loss: "
        "23.5 "
        "(54.5)\n";
    EXPECT_THAT(read_output("loss", batches).values, ::testing::ElementsAre(54.5));
    EXPECT_EQ(read_output("loss", batches).warning, "");
    EXPECT_EQ(read_output("acc", "04/16 17:57 [1/3] acc 0.5 (0.6)\n04/16 17:57 [2/3] acc 0.6 (0.7)\n").values.size(),
              2);
}

TEST(Reports, ANumberInBracketsBelowALineOfBatchesIsAnAverage) {
    const std::string coqui =
        "   --> STEP: 10/21 -- GLOBAL_STEP: 10\n     | > loss: 2.5  (2.75)\n     | > lr: 0.001\n     | > kl: 1.5  "
        "(1.75)\n\n"
        "   --> STEP: 20/21 -- GLOBAL_STEP: 20\n     | > loss: 2.25  (2.5)\n     | > kl: 1.25  (1.5)\n\n"
        "  --> EVAL PERFORMANCE\n     | > avg_loss: 1.5 (-0.25)\n";
    for (const auto& [name, value] : {std::pair{"loss", 2.5}, std::pair{"kl", 1.5}, std::pair{"avg_loss", 1.5}}) {
        const Found found = read_output(name, coqui);
        EXPECT_THAT(found.values, ::testing::ElementsAre(value)) << name;
        EXPECT_EQ(found.warning, "") << name;
    }
    EXPECT_THAT(read_output("acc", "Epoch 1/3\nacc: 0.9 (0.1)\n").values, ::testing::ElementsAre(0.9));
    EXPECT_THAT(read_output("acc", "step 5/9\n\nacc: 0.9 (0.1)\n").values, ::testing::ElementsAre(0.9));
}

TEST(Reports, AFullBarOfOtherBatchesIsNoStepOfItsEpoch) {
    const std::string fit =
        "Epoch 1/2\n9/9 [====] - loss: 0.9 - val_loss: 0.8\nEpoch 2/2\n9/9 [====] - loss: 0.7 - val_loss: 0.6\n";
    const Found found = read_output("loss", fit + "4/4 [====] - loss: 0.5\n");
    EXPECT_THAT(found.values, ::testing::ElementsAre(0.9, 0.7));
    EXPECT_THAT(found.warning, Mentions("4/4", "9/9"));
    EXPECT_THAT(read_output("loss", "4/4 - loss: 0.9\n5/5 - loss: 0.7\n").values, ::testing::ElementsAre(0.9, 0.7));
}

TEST(Reports, ThatEndWithAListOfNumbersAreRefused) {
    EXPECT_THAT(read_output("AP", "bev  AP:90.5, 87.5, 87.25\n").refusal, Mentions("'AP'", "worker.metrics.stdout"));
    EXPECT_EQ(read_output("AP", "AP: 90.5, 87.5, 87.25\nAP: 80.5\n").refusal, "");
    EXPECT_EQ(read_output("AP", "AP: 90.5, AR: 87.5\n").refusal, "");
}

TEST(Reports, AnAverageOfAnotherLineMakesNoneOfANumberInBrackets) {
    const std::string batch = "Epoch: [#][10/50]\tLoss 0.5 (0.6)\tval_acc 0.1 (0.1)\n";
    for (const std::string line : {"Acc: $ (-0.5)\n", "Acc: $ (0.02)\n", "Epoch: [#] Acc: $ (0.02)\n"}) {
        const Found found = read_output("Acc", epochs(batch + line));
        EXPECT_EQ(found.values, wanted) << line;
        EXPECT_NE(found.warning, "") << line;
    }
    for (const std::string line : {"val_acc: $ (0.02)\n", "Epoch: [#] done val_acc: $ (-0.02)\n"})
        EXPECT_EQ(read_output("val_acc", epochs(batch + line)).values, wanted) << line;
    for (const std::string line : {"Averaged stats: val_acc: 0.1 ($)\n", "Epoch: [#] val_acc: 0.1 ($)\n"})
        EXPECT_EQ(read_output("val_acc", epochs(batch + line)).values, wanted) << line;
}

TEST(Reports, RowsWithAMarkAreRows) {
    EXPECT_EQ(read_output("loss", "epoch  loss\n1      0.9 <- best\n2      0.7 <- best\n3      0.8\n").values, wanted);
}

TEST(Reports, RowsWithAMarkInACellOfItsOwnAreRows) {
    for (const std::string mark : {" *", " <", " best", ""})
        EXPECT_EQ(read_output("loss", "epoch loss\n1 0.9\n2 0.7" + mark + "\n3 0.8\n").values, wanted) << mark;
    EXPECT_EQ(read_output("loss", "| epoch | loss |\n| 1 | 0.9 |\n| 2 | **0.7** |\n| 3 | 0.8 |\n").values, wanted);
}

TEST(Reports, ARowWhoseNumberCannotBeReadIsTold) {
    for (const std::string cell : {"(0.7)", "1.2k", "<0.7", "0.7+0.1"})
        EXPECT_NE(read_output("loss", "| epoch | loss |\n| 1 | 0.9 |\n| 2 | " + cell + " |\n| 3 | 0.8 |\n").warning, "")
            << cell;
}

TEST(Reports, AFirstLineWhoseNumberCannotBeReadIsTold) {
    const Found found = read_output("loss", "loss: 1.2k\nloss: 0.5\n");
    EXPECT_NE(found.warning.find("no number that can be read"), std::string::npos) << found.warning;
    EXPECT_EQ(read_output("loss", "loss: cross entropy\nloss_scale: 2x\nloss: 0.5\n").warning, "");
    EXPECT_EQ(read_output("acc", "acc = 0.9\nacc 0to5 = 0.8\n").warning, "");
}

TEST(Reports, UnderTheVeryNameAfterAnotherSpellingAreToldWithThePatternForThem) {
    const Found found = read_output("Accuracy", "fold 1 accuracy = 0.9\nfold 2 accuracy = 0.8\nAccuracy: 0.85\n");
    EXPECT_NE(found.warning.find("accuracy is used, as it came first"), std::string::npos) << found.warning;
    EXPECT_NE(found.warning.find("[\"Accuracy[:= ]+(?<Accuracy>{number})\"]"), std::string::npos) << found.warning;
}

TEST(Reports, AVectorInATableIsTold) {
    const std::string table = "Step   Train loss    Test loss\n0      [0.5, 0.1]    [0.7, 0.2]\n";
    const Found found = read_output("test_loss", table + "\nBest model at step 0:\n  test loss: 0.9\n");
    EXPECT_NE(found.warning.find("no number that can be read"), std::string::npos) << found.warning;
}

TEST(Reports, OfUtf16WithReturnsAreRead) {
    std::string wide = "\xff\xfe";
    for (const char c : std::string("val_loss: 0.9\r\nval_loss: 0.7\r\nval_loss: 0.8\r\n")) wide += {c, '\0'};
    EXPECT_EQ(read_output("val_loss", wide).values, wanted);
}

TEST(Reports, LinesOfManyBracketsTakeBoundedTime) {
    const std::string brackets = "a" + std::string(100'000, ')');
    std::string tensors;
    while (tensors.size() < 100'000) tensors += "a=<";
    EXPECT_EQ(read_output("loss", brackets + "\n" + tensors + "\nloss: 0.5\n").values, std::vector<double>{0.5});
}

TEST(Reports, AnUnfinishedBarOverTheEpochsOfTheTrialHasAStepInEachLine) {
    const std::string bars =
        "[1/3] [==>....] val_acc: 0.9\n[2/3] [====>..] val_acc: 0.7\n[3/3] [======] val_acc: 0.8\n";
    EXPECT_EQ(read_output("val_acc", bars, {}, false, 3).values, wanted);
    EXPECT_EQ(read_output("val_acc", bars, {}, false, 5).values, std::vector{0.8});
    EXPECT_EQ(read_output("val_acc", "Epoch 1\n" + bars, {}, false, 3).values, std::vector{0.8})
        << "they count batches";
}

TEST(Reports, AnUnfinishedBarThatMayCountEpochsIsTold) {
    const std::string bars = "1/3 [==>....] val_acc: 0.9\n2/3 [====>..] val_acc: 0.7\n3/3 [======] val_acc: 0.8\n";
    EXPECT_NE(read_output("val_acc", bars).warning.find("budget.epochs"), std::string::npos);
    EXPECT_EQ(read_output("val_acc", bars, {}, false, 5).warning, "");
    EXPECT_EQ(read_output("val_acc", "Epoch 1/2\n" + bars + "Epoch 2/2\n" + bars).warning, "");
}

TEST(Reports, AListOfRecordsInALineIsNoReport) {
    const std::string list = "[{'epoch': 1, 'loss': 0.9}, {'epoch': 2, 'loss': 0.7}]\n";
    for (const std::string& line : {list, "log_history: " + list}) {
        const Found alone = read_output("loss", line);
        EXPECT_THAT(alone.values, ::testing::IsEmpty()) << line;
        EXPECT_THAT(alone.warning, Mentions("records", "loss", "line")) << line;
        const Found after = read_output("loss", epochs("{'epoch': #, 'loss': $}\n", {}, line));
        EXPECT_EQ(after.values, wanted) << line;
        EXPECT_EQ(after.warning, "") << line;
    }
    const Found of_phases =
        read_output("val_loss", "[{'split': 'train', 'loss': 0.5}, {'split': 'val', 'loss': 0.7}]\n");
    EXPECT_THAT(of_phases.values, ::testing::ElementsAre(0.7));
    EXPECT_THAT(read_output("loss", "{'loss': 0.5} {'loss': 0.7}\n").warning,
                Mentions("'loss'", "{'loss': 0.5} {'loss': 0.7}"));
    EXPECT_EQ(read_output("loss", "{'loss': 0.5} {'loss': 0.5}\n").warning, "");
}

TEST(Reports, RecordsOfAListInSeveralLinesAreStepsIfTheyCountThem) {
    const Found trials = read_output("loss",
                                     "[{'loss': 0.9, 'status': 'ok'},\n {'loss': 0.7, 'status': 'ok'},\n"
                                     " {'loss': 0.8, 'status': 'ok'}]\n");
    EXPECT_EQ(trials.values, wanted);
    EXPECT_THAT(trials.warning, Mentions("record 1", "record 2"));
    EXPECT_THAT(trials.refusal, Mentions("record 1", "record 3"));
    const Found lines = read_output("loss", "[\n  {\n    \"loss\": 0.9\n  },\n  {\n    \"loss\": 0.7\n  }\n]\n");
    EXPECT_THAT(lines.refusal, Mentions("record 2"));
    const Found history = read_output("loss",
                                      "[{'epoch': 1, 'loss': 0.9},\n {'epoch': 2, 'loss': 0.7},\n"
                                      " {'epoch': 3, 'loss': 0.8}]\n");
    EXPECT_EQ(history.values, wanted);
    EXPECT_EQ(history.warning + history.refusal, "");
    EXPECT_EQ(read_output("loss", "[{'a': 1},\n {'a': 2}]\nloss: 0.9\nloss: 0.7\nloss: 0.8\n").warning, "");
}

TEST(Reports, ThatEndWithOneOfSeveralFoldsAreRefused) {
    for (const std::string fold :
         {"fold # acc $\n", "Fold #/3: acc = $\n", "===== Fold # =====\nacc: $\n", "seed=# acc=$\n",
          "Repeat #:\nepoch 1 acc 0.5\nepoch 2 acc $\n", "{\"fold\": #, \"acc\": $}\n"}) {
        const Found found = read_output("acc", epochs(fold));
        EXPECT_THAT(found.refusal, ::testing::HasSubstr("objective.metric")) << fold;
        EXPECT_THAT(read_output("acc", epochs(fold), {"acc\\D+(?<acc>{number})"}).refusal, ::testing::IsEmpty())
            << fold;
        EXPECT_EQ(read_output("mean_acc", epochs(fold, {}, "mean acc 0.8\n")).refusal, "") << fold;
    }
    for (const std::string whole : {"fold # acc $\n", "===== Fold # =====\nacc: $\n"})
        EXPECT_EQ(read_output("acc", epochs(whole, {}, "acc: 0.85\n")).refusal, "") << whole;
    for (const std::string one :
         {"fold 2 epoch # acc $\n", "epoch # seed # acc $\n", "task # acc $\n", "Run: #, acc: $\n", "k=# acc $\n"})
        EXPECT_EQ(read_output("acc", epochs(one)).refusal, "") << one;
}

TEST(Reports, ThatEndWithOneOfSeveralRowsOfModelsAreRefused) {
    const std::string table = "     model  score\n1:    tree    0.5\n2:  forest    0.7\n";
    EXPECT_THAT(read_output("score", table).refusal, ::testing::HasSubstr("'tree ' and 'forest '"));
    EXPECT_EQ(read_output("score", table + "score: 0.7\n").refusal, read_output("score", table).refusal) << "again";
    EXPECT_EQ(read_output("score", table + "\nscore: 0.6\n").refusal, "");
    EXPECT_EQ(read_output("loss", "epoch,model,loss\n1,a,0.5\n2,b,0.25\n").refusal, "");
    EXPECT_EQ(read_output("loss", "kimg loss\n1 0.5\n2 0.25\n").refusal, "") << "counted under an unknown name";
    EXPECT_EQ(read_output("loss", "kimg,loss,best\n1,0.5,yes\n2,0.75,no\n").refusal, "");
}

TEST(Reports, UnderTheVeryNameAfterAnotherHasBeenUsedAreRefused) {
    const std::string rounds = "Train round 1: {'acc': 0.5}\nTrain round 2: {'acc': 0.7}\n";
    const Found found = read_output("acc", rounds + "Final Eval: {'acc': 0.6}\nacc: 0.6\n");
    EXPECT_THAT(found.refusal, ::testing::HasSubstr("[\"acc[:= ]+(?<acc>{number})\"]")) << found.refusal;
    EXPECT_THAT(found.refusal, ::testing::HasSubstr("Train_acc"));
    EXPECT_EQ(read_output("acc", rounds).refusal, "");
    EXPECT_EQ(read_output("acc", "acc: 0.6\n" + rounds).refusal, "");
}

TEST(FormOf, IsThatOfItsPrintStatement) {
    EXPECT_EQ(form_of("gen loss 0: 0.5", "gen_loss"), form_of("gen loss 10: 0.5", "gen_loss"));
    EXPECT_NE(form_of("New best val loss: 0.5", "val_loss"), form_of("val loss: 0.5", "val_loss"));
    EXPECT_EQ(form_of("2024-01-01 INFO Epoch 1/3 val_loss: 0.5 acc: 1", "val_loss"), "epoch:");
    EXPECT_EQ(form_of("Saved model-3.pt with val_loss 0.5", "val_loss"), "saved with");
    EXPECT_EQ(form_of("[1/5] [==>..] val_loss: 0.5", "val_loss"), form_of("[5/5] [=====] val_loss: 0.5", "val_loss"));
    EXPECT_TRUE(quotes("new best:"));
    EXPECT_FALSE(quotes("epoch"));
}

TEST(Reports, ALineAtTheEndOfAnEpochReportsItBesideLinesThatTellItsProgress) {
    const std::string told = "from here on the latter alone count";
    const auto expect = [&](const std::string& objective, const std::string& output,
                            const std::vector<double>& values) {
        const Found found = read_output(objective, output);
        EXPECT_EQ(found.values, values) << output;
        EXPECT_THAT(found.warning, ::testing::HasSubstr(told)) << output;
    };
    // fairseq
    expect("valid_loss",
           "| epoch 004 | valid on 'valid' subset  1000 / 1311 loss=3.25\n"
           "| epoch 004 | valid on 'valid' subset | valid loss 3.75 | valid ppl 12.94\n"
           "| epoch 005  1000 / 8223 loss=2.17 (3.20), wps=959\n"
           "| epoch 005 | valid on 'valid' subset  1000 / 1311 loss=2.75\n"
           "| epoch 005 | valid on 'valid' subset | valid loss 3.125 | valid ppl 8.78\n",
           {3.25, 3.75, 3.125});
    // NeuroNLP2
    expect("train_loss",
           "Epoch 1 (LSTM, learning rate=0.01)\ntrain: 100/468 loss: 2.5, acc: 50.91%, time left: 52.15s\n"
           "train: 468 loss: 1.5, acc: 68.21%, time: 72.15s\n"
           "Epoch 2 (LSTM, learning rate=0.01)\ntrain: 100/468 loss: 0.75, acc: 50.91%, time left: 52.15s\n"
           "train: 468 loss: 0.5, acc: 68.21%, time: 72.15s\n",
           {2.5, 1.5, 0.5});
    // PaddleClas
    expect("top1",
           "[Eval][Epoch 0][Iter: 0/157]top1: 1.0, top5: 1.0\n[Eval][Epoch 0][Iter: 20/157]top1: 0.75, top5: 1.0\n"
           "[Eval][Epoch 0][Avg]top1: 0.5, top5: 1.0\n[Eval][Epoch 1][Iter: 0/157]top1: 1.0, top5: 1.0\n"
           "[Eval][Epoch 1][Avg]top1: 0.625, top5: 1.0\n",
           {1.0, 0.75, 0.5, 0.625});
    expect("loss",
           "Epoch 1 Batch 0 Loss 5.5\nEpoch 1 Batch 100 Loss 2.5\nEpoch 1 Loss 1.5\n"
           "Epoch 2 Batch 0 Loss 1.25\nEpoch 2 Loss 1.125\n",
           {5.5, 2.5, 1.5, 1.125});
}

TEST(Reports, ALineBesideBarsOfWholeEpochsIsNoReportOfTheirs) {
    const Found found = read_output("loss",
                                    "Epoch 1/2\n9/9 - 1s - loss: 0.75\nThe mean over this epoch: loss 0.875\n"
                                    "Epoch 2/2\n9/9 - 1s - loss: 0.5\nThe mean over this epoch: loss 0.625\n");
    EXPECT_EQ(found.values, (std::vector{0.75, 0.5}));
    EXPECT_NE(found.warning, "");
}

TEST(Reports, RefusesTheValueOfOneRecordOfTheData) {
    const std::string kaldi = "%WER 12.5 [ 5 / 40, 2 ins, 1 del, 2 sub ]\n",
                      records = "1089-0000, %WER 0.00 [ 0 / 12 ]\n1089-0001, %WER 25.00 [ 3 / 12 ]\n";
    EXPECT_THAT(read_output("WER", kaldi + records).refusal, Mentions("1089-0000", "1089-0001"));
    EXPECT_EQ(read_output("WER", records + kaldi).refusal, "") << "the summary is last";
    EXPECT_EQ(read_output("loss", "2024-01-31, loss 0.5\n2024-02-01, loss 0.25\n").warning, "") << "dates";

    const std::string texts =
        "=== REF: one of the texts\n=== HYP: one of a text\nWER: 25%\n\n"
        "=== REF: the other one here\n=== HYP: other one here\nWER: 50%\n";
    EXPECT_THAT(read_output("WER", texts).refusal, Mentions("texts", "mean_acc"));
    const Found whole = read_output("WER", texts + "\n" + kaldi);
    EXPECT_EQ(whole.refusal, "");
    EXPECT_EQ(whole.values.back(), 12.5) << "the sign before the name is its unit";
    const std::string headings =
        "=== Status: all is well here ===\nWER: 25%\n=== Time: nobody knows that ===\nWER: 20%\n";
    EXPECT_EQ(read_output("WER", headings).refusal, "");
}

TEST(Reports, RefusesTheValueOfOneFoldOfASearch) {
    const std::string old =
                          "[CV] C=1 ....\n[CV] C=1 ...., score=0.5, total=   0.0s\n"
                          "[CV] C=1 ....\n[CV] C=1 ...., score=0.75, total=   0.0s\n",
                      counted =
                          "[CV 1/2] END C=1;, score=0.5 total time= 0.0s\n"
                          "[CV 2/2] END C=1;, score=0.75 total time= 0.0s\n";
    for (const std::string& folds : {old, counted}) {
        EXPECT_THAT(read_output("score", folds).refusal, Mentions("fold", "mean_acc")) << folds;
        EXPECT_EQ(read_output("score", folds + "score: 0.625\n").refusal, "") << folds;
    }
}

TEST(Reports, QuotesTheBarWhoseValuesCountAndNoBlankLine) {
    const Found found =
        read_output("f1", "{'f1': 0.5}\n 10%|#  | 1/9 f1=0.25\r 20%|#  | 2/9 f1=0.75\r   \nepoch\n{'f1': 0.625}\n");
    EXPECT_THAT(found.warning, ::testing::Not(::testing::HasSubstr("''"))) << found.warning;
}

}  // namespace
}  // namespace hpo::script
