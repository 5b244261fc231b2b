// Preferred values of parameters: the density of the beliefs, and samplers with right and with wrong beliefs.
#include "orchestrator/sampling/beliefs.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "hpo/random.hpp"
#include "orchestrator/sampling/proposer.hpp"

namespace hpo {
namespace {

Space preferring(std::optional<double> x, std::optional<double> spread = {}) {
    Space space{
        {.name = "x", .low = 1e-4, .high = 1, .log = true},
        {.name = "y", .kind = Kind::categorical, .choices = {std::string("a"), std::string("b"), std::string("c")}},
        {.name = "z"}};
    if (x) space[0].prior = *x, space[0].spread = spread;
    return space;
}

Beliefs beliefs_of(const Space& space) {
    const CubeMap map = *CubeMap::make(space, {}, {});
    return Beliefs::of(space, [&](std::size_t d) { return map.preferred(d); });
}

const std::vector<bool> all_active{true, true, true};

TEST(Beliefs, AreADensityOfTheCubeThatIsHighestAtThePreferredValues) {
    Space space = preferring(0.01, 0.2);
    space[1].prior = std::string("b");
    const Beliefs beliefs = beliefs_of(space);
    EXPECT_THAT(beliefs.preferred(3), ::testing::ElementsAre(::testing::DoubleNear(0.5, 1e-9), 0.5, 0.5));
    double mass = 0;
    for (int i = 0; i < 300; ++i)
        for (int c = 0; c < 3; ++c)
            mass += std::exp(beliefs.log_density(Point{(i + 0.5) / 300, (c + 0.5) / 3, 0.1}, all_active)) / 900;
    EXPECT_NEAR(mass, 1, 1e-3);
    const double at = beliefs.log_density(Point{0.5, 0.5, 0.9}, all_active);
    EXPECT_GT(at, beliefs.log_density(Point{0.8, 0.5, 0.9}, all_active));
    EXPECT_GT(at, beliefs.log_density(Point{0.5, 0.1, 0.9}, all_active));
    EXPECT_EQ(at, beliefs.log_density(Point{0.5, 0.5, 0.1}, all_active)) << "z has no preferred value";
    EXPECT_EQ(beliefs.log_density(Point{0.8, 0.1, 0.9}, {false, false, true}), 0) << "inactive ones do not count";
}

TEST(Beliefs, TheirSlopeIsThatOfDifferences) {
    const Beliefs beliefs = beliefs_of(preferring(0.01));
    for (const double x : {0.2, 0.45, 0.5, 0.7}) {
        std::vector<double> slope(3, 1.0);
        beliefs.add_slope(Point{x, 0.5, 0.5}, 2, slope);
        const double difference = (beliefs.log_density(Point{x + 1e-5, 0.5, 0.5}, all_active) -
                                   beliefs.log_density(Point{x - 1e-5, 0.5, 0.5}, all_active)) /
                                  2e-5;
        EXPECT_NEAR(slope[0], 1 + 2 * difference, 1e-3);
        EXPECT_EQ(slope[2], 1);
    }
}

TEST(Beliefs, InUsualValuesAreWeakAndLeavePriorsAndChoicesAlone) {
    const Beliefs usual = Beliefs::in_usual_values(preferring({}), {0.2, 0.9, 0.5}),
                  stronger = beliefs_of(preferring(1.0));
    const auto at = [](const Beliefs& beliefs, double x, double choice) {
        return beliefs.log_density(Point{x, choice, 0.5}, all_active);
    };
    EXPECT_GT(at(usual, 0.2, 0.5), at(usual, 0.4, 0.5));
    EXPECT_GT(at(usual, 0.4, 0.5), at(usual, 1.0, 0.5));
    EXPECT_EQ(at(usual, 0.2, 0.5), at(usual, 0.2, 0.9));
    EXPECT_LT(at(usual, 0.2, 0.5) - at(usual, 0.5, 0.5), at(stronger, 1.0, 0.5) - at(stronger, 0.7, 0.5));
    const Beliefs beside_prior = Beliefs::in_usual_values(preferring(0.01), {0.2, 0.9, 0.5});
    EXPECT_EQ(at(beside_prior, 0.2, 0.5), at(beside_prior, 0.9, 0.5));
}

TEST(Beliefs, DrawsFollowTheDensityAndRuleNothingOut) {
    const Beliefs beliefs = beliefs_of(preferring(1.0));  // the upper bound
    std::uint64_t element = 0;
    int near = 0, far = 0;
    for (int i = 0; i < 2000; ++i) {
        const Point point = beliefs.draw(3, [&] { return draw_unit(1, Purpose::synthetic, 1, element++); });
        ASSERT_TRUE(point[0] >= 0 && point[0] <= 1);
        near += point[0] > 0.8;
        far += point[0] < 0.5;
    }
    EXPECT_NEAR(near, 2000 * (0.8 * 0.954 + 0.2 * 0.2), 80);
    EXPECT_NEAR(far, 2000 * 0.2 * 0.5, 50);
}

/// Returns the least loss after a number of trials, as the median over seeds.
double regret_after(const std::string& sampler, const Space& space, std::int64_t trials) {
    std::vector<double> regrets;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        Study study;
        study.seed = seed;
        study.space = space;
        study.sampler.type = sampler;
        study.objective.direction = Direction::minimize;
        study.budget.trials = trials;
        Proposer proposer = *Proposer::make(study);
        double least = INFINITY;
        for (std::int64_t n = 1; n <= trials; ++n) {
            const Proposal proposal = *proposer.propose(n);
            TrialRecord trial;
            trial.number = n;
            trial.point = proposal.point;
            trial.params = proposal.params;
            proposer.proposed(trial);
            trial.state = TrialState::complete;
            const double off = std::log10(number_or(trial.params.at("x"), 0)) + 2;  // best at 0.01
            trial.value = off * off + std::abs(number_or(trial.params.at("z"), 0) - 0.3) +
                          (trial.params.at("y") == Value(std::string("a")) ? 0 : 0.2);
            least = std::min(least, *trial.value);
            proposer.tell(trial);
        }
        regrets.push_back(least);
    }
    std::sort(regrets.begin(), regrets.end());
    return regrets[1];
}

class SamplerWithBeliefs : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Beliefs, SamplerWithBeliefs, ::testing::Values("gp", "tpe"),
                         [](const auto& suite) { return suite.param; });

