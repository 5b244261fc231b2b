// Studies of Optuna, read from databases that the tests write by SQL, as studies of hpo.
#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "orchestrator/import/optuna_database.hpp"
#include "orchestrator/import/store_imported.hpp"
#include "orchestrator/store/sqlite.hpp"
#include "orchestrator/store/store.hpp"
#include "orchestrator/study/study_file.hpp"
#include "support.hpp"
#include "tests/support/mentions.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo::importing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr const char* tables = R"sql(
CREATE TABLE studies (study_id INTEGER NOT NULL PRIMARY KEY, study_name VARCHAR(512) NOT NULL);
CREATE TABLE study_directions (study_direction_id INTEGER PRIMARY KEY, direction VARCHAR(8), study_id INTEGER, objective INTEGER);
CREATE TABLE study_user_attributes (study_user_attribute_id INTEGER PRIMARY KEY, study_id INTEGER, "key" VARCHAR(512), value_json TEXT);
CREATE TABLE study_system_attributes (study_system_attribute_id INTEGER PRIMARY KEY, study_id INTEGER, "key" VARCHAR(512), value_json TEXT);
CREATE TABLE trials (trial_id INTEGER PRIMARY KEY, number INTEGER, study_id INTEGER, state VARCHAR(8), datetime_start DATETIME,
    datetime_complete DATETIME);
CREATE TABLE trial_user_attributes (trial_user_attribute_id INTEGER PRIMARY KEY, trial_id INTEGER, "key" VARCHAR(512), value_json TEXT);
CREATE TABLE trial_system_attributes (trial_system_attribute_id INTEGER PRIMARY KEY, trial_id INTEGER, "key" VARCHAR(512), value_json TEXT);
CREATE TABLE trial_params (param_id INTEGER PRIMARY KEY, trial_id INTEGER, param_name VARCHAR(512), param_value FLOAT, distribution_json TEXT);
CREATE TABLE trial_values (trial_value_id INTEGER PRIMARY KEY, trial_id INTEGER, objective INTEGER, value FLOAT, value_type VARCHAR(7));
CREATE TABLE trial_intermediate_values (trial_intermediate_value_id INTEGER PRIMARY KEY, trial_id INTEGER, step INTEGER,
    intermediate_value FLOAT, intermediate_value_type VARCHAR(7));
)sql";

std::string quoted(const std::string& text) { return "'" + text + "'"; }

std::string range(const std::string& name, const std::string& attributes) {
    return R"({"name": ")" + name + R"(", "attributes": {)" + attributes + "}}";
}
const std::string from_0_to_1 = range("FloatDistribution", R"("step": null, "low": 0.0, "high": 1.0, "log": false)");
const std::string optimizers = range("CategoricalDistribution", R"("choices": ["adam", "sgd"])");

