#include "orchestrator/analysis/importance.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "hpo/batch_size.hpp"
#include "hpo/median.hpp"
#include "hpo/random.hpp"
#include "hpo/standing.hpp"
#include "hpo/step_name.hpp"
#include "hpo/text.hpp"
#include "hpo/worker_keys.hpp"
#include "orchestrator/sampling/policy.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo::analysis {

namespace {

constexpr std::int64_t fewest_best = 12, enough_for_best = 40;
constexpr std::int64_t enough_repeats = 5;
constexpr std::size_t fewest_at_bounds = 5, most_at_bounds = 1000;
constexpr double near_a_bound = 0.05;  ///< distance from a bound, as a fraction of the range
constexpr double late = 0.2;           ///< the best trial came late if it is in this last fraction of trials

/// The analysed trials with a known end, in a binned space.
struct Binned {
    BinnedTrials trials;
    std::vector<std::size_t> dimensions;  ///< indices of the dimensions with more than one value
};

Binned binned(const Study& study, const CubeMap& map, const StudyRecord& record, const Ends& ends) {
    Binned made;
    for (std::size_t d = 0; d < study.space.size(); ++d) {
        const auto values = map.values(d);
        if (values && *values < 2) continue;
        made.dimensions.push_back(d);
        made.trials.bins.push_back(values ? std::min<std::size_t>(*values, most_bins) : most_bins);
        made.trials.ordered.push_back(study.space[d].kind != Kind::categorical || (values && *values > most_bins));
    }
    for (std::size_t i = 0; i < record.trials.size(); ++i) {
        if (!ends.of[i]) continue;
        const auto point = map.point(record.trials[i].params);
        if (!point) continue;  // The study has been edited by hand.
        std::vector<int> bins;
        for (std::size_t k = 0; k < made.dimensions.size(); ++k) {
            const auto count = static_cast<double>(made.trials.bins[k]);
            bins.push_back(static_cast<int>(std::min((*point)[made.dimensions[k]] * count, count - 1)));
        }
        made.trials.points.push_back(std::move(bins));
        made.trials.values.push_back(ends.of[i]->loss);
    }
    return made;
}

/// The squared distance of two points, where a range and a change of category have the length 1.
double distance(const BinnedTrials& trials, const std::vector<int>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t d = 0; d < a.size(); ++d) {
        const double at = b[d] * static_cast<double>(trials.bins[d]);
        const double apart = trials.ordered[d]              ? (at - 0.5 - a[d]) / static_cast<double>(trials.bins[d])
                             : static_cast<int>(at) == a[d] ? 0.0
                                                            : 1.0;
        sum += apart * apart;
    }
    return sum;
}

/// Returns the median over the declared space of the value of the nearest trial. The median over the trials would
/// depend on the sampler: a good one has most of its trials near the best one.
double middle_of_space(const BinnedTrials& trials, std::uint64_t seed) {
    constexpr std::uint64_t points = 512;
    std::vector<double> values;
    for (std::uint64_t i = 0; i < points; ++i) {
        std::vector<double> point(trials.bins.size());
        for (std::size_t d = 0; d < point.size(); ++d) point[d] = draw_unit(seed, Purpose::synthetic, i, d);
        std::size_t nearest = 0;
        double least = distance(trials, trials.points[0], point);
        for (std::size_t t = 1; t < trials.points.size(); ++t)
            if (const double apart = distance(trials, trials.points[t], point); apart < least) {
                least = apart;
                nearest = t;
            }
        values.push_back(trials.values[nearest]);
    }
    return upper_median(std::move(values));
}

/// Caps values that are far worse than the middle of the space. Otherwise a single failed trial would dominate the
/// variance. Returns false if all values are equal. Scales the values to 0 to 1, so that squares are finite and a
/// capped value counts the same however large it was.
bool bound_worst(BinnedTrials& trials, std::uint64_t seed) {
    std::vector<double>& values = trials.values;
    const double best = *std::min_element(values.begin(), values.end()), middle = middle_of_space(trials, seed);
    if (middle > best)
        for (double& value : values) value = std::min(value, middle + 2 * (middle - best));
    const double worst = *std::max_element(values.begin(), values.end());
    if (best == worst || !std::isfinite(worst)) return false;
    const double size = std::max(std::abs(best), std::abs(worst)), range = worst / size - best / size;
    for (double& value : values) value = (value / size - best / size) / range;
    return true;
}

