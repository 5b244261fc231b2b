#include "orchestrator/view/posterior.hpp"

#include <algorithm>
#include <cmath>

#include "hpo/printable.hpp"
#include "hpo/standing.hpp"
#include "hpo/text.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/table.hpp"

namespace hpo::view {

namespace {

constexpr double clearly = 2;  // times the chance
constexpr double apart = 0.5;  // of the deviation that is expected of the best value

}  // namespace

std::string expected_text(const Expected& expected) {
    return short_number(expected.value) + " +- " + short_number(expected.deviation);
}

std::string draw_posterior(const Study& study, const StudyRecord& record, const PosteriorRanking& ranking,
                           std::size_t most, const Screen& screen) {
    Table table({{"TRIAL", Table::Align::right},
                 {"EXPECTED", Table::Align::right},
                 {"DEVIATION", Table::Align::right},
                 {"CHANCE", Table::Align::right},
                 {"VALUE", Table::Align::right},
                 {"SEEDS", Table::Align::right},
                 {"PARAMETERS"}});
    for (std::size_t i = 0; i < std::min(most, ranking.configurations.size()); ++i) {
        const Expected& one = ranking.configurations[i];
        const TrialRecord& trial = record.trial(one.trial);
        table.add({std::to_string(one.trial), short_number(one.value), short_number(one.deviation),
                   percent_text(one.chance), short_number(*trial.value),
                   std::to_string(std::max<std::size_t>(trial.seeds.size(), 1)), parameters_text(trial.params)});
    }
    return study.name + ": " + printable(study.objective.metric) +
           " to expect of a further training, by a model of all trainings\n" + table.draw(screen) +
           "CHANCE: of being the best of all tried. A training deviates by about " + short_number(ranking.noise) +
           " from another one of the same configuration.\n";
}

std::string better_choice_text(const Study& study, const StudyRecord& record, const PosteriorRanking& ranking) {
    const TrialRecord* best = best_trial(record, study.objective);
    if (!best || ranking.configurations.empty()) return {};
    const Expected& chosen = ranking.configurations.front();
    const auto own = std::find_if(ranking.configurations.begin(), ranking.configurations.end(),
                                  [&](const Expected& one) { return one.trial == best->number; });
    if (own == ranking.configurations.end() || own->trial == chosen.trial || chosen.chance <= 0 ||
        chosen.chance < clearly * own->chance || std::abs(own->value - chosen.value) < apart * own->deviation)
        return {};
    return "if trainings are noisy, trial " + std::to_string(chosen.trial) + " is the better choice: a model expects " +
           expected_text(chosen) + " of a further training of it, and " + expected_text(*own) + " of trial " +
           std::to_string(best->number) + "; the best of all with " + percent_text(chosen.chance) + " and " +
           percent_text(own->chance) + " (hpo best " + study.name + " --by model)";
}

}  // namespace hpo::view