/// A database of Optuna that a test fills. Study 1 is called first and minimizes.
class OptunaFile : public ::testing::Test {
   protected:
    OptunaFile() : database_(*sqlite::Database::open(file(), sqlite::Mode::create, 0)) {
        sql(tables);
        sql("INSERT INTO studies VALUES (1, 'first'); INSERT INTO study_directions VALUES (1, 'MINIMIZE', 1, 0)");
    }
    [[nodiscard]] std::filesystem::path file() const { return folder_ / "optuna.db"; }
    void sql(const std::string& statements) {
        const auto done = database_.run(statements);
        ASSERT_TRUE(done) << done.error().message;
    }
    /// Adds a trial of study 1, which took 1.5 s, with the row `value` of trial_values (value and kind) if given.
    void trial(int number, const std::string& state = "COMPLETE", const std::string& value = "0.5, 'FINITE'") {
        const std::string id = std::to_string(number + 1);
        sql("INSERT INTO trials VALUES (" + id + ", " + std::to_string(number) + ", 1, " + quoted(state) +
            ", '2026-11-29 10:00:00.000000', '2026-11-29 10:00:01.500000')");
        if (!value.empty()) sql("INSERT INTO trial_values VALUES (NULL, " + id + ", 0, " + value + ")");
    }
    void param(int number, const std::string& name, double value, const std::string& distribution) {
        sql("INSERT INTO trial_params VALUES (NULL, " + std::to_string(number + 1) + ", " + quoted(name) + ", " +
            std::to_string(value) + ", " + quoted(distribution) + ")");
    }
    void step(int number, int step, const std::string& value) {
        sql("INSERT INTO trial_intermediate_values VALUES (NULL, " + std::to_string(number + 1) + ", " +
            std::to_string(step) + ", " + value + ")");
    }
    [[nodiscard]] Result<ImportedStudy> import_study(const std::string& name = "first") const {
        const auto optuna = read_optuna(file(), name);
        if (!optuna) return optuna.error();
        return import_optuna(*optuna, "mine", "optuna.db");
    }
    [[nodiscard]] ImportedStudy imported() const {
        auto done = import_study();
        EXPECT_TRUE(done) << done.error().message;
        return done ? *std::move(done) : ImportedStudy{};
    }
    [[nodiscard]] std::string refusal(const std::string& name = "first") const {
        const auto done = import_study(name);
        return done ? "(accepted)" : done.error().message;
    }
    [[nodiscard]] static StudyRecord record_of(const ImportedStudy& study) {
        StudyRecord record;
        for (const Event& event : study.events)
            apply(record, {record.sequence + 1, 0, event, {}}, study.study.objective);
        return record;
    }
    [[nodiscard]] StudyRecord record() const { return record_of(imported()); }
    static std::string all(const std::vector<std::string>& remarks) {
        std::string text;
        for (const std::string& remark : remarks) text += remark + "\n";
        return text;
    }

    testing::TemporaryFolder folder_;
    sqlite::Database database_;
};

TEST_F(OptunaFile, ParametersOfAllKindsHaveTheirSpaceAndTheirValues) {
    trial(0);
    param(0, "lr", 0.25, range("FloatDistribution", R"("step": null, "low": 0.001, "high": 1.0, "log": true)"));
    param(0, "drop", 0.5, range("FloatDistribution", R"("step": 0.25, "low": 0.0, "high": 0.5, "log": false)"));
    param(0, "width", 32, range("IntDistribution", R"("log": false, "step": 16, "low": 16, "high": 64)"));
    param(0, "depth", 3, range("IntDistribution", R"("log": true, "step": 1, "low": 1, "high": 8)"));
    param(0, "act", 2, range("CategoricalDistribution", R"("choices": ["relu", null, true, 3, 2.5])"));
    const ImportedStudy study = imported();
    EXPECT_THAT(study.study.source, AllOf(HasSubstr("lr: {type: float, low: 0.001, high: 1.0, log: true"),
                                          HasSubstr("drop: {type: float, low: 0.0, high: 0.5, step: 0.25"),
                                          HasSubstr("width: {type: int, low: 16, high: 64, step: 16}"),
                                          HasSubstr("depth: {type: int, low: 1, high: 8, log: true}"),
                                          HasSubstr("act: {type: categorical, choices: [relu, null, true, 3, 2.5]}")));
    EXPECT_EQ(
        record_of(study).trial(1).params,
        (Params{{"lr", 0.25}, {"drop", 0.5}, {"width", std::int64_t{32}}, {"depth", std::int64_t{3}}, {"act", true}}));
    EXPECT_THAT(study.remarks, IsEmpty());
    EXPECT_EQ(study.study.budget.trials, 1);
    EXPECT_EQ(study.study.source, write_study(study.study));
}

TEST_F(OptunaFile, DistributionsOfOptunaBefore3AreRead) {
    trial(0);
    param(0, "a", 0.5, range("UniformDistribution", R"("low": 0.0, "high": 1.0)"));
    param(0, "b", 0.5, range("LogUniformDistribution", R"("low": 0.1, "high": 1.0)"));
    param(0, "c", 0.5, range("DiscreteUniformDistribution", R"("low": 0.0, "high": 1.0, "q": 0.5)"));
    param(0, "d", 4, range("IntUniformDistribution", R"("low": 2, "high": 8, "step": 2)"));
    param(0, "e", 4, range("IntLogUniformDistribution", R"("low": 1, "high": 8, "step": 1)"));
    EXPECT_EQ(dimensions(imported().study),
              "a: float 0 to 1\nb: float 0.1 to 1, log\nc: float 0 to 1 by 0.5\nd: int 2 to 8 by 2\n"
              "e: int 1 to 8, log\n");
}