/// The effects by dimension, as one drawing of the predicted ends has them.
struct Drawn {
    Variance all;
    std::optional<Variance> best;
};

/// Returns shares of which each is the mean of those of the drawings. Their deviation has the one within a drawing and
/// the one between drawings.
Share mean_share(const std::vector<Share>& drawn) {
    const auto count = static_cast<double>(drawn.size());
    Share mean;
    for (const Share& each : drawn) mean.share += each.share / count;
    double squares = 0;
    for (const Share& each : drawn) {
        const double apart = each.share - mean.share;
        squares += (each.deviation * each.deviation + apart * apart) / count;
    }
    mean.deviation = std::sqrt(squares);
    return mean;
}

template <class Of>
Share mean_of(const std::vector<Drawn>& drawn, const Of& share_of) {
    std::vector<Share> shares;
    for (const Drawn& each : drawn) shares.push_back(share_of(each));
    return mean_share(shares);
}

void find_effects(const Study& study, const CubeMap& map, const StudyRecord& record, std::size_t most,
                  Importance& made) {
    constexpr std::size_t most_draws = 4, trials_in_all_draws = 2000;
    const Binned first = binned(study, map, record, made.ends);
    const std::size_t count = first.trials.points.size();
    if (count < fewest_trials)
        made.no_effects =
            "Too few trials to tell: " + std::to_string(count) + " of at least " + std::to_string(fewest_trials) + ".";
    else if (first.dimensions.empty())
        made.no_effects = "The space has no parameter with several values.";
    else if (std::none_of(first.trials.values.begin(), first.trials.values.end(),
                          [](double v) { return std::isfinite(v); }))
        made.no_effects = "No trial has a value of " + study.objective.metric + ".";
    if (!made.no_effects.empty()) return;

    // Hutter et al., section 4.2: capping all other values shows the effects in good regions.
    if (static_cast<std::int64_t>(count) >= enough_for_best)
        made.best = std::max(fewest_best, static_cast<std::int64_t>(count) / 10);
    const std::size_t draws = made.ends.predicted == 0 || made.ends.drawn_from > 0
                                  ? 1
                                  : std::clamp<std::size_t>(trials_in_all_draws / count, 1, most_draws);
    const int splits = made.ends.drawn_from > 0 && most <= most_analysed_at_once ? few_splits : many_splits;
    std::vector<Drawn> drawn;
    for (std::size_t draw = 0; draw < draws; ++draw) {
        BinnedTrials trials = made.ends.predicted == 0
                                  ? first.trials
                                  : binned(study, map, record, ends_of(study, record, draw + 1, most)).trials;
        if (!bound_worst(trials, study.seed)) {
            made.no_effects = "All trials have the same " + study.objective.metric + ".";
            made.best = 0;
            return;
        }
        Drawn& each = drawn.emplace_back(Drawn{analyse(trials, study.seed + draw, true, splits), {}});
        made.explained += std::clamp(each.all.explained, 0.0, 1.0) / static_cast<double>(draws);
        if (made.best == 0) continue;
        std::vector<double> sorted = trials.values;
        std::sort(sorted.begin(), sorted.end());
        const double cap = sorted[static_cast<std::size_t>(made.best) - 1];
        for (double& value : trials.values) value = std::min(value, cap);
        each.best = analyse(trials, study.seed + draw, false, splits);
    }

    const auto name = [&](std::size_t k) { return study.space[first.dimensions[k]].name; };
    for (std::size_t k = 0; k < first.dimensions.size(); ++k) {
        Effect effect{name(k), mean_of(drawn, [&](const Drawn& each) { return each.all.alone[k]; }), {}};
        if (made.best > 0) effect.best = mean_of(drawn, [&](const Drawn& each) { return each.best->alone[k]; });
        made.effects.push_back(std::move(effect));
    }
    // Each drawing has the pairs of its largest dimensions. A pair that others lack explained next to nothing there.
    for (const PairShare& pair : drawn.front().all.pairs) {
        const Share share = mean_of(drawn, [&](const Drawn& each) {
            for (const PairShare& other : each.all.pairs)
                if (other.first == pair.first && other.second == pair.second) return other.share;
            return Share{};
        });
        if (share.sure()) made.pairs.push_back({name(pair.first), name(pair.second), share});
    }
    std::stable_sort(made.effects.begin(), made.effects.end(),
                     [](const Effect& a, const Effect& b) { return a.all.share > b.all.share; });
}

