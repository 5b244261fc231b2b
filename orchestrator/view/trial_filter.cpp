#include "orchestrator/view/trial_filter.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "hpo/from_chars.hpp"
#include "hpo/nearest.hpp"
#include "hpo/printable.hpp"
#include "orchestrator/view/summary.hpp"

namespace hpo::view {
namespace {

constexpr std::array<std::pair<std::string_view, Comparison>, 8> comparisons{{{"==", Comparison::equal},
                                                                              {"!=", Comparison::unequal},
                                                                              {"<=", Comparison::at_most},
                                                                              {">=", Comparison::at_least},
                                                                              {"=", Comparison::equal},
                                                                              {"<", Comparison::less},
                                                                              {">", Comparison::greater},
                                                                              {"~", Comparison::contains}}};

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    for (char& letter : lower)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return lower;
}

/// Reads a number, which a size may follow: 0.2, 1e-3, 512M, 1.5GiB.
std::optional<double> number_of(std::string_view text) {
    double number = 0;
    const auto [end, status] = from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end == text.data()) return std::nullopt;
    const std::string unit = in_lower_case(text.substr(static_cast<std::size_t>(end - text.data())));
    if (unit.empty()) return number;
    const auto power = std::string_view("kmgt").find(unit[0]);
    if (power == std::string_view::npos || (unit.size() > 1 && unit.substr(1) != "ib" && unit.substr(1) != "b"))
        return std::nullopt;
    return number * std::pow(1024.0, static_cast<double>(power + 1));
}

/// Takes the next term off `text`, up to a blank outside quotes.
std::string_view take_term(std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    bool quoted = false;
    std::size_t end = 0;
    for (; end < text.size() && (quoted || text[end] != ' '); ++end)
        if (text[end] == '"') quoted = !quoted;
    const std::string_view term = text.substr(0, end);
    text.remove_prefix(end);
    return term;
}

std::string without_quotes(std::string_view text) {
    std::string bare(text);
    std::erase(bare, '"');
    return bare;
}

Result<TrialFilter::Term> parse_term(std::string_view text, const Study& study, const StudyRecord& record) {
    const auto at = text.find_first_of("=!<>~");
    if (at == std::string_view::npos || at == 0 || text[0] == '"')
        return TrialFilter::Term{.value = {}, .text = in_lower_case(without_quotes(text)), .anywhere = true};
    const std::string_view name = text.substr(0, at), rest = text.substr(at);
    const auto found = std::find_if(comparisons.begin(), comparisons.end(),
                                    [&](const auto& known) { return rest.starts_with(known.first); });
    if (found == comparisons.end())
        return Error{printable(text) + ": expected one of = != < <= > >= ~ behind " + printable(name)};
    const auto field = field_named(name, study, record);
    if (!field) {
        const auto names = field_names(study, record);
        const auto similar = nearest(name, {names.begin(), names.end()});
        return Error{"no parameter, metric or column is called " + printable(name) +
                     (similar.empty() ? "" : "; the most similar is " + printable(similar))};
    }
    const std::string value = without_quotes(rest.substr(found->first.size()));
    const auto number = number_of(value);
    const bool needs_number = found->second != Comparison::equal && found->second != Comparison::unequal &&
                              found->second != Comparison::contains;
    if (needs_number && !number)
        return Error{printable(text) + ": expected a number, such as " + std::string(found->first) + "0.2"};
    return TrialFilter::Term{.field = *field,
                             .comparison = found->second,
                             .value = number ? FieldValue(*number) : FieldValue(),
                             .text = in_lower_case(value)};
}

/// Returns true if the text contains `lower`, which is in lower case, in whatever case.
bool contains_text(std::string_view text, const std::string& lower) {
    const auto same = [](char c, char wanted) { return (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) == wanted; };
    return !std::ranges::search(text, lower, same).empty() || lower.empty();
}

bool contains_anywhere(const TrialRecord& trial, const std::string& lower) {
    if (contains_text(to_text(trial.state), lower) || contains_text(device_or_reason(trial), lower)) return true;
    return std::any_of(trial.params.begin(), trial.params.end(), [&](const auto& parameter) {
        return !std::holds_alternative<double>(parameter.second) && contains_text(to_text(parameter.second), lower);
    });
}

bool equal_numbers(double a, double b) {
    if (a == b) return true;
    const bool integers = std::floor(a) == a && std::floor(b) == b;
    // Numbers so far apart differ in the digits that are shown, which take time to write.
    if (std::abs(a - b) > 0.02 * std::max(std::abs(a), std::abs(b))) return false;
    return !integers && compact_number(a) == compact_number(b);
}

bool holds(const TrialFilter::Term& term, const TrialRecord& trial) {
    if (term.anywhere) return contains_anywhere(trial, term.text);
    const FieldValue value = value_of(trial, term.field);
    if (std::holds_alternative<std::monostate>(value)) return term.comparison == Comparison::unequal;
    const double* number = std::get_if<double>(&value);
    const auto text = [&] { return number ? compact_number(*number) : in_lower_case(std::get<std::string>(value)); };
    const double* wanted = std::get_if<double>(&term.value);
    const auto equal = [&] { return number && wanted ? equal_numbers(*number, *wanted) : text() == term.text; };
    switch (term.comparison) {
        case Comparison::equal:
            return equal();
        case Comparison::unequal:
            return !equal();
        case Comparison::contains:
            return text().find(term.text) != std::string::npos;
        case Comparison::less:
            return number && *number < *wanted;
        case Comparison::at_most:
            return number && *number <= *wanted;
        case Comparison::greater:
            return number && *number > *wanted;
        case Comparison::at_least:
            return number && *number >= *wanted;
    }
    return false;
}

}  // namespace

Result<TrialFilter> parse_filter(std::string_view text, const Study& study, const StudyRecord& record) {
    TrialFilter filter;
    for (std::string_view term = take_term(text); !term.empty(); term = take_term(text)) {
        auto parsed = parse_term(term, study, record);
        if (!parsed) return parsed.error();
        filter.terms.push_back(*std::move(parsed));
    }
    return filter;
}

bool matches(const TrialFilter& filter, const TrialRecord& trial) {
    return std::all_of(filter.terms.begin(), filter.terms.end(),
                       [&](const TrialFilter::Term& term) { return holds(term, trial); });
}

}  // namespace hpo::view
