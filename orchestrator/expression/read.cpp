#include <algorithm>
#include <array>
#include <cmath>

#include "hpo/dimension_value.hpp"
#include "hpo/from_chars.hpp"
#include "hpo/nearest.hpp"
#include "orchestrator/expression/expression.hpp"

namespace hpo::expression {

namespace {

using Op = Expression::Op;
using Node = Expression::Node;

constexpr std::uint8_t a_number = 1, a_flag = 2, a_text = 4, another = 8;  // types of values

constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

struct Function {
    std::string_view name;
    Op op;
    bool many = false;  ///< of two arguments or more
};
constexpr std::array functions{
    Function{"min", Op::min, true}, Function{"max", Op::max, true}, Function{"abs", Op::abs},
    Function{"sqrt", Op::sqrt},     Function{"exp", Op::exp},       Function{"log", Op::log},
    Function{"log2", Op::log2},     Function{"log10", Op::log10},   Function{"floor", Op::floor},
    Function{"ceil", Op::ceil},     Function{"round", Op::round}};

struct Sign {
    std::string_view text;
    Op op;
};
constexpr std::array comparisons{Sign{"==", Op::equal},    Sign{"!=", Op::unequal}, Sign{"<=", Op::at_most},
                                 Sign{">=", Op::at_least}, Sign{"<", Op::less},     Sign{">", Op::greater}};

/// Notations of other languages, and their form here.
struct Habit {
    std::string_view text, cure;
};
constexpr std::array habits{Habit{"&&", "and"},    Habit{"||", "or"},     Habit{"<>", "!="}, Habit{"\u2264", "<="},
                            Habit{"\u2265", ">="}, Habit{"\u2260", "!="}, Habit{"^", "**"},  Habit{"=", "=="},
                            Habit{"!", "not"},     Habit{"&", "and"},     Habit{"|", "or"}};

constexpr std::array<std::string_view, 10> words{"and",  "or",    "not",   "in",   "true",
                                                 "True", "false", "False", "null", "None"};

std::uint8_t type_of(const Value& value) {
    if (std::holds_alternative<bool>(value)) return a_flag;
    if (std::holds_alternative<std::string>(value)) return a_text;
    return std::isnan(number_or(value, std::nan(""))) ? another : a_number;
}

std::string in_quotes(std::string_view text) { return "'" + std::string(text.substr(0, 60)) + "'"; }

}  // namespace

/// Reads one text by recursive descent. Throws Mistake.
class Reader {
   public:
    Reader(std::string_view text, const std::vector<Variable>& variables) : text_(text), variables_(variables) {}

    Expression read(Meaning meaning) {
        if (text_.size() > longest_text)
            fail(0, 1, "an expression has " + std::to_string(longest_text) + " characters at most");
        const std::size_t root = either();
        blanks();
        if (at_ < text_.size()) fail_at_rest();
        if (meaning == Meaning::condition)
            need_condition(root);
        else
            need_number(root);
        std::sort(made_.uses_.begin(), made_.uses_.end());
        made_.uses_.erase(std::unique(made_.uses_.begin(), made_.uses_.end()), made_.uses_.end());
        return std::move(made_);
    }

   private:
    [[noreturn]] static void fail(std::size_t offset, std::size_t length, std::string message) {
        throw Mistake{offset, std::max<std::size_t>(length, 1), std::move(message)};
    }
    [[noreturn]] void fail_at(std::size_t node, std::string message) const {
        fail(made_.nodes_[node].offset, made_.nodes_[node].length, std::move(message));
    }

    /// Reports the text at the current position, where it cannot go on.
    [[noreturn]] void fail_at_rest() const {
        if (at_ >= text_.size())
            fail(text_.size() - std::min<std::size_t>(1, text_.size()), 1, "the text ends too early");
        for (const Habit& habit : habits)
            if (text_.substr(at_).starts_with(habit.text))
                fail(at_, habit.text.size(), in_quotes(habit.text) + " is written '" + std::string(habit.cure) + "'");
        std::size_t end = at_ + 1;
        while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) ++end;
        if (is_letter(text_[at_]))
            while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
        fail(at_, end - at_, "not expected here: " + in_quotes(text_.substr(at_, end - at_)));
    }

