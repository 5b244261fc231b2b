// A study that is resumed from its marked steps has the same state as one that reads every step.
#include <gmock/gmock.h>

#include "hpo/random.hpp"
#include "orchestrator/engine/ledger.hpp"
#include "tests/support/memory_store.hpp"
#include "tests/support/temporary_folder.hpp"

namespace hpo {
namespace {

using testing::MemoryStore;
using to_worker::Action;

Study study_with(std::vector<PartSpec> rules) {
    Study study;
    study.name = "resumed";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x"}, Dimension{.name = "y"}};
    study.worker = ScriptWorker{.command = {"played"}};
    study.budget.trials = 1000;
    study.budget.epochs = 12;
    study.sampler.type = "tpe";
    study.policy.scaled = false;
    study.stopping = std::move(rules);
    return study;
}

Ledger ledger_over(const Study& study, Store& store) {
    return Ledger(study, store, *Proposer::make(study), *Rules::make(study));
}

/// Plays a session with random retries and interventions of users, which depend on `seed` and the ledger alone.
/// Returns the ledger's decisions as a text.
std::string play(Ledger& ledger, std::uint64_t seed, int rounds) {
    std::string decisions;
    std::uint64_t draws = 0;
    const auto draw = [&] { return draw_unit(seed, Purpose::synthetic, 1, draws++); };
    ledger.session_started({"host", 1, "test"});
    for (int round = 0; round < rounds; ++round) {
        std::int64_t number = 0;
        const bool last = round > rounds * 3 / 4;
        if (!ledger.queued().empty()) {
            number = *ledger.queued().begin();
        } else if (const auto promoted = ledger.promotions(last, 1); !promoted.empty()) {
            number = promoted.front();
            ledger.promote(number);
        } else {
            number = ledger.propose().value();
        }
        decisions +=
            std::to_string(number) + " " + to_text(ledger.record().trial(number).params.begin()->second) + ": ";
        Allocation given;
        given.start = number % 5 == 0 ? 1000 : 0;  // such a trial is not paused: its restart takes longer than its rest
        ledger.launch(number, "cpu 0", given);
        const TrialRecord& trial = ledger.record().trial(number);
        const auto back = draw() < 0.3 ? std::int64_t{2} : std::int64_t{0};  // the checkpoint is older
        for (std::int64_t step = std::max<std::int64_t>(1, trial.steps() + 1 - back);; ++step) {
            if (draw() < 0.03) {
                ledger.requeue(number, Outcome::lost, true, "lost");
                decisions += "lost ";
                break;
            }
            if (draw() < 0.02) {
                ledger.finish(number, TrialState::stopped, "user", "stopped");
                decisions += "user ";
                break;
            }
            const double floor = std::get<double>(trial.params.begin()->second);
            Report report{.step = step};
            report.seconds = 10.0 * static_cast<double>(step);
            report.metrics["loss"] = floor + draw() / static_cast<double>(step);
            if (draw() < 0.1) report.metrics = {{"other", 1.0}};
            const Verdict verdict = ledger.report(number, report);
            decisions += verdict.reason + " ";
            if (trial.state != TrialState::running) break;
        }
        if (draw() < 0.1) ledger.closing(number, {{"test_loss", draw()}});
        decisions += std::to_string(ledger.tried_since_best()) + " " +
                     std::to_string(ledger.best() ? ledger.best()->number : 0) + "\n";
    }
    return decisions;
}

class Resume : public ::testing::TestWithParam<std::vector<PartSpec>> {
   protected:
    std::unique_ptr<Store> open() {
        auto store = open_store(folder_ / "study.db");
        EXPECT_TRUE(store) << store.error().message;
        return std::move(*store);
    }
    testing::TemporaryFolder folder_;
};

TEST_P(Resume, FromMarkedStepsGivesTheStateOfAllSteps) {
    const Study study = study_with(GetParam());
    {
        const auto store = open();
        Ledger ledger = ledger_over(study, *store);
        ASSERT_TRUE(ledger.replay());
        play(ledger, 5, 150);
        ledger.flush();
    }
    for (std::uint64_t session = 0; session < 3; ++session) {
        const auto store = open();
        EXPECT_NE(store->marked_for(), "");
        MemoryStore every;
        every.kept = *store->events(0, 1'000'000);
        const auto needed = store->events_to_resume(0, 1'000'000);
        ASSERT_TRUE(needed) << needed.error().message;
        EXPECT_LE(needed->size(), every.kept.size());  // the rule `median` needs every step

        Ledger brief = ledger_over(study, *store), whole = ledger_over(study, every);
        const auto read = brief.replay();
        ASSERT_TRUE(read) << read.error().message;
        ASSERT_TRUE(whole.replay());
        ASSERT_EQ(brief.record().trials.size(), whole.record().trials.size());
        for (const TrialRecord& one : whole.record().trials) {
            const TrialRecord& other = brief.record().trial(one.number);
            EXPECT_EQ(one.state, other.state);
            EXPECT_EQ(one.value, other.value) << one.number;
            EXPECT_EQ(one.best_step, other.best_step) << one.number;
            EXPECT_EQ(one.steps(), other.steps()) << one.number;
            EXPECT_EQ(one.trained, other.trained) << one.number;
            EXPECT_EQ(one.spared, other.spared) << one.number;
            EXPECT_EQ(one.starts, other.starts) << one.number;
            EXPECT_EQ(one.closing, other.closing) << one.number;
            ASSERT_EQ(one.curve.size(), other.curve.size()) << one.number;
            for (std::size_t i = 0; i < one.curve.size(); ++i) EXPECT_EQ(one.curve[i].metrics, other.curve[i].metrics);
        }
        EXPECT_EQ(play(brief, 6 + session, 60), play(whole, 6 + session, 60));
        brief.flush();
    }
}

TEST_P(Resume, WithOtherRulesAnotherSamplerAndWiderRangesEachTrialComesToItsEnd) {
    Study study = study_with(GetParam());
    study.space[0] = Dimension{.name = "x", .low = 0.25, .high = 0.75};
    study.budget.epochs = 12;
    std::uint64_t session = 0;
    const std::vector<std::vector<PartSpec>> others{
        {{"plateau", {}}}, {{"hyperband", {}}}, {}, {{"asha", {}}, {"median", {}}}, {{"extrapolation", {}}}};
    const std::vector<std::string> samplers{"random", "cmaes", "sobol", "gp", "tpe"};
    for (std::size_t other = 0; other <= others.size(); ++other) {
        const auto store = open();
        Ledger ledger = ledger_over(study, *store);
        const auto read = ledger.replay();
        ASSERT_TRUE(read) << read.error().message;
        for (const TrialRecord& trial : ledger.record().trials)
            EXPECT_EQ(trial.value.has_value(), trial.best_step > 0) << trial.number;
        play(ledger, 20 + session++, 25);
        if (other == others.size()) {
            // No trial of an earlier rule is left behind: it goes on, or ends as the last rule says.
            for (std::vector<std::int64_t> paused; !(paused = ledger.promotions(true, 1)).empty();) {
                ledger.promote(paused.front());
                ledger.launch(paused.front(), "cpu 0", {});
                ledger.finish(paused.front(), TrialState::complete, "", "");
            }
        } else {
            study.stopping = others[other];
            study.sampler.type = samplers[other];
            study.space[0].low /= 2;
            study.space[0].high += 0.05;
        }
        ledger.flush();
        ledger.summarize();
    }
}

/// Returns the parameters of the trial that a study proposes after the events of `store`.
Params next_params(const Study& study, MemoryStore store) {
    Ledger ledger = ledger_over(study, store);
    EXPECT_TRUE(ledger.replay());
    return ledger.record().trial(ledger.propose().value()).params;
}

TEST(ResumeWithABudgetOfTime, ProposesByTheTimeThatThePastSessionsTook) {
    Study study = study_with({});
    study.sampler.type = "gp";
    study.budget.epochs = 1;
    study.budget.seconds = 200;  // each event of the store takes a second
    MemoryStore store;
    Ledger ledger = ledger_over(study, store);
    ledger.session_started({"host", 1, "test"});
    for (int i = 0; i < 12; ++i) {
        const std::int64_t number = ledger.propose().value();
        ledger.launch(number, "cpu 0", {});
        const Params& params = ledger.record().trial(number).params;
        Report report{.step = 1};
        report.seconds = 1 + 30 * std::get<double>(params.at("y"));
        report.metrics["loss"] = std::get<double>(params.at("x"));
        (void)ledger.report(number, report);
    }
    const Params resumed = next_params(study, store);
    EXPECT_EQ(ledger.record().trial(ledger.propose().value()).params, resumed);
    study.budget.seconds.reset();
    EXPECT_NE(next_params(study, store), resumed);
}

TEST(ResumeWithoutRules, PausedTrialsGoOn) {
    testing::MemoryStore store;
    Study study = study_with({{"asha", {}}});
    {
        Ledger ledger = ledger_over(study, store);
        ASSERT_TRUE(ledger.replay());
        play(ledger, 5, 60);
    }
    study.stopping.clear();
    Ledger ledger = ledger_over(study, store);
    ASSERT_TRUE(ledger.replay());
    std::size_t paused = 0;
    for (const std::int64_t trial : ledger.unfinished())
        paused += ledger.record().trial(trial).state == TrialState::paused ? 1 : 0;
    EXPECT_GT(paused, 3u);
    EXPECT_EQ(ledger.promotions(false, 1000).size(), paused);
    ledger.promote(ledger.promotions(false, 1).front());
    EXPECT_EQ(ledger.promotions(false, 1000).size(), paused - 1);
}

/// Expects that the summary of a study agrees with its events.
void compare(const StudyRecord& seen, const StudyRecord& folded) {
    ASSERT_EQ(seen.trials.size(), folded.trials.size());
    for (const TrialRecord& one : folded.trials) {
        const TrialRecord& other = seen.trial(one.number);
        EXPECT_EQ(one.state, other.state);
        EXPECT_EQ(one.attempt, other.attempt);
        EXPECT_EQ(one.params, other.params);
        EXPECT_EQ(one.value, other.value);
        EXPECT_EQ(one.steps(), other.steps());
        EXPECT_EQ(one.trained, other.trained);
        EXPECT_EQ(one.spared, other.spared);
        EXPECT_EQ(one.starts, other.starts);
        EXPECT_EQ(seconds_between_steps(one), seconds_between_steps(other));
        EXPECT_EQ(one.closing, other.closing);
        EXPECT_EQ(one.reason, other.reason);
        EXPECT_EQ(one.ended_at, other.ended_at);
    }
}

TEST_P(Resume, ViewersReadASummaryThatAgreesWithTheEvents) {
    const Study study = study_with(GetParam());
    const auto store = open();
    Ledger ledger = ledger_over(study, *store);
    ASSERT_TRUE(ledger.replay());
    const auto viewer = open_store_read_only(folder_ / "study.db");
    ASSERT_TRUE(viewer);
    const auto folded = [&] {
        StudyRecord record;
        const auto events = (*viewer)->events(0, 1'000'000);
        for (const StoredEvent& event : *events) apply(record, event, study.objective);
        return record;
    };
    StudyRecord seen;
    for (std::uint64_t read_machine = 0; read_machine < 4; ++read_machine) {
        play(ledger, read_machine, 30);
        ledger.summarize();
        ASSERT_TRUE((*viewer)->read_summary(seen));
        EXPECT_EQ(seen.sequence, ledger.record().sequence);
        EXPECT_EQ((*viewer)->events(seen.sequence, 10)->size(), 0u);
        ASSERT_NO_FATAL_FAILURE(compare(seen, folded()));
    }
    // Killed shortly after its last summary. The next session also reads the later events.
    play(ledger, 4, 5);
    ledger.flush();
    const auto again = open();
    Ledger next = ledger_over(study, *again);
    ASSERT_TRUE(next.replay());
    next.session_started({"host", 2, "test"});
    next.summarize();
    ASSERT_TRUE((*viewer)->read_summary(seen));
    EXPECT_EQ(seen.sequence, next.record().sequence);
    ASSERT_NO_FATAL_FAILURE(compare(seen, folded()));
}

const PartSpec asha{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{2}}}};
INSTANTIATE_TEST_SUITE_P(Rules, Resume,
                         ::testing::Values(std::vector<PartSpec>{}, std::vector<PartSpec>{asha},
                                           std::vector<PartSpec>{{"plateau", {}}, asha},
                                           std::vector<PartSpec>{{"median", {}}, {"divergence", {}}}));

}  // namespace
}  // namespace hpo