TEST_F(OptunaFile, OfOptuna2HasNumbersWithoutAKind) {
    trial(0);
    param(0, "x", 0.25, from_0_to_1);
    step(0, 1, "0.5, 'FINITE'");
    sql("ALTER TABLE trial_values DROP COLUMN value_type;"
        "ALTER TABLE trial_intermediate_values DROP COLUMN intermediate_value_type");
    EXPECT_EQ(record().trial(1).value, 0.5);
}

TEST_F(OptunaFile, OfAnOlderOptunaIsRefusedWithTheCommandThatUpgradesIt) {
    sql("DROP TABLE trial_intermediate_values");
    EXPECT_THAT(refusal(), Mentions("optuna.db: ", "upgrade"));
}

TEST_F(OptunaFile, TrialsKeepStateValueStepsAndTime) {
    trial(0);
    trial(1, "PRUNED", "");
    trial(2, "FAIL", "");
    trial(3, "COMPLETE", "NULL, 'INF_POS'");
    for (int t = 0; t < 4; ++t) param(t, "x", 0.125 * t, from_0_to_1);
    step(0, 0, "0.75, 'FINITE'"), step(0, 4, "0.5, 'FINITE'");
    step(1, 0, "0.875, 'FINITE'"), step(1, 1, "NULL, 'NAN'");
    sql("INSERT INTO trial_system_attributes VALUES (NULL, 3, 'fail_reason', '\"no data\"')");
    const ImportedStudy study = imported();
    const StudyRecord record = record_of(study);
    const TrialRecord& complete = record.trial(1);
    EXPECT_EQ(complete.state, TrialState::complete);
    EXPECT_EQ(complete.value, 0.5);
    ASSERT_EQ(complete.curve.size(), 2u);
    EXPECT_EQ(complete.curve[0].step, 1);
    EXPECT_EQ(complete.curve[1].step, 5);
    EXPECT_EQ(complete.curve[1].seconds, 1.5);
    EXPECT_EQ(record.trial(2).state, TrialState::stopped);
    EXPECT_TRUE(std::isnan(record.trial(2).curve[1].metrics.at("value")));
    EXPECT_EQ(record.trial(3).state, TrialState::failed);
    EXPECT_EQ(record.trial(3).reason, "no data");
    EXPECT_EQ(record.trial(4).state, TrialState::diverged);
    EXPECT_EQ(study.study.objective.metric, "value");
    EXPECT_EQ(study.study.objective.at, Objective::At::last);
    EXPECT_EQ(study.study.budget.epochs, 5);
    EXPECT_THAT(all(study.remarks), Mentions("steps", "from 1"));
}

TEST_F(OptunaFile, AValueThatIsTheBestOfItsStepsCountsAtTheBest) {
    trial(0);
    step(0, 0, "NULL, 'NAN'");
    step(0, 1, "0.5, 'FINITE'"), step(0, 2, "0.75, 'FINITE'");
    const ImportedStudy study = imported();
    EXPECT_EQ(study.study.objective.at, Objective::At::best);
    EXPECT_EQ(record_of(study).trial(1).value, 0.5);
    EXPECT_EQ(record_of(study).trial(1).best_step, 2);
    EXPECT_EQ(study.study.budget.epochs, 3);
}

TEST_F(OptunaFile, AValueThatIsNoneOfItsStepsIsAStepOfItsOwn) {
    trial(0);
    step(0, 1, "0.25, 'FINITE'"), step(0, 2, "0.75, 'FINITE'");
    const ImportedStudy study = imported();
    EXPECT_EQ(record_of(study).trial(1).value, 0.5);
    EXPECT_EQ(record_of(study).trial(1).curve.size(), 3u);
    EXPECT_EQ(study.study.budget.epochs, 3);
    EXPECT_THAT(all(study.remarks), Mentions("neither", "step"));
}

