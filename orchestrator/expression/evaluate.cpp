#include <algorithm>
#include <array>
#include <cmath>

#include "hpo/dimension_value.hpp"
#include "orchestrator/expression/expression.hpp"

namespace hpo::expression {

namespace {

using Op = Expression::Op;
using Node = Expression::Node;
using Nodes = std::vector<Node>;
using Values = std::span<const Value* const>;

constexpr double rounding = 1e-12;  ///< share of their size by which equal numbers may differ

/// The value of a node in a configuration.
struct Operand {
    enum class Kind { absent, undefined, number, value };
    Kind kind = Kind::undefined;
    double number = 0;  ///< also of true and false
    Value value;        ///< a text, null or a list
};

Operand number_operand(double number) {
    if (!std::isfinite(number)) return {};
    return {Operand::Kind::number, number, {}};
}

Operand operand_of(const Value* value) {
    if (value == nullptr) return {Operand::Kind::absent, 0, {}};
    if (const auto* flag = std::get_if<bool>(value)) return number_operand(*flag ? 1 : 0);
    const double number = number_or(*value, std::nan(""));
    return std::isnan(number) ? Operand{Operand::Kind::value, 0, *value} : number_operand(number);
}

double computed(Op op, const std::vector<double>& of) {
    const double a = of[0], b = of.size() > 1 ? of[1] : 0;
    switch (op) {
        case Op::negative:
            return -a;
        case Op::add:
            return a + b;
        case Op::subtract:
            return a - b;
        case Op::multiply:
            return a * b;
        case Op::divide:
            return a / b;
        case Op::whole_divide:
            return std::floor(a / b);
        case Op::modulo:
            return a - b * std::floor(a / b);
        case Op::power:
            return std::pow(a, b);
        case Op::min:
            return *std::min_element(of.begin(), of.end());
        case Op::max:
            return *std::max_element(of.begin(), of.end());
        case Op::abs:
            return std::abs(a);
        case Op::sqrt:
            return std::sqrt(a);
        case Op::exp:
            return std::exp(a);
        case Op::log:
            return std::log(a);
        case Op::log2:
            return std::log2(a);
        case Op::log10:
            return std::log10(a);
        case Op::floor:
            return std::floor(a);
        case Op::ceil:
            return std::ceil(a);
        case Op::round:
            return std::nearbyint(a);
        default:
            return std::nan("");
    }
}

bool is_condition(Op op) { return op >= Op::equal; }

Truth negated(Truth truth) { return truth == Truth::yes ? Truth::no : truth == Truth::no ? Truth::yes : truth; }

class Evaluation {
   public:
    Evaluation(const Nodes& nodes, Values values) : nodes_(nodes), values_(values) {}

    Operand operand(std::size_t index) const {
        const Node& node = nodes_[index];
        switch (node.op) {
            case Op::number:
                return number_operand(node.number);
            case Op::flag:
                return number_operand(node.number);
            case Op::text:
                return {Operand::Kind::value, 0, node.text};
            case Op::null:
                return {Operand::Kind::value, 0, JsonText{"null"}};
            case Op::variable:
                return operand_of(values_[node.variable]);
            default:
                break;
        }
        if (is_condition(node.op)) {
            const Truth answer = truth(index);
            if (answer == Truth::absent) return {Operand::Kind::absent, 0, {}};
            return answer == Truth::undefined ? Operand{} : number_operand(answer == Truth::yes ? 1 : 0);
        }
        std::vector<double> of;
        bool known = true;
        for (const std::size_t part : node.parts) {
            const Operand one = operand(part);
            if (one.kind == Operand::Kind::absent) return one;
            known = known && one.kind == Operand::Kind::number;
            of.push_back(one.number);
        }
        return known ? number_operand(computed(node.op, of)) : Operand{};
    }

