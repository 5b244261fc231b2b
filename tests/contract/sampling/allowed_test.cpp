// The contract of every sampler in a space of which only a part is allowed: conditions between parameters (`where`),
// and ranges that depend on other parameters.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/sampling/registry.hpp"

namespace hpo {
namespace {

Dimension ranging(std::string name, double low, double high, Kind kind = Kind::real, bool log = false) {
    Dimension d;
    d.name = std::move(name);
    d.kind = kind;
    d.low = low;
    d.high = high;
    d.log = log;
    return d;
}

double number_at(const Params& params, const std::string& name) {
    const auto found = params.find(name);
    return found == params.end() ? NAN : number_or(found->second, NAN);
}

/// Layers and widths whose product is limited, and a momentum that one optimizer alone has and that must be large.
Study limited() {
    Study study;
    Dimension optimizer;
    optimizer.name = "optimizer";
    optimizer.kind = Kind::categorical;
    optimizer.choices = {std::string("adam"), std::string("sgd"), std::string("lion")};
    Dimension momentum = ranging("momentum", 0, 0.99);
    momentum.when = {{"optimizer", {std::string("sgd")}}};
    study.space = {ranging("layers", 1, 8, Kind::integer), ranging("width", 16, 512, Kind::integer, true),
                   ranging("lr", 1e-5, 1e-1, Kind::real, true), optimizer, momentum};
    study.where = {"layers * width <= 512", "optimizer != 'lion' or lr < 0.001", "momentum > 0.5"};
    return study;
}

bool keeps_limits(const Params& params) {
    const bool lion = params.at("optimizer") == Value(std::string("lion"));
    return number_at(params, "layers") * number_at(params, "width") <= 512 &&
           (!lion || number_at(params, "lr") < 0.001) && !(number_at(params, "momentum") <= 0.5);
}

/// A least rate below the rate, heads that divide nothing but are no more than half of the width, and a stepped range
/// whose lower end moves and which may be empty.
Study nested() {
    Study study;
    Dimension least = ranging("min_lr", 1e-6, 1e-1, Kind::real, true);
    least.high_of = "lr";
    Dimension heads = ranging("heads", 1, 16, Kind::integer);
    heads.high_of = "width / 2";
    Dimension last = ranging("last", 2, 24);
    last.step = 0.5;
    last.low_of = "width - 8";
    study.space = {least, heads, ranging("lr", 1e-4, 1e-1, Kind::real, true), ranging("width", 2, 32, Kind::integer),
                   last};
    study.space[4].low = -6;
    return study;
}

bool is_nested(const Params& params) {
    const double width = number_at(params, "width"), last = number_at(params, "last");
    const double steps = (last - (width - 8)) / 0.5;
    return number_at(params, "min_lr") <= number_at(params, "lr") && number_at(params, "heads") >= 1 &&
           number_at(params, "heads") <= width / 2 && last >= width - 8 && last <= 24 && steps == std::round(steps);
}

/// About 1 % of the volume: a band along a diagonal.
Study narrow() {
    Study study;
    study.space = {ranging("x", 0, 1), ranging("y", 0, 1), ranging("z", 1, 100, Kind::real, true)};
    study.where = {"abs(x - y) < 0.01", "z > 10 * x"};
    return study;
}

bool is_narrow(const Params& params) {
    return std::abs(number_at(params, "x") - number_at(params, "y")) < 0.01 &&
           number_at(params, "z") > 10 * number_at(params, "x");
}

class EverySamplerOfAPart : public ::testing::TestWithParam<std::string> {
   protected:
    static Study with_sampler(Study study, std::int64_t trials = 64) {
        study.sampler = {GetParam(), {}};
        study.objective = {"loss", Direction::minimize};
        study.budget.trials = trials;
        return study;
    }
};

std::vector<std::string> sampler_names() {
    std::vector<std::string> all;
    for (const PartOptions& part : sampler_vocabulary()) all.emplace_back(part.name);
    return all;
}
INSTANTIATE_TEST_SUITE_P(Sampler, EverySamplerOfAPart, ::testing::ValuesIn(sampler_names()),
                         [](const auto& suite) { return suite.param; });

using LossOf = std::function<double(const Params&)>;

/// Runs a sequential study and returns its trials.
std::vector<TrialRecord> searched(const Study& study, std::int64_t trials, const LossOf& loss) {
    auto made = Proposer::make(study);
    EXPECT_TRUE(made) << made.error().message;
    if (!made) return {};
    std::vector<TrialRecord> records;
    for (std::int64_t n = 1; n <= trials; ++n) {
        auto proposal = made->propose(n);
        if (!proposal) break;
        TrialRecord trial;
        trial.number = n;
        trial.point = proposal->point;
        trial.params = proposal->params;
        made->proposed(trial);
        trial.state = n % 9 == 0 ? TrialState::failed : TrialState::complete;
        if (n % 9 != 0) trial.value = loss(trial.params);
        made->tell(trial);
        records.push_back(trial);
    }
    return records;
}

double loss_of_rate(const Params& params) { return std::abs(std::log10(number_at(params, "lr")) + 2); }

TEST_P(EverySamplerOfAPart, ProposesOnlyWhatTheConditionsAllow) {
    const Study study = with_sampler(limited());
    const auto trials = searched(study, 40, loss_of_rate);
    EXPECT_EQ(trials.size(), 40u);
    std::set<Params> different;
    for (const TrialRecord& trial : trials) {
        EXPECT_TRUE(keeps_limits(trial.params)) << trial.number;
        different.insert(trial.params);
    }
    EXPECT_EQ(different.size(), trials.size());
}

TEST_P(EverySamplerOfAPart, ProposesOnlyWhatOtherParametersLeaveOfARange) {
    const Study study = with_sampler(nested());
    const CubeMap map = *CubeMap::make(study.space, study.policy, {});
    const auto trials = searched(study, 40, loss_of_rate);
    EXPECT_EQ(trials.size(), 40u);
    for (const TrialRecord& trial : trials) {
        EXPECT_TRUE(is_nested(trial.params)) << trial.number;
        EXPECT_EQ(map.params(*map.point(trial.params)).at("heads"), trial.params.at("heads"));
    }
}

TEST_P(EverySamplerOfAPart, FindsItsWayWhereOnePercentIsAllowed) {
    Study study = with_sampler(narrow());
    if (GetParam() == "grid") study.sampler.options = {{"points", std::int64_t{30}}};
    const auto trials = searched(study, 40, [](const Params& p) { return std::abs(number_at(p, "x") - 0.3); });
    ASSERT_EQ(trials.size(), 40u);
    double least = 1, greatest = 0;
    for (const TrialRecord& trial : trials) {
        EXPECT_TRUE(is_narrow(trial.params)) << trial.number;
        least = std::min(least, number_at(trial.params, "x"));
        greatest = std::max(greatest, number_at(trial.params, "x"));
    }
    EXPECT_GT(greatest - least, 0.4) << "all of what is allowed is looked at";
}

TEST_P(EverySamplerOfAPart, FindsItsWayWhereNextToNothingIsAllowed) {
    if (GetParam() == "grid") GTEST_SKIP() << "none of its points is allowed, which it says";
    Study study = with_sampler(narrow());
    study.where = {"abs(x - y) < 0.00005", "z > 30"};
    for (const TrialRecord& trial : searched(study, 20, [](const Params& p) { return number_at(p, "x"); })) {
        EXPECT_LT(std::abs(number_at(trial.params, "x") - number_at(trial.params, "y")), 0.00005);
        EXPECT_GT(number_at(trial.params, "z"), 30);
    }
}

TEST_P(EverySamplerOfAPart, ProposesTheSameAfterAReplay) {
    for (const Study& part : {limited(), nested()}) {
        const Study study = with_sampler(part);
        const auto trials = searched(study, 25, loss_of_rate);
        Proposer resumed = *Proposer::make(study);
        for (std::size_t i = 0; i < 24; ++i) {
            resumed.proposed(trials[i]);
            resumed.tell(trials[i]);
        }
        EXPECT_EQ(resumed.propose(25)->params, trials[24].params);
    }
}

TEST_P(EverySamplerOfAPart, TriesTheConfigurationsThatAreWantedFirst) {
    Study study = with_sampler(nested());
    study.start = {{{"min_lr", 0.05}}, {{"width", std::int64_t{32}}, {"heads", std::int64_t{16}}}};
    const auto trials = searched(study, 4, loss_of_rate);
    ASSERT_EQ(trials.size(), 4u);
    EXPECT_EQ(trials[0].params.at("min_lr"), Value(0.05));
    EXPECT_EQ(trials[1].params.at("heads"), Value(std::int64_t{16}));
    for (const TrialRecord& trial : trials) EXPECT_TRUE(is_nested(trial.params));
}

TEST_P(EverySamplerOfAPart, EndsWhenAllOfASmallPartWasTried) {
    Study study = with_sampler({});
    study.space = {ranging("a", 1, 6, Kind::integer), ranging("b", 1, 6, Kind::integer),
                   ranging("c", 1, 6, Kind::integer)};
    study.space[2].high_of = "a";
    study.where = {"a * b == 6"};
    // (1, 6), (2, 3), (3, 2), (6, 1), with as many values of c as a has units
    EXPECT_EQ(searched(study, 30, [](const Params&) { return 1.0; }).size(), 12u);
}

// The best point lies at a corner of the allowed part, where the model would rather leave it.
TEST_P(EverySamplerOfAPart, SearchesTheBorderOfWhatIsAllowed) {
    if (GetParam() == "grid") GTEST_SKIP() << "it learns nothing";
    Study study = with_sampler({}, 100);
    study.space = {ranging("x", 0, 1), ranging("y", 0, 1)};
    study.where = {"x + 2 * y <= 1"};
    const auto loss = [](const Params& p) { return std::hypot(number_at(p, "x") - 1, number_at(p, "y") - 0.4); };
    double least = INFINITY;
    for (const TrialRecord& trial : searched(study, 60, loss)) {
        EXPECT_LE(number_at(trial.params, "x") + 2 * number_at(trial.params, "y"), 1 + 1e-9);
        if (trial.value) least = std::min(least, *trial.value);
    }
    // The nearest allowed point is (0.84, 0.08): at a distance of 0.8 / sqrt(5).
    const bool learns = GetParam() == "gp" || GetParam() == "auto";
    EXPECT_LT(least, 0.8 / std::sqrt(5) + (learns ? 0.01 : 0.1));
}

TEST_P(EverySamplerOfAPart, KnowsThePartWithSeveralObjectives) {
    Study study = with_sampler(limited());
    study.objective.further = {{"latency", Direction::minimize}};
    auto made = Proposer::make(study);
    if (!made) GTEST_SKIP() << made.error().message;
    for (std::int64_t n = 1; n <= 20; ++n) {
        const auto proposal = made->propose(n);
        ASSERT_TRUE(proposal);
        EXPECT_TRUE(keeps_limits(proposal->params)) << n;
        TrialRecord trial;
        trial.number = n;
        trial.point = proposal->point;
        trial.params = proposal->params;
        made->proposed(trial);
        trial.state = TrialState::complete;
        trial.best_step = 1;
        trial.value = loss_of_rate(trial.params);
        trial.curve = {{1, {{"loss", *trial.value}, {"latency", number_at(trial.params, "width")}}}};
        made->tell(trial);
    }
}

}  // namespace
}  // namespace hpo
