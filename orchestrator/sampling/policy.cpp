#include "orchestrator/sampling/policy.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace hpo {

namespace {

constexpr double small_batch = 256;    ///< regularizers have their declared prior here
constexpr double odds_growth = 0.25;   ///< of a regularizer's odds with the batch size
constexpr double greatest_odds = 9.0;  ///< medians stay within [0.1, 0.9] of a range

double bend(double u, double odds) { return odds * u / (1 + (odds - 1) * u); }
double unbend(double t, double odds) { return bend(t, 1 / odds); }

std::optional<std::uint64_t> bins(const Dimension& d) {
    if (d.kind == Kind::categorical) return d.choices.size();
    if (d.kind == Kind::real && !d.step) return std::nullopt;
    return static_cast<std::uint64_t>((d.high - d.low) / d.step.value_or(1) + 1e-9) + 1;
}

double bin_value(const Dimension& d, std::uint64_t index) {
    return d.low + static_cast<double>(index) * d.step.value_or(1);
}

/// Returns the lower edge of a bin on the logarithm's scale. Neighbours meet at their geometric mean, and the outermost
/// bins reach equally far outwards.
double lower_edge(const Dimension& d, std::uint64_t index, std::uint64_t count) {
    if (index == 0) return count > 1 ? d.low * std::sqrt(d.low / bin_value(d, 1)) : d.low;
    if (index == count) {
        const double last = bin_value(d, count - 1);
        return count > 1 ? last * std::sqrt(last / bin_value(d, count - 2)) : last;
    }
    return std::sqrt(bin_value(d, index - 1) * bin_value(d, index));
}

std::uint64_t bin_at(const Dimension& d, double t, std::uint64_t count) {
    if (!d.log || d.kind == Kind::categorical)
        return std::min(static_cast<std::uint64_t>(t * static_cast<double>(count)), count - 1);
    const double from = std::log(lower_edge(d, 0, count));
    const double to = std::log(lower_edge(d, count, count));
    const double x = std::exp(from + t * (to - from));
    const double guess = std::floor((x - d.low) / d.step.value_or(1));
    auto index = static_cast<std::uint64_t>(std::clamp(guess, 0.0, static_cast<double>(count - 1)));
    if (index + 1 < count && x >= lower_edge(d, index + 1, count)) ++index;
    return index;
}

double bin_middle(const Dimension& d, std::uint64_t index, std::uint64_t count) {
    if (!d.log || d.kind == Kind::categorical || count == 1)
        return (static_cast<double>(index) + 0.5) / static_cast<double>(count);
    const double from = std::log(lower_edge(d, 0, count));
    const double to = std::log(lower_edge(d, count, count));
    const double middle = (std::log(lower_edge(d, index, count)) + std::log(lower_edge(d, index + 1, count))) / 2;
    return (middle - from) / (to - from);
}

double real_at(const Dimension& d, double t) {
    const double value =
        d.log ? std::exp(std::log(d.low) + t * (std::log(d.high) - std::log(d.low))) : d.low + t * (d.high - d.low);
    return std::clamp(value, d.low, d.high);
}

double real_position(const Dimension& d, double value) {
    if (d.low == d.high) return 0.5;
    const double t = d.log ? (std::log(value) - std::log(d.low)) / (std::log(d.high) - std::log(d.low))
                           : (value - d.low) / (d.high - d.low);
    return std::clamp(t, 0.0, 1.0);
}

/// Rounds a value to twelve digits, since multiples of a step have rounding errors (0.30000000000000004).
double dusted(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.12g", value);
    return std::strtod(text, nullptr);
}

Value value_of_bin(const Dimension& d, std::uint64_t index) {
    if (d.kind == Kind::categorical) return d.choices[index];
    if (d.kind == Kind::integer) return static_cast<std::int64_t>(std::llround(bin_value(d, index)));
    return std::clamp(dusted(bin_value(d, index)), d.low, d.high);
}

Value value_at(const Dimension& d, double t) {
    const auto count = bins(d);
    if (!count) return real_at(d, t);
    return value_of_bin(d, bin_at(d, t, *count));
}

/// Returns the coordinate of a value before bending, or nothing if the value is not in the dimension.
std::optional<double> position(const Dimension& d, const Value& value) {
    if (d.kind == Kind::categorical) {
        const auto found = std::find(d.choices.begin(), d.choices.end(), value);
        if (found == d.choices.end()) return std::nullopt;
        return bin_middle(d, static_cast<std::uint64_t>(found - d.choices.begin()), d.choices.size());
    }
    const double number = number_or(value, std::nan(""));
    if (!(number >= d.low && number <= d.high)) return std::nullopt;
    const auto count = bins(d);
    if (!count) return real_position(d, number);
    const double index = std::round((number - d.low) / d.step.value_or(1));
    if (index >= static_cast<double>(*count) ||
        std::abs(bin_value(d, static_cast<std::uint64_t>(index)) - number) > 1e-9 * std::max(1.0, std::abs(number)))
        return std::nullopt;
    return bin_middle(d, static_cast<std::uint64_t>(index), *count);
}

bool starts_with_sgd(const Value& value) {
    const auto* text = std::get_if<std::string>(&value);
    return text && (text->starts_with("sgd") || text->starts_with("SGD"));
}

}  // namespace

