// The contract of every sampler. New samplers in the registry are tested without a change here.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "hpo/random.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "tests/support/mentions.hpp"

namespace hpo {
namespace {

Dimension real(std::string name, double low = 0, double high = 1, bool log = false, Role role = Role::none) {
    Dimension d;
    d.name = std::move(name);
    d.low = low;
    d.high = high;
    d.log = log;
    d.role = role;
    return d;
}

Dimension choice(std::string name, std::vector<Value> choices) {
    Dimension d;
    d.name = std::move(name);
    d.kind = Kind::categorical;
    d.choices = std::move(choices);
    return d;
}

Value word(const char* text) { return std::string(text); }

Space training_space() {
    Dimension batch = real("batch_size", 256, 4096, true, Role::batch_size);
    batch.kind = Kind::integer;
    Dimension depth = real("depth", 1, 6);
    depth.kind = Kind::integer;
    Dimension momentum = real("momentum", 0.8, 0.99);
    momentum.when = {{"optimizer", {word("sgd")}}};
    return {
        batch, real("lr", 3e-4, 3e-2, true, Role::learning_rate), real("dropout", 0.0, 0.6, false, Role::regularizer),
        depth, choice("optimizer", {word("adamw"), word("sgd")}), momentum};
}

using Loss = std::function<double(const Params&)>;

double at(const Params& params, const std::string& name) {
    const auto found = params.find(name);
    return found == params.end() ? 0 : number_or(found->second, 0);
}

double training_loss(const Params& params) {
    const bool sgd = params.at("optimizer") == word("sgd");
    const double off = std::log10(at(params, "lr")) - (sgd ? -1.7 : -2.9);
    return off * off + std::abs(at(params, "dropout") - 0.2) + (sgd ? std::abs(at(params, "momentum") - 0.95) : 0.3) +
           0.05 * std::abs(at(params, "depth") - 3);
}

class EverySampler : public ::testing::TestWithParam<std::string> {
   protected:
    /// Returns the number of repetitions. It is small for Gaussian processes, whose proposals take a hundred times as
    /// long as others.
    [[nodiscard]] static std::int64_t times(std::int64_t quick, std::int64_t modelled) {
        return GetParam() == "gp" || GetParam() == "auto" ? modelled : quick;
    }

    /// Returns the sampler with its options. A grid gets more than a thousand points in larger spaces.
    [[nodiscard]] static PartSpec spec(const Space& space) {
        if (GetParam() != "grid") return {GetParam(), {}};
        return {GetParam(), {{"points", std::int64_t{space.size() == 1 ? 60 : space.size() == 2 ? 40 : 4}}}};
    }

    [[nodiscard]] Study study(Space space, std::uint64_t seed = 1, std::int64_t trials = 64) const {
        Study made;
        made.seed = seed;
        made.space = std::move(space);
        made.sampler = spec(made.space);
        made.objective.direction = Direction::minimize;
        made.budget.trials = trials;
        return made;
    }

    /// Runs a sequential study and returns its trials.
    [[nodiscard]] static std::vector<TrialRecord> run(const Study& study, std::int64_t trials, const Loss& loss) {
        Proposer proposer = *Proposer::make(study);
        std::vector<TrialRecord> records;
        for (std::int64_t n = 1; n <= trials; ++n) {
            auto proposal = proposer.propose(n);
            if (!proposal) break;
            TrialRecord trial;
            trial.number = n;
            trial.point = proposal->point;
            trial.params = proposal->params;
            proposer.proposed(trial);
            trial.state = TrialState::complete;
            trial.value = loss(trial.params);
            proposer.tell(trial);
            records.push_back(trial);
        }
        return records;
    }

    [[nodiscard]] static SamplerSetup setup(const Space& space, std::uint64_t seed = 1) {
        SamplerSetup made;
        made.seed = seed;
        made.space = space;
        made.active = [map = *CubeMap::make(space, {}, {})](const Point& point) { return map.active(point); };
        return made;
    }
};

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const PartOptions& part : sampler_vocabulary()) all.emplace_back(part.name);
    return all;
}
INSTANTIATE_TEST_SUITE_P(Sampler, EverySampler, ::testing::ValuesIn(names()),
                         [](const auto& suite) { return suite.param; });

/// Returns the study with two objectives that conflict along x, and a constraint on y.
Study several_of(Study study) {
    study.objective = {
        "loss", Direction::minimize, Objective::At::best, {{"gain", Direction::maximize}}, {{"y", {}, 0.5}}};
    return study;
}

void tell_of_several(Proposer& proposer, TrialRecord& trial) {
    const double x = at(trial.params, "x"), y = at(trial.params, "y"), off = std::abs(at(trial.params, "z") - 0.7);
    trial.state = TrialState::complete;
    trial.best_step = 1;
    trial.value = x * x + off - 0.2 * y;
    trial.curve = {{1, {{"loss", *trial.value}, {"gain", -(1 - x) * (1 - x) - off + 0.2 * y}, {"y", y}}}};
    proposer.tell(trial);
}

