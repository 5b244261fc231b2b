#include "orchestrator/script/syntax/wanted.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/metric_directions.hpp"
#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

namespace {

using std::string;

constexpr int no_rank = 1000;
constexpr int labelled_rank = 10;  ///< and above: the printed name has a label that the study's has not
constexpr int training_rank = 50;
constexpr int other_process_rank = 80;  ///< of a process of a distributed run: the first one's values are wanted
constexpr int twin_rank = 900;          ///< and below no_rank: it is another metric, of the same name but for a phase
constexpr std::size_t max_known_names = 1024;
constexpr const char* cure = "worker.metrics.stdout takes a pattern for the number that counts";

string quoted(const Reading& reading) { return "'" + reading.text.substr(0, max_quoted_bytes) + "'"; }

const char* text_of(Doubt doubt) {
    switch (doubt) {
        case Doubt::several_numbers:
            return "has several numbers, and the first one counts";
        case Doubt::list:
            return "has a list of numbers, of which the first one counts";
        case Doubt::several_times:
            return "is there several times, and the first one counts";
        case Doubt::in_brackets:
            return "has a second number in brackets, which may be its average, and the first one counts";
        case Doubt::only_in_brackets:
            return "is in round brackets, which may be a negative number, and is read as a positive one";
        case Doubt::scaled:
            return "has a scale beside its name, and the number counts as it is printed";
        case Doubt::none:
            break;
    }
    return "";
}

/// Returns the rank of a label where the study names none; the lowest is preferred.
int order_of(Phase phase) {
    switch (phase) {
        case Phase::validation:
            return labelled_rank;
        case Phase::evaluation:
            return labelled_rank + 10;
        case Phase::test:
            return labelled_rank + 20;
        case Phase::none:
        case Phase::other:
            return labelled_rank + 30;
        case Phase::training:
            return training_rank;
    }
    return no_rank;
}

bool is_evaluated(Phase phase) {
    return phase == Phase::validation || phase == Phase::evaluation || phase == Phase::test;
}

/// Returns the setting that reads the metric of this name alone.
string reads_with_pattern(const string& name) {
    const bool word = std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
    if (!word) return "worker.metrics.stdout takes a pattern for " + name;
    return "worker: {metrics: {stdout: [\"" + name + "[:= ]+(?<" + name + ">{number})\"]}} reads " + name;
}

}  // namespace

WantedMetrics::WantedMetrics(const std::vector<std::string>& names) {
    for (const std::string& name : names) wanted_.push_back({name, {}, {}, {}, {}, {}});
}

int WantedMetrics::rank_of(const NamedNumber& metric, const std::string& name) {
    if (const Fit full = fit(metric.name, name); full != Fit::none) return static_cast<int>(full);
    if (is_evaluated(phase_in(metric.name)) && fit_but_for_phase(metric.name, name) != Fit::none &&
        phase_in(name) == Phase::none && metric.bare == metric.name)
        return twin_rank;
    if (metric.bare == metric.name) return no_rank;
    const Fit bare = std::min(fit(metric.bare, name), metric.other.empty() ? Fit::none : fit(metric.other, name));
    if (bare == Fit::none) return no_rank;
    const int order = has_rank_label(metric.name) ? other_process_rank : order_of(phase_in(metric.name));
    return order + static_cast<int>(bare);
}

std::vector<WantedMetrics::Value> WantedMetrics::find_in(const Reading& reading) {
    std::vector<Value> values;
    values.reserve(reading.metrics.size());
    for (const NamedNumber& metric : reading.metrics) values.push_back({metric.name, metric.number, metric.bare});
    for (Wanted& wanted : wanted_) {
        std::size_t best = reading.metrics.size();
        int best_rank = no_rank;
        for (std::size_t i = 0; i < reading.metrics.size(); ++i) {
            const NamedNumber& metric = reading.metrics[i];
            const auto known = wanted.ranks.find(metric.name);
            const int rank = known != wanted.ranks.end() ? known->second : rank_of(metric, wanted.name);
            if (known == wanted.ranks.end() && wanted.ranks.size() < max_known_names)
                wanted.ranks.emplace(metric.name, rank);
            if (rank == no_rank) continue;
            note_twin(wanted, metric, rank, reading);
            if (rank == twin_rank) continue;
            const bool is_source = wanted.source && wanted.source->printed == metric.name;
            if (!is_source && wanted.source) {
                const bool replaces = rank < wanted.source->rank && !settled_;
                const bool doubtful = rank <= wanted.source->rank || rank >= labelled_rank;
                const bool respelled = rank <= static_cast<int>(Fit::spelling);  // "F1-score" and "F1 score"
                const bool repeats = !replaces && wanted.last && same_but_rounded(metric.number, *wanted.last);
                const bool trained = rank >= training_rank && wanted.source->rank >= training_rank;
                if (trained && !settled_)  // a better name may follow
                    wanted.twin = metric.name;
                else if (((wanted.source->rank > 0 && doubtful) || respelled) && !repeats)
                    warn(wanted, wanted.source->printed, metric.name, replaces);
                if (rank == static_cast<int>(Fit::exact) && !replaces && refusal_.empty())
                    refusal_ = "the values are those of " + wanted.source->printed + ", which came first, and '" +
                               wanted.name + "' itself was printed later; " + reads_with_pattern(wanted.name) +
                               ", or set objective.metric to " + wanted.source->printed;
                if (!replaces) continue;
            } else if (!is_source && best != reading.metrics.size() && best_rank >= labelled_rank) {
                warn(wanted, reading.metrics[best].name, metric.name, rank < best_rank);
            }
            if (rank < best_rank) best = i, best_rank = rank;
        }
        // The study's name is taken from another printed one, and this is not its value.
        for (std::size_t i = 0; i < values.size(); ++i)
            if (i != best && values[i].name == wanted.name) values[i].name.clear();
        if (best == reading.metrics.size()) continue;
        const NamedNumber& metric = reading.metrics[best];
        const string before = wanted.source && wanted.source->printed != metric.name ? wanted.source->printed : "";
        const bool is_new = !wanted.source || !before.empty();
        wanted.source = Source{metric.name, metric.bare, best_rank};
        if (is_new) note_synonym(wanted);
        note_scale(wanted, metric, reading);
        values[best] = {wanted.name, metric.number, metric.bare, metric.unit, metric.doubt, before};
        list_ = metric.doubt != Doubt::list
                    ? ""
                    : "'" + wanted.name +
                          "' has a list of numbers, of which none may be the result: " + quoted(reading) + "; " + cure;
        if (metric.doubt != Doubt::none)
            warn("'" + wanted.name + "' " + text_of(metric.doubt) + ": " + quoted(reading) + "; " + cure);
        if (!wanted.unit || !before.empty()) wanted.unit = metric.unit;
        if (*wanted.unit != metric.unit) {
            warn("'" + wanted.name + "' changes its unit from '" + *wanted.unit + "' to '" + metric.unit +
                 "', so that its number is not used: " + quoted(reading) + "; print one unit");
            values[best].name.clear();
        }
    }
    std::erase_if(values, [](const Value& one) { return one.name.empty(); });
    return values;
}

