// The proposals of hpo init: pure, from facts to the text of a study, which the reader of studies must accept.
#include <gmock/gmock.h>

#include "orchestrator/init/script_flags.hpp"
#include "orchestrator/init/study_for_data.hpp"
#include "orchestrator/init/study_for_script.hpp"
#include "orchestrator/study/study_file.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::init {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ColumnFacts column(std::string name, std::string kind, std::int64_t distinct) {
    ColumnFacts made{.name = std::move(name), .kind = std::move(kind), .distinct = distinct};
    made.whole = true;
    return made;
}

/// 5,000 rows with a number, a text and a target of two classes.
DataFacts table(std::int64_t rows = 5'000) {
    DataFacts facts{.format = "csv", .path = "my data.csv", .rows = rows};
    facts.columns = {column("age", "number", 70), column("city", "text", 4), column("left", "text", 2)};
    facts.targets = {"left"};
    facts.trees = true;
    facts.columns.back().values = {{"no", rows * 6 / 10}, {"yes", rows * 4 / 10}};
    return facts;
}

/// Reads the text as hpo check does.
Study accepted(const std::string& text) {
    const auto study = parse_study(text, "study.yaml", {}, {});
    if (!study) ADD_FAILURE() << study.error().message << text;
    return study ? *study : Study{};
}

FirstStudy made(const DataFacts& facts, bool as_series = false) {
    auto first = study_for_data(facts, as_series);
    if (!first) ADD_FAILURE() << first.error().message;
    return first ? *first : FirstStudy{};
}

std::string error_of(const DataFacts& facts) {
    const auto first = study_for_data(facts, false);
    return first ? "" : first.error().message;
}

const Dimension* find(const Study& study, const std::string& name) {
    for (const Dimension& dimension : study.space)
        if (dimension.name == name) return &dimension;
    return nullptr;
}

TEST(FirstStudy, ATableBecomesAStudyWithWhatWasFound) {
    const FirstStudy first = made(table());
    const Study study = accepted(first.text);
    EXPECT_EQ(study.name, "my-data");
    EXPECT_EQ(to_text(study.fixed.at("path")), "my data.csv");
    EXPECT_EQ(to_text(study.fixed.at("target")), "left");
    EXPECT_EQ(study.objective.metric, "val_accuracy");
    EXPECT_NE(find(study, "embedding_width"), nullptr) << "there is a column of texts";
    EXPECT_THAT(first.found, ElementsAre("my data.csv: 5000 rows, 3 columns",
                                         "target    left: 2 classes: no 3000 (60 %), yes 2000 (40 %)", "numbers   age",
                                         "texts     city (4 values)"));
    EXPECT_THAT(first.text, HasSubstr("# Written by hpo init. my data.csv: 5000 rows, 3 columns\n"));
    EXPECT_THAT(first.warnings, IsEmpty());
}

TEST(FirstStudy, ATableIsSearchedWithBoostedTreesAndAPerceptron) {
    const Study study = accepted(made(table()).text);
    EXPECT_EQ(find(study, "type")->choices, (std::vector<Value>{std::string("trees"), std::string("mlp")}));
    EXPECT_FALSE(study.fixed.contains("type"));
    for (const Dimension& dimension : study.space)
        EXPECT_EQ(dimension.when.empty(), dimension.name == "type") << dimension.name;
    const auto rounds = static_cast<std::int64_t>(number_or(study.fixed.at("rounds"), 0));
    EXPECT_NEAR(static_cast<double>(rounds * study.budget.epochs), 300, 100);

    DataFacts facts = table();
    facts.trees = false;
    const FirstStudy without = made(facts);
    EXPECT_EQ(to_text(accepted(without.text).fixed.at("type")), "mlp");
    EXPECT_THAT(without.warnings, ElementsAre(Mentions("libxgboost0")));
}

