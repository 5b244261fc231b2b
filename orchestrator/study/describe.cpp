#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "hpo/text.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/study/study_file.hpp"

namespace hpo {

namespace {

using std::string;

/// Returns the number of values that a dimension can take, or nothing for a continuous one.
std::optional<double> values_of(const Dimension& dimension) {
    if (dimension.kind == Kind::categorical) return static_cast<double>(dimension.choices.size());
    if (dimension.low == dimension.high) return 1;
    if (dimension.kind == Kind::real && !dimension.step) return {};
    return std::round((dimension.high - dimension.low) / dimension.step.value_or(1)) + 1;
}

Value value_at(const Dimension& dimension, std::size_t index) {
    if (dimension.kind == Kind::categorical) return dimension.choices[index];
    return static_cast<std::int64_t>(dimension.low + static_cast<double>(index) * dimension.step.value_or(1));
}

/// Counts the configurations of a space. Values of parameters that others depend on are enumerated, parents before
/// children; the numbers of values of the others are multiplied.
class Counter {
   public:
    explicit Counter(const Space& space) : space_(space) {
        // Sorts topologically. A checked study has no cycles.
        std::vector<bool> placed(space.size(), false);
        while (order_.size() < space.size()) {
            const std::size_t before = order_.size();
            for (std::size_t i = 0; i < space.size(); ++i) {
                const auto ready = [&](const Condition& c) {
                    for (std::size_t j = 0; j < space.size(); ++j)
                        if (space[j].name == c.parameter) return bool(placed[j]);
                    return true;
                };
                if (placed[i] || !std::all_of(space[i].when.begin(), space[i].when.end(), ready)) continue;
                placed[i] = true;
                order_.push_back(i);
            }
            if (order_.size() == before) break;
        }
    }

    /// Returns the count, or nothing if there are too many combinations of parents to enumerate.
    std::optional<double> count() {
        const double total = count_from(0);
        return steps_ > max_steps ? std::nullopt : std::optional(total);
    }

   private:
    static constexpr int max_steps = 100000;

    bool is_parent(const string& name) const {
        return std::any_of(space_.begin(), space_.end(), [&](const Dimension& dimension) {
            return std::any_of(dimension.when.begin(), dimension.when.end(),
                               [&](const Condition& c) { return c.parameter == name; });
        });
    }

    bool is_active(const Dimension& dimension) const {
        return std::all_of(dimension.when.begin(), dimension.when.end(), [&](const Condition& c) {
            const auto parent = values_.find(c.parameter);
            return parent != values_.end() &&
                   std::find(c.any_of.begin(), c.any_of.end(), parent->second) != c.any_of.end();
        });
    }

    /// Counts the combinations of the dimensions from `index` on, in topological order, for the current `values_`.
    double count_from(std::size_t index) {
        if (index == order_.size() || ++steps_ > max_steps) return 1;
        const Dimension& dimension = space_[order_[index]];
        if (!is_active(dimension)) return count_from(index + 1);
        const double size = *values_of(dimension);
        if (!is_parent(dimension.name)) return size * count_from(index + 1);
        double sum = 0;
        for (std::size_t i = 0; static_cast<double>(i) < size && steps_ <= max_steps; ++i) {
            values_[dimension.name] = value_at(dimension, i);
            sum += count_from(index + 1);
        }
        values_.erase(dimension.name);
        return sum;
    }

    const Space& space_;
    std::vector<std::size_t> order_;
    Params values_;
    int steps_ = 0;
};

}  // namespace

string describe(const Space& space) {
    if (space.empty()) return "nothing varies";
    const bool finite =
        std::all_of(space.begin(), space.end(), [](const Dimension& d) { return values_of(d).has_value(); });
    const bool fixed_ranges =
        std::none_of(space.begin(), space.end(), [](const Dimension& d) { return d.dependent(); });
    if (finite && fixed_ranges)
        if (const auto count = Counter(space).count())
            return exact_number(*count) + (*count == 1 ? " configuration" : " configurations");
    std::array<double, 3> kinds{};
    double conditional = 0;
    for (const Dimension& dimension : space) {
        ++kinds[static_cast<std::size_t>(dimension.kind)];
        conditional += dimension.when.empty() ? 0 : 1;
    }
    string text;
    for (const auto& [count, noun] : {std::pair{kinds[0], "float"}, {kinds[1], "int"}, {kinds[2], "categorical"}})
        if (count > 0) text += (text.empty() ? "" : ", ") + exact_number(count) + " " + noun;
    if (conditional > 0) text += "; " + exact_number(conditional) + " conditional";
    return counted(static_cast<std::int64_t>(space.size()), "parameter") + ": " + text;
}

string describe(const Dimension& dimension) {
    string text;
    if (dimension.kind == Kind::categorical) {
        text = "one of ";
        for (std::size_t i = 0; i < dimension.choices.size(); ++i)
            text += (i > 0 ? ", " : "") + to_text(dimension.choices[i]);
    } else {
        text = dimension.kind == Kind::real ? "float " : "int ";
        const auto end = [](double number, const string& expression) {
            return expression.empty() ? exact_number(number) : expression;
        };
        text += end(dimension.low, dimension.low_of) + " to " + end(dimension.high, dimension.high_of);
        if (dimension.step) text += " by " + exact_number(*dimension.step);
        if (dimension.log) text += ", log";
    }
    if (dimension.prior) text += ", preferably " + to_text(*dimension.prior);
    for (const Condition& condition : dimension.when) {
        text += &condition == &dimension.when.front() ? ", only with " : " and ";
        text += condition.parameter + " = ";
        for (std::size_t i = 0; i < condition.any_of.size(); ++i)
            text += (i > 0 ? " or " : "") + to_text(condition.any_of[i]);
    }
    return text;
}

}  // namespace hpo
