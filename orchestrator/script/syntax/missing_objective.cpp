#include "orchestrator/script/syntax/missing_objective.hpp"

#include "hpo/nearest_metric.hpp"
#include "hpo/printable.hpp"

namespace hpo::script {

std::string missing_objective(const std::string& objective, MetricsFrom from, const std::string& file,
                              const ReadInstead& instead) {
    const bool reads_output = from == MetricsFrom::output || from == MetricsFrom::output_of_rank_0;
    const bool silent = instead.silent && !instead.anything();
    if (silent && from == MetricsFrom::output)
        return printable("the command ended and has printed nothing: print '" + objective + "', as in '" + objective +
                         "=0.5', or name the file that has it by worker: {metrics: {file: \"{folder}/FILE\"}}");
    std::string text = "the command ended and '" + objective + "' was never ";
    switch (from) {
        case MetricsFrom::output:
            text += "found in its output";
            break;
        case MetricsFrom::output_of_rank_0:
            text += "found in the output of rank 0, which alone is read";
            if (silent) text += " and has printed nothing";
            break;
        case MetricsFrom::file:
            text += "found in its file " + file;
            break;
        case MetricsFrom::shim:
            text += "reported by way of worker.shim";
            break;
    }
    const std::string meant = nearest_metric(objective, instead.metrics);
    if (!instead.metrics.empty()) text += ", but " + names_with_nearest(objective, instead.metrics);
    if (!meant.empty()) text += " Set it as objective.metric, or print '" + objective + "'";
    if (!instead.problem.empty()) return printable(text + "; " + instead.problem);
    if (meant.empty() && !instead.nearest.empty()) text += "; the nearest line: " + instead.nearest;
    if (meant.empty() && reads_output && !silent)
        text += "; describe how it is printed by worker: {metrics: {stdout: [\"...(?<" + objective +
                ">{number})\"]}}, or correct objective.metric";
    return printable(text);
}

}  // namespace hpo::script