TEST_P(EverySampler, SearchesWithSeveralObjectivesAndConstraintsOrSaysWhichDo) {
    const Study study = several_of(this->study({real("x"), real("y"), real("z")}));
    auto made = Proposer::make(study);
    if (!made) {
        EXPECT_THAT(made.error().message, Mentions("auto, gp", "tpe"));
        return;
    }
    Proposer again = *Proposer::make(study);
    std::vector<Standing> standings;
    for (std::int64_t n = 1; n <= 30; ++n) {
        const auto proposal = made->propose(n), same = again.propose(n);
        ASSERT_TRUE(proposal && same);
        EXPECT_EQ(proposal->params, same->params) << "a proposal follows from what was told";
        TrialRecord trial;
        trial.number = n;
        trial.point = proposal->point;
        trial.params = proposal->params;
        made->proposed(trial), again.proposed(trial);
        if (n % 7 == 0) {
            trial.state = TrialState::failed;
            made->tell(trial), again.tell(trial);
            continue;
        }
        tell_of_several(*made, trial), tell_of_several(again, trial);
        standings.push_back(*standing_of(trial, study.objective));
    }
    EXPECT_TRUE(standings[pareto_front(standings)[0]].feasible());
}

TEST_P(EverySampler, StaysInTheUnitCubeWithOneCoordinateADimension) {
    const Space space = training_space();
    auto sampler = *make_sampler(spec(space), setup(space));
    for (std::int64_t trial = 1; trial <= times(300, 60); ++trial) {
        const Point point = sampler->propose(trial, {}, static_cast<int>(trial % 3));
        ASSERT_EQ(point.size(), space.size());
        for (const double x : point) {
            ASSERT_GE(x, 0);
            ASSERT_LE(x, 1);
        }
        sampler->tell({trial, {point, std::vector<bool>(space.size(), true)}, point[0], 1});
    }
}

TEST_P(EverySampler, DependsOnTheSeedAloneAsLongAsTheResultsAreTheSame) {
    const auto params_of = [](const std::vector<TrialRecord>& trials) {
        std::vector<Params> all;
        for (const TrialRecord& trial : trials) all.push_back(trial.params);
        return all;
    };
    const auto once = params_of(run(study(training_space()), times(60, 30), training_loss));
    EXPECT_EQ(params_of(run(study(training_space()), times(60, 30), training_loss)), once);
    EXPECT_NE(params_of(run(study(training_space(), 2), times(60, 30), training_loss)), once);
}

TEST_P(EverySampler, ProposesTheSameAfterAReplay) {
    const Study definition = study(training_space());
    const auto told = static_cast<std::size_t>(times(60, 37));
    const auto trials = run(definition, static_cast<std::int64_t>(told) + 1, training_loss);
    Proposer resumed = *Proposer::make(definition);
    for (std::size_t i = 0; i < told; ++i) {
        resumed.proposed(trials[i]);
        resumed.tell(trials[i]);
    }
    EXPECT_EQ(resumed.propose(static_cast<std::int64_t>(told) + 1)->point, trials[told].point);
}

TEST_P(EverySampler, ParallelWorkersGetDifferentConfigurations) {
    Proposer proposer = *Proposer::make(study({real("x"), real("y")}));
    std::vector<TrialRecord> waiting;
    for (std::int64_t n = 1; n <= times(80, 40); ++n) {
        const auto proposal = proposer.propose(n);
        ASSERT_TRUE(proposal);
        for (const TrialRecord& other : waiting)
            EXPECT_GT(std::hypot(other.point[0] - proposal->point[0], other.point[1] - proposal->point[1]), 1e-4);
        TrialRecord trial;
        trial.number = n;
        trial.point = proposal->point;
        trial.params = proposal->params;
        proposer.proposed(trial);
        waiting.push_back(trial);
        if (waiting.size() < 8) continue;
        TrialRecord first = waiting.front();  // eight run at once, the oldest ends
        waiting.erase(waiting.begin());
        first.state = TrialState::complete;
        first.value = std::hypot(first.point[0] - 0.4, first.point[1] - 0.6);
        proposer.tell(first);
    }
}

TEST_P(EverySampler, ARetryIsAnotherPoint) {
    const Space space{real("x"), real("y")};
    auto sampler = *make_sampler(spec(space), setup(space));
    for (std::int64_t trial = 1; trial <= 40; ++trial) {
        const Point point = sampler->propose(trial, {}, 0);
        EXPECT_NE(sampler->propose(trial, {}, 1), point);
        sampler->tell({trial, {point, {true, true}}, point[0], 1});
    }
}

