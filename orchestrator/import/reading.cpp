#include "orchestrator/import/reading.hpp"

#include <algorithm>
#include <cmath>

#include "orchestrator/study/fields.hpp"

namespace hpo::importing {

namespace {

using std::string;
using study::Node;

}  // namespace

std::string without_tabs(std::string_view text) {
    std::string spaced(text);
    const auto first = spaced.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || (spaced[first] != '{' && spaced[first] != '[')) return spaced;
    bool quoted = false;
    for (std::size_t i = 0; i < spaced.size(); ++i) {
        if (quoted && spaced[i] == '\\')
            ++i;
        else if (spaced[i] == '"')
            quoted = !quoted;
        else if (!quoted && spaced[i] == '\t')
            spaced[i] = ' ';
    }
    return spaced;
}

bool Reading::knows_sampler(std::string_view name) const {
    return std::any_of(known.samplers.begin(), known.samplers.end(),
                       [&](const PartOptions& part) { return part.name == name; });
}

void Reading::leave_out_others(const Node& map, const std::vector<std::string_view>& known_keys,
                               const std::string& owner) const {
    for (const study::Entry& entry : map.entries)
        if (std::find(known_keys.begin(), known_keys.end(), entry.key) == known_keys.end())
            builder.remark("", entry.location,
                           "'" + entry.key + "' of " + owner + " has no counterpart here: it is left out");
}

void choose_epochs(StudyBuilder& builder, std::int64_t reports) {
    Study& study = builder.study;
    if (reports > 0) {
        study.budget.epochs = reports;
    } else {
        study.budget.epochs = Budget::most_epochs;
        builder.run_to_end();
        const std::int64_t epochs = builder.epochs();
        builder.remark("budget", 0,
                       "the file does not say how many times a script reports " + study.objective.metric +
                           ": each trial runs to the end of its script. With epochs set to that number" +
                           (epochs > 0 ? " (" + std::to_string(epochs) + " if it reports once an epoch)" : string()) +
                           (study.stopping.empty() ? ", and without the line stopping, hpo also ends trials early that "
                                                     "will hardly win"
                                                   : ", hpo also knows the time left"));
    }
    for (const PartSpec& rule : study.stopping)
        if (rule.type == "asha")
            study.budget.epochs =
                std::max(study.budget.epochs, static_cast<std::int64_t>(number_or(rule.options.at("grace"), 1)) + 1);
    study.budget.epochs = std::min(study.budget.epochs, Budget::most_epochs);
}

void add_halving(StudyBuilder& builder, std::int64_t grace, double factor, const study::Location& location,
                 const std::string& original) {
    const auto whole = static_cast<std::int64_t>(std::clamp(std::round(factor), 2.0, 1000.0));
    grace = std::clamp<std::int64_t>(grace, 1, 999999);
    builder.study.stopping.push_back({"asha", {{"grace", grace}, {"factor", whole}}});
    builder.remark(
        "stopping", location,
        original + " becomes asha: at rungs of " + std::to_string(grace) + ", " + std::to_string(grace * whole) +
            ", ... steps the best one in " + std::to_string(whole) +
            " continues; the others pause and may be promoted later, when a script without checkpoints repeats its "
            "steps (the client's checkpoint=True avoids that)");
}

std::string metric_name_of(std::string_view name) {
    std::string valid;
    for (const char c : name.substr(0, 64)) {
        const bool is_valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                              c == '_' || c == '-' || c == '/';
        valid += is_valid ? c : '_';
    }
    const bool letter =
        !valid.empty() && ((valid[0] >= 'a' && valid[0] <= 'z') || (valid[0] >= 'A' && valid[0] <= 'Z'));
    return letter || valid.starts_with('_') ? valid : ("_" + valid).substr(0, 64);
}

void use_random(StudyBuilder& builder) {
    builder.study.sampler = {"random", {}};
    builder.study.policy.scaled = false;
}

void use_grid(const Reading& reading, const study::Location& location) {
    Study& study = reading.builder.study;
    double count = 1, longest = 2;  // number of combinations, and of values in the longest range
    for (const Dimension& dimension : study.space) {
        if (dimension.kind == Kind::categorical) {
            count *= static_cast<double>(dimension.choices.size());
        } else if (dimension.low < dimension.high) {
            const double values =
                dimension.kind == Kind::integer || dimension.step
                    ? std::floor((dimension.high - dimension.low) / dimension.step.value_or(1) + 0.5) + 1
                    : HUGE_VAL;
            count *= values;
            longest = std::max(longest, values);
        }
    }
    study.sampler = {reading.knows_sampler("grid") ? "grid" : "sobol", {}};
    study.policy.scaled = false;  // combinations are used as declared
    if (count <= 1e6) {
        study.budget.trials = static_cast<std::int64_t>(count);
        if (study.sampler.type == "grid" && longest > 16)  // by default it takes all values of shorter ranges
            study.sampler.options["points"] = static_cast<std::int64_t>(longest);
        if (study.sampler.type != "grid")
            reading.builder.remark("sampler", location,
                                   "a grid search becomes sobol, which tries every combination once (" +
                                       std::to_string(study.budget.trials) + " at most) in an order that spreads them");
        return;
    }
    reading.builder.remark("sampler", location,
                           "a grid over a continuous range, or of more than a million combinations, becomes sobol: as "
                           "many evenly spread points as the budget has trials");
    study.sampler = {"sobol", {}};
}

}  // namespace hpo::importing