Result<CubeMap> CubeMap::make(const Space& space, const Policy& policy, const Params& fixed,
                              const std::vector<std::string>& where) {
    CubeMap map;
    map.space_ = space;
    map.fixed_ = fixed;
    map.scaled_ = policy.scaled;

    double batch_log = 0;
    int batch_ends = 0;
    for (const Dimension& d : space) {
        if (d.role != Role::batch_size) continue;
        double low = d.low, high = d.high;
        if (d.kind == Kind::categorical) {
            low = high = 0;
            for (const Value& choice : d.choices) {
                const double size = number_or(choice, 0);
                if (size <= 0) return Error{"batch size " + d.name + " has a choice that is not a positive number"};
                low = low == 0 ? size : std::min(low, size);
                high = std::max(high, size);
            }
        }
        if (low <= 0) return Error{"batch size " + d.name + " must be above 0"};
        batch_log += std::log(low) + std::log(high);
        batch_ends += 2;
    }
    if (batch_ends) map.reference_batch_ = std::exp(batch_log / batch_ends);

    if (auto read = map.read_expressions(where); !read) return read.error();
    for (const Dimension& d : space)
        for (const Condition& condition : d.when)
            if (std::none_of(space.begin(), space.end(),
                             [&](const Dimension& other) { return other.name == condition.parameter; }))
                return Error{d.name + " depends on " + condition.parameter + ", which is not in the space"};
    std::vector<bool> placed(space.size(), false);
    while (map.order_.size() < space.size()) {
        const std::size_t before = map.order_.size();
        for (std::size_t i = 0; i < space.size(); ++i) {
            bool ready = !placed[i];
            for (std::size_t j = 0; ready && j < space.size(); ++j) ready = placed[j] || !map.needs(i, j);
            if (!ready) continue;
            placed[i] = true;
            map.order_.push_back(i);
        }
        if (map.order_.size() > before) continue;
        std::string circle;
        for (std::size_t i = 0; i < space.size(); ++i)
            if (!placed[i]) circle += (circle.empty() ? "" : ", ") + space[i].name;
        return Error{"these parameters depend on each other in a circle: " + circle +
                     (map.scaled_ ? " (policy.regularization: off takes out the dependence on the batch size)" : "")};
    }
    return map;
}

Result<void> CubeMap::read_expressions(const std::vector<std::string>& where) {
    using expression::Expression;
    const std::vector<expression::Variable> variables = expression::variables_of(space_, fixed_);
    const auto read = [&](const std::string& text, expression::Meaning meaning) -> Result<Expression> {
        auto made = Expression::read(text, meaning, variables);
        if (const auto* mistake = std::get_if<expression::Mistake>(&made))
            return Error{"\"" + text + "\": " + mistake->message};
        return std::get<Expression>(std::move(made));
    };
    ends_.resize(space_.size());
    for (std::size_t d = 0; d < space_.size(); ++d) {
        std::optional<expression::Interval> bounds[2];
        for (const bool upper : {false, true}) {
            const std::string& text = upper ? space_[d].high_of : space_[d].low_of;
            if (text.empty()) continue;
            auto made = read(text, expression::Meaning::number);
            if (!made) return made.error();
            bounds[upper] = made->bounds(variables);
            (upper ? ends_[d].high : ends_[d].low) = *std::move(made);
        }
        if (!space_[d].dependent()) continue;
        // Whole numbers and steps may leave nothing between ends that are in order.
        const double least_high = bounds[1] ? bounds[1]->low : space_[d].high;
        const double greatest_low = bounds[0] ? bounds[0]->high : space_[d].low;
        const double room = space_[d].kind == Kind::integer && bounds[0] && bounds[1] ? 1 : 0;
        restricts_ = restricts_ || !(least_high - greatest_low >= room);
    }
    for (const std::string& text : where) {
        auto made = read(text, expression::Meaning::condition);
        if (!made) return made.error();
        where_.push_back(*std::move(made));
        restricts_ = true;
    }
    return {};
}

