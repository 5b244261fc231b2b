#include <gmock/gmock.h>

#include <set>

#include "hpo/open_trials.hpp"
#include "support.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

using ::testing::HasSubstr;

Dimension range(std::string name, double low, double high, Kind kind = Kind::real) {
    Dimension d;
    d.name = std::move(name);
    d.kind = kind;
    d.low = low;
    d.high = high;
    return d;
}

Study grid_study(Space space, Params options = {}) {
    Study study;
    study.space = std::move(space);
    study.sampler = {"grid", std::move(options)};
    return study;
}

/// Returns the parameters of all trials until the grid is exhausted.
std::vector<Params> all_of(const Study& study) {
    std::vector<Params> all;
    for (const TrialRecord& trial : played(study, 10000, [](const TrialRecord&) { return 1; }))
        all.push_back(trial.params);
    return all;
}

std::set<double> values_of(const std::vector<Params>& trials, const std::string& name) {
    std::set<double> values;
    for (const Params& params : trials)
        if (const auto found = params.find(name); found != params.end()) values.insert(number_or(found->second, -1));
    return values;
}

TEST(Grid, TriesEveryCombinationOnceEndsIncluded) {
    Dimension rate = range("rate", 1e-4, 1, Kind::real);
    rate.log = true;
    const auto trials = all_of(grid_study({rate, range("depth", 1, 8, Kind::integer)}));
    EXPECT_EQ(trials.size(), 5u * 8);
    EXPECT_EQ(std::set<Params>(trials.begin(), trials.end()).size(), trials.size());
    EXPECT_THAT(values_of(trials, "depth"), ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
    const auto near = [](double value) { return ::testing::DoubleNear(value, 1e-12); };
    EXPECT_THAT(values_of(trials, "rate"),
                ::testing::ElementsAre(near(1e-4), near(1e-3), near(1e-2), near(0.1), near(1)));
}

TEST(Grid, TakesEveryIntegerOnTheLogarithmsScaleToo) {
    Dimension heads = range("heads", 1, 16, Kind::integer);
    heads.log = true;
    EXPECT_EQ(values_of(all_of(grid_study({heads})), "heads").size(), 16u);
    Dimension half = range("half", 1, 8, Kind::integer);
    half.log = true;
    half.high_of = "(heads + 1) / 2";
    EXPECT_EQ(all_of(grid_study({heads, half})).size(), 2u * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8));
    heads.high = 1000;
    const auto spread = values_of(all_of(grid_study({heads})), "heads");
    EXPECT_EQ(*spread.rbegin(), 1000);
    EXPECT_GT(std::distance(spread.begin(), spread.lower_bound(32)), 6) << "half of the magnitudes";
}

TEST(Grid, ThatBecameLargerTriesTheNewPointsToo) {
    const auto before = played(grid_study({range("depth", 2, 3, Kind::integer), range("width", 5, 6, Kind::integer)}),
                               10, [](const TrialRecord&) { return 1; });
    ASSERT_EQ(before.size(), 4u);
    Proposer proposer =
        *Proposer::make(grid_study({range("depth", 1, 4, Kind::integer), range("width", 5, 6, Kind::integer)}));
    for (const TrialRecord& trial : before) proposer.proposed(trial), proposer.tell(trial);
    std::set<Params> seen;
    TrialRecord next;
    for (next.number = 5;; ++next.number) {
        const auto proposal = proposer.propose(next.number);
        if (!proposal) break;
        next.point = proposal->point;
        next.params = proposal->params;
        proposer.proposed(next);
        EXPECT_TRUE(seen.insert(next.params).second);
    }
    EXPECT_EQ(seen.size(), 4u);
}

TEST(Grid, ALongRangeOfIntegersTakesAsManyValuesAsAContinuum) {
    const auto trials = all_of(grid_study({range("batch", 1, 1000, Kind::integer)}, {{"points", std::int64_t{21}}}));
    EXPECT_EQ(trials.size(), 21u);
    const auto values = values_of(trials, "batch");
    EXPECT_EQ(*values.begin(), 1);
    EXPECT_EQ(*values.rbegin(), 1000);
}

TEST(Grid, ParametersThatAreNotActiveMakeNoCombinations) {
    Dimension optimizer;
    optimizer.name = "optimizer";
    optimizer.kind = Kind::categorical;
    optimizer.choices = {std::string("adam"), std::string("sgd")};
    Dimension momentum = range("momentum", 0, 0.9);
    momentum.when = {{"optimizer", {std::string("sgd")}}};
    const auto trials = all_of(grid_study({momentum, optimizer, range("x", 0, 1)}));
    EXPECT_EQ(trials.size(), 5u + 5 * 5);
}

