#include "orchestrator/sampling/proposer.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/open_trials.hpp"
#include "hpo/random.hpp"
#include "orchestrator/sampling/allowed.hpp"
#include "orchestrator/sampling/beliefs.hpp"
#include "orchestrator/sampling/expectation.hpp"
#include "orchestrator/sampling/gp_model.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/sampling/study_cube.hpp"
#include "orchestrator/sampling/usual_values.hpp"

namespace hpo {

namespace {

constexpr int sampler_retries = 16;
constexpr std::int64_t most_tried_again = 2;                        ///< trials of other studies
constexpr double too_near = 0.05;                                   ///< in each coordinate of the cube
constexpr std::uint64_t after_all_trials = std::uint64_t{1} << 40;  ///< offset of the draws for trials of other studies
constexpr int uniform_retries = 1000;
constexpr int most_completions = 20000;      ///< draws of the parameters that a configuration of `start` leaves open
constexpr std::uint64_t enumerable = 20000;  ///< unused configurations are listed for spaces up to this size

/// Texts are marked, since the choices 1 and "1" are two values.
std::string key_of(const Params& params) {
    std::string key;
    for (const auto& [name, value] : params)
        key += name + (std::holds_alternative<std::string>(value) ? "=\"" : "=") + to_text(value) + '\n';
    return key;
}

/// Returns the digest of a configuration. Two of 100,000 configurations have the same digest with a probability of
/// 3e-10; one of the two is not tried then.
std::size_t digest_of(const Params& params) { return std::hash<std::string>{}(key_of(params)); }

bool learns(const std::string& sampler) { return sampler != "random" && sampler != "sobol" && sampler != "grid"; }

/// Maps the trials of another study to the cube. Unknown parameters are drawn from the priors.
std::vector<PriorSite> sites_of(const CubeMap& map, const PriorStudy& prior, std::uint64_t seed) {
    std::vector<PriorSite> sites;
    for (std::size_t i = 0; i < prior.trials.size(); ++i) {
        Point drawn(map.space().size());
        for (std::size_t d = 0; d < drawn.size(); ++d)
            drawn[d] = draw_unit(seed, Purpose::start, after_all_trials + i, d);
        const Params params = map.params(drawn, prior.trials[i].params);
        if (const auto point = map.point(params))  // else a value is outside a range that depends on others
            sites.push_back({{*point, map.active(params)}, prior.trials[i].score});
    }
    return sites;
}

/// Returns the best trials of each study in turn. They are repeated first (Feurer, Springenberg, Hutter: "Initializing
/// Bayesian hyperparameter optimization via meta-learning", AAAI 2015). A study that has converged ends with trials
/// that hardly differ, so those near to one that is repeated are left out, as are those for which `completes` is false.
std::vector<Params> best_of(const CubeMap& map, const std::vector<PriorStudy>& priors, std::int64_t trials,
                            const std::function<bool(const Params&)>& completes) {
    const auto complete = [&](const Params& params) { return map.params(Point(map.space().size(), 0.5), params); };
    const auto in_cube = [&](const Params& params) { return *map.point(complete(params)); };
    const auto near = [&](const Params& one, const Params& other) {
        const Point a = in_cube(one), b = in_cube(other);
        return std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) { return std::abs(x - y) < too_near; });
    };
    const auto most = static_cast<std::size_t>(std::clamp<std::int64_t>(trials / 8, 1, most_tried_again));
    std::vector<std::vector<const PriorTrial*>> ranked(priors.size());
    for (std::size_t s = 0; s < priors.size(); ++s) {
        for (const PriorTrial& trial : priors[s].trials)
            if (map.point(complete(trial.params))) ranked[s].push_back(&trial);
        std::stable_sort(ranked[s].begin(), ranked[s].end(), [](auto* a, auto* b) { return a->score < b->score; });
    }
    std::vector<Params> best;
    std::size_t places = most;  // of the best quarter, so that no bad trial is repeated because it differs
    for (const auto& order : ranked) places = std::max(places, order.size() / 4);
    for (std::size_t place = 0; best.size() < most && place < places; ++place)
        for (const auto& order : ranked)
            if (place < std::max(most, order.size() / 4) && place < order.size() && best.size() < most &&
                completes(order[place]->params) && std::none_of(best.begin(), best.end(), [&](const Params& taken) {
                    return near(taken, order[place]->params);
                }))
                best.push_back(order[place]->params);
    return best;
}