/// Warns if the script prints the metric under the very name of the study, and of validation data in words or below a
/// label as well: "loss 0.5", "valid | loss 0.6", "Validation-loss=0.6"; or where that of training data is used, since
/// none else was there before: "Training: loss 0.5", "validate loss: 0.6". Names such as val_loss, which are those of
/// variables, say what they are.
void WantedMetrics::note_twin(const Wanted& wanted, const NamedNumber& metric, int rank, const Reading& reading) {
    const bool twin = rank == twin_rank || (rank >= labelled_rank && is_evaluated(phase_in(metric.name)));
    const bool variable = reading.text.find(metric.name) != string::npos && metric.name.find('-') == string::npos;
    const bool training = rank == twin_rank && wanted.source && wanted.source->rank >= training_rank;
    if (twin && !variable && wanted.source && (wanted.source->rank == 0 || training))
        warn(wanted, wanted.source->printed, metric.name, false);
}

/// Warns if the metric goes from a fraction to a percentage of about as much: "acc: 0.85", "acc: 86.1". Of values that
/// are better when higher, such a share has the other scale; accuracies of 0.9 and 10.5 % do not.
void WantedMetrics::note_scale(Wanted& wanted, const NamedNumber& metric, const Reading& reading) {
    constexpr double percent = 100, least = 0.2, most_times = 2;
    const std::optional<double> before = std::exchange(wanted.last, metric.number);
    if (!before || *before < least || *before > 1 || metric.number <= 1 || metric.number > percent) return;
    const double fraction = metric.number / percent;
    const bool as_much = fraction < *before * most_times && fraction > *before / most_times;
    if (as_much && better_of(wanted.name) == Better::higher)
        warn("'" + wanted.name + "' seems to change from a fraction to a percentage: " + quoted(reading) +
             "; print one of them");
}

void WantedMetrics::note_synonym(const Wanted& wanted) {
    const bool other_words = wanted.source->rank % labelled_rank == static_cast<int>(Fit::synonym);
    note_ =
        other_words ? "'" + wanted.name + "' is printed as '" + wanted.source->printed + "', which is read for it" : "";
}

void WantedMetrics::settle() {
    settled_ = true;
    for (Wanted& wanted : wanted_)
        if (const string twin = std::exchange(wanted.twin, {});
            !twin.empty() && wanted.source && wanted.source->rank >= training_rank)
            warn(wanted, wanted.source->printed, twin, false);
}

std::string WantedMetrics::printed_bare(std::string_view name) const {
    for (const Wanted& one : wanted_)
        if (one.name == name && one.source) return one.source->bare;
    return {};
}

bool WantedMetrics::is_doubtful(std::string_view name) const {
    const auto found =
        std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& one) { return one.name == name; });
    return found != wanted_.end() && found->source && found->source->rank >= training_rank;
}

std::string WantedMetrics::warning() { return std::exchange(warning_.empty() ? note_ : warning_, {}); }

void WantedMetrics::warn(std::string text) {
    if (!std::exchange(warned_, true)) warning_ = std::move(text);
}

void WantedMetrics::warn(const Wanted& wanted, const std::string& first, const std::string& other, bool used) {
    const std::string& taken = used ? other : first;
    const std::string& left = used ? first : other;
    const std::string advice = left != wanted.name ? "; set objective.metric to the name that you mean"
                                                   : ", as it came first; " + reads_with_pattern(left);
    warn("'" + wanted.name + "' is printed under several names, " + first + " and " + other + ": " + taken +
         " is used" + advice);
}

}  // namespace hpo::script