TEST_F(OptunaFile, StepsBeyondTheMostOfAStudyAreNumberedInTheirOrder) {
    trial(0), trial(1, "PRUNED", "");
    sql("INSERT INTO trial_intermediate_values VALUES (NULL, 1, 9223372036854775807, 0.5, 'FINITE'),"
        "(NULL, 1, -9223372036854775807, 0.25, 'FINITE'), (NULL, 2, 7, 0.75, 'FINITE')");
    const ImportedStudy study = imported();
    const StudyRecord record = record_of(study);
    EXPECT_EQ(record.trial(1).curve[0].step, 1);
    EXPECT_EQ(record.trial(2).curve[0].step, 2);
    EXPECT_EQ(record.trial(1).curve[1].step, 3);
    EXPECT_EQ(record.trial(1).value, 0.5);
    EXPECT_THAT(all(study.remarks), Mentions("steps ", " 3", "1000000"));
}

TEST_F(OptunaFile, ValuesThatNoParameterHasAreRefused) {
    trial(0);
    const std::string whole = range("IntDistribution", R"("log": false, "step": 1, "low": 1, "high": 3)");
    for (const auto& [value, distribution] : {std::pair("-1", optimizers), std::pair("2", optimizers),
                                              std::pair("9e99", whole), std::pair("NULL", optimizers)}) {
        sql("DELETE FROM trial_params; INSERT INTO trial_params VALUES (NULL, 1, 'x', " + std::string(value) + ", " +
            quoted(distribution) + ")");
        EXPECT_THAT(refusal(), Mentions("trial 0", "'x'"));
    }
}

TEST_F(OptunaFile, ACompleteTrialWithoutAValueHasFailed) {
    trial(0, "COMPLETE", "");
    EXPECT_EQ(record().trial(1).state, TrialState::failed);
}

TEST_F(OptunaFile, SeveralObjectivesHaveTheirNamesDirectionsAndConstraints) {
    sql("INSERT INTO study_directions VALUES (2, 'MAXIMIZE', 1, 1)");
    trial(0);
    sql("INSERT INTO trial_values VALUES (NULL, 1, 1, 7.0, 'FINITE');"
        "INSERT INTO trial_system_attributes VALUES (NULL, 1, 'constraints', '[-1.0, 2.0]')");
    ImportedStudy study = imported();
    EXPECT_EQ(study.study.objective.metric, "values_0");
    ASSERT_EQ(study.study.objective.further.size(), 1u);
    EXPECT_EQ(study.study.objective.further[0].metric, "values_1");
    EXPECT_EQ(study.study.objective.further[0].direction, Direction::maximize);
    ASSERT_EQ(study.study.objective.constraints.size(), 2u);
    EXPECT_EQ(study.study.objective.constraints[1].max, 0);
    EXPECT_THAT(
        record_of(study).trial(1).curve[0].metrics,
        ElementsAre(Pair("constraint_0", -1), Pair("constraint_1", 2), Pair("values_0", 0.5), Pair("values_1", 7)));
    sql("INSERT INTO study_system_attributes VALUES (NULL, 1, 'study:metric_names', '[\"val loss\", \"speed\"]')");
    study = imported();
    EXPECT_EQ(study.study.objective.metric, "val_loss");
    EXPECT_EQ(study.study.objective.further[0].metric, "speed");
}

TEST_F(OptunaFile, ConstraintsThatSomeTrialsLackAreLeftOutAndSaid) {
    trial(0), trial(1);
    sql("INSERT INTO trial_system_attributes VALUES (NULL, 1, 'constraints', '[-1.0]')");
    const ImportedStudy study = imported();
    EXPECT_THAT(study.study.objective.constraints, IsEmpty());
    EXPECT_THAT(all(study.remarks), Mentions("constraint 0", "1 of 2 "));
    sql("INSERT INTO trial_system_attributes VALUES (NULL, 1, 'constraints:size', '-1.5'), (NULL, 2, "
        "'constraints:size', '2')");
    const ImportedStudy named = imported();
    ASSERT_EQ(named.study.objective.constraints.size(), 1u) << "as Optuna 5 has them";
    EXPECT_EQ(named.study.objective.constraints[0].metric, "constraint_size");
    EXPECT_EQ(record_of(named).trial(1).curve[0].metrics.at("constraint_size"), -1.5);
}

