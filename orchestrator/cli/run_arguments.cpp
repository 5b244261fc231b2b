#include "orchestrator/cli/run_arguments.hpp"

#include <array>
#include <utility>

#include "hpo/shell_word.hpp"

namespace hpo {

namespace {

/// An option that sets one key of the study.
struct KeyOption {
    const char* option;
    const char* key;
    std::string RunArguments::*value;
};
constexpr std::array key_options{KeyOption{"--trials", "budget.trials", &RunArguments::trials},
                                 KeyOption{"--time", "budget.time", &RunArguments::time},
                                 KeyOption{"--jobs", "resources.parallel", &RunArguments::jobs},
                                 KeyOption{"--backend", "resources.backend", &RunArguments::backend},
                                 KeyOption{"--seed", "seed", &RunArguments::seed}};

}  // namespace

Overrides overrides(const RunArguments& arguments) {
    Overrides all{arguments.set, {}, arguments.fresh};
    for (const KeyOption& option : key_options)
        if (const std::string& value = arguments.*option.value; !value.empty()) {
            all.set.push_back(std::string(option.key) + '=' + value);
            all.typed[all.set.back()] = std::string(option.option) + ' ' + value;
        }
    return all;
}

std::string option_words(const RunArguments& arguments, bool keep_time) {
    std::string command;
    for (const std::string& assignment : arguments.set) command += " --set " + shell_word(assignment);
    for (const KeyOption& option : key_options)
        if (const std::string& value = arguments.*option.value;
            !value.empty() && (keep_time || option.value != &RunArguments::time))
            command += ' ' + std::string(option.option) + ' ' + shell_word(value);
    if (!arguments.on.empty()) command += " --on " + shell_word(arguments.on);
    if (arguments.listens)
        command += " --listen" + (arguments.listen.empty() ? "" : ' ' + shell_word(arguments.listen));
    if (!arguments.notify.empty()) command += " --notify " + shell_word(arguments.notify);
    return command.empty() ? command : command.substr(1);
}

std::string resume_arguments(const RunArguments& arguments, bool keep_time) {
    const std::string options = option_words(arguments, keep_time);
    return shell_word(arguments.file) + (options.empty() ? "" : " ") + options;
}

}  // namespace hpo