/// Returns the trials that satisfy the constraints, the best first.
std::vector<const TrialRecord*> ranked(const Study& study, const StudyRecord& record) {
    std::vector<const TrialRecord*> order = ranking(record, study.objective);
    std::erase_if(order, [&](const TrialRecord* trial) { return !standing_of(*trial, study.objective)->feasible(); });
    return order;
}

/// Returns true if values beyond a bound of a parameter's range are meaningless or not allowed.
bool is_final(const Study& study, const std::string& name, bool upper, double bound) {
    if (!upper && bound == 0) return true;
    if (!upper && name == "batch_size" &&
        bound <= static_cast<double>(study.policy.min_batch_size.value_or(largest_auto_batch)))
        return true;
    const WorkerKey* key = study.script() ? nullptr : find_worker_key(name);
    return key && (upper ? bound >= key->high : bound <= key->low);
}

/// Returns how many of the best trials are compared with the ends of ranges.
std::size_t looked_at(std::size_t ranked) {
    return std::min(ranked, std::clamp(ranked / 10, fewest_at_bounds, most_at_bounds));
}

void find_bounds(const Study& study, const CubeMap& map, const std::vector<const TrialRecord*>& order,
                 Importance& made) {
    const std::size_t count = looked_at(order.size());
    if (count < fewest_at_bounds) return;
    std::vector<Result<Point>> points;
    for (std::size_t i = 0; i < count; ++i) points.push_back(map.point(order[i]->params));
    for (std::size_t d = 0; d < study.space.size(); ++d) {
        const Dimension& dimension = study.space[d];
        const auto values = map.values(d);
        if (dimension.kind == Kind::categorical || (values && *values < 4)) continue;
        const double reach = std::max(near_a_bound, values ? 1.0 / static_cast<double>(*values) : 0.0);
        std::int64_t low = 0, high = 0, of = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (!points[i] || !order[i]->params.contains(dimension.name)) continue;
            ++of;
            low += (*points[i])[d] <= reach ? 1 : 0;
            high += (*points[i])[d] >= 1 - reach ? 1 : 0;
        }
        if (of < 5 || 5 * std::max(low, high) < 3 * of) continue;
        if (!(high > low ? dimension.high_of : dimension.low_of).empty()) continue;  // another parameter is its bound
        const double bound = high > low ? dimension.high : dimension.low;
        made.bounds.push_back({dimension.name, high > low,
                               dimension.kind == Kind::integer ? Value(static_cast<std::int64_t>(bound)) : Value(bound),
                               std::max(low, high), of, is_final(study, dimension.name, high > low, bound)});
    }
}

/// Estimates the noise between steps from the second half of the curves of completed trials. Uses third differences,
/// which cancel the smooth shape of a curve, and their median size over all trials, so that neither a jump (as where
/// the learning rate falls) nor an unstable trial counts.
std::optional<double> noise_of_steps(const Study& study, const std::vector<const TrialRecord*>& order) {
    constexpr std::size_t fewest_steps = 10, fewest_differences = 10;
    constexpr double normal_median = 0.6745;  // of a normal variable's size, in deviations
    std::vector<double> differences;
    for (const TrialRecord* trial : order) {
        if (trial->state != TrialState::complete || trial->thinned || trial->curve.size() < fewest_steps) continue;
        std::vector<double> values;
        for (std::size_t i = trial->curve.size() / 2; i < trial->curve.size(); ++i)
            if (const auto found = trial->curve[i].metrics.find(study.objective.metric);
                found != trial->curve[i].metrics.end() && std::isfinite(found->second))
                values.push_back(found->second);
        for (std::size_t i = 3; i < values.size(); ++i)
            differences.push_back(std::abs(values[i] - 3 * values[i - 1] + 3 * values[i - 2] - values[i - 3]));
    }
    if (differences.size() < fewest_differences) return std::nullopt;
    const double deviation = upper_median(std::move(differences)) / (normal_median * std::sqrt(20.0));  // 1 + 9 + 9 + 1
    return deviation > rounding * std::abs(*order.front()->value) ? std::optional(deviation) : std::nullopt;
}

