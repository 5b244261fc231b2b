// Measures samplers and stopping rules on learning curves: the regret after a number of steps of training.
// tests/bench/curves starts it and adds Optuna's samplers and pruners.
//
//     bench_curves [--steps N] [--trials N] [--seeds N] [--workers N] [--close] [--only A,B,...] [--drawn] [--laws]
//     [--json] [--said] [FILE...]
//
// A study is played with the real samplers and rules, as an engine with `workers` would: a free worker takes a promoted
// trial before a new one, and each trains one step in turn. For each problem, the files' (see curves_problem.hpp) and
// with --drawn and --laws the drawn families', and each strategy it prints the regret of the best value seen, after a
// tenth, three tenths and all of --steps: its distance from the best of all over the scale of the problem, the median
// of the seeds; then the geometric means. --close: a repeated configuration costs nothing and reports the same values.
// --trials: studies of N trials, which end once no trial goes on; --steps is then the limit on steps. --json: each of
// these as an object on a line of its own, and no means. --said: in place of regrets, the reported cost of stopping
// (analysis/ends.hpp) against the values that the stopped trials would have reached.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>

#include "hpo/event.hpp"
#include "hpo/random.hpp"
#include "orchestrator/analysis/ends.hpp"
#include "orchestrator/sampling/proposer.hpp"
#include "orchestrator/stopping/rules.hpp"
#include "tests/bench/curves_problem.hpp"

namespace {

using namespace hpo;
using curves::Problem;
using curves::Training;
using to_worker::Action;

constexpr double least_regret = 1e-3;  ///< smaller regrets count as this one: tables hold their best exactly

struct Strategy {
    std::string name;
    PartSpec sampler;
    std::vector<PartSpec> rules;
    bool first_three = false;  ///< one step each, then the best three to the end
};

struct Settings {
    std::int64_t steps = 5000;
    std::int64_t trials = 0;  ///< the study's number of trials; 0: as many as the steps allow
    std::uint64_t seeds = 5;
    std::size_t workers = 1;
    bool close = false;
    bool json = false;
};

std::vector<Strategy> strategies() {
    const auto asha = [](std::int64_t grace, std::int64_t factor) {
        return PartSpec{"asha", {{"grace", grace}, {"factor", factor}}};
    };
    return {
        {"random", {"random", {}}, {}},
        {"first-3", {"random", {}}, {}, true},
        {"tpe", {"tpe", {}}, {}},
        {"gp", {"gp", {}}, {}},
        {"median", {"tpe", {}}, {{"median", {{"grace", std::int64_t{3}}}}}},
        {"plateau", {"tpe", {}}, {{"plateau", {}}}},
        {"plateau-asha-1", {"tpe", {}}, {{"plateau", {}}, asha(1, 3)}},
        {"asha-1", {"tpe", {}}, {asha(1, 3)}},
        {"asha-3", {"tpe", {}}, {asha(3, 3)}},
        {"asha-3-random", {"random", {}}, {asha(3, 3)}},
        {"auto", {"auto", {}}, {{"divergence", {}}, {"extrapolation", {}}}},
        {"auto-asha-3", {"auto", {}}, {asha(3, 3)}},
        {"auto-hyperband", {"auto", {}}, {{"hyperband", {}}}},
        {"auto-pasha-3", {"auto", {}}, {{"pasha", {{"grace", std::int64_t{3}}}}}},
        {"auto-percentile", {"auto", {}}, {{"percentile", {}}}},
        {"extrapolation-tpe", {"tpe", {{"uniform", 0.6}}}, {{"extrapolation", {}}}},
        {"extrapolation-random", {"random", {}}, {{"extrapolation", {}}}},
    };
}

class Play {
   public:
    Play(const Problem& problem, const Strategy& strategy, const Settings& settings, std::uint64_t seed)
        : problem_(problem), settings_(settings), study_(study_of(problem, strategy, settings, seed)) {
        proposer_.emplace(*Proposer::make(study_));
        rules_.emplace(*Rules::make(study_));
        if (strategy.first_three) one_step_each_ = settings.steps - 3 * (static_cast<std::int64_t>(problem.steps) - 1);
    }

