// The gain from several seeds a configuration (`repeats`) in a search whose trials are noisy.
//
//     bench_repeats SEARCHES TRIALS REPEATS NOISE...
//     bench_repeats 100 60 3 0.02 0.1 0.2
//
// Each search has four parameters in the unit cube, TRIALS trainings, and a loss that is the distance from a point plus
// a normal deviate of standard deviation NOISE for each seed. Prints for each noise, with 1 and with REPEATS seeds, the
// mean over the searches of the true loss (without noise) of the configuration that hpo best would name, its standard
// error, and the mean number of configurations tried. SAMPLER=tpe in the environment replaces the default sampler.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>

#include "hpo/random.hpp"
#include "orchestrator/engine/supply.hpp"
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
    double loss = 0;
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
    return {true_loss(ledger.best()->params, study.seed), ledger.configurations()};
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 5) return std::fprintf(stderr, "usage: bench_repeats SEARCHES TRIALS REPEATS NOISE...\n"), 2;
    const int searches = std::atoi(arguments[1]);
    const char* chosen = std::getenv("SAMPLER");
    const std::string sampler = chosen ? chosen : "auto";
    std::printf("NOISE  SEEDS  TRUE LOSS   ERROR  CONFIGURATIONS\n");
    for (int i = 4; i < count; ++i)
        for (const std::int64_t repeats : {std::int64_t{1}, std::int64_t{std::atoll(arguments[3])}}) {
            double sum = 0, squares = 0, configurations = 0;
            for (int seed = 1; seed <= searches; ++seed) {
                const auto study =
                    noisy_study(static_cast<std::uint64_t>(seed), std::atoll(arguments[2]), repeats, sampler);
                const Found found = search(study, std::atof(arguments[i]));
                sum += found.loss, squares += found.loss * found.loss;
                configurations += static_cast<double>(found.configurations);
            }
            const double mean = sum / searches, variance = squares / searches - mean * mean;
            std::printf("%5s  %5lld  %9.4f  %6.4f  %14.1f\n", arguments[i], static_cast<long long>(repeats), mean,
                        std::sqrt(variance / searches), configurations / searches);
            std::fflush(stdout);
        }
}
