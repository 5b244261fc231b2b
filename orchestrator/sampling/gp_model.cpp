#include "orchestrator/sampling/gp_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hpo/median.hpp"
#include "orchestrator/sampling/expectation.hpp"

namespace hpo {

namespace {

constexpr int refinements = 5;  // iterations of a refit after its start is chosen
// Steps of a chain of hyperparameters to a draw. Of more observations than `fully_drawn` the posterior is narrower and
// the likelihood takes longer, so that there are fewer.
constexpr double most_chain_steps = 12, fully_drawn = 60;

double steps_input(std::int64_t steps, std::int64_t most) {
    return std::log1p(static_cast<double>(std::max<std::int64_t>(steps, 0))) / std::log1p(static_cast<double>(most));
}

/// Returns the largest number of steps of the measured trials, or 0 if all have the same number.
std::int64_t most_steps(const std::vector<Observation>& trials) {
    std::int64_t most = 0, least = -1;
    for (const Observation& trial : trials) {
        if (!trial.loss || trial.deviation) continue;
        most = std::max(most, trial.steps);
        least = least < 0 ? trial.steps : std::min(least, trial.steps);
    }
    return most > 0 && least != most ? most : 0;
}

std::vector<double> ranks(const std::vector<double>& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
    std::vector<double> made(values.size());
    for (std::size_t r = 0; r < order.size(); ++r) made[order[r]] = static_cast<double>(r);
    return made;
}

/// Gives the inputs the knowledge about their targets: the noise of each, and the slopes of their mean.
void take_known(Inputs& inputs, const SearchSpace& space, const Targets& targets) {
    inputs.variances = targets.variances;
    inputs.slopes = slopes_along_expected(inputs, space, targets.values);
}

/// Draws from Gumbel's distribution. The model of the largest log density plus a draw is then drawn by its density.
double gumbel(const std::function<double()>& uniform) { return -std::log(-std::log(std::max(uniform(), 1e-300))); }

/// Draws the model's hyperparameters from their posterior.
void redraw(Model& model, const Inputs& inputs, std::span<const double> targets,
            const std::function<double()>& uniform) {
    const double share = std::min(1.0, fully_drawn / static_cast<double>(inputs.count));
    const int steps = std::max(1, static_cast<int>(most_chain_steps * share * share));
    model.parameters = draw_hyperparameters(inputs, targets, model.parameters, steps, uniform);
}

}  // namespace

SearchSpace search_space(const SamplerSetup& setup) {
    constexpr std::size_t most_values = 24;  // integers with more values, or with log, are a continuum here
    SearchSpace space;
    for (std::size_t d = 0; d < setup.space.size(); ++d) {
        const Dimension& dimension = setup.space[d];
        const bool categorical = dimension.kind == Kind::categorical;
        std::size_t bins = categorical ? dimension.choices.size() : 0;
        if (setup.values && !categorical)
            if (const auto count = setup.values(d); count && *count <= most_values && !dimension.log)
                bins = static_cast<std::size_t>(*count);
        space.categorical.push_back(categorical);
        space.bins.push_back(bins);
    }
    space.active = setup.active;
    space.allowed = setup.allowed;
    space.expected = setup.expected;
    return space;
}

Targets rescale(std::vector<double> losses, std::vector<double> variances, Scale scale) {
    Targets targets;
    const auto n = static_cast<double>(losses.size());
    if (scale != Scale::plain) {
        const double least = *std::min_element(losses.begin(), losses.end());
        double spread = upper_median(losses) - least;
        if (scale == Scale::steep_logarithm) spread /= 10;
        if (!(spread > 0)) spread = 1;
        for (std::size_t i = 0; i < losses.size(); ++i) {
            const double ratio = (losses[i] - least) / spread, slope = 1 / (spread * (1 + ratio));
            if (!variances.empty()) variances[i] *= slope * slope;
            targets.cost += std::log1p(ratio) + std::log(spread);
            losses[i] = std::log1p(ratio);
        }
    }
    const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / n;
    double variance = 0;
    for (const double loss : losses) variance += (loss - mean) * (loss - mean) / n;
    const double deviation = variance > 0 ? std::sqrt(variance) : 1, variance_unit = deviation * deviation;
    for (const double loss : losses) targets.values.push_back((loss - mean) / deviation);
    for (const double v : variances) targets.variances.push_back(v / variance_unit);
    targets.cost += n * std::log(deviation);
    return targets;
}

bool History::tell(const Observation& observation) {
    const auto [known, fresh] = index_.try_emplace(observation.trial, trials_.size());
    if (fresh) {
        trials_.push_back(observation);
    } else {
        measured_ -= trials_[known->second].loss ? 1 : 0;
        trials_[known->second] = observation;
    }
    measured_ += observation.loss ? 1 : 0;
    tells_.push_back(observation);
    if (best_ == known->second) {  // the new loss may be larger
        best_.reset();
        for (std::size_t i = 0; i < trials_.size(); ++i) consider(i);
    } else {
        consider(known->second);
    }
    return fresh;
}

void History::consider(std::size_t index) {
    if (trials_[index].loss && (!best_ || *trials_[index].loss < *trials_[*best_].loss)) best_ = index;
}

std::vector<Observation> History::as_of(std::size_t tells) const {
    if (tells == tells_.size()) return trials_;
    std::vector<Observation> all;
    std::map<std::int64_t, std::size_t> index;
    for (std::size_t i = 0; i < tells; ++i) {
        const auto [known, fresh] = index.try_emplace(tells_[i].trial, all.size());
        if (fresh)
            all.push_back(tells_[i]);
        else
            all[known->second] = tells_[i];
    }
    return all;
}

std::vector<Point> History::best_points(std::size_t count) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < trials_.size(); ++i)
        if (trials_[i].loss) order.push_back(i);
    const std::size_t kept = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](std::size_t a, std::size_t b) {
                          return *trials_[a].loss != *trials_[b].loss ? *trials_[a].loss < *trials_[b].loss : a < b;
                      });
    std::vector<Point> points;
    for (std::size_t i = 0; i < kept; ++i) points.push_back(trials_[order[i]].site.point);
    return points;
}

