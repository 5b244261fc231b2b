// Exports to CSV and JSON Lines.
#include "orchestrator/export/tables.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "hpo/random.hpp"
#include "orchestrator/output/trial_json.hpp"
#include "support.hpp"
#include "tests/support/time_zone.hpp"

namespace hpo::exporting {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> lines_of(Result<void> (*write)(const Study&, const StudyRecord&, const WholeTrial&,
                                                        const Sink&),
                                  const StudyRecord& record, const WholeTrial& whole = as_it_is) {
    std::vector<std::string> lines;
    const auto done = write(small_study(), record, whole, [&](std::string_view bytes) -> Result<void> {
        lines.emplace_back(bytes);
        return {};
    });
    EXPECT_TRUE(done);
    return lines;
}

TEST(Csv, QuotesOnlyTheCellsThatNeedIt) {
    EXPECT_EQ(csv_cell("plain text; 0.5"), "plain text; 0.5");
    EXPECT_EQ(csv_cell(""), "");
    EXPECT_EQ(csv_cell("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_cell("the \"best\""), "\"the \"\"best\"\"\"");
    EXPECT_EQ(csv_cell("two\nlines"), "\"two\nlines\"");
    EXPECT_EQ(csv_cell("\r"), "\"\r\"");
}

TEST(Csv, HasARowPerTrialAndAnEmptyCellForAnAbsentValue) {
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {0.5, 0.25, 0.75}), small_trial(2, TrialState::queued, {})};
    record.trials[1].params = {{"optimizer", small_study().space[0].choices[1]}, {"momentum", 0.1}};
    record.trials[0].reason = "its end";
    record.trials[0].closing = {{"test_acc", 0.875}};
    EXPECT_THAT(
        lines_of(write_csv, record),
        ElementsAre("trial,state,value,best_step,steps,attempt,params.optimizer,params.momentum,values.loss,"
                    "values.val_loss,closing.test_acc,rule,reason,seed,started,ended,device,peak_host_bytes,peak_"
                    "device_bytes\r\n",
                    "1,complete,0.25,2,3,1,adamw,,0.5,0.25,0.875,,its end,780746490,2027-01-15T08:00:01.250Z,"
                    "2027-01-15T08:00:11.250Z,,,\r\n",
                    "2,queued,,,0,1,\"sgd, slow \"\"one\"\"\",0.1,,,,,,579260644,,,,,\r\n"));
}

TEST(Csv, HasTheSeedThatTheScriptIsGiven) {
    const Study study = small_study();
    ASSERT_TRUE(study.script());
    TrialRecord trial = small_trial(1, TrialState::complete, {0.5});
    EXPECT_EQ(given_seed(study, trial), trial_seed(study.seed, 1) % (1U << 31)) << "31 bits, as {seed}";
    trial.params["seed"] = std::int64_t{7};
    EXPECT_EQ(given_seed(study, trial), 7U) << "it is searched";
}

TEST(Csv, WritesNanAndInfinityAsText) {
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::diverged, {NAN})};
    EXPECT_THAT(lines_of(write_csv, record)[1], HasSubstr(",adamw,,nan,nan,"));
}

TEST(Csv, TimesAreInUtcWhateverTheZone) {
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {0.5})};
    for (const char* zone : {"Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC"}) {
        const testing::TimeZone in(zone);
        EXPECT_THAT(lines_of(write_csv, record)[1], HasSubstr(",2027-01-15T08:00:01.250Z,2027-01-15T08:00:11.250Z,"));
    }
}

TEST(JsonLines, HoldAWholeTrialPerLineWithItsSteps) {
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::stopped, {0.5, INFINITY})};
    const auto lines = lines_of(write_jsonl, record);
    ASSERT_EQ(lines.size(), 1);
    EXPECT_EQ(lines[0].find('\n'), lines[0].size() - 1);
    const auto trial = nlohmann::json::parse(lines[0]);
    EXPECT_EQ(trial["state"], "stopped");
    EXPECT_EQ(trial["value"], 0.5);
    EXPECT_EQ(trial["curve"].size(), 2);
    EXPECT_EQ(trial["curve"][1]["metrics"]["val_loss"], "inf");
    EXPECT_EQ(trial["curve"][1]["step"], 2);
}

TEST(JsonLines, ReadTheStepsOfOneTrialAtATimeAndEndIfThatFails) {
    StudyRecord whole, thinned;
    whole.trials = {small_trial(1, TrialState::complete, {0.5, 0.25, 0.75}),
                    small_trial(2, TrialState::stopped, {3, 2, 1})};
    thinned = whole;
    for (TrialRecord& trial : thinned.trials) trial.curve.erase(trial.curve.begin()), trial.thinned = true;
    std::vector<std::int64_t> trials_read;
    const auto read = [&](const TrialRecord& trial) -> Result<TrialRecord> {
        trials_read.push_back(trial.number);
        return whole.trial(trial.number);
    };
    EXPECT_EQ(lines_of(write_jsonl, thinned, read), lines_of(write_jsonl, whole));
    EXPECT_THAT(trials_read, ElementsAre(1, 2));
    const auto failed = write_jsonl(
        small_study(), thinned, [](const TrialRecord&) -> Result<TrialRecord> { return Error{"corrupt"}; },
        [](std::string_view) -> Result<void> { return {}; });
    EXPECT_EQ(failed.error().message, "corrupt");
}

TEST(JsonLines, EndWithTheFirstFailureOfTheSink) {
    StudyRecord record;
    record.trials = {small_trial(1, TrialState::complete, {1}), small_trial(2, TrialState::complete, {1})};
    int taken = 0;
    const auto done = write_jsonl(small_study(), record, as_it_is, [&](std::string_view) -> Result<void> {
        ++taken;
        return Error{"full"};
    });
    EXPECT_EQ(done.error().message, "full");
    EXPECT_EQ(taken, 1);
}

}  // namespace
}  // namespace hpo::exporting
