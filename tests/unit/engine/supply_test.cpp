// What is left to train of a study, as asked before its session begins.
#include "orchestrator/engine/supply.hpp"

#include "tests/unit/engine/played.hpp"

namespace hpo {
namespace {

using hpo::testing::MemoryStore;
using hpo::testing::small_study;

/// Returns a study of two configurations and a budget of ten trials.
Study study_of_two(const std::string& sampler) {
    Study study = small_study();
    study.space = {{.name = "x", .kind = Kind::categorical, .choices = {std::string("a"), std::string("b")}}};
    study.sampler.type = sampler;
    study.budget.trials = 10;
    return study;
}

TEST(Supply, OfASpaceWhoseConfigurationsWereAllTriedIsOver) {
    for (const char* sampler : {"random", "grid"}) {
        const Study study = study_of_two(sampler);
        MemoryStore store;
        for (int ended = 0; ended <= 2; ++ended) {
            Ledger ledger(study, store, *Proposer::make(study), *Rules::make(study));
            ASSERT_TRUE(ledger.replay());
            EXPECT_EQ(Supply(study, ledger).is_over(), ended == 2) << sampler << ", " << ended << " trials";
            EXPECT_EQ(static_cast<int>(ledger.record().trials.size()), ended) << "the proposal is not kept";
            Supply session(study, ledger);
            EXPECT_EQ(session.may_propose(), ended < 2) << "a session without hosts learns of it";
            if (ended == 2) {
                EXPECT_EQ(session.why_over(), ledger.proposer().exhausted());
                break;
            }
            const std::int64_t trial = session.further_trial();
            ASSERT_EQ(trial, ended + 1);
            ledger.launch(trial, "cpu 0", {});
            ledger.report(trial, {.step = 1, .metrics = {{"loss", 0.5}}}, false);
            ledger.finish(trial, TrialState::complete, "", "");
        }
    }
}

TEST(Supply, OfAnExhaustedSpaceMayHaveFurtherSeeds) {
    Study study = study_of_two("random");
    study.repeats = 3;
    MemoryStore store;
    Ledger ledger(study, store, *Proposer::make(study), *Rules::make(study));
    const auto run = [&](std::int64_t trial) {
        ledger.launch(trial, "cpu 0", {});
        ledger.report(trial, {.step = 1, .metrics = {{"loss", 0.5}}}, false);
        ledger.finish(trial, TrialState::complete, "", "");
    };
    Supply session(study, ledger);
    int trials = 0;
    for (; !Supply(study, ledger).is_over() && trials < 9; ++trials) run(session.further_trial());
    EXPECT_EQ(session.further_trial(), 0);
    EXPECT_GT(trials, 2);
}

}  // namespace
}  // namespace hpo