/// The standard error of the objective at the step that gives the trial's value.
std::optional<double> standard_error(const TrialRecord& trial, const std::string& metric) {
    for (const Report* report : best_and_last_reports(trial)) {
        if (report->step != trial.best_step) continue;
        const auto found = report->metrics.find(standard_error_of(metric));
        if (found != report->metrics.end() && std::isfinite(found->second) && found->second >= 0) return found->second;
    }
    return std::nullopt;
}

/// Returns the seconds that a trial takes to its end: those of a complete one, and of others by their pace so far.
std::optional<double> seconds_to_end(const TrialRecord& trial, const Budget& budget) {
    const bool trained = !trial.curve.empty() && trial.curve.back().seconds;
    const double seconds = trained ? *trial.curve.back().seconds : trial.ended_at - trial.started_at;
    if (!(seconds > 0)) return std::nullopt;
    if (trial.state == TrialState::complete) return seconds;
    if ((trial.state != TrialState::stopped && trial.state != TrialState::paused) || budget.open || trial.steps() < 1)
        return std::nullopt;
    return seconds * static_cast<double>(budget.epochs) / static_cast<double>(trial.steps());
}

}  // namespace

bool may_learn_from_others(const Study& study) { return learns(study.sampler.type) && study.objective.further.empty(); }

Result<Proposer> Proposer::make(const Study& study, const std::vector<PriorStudy>& priors) {
    if (study.learns_from_others() && !learns(study.sampler.type))
        return Error{"sampler " + study.sampler.type +
                     " learns from no trial, so that warm_start would change nothing: leave one of the two out"};
    if (study.learns_from_others() && !study.objective.further.empty())
        return Error{"warm_start learns from the values of one objective, and this study has " +
                     std::to_string(1 + study.objective.further.size()) + ": leave warm_start out"};
    const auto cube = cube_of(study);
    if (!cube) return cube.error();
    const CubeMap& map = **cube;
    SamplerSetup setup = setup_in(*cube, study);
    setup.trials = study.budget.trials;
    setup.seconds = study.budget.seconds;
    setup.open_ended = is_open_ended(study.budget);
    // If other studies mislead, their best is a bad beginning, and the sampler's own comes second.
    setup.middle_at = !study.start.empty() ? 0 : priors.empty() ? 1 : 2;
    setup.objectives = 1 + study.objective.further.size();
    setup.constraints = study.objective.constraints.size();
    // Divergence ends no trial of value.
    setup.stops_early = std::any_of(study.stopping.begin(), study.stopping.end(),
                                    [](const PartSpec& rule) { return rule.type != "divergence"; });
    setup.foretells = std::any_of(study.stopping.begin(), study.stopping.end(),
                                  [](const PartSpec& rule) { return rule.type == "extrapolation"; });
    auto allowed = Allowed::make(*cube, study.where, study.seed);
    if (!allowed) return allowed.error();
    setup.allowed = *allowed;
    if (auto beliefs = Beliefs::of(study.space, [&](std::size_t d) { return map.preferred(d); }); !beliefs.empty())
        setup.beliefs = std::make_shared<const Beliefs>(std::move(beliefs));
    if (Params usual = usual_values(study.space); !usual.empty())
        setup.usual = [cube = *cube, usual = std::move(usual)](const Point& rest) {
            const auto point = cube->point(cube->params(rest, usual));
            return cube->canonical(point ? *point : rest);
        };
    const SearchSpace space = search_space(setup);
    for (const PriorStudy& prior : priors)
        setup.expected.push_back(std::make_shared<const Expectation>(space, sites_of(map, prior, study.seed)));
    auto sampler = make_sampler(study.sampler, setup);
    if (!sampler) return sampler.error();
    Proposer made(study, map, *std::move(sampler), setup.allowed);
    for (const auto& [trial, params] : made.start_)
        if (!made.completed(params, static_cast<std::uint64_t>(trial)))
            return Error{"configuration " + std::to_string(trial) +
                         " of 'start' cannot be tried: its missing parameters were drawn " +
                         std::to_string(most_completions) + " times, and never were the parameters allowed"};
    const auto completes = [&](const Params& params) { return made.completed(params, 0).has_value(); };
    auto next = static_cast<std::int64_t>(study.start.size());
    for (Params& params : best_of(map, priors, study.budget.trials, completes)) {
        if (++next == setup.middle_at) ++next;
        made.start_.emplace(next, std::move(params));
    }
    for (const PriorStudy& prior : priors)
        made.learns_from_ +=
            (made.learns_from_.empty() ? "" : ", ") + std::to_string(prior.trials.size()) + " of " + prior.name;
    return made;
}