bool CubeMap::needs(std::size_t dimension, std::size_t other) const {
    const Dimension &d = space_[dimension], &o = space_[other];
    for (const Condition& condition : d.when)
        if (condition.parameter == o.name) return true;
    for (const auto& end : {std::cref(ends_[dimension].low), std::cref(ends_[dimension].high)})
        if (end.get() && std::binary_search(end.get()->uses().begin(), end.get()->uses().end(), other)) return true;
    if (!scaled_ || d.kind == Kind::categorical || d.prior) return false;
    const bool bent = d.role == Role::learning_rate || d.role == Role::regularizer;
    return bent && (o.role == Role::batch_size || (d.role == Role::learning_rate && o.name == "optimizer"));
}

std::vector<const Value*> CubeMap::values_of(const Params& params) const {
    std::vector<const Value*> values;
    values.reserve(space_.size() + fixed_.size());
    for (const Dimension& d : space_) {
        const auto found = params.find(d.name);
        values.push_back(found == params.end() ? nullptr : &found->second);
    }
    for (const auto& [name, value] : fixed_) values.push_back(&value);
    return values;
}

CubeMap::Left CubeMap::left_of(std::size_t dimension, const Params& params) const {
    Left left{space_[dimension], false};
    Dimension& d = left.dimension;
    const auto values = values_of(params);
    const double slack = d.kind == Kind::integer ? 1e-9 : 0;  // of whole numbers that an expression computes
    // An end that names a parameter which the configuration does not have is as wide as it can be.
    if (const auto& low = ends_[dimension].low)
        if (const auto number = low->number(values)) {
            left.empty = *number > d.high;
            d.low = std::clamp(*number, d.low, d.high);
            if (d.kind == Kind::integer) d.low = std::ceil(d.low - slack);
        }
    if (const auto& high = ends_[dimension].high)
        if (const auto number = high->number(values)) {
            left.empty = left.empty || *number < space_[dimension].low;
            d.high = std::clamp(*number, space_[dimension].low, d.high);
            if (d.kind == Kind::integer) d.high = std::floor(d.high + slack);
        }
    left.empty = left.empty || d.low > d.high;
    if (left.empty) d.high = d.low;
    return left;
}

template <class Use>
auto CubeMap::with(std::size_t dimension, const Params& params, Use&& use) const {
    if (!space_[dimension].dependent()) return use(space_[dimension]);
    return use(left_of(dimension, params).dimension);
}

bool CubeMap::keeps(std::size_t condition, const Params& params) const {
    const expression::Truth truth = where_[condition].holds(values_of(params));
    return truth == expression::Truth::yes || truth == expression::Truth::absent;
}

bool CubeMap::allows(const Params& params) const {
    if (!restricts_) return true;
    for (std::size_t i = 0; i < space_.size(); ++i)
        if (const auto found = params.find(space_[i].name); space_[i].dependent() && found != params.end()) {
            const Left left = left_of(i, params);
            if (left.empty || !position(left.dimension, found->second)) return false;
        }
    for (std::size_t c = 0; c < where_.size(); ++c)
        if (!keeps(c, params)) return false;
    return true;
}

bool CubeMap::holds(const Dimension& dimension, const Params& params) const {
    return std::all_of(dimension.when.begin(), dimension.when.end(), [&](const Condition& condition) {
        const auto found = params.find(condition.parameter);
        return found != params.end() &&
               std::find(condition.any_of.begin(), condition.any_of.end(), found->second) != condition.any_of.end();
    });
}

std::optional<double> CubeMap::batch_size(const Params& params) const {
    for (const Dimension& d : space_)
        if (const auto found = params.find(d.name); d.role == Role::batch_size && found != params.end())
            return number_or(found->second, small_batch);
    const auto found = fixed_.find("batch_size");
    if (found == fixed_.end() || number_or(found->second, 0) <= 0) return std::nullopt;
    return number_or(found->second, small_batch);
}

bool CubeMap::linear_in_batch(const Params& params) const {
    if (const auto found = params.find("optimizer"); found != params.end()) return starts_with_sgd(found->second);
    const auto found = fixed_.find("optimizer");
    return found != fixed_.end() && starts_with_sgd(found->second);
}

