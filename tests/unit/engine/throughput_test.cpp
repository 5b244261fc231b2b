// The number of trials at once by their throughput, in the engine.
#include <algorithm>
#include <map>

#include "tests/unit/engine/played.hpp"

#include "tests/support/mentions.hpp"

namespace hpo::testing {
namespace {

/// A session whose trials compute on a machine of two cores, with a worker for each of up to four trials.
class Searched : public OneStore {
   protected:
    Searched() {
        study.budget.trials = 40;
        study.budget.epochs = 100;
        study.resources.trial.host_bytes = 1 << 20;
    }

    void begin(ConcurrencyPlan plan) {
        play.emplace(study, store, 4, small_machine(), PlayedParts{.concurrency = std::move(plan)});
        answer();
    }
    /// New workers are ready, and new trials are noted.
    void answer() {
        for (WorkerIndex index = 0; index < 4; ++index) {
            const auto& launched = play->executor.launched;
            if (std::count(launched.begin(), launched.end(), index) > 0 && !ready[index])
                play->ready(index), ready[index] = true;
            if (const AttemptId id = play->asked(index); id.trial != 0) running[index] = {id, 0};
        }
    }
    /// Each running trial takes a step; with more than two, a step takes longer in proportion.
    void step() {
        play->clock.advance(Seconds(std::max(1.0, static_cast<double>(running.size()) / 2)));
        for (auto& [index, trial] : std::map(running)) {
            running[index].second = trial.second + 1;
            play->report(index, trial.first, trial.second + 1, 0.5);
        }
        answer();
    }
    void finish(WorkerIndex index) {
        const AttemptId id = running.at(index).first;
        running.erase(index);
        EXPECT_TRUE(play->stop_trial(id.trial));
        play->finish(index, id, Outcome::stopped);
        answer();
    }

    std::optional<Played> play;
    std::map<WorkerIndex, bool> ready;
    std::map<WorkerIndex, std::pair<AttemptId, std::int64_t>> running;
};

TEST_F(Searched, TriesAThirdTrialAndReturnsToTwo) {
    begin({{2, 4}, {}});
    EXPECT_EQ(running.size(), 2U);
    for (int i = 0; i < 6; ++i) step();
    EXPECT_EQ(running.size(), 3U) << "two were measured, a third is tried";
    for (int i = 0; i < 7; ++i) step();
    finish(running.begin()->first);
    EXPECT_EQ(running.size(), 2U) << "three did no more work";
    const auto findings = play->engine->concurrency();
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].found.workers.number, 2);
    EXPECT_THAT(findings[0].workers_text, MentionsInOrder("3 at", "1.00 times", "2"));
    EXPECT_EQ(findings[0].fused_text, "");
}

TEST_F(Searched, BeginsWithWhatIsRemembered) {
    begin({{2, 4}, {{host_only, {{3, {}}, {}}}}});
    EXPECT_EQ(running.size(), 3U);
    EXPECT_EQ(play->engine->at_once(), 3);
}

TEST_F(Searched, MemoryAndTheNumberOfWorkersComeFirst) {
    study.resources.trial.host_bytes = 400 * MiB;
    begin({{4, 4}, {{host_only, {{9, {}}, {}}}}});
    EXPECT_EQ(running.size(), 2U) << "more do not fit into 1 GiB";
    EXPECT_EQ(play->engine->at_once(), 4);
}

}  // namespace
}  // namespace hpo::testing
