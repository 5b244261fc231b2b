// Reads metrics from a script's output by regular expressions.
#include <algorithm>
#include <boost/regex.hpp>
#include <map>

#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_pattern_bytes = 1000;
constexpr std::size_t max_pattern_line =
    16 * 1024;  ///< in which patterns are searched for: their time may be quadratic

/// {number} in a pattern stands for a complete number as programs print it. The group is atomic, so that it never
/// matches a part of one.
constexpr string_view number_token = "{number}";
constexpr string_view number_expression =
    R"((?>[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:nan|inf(?:inity)?)))";

/// A named group in the text of a pattern.
struct NamedGroup {
    string name;
    std::size_t body = 0, end = 0;  ///< range of the text between the name and the closing bracket
};

/// Returns the position of the bracket that closes the group whose content begins at `at`, or the text's size if there
/// is none.
std::size_t closing_bracket(string_view text, std::size_t at) {
    bool in_class = false;
    for (int depth = 0; at < text.size(); ++at) {
        if (text[at] == '\\')
            ++at;
        else if (in_class)
            in_class = text[at] != ']';
        else if (text[at] == '[')
            in_class = true;
        else if (text[at] == '(')
            ++depth;
        else if (text[at] == ')' && depth-- == 0)
            return at;
    }
    return text.size();
}

std::vector<NamedGroup> named_groups(string_view pattern) {
    std::vector<NamedGroup> groups;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const string_view rest = pattern.substr(at);
        if (rest.starts_with('\\')) {
            ++at;
            continue;
        }
        const std::size_t skip = rest.starts_with("(?P<") ? 4 : rest.starts_with("(?<") ? 3 : 0;
        const auto end = rest.find('>');
        if (skip == 0 || rest.size() <= skip || !is_letter(rest[skip]) || end == string_view::npos) continue;
        const std::size_t body = at + end + 1;
        groups.push_back({string(rest.substr(skip, end - skip)), body, closing_bracket(pattern, body)});
    }
    return groups;
}

/// Converts a pattern to Boost's syntax. Throws std::invalid_argument if it contains an unknown word in braces.
string perl_of(string_view pattern) {
    string perl;
    for (std::size_t at = 0; at < pattern.size(); ++at) {
        const string_view rest = pattern.substr(at);
        if (rest.starts_with('\\') && rest.size() > 1) {
            perl += rest.substr(0, 2);
            ++at;
        } else if (rest.starts_with("(?P<") && rest.size() > 4 && is_letter(rest[4])) {
            perl += "(?<";
            at += 3;
        } else if (rest.starts_with(number_token)) {
            perl += number_expression;
            at += number_token.size() - 1;
        } else if (rest.size() > 1 && rest[0] == '{' && is_letter(rest[1]) && rest.find('}') != string_view::npos) {
            throw std::invalid_argument("has '" + string(rest.substr(0, rest.find('}') + 1)) +
                                        "', which has no meaning: {number} is a number, (?<loss>{number}) the metric "
                                        "loss, \\{ a brace");
        } else {
            perl += rest.front();
        }
    }
    return perl;
}

/// Returns the pattern with {number} as the content of its named groups.
string with_number_groups(string pattern) {
    auto groups = named_groups(pattern);
    for (auto group = groups.rbegin(); group != groups.rend(); ++group)
        if (group->end <= pattern.size()) pattern.replace(group->body, group->end - group->body, number_token);
    return pattern;
}

/// Returns the position at which the number begins that includes `from`, or `from` if none does. A match may begin
/// within a number, for instance at the "03" of "6.2e-03" or at the "0.5" of "-0.5".
std::size_t begin_of_number(string_view line, std::size_t from) {
    constexpr std::size_t max_number_bytes = 32;
    const auto is_digit = [&](std::size_t at) { return (line[at] >= '0' && line[at] <= '9') || line[at] == '.'; };
    std::size_t begin = from;
    for (std::size_t at = from; at-- > 0 && from - at <= max_number_bytes;) {
        const bool is_sign =
            line[at] == '-' && at + 1 == begin && (at == 0 || string_view(" :=\t").find(line[at - 1]) < 4);
        if (!is_sign && !is_digit(at)) continue;
        if (const auto number = number_at_begin(line.substr(at)); number && at + number->second > from) begin = at;
    }
    return begin;
}