    void blanks() {
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    }

    /// Takes a sign, but not the beginning of `not_before`.
    bool take(std::string_view sign, std::string_view longer = {}) {
        blanks();
        const auto rest = text_.substr(at_);
        if (!rest.starts_with(sign) || (!longer.empty() && rest.starts_with(longer))) return false;
        at_ += sign.size();
        return true;
    }

    /// Returns the end of the run of letters and digits at a position.
    [[nodiscard]] std::size_t end_of_word(std::size_t from) const {
        while (from < text_.size() && (is_letter(text_[from]) || is_digit(text_[from]))) ++from;
        return from;
    }

    bool take_word(std::string_view word) {
        blanks();
        if (at_ >= text_.size() || !is_letter(text_[at_])) return false;
        if (text_.substr(at_, end_of_word(at_) - at_) != word) return false;
        if (variable_at(at_).second > at_ + word.size()) return false;  // a name that begins so, such as in-channels
        at_ += word.size();
        return true;
    }

    std::size_t add(Op op, std::uint8_t types, std::vector<std::size_t> parts, std::size_t from) {
        Node node;
        node.op = op;
        node.types = types;
        node.parts = std::move(parts);
        node.offset = from;
        node.length = std::max<std::size_t>(at_, from + 1) - from;
        made_.nodes_.push_back(std::move(node));
        return made_.nodes_.size() - 1;
    }

    [[nodiscard]] std::uint8_t types(std::size_t node) const { return made_.nodes_[node].types; }

    [[nodiscard]] std::string written(std::size_t node) const {
        const std::string_view source = text_.substr(made_.nodes_[node].offset, made_.nodes_[node].length);
        return made_.nodes_[node].op == Op::text ? std::string(source.substr(0, 60)) : in_quotes(source);
    }

    void need_number(std::size_t node) const {
        if ((types(node) & (a_number | a_flag)) == 0) fail_at(node, written(node) + " is not a number");
    }
    void need_condition(std::size_t node) const {
        if ((types(node) & a_flag) == 0)
            fail_at(node, written(node) + " is not a condition: compare it with a value, such as " +
                              (types(node) & a_text ? "== 'a'" : "<= 8"));
    }

    struct Deeper {
        explicit Deeper(Reader& reader) : depth(reader.depth_) {
            if (++depth > deepest) fail(reader.at_, 1, "nested more than " + std::to_string(deepest) + " deep");
        }
        ~Deeper() { --depth; }
        Deeper(const Deeper&) = delete;
        Deeper& operator=(const Deeper&) = delete;
        int& depth;
    };

    // ---- conditions

    std::size_t either() {
        const Deeper deeper(*this);
        return joined("or", Op::either, [this] { return both(); });
    }
    std::size_t both() {
        return joined("and", Op::both, [this] { return negation(); });
    }

    template <class Part>
    std::size_t joined(std::string_view word, Op op, Part&& part) {
        blanks();
        const std::size_t from = at_;
        std::vector<std::size_t> parts{part()};
        while (take_word(word)) parts.push_back(part());
        if (parts.size() == 1) return parts.front();
        for (const std::size_t one : parts) need_condition(one);
        return add(op, a_flag, std::move(parts), from);
    }

    std::size_t negation() {
        blanks();
        const std::size_t from = at_;
        if (!take_word("not")) return comparison();
        const Deeper deeper(*this);
        const std::size_t part = negation();
        need_condition(part);
        return add(Op::negation, a_flag, {part}, from);
    }

    std::optional<Op> comparison_sign() {
        for (const Sign& sign : comparisons)
            if (take(sign.text)) return sign.op;
        return std::nullopt;
    }

