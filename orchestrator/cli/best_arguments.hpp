// The options of `hpo best`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace hpo {

struct TrialChoice;

struct BestArguments {
    std::string study, format, by = "value";
    std::int64_t repeat = 0, top = 5;
    bool top_given = false, json = false;
};

/// Adds the options to the command. Returns the function that gives their values once they are parsed.
std::function<BestArguments()> add_best_options(CLI::App& app);

/// Throws Fatal for options that contradict each other, or the choice of one trial.
void refuse_conflicts(const BestArguments& arguments, const TrialChoice& choice);

}  // namespace hpo
