#include "orchestrator/analysis/quicker.hpp"

#include <algorithm>

#include "hpo/median.hpp"
#include "hpo/standing.hpp"
#include "hpo/text.hpp"
#include "hpo/training_seconds.hpp"

namespace hpo::analysis {

namespace {

constexpr std::size_t fewest_complete = 8, most_named = 3;
constexpr double shortest = 1;           // s, of the best trial: in less, its start and other programs decide
constexpr double nearly = 0.9;           // of the best trial's lead over the median
constexpr double much_less = 2.0 / 3.0;  // of the time of the trial before

bool same_place(const TrialRecord& one, const TrialRecord& other) {
    return one.allocation->device == other.allocation->device && one.allocation->host == other.allocation->host;
}

}  // namespace

std::vector<Timed> front_of_time(const Study& study, const StudyRecord& record) {
    if (!study.objective.simple()) return {};
    std::vector<const TrialRecord*> complete;
    std::vector<double> values;
    for (const TrialRecord* trial : ranking(record, study.objective))
        if (trial->state == TrialState::complete && trial->value) {
            complete.push_back(trial);
            values.push_back(*trial->value);
        }
    if (complete.size() < fewest_complete || complete.front() != best_trial(record, study.objective)) return {};
    const double best = values.front(), lead = upper_median(values) - best;
    std::vector<Timed> front;
    for (const TrialRecord* trial : complete) {  // from the best value on
        const auto seconds = training_seconds(*trial);
        if (front.empty() && !(seconds && *seconds >= shortest)) return {};
        const bool near = (*trial->value - best) / (lead != 0 ? lead : 1) <= 1 - nearly;
        if (!near || front.size() > most_named) break;
        if (front.empty() ||
            (seconds && same_place(*trial, *front.front().trial) && *seconds <= much_less * front.back().seconds))
            front.push_back({trial, *seconds});
    }
    return front;
}

std::string quicker_text(const std::vector<Timed>& front) {
    if (front.size() < 2) return {};
    std::string text;
    for (std::size_t i = 1; i < front.size(); ++i)
        text += (i > 1 ? ", " : "") + std::string("trial ") + std::to_string(front[i].trial->number) + " has " +
                short_number(*front[i].trial->value) + " after " + duration_text(front[i].seconds);
    return text + "; the best took " + duration_text(front.front().seconds);
}

}  // namespace hpo::analysis
