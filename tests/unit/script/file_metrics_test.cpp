// Files of metrics as tools write them: tables, JSON, lines; and files that are written again from the start.
#include "orchestrator/script/syntax/file_metrics.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "orchestrator/script/syntax/metric_name.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::script {
namespace {

using std::string;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

/// A file whose versions are read in small pieces.
struct File {
    explicit File(string objective = "val_loss") : objective_(std::move(objective)), metrics(objective_) {}

    File& append(std::string_view text) {
        for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(3, text.size())))
            metrics.feed(text.substr(0, 3), record);
        return *this;
    }
    File& anew(std::string_view text) {
        metrics.restart();
        return append(text);
    }
    /// Returns the values of the objective so far.
    std::vector<double> values() const {
        std::vector<double> found;
        for (const Metrics& one : records)
            if (one.contains(objective_)) found.push_back(one.at(objective_));
        return found;
    }
    std::vector<double> end() {
        metrics.finish(record);
        return values();
    }

    string objective_;
    FileMetrics metrics;
    std::vector<Metrics> records;
    FileMetrics::Record record = [this](const Metrics& one, std::string_view) { records.push_back(one); };
};

std::vector<double> read(std::string_view text, const string& objective = "val_loss") {
    return File(objective).append(text).end();
}

string problem(std::string_view text, const string& objective = "val_loss") {
    File file(objective);
    file.append(text).end();
    return file.metrics.problem();
}

TEST(FileOfMetrics, RatiosOfALogAreOfBatchesWhereTheyAreNotThoseOfTheEpochs) {
    for (const auto& [epochs, value] : {std::pair{3, 0.5}, {2, 0.25}, {0, 0.25}}) {
        FileMetrics metrics("val_acc", epochs);
        std::vector<Metrics> records;
        metrics.feed("[1/2] val_acc: 0.25 (0.5)\n[2/2] val_acc: 0.25 (0.5)\n",
                     [&](const Metrics& one, std::string_view) { records.push_back(one); });
        ASSERT_FALSE(records.empty()) << epochs;
        EXPECT_EQ(records.front().at("val_acc"), value) << epochs;
    }
}

TEST(FileOfMetrics, QuotedCellsWithCommasDoNotShiftColumns) {
    EXPECT_THAT(read("epoch,model,loss,val_loss\n0,\"net, large\",9,0.5\n1,\"a \"\"b\"\", c\",8,0.25\n"),
                ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("\"epoch\",\"val_loss\"\r\n\"0\",\"0.5\"\r\n\"1\",\"2.5e-1\""), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("epoch,note,val_loss\n0,\"two\nlines, 7\",0.5\n"), ElementsAre(0.5));
}

TEST(FileOfMetrics, AnUnquotedCommaDoesNotShiftColumnsEither) {
    const string text = "epoch,model,loss,val_loss\n0,net,9,0.5\n1,net, large,8,0.25\n2,net,7,0.125\n";
    EXPECT_THAT(read(text), ElementsAre(0.5, 0.125));
    EXPECT_THAT(problem(text), Mentions("line 3 has 5", "4"));
}

