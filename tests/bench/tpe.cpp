// The native side of the sampler benchmark (tpe.py runs both and prints the table).
//
//     bench_tpe time             milliseconds per suggestion in five dimensions after 1,000, 3,000 and 10,000 trials
//     bench_tpe regret TRIALS    median regret over 21 seeds
//
// Prints one JSON line.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>

#include "hpo/random.hpp"
#include "orchestrator/sampling/proposer.hpp"

namespace {

using namespace hpo;

struct Problem {
    const char* name;
    int dimensions;
    std::function<double(const std::vector<double>&)> regret;  ///< the regret of a point of the unit cube
};

double hartmann(const std::vector<double>& x) {
    constexpr double a[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
    constexpr double p[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                {2329, 4135, 8307, 3736, 1004, 9991},
                                {2348, 1451, 3522, 2883, 3047, 6650},
                                {4047, 8828, 8732, 5743, 1091, 381}};
    constexpr double weight[4] = {1, 1.2, 3, 3.2};
    double sum = 3.32237;
    for (int i = 0; i < 4; ++i) {
        double exponent = 0;
        for (std::size_t j = 0; j < 6; ++j) exponent += a[i][j] * std::pow(x[j] - 1e-4 * p[i][j], 2);
        sum -= weight[i] * std::exp(-exponent);
    }
    return sum;
}

const Problem problems[] = {
    {"sphere", 5,
     [](const std::vector<double>& x) {
         double sum = 0;
         for (std::size_t i = 0; i < 5; ++i) sum += std::pow(x[i] - 0.2 - 0.13 * static_cast<double>(i), 2);
         return sum;
     }},
    {"ackley", 5,
     [](const std::vector<double>& x) {
         double squares = 0, waves = 0;
         for (std::size_t i = 0; i < 5; ++i) {
             const double d = 10 * (x[i] - 0.3 - 0.1 * static_cast<double>(i));
             squares += d * d / 5;
             waves += std::cos(2 * std::numbers::pi * d) / 5;
         }
         return 20 + std::numbers::e - 20 * std::exp(-0.2 * std::sqrt(squares)) - std::exp(waves);
     }},
    {"branin", 2,
     [](const std::vector<double>& u) {
         const double pi = std::numbers::pi, x = 15 * u[0] - 5, y = 15 * u[1];
         const double t = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
         return t * t + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10 - 0.397887;
     }},
    {"hartmann", 6, hartmann},
};

Study study_of(const Problem& problem, std::uint64_t seed) {
    Study study;
    study.seed = seed;
    study.sampler.type = "tpe";
    study.objective.direction = Direction::minimize;
    for (int i = 0; i < problem.dimensions; ++i) {
        Dimension d;
        d.name = "x" + std::to_string(i);
        study.space.push_back(d);
    }
    return study;
}

Proposer proposer_of(const Study& study) {
    auto made = Proposer::make(study);
    if (!made) throw Fatal(made.error().message);
    return *std::move(made);
}

double finish(Proposer& proposer, std::int64_t number, const Proposal& proposal, const Problem& problem) {
    TrialRecord trial;
    trial.number = number;
    trial.point = proposal.point;
    trial.params = proposal.params;
    proposer.proposed(trial);
    trial.state = TrialState::complete;
    trial.value = problem.regret(trial.point);
    proposer.tell(trial);
    return *trial.value;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

void time_suggestions() {
    const Problem& problem = problems[0];
    Proposer proposer = proposer_of(study_of(problem, 1));
    std::string line;
    for (std::int64_t n = 1; n <= 10'000; ++n) {
        Proposal proposal;
        for (std::uint64_t d = 0; d < 5; ++d) {
            proposal.point.push_back(draw_unit(1, Purpose::synthetic, static_cast<std::uint64_t>(n), d));
            proposal.params["x" + std::to_string(d)] = proposal.point.back();
        }
        finish(proposer, n, proposal, problem);
        if (n != 1000 && n != 3000 && n != 10'000) continue;
        std::vector<double> took;
        for (std::int64_t i = 1; i <= 21; ++i) {
            const auto begin = std::chrono::steady_clock::now();
            if (!proposer.propose(n + i)) throw Fatal("no proposal");
            took.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
        }
        line += (line.empty() ? "\"" : ", \"") + std::to_string(n) + "\": " + to_text(median(took));
    }
    std::printf("{%s}\n", line.c_str());
}

void measure_regret(std::int64_t trials) {
    std::string line;
    for (const Problem& problem : problems) {
        std::vector<double> regrets;
        for (std::uint64_t seed = 1; seed <= 21; ++seed) {
            Proposer proposer = proposer_of(study_of(problem, seed));
            double best = INFINITY;
            for (std::int64_t n = 1; n <= trials; ++n)
                best = std::min(best, finish(proposer, n, *proposer.propose(n), problem));
            regrets.push_back(best);
        }
        line += (line.empty() ? "\"" : ", \"") + std::string(problem.name) + "\": " + to_text(median(regrets));
    }
    std::printf("{%s}\n", line.c_str());
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const std::string_view what = count > 1 ? arguments[1] : "";
        if (what == "time" && count == 2) return time_suggestions(), 0;
        if (what == "regret" && count == 3) return measure_regret(std::atoll(arguments[2])), 0;
        std::fputs("bench_tpe time | bench_tpe regret TRIALS\n", stderr);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
    }
    return 1;
}