TEST(FirstStudy, SpaceAndBudgetFollowTheNumberOfRows) {
    const Study small = accepted(made(table(200)).text), middle = accepted(made(table(5'000)).text),
                large = accepted(made(table(500'000)).text);
    EXPECT_EQ(find(small, "batch_size"), nullptr) << "the default keeps the most updates";
    EXPECT_EQ(find(middle, "batch_size")->low, 32);
    EXPECT_EQ(find(large, "batch_size")->low, 256);
    EXPECT_LT(find(small, "width")->high, find(middle, "width")->high);
    EXPECT_LT(find(middle, "width")->high, find(large, "width")->high);
    EXPECT_GT(small.budget.epochs, middle.budget.epochs);
    EXPECT_GT(middle.budget.epochs, large.budget.epochs);
    EXPECT_EQ(number_or(small.fixed.at("folds"), 0), 5) << "few rows are validated in folds";
    EXPECT_FALSE(middle.fixed.contains("folds"));
}

TEST(FirstStudy, ATargetOfManyNumbersIsARegression) {
    DataFacts facts = table();
    facts.columns.back() = column("price", "number", 1001);
    facts.targets = {"price"};
    const Study study = accepted(made(facts).text);
    EXPECT_EQ(to_text(study.fixed.at("task")), "regression");
    EXPECT_EQ(study.objective.metric, "val_r2");
}

TEST(FirstStudy, SeveralTargetsOfNumbersAreARegression) {
    DataFacts facts = table();
    facts.columns.insert(facts.columns.end(), {column("wide, in cm", "number", 900), column("deep", "number", 2)});
    facts.columns.back().values = {{"0", 2'000}, {"2", 3'000}};
    facts.targets = {"deep", "wide, in cm"};
    const FirstStudy first = made(facts);
    const Study study = accepted(first.text);
    EXPECT_EQ(to_text(study.fixed.at("target")), "deep,\"wide, in cm\"");
    EXPECT_EQ(to_text(study.fixed.at("task")), "regression");
    EXPECT_EQ(study.objective.metric, "val_r2");
    EXPECT_EQ(first.found[1], "targets   deep, wide, in cm: numbers");
    EXPECT_EQ(first.found[2], "numbers   age") << "no target is a feature";
    EXPECT_NE(find(study, "type"), nullptr) << "trees, too";
}

TEST(FirstStudy, SeveralTargetsOfZerosAndOnesAreLabels) {
    DataFacts facts = table();
    facts.columns.insert(facts.columns.end(), {column("toxic", "number", 2), column("spam", "number", 3)});
    facts.columns[3].values = {{"0", 4'850}, {"1", 150}};
    facts.columns[4].values = {{"0", 4'000}, {"1", 400}, {"1.0", 600}};
    facts.targets = {"toxic", "spam"};
    const FirstStudy first = made(facts);
    const Study study = accepted(first.text);
    EXPECT_EQ(to_text(study.fixed.at("task")), "multi-label");
    EXPECT_EQ(study.objective.metric, "val_loss");
    EXPECT_EQ(study.objective.direction, Direction::minimize);
    EXPECT_EQ(study.fixed.at("class_metrics"), Value(true));
    EXPECT_EQ(first.found[1], "targets   2 labels: toxic 150 (3 %), spam 1000 (20 %)");
    EXPECT_THAT(first.text, Mentions("# cross-entropy", "1 of 2"));
    facts.rows = 500;
    facts.columns[3].values = {{"0", 490}, {"1", 10}};
    EXPECT_FALSE(accepted(made(facts).text).fixed.contains("folds")) << "a fold might have no row with a rare label";
}

TEST(FirstStudy, ALabelOfNearlyAllRowsIsUnevenAsARareOneIs) {
    DataFacts facts = table();
    facts.columns.insert(facts.columns.end(), {column("toxic", "number", 2), column("common", "number", 2)});
    facts.columns[3].values = {{"0", 4'850}, {"1", 150}};
    facts.columns[4].values = {{"0", 100}, {"1", 4'900}};
    facts.targets = {"toxic", "common"};
    EXPECT_THAT(made(facts).text, Mentions("# cross-entropy", "2 of 2"));
    facts.columns[3].values = {{"0", 2'000}, {"1", 3'000}};
    EXPECT_THAT(made(facts).text, Mentions("# cross-entropy", "1 of 2"));
}

TEST(FirstStudy, LabelsOfManyRowsAreNotCalledUneven) {
    DataFacts facts = table();
    facts.columns.insert(facts.columns.end(), {column("toxic", "number", 2), column("spam", "number", 2)});
    for (std::size_t i : {3, 4}) facts.columns[i].values = {{"0", 2'000}, {"1", 3'000}};
    facts.targets = {"toxic", "spam"};
    EXPECT_THAT(made(facts).text, HasSubstr("# cross-entropy"));
}

TEST(FirstStudy, NamesTheColumnForWhichOthersAreNoLabels) {
    DataFacts facts = table();
    facts.columns.insert(facts.columns.end(), {column("toxic", "number", 2), column("grade", "number", 3)});
    facts.columns[3].values = {{"0", 2'000}, {"1", 3'000}};
    facts.columns[4].values = {{"0", 2'000}, {"1", 2'000}, {"2", 1'000}};
    facts.targets = {"toxic", "grade"};
    EXPECT_THAT(made(facts).found[1],
                MentionsInOrder("targets", "toxic, grade: ", "numbers", "grade", "other", "0 and 1"));
}

TEST(FirstStudy, NamesTheTargetOfSeveralThatCannotBePredicted) {
    DataFacts facts = table();
    facts.targets = {"age", "city"};
    facts.columns[1].example = "Ulm";
    EXPECT_THAT(error_of(facts), AllOf(Mentions("city", "(Ulm)"), HasSubstr("--target")));
    facts.columns[1] = column("city", "number", 1);
    EXPECT_THAT(error_of(facts), Mentions("city", "same"));
}

TEST(FirstStudy, ARareClassIsRankedByTheAreaUnderTheCurve) {
    DataFacts facts = table();
    facts.columns.back().values = {{"no", 4'900}, {"yes", 100}};
    const Study study = accepted(made(facts).text);
    EXPECT_EQ(study.objective.metric, "val_auc");
    EXPECT_EQ(study.fixed.at("class_metrics"), Value(true));
}

TEST(FirstStudy, ColumnsThatAreNoFeaturesAreLeftOutTogether) {
    DataFacts facts = table();
    ColumnFacts id = column("id", "number", 1001);
    id.counts_up = true;
    facts.columns.insert(facts.columns.begin(), {id, column("joined", "dates", 900), column("ended", "dates", 800),
                                                 column("name", "text", 1001), column("unit", "text", 1)});
    const FirstStudy first = made(facts);
    EXPECT_EQ(to_text(accepted(first.text).fixed.at("ignore")), "id,joined,ended,name,unit");
    EXPECT_THAT(first.found.back(), AllOf(HasSubstr("id (counts"), HasSubstr("name (names"), HasSubstr("unit (the")));
    EXPECT_THAT(first.warnings, ElementsAre(Mentions("dates", "(joined, ended)")));
}

TEST(FirstStudy, SaysThatTheTargetIsAGuessAndThatAHeaderIsMissing) {
    DataFacts facts = table();
    facts.target_was_guessed = true;
    EXPECT_THAT(made(facts).found[1], Mentions("left (", "--target", "2 classes"));
    facts.columns[0].name = "1.5";
    EXPECT_THAT(made(facts).warnings, IsEmpty());
    facts.columns[1].name = "-2";
    facts.columns[2].name = "3e4";
    facts.targets = {"3e4"};
    EXPECT_THAT(made(facts).warnings, ElementsAre(HasSubstr("header")));
}

TEST(FirstStudy, WarnsOfIdentifiersAndOfColumnsThatTellTheTarget) {
    DataFacts facts = table();
    facts.columns.insert(facts.columns.begin(), {column("account", "number", 1001), column("refund", "number", 2)});
    facts.columns[0].auc = 0.95;
    facts.columns[1].auc = 0.951;
    EXPECT_THAT(made(facts).warnings, ElementsAre(Mentions("account", "whole"), Mentions("refund", "ROC", "0.951")));
}

TEST(FirstStudy, NamesThatNeedQuotesOrHoldLinesStayOneText) {
    DataFacts facts = table();
    facts.columns[0].name = "a, b: #c\nworker: x";
    facts.columns[0].kind = "dates";
    facts.path = "-\n.csv";
    const FirstStudy first = made(facts);
    EXPECT_EQ(accepted(first.text).name, "study");
    EXPECT_THAT(first.text, Not(HasSubstr("\nworker: x")));
}

TEST(FirstStudy, AnUnusableTargetIsRefusedWithItsName) {
    DataFacts facts = table();
    facts.columns.back().missing = 3;
    EXPECT_THAT(error_of(facts), AllOf(Mentions("left", "missing", "3 rows"), HasSubstr("--target")));
    facts = table();
    facts.columns.back().distinct = 1;
    EXPECT_THAT(error_of(facts), HasSubstr("same"));
    facts = table();
    facts.columns.back().kind = "dates";
    EXPECT_THAT(error_of(facts), HasSubstr("plain"));
    facts = table();
    facts.columns.erase(facts.columns.begin(), facts.columns.end() - 1);
    EXPECT_THAT(error_of(facts), AllOf(Mentions("column", "but", "target"), Not(HasSubstr("series"))));
    facts.columns.insert(facts.columns.begin(), column("when", "dates", 1001));
    EXPECT_THAT(error_of(facts), Mentions("when (dates)", "--format series"));
}

TEST(FirstStudy, SharesOfClassesAddUpToNoMoreThanAHundred) {
    const auto classes = [](const std::vector<std::int64_t>& counts) {
        DataFacts facts = table();
        ColumnFacts& target = facts.columns.back();
        target.values.clear();
        facts.rows = 0;
        for (const std::int64_t count : counts) {
            target.values.emplace_back(std::string(1, static_cast<char>('a' + target.values.size())), count);
            facts.rows += count;
        }
        target.distinct = std::ssize(counts);
        return made(facts).found[1];
    };
    EXPECT_THAT(classes({67'500, 32'500}), EndsWith("2 classes: a 67500 (68 %), b 32500 (32 %)"));
    EXPECT_THAT(classes({336, 336, 328}), EndsWith("a 336 (33 %), b 336 (33 %), c 328 (33 %)"));
    EXPECT_THAT(classes({50, 50, 50}), EndsWith("a 50 (33 %), b 50 (33 %), c 50 (33 %)"));
    EXPECT_THAT(classes({125, 125, 750}), EndsWith("c 750 (75 %), a 125 (12 %), b 125 (12 %)"));
}

TEST(FirstStudy, ASeriesTakesWindowsOfItsNumbers) {
    DataFacts facts{.format = "csv", .path = "load.csv", .rows = 1'500};
    facts.columns = {column("when", "dates", 1001), column("load", "number", 1001)};
    facts.targets = {"load"};
    const Study study = accepted(made(facts, true).text);
    EXPECT_EQ(find(study, "type"), nullptr) << "windows have a perceptron alone";
    EXPECT_EQ(to_text(study.fixed.at("format")), "series");
    EXPECT_EQ(number_or(study.fixed.at("window"), 0), 37);
    EXPECT_EQ(to_text(study.fixed.at("ignore")), "when");
}

TEST(FirstStudy, ImagesArraysAndTextsHaveModelsOfTheirOwn) {
    DataFacts facts{.format = "images", .path = "photos/", .rows = 1'620, .sample = "images of 28 x 28"};
    facts.outputs = 4;
    facts.image = facts.classes = true;
    EXPECT_EQ(accepted(made(facts).text).name, "photos");
    EXPECT_EQ(to_text(accepted(made(facts).text).fixed.at("type")), "cnn");
    facts = {.format = "npy", .path = "a.npz", .rows = 900, .sample = "3 features"};
    EXPECT_EQ(accepted(made(facts).text).objective.metric, "val_r2");
    facts.format = "text";
    EXPECT_EQ(to_text(accepted(made(facts).text).fixed.at("type")), "transformer");
}

TEST(Target, IsAColumnOfAUsualNameElseTheLastThatCanBeOne) {
    DataFacts facts = table();
    EXPECT_EQ(likely_target(facts), "left");
    facts.columns.push_back(column("when", "dates", 9));
    EXPECT_EQ(likely_target(facts), "left");
    facts.columns[0].name = "Label";
    EXPECT_EQ(likely_target(facts), "Label");
}

TEST(Formats, AreToldByTheName) {
    EXPECT_EQ(format_of("a/B.CSV", false), "csv");
    EXPECT_EQ(format_of("a.csv.gz", false), "csv");
    EXPECT_EQ(format_of("a.parquet", false), "parquet");
    EXPECT_EQ(format_of("a.npz", false), "npy");
    EXPECT_EQ(format_of("photos", true), "images");
    EXPECT_EQ(format_of("train.py", false), "script");
    EXPECT_EQ(format_of("study.yaml", false), "");
}

constexpr const char* script = R"(
import argparse
p = argparse.ArgumentParser()
p.add_argument("-l", "--lr", "--learning-rate", type=float, default=0.1, help="rate (0, 1]")
p.add_argument('--batch-size', type=int, default=64)   # "small"
p.add_argument("--optimizer", choices=["adam", 'sgd'], default="adam")
p.add_argument("--epochs", type=int, default=10)
p.add_argument("--seed", type=int, default=0)
p.add_argument("--verbose", action="store_true")
p.add_argument("--out", type=str, default="out.pt")
# p.add_argument("--gone", type=float, default=1e-3)
print(f"epoch {e} val_acc: {a}")
)";

TEST(Script, FlagsOfArgparseAreFoundWithoutRunningIt) {
    const auto flags = script_flags(script);
    ASSERT_EQ(flags.size(), 7);
    EXPECT_EQ(flags[0].option, "--learning-rate");
    EXPECT_EQ(flags[0].type, "float");
    EXPECT_EQ(flags[0].fallback, "0.1");
    EXPECT_THAT(flags[2].choices, ElementsAre("adam", "sgd"));
    EXPECT_FALSE(flags[5].takes_value);
}

TEST(Script, ItsFlagsBecomeTheSpace) {
    const auto first = study_for_script("train.py", script);
    ASSERT_TRUE(first) << first.error().message;
    const Study study = accepted(first->text);
    EXPECT_EQ(find(study, "learning_rate")->low, 0.01);
    EXPECT_THAT(first->text, HasSubstr("low: 0.01, high: 1, log: true}"));
    EXPECT_EQ(find(study, "batch_size")->low, 32);
    EXPECT_EQ(find(study, "optimizer")->choices.size(), 2);
    EXPECT_EQ(study.space.size(), 3);
    EXPECT_EQ(study.budget.epochs, 10);
    EXPECT_EQ(study.objective.metric, "val_acc");
    EXPECT_EQ(study.objective.direction, Direction::maximize);
    EXPECT_THAT(study.script()->command,
                ElementsAre("python3", "train.py", "--learning-rate={learning_rate}", "--batch-size={batch_size}",
                            "--optimizer={optimizer}", "--epochs={steps}", "--seed={seed}"));
}

TEST(Script, OnlyWhereALoopMayPrintIsAMetricAskedForAfterEachEpoch) {
    const auto comment_of = [](const std::string& code) {
        const auto first = study_for_script("train.py", "p.add_argument('--lr', type=float, default=0.1)\n" + code);
        return first ? first->text : first.error().message;
    };
    const std::string each = "after each epoch", once = "that it prints once, such as \"accuracy: 0.5\"";
    EXPECT_THAT(comment_of("for fold in range(5):\n    train(fold)\nprint(f'accuracy: {a}')\n"),
                AllOf(HasSubstr(once), Not(HasSubstr(each))));
    EXPECT_THAT(comment_of("for step in range(5):\n  if step:\n    print(f'accuracy: {a}')\n"), HasSubstr(each));
    EXPECT_THAT(comment_of("def show():\n  print(f'accuracy: {a}')\ndef step():\n  show()\nwhile on:\n  step()\n"),
                HasSubstr(each));
    EXPECT_THAT(comment_of("model.fit(x, y, epochs=5)\nprint(f'accuracy: {a}')\n"), HasSubstr(each));
    EXPECT_THAT(comment_of("accuracy = 1\n"), AllOf(Mentions("accuracy: 0.5"), Not(HasSubstr(each))));
}

TEST(Script, AnArgumentThatItNeedsIsAskedFor) {
    const auto first = study_for_script("train.py", R"(
p.add_argument("data", help="a folder")
p.add_argument("extra", nargs="?")
p.add_argument(computed_name)
p.add_argument("--cache-dir", required=True)
p.add_argument("--layers", type=int, default=3)
)");
    ASSERT_TRUE(first) << first.error().message;
    EXPECT_THAT(accepted(first->text).script()->command,
                ElementsAre("python3", "train.py", "DATA", "--cache-dir=CACHE_DIR", "--layers={layers}"));
    EXPECT_THAT(first->text, AllOf(Mentions("# warning:", "DATA", "worker.command"), HasSubstr("low: 1, high: 6}")));
}

TEST(Script, AWholeNumberThatIsNamedAfterARateIsNoRate) {
    const auto first = study_for_script("train.py", R"(
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--lr-decay-steps", type=int, default=1000)
p.add_argument("--warmup-decay", type=int, default=5)
)");
    ASSERT_TRUE(first) << first.error().message;
    const Study study = accepted(first->text);
    ASSERT_EQ(study.space.size(), 1) << first->text;
    EXPECT_EQ(study.space[0].name, "lr");
}

TEST(Script, OptionsOfClickBecomeTheSpaceWithinItsBounds) {
    const auto first = study_for_script("train.py", R"(
@click.command()
@click.option("--lr", default=0.01, show_default=True, help="rate (0, 1]")
@click.option("--hidden", "-h", "hidden_size", type=int, default=64)
@click.option("--act", type=click.Choice(["relu", 'gelu'], case_sensitive=False), default="relu")
@click.option("--bias/--no-bias", default=True)
@click.option("--amp", is_flag=True)
@click.option("--epochs", default=6, type=click.IntRange(1, 100))
@click.option("--drop", type=click.FloatRange(max=0.3, min=0.1), default=0.1)
@click.option("-b", "batch", type=click.INT, default=32)
# @click.option("--gone", default=0.1)
@click.argument("data", type=click.Path())
@click.argument("more", nargs=-1)
@click.argument("out", required=False)
def main(lr): click.echo(f"epoch={e} val_loss={l:.5f} val_accuracy={a:.4f}")
)");
    ASSERT_TRUE(first) << first.error().message;
    const Study study = accepted(first->text);
    EXPECT_THAT(study.script()->command,
                ElementsAre("python3", "train.py", "--lr={lr}", "--hidden={hidden_size}", "--act={act}",
                            "--epochs={steps}", "--drop={drop}", "-b", "{batch}", "DATA"))
        << first->text;
    EXPECT_EQ(find(study, "act")->choices.size(), 2);
    EXPECT_EQ(find(study, "drop")->low, 0.1);
    EXPECT_EQ(find(study, "drop")->high, 0.3);
    EXPECT_EQ(find(study, "hidden_size")->low, 16);
    EXPECT_THAT(first->text, Mentions("--bias/--no-bias", "--amp", "more", "out"));
    EXPECT_EQ(study.budget.epochs, 6);
    EXPECT_EQ(study.objective.metric, "val_accuracy");
}

TEST(Script, TheConfigurationOfHydraBecomesOverrides) {
    constexpr const char* hydra = R"(
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg): print(f"[epoch {e}] val_loss={l:.5f}")
)";
    const auto read = [](const std::string& path) -> std::optional<std::string> {
        if (path == "conf/config.yaml")
            return "defaults:\n  - model: mlp\n  - override hydra/launcher: joblib\n  - _self_\n"
                   "optimizer:\n  lr: 0.001\n  name: adam\n  betas: [0.9, 0.99]\nmodel:\n  dropout: 0.2\n"
                   "training: {max_epochs: 5, batch_size: 64}\nseed: 1\ndata_dir: ???\n"
                   "out: ${data_dir}/out\nhydra:\n  sweep: {size: 8}\n";
        if (path == "conf/model/mlp.yaml") return "width: 64\ndropout: 0.1\n";
        return std::nullopt;
    };
    const auto first = study_for_script("train.py", hydra, read);
    ASSERT_TRUE(first) << first.error().message;
    const Study study = accepted(first->text);
    EXPECT_THAT(study.script()->command,
                ElementsAre("python3", "train.py", "optimizer.lr={optimizer.lr}", "model.dropout={model.dropout}",
                            "training.max_epochs={steps}", "training.batch_size={training.batch_size}", "seed={seed}",
                            "data_dir=DATA_DIR", "model.width={model.width}", "hydra.run.dir={folder}/hydra"))
        << first->text;
    EXPECT_EQ(find(study, "optimizer.lr")->low, 1e-4);
    EXPECT_EQ(find(study, "model.width")->high, 256);
    EXPECT_EQ(study.budget.epochs, 5);
    EXPECT_THAT(first->text, Mentions("optimizer.name", "adam", "out"));

    const auto unread = study_for_script("train.py", hydra);
    ASSERT_FALSE(unread);
    EXPECT_THAT(unread.error().message, HasSubstr("conf/config.yaml"));
}

TEST(Script, ItsMetricIsTheOneThatItPrints) {
    EXPECT_EQ(
        likely_metric(R"(print(f"Epoch {e}/{n} | train loss {loss:.4f} | val loss {vl:.4f} | val acc {acc:.2f}%"))"),
        "val_acc");
    EXPECT_EQ(likely_metric(R"(print("Epoch %d, Val Loss: %.3f" % (e, accuracy)))"), "val_loss");
    EXPECT_EQ(likely_metric(R"(print(f"epoch {e} loss {val_loss:.4f}"))"), "loss");
    EXPECT_EQ(likely_metric(R"(print({"epoch": e, "val/loss": l, "best": best_val_acc}))"), "val_loss");
    EXPECT_EQ(likely_metric("# val_acc: don't\nprint('mse', x)"), "mse");
    EXPECT_EQ(likely_metric(R"(print(f"best val_acc: {a}", f"val_loss={b}"))"), "val_loss");
    EXPECT_EQ(likely_metric("trial.report(e, rmse=x)"), "rmse") << "no text has it";
}

TEST(Script, WithoutFlagsIsAnErrorWithTheCure) {
    const auto first = study_for_script("train.py", "print('val_loss: 1')\nadd_argument(");
    ASSERT_FALSE(first);
    EXPECT_THAT(first.error().message, HasSubstr("flag"));
}

}  // namespace
}  // namespace hpo::init
