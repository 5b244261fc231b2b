// The gain from several seeds a configuration (`repeats`) in a search whose trials are noisy.
//
//     bench_repeats SEARCHES TRIALS REPEATS NOISE...
//     bench_repeats 100 60 3 0.02 0.1 0.2
//
// Each search has four parameters in the unit cube, TRIALS trainings, and a loss that is the distance from a point plus
// a normal deviate of standard deviation NOISE for each seed. Prints for each noise, with 1 and with REPEATS seeds, the
// mean over the searches of the true loss (without noise) of the configurations that hpo best and hpo best --by model
// would name, their standard errors, and the same of the best one tried; the mean chance that the model gives its
// choice of being that one, and the share of the searches where it is; and the mean number of configurations tried.
// SAMPLER=tpe in the environment replaces the default sampler.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "hpo/random.hpp"
#include "orchestrator/engine/supply.hpp"
#include "orchestrator/sampling/posterior_ranking.hpp"
#include "orchestrator/store/no_store.hpp"

namespace {

using namespace hpo;

Study noisy_study(std::uint64_t seed, std::int64_t trials, std::int64_t repeats, const std::string& sampler) {
    Study study;
    study.name = "noisy";
    study.seed = seed;
    study.repeats = repeats;
    study.objective = {"loss", Direction::minimize, Objective::At::last};
    for (const char* name : {"a", "b", "c", "d"}) study.space.push_back({.name = name, .low = 0, .high = 1});
    study.worker = ScriptWorker{.command = {"-"}};
    study.budget.trials = trials;
    study.budget.epochs = 1;
    study.sampler.type = sampler;
    study.policy.scaled = false;
    return study;
}

double true_loss(const Params& params, std::uint64_t seed) {
    double squares = 0;
    std::uint64_t dimension = 0;
    for (const auto& [name, value] : params) {
        const double apart = number_or(value, 0) - draw_unit(seed, Purpose::synthetic, 1, dimension++);
        squares += apart * apart;
    }
    return std::sqrt(squares);
}

double normal(std::uint64_t seed, std::int64_t trial) {
    const auto number = static_cast<std::uint64_t>(trial);
    const double radius = std::sqrt(-2 * std::log(1 - draw_unit(seed, Purpose::synthetic, 2, 2 * number)));
    return radius * std::cos(2 * std::numbers::pi * draw_unit(seed, Purpose::synthetic, 2, 2 * number + 1));
}

struct Found {
    double by_value = 0, by_model = 0, best = INFINITY;  ///< true losses
    double chance = 0;                                   ///< by the model, that its choice is the best
    std::int64_t configurations = 0;
};

Found search(const Study& study, double noise) {
    NoStore store;
    Ledger ledger(study, store, *Proposer::make(study), *Rules::make(study));
    ledger.session_started({"bench", 0, ""});
    Supply supply(study, ledger);
    while (const std::int64_t trial = supply.further_trial()) {
        ledger.launch(trial, "", {});
        const double loss = true_loss(ledger.record().trial(trial).params, study.seed);
        ledger.report(trial, {.step = 1, .metrics = {{"loss", loss + noise * normal(study.seed, trial)}}});
    }
    const auto loss_of = [&](const TrialRecord& trial) { return true_loss(trial.params, study.seed); };
    const auto ranking = posterior_ranking(study, ledger.record());
    const Expected& chosen = ranking->configurations.front();
    Found found{.by_value = loss_of(*ledger.best()),
                .by_model = loss_of(ledger.record().trial(chosen.trial)),
                .chance = chosen.chance,
                .configurations = ledger.configurations()};
    for (const TrialRecord& trial : ledger.record().trials) found.best = std::min(found.best, loss_of(trial));
    return found;
}

class Mean {
   public:
    void add(double value) { ++count_, sum_ += value, squares_ += value * value; }
    [[nodiscard]] double mean() const { return sum_ / count_; }
    [[nodiscard]] double error() const {
        return std::sqrt(std::max(0.0, squares_ / count_ - mean() * mean()) / count_);
    }

   private:
    double count_ = 0, sum_ = 0, squares_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    if (count < 5) return std::fprintf(stderr, "usage: bench_repeats SEARCHES TRIALS REPEATS NOISE...\n"), 2;
    const int searches = std::atoi(arguments[1]);
    const char* chosen = std::getenv("SAMPLER");
    const std::string sampler = chosen ? chosen : "auto";
    std::printf("NOISE  SEEDS  BY VALUE   ERROR  BY MODEL   ERROR    BEST  CHANCE  RIGHT  CONFIGURATIONS\n");
    for (int i = 4; i < count; ++i)
        for (const std::int64_t repeats : {std::int64_t{1}, std::int64_t{std::atoll(arguments[3])}}) {
            Mean by_value, by_model, best, chance, right, configurations;
            for (int seed = 1; seed <= searches; ++seed) {
                const auto study =
                    noisy_study(static_cast<std::uint64_t>(seed), std::atoll(arguments[2]), repeats, sampler);
                const Found found = search(study, std::atof(arguments[i]));
                by_value.add(found.by_value), by_model.add(found.by_model), best.add(found.best);
                chance.add(found.chance), right.add(found.by_model == found.best);
                configurations.add(static_cast<double>(found.configurations));
            }
            std::printf("%5s  %5lld  %8.4f  %6.4f  %8.4f  %6.4f  %6.4f  %6.2f  %5.2f  %14.1f\n", arguments[i],
                        static_cast<long long>(repeats), by_value.mean(), by_value.error(), by_model.mean(),
                        by_model.error(), best.mean(), chance.mean(), right.mean(), configurations.mean());
            std::fflush(stdout);
        }
}
