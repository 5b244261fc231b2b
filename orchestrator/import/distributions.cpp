#include "orchestrator/import/distributions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "hpo/from_chars.hpp"
#include "hpo/text.hpp"
#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using study::Node;

constexpr double max_steps = 1e9;  ///< of a dimension with a step

std::string number_text(double number) { return exact_number(number); }

bool fits_whole(double number) { return std::abs(number) <= study::max_whole && std::floor(number) == number; }

/// Moves the bounds to multiples of the quantum. Drops the quantum with a remark if a dimension cannot have it.
void snap(StudyBuilder& builder, const std::string& key, Range& range, const study::Location& location) {
    const double quantum = *range.quantum;
    const double first = std::round(range.low / quantum), last = std::round(range.high / quantum);
    const bool whole = range.whole && fits_whole(quantum) && fits_whole(first * quantum) && fits_whole(last * quantum);
    if (range.log) {
        range.low = std::max(first, 1.0) * quantum;
        range.high = std::max(last, 1.0) * quantum;
        range.whole = whole;
        if (!whole || quantum != 1)
            builder.remark(key, location,
                           "a logarithmic range cannot be restricted to multiples of " + number_text(quantum) +
                               (whole ? ": any integer in it is tried" : ": any number in it is tried") +
                               "; round in the script, or write the values as {type: categorical, choices: [...]}");
        range.quantum.reset();
        return;
    }
    if (!(last - first < max_steps)) {
        builder.remark(key, location, "more than 1e9 multiples of " + number_text(quantum) + ": any number is tried");
        range.quantum.reset();
        range.whole = false;
        return;
    }
    range.low = first * quantum;
    range.high = range.low + (last - first) * quantum;
    range.whole = whole;
}

bool same(const Value& a, const Value& b) { return a == b || number_or(a, std::nan("")) == number_or(b, std::nan("")); }

std::string in_quotes(std::string_view text, char quote) {
    std::string out(1, quote);
    for (const char c : text) {
        if (c == quote || c == '\\') out += '\\';
        out += c;
    }
    return out + quote;
}

}  // namespace

std::string add_range(StudyBuilder& builder, const std::string& name, Range range, const study::Location& location) {
    if (!std::isfinite(range.low) || !std::isfinite(range.high) || !std::isfinite(range.high - range.low))
        return "the range is not finite";
    if (range.low > range.high)
        return "the minimum (" + number_text(range.low) + ") is above the maximum (" + number_text(range.high) + ")";
    if (range.log && range.low <= 0) return "a logarithmic range must be above 0, found " + number_text(range.low);
    if (range.quantum && !(*range.quantum > 0 && std::isfinite(range.low / *range.quantum) &&
                           std::isfinite(range.high / *range.quantum)))
        return "'q' must be above 0";
    const std::string key = "space." + StudyBuilder::study_name_of(name);
    if (range.quantum) snap(builder, key, range, location);
    if (range.whole && !(fits_whole(range.low) && fits_whole(range.high))) {
        range.low = std::ceil(range.low), range.high = std::floor(range.high);
        if (range.low > range.high || !fits_whole(range.low) || !fits_whole(range.high))
            return "there is no whole number in the range, or it is beyond 2^53";
    }
    Dimension dimension;
    dimension.name = name;
    dimension.kind = range.whole ? Kind::integer : Kind::real;
    dimension.low = range.low;
    dimension.high = range.high;
    dimension.log = range.log;
    if (range.quantum && !(range.whole && *range.quantum == 1)) dimension.step = range.quantum;
    if (dimension.low == dimension.high) dimension.step.reset();
    builder.add(std::move(dimension), location);
    return {};
}

std::string add_stepped(StudyBuilder& builder, const std::string& name, const Range& range, double step,
                        const study::Location& location) {
    const double last = range.low + std::floor((range.high - range.low) / step + 1e-9) * step;
    const Range stepped{range.low, rounded(last), false, {}, range.whole};
    if (std::string problem = add_range(builder, name, stepped, location); !problem.empty()) return problem;
    Dimension& dimension = builder.study.space.back();
    if (dimension.low < dimension.high && !(range.whole && step == 1)) dimension.step = step;
    return {};
}

