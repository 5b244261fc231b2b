#include "orchestrator/view/repeats.hpp"

#include <algorithm>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/view/summary.hpp"
#include "orchestrator/view/table.hpp"

namespace hpo::view {

std::string draw_repeats(const Study& study, const std::vector<Repeated>& ranked, const Screen& screen) {
    Table table({{"TRIAL", Table::Align::right},
                 {"MEAN", Table::Align::right},
                 {"DEVIATION", Table::Align::right},
                 {"LEAST", Table::Align::right},
                 {"MOST", Table::Align::right},
                 {"TIMES", Table::Align::right},
                 {"WAS", Table::Align::right},
                 {"PARAMETERS"}});
    std::string tied;
    for (const Repeated& repeated : ranked) {
        const std::vector<double>& values = repeated.values;
        const auto [least, most] = std::minmax_element(values.begin(), values.end());
        table.add({std::to_string(repeated.first->number), values.empty() ? "-" : short_number(repeated.mean),
                   repeated.deviation ? short_number(*repeated.deviation) : "-",
                   values.empty() ? "-" : short_number(*least), values.empty() ? "-" : short_number(*most),
                   std::to_string(values.size()), short_number(*repeated.first->value),
                   parameters_text(repeated.first->params)});
        if (repeated.tied) tied += (tied.empty() ? "" : ", ") + std::to_string(repeated.first->number);
    }
    std::string text = study.name + ": the best by mean " + study.objective.metric + " of repeats on fresh seeds\n" +
                       table.draw(screen);
    if (!tied.empty())
        text += "A tie with trial " + std::to_string(ranked.front().first->number) +
                ", within two standard errors: " + tied + '\n';
    if (std::any_of(ranked.begin(), ranked.end(), [](const Repeated& one) { return one.deviation.has_value(); }) &&
        std::all_of(ranked.begin(), ranked.end(), [](const Repeated& one) { return one.deviation.value_or(0) == 0; }))
        text += "All repeats of a configuration have the same value: training does not depend on the seed" +
                std::string(study.script() ? " that it is given (HPO_SEED; trial.seed of the Python client)" : "") +
                ", and repeats tell nothing new\n";
    std::int64_t failed = 0;
    for (const Repeated& repeated : ranked) failed += repeated.failed;
    if (failed > 0)
        text += counted(failed, "repeat") + " ended without a value: hpo ls " + repeat_study(study).name + '\n';
    return text;
}

}  // namespace hpo::view
