// Conditions and numbers that depend on parameters, such as `layers * width <= 4096` or `width / 2`.
//
// The language is the arithmetic of Python:
//   numbers, texts in quotes, true, false, null, and parameters by name, also with dots (optimizer.lr)
//   + - * / // % **, parentheses, min, max (two or more), abs, sqrt, exp, log, log2, log10, floor, ceil, round
//   == != < <= > >=, also chained (8 <= a < b), in [1, 2], not in [...]
//   and, or, not
// A name may contain '-': the longest known one counts, and a subtraction of it needs a blank (a-b is a name if there
// is one, a - b never).
//
// Numbers that differ by less than 1e-12 of their size are equal, since sums of decimal fractions have rounding errors.
// A comparison with a parameter that the configuration does not have (`when`) is unknown, and one without a value (x /
// 0, the logarithm of a negative number, a text where a number is due) is undefined. Both spread through `and`, `or`
// and `not` as far as the other side leaves the answer open.
//
// Reading a text takes bounded time: at most `longest_text` bytes, nested at most `deepest` deep. An expression has no
// loops, no assignments, and no effects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hpo/space.hpp"
#include "hpo/value.hpp"

namespace hpo::expression {

inline constexpr std::size_t longest_text = 1000;
inline constexpr int deepest = 32;

/// A name that expressions may use, with its possible values.
struct Variable {
    std::string name;
    double low = 0, high = 0;    ///< range of a number
    std::vector<Value> choices;  ///< all values, if they are listed; then there is no range
};

/// A mistake in a text.
struct Mistake {
    std::size_t offset = 0, length = 1;  ///< in bytes
    std::string message;
};

enum class Truth { no, yes, absent, undefined };

/// The least and the greatest value of a number, both included.
struct Interval {
    double low = 0, high = 0;
};

/// The meaning of a text.
enum class Meaning { condition, number };

/// A text that was read. Immutable.
class Expression {
   public:
    /// Reads `text`, in which the names of `variables` may occur. A comparison of a parameter with a text that it never
    /// is, is a mistake.
    static std::variant<Expression, Mistake> read(std::string_view text, Meaning meaning,
                                                  const std::vector<Variable>& variables);

    /// Returns the indices of the variables that occur, ascending.
    [[nodiscard]] const std::vector<std::size_t>& uses() const { return uses_; }

    /// Returns whether a condition holds. `values` has a value for each variable, nullptr if it is absent.
    [[nodiscard]] Truth holds(std::span<const Value* const> values) const;

    /// Returns the value of a number, or nothing if it is undefined or a variable is absent.
    [[nodiscard]] std::optional<double> number(std::span<const Value* const> values) const;

    /// Returns bounds of a number over all values of its variables, or nothing if there are none.
    [[nodiscard]] std::optional<Interval> bounds(const std::vector<Variable>& variables) const;

    enum class Op : std::uint8_t {
        number,
        text,
        flag,
        null,
        variable,  // leaves
        negative,
        add,
        subtract,
        multiply,
        divide,
        whole_divide,
        modulo,
        power,
        min,
        max,
        abs,
        sqrt,
        exp,
        log,
        log2,
        log10,
        floor,
        ceil,
        round,
        equal,
        unequal,
        less,
        at_most,
        greater,
        at_least,
        in,
        not_in,  // comparisons; of a chain, joined by both
        both,
        either,
        negation,
    };

    /// A node of the tree. Its parts are nodes with smaller indices.
    struct Node {
        Op op = Op::number;
        std::uint8_t types = 0;  ///< of its possible values, as bits
        double number = 0;
        std::string text;
        std::size_t variable = 0;
        std::vector<std::size_t> parts;
        std::size_t offset = 0, length = 1;
    };

   private:
    friend class Reader;
    std::vector<Node> nodes_;  ///< the root is the last
    std::vector<std::size_t> uses_;
};

/// Returns the names of a study: the dimensions of `space` in their order, then the numbers, texts and flags that
/// `fixed` holds for all trials.
std::vector<Variable> variables_of(const Space& space, const Params& fixed);

}  // namespace hpo::expression