std::vector<std::size_t> select(const std::vector<Observation>& trials, std::size_t most) {
    std::vector<std::size_t> order(trials.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (trials.size() <= most) return order;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (trials[a].loss.has_value() != trials[b].loss.has_value()) return trials[a].loss.has_value();
        return trials[a].loss && *trials[a].loss < *trials[b].loss;
    });
    std::vector<std::size_t> kept(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most / 2));
    const std::size_t rest = trials.size() - most / 2, wanted = most - most / 2;
    for (std::size_t i = 0; i < wanted; ++i) kept.push_back(order[most / 2 + i * rest / wanted]);
    std::sort(kept.begin(), kept.end());
    return kept;
}

Data data_of(const SearchSpace& space, const std::vector<Observation>& trials, const std::vector<std::size_t>& kept) {
    Data data;
    data.steps = most_steps(trials);
    data.inputs.count = kept.size();
    data.inputs.in_cube = space.categorical.size();
    data.inputs.categorical = space.categorical;
    data.inputs.categorical.resize(space.categorical.size() + space.expected.size(), false);
    if (data.steps > 0) data.inputs.categorical.push_back(false);
    data.inputs.values.resize(kept.size() * data.inputs.dimensions());
    double worst = -INFINITY;
    for (const std::size_t i : kept)
        if (trials[i].loss) worst = std::max(worst, *trials[i].loss);
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const Observation& trial = trials[kept[i]];
        std::vector<double> input = space.input(trial.site.point);
        if (data.steps > 0) input.push_back(trial.deviation ? 1 : steps_input(trial.steps, data.steps));
        for (std::size_t d = 0; d < input.size(); ++d) data.inputs.values[d * kept.size() + i] = input[d];
        data.losses.push_back(trial.loss.value_or(worst));
        if (const auto known = trial.deviation ? trial.deviation : trial.noise; trial.loss && known) {
            data.variances.resize(kept.size(), 0.0);
            data.variances[i] = *known * *known;
        }
    }
    return data;
}