Proposer::Proposer(const Study& study, CubeMap map, std::unique_ptr<Sampler> sampler,
                   std::shared_ptr<const Allowed> allowed)
    : name_(study.sampler.type),
      quick_(samples_quickly(study.sampler)),
      seed_(study.seed),
      objective_(study.objective),
      budget_(study.budget),
      map_(std::move(map)),
      allowed_(std::move(allowed)),
      sampler_(std::move(sampler)),
      bound_(map_.combinations(enumerable)) {
    for (const Params& params : study.start) start_.emplace(static_cast<std::int64_t>(start_.size()) + 1, params);
    if (bound_ && *bound_ <= enumerable) enumerate();
}

void Proposer::enumerate() {
    left_.emplace();
    // With conditions, several combinations can give the same parameters. Only the first is kept.
    for (std::uint64_t number = 0; number < *bound_; ++number)
        if (const auto params = map_.combination(number); params && map_.allows(*params))
            if (left_->combination.try_emplace(key_of(*params), number).second) left_->combinations.push_back(number);
}

std::string Proposer::about() const {
    std::string about = sampler_->about();
    if (about.empty()) about = name_;
    return learns_from_.empty() ? about : about + "; learns from ended trials of other studies: " + learns_from_;
}

std::string Proposer::about_allowed() const { return allowed_ ? allowed_->about() : std::string(); }

double Proposer::allowed_share() const { return allowed_ ? allowed_->share() : 1; }

std::string Proposer::exhausted() const {
    if (sampler_->points()) return "every point of the " + name_ + " was tried";
    return allowed_ && !left_ ? "no further configuration was found that is allowed"
           : allowed_         ? "every configuration that is allowed was tried"
                              : "every configuration of the space was tried";
}

std::optional<Proposal> Proposer::propose(std::int64_t trial) {
    if ((bound_ && seen_.size() >= *bound_) || (left_ && left_->combinations.empty())) return std::nullopt;
    if (auto first = wanted_first(trial)) return first;
    if (const auto points = sampler_->points()) return next_of_grid(*points);
    const std::vector<Site> sites = sampler_->reads_pending() ? pending() : std::vector<Site>();
    for (int retry = 0; retry < sampler_retries; ++retry) {
        const Point point = map_.canonical(sampler_->propose(trial, sites, retry));
        Params params = map_.params(point);
        if (map_.allows(params) && !seen_.contains(digest_of(params))) return Proposal{point, std::move(params)};
    }
    return unseen(trial);
}

std::vector<Site> Proposer::pending() const {
    std::vector<Site> sites;
    sites.reserve(pending_.size());
    for (const auto& [number, site] : pending_) sites.push_back(site);
    return sites;
}

/// Returns the configuration of `start` for a trial, with other parameters drawn from the priors. Returns nothing if
/// there is none for this trial, or an earlier trial has it.
std::optional<Proposal> Proposer::wanted_first(std::int64_t trial) const {
    const auto given = start_.find(trial);
    return given != start_.end() ? completed(given->second, static_cast<std::uint64_t>(trial)) : std::nullopt;
}

/// Returns the allowed configuration with values of `given`, and others drawn from the priors, that no earlier trial
/// has, or nothing if none was drawn.
std::optional<Proposal> Proposer::completed(const Params& given, std::uint64_t trial) const {
    std::uint64_t element = 0;
    for (int retry = 0, rejected = 0; retry < sampler_retries && rejected < most_completions;) {
        Point drawn(map_.space().size());
        for (double& x : drawn) x = draw_unit(seed_, Purpose::start, trial, element++);
        Params params = map_.params(drawn, given);
        auto point = map_.point(params);
        if (!point || !map_.allows(params)) {
            if (given.size() == params.size()) return std::nullopt;
            ++rejected;
        } else if (seen_.contains(digest_of(params))) {
            ++retry;
        } else {
            return Proposal{*std::move(point), std::move(params)};
        }
    }
    return std::nullopt;
}