TEST(Grid, IsAsDeclaredWhateverTheBatchSize) {
    Dimension batch = range("batch_size", 256, 4096, Kind::integer), rate = range("lr", 1e-3, 1e-1);
    batch.role = Role::batch_size;
    rate.role = Role::learning_rate;
    rate.log = true;
    EXPECT_EQ(values_of(all_of(grid_study({batch, rate}, {{"points", std::int64_t{3}}})), "lr").size(), 3u);
}

TEST(Grid, AnEarlyEndHasCoveredTheWholeRange) {
    const auto trials = all_of(grid_study({range("x", 0, 1)}, {{"points", std::int64_t{1000}}}));
    std::set<double> first;
    for (std::size_t i = 0; i < 30; ++i) first.insert(number_or(trials[i].at("x"), -1));
    double before = 0, gap = 0;
    for (const double x : first) {
        gap = std::max(gap, x - before);
        before = x;
    }
    EXPECT_LT(std::max(gap, 1 - before), 0.1);
}

TEST(Grid, SaysWhyItEndsAndHowLargeItIs) {
    const Study study = grid_study({range("x", 0, 1)});
    const Proposer proposer = *Proposer::make(study);
    EXPECT_EQ(proposer.exhausted(), "every point of the grid was tried");
    EXPECT_EQ(proposer.about(), "grid of 5 points");
    Space large(9, range("x", 0, 1));
    for (std::size_t d = 0; d < large.size(); ++d) large[d].name += std::to_string(d);
    const auto refused = Proposer::make(grid_study(large));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, ::testing::AllOf(HasSubstr("more than a million"), HasSubstr("fewer")));
}

TEST(Auto, SaysWhatItChoseAndWhy) {
    Study study;
    study.space = {range("x", 0, 1)};
    const std::string middle = "; the first trial is the middle of the space";
    const auto about = [&] { return Proposer::make(study)->about(); };
    EXPECT_EQ(about(), "auto: gp, as trials are trained to their end and are no more than 400" + middle);
    study.budget.trials = 1000;
    EXPECT_EQ(about(), "auto: gp for the first 400 trials, then tpe, whose proposals take less time" + middle);
    study.budget.trials = most_trials;
    study.budget.seconds = 3600;  // and no number of trials
    EXPECT_THAT(about(), Mentions("gp", "400", "tpe", "second"));
    study.budget.seconds.reset();
    study.budget.trials = 4;
    EXPECT_EQ(about(), "auto: sobol, as 4 trials are too few to learn from" + middle);
    study.budget.trials = 1;
    EXPECT_EQ(about(), "auto: sobol, as 1 trial is too few to learn from" + middle);
    study.budget.trials = 64;
    study.stopping = {{"median", {}}};
    EXPECT_EQ(about(), "auto: tpe, as stopping rules end trials early" + middle);
    study.stopping = {{"divergence", {}}};
    EXPECT_EQ(about(), "auto: gp, as trials are trained to their end and are no more than 400" + middle);
    study.stopping.clear();
    for (int i = 0; i < 200; ++i) study.space.push_back(range("y" + std::to_string(i), 0, 1));
    EXPECT_EQ(about(), "auto: tpe, as 201 parameters are more than gp's 40" + middle);
}

TEST(Auto, TriesTheMiddleOfTheSpaceFirst) {
    Study study;
    study.sampler = {"auto", {}};
    study.space = {range("x", 1, 100), range("n", 0, 9), range("y", 0, 1)};
    study.space[0].log = true;
    study.space[1].kind = Kind::integer;
    study.space[2].prior = Value(0.25);
    study.space.push_back({.name = "optimizer", .kind = Kind::categorical, .choices = {"adamw", "sgd", "lion"}});
    study.space.push_back({.name = "lr", .low = 1e-5, .high = 1e-1, .log = true, .prior = Value(3e-4)});
    for (const std::uint64_t seed : {1, 2}) {
        study.seed = seed;
        Proposer proposer = *Proposer::make(study);
        const auto first = proposer.propose(1);
        ASSERT_TRUE(first);
        EXPECT_NEAR(std::get<double>(first->params.at("x")), 10, 1e-9);
        EXPECT_EQ(std::get<std::int64_t>(first->params.at("n")), 5);
        EXPECT_NEAR(std::get<double>(first->params.at("y")), 0.25, 1e-9);
        EXPECT_EQ(std::get<std::string>(first->params.at("optimizer")), "adamw");
        EXPECT_EQ(first->params.at("lr"), Value(3e-4)) << "to the last digit";
        EXPECT_NE(proposer.propose(2)->point, first->point);
    }
}

TEST(Auto, TriesTheStartOfTheStudyBeforeAndNoMiddleAfterIt) {
    Study study;
    study.sampler = {"auto", {}};
    study.space = {range("x", 0, 1)};
    study.start = {{{"x", 0.125}}};
    const Proposer proposer = *Proposer::make(study);
    EXPECT_EQ(proposer.about(), "auto: gp, as trials are trained to their end and are no more than 400");
}

}  // namespace
}  // namespace hpo