GaussianProcess process_of(const SearchSpace& space, const Data& data, const Model& model,
                           std::span<const Site> pending) {
    auto scaled = rescale(data.losses, data.variances, model.scale);
    auto& [targets, variances, cost] = scaled;
    Inputs inputs = data.inputs;
    take_known(inputs, space, scaled);
    const std::vector<double> slopes = inputs.slopes;
    GaussianProcess process(std::move(inputs), targets, model.parameters);
    if (pending.empty()) return process;
    if (!variances.empty()) variances.resize(data.inputs.count + pending.size(), 0.0);
    Inputs with{data.inputs.count + pending.size(),
                data.inputs.categorical,
                {},
                std::move(variances),
                {},
                slopes,
                data.inputs.in_cube};
    with.values.resize(with.count * with.dimensions());
    for (std::size_t d = 0; d < with.dimensions(); ++d)
        for (std::size_t i = 0; i < data.inputs.count; ++i) with.values[d * with.count + i] = data.inputs.at(i, d);
    for (std::size_t p = 0; p < pending.size(); ++p) {
        std::vector<double> input = space.input(pending[p].point);
        if (data.steps > 0) input.push_back(1);
        targets.push_back(process.predict(input).mean);
        for (std::size_t d = 0; d < input.size(); ++d) with.values[d * with.count + data.inputs.count + p] = input[d];
    }
    return {std::move(with), targets, model.parameters};
}

double least_believed(const GaussianProcess& process, bool at_last_step) {
    const Inputs& inputs = process.inputs();
    std::vector<double> input(inputs.dimensions());
    double least = INFINITY;
    for (std::size_t i = 0; i < inputs.count; ++i) {
        for (std::size_t d = 0; d < input.size(); ++d) input[d] = inputs.at(i, d);
        if (at_last_step) input.back() = 1;
        least = std::min(least, process.mean(input));
    }
    return least;
}

// The steep logarithm adds little to additive parts.
const std::array<ModelChooser::Form, 5> ModelChooser::forms{{{Scale::plain, false, 0, 20},
                                                             {Scale::logarithm, false, 0, 12},
                                                             {Scale::steep_logarithm, false, 0, 12},
                                                             {Scale::plain, true, 0, 15},
                                                             {Scale::logarithm, true, 1, 15}}};

std::size_t last_fit(std::size_t tells, std::size_t form, std::size_t forms) {
    std::size_t last = 2;
    for (std::size_t begin = 2; begin <= tells;) {
        const std::size_t end = begin + std::max<std::size_t>(1, begin / 8);
        if (const std::size_t turn = begin + form * (end - begin) / forms; turn <= tells) last = turn;
        begin = end;
    }
    return last;
}

Model local_model(const SearchSpace& space, Data data, const Point& centre, const Model& whole,
                  const std::function<double()>& uniform) {
    constexpr int iterations = 12;
    Model local{Scale::plain, {}};
    Targets targets = rescale(data.losses, data.variances, local.scale);
    Inputs& inputs = data.inputs;
    take_known(inputs, space, targets);
    double furthest = 0;
    for (std::size_t d = 0; d < centre.size(); ++d)
        if (!space.categorical[d])
            for (std::size_t i = 0; i < inputs.count; ++i)
                furthest = std::max(furthest, std::abs(inputs.at(i, d) - centre[d]));
    Hyperparameters prior = prior_hyperparameters(inputs, Kernel::joint);
    inputs.ranges.assign(inputs.dimensions(), 1.0);
    if (furthest > 0)
        for (std::size_t d = 0; d < centre.size(); ++d) {
            if (space.categorical[d]) continue;
            inputs.ranges[d] = std::clamp(2 * furthest, 1e-5, 1.0);
            prior.length[d] += std::log(inputs.ranges[d]);
        }
    std::vector<Hyperparameters> starts{prior};
    if (whole.parameters.length.size() == prior.length.size()) {
        starts.push_back(prior);
        starts.back().length = whole.parameters.length;
        if (!whole.parameters.additive_length.empty()) starts.push_back(whole.parameters);
    }
    double least = INFINITY;
    for (const Hyperparameters& start : starts) {
        Fit found = fit(inputs, targets.values, start, iterations);
        if (!local.parameters.length.empty() && !(found.cost < least)) continue;
        least = found.cost;
        local.parameters = std::move(found.parameters);
    }
    if (uniform) redraw(local, inputs, targets.values, uniform);
    return local;
}

