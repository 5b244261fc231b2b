#include "orchestrator/sampling/prior_study.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "hpo/dimension_value.hpp"
#include "hpo/text.hpp"
#include "hpo/wire.hpp"
#include "hpo/worker_key_defaults.hpp"
#include "orchestrator/sampling/policy.hpp"

namespace hpo {

namespace {

constexpr double worst = std::numeric_limits<double>::infinity();

/// Returns the quantile of the standard normal distribution (Abramowitz and Stegun 26.2.23, and two Newton steps).
double normal_quantile(double share) {
    const double tail = std::min(share, 1 - share), t = std::sqrt(-2 * std::log(tail));
    double x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    for (int i = 0; i < 2; ++i) {
        const double above = 0.5 * std::erfc(x / std::sqrt(2.0)), density = 0.3989422804014327 * std::exp(-x * x / 2);
        x += (above - tail) / density;
    }
    return share < 0.5 ? -x : x;
}

/// Returns the normal score of each loss. Equal losses have their mean rank.
std::vector<double> normal_scores(const std::vector<double>& losses) {
    std::vector<std::size_t> order(losses.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return losses[a] < losses[b]; });
    std::vector<double> scores(losses.size());
    for (std::size_t from = 0, to = 0; from < order.size(); from = to) {
        while (to < order.size() && losses[order[to]] == losses[order[from]]) ++to;
        const double rank = static_cast<double>(from + to) / 2;
        for (std::size_t i = from; i < to; ++i)
            scores[order[i]] = normal_quantile(rank / static_cast<double>(order.size()));
    }
    return scores;
}

/// Returns the native worker's default of a parameter, or nothing if it has none.
std::optional<Value> native_default(const std::string& name) {
    const WorkerKey* key = find_worker_key(name);
    if (!key || key->fallback.empty()) return std::nullopt;
    return default_value(*key);
}

const Dimension* find_dimension(const Space& space, const std::string& name) {
    const auto found = std::find_if(space.begin(), space.end(), [&](const Dimension& d) { return d.name == name; });
    return found == space.end() ? nullptr : &*found;
}

/// Returns the values that all trials of the other study share, of parameters that only the new study varies.
Params fixed_values(const Study& study, const Study& other) {
    const bool native = study.native() && !other.script();
    Params fixed;
    for (const Dimension& dimension : study.space) {
        if (find_dimension(other.space, dimension.name)) continue;
        const auto given = other.fixed.find(dimension.name);
        const auto value = given != other.fixed.end() ? std::optional(given->second)
                           : native                   ? native_default(dimension.name)
                                                      : std::nullopt;
        if (const auto held = value ? held_value(dimension, *value) : std::nullopt) fixed[dimension.name] = *held;
    }
    return fixed;
}

/// Returns the trial's values in terms of the space, or nothing if a value is outside the space.
std::optional<Params> values_within(const Space& space, const Params& given) {
    Params values;
    for (const Dimension& dimension : space) {
        const auto found = given.find(dimension.name);
        if (found == given.end()) continue;
        const auto held = held_value(dimension, found->second);
        if (!held) return std::nullopt;
        values[dimension.name] = *held;
    }
    return values;
}

double loss_of(const TrialRecord& trial, Direction direction) {
    const bool counts = trial.state != TrialState::diverged && trial.state != TrialState::failed;
    if (!counts || !trial.value || !std::isfinite(*trial.value)) return worst;
    return direction == Direction::minimize ? *trial.value : -*trial.value;
}

std::string list_text(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

PriorStudy prior_study(const Study& study, const Study& other, const StudyRecord& record) {
    PriorStudy prior;
    prior.name = other.name;
    const Params fixed = fixed_values(study, other);
    for (const Dimension& dimension : study.space) {
        if (find_dimension(other.space, dimension.name))
            prior.common.push_back(dimension.name);
        else if (!fixed.contains(dimension.name))
            prior.drawn.push_back(dimension.name);
    }
    std::vector<double> losses;
    std::vector<const TrialRecord*> ended;
    for (const TrialRecord& trial : record.trials) {
        if (!is_final(trial.state) || trial.repeat_of != 0) continue;  // the first stands for all seeds by their mean
        ended.push_back(&trial);
        losses.push_back(loss_of(trial, other.objective.direction));
    }
    const std::vector<double> scores = normal_scores(losses);
    // Unknown parameters of a trial are in the middle here, and drawn where the sampler learns.
    const auto map = CubeMap::make(study.space, study.policy, study.fixed);
    const auto within_ranges = [&](const Params& values) {
        return map && map->point(map->params(Point(study.space.size(), 0.5), values));
    };
    for (std::size_t i = 0; i < ended.size(); ++i) {
        Params known = ended[i]->params;
        known.insert(fixed.begin(), fixed.end());
        if (auto values = values_within(study.space, known); values && within_ranges(*values))
            prior.trials.push_back({*std::move(values), scores[i]});
        else
            ++prior.outside;
    }
    return prior;
}

std::string describe(const PriorStudy& study) {
    std::string text = study.name + ": " + counted(static_cast<std::int64_t>(study.trials.size()), "trial") + "; " +
                       (study.common.empty() ? "no parameter" : list_text(study.common)) + " in common";
    if (study.outside > 0) text += "; " + std::to_string(study.outside) + " outside this space";
    if (!study.drawn.empty())
        text += "; " + list_text(study.drawn) + (study.drawn.size() == 1 ? " is drawn" : " are drawn");
    if (!study.missing.empty()) text += "; reported results are missing, which hpo ls names";
    return text;
}

std::string write_prior_studies(const std::vector<PriorStudy>& studies) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const PriorStudy& study : studies) {
        nlohmann::ordered_json trials = nlohmann::ordered_json::array();
        for (const PriorTrial& trial : study.trials)
            trials.push_back({{"params", nlohmann::ordered_json(wire::from(trial.params))}, {"score", trial.score}});
        list.push_back({{"study", study.name},
                        {"outside", study.outside},
                        {"common", study.common},
                        {"drawn", study.drawn},
                        {"trials", std::move(trials)}});
    }
    return list.dump();
}

Result<std::vector<PriorStudy>> read_prior_studies(std::string_view text) {
    std::vector<PriorStudy> studies;
    try {
        for (const wire::Json& json : wire::Json::parse(text)) {
            PriorStudy study;
            study.name = json.at("study").get<std::string>();
            study.outside = json.at("outside").get<std::int64_t>();
            study.common = json.at("common").get<std::vector<std::string>>();
            study.drawn = json.at("drawn").get<std::vector<std::string>>();
            for (const wire::Json& trial : json.at("trials")) {
                PriorTrial made;
                made.score = trial.at("score").get<double>();
                for (const auto& [name, value] : trial.at("params").items())
                    made.params.emplace(name, wire::to_value(value));
                study.trials.push_back(std::move(made));
            }
            studies.push_back(std::move(study));
        }
    } catch (const std::exception& wrong) {
        return Error{std::string("the study's stored warm start cannot be read: ") + wrong.what()};
    }
    return studies;
}

}  // namespace hpo