std::string trials_text(const std::vector<std::int64_t>& trials) {
    constexpr std::size_t shown = 6;
    std::string text = trials.size() == 1 ? "trial " : "trials ";
    for (std::size_t i = 0; i < std::min(trials.size(), shown); ++i)
        text += (i == 0 ? "" : i + 1 == trials.size() ? " and " : ", ") + std::to_string(trials[i]);
    return trials.size() > shown ? text + " and " + std::to_string(trials.size() - shown) + " more" : text;
}

void find_next(const Study& study, const StudyRecord& record, const std::vector<const TrialRecord*>& order,
               const Repeats& repeats, Importance& made) {
    if (!study.objective.further.empty()) return;  // A parameter without effect on one objective may affect another.
    for (const AtBound& at : made.bounds)
        if (!at.final)
            made.next.push_back("let " + at.name + " go " + (at.upper ? "above " : "below ") + to_text(at.bound) +
                                ", in a study with warm_start: [" + study.name + "]");
    const bool trains = study.has_worker();
    if (!made.tied.empty() && repeats.of_best < enough_repeats)
        made.next.push_back(trains ? "rank the best by their mean: hpo best " + study.name + " --repeat " +
                                         std::to_string(enough_repeats)
                                   : "train the best again on other seeds, and rank them by their mean");
    if (!order.empty() &&
        static_cast<double>(order.front()->number) > (1 - late) * static_cast<double>(record.trials.size()) &&
        record.trials.size() >= fewest_trials)
        made.next.push_back(
            "search on, as the best one came late: hpo " +
            (trains ? "run " + study.name + " --trials " : "ask-tell " + study.name + " --set budget.trials=") +
            std::to_string(2 * record.trials.size()));
    std::string dead;
    std::size_t many = 0;
    // If one parameter explains nearly all of the variance, judge the others by their share of the rest. A parameter
    // whose range should be wider is not to be fixed. Shares of 100 % are not exact.
    const auto at_bound = [&](const std::string& name) {
        return std::any_of(made.bounds.begin(), made.bounds.end(), [&](const AtBound& at) { return at.name == name; });
    };
    double largest = 0;
    for (const Effect& effect : made.effects) largest = std::max(largest, effect.all.share);
    // A parameter without effect at an early step may explain much at the end.
    if (made.tells() && made.explained >= 0.5 && made.ends.at_step == 0)
        for (const Effect& effect : made.effects)
            if (effect.all.share + 2 * effect.all.deviation < 0.05 * std::max(1 - largest, 0.01) &&
                (!effect.best || effect.best->share + 2 * effect.best->deviation < 0.1) && !at_bound(effect.name))
                dead += (many++ == 0 ? "" : ", ") + effect.name;
    if (many > 0 && many < made.effects.size())
        made.next.push_back("fix " + dead + ", which " + (many == 1 ? "explains" : "explain") + " next to nothing");
}

