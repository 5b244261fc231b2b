#include "orchestrator/sampling/costs.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "hpo/random.hpp"
#include "orchestrator/sampling/gp_model.hpp"
#include "support.hpp"

namespace hpo {
namespace {

/// A setup with whole numbers of rounds from 1 to 400, a width from 8 to 512 with log, and two kinds.
SamplerSetup setup_of_three() {
    Dimension rounds = number("rounds", Kind::integer, 400), width = number("width", Kind::integer, 512);
    rounds.low = 1;
    width.low = 8, width.log = true;
    Dimension kind;
    kind.name = "kind";
    kind.kind = Kind::categorical;
    kind.choices = {std::string("quick"), std::string("slow")};
    SamplerSetup setup;
    setup.space = {rounds, width, kind};
    setup.active = [](const Point& point) { return std::vector<bool>(point.size(), true); };
    return setup;
}

double log_seconds_of(const Point& point) {
    const double rounds = 1 + 399 * point[0], width = 8 * std::pow(64, point[1]);
    return std::log(rounds * width) + (point[2] > 0.5 ? std::log(3) : 0);
}

std::vector<Observation> observed(std::size_t trials) {
    std::vector<Observation> made;
    for (std::size_t i = 0; i < trials; ++i) {
        Observation observation;
        for (std::uint64_t d = 0; d < 3; ++d) observation.site.point.push_back(draw_unit(1, Purpose::sampler, i, d));
        observation.seconds = std::exp(log_seconds_of(observation.site.point));
        made.push_back(std::move(observation));
    }
    return made;
}

TEST(Costs, FollowPowersOfSizesAndChoices) {
    const SamplerSetup setup = setup_of_three();
    const SearchSpace space = search_space(setup);
    const Costs costs(setup, space, observed(25));
    ASSERT_TRUE(costs.known());
    const Point one{0.1, 0.2, 0.25}, other{0.9, 0.8, 0.75};
    EXPECT_NEAR(costs.log_seconds(space.input(other)) - costs.log_seconds(space.input(one)),
                log_seconds_of(other) - log_seconds_of(one), 0.3);
}

TEST(Costs, AreUnknownWithoutTheSecondsOfThreeTrials) {
    const SamplerSetup setup = setup_of_three();
    std::vector<Observation> trials = observed(5);
    trials[0].seconds.reset(), trials[3].seconds = 0;
    EXPECT_TRUE(Costs(setup, search_space(setup), trials).known());
    trials[1].seconds.reset();
    EXPECT_FALSE(Costs(setup, search_space(setup), trials).known());
}

TEST(Costs, IgnoreARangeOfOneValue) {
    SamplerSetup setup = setup_of_three();
    setup.space[0].low = setup.space[0].high;
    const SearchSpace space = search_space(setup);
    const Costs costs(setup, space, observed(25));
    ASSERT_TRUE(costs.known());
    EXPECT_TRUE(std::isfinite(costs.log_seconds(space.input(Point{0.1, 0.2, 0.25}))));
}

TEST(Costs, SlopesOfAnAcquisitionPerSecondAreItsDerivatives) {
    struct Flat final : Acquisition {
        [[nodiscard]] std::vector<double> values(const std::vector<std::vector<double>>& inputs) const override {
            return std::vector<double>(inputs.size(), 2);
        }
        double value(std::span<const double>, std::span<double> gradient) const override {
            std::fill(gradient.begin(), gradient.end(), 0.0);
            return 2;
        }
    } const flat;
    const SamplerSetup setup = setup_of_three();
    const Costs costs(setup, search_space(setup), observed(25));
    const PerSecond acquisition(flat, costs, 1.5);
    std::vector<double> input{0.3, 0.6, 1}, gradient(3), unused(3);
    EXPECT_NEAR(acquisition.value(input, gradient), 2 - 1.5 * costs.log_seconds(input), 1e-12);
    EXPECT_EQ(acquisition.values({input}).front(), acquisition.value(input, unused));
    EXPECT_EQ(gradient[2], 0);
    for (const std::size_t d : {0u, 1u}) {
        std::vector<double> above = input, below = input;
        above[d] += 1e-5, below[d] -= 1e-5;
        EXPECT_NEAR(gradient[d], (acquisition.value(above, unused) - acquisition.value(below, unused)) / 2e-5, 1e-5);
    }
}

/// The seconds of the trials of a study whose loss depends on `x`, and whose time on `size` alone, up to 30 times.
std::vector<double> seconds_of_trials(std::optional<double> budget, std::int64_t trials_of_budget, std::int64_t trials,
                                      TrialState state = TrialState::complete) {
    Study study;
    study.space = {number("x"), number("size")};
    study.sampler.type = "gp";
    study.objective.direction = Direction::minimize;
    study.budget.trials = trials_of_budget;
    study.budget.seconds = budget;
    Proposer proposer = make_proposer(study);
    std::vector<double> seconds;
    double elapsed = 0;
    for (std::int64_t n = 1; n <= trials; ++n) {
        const auto proposal = proposer.propose(n);
        TrialRecord trial = trial_of(n, *proposal);
        proposer.proposed(trial);
        seconds.push_back(std::pow(30, trial.point[1]));
        trial.state = state;
        trial.value = std::pow(trial.point[0] - 0.3, 2);
        Report report;
        report.step = study.budget.epochs / 2;  // of a trial that is stopped half-way, in half of its time
        report.metrics["val_accuracy"] = *trial.value;
        if (state == TrialState::stopped) trial.curve = {report};
        trial.started_at = 1000 + elapsed;
        trial.ended_at = 1000 + (elapsed += seconds.back() * (state == TrialState::stopped ? 0.5 : 1));
        proposer.elapsed(elapsed);
        proposer.tell(trial);
    }
    return seconds;
}

double mean(const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Gp, TrainsQuickTrialsFirstWhereTimeEndsTheStudy) {
    const double unaware = mean(seconds_of_trials(std::nullopt, 1000, 25));
    EXPECT_LT(mean(seconds_of_trials(250, 1000, 25)), unaware / 2);
    EXPECT_LT(mean(seconds_of_trials(250, 1000, 25, TrialState::stopped)), unaware / 2);
}

TEST(Gp, StartsWithTheQuickestOfAFewPointsOnceThreeTrialsHaveEnded) {
    const std::vector<double> unaware = seconds_of_trials(std::nullopt, 1000, 4);
    const std::vector<double> aware = seconds_of_trials(250, 1000, 4);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(aware[i], unaware[i]);
    EXPECT_LT(aware[3], unaware[3]);
}

TEST(Gp, IgnoresTheSecondsOfTrialsWhereTheirNumberEndsTheStudy) {
    EXPECT_EQ(seconds_of_trials(1e6, 25, 25), seconds_of_trials(std::nullopt, 25, 25));
    EXPECT_EQ(seconds_of_trials(1e6, 25, 25, TrialState::failed),
              seconds_of_trials(std::nullopt, 25, 25, TrialState::failed));
}

}  // namespace
}  // namespace hpo