TEST_P(SamplerWithBeliefs, FindsMoreEarlyWithARightOneAndLosesLittleLateByAWrongOne) {
    const Space none = preferring({}), right = preferring(0.012), wrong = preferring(0.9);
    EXPECT_LT(regret_after(GetParam(), right, 8), regret_after(GetParam(), none, 8));
    EXPECT_LT(regret_after(GetParam(), wrong, 60), 2 * regret_after(GetParam(), none, 60) + 0.02);
}

TEST(PreferredValues, AreTheFirstTrialWhateverTheLargeBatchPolicyWouldMakeOfThem) {
    Study study;
    study.space = {
        {.name = "lr", .low = 1e-5, .high = 1e-1, .log = true, .role = Role::learning_rate},
        {.name = "batch_size", .kind = Kind::integer, .low = 256, .high = 8192, .log = true, .role = Role::batch_size}};
    study.space[0].prior = 3e-4;
    study.space[1].prior = std::int64_t{512};
    study.sampler.type = "gp";
    const Proposal first = *Proposer::make(study)->propose(1);
    EXPECT_NEAR(number_or(first.params.at("lr"), 0), 3e-4, 1e-9);
    EXPECT_EQ(first.params.at("batch_size"), Value(std::int64_t{512}));
}

TEST(PreferredValues, SamplersThatTakeNoNoticeOfThemSayWhichDo) {
    for (const std::string sampler : {"sobol", "grid", "cmaes"}) {
        Study study;
        study.space = preferring(0.01);
        study.sampler.type = sampler;
        const auto made = Proposer::make(study);
        ASSERT_FALSE(made) << sampler;
        EXPECT_THAT(made.error().message, ::testing::HasSubstr("'prior'"));
    }
}

}  // namespace
}  // namespace hpo
