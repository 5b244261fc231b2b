// Runs one sampler on one function of functions.hpp; tests/bench/search starts it and makes the tables.
//
//     bench_samplers SAMPLER FUNCTION TRIALS SEEDS AT_ONCE [right|wrong]
//     bench_samplers                                         names of samplers and functions
//     bench_samplers regrets FUNCTION                        of points on the standard input, for other samplers
//     bench_samplers time SAMPLER TRIALS                     proposals in five dimensions after TRIALS random trials
//     bench_samplers ask SAMPLER TRIALS SEED                 parameters as JSON, a line for each line of the standard
//                                                            input: first the space, then the loss of the last ones
//
// Prints a line of JSON a seed: the normalised regret after 50, 100, 200, ... and all trials, and a proposal's
// milliseconds of processor time, median and most. A regret is the function's value, without noise, where the best
// result was seen. With `right`, each parameter has a prior within a twentieth of its range of the best value that gp
// has found with another seed; with `wrong`, it is half the range away. AT_ONCE trials run at once; the one that began
// first ends first.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>
#include <string_view>

#include "functions.hpp"
#include "hpo/random.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/sampling/registry.hpp"

namespace {

using namespace hpo;
using bench::Problem;

Study study_of(const Space& space, const std::string& sampler, std::uint64_t seed, std::int64_t trials) {
    Study study;
    study.seed = seed;
    study.space = space;
    study.sampler.type = sampler;
    study.objective.direction = Direction::minimize;
    study.budget.trials = trials;
    study.policy.scaled = false;
    return study;
}

/// All parameters as numbers, in the order of the space; 0 where they are not active.
std::vector<double> values_of(const Space& space, const Params& params) {
    std::vector<double> values;
    for (const Dimension& d : space) {
        const auto found = params.find(d.name);
        values.push_back(found == params.end() ? (d.log ? d.low : 0) : number_or(found->second, 0));
    }
    return values;
}

double normal(std::uint64_t seed, std::int64_t trial) {
    const auto u = [&](std::uint64_t element) {
        return draw_unit(seed, Purpose::synthetic, static_cast<std::uint64_t>(trial), element);
    };
    return std::sqrt(-2 * std::log(1 - u(0))) * std::cos(2 * std::numbers::pi * u(1));
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/// Processor time of this process, which other processes of the machine do not lengthen.
class Timer {
   public:
    [[nodiscard]] double milliseconds() const {
        return 1e3 * static_cast<double>(std::clock() - begin_) / CLOCKS_PER_SEC;
    }

   private:
    std::clock_t begin_ = std::clock();
};

Proposer proposer_of(const Study& study, const std::vector<PriorStudy>& earlier = {}) {
    auto made = Proposer::make(study, earlier);
    if (!made) throw Fatal(made.error().message);
    return *std::move(made);
}

/// Returns the point where the best result was seen. Prints a line of JSON unless `quiet`.
Point search(const Problem& problem, const std::string& sampler, std::uint64_t seed, std::int64_t trials,
             std::size_t at_once, bool quiet = false) {
    Proposer proposer = proposer_of(study_of(problem.space, sampler, seed, trials));
    std::deque<TrialRecord> running;
    std::vector<double> took;
    double best_seen = INFINITY, regret = INFINITY;
    Point best_point;
    std::int64_t ended = 0;
    std::string regrets;
    const auto end_first = [&] {
        TrialRecord trial = std::move(running.front());
        running.pop_front();
        const double truth = problem.function(values_of(problem.space, trial.params));
        trial.state = TrialState::complete;
        trial.value = truth + problem.noise * normal(seed, trial.number);
        proposer.tell(trial);
        if (*trial.value < best_seen) {
            best_seen = *trial.value;
            best_point = trial.point;
            regret = std::max(0.0, (truth - problem.minimum) / problem.reference);
        }
        ++ended;
        if ((ended >= 50 && ended % 50 == 0 && (ended / 50 & (ended / 50 - 1)) == 0) || ended == trials)
            regrets += (regrets.empty() ? "\"" : ", \"") + std::to_string(ended) + "\": " + to_text(regret);
    };
    for (std::int64_t number = 1; number <= trials; ++number) {
        const Timer timer;
        auto proposal = proposer.propose(number);
        took.push_back(timer.milliseconds());
        if (!proposal) break;
        TrialRecord trial;
        trial.number = number;
        trial.point = std::move(proposal->point);
        trial.params = std::move(proposal->params);
        proposer.proposed(trial);
        running.push_back(std::move(trial));
        if (running.size() >= at_once) end_first();
    }
    while (!running.empty()) end_first();
    if (quiet) return best_point;
    std::printf("{\"seed\": %llu, \"regret\": {%s}, \"median_ms\": %.3f, \"most_ms\": %.3f}\n",
                static_cast<unsigned long long>(seed), regrets.c_str(), median(took),
                *std::max_element(took.begin(), took.end()));
    return best_point;
}

/// Gives each parameter a prior near the best value, or far from it.
void add_priors(Problem& problem, bool right) {
    constexpr std::uint64_t other_seed = 1000;
    Point point = search(problem, "gp", other_seed, 200, 1, true);
    for (std::size_t d = 0; d < point.size(); ++d) {
        const double off = right ? 0.1 * draw_unit(other_seed, Purpose::synthetic, 0, d) - 0.05 : 0.5;
        const double moved = point[d] + off;
        point[d] = right ? std::clamp(moved, 0.0, 1.0) : std::fmod(moved, 1.0);
    }
    const Params params = proposer_of(study_of(problem.space, "random", 1, 1)).map().params(point);
    for (Dimension& d : problem.space)
        if (const auto found = params.find(d.name); found != params.end()) d.prior = found->second;
}

/// Ten proposals, each after a further trial, behind `trials` uniform ones.
void time_proposals(const std::string& sampler, std::int64_t trials) {
    const std::vector<Problem> all = bench::problems();
    const Problem& problem = *std::find_if(all.begin(), all.end(), [](auto& p) { return p.name == "ackley5"; });
    Proposer proposer = proposer_of(study_of(problem.space, sampler, 1, trials + 10));
    std::vector<double> took;
    for (std::int64_t number = 1; number <= trials + 10; ++number) {
        TrialRecord trial;
        trial.number = number;
        if (number > trials) {
            const Timer timer;
            auto proposal = proposer.propose(number);
            took.push_back(timer.milliseconds());
            if (!proposal) throw Fatal("no proposal");
            trial.point = std::move(proposal->point);
        } else {
            for (std::size_t d = 0; d < problem.space.size(); ++d)
                trial.point.push_back(draw_unit(1, Purpose::synthetic, static_cast<std::uint64_t>(number), d));
        }
        trial.params = proposer.map().params(trial.point);
        proposer.proposed(trial);
        trial.state = TrialState::complete;
        trial.value = problem.function(values_of(problem.space, trial.params));
        proposer.tell(trial);
    }
    std::printf("{\"trials\": %lld, \"first_ms\": %.3f, \"median_ms\": %.3f, \"most_ms\": %.3f}\n",
                static_cast<long long>(trials), took.front(), median({took.begin() + 1, took.end()}),
                *std::max_element(took.begin() + 1, took.end()));
}

/// Prints the space as a line of JSON, then the regret of each line of values, which are in the order of the space.
void answer_points(const Problem& problem) {
    nlohmann::json space = nlohmann::json::array();
    for (const Dimension& d : problem.space) {
        if (d.kind == Kind::categorical)
            space.push_back({{"choices", d.choices.size()}});
        else
            space.push_back({{"low", d.low}, {"high", d.high}, {"log", d.log}, {"integer", d.kind == Kind::integer}});
    }
    std::printf("%s\n", space.dump().c_str());
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        const std::vector<double> x{std::istream_iterator<double>(words), {}};
        if (x.size() != problem.space.size()) throw Fatal("a point has a wrong number of values");
        std::printf("%s\n", to_text((problem.function(x) - problem.minimum) / problem.reference).c_str());
        std::fflush(stdout);
    }
}

/// Reads {"name": {"type": ..., "low": ..., "high": ..., "log": ..., "choices": ..., "when": ...}, ...}.
Space space_of(const nlohmann::ordered_json& given) {
    const auto values = [](const nlohmann::ordered_json& list) {
        std::vector<Value> made;
        for (const auto& value : list)
            made.push_back(value.is_boolean() ? Value(value.get<bool>()) : Value(value.get<std::string>()));
        return made;
    };
    Space space;
    for (const auto& [name, d] : given.items()) {
        Dimension dimension;
        dimension.name = name;
        if (d["type"] == "categorical") {
            dimension.kind = Kind::categorical;
            dimension.choices = values(d["choices"]);
        } else {
            dimension.kind = d["type"] == "int" ? Kind::integer : Kind::real;
            dimension.low = d["low"];
            dimension.high = d["high"];
            dimension.log = d["log"];
        }
        if (d.contains("when"))
            for (const auto& [parameter, any_of] : d["when"].items())
                dimension.when.push_back({parameter, values(any_of)});
        space.push_back(std::move(dimension));
    }
    return space;
}

Value value_of(const nlohmann::ordered_json& given) {
    if (given.is_boolean()) return given.get<bool>();
    if (given.is_string()) return given.get<std::string>();
    return given.is_number_integer() ? Value(given.get<std::int64_t>()) : Value(given.get<double>());
}

/// Reads [[[{"name": value, ...}, loss], ...], ...]: the trials of earlier studies with the same space.
std::vector<PriorStudy> earlier_studies(const Study& study, const nlohmann::ordered_json& given) {
    std::vector<PriorStudy> studies;
    for (const auto& trials : given) {
        StudyRecord record;
        for (const auto& ended : trials) {
            TrialRecord trial;
            trial.number = static_cast<std::int64_t>(record.trials.size()) + 1;
            for (const auto& [name, value] : ended[0].items()) trial.params[name] = value_of(value);
            trial.value = ended[1].get<double>();
            trial.state = TrialState::complete;
            record.trials.push_back(std::move(trial));
        }
        studies.push_back(prior_study(study, study, record));
    }
    return studies;
}

/// Offers a sampler's search over the standard input and output. A `warm` one learns from earlier studies.
void answer_asks(const std::string& sampler, std::int64_t trials, std::uint64_t seed, double seconds, bool warm) {
    std::string line;
    std::getline(std::cin, line);
    Study study = study_of(space_of(nlohmann::ordered_json::parse(line)), sampler, seed, trials);
    if (seconds > 0) study.budget.seconds = seconds;
    std::vector<PriorStudy> earlier;
    if (warm && std::getline(std::cin, line)) earlier = earlier_studies(study, nlohmann::ordered_json::parse(line));
    Proposer proposer = proposer_of(study, earlier);
    double elapsed = 0;
    for (std::int64_t number = 1; number <= trials; ++number) {
        auto proposal = proposer.propose(number);
        if (!proposal) return;
        TrialRecord trial;
        trial.number = number;
        trial.point = std::move(proposal->point);
        trial.params = std::move(proposal->params);
        proposer.proposed(trial);
        nlohmann::json params = nlohmann::json::object();
        for (const auto& [name, value] : trial.params)
            if (const auto* text = std::get_if<std::string>(&value))
                params[name] = *text;
            else
                params[name] = nlohmann::json::parse(to_text(value));
        std::printf("%s\n", params.dump().c_str());
        std::fflush(stdout);
        if (!std::getline(std::cin, line)) return;
        trial.state = TrialState::complete;
        char* rest = nullptr;
        trial.value = std::strtod(line.c_str(), &rest);
        trial.started_at = elapsed;
        trial.ended_at = elapsed += std::strtod(rest, nullptr);
        proposer.elapsed(elapsed);
        proposer.tell(trial);
    }
}

void print_names() {
    nlohmann::json names{{"samplers", {}}, {"functions", {}}, {"held_out", {}}};
    for (const PartOptions& part : sampler_vocabulary()) names["samplers"].push_back(part.name);
    for (const Problem& problem : bench::problems())
        names[problem.held_out ? "held_out" : "functions"].push_back(problem.name);
    std::printf("%s\n", names.dump().c_str());
}

}  // namespace