    Truth truth(std::size_t index) const {
        const Node& node = nodes_[index];
        switch (node.op) {
            case Op::both:
                return joined(node, Truth::no);
            case Op::either:
                return joined(node, Truth::yes);
            case Op::negation:
                return negated(truth(node.parts[0]));
            case Op::in:
                return among(node);
            case Op::not_in:
                return negated(among(node));
            default:
                break;
        }
        if (node.op >= Op::equal) return compared(node.op, operand(node.parts[0]), operand(node.parts[1]));
        const Operand one = operand(index);  // true, false, or a parameter with one of these values
        if (one.kind == Operand::Kind::absent) return Truth::absent;
        if (one.kind != Operand::Kind::number) return Truth::undefined;
        return one.number != 0 ? Truth::yes : Truth::no;
    }

   private:
    /// Joins the parts: one that is `decides` decides, and otherwise one without an answer leaves none.
    Truth joined(const Node& node, Truth decides) const {
        Truth all = negated(decides);
        for (const std::size_t part : node.parts) {
            const Truth one = truth(part);
            if (one == decides) return decides;
            if (one == Truth::undefined || (one == Truth::absent && all != Truth::undefined)) all = one;
        }
        return all;
    }

    Truth among(const Node& node) const {
        const Operand sought = operand(node.parts[0]);
        Truth found = Truth::no;
        for (std::size_t i = 1; i < node.parts.size(); ++i) {
            const Truth one = compared(Op::equal, sought, operand(node.parts[i]));
            if (one == Truth::yes) return one;
            if (one != Truth::no && found != Truth::undefined) found = one;
        }
        return found;
    }

    static Truth compared(Op op, const Operand& a, const Operand& b) {
        if (a.kind == Operand::Kind::absent || b.kind == Operand::Kind::absent) return Truth::absent;
        if (a.kind == Operand::Kind::undefined || b.kind == Operand::Kind::undefined) return Truth::undefined;
        const bool numbers = a.kind == Operand::Kind::number && b.kind == Operand::Kind::number;
        const bool equal =
            numbers ? std::abs(a.number - b.number) <= rounding * std::max(std::abs(a.number), std::abs(b.number))
                    : a.kind == b.kind && same_value(a.value, b.value);
        if (op != Op::equal && op != Op::unequal && !numbers) return Truth::undefined;
        const auto answer = [](bool holds) { return holds ? Truth::yes : Truth::no; };
        switch (op) {
            case Op::equal:
                return answer(equal);
            case Op::unequal:
                return answer(!equal);
            case Op::less:
                return answer(!equal && a.number < b.number);
            case Op::at_most:
                return answer(equal || a.number < b.number);
            case Op::greater:
                return answer(!equal && a.number > b.number);
            default:
                return answer(equal || a.number > b.number);
        }
    }

    const Nodes& nodes_;
    Values values_;
};

using Bounds = std::optional<Interval>;

/// Returns the least and the greatest of some numbers, or nothing if one is not finite.
Bounds hull(std::initializer_list<double> numbers) {
    for (const double one : numbers)
        if (!std::isfinite(one)) return std::nullopt;
    return Interval{std::min(numbers), std::max(numbers)};
}

/// Returns the bounds of a function that never falls.
Bounds rising(const Interval& a, double (*function)(double)) { return hull({function(a.low), function(a.high)}); }

Bounds power_bounds(const Interval& base, const Interval& exponent) {
    const auto corners = hull({std::pow(base.low, exponent.low), std::pow(base.low, exponent.high),
                               std::pow(base.high, exponent.low), std::pow(base.high, exponent.high)});
    if (base.low > 0 || (base.low == 0 && exponent.low >= 0)) return corners;
    const bool whole = exponent.low == exponent.high && exponent.low == std::floor(exponent.low) && exponent.low >= 0;
    if (!whole || !corners) return std::nullopt;  // a root of a negative number, or a division by 0
    const bool even = std::fmod(exponent.low, 2) == 0;
    return even && base.low < 0 && base.high > 0 ? Interval{std::min(0.0, corners->low), corners->high} : *corners;
}

class Bounding {
   public:
    Bounding(const Nodes& nodes, const std::vector<Variable>& variables) : nodes_(nodes), variables_(variables) {}