/// Returns the first point of a grid that was not tried: a study may have begun with another sampler, or with a smaller
/// space.
std::optional<Proposal> Proposer::next_of_grid(std::int64_t points) {
    for (; next_of_grid_ <= points; ++next_of_grid_) {
        const Point point = map_.canonical(sampler_->propose(next_of_grid_, {}, 0));
        Params params = map_.params(point);
        if (!seen_.contains(digest_of(params))) return Proposal{point, std::move(params)};
    }
    return std::nullopt;
}

/// Returns an unused configuration when the sampler repeats known ones. It is drawn from the unused configurations of a
/// small space, and from the priors otherwise.
std::optional<Proposal> Proposer::unseen(std::int64_t trial) {
    const std::size_t dimensions = map_.space().size();
    const auto draw = [&](std::uint64_t element) {
        return draw_unit(seed_, Purpose::startup, static_cast<std::uint64_t>(trial), element);
    };
    if (left_) {
        const auto& left = left_->combinations;
        Params chosen = *map_.combination(left[static_cast<std::size_t>(draw(0) * static_cast<double>(left.size()))]);
        return Proposal{*map_.point(chosen), std::move(chosen)};
    }
    std::uint64_t element = 0;
    for (int retry = 0; retry < uniform_retries; ++retry) {
        Point point(dimensions);
        if (allowed_)
            point = allowed_->draw([&] { return draw(element++); });
        else
            for (double& x : point) x = draw(element++);
        point = map_.canonical(point);
        Params params = map_.params(point);
        if (!seen_.contains(digest_of(params))) return Proposal{std::move(point), std::move(params)};
    }
    return std::nullopt;
}

void Proposer::proposed(const TrialRecord& trial) {
    const bool is_new = seen_.insert(digest_of(trial.params)).second;
    if (left_ && is_new)
        if (const auto found = left_->combination.find(key_of(trial.params)); found != left_->combination.end()) {
            auto& left = left_->combinations;
            left.erase(std::lower_bound(left.begin(), left.end(), found->second));
        }
    pending_[trial.number] = {place(trial), map_.active(trial.params)};
}

Point Proposer::place(const TrialRecord& trial) const {
    if (trial.point.size() == map_.space().size() && map_.params(trial.point) == trial.params) return trial.point;
    const auto point = map_.point(trial.params);
    return point ? *point : trial.point;
}

void Proposer::withhold(std::int64_t trial) { pending_.erase(trial); }

void Proposer::tell(const TrialRecord& trial) { tell(trial, trial.value, std::nullopt, false); }

void Proposer::tell(const TrialRecord& trial, double value, double deviation, bool repeats) {
    tell(trial, std::optional(value), std::optional(deviation), repeats);
}

void Proposer::tell(const TrialRecord& trial, std::optional<double> value, std::optional<double> deviation,
                    bool repeats) {
    pending_.erase(trial.number);
    Observation observation;
    observation.trial = trial.number;
    observation.site = {place(trial), map_.active(trial.params)};
    observation.steps = trial.steps();
    observation.has_curve = trial.curve.size() > 1;
    observation.repeats = repeats;
    observation.seconds = seconds_to_end(trial, budget_);
    observation.elapsed = elapsed_;
    if (const auto standing = standing_of(trial, objective_); standing && value && std::isfinite(*value)) {
        observation.loss = objective_.direction == Direction::minimize ? *value : -*value;
        observation.deviation = deviation;
        if (!deviation) observation.noise = standard_error(trial, objective_.metric);
        observation.further.assign(standing->losses.begin() + 1, standing->losses.end());
        observation.violations = violations_of(trial, objective_);
    } else if (trial.state == TrialState::paused && trial.value) {
        return;  // one of the metrics is not measured yet
    }
    sampler_->tell(observation);
}

}  // namespace hpo