class PatternReader final : public LineReader {
   public:
    /// Throws boost::regex_error or std::invalid_argument if a pattern is invalid.
    explicit PatternReader(const std::vector<string>& patterns) {
        for (const string& text : patterns) {
            Pattern& pattern = patterns_.emplace_back();
            for (NamedGroup& group : named_groups(text)) pattern.names.push_back(std::move(group.name));
            pattern.expression = boost::regex(perl_of(text), boost::regex::perl);
            if (pattern.names.empty() && pattern.expression.mark_count() < 2)
                throw std::invalid_argument(
                    "needs a group with the metric's name, such as loss: (?<loss>{number}), or two groups: the name "
                    "and the number");
            if (pattern.cure = with_number_groups(text); !pattern.names.empty() && pattern.cure != text)
                pattern.cured = boost::regex(perl_of(pattern.cure), boost::regex::perl);
        }
    }

    void read(string_view line, Reading& reading) override {
        if (line.size() > max_pattern_line) return;
        for (Pattern& pattern : patterns_) {
            try {
                read(pattern, line, reading);
            } catch (const std::runtime_error&) {
                // Boost throws if the pattern is too costly for this line. The line then has no metric.
            }
        }
    }

    string warning() override { return std::exchange(warning_, {}); }

   private:
    struct Pattern {
        boost::regex expression;
        std::vector<string> names;
        string cure;                       ///< the pattern with {number} in its groups
        boost::regex cured;                ///< the expression of `cure`; empty if it equals the pattern
        std::map<string, string> units{};  ///< behind the first number of each name
    };
    using Match = boost::match_results<string_view::const_iterator>;
    using Iterator = boost::regex_iterator<string_view::const_iterator>;

    void read(Pattern& pattern, string_view line, Reading& reading) {
        const Iterator none;
        Iterator found(line.begin(), line.end(), pattern.expression);
        if (found == none && !warned_ && !pattern.cured.empty()) {
            Iterator missed(line.begin(), line.end(), pattern.cured);
            if (missed != none)
                for (const string& name : pattern.names)
                    if ((*missed)[name].matched)
                        warn(pattern, name, "does not match '" + (*missed)[name].str() + "'", line);
        }
        for (; found != none; ++found) {
            const auto& match = *found;
            if (pattern.names.empty()) set_text(reading, match[1].str(), match[2].str());
            for (const string& name : pattern.names) {
                if (!match[name].matched) continue;
                const string text = match[name].str();
                const auto from = static_cast<std::size_t>(match[name].first - line.begin());
                const std::size_t begin = begin_of_number(line, from);
                const auto number = number_at_begin(line.substr(begin));
                if (number && (begin < from || number->second > text.size()))
                    warn(pattern, name, "reads '" + text + "' of '" + string(line.substr(begin, number->second)) + "'",
                         line);
                else if (number && number_at_begin(trim(text))->second != trim(text).size())
                    warn(pattern, name, "reads '" + text + "', which is not a number", line);
                else if (const string rest = rest_of_number(pattern, match, name, line); !rest.empty())
                    warn(pattern, name, "reads '" + text + "' of '" + text + rest + "'", line);
                else
                    set_text(reading, name, text);
            }
        }
    }

