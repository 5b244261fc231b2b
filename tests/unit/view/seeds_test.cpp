// Configurations with several seeds, as views show them.
#include <gmock/gmock.h>

#include "orchestrator/view/report.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/top.hpp"
#include "orchestrator/view/trial_lines.hpp"
#include "tests/support/mentions.hpp"

namespace hpo::view {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Seeds : public ::testing::Test {
   protected:
    Seeds() {
        study_.name = "noisy";
        study_.objective = {"loss", Direction::minimize, Objective::At::best};
        study_.worker = ScriptWorker{.command = {"played"}};
        study_.budget.epochs = 1;
        study_.repeats = 3;
    }
    /// Applies an event. Returns the lines that a log and a terminal show for it.
    std::string happens(const Event& event) {
        const StoredEvent stored{record_.sequence + 1, 0, event, {}};
        apply(record_, stored, study_.objective);
        return lines_.line(stored, record_) + '\n' + bests_.line(stored, record_);
    }
    std::string trains(double loss, std::int64_t repeat_of = 0) {
        const auto trial = static_cast<std::int64_t>(record_.trials.size()) + 1;
        std::string lines = happens(event::Proposed{trial, {}, {}, repeat_of});
        lines += happens(event::Launched{trial, 1, "cpu 0", {}});
        lines += happens(event::Reported{trial, 1, {.step = 1, .metrics = {{"loss", loss}}}});
        return lines + happens(event::Finished{trial, 1, TrialState::complete, "", ""});
    }

    Study study_;
    StudyRecord record_;
    TrialLines lines_{study_};
    NewBests bests_{study_};
};

TEST_F(Seeds, OfAConfigurationAreToldWithItsMean) {
    EXPECT_THAT(trains(0.4), Mentions("new", "0.4000 loss", "trial 1"));
    const std::string lines = trains(0.44, 1);
    EXPECT_THAT(lines, Mentions("seed", "trial 1", "0.4200", "2 seeds", "+- 0.02828"));
    EXPECT_THAT(lines, Not(HasSubstr("new")));
    EXPECT_EQ(seeds_text(record_.trial(1)), "mean of 2 seeds, +- 0.02828");
    EXPECT_EQ(seeds_text(record_.trial(2)), "");
    EXPECT_THAT(trains(0.41), Mentions("new", "0.4100 loss", "trial 3")) << "better than the mean";
    EXPECT_THAT(trains(0.3, 1), Mentions("new", "0.3800 loss", "trial 1", "3 seeds")) << "the mean leads again";
    EXPECT_THAT(trains(0.1, 3), Mentions("new", "0.2550 loss", "trial 3", "2 seeds"));
}

TEST_F(Seeds, AreCountedInTheReport) {
    trains(0.4), trains(0.9), trains(0.44, 1);
    const std::string report = draw_report(study_, record_, {}, {}, {});
    EXPECT_THAT(report, Mentions("noisy:", "loss 0.4200", "trial 1", "2 seeds", "+- 0.02828", "3 trials"));
    EXPECT_THAT(report, HasSubstr("  TRIAL    loss  SEEDS  DEVIATION  STEP"));
    EXPECT_THAT(report, HasSubstr("     *1  0.4200      2    0.02828   1/1"));
    EXPECT_THAT(report, HasSubstr("      2  0.9000      1          -   1/1"));
    EXPECT_THAT(report, Not(HasSubstr("\n      3"))) << "a seed is no configuration of its own";
}

TEST_F(Seeds, AreRankedInTopByTheFirst) {
    trains(0.5), trains(0.9), trains(0.1, 1), trains(0.4);
    for (const auto field : {TrialField::Kind::state, TrialField::Kind::value}) {
        std::vector<std::int64_t> numbers;
        for (const TrialRecord* trial : ordered(record_, study_.objective, {{field}}, false))
            numbers.push_back(trial->number);
        EXPECT_THAT(numbers, ::testing::ElementsAre(1, 4, 2, 3));
    }
}

}  // namespace
}  // namespace hpo::view