int main(int count, char** arguments) {
    try {
        const std::string_view first = count > 1 ? arguments[1] : "";
        if (count == 1) return print_names(), 0;
        if (first == "time" && count == 4) return time_proposals(arguments[2], std::atoll(arguments[3])), 0;
        if (first == "ask" && (count == 5 || count == 6))
            return answer_asks(arguments[2], std::atoll(arguments[3]), std::strtoull(arguments[4], nullptr, 10),
                               count == 6 ? std::atof(arguments[5]) : 0, false),
                   0;
        if (first == "ask-warm" && count == 5)
            return answer_asks(arguments[2], std::atoll(arguments[3]), std::strtoull(arguments[4], nullptr, 10), 0,
                               true),
                   0;
        std::vector<Problem> all = bench::problems();
        const auto named = [&](const std::string& name) -> Problem& {
            const auto found = std::find_if(all.begin(), all.end(), [&](auto& p) { return p.name == name; });
            return found != all.end() ? *found : throw Fatal("no function " + name);
        };
        if (first == "regrets" && count == 3) return answer_points(named(arguments[2])), 0;
        const std::string prior = count == 7 ? arguments[6] : "";
        if ((count != 6 && count != 7) || (count == 7 && prior != "right" && prior != "wrong"))
            throw Fatal("bench_samplers SAMPLER FUNCTION TRIALS SEEDS AT_ONCE [right|wrong]");
        Problem& problem = named(arguments[2]);
        if (!prior.empty()) add_priors(problem, prior == "right");
        const auto seeds = static_cast<std::uint64_t>(std::max(1LL, std::atoll(arguments[4])));
        const auto at_once = static_cast<std::size_t>(std::max(1LL, std::atoll(arguments[5])));
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
            search(problem, std::string(first), seed, std::atoll(arguments[3]), at_once);
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_samplers: %s\n", failure.what());
    }
    return 1;
}