    /// Regrets after 1, 2, ... steps of training.
    std::vector<double> regrets() {
        while (static_cast<std::int64_t>(regrets_.size()) < settings_.steps) {
            while (running_.size() < settings_.workers && begin()) {
            }
            if (running_.empty()) break;
            const std::int64_t trial = running_.front();
            running_.pop_front();
            step(trials_[static_cast<std::size_t>(trial) - 1]);
        }
        spent_ = regrets_.size();
        regrets_.resize(static_cast<std::size_t>(settings_.steps), regrets_.empty() ? 1 : regrets_.back());
        return regrets_;
    }
    /// The cost of stopping that an ended study reports, and the real cost, as shares of the problem's scale. Nothing
    /// if the study reports none. To be called after regrets().
    struct Said {
        double about = 0, was = 0;
    };
    [[nodiscard]] std::optional<Said> said() const {
        StudyRecord record;
        double best = INFINITY, best_stopped = INFINITY;
        for (TrialRecord trial : trials_) {
            if (trial.value) best = std::min(best, *trial.value);
            if (trial.state == TrialState::paused || trial.state == TrialState::stopped) {
                trial.state = TrialState::stopped;
                trial.rule = "rule";
                for (const double value : trainings_[static_cast<std::size_t>(trial.number) - 1].seen)
                    if (std::isfinite(value)) best_stopped = std::min(best_stopped, value);
            }
            record.trials.push_back(std::move(trial));
        }
        const auto costs = analysis::cost_of_stopping(study_, record);
        if (costs.empty()) return std::nullopt;
        return Said{costs.at("rule").about / problem_.scale, std::max(0.0, best - best_stopped) / problem_.scale};
    }
    [[nodiscard]] std::size_t trials() const { return trials_.size(); }
    [[nodiscard]] std::size_t rows() const { return had_.size(); }
    [[nodiscard]] std::size_t complete() const { return complete_; }
    [[nodiscard]] std::size_t spent() const { return spent_; }

   private:
    static Study study_of(const Problem& problem, const Strategy& strategy, const Settings& settings,
                          std::uint64_t seed) {
        Study study;
        study.seed = seed;
        study.space = problem.space;
        study.sampler = strategy.sampler;
        study.stopping = strategy.rules;
        study.objective = {"val_loss", Direction::minimize, Objective::At::best};
        study.policy = {.min_batch_size = 1, .scaled = false};
        study.budget.trials = settings.trials          ? settings.trials
                              : strategy.rules.empty() ? settings.steps / static_cast<std::int64_t>(problem.steps)
                                                       : settings.steps;
        study.budget.epochs = static_cast<std::int64_t>(problem.steps);
        return study;
    }

    bool begin() {
        if (one_step_each_ && static_cast<std::int64_t>(trials_.size()) >= *one_step_each_) return begin_of_three();
        const bool more = !settings_.trials || static_cast<std::int64_t>(trials_.size()) < settings_.trials;
        rules_->expect_trials(more);
        if (const auto promoted = rules_->promotions(1); !promoted.empty()) {
            TrialRecord& trial = trials_[static_cast<std::size_t>(promoted.front()) - 1];
            trial.state = TrialState::running;
            rules_->promoted(trial.number);
            running_.push_back(trial.number);
            return true;
        }
        for (int copies = 0; more && copies < 1000; ++copies) {
            const auto number = static_cast<std::int64_t>(trials_.size()) + 1;
            relearn();
            auto proposal = proposer_->propose(number);
            if (!proposal) return false;
            TrialRecord trial;
            trial.number = number;
            trial.point = std::move(proposal->point);
            trial.params = std::move(proposal->params);
            trial.state = TrialState::running;
            proposer_->proposed(trial);
            trainings_.push_back(problem_.train(trial.point, static_cast<std::size_t>(number)));
            const auto [first, fresh] = had_.try_emplace(trainings_.back().row, number);
            trials_.push_back(std::move(trial));
            if (fresh || !settings_.close) return running_.push_back(number), true;
            TrialRecord& copy = trials_.back();
            copy.value = trials_[static_cast<std::size_t>(first->second) - 1].value;
            copy.state = TrialState::stopped;
            proposer_->tell(copy);
        }
        return false;
    }

    bool begin_of_three() {
        if (three_.empty() && running_.empty()) {
            std::vector<std::pair<double, std::int64_t>> ranking;
            for (const TrialRecord& trial : trials_)
                if (trial.value) ranking.emplace_back(*trial.value, trial.number);
            std::sort(ranking.begin(), ranking.end());
            for (std::size_t i = 0; i < 3 && i < ranking.size(); ++i) three_.push_back(ranking[i].second);
        }
        if (next_of_three_ >= three_.size()) return false;
        running_.push_back(three_[next_of_three_++]);
        return true;
    }