double CubeMap::odds(const Dimension& d, const Params& params) const {
    if (!scaled_ || d.kind == Kind::categorical || d.prior || d.low >= d.high) return 1;
    if (d.role != Role::learning_rate && d.role != Role::regularizer) return 1;
    const auto batch = batch_size(params);
    if (!batch) return 1;
    if (d.role == Role::regularizer) return std::clamp(std::pow(*batch / small_batch, odds_growth), 1.0, greatest_odds);
    if (reference_batch_ == 0) return 1;
    const double ratio = *batch / reference_batch_;
    const double target = real_at(d, 0.5) * (linear_in_batch(params) ? ratio : std::sqrt(ratio));
    const double edge = 1 / (1 + greatest_odds);
    const double median = std::clamp(real_position(d, std::clamp(target, d.low, d.high)), edge, 1 - edge);
    return median / (1 - median);
}

namespace {

/// Returns the preferred value for one that differs from it by rounding: 3.0e-4, not 0.00030000000000000003.
Value as_preferred(const Dimension& d, Value value) {
    const auto* made = std::get_if<double>(&value);
    if (made == nullptr || !d.prior) return value;
    const double prior = number_or(*d.prior, *made);
    return std::abs(*made - prior) <= 1e-12 * std::abs(prior) ? Value(prior) : value;
}

}  // namespace

Params CubeMap::params(const Point& point) const { return params(point, {}); }

Params CubeMap::params(const Point& point, const Params& given) const {
    Params made;
    for (const std::size_t i : order_) {
        const Dimension& declared = space_[i];
        if (!holds(declared, made)) continue;
        if (const auto found = given.find(declared.name); found != given.end())
            made[declared.name] = found->second;
        else
            made[declared.name] = with(i, made, [&](const Dimension& d) {
                return as_preferred(d, value_at(d, bend(std::clamp(point[i], 0.0, 1.0), odds(d, made))));
            });
    }
    return made;
}

std::vector<bool> CubeMap::active(const Params& params) const {
    std::vector<bool> flags(space_.size(), true);
    for (std::size_t i = 0; i < space_.size(); ++i) flags[i] = params.contains(space_[i].name);
    return flags;
}

std::vector<bool> CubeMap::active(const Point& point) const {
    if (std::all_of(space_.begin(), space_.end(), [](const Dimension& d) { return d.when.empty(); }))
        return std::vector<bool>(space_.size(), true);
    return active(params(point));
}

Result<Point> CubeMap::point(const Params& params) const {
    Point point(space_.size(), 0.5);
    for (const std::size_t i : order_) {
        const Dimension& declared = space_[i];
        if (!holds(declared, params)) continue;
        const auto found = params.find(declared.name);
        if (found == params.end()) return Error{declared.name + " is missing"};
        const auto at = with(i, params, [&](const Dimension& d) {
            const auto t = position(d, found->second);
            return t ? std::optional(unbend(*t, odds(d, params))) : std::nullopt;
        });
        if (!at) return Error{declared.name + ": " + to_text(found->second) + " is outside its dimension"};
        point[i] = *at;
    }
    return point;
}

Point CubeMap::canonical(const Point& point) const {
    Point made = point;
    const Params known = params(point);
    for (std::size_t i = 0; i < space_.size(); ++i) {
        const auto found = known.find(space_[i].name);
        if (found == known.end() || !bins(space_[i])) continue;
        made[i] =
            with(i, known, [&](const Dimension& d) { return unbend(*position(d, found->second), odds(d, known)); });
    }
    return made;
}

std::optional<std::uint64_t> CubeMap::combinations(std::uint64_t enumerable) const {
    std::uint64_t product = 1;
    for (const Dimension& d : space_) {
        const auto count = bins(d);
        if (!count) return std::nullopt;
        if (*count > enumerable || product > enumerable) return enumerable + 1;
        product *= *count;
    }
    return product;
}

std::optional<Params> CubeMap::combination(std::uint64_t number) const {
    std::vector<std::uint64_t> indices(space_.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::uint64_t count = *bins(space_[i]);
        indices[i] = number % count;
        number /= count;
    }
    Params made;
    for (const std::size_t i : order_) {
        if (!holds(space_[i], made)) continue;
        const auto value = with(i, made, [&](const Dimension& d) {
            return indices[i] < *bins(d) ? std::optional(value_of_bin(d, indices[i])) : std::nullopt;
        });
        if (!value) return std::nullopt;
        made[space_[i].name] = *value;
    }
    return made;
}

double CubeMap::middle(std::size_t dimension, std::uint64_t index) const {
    return bin_middle(space_[dimension], index, *bins(space_[dimension]));
}

double CubeMap::preferred(std::size_t dimension) const {
    return *position(space_[dimension], *space_[dimension].prior);
}

std::optional<std::uint64_t> CubeMap::values(std::size_t dimension) const {
    return space_[dimension].dependent() ? std::nullopt : bins(space_[dimension]);
}

}  // namespace hpo
