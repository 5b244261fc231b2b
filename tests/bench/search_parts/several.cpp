// Runs one sampler on one problem with several objectives or constraints; tests/bench/search starts it.
//
//     bench_several SAMPLER PROBLEM TRIALS SEEDS      a line of JSON a seed: the regret after 25, 50, 100, ... trials
//     bench_several                                   names of samplers and problems
//     bench_several values PROBLEM                    answers lines of coordinates in the cube with losses and
//                                                     violations, for samplers of others
//     bench_several regret PROBLEM                    reads the same lines and answers with the regret after each
//
// A regret is the share of the best hypervolume that the front misses; with one objective, of the way from the
// reference to the minimum. Only trials that keep the constraints count.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <numbers>
#include <sstream>
#include <string_view>

#include "hpo/random.hpp"
#include "hpo/standing.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/sampling/registry.hpp"

namespace {

using namespace hpo;
using std::numbers::pi;

struct Values {
    std::vector<double> losses, violations;  // violations above 0 break a constraint
};

struct Several {
    std::string name;
    std::size_t dimensions;
    std::vector<double> reference;
    std::function<Values(const std::vector<double>&)> function;  // of a point in the cube
    double best = 0;                                             // hypervolume; 0: found by many random points
};

double g_of_zdt(const std::vector<double>& x) {
    double sum = 0;
    for (std::size_t d = 1; d < x.size(); ++d) sum += std::abs(x[d] - 0.3);
    return 1 + 9 * sum / static_cast<double>(x.size() - 1);
}

double squares(const std::vector<double>& x, std::size_t from) {
    double sum = 0;
    for (std::size_t d = from; d < x.size(); ++d) sum += (x[d] - 0.4) * (x[d] - 0.4);
    return sum;
}

double ackley(const std::vector<double>& x) {
    double square = 0, waves = 0;
    const auto n = static_cast<double>(x.size());
    for (const double v : x) square += v * v / n, waves += std::cos(2 * pi * v) / n;
    return -20 * std::exp(-0.2 * std::sqrt(square)) - std::exp(waves) + 20 + std::numbers::e;
}

/// Zitzler, Deb, Thiele (2000), its optimum moved into the cube; Deb, Thiele, Laumanns, Zitzler (2002); Binh and Korn
/// (1997); Srinivas and Deb (1994); Gardner and others (2014); Eriksson and Poloczek (2021); and a network's loss
/// against its size.
std::vector<Several> several_problems() {
    return {
        {"zdt1",
         5,
         {1.2, 1.2},
         [](const auto& x) {
             const double g = g_of_zdt(x);
             return Values{{x[0], g * (1 - std::sqrt(x[0] / g))}, {}};
         },
         1.44 - 1.0 / 3},
        {"zdt2",
         5,
         {1.2, 1.2},
         [](const auto& x) {
             const double g = g_of_zdt(x);
             return Values{{x[0], g * (1 - x[0] / g * x[0] / g)}, {}};
         },
         1.44 - 2.0 / 3},
        {"dtlz2",
         5,
         {1.2, 1.2},
         [](const auto& x) {
             const double g = 1 + squares(x, 1), a = x[0] * pi / 2;
             return Values{{g * std::cos(a), g * std::sin(a)}, {}};
         },
         1.44 - pi / 4},
        {"dtlz2_3",
         6,
         {1.2, 1.2, 1.2},
         [](const auto& x) {
             const double g = 1 + squares(x, 2), a = x[0] * pi / 2, b = x[1] * pi / 2;
             return Values{{g * std::cos(a) * std::cos(b), g * std::cos(a) * std::sin(b), g * std::sin(a)}, {}};
         },
         1.728 - pi / 6},
        {"network",
         4,
         {1.0, 8.0},
         [](const auto& x) {  // loss and logarithm of parameters, of width, depth, learning rate, dropout
             const double width = std::pow(2, 3 + 8 * x[0]), depth = 1 + std::floor(5.999 * x[1]);
             const double size = std::log10(784 * width + (depth - 1) * width * width + 10 * width);
             const double lr = std::pow(x[2] - 0.7 + 0.03 * depth, 2), drop = std::pow(x[3] - 0.1 * (size - 3), 2);
             return Values{{0.3 + 3 * lr + 0.5 * drop + 0.6 * std::exp(-(size - 3.5)) + 0.02 * depth, size}, {}};
         }},
        {"bnh",
         2,
         {140, 50},
         [](const auto& u) {
             const double x = 5 * u[0], y = 3 * u[1];
             return Values{{4 * x * x + 4 * y * y, (x - 5) * (x - 5) + (y - 5) * (y - 5)},
                           {((x - 5) * (x - 5) + y * y) / 25 - 1, 1 - ((x - 8) * (x - 8) + (y + 3) * (y + 3)) / 7.7}};
         }},
        {"srn",
         2,
         {250, 50},
         [](const auto& u) {
             const double x = 40 * u[0] - 20, y = 40 * u[1] - 20;
             return Values{{2 + (x - 2) * (x - 2) + (y - 1) * (y - 1), 9 * x - (y - 1) * (y - 1)},
                           {(x * x + y * y) / 225 - 1, (x - 3 * y + 10) / 10}};
         }},
        {"gardner",
         2,
         {1.0},
         [](const auto& u) {
             const double x = 6 * u[0], y = 6 * u[1];
             return Values{{std::sin(x) + y}, {(std::sin(x) * std::sin(y) + 0.95) / 0.95}};
         }},
        {"ackley_ball",
         5,
         {20.0},
         [](const auto& u) {
             std::vector<double> x;
             double sum = 0, square = 0;
             for (const double v : u) x.push_back(15 * v - 5), sum += x.back(), square += x.back() * x.back();
             return Values{{ackley(x)}, {sum / 5, (std::sqrt(square) - 5) / 5}};
         },
         20.0},
        {"network_small",
         4,
         {1.0},
         [](const auto& x) {  // the least loss with at most 100,000 parameters
             const double width = std::pow(2, 3 + 8 * x[0]), depth = 1 + std::floor(5.999 * x[1]);
             const double size = std::log10(784 * width + (depth - 1) * width * width + 10 * width);
             const double lr = std::pow(x[2] - 0.7 + 0.03 * depth, 2), drop = std::pow(x[3] - 0.1 * (size - 3), 2);
             return Values{{0.3 + 3 * lr + 0.5 * drop + 0.6 * std::exp(-(size - 3.5)) + 0.02 * depth},
                           {std::pow(10, size - 5) - 1}};
         }},
    };
}

/// The hypervolume of the points so far, one more at a time.
class Front {
   public:
    explicit Front(const Several& problem) : problem_(problem) {}