void find_ties(const Study& study, const std::vector<const TrialRecord*>& order, std::optional<double> repeated,
               Importance& made) {
    if (order.empty()) return;
    const TrialRecord& best = *order.front();
    const std::string error = standard_error_of(study.objective.metric);
    if (repeated)
        made.noise = Noise{*repeated, Noise::Source::repeats};
    else if (const auto own = metric_that_counts(best, error))
        made.noise = Noise{*own, Noise::Source::standard_errors};
    else if (const auto steps = noise_of_steps(study, order))
        made.noise = Noise{*steps, Noise::Source::steps};
    const bool own_errors = made.noise && made.noise->source == Noise::Source::standard_errors;
    for (const TrialRecord* trial : order) {
        if (trial == &best) continue;
        const double apart = *trial->value - *best.value;
        if (std::abs(apart) <= rounding * std::max(std::abs(*trial->value), std::abs(*best.value))) {
            made.tied.push_back(trial->number);
            continue;
        }
        if (!made.noise) break;  // the next trials are worse
        const auto other = own_errors ? metric_that_counts(*trial, error) : std::optional(made.noise->deviation);
        if (!other) continue;
        // The mean of several seeds varies less.
        const auto of = [&](const TrialRecord& one, double deviation) {
            return own_errors ? deviation : deviation / std::sqrt(std::max<double>(1, one.seeds.size()));
        };
        const double deviation = of(best, made.noise->deviation), others = of(*trial, *other);
        // std::hypot would need glibc 2.35, and a pack of programs is to start with 2.34.
        if (std::abs(apart) <= 2 * std::sqrt(deviation * deviation + others * others))
            made.tied.push_back(trial->number);
    }
}

}  // namespace

std::vector<const TrialRecord*> best_trials(const Study& study, const StudyRecord& record) {
    constexpr std::size_t fewest_in_reports = 20;
    auto order = ranking(record, study.objective);  // the Pareto front first, trials that break constraints last
    order.resize(std::min(order.size(), std::max(looked_at(order.size()), fewest_in_reports)));
    return order;
}

Importance importance_of(const Study& study, const StudyRecord& record, const Repeats& repeats, std::size_t most) {
    Importance made;
    made.ends = ends_of(study, record, 0, most);
    Policy declared = study.policy;
    declared.scaled = false;  // Use the declared ranges, without the sampler's priors.
    const auto map = CubeMap::make(study.space, declared, study.fixed);
    if (!map) return made;
    find_effects(study, *map, record, most, made);
    const auto order = ranked(study, record);
    find_bounds(study, *map, order, made);
    find_ties(study, order, repeats.deviation, made);
    find_next(study, record, order, repeats, made);
    return made;
}

std::string bound_text(const AtBound& bound) {
    return bound.name + ": " + std::to_string(bound.trials) + " of the best " + std::to_string(bound.of) +
           " lie at its " + (bound.upper ? "upper" : "lower") + " end, " + to_text(bound.bound);
}

namespace {

std::string noise_text(const Study& study, const Noise& noise) {
    const std::string deviation = trimmed_number(noise.deviation);
    switch (noise.source) {
        case Noise::Source::repeats:
            return study.objective.metric + " varies by " + deviation + " from seed to seed";
        case Noise::Source::standard_errors:
            return "the standard error of " + study.objective.metric + " is " + deviation + " for the best trial";
        case Noise::Source::steps:
            break;
    }
    return study.objective.metric + " varies by " + deviation +
           " from step to step, probably by more from seed to seed";
}

}  // namespace

std::string early_text(const Study& study, const Ends& ends) {
    return ends.at_step > 0 ? "at " + step_name(study) + " " + std::to_string(ends.at_step) + ": " : "";
}

std::vector<std::string> short_text(const Study& study, const Importance& importance) {
    constexpr std::size_t most_lines = 5, most_named = 4;
    std::vector<std::string> lines;
    std::string text;
    std::size_t named = 0;
    if (importance.tells())
        for (const Effect& effect : importance.effects)
            if (effect.all.sure() && named++ < most_named)
                text += (text.empty() ? "" : ", ") + effect.name + " " + percent_text(effect.all.share);
    if (!text.empty()) lines.push_back("What matters  " + early_text(study, importance.ends) + text);
    for (const AtBound& bound : importance.bounds)
        if (!bound.final && lines.size() < 3) lines.push_back("Bounds        " + bound_text(bound));
    if (!importance.tied.empty())
        lines.push_back("Ties          " + trials_text(importance.tied) + ": " +
                        (importance.noise ? noise_text(study, *importance.noise)
                                          : study.objective.metric + " equals that of the best trial"));
    for (const std::string& next : importance.next)
        if (lines.size() < most_lines) lines.push_back("Next          " + next);
    return lines;
}