TEST_F(OptunaFile, AParameterOfSomeTrialsExistsByTheOneThatExplainsIt) {
    for (int t = 0; t < 4; ++t) {
        trial(t);
        param(t, "optimizer", t % 2, optimizers);
        param(t, "layers", 1 + t / 2, range("IntDistribution", R"("log": false, "step": 1, "low": 1, "high": 3)"));
        if (t % 2 == 1) param(t, "momentum", 0.5, from_0_to_1);
        if (t / 2 == 1) param(t, "second", 0.5, from_0_to_1);
        if (t == 3) param(t, "both", 0.5, from_0_to_1);
    }
    trial(4, "FAIL", "");  // it failed before all were suggested
    param(4, "optimizer", 1, optimizers);
    const ImportedStudy study = imported();
    const auto condition = [&](std::size_t d) {
        const auto& when = study.study.space[d].when;
        return when.size() == 1 ? when[0].parameter + " " + to_text(when[0].any_of.front()) : std::string();
    };
    ASSERT_EQ(study.study.space.size(), 5u);
    EXPECT_EQ(condition(2), "optimizer sgd") << study.study.source;
    EXPECT_EQ(condition(3), "layers 2");
    EXPECT_EQ(condition(4), "");
    EXPECT_THAT(all(study.remarks), Mentions("momentum", "optimizer = sgd"));
    EXPECT_THAT(all(study.remarks), Mentions("not all ", " both"));
}

TEST_F(OptunaFile, ADistributionThatChangedIsThatOfAllTrials) {
    trial(0), trial(1);
    param(0, "x", 0.5, from_0_to_1);
    param(1, "x", 5, range("FloatDistribution", R"("step": null, "low": 0.5, "high": 8.0, "log": true)"));
    param(0, "o", 0, optimizers);
    param(1, "o", 0, range("CategoricalDistribution", R"("choices": ["lion", "sgd"])"));
    const ImportedStudy study = imported();
    EXPECT_THAT(study.study.source, AllOf(HasSubstr("x: {type: float, low: 0.0, high: 8.0}"),
                                          HasSubstr("o: {type: categorical, choices: [adam, sgd, lion]}")));
    EXPECT_EQ(record_of(study).trial(2).params.at("o"), Value(std::string("lion")));
    EXPECT_THAT(all(study.remarks), Mentions("'x' changed", "0 to 8"));
}

TEST_F(OptunaFile, AParameterThatIsANumberHereAndAChoiceThereIsRefusedWithItsTrial) {
    trial(0), trial(1);
    param(0, "x", 0.5, from_0_to_1);
    param(1, "x", 0, optimizers);
    EXPECT_THAT(refusal(), Mentions("optuna.db: ", "trial 1 ", "'first'", "'x'", "add_trials"));
}

TEST_F(OptunaFile, AnUnknownDistributionIsRefusedWithItsTrial) {
    trial(0);
    for (const char* distribution : {"{", "[]", R"({"name": "Poisson", "attributes": {}})",
                                     R"({"name": "CategoricalDistribution", "attributes": {"choices": []}})"}) {
        sql("DELETE FROM trial_params");
        param(0, "x", 0, distribution);
        EXPECT_THAT(refusal(), Mentions("trial 0", "'x'", std::string(distribution).substr(0, 40)));
    }
}

TEST_F(OptunaFile, NamesThatStudiesDoNotHaveAreChangedAndTwoAlikeRefused) {
    trial(0);
    param(0, "model/lr", 0.5, from_0_to_1);
    param(0, "2nd", 0.5, from_0_to_1);
    const ImportedStudy study = imported();
    EXPECT_THAT(dimensions(study.study), AllOf(Mentions("model_lr: "), Mentions("_2nd: ")));
    EXPECT_THAT(all(study.remarks), Mentions("'model/lr'", "model_lr"));
    param(0, "model lr", 0.5, from_0_to_1);
    EXPECT_THAT(refusal(), Mentions("'model/lr'", "'model lr'", "rename"));
}