TEST_P(EverySampler, ServesOneDimensionAndNone) {
    EXPECT_EQ(run(study({real("x")}), 50, [](const Params& p) { return at(p, "x"); }).size(), 50u);
    EXPECT_EQ(run(study({choice("c", {true})}), 5, [](const Params&) { return 1.0; }).size(), 1u);
    EXPECT_EQ(run(study({}), 5, [](const Params&) { return 1.0; }).size(), 1u);
}

TEST_P(EverySampler, ProposesManyTrialsWithConditionsAndCoversTheSpace) {
    const auto count = static_cast<std::size_t>(times(1000, 60));
    const auto trials =
        run(study(training_space(), 1, 1000), static_cast<std::int64_t>(count), [](const Params&) { return 1.0; });
    ASSERT_EQ(trials.size(), count);
    std::size_t sgd = 0;
    for (const TrialRecord& trial : trials) {
        EXPECT_EQ(trial.params.contains("momentum"), trial.params.at("optimizer") == word("sgd"));
        sgd += trial.params.contains("momentum");
    }
    EXPECT_GT(sgd, count / 20);
    EXPECT_LT(sgd, count - count / 20);
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Returns the medians of a parameter with one optimizer, for batches below 512 and above 2048.
struct Medians {
    double small = 0;
    double large = 0;
};

Medians medians(Study study, const std::string& name, const char* optimizer, bool scaled) {
    study.policy.scaled = scaled;
    std::vector<double> small, large;
    for (study.seed = 1; study.seed <= 60; ++study.seed) {
        Proposer proposer = *Proposer::make(study);
        for (std::int64_t n = 1; n <= 30; ++n) {
            TrialRecord trial;
            trial.number = n;
            Proposal proposal = *proposer.propose(n);
            trial.point = proposal.point;
            trial.params = proposal.params;
            proposer.proposed(trial);
            trial.state = TrialState::complete;
            trial.value = draw_unit(study.seed, Purpose::synthetic, static_cast<std::uint64_t>(n), 0);
            proposer.tell(trial);
            if (trial.params.at("optimizer") != word(optimizer)) continue;
            if (at(trial.params, "batch_size") < 512) small.push_back(at(trial.params, name));
            if (at(trial.params, "batch_size") > 2048) large.push_back(at(trial.params, name));
        }
    }
    return {median(small), median(large)};
}

/// The samplers whose proposals cost microseconds. The policy affects all samplers in the same way, and thousands of
/// proposals are needed to measure its effect.
class AQuickSampler : public EverySampler {};
INSTANTIATE_TEST_SUITE_P(Sampler, AQuickSampler, ::testing::Values("random", "sobol", "tpe"),
                         [](const auto& suite) { return suite.param; });

// All results are equal, so every sampler proposes the same points with and without the policy, and all differences are
// the policy's. The buckets span an octave around batches of 362 and 2896. The declared medians are those of 1024.
TEST_P(AQuickSampler, LearningRatesGrowWithTheRootOfTheBatchForAdamWAndLinearlyForSgd) {
    const Study definition = study(training_space(), 1, 100);
    const auto exponents = [&](const char* optimizer) {
        const Medians off = medians(definition, "lr", optimizer, false),
                      on = medians(definition, "lr", optimizer, true);
        return std::pair{std::log2(on.small / off.small), std::log2(on.large / off.large)};
    };
    const auto [adam_small, adam_large] = exponents("adamw");
    EXPECT_NEAR(adam_small, -0.75, 0.25);
    EXPECT_NEAR(adam_large, 0.75, 0.25);
    const auto [sgd_small, sgd_large] = exponents("sgd");
    EXPECT_NEAR(sgd_small, -1.5, 0.5);
    EXPECT_NEAR(sgd_large, 1.5, 0.5);
}

TEST_P(AQuickSampler, RegularizersLeanTowardsStrongerValuesForLargeBatches) {
    const Study definition = study(training_space(), 1, 100);
    const Medians off = medians(definition, "dropout", "adamw", false),
                  on = medians(definition, "dropout", "adamw", true);
    // The odds (362 / 256)^(1/4) and (2896 / 256)^(1/4) move the medians from 0.3 to 0.313 and to 0.388.
    EXPECT_NEAR(on.small - off.small, 0.013, 0.01);
    EXPECT_NEAR(on.large - off.large, 0.088, 0.03);
}

// ---- samplers that learn

class ALearningSampler : public EverySampler {};
INSTANTIATE_TEST_SUITE_P(Sampler, ALearningSampler, ::testing::Values("auto", "gp", "tpe"),
                         [](const auto& suite) { return suite.param; });

struct Problem {
    const char* name;
    Space space;
    Loss loss;
};

std::vector<Problem> problems() {
    Space five;
    for (int i = 0; i < 5; ++i) five.push_back(real("x" + std::to_string(i)));
    return {
        {"sphere of five dimensions", five,
         [](const Params& p) {
             double sum = 0;
             for (int i = 0; i < 5; ++i) sum += std::pow(at(p, "x" + std::to_string(i)) - 0.2 - 0.13 * i, 2);
             return sum;
         }},
        {"Branin's function",
         {real("a", -5, 10), real("b", 0, 15)},
         [](const Params& p) {
             const double x = at(p, "a"), y = at(p, "b"), pi = std::numbers::pi;
             const double t = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
             return t * t + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10 - 0.397887;
         }},
        {"a training with conditions", training_space(), training_loss},
    };
}

TEST_P(ALearningSampler, ReachesHalfTheRegretOfRandomSearch) {
    for (const Problem& problem : problems()) {
        const auto regret = [&](const std::string& sampler) {
            std::vector<double> best;
            for (std::int64_t seed = 1; seed <= times(15, 3); ++seed) {
                Study definition = study(problem.space, static_cast<std::uint64_t>(seed));
                definition.sampler.type = sampler;
                double least = INFINITY;
                for (const TrialRecord& trial : run(definition, 64, problem.loss))
                    least = std::min(least, *trial.value);
                best.push_back(least);
            }
            return median(best);
        };
        EXPECT_LT(regret(GetParam()), 0.5 * regret("random")) << problem.name;
    }
}

TEST_P(ALearningSampler, SpreadsTheProposalsOfTrialsThatRunAtTheSameTime) {
    double distance[2] = {0, 0};  // to the nearest, without and with knowing of the others
    for (std::int64_t seed = 1; seed <= times(10, 2); ++seed) {
        for (const bool told : {false, true}) {
            auto sampler =
                *make_sampler({GetParam(), {}}, setup({real("x"), real("y")}, static_cast<std::uint64_t>(seed)));
            for (std::int64_t n = 1; n <= 40; ++n) {
                const Point point = sampler->propose(n, {}, 0);
                sampler->tell({n, {point, {true, true}}, std::hypot(point[0] - 0.4, point[1] - 0.6), 1});
            }
            std::vector<Site> pending;
            for (std::int64_t n = 41; n <= 60; ++n) {
                const Point point = sampler->propose(n, told ? pending : std::vector<Site>{}, 0);
                double nearest = 2;
                for (const Site& other : pending)
                    nearest = std::min(nearest, std::hypot(point[0] - other.point[0], point[1] - other.point[1]));
                distance[told] += nearest;
                pending.push_back({point, {true, true}});
            }
        }
    }
    EXPECT_GT(distance[1], 1.2 * distance[0]);
}

TEST_P(ALearningSampler, ReachesMoreOfAParetoFrontThanRandomPoints) {
    const auto volume = [&](const std::string& sampler) {
        std::vector<double> volumes;
        for (std::int64_t seed = 1; seed <= times(9, 2); ++seed) {
            Study study = several_of(this->study({real("x"), real("y"), real("z")}, static_cast<std::uint64_t>(seed)));
            study.sampler.type = sampler;
            auto proposer = Proposer::make(study);
            if (!proposer) return 0.0;
            std::vector<std::vector<double>> points;
            for (std::int64_t n = 1; n <= 40; ++n) {
                const Proposal proposal = *proposer->propose(n);
                TrialRecord trial;
                trial.number = n;
                trial.point = proposal.point;
                trial.params = proposal.params;
                proposer->proposed(trial);
                tell_of_several(*proposer, trial);
                const auto standing = standing_of(trial, study.objective);
                if (standing->feasible()) points.push_back(standing->losses);
            }
            volumes.push_back(hypervolume(points, {1, 1}));
        }
        return median(volumes);
    };
    const double mine = volume(GetParam());
    if (mine == 0) GTEST_SKIP() << "it is for one objective";
    EXPECT_GT(mine, 1.05 * volume("random"));
}

TEST_P(ALearningSampler, AvoidsTheRegionOfFailures) {
    Proposer proposer = *Proposer::make(study({real("x"), real("y")}));
    int failures = 0;
    for (std::int64_t n = 1; n <= 64; ++n) {
        const Proposal proposal = *proposer.propose(n);
        TrialRecord trial;
        trial.number = n;
        trial.point = proposal.point;
        trial.params = proposal.params;
        proposer.proposed(trial);
        const bool fails = proposal.point[0] > 0.5;
        trial.state = fails ? TrialState::diverged : TrialState::complete;
        trial.value = 1 - proposal.point[0];  // the best lies just beside the failures
        proposer.tell(trial);
        failures += n > 24 && fails;
    }
    EXPECT_LT(failures, 20) << "of the last 40";
}

}  // namespace
}  // namespace hpo