namespace {

/// Returns the trials whose values at an early step are analysed.
std::string reached_text(const Study& study, const Ends& ends) {
    return "what " + study.objective.metric + " depends on at " + step_name(study) + " " +
           std::to_string(ends.at_step) + ", which " + counted(ends.reached, "trial") +
           " reached; too few were trained to their end to predict the others' ends" +
           (ends.left_out > 0 ? "; " + std::to_string(ends.left_out) + " that were stopped earlier are left out" : "");
}

/// Returns the trials whose ends are analysed.
std::string ends_text(const Study& study, const Ends& ends) {
    std::string text = "what " + study.objective.metric + " depends on, from " +
                       counted(static_cast<std::int64_t>(ends.trained), "trial") + " that ended";
    if (ends.lost > 0)
        text += ends.lost == ends.trained ? ", all of which failed or diverged"
                                          : ", " + std::to_string(ends.lost) + " of which failed or diverged";
    if (ends.predicted > 0) text += " and " + std::to_string(ends.predicted) + " stopped ones by their predicted ends";
    if (ends.left_out > 0)
        text += "; " + std::to_string(ends.left_out) + " stopped ones are left out, as their ends cannot be predicted";
    return text;
}

}  // namespace

std::string whole_text(const Study& study, const Importance& importance) {
    const Ends& ends = importance.ends;
    std::string text = study.name + ": " + (ends.at_step > 0 ? reached_text(study, ends) : ends_text(study, ends));
    if (ends.drawn_from > 0)
        text += "; they were drawn at random from all " + std::to_string(ends.drawn_from) + " that ended";
    text += "\n\n";
    const auto share = [&](const Share& one) {
        return (one.sure() && importance.tells() ? "" : "~") + percent_text(one.share) + " +- " +
               std::to_string(std::lround(100 * one.deviation));
    };
    if (importance.effects.empty()) {
        text += importance.no_effects + '\n';
    } else {
        // Letters beyond ASCII have bytes that continue them.
        const auto columns = [](const std::string& name) {
            return static_cast<std::size_t>(
                std::ranges::count_if(name, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
        };
        std::size_t width = 24;
        for (const Effect& effect : importance.effects) width = std::max(width, columns(effect.name));
        for (const PairEffect& pair : importance.pairs)
            width = std::max(width, columns(pair.first + " with " + pair.second));
        const auto line = [&](const std::string& name, const std::string& all, const std::string& best) {
            char cells[40];
            std::snprintf(cells, sizeof cells, best.empty() ? " %14s" : " %14s %14s", all.c_str(), best.c_str());
            text += "  " + name + std::string(width - columns(name), ' ') + cells + '\n';
        };
        line("PARAMETER", "SHARE", importance.best > 0 ? "BEST " + std::to_string(importance.best) : "");
        for (const Effect& effect : importance.effects)
            line(effect.name, share(effect.all), effect.best ? share(*effect.best) : "");
        for (const PairEffect& pair : importance.pairs)
            line(pair.first + " with " + pair.second, share(pair.share), "");
        text +=
            "\nShares of the variance over the declared space that a parameter explains alone (a pair: together, and "
            "neither alone). +- is how far the shares from random halves of the trials lie from it; ~ may be chance.\n";
        text += "Of trials that were held back " + percent_text(importance.explained) + " of the variance " +
                "was predicted" + (importance.tells() ? ".\n" : ": too little to trust the shares.\n");
    }
    for (const AtBound& bound : importance.bounds) text += "\nBounds  " + bound_text(bound);
    if (importance.noise) text += "\nNoise   " + noise_text(study, *importance.noise);
    if (!importance.tied.empty()) text += "\nTies    " + trials_text(importance.tied) + " with the best one";
    for (const std::string& next : importance.next) text += "\nNext    " + next;
    return text + (text.back() == '\n' ? "" : "\n");
}

}  // namespace hpo::analysis