    std::size_t comparison() {
        blanks();
        const std::size_t from = at_;
        std::size_t left = sum();
        const std::size_t before = at_;
        const bool negated = take_word("not");
        if (take_word("in")) return membership(left, negated ? Op::not_in : Op::in, from);
        at_ = before;
        std::vector<std::size_t> links;
        while (const auto op = comparison_sign()) {
            const std::size_t right = sum();
            check_pair(*op, left, right);
            links.push_back(add(*op, a_flag, {left, right}, from));
            left = right;
        }
        if (links.empty()) return left;
        return links.size() == 1 ? links.front() : add(Op::both, a_flag, std::move(links), from);
    }

    std::size_t membership(std::size_t sought, Op op, std::size_t from) {
        std::vector<std::size_t> parts{sought};
        const std::string_view close = take("[") ? "]" : take("(") ? ")" : "";
        if (close.empty()) {
            blanks();
            fail(at_, 1, "'in' needs a list, such as in [1, 2]");
        }
        do {
            parts.push_back(sum());
            check_pair(Op::equal, sought, parts.back());
        } while (take(","));
        if (!take(close)) fail_at_rest();
        return add(op, a_flag, std::move(parts), from);
    }

    /// Refuses a comparison whose answer does not depend on the configuration, and an order of values that have none.
    void check_pair(Op op, std::size_t left, std::size_t right) const {
        if (op != Op::equal && op != Op::unequal) {
            need_number(left);
            need_number(right);
            return;
        }
        check_choice(left, right);
        check_choice(right, left);
        const auto numeric = [](std::uint8_t types) {
            return static_cast<std::uint8_t>(types & a_flag ? types | a_number : types);
        };
        if ((numeric(types(left)) & numeric(types(right))) == 0)
            fail_at(right, written(left) + " is never " + written(right) + ": one is " + name_of(types(left)) +
                               ", the other " + name_of(types(right)));
    }

    static std::string name_of(std::uint8_t types) {
        return types & a_number ? "a number"
               : types & a_text ? "a text"
               : types & a_flag ? "true or false"
                                : "neither a number nor a text";
    }

    /// Refuses a text that is not among the choices of the parameter with which it is compared.
    void check_choice(std::size_t variable, std::size_t literal) const {
        const Node& name = made_.nodes_[variable];
        const Node& value = made_.nodes_[literal];
        if (name.op != Op::variable || value.op != Op::text) return;
        const auto& choices = variables_[name.variable].choices;
        std::vector<std::string_view> known;
        for (const Value& choice : choices)
            if (const auto* text = std::get_if<std::string>(&choice)) known.push_back(*text);
        if (known.empty() || std::find(known.begin(), known.end(), value.text) != known.end()) return;
        const auto meant = nearest(value.text, known);
        std::string list;
        for (const std::string_view one : known)
            if (list.size() < 100) list += (list.empty() ? "" : ", ") + std::string(one.substr(0, 40));
        fail_at(literal,
                in_quotes(variables_[name.variable].name) + " is never " + written(literal) +
                    (meant.empty() ? "; it is one of " + list : "; did you mean '" + std::string(meant) + "'?"));
    }

    // ---- numbers

    std::size_t arithmetic(Op op, std::size_t left, std::size_t right, std::size_t from) {
        need_number(left);
        need_number(right);
        return add(op, a_number, {left, right}, from);
    }

    std::size_t sum() {
        blanks();
        const std::size_t from = at_;
        std::size_t left = product();
        while (true) {
            if (take("+"))
                left = arithmetic(Op::add, left, product(), from);
            else if (take("-"))
                left = arithmetic(Op::subtract, left, product(), from);
            else
                return left;
        }
    }

    std::size_t product() {
        blanks();
        const std::size_t from = at_;
        std::size_t left = factor();
        while (true) {
            if (take("*", "**"))
                left = arithmetic(Op::multiply, left, factor(), from);
            else if (take("//"))
                left = arithmetic(Op::whole_divide, left, factor(), from);
            else if (take("/"))
                left = arithmetic(Op::divide, left, factor(), from);
            else if (take("%"))
                left = arithmetic(Op::modulo, left, factor(), from);
            else
                return left;
        }
    }