TEST(FileOfMetrics, DelimitersAndDecimalCommasAreRecognised) {
    EXPECT_THAT(read("epoch;loss;val_loss\n0;1,5;0,25\n1;1,25;1,125\n"), ElementsAre(0.25, 1.125));
    EXPECT_THAT(read("epoch\tloss\tval_loss\n0\t9\t0.5\n1\t8\t0.25\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("epoch loss   val_loss\n    0    9        0.5\n    1    8     0.25 \n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("| epoch | val_loss |\n| 0 | 0.5 |\n| 1 | 0.25 |\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("epoch,val_loss\n0,\"0,5\"\n1,\"0,250\"\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("epoch,val_loss\n0,90.5%\n"), ElementsAre(90.5));
    // 1,234 may be more than a thousand.
    EXPECT_THAT(read("epoch,val_loss\n0,\"1,234\"\n"), IsEmpty());
    EXPECT_THAT(problem("epoch,val_loss\n0,\"1,234\"\n"), HasSubstr("line 2 has '1,234' as val_loss"));
}

TEST(FileOfMetrics, MarksCommentsAndNamesOfRowsAreNoColumns) {
    EXPECT_THAT(read("\xEF\xBB\xBFval_loss,epoch\n0.5,0\n"), ElementsAre(0.5));
    EXPECT_THAT(read("# run 7, seed 1\nepoch,val_loss\n# begins\n0,0.5\n# half\n1,0.25\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("# epoch val_loss\n0.0e+00 5.0e-01\n1.0e+00 2.5e-01\n"), ElementsAre(0.5, 0.25));  // np.savetxt
    EXPECT_THAT(read("\"loss\" \"val_loss\"\n\"1\" 9 0.5\n\"2\" 8 0.25\n"), ElementsAre(0.5, 0.25));    // write.table
    EXPECT_THAT(read(",loss,val_loss\n0,9,0.5\n1,8,0.25\n"), ElementsAre(0.5, 0.25));                   // pandas
    EXPECT_THAT(read("loss,val_loss,\n9,0.5,\n"), ElementsAre(0.5));
    EXPECT_THAT(read("val_loss\n0.5\n0.25\n"), ElementsAre(0.5, 0.25));
}

TEST(FileOfMetrics, NamesWithOtherCharactersAreThoseOfTheStandIns) {
    EXPECT_EQ(metric_name_of("Valid Loss"), "Valid_Loss");
    EXPECT_EQ(metric_name_of("Valid Acc."), "Valid_Acc.");
    EXPECT_EQ(metric_name_of("1st \xC3\xBC%"), "_1st___");
    EXPECT_EQ(metric_name_of(string(100, 'a')), string(64, 'a'));
    EXPECT_EQ(metric_name_of(""), "");
    EXPECT_THAT(read("Learning Rate\tTrain Loss\tValid Loss\n0.1\t9\t0.5\n", "Valid_Loss"), ElementsAre(0.5));
    EXPECT_THAT(read("epoch,Train Loss,Valid Loss\n0,9,0.5\n", "Valid_Loss"), ElementsAre(0.5));
    EXPECT_THAT(read("epoch,metrics/mAP50(B)\n0,0.5\n", "metrics/mAP50_B_"), ElementsAre(0.5));
    EXPECT_THAT(read("epoch,metrics/mAP50(B)\n0,0.5\n", "metrics/mAP50(B)"), ElementsAre(0.5));
}

TEST(FileOfMetrics, OneOfTwoColumnsThatBecomeTheSameNameIsNeverTakenForTheOther) {
    EXPECT_THAT(read("val loss,val_loss\n9,0.5\n"), ElementsAre(0.5)) << "one is written as the objective is";
    EXPECT_THAT(read("val loss,val-loss\n9,0.5\n", "val_loss"), ElementsAre(9)) << "a dash is kept";
    EXPECT_THAT(read("loss (a),loss [a]\n9,0.5\n", "loss__a_"), IsEmpty());
    EXPECT_THAT(problem("loss (a),loss [a]\n9,0.5\n", "loss__a_"), HasSubstr("'loss__a_'"));
    EXPECT_THAT(read("val_loss,val_loss\n9,0.5\n"), IsEmpty());
}

TEST(FileOfMetrics, RowsOfTrainingAndValidationAreSeparateRecords) {
    File file;
    file.append("epoch,step,train_loss,val_loss\n0,9,,0.5\n0,9,0.75,\n1,19,,0.25\n1,19,0.5,\n");
    EXPECT_THAT(file.values(), ElementsAre(0.5, 0.25));
    EXPECT_THAT(file.records.at(1), ElementsAre(Pair("epoch", 0), Pair("step", 9), Pair("train_loss", 0.75)));
    EXPECT_TRUE(std::isnan(read("val_loss,epoch\nnan,1\n").at(0)));
}

TEST(FileOfMetrics, ARowThatNamesColumnsIsANewHeader) {
    EXPECT_THAT(read("epoch,val_loss\n0,0.5\nepoch,loss,val_loss\n1,9,0.25\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("epoch,val_loss\n0,0.5\nepoch,val_loss\n1,0.25\n"), ElementsAre(0.5, 0.25));
}

TEST(FileOfMetrics, JsonIsReadInEveryLayout) {
    for (const char* text : {"{\"epoch\": 1, \"val_loss\": 0.5}", "{\n  \"epoch\": 1,\n  \"val_loss\": 0.5\n}\n",
                             "\xEF\xBB\xBF{\"val_loss\": \"0.5\"}", "[{\"val_loss\": 0.5}]",
                             "[\n  {\n    \"val_loss\": 0.5\n  }\n]", "{\"note\": \"a { [ \\\" b\", \"val_loss\": 0.5}",
                             "{\n\"a\": [\n{\"b\": 1},\n{\"b\": 2}\n],\n\"val_loss\": 0.5}"})
        EXPECT_THAT(read(text), ElementsAre(0.5)) << text;
    EXPECT_THAT(read("{\"val_loss\": 0.5}\n{\"val_loss\": 0.25}\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("{\n\"val_loss\": 0.5\n}\n{\n\"val_loss\": 0.25\n}\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("[{\"val_loss\": 0.5},\n{\"val_loss\": 0.25}"), ElementsAre(0.5, 0.25)) << "a list without an end";
    EXPECT_TRUE(std::isnan(read("{\"val_loss\": NaN}").at(0)));
    EXPECT_THAT(read("{\"val\": {\"loss\": 0.5}, \"train\": {\"loss\": 9}}", "val.loss"), ElementsAre(0.5));
    EXPECT_THAT(read("{\"val\": {\"loss\": 0.5}}", "loss"), IsEmpty());
    EXPECT_THAT(read("{\"Valid Loss\": 0.5}", "Valid_Loss"), ElementsAre(0.5));
}

TEST(FileOfMetrics, ACutLineOfJsonCostsNoOther) {
    for (const char* cut :
         {"{\"val_loss\": 0.1", "{\"val_lo", "{\"val_loss\": ", "{\"a\": 1,", "{\"a\": [1, 2", "x\": 3}"})
        EXPECT_THAT(read("{\"val_loss\": 0.5}\n" + string(cut) + "\n{\"val_loss\": 0.25}\n{\"val_loss\": 2}\n"),
                    ElementsAre(0.5, 0.25, 2))
            << cut;
}

TEST(FileOfMetrics, HistoriesInJsonHaveAStepForEachElement) {
    File keras;
    keras.append(R"({"loss": [9, 8], "val_loss": [0.5, 0.25], "lr": [1, 2, 3]})").end();
    EXPECT_THAT(keras.records, ElementsAre(ElementsAre(Pair("loss", 9), Pair("val_loss", 0.5)),
                                           ElementsAre(Pair("loss", 8), Pair("val_loss", 0.25))));
    EXPECT_THAT(read(R"({"val_loss": {"0": 0.5, "1": 0.25}, "loss": {"0": 9, "1": 8}})"), ElementsAre(0.5, 0.25));
    const string trainer =
        R"({"best_metric": 0.25, "log_history": [{"epoch": 1, "loss": 9}, {"epoch": 1, "eval_loss": 0.5},
                               {"epoch": 2, "eval_loss": 0.25}]})";
    EXPECT_THAT(read(trainer, "eval_loss"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read(trainer, "log_history.eval_loss"), ElementsAre(0.5, 0.25));
    const string two = R"({"train": [{"loss": 9}], "val": [{"loss": 0.5}]})";
    EXPECT_THAT(read(two, "loss"), IsEmpty());
    EXPECT_THAT(problem(two, "loss"), HasSubstr("set objective.metric to train.loss or val.loss"));
    EXPECT_THAT(read(two, "val.loss"), ElementsAre(0.5));
}

TEST(FileOfMetrics, LinesOfALogAreReadAsOutputIs) {
    EXPECT_THAT(read("[2024-05-01 10:00:00] starts\n[2024-05-01 10:00:01] epoch=1 val_loss=0.5\nval_loss: 0.25"),
                ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("Epoch 1, val_loss 0.5\nEpoch 2, val_loss 0.25\n"), ElementsAre(0.5, 0.25));
    EXPECT_THAT(read("eval_metrics:\nval_loss: 0.5\n"), ElementsAre(0.5));
}

TEST(FileOfMetrics, WhatCannotBeReadIsSaid) {
    EXPECT_THAT(problem(string("\xFF\xFE"
                               "e\0,\0v\0\n\0"
                               "1\0,\0"
                               "2\0\n\0",
                               18)),
                HasSubstr("UTF-16"));
    EXPECT_THAT(problem("\x1F\x8B\x08\x01\n\n"), HasSubstr("compressed"));
    EXPECT_THAT(problem(string("a\0b\nc\n", 6)), HasSubstr("zero"));
    EXPECT_EQ(problem(""), "is empty");
    EXPECT_THAT(problem("epoch,val_loss\n0,\n"), Mentions("'val_loss'", "number"));
    EXPECT_THAT(problem("epoch,val_loss\n0,1\n\"a\"b,2\n"), HasSubstr("line 3, column 1"));
}

constexpr const char* rows = "epoch,val_loss\n0,0.5\n1,0.25\n";

TEST(FileWrittenAnew, AFurtherColumnNeitherRepeatsStepsNorShiftsThem) {
    File file;
    file.append(rows).anew("epoch,loss,val_loss\n0,,0.5\n1,,0.25\n2,9,0.125\n");
    EXPECT_THAT(file.values(), ElementsAre(0.5, 0.25, 0.125));
    EXPECT_THAT(file.records.back(), ElementsAre(Pair("epoch", 2), Pair("loss", 9), Pair("val_loss", 0.125)));
}

TEST(FileWrittenAnew, AVersionThatWasReadInPartRepeatsNothing) {
    File file;
    file.append(rows).anew("epoch,val_loss\n0,0.5\n").anew("").anew("epoch,val_loss\n0,0.5\n1,0.25\n2,0.125\n");
    EXPECT_THAT(file.values(), ElementsAre(0.5, 0.25, 0.125));
}

TEST(FileWrittenAnew, WithTheLastRecordAloneEachIsAStep) {
    File json;
    json.append("{\"val_loss\": 0.5}")
        .anew("{\"val_loss\": 0.25}")
        .anew("{\"val_loss\": 0.25}")
        .anew("{\"val_loss\": 0.5}");
    EXPECT_THAT(json.values(), ElementsAre(0.5, 0.25, 0.5)) << "an equal record cannot be told from the last one";
    File numbered;
    numbered.append("{\"epoch\": 1, \"val_loss\": 0.5}").anew("{\"epoch\": 2, \"val_loss\": 0.5}");
    numbered.anew("{\"epoch\": 2, \"val_loss\": 0.5, \"test\": 9}").anew("{\"epoch\": 3, \"val_loss\": 0.25}");
    EXPECT_THAT(numbered.values(), ElementsAre(0.5, 0.5, 0.25));
    File row;
    row.append("val_loss,acc\n0.5,1\n").anew("val_loss,acc\n0.25,1\n");
    EXPECT_THAT(row.values(), ElementsAre(0.5, 0.25));
}

TEST(FileWrittenAnew, HistoriesAndTheirLastRowsCountOnce) {
    File history;
    history.append("{\"val_loss\": [0.5]}")
        .anew("{\"val_loss\": [0.5, 0.25]}")
        .anew("{\"val_loss\": [0.5, 0.25, 0.25]}");
    EXPECT_THAT(history.values(), ElementsAre(0.5, 0.25, 0.25));
    File last_rows;
    last_rows.append("val_loss,a\n1,0\n2,0\n3,0\n")
        .anew("val_loss,a\n2,0\n3,0\n4,0\n")
        .anew("val_loss,a\n3,0\n4,0\n5,0\n");
    EXPECT_THAT(last_rows.values(), ElementsAre(1, 2, 3, 4, 5));
    File amended;
    amended.append("val_loss,a\n1,0\n2,0\n").anew("val_loss,a\n1,0\n2.5,0\n3,0\n");
    EXPECT_THAT(amended.values(), ElementsAre(1, 2, 3));
    File begun_again;
    begun_again.append(rows).anew("epoch,val_loss\n0,0.75\n1,0.5\n2,0.125\n");
    EXPECT_THAT(begun_again.values(), ElementsAre(0.5, 0.25, 0.125)) << "epochs that were reported";
}

TEST(FileWrittenAnew, WhatIsThereBeforeTheTrialNamesColumnsOnly) {
    File file;
    file.append(rows);
    file.metrics.forget();
    file.records.clear();
    file.append("0,0.75\n");
    EXPECT_THAT(file.values(), ElementsAre(0.75));
    file.anew("epoch,val_loss\n0,0.75\n1,0.5\n");
    EXPECT_THAT(file.values(), ElementsAre(0.75, 0.5));
}

TEST(LargeParts, AreNamedInsteadOfDropped) {
    File lines;
    lines.append("val_loss=0.5\nval_loss=0.25\n");
    lines.metrics.feed(string(max_text_line, 'x') + " val_loss=0.125\n", lines.record);
    EXPECT_THAT(lines.values(), ElementsAre(0.5, 0.25));
    EXPECT_EQ(lines.metrics.problem(), "has a line of more than 128 KiB, which is not read");

    File json;
    json.append("{\"val_loss\": 0.5}\n");
    json.metrics.feed("{\"val_loss\": 1, \"text\": \"" + string(JsonValues::most_bytes, 'x') + "\"}\n", json.record);
    json.append("{\"val_loss\": 0.25}\n");
    EXPECT_EQ(json.metrics.problem(), "has a JSON value of more than 16384 KiB, which is not read");
}

}  // namespace
}  // namespace hpo::script