    double regret_after(const Values& values) {
        const bool keeps =
            std::all_of(values.violations.begin(), values.violations.end(), [](double v) { return v <= 0; });
        if (keeps) {
            std::vector<Standing> all;
            points_.push_back(values.losses);
            for (const auto& point : points_) all.push_back({point});
            std::vector<std::vector<double>> front;
            for (const std::size_t i : pareto_front(all)) front.push_back(points_[i]);
            points_ = std::move(front);
        }
        return std::max(0.0, 1 - hypervolume(points_, problem_.reference) / problem_.best);
    }

   private:
    const Several& problem_;
    std::vector<std::vector<double>> points_;
};

/// Returns the best value of many random points, half of them drawn nearer and nearer to the best ones.
double best_of_random(const Several& problem) {
    std::vector<std::pair<Standing, std::vector<double>>> good;
    std::uint64_t element = 0;
    const auto uniform = [&] { return draw_unit(7, Purpose::synthetic, 1, element++); };
    for (int round = 0; round < 12; ++round) {
        for (int i = 0; i < 6000; ++i) {
            std::vector<double> x(problem.dimensions);
            const double reach = std::pow(0.5, round);
            if (good.empty() || i % 6 == 0)
                for (double& v : x) v = uniform();
            else
                x = good[static_cast<std::size_t>(uniform() * static_cast<double>(good.size()))].second;
            if (!good.empty() && i % 6 != 0)
                for (double& v : x) v = std::clamp(v + reach * (uniform() - 0.5), 0.0, 1.0);
            const Values values = problem.function(x);
            Standing standing{values.losses};
            for (const double v : values.violations) standing.violation += std::max(0.0, v);
            if (standing.feasible()) good.emplace_back(std::move(standing), std::move(x));
        }
        std::vector<Standing> standings;
        for (const auto& one : good) standings.push_back(one.first);
        std::vector<std::pair<Standing, std::vector<double>>> kept;
        const auto best = pareto_front(standings);
        constexpr std::size_t most = 400;  // evenly along the front
        for (std::size_t i = 0; i < std::min(best.size(), most); ++i)
            kept.push_back(good[best[best.size() <= most ? i : i * best.size() / most]]);
        good = std::move(kept);
    }
    std::vector<std::vector<double>> losses;
    for (const auto& [standing, x] : good) losses.push_back(standing.losses);
    return hypervolume(losses, problem.reference);
}

Several problem_named(std::string_view name) {
    for (Several& problem : several_problems())
        if (problem.name == name) {
            Several found = problem;
            if (found.best == 0) found.best = best_of_random(found);
            return found;
        }
    throw Fatal("no problem " + std::string(name));
}

void search_front(const Several& problem, const std::string& sampler, std::uint64_t seed, std::int64_t trials) {
    Study study;
    study.seed = seed;
    study.sampler.type = sampler;
    study.budget.trials = trials;
    study.policy.scaled = false;
    const Values sample = problem.function(std::vector<double>(problem.dimensions, 0.5));
    study.objective = {"f0", Direction::minimize, Objective::At::best, {}, {}};
    for (std::size_t m = 1; m < sample.losses.size(); ++m) study.objective.further.push_back({"f" + std::to_string(m)});
    for (std::size_t c = 0; c < sample.violations.size(); ++c)
        study.objective.constraints.push_back({"c" + std::to_string(c), {}, 0.0});
    for (std::size_t d = 0; d < problem.dimensions; ++d)
        study.space.push_back({"x" + std::to_string(d), Kind::real, 0, 1, {}, false, {}, {}, Role::none});
    auto proposer = Proposer::make(study);
    if (!proposer) throw Fatal(proposer.error().message);
    Front front(problem);
    std::string regrets;
    const std::clock_t begin = std::clock();
    for (std::int64_t number = 1; number <= trials; ++number) {
        const auto proposal = proposer->propose(number);
        if (!proposal) throw Fatal("no proposal");
        TrialRecord trial;
        trial.number = number;
        trial.point = proposal->point;
        trial.params = proposal->params;
        proposer->proposed(trial);
        const Values values = problem.function(trial.point);
        Report report;
        report.step = 1;
        for (std::size_t m = 0; m < values.losses.size(); ++m)
            report.metrics["f" + std::to_string(m)] = values.losses[m];
        for (std::size_t c = 0; c < values.violations.size(); ++c)
            report.metrics["c" + std::to_string(c)] = values.violations[c];
        trial.state = TrialState::complete;
        trial.value = values.losses[0];
        trial.best_step = 1;
        trial.curve.push_back(std::move(report));
        proposer->tell(trial);
        const double regret = front.regret_after(values);
        const bool shown =
            number == trials || (number >= 25 && number % 25 == 0 && (number / 25 & (number / 25 - 1)) == 0);
        if (shown) regrets += (regrets.empty() ? "\"" : ", \"") + std::to_string(number) + "\": " + to_text(regret);
    }
    std::printf("{\"seed\": %llu, \"regret\": {%s}, \"mean_ms\": %.2f}\n", static_cast<unsigned long long>(seed),
                regrets.c_str(),
                1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC / static_cast<double>(trials));
    std::fflush(stdout);
}

void answer_lines(const Several& problem, bool regrets) {
    Front front(problem);
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::vector<double> x;
        for (double v; words >> v;) x.push_back(v);
        const Values values = problem.function(x);
        if (regrets) {
            std::printf("%.9g\n", front.regret_after(values));
        } else {
            std::string text;
            for (const auto* list : {&values.losses, &values.violations}) {
                for (const double v : *list) text += to_text(v) + " ";
                text += list == &values.losses ? "| " : "";
            }
            std::printf("%s\n", text.c_str());
        }
        std::fflush(stdout);
    }
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const std::string_view first = count > 1 ? arguments[1] : "";
        if (count == 1) {
            std::string line = "{\"samplers\": [\"auto\", \"tpe\", \"random\"], \"problems\": [";
            for (const Several& problem : several_problems())
                line += (line.back() == '[' ? "\"" : ", \"") + problem.name + "\"";
            std::printf("%s]}\n", line.c_str());
            return 0;
        }
        if (count == 3 && (first == "values" || first == "regret"))
            return answer_lines(problem_named(arguments[2]), first == "regret"), 0;
        if (count != 5) throw Fatal("bench_several SAMPLER PROBLEM TRIALS SEEDS");
        const Several problem = problem_named(arguments[2]);
        for (std::uint64_t seed = 1; seed <= std::strtoull(arguments[4], nullptr, 10); ++seed)
            search_front(problem, std::string(first), seed, std::atoll(arguments[3]));
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_several: %s\n", failure.what());
    }
    return 1;
}