    Bounds of(std::size_t index) const {
        const Node& node = nodes_[index];
        if (node.op == Op::number || node.op == Op::flag) return Interval{node.number, node.number};
        if (node.op == Op::variable) return of(variables_[node.variable]);
        if (is_condition(node.op)) return Interval{0, 1};
        std::vector<Interval> parts;
        for (const std::size_t part : node.parts) {
            const auto one = of(part);
            if (!one) return one;
            parts.push_back(*one);
        }
        return parts.empty() ? Bounds() : combined(node.op, parts);
    }

   private:
    static Bounds of(const Variable& variable) {
        if (variable.choices.empty()) return Interval{variable.low, variable.high};
        Bounds made;
        for (const Value& choice : variable.choices) {
            const auto* flag = std::get_if<bool>(&choice);
            const double number = flag ? static_cast<double>(*flag) : number_or(choice, std::nan(""));
            if (std::isnan(number)) continue;
            made =
                made ? Interval{std::min(made->low, number), std::max(made->high, number)} : Interval{number, number};
        }
        return made;
    }

    static Bounds combined(Op op, const std::vector<Interval>& parts) {
        const Interval a = parts[0], b = parts.size() > 1 ? parts[1] : Interval{};
        const auto quotients = [&]() -> Bounds {
            if (b.low <= 0 && b.high >= 0) return std::nullopt;
            return hull({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
        };
        switch (op) {
            case Op::negative:
                return hull({-a.high, -a.low});
            case Op::add:
                return hull({a.low + b.low, a.high + b.high});
            case Op::subtract:
                return hull({a.low - b.high, a.high - b.low});
            case Op::multiply:
                return hull({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
            case Op::divide:
                return quotients();
            case Op::whole_divide: {
                const auto exact = quotients();
                return exact ? rising(*exact, [](double x) { return std::floor(x); }) : exact;
            }
            case Op::modulo:
                return b.low > 0 ? Bounds(Interval{0, b.high}) : std::nullopt;
            case Op::power:
                return power_bounds(a, b);
            case Op::min:
            case Op::max: {
                Interval made = a;
                for (const Interval& one : parts)
                    made = op == Op::min ? Interval{std::min(made.low, one.low), std::min(made.high, one.high)}
                                         : Interval{std::max(made.low, one.low), std::max(made.high, one.high)};
                return made;
            }
            case Op::abs:
                return a.low <= 0 && a.high >= 0 ? hull({0, -a.low, a.high})
                                                 : hull({std::abs(a.low), std::abs(a.high)});
            case Op::sqrt:
                return rising(a, [](double x) { return std::sqrt(x); });
            case Op::exp:
                return rising(a, [](double x) { return std::exp(x); });
            case Op::log:
                return rising(a, [](double x) { return std::log(x); });
            case Op::log2:
                return rising(a, [](double x) { return std::log2(x); });
            case Op::log10:
                return rising(a, [](double x) { return std::log10(x); });
            case Op::floor:
                return rising(a, [](double x) { return std::floor(x); });
            case Op::ceil:
                return rising(a, [](double x) { return std::ceil(x); });
            case Op::round:
                return rising(a, [](double x) { return std::nearbyint(x); });
            default:
                return std::nullopt;
        }
    }

    const Nodes& nodes_;
    const std::vector<Variable>& variables_;
};

}  // namespace

Truth Expression::holds(std::span<const Value* const> values) const {
    return Evaluation(nodes_, values).truth(nodes_.size() - 1);
}

std::optional<double> Expression::number(std::span<const Value* const> values) const {
    const Operand one = Evaluation(nodes_, values).operand(nodes_.size() - 1);
    return one.kind == Operand::Kind::number ? std::optional(one.number) : std::nullopt;
}

std::optional<Interval> Expression::bounds(const std::vector<Variable>& variables) const {
    return Bounding(nodes_, variables).of(nodes_.size() - 1);
}

}  // namespace hpo::expression