    void step(TrialRecord& trial) {
        const Training& training = trainings_[static_cast<std::size_t>(trial.number) - 1];
        Report report;
        report.step = trial.steps() + 1;
        const auto at = static_cast<std::size_t>(report.step) - 1;
        const double value = training.seen[at];
        report.metrics["val_loss"] = value;
        trial.curve.push_back(report);
        score_step(trial, report, study_.objective);
        if (std::isfinite(value)) best_ = std::min(best_, training.truth.empty() ? value : training.truth[at]);
        regrets_.push_back((std::min(best_, problem_.best + problem_.scale) - problem_.best) / problem_.scale);
        if (!std::isfinite(value)) return end(trial, TrialState::diverged);
        if (report.step == study_.budget.epochs || at + 1 == training.seen.size())
            return ++complete_, end(trial, TrialState::complete);
        if (one_step_each_ && three_.empty()) return;
        const Verdict verdict = rules_->report(trial);
        if (verdict.action == Action::stop) return end(trial, TrialState::stopped);
        if (verdict.action == Action::go_on) return running_.push_back(trial.number);
        trial.state = TrialState::paused;
        learn(trial);
    }

    /// Tells the sampler of a paused trial, as the engine's ledger does.
    void learn(const TrialRecord& trial) {
        const auto forecast = rules_->forecast(trial.number);
        if (!forecast) return proposer_->tell(trial);
        if (!forecast->tells) return proposer_->withhold(trial.number);
        proposer_->tell(trial, forecast->value, forecast->deviation, forecast->repeats);
    }
    void relearn() {
        if (rules_->forecasts_made() == forecasts_) return;
        forecasts_ = rules_->forecasts_made();
        for (const TrialRecord& trial : trials_)
            if (trial.state == TrialState::paused) learn(trial);
    }
    std::int64_t forecasts_ = 0;

    void end(TrialRecord& trial, TrialState state) {
        trial.state = state;
        rules_->ended(trial);
        proposer_->tell(trial);
    }

    const Problem& problem_;
    Settings settings_;
    Study study_;
    std::optional<Proposer> proposer_;
    std::optional<Rules> rules_;
    std::optional<std::int64_t> one_step_each_;  ///< number of trials that train one step each
    std::vector<std::int64_t> three_;
    std::size_t next_of_three_ = 0;
    std::vector<TrialRecord> trials_;
    std::vector<Training> trainings_;
    std::unordered_map<std::size_t, std::int64_t> had_;  ///< the first trial of each row
    std::deque<std::int64_t> running_;
    std::vector<double> regrets_;
    double best_ = INFINITY;
    std::size_t complete_ = 0;
    std::size_t spent_ = 0;  ///< the steps that were trained
};

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Regrets at each mark, as medians over the seeds.
std::vector<double> measure(const Problem& problem, const Strategy& strategy, const Settings& settings,
                            const std::vector<std::int64_t>& marks) {
    std::vector<std::vector<double>> at(marks.size());
    std::size_t trials = 0, complete = 0, rows = 0, spent = 0;
    for (std::uint64_t seed = 1; seed <= settings.seeds; ++seed) {
        Settings one = settings;
        Play play(problem, strategy, one, seed);
        // The best three need to know how long the study is: one for each mark.
        const auto regrets = strategy.first_three ? std::vector<double>() : play.regrets();
        for (std::size_t i = 0; i < marks.size(); ++i) {
            one.steps = marks[i];
            at[i].push_back(strategy.first_three ? Play(problem, strategy, one, seed).regrets().back()
                                                 : regrets[static_cast<std::size_t>(marks[i]) - 1]);
        }
        trials += play.trials(), complete += play.complete(), rows += play.rows(), spent += play.spent();
    }
    std::vector<double> medians;
    for (auto& values : at) medians.push_back(median(values));
    if (settings.json) {
        std::printf("%s\n", nlohmann::json{{"problem", problem.name}, {"strategy", strategy.name}, {"regrets", medians}}
                                .dump()
                                .c_str());
        std::fflush(stdout);
        return medians;
    }
    std::printf("%-28.28s %-20s", problem.name.c_str() + (problem.name.size() > 28 ? problem.name.size() - 28 : 0),
                strategy.name.c_str());
    for (const double value : medians) std::printf(" %7.4f", value);
    std::printf("   %zu trials of %zu rows, %zu complete, %zu steps\n", trials / settings.seeds, rows / settings.seeds,
                complete / settings.seeds, spent / settings.seeds);
    std::fflush(stdout);
    return medians;
}

void run(const std::vector<Problem>& problems, const std::vector<Strategy>& chosen, const Settings& settings) {
    const std::vector<std::int64_t> marks{settings.steps / 10, settings.steps / 3, settings.steps};
    std::vector<std::vector<double>> logs(chosen.size(), std::vector<double>(marks.size()));
    for (const Problem& problem : problems)
        for (std::size_t s = 0; s < chosen.size(); ++s) {
            const auto medians = measure(problem, chosen[s], settings, marks);
            for (std::size_t i = 0; i < marks.size(); ++i) logs[s][i] += std::log(std::max(medians[i], least_regret));
        }
    if (settings.json) return;
    std::printf("\ngeometric means after        ");
    for (const std::int64_t mark : marks) std::printf(" %7lld", static_cast<long long>(mark));
    std::printf("   steps%s\n", settings.close ? ", copies closed" : "");
    for (std::size_t s = 0; s < chosen.size(); ++s) {
        std::printf("%-28s ", chosen[s].name.c_str());
        for (const double sum : logs[s]) std::printf(" %7.4f", std::exp(sum / static_cast<double>(problems.size())));
        std::printf("\n");
    }
}

/// Prints for each strategy how often the cost of stopping was at most the reported one, and both, over all problems.
void compare_said(const std::vector<Problem>& problems, const std::vector<Strategy>& chosen, const Settings& settings) {
    std::printf("%-20s %8s %8s %18s %18s %18s\n", "cost of stopping", "studies", "held", "said: median, mean",
                "was: nine of ten", "was: mean");
    for (const Strategy& strategy : chosen) {
        std::vector<double> said, was;
        std::size_t held = 0;
        for (const Problem& problem : problems)
            for (std::uint64_t seed = 1; seed <= settings.seeds; ++seed) {
                Play play(problem, strategy, settings, seed);
                play.regrets();
                const auto found = play.said();
                if (!found) continue;
                held += found->was <= found->about ? 1 : 0;
                said.push_back(found->about);
                was.push_back(found->was);
            }
        if (said.empty()) continue;
        std::sort(was.begin(), was.end());
        const auto mean = [](const std::vector<double>& all) {
            double sum = 0;
            for (const double one : all) sum += one;
            return sum / static_cast<double>(all.size());
        };
        std::printf("%-20s %8zu %6.0f %% %9.4f %8.4f %18.4f %18.4f\n", strategy.name.c_str(), said.size(),
                    100.0 * static_cast<double>(held) / static_cast<double>(said.size()), median(said), mean(said),
                    was[(was.size() - 1) * 9 / 10], mean(was));
        std::fflush(stdout);
    }
}

int usage() {
    std::fputs(
        "bench_curves [--steps N] [--trials N] [--seeds N] [--workers N] [--close] [--only A,B,...] [--drawn] [--laws] "
        "[--json] [--said] [FILE...]\n",
        stderr);
    return 2;
}

}  // namespace

