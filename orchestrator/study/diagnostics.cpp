#include "orchestrator/study/diagnostics.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "hpo/nearest.hpp"
#include "orchestrator/study/utf8.hpp"

namespace hpo::study {

namespace {

constexpr std::size_t shown_problems = 20;
constexpr std::size_t shown_columns = 110;

/// Names that other tools use, with the key of hpo: {name, key}.
constexpr std::pair<std::string_view, std::string_view> synonyms[] = {{"steps", "epochs"},
                                                                      {"max_epochs", "epochs"},
                                                                      {"n_trials", "trials"},
                                                                      {"timeout", "time"},
                                                                      {"learning_rate", "lr"},
                                                                      {"wd", "weight_decay"},
                                                                      {"bs", "batch_size"},
                                                                      {"min", "low"},
                                                                      {"max", "high"},
                                                                      {"values", "choices"},
                                                                      {"gpus", "devices"},
                                                                      {"vram", "gpu_memory"},
                                                                      {"cpus", "cores"},
                                                                      {"cmd", "command"},
                                                                      {"program", "command"},
                                                                      {"script", "command"},
                                                                      {"bayes", "gp"},
                                                                      {"bayesian", "gp"},
                                                                      {"skopt", "gp"},
                                                                      {"gaussian_process", "gp"},
                                                                      {"botorch", "gp"},
                                                                      {"optuna", "tpe"},
                                                                      {"hyperopt", "tpe"},
                                                                      {"smac", "tpe"},
                                                                      {"bohb", "tpe"},
                                                                      {"grid_search", "grid"},
                                                                      {"gridsearch", "grid"},
                                                                      {"halton", "sobol"},
                                                                      {"lhs", "sobol"},
                                                                      {"qmc", "sobol"},
                                                                      {"hyperband", "asha"},
                                                                      {"sha", "asha"},
                                                                      {"successive_halving", "asha"},
                                                                      {"early_stopping", "plateau"},
                                                                      {"early_stop", "plateau"},
                                                                      {"patience", "plateau"},
                                                                      {"median_stopping", "median"},
                                                                      {"medianstop", "median"},
                                                                      {"nan", "divergence"}};

/// Returns the candidate that other tools call `word`, or an empty text.
std::string_view synonym(std::string_view word, const std::vector<std::string_view>& candidates) {
    for (const auto& [other, ours] : synonyms)
        if (other == word && std::find(candidates.begin(), candidates.end(), ours) != candidates.end()) return ours;
    return {};
}

/// Counts the code points of valid UTF-8.
std::size_t width(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = code_point_length(text);
        if (out.size() + std::max<std::size_t>(length, 1) > limit) return out + "...";
        if (length == 0 || is_control(text.substr(0, length)))
            out += '?';
        else
            out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::string_view meant_by(std::string_view word, const std::vector<std::string_view>& candidates) {
    const auto meant = nearest(word, candidates);
    return meant.empty() ? synonym(word, candidates) : meant;
}

std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates) {
    const auto meant = meant_by(word, candidates);
    if (!meant.empty()) return "; did you mean '" + std::string(meant) + "'?";
    if (candidates.empty() || candidates.size() > 12) return {};
    std::string text = "; known: ";
    for (const std::string_view candidate : candidates) {
        if (text.size() > 9) text += ", ";
        text += candidate;
    }
    return text;
}

Diagnostics::Diagnostics(std::string file_name, std::string_view text) : names_{std::move(file_name)} {
    while (true) {
        const auto end = text.find('\n');
        lines_.emplace_back(text.substr(0, end));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
}

int Diagnostics::add_option(std::string name) {
    names_.push_back(std::move(name));
    return static_cast<int>(names_.size()) - 1;
}

bool Diagnostics::shows(const Location& location, std::string_view text) const {
    if (location.source != 0 || location.line < 1 || static_cast<std::size_t>(location.line) > lines_.size())
        return false;
    const std::string_view line = lines_[static_cast<std::size_t>(location.line) - 1];
    const auto column = static_cast<std::size_t>(std::max(location.column, 1)) - 1;
    return column <= line.size() && line.substr(column).starts_with(text);
}

void Diagnostics::error(Location location, std::string message) {
    problems_.push_back({location, std::move(message), {}});
}

void Diagnostics::note(Location location, std::string message) {
    problems_.back().notes.emplace_back(location, std::move(message));
}

void Diagnostics::render(std::string& out, Location location, std::string_view message) const {
    out += printable(names_[static_cast<std::size_t>(location.source)], 400);
    const bool in_file =
        location.source == 0 && location.line >= 1 && static_cast<std::size_t>(location.line) <= lines_.size();
    if (!in_file) {
        out += ": ";
        out += message;
        out += '\n';
        return;
    }
    const std::string_view line = lines_[static_cast<std::size_t>(location.line) - 1];
    const std::size_t start = std::min(static_cast<std::size_t>(std::max(location.column, 1)) - 1, line.size());
    const std::size_t length = std::min(static_cast<std::size_t>(std::max(location.length, 1)), line.size() - start);
    out += ":" + std::to_string(location.line) + ":" + std::to_string(width(line.substr(0, start)) + 1) + ": ";
    out += message;

    // A long line is cut to a window around the location, which must start at the beginning of a code point.
    std::size_t from =
        start + std::min<std::size_t>(length, 40) > shown_columns ? start - std::min<std::size_t>(start, 40) : 0;
    while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) --from;
    const std::string number = std::to_string(location.line);
    const std::string gutter = std::string(number.size() < 5 ? 5 - number.size() : 0, ' ') + number;
    const std::string before = printable(line.substr(from, start - from), line.size());
    std::string window = printable(line.substr(from), shown_columns);
    std::replace(window.begin(), window.end(), '\t', ' ');
    while (!window.empty() && (window.back() == ' ' || window.back() == '?') && line.ends_with('\r') &&
           from + window.size() >= line.size())
        window.pop_back();
    const std::size_t available = width(window) > width(before) ? width(window) - width(before) : 1;
    const std::size_t marked = std::clamp<std::size_t>(width(line.substr(start, length)), 1, available);
    out += "\n" + gutter + " | " + (from > 0 ? "..." : "") + window;
    out += "\n" + std::string(gutter.size(), ' ') + " | " + std::string(width(before) + (from > 0 ? 3 : 0), ' ') + '^' +
           std::string(marked - 1, '~') + "\n";
}

std::string Diagnostics::text() const {
    std::vector<const Problem*> ordered;
    for (const Problem& problem : problems_) ordered.push_back(&problem);
    std::stable_sort(ordered.begin(), ordered.end(), [](const Problem* a, const Problem* b) {
        return std::tie(a->location.source, a->location.line, a->location.column) <
               std::tie(b->location.source, b->location.line, b->location.column);
    });
    std::string out;
    for (std::size_t i = 0; i < ordered.size() && i < shown_problems; ++i) {
        render(out, ordered[i]->location, ordered[i]->message);
        for (const auto& [location, message] : ordered[i]->notes) render(out, location, "note: " + message);
    }
    if (ordered.size() > shown_problems)
        out += "... and " + std::to_string(ordered.size() - shown_problems) + " more\n";
    if (!out.empty()) out.pop_back();
    return out;
}

}  // namespace hpo::study