    std::size_t factor() {
        blanks();
        const std::size_t from = at_;
        if (take("+")) {
            const Deeper deeper(*this);
            const std::size_t part = factor();
            need_number(part);
            return part;
        }
        if (!take("-")) return power();
        const Deeper deeper(*this);
        const std::size_t part = factor();
        need_number(part);
        return add(Op::negative, a_number, {part}, from);
    }

    std::size_t power() {
        blanks();
        const std::size_t from = at_;
        const std::size_t base = primary();
        if (!take("**")) return base;
        const Deeper deeper(*this);
        return arithmetic(Op::power, base, factor(), from);
    }

    std::size_t primary() {
        blanks();
        if (at_ >= text_.size()) fail_at_rest();
        const char c = text_[at_];
        if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) return number();
        if (c == '\'' || c == '"') return quoted(c);
        if (is_letter(c) || variable_at(at_).second > at_) return name();
        if (!take("(")) fail_at_rest();
        const std::size_t open = at_ - 1;
        const std::size_t inner = either();
        if (!take(")")) fail(open, 1, "this parenthesis is not closed");
        return inner;
    }

    std::size_t number() {
        const std::size_t from = at_;
        std::string digits;
        const auto more = [&] {
            while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '_')) {
                if (text_[at_] != '_') digits += text_[at_];
                ++at_;
            }
        };
        more();
        if (at_ < text_.size() && text_[at_] == '.') digits += text_[at_++], more();
        if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
            digits += text_[at_++];
            if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) {
                if (text_[at_] == '-') digits += '-';
                ++at_;
            }
            more();
        }
        double value = 0;
        const auto [end, status] = from_chars(digits.data(), digits.data() + digits.size(), value);
        const bool ends = at_ >= text_.size() || !is_letter(text_[at_]);
        if (status != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value) || !ends)
            fail(from, end_of_word(at_) - from,
                 "not a number: " + in_quotes(text_.substr(from, end_of_word(at_) - from)));
        const std::size_t node = add(Op::number, a_number, {}, from);
        made_.nodes_[node].number = value;
        return node;
    }

    std::size_t quoted(char quote) {
        const std::size_t from = at_++;
        const auto end = text_.find(quote, at_);
        if (end == std::string_view::npos) fail(from, 1, "this quote is not closed");
        const std::string value(text_.substr(at_, end - at_));
        at_ = end + 1;
        const std::size_t node = add(Op::text, a_text, {}, from);
        made_.nodes_[node].text = value;
        return node;
    }

    /// The same for names with letters beyond ASCII. Other such characters, as in "lr ≤ 1", belong to no name.
    [[nodiscard]] std::pair<std::size_t, std::size_t> variable_beyond_ascii_at(std::size_t from) const {
        const auto beyond = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
        std::pair<std::size_t, std::size_t> longest{variables_.size(), from};
        for (std::size_t v = 0; v < variables_.size(); ++v) {
            const std::string_view name = variables_[v].name;
            const std::size_t end = from + name.size();
            if (std::none_of(name.begin(), name.end(), beyond) || !text_.substr(from).starts_with(name)) continue;
            const bool ends = end == text_.size() || !(is_letter(text_[end]) || is_digit(text_[end]));
            if (ends && end > longest.second) longest = {v, end};
        }
        return longest;
    }

    /// Returns the variable with the longest name at a position, and the position after it. Names may contain '-'.
    [[nodiscard]] std::pair<std::size_t, std::size_t> variable_at(std::size_t from) const {
        if (const auto found = variable_beyond_ascii_at(from); found.second > from) return found;
        std::size_t end = from;
        while (end < text_.size() &&
               (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.' || text_[end] == '-'))
            ++end;
        for (; end > from; end = text_.substr(0, end).rfind('-')) {
            const std::string_view name = text_.substr(from, end - from);
            for (std::size_t v = 0; v < variables_.size(); ++v)
                if (variables_[v].name == name) return {v, end};
            if (text_.substr(from, end - from).find('-') == std::string_view::npos) break;
        }
        return {variables_.size(), from};
    }

    std::size_t name() {
        const std::size_t from = at_;
        std::size_t end = from;
        while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) ++end;
        const std::string_view word = text_.substr(from, end - from);
        std::size_t after = end;
        while (after < text_.size() && is_blank(text_[after])) ++after;
        if (after < text_.size() && text_[after] == '(') return call(word, from, after);
        const auto [variable, behind] = variable_at(from);
        if (variable < variables_.size() &&
            (behind > end || std::find(words.begin(), words.end(), word) == words.end())) {
            at_ = behind;
            const Variable& known = variables_[variable];
            std::uint8_t possible = known.choices.empty() ? a_number : 0;
            for (const Value& choice : known.choices) possible = static_cast<std::uint8_t>(possible | type_of(choice));
            const std::size_t node = add(Op::variable, possible, {}, from);
            made_.nodes_[node].variable = variable;
            made_.uses_.push_back(variable);
            return node;
        }
        at_ = end;
        if (word == "true" || word == "True" || word == "false" || word == "False") {
            const std::size_t node = add(Op::flag, a_flag, {}, from);
            made_.nodes_[node].number = word[0] == 't' || word[0] == 'T' ? 1 : 0;
            return node;
        }
        if (word == "null" || word == "None") return add(Op::null, another, {}, from);
        fail(from, word.size(), unknown(word));
    }

    [[nodiscard]] std::string unknown(std::string_view word) const {
        if (std::find(words.begin(), words.end(), word) != words.end()) return "not expected here: " + in_quotes(word);
        for (const Variable& variable : variables_)
            for (const Value& choice : variable.choices)
                if (choice == Value(std::string(word)))
                    return in_quotes(word) + " is no parameter: write a text in quotes, " + in_quotes(word);
        std::vector<std::string_view> known;
        for (const Variable& variable : variables_) known.push_back(variable.name);
        const auto meant = nearest(word, known);
        std::string list;
        for (const std::string_view one : known)
            if (list.size() < 100) list += (list.empty() ? "" : ", ") + std::string(one);
        return "unknown parameter " + in_quotes(word) +
               (!meant.empty() ? "; did you mean '" + std::string(meant) + "'?"
                : list.empty() ? ""
                               : "; known: " + list);
    }

    std::size_t call(std::string_view word, std::size_t from, std::size_t open) {
        const auto* found =
            std::find_if(functions.begin(), functions.end(), [&](auto& one) { return one.name == word; });
        if (found == functions.end()) {
            if (std::find(words.begin(), words.end(), word) != words.end())
                fail(from, word.size(), "not expected here: " + in_quotes(word));
            std::string known;
            std::vector<std::string_view> names;
            for (const Function& one : functions)
                known += (known.empty() ? "" : ", ") + std::string(one.name), names.push_back(one.name);
            const auto meant = nearest(word, names);
            fail(from, word.size(),
                 "unknown function " + in_quotes(word) +
                     (meant.empty() ? "; known: " + known : "; did you mean '" + std::string(meant) + "'?"));
        }
        at_ = open + 1;
        std::vector<std::size_t> parts;
        do {
            const Deeper deeper(*this);
            parts.push_back(sum());
            need_number(parts.back());
        } while (take(","));
        if (!take(")")) fail_at_rest();
        if (found->many ? parts.size() < 2 : parts.size() != 1)
            fail(from, word.size(),
                 in_quotes(word) + (found->many ? " needs two numbers or more" : " needs one number"));
        return add(found->op, a_number, std::move(parts), from);
    }

    std::string_view text_;
    const std::vector<Variable>& variables_;
    Expression made_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

std::variant<Expression, Mistake> Expression::read(std::string_view text, Meaning meaning,
                                                   const std::vector<Variable>& variables) {
    try {
        return Reader(text, variables).read(meaning);
    } catch (const Mistake& mistake) {
        return mistake;
    }
}

std::vector<Variable> variables_of(const Space& space, const Params& fixed) {
    std::vector<Variable> variables;
    for (const Dimension& d : space) variables.push_back({d.name, d.low, d.high, d.choices});
    for (const auto& [name, value] : fixed) variables.push_back({name, 0, 0, {value}});
    return variables;
}

}  // namespace hpo::expression