    /// Returns what belongs to the number behind a match that ends with it: further digits, as in "1,020.25" and
    /// "1:02:03", a power of ten, or a unit other than the first one of this name, as in "950ms" and "1.2s". Returns an
    /// empty text if the number is whole.
    static string rest_of_number(Pattern& pattern, const Match& match, const string& name, string_view line) {
        if (match[0].second != match[name].second) return {};  // the pattern says what follows
        const string_view rest = line.substr(static_cast<std::size_t>(match[name].second - line.begin()));
        const std::size_t separator = std::max<std::size_t>(
            group_separator(rest), rest.starts_with(',') || rest.starts_with('.') || rest.starts_with(':'));
        const auto digit_at = [&](std::size_t at) { return at < rest.size() && is_digit(rest[at]); };
        const bool blank_group = rest.starts_with(' ') && digit_at(1) && digit_at(2) && digit_at(3) && !digit_at(4);
        if ((separator > 0 && digit_at(separator)) || blank_group || is_power_of_ten(rest) || exponent_of_fortran(rest))
            return string(rest.substr(0, rest.find_first_of(" \t|;)]}", blank_group ? 1 : 0)));
        std::size_t end = 0;
        while (end < rest.size() && (is_letter(rest[end]) || rest[end] == '%' || rest[end] == '/')) ++end;
        const string unit(rest.substr(0, end));
        if (unit == "e" || unit == "E" || (end > 0 && digit_at(end))) return string(rest.substr(0, end + 1));
        const auto [first, fresh] = pattern.units.try_emplace(name, unit);
        if (fresh || first->second == unit) return {};
        return unit.empty() ? " (without '" + first->second + "', its first unit)" : unit;
    }

    void warn(const Pattern& pattern, const string& name, const string& problem, string_view line) {
        if (std::exchange(warned_, true)) return;
        const string advice = pattern.cured.empty() ? "print complete numbers, without groups of digits and in one unit"
                                                    : "write {number} for the number: \"" + pattern.cure + "\"";
        warning_ = "the pattern of '" + name + "' " + problem + ", which is not used; " + advice +
                   ". The line: " + string(line.substr(0, max_quoted_bytes));
    }

    std::vector<Pattern> patterns_;
    string warning_;
    bool warned_ = false;
};

}  // namespace

string problem_of_pattern(const string& pattern) {
    if (pattern.size() > max_pattern_bytes) return "is longer than 1000 bytes";
    try {
        PatternReader reader({pattern});
        return {};
    } catch (const boost::regex_error& error) {
        return "is not a regular expression (error at its byte " + std::to_string(error.position() + 1) + ")";
    } catch (const std::exception& error) {
        return error.what();
    }
}

bool captures(const std::vector<string>& patterns, string_view metric) {
    return patterns.empty() || std::any_of(patterns.begin(), patterns.end(), [&](const string& pattern) {
               const auto groups = named_groups(pattern);
               const auto has_name = [&](const NamedGroup& group) { return fit(group.name, metric) != Fit::none; };
               return groups.empty() || std::any_of(groups.begin(), groups.end(), has_name);
           });
}

string pattern_warning(const string& pattern) {
    for (const NamedGroup& group : named_groups(pattern)) {
        string missed;
        try {
            const boost::regex body(perl_of(string_view(pattern).substr(group.body, group.end - group.body)));
            for (const char* sample : {"9.3e-05", "nan", "-0.5"})
                if (!boost::regex_match(sample, body)) missed += (missed.empty() ? "" : ", ") + string(sample);
        } catch (const std::exception&) {
            continue;  // the group cannot be compiled apart from the rest of the pattern
        }
        if (!missed.empty())
            return "the pattern of '" + group.name + "' does not read " + missed +
                   "; {number} reads every number: " + with_number_groups(pattern);
    }
    return {};
}

Result<std::unique_ptr<LineReader>> make_pattern_reader(const std::vector<string>& patterns) {
    for (const string& pattern : patterns)
        if (const string problem = problem_of_pattern(pattern); !problem.empty())
            return Error{"the pattern '" + pattern + "' " + problem};
    return std::unique_ptr<LineReader>(std::make_unique<PatternReader>(patterns));
}

}  // namespace hpo::script