Model ModelChooser::choose(const History& history, const std::function<double()>& uniform) {
    const std::vector<Observation>& trials = history.trials();
    Data data = data_of(space_, trials, select(trials, most_fitted));
    const std::size_t dimensions = data.inputs.dimensions();
    const std::size_t usable =
        space_.categorical.size() < 2 ? 3 : forms.size();  // in one dimension, every kernel is additive
    Model best;
    double least = INFINITY;
    Targets chosen;
    for (std::size_t form = 0; form < usable; ++form) {
        if (plain_ && forms[form].scale != Scale::plain) continue;
        Hyperparameters parameters = fitted(form, last_fit(history.tells(), form, forms.size()), history);
        if (parameters.length.size() != dimensions)  // the input for steps was added or removed since
            parameters = prior_hyperparameters(data.inputs, kernel_of(forms[form]));
        Targets targets = rescale(data.losses, data.variances, forms[form].scale);
        take_known(data.inputs, space_, targets);
        const double reached =
            cost(data.inputs, targets.values, parameters) + targets.cost - (uniform ? gumbel(uniform) : 0);
        if (form > 0 && !(reached < least)) continue;
        least = reached;
        best = {forms[form].scale, std::move(parameters)};
        chosen = std::move(targets);
    }
    take_known(data.inputs, space_, chosen);
    best.parameters = fit(data.inputs, chosen.values, best.parameters, 3).parameters;
    if (uniform) redraw(best, data.inputs, chosen.values, uniform);
    return best;
}

Kernel ModelChooser::kernel_of(const Form& form) const {
    if (form.additive) return Kernel::additive;
    return plain_ ? Kernel::joint : Kernel::warped;
}

const Hyperparameters& ModelChooser::fitted(std::size_t form, std::size_t tells, const History& history) {
    auto& known = fitted_[form];
    if (const auto found = known.find(tells); found != known.end()) return found->second;
    const Form& wanted = forms[form];
    const std::size_t before = last_fit(tells - 1, form, forms.size());
    const Hyperparameters* const previous = before < tells ? &fitted(form, before, history) : nullptr;
    const std::vector<Observation> trials = history.as_of(tells);
    Data data = data_of(space_, trials, select(trials, most_fitted));
    Hyperparameters start = prior_hyperparameters(data.inputs, kernel_of(wanted));
    if (wanted.begins_at != form) {
        const Hyperparameters& other =
            fitted(wanted.begins_at, last_fit(tells, wanted.begins_at, forms.size()), history);
        if (other.length.size() == start.length.size()) {
            start.noise = other.noise;
            if (wanted.additive) {
                // The length scales of the joint kernel start the additive part. If the joint kernel also started with
                // short lengths, it would continue to explain everything.
                for (std::size_t d = 0; d < other.length.size(); ++d)
                    start.additive_length[d] = std::min(other.length[d], 0.0);
            } else {
                start.length = other.length;
                start.scale = other.scale;
                start.warp = other.warp;
            }
        }
    }
    const auto targets_of = [&](Data& some) {
        Targets targets = rescale(some.losses, some.variances, wanted.scale);
        take_known(some.inputs, space_, targets);
        return std::move(targets.values);
    };
    Data few = data_of(space_, trials, select(trials, most_sketched));
    if (few.inputs.dimensions() != data.inputs.dimensions()) few = data;  // only the others have different steps
    const std::vector<double> few_targets = targets_of(few), targets = targets_of(data);
    start = fit(few.inputs, few_targets, start, wanted.iterations).parameters;
    if (previous && previous->length.size() == start.length.size() &&
        cost(data.inputs, targets, *previous) < cost(data.inputs, targets, start))
        start = *previous;
    return known[tells] = fit(data.inputs, targets, start, refinements).parameters;
}

double ModelChooser::distrust(const History& history, const Model& model) const {
    const Data data = data_of(space_, history.trials(), select(history.trials(), most_fitted));
    const GaussianProcess process = process_of(space_, data, model, {});
    std::vector<double> means;
    for (const auto& prediction : process.leave_one_out()) means.push_back(prediction.mean);
    const std::vector<double> observed = ranks(process.targets()), predicted = ranks(means);
    const auto n = static_cast<double>(observed.size());
    double squares = 0;
    for (std::size_t i = 0; i < observed.size(); ++i)
        squares += (observed[i] - predicted[i]) * (observed[i] - predicted[i]);
    const double correlation = 1 - 6 * squares / (n * (n * n - 1));
    return std::clamp((0.85 - correlation) / 0.85, 0.0, 1.0) / 2;
}

}  // namespace hpo
