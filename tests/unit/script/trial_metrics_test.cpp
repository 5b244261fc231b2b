#include "orchestrator/script/trial_metrics.hpp"

#include <gmock/gmock.h>

#include "tests/support/mentions.hpp"

namespace hpo::script {
namespace {

struct TrialReading {
    std::vector<double> values;
    std::string warning;
};

TrialReading read_trial(std::int64_t steps, const std::string& output) {
    to_worker::Run run;
    run.objective.metric = "acc";
    run.steps = steps;
    TrialMetrics metrics;
    metrics.begin(Task{}, run, "");
    metrics.feed(output, 0, 1);
    metrics.finish(false);
    TrialReading found;
    while (const auto step = metrics.take()) found.values.push_back(step->metrics.at("acc"));
    found.warning = metrics.warning();
    return found;
}

TEST(TrialMetrics, OfAScriptThatEndsByItselfTellThatABarMayCountEpochs) {
    const std::string bar = " 33%|#  | 1/3 [acc=0.9]\r 66%|## | 2/3 [acc=0.7]\r100%|###| 3/3 [acc=0.8]\n";
    const TrialReading found = read_trial(Budget::most_epochs, bar);
    EXPECT_EQ(found.values, std::vector{0.8});
    EXPECT_THAT(found.warning, Mentions("budget.epochs"));
    EXPECT_EQ(read_trial(3, bar).values, (std::vector{0.9, 0.7, 0.8}));
}

TEST(TrialMetrics, OfAScriptThatEndsByItselfTakeNoDeviationForAnAverage) {
    const TrialReading found = read_trial(Budget::most_epochs, "[1/10] acc: 0.80 (0.02)\n[2/10] acc: 0.81 (0.03)\n");
    EXPECT_EQ(found.values, (std::vector{0.80, 0.81}));
    EXPECT_THAT(found.warning, Mentions("'acc'", "brackets"));
}

}  // namespace
}  // namespace hpo::script