int main(int count, char** arguments) {
    Settings settings;
    std::vector<Problem> problems;
    std::vector<Strategy> chosen = strategies();
    bool said = false;
    try {
        for (int i = 1; i < count; ++i) {
            const std::string word = arguments[i];
            const auto value = [&] {
                return ++i < count ? std::string(arguments[i]) : throw Fatal("a value is missing");
            };
            if (word == "--steps")
                settings.steps = std::max(10LL, std::atoll(value().c_str()));
            else if (word == "--seeds")
                settings.seeds = static_cast<std::uint64_t>(std::max(1LL, std::atoll(value().c_str())));
            else if (word == "--trials")
                settings.trials = std::max(1LL, std::atoll(value().c_str()));
            else if (word == "--workers")
                settings.workers = static_cast<std::size_t>(std::max(1LL, std::atoll(value().c_str())));
            else if (word == "--close")
                settings.close = true;
            else if (word == "--said")
                said = true;
            else if (word == "--json")
                settings.json = true;
            else if (word == "--drawn")
                for (Problem& problem : curves::families()) problems.push_back(std::move(problem));
            else if (word == "--laws")
                for (Problem& problem : curves::laws()) problems.push_back(std::move(problem));
            else if (word == "--only") {
                std::vector<Strategy> wanted;
                std::istringstream names(value());
                for (std::string name; std::getline(names, name, ',');) {
                    const auto found =
                        std::find_if(chosen.begin(), chosen.end(), [&](auto& s) { return s.name == name; });
                    if (found == chosen.end()) throw Fatal("no strategy is called " + name);
                    wanted.push_back(*found);
                }
                chosen = wanted;
            } else if (word.starts_with("-"))
                return usage();
            else
                problems.push_back(curves::recorded(word));
        }
        if (problems.empty()) return usage();
        if (said && settings.trials == 0) throw Fatal("--said is of studies that end: give --trials");
        said ? compare_said(problems, chosen, settings) : run(problems, chosen, settings);
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