std::string add_normal(StudyBuilder& builder, const std::string& name, double mu, double sigma, bool log,
                       std::optional<double> quantum, bool whole, const study::Location& location) {
    if (!(sigma >= 0)) return "sigma must not be below 0";
    const auto bound = [&](double at) { return rounded(log ? std::exp(at) : at); };
    const Range range{bound(mu - 2 * sigma), bound(mu + 2 * sigma), log, quantum, whole};
    if (range.log && !(range.low > 0)) return "the range is not finite";
    builder.remark("space." + StudyBuilder::study_name_of(name), location,
                   std::string(log ? "a lognormal" : "a normal") + " distribution (mu " + number_text(mu) + ", sigma " +
                       number_text(sigma) + ") has no bounds: its middle 95 % are sampled uniformly" +
                       (log ? " in the logarithm" : "") + "; widen low and high if the best trials lie at a bound");
    return add_range(builder, name, range, location);
}

double rounded(double number) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", number);
    return std::strtod(text, nullptr);
}

std::optional<bool> flag_of(const Node& node) {
    if (node.kind != Node::Kind::scalar || !node.plain) return {};
    for (const std::string_view word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
        if (node.text == word) return true;
    for (const std::string_view word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
        if (node.text == word) return false;
    return {};
}

/// Returns a number as YAML 1.1 writes it, by which other tools read their files, without its underscores: 1_000_000.
static std::string number_text_of(const Node& node) {
    std::string text = node.text;
    const auto digit = text.find_first_of("0123456789");
    if (digit <= 1 && text.find_first_not_of("+-0123456789_.") == std::string::npos) std::erase(text, '_');
    if (text.starts_with('+')) text.erase(0, 1);
    return text;
}

std::optional<double> number_of(const Node& node) {
    if (node.kind != Node::Kind::scalar || !node.plain || flag_of(node)) return {};
    const std::string text = number_text_of(node);
    if (!study::looks_like_other(text)) return {};
    double number = 0;
    const auto [end, status] = from_chars(text.data(), text.data() + text.size(), number);
    if (end != text.data() + text.size() || status != std::errc() || !std::isfinite(number)) return {};
    return number;
}

bool is_whole(const Node& node) {
    return number_of(node) && node.text.find_first_not_of("+-_0123456789") == std::string::npos;
}

std::string text_of(const Node* node) {
    return node != nullptr && node->kind == Node::Kind::scalar ? node->text : std::string();
}

std::string literal(const Node& node, LiteralStyle style) {
    const char quote = style == LiteralStyle::python ? '\'' : '"';
    if (node.kind == Node::Kind::null) return style == LiteralStyle::python ? "None" : "null";
    if (const auto flag = flag_of(node))
        return style == LiteralStyle::python ? (*flag ? "True" : "False") : (*flag ? "true" : "false");
    if (node.kind == Node::Kind::scalar) return number_of(node) ? number_text_of(node) : in_quotes(node.text, quote);
    std::string out;
    for (const Node& item : node.items) out += (out.empty() ? "" : ", ") + literal(item, style);
    for (const study::Entry& entry : node.entries)
        out += (out.empty() ? "" : ", ") + in_quotes(entry.key, quote) + ": " + literal(entry.value, style);
    return node.kind == Node::Kind::list ? "[" + out + "]" : "{" + out + "}";
}

Value value_of(const Node& node, LiteralStyle style) {
    if (const auto flag = flag_of(node)) {
        if (style == LiteralStyle::json) return *flag;
        return std::string(*flag ? "True" : "False");
    }
    if (const auto number = number_of(node)) {
        if (is_whole(node) && fits_whole(*number)) return static_cast<std::int64_t>(*number);
        if (!is_whole(node)) return *number;
    }
    return node.kind == Node::Kind::scalar ? node.text : literal(node, style);
}

std::string add_choices(StudyBuilder& builder, const std::string& name, const std::vector<const Node*>& choices,
                        LiteralStyle style) {
    if (choices.empty()) return "there are no values";
    const std::string key = "space." + StudyBuilder::study_name_of(name);
    Dimension dimension;
    dimension.name = name;
    dimension.kind = Kind::categorical;
    bool texts = false;
    for (const Node* choice : choices) {
        Value value = value_of(*choice, style);
        if (choice->kind != Node::Kind::scalar && !texts) {
            texts = true;
            builder.remark(
                key, choice->location,
                "a choice must be a single value: this one is passed to the script as a text, " + to_text(value));
        }
        const bool is_duplicate = std::any_of(dimension.choices.begin(), dimension.choices.end(),
                                              [&](const Value& other) { return same(other, value); });
        if (!is_duplicate)
            dimension.choices.push_back(std::move(value));
        else
            builder.remark(key, choice->location,
                           study::printable(to_text(value)) +
                               " is listed twice; choices are equally likely here, and each is listed once");
    }
    builder.add(std::move(dimension), choices.front()->location);
    return {};
}

}  // namespace hpo::importing