TEST_F(OptunaFile, TrialsThatHaveNotEndedAndUserAttributesAreLeftOutAndSaid) {
    trial(0), trial(1, "RUNNING", ""), trial(2), trial(3, "WAITING", "");
    sql("INSERT INTO trial_user_attributes VALUES (NULL, 1, 'note', '1');"
        "INSERT INTO study_user_attributes VALUES (NULL, 1, 'note', '1')");
    const ImportedStudy study = imported();
    EXPECT_EQ(record_of(study).trials.size(), 2u);
    EXPECT_THAT(all(study.remarks), Mentions("2 trials", "after number 1 "));
    EXPECT_THAT(all(study.remarks), Mentions("2 ", " attributes"));
    sql("DELETE FROM trials WHERE state = 'COMPLETE'");
    EXPECT_THAT(refusal(), Mentions("'first'", "ended"));
}

TEST_F(OptunaFile, TheOnlyStudyNeedsNoNameAndOfSeveralTheNamesAreListed) {
    trial(0);
    EXPECT_TRUE(import_study(""));
    EXPECT_THAT(refusal("frist"), Mentions("optuna.db: ", "'frist'", "'first'?"));
    sql("INSERT INTO studies VALUES (2, 'second')");
    EXPECT_THAT(refusal(""), Mentions("--study", "first, second"));
    EXPECT_TRUE(import_study("first"));
}

TEST_F(OptunaFile, OtherFilesAreRefused) {
    testing::TemporaryFolder other;
    const auto refused = [&](const std::filesystem::path& path) {
        const auto read = read_optuna(path, "");
        return read ? "(accepted)" : read.error().message;
    };
    EXPECT_THAT(refused(other / "none.db"), Mentions("none.db: ", "No such file"));
    EXPECT_THAT(refused(other.path()), Mentions("folder"));
    std::ofstream(other / "study.pkl") << "\x80 optuna";
    EXPECT_THAT(refused(other / "study.pkl"), Mentions("study.pkl: ", "SQLite", "optuna.copy_study"));
    {
        auto made = sqlite::Database::open(other / "x.db", sqlite::Mode::create, 0);
        ASSERT_TRUE(made->run("CREATE TABLE t (a)"));
    }
    EXPECT_THAT(refused(other / "x.db"), Mentions("x.db: ", "not one of Optuna"));
    std::filesystem::resize_file(file(), 100);
    EXPECT_THAT(refused(file()), Mentions("optuna.db: "));
}

TEST_F(OptunaFile, MayBeAJournal) {
    std::ofstream(folder_ / "journal.log") << "{\"op_code\": 0, \"study_name\": \"j\", \"directions\": [2]}\n";
    const auto study = read_optuna(folder_ / "journal.log", "");
    ASSERT_TRUE(study) << study.error().message;
    EXPECT_EQ(study->name, "j");
}

TEST_F(OptunaFile, IsReadWhileAnotherProgramHasWrittenToItAndKeepsItsBytes) {
    trial(0);
    sql("BEGIN IMMEDIATE; DELETE FROM trials");
    EXPECT_EQ(record().trials.size(), 1u) << "the state before";
    sql("ROLLBACK");
}

TEST_F(OptunaFile, IsStoredOnceAsAStudyThatHasFinished) {
    trial(0), trial(1);
    for (int t = 0; t < 2; ++t) param(t, "x", 0.25 + 0.5 * t, from_0_to_1);
    const ImportedStudy study = imported();
    const StudyFolder folder{folder_ / "mine"};
    const auto stored = store_imported(study, folder);
    ASSERT_TRUE(stored) << stored.error().message;
    const auto store = open_store_read_only(folder.database());
    ASSERT_TRUE(store);
    EXPECT_EQ((*store)->source(), study.study.source);
    StudyRecord record;
    ASSERT_TRUE((*store)->read_summary(record));
    ASSERT_EQ(record.trials.size(), 2u);
    EXPECT_EQ(record.end, SessionEnd::finished);
    EXPECT_EQ(record.seconds, 1.5);
    const auto proposal = (*store)->proposal(2);
    ASSERT_TRUE(proposal);
    EXPECT_THAT(std::get<event::Proposed>(proposal->event).point, ElementsAre(0.75));
    const auto again = store_imported(study, folder);
    ASSERT_FALSE(again);
    EXPECT_THAT(again.error().message, Mentions("mine", "--name"));
}

}  // namespace
}  // namespace hpo::importing
